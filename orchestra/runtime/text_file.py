"""Reading a file as text, and saying plainly why that does not work."""

from __future__ import annotations

import os
from pathlib import Path

from orchestra.core.document import nearest
from orchestra.core.errors import ConfigError


def shown(path: Path) -> str:
    """``path`` for messages: without ``..``, and relative to the current directory when it is below it."""
    full = Path(os.path.abspath(path))
    try:
        return str(full.relative_to(Path.cwd()))
    except ValueError:
        return str(full)


def read_text(path: Path, *, what: str) -> str:
    """The text of the UTF-8 file at ``path``; ``what`` is its kind (``agent file``), for messages.

    Raises :class:`ConfigError` when it is missing, a directory, not readable or not UTF-8.
    """
    name = shown(path)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise ConfigError(f"there is no such {what}", name, hint=_neighbour(path)) from None
    except IsADirectoryError:
        raise ConfigError(f"this is a directory, not {_article(what)} {what}", name, hint="Name a file in it") from None
    except NotADirectoryError:
        raise ConfigError(f"there is no such {what}; a part of the path is a file", name) from None
    except OSError as error:
        raise ConfigError(f"the {what} cannot be read: {error.strerror}", name) from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError("the text is not UTF-8", name, line, None, "Save the file as UTF-8") from None


def _article(noun: str) -> str:
    return "an" if noun[0] in "aeiou" else "a"


def _neighbour(path: Path) -> str:
    """The file nearby that was perhaps meant."""
    folder = path.parent
    if not folder.is_dir():
        return f"There is no directory {shown(folder)}"
    return nearest(path.name, sorted(item.name for item in folder.iterdir() if item.is_file()))
