"""Virtual context: the agent is told once a cycle, and half of the window goes to a recursive summary."""

from __future__ import annotations

from orchestra import Agent, Block, Runtime, tool
from orchestra.context.summary_message import is_summary, summary_text
from orchestra.core.conversation import Compaction, Conversation, Flush, Pressure, WindowGuard
from orchestra.core.messages import Message
from orchestra.core.model import ModelReply, ModelRequest, ToolSpec
from orchestra.runtime.heartbeat import with_heartbeat
from orchestra.runtime.prompt import lone_prompt, spec_tokens
from orchestra.store.context_store import ContextStore
from orchestra.testing import FunctionModel, call, reply
from tests.hosts import Machines

LONG = "a long story about nothing in particular, told again and again " * 20


def told(request: ModelRequest) -> bool:
    return any(message.meta.synthetic and "Memory pressure" in message.text for message in request.messages)


def is_asked_to_summarise(request: ModelRequest) -> bool:
    return "takes the place of these messages" in request.messages[0].text


@tool
def clock(zone: str) -> str:
    """Tell the time."""
    return f"noon in {zone}"


async def test_one_notice_a_cycle_and_a_recursive_summary(runtime: Runtime) -> None:
    summaries: list[str] = []

    def answer(request: ModelRequest) -> str:
        if is_asked_to_summarise(request):
            summaries.append(request.messages[-1].text)
            return f"summary {len(summaries)}"
        return "ok"

    model = FunctionModel(answer)
    conversation = Conversation(
        guard=WindowGuard(minimum=0),
        pressure=Pressure(at=0.5),
        flush=Flush(enabled=False),
        compaction=Compaction(retries=0, block_stream=True),
    )
    await runtime.register(Agent(name="a", model=model, context_tokens=3_000, conversation=conversation))
    contexts = ContextStore(runtime.store)
    notices: dict[int, int] = {}
    for number in range(16):
        cycle = (await contexts.record("a|s")).cycle
        await runtime.run("a", f"{number} {LONG}", session_id="s")
        request = next(one for one in reversed(model.requests) if not is_asked_to_summarise(one))
        notices[cycle] = notices.get(cycle, 0) + told(request)
        if cycle == 2:
            break
    assert notices[0] == 1
    assert notices[1] == 1
    assert any("<earlier_summary>" in asked for asked in summaries)
    await runtime.run("a", "last", session_id="s")
    head = next(one for one in reversed(model.requests) if not is_asked_to_summarise(one)).messages
    shown = [message for message in head if is_summary(message)]
    assert len(shown) == 1
    assert summary_text(shown[0]).startswith("summary")
    assert "Your memory has these tiers" in head[0].text


async def test_tools_take_the_heartbeat_that_their_functions_do_not_know(runtime: Runtime) -> None:
    def answer(request: ModelRequest) -> ModelReply | str:
        if request.messages[-1].role == "user":
            return reply(calls=[call("clock", zone="Lisbon", request_heartbeat=True)])
        return request.messages[-1].text

    model = FunctionModel(answer)
    await runtime.register(
        Agent(name="a", model=model, tools=(clock,), conversation=Conversation(pressure=0.7)),  # type: ignore[arg-type]
        Agent(name="b", model=model, tools=(clock,)),
    )
    assert (await runtime.run("a", "go")).output == "noon in Lisbon"
    assert "request_heartbeat" in model.requests[0].tools[0].parameters["properties"]  # type: ignore[operator]
    assert (await runtime.run("b", "go")).output == "noon in Lisbon"
    assert "request_heartbeat" not in model.requests[-1].tools[0].parameters["properties"]  # type: ignore[operator]


async def test_no_notice_while_there_is_room(runtime: Runtime) -> None:
    model = FunctionModel(lambda request: "ok")
    blocks = (Block(label="notes", value="v"),)
    conversation = Conversation.model_validate({"pressure": 0.7})
    await runtime.register(Agent(name="a", model=model, blocks=blocks, conversation=conversation))
    await runtime.session("s", "a").add_items([Message("user", LONG)])
    await runtime.run("a", "go", session_id="s")
    assert not told(model.requests[0])


async def test_the_size_of_a_tool_is_that_of_how_it_is_described(machines: Machines) -> None:
    """A flush shows tools without the heartbeat: which was seen first on this host must not matter to any prompt."""
    client = await machines.client()
    await client.register(Agent(name="a", model=FunctionModel(lambda request: "ok")))
    await client.run("a", "go", session_id="s")
    loaded = machines.hosts[0].caches.agents["a"].loaded
    plain = ToolSpec("look", "Look at something.", {"type": "object", "properties": {}})
    for spec in (plain, with_heartbeat(plain), plain):
        prompt = lone_prompt(loaded)
        prompt.opening([], (spec,), 0.0)
        assert prompt.fixed == spec_tokens(spec)
    assert spec_tokens(plain) < spec_tokens(with_heartbeat(plain))
