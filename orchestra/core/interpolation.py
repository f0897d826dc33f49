"""Variables in configuration values: ``${NAME}``, ``${NAME:-default}``, and ``$${`` for a literal ``${``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_VARIABLE = re.compile(r"\$\$\{|\$\{(?P<inner>[^}]*)(?P<close>\}?)")
_INNER = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>.*))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Filled:
    """A text with its variables filled in. ``used`` tells whether there were any; ``problems`` what could not be."""

    text: str
    used: bool = False
    problems: tuple[tuple[str, str], ...] = ()


def interpolate(text: str, variables: Mapping[str, str]) -> Filled:
    """Fill in ``text``. As in a shell, a default also stands in for a variable that is set but empty.

    What is filled in is not looked at again, so a value that holds ``${`` stays as it is. ``problems`` are pairs of
    (problem, hint).
    """
    problems: list[tuple[str, str]] = []
    used = False

    def fill(found: re.Match[str]) -> str:
        nonlocal used
        if found[0] == "$${":
            return "${"
        used = True
        if not found["close"]:
            problems.append((f"{found[0]!r} is not closed by '}}'", "Write $${ for a literal ${"))
            return ""
        inner = _INNER.fullmatch(found["inner"])
        if inner is None:
            problems.append(
                (f"{found[0]!r} is not a variable", "Write ${NAME} or ${NAME:-default}, and $${ for a literal ${")
            )
            return ""
        name, default = inner["name"], inner["default"]
        value = variables.get(name)
        if default is not None and not value:
            return default
        if value is None:
            problems.append(
                (f"the environment variable {name} is not set", f"Set it, or give a default: ${{{name}:-default}}")
            )
            return ""
        return value

    filled = _VARIABLE.sub(fill, text)
    return Filled(filled, used, tuple(problems))


def escape(text: str) -> str:
    """``text`` written so that :func:`interpolate` gives it back unchanged."""
    return text.replace("${", "$${")
