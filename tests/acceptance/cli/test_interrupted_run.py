"""A play that is stopped or killed: nothing is left running, and the next start goes on where it was."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.acceptance.cli.orchestra_command import Command, line_with
from tests.openai_server import OpenAIServer


class Slow:
    """A model server that answers at once, except the third turn, which waits until it is let go."""

    def __init__(self) -> None:
        self.go, self.asked = threading.Event(), threading.Event()

    def __call__(self, body: dict[str, Any]) -> str:
        said = [message["content"] for message in body["messages"] if message["role"] == "user"]
        if "nuts" in str(said[-1]) and not self.go.is_set():
            self.asked.set()
            self.go.wait(60)
        return f"I heard: {said[-1]}"


@pytest.fixture
def slow() -> Slow:
    return Slow()


@pytest.fixture
def waiting(project: Command, slow: Slow) -> Iterator[Command]:
    """``project`` with a provider whose third answer does not come."""
    with OpenAIServer(slow) as server:
        project.variables.update(OPENAI_BASE_URL=server.base_url, OPENAI_API_KEY="test", ORCHESTRA_MODEL="openai:test")
        agent = project.folder / "agents/pal.md"
        agent.write_text(agent.read_text().replace("scripted:replies.yaml", "openai:test"))
        yield project
        slow.go.set()


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)], ids=["INT", "TERM", "HUP"]
)
def test_a_signal_ends_the_play_in_order_and_the_next_start_goes_on(
    waiting: Command, slow: Slow, number: signal.Signals, code: int
) -> None:
    process = waiting.start("run", "play.yaml", "--inline", "--json")
    assert slow.asked.wait(60)
    assert len(waiting.left()) > 1  # the command and the server
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == code, err
    assert out == ""
    assert "Traceback" not in err
    waiting.nothing_is_left()
    slow.go.set()
    check_rest(waiting)


@pytest.mark.timeout(180)
def test_a_killed_player_is_continued_and_no_turn_is_played_twice(waiting: Command, slow: Slow) -> None:
    process = waiting.start("run", "play.yaml", "--inline")
    assert "turn 3/5" in line_with(process, "turn 3/5")
    assert slow.asked.wait(60)
    process.kill()
    process.communicate()
    slow.go.set()
    check_rest(waiting)


def check_rest(command: Command) -> None:
    """The next start plays turns 3 to 5, and each input stands in the log once."""
    done = command("run", "play.yaml", "--inline", "--json")
    assert done.code == 0, done.err
    assert done.json["played"] == "rest"
    assert [turn["turn"] for turn in done.json["turns"]] == [3, 4, 5]
    messages = command("sessions", "show", "talk", "--json").json["messages"]
    completed = [one for one in messages if not one.get("meta", {}).get("aborted")]
    said = [one["content"] for one in completed if one["role"] == "user"]
    assert len(said) == len(set(said)) == 5


@pytest.mark.ray
@pytest.mark.timeout(180)
def test_ctrl_c_on_ray_leaves_nothing_running(waiting: Command, slow: Slow) -> None:
    process = waiting.start("run", "play.yaml", start_new_session=True)
    assert slow.asked.wait(90)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    waiting.nothing_is_left()
