"""Where a block's lines come from: blame and diff over its history. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from orchestra.core.jsontext import dumps, loads
from orchestra.store.block_store import Version


@dataclass(frozen=True, slots=True)
class Sources:
    """The messages that an edit came from: sequence numbers in ``thread``, for all of it and for single lines."""

    thread: str = ""
    seqs: tuple[int, ...] = ()
    lines: tuple[tuple[str, tuple[int, ...]], ...] = ()

    def to_text(self) -> str:
        """As the history keeps it."""
        return dumps({"thread": self.thread, "seqs": self.seqs, "lines": self.lines})

    @classmethod
    def from_text(cls, text: str) -> Sources:
        """The inverse of :meth:`to_text`; empty text gives no sources."""
        if not text:
            return cls()
        value = loads(text)
        lines = tuple((line, tuple(seqs)) for line, seqs in value["lines"])
        return cls(value["thread"], tuple(value["seqs"]), lines)


@dataclass(frozen=True, slots=True)
class BlameLine:
    """One line of a block: the edit that wrote it, and the messages it came from.

    ``oldest`` is True when the line is at least as old as the oldest version that the history still has.
    """

    text: str
    version: int
    operation: str
    author: str
    run: str
    work: str
    thread: str
    seqs: tuple[int, ...]
    oldest: bool = False


def blame(versions: Sequence[Version]) -> list[BlameLine]:
    """The origin of each line of the newest version."""
    lines: list[BlameLine] = []
    for number, version in enumerate(versions):
        texts = version.value.split("\n") if version.value else []
        sources = Sources.from_text(version.sources)
        by_line = dict(sources.lines)
        matcher = difflib.SequenceMatcher(None, [line.text for line in lines], texts, autojunk=False)
        new: list[BlameLine] = []
        for kind, a, b, c, d in matcher.get_opcodes():
            if kind == "equal":
                new.extend(lines[a:b])
                continue
            who = (version.version, version.operation, version.author, version.run, version.work, sources.thread)
            oldest = number == 0 and version.version > 1
            new.extend(BlameLine(text, *who, by_line.get(text, sources.seqs), oldest) for text in texts[c:d])
        lines = new
    return lines


def kept_sources(versions: Sequence[Version], value: str) -> str:
    """The sources of the lines of ``value`` as the history knows them: a line that a revert brings back keeps its own.

    Lines of one thread only (that of most lines); the others lose theirs.
    """
    known: dict[str, tuple[str, tuple[int, ...]]] = {}
    for version in versions:
        found = Sources.from_text(version.sources)
        by_line = dict(found.lines)
        for text in version.value.split("\n"):
            if text in by_line or (found.seqs and text not in known):
                known[text] = (found.thread, by_line.get(text, found.seqs))
    lines = [(text, *known[text]) for text in dict.fromkeys(value.split("\n")) if text in known]
    if not lines:
        return ""
    threads = [thread for _, thread, _ in lines]
    thread = max(dict.fromkeys(threads), key=threads.count)
    return Sources(thread, (), tuple((text, seqs) for text, other, seqs in lines if other == thread)).to_text()


def diff(before: str, after: str, *, names: tuple[str, str] = ("before", "after")) -> str:
    """A unified diff of two values, by lines; empty when they are equal."""
    a, b = before.split("\n") if before else [], after.split("\n") if after else []
    return "\n".join(difflib.unified_diff(a, b, *names, lineterm="", n=1))
