"""How passages look on the screen."""

from __future__ import annotations

from datetime import UTC, datetime

from rich.console import Console
from rich.text import Text

from orchestra.cli.console import print_indented
from orchestra.core.passages import Page, Passage, PassageHit


def show_list(found: Page[Passage], console: Console) -> None:
    """Each passage with its id, date and tags."""
    for one in found:
        _show(one, "", console)
    _end(len(found), found.cursor, "there are no passages", console)


def show_hits(found: Page[PassageHit], console: Console) -> None:
    """Each passage with how near it is."""
    for hit in found:
        _show(hit.passage, f"  {hit.score:.2f}" if hit.by == "meaning" else "", console)
    _end(len(found), found.cursor, "nothing was found", console)


def _show(one: Passage, score: str, console: Console) -> None:
    day = datetime.fromtimestamp(one.created_at, UTC).strftime("%Y-%m-%d")
    tags = f"  {', '.join(one.tags)}" if one.tags else ""
    user = f"  {one.user_id}" if one.user_id else ""
    console.print(Text(f"{one.id}  {day}{score}{user}{tags}", style="dim"), soft_wrap=True)
    print_indented(console, Text(one.text), left=2)


def _end(count: int, cursor: str | None, none: str, console: Console) -> None:
    if not count:
        console.print(none)
    elif cursor is not None:
        console.print(Text(f"more: --cursor '{cursor}'", style="dim"), soft_wrap=True)
