"""The blocks that go with an agent when it is deleted with ``cascade``: those that only it has."""

from __future__ import annotations

from collections.abc import Mapping

from orchestra.core.blocks import BlockView
from orchestra.memory.scopes import Place, resolve, scoped_id, split_ref
from orchestra.store.block_store import BlockStore
from orchestra.store.connection import Store
from orchestra.store.definition_store import Attachments, DefinitionStore


async def delete_agent(store: Store, name: str, *, cascade: bool) -> None:
    """Forget an agent's definition and, with ``cascade``, the blocks that only it has. Twice is fine.

    They are its own ones and that of its sleep-time agent, those that were attached to it alone, and shared ones whose
    label only it declares. Of an agent that was deleted before without ``cascade`` only its own ones are known.
    Blocks of users and sessions stay.
    """
    definitions = DefinitionStore(store)
    while True:
        seen = await definitions.attachments(name)
        if await definitions.delete(name, seen, await _blocks(store, name, seen) if cascade else {}):
            return


async def _blocks(store: Store, name: str, seen: Attachments) -> Mapping[str, str]:
    """Block id → the ref whose users have it too. Whether there are others is for the script that deletes to see."""
    sleeper, blocks = f"{name}-sleeptime", BlockStore(store)
    persona = scoped_id("agent", "persona", sleeper)
    found = {persona: persona}
    for item in seen.shown:
        scope = (split_ref(item.ref) or ("", ""))[0]
        if scope not in ("user", "session"):
            block_id = resolve(item, Place(name))
            found[block_id] = item.ref if scope == "shared" else block_id
    for block_id in [block_id for block_id, ref in found.items() if ref == block_id]:
        block = await blocks.read(block_id)
        if block is not None and block.owner not in ("", name, sleeper) and await _declared(store, block):
            del found[block_id]
    if not seen.items:
        for block_id in await blocks.ids():
            block = await blocks.read(block_id)
            if block is not None and block.scope == "agent" and block.owner == name:
                found[block_id] = block_id
    return found


async def _declared(store: Store, block: BlockView) -> bool:
    """Whether a block that was attached by hand is also there by somebody's definition."""
    users = await DefinitionStore(store).users(f"@{block.scope}:{block.label}")
    return block.owner in users if block.scope == "agent" else bool(users)
