"""Documents that an agent's memory learns from besides the dialogue."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest
from pydantic import ValidationError

from orchestra import Agent, Block, Sleeptime
from orchestra.core.errors import ConfigError
from orchestra.core.jsontext import Json
from orchestra.core.model import ModelReply, ModelRequest
from orchestra.store.connection import Store
from orchestra.store.pass_store import PassStore
from orchestra.testing import FunctionModel, call, reply
from tests.hosts import Machines
from tests.sleeping import HELLO, NOTES, Sleeper, drained, passes, primary, reports, said
from tests.waiting import until


def documents_of(found: list[dict[str, Json]]) -> list[str]:
    names = [str(name) for report in found for name in cast("list[Json]", report["documents"])]
    return [name.rsplit("/", 1)[-1] for name in names]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "docs"
    (made / "deep").mkdir(parents=True)
    (made / "a.md").write_text("The office is in Lisbon.", encoding="utf-8")
    (made / "deep" / "b.md").write_text("The office opens at 9:00.", encoding="utf-8")
    (made / ".hidden").write_text("secret", encoding="utf-8")
    (made / "picture.png").write_bytes(b"\x89PNG\0\xff")
    (made / "empty.md").write_text("\n", encoding="utf-8")
    (tmp_path / "outside.md").write_text("outside", encoding="utf-8")
    (made / "link.md").symlink_to(tmp_path / "outside.md")
    return made


async def test_each_once_and_again_when_it_changed(machines: Machines, folder: Path) -> None:
    sleeper = Sleeper()
    host = await machines.host()
    client = machines.client_of(host)
    await client.register(primary(sleeper.model, every=1, sources=[str(folder)]))
    await machines.worker(host)
    await said(client, 1)
    await passes(machines.store, 2)
    await drained(machines.store)
    assert documents_of(await reports(machines.store)) == ["a.md:0-24", "b.md:0-25"]
    shown = sleeper.model.requests[-1].messages[1].text
    assert "Document a.md:\nThe office is in Lisbon.\nDocument b.md:\nThe office opens at 9:00." in shown
    assert not any(word in shown for word in ("secret", "outside", "PNG"))
    await said(client, 2)
    await said(client, 1, "another session")
    await passes(machines.store, 1, "another session")
    await drained(machines.store)
    assert len(documents_of(await reports(machines.store))) == 2
    assert documents_of(await reports(machines.store, "another session")) == []

    (folder / "a.md").write_text("The office is in Porto now.", encoding="utf-8")
    await said(client, 1)
    await until("the changed one is worked through", lambda: _read(machines, 3))
    assert documents_of(await reports(machines.store))[2:] == ["a.md:0-27"]
    await drained(machines.store)


async def _read(machines: Machines, count: int) -> bool:
    return len(documents_of(await reports(machines.store))) >= count


async def test_a_long_document_is_read_in_parts_between_the_dialogue(machines: Machines, tmp_path: Path) -> None:
    texts: list[str] = []

    async def act(request: ModelRequest) -> ModelReply:
        texts.append(request.messages[1].text)
        return reply(calls=[call("memory_finish_edits")])

    sleeper = Sleeper(act)
    document = tmp_path / "long.txt"
    document.write_text("\n\n".join(f"Paragraph {number} tells of ships." for number in range(60)), encoding="utf-8")
    host = await machines.host()
    client = machines.client_of(host)
    await client.register(primary(sleeper.model, every=2, max_tokens=60, sources=[str(document)]))
    await said(client, 40)
    await machines.worker(host)
    await drained(machines.store)
    parts = [text.partition(":\n")[2] for text in texts if "Document long.txt" in text]
    assert len(parts) > 4
    assert "".join(parts) == document.read_text(encoding="utf-8")
    assert [number for read in sleeper.read for number in read] == list(range(1, 81))
    assert all("[" not in text.split("Document long.txt")[0][-3:] for text in texts)


async def test_what_is_learned_goes_to_blocks_that_all_users_have(machines: Machines, folder: Path) -> None:
    async def act(request: ModelRequest) -> ModelReply:
        shown = request.messages[0].text
        seen.append(("<notes>" in shown, "<human>" in shown, "Document" in request.messages[1].text))
        if request.messages[-1].role == "tool":
            return reply(calls=[call("memory_finish_edits")])
        text = "office in Lisbon" if seen[-1][2] else "said"
        return reply(calls=[call("core_memory_append", label="notes", content=text)])

    seen: list[tuple[bool, bool, bool]] = []
    host = await machines.host()
    client = machines.client_of(host)
    blocks = (NOTES, Block(label="human", scope="user", description="The user."))
    await client.register(primary(FunctionModel(act), every=1, blocks=blocks, sources=[str(folder)]))
    await machines.worker(host)
    await client.run("a", "hi", session_id="s", user_id="ana")
    await passes(machines.store, 2)
    assert set(seen) == {(True, True, False), (True, False, True)}
    notes = next(block for block in await client.blocks.list(agent="a", user_id="ana") if block.label == "notes")
    assert notes.value == "said\noffice in Lisbon"
    blamed = {line.text: line.seqs for line in await client.blocks.blame(notes.id)}
    assert blamed == {"said": (1, 2), "office in Lisbon": ()}


async def test_the_extractive_one_learns_from_documents(machines: Machines, folder: Path) -> None:
    (folder / "a.md").write_text("# House\n\nOur budget is 900 euros.\n\nThanks for reading!", encoding="utf-8")
    host = await machines.host()
    client = machines.client_of(host)
    sleeptime = Sleeptime(every=1, consolidator="extractive", sources=(str(folder / "a.md"),))
    await client.register(Agent(name="a", model=HELLO, blocks=(NOTES,), sleeptime=sleeptime))
    await machines.worker(host)
    await client.run("a", "My name is Ana.", session_id="s")
    await passes(machines.store, 2)
    (notes,) = await client.blocks.list(agent="a")
    assert "900 euros" in notes.value
    assert "Ana" in notes.value
    blamed = {line.text: line.seqs for line in await client.blocks.blame(notes.id)}
    assert sorted(blamed.values()) == [(), (1,)]


async def test_two_sessions_at_once_work_through_a_document_once(machines: Machines, folder: Path) -> None:
    both, tried = asyncio.Event(), 0

    async def act(request: ModelRequest) -> ModelReply:
        nonlocal tried
        if request.messages[-1].role == "tool":
            return reply(calls=[call("memory_finish_edits")])
        if "Document" not in request.messages[1].text:
            return reply(calls=[call("memory_finish_edits")])
        tried += 1
        if tried == 2:
            both.set()
        await both.wait()
        return reply(calls=[call("core_memory_append", label="notes", content="office in Lisbon")])

    host = await machines.host()
    client = machines.client_of(host)
    await client.register(primary(FunctionModel(act), every=1, sources=[str(folder)]))
    await machines.worker(host)
    await said(client, 1, "s")
    await said(client, 1, "t")
    await drained(machines.store)
    found = [*await reports(machines.store, "s"), *await reports(machines.store, "t")]
    assert sorted(documents_of(found)) == ["a.md:0-24", "b.md:0-25"]
    (notes,) = await client.blocks.list(agent="a")
    assert notes.value == "office in Lisbon"


async def test_a_source_that_has_gone_costs_no_dialogue(machines: Machines, folder: Path) -> None:
    sleeper = Sleeper()
    host = await machines.host()
    client = machines.client_of(host)
    await client.register(primary(sleeper.model, every=1, sources=[str(folder)]))
    folder.rename(folder.with_name("elsewhere"))
    await machines.worker(host)
    await said(client, 1)
    (report,) = await passes(machines.store, 1)
    assert sleeper.read == [[1, 2]]
    assert report["sources_problem"] == f"sleeptime.sources: {folder}: there is no such file or folder"


async def test_sources_that_cannot_be(machines: Machines, tmp_path: Path) -> None:
    client = await machines.client()
    with pytest.raises(ConfigError, match="no such file or folder") as caught:
        await client.register(primary(HELLO, sources=[str(tmp_path), str(tmp_path / "nowhere")]))
    assert caught.value.field == "sleeptime.sources[1]"
    with pytest.raises(ValidationError, match="has no block to go to"):
        primary(HELLO, blocks=(Block(label="human", scope="user"),), sources=[str(tmp_path)])


async def test_a_deleted_agent_has_read_nothing(machines: Machines, folder: Path) -> None:
    host = await machines.host()
    client = machines.client_of(host)
    await client.register(primary(Sleeper().model, every=1, sources=[str(folder)]))
    await machines.worker(host)
    await said(client, 1)
    await passes(machines.store, 2)
    assert len(await PassStore(machines.store).worked_through("a")) == 2
    await client.delete_agent("a")
    assert await PassStore(machines.store).worked_through("a") == {}


def started(store: Store, failpoint: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.integration.sleeptime.sleeper", store.url, store.keys.namespace],
        env={**os.environ, "ORCHESTRA_FAILPOINT": failpoint},
    )


@pytest.mark.parametrize("place", ["pass.claimed", "pass.working", "pass.worked", "pass.published"])
@pytest.mark.parametrize("count", [1, 2, 3])
async def test_killed_around_publishing(machines: Machines, tmp_path: Path, place: str, count: int) -> None:
    """Killed from outside in the first, second and third pass: dialogue, documents, documents. Each counts once."""
    for number in range(2):
        (tmp_path / f"{number}.md").write_text(f"Our budget {number} is {number + 1}00 euros. " * 9, encoding="utf-8")
    host = await machines.host()
    client = machines.client_of(host)
    settings = {"consolidator": "extractive", "max_tokens": 120, "trigger": {"adaptive": {"min": 2, "max": 9}}}
    agent = primary("extractive", sources=[str(tmp_path / f"{n}.md") for n in range(2)], **settings)
    await client.register(agent.model_copy(update={"model": "extractive"}))  # another process can load it
    await client.run("a", "Thanks!", session_id="s")
    await client.run("a", "Good morning.", session_id="s")
    reached = tmp_path / "reached"
    process = started(machines.store, f"{place}:{count}@{reached}")
    try:
        await until("it has come to the place", lambda: reached.exists() and reached.read_text() != "", seconds=30)
        process.send_signal(signal.SIGKILL)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == -signal.SIGKILL
    due = machines.store.keys.due
    await machines.store.read("ZADD", due, "XX", 1, "a|s")  # its lease has ended
    await machines.worker(host)
    await drained(machines.store)
    found = await reports(machines.store)
    assert [(report["turn"], report["messages"]) for report in found] == [(2, 4), (2, 0), (2, 0)]
    assert [name.split(":")[0] for name in documents_of(found)] == ["0.md", "1.md"]
    status = await PassStore(machines.store).status("a|s")
    assert status["interval"] == "3"  # 2, and one more after the one pass that changed nothing
    (notes,) = await client.blocks.list(agent="a")
    lines = notes.value.split("\n")
    assert len(lines) == len(set(lines))
    assert [entry.operation for entry in await client.blocks.log(notes.id)].count("pass") <= 2
