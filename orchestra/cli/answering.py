"""Answering what a run asks: in the terminal, by options, or by a hint how to."""

from __future__ import annotations

import shlex
from collections.abc import Awaitable, Callable, Mapping, Sequence

from rich.console import Console
from rich.text import Text

from orchestra.cli.console import err, print_indented
from orchestra.cli.typed_lines import TypedLines
from orchestra.core.errors import InputError, UnknownInterrupt
from orchestra.core.interrupts import APPROVAL, Approve, InterruptView, Reject, Response
from orchestra.core.jsontext import Json, dumps, loads
from orchestra.core.result import RunResult

GIVEN = 800
"""So many characters of what a node is given are shown."""
NextLine = Callable[[], Awaitable[str | None]]


async def ask_all(
    console: Console, interrupts: Sequence[InterruptView], next_line: NextLine
) -> dict[str, Response] | None:
    """Ask each of them on ``console``; ``None`` when the input has ended: then the run goes on waiting."""
    given: dict[str, Response] = {}
    for one in interrupts:
        print_indented(console, Text(question(one), "bold yellow"), left=0, hang=2)
        hint = "JSON or text; !reason refuses"
        if one.kind == APPROVAL:
            hint = "[y]es, [a]lways, or [n]o with a reason" if one.tool else "[y]es, or [n]o with a reason"
        while one.id not in given:
            console.print(Text(f"{hint}: ", "dim"), end="")
            line = await next_line()
            if line is None:
                return None
            found = approval(line.strip()) if one.kind == APPROVAL else (answer(line.strip()),)
            if found is None or (found == (Approve(always=True),) and not one.tool):
                continue  # neither yes nor no: asked again
            given[one.id] = found[0]
    return given


def answerer() -> Callable[[RunResult], Awaitable[Mapping[str, Response] | None]]:
    """Asks on standard error for what a result waits for; the answers are typed. Make it on the running loop."""
    console, lines = err(), TypedLines()

    async def answer(result: RunResult) -> Mapping[str, Response] | None:
        return await ask_all(console, result.interrupts, lines.next)

    return answer


def question(one: InterruptView) -> str:
    """What is asked: one line, and for a node of a graph what it is given, on lines of their own."""
    if one.kind == APPROVAL and one.node and not one.tool:
        given = str(one.arguments.get("input") or "")
        shown = given if len(given) <= GIVEN else given[:GIVEN] + "…"
        return "\n".join(text for text in (one.reason or f"{one.node!r} needs an approval", shown) if text)
    where = f"{one.tool}({', '.join(f'{key}={dumps(value)}' for key, value in one.arguments.items())})"
    who = " in ".join(part for part in (one.agent, one.node) if part)
    if one.kind == APPROVAL:
        return f"{who} wants to run {where if one.tool else one.node}"
    text = f": {one.reason}" if one.reason else ""
    return f"{who}{f' in {where}' if one.tool else ''} asks {one.name!r}{text}"


def approval(line: str) -> tuple[Response] | None:
    """``yes``, ``always`` or ``no`` with a reason behind it; ``None`` for anything else."""
    word, _, rest = line.partition(" ")
    if word.lower() in ("y", "yes") and not rest:
        return (Approve(),)
    if word.lower() in ("a", "always") and not rest:
        return (Approve(always=True),)
    if word.lower() in ("n", "no"):
        return (Reject(rest.strip()),)
    return None


def answer(text: str) -> Response:
    """JSON where it is JSON, else the text itself; ``!reason`` refuses."""
    if text.startswith("!"):
        return Reject(text[1:].strip())
    try:
        value: Json = loads(text)
    except ValueError:
        return text
    return value


def answers_of(
    run_id: str,
    interrupts: Sequence[InterruptView],
    *,
    approve: Sequence[str],
    reject: Sequence[str],
    answers: Sequence[str],
) -> dict[str, Response]:
    """The answers that options give: ``ID`` or ``all``, ``ID=why``, ``ID=JSON``.

    Raises:
        UnknownInterrupt: the run does not ask that.
        InputError: what is behind ``=`` is missing, or two options answer one question.
    """
    asked = {one.id: one for one in interrupts}
    given: dict[str, Response] = {}

    def put(name: str, response: Response) -> None:
        if name not in asked:
            raise UnknownInterrupt(run_id, name, tuple(asked))
        if name in given:
            raise InputError(f"{name} is answered twice")
        given[name] = response

    for text in reject:
        name, equals, why = text.partition("=")
        put(name, Reject(why if equals else ""))
    for text in answers:
        # The name of a question is free, so it may hold an equals sign: the longest id that fits is meant.
        fitting = [name for name in asked if text.startswith(f"{name}=")]
        name = max(fitting, key=len, default=text.partition("=")[0])
        if not text.startswith(f"{name}="):
            raise InputError(f"--answer {text}: write --answer ID=JSON")
        put(name, answer(text[len(name) + 1 :]))
    for text in approve:
        if text != "all":
            put(text, Approve())
    if "all" in approve:
        for one in interrupts:
            if one.kind == APPROVAL and one.id not in given:
                given[one.id] = Approve()
    return given


def how_to_resume(result: RunResult, *, needs_state: bool = False) -> list[str]:
    """What the run waits for, and the command that answers it. ``needs_state``: it came with an invocation state."""
    options = []
    for one in result.interrupts:
        value = "" if one.kind == APPROVAL else "=JSON"
        options.append(f"--{'approve' if one.kind == APPROVAL else 'answer'} {shlex.quote(one.id + value)}")
    command = " ".join(["orchestra runs resume", shlex.quote(result.run_id), *options])
    command += " --invocation-state FILE" if needs_state else ""
    return [*(question(one) for one in result.interrupts), f"answer with: {command}"]


def checked_state(value: object, file: str) -> Mapping[str, object]:
    """An ``invocation_state`` that was read from a file. Raises :class:`InputError` when it is no mapping."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise InputError(f"{file}: an invocation_state is a mapping with text as keys")
    return dict(value)
