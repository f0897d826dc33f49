"""The Lua scripts: one file each, with small shared pieces that their first line names (``-- include clock moved``)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib import resources


@dataclass(frozen=True, slots=True)
class Script:
    """A script's text and its SHA-1, by which the server knows it."""

    name: str
    text: str
    sha: str


@cache
def script(name: str) -> Script:
    """The script in ``lua/<name>.lua`` with its included pieces in front."""
    folder = resources.files("orchestra.store") / "lua"
    body = (folder / f"{name}.lua").read_text(encoding="utf-8")
    first = body.split("\n", 1)[0]
    pieces = first.removeprefix("-- include ").split() if first.startswith("-- include ") else []
    text = "\n".join([*((folder / f"_{piece}.lua").read_text(encoding="utf-8") for piece in pieces), body])
    return Script(name, text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest())
