"""The shipped scenarios of patterns, by their names and the real command: what comes out, and what is seen of it."""

from __future__ import annotations

import re

import pytest

from tests.acceptance.cli.orchestra_command import ROOT, Command, Done, write

WRITER = "---\nname: writer\nmodel: scripted:writer.yaml\n---\nWrite.\n"
PLAY = "agents: [writer.md]\nrun: g\ngraph: {nodes: {draft: {run: writer, memory: run}}}\nturns: [Write.]\n"


def played(orchestra: Command, name: str, *arguments: str) -> tuple[Done, Done]:
    """(as people see it, as JSON when started over)."""
    seen = orchestra("run", name, "--inline", *arguments)
    assert seen.code == 0, seen.out + seen.err
    for text in (seen.out, seen.err):
        assert "\x1b" not in text
        assert all(len(line) <= 80 for line in text.splitlines() if not line.startswith("  orchestra "))
        assert not any(line.endswith(" ") for line in text.splitlines())
    return seen, orchestra("run", name, "--inline", "--fresh", "--json", *arguments)


def test_the_research_team_asks_at_once_and_checks_each_figure(orchestra: Command) -> None:
    seen, told = played(orchestra, "research")
    lines = [line.strip() for line in seen.err.splitlines()]
    for start in ("✓ chronicler ", "✓ engineer ", "checker › ✓ look_up_figures(", "✓ checker "):
        assert any(line.startswith(start) for line in lines), seen.err
    assert "model   scripted: lead, checker; extractive: chronicler, engineer" in lines
    assert told.code == 0
    (turn,) = told.json["turns"]
    assert (told.json["kind"], turn["usage"]["model_calls"], turn["usage"]["tool_calls"]) == ("agent", 7, 4)
    assert "500 dollars" not in turn["output"]


def test_the_support_desk_hands_on_and_goes_on_with_whoever_answered_last(orchestra: Command) -> None:
    seen, told = played(orchestra, "support_desk")
    lines = [line.strip() for line in seen.err.splitlines()]
    steps = [line.split("  ")[0] for line in lines if line.startswith(("✓", "→"))]
    assert steps == [
        *("✓ triage", "→ technician", "✓ technician", "→ billing", "✓ billing"),
        *("✓ billing", "→ technician", "✓ technician"),
    ]
    assert any(line.startswith("technician › ✓ line_test(customer=4711)  attenuation 31.5 dB") for line in lines)
    assert told.code == 0
    first, second = told.json["turns"]
    assert [check["ok"] for check in told.json["checks"]] == [True, True]
    assert (first["usage"]["tool_calls"], second["usage"]["tool_calls"]) == (5, 2)
    shown = orchestra("runs", "show", first["run_id"])
    drawn = [line.split("  ")[0] for line in shown.out.split("\n\n")[1].splitlines()]
    assert drawn == [
        *("✓ help_desk", "├─ ✓ triage", "├─ → technician", "├─ ✓ technician", "│"),
        *("├─ → billing", "└─ ✓ billing", "", ""),
    ]
    tree = orchestra("runs", "show", first["run_id"], "--json").json["tree"]
    billing = tree["items"][-1]
    assert [one["name"] for one in billing["items"]] == ["invoices", "credit"]
    assert tree["tokens"] == first["usage"]["input_tokens"] + first["usage"]["output_tokens"]


def test_the_report_is_checked_sent_back_and_published_by_whoever_approves(orchestra: Command) -> None:
    seen = orchestra("run", "report", "--inline")
    assert seen.code == 1
    lines = [line.strip() for line in seen.err.splitlines()]
    steps = [line.split("  ")[0] for line in lines if line.startswith(("✓", "?"))]
    assert set(steps[:3]) == {"✓ output", "✓ outages", "✓ neighbours (listener)"}
    assert steps[3:] == [
        *("✓ draft (writer)", "✓ check", "✓ draft, visit 2 (writer)", "✓ check, visit 2", "? publish"),
    ]
    published = orchestra.folder / "reports/report.md"
    assert not published.exists()
    (offered,) = re.findall(r"orchestra (runs resume \S+ --approve all) --invocation-state FILE --inline", seen.out)
    write(orchestra.folder, {"state.yaml": "folder: reports\n"})
    done = orchestra(*offered.split(), "--invocation-state", "state.yaml", "--inline")
    assert done.code == 0, done.err
    assert done.out.startswith("published, 52 words: In April our four turbines made 2,904 MWh")
    assert published.read_text() == done.out.removeprefix("published, 52 words: ")
    shown = orchestra("runs", "show", offered.split()[2]).out.split("\n\n")[-1].splitlines()
    assert shown[0].startswith("✓ monthly_report  1,178 tokens")
    assert [line.split("  ")[0] for line in shown[-2:]] == ["├─ ✓ check, visit 2", "└─ ✓ publish"]


