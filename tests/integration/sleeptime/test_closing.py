"""Closing sessions: by request, when they are idle, when their day is over; one summary each, whatever dies."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from orchestra import Agent, Conversation, Runtime, Sleeptime
from orchestra.core.errors import ConfigError, Fenced, InputError, UnknownName
from orchestra.core.model import ModelReply, ModelRequest
from orchestra.core.passages import Passage
from orchestra.runtime.client import Client
from orchestra.runtime.definition import Loaded, load_agent
from orchestra.sleeptime.closing import Closing
from orchestra.sleeptime.summaries import summarizer_for
from orchestra.store.closing_store import ClosingClaim, ClosingStore
from orchestra.store.connection import Store
from orchestra.store.definition_store import DefinitionStore
from orchestra.store.pass_store import PassStore
from orchestra.store.thread_store import ThreadStore
from orchestra.testing import FunctionModel, reply
from tests.hosts import Machines
from tests.waiting import until

HELLO = FunctionModel(lambda request: "hello")
PLAIN = Sleeptime(every=None, consolidator="extractive")


def agent(sleeptime: Sleeptime | None = PLAIN, **more: object) -> Agent:
    return Agent.model_validate({"name": "a", "model": HELLO, "sleeptime": sleeptime} | more)


async def say(client: Client, *texts: str, session: str = "s", user: str | None = "ana") -> None:
    for text in texts:
        assert (await client.run("a", text, session_id=session, user_id=user)).status == "completed"


async def summaries(client: Client, user: str | None = "ana") -> Sequence[Passage]:
    return list(await client.passages.list("a", user_id=user))


async def close(client: Client, session: str = "s") -> bool:
    asked = await client.close_session(session)
    await client.drain(session)
    return asked


async def status(store: Store, thread: str = "a|s") -> dict[str, str]:
    return await PassStore(store).status(thread)


class Scribe:
    """A model that notes what it was asked to summarise."""

    def __init__(self, *answers: str) -> None:
        self.asked: list[str] = []
        self._answers = list(answers)
        self.sleeptime = Sleeptime(every=None, model=FunctionModel(self.answer))

    def answer(self, request: ModelRequest) -> ModelReply:
        self.asked.append(request.messages[-1].text)
        return reply(self._answers.pop(0))


async def test_a_closed_session_leaves_a_summary_for_its_user(runtime: Runtime) -> None:
    await runtime.register(agent())
    await say(runtime, "My budget is 2000 euros.", "I am allergic to peanuts.")
    assert await close(runtime)
    (found,) = await summaries(runtime)
    assert found.tags == ("session-summary",)
    assert (found.agent, found.user_id) == ("a", "ana")
    assert found.text.split("\n")[0].startswith("Session s, last used 20")
    assert "2 turns" in found.text
    assert "2000 euros" in found.text
    assert "peanuts" in found.text
    hits = await runtime.passages.search("a", "peanuts", ["session-summary"], user_id="ana")
    assert [hit.passage.id for hit in hits] == [found.id]
    assert list(await runtime.passages.search("a", "peanuts", user_id="bob")) == []
    assert await summaries(runtime, None) == []


async def test_closing_twice_changes_nothing(runtime: Runtime) -> None:
    scribe = Scribe("They talked.")
    await runtime.register(agent(scribe.sleeptime))
    await say(runtime, "Hi.")
    assert await close(runtime)
    before = await summaries(runtime)
    assert not await close(runtime)
    assert await summaries(runtime) == before
    assert len(scribe.asked) == 1


async def test_a_new_turn_opens_it_again_and_the_next_summary_takes_the_place_of_the_first(runtime: Runtime) -> None:
    scribe = Scribe("About Kyoto.", "About Kyoto, then Osaka.")
    await runtime.register(agent(scribe.sleeptime))
    await say(runtime, "Let us go to Kyoto.")
    await close(runtime)
    (first,) = await summaries(runtime)
    await say(runtime, "Rather Osaka.")
    assert await close(runtime)
    (second,) = await summaries(runtime)
    assert second.id == first.id
    assert second.text.endswith("About Kyoto, then Osaka.")
    assert "Let us go to Kyoto." in scribe.asked[0]
    assert "About Kyoto." in scribe.asked[1]  # the summary so far, and only what was said since
    assert "Rather Osaka." in scribe.asked[1]
    assert "Let us go to Kyoto." not in scribe.asked[1]
    assert int((await status(runtime.store))["calls"]) == 2


@pytest.mark.parametrize("how", ["popped", "deleted"])
async def test_when_the_first_summary_cannot_be_gone_on_from_the_whole_log_is_read(runtime: Runtime, how: str) -> None:
    scribe = Scribe("First.", "Second.")
    await runtime.register(agent(scribe.sleeptime))
    await say(runtime, "One.", "Two.")
    await close(runtime)
    (first,) = await summaries(runtime)
    if how == "popped":
        session = runtime.session("s", "a")
        await session.pop_item()
        await session.pop_item()
    else:
        await runtime.passages.delete(first.id)
    await say(runtime, "Three.")
    assert await close(runtime)
    assert "One." in scribe.asked[1]
    assert ("Two." in scribe.asked[1]) == (how == "deleted")
    assert "First." not in scribe.asked[1]
    (second,) = await summaries(runtime)
    assert second.text.endswith("Second.")


async def test_what_was_taken_back_leaves_the_summary_without_a_new_turn(runtime: Runtime) -> None:
    await runtime.register(agent())
    await say(runtime, "My budget is 2000 euros.", "I am allergic to peanuts.")
    await close(runtime)
    session = runtime.session("s", "a")
    await session.pop_item()
    await session.pop_item()
    assert await close(runtime)
    (found,) = await summaries(runtime)
    assert "2000 euros" in found.text
    assert "peanuts" not in found.text


async def test_the_extractive_summary_follows_what_changed(runtime: Runtime) -> None:
    await runtime.register(agent())
    await say(runtime, "My budget is 2000 euros.")
    await close(runtime)
    await say(runtime, "My budget is 3000 euros now.")
    await close(runtime)
    (found,) = await summaries(runtime)
    assert "3000" in found.text
    assert "2000" not in found.text


async def test_a_session_of_small_talk_still_says_what_it_was_about(runtime: Runtime) -> None:
    await runtime.register(agent())
    await say(runtime, "Hello there!")
    await close(runtime)
    (found,) = await summaries(runtime)
    assert found.text.endswith("- Hello there!")


async def test_a_long_session_is_read_in_stretches(runtime: Runtime) -> None:
    scribe = Scribe("1.", "2.", "3.")
    sleeptime = scribe.sleeptime.model_copy(update={"max_tokens": 1})
    await runtime.register(agent(sleeptime))
    await say(runtime, "One.", "Two.", "Three.")
    await close(runtime)
    for asked, word in zip(scribe.asked, ("One.", "Two.", "Three."), strict=True):
        assert word in asked
    assert "The summary so far:\n2." in scribe.asked[2]
    (found,) = await summaries(runtime)
    assert found.text.endswith("3.")


async def test_a_session_without_a_user_leaves_it_to_the_agent(runtime: Runtime) -> None:
    await runtime.register(agent(None))
    await say(runtime, "My budget is 2000 euros.", user=None)
    await close(runtime)
    (found,) = await summaries(runtime, None)
    assert "2000 euros" in found.text


async def test_idle_sessions_close_by_themselves(runtime: Runtime) -> None:
    conversation = Conversation.model_validate({"close_after": 0.05})
    await runtime.register(agent(conversation=conversation))
    await say(runtime, "My budget is 2000 euros.")

    async def closed() -> bool:
        return len(await summaries(runtime)) == 1

    await until("the idle session has a summary", closed)
    assert await runtime.store.scored(runtime.store.keys.closes) == []


async def test_each_turn_puts_the_closing_off_and_without_the_key_there_is_none(runtime: Runtime) -> None:
    await runtime.register(agent(conversation=Conversation.model_validate({"close_after": "12h"})))
    await say(runtime, "Hi.")
    first = dict(await runtime.store.scored(runtime.store.keys.closes))
    await say(runtime, "Hi again.")
    second = dict(await runtime.store.scored(runtime.store.keys.closes))
    assert first.keys() == second.keys() == {"a|s"}
    assert first["a|s"] < second["a|s"] <= await runtime.store.now() + 12 * 3600 * 1000
    assert await summaries(runtime) == []
    await runtime.register(agent())
    await say(runtime, "Hi.", session="other")
    assert dict(await runtime.store.scored(runtime.store.keys.closes)).keys() == {"a|s"}
    await ThreadStore(runtime.store).delete("a|s")
    assert await runtime.store.scored(runtime.store.keys.closes) == []


def test_a_session_may_not_end_before_it_is_closed() -> None:
    Conversation.model_validate({"ttl": "30d", "close_after": "12h"})
    with pytest.raises(ValueError, match="close_after: it must be below ttl"):
        Conversation.model_validate({"ttl": "12h", "close_after": "12h"})


async def test_the_session_of_a_day_is_closed_when_the_day_is_over(runtime: Runtime) -> None:
    await runtime.register(agent())
    template = "{user}-{date}"
    today = await runtime.open_session(template, "a", user_id="ana")
    assert today == f"ana-{datetime.now(UTC).date()}"
    ((thread, ends),) = await runtime.store.scored(runtime.store.keys.closes)
    assert thread == f"a|{today}"
    midnight = datetime.combine(datetime.now(UTC).date() + timedelta(days=1), datetime.min.time(), UTC)
    assert ends / 1000 == midnight.timestamp()
    await say(runtime, "My budget is 2000 euros.", session=today)
    assert await summaries(runtime) == []
    # The night passes.
    await runtime.store.read("ZADD", runtime.store.keys.closes, 1, thread)
    await until("the session of that day is closed", lambda: _one(runtime))


async def _one(client: Client) -> bool:
    return len(await summaries(client)) == 1


async def test_who_comes_the_next_day_closes_the_day_before(runtime: Runtime) -> None:
    await runtime.register(agent())
    yesterday = f"ana-{datetime.now(UTC).date() - timedelta(days=1)}"
    await say(runtime, "My budget is 2000 euros.", session=yesterday)
    await say(runtime, "Bob's budget is 5 euros.", session=yesterday.replace("ana", "bob"), user="bob")
    await runtime.open_session("{user}-{date}", "a", user_id="ana")
    await runtime.drain()
    (found,) = await summaries(runtime)
    assert yesterday in found.text
    assert await summaries(runtime, "bob") == []
    before = found.updated_at
    await runtime.open_session("{user}-{date}", "a", user_id="ana")
    await runtime.drain()
    assert [one.updated_at for one in await summaries(runtime)] == [before]


async def test_the_day_is_that_of_the_agents_time_zone(runtime: Runtime) -> None:
    """Two zones whose days differ at any moment; the argument of the call comes before the agent's."""
    days = {}
    for zone in ("Pacific/Kiritimati", "Pacific/Niue"):
        await runtime.register(agent(conversation=Conversation.model_validate({"time_zone": zone})))
        days[zone] = await runtime.open_session("{user}-{date}", "a", user_id="ana")
    assert days["Pacific/Kiritimati"] > days["Pacific/Niue"]
    first = await runtime.open_session("{user}-{date}", "a", user_id="ana", time_zone="Pacific/Kiritimati")
    assert first == days["Pacific/Kiritimati"]


