"""What memory has made of popped messages: named, and taken out where nothing else speaks for it."""

from __future__ import annotations

from typing import cast

import pytest

from orchestra import Agent, Block, Runtime, Sleeptime
from orchestra.core.messages import Message
from orchestra.core.model import ModelReply, ModelRequest
from orchestra.memory.lineage import Sources
from orchestra.memory.retraction import LearnedLine
from orchestra.memory.scopes import scoped_id
from orchestra.runtime.client import SessionHandle
from orchestra.store.block_store import BlockStore, Change, Memo
from orchestra.store.thread_store import ThreadStore
from orchestra.testing import FunctionModel, ScriptedModel, call, reply

HUMAN = scoped_id("user", "human", "ana")


def noting(request: ModelRequest) -> ModelReply:
    """A sleep-time model that writes down each thing that the user says, or puts it in the place of another one."""
    if request.messages[-1].role == "tool":
        return reply(calls=[call("memory_finish_edits")])
    said = [line.split("user: ", 1)[1] for line in request.messages[1].text.split("\n") if "] user: " in line]
    calls = []
    for text in said:
        old, arrow, new = text.partition(" -> ")
        if arrow:
            calls.append(call("core_memory_replace", label="human", old_content=old, new_content=new))
        else:
            calls.append(call("core_memory_append", label="human", content=text))
    return reply(calls=calls)


def agent(every: int = 1, **more: object) -> Agent:
    fields = {
        "name": "a",
        "model": FunctionModel(lambda request: "ok"),
        "blocks": (Block(label="human", scope="user"),),
        "sleeptime": Sleeptime(every=every, model=FunctionModel(noting)),
    }
    return Agent.model_validate(fields | more)


async def say(runtime: Runtime, *texts: str) -> None:
    for text in texts:
        await runtime.run("a", text, session_id="s", user_id="ana")
        await runtime.drain()


async def popped(session: SessionHandle, count: int) -> list[Message]:
    return [cast("Message", await session.pop_item()) for _ in range(count)]


async def value(runtime: Runtime) -> str:
    return (await runtime.blocks.get(HUMAN)).value


def told(lines: object) -> list[tuple[str, str]]:
    return [(line.text, line.state) for line in cast("list[LearnedLine]", lines)]


async def test_what_a_pass_made_of_popped_messages_is_named_and_taken_out(runtime: Runtime) -> None:
    await runtime.register(agent())
    await say(runtime, "Ana likes tea.", "Ana is allergic to nuts.")
    session = runtime.session("s", "a")
    gone = await popped(session, 2)
    assert await value(runtime) == "Ana likes tea.\nAna is allergic to nuts."  # it stays where it is
    (line,) = await session.learned_from(gone)
    assert (line.block_id, line.label, line.text, line.state) == (HUMAN, "human", "Ana is allergic to nuts.", "kept")
    assert line.author == "agent:a-sleeptime"
    assert set(line.seqs) == {3, 4}
    assert told(await session.unlearn(gone)) == [("Ana is allergic to nuts.", "removed")]
    assert await value(runtime) == "Ana likes tea."
    newest = (await runtime.blocks.log(HUMAN))[-1]
    assert (newest.operation, newest.author) == ("revert", "developer")
    assert await session.learned_from(gone) == []
    versions = len(await runtime.blocks.log(HUMAN))
    assert await session.unlearn(gone) == []  # twice changes nothing
    assert len(await runtime.blocks.log(HUMAN)) == versions
    (rest,) = await runtime.blocks.blame(HUMAN)
    assert rest.seqs == (1, 2)  # and the lines that stay still tell where they come from


async def test_what_it_stood_in_the_place_of_comes_back(runtime: Runtime) -> None:
    await runtime.register(agent())
    await say(runtime, "Budget: 2000.", "Ana likes tea.", "Budget: 2000. -> Budget: 3000.")
    assert await value(runtime) == "Budget: 3000.\nAna likes tea."
    session = runtime.session("s", "a")
    assert told(await session.unlearn(await popped(session, 2))) == [("Budget: 3000.", "removed")]
    assert await value(runtime) == "Budget: 2000.\nAna likes tea."


