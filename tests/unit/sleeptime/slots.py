"""Seeded conversations about invented slots, with what is true at the end: for scoring consolidators.

Slot names and values come from syllables, so no consolidator can know them. The templates are in three groups.
Failures of ``TUNED`` were read and mended. ``REVIEWED`` began as held out; their totals were read many times and some
of their sentences were in mind when a rule was made, so they are not clean any more. ``HELD_OUT`` were written when the
rules were finished and scored once. They are by the author of the rules all the same. When a rule is made for one of
them, move it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

Role = Literal["user", "assistant"]


@dataclass(frozen=True)
class Phrases:
    """Templates: ``{s}`` the slot, ``{v}`` the value, ``{o}`` the old value."""

    first: tuple[str, ...]
    update: tuple[str, ...]
    withdraw: tuple[str, ...]
    filler: tuple[str, ...]
    asked: tuple[str, ...]
    assistant: tuple[str, ...]


TUNED = Phrases(
    first=(
        "My {s} is {v}.",
        "By the way, our {s} is {v}.",
        "The {s} will be {v}.",
        "For the {s}, I've gone with {v}.",
        "We settled on {v} for the {s}.",
        "Please note that the {s} is {v}.",
        "{v} is my {s}.",
        "As for my {s}, it's {v}.",
        "Just so you know, my {s} happens to be {v}.",
        "I use {v} as my {s}.",
        "I have set the {s} to {v}.",
        "When it comes to the {s}, I prefer {v}.",
        "Hello! Before I forget: my {s} is {v}.",
        "My {s} is {v}, could you keep that in mind?",
        "I chose {v} as our {s}.",
        "Our team decided that the {s} would be {v}.",
        "I need the {s} to stay at {v}.",
        "Let's say {v} for the {s}.",
        "The {s} I have in mind is {v}.",
        "We always take {v} for the {s}.",
        "With respect to the {s}, {v} is what we want.",
        "Hey, so the {s} should be {v}.",
        "It's important that my {s} stays {v}.",
        "I keep my {s} at {v}.",
        "What matters: the {s} is {v}.",
        "I told my team that our {s} would be {v}.",
        "{v} works as my {s}.",
        "My preferred {s} is {v}.",
        "I guess {v} is a good {s} for me, so let's keep it.",
        "My {s} = {v}",
        "Last week we agreed on {v} as the {s}.",
        "The official {s} is {v}, as far as I know.",
        "Everyone calls my {s} {v}.",
        "You'll need this: {s} is {v}.",
        "I have a {s} of {v}.",
        "Our {s} stands at {v}.",
    ),
    update=(
        "Actually, my {s} is {v}.",
        "My {s} is now {v}.",
        "Make the {s} {v} instead.",
        "Change the {s} to {v}.",
        "The {s} is {v} now, not {o}.",
        "I switched my {s} from {o} to {v}.",
        "Change of plan: {v} is the new {s}.",
        "Instead of {o}, the {s} is {v}.",
        "Correction: the {s} should be {v}.",
        "My {s} isn't {o} any more, it's {v}.",
        "We've moved the {s} to {v}.",
        "From now on the {s} will be {v}.",
        "I've changed my mind about the {s}, it should be {v}.",
        "Turns out our {s} is {v}.",
        "Please switch the {s} over to {v}.",
        "The {s} moved to {v}.",
        "{v} has replaced {o} as the {s}.",
        "I swapped {o} for {v} as my {s}.",
        "My {s} was {o}, now it is {v}.",
        "I made a mistake with the {s}. It is {v}.",
        "On reflection I want {v} for the {s}.",
        "Can you set my {s} to {v}?",
        "The {s} is not {o} but {v}.",
        "We're going with {v} as the {s} now.",
        "Small update on the {s}: {v}.",
        "The {s} got bumped to {v}.",
        "As for the {s}, let's use {v} instead.",
        "My new {s} is {v}.",
        "Rather than {o}, I want the {s} to be {v}.",
        "Things changed: the {s} is {v}.",
        "I no longer want {o} for the {s}, I want {v}.",
        "The {s} used to be {o} but it's {v} now.",
        "Use {v} for the {s} instead of {o}.",
        "Okay so the {s} changed. It's now {v}.",
        "I've updated my {s}; it's {v} now.",
        "{v} is the {s} now.",
        "We have a new {s}: {v}.",
        "Let me correct the {s}: it's {v}.",
        "The {s} turned out to be {v}.",
    ),
    withdraw=(
        "Forget about the {s}.",
        "We dropped the {s}.",
        "The {s} is off.",
        "I no longer have a {s}.",
        "Scrap the {s}, please.",
        "Never mind the {s}.",
        "The {s} has been cancelled.",
        "There is no {s} any more.",
        "I don't need the {s} any longer.",
        "We agreed to do without a {s}.",
        "I don't want the {s} any more.",
        "We won't have a {s} after all.",
        "Please remove the {s} from your notes.",
        "The {s} is no longer relevant.",
        "I stopped using a {s}.",
        "No more {s} for me.",
        "Let's forget the {s}.",
        "The {s} got scrapped.",
        "I'd rather not have a {s} any more.",
        "You can ignore the {s}.",
        "We're not doing the {s} any more.",
        "The {s} isn't needed after all.",
        "I sold my {s}.",
        "My {s} is gone.",
        "Scratch the {s} from the list.",
        "We pulled the plug on the {s}.",
        "The {s} doesn't matter now.",
        "I am done with the {s}.",
        "Actually there won't be a {s}.",
        "The {s} has been called off.",
        "We lost the {s}.",
        "Please take the {s} off the list.",
    ),
    filler=(
        "Thanks, that helps a lot.",
        "That sounds good to me.",
        "Ok, let me think about it.",
        "What a long day.",
        "How are you doing?",
        "Great, thank you!",
        "I'm a bit tired right now.",
        "Can you explain that again?",
        "Give me a moment.",
        "Lovely, thanks.",
        "Fine by me.",
        "I'll think about it tonight.",
        "What do you think?",
        "It's raining again.",
        "Let me grab a coffee first.",
        "I had a good lunch.",
        "Please summarise that for me.",
    ),
    asked=(
        "What is my {s}?",
        "Do you remember the {s}?",
        "Is the {s} still {o}?",
        "Should the {s} maybe be {x}?",
        "Which {s} did I give you?",
        "Can you tell me the {s}?",
        "How about {x} as the {s}?",
        "I was thinking about {x} for the {s}, what do you think?",
    ),
    assistant=(
        "Noted.",
        "Your {s} is {v}, got it.",
        "Thanks for telling me about the {s}.",
        "Anything else?",
        "You could try {x} for the {s}.",
        "Great.",
        "I have updated the {s} to {v}.",
        "What else can I do?",
        "Would {x} work as the {s}?",
    ),
)

REVIEWED = Phrases(
    first=(
        "I picked {v} for my {s}.",
        "In our case the {s} equals {v}.",
        "I'd like the {s} to be {v}.",
        "You can put me down for {v} as the {s}.",
        "So far the {s} has always been {v}.",
        "One thing to remember is that my {s} is {v}.",
        "My {s}: {v}.",
        "The {s} that we agreed on is {v}.",
        "Regarding the {s}, we went for {v}.",
        "They told me the {s} is {v}.",
        "It matters to me that the {s} is {v}.",
        "Yesterday we fixed the {s} at {v}.",
        "My {s} has to be {v}, otherwise it won't work.",
    ),
    update=(
        "I've had second thoughts and the {s} is going to be {v}.",
        "Let's go with {v} for the {s} after all.",
        "Turns out the {s} is {v} rather than {o}.",
        "The {s} went from {o} to {v}.",
        "I replaced {o} with {v} as my {s}.",
        "Could you update my {s} to {v}?",
        "We no longer use {o} for the {s}; it is {v} these days.",
        "Sorry, I got the {s} wrong earlier. It's {v}.",
        "The {s} has changed and is {v} as of this week.",
        "About the {s}: we ended up choosing {v}.",
        "I said the {s} was {o}, but it's really {v}.",
    ),
    withdraw=(
        "You can delete what I said about the {s}.",
        "I've given up on the {s}.",
        "The {s} no longer applies.",
        "We decided against having a {s}.",
        "The whole {s} thing fell through.",
        "Please disregard the {s} from before.",
        "I got rid of my {s}.",
        "Turns out we won't be needing the {s}.",
    ),
    filler=(
        "Nice, I appreciate it.",
        "Hmm, interesting.",
        "Let's continue tomorrow.",
        "Could you give me a summary of this page?",
        "Sorry for the late reply.",
        "I wonder how other people do it.",
        "My head hurts a little today.",
        "Tell me a joke.",
    ),
    asked=("Remind me, which {s} did we pick?", "What did I say about the {s}?", "Would {x} be a better {s}?"),
    assistant=(
        "Understood, I'll keep the {s} in mind.",
        "Sure thing!",
        "Many people choose {x} for their {s}.",
        "So the {s} is {v}. Good to know.",
    ),
)

HELD_OUT = Phrases(
    first=(
        "Everything about the {s} is settled: {v}.",
        "If anybody asks, my {s} is {v}.",
        "Our choice of {s} fell on {v}.",
        "{v}, that's my {s}.",
        "I've always had {v} as a {s}.",
        "Could you remember that my {s} is {v}?",
        "People know me for my {s}, which is {v}.",
        "The {s} we signed up for is {v}.",
        "After a long debate the {s} ended up being {v}.",
        "As far as the {s} goes, {v} is fine.",
        "I'm using {v} for my {s} at present.",
        "There is one {s}, and it is {v}.",
    ),
    update=(
        "Hold on, the {s} isn't right. Make it {v}.",
        "Since this morning the {s} is {v}.",
        "They raised the {s} to {v}.",
        "Please note a different {s}: {v}.",
        "Good news, we could get {v} as the {s} after all.",
        "The {s} has become {v}.",
        "Let's bring the {s} to {v}.",
        "{o} didn't work out as the {s}, so we took {v}.",
        "For the {s} we now rely on {v}.",
        "You have the wrong {s} for me, it is {v}.",
        "The old {s} was {o}; the new one is {v}.",
    ),
    withdraw=(
        "The idea of a {s} is dead.",
        "I changed my mind and want no {s}.",
        "There's no need for the {s} now.",
        "Kindly erase the {s}.",
        "The {s} came to nothing.",
        "We can do without the {s} after all.",
        "My {s} was taken away from me.",
        "Leave the {s} out from now on.",
        "I have quit the {s}.",
    ),
    filler=(
        "That makes sense.",
        "My train is late again.",
        "One moment, somebody is at the door.",
        "Who would have thought?",
        "Could you write that a bit shorter?",
        "I read something funny about it.",
        "No worries at all.",
    ),
    asked=("Have I told you my {s}?", "Is {x} the {s}?", "What would happen if the {s} were {x}?"),
    assistant=("I see.", "Good choice of {s}!", "Shall we look at {x} as the {s}?", "Then {v} it is for the {s}."),
)

ONSETS = (
    "b",
    "br",
    "d",
    "dr",
    "f",
    "fl",
    "g",
    "gr",
    "k",
    "kl",
    "m",
    "n",
    "p",
    "pl",
    "qu",
    "r",
    "sk",
    "t",
    "tr",
    "v",
    "w",
    "z",
    "sh",
)
VOWELS = ("a", "e", "i", "o", "u", "ai", "oo")
CODAS = ("b", "ck", "d", "g", "lk", "lm", "m", "n", "nt", "p", "rk", "rt", "st", "t", "x", "zz", "mp")


@dataclass(frozen=True)
class Message:
    """One message of a conversation; ``about`` is the index of the fact it states, -1 for none."""

    role: Role
    text: str
    about: int = -1


@dataclass
class Fact:
    """A slot and what became of it: ``value`` is ``None`` once withdrawn, ``stale`` the values it had."""

    slot: str
    value: str | None
    stale: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Conversation:
    """Messages in order and the facts as they are at the end."""

    messages: tuple[Message, ...]
    facts: tuple[Fact, ...]


def word(rng: random.Random, syllables: int = 2) -> str:
    """An invented word."""
    return (
        "".join(rng.choice(ONSETS) + rng.choice(VOWELS) for _ in range(syllables - 1))
        + rng.choice(ONSETS)
        + rng.choice(VOWELS)
        + rng.choice(CODAS)
    )


def _values(rng: random.Random) -> Callable[[], str]:
    days = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
    kind = rng.choice(("number", "name", "word", "phrase", "day", "unit"))
    unit = word(rng, 1) + "s"
    return {
        "number": lambda: str(rng.randint(2, 9000)),
        "name": lambda: word(rng).capitalize(),
        "word": lambda: word(rng),
        "phrase": lambda: f"{word(rng)} {word(rng, 1)}",
        "day": lambda: rng.choice(days),
        "unit": lambda: f"{rng.randint(2, 900)} {unit}",
    }[kind]


def conversation(
    seed: int,
    phrases: Phrases,
    *,
    facts: int = 12,
    chatter: float = 0.4,
    updates: float = 0.5,
    withdrawals: float = 0.2,
) -> Conversation:
    """A conversation about ``facts`` slots; the shares say how many change and how many of all are withdrawn."""
    rng = random.Random(seed)
    out: list[Message] = []
    made: list[Fact] = []
    makers: list[Callable[[], str]] = []
    slots: set[str] = set()
    todo: list[tuple[Literal["first", "update", "withdraw"], int]] = []
    for i in range(facts):
        steps = (
            ["first"]
            + ["update"] * ((rng.random() < updates) + (rng.random() < updates / 3))
            + ["withdraw"] * (rng.random() < withdrawals)
        )
        todo.extend((step, i) for step in steps)  # type: ignore[misc]
        slot = word(rng)
        while slot in slots:
            slot = word(rng)
        slots.add(slot)
        made.append(Fact(slot if rng.random() < 0.6 else f"{word(rng)} {slot}", None))
        makers.append(_values(rng))
    rng.shuffle(todo)
    order = {"first": 0, "update": 1, "withdraw": 2}
    places: dict[int, list[int]] = {}
    for place, (_, i) in enumerate(todo):
        places.setdefault(i, []).append(place)
    sequence = list(todo)
    for i, at in places.items():
        for place, step in zip(at, sorted((todo[p] for p in at), key=lambda s: order[s[0]]), strict=True):
            sequence[place] = step
        assert sequence[at[0]][1] == i
    for step, i in sequence:
        while rng.random() < chatter:
            out.extend(_chatter(rng, phrases, made, word(rng)))
        fact = made[i]
        old = fact.value
        value = makers[i]()
        while value == old or value in fact.stale:
            value = makers[i]()
        pool: Sequence[str] = getattr(phrases, step)
        text = rng.choice(pool).format(s=fact.slot, v=value, o=old)
        out.append(Message("user", text[:1].upper() + text[1:], i))
        if old is not None:
            fact.stale.append(old)
        fact.value = None if step == "withdraw" else value
        answer = rng.choice(phrases.assistant)
        if fact.value is not None or "{v}" not in answer:
            out.append(Message("assistant", answer.format(s=fact.slot, v=fact.value, x=word(rng))))
    return Conversation(tuple(out), tuple(made))


def _chatter(rng: random.Random, phrases: Phrases, made: Sequence[Fact], other: str) -> list[Message]:
    known = [fact for fact in made if fact.value is not None]
    if known and rng.random() < 0.4:
        fact = rng.choice(known)
        return [
            Message("user", rng.choice(phrases.asked).format(s=fact.slot, o=fact.value, x=other)),
            Message("assistant", "Let me check."),
        ]
    return [
        Message("user", rng.choice(phrases.filler)),
        Message("assistant", rng.choice(("Sure.", "Of course!", "Take your time."))),
    ]


def score(facts: Sequence[Fact], lines: Sequence[str]) -> tuple[int, int, int, int, int, int, int]:
    """Counts: true facts, of them right; changed facts, of them stale; withdrawn facts, of them left; other lines.

    A fact is stated by a line that holds the last word of its slot and its value as whole words. Right is a true fact
    with a line for its value and none for an old value. Left is a withdrawn fact with a line for an old value.
    """
    true = right = changed = stale = taken = left = 0
    used: set[int] = set()
    padded = [" " + "".join(c if c.isalnum() else " " for c in line.lower()) + " " for line in lines]
    for fact in facts:
        name = " " + fact.slot.split()[-1].lower() + " "
        mine = [i for i, line in enumerate(padded) if name in line]
        used.update(mine)

        def holds(value: str, mine: Sequence[int] = tuple(mine)) -> bool:
            return any(f" {value.lower()} " in padded[i] for i in mine)

        old = any(holds(value) for value in fact.stale)
        if fact.value is None:
            taken += 1
            left += old
            continue
        true += 1
        right += holds(fact.value) and not old
        if fact.stale:
            changed += 1
            stale += old
    return true, right, changed, stale, taken, left, len(lines) - len(used)
