"""The tools by which an agent edits its own blocks. Names are those that models know from MemGPT and Letta.

Each answers with a short receipt, never with the whole block; every refusal is an error result and changes nothing.
They are idempotent: each edit's operation id is derived from run and call, so a second start changes nothing.
"""

from __future__ import annotations

from orchestra.context.blocks import restored
from orchestra.runtime.tool import Tool
from orchestra.runtime.tool_context import ToolContext
from orchestra.store.block_store import Receipt


def receipt(label: str, done: Receipt) -> str:
    """``human: version 4, 120 of 5000 characters``."""
    unchanged = "" if done.changed else " (unchanged)"
    return f"{label}: version {done.version}, {done.chars} of {done.limit} characters{unchanged}"


async def core_memory_append(label: str, content: str, ctx: ToolContext) -> str:
    """Add a line at the end of a memory block.

    Args:
        label: The block's label.
        content: The new line (or lines).
    """
    return receipt(label, await ctx.blocks.append(label, restored(content)))


async def core_memory_replace(label: str, old_content: str, new_content: str, ctx: ToolContext) -> str:
    """Replace a piece of text in a memory block. It must occur exactly once. An empty new_content deletes it.

    Args:
        label: The block's label.
        old_content: The text as it stands in the block, without line numbers.
        new_content: What stands there afterwards.
    """
    return receipt(label, await ctx.blocks.replace(label, restored(old_content), restored(new_content)))


async def memory_insert(label: str, new_string: str, ctx: ToolContext, insert_line: int = -1) -> str:
    """Insert a line into a memory block.

    Args:
        label: The block's label.
        new_string: The new line (or lines).
        insert_line: After which line; 0 is the top, -1 the end.
    """
    return receipt(label, await ctx.blocks.insert(label, restored(new_string), insert_line))


async def memory_rethink(label: str, new_memory: str, ctx: ToolContext) -> str:
    """Rewrite a memory block as a whole. Refused when somebody else changed it since you read it.

    Args:
        label: The block's label.
        new_memory: The whole new value.
    """
    return receipt(label, await ctx.blocks.rethink(label, restored(new_memory)))


EDIT_TOOLS = {
    function.__name__: Tool(function, idempotent=True)
    for function in (core_memory_append, core_memory_replace, memory_insert, memory_rethink)
}
MEMORY_TOOLS = frozenset(EDIT_TOOLS) | {
    "memory_finish_edits",
    "conversation_search",
    "archival_memory_insert",
    "archival_memory_search",
    "memory_file_append",
    "retrieve_offloaded",
}