async def test_all_that_was_popped_goes_through_several_passes(runtime: Runtime) -> None:
    await runtime.register(agent())
    await say(runtime, "Ana likes tea.", "Budget: 2000.", "Budget: 2000. -> Budget: 3000.")
    session = runtime.session("s", "a")
    for _ in range(4):
        await session.pop_item()
    assert told(await session.unlearn()) == [("Budget: 3000.", "removed")]  # all that was taken away, whenever
    assert await value(runtime) == "Ana likes tea."


async def test_a_line_that_a_person_changed_since_is_left_and_named(runtime: Runtime) -> None:
    await runtime.register(agent())
    await say(runtime, "Ana likes tea.", "Ana is allergic to nuts.", "Ana lives in Porto.")
    await runtime.blocks.replace(HUMAN, "allergic to nuts", "allergic to peanuts, badly")
    session = runtime.session("s", "a")
    gone = await popped(session, 4)
    lines = await session.unlearn(gone)
    assert told(lines) == [("Ana is allergic to peanuts, badly.", "changed"), ("Ana lives in Porto.", "removed")]
    assert lines[0].by == "developer"
    assert await value(runtime) == "Ana likes tea.\nAna is allergic to peanuts, badly."
    # It is still named the next time, and changed once more it is still the same line.
    await runtime.blocks.replace(HUMAN, "badly", "very badly")
    expected = [("Ana is allergic to peanuts, very badly.", "changed")]
    assert told(await session.learned_from()) == told(await session.learned_from(gone)) == expected


async def test_a_line_that_a_person_moved_or_deleted(runtime: Runtime) -> None:
    await runtime.register(agent())
    await say(runtime, "Ana likes tea.", "Ana is allergic to nuts.", "Ana lives in Porto.")
    await runtime.blocks.update(HUMAN, value="Ana is allergic to nuts.\nMind her.\nAna likes tea.")
    session = runtime.session("s", "a")
    assert told(await session.unlearn(await popped(session, 4))) == [("Ana is allergic to nuts.", "removed")]
    assert await value(runtime) == "Mind her.\nAna likes tea."


async def test_a_line_that_other_messages_speak_for_too_stays(runtime: Runtime) -> None:
    """A pass over several turns whose model does not say which line comes from which message."""
    await runtime.register(agent(every=2))
    await say(runtime, "Ana likes tea.", "Ana is allergic to nuts.")
    session = runtime.session("s", "a")
    gone = await popped(session, 2)
    expected = [("Ana likes tea.", "mixed"), ("Ana is allergic to nuts.", "mixed")]
    assert told(await session.unlearn(gone)) == expected
    assert await value(runtime) == "Ana likes tea.\nAna is allergic to nuts."
    gone += await popped(session, 2)
    assert told(await session.unlearn(gone)) == [(text, "removed") for text, _ in expected]
    assert await value(runtime) == ""


async def test_the_extractive_consolidator_knows_which_message(runtime: Runtime) -> None:
    sleeptime = Sleeptime(every=2, consolidator="extractive")
    await runtime.register(agent(sleeptime=sleeptime))
    await say(runtime, "My budget is 2000 euros.", "I am allergic to peanuts.")
    assert "peanuts" in await value(runtime)
    session = runtime.session("s", "a")
    (line,) = await session.unlearn(await popped(session, 2))
    assert line.state == "removed"
    assert "peanuts" not in await value(runtime)
    assert "2000" in await value(runtime)


async def test_edits_by_the_agents_own_tools_count_too(runtime: Runtime) -> None:
    edit = call("core_memory_append", label="human", content="Ana likes tea.")
    model = ScriptedModel([reply("hello"), reply(calls=[edit]), reply("noted")])
    await runtime.register(agent(model=model, sleeptime=None))
    await say(runtime, "Hi.", "I like tea.")
    session = runtime.session("s", "a")
    assert told(await session.unlearn(await popped(session, 4))) == [("Ana likes tea.", "removed")]


