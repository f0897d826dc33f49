"""``orchestra chat`` through pipes and on a terminal."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import pytest

from tests.acceptance.cli.orchestra_command import Command
from tests.openai_server import OpenAIServer


def test_lines_from_a_pipe_are_turns_and_only_answers_are_on_standard_output(project: Command) -> None:
    done = project(
        "chat", "pal", "--inline", "--user", "ana", text="Hi.\n\nI live in Lisbon.\nlast line without its end"
    )
    assert done.code == 0, done.err
    assert done.out == "answer 1\nanswer 2\nanswer 3\n"
    assert "pal with ana, session chat (new); model scripted:" in " ".join(done.err.split())
    assert "● pass after turn " in done.err
    again = project("chat", "pal", "--inline", "--user", "ana", text="Hi again.\n")
    assert again.out == "answer 4\n"
    assert "session chat (3 turns so far)" in " ".join(again.err.split())


def test_blocks_and_quit(project: Command) -> None:
    lines = "My name is Ana.\n/blocks\n/what\n/quit\nHi.\n"
    done = project("chat", "agents/pal.md", "--inline", "--session", "s", text=lines)
    assert done.code == 0
    assert done.out.startswith("answer 1\n")
    assert "human (user " in done.out
    assert "topic (session s)" in done.out
    assert "there is no command /what" in done.err
    assert "answer 2" not in done.out


def test_a_failing_turn_does_not_end_the_chat(project: Command) -> None:
    (project.folder / "agents/replies.yaml").write_text("- text: answer 1\n")
    done = project("chat", "pal", "--inline", text="one\ntwo\nthree\n")
    assert done.code == 1  # what came through the pipe was not all answered
    assert done.err.count("failed: ") == 2


class Terminal:
    """The command on a terminal of its own."""

    def __init__(self, command: Command, *arguments: str) -> None:
        self.main, side = pty.openpty()
        environment = {**command.environment(), "TERM": "xterm", "COLUMNS": "80", "LINES": "24"}
        program = [sys.executable, "-m", "orchestra.cli.main", *arguments]
        self.process: subprocess.Popen[str] = subprocess.Popen(
            program,
            cwd=command.folder,
            env=environment,
            stdin=side,
            stdout=side,
            stderr=side,
            text=True,
            start_new_session=True,
        )
        os.close(side)
        command.started.append(self.process)
        self._unread = ""

    def until(self, text: str, *, seconds: float = 60) -> None:
        """Read up to and with ``text``; what comes after it is for the next call."""
        end, new = time.monotonic() + seconds, self._unread
        while text not in new:
            assert select.select([self.main], [], [], max(0, end - time.monotonic()))[0], f"no {text!r} in:\n{new}"
            try:
                data = os.read(self.main, 65536)
            except OSError:  # the other side is closed
                data = b""
            assert data, f"it ended without {text!r}:\n{new}"
            new += data.decode("utf-8", "replace")
        self._unread = new.partition(text)[2]

    def type(self, text: str) -> None:
        """Type ``text``."""
        os.write(self.main, text.encode())

    def close(self) -> int:
        """Its exit code."""
        code = self.process.wait(30)
        os.close(self.main)
        return code


def test_ctrl_c_stops_the_answer_and_the_chat_goes_on(project: Command) -> None:
    asked, go = threading.Event(), threading.Event()

    def answer(body: dict[str, Any]) -> str:
        if "slow" in str(body["messages"][-1]["content"]):
            asked.set()
            go.wait(60)
        return f"heard {body['messages'][-1]['content']}"

    with OpenAIServer(answer) as server:
        project.variables.update(OPENAI_BASE_URL=server.base_url, OPENAI_API_KEY="test")
        agent = project.folder / "agents/pal.md"
        agent.write_text(agent.read_text().replace("scripted:replies.yaml", "openai:test"))
        terminal = Terminal(project, "chat", "pal", "--inline")
        terminal.until("> ")
        terminal.type("quick\n")
        terminal.until("heard quick")
        terminal.until("> ")
        terminal.type("slow\n")
        assert asked.wait(60)
        terminal.process.send_signal(signal.SIGINT)
        terminal.until("stopped")
        terminal.until("> ")
        terminal.type("after\n")
        terminal.until("heard after")
        terminal.until("> ")
        terminal.type("\x04")
        assert terminal.close() == 0
        go.set()
    messages = project("sessions", "show", "chat", "--json").json["messages"]
    assert [one["content"] for one in messages if one["role"] == "assistant"] == ["heard quick", "heard after"]


def test_ctrl_c_while_nothing_is_answered_leaves(project: Command) -> None:
    terminal = Terminal(project, "chat", "pal", "--inline")
    terminal.until("> ")
    terminal.process.send_signal(signal.SIGINT)
    terminal.until("interrupted")
    assert terminal.close() == 130


@pytest.mark.ray
@pytest.mark.timeout(180)
def test_chat_on_ray(project: Command) -> None:
    done = project("chat", "pal", text="one\ntwo\n")
    assert done.code == 0, done.err
    assert done.out == "answer 1\nanswer 2\n"
    assert "● pass after turn 2" in done.err
