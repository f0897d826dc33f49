"""What the people of generated dialogues talk about, and in which words.

``{s}`` is the slot with its owner ("my work mug"), ``{v}`` the value, ``{o}`` the value before. A sentence with a
capital ``{S}`` begins with the slot. The plain sentences name things plainly; the paraphrases say the same in other
ways, and consolidators by rules are expected to miss some.
"""

from __future__ import annotations

from dataclasses import dataclass

POOLS: dict[str, tuple[str, ...]] = {
    "colour": ("red", "teal", "amber", "violet", "olive", "silver", "navy", "coral", "beige", "maroon"),
    "day": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    "food": ("lentil soup", "rye bread", "fried rice", "tomato salad", "onion tart", "miso noodles", "bean stew"),
    "person": ("Marta", "Ivo", "Selma", "Goran", "Nadia", "Pavel", "Yuki", "Rosa", "Amir", "Lena", "Tomas", "Zoe"),
    "place": ("Oslo", "Lisbon", "Graz", "Turin", "Leeds", "Ghent", "Porto", "Tartu", "Cork", "Basel", "Malmo"),
    "brand": ("Velora", "Quantek", "Brimo", "Halden", "Orvix", "Nestra", "Kolibri", "Tandem", "Zephyra"),
    "company": ("Ardent", "Bluefin", "Corvus", "Drumlin", "Eastgate", "Fulmar", "Gantry"),
    "plant": ("basil", "fern", "cactus", "orchid", "ivy", "lavender", "aloe", "thyme"),
}

#: What people have one of, and the pool that its value comes from; ``number`` is made up.
THINGS: dict[str, str] = {
    "mug": "colour", "jacket": "colour", "notebook": "colour", "umbrella": "colour", "folder": "colour",
    "laundry": "day", "workout": "day", "shopping": "day", "rehearsal": "day", "meeting": "day",
    "lunch": "food", "breakfast": "food", "snack": "food",
    "dentist": "person", "mentor": "person", "neighbour": "person", "trainer": "person", "landlord": "person",
    "trip": "place", "office": "place", "storage": "place",
    "charger": "brand", "bicycle": "brand", "headset": "brand", "backpack": "brand", "router": "brand",
    "seedling": "plant", "locker": "number", "budget": "number", "parking": "number", "badge": "number",
    "quota": "number",
}  # fmt: skip
QUALITIES = ("work", "home", "weekend", "winter", "school", "club")
OWNERS = ("Ben", "Clara", "Dmitri", "Elif", "Farid", "Greta")


@dataclass(frozen=True, slots=True)
class Own:
    """A fact that has sentences of its own. ``about``: stems of which a line that states it has one set."""

    name: str
    pool: str
    first: str
    update: str
    retract: str
    question: str
    about: tuple[str, ...]


OWN = (
    Own("city", "place", "I live in {v}.", "I moved to {v}.", "I no longer live in {o}.", "Where do I live?",
        ("live", "moved")),
    Own("employer", "company", "I work for {v}.", "I now work for {v} instead of {o}.", "I no longer work for {o}.",
        "Whom do I work for?", ("work",)),
)  # fmt: skip

FIRST = (
    "{S} is {v}.",
    "By the way, {s} is {v}.",
    "Please note that {s} is {v}.",
    "Just so you know, {s} is {v}.",
    "Before I forget: {s} is {v}.",
)
FIRST_PARAPHRASED = (
    "I have settled on {v} for {s}.",
    "For {s} it has to be {v}.",
    "We went with {v} as {s}.",
    "If anybody asks about {s}, say {v}.",
    "{V} it is, as far as {s} goes.",
)
UPDATE = (
    "{S} is now {v}.",
    "Change {s} to {v}, please.",
    "{S} is no longer {o}, it is {v}.",
    "Correction: {s} is {v}.",
    "I switched {s} from {o} to {v}.",
)
UPDATE_PARAPHRASED = (
    "It turned out that {v} suits me better for {s}.",
    "{O} did not work out as {s}, so we took {v}.",
    "On second thoughts I would rather have {v} as {s}.",
    "There is news about {s}: {v} from today on.",
    "Let us go with {v} for {s} after all.",
)
RETRACT = (
    "Forget about {s}.",
    "There is no {s0} any more.",
    "I no longer need {s}.",
    "Please remove {s} from your notes.",
)
RETRACT_PARAPHRASED = (
    "We can do without {s} after all.",
    "The whole idea of {s} fell through.",
)
FILLER = (
    "Thanks, that helps.",
    "How are you today?",
    "What a long week.",
    "Let me think about that.",
    "Can you explain that again?",
    "It is raining here again.",
    "Give me a moment, please.",
    "That sounds good.",
    "I am a bit tired.",
    "Could you make that shorter?",
    "Nice, I like it.",
    "One second, the door.",
)
REPLIES = ("Noted.", "All right.", "Thanks for telling me.", "Anything else?", "I will keep that in mind.")
CHAT = ("Of course.", "Sure, take your time.", "I see.", "Happy to help.", "Tell me when you are ready.")
