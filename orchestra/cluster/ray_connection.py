"""Starting a private Ray, or joining one."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import ray

from orchestra.core.cluster import ClusterConfig
from orchestra.core.errors import ClusterError, ConfigError

_lock = threading.Lock()
_uses = 0
_ours = False


class RayConnection:
    """One use of Ray in this process. Ray has one connection per process, so uses share it; the last one closes it.

    A connection that the program made itself (``ray.init``) is joined, whatever the configuration says, and left open.
    """

    def __init__(self) -> None:
        self._open = True

    @classmethod
    def open(cls, config: ClusterConfig, *, address: str | None = None) -> RayConnection:
        """Start or join, as ``config.ray`` says; ``address`` joins that one. Blocks for some seconds.

        Raises:
            ClusterError: Ray does not start or does not answer.
            ConfigError: the embedded server and a Ray of several machines.
        """
        global _uses, _ours
        with _lock:
            if not ray.is_initialized():
                _connect(config, address or config.ray.address)
                _ours = True
            _uses += 1
        connection = cls()
        try:
            _check_server(config)
        except BaseException:
            connection.close()
            raise
        return connection

    def close(self) -> None:
        """End this use. Again does nothing."""
        global _uses, _ours
        with _lock:
            if not self._open:
                return
            self._open = False
            _uses -= 1
            if _uses == 0 and _ours:
                _ours = False
                ray.shutdown()


def _connect(config: ClusterConfig, address: str) -> None:
    options: dict[str, object] = {
        "address": address,
        "namespace": f"orchestra-{config.namespace}",
        "log_to_driver": False,
        "configure_logging": False,
    }
    variables = {"RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0"}
    if address == "local":
        options |= {
            "include_dashboard": False,
            "num_cpus": config.ray.num_cpus,
            "object_store_memory": config.ray.object_store_mb << 20,
        }
        # Ray would turn tokens on by itself, write one into the home directory and leave the mode in the environment.
        variables |= {"RAY_AUTH_MODE": os.environ.get("RAY_AUTH_MODE", "disabled")}
        variables |= {"RAY_USAGE_STATS_ENABLED": os.environ.get("RAY_USAGE_STATS_ENABLED", "0")}
    try:
        with _environment(variables):
            ray.init(**options)
    except Exception as error:
        if ray.is_initialized():
            ray.shutdown()
        what = "a private Ray does not start" if address == "local" else f"Ray at {address} cannot be joined"
        raise ClusterError(f"{what}: {error}") from None


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set variables for a while; afterwards everything is as it was, also what Ray itself has set."""
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        for name in set(os.environ) - set(before):
            del os.environ[name]
        os.environ.update(before)


def _check_server(config: ClusterConfig) -> None:
    if config.redis.url != "embedded":
        return
    machines = sorted({node["NodeManagerAddress"] for node in ray.nodes() if node["Alive"]})
    if len(machines) > 1:
        raise ConfigError(
            f"the embedded server listens on one machine only, and Ray runs on {len(machines)} ({', '.join(machines)})",
            field="redis.url",
            hint="Give the address of a server that all machines reach",
        )
