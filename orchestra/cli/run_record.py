"""A run that has ended, or waits, as a tree: from the results that are remembered of it and of the runs below it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from orchestra.cli.run_tree import ItemStatus, TreeItem, short_arguments, visit_item
from orchestra.cli.tree_lines import MANY
from orchestra.core.agent import RESERVED_TOOLS
from orchestra.core.jsontext import Json, dumps, loads
from orchestra.core.messages import Message
from orchestra.core.model import Usage
from orchestra.core.names import split_thread
from orchestra.memory.sessions import readable
from orchestra.patterns.visits import split_key, visit_key
from orchestra.store.connection import Store
from orchestra.store.run_store import RunStore, StoredRun
from orchestra.store.thread_store import ThreadStore

MOST_RUNS = 500
"""So many runs below one are looked up; what is below the rest is not shown."""


async def stored_tree(store: Store, run: StoredRun) -> TreeItem:
    """The tree of ``run``. How long things took is not stored: no item has ``seconds``."""
    record = _Record(store)
    item = TreeItem("run", split_thread(run.thread)[0])
    await record.fill(item, run)
    return item


class _Record:
    def __init__(self, store: Store) -> None:
        self._runs, self._threads = RunStore(store), ThreadStore(store)
        self._left = MOST_RUNS

    async def fill(self, item: TreeItem, run: StoredRun) -> None:
        """What is known of a run and of those below it."""
        text = await self._runs.answer(run.run_id)
        result = cast("Mapping[str, Json]", loads(text)) if text else {}
        item.agent = split_thread(run.thread)[0]
        item.status = cast("ItemStatus", run.outcome or ("interrupted" if run.status == "interrupted" else "running"))
        item.note = str(result.get("error") or "") or _text(result.get("output"))
        if result.get("node_history"):
            await self._visits(item, run.run_id, result)
        else:
            await self._calls(item, run)
        for asked in cast("Sequence[Mapping[str, Json]]", result.get("interrupts") or ()):
            _waits(item, asked)
        usage = Usage.from_json(cast("Mapping[str, Json]", result.get("usage") or {}))
        item.own_tokens = max(0, usage.total_tokens - sum(one.tokens for one in item.items))

    async def _visits(self, item: TreeItem, run_id: str, result: Mapping[str, Json]) -> None:
        given = cast("Mapping[str, Sequence[Mapping[str, Json]]]", result.get("node_results") or {})
        keys = {name: iter(await self._keys(run_id, name, len(visits))) for name, visits in given.items()}
        visits = {name: iter(found) for name, found in given.items()}
        for name in cast("Sequence[str]", result["node_history"]):
            found, key = next(visits[name]), next(keys[name])
            one = visit_item(name, *split_key(key)[1:])
            item.items.append(one)
            # Of a large map one line is shown, and the items that did not go well.
            if not one.group or len(given[name]) <= MANY or found["status"] != "completed":
                child = await self._run(f"{run_id}.{key}")
                if child is not None:
                    await self.fill(one, child)
            one.status = cast("ItemStatus", found["status"])
            one.note = str(found.get("error") or found.get("reason") or "") or _text(found.get("output"))
            used = Usage.from_json(cast("Mapping[str, Json]", found.get("usage") or {})).total_tokens
            one.own_tokens = max(0, used - sum(below.tokens for below in one.items))
            handoff = cast("Mapping[str, Json] | None", found.get("handoff"))
            if handoff is not None:
                one.note = ""
                target, said = str(handoff["target"]), str(handoff["message"])
                item.items.append(TreeItem("handoff", target, name, "completed", note=said))

    async def _keys(self, run_id: str, node: str, count: int) -> list[str]:
        """The keys of a node's visits, in order: which of them are items of a ``map`` shows in the runs that there are.

        A function's visits have no runs; they count as visits, not as items.
        """
        found: list[str] = []
        number, index = 1, 0
        while len(found) < count:
            item = visit_key(node, number, index)
            if index or await self._runs.get(f"{run_id}.{visit_key(node, number, None)}") is None:
                if await self._runs.get(f"{run_id}.{item}") is not None:
                    found.append(item)
                    index += 1
                    continue
                if index:
                    number, index = number + 1, 0
                    continue
            found.append(visit_key(node, number, None))
            number += 1
        return found

    async def _calls(self, item: TreeItem, run: StoredRun) -> None:
        """The tool calls that an agent's run made, by the messages of its log."""
        messages = [message for _, message in readable(await self._threads.entries(run.thread))]
        mine = [message for message in messages if message.meta.run == run.run_id]
        results = {message.tool_call_id: message for message in mine if message.role == "tool"}
        for position, reply in enumerate(message for message in mine if message.role == "assistant"):
            for index, call in enumerate(reply.tool_calls):
                if call.name not in RESERVED_TOOLS:
                    one = TreeItem("tool", call.name, given=short_arguments(call.arguments))
                    item.items.append(one)
                    child = await self._run(f"{run.run_id}.{position}.{index}")
                    if child is not None:
                        await self.fill(one, child)
                    _answered(one, results.get(call.id))

    async def _run(self, run_id: str) -> StoredRun | None:
        if self._left == 0:
            return None
        self._left -= 1
        return await self._runs.get(run_id)


def _answered(item: TreeItem, result: Message | None) -> None:
    if result is None:
        item.status = "cancelled"
        return
    item.status, item.note = ("failed" if result.is_error else "completed"), result.text


def _waits(item: TreeItem, asked: Mapping[str, Json]) -> None:
    """Mark what waits for an answer, unless something below does so already."""
    if any(one.status == "interrupted" and one is not item for one in item.walk()):
        return
    label = str(asked.get("node") or asked.get("tool") or asked.get("name") or "")
    kind = "node" if asked.get("node") else "tool"
    note = str(asked.get("reason") or asked.get("name") or "")
    item.items.append(TreeItem(kind, label, status="interrupted", note=note))  # type: ignore[arg-type]


def _text(output: Json) -> str:
    return output if isinstance(output, str) else "" if output is None else dumps(output)
