"""What can be right only together in a scenario: names, the user, and expectations that can be met."""

from __future__ import annotations

from collections.abc import Sequence

from orchestra.core.agent import Agent
from orchestra.core.document import Document, nearest
from orchestra.core.errors import ConfigError
from orchestra.core.runnable import Runnable
from orchestra.core.scenario import Scenario, Turn
from orchestra.runtime.scenario_patterns import AnyPattern, taking_part


def faults_together(
    scenario: Scenario,
    document: Document,
    *,
    agents: Sequence[Agent],
    patterns: Sequence[AnyPattern],
    turns: Sequence[Turn],
) -> list[ConfigError]:
    """The faults that show only when everything which the scenario names is there."""
    known: dict[str, Runnable] = {one.name: one for one in (*agents, *patterns)}
    runnable = known.get(scenario.run)
    if runnable is None:
        hint = nearest(scenario.run, known) or there_are(list(known))
        what = "agent, swarm or graph" if patterns else "agent"
        return [document.fault(("run",), f"there is no {what} {scenario.run!r} in these files", hint)]
    within = taking_part(runnable, agents)
    return [
        *_user(scenario, document, within),
        *_labels(scenario, document, within),
        *_counts(scenario, document, len(turns)),
    ]


def there_are(names: Sequence[str]) -> str:
    """The hint that lists what there is."""
    return f"There are: {', '.join(names) or 'none'}"


def _user(scenario: Scenario, document: Document, within: Sequence[Agent]) -> list[ConfigError]:
    personal = ((agent.name, block.label) for agent in within for block in agent.blocks if block.scope == "user")
    name, label = next(personal, ("", ""))
    if not name or scenario.user is not None:
        return []
    problem = f"is missing: agent {name!r} has a block for each user, {label!r}"
    return [document.fault(("user",), problem, "Say who the user is, such as user: ana")]


def _labels(scenario: Scenario, document: Document, within: Sequence[Agent]) -> list[ConfigError]:
    labels = list(dict.fromkeys(block.label for agent in within for block in agent.blocks))
    who = f"agent {within[0].name!r} has" if len(within) == 1 else f"the agents of {scenario.run!r} have"
    return [
        document.fault(
            ("expect", "blocks", label), f"{who} no block {label!r}", nearest(label, labels) or there_are(labels)
        )
        for label in scenario.expect.blocks
        if label not in labels
    ]


def _counts(scenario: Scenario, document: Document, turns: int) -> list[ConfigError]:
    expect, questions, fault = scenario.expect, len(scenario.follow_up), document.fault
    out: list[ConfigError] = []
    if expect.answers is not None and len(expect.answers) != questions:
        problem = f"there are {len(expect.answers)} answers for {questions} questions in follow_up"
        out.append(fault(("expect", "answers"), problem, "Give one for each question, in their order"))
    if turns and expect.outputs is not None and len(expect.outputs) != turns:
        problem = f"there are {len(expect.outputs)} outputs for {turns} turns"
        out.append(fault(("expect", "outputs"), problem, "Give one for each turn, null where any will do"))
    last = turns + questions
    out += [
        fault(("expect", "passes_at", i), f"there is no turn {turn}; the last one is {last}")
        for i, turn in enumerate(expect.passes_at or ())
        if turns and turn > last
    ]
    return out
