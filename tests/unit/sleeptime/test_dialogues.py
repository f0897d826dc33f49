"""Realistic dialogues: what stands in memory at the end, and that no shipped story is written into the rules."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from pydoc_data.topics import topics

import pytest
import yaml

from orchestra.core.sentences import words
from orchestra.core.terms import stem, tokens
from orchestra.sleeptime.extractive import Line, Said, consolidate
from tests.unit.sleeptime.dialogues import DIRECTORY, Dialogue, answered, load, names, outcome, remembered

ROOT = Path(__file__).resolve().parents[3]
RULES = [
    *ROOT.glob("orchestra/sleeptime/extractive/*.py"),
    ROOT / "orchestra/sleeptime/extractive_consolidator.py",
    *(ROOT / f"orchestra/models/{name}.py" for name in ("extractive", "recollection")),
    *(ROOT / f"orchestra/core/{name}.py" for name in ("smalltalk", "continuation", "terms", "sentences")),
]


@pytest.mark.parametrize(
    ("name", "stand", "left", "answered"), [("office", 18, 0, 4), ("wedding", 17, 2, 4), ("onboarding", 13, 6, 4)]
)
def test_what_stands_at_the_end(name: str, stand: int, left: int, answered: int) -> None:
    dialogue = load(name)
    got = outcome(dialogue, remembered(dialogue))
    assert len(dialogue.stand) - len(got.missing) >= stand, got.missing
    assert len(got.left) <= left, got.left
    assert len(dialogue.ask) - len(got.wrong) >= answered, got.wrong


@pytest.mark.parametrize("name", names())
def test_append_only_leaves_more_behind(name: str) -> None:
    dialogue = load(name)
    kept = outcome(dialogue, remembered(dialogue, supersede=False))
    assert len(kept.left) > len(outcome(dialogue, remembered(dialogue)).left)


def block(*messages: str) -> list[str]:
    return [line.text for line in consolidate((), [Said(i + 1, "user", m) for i, m in enumerate(messages)], limit=5000)]


def test_a_sentence_that_goes_on_shares_the_line() -> None:
    assert block("I've booked the zorbel! It's called Blick House, 3 drels a day.") == [
        "I've booked the zorbel. It's called Blick House, 3 drels a day."
    ]


def test_a_line_of_two_sentences_gets_a_new_value_as_a_whole() -> None:
    lines = block("The plimts will be Blick Brothers. They charge 12.", "The plimts will be Flarn instead.")
    assert lines == ["The plimts will be Flarn instead."]


def test_retraction_takes_a_joined_line_out() -> None:
    stored = consolidate((), [Said(1, "user", "I've booked the zorbel! It's called Blick House.")], limit=500)
    assert consolidate(stored, [Said(1, "user", "", retracted=True)], limit=500) == ()


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        (("Let's settle on Blick, then.",), ["We settled on Blick."]),
        (
            ("Which drel is nicer for me, which drel would suit, Blick or Flarn?", "Flarn it is."),
            ["We go with Flarn (drel)."],
        ),
        (
            (
                "I'd like a week in Blick and two nights in Flarn.",
                "We're dropping Flarn and going to Quint for two nights instead.",
            ),
            ["I'd like a week in Blick and two nights in Quint."],
        ),
        (
            ("The plimts will be Blick Brothers.", "Blick can't come, so we're going with Flarn instead."),
            ["The plimts will be Flarn."],
        ),
        (("My limit is 300 drels.", "We can go up to 500 drels."), ["My limit is 500 drels."]),
        (
            ("We get the zorbels on 4 May.", "The zorbels are late, we only get them on 9 May."),
            ["We only get the zorbels on 9 May."],
        ),
    ],
)
def test_decisions_and_replacements(messages: tuple[str, ...], expected: list[str]) -> None:
    assert block(*messages) == expected


@pytest.mark.parametrize(
    "chatter",
    ["I slept on it.", "I'm so excited.", "The last one was a nightmare.", "She cried when I asked her, so sweet.",
     "Guess what, I spent an hour looking at zorbels!", "At least it'll be warm.", "He snores terribly."],
)  # fmt: skip
def test_chatter_is_not_kept(chatter: str) -> None:
    assert block(chatter) == []


# --- the shipped quickstart -------------------------------------------------------------------------------------------


def test_the_quickstart_ends_with_what_a_careful_reader_would_remember() -> None:
    rows = (ROOT / "configs/transcripts/kyoto.jsonl").read_text(encoding="utf-8").splitlines()
    said = tuple(Said(2 * i + 1, "user", json.loads(row)["content"]) for i, row in enumerate(rows))
    scenario = yaml.safe_load((ROOT / "configs/quickstart.yaml").read_text(encoding="utf-8"))
    asked = zip(scenario["follow_up"], scenario["expect"]["answers"], strict=True)
    stand = [
        ("ana",), ("lisbon",), ("april 9th", "april 23rd"), ("budget", "5,500"), ("tiago",), ("two of us",),
        ("don't eat meat",), ("fish",), ("allergic", "shellfish"), ("week in kyoto", "kanazawa", "tokyo"),
        ("kansai", "airport"), ("hotel", "kyoto", "kamogawa", "seven nights"), ("finnair", "1,640"), ("knee",),
        ("stairs",), ("trains", "tours"), ("groups",), ("twin",),
    ]  # fmt: skip
    gone = [("april 2nd",), ("april 16th",), ("3,200",), ("hiroshima",), ("haneda",), ("slept",), ("excited",),
            ("snores",), ("hiragana",), ("bowl",), ("blossom",), ("lovely",), ("rash",), ("pack",)]  # fmt: skip
    played = Dialogue("kyoto", "shipped", said, tuple(stand), tuple(gone), tuple((q, (a,)) for q, a in asked))
    got = outcome(played, remembered(played, limit=7000))
    assert (got.missing, got.left, got.wrong) == ((), (), ())
    assert len(got.other) <= 4, got.other


# --- no story in the rules --------------------------------------------------------------------------------------------

# Cue words of English that a story happens to use as well, and that Python's reference has no use for. Every one is in
# the rules for what it does to a sentence.
ALLOWED = frozenset(
    map(
        stem,
        words(
            "actually approved better big bring close drop easy eat everything excited fine finally guess happen hear"
            " help join land leave less live miss moment nicer nothing pay perfect probably quick read roughly sad seen"
            " send settle share skip slept sound suggest turn walk whether"
        ),
    )
)


def written(path: Path) -> Iterator[str]:
    """The string constants of a source file that are no docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docs = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.value


