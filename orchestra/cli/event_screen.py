"""What one event of the feed looks like: one line."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from rich.text import Text

from orchestra.cluster.scenario.passes import PassReport
from orchestra.core.names import split_thread


def event_line(event: Mapping[str, str]) -> Text:
    """Time, what happened, where."""
    at = datetime.fromtimestamp(int(event["id"].partition("-")[0]) / 1000).astimezone()
    line = Text.assemble((f"{at:%H:%M:%S}.{at.microsecond // 1000:03d} ", "dim"))
    agent, session = split_thread(event.get("thread", ""))
    where = f"{agent}, session {session}"
    if event["type"] == "turn":
        line.append(f"turn {event['turn']}", "bold green")
        line.append(f" {event['status']}: {where}")
        if event.get("due") == "1":
            line.append("; a pass is due", "magenta")
    elif event["type"] == "block":
        line.append(f"block {event['label']}", "bold cyan")
        line.append(f" version {event['version']}, {event['op']} by {event['author'].removeprefix('agent:')}")
    elif event["type"] == "pass" and event["status"] == "published":
        report = PassReport.from_text(event["report"])
        changed = ", ".join(block.label for block in report.changed) or "nothing"
        line.append(f"pass after turn {report.turn}", "bold magenta")
        line.append(f": {where}; {report.messages} messages read, changed {changed}, {report.seconds:.2f} s")
    elif event["type"] == "pass":
        line.append(f"pass {event['status']}", "bold yellow")
        line.append(f": {where}; {event.get('error', '')}")
    elif event["type"] == "compaction" and event["status"] == "recorded":
        line.append(f"compaction {event['cycle']}", "bold blue")
        line.append(f": {where}; {event['before']} tokens before, {event['after']} after; {event['reason']}")
    elif event["type"] in ("compaction", "flush"):
        failed = event["status"] == "failed"
        line.append("memory flush" if event["type"] == "flush" else "compaction", "bold blue")
        line.append(f" {event['status']}", "bold yellow" if failed else "")
        line.append(f": {where}" + (f"; {event['reason'].removeprefix('; ')}" if event["reason"] else ""))
    elif event["type"] == "closed":
        done = event["status"] == "published"
        line.append(
            "session closed" if done else f"closing {event['status']}", "bold magenta" if done else "bold yellow"
        )
        why = f"; {event['error']}" if event["error"] else ""
        line.append(f": {where}" + (f", summary {event['passage']}" if event["passage"] else why))
    else:
        line.append(" ".join(f"{name}={value}" for name, value in event.items() if name != "id"))
    return line
