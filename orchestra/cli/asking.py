"""What runs wait for, asked in the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from rich.console import Console
from rich.text import Text

from orchestra.cli.console import print_indented
from orchestra.cli.typed_lines import TypedLines
from orchestra.core.interrupts import Approve, InterruptView, Reject, Response
from orchestra.core.jsontext import Json, dumps, loads

ARGUMENTS = 600
"""So many characters of what a tool or node is to be called with are shown."""


class Questions:
    """Asks and reads the answers, one line each."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._lines: TypedLines | None = None

    async def ask(self, interrupts: Sequence[InterruptView]) -> dict[str, Response] | None:
        """An answer to each; ``None`` when one is left open, by an empty line or the end of the input."""
        self._lines = self._lines or TypedLines()
        given: dict[str, Response] = {}
        for asked in interrupts:
            self._console.print()
            for line in question(asked):
                print_indented(self._console, line, left=0, hang=2)
            self._console.print(Text(_CHOICES[asked.kind], "bold"), end="")
            text = await self._lines.next()
            if text is None or not text.strip():
                self._console.print(Text("left open", "dim"))
                return None
            given[asked.id] = response(asked, text.strip())
        return given


def question(asked: InterruptView) -> list[Text]:
    """What is asked, who asks, and what it is about."""
    what = asked.node or asked.tool or asked.name
    head = Text.assemble(("? ", "yellow"), (what, "bold"))
    if asked.agent and asked.agent != what:
        head.append(f" of {asked.agent}", "dim")
    if asked.name not in (what, "approval"):
        head.append(f", {asked.name}")
    if asked.reason:
        head.append(f": {asked.reason}")
    lines = [head]
    for name, value in asked.arguments.items():
        text = value if isinstance(value, str) else dumps(value)
        shown = text if len(text) <= ARGUMENTS else text[: ARGUMENTS - 1] + "…"
        lines.append(Text.assemble((f"  {name}: ", "dim"), shown))
    return lines


def response(asked: InterruptView, text: str) -> Response:
    """The answer that ``text`` means: yes, always, or no with a reason; to a question JSON, or the text itself."""
    word, _, rest = text.partition(" ")
    if asked.kind == "approval":
        if word.lower() in ("y", "yes"):
            return Approve()
        if word.lower() in ("a", "always"):
            return Approve(always=True)
        return Reject(rest.strip() if word.lower() in ("n", "no") else text)
    try:
        return cast("Json", loads(text))
    except ValueError:
        return text


_CHOICES = {
    "approval": "  [y]es, [n]o and why, [a]lways in this session, Enter leaves it open: ",
    "question": "  your answer (text or JSON; Enter leaves it open): ",
}
