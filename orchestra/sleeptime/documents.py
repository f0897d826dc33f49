"""Documents that an agent's memory learns from besides the dialogue: which wait, and the part that one pass reads."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from orchestra.core.errors import SourceUnreadable
from orchestra.core.jsontext import digest
from orchestra.core.tokens import text_tokens
from orchestra.store.pass_store import Document

MAX_BYTES = 4 << 20
MAX_FILES = 10_000
DONE = "done"


@dataclass(frozen=True, slots=True)
class Part:
    """What a pass reads of a document: its characters from ``first`` up to ``last`` of ``length``.

    ``name`` is the file's path; ``before`` is what was known of it, ``digest`` that of its whole text.
    """

    name: str
    text: str
    digest: str
    first: int
    last: int
    length: int
    before: str

    @property
    def mark(self) -> Document:
        """What the store keeps when the part is worked through."""
        place = DONE if self.last >= self.length else str(self.last)
        return Document(self.name, self.before, f"{self.digest} {place}")

    def heading(self) -> str:
        """Which document it is, and which part of it."""
        whole = self.first == 0 and self.last == self.length
        part = "" if whole else f" (characters {self.first + 1} to {self.last} of {self.length})"
        return f"Document {Path(self.name).name}{part}:"


@dataclass(frozen=True, slots=True)
class Reading:
    """The parts that one pass reads; ``rest`` is True when more waits."""

    parts: tuple[Part, ...] = ()
    rest: bool = False


def read_documents(sources: Sequence[str], known: Mapping[str, str], *, max_tokens: int) -> Reading:
    """The documents that were not worked through as they are now: as many as fit into ``max_tokens``.

    A document that does not fit by itself is read in parts, one a pass. ``known`` is what the store keeps, by name.

    Raises:
        SourceUnreadable: a source is not there, or holds too many files.
    """
    parts: list[Part] = []
    left = max_tokens
    for waiting in unread(sources, known):
        tokens = text_tokens(waiting.text)
        if tokens <= left:
            parts.append(waiting)
            left -= tokens
            continue
        if not parts:
            parts.append(_first_of(waiting, max_tokens))
        return Reading(tuple(parts), True)
    return Reading(tuple(parts))


def unread(sources: Sequence[str], known: Mapping[str, str]) -> Iterator[Part]:
    """What waits of each document, all of it as one part, in the order of the sources and by name.

    Passed over: hidden files, links out of the folder, files that are not UTF-8 text, empty or above 4 MB.
    """
    seen: set[str] = set()
    for path in _files(sources):
        name = str(path)
        text = None if name in seen else _text(path)
        seen.add(name)
        if text is None or not text.strip():
            continue
        before, hashed = known.get(name, ""), digest(text)
        old, _, place = before.partition(" ")
        first = 0
        if old == hashed:
            if place == DONE:
                continue
            first = int(place)
        yield Part(name, text[first:], hashed, first, len(text), len(text), before)


def _files(sources: Sequence[str]) -> Iterator[Path]:
    count = 0
    for source in sources:
        root = Path(source)
        if not root.exists():
            raise SourceUnreadable(source, "there is no such file or folder")
        for path in [root] if root.is_file() else _inside(root):
            count += 1
            if count > MAX_FILES:
                raise SourceUnreadable(source, f"the sources hold more than {MAX_FILES} files")
            yield path


def _inside(root: Path) -> Iterator[Path]:
    real = os.path.realpath(root)
    for where, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(where, name)
            if not name.startswith(".") and os.path.realpath(path).startswith(real + os.sep) and path.is_file():
                yield path


def _text(path: Path) -> str | None:
    """The text; ``None`` for what is none, or is gone."""
    try:
        if path.stat().st_size > MAX_BYTES:
            return None
        data = path.read_bytes()
        return None if b"\0" in data else data.decode("utf-8-sig").replace("\r\n", "\n")
    except (OSError, UnicodeDecodeError):
        return None


def _first_of(part: Part, max_tokens: int) -> Part:
    """Its beginning, up to the end of a paragraph, line or word, in ``max_tokens``; one character at least."""
    text, size = part.text, len(part.text)
    while size > 1 and text_tokens(text[:size]) > max_tokens:
        size = max(1, min(size - 1, size * max_tokens // text_tokens(text[:size])))
    for end in ("\n\n", "\n", " "):
        at = text.rfind(end, size // 2, size)
        if at >= 0:
            size = at + len(end)
            break
    return Part(part.name, text[:size], part.digest, part.first, part.first + size, part.length, part.before)
