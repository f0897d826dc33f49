"""What the OpenAI server of the tests answers, whatever the protocol."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

Body = dict[str, Any]
CREATED = 1_700_000_000


@dataclass(frozen=True)
class Called:
    """A tool call of an answer. ``arguments`` may be any text, so that broken JSON can be sent too."""

    name: str
    arguments: str | Mapping[str, object] = field(default_factory=dict)
    id: str = ""

    @property
    def text(self) -> str:
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments, ensure_ascii=False)


@dataclass(frozen=True)
class Answer:
    """What the server says. ``then`` tells how a stream goes on after its words instead of ending well."""

    text: str = ""
    calls: Sequence[Called] = ()
    reasoning: str = ""
    usage: tuple[int, int, int] | None = (11, 7, 3)  # prompt, completion, cached; None: not reported
    finish_reason: str | None = None
    then: Literal["end", "stall", "cut", "close"] = "end"
    escaped: bool = False  # JSON in ASCII, so that a character outside the BMP is split into its two halves


@dataclass(frozen=True)
class Fault:
    """An error instead of an answer."""

    status: int
    message: str = "it went wrong"
    code: str | None = None
    type: str = "error"
    headers: Mapping[str, str] = field(default_factory=dict)


def exhausted(value: object) -> None:
    """Walk through ``value``: the library declares lists as iterables, which pydantic checks only when read."""
    if isinstance(value, Mapping):
        for item in value.values():
            exhausted(item)
    elif isinstance(value, Iterator | list | tuple):
        for item in cast("Iterator[object]", value):
            exhausted(item)


def pieces(text: str, size: int, *, halves: bool) -> list[str]:
    """``text`` in pieces of ``size`` characters; with ``halves``, of UTF-16 units, so that pairs are torn apart."""
    if halves:
        data = text.encode("utf-16-le")
        size *= 2
        return [data[at : at + size].decode("utf-16-le", "surrogatepass") for at in range(0, len(data), size)]
    return [text[at : at + size] for at in range(0, len(text), size)]
