"""Typed output: checked JSON, asked for once more when it does not fit."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field

from orchestra import Agent, Runtime, Swarm, tool
from orchestra.core.errors import InputError
from orchestra.core.events import RunEnded
from orchestra.core.jsontext import dumps, loads
from orchestra.core.messages import Message
from orchestra.runtime.agent_file import load_agent
from orchestra.testing import ScriptedModel, call, reply
from tests.servers import Server


class Trip(BaseModel):
    """A trip."""

    city: str
    nights: int = 2
    mood: Literal["calm", "busy"] = "calm"


async def test_the_answer_is_checked_json_with_defaults(runtime: Runtime) -> None:
    model = ScriptedModel([reply('{"city": "Kyoto"}'), reply('```json\n{"city": "Nara", "nights": "3"}\n```')])
    await runtime.register(Agent(name="a", model=model, output_type=Trip))
    result = await runtime.run("a", "go", session_id="s")
    assert (result.status, result.output) == ("completed", Trip(city="Kyoto"))
    schema = model.requests[0].output_schema
    assert schema is not None
    assert (schema["title"], schema["required"]) == ("Trip", ["city"])
    again = await runtime.resume(result.run_id)
    assert again.output == result.output
    assert loads(dumps(result.to_json()))["output"] == {"city": "Kyoto", "nights": 2, "mood": "calm"}
    assert (await runtime.run("a", "again")).output == Trip(city="Kyoto")
    assert (await runtime.run("a", "again", session_id="s")).output == Trip(city="Nara", nights=3)


async def test_one_that_does_not_fit_is_asked_for_once_more(runtime: Runtime) -> None:
    @tool
    def look() -> str:
        """Look."""
        return "seen"

    replies = [reply("Kyoto!"), reply(calls=[call("look")]), reply('{"city": "Kyoto", "mood": "busy"}')]
    model = ScriptedModel(replies)
    await runtime.register(Agent(name="a", model=model, output_type=Trip, tools=(look,)))
    result = await runtime.run("a", "go", session_id="s")
    assert result.output == Trip(city="Kyoto", mood="busy")
    asked = model.requests[1].messages[-1]
    assert asked.role == "user"
    assert "does not fit" in asked.text
    log = [one for one in await runtime.session("s", "a").get_items() if isinstance(one, Message)]
    assert [(one.role, one.meta.synthetic) for one in log] == [
        ("user", False),
        ("assistant", False),
        ("user", True),
        ("assistant", False),
        ("tool", False),
        ("assistant", False),
    ]


async def test_one_that_never_fits_is_a_failure_that_says_why(runtime: Runtime) -> None:
    await runtime.register(Agent(name="a", model=ScriptedModel([reply('{"nights": "x"}')] * 3), output_type=Trip))
    result = await runtime.run("a", "go", session_id="s")
    assert (result.status, result.reason, result.output) == ("failed", "OutputError", None)
    assert "city: Field required" in result.error
    assert result.usage.model_calls == 2
    assert (await runtime.session("s", "a").open()).agent == "a"


async def test_what_has_no_schema_is_refused_when_it_is_registered(runtime: Runtime) -> None:
    with pytest.raises(InputError, match="has no JSON schema"):
        await runtime.register(Agent(name="a", model="extractive", output_type=object()))


async def test_an_agent_file_names_it_by_its_file(runtime: Runtime, tmp_path: object) -> None:
    from pathlib import Path

    folder = Path(str(tmp_path))
    (folder / "kinds.py").write_text("from pydantic import BaseModel\nclass Trip(BaseModel):\n    city: str\n")
    (folder / "a.md").write_text("---\nname: a\nmodel: scripted:a.yaml\noutput_type: kinds.py:Trip\n---\nGo.\n")
    (folder / "a.yaml").write_text("""- text: '{"city": "Kyoto"}'\n""")
    await runtime.register(load_agent(folder / "a.md"))
    assert (await runtime.run("a", "go")).output == {"city": "Kyoto"}


@dataclass
class Stop:
    """A stop of a journey, which the model calls by another name."""

    city: Annotated[str, Field(alias="where")]
    day: date


async def test_an_output_is_an_instance_of_the_type_that_this_program_gave(
    runtime: Runtime, server: Server, namespace: str
) -> None:
    """Streamed and resumed too, and of a swarm; another program has the same as JSON."""
    stop = '{"where": "Kyoto", "day": "2026-04-01"}'
    agent = Agent(name="a", model=ScriptedModel([reply(stop)] * 4), output_type=Stop)
    await runtime.register(Swarm("desk", agents=[agent]))
    *_, last = [event async for event in runtime.stream("a", "go", session_id="s", run_id="r")]
    assert isinstance(last, RunEnded)
    there = Stop("Kyoto", date(2026, 4, 1))
    assert last.result.output == there
    assert (await runtime.resume("r")).output == there
    assert (await runtime.run("desk", "go")).output == there
    async with Runtime.start({"redis": {"url": server.url}, "namespace": namespace}, inline=True) as other:
        assert (await other.resume("r")).output == {"city": "Kyoto", "day": "2026-04-01"}
    await runtime.register(agent.model_copy(update={"output_type": None}))
    assert (await runtime.run("a", "go")).output == stop


async def test_the_answer_of_a_typed_child_comes_to_its_caller_as_json(runtime: Runtime) -> None:
    child = Agent(name="child", model=ScriptedModel([reply('{"city": "Kyoto"}')]), output_type=Trip)
    model = ScriptedModel([reply(calls=[call("child", input="where?")]), reply("There.")])
    await runtime.register(Agent(name="a", model=model, tools=(child.as_tool(),)))
    assert (await runtime.run("a", "go", session_id="s")).output == "There."
    assert loads(model.requests[1].messages[-1].text) == {"city": "Kyoto", "nights": 2, "mood": "calm"}
