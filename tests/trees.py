"""Trees of files for tests: what a folder looks like, and folders made from a description."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

# (mode, content) is a file, (mode, None) a folder, a text a link
Node: TypeAlias = "tuple[int, bytes | None] | str"
Tree: TypeAlias = "dict[str, Node]"


def tree_of(folder: Path) -> Tree:
    """All that is in a folder, the folder itself as ``""``."""
    found: Tree = {"": (stat.S_IMODE(folder.stat().st_mode), None)}
    for path in folder.rglob("*"):
        name, mode = str(path.relative_to(folder)), stat.S_IMODE(path.lstat().st_mode)
        if path.is_symlink():
            found[name] = os.readlink(path)
        else:
            found[name] = (mode, None if path.is_dir() else path.read_bytes())
    return found


def make_tree(folder: Path, tree: Mapping[str, Node]) -> Path:
    """A folder that looks like ``tree`` (parents first); whatever was there is changed in place."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, node in tree.items():
        path = folder / name
        if isinstance(node, str):
            path.symlink_to(node)
        elif node[1] is None:
            path.mkdir(exist_ok=True)
        else:
            path.write_bytes(node[1])
            path.chmod(node[0])
    for name, node in reversed(tree.items()):
        if not isinstance(node, str) and node[1] is None:
            (folder / name).chmod(node[0])
    return folder