async def test_templates_that_cannot_be_filled(runtime: Runtime) -> None:
    await runtime.register(agent())
    for user in ("", "x" * 257, "\ud800"):
        with pytest.raises(InputError):
            await runtime.open_session("{user}-{date}", "a", user_id=user)
    with pytest.raises(UnknownName):
        await runtime.open_session("{user}-{date}", "b", user_id="ana")
    assert await runtime.store.scored(runtime.store.keys.closes) == []
    for template, user in (("{name}", "ana"), ("{user}", None), ("{user", "ana")):
        with pytest.raises(ConfigError):
            await runtime.open_session(template, "a", user_id=user)
    with pytest.raises(ConfigError):
        await runtime.open_session("{date}", "a", time_zone="Europe/Atlantis")


async def test_which_session_is_meant(runtime: Runtime) -> None:
    await runtime.register(agent(), agent().model_copy(update={"name": "b"}))
    with pytest.raises(UnknownName):
        await runtime.close_session("s")
    with pytest.raises(UnknownName):
        await runtime.close_session("s", "a")
    await say(runtime, "Hi.")
    await runtime.run("b", "Hi.", session_id="s")
    with pytest.raises(InputError, match="a, b"):
        await runtime.close_session("s")
    assert await runtime.close_session("s", "a")
    await runtime.drain()


