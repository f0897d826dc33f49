"""The token estimate: one estimator for triggers, cuts, pruning and reports.

``ceil(characters / 4)``, except that each CJK, kana, Hangul or full-width character counts as one token; images count
2000 each, tool calls by their name and the JSON of their arguments.
"""

from __future__ import annotations

import re

from orchestra.core.jsontext import dumps
from orchestra.core.messages import Message

IMAGE_TOKENS = 2000
# As numbers: an editor that normalises text would turn U+F900 into the letter U+8C48.
_BELOW = r"\u2e80-\u9fff\ua000-\ua4ff\uac00-\ud7af\uf900-\ufaff\uff01-\uff60\uffe0-\uffe6"
_WIDE = re.compile(rf"[{_BELOW}\U00020000-\U0002fa1f]+")
# Neither ASCII nor, below U+20000, wide.
_OTHER = re.compile(rf"[^\x00-\x7f{_BELOW}]+")
_SAMPLE = 200


def text_tokens(text: str) -> int:
    """Estimated tokens of a text."""
    if text.isascii():
        return -(-len(text) // 4)
    wide = _wide(text)
    return wide + -(-(len(text) - wide) // 4)


def _wide(text: str) -> int:
    """How many characters of ``text`` are wide.

    The cost of looking for them grows with the number of runs, and Korean has one for each word. There it is the other
    characters that are rare, and what is left without them is told by its length in UTF-8: one byte or three each.
    """
    sample = text[:_SAMPLE]
    if len(text) <= _SAMPLE or len(_WIDE.findall(sample)) <= len(_OTHER.findall(sample)) + 1:
        return sum(map(len, _WIDE.findall(text)))
    other = "".join(_OTHER.findall(text))
    extra = _bytes(text) - _bytes(other) - (len(text) - len(other))
    return extra // 2 + sum(map(len, _WIDE.findall(other)))


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def message_tokens(message: Message) -> int:
    """Estimated tokens of one message: content, tool calls, images."""
    if isinstance(message.content, str):
        total = text_tokens(message.content)
    else:
        total = sum(
            IMAGE_TOKENS if part.type == "image" else text_tokens(part.text or part.data or "")
            for part in message.content
        )
    for call in message.tool_calls:
        total += text_tokens(call.name + dumps(dict(call.arguments)))
    return total
