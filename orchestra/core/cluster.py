"""The cluster file: where Ray and Redis are, how many hosts there are, what code they need."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from orchestra.core.names import check_namespace


class RayConfig(BaseModel):
    """``address``: ``local`` starts a private Ray, ``auto`` joins the running one, ``ray://…`` or ``host:port`` a named one.

    ``object_store_mb`` and ``num_cpus`` are used only by ``local``.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    address: str = "local"
    num_cpus: int | None = Field(default=None, gt=0)
    object_store_mb: int = Field(default=100, ge=75)


class RedisConfig(BaseModel):
    """``url``: ``embedded`` or a ``redis://``, ``rediss://`` or ``unix://`` address.

    ``durability`` is the embedded server's ``appendfsync``: ``always`` syncs each write before it is acknowledged.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: str = "embedded"
    durability: Literal["always", "everysec"] = "always"

    @field_validator("url")
    @classmethod
    def _url(cls, url: str) -> str:
        if url != "embedded" and not re.match(r"(redis|rediss|unix)://", url):
            raise ValueError("use embedded, redis://host:port/db, rediss://… or unix:///path/to/socket")
        return url


class HostsConfig(BaseModel):
    """How many actors host agents, apart for turns and for sleep-time passes."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    primary: int = Field(default=1, gt=0)
    sleeptime: int = Field(default=1, ge=0)
    max_concurrent_turns: int = Field(default=1000, gt=0)
    max_pending: int = Field(default=10000, gt=0)
    cache_mb: int = Field(default=64, gt=0)


class ClusterConfig(BaseModel):
    """A cluster. ``code`` are folders and files shipped to every host; ``data_dir`` keeps the embedded server's data."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    namespace: str = "default"
    ray: RayConfig = RayConfig()
    redis: RedisConfig = RedisConfig()
    code: tuple[Path, ...] = ()
    hosts: HostsConfig = HostsConfig()
    data_dir: Path = Path(".orchestra")

    @field_validator("namespace")
    @classmethod
    def _namespace(cls, name: str) -> str:
        return check_namespace(name)

    @model_validator(mode="after")
    def _embedded_is_local(self) -> ClusterConfig:
        if self.redis.url == "embedded" and self.ray.address.startswith("ray://"):
            raise ValueError(
                "redis.url embedded listens on this machine only and ray.address names another one; "
                "give redis.url the address of a server that all machines reach"
            )
        return self
