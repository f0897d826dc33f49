"""Recorded edits, played by passes."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestra.core.errors import ConfigError
from orchestra.core.jsontext import Json, dumps
from orchestra.store.pass_store import PassStore
from tests.hosts import Machines
from tests.sleeping import HELLO, drained, passes, primary, said
from tests.waiting import until


def recorded(folder: Path, *edits: Json) -> str:
    path = folder / "edits.jsonl"
    path.write_text("".join(f"{dumps(edit)}\n" for edit in edits), encoding="utf-8")
    return str(path)


async def test_edits_are_played_with_the_turns_they_belong_to(machines: Machines, tmp_path: Path) -> None:
    script = recorded(
        tmp_path,
        {"turn": 1, "label": "notes", "operation": "append", "content": "budget 900"},
        {"turn": 3, "label": "notes", "operation": "replace", "old_content": "900", "new_content": "1200"},
        {"turn": 4, "label": "notes", "operation": "insert", "new_string": "top", "insert_line": 0, "messages": [2]},
        {"turn": 5, "label": "notes", "operation": "rethink", "new_memory": "never: turn 5 does not come"},
    )
    host = await machines.host()
    client = machines.client_of(host)
    await client.register(primary(HELLO, consolidator="replay", script=script))
    await machines.worker(host)
    await said(client, 2)
    (report,) = await passes(machines.store, 1)
    (notes,) = await client.blocks.list(agent="a")
    assert (report["consolidator"], notes.value) == ("replay", "budget 900")
    assert [line.seqs for line in await client.blocks.blame(notes.id)] == [(1, 2)]
    await said(client, 2)
    await passes(machines.store, 2)
    await drained(machines.store)
    assert (await client.blocks.get(notes.id)).value == "top\nbudget 1200"
    assert (await client.blocks.blame(notes.id))[0].seqs == (2,)


async def test_an_edit_that_does_not_fit_names_its_line(machines: Machines, tmp_path: Path) -> None:
    script = recorded(
        tmp_path,
        {"turn": 1, "label": "notes", "operation": "append", "content": "budget 900"},
        {"turn": 2, "label": "notes", "operation": "replace", "old_content": "800", "new_content": "1200"},
    )
    host = await machines.host()
    client = machines.client_of(host)
    await client.register(primary(HELLO, consolidator="replay", script=script, max_tries=1))
    await machines.worker(host)
    await said(client, 2)

    async def error() -> str:
        return (await PassStore(machines.store).status("a|s")).get("error", "")

    assert "edits.jsonl:2: " in await until("the pass has failed", error)
    (notes,) = await client.blocks.list(agent="a")
    assert notes.value == ""  # whole or not at all


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ("{", None),
        ("[]", None),
        ('{"turn": 0, "label": "notes", "operation": "append", "content": "x"}', "turn"),
        ('{"turn": 1, "label": "notes", "operation": "apend", "content": "x"}', "operation"),
        ('{"turn": 1, "label": "notes", "operation": "append"}', "content"),
        ('{"turn": 1, "label": 3, "operation": "append", "content": "x"}', "label"),
        ('{"turn": 1, "label": "n", "operation": "append", "content": "x", "messages": ["1"]}', "messages"),
        ('{"turn": 1, "label": "n", "operation": "insert", "new_string": "x", "insert_line": -2}', "insert_line"),
        ('{"turn": 1, "label": "n", "operation": "replace", "old_content": "", "new_content": "x"}', None),
        ('{"turn": 1, "label": "n", "operation": "append", "content": "x", "contnt": "y"}', "contnt"),
    ],
)
async def test_a_malformed_line_is_told_when_the_agent_is_registered(
    machines: Machines, tmp_path: Path, line: str, field: str | None
) -> None:
    path = tmp_path / "edits.jsonl"
    path.write_text(f"\n{line}\n", encoding="utf-8")
    client = await machines.client()
    with pytest.raises(ConfigError) as caught:
        await client.register(primary(HELLO, consolidator="replay", script=str(path)))
    assert (caught.value.file, caught.value.line, caught.value.field) == (str(path), 2, field)


async def test_without_a_file(machines: Machines, tmp_path: Path) -> None:
    client = await machines.client()
    with pytest.raises(ConfigError, match="cannot be read"):
        await client.register(primary(HELLO, consolidator="replay", script=str(tmp_path / "nowhere.jsonl")))
    with pytest.raises(ValueError, match="needs the file of its edits"):
        primary(HELLO, consolidator="replay")
