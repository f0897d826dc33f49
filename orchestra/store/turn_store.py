"""The turns of a thread in Redis: what each used and changed, and a new thread that begins after one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

from orchestra.core.errors import InputError, SessionInterrupted
from orchestra.core.jsontext import Json, dumps, loads
from orchestra.core.model import Usage
from orchestra.store.connection import Answer, Store
from orchestra.store.thread_store import MEMO_SECONDS, SessionLeft

Forked: TypeAlias = Literal["OK", "DUP", "MOVED", "EXISTS", "LEFT"]


@dataclass(frozen=True, slots=True)
class StoredTurn:
    """One committed turn. ``first`` and ``last`` are sequence numbers; ``at`` is Unix seconds.

    ``before`` holds for each key of the state that the turn changed its JSON before, or nothing where it was absent.
    """

    turn: int
    first: int
    last: int
    status: Literal["done", "aborted"]
    run: str
    at: float
    usage: Usage
    before: Mapping[str, tuple[Json, ...]]


def turn_from(text: str) -> StoredTurn:
    """The turn from its list entry."""
    turn, first, count, status, details = text.split(" ", 4)
    value = loads(details)
    return StoredTurn(
        int(turn),
        int(first),
        int(first) + int(count) - 1,
        cast("Literal['done', 'aborted']", status),
        value["run"],
        value["at"] / 1000,
        Usage.from_json(value["usage"]),
        {key: tuple(held) for key, held in value["before"].items()},
    )


class TurnStore:
    """Typed functions over the turns of threads."""

    def __init__(self, store: Store) -> None:
        self.store = store

    async def turns(self, thread: str) -> list[StoredTurn]:
        """The committed turns, oldest first, aborted ones among them."""
        return [turn_from(text) for text in await self.store.items(self.store.keys.turns(thread))]

    async def fork(self, thread: str, at_turn: int, new_thread: str, operation_id: str) -> None:
        """Make ``new_thread`` as ``thread`` was after its completed turn ``at_turn``; 0 is before the first.

        Raises:
            InputError: there is no such turn, or the new thread is there already.
            SessionLeft: a session of the new id has ended, and its blocks are still there.
        """
        while True:
            answer = await self._fork(thread, at_turn, new_thread, operation_id)
            if answer in ("OK", "DUP"):
                return
            if answer == "LEFT":
                raise SessionLeft(new_thread.partition("|")[2])
            if answer == "EXISTS":
                raise InputError(f"session {new_thread.partition('|')[2]!r} is there already; choose another id")

    async def _fork(self, thread: str, at_turn: int, new_thread: str, operation_id: str) -> Forked:
        k = self.store.keys
        head = await self.store.fields(k.head(thread))
        turns = await self.turns(thread)
        done = [index for index, turn in enumerate(turns) if turn.status == "done"]
        if not head or not 0 <= at_turn <= len(done):
            there = f"it has turns 1 to {len(done)}" if done else "it has none"
            raise InputError(f"session {thread.partition('|')[2]!r} has no turn {at_turn} ({there})")
        kept = done[at_turn - 1] + 1 if at_turn else 0
        state = _state_before(turns[kept:], await self.store.fields(k.state(thread)))
        last = turns[kept - 1].last if kept else 0
        entries = await self.store.items(k.log(thread))
        stay = [text for text in entries if int(text.split(" ", 1)[0]) <= last]
        calls = sum('"role":"assistant"' in text for text in stay)
        session_id, user = new_thread.partition("|")[2], head.get("user", "")
        answer = await self.store.run(
            "fork",
            [
                *(k.head(thread), k.log(thread), k.turns(thread)),
                *(k.head(new_thread), k.log(new_thread), k.turns(new_thread), k.state(new_thread)),
                *(k.session(session_id), k.threads, k.op(operation_id), k.token),
                *(k.context(thread), k.offload(thread), k.context(new_thread), k.offload(new_thread)),
                k.user_threads(user),
            ],
            [
                *(new_thread, head["edition"], head["seq"], len(stay), kept, at_turn, last, calls, MEMO_SECONDS),
                user,
                *(part for key, value in state.items() for part in (key, dumps(value))),
            ],
        )
        return cast("Forked", answer[0])

    async def rewind(self, thread: str, turn: int | str | None, operation_id: str) -> list[str]:
        """Take a turn and all that came after it out of the thread; the log's entries that went, oldest first.

        ``turn`` is the number of a completed turn, or the run id of any; ``None`` is the last turn of all.

        Raises:
            InputError: there is no such turn.
            SessionInterrupted: a waiting run holds the thread.
        """
        memo = self.store.keys.op(operation_id)
        while True:
            known = cast("str | None", await self.store.read("GET", memo))
            if known is not None:
                return known.split("\n") if known else []
            status, *rest = await self._rewind(thread, turn, memo)
            if status == "HELD":
                raise SessionInterrupted(thread.partition("|")[2], cast("str", rest[0]))
            if status != "MOVED":
                return cast("str", rest[0]).split("\n") if rest[0] else []

    async def _rewind(self, thread: str, turn: int | str | None, memo: str) -> Answer:
        k = self.store.keys
        head, turns = await self.store.fields(k.head(thread)), await self.turns(thread)
        at = _place_of(turn, turns, thread.partition("|")[2])
        before, first = turns[:at], turns[at].first
        state = _state_before(turns[at:], await self.store.fields(k.state(thread)))
        entries = await self.store.items(k.log(thread))
        numbers = [_seq_of(text) for text in entries]
        keep = next((index for index, seq in enumerate(numbers) if seq >= first), len(numbers))
        calls = sum('"role":"assistant"' in text for text in entries[:keep])
        number = max((one.turn for one in before if one.status == "done"), default=0)
        return await self.store.run(
            "rewind",
            [
                *(k.head(thread), k.log(thread), k.turns(thread), k.state(thread), k.due, k.work(thread), memo),
                *(k.threads, k.retracted(thread), k.token, k.context(thread)),
            ],
            [
                *(thread, head.get("edition", ""), head.get("seq", ""), keep, at, number),
                *(max(numbers[:keep], default=0), calls, MEMO_SECONDS),
                *(part for key, value in state.items() for part in (key, dumps(value))),
            ],
        )


def _place_of(turn: int | str | None, turns: Sequence[StoredTurn], session_id: str) -> int:
    done = [one.turn for one in turns if one.status == "done"]
    for index in reversed(range(len(turns))):
        one = turns[index]
        if turn is None or turn == one.run or (turn == one.turn and one.status == "done"):
            return index
    there = f"it has turns {min(done)} to {max(done)}" if done else "it has none"
    raise InputError(f"session {session_id!r} has no turn{'' if turn is None else f' {turn}'} ({there})")


def _state_before(turns: Sequence[StoredTurn], now: Mapping[str, str]) -> dict[str, Json]:
    """The state as it was before ``turns``, the last ones of a thread."""
    state: dict[str, Json] = {key: loads(text) for key, text in now.items()}
    for turn in reversed(turns):
        for key, held in turn.before.items():
            state.pop(key, None)
            if held:
                state[key] = held[0]
    return state


def _seq_of(entry: str) -> int:
    """An entry's sequence number; 0 when it is corrupt."""
    found = entry.split(" ", 1)[0]
    return int(found) if found.isdigit() else 0
