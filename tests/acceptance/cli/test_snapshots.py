"""``sessions fork``, ``snapshot``, ``snapshots`` and ``restore``."""

from __future__ import annotations

import pytest

from tests.acceptance.cli.orchestra_command import Command

AGENT = """---
name: pal
model: scripted:replies.yaml
workspace: ../work
blocks:
  - {label: human, scope: user, description: The user.}
  - {label: topic, scope: session, description: What it is about.}
---
Be a pal.
"""


@pytest.fixture
def talked(project: Command) -> Command:
    """A session of two turns, a file in the agent's folder."""
    (project.folder / "agents/pal.md").write_text(AGENT)
    done = project("chat", "pal", "--inline", "--session", "talk", "--user", "ana", text="One.\nTwo.\n")
    assert done.code == 0, done.err
    (project.folder / "work/file").write_text("then")
    return project


def test_a_session_is_kept_and_brought_back_with_its_files(talked: Command) -> None:
    made = talked("sessions", "snapshot", "talk", "--json").json
    assert (made["session_id"], made["agent"], made["turns"], made["messages"]) == ("talk", "pal", 2, 4)
    assert talked("chat", "pal", "--inline", "--session", "talk", "--user", "ana", text="Three.\n").code == 0
    assert talked("blocks", "set", "topic", "changed").code == 0
    (talked.folder / "work/file").write_text("now")
    other = talked("sessions", "snapshot", "talk", "--ttl", "30d", "--json").json
    assert [one["id"] for one in talked("sessions", "snapshots", "talk", "--json").json] == [made["id"], other["id"]]
    shown = talked("sessions", "snapshots", "talk").out
    assert made["id"] in shown
    assert max(len(line) for line in shown.splitlines()) <= 100

    done = talked("sessions", "restore", made["id"], "--json").json
    assert (done["removed"], done["returned"], done["turns"]) == (2, 0, 2)
    assert [block["label"] for block in done["blocks"]] == ["topic"]
    assert done["folder"] == str(talked.folder / "work")
    assert (talked.folder / "work/file").read_text() == "then"
    messages = talked("sessions", "show", "talk", "--json").json["messages"]
    assert [one["content"] for one in messages if one["role"] == "user"] == ["One.", "Two."]
    assert "2 back again" in talked("sessions", "restore", other["id"]).out
    assert (talked.folder / "work/file").read_text() == "now"


def test_a_session_branches_at_a_turn(talked: Command) -> None:
    made = talked("sessions", "fork", "talk", "branch", "--turn", "1", "--json").json
    assert made == {"session": "branch", "agent": "pal", "from": "talk", "turn": 1}
    messages = talked("sessions", "show", "branch", "--json").json["messages"]
    assert [one["content"] for one in messages if one["role"] == "user"] == ["One."]
    assert "after turn 1" in talked("sessions", "fork", "talk", "more", "--turn", "1").out


def test_what_is_wrong_is_named(talked: Command) -> None:
    for arguments, named in (
        (("restore", "nothing"), "snapshot"),
        (("snapshot", "nowhere"), "nowhere"),
        (("snapshots", "nowhere"), "nowhere"),
        (("snapshot", "talk", "--ttl", "soon"), "soon"),
        (("restore", "nothing", "--blocks", "some"), "some"),
        (("fork", "talk", "talk", "--turn", "1"), "talk"),
        (("fork", "talk", "new", "--turn", "9"), "9"),
    ):
        done = talked("sessions", *arguments)
        assert (done.code, done.out) == (2, ""), arguments
        assert named in done.err
    assert talked("sessions", "snapshots", "talk").out.strip() == "there are no snapshots of this session"
