"""Programs that are killed while they delete an archive or bring a vector set up to date."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from orchestra import Agent
from orchestra.memory.passages import Passages
from orchestra.memory.search.archive import LocalArchive
from orchestra.runtime.client import Client
from orchestra.store.connection import Store
from orchestra.store.passage_store import PassageStore
from orchestra.testing import ScriptedModel
from tests.hosts import Machines
from tests.indexes import index_or_skip
from tests.waiting import until

MODEL = "tests.meanings:make"


@pytest.fixture
async def client(each_store: Store) -> AsyncIterator[Client]:
    machines = Machines(each_store)
    yield machines.client_of(await machines.host())
    await machines.stop()


def started(store: Store, work: str, failpoint: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.integration.memory.archive_user", store.url, store.keys.namespace, work],
        env={**os.environ, "ORCHESTRA_FAILPOINT": failpoint},
    )


async def killed_at(place: str, store: Store, work: str, tmp_path: Path) -> None:
    """Start the program, wait until it stands still at the failpoint, and kill it there."""
    reached = tmp_path / "reached"
    process = started(store, work, f"{place}@{reached}")
    try:
        await until("the program has come to its failpoint", lambda: reached.exists() and reached.read_text() != "")
        process.send_signal(signal.SIGKILL)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == -signal.SIGKILL


async def texts(passages: Passages, query: str, user_id: str | None = None) -> list[str]:
    return sorted(hit.passage.text for hit in await passages.search("a", query, limit=1000, user_id=user_id))


@pytest.mark.parametrize("wanted", ["scan", "vectorset"])
async def test_killed_in_a_cascading_deletion(each_store: Store, client: Client, wanted: str, tmp_path: Path) -> None:
    """What is left is found and nothing else, by a process that knew all of it; a second deletion takes the rest."""
    archive = LocalArchive(each_store, MODEL, index=await index_or_skip(each_store, wanted))
    passages = Passages(each_store, archive)
    await client.register(Agent(name="a", model=ScriptedModel([])), Agent(name="ab", model=ScriptedModel([])))
    await passages.insert_many("a", [f"boat {number}" for number in range(700)])
    await passages.insert("a", "ship of ana", user_id="ana")
    await passages.insert("ab", "boat of another agent")
    assert len(await texts(passages, "boat", "ana")) == 701
    await killed_at("archive.clearing:1", each_store, "delete", tmp_path)

    left = [one.text for one in await passages.list("a", limit=1000)]
    assert len(left) == 200
    assert await texts(passages, "boat", "ana") == sorted([*left, "ship of ana"])
    for _ in range(2):
        await client.delete_agent("a", cascade=True)
    assert await texts(passages, "boat", "ana") == []
    assert await PassageStore(each_store).owners() == ["ab"]
    rest = [key async for key in each_store.redis.scan_iter(match=f"{each_store.keys.prefix}*")]
    kinds = ("passage", "shelf", "arch", "vset", "vsetat")
    mine = [key for key in rest if key.removeprefix(each_store.keys.prefix).split(":")[0] in kinds]
    assert not [key for key in mine if key.endswith((":a", ":a|ana"))]
    assert len(await passages.list("ab")) == 1
    await passages.insert("a", "a boat of the next one with this name")
    assert await texts(passages, "boat", "ana") == ["a boat of the next one with this name"]
    await archive.close()


async def test_killed_while_it_fills_a_vector_set(each_store: Store, tmp_path: Path) -> None:
    archive = LocalArchive(each_store, MODEL, index=await index_or_skip(each_store, "vectorset"))
    passages = Passages(each_store, archive)
    made = await passages.insert_many("a", [f"boat {number}" for number in range(100)], ["x"])
    await killed_at("archive.vectors:2", each_store, "search", tmp_path)
    key = each_store.keys.vectors("a")
    assert await each_store.read("VCARD", key) == 32
    await passages.update(made[0].id, text="the physician called")
    await passages.delete(made[1].id)
    assert len(await texts(passages, "boat")) == 99
    assert (await passages.search("a", "the doctor called", limit=1))[0].passage.id == made[0].id
    assert await each_store.read("VCARD", key) == 99
    await archive.close()
