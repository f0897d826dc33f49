"""Starting a private Ray, or joining one."""

from __future__ import annotations

import logging
import os
import re
import socket
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

import ray

from orchestra.core.cluster import ClusterConfig
from orchestra.core.errors import ClusterError, ConfigError

CONNECT_SECONDS = 3.0
_lock = threading.Lock()
_uses = 0
_ours = False


class RayConnection:
    """One use of Ray in this process. Ray has one connection per process, so uses share it; the last one closes it.

    A connection that the program made itself (``ray.init``) is joined and left open; what other machines need of
    ``code:`` it then ships itself (``runtime_env``), since Ray takes that only when it connects.
    """

    def __init__(self) -> None:
        self._open = True

    @classmethod
    def open(cls, config: ClusterConfig, *, address: str | None = None, auth_mode: str = "") -> RayConnection:
        """Start or join, as ``config.ray`` says; ``address`` joins that one. Blocks for some seconds.

        ``auth_mode`` is the ``RAY_AUTH_MODE`` of the Ray at ``address``, where it is known.

        Raises:
            ClusterError: Ray does not start or does not answer.
            ConfigError: the embedded server and a Ray of several machines.
        """
        global _uses, _ours
        wanted = address or config.ray.address
        with _lock:
            if not ray.is_initialized():
                _connect(config, wanted, auth_mode)
                _ours = True
            elif re.fullmatch(r"[^/]+:\d+", wanted) and wanted != current_address():
                raise ClusterError(
                    f"this process is connected to Ray at {current_address()}, and {wanted} is wanted; Ray has one "
                    "connection per process: use another process"
                )
            _uses += 1
        connection = cls()
        try:
            check_server(config, [node["NodeManagerAddress"] for node in ray.nodes() if node["Alive"]])
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


def _check_listens(address: str) -> None:
    """Fail at once where nothing listens: Ray itself would try for minutes, and cannot be interrupted meanwhile."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_SECONDS).close()
    except (OSError, ValueError) as error:
        raise ClusterError(f"nothing answers at {address} ({error}); is Ray running there?") from None


def _connect(config: ClusterConfig, address: str, auth_mode: str) -> None:
    if address not in ("local", "auto"):
        _check_listens(address)
    options: dict[str, object] = {
        "address": address,
        "namespace": f"orchestra-{config.namespace}",
        "log_to_driver": False,
        "configure_logging": False,
    }
    variables = {"RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0"}
    if auth_mode:
        variables |= {"RAY_AUTH_MODE": auth_mode}
    if address == "local":
        options |= {
            "include_dashboard": False,
            "num_cpus": config.ray.num_cpus,
            "object_store_memory": config.ray.object_store_mb << 20,
        }
        # Ray would turn tokens on by itself, write one into the home directory and leave the mode in the environment.
        variables |= {"RAY_AUTH_MODE": local_auth_mode()}
        variables |= {"RAY_USAGE_STATS_ENABLED": os.environ.get("RAY_USAGE_STATS_ENABLED", "0")}
    elif config.code and config.ray.address != "local":
        options["runtime_env"] = {"py_modules": [str(path) for path in config.code]}
    try:
        with _environment(variables), _quiet():
            ray.init(**options)
    except Exception as error:
        if ray.is_initialized():
            ray.shutdown()
        what = "a private Ray does not start" if address == "local" else f"Ray at {address} cannot be joined"
        raise ClusterError(f"{what}: {error}") from None


def local_auth_mode() -> str:
    """``RAY_AUTH_MODE`` of a Ray that we start: what the user set, else ``disabled``."""
    return os.environ.get("RAY_AUTH_MODE") or "disabled"


def current_address() -> str:
    """Where the Ray is that this process is connected to, ``host:port``."""
    return str(ray.get_runtime_context().gcs_address)


@contextmanager
def _quiet() -> Iterator[None]:
    """Without Ray's remark that it sets no signal handler, which is what we want when it starts on a thread."""
    logger = logging.getLogger("ray._private.worker")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


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


def check_server(config: ClusterConfig, addresses: Iterable[str]) -> None:
    """Raises :class:`ConfigError` when the nodes' addresses are of several machines and the server is embedded."""
    machines = sorted(set(addresses))
    if config.redis.url == "embedded" and len(machines) > 1:
        raise ConfigError(
            f"the embedded server listens on one machine only, and Ray runs on {len(machines)} ({', '.join(machines)})",
            field="redis.url",
            hint="Give the address of a server that all machines reach",
        )
