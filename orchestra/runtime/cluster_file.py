"""Cluster files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from orchestra.core.cluster import ClusterConfig
from orchestra.core.document import Document
from orchestra.core.errors import ConfigError
from orchestra.core.validation import raise_all, validated
from orchestra.core.yamltext import parse
from orchestra.runtime.environment import cluster_from_environment
from orchestra.runtime.override import Override, apply, parse_overrides
from orchestra.runtime.text_file import read_text, shown


def load_cluster(
    source: str | Path | Mapping[str, object] | ClusterConfig | None = None,
    *,
    overrides: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
) -> ClusterConfig:
    """The cluster in the file ``source``, in a mapping, or (``None``) on this machine.

    ``overrides`` (``key=value``) win over ``ORCHESTRA_REDIS_URL``, ``ORCHESTRA_RAY_ADDRESS`` and
    ``ORCHESTRA_NAMESPACE`` of ``environment`` (default: the process's), and these over ``source``. A
    :class:`ClusterConfig` is taken as it is, apart from overrides. ``code`` comes back absolute, relative to the file;
    a folder for ``snapshots.workspaces`` likewise;
    ``data_dir`` too, relative to the current directory. Raises :class:`ConfigError` with all faults.
    """
    parsed = parse_overrides(overrides)
    if isinstance(source, ClusterConfig):
        if not parsed:
            return source
        return finish_cluster(Document(source.model_dump(mode="json")), Path.cwd(), overrides=parsed, environment={})
    if source is None or isinstance(source, Mapping):
        return finish_cluster(Document(dict(source or {})), Path.cwd(), overrides=parsed, environment=environment)
    return read_cluster(Path(source), overrides=parsed, environment=environment)


def read_cluster(
    path: Path, *, overrides: Sequence[Override] = (), environment: Mapping[str, str] | None = None
) -> ClusterConfig:
    """The cluster in the file at ``path``; see :func:`load_cluster`."""
    variables = os.environ if environment is None else environment
    document = parse(read_text(path, what="cluster file"), file=shown(path), variables=variables)
    return finish_cluster(document, path.parent, overrides=overrides, environment=environment)


def finish_cluster(
    document: Document,
    directory: Path,
    *,
    overrides: Sequence[Override] = (),
    environment: Mapping[str, str] | None = None,
) -> ClusterConfig:
    """The cluster of ``document``, whose ``code`` is relative to ``directory``."""
    document = cluster_from_environment(document, os.environ if environment is None else environment)
    document = apply(document, overrides)
    config = validated(ClusterConfig, document)
    code: list[Path] = []
    errors: list[ConfigError] = []
    for i, path in enumerate(config.code):
        base = directory if document.setter(("code", i)) is None else Path.cwd()
        full = Path(os.path.abspath(base / path.expanduser()))
        if not full.exists():
            errors.append(document.fault(("code", i), f"{shown(full)}: there is no such file or folder"))
        code.append(full)
    raise_all(errors)
    data_dir = Path(os.path.abspath(config.data_dir.expanduser()))
    snapshots = config.snapshots
    if snapshots.workspaces is not None and "://" not in snapshots.workspaces:
        base = directory if document.setter(("snapshots", "workspaces")) is None else Path.cwd()
        kept = os.path.abspath(base / Path(snapshots.workspaces).expanduser())
        snapshots = snapshots.model_copy(update={"workspaces": kept})
    return config.model_copy(update={"code": tuple(code), "data_dir": data_dir, "snapshots": snapshots})
