"""Sessions that are to be closed, in Redis: times, the queue, and the summary that a closing leaves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast

from orchestra.core.errors import Fenced
from orchestra.core.jsontext import dumps
from orchestra.core.model import Usage
from orchestra.core.names import split_thread
from orchestra.core.passages import Passage
from orchestra.store.connection import Answer, Store
from orchestra.store.pass_store import DAY_MS, LEASE_MS
from orchestra.store.passage_store import NewPassage, owner_of, shelved


@dataclass(frozen=True, slots=True)
class ClosingClaim:
    """A claimed closing: its fencing token, the thread's head at that moment, and the closing before.

    ``closed`` is the last message that one covered (0: none), ``passage`` the id of its summary. ``calls`` counts the
    model calls of the thread's passes and closings.
    """

    thread: str
    claim: str
    token: int
    edition: int
    seq: int
    turn: int
    user: str
    closed: int
    passage: str
    tries: int
    calls: int


class ClosingStore:
    """Typed functions over the scripts that close sessions. ``lease_ms`` is how long a claim holds."""

    def __init__(self, store: Store, *, lease_ms: int = LEASE_MS) -> None:
        self.store, self.lease_ms = store, lease_ms

    async def ask(self, thread: str) -> bool:
        """Ask for a thread to be closed; False when it is not there, or all of it is closed already."""
        k = self.store.keys
        answer = await self.store.run("close", [k.head(thread), k.work(thread), k.closing, k.wake], [thread])
        return answer[0] == "OK"

    async def at(self, thread: str, moment: float) -> None:
        """Close the thread at ``moment`` (Unix seconds), unless another time is set already."""
        await self.store.read("ZADD", self.store.keys.closes, "NX", int(moment * 1000), thread)

    async def due(self, limit: int = 16) -> list[str]:
        """Threads that may be claimed now."""
        k, now = self.store.keys, await self.store.now()
        found = [*await self.store.scored(k.closing, limit), *await self.store.scored(k.closes, limit)]
        return list(dict.fromkeys(name for name, score in found if score <= now))

    async def pending(self) -> dict[str, float]:
        """The threads that were asked for, or whose time has come → when they may be claimed, in Unix seconds."""
        k, now = self.store.keys, await self.store.now()
        rung = [(name, score) for name, score in await self.store.scored(k.closes) if score <= now]
        return {name: score / 1000 for name, score in (*rung, *await self.store.scored(k.closing))}

    async def renew(self, claim: ClosingClaim, host: str) -> bool:
        """Keep the claim; False when it is lost."""
        return (await self._claim(claim.thread, host, claim.claim, keep=True))[0] == "OK"

    async def _claim(self, thread: str, host: str, claim: str, *, keep: bool) -> Answer:
        k = self.store.keys
        return await self.store.run(
            "closing",
            [k.closing, k.closes, k.head(thread), k.work(thread), k.token],
            [thread, host, claim, self.lease_ms, "1" if keep else "0"],
        )

    async def claim(self, thread: str, host: str, claim: str) -> ClosingClaim | None:
        """Claim a closing (``claim`` names this attempt); ``None``: somebody else has it, or it is closed already."""
        answer = await self._claim(thread, host, claim, keep=False)
        if answer[0] != "OK":
            return None
        token, edition, seq, turn, user, closed, passage, tries, calls = (cast("str", item) for item in answer[1:10])
        head = (int(token), int(edition), int(seq), int(turn), user)
        return ClosingClaim(thread, claim, *head, int(closed), passage, int(tries), int(calls))

    async def publish(
        self, claim: ClosingClaim, summary: NewPassage | None, usage: Usage, *, gone: Passage | None = None
    ) -> Literal["OK", "DUP", "EDITED"]:
        """Put the summary into the archive; one of that id gets the new text; the summary ``gone`` leaves it.

        Raises :class:`Fenced`.
        """
        k, thread = self.store.keys, claim.thread
        agent = split_thread(thread)[0]
        owner = owner_of(agent, claim.user or None)
        made = summary or NewPassage("", "")
        spent = k.spent(agent, int(await self.store.now()) // DAY_MS)
        answer = await self.store.run(
            "closed",
            [
                *(k.head(thread), k.work(thread), k.closing, k.events, spent),
                *(k.shelf(owner), k.changes(owner), k.archives, k.passage(made.id)),
                *shelved(self.store, gone),
            ],
            [
                *(thread, claim.token, claim.edition, claim.seq, owner, agent, claim.user),
                *(made.id, made.text, dumps(list(made.tags)), made.source, int(made.created_at * 1000)),
                *(usage.model_calls, usage.total_tokens, "" if gone is None else gone.id),
            ],
        )
        if answer[0] == "FENCED":
            raise Fenced(f"closing of {thread}", claim.token)
        return cast("Literal['OK', 'DUP', 'EDITED']", answer[0])

    async def give_back(
        self,
        claim: ClosingClaim,
        error: str,
        *,
        max_tries: int = 3,
        backoff_ms: int = 0,
        reason: Literal["failed", "again", "skip"] = "failed",
    ) -> None:
        """Give a closing back that did not work out. A lost claim changes nothing."""
        k = self.store.keys
        await self.store.run(
            "unclosed",
            [k.work(claim.thread), k.closing, k.events],
            [claim.thread, claim.token, error, max_tries, backoff_ms, reason],
        )
