"""Swarms by number of section P, on the real runtime with a real server, with and without a session."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from orchestra import Agent, Runtime, Swarm
from orchestra.core.errors import ConfigError
from orchestra.core.model import ModelReply, ModelRequest
from orchestra.store.thread_store import ThreadStore
from orchestra.testing import FunctionModel, call, reply
from tests.conformance.pattern_agents import SESSIONS, asked, hand, last_input, run, says


@SESSIONS
async def test_p6_a_hands_off_to_b_with_one_model_call(runtime: Runtime, session: str | None) -> None:
    a, b = says("a", hand("b", "please finish", found={"price": 3})), says("b", "finished")
    result = await run(runtime, Swarm("desk", agents=[a, b]), session)
    assert (result.status, result.output, result.node_history, result.last_agent) == (
        "completed",
        "finished",
        ("a", "b"),
        "b",
    )
    assert len(asked(a)) == 1
    told = last_input(b)
    order = [
        told.index(part) for part in ("please finish", "the task", "so far\n\na", '"price":3', "- a: a of the team")
    ]
    assert order == sorted(order)
    assert result.usage.model_calls == 2


async def test_p7_without_a_handoff_one_node_runs(runtime: Runtime) -> None:
    result = await run(runtime, Swarm("desk", agents=[says("a"), says("b")]))
    assert (result.output, result.node_history) == ("A", ("a",))


async def test_p8_a_window_that_repeats_is_a_limit(runtime: Runtime) -> None:
    a, b = says("a", *[hand("b")] * 9), says("b", *[hand("a")] * 9)
    swarm = Swarm("desk", agents=[a, b, says("c")], repetitive_window=4, repetitive_min_unique=3)
    result = await run(runtime, swarm)
    assert (result.status, result.reason) == ("limit", "repetitive_handoff")
    assert result.node_history == ("a", "b", "a", "b")


@pytest.mark.parametrize(
    ("options", "reason", "history"),
    [
        ({"max_handoffs": 1}, "max_handoffs", ("a", "b")),
        ({"max_iterations": 3}, "max_iterations", ("a", "b", "a")),
    ],
)
async def test_p9_each_limit_has_its_reason_and_one_handoff_runs_its_target(
    runtime: Runtime, options: dict[str, int], reason: str, history: tuple[str, ...]
) -> None:
    a, b = says("a", *[hand("b")] * 9), says("b", *[hand("a")] * 9)
    result = await run(runtime, Swarm("desk", agents=[a, b], **options))  # type: ignore[arg-type]
    assert (result.status, result.reason, result.node_history) == ("limit", reason, history)
    assert len(result.node_results["a"]) + len(result.node_results["b"]) == len(history)


@pytest.mark.parametrize(
    ("options", "reason"),
    [({"node_timeout": 0.05}, "node_timeout"), ({"execution_timeout": 0.05}, "execution_timeout")],
)
async def test_p9_timeouts_hold_while_a_node_runs(runtime: Runtime, options: dict[str, float], reason: str) -> None:
    ended = asyncio.Event()

    async def wait(request: ModelRequest) -> ModelReply:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return reply("never")

    swarm = Swarm("desk", agents=[Agent(name="a", model=FunctionModel(wait))], **options)  # type: ignore[arg-type]
    result = await run(runtime, swarm)
    assert (result.status, result.reason) == ("limit", reason)
    assert ended.is_set()


async def test_p12_of_two_handoffs_in_one_turn_the_first_counts(runtime: Runtime) -> None:
    both = reply(
        calls=[
            call("handoff_to_agent", agent_name="b", message="first"),
            call("handoff_to_agent", agent_name="c", message="second"),
        ]
    )
    a, b, c = says("a", both), says("b"), says("c")
    result = await run(runtime, Swarm("desk", agents=[a, b, c]))
    assert result.node_history == ("a", "b")
    threads = ThreadStore(runtime.store)
    texts = [text for thread in await threads.children("desk|s") for text in await threads.entries(thread)]
    assert sum("already hand off to 'b'" in text for text in texts) == 1


@pytest.mark.parametrize("target", ["nobody", "a"])
async def test_a_handoff_to_nobody_or_oneself_is_an_error_result_and_the_turn_goes_on(
    runtime: Runtime, target: str
) -> None:
    a = says("a", hand(target), "I do it myself")
    result = await run(runtime, Swarm("desk", agents=[a, says("b")]))
    assert (result.output, result.node_history) == ("I do it myself", ("a",))
    answer = asked(a)[1].messages[-1]
    assert answer.is_error


async def test_p13_a_second_run_starts_with_an_empty_shared_context(runtime: Runtime) -> None:
    async def first(request: ModelRequest) -> ModelReply:
        return hand("b", "x", secret=request.messages[-1].text)

    a, b = Agent(name="a", model=FunctionModel(first)), says("b", "one", "two")
    swarm = Swarm("desk", agents=[a, b])
    await runtime.register(swarm)
    await runtime.run("desk", "first-task", session_id="s")
    await runtime.run("desk", "second-task", session_id="s")
    assert "first-task" in last_input(b, 0)
    assert "first-task" not in str(asked(b)[1].messages)
    assert "first-task" not in str(asked(a)[1].messages)


async def test_p14_one_agent_in_two_swarms(runtime: Runtime) -> None:
    async def pass_on(request: ModelRequest) -> ModelReply:
        (spec,) = request.tools
        return hand(spec.parameters["properties"]["agent_name"]["enum"][0])  # type: ignore[index,call-overload,return-value]

    shared = Agent(name="shared", model=FunctionModel(pass_on))
    one, two = Swarm("one", agents=[shared, says("x")]), Swarm("two", agents=[shared, says("y")])
    await runtime.register(one, two)
    results = await asyncio.gather(*(runtime.run(name, "go", session_id="s") for name in ("one", "two")))
    assert [result.output for result in results] == ["X", "Y"]
    alone = await runtime.run("x", "go", session_id="s")
    assert alone.output == "X"


@SESSIONS
@pytest.mark.parametrize(("memory", "seen"), [("run", 4), ("fresh", 2)])
async def test_an_agent_visited_again_remembers_its_own_part_of_this_run(
    runtime: Runtime, session: str | None, memory: Any, seen: int
) -> None:
    counts: list[int] = []

    async def visit(request: ModelRequest) -> ModelReply:
        counts.append(len(request.messages))
        return hand("b") if len(counts) == 1 else reply("end")

    a = Agent(name="a", model=FunctionModel(visit), instructions="be brief")
    result = await run(runtime, Swarm("desk", agents=[a, says("b", hand("a"))], memory=memory), session)
    assert result.node_history == ("a", "b", "a")
    assert counts[0] == 2  # instructions and input
    assert counts[1] == (5 if memory == "run" else 2)  # with its own input, its handoff and the tool's answer


async def test_start_last_lets_who_answered_last_take_the_next_input(runtime: Runtime) -> None:
    a, b = says("a", hand("b")), says("b", "one", "two")
    await runtime.register(Swarm("desk", agents=[a, b], start="last", memory="session"))
    await runtime.run("desk", "first", session_id="s")
    second = await runtime.run("desk", "second", session_id="s")
    other = await runtime.run("desk", "third", session_id="other")
    assert second.node_history == ("b",)
    assert second.output == "two"
    assert [m.text for m in asked(b)[1].messages if m.role == "user"][-1] == "second"
    assert other.node_history == ("a", "b")


async def test_the_swarms_thread_keeps_input_and_output_and_nothing_of_the_nodes(runtime: Runtime) -> None:
    a, b = says("a", hand("b", "words-between")), says("b", "finished")
    await run(runtime, Swarm("desk", agents=[a, b]))
    log = await runtime.session("s", "desk").get_items()
    assert [(m.role, m.text) for m in log] == [("user", "the task"), ("assistant", "finished")]  # type: ignore[attr-defined]
    assert await ThreadStore(runtime.store).agents_of("s") == ["desk"]


@SESSIONS
async def test_an_agent_hands_off_only_to_whom_it_may(runtime: Runtime, session: str | None) -> None:
    a = says("a", hand("c", "take it"), hand("b", "take it"), "A").model_copy(update={"handoffs": ("b",)})
    b = says("b", "B").model_copy(update={"handoffs": ()})
    result = await run(runtime, Swarm("desk", agents=[a, b, says("c")]), session)
    assert (result.output, result.node_history) == ("B", ("a", "b"))
    first, second = asked(a)
    (offered,) = (tool for tool in first.tools if tool.name == "handoff_to_agent")
    assert ("c of the team" in str(offered), "b of the team" in str(offered)) == (False, True)
    assert "c" in second.messages[-1].text  # an error result that names what was asked for
    assert not any(tool.name == "handoff_to_agent" for tool in asked(b)[0].tools)
    assert "c of the team" not in last_input(b)


async def test_a_handoff_to_somebody_outside_the_swarm_is_refused_when_it_is_registered(runtime: Runtime) -> None:
    await runtime.register(says("a").model_copy(update={"handoffs": ("nobody",)}))
    with pytest.raises(ConfigError, match="'a' may hand off to 'nobody', which is none of its agents"):
        await runtime.register(Swarm("desk", agents=["a", says("b")]))
