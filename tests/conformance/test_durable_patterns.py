"""Swarms and graphs that wait, are cancelled, or go on in another process: by number of section P."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from orchestra import Agent, Approve, Graph, Node, Reject, Runtime, Swarm, ToolContext, tool
from orchestra.core.errors import DefinitionChanged, InputError, OrchestraError
from orchestra.core.interrupts import RunState
from orchestra.core.model import ModelReply, ModelRequest
from orchestra.testing import FunctionModel, ScriptedModel, call, reply
from tests.conformance.pattern_agents import SESSIONS, asked, failing, hand, last_input, run, says
from tests.hosts import Machines
from tests.waiting import until


def sending(calls: list[str]) -> Agent:
    """An agent whose tool needs an approval."""

    @tool(needs_approval=True)
    def send(to: str) -> str:
        """Send."""
        calls.append(to)
        return f"sent to {to}"

    return Agent(
        name="sender", model=ScriptedModel([reply(calls=[call("send", to="ana")]), reply("sent")]), tools=(send,)
    )


async def answered(runtime: Runtime, result: Any, response: object) -> Any:
    """Answer all that is asked, as the run's state says, which travels as JSON."""
    state = RunState(json.loads(json.dumps(result.to_state())))
    return await runtime.resume(state, responses={one.id: response for one in result.interrupts})  # type: ignore[misc]


@SESSIONS
async def test_p29_an_interrupt_keeps_the_sibling_which_does_not_run_again(
    runtime: Runtime, session: str | None
) -> None:
    calls: list[str] = []
    nodes = {"send": sending(calls), "other": (other := says("other")), "end": (end := says("end"))}
    graph = Graph("g", nodes=nodes, edges=[("send", "end"), ("other", "end")])
    first = await run(runtime, graph, session)
    assert (first.status, first.output, [one.tool for one in first.interrupts]) == ("interrupted", None, ["send"])
    assert calls == []
    result = await answered(runtime, first, Approve())
    assert (result.status, result.output, calls) == ("completed", "END", ["ana"])
    assert len(asked(other)) == 1
    assert last_input(end) == "the task\n\n## From send\n\nsent\n\n## From other\n\nOTHER"
    assert result.usage.model_calls == 4


@SESSIONS
async def test_p30_a_tool_in_a_child_in_a_node_in_a_swarm_is_resumed_once(
    runtime: Runtime, session: str | None
) -> None:
    calls: list[str] = []
    boss = Agent(
        name="boss",
        model=ScriptedModel([reply(calls=[call("sender", input="send it")]), reply("all sent")]),
        tools=(sending(calls).as_tool(),),
    )
    graph = Graph("inner", nodes={"work": boss})
    swarm = Swarm("desk", agents=[says("front", hand("inner")), graph])
    first = await run(runtime, swarm, session)
    assert (first.status, [one.tool for one in first.interrupts]) == ("interrupted", ["send"])
    result = await answered(runtime, first, Approve())
    assert (result.status, result.output, calls) == ("completed", "all sent", ["ana"])


async def test_p31_resuming_twice_is_refused_and_the_tool_ran_once(runtime: Runtime) -> None:
    calls: list[str] = []
    first = await run(runtime, Graph("g", nodes={"send": sending(calls)}))
    responses: Any = {first.interrupts[0].id: Approve()}
    await runtime.resume(first.run_id, responses=responses)
    with pytest.raises(OrchestraError):
        await runtime.resume(first.run_id, responses=responses)
    assert calls == ["ana"]


@SESSIONS
@pytest.mark.parametrize("how", ["needs_approval", "interrupt_before"])
@pytest.mark.parametrize("answer", [Approve(), Reject("too dear")])
async def test_a_node_that_needs_an_approval(runtime: Runtime, session: str | None, how: str, answer: object) -> None:
    ran: list[str] = []

    def pay(text: str) -> str:
        ran.append(text)
        return "paid"

    graph = Graph(
        "g",
        nodes={"a": says("a"), "pay": Node(pay, needs_approval=how == "needs_approval")},
        edges=[("a", "pay")],
        interrupt_before=["pay"] if how == "interrupt_before" else [],
    )
    first = await run(runtime, graph, session)
    assert [(one.kind, one.node) for one in first.interrupts] == [("approval", "pay")]
    assert ran == []
    if session is not None:
        with pytest.raises(InputError, match="asked about in each run"):
            await answered(runtime, first, Approve(always=True))
    result = await answered(runtime, first, answer)
    if isinstance(answer, Approve):
        assert (result.status, result.output, len(ran)) == ("completed", "paid", 1)
    else:
        assert (result.status, result.reason, ran) == ("failed", "rejected", [])
        assert "too dear" in result.error


@SESSIONS
async def test_a_function_that_asks(runtime: Runtime, session: str | None) -> None:
    starts: list[int] = []

    def ask(ctx: ToolContext) -> str:
        starts.append(1)
        return f"they said {ctx.interrupt('colour', 'which one?')}"

    first = await run(runtime, Graph("g", nodes={"ask": ask}), session)
    assert [(one.name, one.reason) for one in first.interrupts] == [("colour", "which one?")]
    result = await answered(runtime, first, "blue")
    assert (result.status, result.output, len(starts)) == ("completed", "they said blue", 2)


async def test_a_waiting_graph_can_be_abandoned_with_all_that_waits_below_it(runtime: Runtime) -> None:
    calls: list[str] = []
    graph = Graph("g", nodes={"send": sending(calls), "end": says("end")}, edges=[("send", "end")])
    first = await run(runtime, graph)
    assert await runtime.cancel(first.run_id)
    with pytest.raises(OrchestraError):
        await runtime.resume(first.run_id, responses={first.interrupts[0].id: Approve()})  # type: ignore[dict-item]
    live = await runtime.store.scored(runtime.store.keys.runs)
    assert live == []
    assert calls == []


