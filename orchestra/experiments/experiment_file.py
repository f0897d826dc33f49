"""Experiment files."""

from __future__ import annotations

import os
from pathlib import Path

from orchestra.core.errors import ConfigError
from orchestra.core.validation import raise_all, validated
from orchestra.core.yamltext import parse
from orchestra.experiments.experiment import Experiment
from orchestra.runtime.text_file import read_text, shown


def load_experiment(path: Path) -> Experiment:
    """The experiment in the file; paths of its data come back absolute, relative to the file.

    Raises:
        ConfigError: with all faults, each with file, line and field.
    """
    document = parse(read_text(path, what="experiment file"), file=shown(path), variables=os.environ)
    experiment = validated(Experiment, document)
    faults: list[ConfigError] = []
    workloads = []
    for i, workload in enumerate(experiment.workloads):
        found = {}
        for name in ("path", "audit"):
            given: Path | None = getattr(workload, name)
            if given is not None:
                found[name] = Path(os.path.abspath(path.parent / given.expanduser()))
                if not found[name].exists():
                    place = ("workloads", i, name)
                    faults.append(document.fault(place, f"{shown(found[name])}: there is no such file or folder"))
        workloads.append(workload.model_copy(update=found))
    raise_all(faults)
    return experiment.model_copy(update={"workloads": tuple(workloads)})
