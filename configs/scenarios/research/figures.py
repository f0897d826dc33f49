"""The checker's tool: which figures of a text stand in the notes of the team."""

from __future__ import annotations

import re
from pathlib import Path

from orchestra import tool

FIGURE = re.compile(r"\d[\d,.]*\d|\d")
NOTES = ("chronicler.md", "engineer.md")


@tool
def look_up_figures(text: str) -> str:
    """Look up each figure of a text in the team's notes.

    Args:
        text: The text to check, as it is to be sent.
    """
    notes = {name.removesuffix(".md"): (Path(__file__).parent / name).read_text(encoding="utf-8") for name in NOTES}
    lines = []
    for figure in dict.fromkeys(FIGURE.findall(text)):
        where = [name for name, note in notes.items() if figure in FIGURE.findall(note)]
        lines.append(f"{figure}: {', '.join(where) or 'NOT FOUND'}")
    return "\n".join(lines) or "there are no figures in it"