async def test_a_failing_model_costs_no_answer_and_is_tried_again(machines: Machines) -> None:
    fails = 2

    def answer(request: ModelRequest) -> str:
        nonlocal fails
        fails -= 1
        if fails >= 0:
            raise ValueError("no")
        return "They talked."

    host = await machines.host()
    client = machines.client_of(host)
    await client.register(agent(Sleeptime(every=None, model=FunctionModel(answer))))
    await machines.worker(host)
    await say(client, "Hi.")
    await close(client)
    assert len(await summaries(client)) == 1
    fails = 99
    await say(client, "Hi again.")
    await close(client)
    assert "no" in (await status(machines.store))["close_error"]
    (found,) = await summaries(client)
    assert "1 turn:" in found.text  # the old one, whole
    fails = 0
    assert await close(client)
    assert "2 turns:" in (await summaries(client))[0].text
    assert (await status(machines.store))["close_error"] == ""


@pytest.mark.parametrize("why", ["archive", "agent", "session"])
async def test_what_cannot_be_closed_leaves_the_queue(runtime: Runtime, why: str) -> None:
    await runtime.register(agent(archive=False) if why == "archive" else agent())
    await say(runtime, "Hi.")
    if why == "agent":
        await runtime.delete_agent("a")
    if why == "session":
        await runtime.store.read("ZADD", runtime.store.keys.closing, 1, "a|gone")
        await runtime.store.read("ZADD", runtime.store.keys.closes, 1, "a|gone")
        await runtime.drain()
    else:
        await close(runtime)
        assert (await status(runtime.store))["close_error"]
    assert await runtime.store.scored(runtime.store.keys.closing) == []
    assert await summaries(runtime) == []


