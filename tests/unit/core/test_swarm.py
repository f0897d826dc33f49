"""Definitions of swarms: the same from Python and from data, and what is refused when built (P10, P11)."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from orchestra.core.agent import Agent
from orchestra.core.swarm import Swarm
from orchestra.core.validation import validated
from orchestra.core.yamltext import parse

A, B = Agent(name="a"), Agent(name="b")


def handoff_to_agent() -> None: ...


def test_yaml_and_python_give_the_same_object() -> None:
    text = "{name: desk, agents: [a, b], entry: b, max_handoffs: 3, execution_timeout: 10m}"
    from_yaml = validated(Swarm, parse(text)).with_members({"a": A, "b": B})
    assert from_yaml == Swarm("desk", agents=[A, B], entry="b", max_handoffs=3, execution_timeout=600)
    assert (from_yaml.first, from_yaml.names) == ("b", ("a", "b"))


def test_the_defaults_are_those_of_the_description() -> None:
    desk = Swarm("desk", agents=[A])
    limits = (desk.max_handoffs, desk.max_iterations, desk.execution_timeout, desk.node_timeout)
    assert limits == (20, 20, 900, 300)
    assert (desk.memory, desk.start, desk.first, desk.repetitive_window) == ("run", "entry", "a", 0)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"agents": [A, Agent(name="a")]}, "agents[1]: swarm 'desk' has two agents named 'a'"),
        ({"agents": [A, "a"]}, "agents[1]: swarm 'desk' has two agents named 'a'"),
        ({"entry": "c"}, "entry: swarm 'desk': the entry 'c' is none of its agents"),
        ({"agents": []}, "at least 1 item"),
        (
            {"agents": [A, Agent(name="c", handoffs=("a", "bb"))]},
            "agents[1].handoffs: swarm 'desk': agent 'c' may hand off to 'bb', which is none of its agents",
        ),
        ({"agents": [A, Agent(name="c", tools=(handoff_to_agent,))]}, "agent 'c' has a tool named 'handoff_to_agent'"),
        ({"agents": [Agent(name="c", tools=("t.py:handoff_to_agent",))]}, "agent 'c' has a tool named"),
        ({"repetitive_window": 4}, "of 4 visits at least 0 different agents"),
        ({"repetitive_window": 2, "repetitive_min_unique": 3}, "of 2 visits at least 3 different agents"),
        ({"max_hops": 1}, "max_hops"),
    ],
)
def test_what_is_wrong_is_refused_when_built_and_named(options: dict[str, object], error: str) -> None:
    fields = {"name": "desk", "agents": [A, B], **options}
    with pytest.raises(ValidationError) as raised:
        Swarm(**fields)  # type: ignore[arg-type]
    assert error in str(raised.value)


def test_a_name_that_turns_out_to_be_another_ones_is_found_when_names_are_replaced() -> None:
    bad = Agent(name="c", tools=(handoff_to_agent,))
    with pytest.raises(ValidationError, match="agent 'c' has a tool named 'handoff_to_agent'"):
        Swarm("desk", agents=["c"]).with_members({"c": bad})
