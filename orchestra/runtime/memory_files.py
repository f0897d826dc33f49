"""The memory files of a workspace: loaded at the start of a session, written to by the agent at their end only."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from orchestra.core.errors import ToolError
from orchestra.core.own_thread import in_own_thread
from orchestra.memory.workspace import folder_lock
from orchestra.runtime.tool import Tool
from orchestra.runtime.tool_context import ToolContext

MEMORY = "MEMORY.md"
LARGEST = 1 << 20


def today(at: float, time_zone: str) -> str:
    """The day there, such as 2026-03-31."""
    zone = UTC if time_zone == "UTC" else ZoneInfo(time_zone)
    return datetime.fromtimestamp(at, zone).date().isoformat()


def read_files(folder: Path, names: Sequence[str], day: str) -> list[tuple[str, str | None]]:
    """(name, text) of each file, ``{today}`` filled in; ``None`` where there is none. Nothing outside of ``folder``."""
    return [(filled, _text(folder, filled)) for filled in (name.replace("{today}", day) for name in names)]


def _text(folder: Path, name: str) -> str | None:
    try:
        place = (folder / name).resolve()
        if not place.is_relative_to(folder.resolve()):
            return None
        with place.open("rb") as file:
            return file.read(LARGEST).decode("utf-8", errors="replace")
    except OSError:
        return None


def append(folder: Path, name: str, text: str) -> int:
    """Add lines to a file, whole or not at all; how many bytes it has now.

    The new file takes the place of the old one in one step, so whoever reads it meanwhile sees one of the two.
    """
    place = folder / name
    place.parent.mkdir(parents=True, exist_ok=True)
    if place.is_symlink() or not place.resolve().is_relative_to(folder.resolve()):
        raise ToolError(f"{name} leads out of the workspace")
    before = place.read_bytes() if place.exists() else b""
    gap = b"" if not before or before.endswith(b"\n") else b"\n"
    made = before + gap + text.rstrip("\n").encode() + b"\n"
    descriptor, temporary = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name}-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(made)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, place)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return len(made)


async def memory_file_append(path: str, text: str, ctx: ToolContext) -> str:
    """Add a note to the end of one of your memory files. They are shown to you at the start of the next session.

    Args:
        path: MEMORY.md for what always holds, or memory/DAY.md with today's date, such as memory/2026-03-31.md.
        text: The new lines.
    """
    folder = ctx.workspace
    if folder is None:
        raise ToolError("there is no workspace here")
    allowed = (MEMORY, f"memory/{ctx.today()}.md")
    if path not in allowed:
        raise ToolError(f"{path!r} cannot be written; the files are {' and '.join(allowed)}")
    if not text.strip():
        raise ToolError("there is nothing to add: the text is empty")
    async with folder_lock(folder):
        size = await in_own_thread(append, folder, path, text)
    return f"{path}: {size} bytes"


FILE_TOOL = Tool(memory_file_append)
