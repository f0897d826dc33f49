from __future__ import annotations

import pytest

from orchestra.core.terms import Weights, content, stem, tokens


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("settle", "settled"),
        ("settle", "settling"),
        ("agree", "agreed"),
        ("use", "using"),
        ("city", "cities"),
        ("meet", "met"),
        ("planned", "plan"),
        ("box", "boxes"),
        ("live", "lived"),
        ("예산은", "예산을"),
    ],
)
def test_forms_of_one_word_have_one_stem(one: str, other: str) -> None:
    assert stem(one) == stem(other)


@pytest.mark.parametrize(("one", "other"), [("thing", "th"), ("need", "ne"), ("bus", "bu"), ("king", "k")])
def test_words_that_only_look_inflected_stay(one: str, other: str) -> None:
    assert stem(one) != stem(other)


def test_tokens_stand_where_they_say() -> None:
    text = "Ana's zorbel isn’t $1,200.50 on Friday, 東京タワー 12kg"
    for token in tokens(text):
        assert text[token.start : token.end].lower().replace("’", "'").lstrip("'") == token.lower


def test_kinds() -> None:
    kinds = {
        token.lower: token.kind for token in tokens("I met Dr. Smith and nine others on Friday at 10. Then Bo left.")
    }
    assert kinds["smith"] == "name"
    assert kinds["nine"] == kinds["10"] == "number"
    assert kinds["friday"] == "date"
    assert kinds["and"] == "function"
    assert kinds["then"] == "function"
    assert kinds["met"] == "word"


def test_clitics_are_tokens_and_carry_nothing() -> None:
    assert content("I'm sure it isn't Ana's") == ["sur", "ana"]


def test_rare_terms_weigh_more() -> None:
    weights = Weights([["a", "b"], ["a", "c"], ["a"]])
    assert weights["a"] < weights["b"] < weights["unseen"]
    assert weights.total(["a", "b"]) == pytest.approx(weights["a"] + weights["b"])