async def test_messages_that_are_still_there_and_other_sessions_are_left_alone(runtime: Runtime) -> None:
    await runtime.register(agent())
    await say(runtime, "Ana likes tea.")
    session = runtime.session("s", "a")
    assert await session.learned_from([1, 2]) == []
    assert await session.unlearn([1, 2]) == []
    await runtime.run("a", "Ana lives in Porto.", session_id="other", user_id="ana")
    await runtime.drain()
    other = runtime.session("other", "a")
    gone = await popped(other, 2)
    assert {message.meta.seq for message in gone} == {1, 2}  # the same numbers, of another log
    assert told(await other.unlearn(gone)) == [("Ana lives in Porto.", "removed")]
    assert await value(runtime) == "Ana likes tea."


async def test_what_stood_there_before_and_does_not_fit_any_more_stays_away(runtime: Runtime) -> None:
    await runtime.register(agent())
    await say(runtime, "The budget of the whole journey: 2000.", "The budget of the whole journey: 2000. -> Budget: 3.")
    await runtime.blocks.update(HUMAN, limit=10)
    session = runtime.session("s", "a")
    await session.unlearn(await popped(session, 2))
    assert await value(runtime) == ""


@pytest.mark.parametrize("rest", [0, 2])
async def test_the_watermark_is_never_above_the_log(runtime: Runtime, rest: int) -> None:
    await runtime.register(agent())
    await say(runtime, "Ana likes tea.", "Ana lives in Porto.")
    session = runtime.session("s", "a")
    gone = await popped(session, 4 - rest)
    await session.unlearn(gone)
    head = await runtime.store.fields(runtime.store.keys.head("a|s"))
    assert (int(head["watermark"]), int(head["turn"])) == (rest, rest // 2)
    await say(runtime, "Ana lives in Lisbon.")
    assert (await value(runtime)).split("\n")[-1] == "Ana lives in Lisbon."


async def test_a_line_that_a_pass_of_another_session_wrote_too_stays(runtime: Runtime) -> None:
    """Two passes learn the same at once: the merge leaves one line, and the later publication says so too."""
    await runtime.register(agent())
    await say(runtime, "Ana likes tea.")
    log = await runtime.blocks.log(HUMAN)
    lines = (("Ana likes tea.", (1,)), ("Ana lives in Bergen.", (1,)))
    other = Change("agent:a-sleeptime", sources=Sources("a|other", (1,), lines).to_text())
    text = "\n".join(line for line, _ in lines)
    await BlockStore(runtime.store).edit(
        HUMAN,
        "revert",
        ("value", text, "chars", str(len(text))),
        change=other,
        memo=Memo(runtime.store.keys.op("other")),
        label="human",
        by_agent=False,
        expected_version=log[-1].version,
    )
    session = runtime.session("s", "a")
    gone = await session.rewind()
    assert told(await session.unlearn(gone)) == [("Ana likes tea.", "mixed")]
    assert await value(runtime) == text


async def test_a_session_that_ended_is_not_the_one_that_has_its_id_now(runtime: Runtime) -> None:
    """Its messages had the same numbers; what was learned from them is nothing that this session may take out."""
    await runtime.register(agent())
    await say(runtime, "Ana likes tea.")
    session = await runtime.session("s", "a").open()
    await ThreadStore(runtime.store).delete(session.thread)
    await say(runtime, "Ana is allergic to nuts.")
    handle = runtime.session("s", "a")
    gone = await handle.rewind()
    assert {message.meta.seq for message in gone} == {1, 2}
    assert told(await handle.unlearn()) == [("Ana is allergic to nuts.", "removed")]
    assert await value(runtime) == "Ana likes tea."
