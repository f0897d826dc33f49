"""A long session in a small window: it never overflows, all that keeps it small is seen, and nothing is forgotten."""

from __future__ import annotations

import asyncio

import pytest

from tests.acceptance.cli.orchestra_command import ROOT, Command
from tests.waiting import until

SCENARIO = ROOT / "configs/scenarios/long_session.yaml"


def test_240_turns_with_large_results_stay_within_24000_tokens(orchestra: Command) -> None:
    done = orchestra("run", SCENARIO, "--inline", "--json", "--fresh")
    assert done.code == 0, done.err
    played = done.json
    assert len(played["turns"]) == 240
    assert {turn["status"] for turn in played["turns"]} == {"completed"}
    assert "Albatros" in played["turns"][-1]["output"]
    context = played["context"]
    assert context["window_tokens"] == 24_000
    assert 18_000 < context["largest_tokens"] <= 24_000
    assert context["failed"] == {}
    assert "overflow" not in context["done"]
    for part, times in (("flush", 3), ("compaction", 3), ("pruning", 20), ("offload", 50)):
        assert context["done"][part] >= times, part
    assert done.err.count("· flush") >= 3
    assert done.err.count("· compaction") >= 3

    report = orchestra("context", "port-authority", "--json").json
    names = [part["name"] for part in report["parts"]]
    assert "summary" in names
    assert report["tokens"] <= 24_000
    assert report["cycle"] >= 3
    assert {out["name"] for out in report["left_out"]} >= {"summarised messages", "old tool results"}
    shown = orchestra("context", "port-authority")
    assert shown.code == 0
    assert "at the next turn:" in shown.out
    assert all(len(line) <= 80 for line in shown.out.splitlines())


def test_a_session_that_is_not_there(orchestra: Command) -> None:
    done = orchestra("context", "nobody")
    assert done.code == 2
    assert "nobody" in done.err


@pytest.mark.parametrize("place", ["compaction.summarised", "compaction.recorded"])
def test_killed_around_a_record_the_next_start_goes_on_and_forgets_nothing(orchestra: Command, place: str) -> None:
    """SIGKILL between the summary and its record, and just after it: one record or none, and the play goes on."""
    mark = orchestra.folder / "reached"
    orchestra.variables["ORCHESTRA_FAILPOINT"] = f"{place}@{mark}"
    process = orchestra.start("run", SCENARIO, "--inline", "--json")
    asyncio.run(until("a summary is made", lambda: mark.exists() and mark.read_text().endswith("\n"), seconds=60))
    process.kill()
    process.communicate(timeout=30)
    del orchestra.variables["ORCHESTRA_FAILPOINT"]
    before = orchestra("context", "port-authority", "--json").json
    assert before["cycle"] == (1 if place == "compaction.recorded" else 0)
    done = orchestra("run", SCENARIO, "--inline", "--json")
    assert done.code == 0, done.err
    assert done.json["played"] == "rest"
    assert "Albatros" in done.json["turns"][-1]["output"]
    assert done.json["context"]["largest_tokens"] <= 24_000
    said = orchestra("sessions", "show", "port-authority", "--json").json["messages"]
    users = [message for message in said if message["role"] == "user"]
    assert len(users) == 240
