"""``orchestra tune`` as people run it: results, killed and resumed, malformed data, on Ray."""

from __future__ import annotations

import csv
import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.cli.orchestra_command import Command
from tests.waiting import until

SMALL = """name: small
workloads:
  - {name: talk, turns: 60}
every: [1, 2, 5, off]
triggers: [adaptive]
seeds: [1, 2, 3]
runner: local
workers: 2
"""


def table(out: Path) -> list[dict[str, str]]:
    return list(csv.DictReader((out / "results.csv").read_text(encoding="utf-8").splitlines()))


@pytest.fixture
def orchestra(tmp_path: Path) -> Iterator[Command]:
    command = Command(tmp_path)
    (tmp_path / "small.yaml").write_text(SMALL, encoding="utf-8")
    yield command
    command.end()
    command.nothing_is_left()


def test_the_files_and_the_recommendation(orchestra: Command, tmp_path: Path) -> None:
    done = orchestra("tune", "small.yaml", "--out", "out", "--json")
    assert done.code == 0, done.err
    assert "24 of 24 trials" in done.err
    (workload,) = done.json["workloads"]
    assert workload["recommended"] in ("every 1", "every 2", "every 5")
    assert workload["reason"].startswith(f"Take {workload['recommended']}")
    out = tmp_path / "out"
    assert json.loads((out / "summary.json").read_text()) == done.json
    rows = table(out)
    assert len(rows) == 24
    assert "seconds" not in rows[0]
    html = (out / "report.html").read_text(encoding="utf-8")
    assert html.count("data:image/png;base64,") == 4
    assert "http" not in html
    for name in ("freshness", "recall", "staleness", "cost"):
        assert (out / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    from pyarrow import parquet

    assert parquet.read_table(out / "results.parquet").num_rows == 24


async def test_killed_and_resumed_gives_the_same_table(orchestra: Command, tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert orchestra("tune", "small.yaml", "--out", whole).code == 0
    process = orchestra.start("tune", "small.yaml", "--out", killed)

    def some() -> bool:
        return len(list((killed / "trials").glob("*.json"))) >= 3

    await until("three trials are kept", some, seconds=30)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    left = len(list((killed / "trials").glob("*.json")))
    assert not (killed / "results.csv").exists()
    refused = orchestra("tune", "small.yaml", "--out", killed)
    assert (refused.code, "--resume" in refused.err) == (2, True)
    again = orchestra("tune", "small.yaml", "--out", killed, "--resume")
    assert again.code == 0, again.err
    assert f"{left} of 24 trials" in again.err
    for name in ("results.csv", "summary.json", "report.html"):
        assert (killed / name).read_bytes() == (whole / name).read_bytes()
    other = SMALL.replace("turns: 60", "turns: 61")
    (tmp_path / "small.yaml").write_text(other, encoding="utf-8")
    assert orchestra("tune", "small.yaml", "--out", killed, "--resume").code == 2


def test_own_transcripts(orchestra: Command, tmp_path: Path) -> None:
    said = ["My budget is 900 euros.", "I live in Graz.", "Thanks!", "Make the budget 1200 euros instead.", "Bye."] * 2
    lines = [
        json.dumps({"role": role, "content": text})
        for one in said
        for role, text in (("user", one), ("assistant", "Ok."))
    ]
    (tmp_path / "mine.jsonl").write_text("\n".join(lines), encoding="utf-8")
    text = "workloads: [{dataset: transcript, path: mine.jsonl}]\nevery: [1, 3]\nrunner: local\nworkers: 1\n"
    (tmp_path / "mine.yaml").write_text(text, encoding="utf-8")
    done = orchestra("tune", "mine.yaml", "--out", "out")
    assert done.code == 0, done.err
    assert "Take every" in done.out
    assert "transcript  1 conversation, 5 facts" in done.out
    said_of_it = " ".join(done.out.split())
    assert "Fewer than 3 conversations of transcript" in said_of_it
    assert "they tell what is late, not what is overlooked" in said_of_it
    (tmp_path / "mine.jsonl").write_text("\n".join([lines[0], '{"role": "user"}']), encoding="utf-8")
    done = orchestra("tune", "mine.yaml", "--out", "out2")
    assert (done.code, done.out) == (2, "")
    assert "mine.jsonl:2: content: is missing" in done.err
    assert not (tmp_path / "out2").exists()


def test_a_model_costs_and_is_asked_for(orchestra: Command, tmp_path: Path) -> None:
    replies = "".join(
        f"- calls: [{{name: core_memory_append, arguments: {{label: memory, content: note {i}}}}}]\n"
        "- calls: [{name: memory_finish_edits, arguments: {}}]\n"
        for i in range(1)
    )
    (tmp_path / "replies.yaml").write_text(replies, encoding="utf-8")
    text = (
        "workloads: [{turns: 12}]\nevery: [4]\nbaselines: []\nconsolidator: [llm]\nmodel: scripted:replies.yaml\n"
        "seeds: [1, 2, 3]\nrunner: local\nworkers: 1\nspending: {ask_above: 0}\n"
    )
    (tmp_path / "llm.yaml").write_text(text, encoding="utf-8")
    assert orchestra("tune", "llm.yaml", "--out", "no").code == 130
    assert not (tmp_path / "no").exists()
    done = orchestra("tune", "llm.yaml", "--out", "yes", "--yes")
    assert done.code == 0, done.err
    rows = table(tmp_path / "yes")
    assert all(int(row["passes"]) == 3 for row in rows)
    assert all(int(row["block_chars"]) > 0 for row in rows)
    capped = text.replace("ask_above: 0", "cap: 0.000001")
    (tmp_path / "llm.yaml").write_text(capped, encoding="utf-8")
    done = orchestra("tune", "llm.yaml", "--out", "capped", "--yes")
    assert "2 of 3 trials were not played: the cap on spending was reached" in done.out


@pytest.mark.ray
def test_on_ray_tune_the_numbers_are_the_same(orchestra: Command, tmp_path: Path) -> None:
    small = SMALL.replace("every: [1, 2, 5, off]", "every: [2, 5]").replace("triggers: [adaptive]", "baselines: []")
    (tmp_path / "small.yaml").write_text(small, encoding="utf-8")
    assert orchestra("tune", "small.yaml", "--out", "local").code == 0
    (tmp_path / "small.yaml").write_text(small.replace("runner: local", "runner: ray"), encoding="utf-8")
    done = orchestra("tune", "small.yaml", "--out", "ray", "--json")
    assert done.code == 0, done.err
    assert done.json["workloads"][0]["recommended"]
    assert (tmp_path / "ray" / "results.csv").read_bytes() == (tmp_path / "local" / "results.csv").read_bytes()
    again = orchestra("tune", "small.yaml", "--out", "ray", "--resume")
    assert (again.code, "6 of 6 trials" in again.err) == (0, True), again.err
    optuna = small.replace("runner: local", "runner: ray\nsearch: optuna\ntrials: 2")
    (tmp_path / "small.yaml").write_text(optuna, encoding="utf-8")
    done = orchestra("tune", "small.yaml", "--out", "picked")
    assert done.code == 0, done.err
    assert "Take every" in done.out
