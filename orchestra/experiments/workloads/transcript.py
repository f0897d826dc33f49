"""Any conversation as JSON lines of ``{role, content, timestamp}``: one's own."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from orchestra.core.errors import ConfigError
from orchestra.experiments.workloads.data_file import Item, read_json_lines
from orchestra.experiments.workloads.dialogue import Dialogue, Speaker, in_turns
from orchestra.runtime.text_file import shown


def load_transcripts(path: Path, *, workload: str = "transcript") -> tuple[Dialogue, ...]:
    """The conversation in the file, or those of all ``*.jsonl`` files of a folder, without any questions yet.

    Messages of other roles than user and assistant are left out and counted. ``timestamp`` (or ``at``) may be missing;
    it is ISO 8601 or Unix seconds.

    Raises:
        ConfigError: there is no such file, or one is not of that format; names line and field.
    """
    files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
    if not files:
        raise ConfigError("there is no .jsonl file in this folder", shown(path))
    return tuple(_dialogue(file, workload) for file in files)


def _dialogue(file: Path, workload: str) -> Dialogue:
    said: list[tuple[Speaker, str, float]] = []
    left = 0
    for line in read_json_lines(file):
        role = line["role"].text()
        if role not in ("user", "assistant"):
            left += 1
            continue
        said.append(("user" if role == "user" else "assistant", line["content"].text(), _time(line)))
    if not said:
        raise ConfigError("the file has no message of a user or an assistant", shown(file))
    defects = {"messages of other roles, left out": left} if left else {}
    return Dialogue(workload, file.stem, in_turns(said), (), (), defects)


def _time(line: Item) -> float:
    """Unix seconds; 0 when the message tells none."""
    given = line.maybe("timestamp") or line.maybe("at")
    if given is None:
        return 0.0
    if isinstance(given.value, int | float) and not isinstance(given.value, bool):
        return float(given.value)
    try:
        return datetime.fromisoformat(given.text()).timestamp()
    except ValueError:
        raise given.fault(f"must be a time such as 2026-03-31T10:00:00, not {given.text()!r}") from None
