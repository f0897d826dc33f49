"""Search by words."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from orchestra.core.span import Span
from orchestra.memory.search.filters import Filter
from orchestra.memory.search.term_index import TermIndex


@pytest.fixture
def index() -> Iterator[TermIndex]:
    made = TermIndex()
    yield made
    made.close()


def keys(index: TermIndex, query: str, only: Filter | None = None, count: int = 100) -> list[str]:
    return [key for key, _ in index.search(query, count, only or Filter())]


def test_rare_words_weigh_more(index: TermIndex) -> None:
    for number in range(20):
        index.put(f"common {number}", "the boat is in the harbour", 0.0)
    index.put("rare", "the zeppelin is in the hangar", 0.0)
    assert keys(index, "a boat or a zeppelin")[0] == "rare"
    scores = [score for _, score in index.search("boat", 100)]
    assert scores == sorted(scores, reverse=True)


def test_endings_and_accents_do_not_matter(index: TermIndex) -> None:
    index.put("a", "She painted the boats at the Café", 0.0)
    for query in ("painting", "boat", "cafe", "CAFÉ"):
        assert keys(index, query) == ["a"], query


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("교토에서 사흘", "교토"),
        ("교토는 좋다", "교토에"),
        ("私は東京に住む", "東京"),
        ("我们去北京", "北京"),
        ("がんばって", "がんば"),
    ],
)
def test_scripts_without_spaces_and_particles(index: TermIndex, text: str, query: str) -> None:
    index.put("it", text, 0.0)
    index.put("other", "서울 大阪 上海", 0.0)
    assert keys(index, query) == ["it"]


def test_filters_come_before_the_limit(index: TermIndex) -> None:
    for number in range(50):
        index.put(f"near {number}", "boat boat boat", float(number), ["red"])
    index.put("far", "a boat among many other words that stand here", 100.0, ["red", "big"])
    assert keys(index, "boat", Filter(("big",)), 1) == ["far"]
    assert keys(index, "boat", Filter(("red", "big"), "all"), 1) == ["far"]
    assert len(keys(index, "boat", Filter(("red", "big"), "any"))) == 51
    assert keys(index, "boat", Filter(span=Span(99.0, None)), 1) == ["far"]
    assert sorted(keys(index, "boat", Filter(span=Span(3.0, 5.0)))) == ["near 3", "near 4"]


def test_replaced_and_dropped(index: TermIndex) -> None:
    index.put("a", "boat", 0.0, ["red"])
    index.put("a", "car", 0.0, ["big"])
    assert keys(index, "boat") == []
    assert keys(index, "car", Filter(("red",))) == []
    assert keys(index, "car", Filter(("big",))) == ["a"]
    index.drop("a")
    index.drop("a")
    assert keys(index, "car") == []


@pytest.mark.parametrize("query", ["", '"', "'", "NEAR(", "a*", "^", "col:x", "-", "\x00", "𝔘𝔫𝔦", "(" * 50])
def test_no_query_is_an_error(index: TermIndex, query: str) -> None:
    index.put("a", "boat", 0.0)
    assert keys(index, query) == []
