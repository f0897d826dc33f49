"""Workspaces: what a snapshot of a folder is, and what can go wrong with one."""

from __future__ import annotations

import hashlib
import json
import posixpath
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal, TypeAlias, cast
from urllib.parse import quote

from orchestra.core.errors import OrchestraError
from orchestra.core.names import derived_id

Kind: TypeAlias = Literal["folder", "file", "link"]
SESSION = "{session}"
NAME_CHARS = 100


class WorkspaceError(OrchestraError):
    """A workspace cannot be kept or brought back; the folder is as it was. Data: ``folder``, ``problem``."""

    def __init__(self, folder: str, problem: str) -> None:
        super().__init__(folder, problem)
        self.folder, self.problem = folder, problem

    def message(self) -> str:
        """Names the folder."""
        return f"workspace {self.folder}: {self.problem}"


class WorkspaceTooLarge(WorkspaceError):
    """The files are larger together than the limit. Data: ``folder``, ``limit`` and ``size``, in bytes."""

    def __init__(self, folder: str, limit: int, size: int) -> None:
        super().__init__(folder, f"its files have {size} bytes or more, the limit is {limit}; raise snapshots.max_mb")
        self.args = (folder, limit, size)
        self.limit, self.size = limit, size


class WorkspaceChanged(WorkspaceError):
    """Somebody wrote files while they were read. Data as in :class:`WorkspaceError`."""

    retryable = True


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing in a folder. ``path`` is relative, with ``/``; the folder itself is ``""``. ``size`` is in bytes."""

    path: str
    kind: Kind
    mode: int = 0
    digest: str = ""
    size: int = 0
    target: str = ""


@dataclass(frozen=True, slots=True)
class Manifest:
    """A folder's shape: all that is in it, sorted by path. The same content gives the same ``id``."""

    entries: tuple[Entry, ...]

    @property
    def id(self) -> str:
        """Thirty-two hexadecimal digits, derived from the content."""
        return hashlib.blake2b(self.to_text().encode(), digest_size=16).hexdigest()

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(entry.size for entry in self.entries)

    def to_text(self) -> str:
        """As it is kept: ASCII, so that names that are no UTF-8 come back as they were."""
        return json.dumps([[e.path, e.kind, e.mode, e.digest, e.size, e.target] for e in self.entries])

    @classmethod
    def from_text(cls, text: str) -> Manifest:
        """The manifest. Raises ``ValueError`` for one that would write outside its folder, or is none."""
        entries = tuple(Entry(*cast("list[str]", item)) for item in json.loads(text))  # type: ignore[arg-type]
        folders = set()
        for entry in entries:
            path = PurePosixPath(entry.path)
            parent = "" if path.parent == PurePosixPath() else str(path.parent)
            plain = not path.is_absolute() and ".." not in path.parts and "\0" not in entry.path + entry.target
            leads = posixpath.normpath(posixpath.join(parent, entry.target)) if entry.kind == "link" else ""
            plain = plain and not entry.target.startswith("/") and leads != ".." and not leads.startswith("../")
            if entry.kind == "folder" and plain and (entry.path == "" or parent in folders):
                folders.add(entry.path)
            elif entry.kind not in ("file", "link") or not plain or not entry.path or parent not in folders:
                raise ValueError(f"{entry.path!r} does not belong into a workspace")
        return cls(entries)


def workspace_folder(template: str, session_id: str | None) -> str | None:
    """The folder that an agent's ``workspace`` means in a session; ``None`` when it is one for each and there is none.

    ``{session}`` stands for the session's id, written so that no two ids share a folder and none leads out of it.
    """
    if SESSION not in template:
        return template
    if session_id is None:
        return None
    name = quote(session_id.encode("utf-8", "surrogatepass"), safe=" ")
    if name.startswith("."):
        name = f"%2E{name[1:]}"
    if len(name) > NAME_CHARS:
        name = f"{name[:NAME_CHARS]}-{derived_id('workspace', session_id)}"
    return template.replace(SESSION, name)
