"""What an experiment plays: generated dialogues, and loaders for data that the user has."""

from orchestra.experiments.workloads.beam import load_beam
from orchestra.experiments.workloads.dialogue import Dialogue, Mark, Observation, Question, Utterance, terms
from orchestra.experiments.workloads.generator import MOST_SLOTS, Recipe, generate
from orchestra.experiments.workloads.letta_worlds import load_letta_worlds
from orchestra.experiments.workloads.locomo import load_locomo
from orchestra.experiments.workloads.longmemeval import load_longmemeval
from orchestra.experiments.workloads.rendering import rendered
from orchestra.experiments.workloads.transcript import load_transcripts

__all__ = [
    "MOST_SLOTS",
    "Dialogue",
    "Mark",
    "Observation",
    "Question",
    "Recipe",
    "Utterance",
    "generate",
    "load_beam",
    "load_letta_worlds",
    "load_locomo",
    "load_longmemeval",
    "load_transcripts",
    "rendered",
    "terms",
]
