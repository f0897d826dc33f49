"""Folders of files: kept as they are, stored once, brought back whole, whoever is killed meanwhile."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchestra.core.errors import ConfigError
from orchestra.core.workspaces import Manifest, WorkspaceError, WorkspaceTooLarge, workspace_folder
from orchestra.memory.folder_swap import remove
from orchestra.memory.workspace import WorkspaceStore
from tests.trees import Tree, make_tree, tree_of

HELLO: Tree = {
    "": (0o755, None),
    "empty": (0o700, None),
    "a.txt": (0o644, b"hello"),
    "sub": (0o755, None),
    "sub/run.sh": (0o755, b"#!/bin/sh\n"),
    "sub/again": (0o600, b"hello"),
    "sub/up": "../a.txt",
    "sub/nowhere": "not/there",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_tree(tmp_path / "work", HELLO)


@pytest.fixture
def store(tmp_path: Path) -> WorkspaceStore:
    return WorkspaceStore(tmp_path / "kept")


def blobs(store: WorkspaceStore) -> list[Path]:
    return sorted(path for path in (Path(store.url) / "blobs").rglob("*") if path.is_file())


async def test_shape_content_and_rights_come_back(store: WorkspaceStore, folder: Path, tmp_path: Path) -> None:
    manifest = await store.snapshot(folder)
    (folder / "a.txt").write_text("changed")
    (folder / "new").mkdir()
    (folder / "new/file").write_text("x")
    shutil.rmtree(folder / "sub")
    await store.restore(manifest, folder)
    assert tree_of(folder) == HELLO
    await store.restore(manifest, tmp_path / "deep/elsewhere")
    assert tree_of(tmp_path / "deep/elsewhere") == HELLO
    assert sorted(os.listdir(tmp_path)) == ["deep", "kept", "work"]


async def test_what_is_unchanged_is_kept_once(store: WorkspaceStore, folder: Path) -> None:
    first = await store.snapshot(folder)
    kept = {path: path.stat().st_mtime_ns for path in blobs(store)}
    assert len(kept) == 2  # "hello" is there twice
    assert await store.snapshot(folder) == first
    (folder / "more").write_text("more")
    second = await store.snapshot(folder)
    assert second != first
    now = {path: path.stat().st_mtime_ns for path in blobs(store)}
    assert len(now) == 3
    assert kept.items() <= now.items()
    await store.restore(first, folder)
    assert tree_of(folder) == HELLO


async def test_links_are_never_followed_out_of_the_folder(store: WorkspaceStore, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key").write_text("hunter2")
    folder = make_tree(tmp_path / "work", {"": (0o755, None), "in": (0o755, None), "in/file": (0o644, b"fine")})
    for name, target in {
        "absolute": str(secret / "key"),
        "above": "../secret/key",
        "folder": "../secret",
        "chained": "folder/key",
        "own": str(folder / "in/file"),
        "around": "in/../../secret",
        "inside": "in",
        "up": "in/..",
    }.items():
        (folder / name).symlink_to(target)
    manifest = await store.snapshot(folder)
    assert all(b"hunter2" not in path.read_bytes() for path in blobs(store))
    await store.restore(manifest, tmp_path / "copy")
    kept = {name: node for name, node in tree_of(tmp_path / "copy").items() if isinstance(node, str)}
    assert kept == {"inside": "in", "up": "in/.."}
    (tmp_path / "linked").symlink_to(folder)  # the folder itself may be reached through a link
    assert await store.snapshot(tmp_path / "linked") == manifest
    await store.restore(manifest, tmp_path / "linked")
    assert (tmp_path / "linked").is_symlink()
    assert "above" not in os.listdir(folder)


async def test_what_cannot_be_kept(store: WorkspaceStore, folder: Path, tmp_path: Path) -> None:
    small = WorkspaceStore(store.url, max_bytes=19)
    with pytest.raises(WorkspaceTooLarge) as raised:
        await small.snapshot(folder)
    assert (raised.value.limit, raised.value.size) == (19, 20)
    assert await WorkspaceStore(store.url, max_bytes=20).snapshot(folder)
    os.mkfifo(folder / "pipe")
    with pytest.raises(WorkspaceError, match="pipe is neither"):
        await store.snapshot(folder)
    with pytest.raises(WorkspaceError, match="no such folder"):
        await store.snapshot(tmp_path / "nowhere")
    with pytest.raises(ConfigError, match="nonsense"):
        await WorkspaceStore("nonsense://x").snapshot(folder)


@pytest.mark.parametrize("fault", ["blob damaged", "blob lost", "manifest damaged", "manifest lost"])
async def test_what_is_damaged_changes_nothing(store: WorkspaceStore, folder: Path, tmp_path: Path, fault: str) -> None:
    manifest = await store.snapshot(folder)
    path = blobs(store)[0] if fault.startswith("blob") else Path(store.url) / "manifests" / manifest
    if fault.endswith("lost"):
        path.unlink()
    else:
        path.write_bytes(path.read_bytes().replace(b"l", b"k").replace(b"sh", b"sk"))
    (folder / "new").write_text("now")
    now = tree_of(folder)
    with pytest.raises(WorkspaceError):
        await store.restore(manifest, folder)
    assert tree_of(folder) == now
    assert sorted(os.listdir(tmp_path)) == ["kept", "work"]


@pytest.mark.parametrize(
    "entry",
    [
        ["../out", "file", 420, "0", 0, ""],
        ["/etc/out", "file", 420, "0", 0, ""],
        ["link/out", "file", 420, "0", 0, ""],
        ["nowhere/out", "file", 420, "0", 0, ""],
        ["out", "link", 0, "", 0, "../x"],
        ["out", "link", 0, "", 0, "/x"],
        ["out\0", "file", 420, "0", 0, ""],
        ["", "file", 420, "0", 0, ""],
        ["out", "device", 420, "0", 0, ""],
    ],
)
def test_a_manifest_that_would_write_elsewhere_is_refused(entry: list[object]) -> None:
    good: list[list[object]] = [["", "folder", 493, "", 0, ""], ["link", "link", 0, "", 0, "x"]]
    assert len(Manifest.from_text(json.dumps(good)).entries) == 2
    with pytest.raises(ValueError):
        Manifest.from_text(json.dumps([*good, entry]))


NAMES = st.binary(min_size=1, max_size=12).filter(lambda name: not {0, 47} & set(name) and name not in (b".", b".."))


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    """Any tree: names that are no UTF-8, empty folders, links to anything inside, all rights that can be read back."""
    made: Tree = {"": (draw(st.sampled_from([0o700, 0o755])), None)}
    folders = [""]
    for _ in range(draw(st.integers(0, 12))):
        parent = draw(st.sampled_from(folders))
        name = os.fsdecode(draw(NAMES))
        path = f"{parent}/{name}" if parent else name
        if path in made:
            continue
        kind = draw(st.sampled_from(["file", "folder", "link"]))
        if kind == "file":
            made[path] = (draw(st.sampled_from([0o600, 0o644, 0o755, 0o400])), draw(st.binary(max_size=40)))
        elif kind == "folder":
            made[path] = (draw(st.sampled_from([0o700, 0o755, 0o500])), None)
            folders.append(path)
        else:
            up = "../" * parent.count("/") + ("../" if parent else "")
            inside = draw(st.sampled_from([name for name in made if not isinstance(made[name], str)]))
            made[path] = up + inside or "."
    return made


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(trees(), trees())
def test_any_tree_comes_back_as_it_was(tmp_path: Path, before: Tree, after: Tree) -> None:
    work, other = tmp_path / "work", tmp_path / "other"
    for folder in (work, other, tmp_path / "kept"):
        remove(folder)
    store = WorkspaceStore(tmp_path / "kept")

    async def there_and_back() -> None:
        manifest = await store.snapshot(make_tree(work, before))
        assert tree_of(work) == before
        newer = await store.snapshot(make_tree(other, after))
        await store.restore(newer, work)
        assert tree_of(work) == after
        await store.restore(manifest, work)
        await store.restore(manifest, other)
        assert await store.snapshot(other) == manifest

    asyncio.run(there_and_back())
    assert tree_of(work) == tree_of(other) == before
    assert sorted(os.listdir(tmp_path)) == ["kept", "other", "work"]


async def test_the_folder_is_there_at_every_moment(store: WorkspaceStore, folder: Path) -> None:
    one = await store.snapshot(folder)
    (folder / "a.txt").write_text("other")
    other = await store.snapshot(folder)
    done: threading.Event = threading.Event()
    looks: list[bool] = []

    def look() -> None:
        while not done.is_set():
            looks.append(folder.is_dir())

    looking = asyncio.create_task(asyncio.to_thread(look))
    for manifest in [one, other] * 20:
        await store.restore(manifest, folder)
    done.set()
    await looking
    assert all(looks)
    assert len(looks) > 100


async def test_several_restores_of_one_folder_at_once(store: WorkspaceStore, folder: Path, tmp_path: Path) -> None:
    one = await store.snapshot(folder)
    (folder / "a.txt").write_text("other")
    other_tree = tree_of(folder)
    other = await store.snapshot(folder)
    await asyncio.gather(*(store.restore(manifest, folder) for manifest in [one, other] * 8))
    assert tree_of(folder) in (HELLO, other_tree)
    assert sorted(os.listdir(tmp_path)) == ["kept", "work"]


async def test_a_cancelled_restore_leaves_nothing(store: WorkspaceStore, folder: Path, tmp_path: Path) -> None:
    manifest = await store.snapshot(folder)
    (folder / "new").write_text("now")
    now = tree_of(folder)
    for pause in range(6):
        restore = asyncio.create_task(store.restore(manifest, folder))
        for _ in range(pause):
            await asyncio.sleep(0)
        restore.cancel()
        await asyncio.gather(restore, return_exceptions=True)
        assert tree_of(folder) in (now, HELLO)
        assert sorted(os.listdir(tmp_path)) == ["kept", "work"]


async def test_what_nobody_needs_any_more_is_deleted(store: WorkspaceStore, folder: Path) -> None:
    first = await store.snapshot(folder)
    (folder / "a.txt").write_text("second")
    (folder / "sub/again").write_text("second")
    second = await store.snapshot(folder)
    young = await store.prune([])
    assert (young.manifests, young.files) == (0, 0)
    assert len(blobs(store)) == 3
    done = await store.prune([second], young=0)
    assert (done.manifests, done.files) == (1, 1)
    await store.restore(second, folder)
    with pytest.raises(WorkspaceError):
        await store.restore(first, folder)
    assert [path for path in Path(store.url).rglob("*") if path.is_file() and "trash" in path.parts] == []
    assert (await store.prune([], young=0)).files == 2
    assert blobs(store) == []


async def test_what_is_wanted_in_the_middle_of_a_clean_up_stays(store: WorkspaceStore, folder: Path) -> None:
    manifest = await store.snapshot(folder)
    asked = 0

    async def keep() -> set[str]:
        nonlocal asked
        asked += 1
        return set() if asked == 1 else {manifest}

    done = await store.prune(keep, young=0)
    assert (done.manifests, done.files, asked) == (0, 0, 2)
    assert await store.whole(manifest)


async def test_a_snapshot_that_is_made_in_the_middle_of_a_clean_up_is_whole(
    store: WorkspaceStore, folder: Path
) -> None:
    for moment in (1, 2):  # before anything is moved aside, and before what was moved is deleted
        (folder / "new").write_text(f"now {moment}")
        await store.snapshot(folder)
        (folder / "more").write_text(f"more {moment}")
        made: list[str] = []
        asked = 0

        async def keep() -> set[str]:
            nonlocal asked
            asked += 1
            if asked == moment:  # noqa: B023
                made.append(await store.snapshot(folder))  # noqa: B023
            return set()

        await store.prune(keep, young=0)
        assert await store.whole(made[0])
    done = await asyncio.gather(*(store.prune([], young=0) for _ in range(4)), store.snapshot(folder))
    assert len(done) == 5


async def test_what_a_killed_clean_up_has_moved_aside(store: WorkspaceStore, folder: Path) -> None:
    manifest = await store.snapshot(folder)
    aside = Path(store.url) / "trash/1000-killed"
    aside.mkdir(parents=True)
    for path in (blobs(store)[0], Path(store.url) / "manifests" / manifest):
        path.rename(aside / path.name)
    assert not await store.whole(manifest)
    await store.restore(manifest, folder)
    assert tree_of(folder) == HELLO
    await store.prune([manifest], young=0)
    assert await store.whole(manifest)


@pytest.fixture
def in_memory() -> Iterator[str]:
    import fsspec

    yield "memory://orchestra-test"
    fsspec.filesystem("memory").store.clear()


async def test_any_url(in_memory: str, folder: Path, tmp_path: Path) -> None:
    store = WorkspaceStore(in_memory)
    manifest = await store.snapshot(folder)
    await store.restore(manifest, tmp_path / "copy")
    assert tree_of(tmp_path / "copy") == HELLO
    assert await store.whole(manifest)
    assert (await store.prune([], young=0)).manifests == 1
    assert not await store.whole(manifest)


@given(st.text(min_size=1, max_size=256), st.text(min_size=1, max_size=256))
def test_no_two_sessions_share_a_folder_and_none_leads_out(one: str, other: str) -> None:
    folders = [workspace_folder("/w/{session}", name) for name in (one, other)]
    assert (folders[0] == folders[1]) == (one == other)
    for folder in folders:
        assert folder is not None
        path = Path(folder)
        assert path.parent == Path("/w")
        assert len(os.fsencode(path.name)) <= 255
        assert os.path.normpath(folder) == folder
    assert workspace_folder("/w", one) == "/w"
    assert workspace_folder("/w/{session}", None) is None
