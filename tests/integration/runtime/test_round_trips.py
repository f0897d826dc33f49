"""How often a run asks the server: begin and commit for a turn, one more for each step that a crash must not repeat."""

from __future__ import annotations

import pytest

from orchestra import Agent, Runtime, Swarm
from orchestra.testing import ScriptedModel, call, reply


class Audit:
    """A hook that looks at tools, so that what it sees is kept."""

    async def before_tool(self, arguments: object, call: object, ctx: object) -> None:
        """Nothing."""


@pytest.mark.parametrize(("hooks", "of_a_handoff"), [((), 3), ((Audit(),), 5)])
async def test_a_handoff_ends_its_turn_and_is_not_journaled_before_the_commit(
    runtime: Runtime, hooks: tuple[object, ...], of_a_handoff: int
) -> None:
    """Begin, commit, and the settlement of the visit; with hooks the reply and the result are journaled too.

    One question before all of it: whether anybody of the swarm has a guardrail for the input.
    """
    hands = ScriptedModel([reply(calls=[call("handoff_to_agent", agent_name="b", message="go on")])])
    agents = [Agent(name="a", model=hands, hooks=hooks), Agent(name="b", model=ScriptedModel([reply("done")]))]
    await runtime.register(Swarm("pair", agents=agents))
    await runtime.run("pair", "go", session_id="first")
    sent = runtime.store.commands
    result = await runtime.run("pair", "go", session_id="s")
    assert result.output == "done"
    assert runtime.store.commands - sent == 1 + 2 + of_a_handoff + 3


async def test_a_refused_handoff_is_journaled_like_any_call(runtime: Runtime) -> None:
    hands = [call("handoff_to_agent", agent_name=name, message="go on") for name in ("nobody", "b")]
    model = ScriptedModel([reply(calls=[one]) for one in hands])
    agents = [Agent(name="a", model=model), Agent(name="b", model=ScriptedModel([reply("done")]))]
    await runtime.register(Swarm("pair", agents=agents))
    await runtime.run("pair", "go", session_id="first")
    sent = runtime.store.commands
    assert (await runtime.run("pair", "go", session_id="s")).output == "done"
    assert runtime.store.commands - sent == 1 + 2 + 3 + 2 + 3
