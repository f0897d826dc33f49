"""What becomes of a session's summary when its messages go, its user changes, or somebody rewrites it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from orchestra import Agent, Runtime, Sleeptime
from orchestra.core.errors import Fenced
from orchestra.core.model import Usage
from orchestra.runtime.client import Client, SessionHandle
from orchestra.store.closing_store import ClosingStore
from orchestra.store.connection import Store
from orchestra.store.passage_store import NewPassage
from orchestra.testing import FunctionModel
from tests.hosts import Machines

PLAIN = Sleeptime(every=None, consolidator="extractive")
AGENT = Agent(name="a", model=FunctionModel(lambda request: "noted"), sleeptime=PLAIN)


async def said(client: Client, text: str, *, session: str = "s", user: str | None = "ana") -> None:
    assert (await client.run("a", text, session_id=session, user_id=user)).status == "completed"


async def closed(runtime: Runtime, session: str = "s") -> bool:
    asked = await runtime.close_session(session)
    await runtime.drain(session)
    return asked


async def texts(client: Client, user: str | None = "ana") -> list[str]:
    return [one.text for one in await client.passages.list("a", user_id=user)]


async def popped(session: SessionHandle) -> None:
    while await session.pop_item() is not None:
        pass


async def rewound(session: SessionHandle) -> None:
    await session.rewind(1)


@pytest.mark.parametrize("take", [popped, rewound])
async def test_nothing_is_left_of_a_session_whose_messages_are_all_gone(
    runtime: Runtime, take: Callable[[SessionHandle], Awaitable[None]]
) -> None:
    await runtime.register(AGENT)
    await said(runtime, "My code is 4711.")
    await closed(runtime)
    assert len(await texts(runtime)) == 1
    await take(runtime.session("s", "a"))
    assert await closed(runtime)
    assert await texts(runtime) == []
    assert list(await runtime.passages.search("a", "code 4711", user_id="ana")) == []
    await said(runtime, "My dog is called Rex.")
    await closed(runtime)
    (text,) = await texts(runtime)
    assert "Rex" in text


async def test_clearing_a_session_takes_its_summary_along(runtime: Runtime) -> None:
    await runtime.register(AGENT)
    await said(runtime, "My code is 4711.")
    await said(runtime, "My cat is called Tom.", session="other")
    await closed(runtime)
    await closed(runtime, "other")
    for _ in range(2):
        await runtime.session("s", "a").clear_session()
        (text,) = await texts(runtime)
        assert "Tom" in text
    hits = await runtime.passages.search("a", "code 4711", user_id="ana")
    assert [hit.passage.text for hit in hits] == [text]
    await said(runtime, "My dog is called Rex.")
    await closed(runtime)
    assert sorted(line for text in await texts(runtime) for line in text.split("\n")[1:]) == [
        "- My cat is called Tom.",
        "- My dog is called Rex.",
    ]


async def test_clearing_after_the_summary_was_deleted(runtime: Runtime) -> None:
    await runtime.register(AGENT)
    await said(runtime, "My code is 4711.")
    await closed(runtime)
    (one,) = await runtime.passages.list("a", user_id="ana")
    await runtime.passages.delete(one.id)
    await runtime.session("s", "a").clear_session()
    assert await texts(runtime) == []


async def test_a_closing_is_published_while_the_session_is_cleared(machines: Machines, store: Store) -> None:
    """The clear has looked for a summary, there was none, and now there is one: it goes all the same."""
    client = await machines.client()
    await client.register(AGENT)
    await said(client, "My code is 4711.")
    closings, run = ClosingStore(store), store.run
    await closings.ask("a|s")
    claim = await closings.claim("a|s", "h", "c")
    assert claim is not None
    late = await closings.claim("a|s", "h", "c")

    async def between(script: str, *rest: object) -> object:
        if script == "amend":
            store.run = run  # type: ignore[method-assign]
            assert await closings.publish(claim, NewPassage("p-1", "4711", created_at=1.0), Usage()) == "OK"
        return await run(script, *rest)  # type: ignore[arg-type]

    store.run = between  # type: ignore[method-assign, assignment]
    await client.session("s", "a").clear_session()
    assert await texts(client) == []
    assert late is not None
    with pytest.raises(Fenced):
        await closings.publish(late, NewPassage("p-1", "4711", created_at=1.0), Usage())
    assert await texts(client) == []


async def test_a_session_that_gets_a_user_takes_its_summary_from_everybody(runtime: Runtime) -> None:
    await runtime.register(AGENT)
    await said(runtime, "My budget is 2000 euros.", user=None)
    await closed(runtime)
    assert len(await texts(runtime, None)) == 1
    await said(runtime, "My cat is called Tom.")
    await closed(runtime)
    assert await texts(runtime, None) == []
    (text,) = await texts(runtime)
    assert "2000 euros" in text
    assert "Tom" in text
    assert list(await runtime.passages.search("a", "budget in euros", user_id="ben")) == []


@pytest.mark.parametrize("session", ["a\nb", "a\r\nb:\n", "a|b", " ", "Session x:\n- y", "\u2028"])
async def test_any_session_id_stands_in_one_line(runtime: Runtime, session: str) -> None:
    await runtime.register(AGENT)
    await said(runtime, "My budget is 2000 euros.", session=session)
    await closed(runtime, session)
    await said(runtime, "My cat is called Tom.", session=session)
    await closed(runtime, session)
    (text,) = await texts(runtime)
    assert text.split("\n")[1:] == ["- My budget is 2000 euros.", "- My cat is called Tom."]


async def test_a_summary_that_was_rewritten_is_gone_on_from(runtime: Runtime) -> None:
    await runtime.register(AGENT)
    await said(runtime, "My budget is 2000 euros.")
    await closed(runtime)
    (one,) = await runtime.passages.list("a", user_id="ana")
    await runtime.passages.update(one.id, text="The password is swordfish.")
    await said(runtime, "My cat is called Tom.")
    await closed(runtime)
    (text,) = await texts(runtime)
    assert text.split("\n")[1:] == ["- The password is swordfish.", "- My cat is called Tom."]
