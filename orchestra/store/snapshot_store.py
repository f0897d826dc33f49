"""Snapshots of threads in Redis: made, listed, deleted, and a thread brought back to one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

from orchestra.core.blocks import BlockView
from orchestra.core.errors import BlockLimitExceeded, SessionBusy, SessionInterrupted, SessionOfAnotherUser, UnknownName
from orchestra.core.jsontext import loads
from orchestra.store.block_store import HISTORY, block_from
from orchestra.store.connection import Store
from orchestra.store.thread_store import MEMO_SECONDS

PARTS = ("", "log", "turns", "state", "context", "offload")
Made: TypeAlias = Literal["OK", "MOVED"]


@dataclass(frozen=True, slots=True)
class StoredSnapshot:
    """A snapshot: what it is of, without what it holds. ``at`` is Unix seconds on the server's clock.

    ``blocks`` maps the id of each block to its version of then; ``workspace`` is the manifest of the files in
    ``folder``, or empty.
    """

    id: str
    thread: str
    at: float
    turns: int
    messages: int
    user: str
    blocks: Mapping[str, int]
    workspace: str
    folder: str


@dataclass(frozen=True, slots=True)
class WantedSnapshot:
    """What is to be copied. ``edition`` and ``seq`` are those before the workspace was read."""

    id: str
    thread: str
    user: str
    attach_version: str
    block_ids: tuple[str, ...]
    life_ms: int | None = None
    workspace: str = ""
    folder: str = ""
    edition: str = ""
    seq: str = ""


@dataclass(frozen=True, slots=True)
class RestoredBlock:
    """A block that got its value of then as a new version; ``before`` is 0 when it had been deleted."""

    id: str
    label: str
    before: int
    version: int


@dataclass(frozen=True, slots=True)
class RestoreReport:
    """What a restore changed; see :class:`orchestra.memory.snapshots.Restored`."""

    removed: int
    returned: int
    turns: int
    state: tuple[str, ...]
    blocks: tuple[RestoredBlock, ...]
    missing: tuple[str, ...]


class SnapshotStore:
    """Typed functions over the scripts of snapshots."""

    def __init__(self, store: Store, *, history: int = HISTORY) -> None:
        self.store, self.history = store, history

    async def make(self, wanted: WantedSnapshot) -> Made:
        """Make a snapshot, whole, once per id; MOVED: what the caller saw has changed, look again.

        Raises:
            UnknownName: there is no such session.
            SessionBusy: it has a workspace, and a run works on it.
        """
        k, thread = self.store.keys, wanted.thread
        agent, _, session_id = thread.partition("|")
        answer = await self.store.run(
            "snapshot",
            [
                *(
                    k.head(thread),
                    k.log(thread),
                    k.turns(thread),
                    k.state(thread),
                    k.context(thread),
                    k.offload(thread),
                    k.attach(agent),
                    k.snapshots(thread),
                ),
                *(*self._parts(wanted.id), k.snaps),
                *(key for i in wanted.block_ids for key in (k.block(i), k.snapshot(wanted.id, f"block:{i}"))),
            ],
            [
                *(wanted.id, thread, wanted.attach_version, wanted.user),
                *("" if wanted.life_ms is None else wanted.life_ms, wanted.workspace, wanted.folder),
                *(wanted.edition, wanted.seq, *wanted.block_ids),
            ],
        )
        if answer[0] == "NONE":
            raise UnknownName("session", session_id)
        if answer[0] == "BUSY":
            raise SessionBusy(session_id, cast("str", answer[1]))
        return "MOVED" if answer[0] == "MOVED" else "OK"

    async def get(self, snapshot_id: str) -> StoredSnapshot:
        """The snapshot. Raises :class:`UnknownName` when there is none, or its life is over."""
        f = await self.store.fields(self.store.keys.snapshot(snapshot_id))
        if not f:
            raise UnknownName("snapshot", snapshot_id)
        versions = dict(zip(f["blocks"].split(), map(int, f["versions"].split()), strict=True))
        numbers = (int(f["at"]) / 1000, int(f["turn"]), int(f["messages"]))
        return StoredSnapshot(snapshot_id, f["thread"], *numbers, f["user"], versions, f["workspace"], f["folder"])

    async def block(self, snapshot_id: str, block_id: str) -> BlockView | None:
        """A block as it was."""
        fields = await self.store.fields(self.store.keys.snapshot(snapshot_id, f"block:{block_id}"))
        return block_from(block_id, fields) if fields else None

    async def of_thread(self, thread: str) -> Sequence[StoredSnapshot]:
        """The snapshots of a thread in the order in which they were made; those whose life is over leave the list."""
        found = []
        for snapshot_id in await self.store.items(self.store.keys.snapshots(thread)):
            try:
                found.append(await self.get(snapshot_id))
            except UnknownName:
                await self.store.run(
                    "unsnap", [self.store.keys.snapshots(thread), self.store.keys.snaps], [snapshot_id]
                )
        return found

    async def manifests(self) -> set[str]:
        """The manifests of workspaces that the snapshots of the namespace name."""
        k = self.store.keys
        ids = cast("set[str]", await self.store.read("SMEMBERS", k.snaps))
        found = [await self.store.read("HGET", k.snapshot(snapshot_id), "workspace") for snapshot_id in ids]
        return {str(manifest) for manifest in found if manifest}

    async def restore(
        self,
        snapshot: StoredSnapshot,
        operation_id: str,
        *,
        blocks: Mapping[str, bool] | None,
        author: str,
        ttl_ms: int | None = None,
        workspace: str = "",
    ) -> RestoreReport:
        """Bring the thread back, whole, once per operation id. Also one that was deleted or has ended.

        ``blocks`` maps ids to whether a block that is gone is made again; ``None`` leaves all blocks alone.
        ``workspace`` is noted in the head until :meth:`settled`.

        Raises:
            UnknownName: the snapshot is gone.
            SessionOfAnotherUser: the session was deleted, and another user has made it again.
            SessionInterrupted, SessionBusy: a run holds the thread.
            BlockLimitExceeded: a block's limit is lower now than its value of then is long.
        """
        k, thread = self.store.keys, snapshot.thread
        session_id = thread.partition("|")[2]
        named = {} if blocks is None else dict(blocks)
        answer = await self.store.run(
            "restore",
            [
                *(k.head(thread), k.log(thread), k.turns(thread), k.state(thread), k.due, k.work(thread)),
                *(k.passes(thread), k.retracted(thread), k.op(operation_id), k.session(session_id), k.threads),
                *(k.user_threads(snapshot.user), k.token, k.hosts, k.events, k.wake, k.blocks),
                *(*self._parts(snapshot.id), k.context(thread), k.offload(thread)),
                *(key for i in named for key in (k.block(i), k.history(i), k.snapshot(snapshot.id, f"block:{i}"))),
            ],
            [
                *(thread, MEMO_SECONDS, "" if ttl_ms is None else ttl_ms, self.history, author, workspace),
                "1" if blocks is None else "0",
                *(part for i, again in named.items() for part in (i, "1" if again else "0")),
            ],
        )
        status = answer[0]
        if status == "GONE":
            raise UnknownName("snapshot", snapshot.id)
        if status == "USER":
            raise SessionOfAnotherUser(session_id)
        if status == "HELD":
            raise SessionInterrupted(session_id, cast("str", answer[1]))
        if status == "BUSY":
            raise SessionBusy(session_id, cast("str", answer[1]))
        if status == "LIMIT":
            label, limit, size = cast("list[str]", answer[1:4])
            raise BlockLimitExceeded(label, int(limit), int(size))
        return _report(cast("str", answer[1]))

    async def unsettled(self, thread: str) -> str:
        """The manifest that the thread's folder is still to be brought to, or nothing."""
        return cast("str | None", await self.store.read("HGET", self.store.keys.head(thread), "workspace")) or ""

    async def settled(self, thread: str) -> None:
        """The folder is what the last restore asked for. Call it while holding the folder's lock."""
        await self.store.read("HDEL", self.store.keys.head(thread), "workspace")

    async def delete(self, snapshots: Sequence[StoredSnapshot]) -> None:
        """Delete snapshots of one thread; those that are gone already do not matter."""
        if snapshots:
            k = self.store.keys
            copies = [k.snapshot(one.id, f"block:{i}") for one in snapshots for i in one.blocks]
            parts = [key for one in snapshots for key in self._parts(one.id)]
            keys = [k.snapshots(snapshots[0].thread), k.snaps, *parts, *copies]
            await self.store.run("unsnap", keys, [one.id for one in snapshots])

    def _parts(self, snapshot_id: str) -> list[str]:
        return [self.store.keys.snapshot(snapshot_id, part) for part in PARTS]


def _report(text: str) -> RestoreReport:
    # The server writes an empty list as {}.
    value = loads(text)
    return RestoreReport(
        value["removed"],
        value["returned"],
        value["turn"],
        tuple(value["state"]),
        tuple(RestoredBlock(*one) for one in value["blocks"]),
        tuple(value["missing"]),
    )
