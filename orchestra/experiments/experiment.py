"""What an experiment file says."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from orchestra.core.agent import Every
from orchestra.core.durations import Seconds
from orchestra.core.errors import ConfigError
from orchestra.experiments.workloads import Recipe

Dataset: TypeAlias = Literal["generator", "locomo", "longmemeval", "beam", "letta_worlds", "transcript"]
ConsolidatorName: TypeAlias = Literal["extractive", "append-only", "replay", "gold", "llm"]
Baseline: TypeAlias = Literal["search", "full", "gold"]
Share: TypeAlias = Annotated[float, Field(ge=0, le=1)]
_OPTIONS = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class Workload(BaseModel):
    """Conversations to play: generated ones, or a data set that the user has."""

    model_config = _OPTIONS

    dataset: Dataset = "generator"
    """Where the conversations come from."""
    name: str = ""
    """How tables and the files of plots call it; left out: as the data set is called."""
    path: Path | None = None
    """The file or folder of the data set, relative to the experiment file."""
    audit: Path | None = None
    """locomo only: a file of wrong labels with their corrections."""
    cases: int | None = Field(default=None, gt=0)
    """At most that many conversations, the first ones."""
    turns: int = Field(default=120, ge=10, le=2000)
    """generator: how many turns a dialogue has."""
    filler: Share = 0.4
    """generator: share of turns that state nothing."""
    updates: Share = 0.2
    """generator: share of turns that change something; the rest states something new."""
    retractions: Share = 0.2
    """generator: share of the updates that take something back."""
    paraphrases: Share = 0.2
    """generator: share of statements in unusual words."""
    derived: int = Field(default=3, ge=0)
    """generator: questions that ask for the sum of two numbers."""
    people: int = Field(default=2, ge=0, le=6)
    """generator: others whom the facts are about."""
    writers: int = Field(default=1, gt=0)
    """generator: how many people speak."""
    burst: int = Field(default=1, gt=0)
    """generator: statements and small talk come in runs of that many turns."""

    @property
    def label(self) -> str:
        """Its name in tables."""
        return self.name or self.dataset

    @property
    def recipe(self) -> Recipe:
        """What the generator makes."""
        names = ("turns", "filler", "updates", "retractions", "paraphrases", "derived", "people", "writers", "burst")
        return Recipe(**{name: getattr(self, name) for name in names})

    @model_validator(mode="after")
    def _fits(self) -> Workload:
        if any(not one.isprintable() or one in "/\\:" for one in self.name) or self.name.startswith("."):
            raise ConfigError("must do as a part of a file's name: without / \\ : and no dot first", field="name")
        if self.dataset != "generator" and self.path is None:
            raise ConfigError(f"the data set {self.dataset} needs a path", field="path", hint="No data is shipped")
        if self.dataset == "generator" and self.filler + self.updates > 1:
            raise ConfigError(f"filler and updates are {self.filler + self.updates:g} together", field="updates")
        return self


class AdaptiveRange(BaseModel):
    """The interval of the adaptive trigger, in turns."""

    model_config = _OPTIONS

    min: int = Field(default=1, gt=0)
    """Never more often."""
    max: int = Field(default=25, gt=0)
    """Never less often."""

    @model_validator(mode="after")
    def _ordered(self) -> AdaptiveRange:
        if self.min > self.max:
            raise ConfigError(f"min is {self.min} and max is {self.max}", field="min")
        return self


class TriggerChoice(BaseModel):
    """One other trigger: exactly one of the keys."""

    model_config = _OPTIONS

    tokens: int | None = Field(default=None, gt=0)
    """After that many new tokens."""
    idle: Seconds | None = None
    """After a pause of that many seconds, or of a number with s, m, h or d behind it."""
    compaction: bool | None = None
    """Before messages leave the window."""
    adaptive: AdaptiveRange | None = None
    """By what passes find."""

    @model_validator(mode="after")
    def _one(self) -> TriggerChoice:
        given = [name for name in ("tokens", "idle", "compaction", "adaptive") if getattr(self, name)]
        if len(given) != 1:
            raise ConfigError("must have exactly one of tokens, idle, compaction, adaptive")
        return self


_Choice: TypeAlias = Literal["compaction", "adaptive"] | TriggerChoice


def _choice(value: object) -> object:
    return {"compaction": True} if value == "compaction" else {"adaptive": {}} if value == "adaptive" else value


class Price(BaseModel):
    """Money for a million tokens."""

    model_config = _OPTIONS

    input: float = Field(default=0.25, ge=0)
    """Of what a model reads."""
    output: float = Field(default=2.0, ge=0)
    """Of what it writes."""

    def of(self, tokens_in: float, tokens_out: float) -> float:
        """What these tokens cost."""
        return (tokens_in * self.input + tokens_out * self.output) / 1e6


class Prices(BaseModel):
    """The price list, in any currency."""

    model_config = _OPTIONS

    primary: Price = Price()
    """Of the model that answers."""
    sleeptime: Price = Price()
    """Of the model that tidies memory."""


class Spending(BaseModel):
    """What the experiment itself may cost. Only models of providers cost anything."""

    model_config = _OPTIONS

    ask_above: float = Field(default=1.0, ge=0)
    """An estimate above it is asked for before anything starts."""
    cap: float = Field(default=20.0, gt=0)
    """When so much is spent, what is left is not played."""


class SharedWriters(BaseModel):
    """Agents that all write one block while sleep-time agents tidy it, on the real runtime."""

    model_config = _OPTIONS

    writers: tuple[Annotated[int, Field(ge=1, le=64)], ...] = (1, 2, 4, 8, 16)
    """How many agents write at the same time."""
    turns: int = Field(default=10, gt=0)
    """Turns of each."""
    every: Every = 2
    """Turns between passes of each; off: nobody tidies."""
    limit: int = Field(default=100_000, gt=0)
    """Characters of the block."""


class Experiment(BaseModel):
    """A sleep-time frequency experiment: its arms are crossed with workloads and seeds."""

    model_config = _OPTIONS

    name: str = "experiment"
    """What the report is headed with."""
    workloads: tuple[Workload, ...] = (Workload(),)
    """The conversations that every arm plays."""
    every: tuple[Every, ...] = (1, 2, 3, 5, 8, 13, 25, None)
    """Turns between passes, each an arm; off: never."""
    triggers: tuple[Annotated[TriggerChoice, BeforeValidator(_choice, json_schema_input_type=_Choice)], ...] = ()
    """Other triggers, each an arm: compaction, adaptive, {tokens: 4000}, {idle: 10m}, {adaptive: {min: 1, max: 25}}."""
    baselines: tuple[Baseline, ...] = ("search", "full", "gold")
    """search: no passes, but search over all that was said. full: all of it in the prompt. gold: a perfect block."""
    consolidator: tuple[ConsolidatorName, ...] = ("extractive",)
    """What a pass does, each an arm. replay: the data set's own notes. gold: what is true, perfectly noted."""
    block_limit: tuple[Annotated[int, Field(gt=0)], ...] = (5000,)
    """Characters of the block, each an arm."""
    window: tuple[Annotated[int, Field(ge=0)], ...] = (4,)
    """Turns that stay in the prompt as they were said, each an arm."""
    seeds: tuple[int, ...] = (1, 2, 3)
    """Seeds of generated dialogues. Conversations of a data set are played once."""
    model: str = "auto"
    """The model of the consolidator llm and of the reader llm."""
    reader: Literal["none", "extractive", "llm"] = "extractive"
    """Who answers the questions at the end, for F1 and exact match."""
    lags: tuple[Annotated[int, Field(ge=0)], ...] = (0, 1, 3, 10, 30)
    """Turns after a fact was last stated at which it is looked for."""
    k: int = Field(default=5, gt=0)
    """How many messages a search finds."""
    prices: Prices = Prices()
    """The price list for the column money."""
    worth: float = Field(default=0.2, gt=0)
    """How much freshness a doubled bill has to bring: what the recommendation weighs with."""
    spending: Spending = Spending()
    """What the experiment itself may cost."""
    runner: Literal["auto", "local", "ray"] = "auto"
    """auto: Ray Tune where it is installed, else processes of this machine."""
    workers: int | None = Field(default=None, gt=0)
    """How many trials at once; left out: as many as there are processors."""
    search: Literal["grid", "optuna"] = "grid"
    """grid: all arms. optuna: Ray Tune picks arms by freshness and cost; trials says how many."""
    trials: int = Field(default=20, gt=0)
    """How many trials a searcher may make."""
    resamples: int = Field(default=1000, ge=100)
    """Of the bootstrap."""
    shared_writers: SharedWriters | None = None
    """Instead of arms: many agents that write one block on the real runtime."""

    @model_validator(mode="after")
    def _fits(self) -> Experiment:
        # Not min_length: it would also complain of a list whose entries are wrong.
        for name in ("workloads", "consolidator", "block_limit", "window", "seeds"):
            if not getattr(self, name):
                raise ConfigError("must have at least 1 entry", field=name)
        if len(set(self.seeds)) < len(self.seeds):
            raise ConfigError("the same seed twice would be one dialogue counted as two", field="seeds")
        labels = [workload.label for workload in self.workloads]
        for i, label in enumerate(labels):
            if label in labels[:i]:
                raise ConfigError(f"two workloads are called {label!r}", field=f"workloads[{i}].name", hint="Name them")
        if not (self.every or self.triggers or self.baselines):
            raise ConfigError("there is no arm", field="every")
        if self.search == "optuna" and self.runner == "local":
            raise ConfigError("a searcher needs Ray Tune", field="search", hint="Leave runner out")
        return self
