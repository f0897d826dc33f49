"""The archive on Ray: asks the embedding actor of this node, which is made at its first use."""

from __future__ import annotations

import asyncio
import os
import pickle
from typing import cast

import ray
from ray.exceptions import RayActorError, RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from orchestra.cluster.archive_actor import ArchiveActor, answer_in
from orchestra.cluster.host_settings import HostSettings
from orchestra.cluster.remote import Remote, ray_namespace
from orchestra.core.errors import HostUnavailable
from orchestra.core.passages import Page, PassageHit, PassageQuery, RecallQuery, Utterance

PATIENCE_SECONDS = 120.0
PAUSE_SECONDS = 0.2
CALLS = 1000


class RayArchive:
    """One use of the archive, by a host or a program. Owner: the event loop that uses it.

    Nothing is started before the first search. An actor that died is made again; a search that was under way is sent
    again, since it changes nothing.
    """

    def __init__(self, settings: HostSettings, *, patience: float = PATIENCE_SECONDS) -> None:
        self._settings, self._patience = settings, patience
        self._ask: Remote | None = None
        self._added: Remote | None = None
        self._making = asyncio.Lock()
        self._last: ray.ObjectRef | None = None

    async def search(self, query: PassageQuery) -> Page[PassageHit]:
        """Passages. Raises :class:`HostUnavailable` when the actor cannot be had."""
        return cast("Page[PassageHit]", await self._answer(query))

    async def recall(self, query: RecallQuery) -> Page[Utterance]:
        """What was said."""
        return cast("Page[Utterance]", await self._answer(query))

    async def added(self, agent: str, user_id: str | None) -> None:
        """Tell the actor if there is one; its next search would see it anyway."""
        if self._added is not None:
            self._last = self._added.remote(agent, user_id)

    async def reindex(self) -> int:
        """Make all vectors anew."""
        return cast("int", await self._answer(None))

    async def _answer(self, query: object) -> object:
        data = pickle.dumps(query, protocol=5)
        loop = asyncio.get_running_loop()
        until = loop.time() + self._patience
        while True:
            try:
                ask = await self._actor()
                return answer_in(cast("bytes", await asyncio.wrap_future(ask.remote(data).future())))
            except RayActorError as error:
                self._ask = self._added = None
                problem = str(error)
            except RayError as error:
                raise HostUnavailable("archive", str(error)) from None
            if loop.time() > until:
                raise HostUnavailable("archive", problem.splitlines()[0])
            await asyncio.sleep(PAUSE_SECONDS)

    async def _actor(self) -> Remote:
        async with self._making:
            if self._ask is None:
                self._ask, self._added = made = await asyncio.to_thread(self._made)
                return made[0]
            return self._ask

    def _made(self) -> tuple[Remote, Remote]:
        settings = self._settings
        node = ray.get_runtime_context().get_node_id()
        kind = ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=0, max_concurrency=CALLS)(ArchiveActor)
        actor = kind.options(
            name=f"archive-{settings.launch}-{settings.version[:8]}-{node[:12]}",
            namespace=ray_namespace(settings.namespace),
            get_if_exists=True,
            lifetime="detached" if settings.lasting else None,
            scheduling_strategy=NodeAffinitySchedulingStrategy(node_id=node, soft=True),
            # Ray gives an actor that reserves no processor one thread for arithmetic; this one scans and embeds.
            runtime_env={"env_vars": {"OMP_NUM_THREADS": str(os.cpu_count() or 1)}},
        ).remote(settings)
        return cast("Remote", actor.ask), cast("Remote", actor.added)


def archives(namespace: str, launch: str, *, but_version: str = "") -> list[str]:
    """The names of the lasting archive actors of a launch, apart from those of one version."""
    kept = f"archive-{launch}-{but_version[:8]}-" if but_version else " "
    listed = ray.util.list_named_actors(all_namespaces=True)
    return sorted(
        item["name"]
        for item in listed
        if item["namespace"] == ray_namespace(namespace)
        and item["name"].startswith(f"archive-{launch}-")
        and not item["name"].startswith(kept)
    )
