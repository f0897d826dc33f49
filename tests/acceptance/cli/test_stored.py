"""``blocks``, ``sessions``, ``runs`` and ``watch``: commands over the store, which start no Ray."""

from __future__ import annotations

import json
import re
import time

from tests.acceptance.cli.orchestra_command import Command, labels


def test_blocks_are_listed_shown_changed_and_taken_back(played: Command) -> None:
    listed = played("blocks", "list", "--json").json
    assert {"human", "topic"} <= set(labels(listed))
    assert played("blocks", "list", "--label", "topic", "--json").json[0]["owner"] == "talk"
    of_agent = played("blocks", "list", "--agent", "pal", "--user", "ana", "--session", "talk", "--json").json
    assert labels(of_agent) == ["human", "topic"]
    topic = played("blocks", "show", "topic", "--json").json
    assert topic["agents"] == ["pal", "pal-sleeptime"]
    assert topic["value"] == played("blocks", "show", topic["id"], "--json").json["value"]

    written = played(
        "blocks", "set", "topic", "-", "--version", str(topic["version"]), "--json", text="one\ntwo\n"
    ).json
    assert (written["value"], written["version"]) == ("one\ntwo", topic["version"] + 1)
    assert played("blocks", "set", "topic", "--limit", "4000", "--read-only", "--json").json["read_only"] is True
    assert "-one" in played("blocks", "set", "topic", "two").out
    log = played("blocks", "log", "topic", "--json").json
    assert [one["version"] for one in log] == list(range(1, topic["version"] + 4))
    assert (log[-1]["author"], log[-1]["operation"]) == ("developer", "update")
    diff = played("blocks", "diff", "topic", "--json").json
    assert (diff["before"], diff["after"]) == (topic["version"] + 2, topic["version"] + 3)
    reverted = played("blocks", "revert", "topic", "--version", str(topic["version"]), "--json").json
    assert reverted["value"] == topic["value"]


def test_one_pass_is_taken_back_by_its_id(played: Command) -> None:
    log = played("blocks", "log", "topic", "--json").json
    last = [one for one in log if one["work"]][-1]
    before = next(one for one in log if one["version"] == last["version"] - 1)
    done = played("blocks", "revert", "topic", "--run", last["work"], "--json")
    assert done.code == 0, done.err
    assert done.json["value"] == before["value"]


def test_each_line_names_the_messages_it_came_from(played: Command) -> None:
    messages = {
        one["meta"]["seq"]: one["content"] for one in played("sessions", "show", "talk", "--json").json["messages"]
    }
    lines = [*played("blocks", "blame", "human", "--json").json, *played("blocks", "blame", "topic", "--json").json]
    budget = next(line for line in lines if "900" in line["text"])
    assert [messages[seq] for seq in budget["seqs"]] == ["My budget is 900 euros."]
    shown = played("blocks", "blame", "human").out + played("blocks", "blame", "topic").out
    assert f"from message {budget['seqs'][0]} of session talk (pal)" in " ".join(shown.split())


def test_sessions_are_listed_shown_popped_and_deleted(played: Command) -> None:
    (session,) = played("sessions", "list", "--json").json
    assert (session["session_id"], session["agent"], session["user"]) == ("talk", "pal", "ana")
    assert (session["turns"], session["messages"], session["slept_until"]) == (5, 10, 4)
    last = played("sessions", "show", "talk", "--last", "2", "--json").json["messages"]
    assert [one["content"] for one in last] == ["My hotel is the Astoria.", "answer 5"]
    popped = played("sessions", "pop", "talk", "--count", "2", "--json").json
    assert popped == {"messages": last, "memory": []}  # no pass has read them yet
    assert played("sessions", "list", "--json").json[0]["turns"] == 4
    deleted = played("sessions", "delete", "talk", "--json").json
    assert [block_id.split("-")[0] for block_id in deleted["deleted_blocks"]] == ["topic"]
    assert played("sessions", "list", "--json").json == []
    assert "human" in labels(played("blocks", "list", "--json").json)
    assert "topic" not in labels(played("blocks", "list", "--json").json)


