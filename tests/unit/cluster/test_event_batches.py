"""Events in batches."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from orchestra.cluster.event_batches import in_batches
from orchestra.core.events import Emitted, RunEvent, TextDelta


def delta(number: int) -> TextDelta:
    return TextDelta(run_id="r", agent="a", number=number, text=f"t{number}")


async def test_a_burst_of_text_is_a_few_batches_and_nothing_is_lost() -> None:
    async def events() -> AsyncIterator[RunEvent]:
        for number in range(500):
            yield delta(number)

    batches = [batch async for batch in in_batches(events())]
    assert [event.number for batch in batches for event in batch] == list(range(500))
    assert len(batches) < 50


async def test_the_first_text_goes_at_once_and_later_text_waits_for_the_pause() -> None:
    go = asyncio.Event()

    async def events() -> AsyncIterator[RunEvent]:
        yield delta(1)
        await go.wait()
        yield delta(2)
        yield delta(3)

    batches = in_batches(events(), pause=0.5)
    loop = asyncio.get_running_loop()
    begun = loop.time()
    assert [event.number for event in await anext(batches)] == [1]
    assert loop.time() - begun < 0.4
    go.set()
    assert [event.number for event in await anext(batches)] == [2, 3]
    assert [batch async for batch in batches] == []


async def test_what_is_no_text_does_not_wait_and_takes_the_text_before_it_along() -> None:
    go = asyncio.Event()

    async def events() -> AsyncIterator[RunEvent]:
        yield delta(1)
        await go.wait()
        yield delta(2)
        yield Emitted(run_id="r", agent="a", number=3, value=None)
        await asyncio.Event().wait()

    batches = in_batches(events(), pause=3600)
    assert [event.number for event in await anext(batches)] == [1]
    go.set()
    async with asyncio.timeout(5):
        assert [event.number for event in await anext(batches)] == [2, 3]
    await batches.aclose()  # type: ignore[attr-defined]


async def test_what_came_before_an_error_is_given_and_closing_closes_the_source() -> None:
    closed = asyncio.Event()

    async def broken() -> AsyncIterator[RunEvent]:
        yield delta(1)
        raise RuntimeError("broken")

    async def endless() -> AsyncIterator[RunEvent]:
        try:
            yield delta(1)
            await asyncio.Event().wait()
        finally:
            closed.set()

    seen: list[int] = []
    with pytest.raises(RuntimeError, match="broken"):  # noqa: PT012 - what came before it counts
        async for batch in in_batches(broken()):
            seen += [event.number for event in batch]
    assert seen == [1]

    batches = in_batches(endless())
    await anext(batches)
    await batches.aclose()  # type: ignore[attr-defined]
    assert closed.is_set()
