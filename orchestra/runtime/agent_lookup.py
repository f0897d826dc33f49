"""What a run needs of its agent: definition, attachments, blocks; from the caches, checked by the server."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from orchestra.core.blocks import BlockView
from orchestra.core.errors import UnknownBlock, UnknownName
from orchestra.core.graph import Graph
from orchestra.core.runnable import name_of
from orchestra.core.swarm import Swarm
from orchestra.memory.scopes import Place, resolve, resolve_all, split_ref
from orchestra.models.windows import context_window, large_enough
from orchestra.runtime.caches import CachedAgent
from orchestra.runtime.child_tool import ChildTool
from orchestra.runtime.definition import Loaded, load_agent
from orchestra.runtime.request import RunRequest
from orchestra.runtime.run_blocks import RunBlocks
from orchestra.store.definition_store import Attachment, DefinitionStore
from orchestra.store.thread_store import Loadable, MissingBlocks, Stale, Wanted

if TYPE_CHECKING:
    from orchestra.runtime.host import Host

MOST_BELOW = 100
"""Of so many agents below a run the definitions are checked together with its own."""


class AgentLookup:
    """One run's agent. It keeps what the caches held when the server was asked: they may drop it meanwhile."""

    def __init__(self, host: Host, request: RunRequest) -> None:
        self._host, self._request = host, request
        self._place = Place(request.agent, request.session_id, request.user_id)
        self._agent: CachedAgent | None = None
        self._seen: dict[str, BlockView] = {}

    def known(self) -> tuple[CachedAgent | None, tuple[str, ...], tuple[str, ...]]:
        """(The cached agent, the stamps of its blocks as they are cached, the ids of its blocks)."""
        cached = self._agent = self._host.caches.agents.get(self._request.agent, self._agent)
        if cached is None:
            return None, (), ()
        ids = resolve_all(cached.attachments.shown, self._place)
        blocks = self._host.caches.blocks
        self._seen = {i: blocks[i] for i in ids if i in blocks}
        return cached, tuple(self._seen[i].stamp if i in self._seen else "" for i in ids), ids

    async def current(self, checked: dict[str, CachedAgent] | None = None) -> Loaded:
        """The agent as the server has it now, without its blocks. Raises :class:`UnknownName`.

        With ``checked`` the same question asks for all that it may start too; those that are as they are cached come
        into it.
        """
        host, request = self._host, self._request
        while True:
            cached, _, _ = self.known()
            digest, version = (cached.loaded.digest, cached.attachments.version) if cached else ("", "")
            further = self.below(cached, {}, blocks=True) if cached and checked is not None else {}
            found = await host.threads.load(
                Wanted(request.run_id, "", request.agent, "", host.id, digest, version, (), ()),
                [(name, one.loaded.digest, one.attachments.version) for name, one in further.items()],
            )
            if isinstance(found, Loadable):
                if checked is not None:
                    checked.update({name: further[name] for name in found.current})
                return self.defined().loaded
            await self.catch_up(found, ())

    def below(
        self, cached: CachedAgent, checked: Mapping[str, CachedAgent], *, blocks: bool = False
    ) -> dict[str, CachedAgent]:
        """The agents that a run of this one may start, as they are cached, and not ``checked``.

        Those that show blocks only where ``blocks`` says so: a run of one asks for them anyway.
        """
        agents, found, open_ = self._host.caches.agents, dict[str, CachedAgent](), [cached]
        while open_ and len(found) < MOST_BELOW:
            for name in _uses(open_.pop(0).loaded):
                one = agents.get(name)
                if one is not None and name not in found and (blocks or not one.attachments.shown):
                    found[name] = one
                    open_.append(one)
        return {name: one for name, one in found.items() if checked.get(name) is not one}

    def defined(self) -> CachedAgent:
        """The agent. Raises :class:`UnknownName`."""
        if self._agent is None:
            raise UnknownName("agent", self._request.agent)
        return self._agent

    async def catch_up(self, found: Stale | MissingBlocks, ids: Sequence[str]) -> None:
        """Load what the server has newer, or make the scoped blocks of a user or session that is seen first."""
        host, name = self._host, self._request.agent
        if isinstance(found, Stale):
            if not found.digest:
                raise UnknownName("agent", name)
            old = self._agent
            if old is not None and old.loaded.digest == found.digest:
                loaded = old.loaded
            else:
                loaded = await asyncio.to_thread(load_agent, found.text, found.digest, host.functions)
                model = await large_enough(loaded.model, loaded.agent.conversation.guard.minimum)
                loaded = replace(loaded, model=model, window=await context_window(model))
            self._agent = CachedAgent(loaded, found.attachments, loaded.size)
            host.caches.keep_agent(name, self._agent)
            resolve_all(found.attachments.shown, self._place)
            return
        cached = self.defined()
        declared = {f"@{block.scope}:{block.label}": block for block in cached.loaded.agent.blocks}
        for index in found.indices:
            item = next(item for item in cached.attachments.shown if resolve(item, self._place) == ids[index])
            scoped = split_ref(item.ref)
            if scoped is None or item.ref not in declared:
                # The block was deleted: it leaves the agent's list, in the one script that changes lists. Somebody else
                # who is there first (STALE, or gone already) has done the same, and the next begin sees it.
                gone = Attachment(item.ref, item.order, item.access, "attached")
                with contextlib.suppress(UnknownBlock):
                    await DefinitionStore(host.store).change(name, "detach", gone, item.ref, cached.attachments.version)
                continue
            owner = {"agent": name, "user": self._request.user_id, "session": self._request.session_id}.get(scoped[0])
            await host.blocks.create(ids[index], declared[item.ref], owner or "", f"agent:{name}")

    def run_blocks(self, fresh: Sequence[BlockView]) -> RunBlocks:
        """The blocks of this run: those that the server sent and those that the cache has right."""
        cached = self.defined()
        ids = resolve_all(cached.attachments.shown, self._place)
        access = {i: item.access for i, item in zip(ids, cached.attachments.shown, strict=True)}
        blocks = RunBlocks(self._host.blocks, f"agent:{self._request.agent}", self._request.run_id, ids, access)
        have = {block.id: block for block in fresh}
        blocks.refresh([have[i] if i in have else self._seen[i] for i in ids])
        return blocks


def _uses(loaded: Loaded) -> list[str]:
    """The runnables that this one calls as tools, or has as nodes."""
    if isinstance(loaded.pattern, Swarm | Graph):
        return [name_of(member) for member in loaded.pattern.members.values()]
    return [tool.target for tool in loaded.tools.values() if isinstance(tool, ChildTool)]
