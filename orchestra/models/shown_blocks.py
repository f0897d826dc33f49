"""The memory blocks that a prompt shows: as they were rendered, with the note of what changed since."""

from __future__ import annotations

import re
from collections.abc import Iterable

_ENVELOPE = re.compile(r"<memory_blocks>(.*?)</memory_blocks>", re.DOTALL)
_UPDATE = re.compile(r"<memory_update>(.*?)</memory_update>", re.DOTALL)
_BLOCK = re.compile(r"^  <([A-Za-z][A-Za-z0-9_-]*)>\n(.*?)^  </\1>", re.DOTALL | re.MULTILINE)
_DETACHED = re.compile(r"^  <detached>(.*?)</detached>", re.MULTILINE)
_RENAMED = re.compile(r"<renamed_from>(.*?)</renamed_from>")
_VALUE = re.compile(r"<value>(.*?)</value>", re.DOTALL)
_LINES = re.compile(
    r"<changed_lines>(?:after line (\d+)|before line (1)|in place of lines? (\d+)(?: to (\d+))?) of the value:\n"
    r"(.*?)</changed_lines>",
    re.DOTALL,
)
_NEUTRALISED = re.compile(r"<\\(\\*)/(?=[A-Za-z][A-Za-z0-9_-]*\s*>)")
_REMOVED = "(nothing: removed)"


def is_update(text: str) -> bool:
    """Whether a message is a note about changed blocks."""
    return _UPDATE.search(text) is not None


def shown_values(texts: Iterable[str]) -> list[str]:
    """The value of each block as it is now, in the order of the prompt. ``texts`` are those of all messages."""
    values: dict[str, list[str]] = {}
    update = ""
    for text in texts:
        for envelope in _ENVELOPE.findall(text):
            for label, body in _BLOCK.findall(envelope):
                values[label] = _lines(body)
        update = next(iter(_UPDATE.findall(text)), update)  # each tells all since the blocks were rendered
    for label in _DETACHED.findall(update):
        values.pop(label, None)
    for label, body in _BLOCK.findall(update):
        renamed = _RENAMED.search(body)
        old = values.pop(renamed[1], []) if renamed else values.get(label, [])
        values[label] = _changed(old, body)
    return ["\n".join(lines) for lines in values.values()]


def _lines(body: str) -> list[str]:
    found = _VALUE.search(body)
    return _NEUTRALISED.sub(r"<\1/", found[1]).split("\n") if found else []


def _changed(old: list[str], body: str) -> list[str]:
    found = _LINES.search(body)
    if found is None:
        return _lines(body) if _VALUE.search(body) else old
    after, top, first, last, text = found.groups()
    start = int(after) if after else 0 if top else int(first) - 1
    end = start if first is None else int(last or first)
    come = [] if text == _REMOVED else _NEUTRALISED.sub(r"<\1/", text).split("\n")
    return [*old[:start], *come, *old[end:]]
