"""Vector sets (Redis 8): the server itself holds an owner's vectors and searches them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, cast

from orchestra.core.failpoints import failpoint
from orchestra.core.jsontext import dumps
from orchestra.core.passages import TagMode
from orchestra.core.span import Span
from orchestra.store.connection import Store
from orchestra.store.passage_store import StoredPassage

COMMANDS: Final = ("vadd", "vsim", "vrem", "vgetattr")
#: Passages a script: adding one takes the server up to a millisecond, and nobody else is served meanwhile.
PIECE = 16
Outcome: TypeAlias = Literal["ok", "other", "moved"]


@dataclass(frozen=True, slots=True)
class SetState:
    """How far a vector set is: ``last`` change (-1: begin anew); ``born`` tells it from one before, "" is none."""

    last: int = -1
    born: str = ""


class VectorSets:
    """Typed functions over the vector sets of one namespace."""

    def __init__(self, store: Store) -> None:
        self.store = store

    async def state(self, owner: str, edition: int) -> SetState:
        """How far the owner's set is with the vectors of ``edition``."""
        key = self.store.keys.vectored(owner)
        found = cast("list[str | None]", await self.store.read("HMGET", key, "edition", "born", "last"))
        if found[0] != str(edition):
            return SetState()
        return SetState(int(found[2] or -1), found[1] or "")

    async def put(
        self,
        owner: str,
        edition: int,
        born: str,
        passages: Sequence[tuple[StoredPassage, bytes]] = (),
        *,
        last: int | None = None,
    ) -> tuple[Outcome, str]:
        """Add passages as they were seen, with their vectors (float32); ``last``: all up to this change is there.

        Gives how it went and the set's ``born``: ``other`` when the archive has another model now, ``moved`` when the
        set was emptied or deleted since ``born``.
        """
        k = self.store.keys
        pieces = [passages[first : first + PIECE] for first in range(0, len(passages), PIECE)] or [()]
        for number, piece in enumerate(pieces):
            done = "" if last is None or number < len(pieces) - 1 else last
            arguments: list[str | int | float | bytes] = [edition, born, done]
            for stored, vector in piece:
                tags = dumps(list(stored.passage.tags))
                arguments += (stored.passage.id, stored.version, tags, attributes(stored), vector)
            keys = [k.embeddings, k.shelf(owner), k.vectored(owner), k.vectors(owner)]
            answer = await self.store.run(
                "vectors", [*keys, *(k.passage(stored.passage.id) for stored, _ in piece)], arguments
            )
            if answer[0] != "OK":
                return ("other" if answer[0] == "OTHER" else "moved"), born
            born = str(answer[1])
            failpoint("archive.vectors")
        return "ok", born

    async def drop(self, owner: str) -> None:
        """Delete the owner's set; who adds to it meanwhile is told, and one that searches makes it again."""
        await self.store.read("UNLINK", self.store.keys.vectored(owner), self.store.keys.vectors(owner))

    async def nearest(
        self, owner: str, vector: bytes, count: int, tags: Sequence[str], match: TagMode, span: Span
    ) -> list[tuple[str, float]]:
        """(id, cosine) of the nearest passages that pass the filter, the nearest first.

        With a filter the server looks at every vector: its walk through the graph would stop before it has found all
        that pass. Without one it walks, unless that finds fewer than were asked for.
        """
        wanted: list[str | int | float | bytes] = ["FP32", vector, "WITHSCORES", "COUNT", count]
        only = condition(tags, match, span)
        if only:
            return await self._search(owner, [*wanted, "FILTER", only, "TRUTH"])
        found = await self._search(owner, wanted)
        return found if len(found) == count else await self._search(owner, [*wanted, "TRUTH"])

    async def _search(self, owner: str, arguments: Sequence[str | int | float | bytes]) -> list[tuple[str, float]]:
        answer = cast("list[str]", await self.store.read("VSIM", self.store.keys.vectors(owner), *arguments))
        pairs = zip(answer[::2], answer[1::2], strict=True)
        return [(key, 2 * float(score) - 1) for key, score in pairs]  # the server gives (1 + cosine) / 2


def attributes(stored: StoredPassage) -> str:
    """What the server filters by, as JSON; the version is in it so that equal ones mean that nothing has changed."""
    passage = stored.passage
    tags = [_code(tag) for tag in passage.tags]
    return dumps({"v": stored.version, "at": passage.created_at, "tags": tags})


def condition(tags: Sequence[str], match: TagMode, span: Span) -> str:
    """The server's filter expression; empty when everything passes."""
    parts = []
    if tags:
        joined = (" or " if match == "any" else " and ").join(f'"{_code(tag)}" in .tags' for tag in tags)
        parts.append(f"({joined})")
    if span.start is not None:
        parts.append(f".at >= {span.start!r}")
    if span.end is not None:
        parts.append(f".at < {span.end!r}")
    return " and ".join(parts)


def _code(tag: str) -> str:
    # The expressions have no escapes, so a tag with quotes could not be written, or would be an expression itself.
    return hashlib.blake2b(tag.encode(), digest_size=12).hexdigest()