def test_a_refused_report_is_not_published(orchestra: Command) -> None:
    seen = orchestra("run", "report", "--inline", "--json")
    (turn,) = seen.json["turns"]
    assert (seen.code, turn["status"], turn["interrupts"][0]["node"]) == (1, "interrupted", "publish")
    write(orchestra.folder, {"state.yaml": "folder: reports\n"})
    refusal = f"{turn['interrupts'][0]['id']}=not yet"
    options = "--inline", "--invocation-state", "state.yaml", "--json"
    done = orchestra("runs", "resume", turn["run_id"], "--reject", refusal, *options)
    assert (done.code, done.json["status"], done.json["reason"]) == (1, "failed", "rejected")
    assert not (orchestra.folder / "reports").exists()


def test_starting_over_asks_everybody_again(orchestra: Command) -> None:
    write(orchestra.folder, {"writer.yaml": "- text: First.\n", "writer.md": WRITER, "play.yaml": PLAY})
    assert orchestra("run", "play.yaml", "--inline", "--json").json["turns"][0]["output"] == "First."
    write(orchestra.folder, {"writer.yaml": "- text: Second.\n"})
    again = orchestra("run", "play.yaml", "--inline", "--json", "--fresh").json["turns"][0]
    assert (again["output"], again["duplicate"]) == ("Second.", False)


@pytest.mark.timeout(180)
def test_every_nested_key_is_followed_to_its_end(orchestra: Command) -> None:
    seen, told = played(orchestra, "nested_kv")
    assert re.search(r"✓ look  30 items: 30 completed, [\d,]+ tokens", seen.err)
    assert "✓ output 1: 150 of 150 right" in seen.out
    (turn,) = told.json["turns"]
    assert turn["output"] == "150 of 150 right (nested " + ", ".join(f"{n}: 30 of 30" for n in range(5)) + ")"
    assert turn["usage"]["model_calls"] == 30 * (2 + 3 + 4 + 5 + 6)
    where = "--cluster", str(ROOT / "configs/clusters/words.yaml")
    shown = orchestra("runs", "show", turn["run_id"], *where).out.splitlines()
    assert [line.split("  ")[0] for line in shown[-4:]] == ["✓ nested_kv", "├─ ✓ orders", "├─ ✓ look", "└─ ✓ score"]
    one_order = orchestra("runs", "show", f"{turn['run_id']}.look#1[3]", *where).out
    assert "├─ ✓ read, visit 2 [5]  99 tokens  The value of key" in one_order
    fewer = orchestra(
        *("run", "nested_kv", "--inline", "--fresh", "--json", "--set", "expect={}"),
        *("--set", "turns=[Follow keys nested 0 to 2 deep through 20 pairs in 3 orders. Seed 7.]"),
    )
    assert fewer.json["turns"][0]["output"] == "9 of 9 right (nested 0: 3 of 3, 1: 3 of 3, 2: 3 of 3)"


@pytest.mark.ray
@pytest.mark.timeout(180)
def test_a_swarm_on_ray_is_the_same_as_inline(orchestra: Command) -> None:
    on_ray = orchestra("run", "support_desk", "--json", "--set", "cluster.ray.object_store_mb=78")
    assert on_ray.code == 0, on_ray.err
    inline = orchestra("run", "support_desk", "--json", "--inline", "--fresh").json
    for name in ("output", "usage", "status"):
        assert [turn[name] for turn in on_ray.json["turns"]] == [turn[name] for turn in inline["turns"]]
