"""Where workspaces are kept: files by their content and manifests, at any URL that fsspec can write to."""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Callable, Iterator
from typing import BinaryIO, cast

from orchestra.core.errors import ConfigError, InputError
from orchestra.core.workspaces import Manifest, WorkspaceError
from orchestra.memory.workspace_tree import chunks

YOUNG_SECONDS = 3600.0
DIGEST_CHARS = 64


class Blobs:
    """The store at one URL. Synchronous: call it from a thread.

    Every object is written under a name of its own and then moved to its place, so a half-written one is never found.
    Objects are named by their content, so writing one twice changes nothing.
    """

    def __init__(self, url: str) -> None:
        import fsspec  # only who has a workspace waits for it

        self.url = url
        try:
            self._fs, root = fsspec.core.url_to_fs(url)
        except (ImportError, ValueError) as error:
            raise ConfigError(f"workspaces cannot be kept at {url!r}: {error}", field="snapshots.workspaces") from None
        self._root = str(root).rstrip("/")
        # Each clean-up moves things aside to a place of its own; its name tells when it began.
        self._aside = f"{int(time.time())}-{uuid.uuid4().hex}"

    def _blob(self, digest: str) -> str:
        return f"{self._root}/blobs/{digest[:2]}/{digest}"

    def _manifest(self, manifest_id: str) -> str:
        if not manifest_id.isalnum():
            raise InputError(f"{manifest_id!r} is no manifest of a workspace")
        return f"{self._root}/manifests/{manifest_id}"

    def _trash(self, path: str) -> str:
        return f"{self._root}/trash/{self._aside}/{path.rsplit('/', 1)[1]}"

    def keep(self, digest: str, size: int, file: BinaryIO) -> None:
        """Keep a file, unless its content is here already (and whole, as far as its size tells)."""
        path = self._blob(digest)
        if self._size(path) != size:
            self._put(path, chunks(file))

    def content(self, digest: str) -> Iterator[bytes]:
        """A kept file. Raises :class:`WorkspaceError`."""
        with self._open(self._blob(digest)) as file:
            yield from chunks(file)

    def keep_manifest(self, manifest: Manifest) -> str:
        """Keep a manifest, always anew: its time tells a clean-up that it is wanted. Its id."""
        self._put(self._manifest(manifest.id), iter([manifest.to_text().encode()]))
        return manifest.id

    def manifest(self, manifest_id: str) -> Manifest:
        """The manifest. Raises :class:`WorkspaceError` when it is lost or damaged."""
        with self._open(self._manifest(manifest_id)) as file:
            text = b"".join(chunks(file)).decode()
        try:
            found = Manifest.from_text(text)
        except (ValueError, TypeError) as error:
            raise WorkspaceError(self.url, f"the manifest {manifest_id} is damaged: {error}") from None
        if found.id != manifest_id:
            raise WorkspaceError(self.url, f"the manifest {manifest_id} is damaged")
        return found

    def whole(self, manifest_id: str) -> bool:
        """Whether all of a manifest is here."""
        try:
            found = self.manifest(manifest_id)
        except WorkspaceError:
            return False
        return all(self._size(self._blob(e.digest)) == e.size for e in found.entries if e.kind == "file")

    def prune(self, wanted: Callable[[], set[str]], *, young: float = YOUNG_SECONDS) -> tuple[int, int]:
        """Delete what no wanted manifest needs and what is older than ``young`` seconds: (manifests, files) deleted.

        Somebody may begin to want a manifest meanwhile. So what is to go is first moved aside, then it is asked again
        what is wanted, and that is moved back; and whoever makes a manifest looks afterwards whether it is whole.
        One of the two sees the other, whatever the order.
        """
        self._bring_back_what_was_left()
        manifests = [name for name in self._names("manifests") if self._old(self._manifest(name), young)]
        moved = {name for name in set(manifests) - wanted() if self._move(self._manifest(name), aside=True)}
        needed = self._needed(set(self._names("manifests")))
        files = {name for name in self._names("blobs") if name not in needed and self._old(self._blob(name), young)}
        gone = {name for name in files if self._move(self._blob(name), aside=True)}
        back = moved & wanted()
        for name in back:
            self._move(self._manifest(name), aside=False)
        for name in gone & (again := self._needed(set(self._names("manifests")))):
            self._move(self._blob(name), aside=False)
        with contextlib.suppress(FileNotFoundError):
            self._fs.rm(f"{self._root}/trash/{self._aside}", recursive=True)
        # What a killed process had not moved to its place. A living one may be about to move its own, so these stay for
        # an hour whatever ``young`` says; another clean-up may be here first.
        for path in self._fs.find(self._root):
            if "." in str(path).rsplit("/", 1)[1] and self._old(path, max(young, YOUNG_SECONDS)):
                with contextlib.suppress(FileNotFoundError):
                    self._fs.rm(path)
        return len(moved - back), len(gone - again)

    def _bring_back_what_was_left(self) -> None:
        """What a clean-up that was killed an hour ago or more had moved aside: this one looks at it again."""
        for found in self._fs.find(f"{self._root}/trash"):
            begun, name = str(found).rsplit("/", 2)[1:]
            if time.time() - int(begun.partition("-")[0]) >= YOUNG_SECONDS:
                place = self._blob(name) if len(name) == DIGEST_CHARS else self._manifest(name)
                with contextlib.suppress(FileNotFoundError):
                    self._fs.makedirs(place.rsplit("/", 1)[0], exist_ok=True)
                    self._fs.mv(found, place)

    def _needed(self, manifests: set[str]) -> set[str]:
        found = set()
        for name in manifests:
            with contextlib.suppress(WorkspaceError):
                found |= {entry.digest for entry in self.manifest(name).entries}
        return found

    def _names(self, folder: str) -> list[str]:
        found = self._fs.find(f"{self._root}/{folder}")
        return [name for path in found if "." not in (name := str(path).rsplit("/", 1)[1])]

    def _old(self, path: str, young: float) -> bool:
        try:
            return bool(time.time() - self._fs.modified(path).timestamp() >= young)
        except (FileNotFoundError, NotImplementedError):
            return False

    def _move(self, path: str, *, aside: bool) -> bool:
        there = self._trash(path)
        source, target = (path, there) if aside else (there, path)
        try:
            self._fs.makedirs(target.rsplit("/", 1)[0], exist_ok=True)
            self._fs.mv(source, target)
        except FileNotFoundError:
            return False
        return True

    def _size(self, path: str) -> int:
        try:
            return int(self._fs.info(path)["size"])
        except FileNotFoundError:
            return -1

    def _open(self, path: str) -> BinaryIO:
        name = path.rsplit("/", 1)[1]
        for place in self._places(path, name):
            with contextlib.suppress(FileNotFoundError):
                return cast("BinaryIO", self._fs.open(place, "rb"))
        raise WorkspaceError(self.url, f"{name} is not there any more")

    def _places(self, path: str, name: str) -> Iterator[str]:
        yield path
        yield from self._fs.glob(f"{self._root}/trash/*/{name}")  # where a clean-up that was killed has left it

    def _put(self, path: str, pieces: Iterator[bytes]) -> None:
        folder, name = path.rsplit("/", 1)
        self._fs.makedirs(folder, exist_ok=True)
        made = f"{folder}/{name}.{uuid.uuid4().hex}"
        with self._fs.open(made, "wb") as file:
            for piece in pieces:
                file.write(piece)
        self._fs.mv(made, path)
