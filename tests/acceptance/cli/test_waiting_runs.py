"""A run asks: in a terminal it is answered there, else the command says how; resumed and cancelled from elsewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.acceptance.cli.orchestra_command import Command, write
from tests.acceptance.cli.test_chat import Terminal

TOOLS = """
import os
from orchestra import ToolContext, tool

@tool(needs_approval=True)
def pay(amount: int) -> str:
    '''Pay.'''
    with open("paid", "a") as out:
        out.write(f"{amount}\\n")
    return f"paid {amount}"

@tool
def choose(ctx: ToolContext) -> str:
    '''Choose.'''
    return f"chose {ctx.interrupt('colour', 'which one?')!r} with {sorted(ctx.invocation_state)}"
"""
FILES = {
    "tools.py": TOOLS,
    "agents/clerk.md": "---\nname: clerk\nmodel: scripted:clerk.yaml\n"
    "tools: [../tools.py:pay, ../tools.py:choose]\n---\nPay.\n",
    "agents/clerk.yaml": "- calls: [{name: pay, arguments: {amount: 12}}, {name: choose}]\n- text: all done\n"
    "- text: and more\n",
    "cluster.yaml": "namespace: test\nray: {num_cpus: 2, object_store_mb: 78}\ndata_dir: data\n",
    "waiting.yaml": "cluster: cluster.yaml\nagents: [agents/clerk.md]\nrun: clerk\nsession: s\nturns: [pay the bill]\n"
    "invocation_state: {key: canary}\n",
}


@pytest.fixture
def clerk(project: Command) -> Command:
    write(project.folder, FILES)
    return project


def paid(command: Command) -> list[str]:
    file = Path(command.folder, "paid")
    return file.read_text().split() if file.exists() else []


def asked(command: Command) -> tuple[str, list[str]]:
    """A play that stops at the question; (run id, ids of what it asks)."""
    done = command("run", "waiting.yaml", "--inline")
    assert done.code == 1, done.err
    (run,) = [one["run_id"] for one in command("runs", "list", "--json").json]
    shown = command("runs", "show", run)
    assert "clerk wants to run pay(amount=12)" in shown.out
    assert "clerk in choose() asks 'colour': which one?" in shown.out
    found = re.search(
        r"orchestra runs resume (\S+) --approve (\S+) --answer '?([^\s']+)=JSON'? --invocation-state FILE",
        " ".join(shown.out.split()),
    )
    assert found, shown.out
    return found[1], [found[2], found[3]]


def test_without_a_terminal_the_command_says_how_and_another_one_answers(clerk: Command) -> None:
    run, (approval, colour) = asked(clerk)
    listed = clerk("runs", "list", "--json").json
    assert [(one["run_id"], one["status"]) for one in listed] == [(run, "interrupted")]
    Path(clerk.folder, "state.yaml").write_text("key: canary\n")
    state = ("--invocation-state", "state.yaml")
    refused = clerk("runs", "resume", run, "--inline", "--approve", "all", *state)
    assert (refused.code, paid(clerk)) == (2, [])
    assert f"waits for answers to {colour}" in refused.err
    refused = clerk("runs", "resume", run, "--inline", "--approve", approval, "--answer", f"{colour}=1")
    assert (refused.code, "hand it in again" in refused.err) == (2, True)
    refused = clerk("runs", "resume", run, "--inline", "--approve", "nothing", *state)
    assert (refused.code, "has not asked 'nothing'" in refused.err) == (2, True)
    answers = ("--approve", "all", "--answer", f'{colour}={{"a": null}}')
    done = clerk("runs", "resume", run, "--inline", *answers, *state, "--json")
    assert done.code == 0, done.err
    assert (done.json["status"], done.json["output"]) == ("completed", "all done")
    assert paid(clerk) == ["12"]
    again = clerk("runs", "resume", run, "--inline", *answers, *state)
    assert (again.code, paid(clerk)) == (2, ["12"])
    assert clerk("runs", "list").out.strip() == "nothing is being worked on"
    assert f"{run}  completed" in clerk("runs", "list", "--all").out
    assert clerk("runs", "resume", "nobody", "--inline").code == 2


def test_a_waiting_run_is_cancelled_and_its_session_is_free(clerk: Command) -> None:
    run, _ = asked(clerk)
    chat = clerk("chat", "agents/clerk.md", "--inline", "--session", "s", text="hello\n")
    assert chat.code == 1
    assert f"waits for an answer to run {run}" in " ".join(chat.err.split())
    done = clerk("runs", "cancel", run, "--inline")
    assert (done.code, done.out.strip()) == (0, f"run {run} was cancelled"), done.err
    assert clerk("runs", "cancel", run, "--inline").code == 1
    assert paid(clerk) == []
    chat = clerk("chat", "agents/clerk.md", "--inline", "--session", "s", text="hello\n")
    assert (chat.code, chat.out) == (0, "all done\n"), chat.err


def test_a_chat_and_a_resume_ask_in_the_terminal(clerk: Command) -> None:
    screen = Terminal(clerk, "chat", "agents/clerk.md", "--inline", "--user", "ana")
    screen.until("> ")
    screen.type("pay\n")
    screen.until("[n]o with a reason: ")
    screen.type("no too much\n")
    screen.until("!reason refuses: ")
    screen.type("!not my taste\n")
    screen.until("all done")
    screen.type("/quit\n")
    assert screen.process.wait(60) == 0
    assert paid(clerk) == []
    run, _ = asked(clerk)
    Path(clerk.folder, "state.yaml").write_text("key: canary\n")
    screen = Terminal(clerk, "runs", "resume", run, "--inline", "--invocation-state", "state.yaml")
    screen.until("[n]o with a reason: ")
    screen.type("always\n")
    screen.until("!reason refuses: ")
    screen.type("null\n")
    screen.until("all done")
    assert screen.process.wait(60) == 0
    assert paid(clerk) == ["12"]
