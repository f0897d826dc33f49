"""The conversations of an experiment: generated, or loaded from the files that the user has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from orchestra.core.errors import InputError
from orchestra.experiments.experiment import Experiment, Workload
from orchestra.experiments.silver import with_questions
from orchestra.experiments.workloads import (
    Dialogue,
    generate,
    load_beam,
    load_letta_worlds,
    load_locomo,
    load_longmemeval,
    load_transcripts,
)


def dialogues(experiment: Experiment) -> list[Dialogue]:
    """All conversations of an experiment.

    Raises:
        ConfigError: a data file is malformed; names line and field.
        InputError: a conversation has nothing to ask for.
    """
    out: list[Dialogue] = []
    for workload in experiment.workloads:
        found = [one for one in _loaded(workload, experiment.seeds) if one.questions]
        if not found:
            raise InputError(f"nothing in the workload {workload.label!r} can be asked for: it has no usable question")
        names = Counter(one.case for one in found)
        # Of two of the same name only one would be kept and counted.
        out.extend(
            one if names[one.case] == 1 else replace(one, case=f"{one.case} ({number})")
            for number, one in enumerate(found[: workload.cases], 1)
        )
    return out


def _loaded(workload: Workload, seeds: Sequence[int]) -> Iterable[Dialogue]:
    name, path = workload.label, workload.path or Path()
    if workload.dataset == "generator":
        return (generate(workload.recipe, seed, workload=name) for seed in seeds)
    if workload.dataset == "locomo":
        return load_locomo(path, workload=name, audit=workload.audit)
    if workload.dataset == "longmemeval":
        return load_longmemeval(path, workload=name)
    if workload.dataset == "beam":
        return load_beam(path, workload=name)
    if workload.dataset == "letta_worlds":
        return load_letta_worlds(path, workload=name)
    return (with_questions(one) for one in load_transcripts(path, workload=name))


def defects(found: Sequence[Dialogue]) -> dict[str, dict[str, int]]:
    """By workload, what was wrong with its data and how often."""
    out: dict[str, Counter[str]] = {}
    for dialogue in found:
        out.setdefault(dialogue.workload, Counter()).update(dialogue.defects)
    return {name: {what: count for what, count in sorted(counts.items()) if count} for name, counts in out.items()}