async def taken_over(machines: Machines, graph: Graph | Swarm, begun: asyncio.Event) -> tuple[Any, asyncio.Task[Any]]:
    """A client of a second host, after the first one was lost while the run was at ``begun``."""
    first, second = await machines.client("primary-0"), await machines.client("primary-1")
    await first.register(graph)
    lost = asyncio.ensure_future(first.run(graph.name, "the task", session_id="s", run_id="r"))
    await begun.wait()
    await machines.hosts[0].hosts.leave(machines.hosts[0].id)
    begun.clear()
    return second, lost


async def test_p33_lost_after_the_first_of_two_parents_the_join_runs_once_with_both(machines: Machines) -> None:
    begun, go = asyncio.Event(), asyncio.Event()

    async def slow(request: ModelRequest) -> ModelReply:
        begun.set()
        await go.wait()
        return reply("SLOW")

    fast, end = says("fast"), says("end")
    nodes = {"fast": fast, "slow": Agent(name="slow", model=FunctionModel(slow)), "end": end}
    graph = Graph("g", nodes=nodes, edges=[("fast", "end"), ("slow", "end")])
    started = asyncio.ensure_future(taken_over(machines, graph, begun))

    async def kept() -> bool:
        return bool(await machines.store.read("HEXISTS", machines.store.keys.run("r"), "j:n:fast#1"))

    await until("the fast one to be kept", kept)
    second, lost = await started
    running = asyncio.ensure_future(second.run("g", "the task", session_id="s", run_id="r"))
    await begun.wait()
    go.set()
    result = await running
    await asyncio.gather(lost, return_exceptions=True)
    assert (result.status, result.output) == ("completed", "END")  # P34: resumed and succeeded is completed
    assert (len(asked(fast)), len(asked(end))) == (1, 1)
    assert last_input(end) == "the task\n\n## From fast\n\nFAST\n\n## From slow\n\nSLOW"


async def test_p32_a_changed_definition_is_a_typed_error_that_lists_the_differences(machines: Machines) -> None:
    begun, go = asyncio.Event(), asyncio.Event()

    async def slow(request: ModelRequest) -> ModelReply:
        begun.set()
        await go.wait()
        return reply("SLOW")

    nodes = {"slow": Agent(name="slow", model=FunctionModel(slow)), "end": says("end"), "log": says("log")}
    graph = Graph("g", nodes=nodes, edges=[("slow", "end"), ("end", "log")])
    second, lost = await taken_over(machines, graph, begun)
    changed = Graph("g", nodes={"slow": nodes["slow"], "end": nodes["log"]}, edges=[("slow", "end")])
    await second.register(changed)
    with pytest.raises(DefinitionChanged) as raised:
        await second.run("g", "the task", session_id="s", run_id="r")
    assert raised.value.differences == (
        "node 'log' is gone",
        "edge end -> log is gone",
        "node 'end' was 'runs end, join all' and is 'runs log, join all'",
    )
    go.set()
    await asyncio.gather(lost, return_exceptions=True)
    await second.register(graph)  # as it was: now it goes on
    result = await second.resume("r")
    assert (result.status, result.output) == ("completed", "LOG")


async def test_p37_cancelling_a_graph_cancels_its_nodes_and_keeps_what_finished(runtime: Runtime) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def wait(request: ModelRequest) -> ModelReply:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return reply("never")

    nodes = {"a": says("a"), "slow": Agent(name="slow", model=FunctionModel(wait)), "after": says("after")}
    await runtime.register(Graph("g", nodes=nodes, edges=[("a", "slow"), ("slow", "after")]))
    running = asyncio.ensure_future(runtime.run("g", "go", session_id="s", run_id="r"))
    await begun.wait()
    assert await runtime.cancel("r")
    result = await running
    assert (result.status, result.node_history) == ("cancelled", ("a",))
    assert result.usage.model_calls == 1
    assert ended.is_set()
    assert await runtime.store.scored(runtime.store.keys.runs) == []


async def test_a_run_that_failed_can_be_followed_by_one_that_completes(runtime: Runtime) -> None:
    swarm = Swarm("desk", agents=[failing("a")])
    failed = await run(runtime, swarm)
    assert (failed.status, failed.reason) == ("failed", "model")
    log = await runtime.session("s", "desk").get_items()
    assert [(m.role, m.meta.aborted) for m in log] == [("user", True)]  # type: ignore[attr-defined]
    fixed = await run(runtime, Swarm("desk", agents=[says("a")]))
    assert (fixed.status, fixed.output, fixed.turn) == ("completed", "A", 1)


async def test_without_a_journal_a_lost_run_starts_again_and_what_ended_below_it_is_remembered(
    machines: Machines,
) -> None:
    begun, go = asyncio.Event(), asyncio.Event()

    async def slow(request: ModelRequest) -> ModelReply:
        begun.set()
        await go.wait()
        return reply("SLOW")

    nodes = {"first": (first := says("first")), "slow": Agent(name="slow", model=FunctionModel(slow))}
    graph = Graph("g", nodes=nodes, edges=[("first", "slow")], persistence="turn")
    second, lost = await taken_over(machines, graph, begun)
    running = asyncio.ensure_future(second.run("g", "the task", session_id="s", run_id="r"))
    await begun.wait()
    go.set()
    result = await running
    await asyncio.gather(lost, return_exceptions=True)
    assert (result.status, result.output, result.node_history) == ("completed", "SLOW", ("first", "slow"))
    assert len(asked(first)) == 1
    entries = await machines.store.fields(machines.store.keys.run("r"))
    assert not [name for name in entries if name.startswith("j:")]
