"""The files of a folder, read into a manifest and written again. Links are never followed."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from orchestra.core.workspaces import Entry, Manifest, WorkspaceChanged, WorkspaceError, WorkspaceTooLarge

CHUNK = 1 << 20
TRIES = 3

Keep = Callable[[str, int, BinaryIO], None]
"""Keeps a file: its digest, its size, and the file at its start."""


def chunks(file: BinaryIO) -> Iterator[bytes]:
    """What is in a file."""
    while data := file.read(CHUNK):
        yield data


def digest_of(pieces: Iterable[bytes]) -> str:
    """Sixty-four hexadecimal digits that stand for the content."""
    made = hashlib.blake2b(digest_size=32)
    for piece in pieces:
        made.update(piece)
    return made.hexdigest()


def read_tree(folder: Path, *, max_bytes: int, keep: Keep) -> Manifest:
    """The manifest of ``folder``; ``keep`` is given each file.

    A link is kept as a link when it leads to a place inside the folder, and left out otherwise.

    Raises:
        WorkspaceTooLarge: the files are larger than ``max_bytes`` together.
        WorkspaceChanged: files change while they are read.
        WorkspaceError: something in it cannot be read, or is neither a file, a folder nor a link.
    """
    root = os.path.realpath(folder)
    entries: list[Entry] = []
    size = 0
    try:
        for where, folders, names, descriptor in os.fwalk(root, follow_symlinks=False, onerror=_raise):
            inside = os.path.relpath(where, root)
            base = "" if inside == "." else f"{inside}/"
            entries.append(Entry(base[:-1], "folder", stat.S_IMODE(os.fstat(descriptor).st_mode)))
            folders.sort()
            for name in (*folders, *names):
                facts = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
                if stat.S_ISDIR(facts.st_mode):
                    continue
                if stat.S_ISLNK(facts.st_mode):
                    target = os.readlink(name, dir_fd=descriptor)
                    if _stays_inside(root, where, target):
                        entries.append(Entry(base + name, "link", target=target))
                    continue
                if not stat.S_ISREG(facts.st_mode):
                    raise WorkspaceError(str(folder), f"{base}{name} is neither a file, a folder nor a link")
                size += facts.st_size
                if size > max_bytes:
                    raise WorkspaceTooLarge(str(folder), max_bytes, size)
                entries.append(_read_file(folder, base + name, name, descriptor, keep))
    except FileNotFoundError as error:
        if not os.path.isdir(root):
            raise WorkspaceError(str(folder), "there is no such folder") from None
        raise WorkspaceChanged(str(folder), f"{error.filename} vanished while the folder was read") from None
    except OSError as error:
        raise WorkspaceError(str(folder), f"it cannot be read: {error}") from None
    made = Manifest(tuple(sorted(entries, key=lambda entry: entry.path.split("/") if entry.path else [])))
    if made.size > max_bytes:
        raise WorkspaceTooLarge(str(folder), max_bytes, made.size)
    return made


def _raise(error: OSError) -> None:
    raise error


def _stays_inside(root: str, where: str, target: str) -> bool:
    """Both as it is written and as the file system resolves it."""
    written = os.path.normpath(os.path.join(where, target))
    return not os.path.isabs(target) and all(
        path == root or path.startswith(root + os.sep)
        for path in (written, os.path.realpath(os.path.join(where, target)))
    )


def _read_file(folder: Path, path: str, name: str, descriptor: int, keep: Keep) -> Entry:
    for _ in range(TRIES):
        # Never through a link that took the file's place meanwhile, and never waiting for a pipe's other end.
        with open(os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=descriptor), "rb") as file:
            before = os.fstat(file.fileno())
            digest = digest_of(chunks(file))
            size = file.tell()
            file.seek(0)
            keep(digest, size, file)
            after = os.fstat(file.fileno())
        if (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns) and size == after.st_size:
            return Entry(path, "file", stat.S_IMODE(after.st_mode), digest, size)
    raise WorkspaceChanged(str(folder), f"{path} changes while it is read")


def write_tree(manifest: Manifest, folder: Path, content: Callable[[str], Iterable[bytes]]) -> None:
    """Fill the empty ``folder``. ``content`` gives a file by its digest, which is checked.

    Raises:
        WorkspaceError: a file's content is not what it was.
        OSError: the disk is full, and the like.
    """
    folders = [entry for entry in manifest.entries if entry.kind == "folder"]
    for entry in folders:
        if entry.path:
            (folder / entry.path).mkdir(mode=0o700)
    for entry in manifest.entries:
        if entry.kind == "file":
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
            with open(os.open(folder / entry.path, flags, 0o600), "wb") as file:
                if digest_of(_written(file, content(entry.digest))) != entry.digest:
                    raise WorkspaceError(str(folder), f"what is kept of {entry.path} is damaged")
                os.fchmod(file.fileno(), entry.mode)
    for entry in manifest.entries:
        if entry.kind == "link":
            os.symlink(entry.target, folder / entry.path)
    for entry in reversed(folders):  # deepest first: one without a right to write is filled by now
        (folder / entry.path).chmod(entry.mode)


def _written(file: BinaryIO, pieces: Iterable[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        file.write(piece)
        yield piece
