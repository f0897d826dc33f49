"""The token estimate: one estimator for triggers, cuts, pruning and reports.

``ceil(characters / 4)``, except that each CJK, kana, Hangul or full-width character counts as one token; images count
2000 each, tool calls by their name and the JSON of their arguments.
"""

from __future__ import annotations

import re

from orchestra.core.jsontext import dumps
from orchestra.core.messages import Message

IMAGE_TOKENS = 2000
_WIDE = re.compile("[⺀-鿿ꀀ-꓿가-힯豈-﫿！-｠￠-￦\U00020000-\U0002fa1f]+")


def text_tokens(text: str) -> int:
    """Estimated tokens of a text."""
    if text.isascii():
        return -(-len(text) // 4)
    wide = sum(map(len, _WIDE.findall(text)))
    return wide + -(-(len(text) - wide) // 4)


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
