"""``code:`` of the cluster file: on the import path, and as a part of what a host was made from."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import orchestra
from orchestra.core.cluster import ClusterConfig
from orchestra.core.jsontext import dumps


def extend_path(code: Sequence[Path]) -> None:
    """Make each folder's modules importable by their own name and through the folder's, each file's by its name.

    At the end of the path, where nothing is hidden by it. What does not exist on this machine was shipped by Ray.
    """
    for path in code:
        for folder in (path.parent, path) if path.is_dir() else (path.parent,):
            if folder.is_dir() and str(folder) not in sys.path:
                sys.path.append(str(folder))


def host_version(config: ClusterConfig) -> str:
    """A hash of what a host is made from: the configuration, the shipped code, this package."""
    value = hashlib.blake2b(digest_size=8)
    made_from = config.model_dump(mode="json", exclude={"ray"})
    made_from["hosts"] = {k: v for k, v in made_from["hosts"].items() if k not in ("primary", "sleeptime")}
    value.update(dumps(made_from).encode())
    for root in (*config.code, Path(orchestra.__file__).parent):
        for file in _files(root):
            value.update(f"\x1f{file}\x1f".encode())
            value.update(file.read_bytes())
    return value.hexdigest()


def ray_version(config: ClusterConfig) -> str:
    """A hash of what the head is made from."""
    return hashlib.blake2b(dumps(config.ray.model_dump(mode="json")).encode(), digest_size=8).hexdigest()


def _files(root: Path) -> Iterator[Path]:
    if root.is_file():
        yield root
        return
    for path in sorted(root.rglob("*")):
        hidden = any(part.startswith((".", "__pycache__")) for part in path.relative_to(root).parts)
        if path.is_file() and not hidden and path.suffix != ".pyc":
            yield path
