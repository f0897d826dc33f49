"""Making host actors, and finding those that ``up`` made."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Mapping, Sequence
from typing import Protocol, cast

import ray

from orchestra.cluster.envelope import Failed
from orchestra.cluster.host_settings import HostSettings
from orchestra.cluster.host_status import HostStatus
from orchestra.cluster.remote import Remote, ray_namespace
from orchestra.core.errors import ClusterError, OrchestraError

#: Calls that Ray lets through besides the turns that the host admits: for what is no turn, and so that it is the host
#: that refuses a turn too many, whoever sent it. (Ray's own limit counts the calls of one program only.)
_SPARE_PLACES = 1000
#: What a test arms in a host; everything else that a host needs is in its settings.
_PASSED_ON = ("ORCHESTRA_FAILPOINT",)
START_SECONDS = 120.0
STOP_SECONDS = 10.0


class Actor(Protocol):
    """The handle of an :class:`orchestra.cluster.agent_host.AgentHost`."""

    run: Remote
    stream: Remote
    learn: Remote
    meet: Remote
    forget: Remote
    start: Remote
    stop: Remote
    cancel: Remote
    status: Remote


def make(settings: HostSettings, *, detached: bool) -> Actor:
    """A new host actor; a detached one (in the Ray namespace of ours) is the one of that name if it is there."""
    from orchestra.cluster.agent_host import AgentHost  # it reaches other hosts in turn

    places = settings.hosts.max_concurrent_turns + settings.hosts.max_pending
    kind = ray.remote(
        num_cpus=0,
        max_restarts=-1,
        max_task_retries=0,
        max_concurrency=places + _SPARE_PLACES,
        max_pending_calls=places + _SPARE_PLACES,
        concurrency_groups={"control": 16},
        scheduling_strategy="SPREAD",
    )(AgentHost)
    options: dict[str, object] = {}
    if detached:
        options |= {
            "name": settings.actor_name,
            "namespace": ray_namespace(settings.namespace),
            "lifetime": "detached",
            "get_if_exists": True,
        }
    environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    if environment:
        options["runtime_env"] = {"env_vars": environment}
    return cast("Actor", kind.options(**options).remote(settings))


def find(namespace: str, name: str) -> Actor | None:
    """The detached host of that name (``primary-0``), or ``None``."""
    try:
        return cast("Actor", ray.get_actor(name, namespace=ray_namespace(namespace)))
    except ValueError:
        return None


def all_detached(namespace: str) -> list[Actor]:
    """All detached hosts of a namespace."""
    listed = ray.util.list_named_actors(all_namespaces=True)
    names = sorted(item["name"] for item in listed if item["namespace"] == ray_namespace(namespace))
    return [actor for name in names if (actor := find(namespace, name)) is not None]


async def stop(actors: Sequence[Actor], *, drain: float = 0.0, seconds: float = STOP_SECONDS) -> None:
    """Let hosts leave, so that their threads are free at once; then end their processes.

    ``drain``: how long, in seconds, runs that are under way may take to end before that; later ones go on elsewhere.
    """

    async def one(actor: Actor) -> None:
        with contextlib.suppress(TimeoutError, ray.exceptions.RayError):  # else it is dead when its heartbeat ends
            async with asyncio.timeout(drain + seconds):
                await actor.stop.remote(drain)
        with contextlib.suppress(TimeoutError, ray.exceptions.RayError):
            ray.kill(actor)

    await asyncio.gather(*(one(actor) for actor in actors))


async def started(actors: Mapping[str, Actor], *, seconds: float = START_SECONDS) -> dict[str, HostStatus]:
    """What each actor tells once it has joined. Raises the error of the first that cannot, :class:`ClusterError`."""

    async def one(name: str, actor: Actor) -> HostStatus:
        try:
            async with asyncio.timeout(seconds):
                found = cast("HostStatus | Failed", await actor.start.remote())
        except TimeoutError:
            raise ClusterError(f"host {name} did not start within {seconds:g} s") from None
        except ray.exceptions.RayError as error:
            raise ClusterError(f"host {name} does not start: {_first_line(error)}") from None
        if isinstance(found, Failed):
            raise found.error
        return found

    answers = await asyncio.gather(*(one(name, actor) for name, actor in actors.items()), return_exceptions=True)
    for answer in answers:
        if isinstance(answer, OrchestraError):
            raise answer
        if isinstance(answer, BaseException):
            raise answer
    return dict(zip(actors, cast("list[HostStatus]", answers), strict=True))


def _first_line(error: BaseException) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
