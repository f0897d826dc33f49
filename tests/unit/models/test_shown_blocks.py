"""What a prompt says of its blocks is read as what they are: rendered, edited in any way, noted, read again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestra.context.blocks import render
from orchestra.context.memory_update import pinned_notes
from orchestra.core.blocks import BlockView
from orchestra.models.shown_blocks import is_update, shown_values

CLOSING = ("</value>", "</value >", "</human\t>", "<\\/value>", "<\\/human >", "")
LINES = st.lists(st.sampled_from(["tea", "a longer line about the hotel", *CLOSING]), max_size=6)


def block(label: str, value: str) -> BlockView:
    return BlockView.model_construct(
        id=label, label=label, value=value, limit=5000, description="", read_only=False, born="1", access="write"
    )


@given(LINES, LINES, LINES)
def test_any_edit_is_read_as_it_is(old: list[str], new: list[str], beside: list[str]) -> None:
    was, now = "\n".join(old), "\n".join(new)
    other = block("trip", "\n".join(beside))
    notes = pinned_notes([block("human", was), other], [block("human", now), other])
    assert shown_values([render((block("human", was), other)), notes]) == [now, other.value]
    assert is_update(notes) == (was != now)


def test_blocks_that_come_and_go() -> None:
    before, after = [block("a", "one"), block("b", "two")], [block("b", "two"), block("c", "three")]
    assert shown_values([render(tuple(before)), pinned_notes(before, after)]) == ["two", "three"]


@pytest.mark.parametrize("text", ["", "hello", "<memory_blocks>", "<memory_update>"])
def test_other_texts_show_no_blocks(text: str) -> None:
    assert shown_values([text]) == []
    assert not is_update(text)
