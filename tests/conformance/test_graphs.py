"""Graphs by number of section P, on the real runtime with a real server, with and without a session."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest

from orchestra import Agent, Edge, Graph, Limits, Node, Runtime, Swarm, ToolContext, tool
from orchestra.core.model import ModelReply, ModelRequest
from orchestra.patterns.visits import NodeResult
from orchestra.store.thread_store import ThreadStore
from orchestra.testing import FunctionModel, call, reply
from tests.conformance.pattern_agents import SESSIONS, asked, failing, hand, last_input, run, says


@SESSIONS
async def test_p15_a_line_runs_in_order(runtime: Runtime, session: str | None) -> None:
    a, b, c = says("a"), says("b"), says("c")
    graph = Graph("line", nodes={"a": a, "b": b, "c": c}, edges=[("a", "b"), ("b", "c")])
    result = await run(runtime, graph, session)
    assert (result.status, result.output, result.node_history) == ("completed", "C", ("a", "b", "c"))
    assert (last_input(b), last_input(c)) == ("the task\n\n## From a\n\nA", "the task\n\n## From b\n\nB")


async def test_p16_three_nodes_of_a_tenth_of_a_second_take_less_than_two(runtime: Runtime) -> None:
    async def slow(request: ModelRequest) -> ModelReply:
        await asyncio.sleep(0.1)
        return reply("ok")

    agents = {name: Agent(name=name, model=FunctionModel(slow)) for name in "abc"}
    await runtime.register(Graph("wide", nodes=agents))
    await runtime.run("wide", "warm", session_id="warm")
    began = time.perf_counter()
    result = await runtime.run("wide", "go", session_id="s")
    assert time.perf_counter() - began < 0.2
    assert result.output == {"a": "ok", "b": "ok", "c": "ok"}


def diamond(*edges: object, **nodes: Agent) -> Graph:
    """a → b, c → d."""
    names = {name: nodes.get(name, says(name)) for name in "abcd"}
    return Graph("diamond", nodes=names, edges=edges or [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")])  # type: ignore[arg-type]


@SESSIONS
async def test_p17_a_diamonds_join_runs_once_with_both(runtime: Runtime, session: str | None) -> None:
    d = says("d")
    result = await run(runtime, diamond(d=d), session)
    assert result.output == "D"
    assert last_input(d) == "the task\n\n## From b\n\nB\n\n## From c\n\nC"
    assert len(asked(d)) == 1


async def test_p17_with_one_false_edge_the_join_runs_once_with_the_other(runtime: Runtime) -> None:
    d = says("d")
    edges = [("a", "b"), Edge("a", "c", when="a.output == 'no'"), ("b", "d"), ("c", "d")]
    result = await run(runtime, diamond(*edges, d=d))
    assert result.node_history == ("a", "b", "d")
    assert last_input(d) == "the task\n\n## From b\n\nB"


async def test_p18_a_diamond_with_a_direct_edge_joins_once(runtime: Runtime) -> None:
    d = says("d")
    await run(runtime, diamond(("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("a", "d"), d=d))
    assert len(asked(d)) == 1
    assert [last_input(d).index(f"From {name}") for name in "bca"] == sorted(
        last_input(d).index(f"From {n}") for n in "bca"
    )


async def test_p19_a_fast_branchs_grandchild_does_not_wait_for_the_slow_sibling(runtime: Runtime) -> None:
    there = asyncio.Event()

    async def slow(request: ModelRequest) -> ModelReply:
        await there.wait()  # only the grandchild of the other branch lets it go
        return reply("slow")

    async def release(request: ModelRequest) -> ModelReply:
        there.set()
        return reply("fast")

    nodes = {
        "slow": Agent(name="slow", model=FunctionModel(slow)),
        "fast": says("fast"),
        "grandchild": Agent(name="grandchild", model=FunctionModel(release)),
    }
    result = await run(runtime, Graph("two", nodes=nodes, edges=[("fast", "grandchild")]))
    assert result.output == {"slow": "slow", "grandchild": "fast"}


@SESSIONS
@pytest.mark.parametrize(("memory", "users"), [("fresh", [1, 1, 1]), ("run", [1, 2, 3])])
async def test_p20_a_loop_of_three_visits(runtime: Runtime, session: str | None, memory: Any, users: list[int]) -> None:
    seen: list[int] = []

    async def again(request: ModelRequest) -> ModelReply:
        seen.append(sum(m.role == "user" for m in request.messages))
        return reply(f"draft {len(seen)}")

    writer = Node(Agent(name="writer", model=FunctionModel(again)), memory=memory)
    graph = Graph(
        "loop",
        nodes={"draft": writer, "check": lambda outputs: outputs["draft"] == "draft 3"},
        edges=[("draft", "check"), Edge("check", "draft", when="check.output == false")],
        max_node_executions=20,
    )
    result = await run(runtime, graph, session)
    assert (result.status, result.output) == ("completed", True)
    assert len(result.node_results["draft"]) == 3
    assert seen == users


async def test_p21_a_bound_that_is_reached_is_a_limit_with_its_reason(runtime: Runtime) -> None:
    graph = Graph("loop", nodes={"a": says("a", *"xyzuvw")}, edges=[("a", "a")], max_node_executions=4)
    result = await run(runtime, graph)
    assert (result.status, result.reason, len(result.node_history)) == ("limit", "max_node_executions", 4)


async def test_p22_of_ten_entries_three_are_allowed(runtime: Runtime) -> None:
    graph = Graph("wide", nodes={f"n{i}": says(f"n{i}") for i in range(10)}, max_node_executions=3)
    result = await run(runtime, graph)
    assert (result.status, result.node_history) == ("limit", ("n0", "n1", "n2"))


async def test_p23_a_node_over_its_time_is_failed_and_nothing_asynchronous_is_left_running(runtime: Runtime) -> None:
    ended = asyncio.Event()

    @tool
    async def wait() -> str:
        """Wait."""
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return "never"

    slow = says("slow", reply(calls=[call("wait")]), "never", tools=(wait,))
    result = await run(
        runtime, Graph("g", nodes={"slow": slow, "after": says("after")}, edges=[("slow", "after")], node_timeout=0.1)
    )
    assert (result.status, result.reason) == ("failed", "node_timeout")
    assert ended.is_set()
    assert not [host.active for host in await runtime.hosts() if host.active]
    head = [await ThreadStore(runtime.store).head(one) for one in await ThreadStore(runtime.store).children("g|s")]
    assert all(one.get("run", "") == "" for one in head)


@SESSIONS
async def test_p24_stop_ends_the_rest_and_the_result_has_what_finished(runtime: Runtime, session: str | None) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def wait(request: ModelRequest) -> ModelReply:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return reply("never")

    async def fail(request: ModelRequest) -> ModelReply:
        await begun.wait()
        raise ValueError("bad is broken")

    nodes = {
        "good": says("good"),
        "bad": Agent(name="bad", model=FunctionModel(fail)),
        "slow": Agent(name="slow", model=FunctionModel(wait)),
        "after": says("after"),
    }
    edges = [("good", "bad"), ("good", "slow"), ("slow", "after")]
    result = await run(runtime, Graph("g", nodes=nodes, edges=edges), session)
    assert (result.status, result.reason) == ("failed", "model")
    assert "bad is broken" in result.error
    assert ended.is_set()
    assert [one["status"] for name in ("good", "bad", "slow") for one in result.node_results[name]] == [  # type: ignore[index,call-overload]
        "completed",
        "failed",
        "cancelled",
    ]
    assert "after" not in result.node_results


async def test_p24_continue_goes_on_with_what_does_not_depend_on_it(runtime: Runtime) -> None:
    nodes = {"bad": failing("bad"), "never": says("never"), "good": says("good"), "more": says("more")}
    graph = Graph("g", nodes=nodes, edges=[("bad", "never"), ("good", "more")], on_failure="continue")
    result = await run(runtime, graph)
    assert result.status == "failed"
    assert set(result.node_results) == {"bad", "good", "more"}


async def test_p25_a_nested_swarm_that_fails_takes_the_edge_for_failures(runtime: Runtime) -> None:
    swarm = Swarm("inner", agents=[says("a", hand("b")), failing("b")])
    nodes = {"inner": swarm, "then": says("then"), "instead": says("instead")}
    graph = Graph("g", nodes=nodes, edges=[("inner", "then"), Edge("inner", "instead", on="failure")])
    result = await run(runtime, graph)
    assert (result.status, result.output, result.node_history) == ("completed", "INSTEAD", ("inner", "instead"))


async def test_p26_fifty_runs_at_once_are_all_right(runtime: Runtime) -> None:
    async def echo(request: ModelRequest) -> ModelReply:
        return reply(request.messages[-1].text.split("\n")[0])

    nodes: dict[str, Any] = {name: Agent(name=name, model=FunctionModel(echo)) for name in "abcd"}
    await runtime.register(Graph("g", nodes=nodes, edges=[("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")]))
    results = await asyncio.gather(*(runtime.run("g", f"task {n}", session_id=f"s{n}") for n in range(50)))
    assert [result.output for result in results] == [f"task {n}" for n in range(50)]
    assert {result.status for result in results} == {"completed"}


async def test_p26_two_runs_of_one_swarm_without_a_session(runtime: Runtime) -> None:
    async def hand_on(request: ModelRequest) -> ModelReply:
        return hand("b", request.messages[-1].text)

    async def answer(request: ModelRequest) -> ModelReply:
        return reply(request.messages[-1].text.split("\n")[2])

    agents = [Agent(name="a", model=FunctionModel(hand_on)), Agent(name="b", model=FunctionModel(answer))]
    await runtime.register(Swarm("s", agents=agents))
    results = await asyncio.gather(*(runtime.run("s", f"task {n}") for n in range(20)))
    assert [result.output for result in results] == [f"task {n}" for n in range(20)]


@SESSIONS
async def test_p27_usage_is_the_sum_of_the_model_calls_with_revisits_and_nested_agents(
    runtime: Runtime, session: str | None
) -> None:
    calls: list[str] = []

    def counted(name: str, act: Callable[[ModelRequest], ModelReply], **fields: Any) -> Agent:
        async def one(request: ModelRequest) -> ModelReply:
            calls.append(name)
            return act(request)

        return Agent(name=name, model=FunctionModel(one), **fields)

    leaf = counted("leaf", lambda request: reply("leaf"))
    ask = lambda request: reply("ok") if request.messages[-1].role == "tool" else reply(calls=[call("leaf", input="x")])  # noqa: E731
    round_ = counted("round", ask, tools=(leaf.as_tool(),))
    swarm = Swarm("inner", agents=[says("first", hand("second")), counted("second", lambda request: reply("s"))])
    graph = Graph(
        "g",
        nodes={"round": round_, "inner": swarm},
        edges=[Edge("round", "round", when="round.visits < 3"), Edge("round", "inner", when="round.visits >= 3")],
        max_node_executions=10,
    )
    result = await run(runtime, graph, session)
    assert result.status == "completed"
    assert result.usage.model_calls == len(calls) + 1
    assert result.usage_by_agent["round"].model_calls == calls.count("round") == 6
    assert result.usage_by_agent["leaf"].model_calls == calls.count("leaf") == 3
    assert result.usage_by_agent["second"].model_calls == 1
    assert sum(one.model_calls for one in result.usage_by_agent.values()) == result.usage.model_calls
    assert set(result.usage_by_agent) == {"round", "leaf", "first", "second"}


async def test_p38_conditions_inputs_and_functions_see_the_invocation_state(runtime: Runtime) -> None:
    seen: list[object] = []

    def condition(state: Any, invocation_state: Any) -> bool:
        seen.append(("when", invocation_state["who"]))
        return bool(invocation_state["open"])

    def inputs(state: Any, invocation_state: Any) -> str:
        seen.append(("inputs", invocation_state["who"]))
        return f"for {state['a'].output}"

    def work(given: str, ctx: ToolContext) -> str:
        items: Any = ctx.invocation_state["items"]
        items.append("spoiled")
        seen.append(("function", list(items)))
        with pytest.raises(TypeError):
            ctx.invocation_state["mine"] = 1  # type: ignore[index]
        return given

    nodes = {"a": says("a"), "b": Node(says("b"), inputs=inputs), "f": work, "g": work}
    graph = Graph("g", nodes=nodes, edges=[Edge("a", "b", when=condition), ("a", "f"), ("a", "g")])
    result = await run(runtime, graph, invocation_state={"who": "ana", "open": True, "items": ["one"]})
    assert result.status == "completed", result.error
    assert sorted(map(str, seen)) == [
        "('function', ['one', 'spoiled'])",
        "('function', ['one', 'spoiled'])",
        "('inputs', 'ana')",
        "('when', 'ana')",
    ]


async def test_p40_a_failing_condition_fails_its_node_and_the_result_is_there(runtime: Runtime) -> None:
    def condition(state: Any, invocation_state: Any) -> bool:
        raise ValueError("cannot tell")

    result = await run(
        runtime, Graph("g", nodes={"a": says("a"), "b": says("b")}, edges=[Edge("a", "b", when=condition)])
    )
    assert (result.status, result.reason) == ("failed", "condition")
    assert "cannot tell" in result.error
    assert result.node_results["a"][0]["output"] == "A"  # type: ignore[index,call-overload]


@SESSIONS
async def test_map_runs_once_per_item_in_parallel_with_results_in_order(runtime: Runtime, session: str | None) -> None:
    there = asyncio.Barrier(3)

    async def meet(request: ModelRequest) -> ModelReply:
        await there.wait()
        return reply(request.messages[-1].text.split("\n")[-1].upper())

    nodes: dict[str, Any] = {
        "plan": lambda text: ["x", "y", "z"],
        "part": Node(Agent(name="worker", model=FunctionModel(meet)), map="plan"),
        "sum": lambda outputs: "".join(outputs["part"]),
    }
    result = await run(runtime, Graph("g", nodes=nodes, edges=[("plan", "part"), ("part", "sum")]), session)
    assert (result.status, result.output) == ("completed", "XYZ")
    assert len(result.node_results["part"]) == 3


async def test_nested_graphs_in_swarms_in_graphs(runtime: Runtime) -> None:
    inner = Graph("inner", nodes={"x": says("x")})
    swarm = Swarm("middle", agents=[says("front", hand("inner", "to the graph")), inner])
    result = await run(runtime, Graph("outer", nodes={"m": swarm, "end": says("end")}, edges=[("m", "end")]))
    assert (result.status, result.output) == ("completed", "END")
    events = [event async for event in runtime.stream("outer", "again", session_id="t")]
    assert {event.path for event in events} >= {
        (),
        ("m",),
        ("m", "front"),
        ("m", "inner"),
        ("m", "inner", "x"),
        ("end",),
    }


async def test_limits_of_the_run_hold_for_all_its_nodes(runtime: Runtime) -> None:
    nodes = {name: says(name) for name in "abcd"}
    graph = Graph("g", nodes=nodes, edges=[("a", "b"), ("b", "c"), ("c", "d")])
    result = await run(runtime, graph, limits=Limits(model_calls=2))
    assert (result.status, result.reason) == ("limit", "model_calls")
    assert result.node_history == ("a", "b")
    assert result.usage.model_calls == 2


async def test_a_function_that_says_it_failed_is_failed(runtime: Runtime) -> None:
    def broken() -> NodeResult:
        return NodeResult("failed", "stock", "nothing is left")

    result = await run(runtime, Graph("g", nodes={"f": broken, "after": says("after")}, edges=[("f", "after")]))
    assert (result.status, result.reason) == ("failed", "stock")
    assert "after" not in result.node_results


async def test_hooks_of_a_pattern_see_nodes_and_can_skip_one_or_abort(runtime: Runtime) -> None:
    seen: list[str] = []

    class Watching:
        def before_node(self, context: object, visit: Any, decision: str) -> str | None:
            seen.append(f"before {visit.node}")
            return {"b": "skip", "d": "abort"}.get(visit.node)

        def after_node(self, context: object, visit: Any, result: Any) -> None:
            seen.append(f"after {visit.node} {result.status}")

    nodes = {name: says(name) for name in "abcd"}
    graph = Graph("g", nodes=nodes, edges=[("a", "b"), ("b", "c"), ("c", "d")], hooks=[Watching()])
    result = await run(runtime, graph)
    assert (result.status, result.reason) == ("failed", "aborted")
    assert [one["status"] for name in "abcd" for one in result.node_results[name]] == [  # type: ignore[index,call-overload]
        "completed",
        "skipped",
        "completed",
        "failed",
    ]
    assert seen == ["before a", "after a completed", "before b", "before c", "after c completed", "before d"]
