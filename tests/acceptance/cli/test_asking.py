"""``orchestra run`` in a terminal: a run that waits for an answer asks there, and goes on with what is typed."""

from __future__ import annotations

import os
import pty
import re
import sys
from pathlib import Path

import pytest

from tests.acceptance.cli.orchestra_command import Command, write

LEAD = '---\nname: lead\nmodel: scripted:lead.yaml\ntools: ["agent:clerk"]\n---\nLead.\n'
CLERK = "---\nname: clerk\nmodel: scripted:clerk.yaml\ntools: [pay.py:pay]\n---\nPay.\n"
FILES = {
    "lead.md": LEAD,
    "clerk.md": CLERK,
    "lead.yaml": "- calls: [{name: clerk, arguments: {input: Pay it.}}]\n- text: All is settled.\n",
    "clerk.yaml": "- calls: [{name: pay, arguments: {amount: 49}}]\n- text: The clerk is done.\n",
    "pay.py": (
        "from orchestra import tool\n\n\n@tool(needs_approval=True)\ndef pay(amount: int) -> str:\n"
        '    """Pay."""\n    with open("paid", "a") as file:\n        file.write(f"{amount}\\n")\n    return "paid"\n'
    ),
    "cluster.yaml": "namespace: test\ndata_dir: data\n",
    "s.yaml": "cluster: cluster.yaml\nagents: [lead.md, clerk.md]\nrun: lead\nturns: [Settle it.]\n",
}


@pytest.fixture
def project(orchestra: Command) -> Command:
    write(orchestra.folder, FILES)
    return orchestra


def typed(project: Command, lines: list[str], *arguments: str) -> tuple[int, str]:
    """(exit code, what the terminal showed) when ``lines`` are typed, each after a question."""
    master, slave = pty.openpty()
    environment = {**project.environment(), "COLUMNS": "100", "TERM": "xterm"}
    command = [sys.executable, "-m", "orchestra.cli.main", *arguments]
    pid = os.posix_spawn(
        sys.executable,
        command,
        environment,
        file_actions=[
            *((os.POSIX_SPAWN_DUP2, slave, number) for number in (0, 1, 2)),
            (os.POSIX_SPAWN_CLOSE, master),
        ],
        setsid=True,
    )
    os.close(slave)
    shown, left = "", list(lines)
    while True:
        try:
            data = os.read(master, 65536)
        except OSError:  # the terminal's other end is closed
            break
        shown += data.decode("utf-8", "replace")
        if left and shown.count("with a reason: ") > len(lines) - len(left):
            os.write(master, left.pop(0).encode())
    _, status = os.waitpid(pid, 0)
    os.close(master)
    return os.waitstatus_to_exitcode(status), re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)


def paid(project: Command) -> str:
    file = Path(project.folder / "paid")
    return file.read_text() if file.exists() else ""


def test_an_approval_is_asked_for_and_the_run_goes_on(project: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project.folder)
    code, shown = typed(project, ["y\n"], "run", "s.yaml", "--inline")
    assert code == 0, shown
    assert "clerk wants to run pay(amount=49)" in shown
    assert "All is settled." in shown
    assert paid(project) == "49\n"


def test_a_refusal_tells_the_model_why_and_runs_nothing(project: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project.folder)
    code, shown = typed(project, ["n not this month\n"], "run", "s.yaml", "--inline")
    assert code == 0, shown
    assert "not this month" in shown
    assert paid(project) == ""


def test_what_is_left_open_is_asked_again_at_the_next_start(project: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project.folder)
    code, shown = typed(project, ["\x04"], "run", "s.yaml", "--inline")
    assert code == 1
    assert "turn 1 waits for an answer" in shown
    without = project("run", "s.yaml", "--inline", "--json")  # no terminal: it is told, not asked
    assert (without.code, without.json["turns"][0]["status"]) == (1, "interrupted")
    assert [one["tool"] for one in without.json["turns"][0]["interrupts"]] == ["pay"]
    code, shown = typed(project, ["y\n"], "run", "s.yaml", "--inline")
    assert (code, paid(project)) == (0, "49\n"), shown


def test_starting_over_ends_what_waits(project: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project.folder)
    assert project("run", "s.yaml", "--inline").code == 1
    assert len(project("runs", "list", "--json").json) >= 1
    code, shown = typed(project, ["n\n"], "run", "s.yaml", "--inline", "--fresh")
    assert (code, paid(project)) == (0, ""), shown
    assert project("runs", "list", "--json").json == []