def test_what_memory_made_of_popped_messages_is_named_and_taken_out(played: Command) -> None:
    shown = played("sessions", "pop", "talk", "--count", "99").out
    assert "memory has lines from them:" in shown
    assert "orchestra sessions pop talk --agent pal --count 0 --revert-memory" in " ".join(shown.split())
    assert max(len(line) for line in shown.splitlines()) <= 80
    before = played("blocks", "blame", "human", "--json").json + played("blocks", "blame", "topic", "--json").json
    named = played("sessions", "pop", "talk", "--count", "0", "--revert-memory", "--json").json
    assert named["messages"] == []
    taken = {line["text"] for line in named["memory"] if line["state"] == "removed"}
    assert taken == {line["text"] for line in before if line["seqs"]} != set()
    after = played("blocks", "blame", "human", "--json").json + played("blocks", "blame", "topic", "--json").json
    assert not taken & {line["text"] for line in after}
    assert played("sessions", "pop", "talk", "--count", "0", "--revert-memory").out == (
        "session talk of pal: no message was taken away\n"
    )


def test_a_turn_is_taken_back(played: Command) -> None:
    gone = played("sessions", "rewind", "talk", "--turn", "4", "--json").json
    assert [one["content"] for one in gone["messages"]][1::2] == ["answer 4", "answer 5"]
    assert played("sessions", "list", "--json").json[0]["turns"] == 3
    assert "answer 3" in played("sessions", "rewind", "talk", "--revert-memory").out


def test_a_session_is_closed_by_the_next_sleeptime_host(played: Command) -> None:
    assert "is being closed" in played("sessions", "close", "talk").out
    assert played("sessions", "close", "talk", "--json").json == {"session": "talk", "agent": "pal", "asked": True}
    chat = played.start("chat", "pal", "--inline", "--session", "{user}-{date}", "--user", "bea", piped=True)
    end = time.monotonic() + 60
    while not (found := played("archive", "list", "pal", "--user", "ana", "--json").json["passages"]):
        assert time.monotonic() < end, "there is no summary"
    chat.communicate("Hi.\n", timeout=60)
    assert chat.returncode == 0
    assert found[0]["tags"] == ["session-summary"]
    assert "900" in found[0]["text"]
    assert "is closed already" in played("sessions", "close", "talk").out
    sessions = [one["session_id"] for one in played("sessions", "list", "--json").json]
    assert any(re.fullmatch(r"bea-\d{4}-\d\d-\d\d", one) for one in sessions)


def test_what_people_see_fits_80_columns_and_has_no_colours(played: Command) -> None:
    for arguments in ("blocks list", "blocks show topic", "blocks log topic", "sessions list", "sessions show talk"):
        done = played(*arguments.split())
        assert done.code == 0
        assert done.out.strip()
        assert "\x1b" not in done.out
        assert max(len(line) for line in done.out.splitlines()) <= 80


def test_a_run_is_shown_while_it_is_remembered(played: Command) -> None:
    assert played("runs", "list", "--json").json == []
    turn = played("run", "play.yaml", "--inline", "--json").json["turns"][0]
    shown = played("runs", "show", turn["run_id"], "--json").json
    assert (shown["outcome"], shown["result"]["output"]) == ("completed", turn["output"])


def test_watch_shows_events_of_other_processes_as_they_happen(played: Command) -> None:
    watching = played.start("watch", "--session", "talk", "--count", "1", "--json")
    assert watching.poll() is None
    # The first event may come before the watcher listens, so turns are sent until one was seen.
    while watching.poll() is None:
        assert played("chat", "pal", "--inline", "--session", "talk", "--user", "ana", text="Hi.\n").code == 0
    out, err = watching.communicate()
    assert (watching.returncode, err) == (0, "")
    event = json.loads(out)
    assert (event["type"], event["thread"], event["status"]) == ("turn", "pal|talk", "completed")
