"""What a host actor is told when it is made. Plain values, so that a restarted actor gets the same."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from orchestra.core.cluster import ClusterConfig, EmbeddingsConfig, HostsConfig, RedisConfig
from orchestra.memory.workspace import WorkspaceStore

Role: TypeAlias = Literal["primary", "sleeptime"]


@dataclass(frozen=True, slots=True)
class HostSettings:
    """One host of a cluster.

    ``launch`` tells apart hosts of one name that belong to different launches (two programs with private hosts in one
    namespace). ``version`` is the hash of what the host was made from. ``lasting``: it stays when its maker ends.
    """

    role: Role
    number: int
    launch: str
    namespace: str
    redis: RedisConfig
    data_dir: Path
    code: tuple[Path, ...]
    hosts: HostsConfig
    version: str = ""
    embeddings: EmbeddingsConfig = field(default_factory=EmbeddingsConfig)
    lasting: bool = False
    workspaces: WorkspaceStore | None = None

    @property
    def actor_name(self) -> str:
        """``primary-0``."""
        return f"{self.role}-{self.number}"

    @property
    def name(self) -> str:
        """``primary-0@launch``; an incarnation's id is this, another ``@``, and a part that is new with each start."""
        return f"{self.actor_name}@{self.launch}"


def settings_of(name: str, config: ClusterConfig, launch: str, version: str, *, lasting: bool = False) -> HostSettings:
    """The host ``name`` (``primary-0``) of a cluster."""
    role, _, number = name.partition("-")
    return HostSettings(
        "primary" if role == "primary" else "sleeptime",
        int(number),
        launch,
        config.namespace,
        config.redis,
        config.data_dir,
        config.code,
        config.hosts,
        version,
        config.embeddings,
        lasting,
        WorkspaceStore.of(config),
    )


def host_names(config: ClusterConfig) -> tuple[str, ...]:
    """The names of all hosts of a cluster, the primary ones first."""
    primary = (f"primary-{number}" for number in range(config.hosts.primary))
    return (*primary, *(f"sleeptime-{number}" for number in range(config.hosts.sleeptime)))
