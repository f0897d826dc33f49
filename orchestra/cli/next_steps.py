"""What to type after a play."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from orchestra.cli.places import agent_path, cluster_of
from orchestra.cluster.scenario import PlayReport
from orchestra.core.errors import OrchestraError
from orchestra.core.yamltext import parse


@dataclass(frozen=True, slots=True)
class Step:
    """A command, and what it does."""

    command: str
    what: str


def next_steps(
    report: PlayReport, *, given: str, cluster: Path | None, inline: bool, overrides: Sequence[str] = ()
) -> list[Step]:
    """Commands that make sense now, as they must be typed here: with the same options, so that they mean the same."""
    program = _program()
    where = _cluster_option(report, cluster)
    mode = " --inline" if inline else ""
    own = f" --cluster {shlex.quote(str(cluster))}" if cluster is not None else ""
    same = "".join(f" --set {shlex.quote(item)}" for item in overrides)
    play = f"{program} run {shlex.quote(given)}{own}{same}{mode}"
    opened, changed = report.opened, [one.block for p in report.passes for one in p.changed]
    steps = []
    if report.loaded.scenario.follow_up and report.ok and opened.part in ("turns", "rest"):
        steps.append(Step(play, "again: finds the session, asks what only memory can answer"))
    if changed:
        block = max(dict.fromkeys(changed), key=changed.count)
        steps.append(Step(f"{program} blocks blame {block}{where}", "which messages each line came from"))
    user = f" --user {shlex.quote(opened.user)}" if opened.user else ""
    if opened.kind == "agent":
        agent = shlex.quote(_agent_name(report))
        steps.append(
            Step(f"{program} chat {agent} --session {shlex.quote(opened.session)}{user}{where}{mode}", "go on yourself")
        )
    else:
        steps.append(Step(f"{program} graph {shlex.quote(given)}", f"the {opened.kind} as a drawing"))
    if report.turns and report.turns[-1].ended.result.status == "interrupted":
        waits = report.turns[-1].ended.result.run_id
        state = " --invocation-state FILE" if report.loaded.scenario.invocation_state else ""
        go_on = f"{program} runs resume {waits} --approve all{state}{where}{mode}"
        steps.insert(0, Step(go_on, "approve what it asks for; without --approve it asks in the terminal"))
    if report.turns and opened.kind != "agent":
        last = report.turns[-1].ended.result.run_id
        steps.append(Step(f"{program} runs show {last}{where}", "what happened in the last run"))
    steps.append(Step(f"{play} --fresh", "start over"))
    return steps


def _program() -> str:
    """``orchestra``, or the path by which this one was started where that name leads nowhere (or elsewhere)."""
    mine = Path(sys.argv[0])
    found = shutil.which("orchestra")
    if mine.name != "orchestra" or not mine.exists() or (found and Path(found).resolve() == mine.resolve()):
        return "orchestra"
    return shlex.quote(_near(mine))


def _cluster_option(report: PlayReport, given: Path | None) -> str:
    """``--cluster FILE`` for commands that would look elsewhere without it."""
    mine = report.loaded.cluster
    try:
        other = cluster_of(None)
    except OrchestraError:
        other = None
    if other is not None and (other.namespace, other.redis, other.data_dir) == (
        *(mine.namespace, mine.redis),
        mine.data_dir,
    ):
        return ""
    path = given
    if path is None:
        named = parse(report.loaded.path.read_text(encoding="utf-8"), file=str(report.loaded.path)).get(("cluster",))
        if not isinstance(named, str):
            return ""  # it stands in the scenario itself: there is no file to name
        path = report.loaded.directory / named
    return f" --cluster {shlex.quote(_near(path))}"


def _agent_name(report: PlayReport) -> str:
    """The agent as ``chat`` finds it here: by its name where that leads to its file, else by the path."""
    scenario = report.loaded.scenario
    names = [agent.name for agent in report.loaded.agents]
    path = Path(report.loaded.directory, scenario.agents[names.index(scenario.run)]).resolve()
    try:
        known = agent_path(scenario.run, Path("agents")).resolve() == path
    except OrchestraError:
        known = False
    return scenario.run if known else _near(path)


def _near(path: Path) -> str:
    """Relative to the current directory when it lies in it."""
    full = path.resolve()
    here = Path.cwd().resolve()
    return str(full.relative_to(here)) if full.is_relative_to(here) else str(full)
