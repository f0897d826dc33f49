"""``orchestra init``: a new project."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path
from typing import Annotated

import typer

from orchestra.cli.options import Json
from orchestra.core.errors import InputError

TEMPLATE = Path(__file__).parent / "template"


def init(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A folder that is empty or does not exist yet.")],
    json: Json = False,
) -> None:
    """Make a new project: an agent, a tool, a cluster file and a scenario that runs."""
    from orchestra.cli.console import out, print_json

    files = copy_template(directory)
    if json:
        print_json({"directory": str(directory), "files": [str(file) for file in files]})
        return
    console = out()
    for file in files:
        console.print(f"  {directory / file}", soft_wrap=True)
    console.print()
    console.print(f"next: cd {shlex.quote(str(directory))} && orchestra run configs/scenario.yaml", soft_wrap=True)


def copy_template(directory: Path) -> list[Path]:
    """Copy the template; its files, relative to ``directory``. Raises :class:`InputError`, and writes nothing then."""
    if directory.exists() and not directory.is_dir():
        raise InputError(f"{directory} is a file; name a folder")
    if directory.is_dir() and any(directory.iterdir()):
        raise InputError(f"{directory} is not empty; name a new or an empty folder")
    try:
        shutil.copytree(TEMPLATE, directory, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
    except OSError as error:
        raise InputError(f"{directory}: {error.strerror or error}") from None
    return sorted(file.relative_to(directory) for file in directory.rglob("*") if file.is_file())
