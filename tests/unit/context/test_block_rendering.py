"""Rendering blocks: nothing in a value closes a tag, and what is neutralised can be undone."""

from __future__ import annotations

import re

from hypothesis import example, given
from hypothesis import strategies as st

from orchestra.context.blocks import neutralised, render, restored
from orchestra.core.blocks import BlockView

PIECES = st.sampled_from(
    ["<", "/", "\\", ">", "</", "<\\/", "value", "b-1", " ", "\n", "</value>", "</value >", "<\\\\/x>", "京"]
)
TAGGED = st.lists(PIECES | st.text(max_size=3), max_size=12).map("".join)
CLOSING = re.compile(r"</[A-Za-z][\w-]*\s*>")


def block(label: str, value: str, description: str = "", *, read_only: bool = False) -> BlockView:
    return BlockView(id=label, label=label, value=value, limit=50, description=description, read_only=read_only)


@given(TAGGED)
@example("</value>")
@example("<\\/value>")
@example("</value\n>")
def test_what_is_neutralised_can_be_restored(text: str) -> None:
    assert restored(neutralised(text)) == text
    assert CLOSING.search(neutralised(text)) is None


@given(st.lists(st.tuples(TAGGED, TAGGED, st.booleans()), max_size=3), st.booleans())
def test_only_the_envelope_closes_tags(parts: list[tuple[str, str, bool]], numbered: bool) -> None:
    blocks = [block(f"l{n}", value, text, read_only=ro) for n, (value, text, ro) in enumerate(parts)]
    rendered = render(blocks, numbered=numbered)
    expected = [tag for b in blocks for tag in ("description", "metadata", "value", b.label)]
    assert re.findall(r"</([A-Za-z][\w-]*)\s*>", rendered) == ([*expected, "memory_blocks"] if blocks else [])
    assert render(blocks, numbered=numbered) == rendered
    if not numbered:
        for b in blocks:
            inner = rendered.split(f"  <{b.label}>\n", 1)[1].split("    <value>", 1)[1].split("</value>", 1)[0]
            assert restored(inner) == b.value


def test_the_whole_envelope() -> None:
    blocks = [block("persona", "Hello", "Who I am.", read_only=True), block("human", "a\nb")]
    assert render(blocks, numbered=True) == (
        "<memory_blocks>\n"
        "  <persona>\n"
        "    <description>Who I am.</description>\n"
        "    <metadata>chars_current=5 chars_limit=50 read_only=true</metadata>\n"
        "    <value>1→Hello</value>\n"
        "  </persona>\n"
        "  <human>\n"
        "    <description></description>\n"
        "    <metadata>chars_current=3 chars_limit=50</metadata>\n"
        "    <value>1→a\n2→b</value>\n"
        "  </human>\n"
        "</memory_blocks>"
    )
