"""Dialogues made from a seed: attribute slots that are stated, updated and retracted among small talk."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from orchestra.core.errors import InputError
from orchestra.experiments.workloads import phrases
from orchestra.experiments.workloads.dialogue import Dialogue, Mark, Question, Utterance, terms

Step: TypeAlias = Literal["filler", "first", "update"]
START = 1_760_000_000.0
_THINGS = tuple((quality, thing) for quality in phrases.QUALITIES for thing in phrases.THINGS)
MOST_SLOTS = len(_THINGS) + len(phrases.OWN)


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a generated dialogue is made of; shares are of its turns or, for the last three, of the updates and so on.

    ``burst``: statements and small talk come in runs of that many turns. ``people``: besides the speakers themselves,
    how many others the facts are about. ``derived``: how many questions ask for a sum of two numbers.
    """

    turns: int = 120
    filler: float = 0.4
    updates: float = 0.2
    retractions: float = 0.2
    paraphrases: float = 0.2
    derived: int = 3
    people: int = 2
    writers: int = 1
    burst: int = 1


@dataclass(slots=True)
class _Slot:
    """A slot and what was said of it."""

    name: str
    pool: str
    spoken: str
    bare: str
    about: tuple[frozenset[str], ...]
    own: phrases.Own | None = None
    said: list[tuple[int, int, str | None]] = field(default_factory=list)  # (seq, turn, value)

    @property
    def value(self) -> str | None:
        """What it is now; ``None`` when it was never stated or is retracted."""
        return self.said[-1][2] if self.said else None


def generate(recipe: Recipe, seed: int, *, workload: str = "generator") -> Dialogue:
    """The dialogue of that recipe and seed: always the same one.

    Raises:
        InputError: more first statements than there are slots to state.
    """
    rng = random.Random(f"{seed}:{recipe}")
    steps = _steps(recipe, rng)
    if steps.count("first") > MOST_SLOTS:
        raise InputError(
            f"the recipe asks for {steps.count('first')} first statements and there are {MOST_SLOTS} slots;"
            " lower turns, or raise filler or updates"
        )
    slots = _slots(recipe, rng, steps.count("first"))
    fresh = iter(slots)
    said: list[Utterance] = []
    stated: list[_Slot] = []
    at = START
    for turn, step in enumerate(steps, 1):
        seq, writer = 2 * turn - 1, f"writer-{rng.randrange(recipe.writers) + 1}"
        live = [slot for slot in stated if slot.value is not None]
        if step == "filler" or (step == "update" and not live):
            text, reply = rng.choice(phrases.FILLER), rng.choice(phrases.CHAT)
        else:
            slot = next(fresh) if step == "first" else rng.choice(live)
            text, reply = _statement(slot, seq, turn, recipe, rng), rng.choice(phrases.REPLIES)
            if step == "first":
                stated.append(slot)
        said += [
            Utterance(seq, turn, "user", text, at, writer),
            Utterance(seq + 1, turn, "assistant", reply, at, writer),
        ]
        # People pause for hours after about every twelfth turn, else they answer within two minutes.
        at += rng.choice((7_200.0, 43_200.0)) if rng.random() < 1 / 12 else float(rng.randint(20, 120))
    questions = [question for slot in stated for question in _questions(slot)]
    questions += _derived(stated, recipe.derived, rng)
    return Dialogue(workload, f"seed {seed}", tuple(said), tuple(questions))


def _steps(recipe: Recipe, rng: random.Random) -> list[Step]:
    """What each turn does: exact shares, in random order, no update before there is something to update."""
    updates = round(recipe.turns * recipe.updates)
    filler = round(recipe.turns * recipe.filler)
    stating: list[Step] = ["update"] * updates
    stating.extend(["first"] * (recipe.turns - updates - filler))
    rng.shuffle(stating)
    small_talk: list[Step] = ["filler"] * filler
    chunks = [*_chunks(stating, recipe.burst), *_chunks(small_talk, recipe.burst)]
    rng.shuffle(chunks)
    steps: list[Step] = [step for chunk in chunks for step in chunk]
    for i, step in enumerate(steps):
        if step == "first":
            break
        if step == "update" and "first" in steps[i:]:
            later = steps.index("first", i)
            steps[i], steps[later] = steps[later], steps[i]
            break
    return steps


def _chunks(steps: Sequence[Step], size: int) -> list[Sequence[Step]]:
    return [steps[i : i + size] for i in range(0, len(steps), size)]


