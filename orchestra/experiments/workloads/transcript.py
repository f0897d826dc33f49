"""Any conversation as JSON lines of ``{role, content, timestamp}``: one's own."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from orchestra.core.errors import ConfigError
from orchestra.experiments.workloads.data_file import Item, read_json_lines
from orchestra.experiments.workloads.dialogue import Dialogue, Speaker, in_turns
from orchestra.runtime.text_file import shown

#: Unix seconds of a time that no conversation has: some 30,000 years from now.
_FAR = 1e12


def load_transcripts(path: Path, *, workload: str = "transcript") -> tuple[Dialogue, ...]:
    """The conversation in the file, or those of all ``*.jsonl`` files of a folder, without any questions yet.

    Messages of other roles than user and assistant are left out and counted. ``timestamp`` (or ``at``) is ISO 8601 (UTC
    where it names no zone) or Unix seconds. A message without one counts as said with the one before it.

    Raises:
        ConfigError: there is no such file, or one is not of that format; names line and field.
    """
    files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
    if not files:
        raise ConfigError("there is no .jsonl file in this folder", shown(path))
    return tuple(_dialogue(file, workload) for file in files)


def _dialogue(file: Path, workload: str) -> Dialogue:
    said: list[tuple[Speaker, str, float]] = []
    left, at = 0, None
    for line in read_json_lines(file):
        role = line["role"].text()
        if role not in ("user", "assistant"):
            left += 1
            continue
        given = _time(line)
        if at is None and given is not None:
            said = [(who, text, given) for who, text, _ in said]  # what comes before the first time has no pause
        at = at if given is None else given
        said.append(("user" if role == "user" else "assistant", line["content"].text(), at or 0.0))
    if not said:
        raise ConfigError("the file has no message of a user or an assistant", shown(file))
    defects = {"messages of other roles, left out": left} if left else {}
    return Dialogue(workload, file.stem, in_turns(said), (), (), defects)


def _time(line: Item) -> float | None:
    """Unix seconds; ``None`` when the message tells none."""
    given = line.maybe("timestamp") or line.maybe("at")
    if given is None:
        return None
    if isinstance(given.value, int | float) and not isinstance(given.value, bool):
        if not abs(given.value) < _FAR:
            raise given.fault(f"must be Unix seconds, not {given.value!r:.40}")
        return float(given.value)
    try:
        found = datetime.fromisoformat(given.text())
    except ValueError:
        raise given.fault(f"must be a time such as 2026-03-31T10:00:00, not {given.text()!r}") from None
    # The zone of this machine must not decide about the pauses.
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
