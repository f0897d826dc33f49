"""Where a command finds its files: what the user names, else what ships with the package."""

from __future__ import annotations

from pathlib import Path

import orchestra
from orchestra.core.cluster import ClusterConfig
from orchestra.core.document import nearest
from orchestra.core.errors import InputError
from orchestra.runtime.cluster_file import load_cluster

CLUSTER_FILES = ("cluster.yaml", "configs/cluster.yaml", "configs/clusters/local.yaml")


def shipped(folder: str) -> Path:
    """``configs`` or ``agents`` as shipped: inside an installed package, or beside it in a checkout."""
    package = Path(orchestra.__file__).parent
    installed = package / "data" / folder
    return installed if installed.is_dir() else package.parent / folder


def scenario_path(name: str) -> Path:
    """The scenario that ``name`` means: a file, or the name of one that is shipped, such as ``quickstart``.

    Raises :class:`InputError` for a bare name that is neither.
    """
    path = Path(name)
    if path.exists() or path.suffix or len(path.parts) > 1:
        return path
    configs = shipped("configs")
    known = {file.stem: file for folder in (configs, configs / "scenarios") for file in sorted(folder.glob("*.yaml"))}
    if name not in known:
        raise InputError(f"there is no file {name!r}, and no scenario of that name is shipped ({_known(name, known)})")
    return known[name]


def experiment_path(name: str) -> Path:
    """The experiment that ``name`` means: a file, or the name of one that is shipped, such as ``quick``.

    Raises :class:`InputError` for a bare name that is neither.
    """
    path = Path(name)
    # Not a folder: results of `quick` are often in a folder of that name.
    if path.is_file() or path.suffix or len(path.parts) > 1:
        return path
    known = {file.stem: file for file in sorted((shipped("configs") / "experiments").glob("*.yaml"))}
    if name not in known:
        raise InputError(
            f"there is no file {name!r}, and no experiment of that name is shipped ({_known(name, known)})"
        )
    return known[name]


def agent_path(name: str, folder: Path) -> Path:
    """The agent file that ``name`` means: a path, else ``NAME.md`` in ``folder``, else a shipped one.

    Raises :class:`InputError` when there is none.
    """
    path = Path(name)
    if path.suffix == ".md" or len(path.parts) > 1 or path.is_file():
        return path
    folders = (folder, shipped("agents"))
    for place in folders:
        if (found := place / f"{name}.md").is_file():
            return found
    known = [file.stem for place in folders for file in sorted(place.glob("*.md")) if file.stem.upper() != "README"]
    raise InputError(f"there is no agent {name!r} in {folder}/ ({_known(name, list(dict.fromkeys(known)))})")


def cluster_file(given: Path | None) -> Path | None:
    """The cluster file of a command: the one given, else the first of these here, else the shipped local one.

    ``cluster.yaml``, ``configs/cluster.yaml``, ``configs/clusters/local.yaml``.
    """
    if given is not None:
        return given
    here = [Path(name) for name in CLUSTER_FILES]
    local = shipped("configs") / "clusters" / "local.yaml"
    return next((path for path in (*here, local) if path.is_file()), None)


def cluster_of(given: Path | None) -> ClusterConfig:
    """The configuration in :func:`cluster_file`. Raises :class:`ConfigError`."""
    return load_cluster(cluster_file(given))


def _known(name: str, known: object) -> str:
    names = list(known)  # type: ignore[call-overload]
    return nearest(name, names) or f"known: {', '.join(names) or 'none'}"