def _slots(recipe: Recipe, rng: random.Random, count: int) -> list[_Slot]:
    owners = ("", *phrases.OWNERS[: recipe.people])
    own = [
        _Slot(one.name, one.pool, one.name, one.name, tuple(terms(word) for word in one.about), one)
        for one in phrases.OWN
    ]
    things = [_thing(quality, thing, rng.choice(owners)) for quality, thing in _THINGS]
    rng.shuffle(things)
    made = (own + things)[:count]
    rng.shuffle(made)
    return made


def _thing(quality: str, thing: str, owner: str) -> _Slot:
    bare = f"{quality} {thing}"
    spoken = f"{owner}'s {bare}" if owner else f"my {bare}"
    return _Slot(spoken, phrases.THINGS[thing], spoken, bare, (terms(bare),))


def _statement(slot: _Slot, seq: int, turn: int, recipe: Recipe, rng: random.Random) -> str:
    """The sentence that is said, which it notes in ``slot``."""
    old = slot.value
    retract = old is not None and rng.random() < recipe.retractions
    value = None if retract else _value(slot, rng)
    slot.said.append((seq, turn, value))
    if slot.own is not None:
        pattern = slot.own.first if old is None else slot.own.retract if retract else slot.own.update
        return pattern.format(v=value, o=old)
    plain, other = (
        (phrases.FIRST, phrases.FIRST_PARAPHRASED)
        if old is None
        else (phrases.RETRACT, phrases.RETRACT_PARAPHRASED)
        if retract
        else (phrases.UPDATE, phrases.UPDATE_PARAPHRASED)
    )
    pattern = rng.choice(other if rng.random() < recipe.paraphrases else plain)
    return pattern.format(
        s=slot.spoken, S=_capital(slot.spoken), s0=slot.bare, v=value, V=_capital(value or ""), o=old,
        O=_capital(old or ""),
    )  # fmt: skip


def _value(slot: _Slot, rng: random.Random) -> str:
    """A value that the slot has not had."""
    had = {value for _, _, value in slot.said}
    while True:
        value = str(rng.randint(12, 9800)) if slot.pool == "number" else rng.choice(_left(slot.pool, had))
        if value not in had:
            return value


def _left(pool: str, had: set[str | None]) -> list[str]:
    """What the pool still has; pools are small, so an exhausted one goes on with numbered ones.

    The number is part of the word: of "Graz" and "Graz 2" the words of one would be among those of the other.
    """
    left = [value for value in phrases.POOLS[pool] if value not in had]
    return left or [f"{value}{2 + len(had) // len(phrases.POOLS[pool])}" for value in phrases.POOLS[pool]]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _questions(slot: _Slot) -> list[Question]:
    out = []
    text = slot.own.question if slot.own else f"What is {slot.spoken}?"
    for i, (seq, turn, value) in enumerate(slot.said):
        until = slot.said[i + 1][1] if i + 1 < len(slot.said) else None
        needed = terms(value or "")
        had = dict.fromkeys(old for _, _, old in slot.said[:i] if old is not None)
        before = tuple(Mark(terms(old), slot.about, unless=needed) for old in had)
        kind = "retraction" if value is None else "update" if i and slot.said[i - 1][2] is not None else "first"
        answer = value or ""
        now = (Mark(needed, slot.about),) if value is not None else ()
        name = f"{slot.name} #{i + 1}"
        out.append(Question(name, text, answer, (seq,), turn, until, kind, now, before, _line(slot, value)))
    return out


def _line(slot: _Slot, value: str | None) -> str:
    if value is None:
        return ""
    return slot.own.first.format(v=value) if slot.own else f"{_capital(slot.spoken)} is {value}."


def _derived(stated: Sequence[_Slot], count: int, rng: random.Random) -> list[Question]:
    """Questions for the sum of two numbers that hold at the same time; both statements are the evidence."""
    numbers = [slot for slot in stated if slot.pool == "number" and slot.value is not None]
    out: list[Question] = []
    for _ in range(count if len(numbers) > 1 else 0):
        one, two = rng.sample(numbers, 2)
        parts = (one.said[-1], two.said[-1])
        total = str(sum(int(value or 0) for _, _, value in parts))
        text = f"What do {one.spoken} and {two.spoken} add up to?"
        name = f"sum of {one.spoken} and {two.spoken}"
        if name not in {question.id for question in out}:
            evidence = tuple(sorted(seq for seq, _, _ in parts))
            out.append(Question(name, text, total, evidence, max(turn for _, turn, _ in parts), None, "derived"))
    return out
