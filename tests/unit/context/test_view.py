"""The view of a log is a function of the log alone, however it came into the cache."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestra.context import view as module
from orchestra.context.view import LogView
from orchestra.core.messages import Message

WINDOW = 8
# One entry of a log: the role of a message with its tokens, or None for an entry that cannot be read.
ENTRIES = st.lists(
    st.tuples(st.sampled_from(["user", "assistant", "tool"]), st.integers(0, 9)) | st.none(), max_size=60
)


@pytest.fixture(autouse=True)
def small_window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WINDOW_ENTRIES", WINDOW)


def put(view: LogView, entries: Sequence[tuple[str, int] | None], first: int) -> None:
    for place, entry in enumerate(entries, first):
        if entry is None:
            view.skip()
        else:
            view.add(Message(entry[0], str(place)), entry[1])  # type: ignore[arg-type]


def cold(entries: Sequence[tuple[str, int] | None]) -> LogView:
    first = max(0, len(entries) - WINDOW - 1)
    view = LogView(first)
    put(view, entries[first:], first)
    return view


def shown(view: LogView, budget: int, limit: int | None) -> list[str]:
    return [message.text for message in view.shown(budget, limit)]


@given(ENTRIES, st.data(), st.integers(0, 80), st.none() | st.integers(1, 5))
def test_a_cold_and_a_warm_host_show_the_same(
    entries: list[tuple[str, int] | None], data: st.DataObject, budget: int, limit: int | None
) -> None:
    start = data.draw(st.integers(0, len(entries)))
    warm = cold(entries[:start])
    at = start
    while at < len(entries):
        step = data.draw(st.integers(1, 5))
        put(warm, entries[at : at + step], at)
        at = min(at + step, len(entries))
        warm.trim(WINDOW + 1)
        assert shown(warm, budget, limit) == shown(cold(entries[:at]), budget, limit)


@given(ENTRIES, st.integers(0, 80), st.none() | st.integers(1, 5))
def test_whole_turns_within_the_budget_and_the_limit(
    entries: list[tuple[str, int] | None], budget: int, limit: int | None
) -> None:
    view = cold(entries)
    found = view.shown(budget, limit)
    tokens = {str(place): entry[1] for place, entry in enumerate(entries) if entry is not None}
    assert sum(tokens[message.text] for message in found) <= max(budget, 0)
    if found and found[0] is not view.messages[0]:
        assert found[0].role == "user"
    if limit is not None:
        before = [None, *(message.role for message in found)]
        starts = [role for role, last in zip((m.role for m in found), before, strict=False) if role == "user" != last]
        assert len(starts) <= limit
    places = [int(message.text) for message in found]
    assert places == [place for place in sorted(map(int, tokens)) if places and place >= places[0]]
    assert all(place >= len(entries) - WINDOW for place in places)


def test_the_numbers_of_a_history_limit() -> None:
    view = LogView()
    put(view, [(role, 1) for role in ("user", "assistant", "user", "tool", "user", "assistant")], 0)
    assert shown(view, 100, 1) == ["4", "5"]
    assert shown(view, 100, 2) == ["2", "3", "4", "5"]
    assert shown(view, 100, 3) == shown(view, 100, None) == ["0", "1", "2", "3", "4", "5"]
    assert shown(view, 3, None) == ["4", "5"]
    assert shown(view, 1, None) == []
