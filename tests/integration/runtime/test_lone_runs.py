"""Runs without a session: what they ask the server, and what they see of changes that come while they run."""

from __future__ import annotations

from itertools import pairwise

from orchestra import Agent, Block, Graph, Runtime, ToolContext, tool
from orchestra.core.model import ModelReply, ModelRequest
from orchestra.testing import FunctionModel, ScriptedModel, call, reply


def chain(*agents: Agent) -> Graph:
    """One after the other."""
    names = [agent.name for agent in agents]
    return Graph("chain", nodes=dict(zip(names, agents, strict=True)), edges=list(pairwise(names)))


async def system(request: ModelRequest) -> ModelReply:
    """Answers with the system text."""
    return reply(request.messages[0].text)


async def test_a_run_with_all_its_nodes_and_agents_as_tools_asks_the_server_once(runtime: Runtime) -> None:
    child = Agent(name="child", model=ScriptedModel([reply("found")]))
    asks = ScriptedModel([reply(calls=[call("child", input="look")]), reply("done")])
    last = Agent(name="last", model=asks, tools=(child.as_tool(),))
    await runtime.register(chain(Agent(name="first", model=ScriptedModel([reply("one")])), last))
    assert (await runtime.run("chain", "go")).output == "done"
    sent = runtime.store.commands
    assert (await runtime.run("chain", "go")).output == "done"
    assert runtime.store.commands - sent == 1


async def test_a_definition_that_changes_while_it_runs_counts_from_the_next_run(runtime: Runtime) -> None:
    changes = [False]

    async def change(request: ModelRequest) -> ModelReply:
        if changes[0]:
            await runtime.register(Agent(name="last", model=FunctionModel(system), instructions="new"))
        return reply("go on")

    last = Agent(name="last", model=FunctionModel(system), instructions="old")
    await runtime.register(chain(Agent(name="first", model=FunctionModel(change)), last))
    assert (await runtime.run("chain", "go")).output == "old"
    changes[0] = True
    assert (await runtime.run("chain", "go")).output == "old"
    changes[0] = False
    assert (await runtime.run("chain", "go")).output == "new"


async def test_an_edit_by_one_node_is_in_the_prompt_of_the_next(runtime: Runtime) -> None:
    @tool
    async def write(text: str, ctx: ToolContext) -> str:
        """Write to the notes."""
        await ctx.blocks.append("notes", text)
        return "written"

    notes = Block(label="notes", scope="shared")
    count = iter(range(10))

    async def writing(request: ModelRequest) -> ModelReply:
        if request.messages[-1].role == "user":
            return reply(calls=[call("write", text=f"line {next(count)}")])
        return reply("go on")

    first = Agent(name="first", model=FunctionModel(writing), tools=(write,), blocks=(notes,))
    await runtime.register(chain(first, Agent(name="last", model=FunctionModel(system), blocks=(notes,))))
    for number in range(3):
        assert f"line {number}" in str((await runtime.run("chain", "go")).output)