async def loaded(machines: Machines) -> Loaded:
    text, digest = await DefinitionStore(machines.store).get("a")
    return await asyncio.to_thread(load_agent, text, digest, machines.functions)


async def claimed(store: Store, host: str) -> ClosingClaim:
    """A claim whose lease ends at once."""
    claim = await until("it can be claimed", lambda: ClosingStore(store, lease_ms=1).claim("a|s", host, host))
    assert claim is not None
    return claim


async def test_a_worker_that_died_is_followed_by_another_and_there_is_one_summary(machines: Machines) -> None:
    client = await machines.client()
    await client.register(agent())
    await say(client, "My budget is 2000 euros.")
    assert await client.close_session("s")
    definition = await loaded(machines)
    first, second = await claimed(machines.store, "one"), await claimed(machines.store, "two")
    late = Closing(machines.store, first, definition, summarizer_for(definition))
    with pytest.raises(Fenced):
        await late.work()  # it was only slow, and the other one has claimed the closing
    assert await summaries(client) == []
    assert not await ClosingStore(machines.store).renew(first, "one")
    assert await Closing(machines.store, second, definition, summarizer_for(definition)).work()
    (found,) = await summaries(client)
    for claim in (first, second):  # an answer was lost, and it comes again; the slow one wakes up
        assert await Closing(machines.store, claim, definition, summarizer_for(definition)).work()
    assert await summaries(client) == [found]
    assert await client.store.scored(client.store.keys.closing) == []


async def test_a_worker_that_died_before_it_published_loses_nothing(machines: Machines) -> None:
    host = await machines.host()
    client = machines.client_of(host)
    await client.register(agent())
    await say(client, "My budget is 2000 euros.")
    assert await client.close_session("s")
    await claimed(machines.store, "dead")
    await machines.worker(host)
    await client.drain("s")
    assert len(await summaries(client)) == 1


async def test_messages_popped_while_it_works_are_not_in_it(machines: Machines) -> None:
    client = await machines.client()
    await client.register(agent())
    await say(client, "My budget is 2000 euros.", "I am allergic to peanuts.")
    assert await client.close_session("s")
    definition = await loaded(machines)
    claim = await claimed(machines.store, "one")
    session = client.session("s", "a")
    await session.pop_item()
    await session.pop_item()
    assert not await Closing(machines.store, claim, definition, summarizer_for(definition)).work()
    assert await summaries(client) == []
    claim = await claimed(machines.store, "two")
    assert await Closing(machines.store, claim, definition, summarizer_for(definition)).work()
    (found,) = await summaries(client)
    assert "peanuts" not in found.text


async def test_turns_that_end_while_it_works_are_left_to_the_next_closing(machines: Machines) -> None:
    host = await machines.host()
    client = machines.client_of(host)
    await client.register(agent())
    await say(client, "My budget is 2000 euros.")
    assert await client.close_session("s")
    definition = await loaded(machines)
    claim = await claimed(machines.store, "one")
    await say(client, "I am allergic to peanuts.")
    assert await client.close_session("s")  # asked again while one is at work
    assert await Closing(machines.store, claim, definition, summarizer_for(definition)).work()
    (found,) = await summaries(client)
    assert "peanuts" not in found.text
    await machines.worker(host)
    await client.drain("s")
    (found,) = await summaries(client)
    assert "2000 euros" in found.text
    assert "peanuts" in found.text


async def test_a_worker_that_stops_gives_its_closing_back(machines: Machines) -> None:
    going, on = asyncio.Event(), asyncio.Event()

    async def answer(request: ModelRequest) -> ModelReply:
        going.set()
        await on.wait()
        return reply("They talked.")

    host = await machines.host()
    client = machines.client_of(host)
    await client.register(agent(Sleeptime(every=None, model=FunctionModel(answer))))
    worker = await machines.worker(host)
    await say(client, "Hi.")
    assert await client.close_session("s")
    await going.wait()
    await say(client, "Hi again.")  # a turn does not wait for it
    await worker.stop()
    on.set()
    await machines.worker(host)
    await client.drain("s")
    assert len(await summaries(client)) == 1
