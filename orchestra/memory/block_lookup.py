"""Finding a block by what people type: its id, or its label when only one block has it."""

from __future__ import annotations

from collections.abc import Sequence

from orchestra.core.blocks import BlockView
from orchestra.core.errors import InputError, UnknownBlock, UnknownName
from orchestra.memory.blocks import Blocks
from orchestra.store.connection import Store
from orchestra.store.definition_store import DefinitionStore


async def find_block(blocks: Blocks, name: str) -> BlockView:
    """The block with the id ``name``, else the only one with that label.

    Raises:
        UnknownBlock: there is none.
        InputError: several have the label; the message names them.
    """
    try:
        return await blocks.get(name)
    except UnknownBlock:
        every = await blocks.list()
    found = [block for block in every if block.label == name]
    if not found:
        raise UnknownBlock(name, sorted({block.label for block in every}))
    if len(found) > 1:
        listed = ", ".join(f"{block.id} ({block.scope} {block.owner})".replace(" )", ")") for block in found)
        raise InputError(f"several blocks are labelled {name!r}: {listed}; give an id")
    return found[0]


async def list_blocks(
    store: Store,
    *,
    label: str | None = None,
    agent: str | None = None,
    user_id: str | None = None,
    session_id: str | None = None,
    tags: Sequence[str] = (),
) -> Sequence[BlockView]:
    """As :meth:`Blocks.list`, for names that somebody typed. Raises :class:`UnknownName` for an unknown agent."""
    if agent is not None and agent not in (known := await DefinitionStore(store).names()):
        raise UnknownName("agent", agent, known)
    if agent is None and (user_id is not None or session_id is not None):
        raise InputError("a user or a session is looked at through an agent: name it too")
    return await Blocks(store).list(label=label, agent=agent, user_id=user_id, session_id=session_id, tags=tags)
