"""A thread's log changed from outside a turn, in Redis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias, cast

from orchestra.core.errors import SessionInterrupted
from orchestra.store.connection import Answer, Store
from orchestra.store.passage_store import PassageStore, shelved
from orchestra.store.thread_store import MEMO_SECONDS, SessionLeft

Operation: TypeAlias = Literal["add", "pop", "clear"]


class LogStore:
    """Typed functions over the script that changes logs."""

    def __init__(self, store: Store) -> None:
        self.store = store

    async def amend(
        self,
        thread: str,
        operation: Operation,
        operation_id: str,
        messages: Sequence[tuple[int, str]] = (),
    ) -> str:
        """Change the log from outside a turn, once per ``operation_id``; a pop gives the entry's text, or ``""``.

        A clear takes the summary of an earlier closing along.

        Raises:
            SessionInterrupted: a waiting run holds the thread.
            SessionLeft: a session of this id has ended, and its blocks are still there.
        """
        while True:
            answer = await self._amend(thread, operation, operation_id, messages)
            if answer[0] == "HELD":
                raise SessionInterrupted(thread.partition("|")[2], cast("str", answer[1]))
            if answer[0] == "LEFT":
                raise SessionLeft(thread.partition("|")[2])
            if answer[0] != "MOVED":
                return cast("str", answer[1])

    async def _amend(
        self, thread: str, operation: Operation, operation_id: str, messages: Sequence[tuple[int, str]]
    ) -> Answer:
        k = self.store.keys
        keys, arguments = [], [part for pair in messages for part in pair]
        if operation == "clear":
            summary = str(await self.store.read("HGET", k.work(thread), "closed_passage") or "")
            found = await PassageStore(self.store).get([summary]) if summary else []
            keys, arguments = [*shelved(self.store, found[0] if found else None)], [summary]
        return await self.store.run(
            "amend",
            [
                *(k.head(thread), k.log(thread), k.turns(thread), k.state(thread), k.due, k.work(thread)),
                *(k.op(operation_id), k.session(thread.partition("|")[2]), k.threads, k.retracted(thread), k.token),
                *(k.context(thread), k.offload(thread), *keys),
            ],
            [operation, thread, MEMO_SECONDS, *arguments],
        )
