"""Blame and diff over a block's history."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from orchestra.memory.lineage import Sources, blame, diff
from orchestra.store.block_store import Version

VALUES = st.lists(
    st.lists(st.sampled_from(["a", "b", "c", "", "d"]), max_size=5).map("\n".join), min_size=1, max_size=6
)


def version(number: int, value: str, author: str = "developer", sources: str = "") -> Version:
    return Version(number, "update", author, f"run {number}", "", sources, value, 0.0)


@given(VALUES, st.integers(1, 5))
def test_the_lines_are_those_of_the_newest_value_and_each_was_there_in_its_version(
    values: list[str], first: int
) -> None:
    history = [version(first + n, value) for n, value in enumerate(values)]
    lines = blame(history)
    assert [line.text for line in lines] == (values[-1].split("\n") if values[-1] else [])
    by_number = {entry.version: entry.value.split("\n") for entry in history}
    for line in lines:
        assert line.text in by_number[line.version]
        assert line.run == f"run {line.version}"
        assert line.oldest == (line.version == first > 1)
        since = [entry.value.split("\n") for entry in history if entry.version >= line.version]
        assert all(line.text in value for value in since)


@given(
    st.text(max_size=5),
    st.lists(st.integers(1, 99)),
    st.dictionaries(st.text(max_size=5), st.lists(st.integers(1, 99)).map(tuple)),
)
def test_sources_survive_the_store(thread: str, seqs: list[int], lines: dict[str, tuple[int, ...]]) -> None:
    sources = Sources(thread, tuple(seqs), tuple(lines.items()))
    assert Sources.from_text(sources.to_text()) == sources
    assert Sources.from_text("") == Sources()


def test_a_line_names_the_messages_it_came_from() -> None:
    sources = Sources("a|s", (4, 5, 6), (("tea", (5,)),)).to_text()
    history = [version(1, "old"), version(2, "old\ntea\nmilk", "agent:a-sleeptime", sources)]
    found = [(line.text, line.version, line.author, line.thread, line.seqs) for line in blame(history)]
    assert found == [
        ("old", 1, "developer", "", ()),
        ("tea", 2, "agent:a-sleeptime", "a|s", (5,)),
        ("milk", 2, "agent:a-sleeptime", "a|s", (4, 5, 6)),
    ]


def test_diff() -> None:
    assert diff("a\nb", "a\nc").splitlines()[3:] == [" a", "-b", "+c"]
    assert diff("a", "a") == diff("", "") == ""
    assert diff("", "a", names=("version 1", "version 2")).splitlines()[:2] == ["--- version 1", "+++ version 2"]
