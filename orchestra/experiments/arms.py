"""The arms of an experiment: what is compared on the same conversations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Literal, TypeAlias

from orchestra.experiments.experiment import ConsolidatorName, Experiment, TriggerChoice
from orchestra.sleeptime.triggers import (
    Adaptive,
    BeforeCompaction,
    EveryTokens,
    EveryTurns,
    Never,
    Trigger,
    WhenIdle,
)

ArmKind: TypeAlias = Literal["fixed", "off", "trigger", "baseline"]
Memory: TypeAlias = Literal["block", "search", "full"]


@dataclass(frozen=True, slots=True)
class Arm:
    """One arm. ``memory`` is where its facts stand; ``every`` in turns for fixed ones. ``window`` in turns."""

    name: str
    kind: ArmKind
    trigger: Trigger
    memory: Memory
    consolidator: ConsolidatorName
    block_limit: int
    window: int
    every: int | None = None


def arms(experiment: Experiment) -> tuple[Arm, ...]:
    """All arms, in the order of the tables. What all of them have in common is not in their names."""
    crossed = list(product(experiment.consolidator, experiment.block_limit, experiment.window))
    out: list[Arm] = []
    for name, kind, trigger, every in _triggers(experiment):
        for consolidator, limit, window in crossed:
            out.append(
                Arm(
                    _named(name, experiment, None, None, window)
                    if kind == "off"
                    else _named(name, experiment, consolidator, limit, window),
                    *(kind, trigger, "block", consolidator, limit, window, every),
                )
            )
    for baseline in experiment.baselines:
        limits = experiment.block_limit if baseline == "gold" else experiment.block_limit[:1]
        for limit, window in product(limits, experiment.window):
            memory: Memory = "block" if baseline == "gold" else baseline
            trigger = EveryTurns(1) if baseline == "gold" else Never()
            title = "full context" if baseline == "full" else baseline
            name = _named(title, experiment, None, limit if baseline == "gold" else None, window)
            out.append(Arm(name, "baseline", trigger, memory, "gold", limit, window))
    return tuple({arm.name: arm for arm in reversed(out)}.values())[::-1]


def _triggers(experiment: Experiment) -> Iterator[tuple[str, ArmKind, Trigger, int | None]]:
    for every in experiment.every:
        trigger: Trigger = Never() if every is None else EveryTurns(every)
        yield trigger.label, "off" if every is None else "fixed", trigger, every
    for choice in experiment.triggers:
        trigger = trigger_of(choice)
        yield trigger.label, "trigger", trigger, None


def trigger_of(choice: TriggerChoice) -> Trigger:
    """The rule that a file's choice stands for."""
    if choice.tokens is not None:
        return EveryTokens(choice.tokens)
    if choice.idle is not None:
        return WhenIdle(choice.idle)
    if choice.adaptive is not None:
        return Adaptive(choice.adaptive.min, choice.adaptive.max)
    return BeforeCompaction()


def _named(name: str, experiment: Experiment, consolidator: str | None, limit: int | None, window: int) -> str:
    parts = [name]
    if len(experiment.consolidator) > 1 and consolidator is not None:
        parts.append(consolidator)
    if len(experiment.block_limit) > 1 and limit is not None:
        parts.append(f"{limit} chars")
    if len(experiment.window) > 1:
        parts.append(f"window {window}")
    return ", ".join(parts)
