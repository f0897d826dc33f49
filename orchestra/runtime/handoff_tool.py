"""The tool with which an agent of a swarm hands its task on, given to it for one run."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from orchestra.core.errors import ToolError
from orchestra.core.handoff import HANDOFF_TOOL, Handoff, handoff_spec, read_handoff, second_handoff
from orchestra.core.jsontext import Json
from orchestra.core.messages import ToolCall
from orchestra.core.model import ToolSpec
from orchestra.runtime.tool import Tool
from orchestra.runtime.tool_context import ToolContext

if TYPE_CHECKING:
    from orchestra.runtime.turn_context import TurnContext


class HandoffTool(Tool):
    """Ends the turn when it accepts. Of several calls in one reply the first valid one counts, whichever runs first."""

    def __init__(self, context: TurnContext) -> None:
        super().__init__(_never, name=HANDOFF_TOOL, description="", idempotent=True)
        self._turn, self._targets = context, dict(context.request.handoffs)

    @cached_property
    def spec(self) -> ToolSpec:
        """With the agents of this swarm."""
        return handoff_spec(self._targets)

    def accepts(self, call: ToolCall) -> bool:
        """Whether this call, made alone, ends the turn."""
        if call.name != HANDOFF_TOOL:
            return False
        found = read_handoff(call.arguments, agent=self._turn.request.agent, targets=tuple(self._targets))
        return isinstance(found, Handoff)

    async def run(self, arguments: Mapping[str, Json], context: ToolContext) -> str:
        """Accept the handoff. Raises :class:`ToolError` with what is wrong with it."""
        agent, targets = self._turn.request.agent, tuple(self._targets)
        for call in self._turn.messages[-1].tool_calls:
            if call.id == context.call_id:
                break
            if call.name == HANDOFF_TOOL:
                earlier = read_handoff(call.arguments, agent=agent, targets=targets)
                if isinstance(earlier, Handoff):
                    raise ToolError(second_handoff(earlier))
        found = read_handoff(arguments, agent=agent, targets=targets)
        if not isinstance(found, Handoff):
            raise ToolError(found)
        return f"Handed off to {found.target}."


def give_handoffs(context: TurnContext) -> None:
    """Give the turn its handoff tool, when there is anybody to hand off to."""
    if context.request.handoffs and not context.loaded.kind:
        made = HandoffTool(context)
        context.tools[HANDOFF_TOOL] = made
        context.specs = (*context.specs, made.spec)
        context.final_tools |= {HANDOFF_TOOL}
        # A hook may ask somebody, or forbid it, and so may a guardrail.
        if not context.loaded.hooks and not context.loaded.guardrails.tools:
            context.ends_with = made.accepts


def _never() -> None:
    """Nobody calls it by itself."""
