"""One connection: what its client library does with a cancellation."""

from __future__ import annotations

import asyncio

from orchestra.store.connection import Store
from tests.servers import Server


async def ticks(number: int) -> None:
    """Let the event loop go round ``number`` times."""
    for _ in range(number):
        await asyncio.sleep(0)


async def cancelled_after(store: Store, number: int) -> bool:
    """Cancel a command after so many rounds of the loop; False when it had ended by then."""
    command = asyncio.create_task(store.read("PING"))
    await ticks(number)
    if not command.cancel():
        return False
    assert isinstance((await asyncio.gather(command, return_exceptions=True))[0], asyncio.CancelledError), number
    return True


async def test_a_cancelled_command_is_cancelled_whatever_it_is_at(store: Store) -> None:
    """A caller that is told of its cancellation by nobody goes on, and what it does next runs for ever."""
    await store.read("PING")
    assert [await cancelled_after(store, number) for number in range(12)][:4] == [True] * 4


async def test_also_while_the_connection_is_being_opened(server: Server, namespace: str) -> None:
    for number in range(24):
        store = Store(server.url, namespace)
        try:
            await cancelled_after(store, number)
        finally:
            await store.close()
