"""Large tool results: put away when they are made, read page by page by the session that they belong to."""

from __future__ import annotations

from dataclasses import dataclass

from orchestra.context.offload import RETRIEVE, over, page, preview
from orchestra.core.conversation import Offload
from orchestra.core.errors import InputError, ToolError
from orchestra.core.names import derived_id
from orchestra.core.own_thread import in_own_thread
from orchestra.runtime.tool import Tool
from orchestra.runtime.tool_context import ToolContext
from orchestra.store.context_store import ContextStore


@dataclass(frozen=True, slots=True)
class Offloads:
    """Those of one session, as one run writes and reads them.

    ``token`` is that of the lease of its ``thread``; ``root`` is the session's own thread.
    """

    contexts: ContextStore
    thread: str
    root: str
    run_id: str
    token: int
    settings: Offload

    async def shown(self, call: str, tool: str, content: str) -> str:
        """What the message shows of a result: all of it, or its preview when it was put away.

        The reference comes from run and call, so a result that is made again (its host died) is there once. Raises
        :class:`Fenced`.
        """
        if not over(content, tool, self.settings):
            return content
        reference = derived_id("offload", self.run_id, call)
        kept = await self.contexts.put_away(self.thread, self.token, reference, content, root=self.root)
        return preview(kept, settings=self.settings, reference=reference)

    async def page(self, reference: str, pattern: str | None, lines: str | None) -> str:
        """One page of a result of this session. Raises :class:`ToolError` when there is none, or no such lines."""
        text = await self.contexts.put_back(self.root, reference)
        if text is None:
            raise ToolError(f"there is no result {reference!r} in this session")
        try:
            return await in_own_thread(
                lambda: page(text, pattern=pattern, lines=lines, limit_tokens=self.settings.page_tokens)
            )
        except InputError as error:
            raise ToolError(str(error)) from None


async def retrieve_offloaded(
    reference: str, ctx: ToolContext, pattern: str | None = None, lines: str | None = None
) -> str:
    """Read a page of a large tool result of which only the beginning and the end were shown.

    Args:
        reference: The reference that stands in the shown part.
        pattern: Only lines in which this regular expression is found.
        lines: Which lines, such as "10", "10-20" or "10-".
    """
    if ctx.offloads is None:
        raise ToolError("there are no such results here")
    return await ctx.offloads.page(reference, pattern, lines)


RETRIEVE_TOOL = Tool(retrieve_offloaded, name=RETRIEVE, idempotent=True)
