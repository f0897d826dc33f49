"""The cluster file: where Ray and Redis are, how many hosts there are, what code they need."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from orchestra.core.durations import Seconds
from orchestra.core.errors import ConfigError
from orchestra.core.names import check_namespace


class RayConfig(BaseModel):
    """``address``: ``local`` starts a private Ray, ``auto`` joins the running one, the others a named one.

    ``object_store_mb`` and ``num_cpus`` are used only by ``local``.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    address: str = "local"
    """local, auto, ray://host:port or host:port."""
    num_cpus: int | None = Field(default=None, gt=0)
    """How many processors a local Ray may use; left out: all."""
    object_store_mb: int = Field(default=100, ge=75)
    """The memory of a local Ray's object store, in MB."""


class RedisConfig(BaseModel):
    """``url``: ``embedded`` or a ``redis://``, ``rediss://`` or ``unix://`` address.

    ``durability`` is the embedded server's ``appendfsync``: ``always`` syncs each write before it is acknowledged.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    url: str = "embedded"
    """embedded, or a redis://, rediss:// or unix:// address."""
    durability: Literal["always", "everysec"] = "always"
    """How often the embedded server syncs to disk: at each write, or each second."""

    @field_validator("url")
    @classmethod
    def _url(cls, url: str) -> str:
        if url != "embedded" and not re.match(r"(redis|rediss|unix)://", url):
            raise ValueError("use embedded, redis://host:port/db, rediss://… or unix:///path/to/socket")
        if url.startswith("redis"):
            try:
                _ = urlsplit(url).port
            except ValueError:
                raise ValueError("the port is no number; use redis://host:port/db") from None
        return url


class HostsConfig(BaseModel):
    """How many actors host agents, apart for turns and for sleep-time passes."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    primary: int = Field(default=1, gt=0)
    """How many actors host agents."""
    sleeptime: int = Field(default=1, ge=0)
    """How many actors do sleep-time passes."""
    max_concurrent_turns: int = Field(default=1000, gt=0)
    """How many turns one host works on at a time."""
    max_pending: int = Field(default=10000, gt=0)
    """How many turns may wait for one host."""
    cache_mb: int = Field(default=24, gt=0)
    """The memory of one host's cache of recent sessions, in MB."""
    heartbeat_seconds: float = Field(default=2.0, gt=0)
    """A host that missed five heartbeats is dead; its sessions and passes go to others."""


class EmbeddingsConfig(BaseModel):
    """What turns text into vectors, for searching by meaning."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    model: str = "auto"
    """auto (all-MiniLM-L6-v2 where it is installed), a folder, a name, package.module:factory, or none: words only."""
    index: Literal["scan", "vectorset", "auto"] = "scan"
    """Who compares vectors: scan (this process), vectorset (the server, Redis 8), auto (the server if it can).

    ``scan`` is the default: it is exact, works with every server, and takes 1.6 ms among 32,000 passages. ``vectorset``
    holds nothing in the processes, shares one copy among all, and rounds to 8 bits; docs/archive.md compares the two.
    A server without vector sets is an error at the start.
    """


class SnapshotsConfig(BaseModel):
    """How long snapshots of sessions are kept, and where the files of workspaces are."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    ttl: Seconds | None = None
    """How long a snapshot is kept: 30d, 12h, or seconds; left out: until it is deleted."""
    workspaces: str | None = None
    """Where the files of workspaces are kept: a folder, or a URL for fsspec; left out: workspaces in data_dir."""
    max_mb: int = Field(default=1024, gt=0)
    """How large the files of one workspace may be together, in MB."""


class ClusterConfig(BaseModel):
    """A cluster: where it runs, what it ships to every host, and where the embedded server keeps its data."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    namespace: str = "default"
    """The tenant: keys, blocks and sessions of its own. Lower-case letters, digits and hyphens."""
    ray: RayConfig = RayConfig()
    """Where Ray is."""
    redis: RedisConfig = RedisConfig()
    """Where Redis is."""
    code: tuple[Path, ...] = ()
    """Folders and files that are shipped to every host, relative to this file."""
    hosts: HostsConfig = HostsConfig()
    """How many actors there are, and what they may hold."""
    embeddings: EmbeddingsConfig = EmbeddingsConfig()
    """What turns text into vectors."""
    snapshots: SnapshotsConfig = SnapshotsConfig()
    """How long snapshots are kept, and where the files of workspaces are."""
    data_dir: Path = Path(".orchestra")
    """Where the embedded server keeps its data, relative to the current directory."""

    @field_validator("namespace")
    @classmethod
    def _namespace(cls, name: str) -> str:
        return check_namespace(name)

    @model_validator(mode="after")
    def _embedded_is_local(self) -> ClusterConfig:
        if self.redis.url == "embedded" and self.ray.address.startswith("ray://"):
            raise ConfigError(
                "the embedded server listens on this machine only, and ray.address names another one",
                field="redis.url",
                hint="Give the address of a server that all machines reach",
            )
        return self
