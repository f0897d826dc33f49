"""Where commands write: results on standard output, progress on standard error."""

from __future__ import annotations

import json
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

WIDEST = 100


def out() -> Console:
    """Results. Colours only on a terminal."""
    return Console(highlight=False, markup=False, emoji=False)


def err() -> Console:
    """Progress and messages."""
    return Console(stderr=True, highlight=False, markup=False, emoji=False)


def print_json(value: object) -> None:
    """The one JSON document of ``--json``."""
    print(json.dumps(value, ensure_ascii=False, indent=2))


def width_of(console: Console) -> int:
    """How wide text is set: the terminal's width up to 100 columns, which is as wide as is read with ease."""
    return min(console.width, WIDEST)


def print_indented(console: Console, text: Text, *, left: int, hang: int = 0, width: int | None = None) -> None:
    """Print ``text`` wrapped, ``left`` columns in, ``hang`` more from its second line on; no spaces at line ends."""
    whole = width or width_of(console)
    for paragraph in text.split("\n", allow_blank=True):
        first = (paragraph.wrap(console, max(20, whole - left)) or [Text()])[0]
        first.rstrip()
        rest = paragraph[len(first) :]
        lines = [first]
        if rest.plain.strip():
            skipped = len(rest) - len(rest.plain.lstrip())
            lines += rest[skipped:].wrap(console, max(20, whole - left - hang))
        for number, line in enumerate(lines):
            line.rstrip()
            before = " " * (left + (hang if number else 0)) if line.plain else ""
            console.print(Text(before).append_text(line), soft_wrap=True)


def plain_table(*names: str, right: Sequence[str] = (), whole: Sequence[str] = ()) -> Table:
    """A table without lines. Cells of columns in ``whole`` are never wrapped, so that they can be copied."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for name in names:
        justify = "right" if name in right else "left"
        table.add_column(name, justify=justify, no_wrap=name in whole, overflow="fold")  # type: ignore[arg-type]
    return table


def print_table(console: Console, table: Table) -> None:
    """Print a table: within the width of a terminal, but as wide as it is into a file or a pipe."""
    if console.is_terminal:
        console.print(table, width=width_of(console))
        return
    wide = Console(file=console.file, width=2000, highlight=False, markup=False, emoji=False)
    with wide.capture() as captured:
        wide.print(table)
    console.print("\n".join(line.rstrip() for line in captured.get().rstrip("\n").split("\n")), soft_wrap=True)
