"""Blocks for developers: everything that can be done with them, in one namespace."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Sequence

from pydantic import JsonValue

from orchestra.core.blocks import Access, Block, BlockView
from orchestra.core.errors import BlockConflict, DuplicateLabel, InputError, UnknownBlock
from orchestra.core.jsontext import dumps, loads
from orchestra.core.names import check_label
from orchestra.memory import edits, lineage
from orchestra.memory.merge import merge
from orchestra.memory.scopes import Place, resolve, scoped_id, split_ref
from orchestra.store.block_store import BlockStore, Change, Memo, Receipt, Version
from orchestra.store.connection import Store
from orchestra.store.definition_store import Attachment, Attachments, DefinitionStore
from orchestra.store.event_store import EventFeed

DEVELOPER = "developer"


class Blocks:
    """``runtime.blocks``. A developer may write read-only blocks; limits hold for everybody.

    Every write takes an optional ``operation_id``: the same one again within 15 minutes changes nothing.
    """

    def __init__(self, store: Store, *, author: str = DEVELOPER) -> None:
        self._store, self._author = store, author
        self._blocks, self._definitions = BlockStore(store), DefinitionStore(store)

    # --- making and reading ---------------------------------------------------------------------------------------

    async def create(self, block: Block, *, owner: str | None = None) -> BlockView:
        """Make a block.

        A ``shared`` one is the block of all agents that name its label; a ``user`` or ``session`` one needs its
        ``owner``; an ``agent`` one without owner stands alone until it is attached.

        Raises:
            BlockLimitExceeded: the value is longer than the limit.
            InputError: ``owner`` is missing.
        """
        if block.scope in ("user", "session") and owner is None:
            raise InputError(f"a block of scope {block.scope!r} belongs to somebody: give owner=")
        alone = block.scope == "agent" and owner is None
        block_id = (
            f"{block.label}-{uuid.uuid4().hex[:16]}" if alone else scoped_id(block.scope, block.label, owner or "")
        )
        await self._blocks.create(block_id, block, owner or "", self._author)
        return await self.get(block_id)

    async def get(self, block_id: str) -> BlockView:
        """The block. Raises :class:`UnknownBlock`."""
        found = await self._blocks.read(block_id)
        if found is None:
            raise UnknownBlock(block_id)
        return found

    async def list(
        self,
        *,
        label: str | None = None,
        agent: str | None = None,
        user_id: str | None = None,
        session_id: str | None = None,
        tags: Sequence[str] = (),
        match: str = "any",
        limit: int | None = None,
        after: str | None = None,
    ) -> Sequence[BlockView]:
        """Blocks by label, tags (``any`` or ``all`` of them), or those of one agent in the order of its prompt.

        With ``agent``, blocks of scope user and session are listed when ``user_id`` and ``session_id`` are given.
        ``limit`` and ``after`` (the last id of the page before) give pages, each id once.
        """
        if agent is not None:
            attached = await self._definitions.attachments(agent)
            ids: Sequence[str] = self._ids_of(attached, Place(agent, session_id, user_id))
        else:
            ids = [block_id for block_id in await self._blocks.ids() if after is None or block_id > after]
        out: list[BlockView] = []
        for block_id in ids:
            found = await self._blocks.read(block_id)
            if found is None or (label is not None and found.label != label):
                continue
            wanted, there = set(tags), set(found.tags)
            if wanted and not (wanted <= there if match == "all" else wanted & there):
                continue
            out.append(found)
            if limit is not None and len(out) == limit:
                break
        return out

    @staticmethod
    def _ids_of(attachments: Attachments, place: Place) -> Sequence[str]:
        ids = []
        for item in attachments.shown:
            scope = split_ref(item.ref)
            lacking = {"user": place.user_id is None, "session": place.session_id is None}
            if scope is None or not lacking.get(scope[0], False):
                ids.append(resolve(item, place))
        return ids

    async def agents(self, block_id: str) -> Sequence[str]:
        """The agents that the block is attached to, sorted; of a scoped block, those that declare its label.

        An agent whose memory sleeps stands here with its sleep-time agent (``NAME-sleeptime``), which shares the block.
        """
        block = await self.get(block_id)
        found = set(await self._definitions.users(block_id))
        if block_id == scoped_id(block.scope, block.label, block.owner):
            declared = await self._definitions.users(f"@{block.scope}:{block.label}")
            found |= {block.owner} & set(declared) if block.scope == "agent" else set(declared)
        for agent in list(found):
            text, _ = await self._definitions.get(agent)
            sleeptime = loads(text).get("sleeptime")
            items = (await self._definitions.attachments(agent)).items
            refs = (block_id, f"@{block.scope}:{block.label}")
            writes = any(item.ref in refs and item.access == "write" for item in items) and not block.read_only
            if sleeptime and writes and block.label in (sleeptime.get("blocks") or [block.label]):
                found.add(f"{agent}-sleeptime")
        return sorted(found)

    # --- writing --------------------------------------------------------------------------------------------------

    async def update(
        self,
        block_id: str,
        *,
        value: str | None = None,
        limit: int | None = None,
        description: str | None = None,
        read_only: bool | None = None,
        metadata: dict[str, JsonValue] | None = None,
        tags: Sequence[str] | None = None,
        label: str | None = None,
        expected_version: int | None = None,
        operation_id: str | None = None,
    ) -> BlockView:
        """Change what is given; the last write wins unless ``expected_version`` is given. Nothing new, no new version.

        Raises:
            BlockConflict: the block is not at ``expected_version``.
            BlockLimitExceeded: the value is longer than the limit, or the new limit shorter than the value.
            DuplicateLabel: an agent of this block has another block of that label.
        """
        fields: list[str] = []
        if value is not None:
            fields += ["value", value, "chars", str(len(value))]
        if limit is not None:
            if limit <= 0:
                raise InputError(f"limit {limit}: a block's limit is a positive number of characters")
            fields += ["limit", str(limit)]
        if description is not None:
            fields += ["description", description]
        if read_only is not None:
            fields += ["read_only", "1" if read_only else "0"]
        if metadata is not None:
            fields += ["metadata", dumps(metadata)]
        if tags is not None:
            fields += ["tags", dumps(list(dict.fromkeys(tags)))]
        if label is not None:
            await self._may_rename(block_id, check_label(label))
            fields += ["label", label]
        await self._write(block_id, edits.Edit("update", tuple(fields)), operation_id, expected_version)
        return await self.get(block_id)

    async def append(self, block_id: str, text: str, *, operation_id: str | None = None) -> Receipt:
        """A new line at the end. Raises :class:`BlockLimitExceeded`."""
        return await self._write(block_id, edits.append(text), operation_id)

    async def replace(self, block_id: str, old: str, new: str, *, operation_id: str | None = None) -> Receipt:
        """Replace the one occurrence of ``old``. Raises :class:`BlockMatchError`, :class:`BlockLimitExceeded`."""
        return await self._write(block_id, edits.replace(old, new), operation_id)

    async def insert(self, block_id: str, text: str, line: int = -1, *, operation_id: str | None = None) -> Receipt:
        """A new line after line ``line`` (0 top, -1 end). Raises :class:`BlockRangeError`."""
        return await self._write(block_id, edits.insert(text, line), operation_id)

    async def rethink(
        self, block_id: str, value: str, *, expected_version: int, operation_id: str | None = None
    ) -> Receipt:
        """A whole new value, if the block is still at ``expected_version``. Raises :class:`BlockConflict`."""
        return await self._write(block_id, edits.rethink(value), operation_id, expected_version)

    async def delete(self, block_id: str) -> None:
        """Delete a block and its history; agents that had it show it no more. Twice is fine."""
        for agent in await self._definitions.users(block_id):
            await self.detach(agent, block_id)
        await self._blocks.delete([block_id])

    async def _write(
        self,
        block_id: str,
        edit: edits.Edit,
        operation_id: str | None,
        expected_version: int | None = None,
        sources: str = "",
    ) -> Receipt:
        # With the block: one id for the edits of several blocks (the id of a request, say) drops none of them.
        memo = Memo(self._store.keys.op(f"{operation_id or uuid.uuid4().hex}:{block_id}"))
        change = Change(self._author, sources=sources)
        return await self._blocks.edit(
            block_id,
            edit.operation,
            edit.arguments,
            change=change,
            memo=memo,
            label=block_id,
            by_agent=False,
            expected_version=expected_version,
        )

    async def _may_rename(self, block_id: str, label: str) -> None:
        block = await self.get(block_id)
        if block.label == label:
            return
        if block_id == scoped_id(block.scope, block.label, block.owner):
            raise InputError(f"block {block.label!r} gets its label from the agents that declare it; rename it there")
        for agent in await self._definitions.users(block_id):
            if label in await self._labels(agent):
                raise DuplicateLabel(label, agent)

    # --- sharing --------------------------------------------------------------------------------------------------

    async def attach(self, agent: str, block_id: str, *, access: Access = "write") -> None:
        """Put a block into the prompt of an agent, from its next turn on any host. Twice changes nothing.

        Raises:
            DuplicateLabel: the agent has another block of that label; it keeps that one.
            UnknownBlock: there is no such block in this namespace.
            UnknownName: there is no such agent.
        """
        while True:
            seen = await self._definitions.attachments(agent)
            block = await self.get(block_id)
            mine = next((item for item in seen.items if self._means(item, agent, block_id)), None)
            if mine is None and block.label in await self._labels(agent):
                raise DuplicateLabel(block.label, agent)
            order = mine.order if mine else max((item.order for item in seen.items), default=-1) + 1
            item = Attachment(mine.ref if mine else block_id, order, access, "attached")
            if mine and mine.kind != "detached" and mine.access == access:
                return
            if await self._definitions.change(agent, "attach", item, block_id, seen.version):
                return

    async def detach(self, agent: str, block_id: str) -> None:
        """Take a block out of the prompt of an agent; the block stays. ``block_id`` may also be a declared label.

        Raises:
            UnknownBlock: the agent has no such block.
        """
        while True:
            seen = await self._definitions.attachments(agent)
            item = next((item for item in seen.shown if self._means(item, agent, block_id)), None)
            if item is None:
                raise UnknownBlock(block_id, sorted(await self._labels(agent)))
            kind = "attached" if split_ref(item.ref) is None else "detached"
            gone = Attachment(item.ref, item.order, item.access, kind)  # type: ignore[arg-type]
            if await self._definitions.change(agent, "detach", gone, block_id, seen.version):
                return

    async def _labels(self, agent: str) -> set[str]:
        labels = set()
        for item in (await self._definitions.attachments(agent)).shown:
            scoped = split_ref(item.ref)
            found = None if scoped else await self._blocks.read(item.ref)
            if scoped or found:
                labels.add(scoped[1] if scoped else found.label)  # type: ignore[union-attr]
        return labels

    @staticmethod
    def _means(item: Attachment, agent: str, block_id: str) -> bool:
        scoped = split_ref(item.ref)
        if item.ref == block_id or (scoped is not None and scoped[1] == block_id):
            return True
        return scoped is not None and scoped[0] in ("agent", "shared") and resolve(item, Place(agent)) == block_id

    # --- history --------------------------------------------------------------------------------------------------

    async def log(self, block_id: str) -> Sequence[Version]:
        """The versions that the history still has, oldest first. Raises :class:`UnknownBlock`."""
        await self.get(block_id)
        return await self._blocks.log(block_id)

    async def blame(self, block_id: str) -> Sequence[lineage.BlameLine]:
        """Each line: the edit that wrote it, its author, and the messages it came from."""
        return lineage.blame(await self.log(block_id))

    async def diff(self, block_id: str, before: int, after: int) -> str:
        """What changed between two versions, as a unified diff."""
        versions = {version.version: version.value for version in await self.log(block_id)}
        old, new = self._version(versions, block_id, before), self._version(versions, block_id, after)
        return lineage.diff(old, new, names=(f"version {before}", f"version {after}"))

    async def revert(self, block_id: str, *, version: int | None = None, run: str | None = None) -> BlockView:
        """Go back to a version, or undo what one run or pass did; a new edit, the history is never rewritten.

        Raises:
            InputError: the version or run is not in the history, or neither or both are given.
            BlockConflict: later edits overlap with those of the run.
        """
        if (version is None) == (run is None):
            raise InputError("revert takes either version= or run=")
        while True:
            log = await self.log(block_id)
            values = {entry.version: entry.value for entry in log}
            current = await self.get(block_id)
            if version is not None:
                value = self._version(values, block_id, version)
            else:
                value = self._without(log, str(run), current)
            edit = edits.Edit("revert", ("value", value, "chars", str(len(value))))
            sources = lineage.kept_sources(log, value)
            try:
                await self._write(block_id, edit, None, current.version, sources)
            except BlockConflict:
                continue  # somebody wrote between reading and writing: look again
            return await self.get(block_id)

    @staticmethod
    def _version(versions: dict[int, str], block_id: str, version: int) -> str:
        if version not in versions:
            there = f"{min(versions)} to {max(versions)}" if versions else "none"
            raise InputError(f"block {block_id} has no version {version} in its history (it has {there})")
        return versions[version]

    @staticmethod
    def _without(log: Sequence[Version], run: str, current: BlockView) -> str:
        value = current.value
        found = False
        for before, entry in reversed(list(zip([None, *log], log, strict=False))):
            if run in (entry.run, entry.work):
                found = True
                if before is None and entry.version > 1:
                    raise InputError(f"what stood before {run!r} is not in the history of block {current.id} any more")
                merged = merge(entry.value, value, before.value if before else "")
                if merged.conflicts:
                    raise BlockConflict(current.label, entry.version, current.version, current.value)
                value = merged.text
        if not found:
            raise InputError(f"no edit of run or pass {run!r} is in the history of block {current.id}")
        return value

    async def watch(self, block_id: str | None = None) -> AsyncIterator[dict[str, str]]:
        """Edits as they happen: dicts with block, label, version, op, author, run."""
        feed = EventFeed(self._store)
        try:
            async for event in feed.follow():
                if event["type"] == "block" and block_id in (None, event["block"]):
                    yield event
        finally:
            await feed.close()
