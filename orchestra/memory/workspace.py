"""The folders of agents: kept as snapshots of their files, and brought back whole."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Collection, Coroutine
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from orchestra.core.cluster import ClusterConfig
from orchestra.core.failpoints import failpoint
from orchestra.core.settling import outlast
from orchestra.core.workspaces import WorkspaceError
from orchestra.memory.folder_swap import open_lock, remove, repair, replace, staged, taken
from orchestra.memory.workspace_blobs import YOUNG_SECONDS, Blobs
from orchestra.memory.workspace_tree import read_tree, write_tree

Wanted: TypeAlias = Callable[[], Coroutine[object, object, set[str]]]
MB = 1 << 20
MAX_BYTES = 1024 * MB
LOOK_SECONDS = 0.01


@dataclass(frozen=True, slots=True)
class Pruned:
    """How much was deleted."""

    manifests: int
    files: int


class WorkspaceStore:
    """Snapshots of folders at ``url``: a path, or any URL that fsspec can write to.

    A snapshot is named by its content: of a folder that has not changed it is the same one, and a file that several
    have is kept once. All work is done in threads.
    """

    def __init__(self, url: str | Path, *, max_bytes: int = MAX_BYTES) -> None:
        self.url, self.max_bytes = str(url), max_bytes

    @classmethod
    def of(cls, config: ClusterConfig) -> WorkspaceStore:
        """The store of a cluster's namespace."""
        place = config.snapshots.workspaces or str(config.data_dir / "workspaces")
        return cls(f"{place.rstrip('/')}/{config.namespace}", max_bytes=config.snapshots.max_mb * MB)

    async def snapshot(self, folder: str | Path) -> str:
        """Keep all files of ``folder``: the manifest's id. The folder is only read.

        Raises:
            WorkspaceTooLarge: its files are larger than ``max_bytes`` together.
            WorkspaceChanged: files are written meanwhile; try again.
            WorkspaceError: something cannot be read, or is neither a file, a folder nor a link.
        """
        place = await asyncio.to_thread(lambda: Path(os.path.realpath(folder)))
        async with folder_lock(place):
            await outlast(asyncio.to_thread(repair, place))

        def work() -> str:
            blobs = Blobs(self.url)
            while True:
                made = read_tree(place, max_bytes=self.max_bytes, keep=blobs.keep)
                failpoint("workspace.read")
                name = blobs.keep_manifest(made)
                if blobs.whole(name):  # a clean-up may have taken away what was found here: see Blobs.prune
                    return name

        return await asyncio.to_thread(work)

    async def restore(self, manifest: str, folder: str | Path) -> None:
        """Make ``folder`` exactly what it was, in one step; its parents are made when they are missing.

        Raises:
            WorkspaceError: the snapshot is lost or damaged, or the folder cannot be replaced; it is as it was.
        """
        async with self.staged(manifest, folder) as stage:
            await stage.swap()

    async def whole(self, manifest: str) -> bool:
        """Whether everything that a snapshot needs is there."""
        return await asyncio.to_thread(lambda: Blobs(self.url).whole(manifest))

    async def prune(self, keep: Collection[str] | Wanted, *, young: float = YOUNG_SECONDS) -> Pruned:
        """Delete snapshots that are not to be kept and older than ``young`` seconds, and the files that only they had.

        A function ``keep`` is asked twice: what it begins to name meanwhile is not deleted.
        """
        loop = asyncio.get_running_loop()

        def wanted() -> set[str]:
            return set(asyncio.run_coroutine_threadsafe(keep(), loop).result() if callable(keep) else keep)

        return Pruned(*await asyncio.to_thread(lambda: Blobs(self.url).prune(wanted, young=young)))

    @asynccontextmanager
    async def staged(self, manifest: str, folder: str | Path) -> AsyncIterator[Stage]:
        """A restore in two steps: within the ``async with`` everything is ready, and :meth:`Stage.swap` does it.

        Raises as :meth:`restore`, before anything has changed.
        """
        stack = ExitStack()

        def prepare() -> Stage:
            place = Path(os.path.realpath(folder))
            try:
                stage = stack.enter_context(staged(place))
                blobs = Blobs(self.url)
                write_tree(blobs.manifest(manifest), stage, blobs.content)
            except OSError as error:
                raise WorkspaceError(str(folder), f"it cannot be brought back: {error}") from None
            failpoint("workspace.staged")
            return Stage(place, stage)

        try:
            yield await outlast(asyncio.to_thread(prepare))
        finally:
            await outlast(asyncio.to_thread(stack.close))


@dataclass(frozen=True, slots=True)
class Stage:
    """A tree that is ready to take the place of ``folder``."""

    folder: Path
    tree: Path

    async def swap(self) -> None:
        """Put it in its place. Raises :class:`WorkspaceError`; then the folder is as it was."""
        async with folder_lock(self.folder):
            await self.swap_locked()

    async def swap_locked(self) -> None:
        """As :meth:`swap`, for whoever holds :func:`folder_lock` already."""

        def work() -> None:
            try:
                repair(self.folder)
                replace(self.folder, self.tree)
                failpoint("workspace.swapped")
                remove(self.tree)
            except OSError as error:
                raise WorkspaceError(str(self.folder), f"it cannot be replaced: {error}") from None

        await outlast(asyncio.to_thread(work))


@asynccontextmanager
async def folder_lock(folder: Path) -> AsyncIterator[None]:
    """Be the only one, of all processes of this machine, that replaces or repairs ``folder``.

    Nobody waits for the lock in a thread: whoever has it needs one to do its work, and there are few of them.
    """
    descriptor = await asyncio.to_thread(open_lock, folder)
    try:
        while not taken(descriptor):  # noqa: ASYNC110
            await asyncio.sleep(LOOK_SECONDS)  # another process may have it: there is nothing to wait for
        yield
    finally:
        os.close(descriptor)


async def opened_folder(folder: str | Path) -> Path:
    """The folder, made when it is not there, and repaired when a process was killed while it replaced it."""
    place = await asyncio.to_thread(lambda: Path(os.path.realpath(folder)))

    def work() -> Path:
        repair(place)
        place.mkdir(exist_ok=True)
        return place

    async with folder_lock(place):
        return await outlast(asyncio.to_thread(work))
