"""A pass beside the turns of its own process: its heavy work is done in threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

import pytest

from orchestra import Agent, Runtime, Sleeptime
from orchestra.memory.lineage import blame
from orchestra.sleeptime.extractive import consolidate
from tests.sleeping import HELLO, NOTES, passes

T = TypeVar("T")


async def test_text_work_does_not_hold_up_the_event_loop(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    where: dict[str, bool] = {}

    def noting(function: Callable[..., T]) -> Callable[..., T]:
        def work(*args: object, **kwargs: object) -> T:
            where[function.__name__] = threading.current_thread() is threading.main_thread()
            return function(*args, **kwargs)

        return work

    for place, function in (("extractive_consolidator.consolidate", consolidate), ("passes.blame", blame)):
        monkeypatch.setattr(f"orchestra.sleeptime.{place}", noting(function))
    sleeptime = Sleeptime(every=1, consolidator="extractive")
    await runtime.register(Agent(name="a", model=HELLO, blocks=(NOTES,), sleeptime=sleeptime))
    await runtime.run("a", "I live in Lisbon.", session_id="s")
    await passes(runtime.store, 1)
    assert where == {"consolidate": False, "blame": False}
