"""Asking in a terminal."""

from __future__ import annotations

import io
from collections.abc import Sequence

import pytest
from rich.console import Console

from orchestra.cli.answering import ask_all, how_to_resume
from orchestra.core.interrupts import Approve, InterruptView, Reject, Response
from orchestra.core.result import RunResult

TOOL = InterruptView("t", "approval", agent="clerk", tool="pay", kind="approval")
NODE = InterruptView("n", "approval", agent="mailer", node="send", kind="approval")


async def typed(one: InterruptView, lines: Sequence[str]) -> tuple[Response, str]:
    """The answer to what is asked when these lines are typed, and the screen."""
    left, console = list(lines), Console(file=io.StringIO(), width=80)

    async def next_line() -> str | None:
        return left.pop(0) if left else None

    found = await ask_all(console, [one], next_line)
    assert found is not None
    assert left == []
    assert isinstance(console.file, io.StringIO)
    return found[one.id], console.file.getvalue()


async def test_a_tool_can_be_approved_always_and_a_node_only_this_time() -> None:
    given, screen = await typed(TOOL, ["perhaps", "always"])
    assert given == Approve(always=True)
    assert screen.count("[a]lways") == 2
    given, screen = await typed(NODE, ["always", "a", "yes"])
    assert given == Approve()
    assert "[a]lways" not in screen


async def test_a_no_may_have_a_reason() -> None:
    assert (await typed(NODE, ["no too early"]))[0] == Reject("too early")


@pytest.mark.parametrize("needs_state", [False, True])
def test_the_command_that_answers_has_what_the_run_needs(needs_state: bool) -> None:
    result = RunResult("run-1", "interrupted", interrupts=(NODE,))
    command = how_to_resume(result, needs_state=needs_state)[-1]
    state = " --invocation-state FILE" if needs_state else ""
    assert command == f"answer with: orchestra runs resume run-1 --approve n{state}"
