"""Rankings: joined, and given out in pages."""

from __future__ import annotations

import pytest

from orchestra.core.errors import InputError
from orchestra.memory.search.ranking import REMEMBERED, Ranking, Rankings, fused


def test_what_both_rank_high_comes_first() -> None:
    words = [("a", 9.0), ("b", 8.0), ("c", 7.0)]
    meaning = [("c", 0.9), ("b", 0.8), ("d", 0.1)]
    assert [key for key, _ in fused([words, meaning])] == ["c", "b", "a", "d"]
    assert fused([]) == []
    assert dict(fused([words]))["a"] == pytest.approx(1 / 61)


async def made() -> Ranking:
    return [(str(number), 0.0) for number in range(5)]


async def test_pages_are_pieces_of_one_ranking() -> None:
    rankings = Rankings()
    first, cursor = await rankings.page(["q"], None, 2, made)

    async def another() -> Ranking:
        return [("x", 0.0)] * 5

    second, cursor = await rankings.page(["q"], cursor, 2, another)
    third, end = await rankings.page(["q"], cursor, 2, another)
    assert [key for key, _ in (*first, *second, *third)] == ["0", "1", "2", "3", "4"]
    assert end is None


async def test_a_forgotten_ranking_is_made_again() -> None:
    rankings = Rankings()
    _, cursor = await rankings.page(["q"], None, 2, made)
    for number in range(REMEMBERED):
        await rankings.page([str(number)], None, 2, made)
    found, _ = await rankings.page(["q"], cursor, 2, made)
    assert [key for key, _ in found] == ["2", "3"]


@pytest.mark.parametrize("cursor", ["x", "1.2", "a.b.c", "00000000.1.2"])
async def test_cursors_that_are_none(cursor: str) -> None:
    with pytest.raises(InputError):
        await Rankings().page(["q"], cursor, 2, made)
