"""What the report's graph calls: two readers of files, the listener's tool, the check, and the printing press."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

from orchestra import ToolContext, tool

HERE = Path(__file__).parent
MOST_WORDS = 80


def _rows(name: str) -> list[dict[str, str]]:
    with (HERE / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def output(text: str) -> dict[str, Any]:
    """What the turbines made, in MWh. ``text`` is the task; the month stands in it."""
    made: dict[str, int] = {}
    for row in _rows("output.csv"):
        made[row["month"]] = made.get(row["month"], 0) + int(row["mwh"])
    months = list(made)
    month = next(month for month in months if month in text)
    before = months[months.index(month) - 1]
    more = round(100 * (made[month] / made[before] - 1))
    return {"month": month, "mwh": made[month], "more_than_before_percent": more}


def outages(text: str) -> dict[str, Any]:
    """How long each turbine stood still, in hours, and why."""
    rows = [row for row in _rows("outages.csv") if row["month"] in text]
    longest = max(rows, key=lambda row: int(row["hours"]))
    rest = sum(int(row["hours"]) for row in rows if row is not longest)
    return {"turbine": longest["turbine"], "hours": int(longest["hours"]), "why": longest["why"], "others_hours": rest}


@tool
def letters(month: str) -> str:
    """The letters of the neighbours in one month.

    Args:
        month: The month's name.
    """
    found = [row for row in _rows("letters.csv") if row["month"] == month]
    return "\n".join(f"{i}. {row['text']}" for i, row in enumerate(found, 1)) or f"there are no letters of {month}"


def check(text: str, draft: str) -> dict[str, Any]:
    """Whether a draft is short, names the neighbours, and has no figure that is not in the files."""
    task = text.split("\n\n")[0]
    month = next(row["month"] for row in _rows("output.csv") if row["month"] in task)
    known = {str(value) for value in {**output(month), **outages(month)}.values()}
    figures = [figure.replace(",", "") for figure in re.findall(r"\d[\d,]*\d|\d", draft)]
    wrong = [f"the figure {figure} is in none of the files" for figure in figures if figure not in known]
    words = len(draft.split())
    if words > MOST_WORDS:
        wrong.append(f"it has {words} words, and may have {MOST_WORDS}")
    if "neighbours" not in draft.lower():
        wrong.append("it does not say what the neighbours care about")
    return {"ok": not wrong, "wrong": wrong, "words": words, "draft": draft}


def publish(checked: dict[str, Any], ctx: ToolContext) -> str:
    """Write the report into the folder that the caller named."""
    folder = Path(str(ctx.invocation_state["folder"]))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "report.md").write_text(checked["draft"] + "\n", encoding="utf-8")
    return f"published, {checked['words']} words: {checked['draft']}"
