"""``orchestra run``: turns, then the questions; what is seen, what is checked, what comes out as JSON."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.acceptance.cli.orchestra_command import ROOT, Command, labels, write

ANSI = re.compile(r"\x1b\[")


def test_the_quickstart_remembers_and_its_second_and_third_start_ask(orchestra: Command) -> None:
    first = orchestra("run", ROOT / "configs/quickstart.yaml", "--inline")
    assert first.code == 0, first.err
    for text in ("Monday, 12 January 2026", "turn 1/26", "turn 26/26", "pass after turn 25", "model   extractive"):
        assert text in first.err
    assert "✓ passes after turns: 5, 10, 15, 20, 25" in first.out
    assert re.search(r"^  \+.*allergic to shellfish", first.out, re.MULTILINE)  # in the diff of a pass
    assert "What to type next" in first.out
    for text in (first.out, first.err):
        assert not ANSI.search(text)
        assert all(len(line) <= 80 for line in text.splitlines() if not line.startswith("  orchestra "))
        assert not any(line.endswith(" ") for line in text.splitlines())
    for _ in range(2):
        again = orchestra("run", ROOT / "configs/quickstart.yaml", "--inline", "--json")
        played = again.json
        assert played["played"] == "follow_up"
        assert [turn["question"] for turn in played["turns"]] == [True] * 3
        assert len(played["turns"]) == 3
        assert again.code == 0, again.out
        assert [check["ok"] for check in played["checks"]] == [True] * 4
        assert [one["turn"] for one in played["passes"]][:5] == [5, 10, 15, 20, 25]


def test_json_is_the_only_thing_on_standard_output(project: Command) -> None:
    done = project("run", "play.yaml", "--inline", "--json")
    assert done.code == 0
    played = done.json
    assert played["ok"] is True
    assert played["played"] == "turns"
    assert [turn["turn"] for turn in played["turns"]] == [1, 2, 3, 4, 5]
    assert [turn["output"] for turn in played["turns"]] == [f"answer {number}" for number in range(1, 6)]
    assert [one["turn"] for one in played["passes"]] == [2, 4]
    assert all(one["changed"][0]["diff"].startswith("--- version 1\n+++ version 2") for one in played["passes"][:1])
    assert sorted(labels(played["blocks"])) == ["human", "topic"]
    assert played["turn_seconds"]["p50"] <= played["turn_seconds"]["p95"]
    assert played["usage"]["model_calls"] == 5
    assert any(command.startswith("orchestra run play.yaml") for command in played["next"])
    assert "turn 5/5" in done.err


def test_commands_that_are_offered_next_work_as_they_are(played: Command) -> None:
    offered = played("run", "play.yaml", "--inline", "--json").json["next"]
    blame = next(command for command in offered if " blame " in command)
    assert played(*blame.split()[1:]).code == 0
    chat = next(command for command in offered if " chat " in command)
    assert played(*chat.split()[1:], text="Hello.\n").out == "answer 7\n"


def test_a_scenario_that_is_played_out_and_has_no_questions_says_so(played: Command) -> None:
    text = (played.folder / "play.yaml").read_text().replace("follow_up: [Where do I live?]\n", "")
    write(played.folder, {"play.yaml": text})
    done = played("run", "play.yaml", "--inline", "--json")
    assert (done.code, done.json["played"], done.json["turns"]) == (0, "nothing", [])
    assert "there is no follow_up" in done.err


def test_more_turns_than_were_played_are_the_rest_to_play(project: Command) -> None:
    text = (project.folder / "play.yaml").read_text()
    short = re.sub(r"  - I prefer trains.\n.*Astoria.\n", "", text).replace("[2, 4]", "[2]")
    write(project.folder, {"play.yaml": short})
    assert len(project("run", "play.yaml", "--inline", "--json").json["turns"]) == 3
    write(project.folder, {"play.yaml": text})
    rest = project("run", "play.yaml", "--inline", "--json").json
    assert rest["played"] == "rest"
    assert [turn["turn"] for turn in rest["turns"]] == [4, 5]
    assert [one["turn"] for one in rest["passes"]] == [2, 4]
    assert rest["ok"] is True


def test_fresh_starts_over_and_takes_session_and_user_blocks_with_it(played: Command) -> None:
    before = {block["label"]: block for block in played("blocks", "list", "--json").json}
    done = played("run", "play.yaml", "--inline", "--fresh", "--json")
    assert done.json["played"] == "turns"
    assert [turn["output"] for turn in done.json["turns"]] == [f"answer {number}" for number in range(1, 6)]
    assert not any(turn["duplicate"] for turn in done.json["turns"])
    assert [one["turn"] for one in done.json["passes"]] == [2, 4]
    assert done.err.startswith("--fresh: deleted session talk (5 turns), human of user ana, topic of session")
    after = {block["label"]: block for block in done.json["blocks"]}
    assert after["human"]["value"] == before["human"]["value"]
    assert len(played("sessions", "show", "talk", "--json").json["messages"]) == 10


def test_fresh_deletes_nothing_when_the_model_is_wrong(played: Command) -> None:
    before = played("sessions", "show", "talk", "--json").json
    done = played("run", "play.yaml", "--inline", "--fresh", "--set", "agents.pal.model=openia:x")
    assert done.code == 2
    assert played("sessions", "show", "talk", "--json").json == before


@pytest.mark.parametrize(
    ("expect", "missed"),
    [
        ("{passes_at: [2, 3]}", "passes after turns: 2, 3"),
        ("{blocks: {topic: [Sydney]}}", "block topic: Sydney"),
        ("{passes_at: [4]}", "passes after turns: 4"),
    ],
)
def test_a_missed_expectation_is_exit_code_1(project: Command, expect: str, missed: str) -> None:
    done = project("run", "play.yaml", "--inline", "--set", f"expect={expect}")
    assert done.code == 1
    assert f"✗ {missed}" in done.out


def test_answers_are_checked_when_they_are_asked(played: Command) -> None:
    right = played("run", "play.yaml", "--inline", "--set", "expect={answers: [ANSWER 6]}")
    assert (right.code, "✓ answer 1: ANSWER 6" in right.out) == (0, True)
    wrong = played("run", "play.yaml", "--inline", "--set", "expect={answers: [Lisbon]}")
    assert (wrong.code, "✗ answer 1: Lisbon (found: answer 7)" in wrong.out) == (1, True)


def test_a_turn_that_fails_ends_the_play_with_its_reason(project: Command) -> None:
    write(project.folder, {"agents/replies.yaml": "- text: answer 1\n- text: answer 2\n"})
    done = project("run", "play.yaml", "--inline", "--json")
    assert done.code == 1
    assert done.json["ok"] is False
    assert done.json["failure"].startswith("turn 3 failed: ")
    assert [turn["status"] for turn in done.json["turns"]] == ["completed", "completed", "failed"]
    write(project.folder, {"agents/replies.yaml": "".join(f"- text: answer {n}\n" for n in range(1, 20))})
    rest = project("run", "play.yaml", "--inline", "--json")
    assert (rest.code, rest.json["played"]) == (0, "rest")
    assert [turn["turn"] for turn in rest.json["turns"]] == [3, 4, 5]


def test_a_pass_that_is_set_aside_is_told_and_does_not_end_the_play(project: Command) -> None:
    agent = (project.folder / "agents/pal.md").read_text()
    write(
        project.folder, {"agents/pal.md": agent.replace("extractive}", "scripted, script: sleep.yaml, max_tries: 1}")}
    )
    write(project.folder, {"agents/sleep.yaml": "- error: the sleep-time model is away\n"})
    done = project("run", "play.yaml", "--inline", "--json")
    assert done.code == 1
    assert len(done.json["turns"]) == 5
    assert done.json["passes"] == []
    assert done.err.count("a pass was set aside") == 2
    assert "the sleep-time model is away" in done.err


def test_without_drain_turns_do_not_wait_and_the_last_pass_is_still_seen(project: Command) -> None:
    done = project("run", "play.yaml", "--inline", "--json", "--set", "drain=false", "--set", "expect={}")
    assert done.code == 0
    assert done.json["passes"][-1]["turn"] >= 4


def test_invocation_state_is_never_shown(project: Command) -> None:
    project.variables["ORCHESTRA_DEBUG"] = "1"
    write(project.folder, {"agents/replies.yaml": "- text: one\n"})
    for more in ([], ["--json"]):
        done = project("run", "play.yaml", "--inline", *more)
        assert done.code == 1
        assert "hunter2" not in done.out + done.err
    stored = [path for path in (project.folder / "data").rglob("*") if path.is_file()]
    assert stored
    assert not any(b"hunter2" in path.read_bytes() for path in stored)


def test_shipped_scenarios_are_found_by_name_from_an_installed_package(tmp_path: Path) -> None:
    """As in a wheel: ``orchestra/data`` inside the package, nothing beside it."""
    site, folder = tmp_path / "site", tmp_path / "empty"
    folder.mkdir()
    shutil.copytree(ROOT / "orchestra", site / "orchestra", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("agents", "configs"):
        shutil.copytree(ROOT / name, site / "orchestra/data" / name)
    command = Command(folder, {"PYTHONPATH": str(site)})
    done = command("run", "quickstart", "--inline", "--json")
    assert done.code == 0, done.err
    assert done.json["scenario"] == str(site / "orchestra/data/configs/quickstart.yaml")
    assert "orchestra chat travel --session ana-kyoto --user ana --inline" in done.json["next"]
    # The data is found again without naming a cluster: the same shipped cluster file is the default.
    assert "trip" in labels(command("blocks", "list", "--json").json)
    command.nothing_is_left()


@pytest.mark.ray
@pytest.mark.timeout(180)
def test_the_scenario_on_ray_is_the_same_as_inline(project: Command) -> None:
    on_ray = project("run", "play.yaml", "--json")
    assert on_ray.code == 0, on_ray.err
    inline = project("run", "play.yaml", "--json", "--inline", "--fresh").json
    for name in ("turns", "passes"):
        assert len(on_ray.json[name]) == len(inline[name])
    assert [turn["output"] for turn in on_ray.json["turns"]] == [turn["output"] for turn in inline["turns"]]
    assert [block["value"] for block in on_ray.json["blocks"]] == [block["value"] for block in inline["blocks"]]
