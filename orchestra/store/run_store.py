"""Runs in Redis as somebody from outside sees them: listing, and finding those whose host died."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from orchestra.store.connection import Store

# Beside the journal, which may be long and is nobody else's business.
FIELDS = "status thread outcome host started_at reason needs_invocation_state user input parent".split()  # noqa: SIM905


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run that is live, or that ended less than 15 minutes ago.

    ``status`` is ``running``, ``interrupted`` (``reason`` says why) or ``ended``; ``outcome`` is the result's status
    once it has ended. ``started_at`` is Unix seconds, 0 when it is not known any more. ``request`` is what was asked,
    as JSON, ``parent`` the run that a child run belongs to.
    """

    run_id: str
    status: str
    thread: str
    outcome: str = ""
    host: str = ""
    started_at: float = 0.0
    reason: str = ""
    needs_invocation_state: bool = False
    user: str = ""
    request: str = ""
    parent: str = ""


class RunStore:
    """Looks at runs."""

    def __init__(self, store: Store) -> None:
        self.store = store

    async def get(self, run_id: str) -> StoredRun | None:
        """The run, or ``None`` when there is none, or it ended long ago."""
        values = cast("list[str | None]", await self.store.read("HMGET", self.store.keys.run(run_id), *FIELDS))
        found = {name: value for name, value in zip(FIELDS, values, strict=True) if value is not None}
        if not found:
            return None
        return StoredRun(
            run_id,
            found.get("status", ""),
            found.get("thread", ""),
            found.get("outcome", ""),
            found.get("host", ""),
            int(found.get("started_at", "0")) / 1000,
            found.get("reason", ""),
            found.get("needs_invocation_state") == "1",
            found.get("user", ""),
            found.get("input", ""),
            found.get("parent", ""),
        )

    async def interrupt(self, run: StoredRun, reason: str, host: str) -> bool:
        """Let a run wait on which nobody works, and free its thread; False when somebody does, or it has ended.

        ``host`` is who asks: a run of its own counts as given up.
        """
        keys = self.store.keys
        answer = await self.store.run(
            "orphan", [keys.run(run.run_id), keys.hosts, keys.head(run.thread)], [run.run_id, reason, host]
        )
        return answer[0] == "OK"

    async def answer(self, run_id: str) -> str | None:
        """The result of a run that has ended, as JSON text, while it is remembered."""
        return cast("str | None", await self.store.read("HGET", self.store.keys.run(run_id), "answer"))

    async def ended(self) -> list[StoredRun]:
        """The runs that have ended and are remembered, the last one first; found by the events of the namespace."""
        answer = await self.store.read("XREVRANGE", self.store.keys.events, "+", "-")
        ids: dict[str, None] = {}
        for _, event in cast("list[tuple[str, dict[str, str]]]", answer):
            if event.get("type") == "turn":
                ids[event["run"]] = None
        runs = [await self.get(run_id) for run_id in ids]
        return [run for run in runs if run is not None and run.status == "ended"]

    async def live(self) -> list[StoredRun]:
        """The runs that have not ended, oldest first."""
        ids = [run_id for run_id, _ in await self.store.scored(self.store.keys.runs)]
        found = [await self.get(run_id) for run_id in ids]
        return [run for run in found if run is not None]
