"""What runs wait for, in Redis: the questions of a run, its hold on the thread, and the answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from orchestra.core.errors import AlreadyAnswered, Fenced, MissingAnswer, RunFinished, RunNotFound, UnknownInterrupt
from orchestra.core.interrupts import InterruptView
from orchestra.core.jsontext import dumps, loads
from orchestra.store.connection import Store


@dataclass(frozen=True, slots=True)
class Suspension:
    """A run that is to wait.

    ``answer`` is its result as JSON, ``entries`` what joins its journal (names without ``j:``), ``settled`` the names
    of entries that are not needed any more. ``root`` is the thread of the session that a child run belongs to.
    """

    run: str
    thread: str
    token: int
    answer: str
    interrupts: tuple[InterruptView, ...]
    entries: Mapping[str, str]
    settled: tuple[str, ...] = ()
    root: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a run has asked so far, oldest first, and the ids of those that have been answered."""

    interrupts: tuple[InterruptView, ...]
    answered: frozenset[str]

    @property
    def open(self) -> tuple[InterruptView, ...]:
        """What it waits for."""
        return tuple(one for one in self.interrupts if one.id not in self.answered)


class InterruptStore:
    """Typed functions over the scripts that let runs wait and go on."""

    def __init__(self, store: Store) -> None:
        self.store = store

    async def suspend(self, suspension: Suspension) -> None:
        """Let the run wait, holding its thread. Raises :class:`Fenced`."""
        k, thread = self.store.keys, suspension.thread
        answer = await self.store.run(
            "suspend",
            [
                *(k.head(thread), k.run(suspension.run), k.events, k.children(suspension.root or thread)),
                *(k.log(thread), k.state(thread), k.turns(thread), k.work(thread), k.passes(thread)),
                *(k.retracted(thread), k.context(thread), k.offload(thread)),
            ],
            [
                *(suspension.run, suspension.token, suspension.answer, thread),
                *(len(suspension.interrupts), len(suspension.entries), "1" if suspension.root else ""),
                *(part for one in suspension.interrupts for part in (one.id, dumps(one.to_json()))),
                *(part for name, value in suspension.entries.items() for part in (f"j:{name}", value)),
                *(f"j:{name}" for name in suspension.settled),
            ],
        )
        if answer[0] == "FENCED":
            raise Fenced(f"thread {thread}", suspension.token)

    async def asked(self, run_id: str) -> Asked:
        """What the run has asked; nothing when there is no such run."""
        fields = await self.store.fields(self.store.keys.run(run_id))
        views = [InterruptView.from_json(loads(value)) for name, value in fields.items() if name.startswith("i:")]
        answered = frozenset(name[2:] for name in fields if name.startswith("a:"))
        return Asked(tuple(sorted(views, key=lambda one: one.id)), answered)

    async def answer(self, run_id: str, thread: str, answers: Mapping[str, str], always: Sequence[str] = ()) -> None:
        """Answer all that the run waits for; ``answers`` are JSON by id, ``always`` entries are ``agent|tool``.

        Raises:
            RunNotFound: no such run, or its session was deleted.
            RunFinished, UnknownInterrupt, AlreadyAnswered, MissingAnswer: nothing was changed.
        """
        k = self.store.keys
        found = await self.store.run(
            "answer",
            [k.run(run_id), k.head(thread), k.token],
            [run_id, len(answers), *(part for pair in answers.items() for part in pair), *always],
        )
        status, details = found[0], cast("list[str]", found[1:])
        if status == "GONE":
            raise RunNotFound(run_id)
        if status == "ENDED":
            raise RunFinished(run_id)
        if status == "UNKNOWN":
            raise UnknownInterrupt(run_id, details[0], [one.id for one in (await self.asked(run_id)).open])
        if status == "ANSWERED":
            raise AlreadyAnswered(run_id, details[0])
        if status == "MISSING":
            raise MissingAnswer(run_id, sorted(details))
