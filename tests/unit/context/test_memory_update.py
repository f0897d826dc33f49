"""Notes about edited blocks: enough to know every value, and nothing in a value closes a tag."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from orchestra.context.blocks import restored
from orchestra.context.memory_update import notes_too_large, pinned_notes
from orchestra.core.blocks import BlockView


def block(
    label: str, value: str, *, id: str = "", limit: int = 500, description: str = "", read_only: bool = False
) -> BlockView:
    return BlockView(
        id=id or label, label=label, value=value, limit=limit, description=description, read_only=read_only
    )


LONG = "\n".join(f"line {number} of a long value" for number in range(1, 21))


def test_nothing_changed_gives_nothing() -> None:
    pinned = [block("human", "a"), block("persona", "b")]
    assert pinned_notes(pinned, pinned) == ""
    newer = [item.model_copy(update={"version": 7, "updated_at": 5.0}) for item in reversed(pinned)]
    assert pinned_notes(pinned, newer) == ""  # edited there and back: a model sees no difference
    assert pinned_notes([], []) == ""


def test_a_short_value_is_given_whole() -> None:
    note = pinned_notes(
        [block("human", "Likes tea."), block("persona", "p")], [block("human", "Likes coffee."), block("persona", "p")]
    )
    assert note == (
        "<memory_update>\n"
        "  Since the memory blocks above were written they have changed; this is how they are now.\n"
        "  <human>\n"
        "    <metadata>chars_current=13 chars_limit=500</metadata>\n"
        "    <value>Likes coffee.</value>\n"
        "  </human>\n"
        "</memory_update>"
    )


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("line 7 of a long value", "line seven"), "in place of line 7 of the value:\nline seven<"),
        (("line 7 of a long value\nline 8 of a long value", "7+8"), "in place of lines 7 to 8 of the value:\n7+8<"),
        (("line 7 of a long value\n", ""), "in place of line 7 of the value:\n(nothing: removed)<"),
        (("line 7 of a long value", "line 7 of a long value\nnew"), "after line 7 of the value:\nnew<"),
        (("line 1 of a long value", "new\nline 1 of a long value"), "before line 1 of the value:\nnew<"),
        (("line 20 of a long value", "line 20 of a long value\n新しい"), "after line 20 of the value:\n新しい<"),
    ],
)
def test_a_long_value_is_given_by_its_changed_lines(change: tuple[str, str], says: str) -> None:
    note = pinned_notes([block("human", LONG)], [block("human", LONG.replace(*change))])
    assert says in note
    assert "<value>" not in note
    assert len(note) < 400


def test_blocks_that_came_went_or_have_another_name_are_named() -> None:
    pinned = [block("old", "1", id="b1"), block("gone", "2", id="b2"), block("same", "3", id="b3")]
    now = [block("new", "1", id="b1"), block("same", "3", id="b3"), block("come", "4", id="b4", description="What?")]
    note = pinned_notes(pinned, now)
    assert "<detached>gone</detached>" in note
    assert "<renamed_from>old</renamed_from>" in note
    assert "<attached>come</attached>" in note
    assert "<description>What?</description>" in note
    assert "<value>4</value>" in note
    assert "<value>1</value>" not in note  # only its name changed
    assert "same" not in note


def test_another_block_under_the_same_label_is_a_new_one() -> None:
    note = pinned_notes([block("human", "1", id="b1")], [block("human", "1", id="b2")])
    assert note.index("<detached>human</detached>") < note.index("<attached>human</attached>")


def test_what_else_a_model_sees_of_a_block() -> None:
    pinned = [block("human", "1", description="Old.")]
    assert "read_only=true" in pinned_notes(pinned, [block("human", "1", description="Old.", read_only=True)])
    assert "chars_limit=9 " not in (note := pinned_notes(pinned, [block("human", "1", limit=9, description="New.")]))
    assert "chars_limit=9<" in note
    assert "<description>New.</description>" in note
    assert "<value>" not in note
    back = pinned_notes([block("human", "1", read_only=True)], [block("human", "1")])
    assert "read_only=false" in back


VALUES = st.lists(
    st.sampled_from(
        ["a", "b", "", "</value>", "</changed_lines>", "</memory_update >", "京都", "👩‍👩‍👧‍👦", "e\u0301", "x" * 60]
    ),
    max_size=8,
).map("\n".join)


SAME = ["the same line again and again, and long enough to count"]


@given(VALUES, VALUES)
@example("\n".join(SAME * 4), "\n".join(SAME * 5))
@example("\n".join(SAME * 5), "\n".join(SAME * 4))
@example("\n".join(["first", *SAME * 3]), "\n".join(["first", *SAME * 4]))
@example("\n".join(SAME * 4), "\n".join([*SAME * 4, "</changed_lines></human>"]))
def test_the_new_value_follows_from_the_old_one_and_the_note(old: str, new: str) -> None:
    note = pinned_notes([block("human", old)], [block("human", new)])
    if old == new:
        assert note == ""
        return
    assert re.findall(r"</([A-Za-z][\w-]*)\s*>", note)[-2:] == ["human", "memory_update"]
    assert note.count("</human>") == 1
    if whole := re.search(r"<value>(.*)</value>", note, re.DOTALL):
        assert restored(whole[1]) == new
        return
    part = re.search(
        r"<changed_lines>(?:before line (1)|after line (\d+)|in place of lines? (\d+)(?: to (\d+))?) of the value:\n"
        r"(.*)</changed_lines>",
        note,
        re.DOTALL,
    )
    assert part is not None
    lines = old.split("\n")
    first = 0 if part[1] else int(part[2]) if part[2] else int(part[3]) - 1
    last = first if part[1] or part[2] else int(part[4] or part[3])
    came = [] if part[5] == "(nothing: removed)" else restored(part[5]).split("\n")
    assert "\n".join(lines[:first] + came + lines[last:]) == new


def test_notes_beyond_a_size() -> None:
    assert not notes_too_large("", 1)
    assert not notes_too_large("x" * 400, 100)
    assert notes_too_large("x" * 401, 100)
    assert notes_too_large("한" * 101, 100)
    assert notes_too_large("x", 100, estimate=lambda text: 101 * len(text))