def story_words() -> frozenset[str]:
    """The content words, by stem, of what the shipped scenarios say, without those of the other dialogues here."""
    texts: list[str] = []
    for path in [*ROOT.glob("configs/*.yaml"), *ROOT.glob("configs/scenarios/*.yaml")]:
        scenario = yaml.safe_load(path.read_text(encoding="utf-8"))
        texts += [*scenario.get("follow_up", []), *map(str, (scenario.get("expect") or {}).get("answers") or [])]
        turns = scenario["turns"]
        if isinstance(turns, str):
            rows = (path.parent / turns).read_text(encoding="utf-8").splitlines()
            texts += [json.loads(row)["content"] for row in rows if row.strip()]
        else:
            texts += [turn if isinstance(turn, str) else turn["content"] for turn in turns]
    assert len(texts) > 26
    return frozenset(t.stem for text in texts for t in tokens(text) if t.kind in ("word", "name") and len(t.lower) > 2)


def elsewhere() -> frozenset[str]:
    text = " ".join(path.read_text(encoding="utf-8") for path in DIRECTORY.glob("*.jsonl"))
    return frozenset(token.stem for token in tokens(text))


def ordinary() -> frozenset[str]:
    """Words that no story has to itself: a text about something else altogether, Python's own reference, has them."""
    return frozenset(token.stem for text in topics.values() for token in tokens(text))


def subjects() -> frozenset[str]:
    """What the shipped stories are about: the words, by stem, that they have and other texts have not."""
    return story_words() - elsewhere() - ordinary()


def test_no_rule_names_what_a_shipped_story_is_about() -> None:
    rules = frozenset(
        stem(word)
        for path in RULES
        for text in written(path)
        for word in re.findall(r"[A-Za-z]{3,}", re.sub(r"\\[a-zA-Z]", " ", text))
    )
    assert sorted((subjects() & rules) - ALLOWED) == []


def test_the_subjects_of_the_stories_are_no_ordinary_words() -> None:
    told = "kyoto hotel airport flight shellfish rash knee stairs tour berth harbour crab router outage invoice"
    assert sorted(frozenset(map(stem, words(told))) - subjects()) == []


def test_answers_come_from_memory_alone() -> None:
    lines = [Line("I've booked the zorbel in Blick. It's called Flarn House.", (1,))]
    assert answered("Which zorbel did I book in Blick?", lines) == lines[0].text
