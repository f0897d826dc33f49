"""Where commands write: results on standard output, progress on standard error."""

from __future__ import annotations

import json

from rich.console import Console
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
        for number, line in enumerate(paragraph.wrap(console, max(20, whole - left - hang)) or [Text()]):
            line.rstrip()
            before = " " * (left + (hang if number else 0)) if line.plain else ""
            console.print(Text(before).append_text(line), soft_wrap=True)
