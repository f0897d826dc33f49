"""Three-way merge: where there is no conflict, no line of either side is lost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from orchestra.memory.merge import Merged, merge

LINES = st.lists(st.sampled_from("abcdefgh"), max_size=6)


def edited(lines: list[str], data: st.DataObject, mark: str) -> list[str]:
    """``lines`` with some taken away and some new ones, which carry ``mark``, put in."""
    out = []
    for number, line in enumerate([*lines, None]):
        out += [f"{mark}{number}.{n}" for n in range(data.draw(st.integers(0, 2)))]
        if line is not None and data.draw(st.booleans()):
            out.append(line)
    return out


@given(LINES, st.data())
def test_no_line_of_either_side_is_lost(base: list[str], data: st.DataObject) -> None:
    lines = [f"{number}{line}" for number, line in enumerate(base)]
    ours, theirs = edited(lines, data, "o"), edited(lines, data, "t")
    merged = merge("\n".join(lines), "\n".join(ours), "\n".join(theirs))
    found = merged.text.split("\n") if merged.text else []
    assert {line for line in ours if line not in lines} <= set(found)
    if merged.conflicts:
        return
    assert {line for line in theirs if line not in lines} <= set(found)
    assert {line for line in lines if line in ours and line in theirs} <= set(found)
    assert {line for line in found if line in lines} <= set(ours) & set(theirs)  # what one deleted stays deleted
    assert len(found) == len(set(found))


@given(LINES, LINES)
def test_one_side_alone(base: list[str], other: list[str]) -> None:
    old, new = "\n".join(base), "\n".join(other)
    for ours, theirs in ((old, new), (new, old), (new, new)):
        assert merge(old, ours, theirs) == merge(old, new, new)
        assert (merge(old, ours, theirs).text, merge(old, ours, theirs).conflicts) == (new, 0)


def test_two_insertions_at_one_place_and_an_overlap() -> None:
    assert merge("a", "a\nours", "a\ntheirs").text == "a\nours\ntheirs"
    assert merge("", "same", "same\nmore").text == "same\nmore"
    for ours, theirs in (("x", "a\nb"), ("a\nb", "x")):  # one rewrites the line behind which the other writes
        assert merge("a", ours, theirs) == Merged("x\nb", 0)
    assert merge("a", "x", "b\na") == Merged("b\nx", 0)
    assert merge("k\na\nb", "k\nb", "k\na\nnew\nb") == Merged("k\nnew\nb", 0)
    merged = merge("a\nb\nc", "a\nB1\nc", "a\nB2\nc")
    assert (merged.text, merged.conflicts) == ("a\nB1\nc", 1)
