"""Snapshots: a session with all that belongs to it, kept as it is now, and brought back later."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from orchestra.core.errors import InputError, SessionBusy, UnknownName
from orchestra.core.failpoints import failpoint
from orchestra.core.jsontext import Json, loads
from orchestra.core.names import derived_id, split_thread
from orchestra.core.workspaces import workspace_folder
from orchestra.memory.blocks import DEVELOPER
from orchestra.memory.scopes import Place, resolve, scoped_id, split_ref
from orchestra.memory.workspace import Pruned, Stage, WorkspaceStore, folder_lock, opened_folder
from orchestra.memory.workspace_blobs import YOUNG_SECONDS
from orchestra.store.connection import Store
from orchestra.store.definition_store import DefinitionStore
from orchestra.store.snapshot_store import RestoredBlock, SnapshotStore, StoredSnapshot, WantedSnapshot
from orchestra.store.thread_store import ThreadStore

BlocksToRestore: TypeAlias = Literal["session", "all", "none"]
LONGEST_SECONDS = 100 * 366 * 86_400
TRIES = 5


@dataclass(frozen=True, slots=True)
class SnapshotView:
    """A snapshot. ``at`` is Unix seconds on the server's clock; ``blocks`` maps ids to the versions of then.

    ``workspace`` names the files of ``folder``; both are empty when the agent had no workspace.
    """

    id: str
    session_id: str
    agent: str
    at: float
    turns: int
    messages: int
    blocks: Mapping[str, int]
    workspace: str = ""
    folder: str = ""


@dataclass(frozen=True, slots=True)
class Restored:
    """What a restore changed.

    ``removed`` messages are not in the log any more, ``returned`` ones are again; ``turns`` are completed now;
    ``state`` names the keys that changed; ``missing`` are labels of blocks that have been deleted since and were not
    made again; ``folder`` is the workspace that was brought back.
    """

    snapshot_id: str
    session_id: str
    agent: str
    removed: int
    returned: int
    turns: int
    state: tuple[str, ...]
    blocks: tuple[RestoredBlock, ...]
    missing: tuple[str, ...]
    folder: Path | None = None


class Snapshots:
    """The snapshots of a namespace. ``ttl`` is how long one is kept when nothing else is said, in seconds.

    Without ``workspaces`` only what is in Redis is kept.
    """

    def __init__(
        self,
        store: Store,
        workspaces: WorkspaceStore | None = None,
        *,
        ttl: float | None = None,
        author: str = DEVELOPER,
    ) -> None:
        self._store, self._workspaces, self._ttl, self._author = store, workspaces, ttl, author
        self._snapshots, self._threads, self._definitions = (
            SnapshotStore(store),
            ThreadStore(store),
            DefinitionStore(store),
        )

    async def make(self, thread: str, *, ttl: float | None = None, operation_id: str | None = None) -> str:
        """Keep a thread as it is now: log, turns, state, blocks, files. Its id; the same operation id gives the same.

        Raises:
            UnknownName: there is no such session.
            SessionBusy: the agent has a workspace, and a run works on the session.
            WorkspaceError: the files cannot be kept.
        """
        seconds = self._ttl if ttl is None else ttl
        if seconds is not None and seconds <= 0:
            raise InputError(f"ttl {seconds}: use a number of seconds greater than 0, or None for ever")
        life = None if seconds is None else max(1, int(min(seconds, LONGEST_SECONDS) * 1000))
        made = derived_id("snapshot", thread, operation_id or uuid.uuid4().hex)
        for _ in range(TRIES):
            if await self._snapshots.make(await self._wanted(thread, made, life)) == "OK":
                return made
        raise SessionBusy(split_thread(thread)[1])

    async def _wanted(self, thread: str, snapshot_id: str, life: int | None) -> WantedSnapshot:
        agent, session_id = split_thread(thread)
        head = await self._threads.head(thread)
        if not head:
            raise UnknownName("session", session_id)
        attached = await self._definitions.attachments(agent)
        user = head.get("user", "")
        place = Place(agent, session_id, user or None)
        ids = [
            resolve(item, place)
            for item in attached.shown
            if user or (found := split_ref(item.ref)) is None or found[0] != "user"
        ]
        wanted = WantedSnapshot(snapshot_id, thread, user, attached.version, tuple(ids), life)
        folder = (await self._agent(agent)).folder(session_id)
        if folder is None or self._workspaces is None:
            return wanted
        if head.get("run"):
            raise SessionBusy(session_id, head["run"])
        await self.settle(thread, folder)
        manifest = await self._workspaces.snapshot(await opened_folder(folder))
        more = (manifest, folder, head["edition"], head["seq"])
        return WantedSnapshot(snapshot_id, thread, user, attached.version, tuple(ids), life, *more)

    async def get(self, snapshot_id: str) -> SnapshotView:
        """The snapshot. Raises :class:`UnknownName`."""
        return _view(await self._snapshots.get(snapshot_id))

    async def of_thread(self, thread: str) -> Sequence[SnapshotView]:
        """The snapshots of a thread in the order in which they were made."""
        return [_view(one) for one in await self._snapshots.of_thread(thread)]

    async def delete(self, snapshot_id: str) -> None:
        """Delete a snapshot; the files of its workspace go with the next :meth:`prune`. Raises :class:`UnknownName`."""
        await self._snapshots.delete([await self._snapshots.get(snapshot_id)])

    async def delete_all(self, thread: str) -> None:
        """Delete all snapshots of a thread."""
        await self._snapshots.delete(await self._snapshots.of_thread(thread))

    async def prune(self, *, young: float = YOUNG_SECONDS) -> Pruned:
        """Delete the files that no snapshot needs any more and that are older than ``young`` seconds."""
        if self._workspaces is None:
            return Pruned(0, 0)
        return await self._workspaces.prune(self._snapshots.manifests, young=young)

    async def restore(
        self, snapshot_id: str, *, blocks: BlocksToRestore = "session", operation_id: str | None = None
    ) -> Restored:
        """Bring the session back: its log, turns, state, files and own blocks; with ``all`` every block of then.

        Everything in Redis changes in one step. The files are made ready before it and swapped in after it; should the
        process die in between, the next turn or snapshot of the session swaps them in. The same operation id again
        changes nothing.

        Raises:
            UnknownName: there is no such snapshot.
            SessionInterrupted, SessionBusy: a run holds the session.
            BlockLimitExceeded: a block's limit is lower now than its value of then is long.
            WorkspaceError: the files are lost or damaged.
        """
        if blocks not in ("session", "all", "none"):
            raise InputError(f"blocks {blocks!r}: use session, all or none")
        stored = await self._snapshots.get(snapshot_id)
        agent, session_id = split_thread(stored.thread)
        definition = await self._agent(agent)
        folder = definition.folder(session_id) or stored.folder
        async with self._ready(stored.workspace, folder) as stage:
            report = await self._snapshots.restore(
                stored,
                operation_id or uuid.uuid4().hex,
                blocks=None if blocks == "none" else await self._chosen(stored, blocks),
                author=self._author,
                ttl_ms=definition.ttl_ms,
                workspace=stored.workspace if stage else "",
            )
            failpoint("restore.recorded")
            if stage is not None:
                await self._swap(stored.thread, stored.workspace, stage)
        return Restored(
            *(snapshot_id, session_id, agent, report.removed, report.returned, report.turns),
            *(report.state, report.blocks, report.missing),
            folder=None if stage is None else stage.folder,
        )

    async def settle(self, thread: str, folder: str) -> None:
        """Finish a restore whose process died before it had swapped the files in."""
        manifest = await self._snapshots.unsettled(thread)
        if manifest and self._workspaces is not None:
            async with self._workspaces.staged(manifest, folder) as stage:
                await self._swap(thread, manifest, stage)

    async def _swap(self, thread: str, manifest: str, stage: Stage) -> None:
        """Whoever has the lock first does it and says so: the other one would undo what tools have written since."""
        async with folder_lock(stage.folder):
            if await self._snapshots.unsettled(thread) == manifest:
                await stage.swap_locked()
                await self._snapshots.settled(thread)

    @asynccontextmanager
    async def _ready(self, manifest: str, folder: str) -> AsyncIterator[Stage | None]:
        if not manifest or self._workspaces is None:
            yield None
            return
        async with self._workspaces.staged(manifest, folder) as stage:
            yield stage

    async def _chosen(self, stored: StoredSnapshot, blocks: BlocksToRestore) -> dict[str, bool]:
        """The blocks to bring back, and whether one that is gone is made again: one that a scope stands for."""
        chosen = {}
        for block_id in stored.blocks:
            was = await self._snapshots.block(stored.id, block_id)
            if was is not None and (blocks == "all" or was.scope == "session"):
                chosen[block_id] = block_id == scoped_id(was.scope, was.label, was.owner)
        return chosen

    async def _agent(self, name: str) -> _Definition:
        try:
            text, _ = await self._definitions.get(name)
        except UnknownName:
            return _Definition(None, None)
        value: Mapping[str, Json] = loads(text)
        conversation = value.get("conversation")
        ttl = conversation.get("ttl") if isinstance(conversation, dict) else None
        workspace = value.get("workspace")
        return _Definition(
            workspace if isinstance(workspace, str) else None, float(ttl) if isinstance(ttl, int | float) else None
        )


@dataclass(frozen=True, slots=True)
class _Definition:
    """What a snapshot needs of an agent's definition."""

    workspace: str | None
    ttl: float | None

    @property
    def ttl_ms(self) -> int | None:
        return None if self.ttl is None else max(1, int(min(self.ttl, LONGEST_SECONDS) * 1000))

    def folder(self, session_id: str) -> str | None:
        return None if self.workspace is None else workspace_folder(self.workspace, session_id)


def _view(stored: StoredSnapshot) -> SnapshotView:
    agent, session_id = split_thread(stored.thread)
    numbers = (stored.at, stored.turns, stored.messages)
    return SnapshotView(stored.id, session_id, agent, *numbers, stored.blocks, stored.workspace, stored.folder)
