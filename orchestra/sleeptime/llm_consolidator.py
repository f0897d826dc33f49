"""The sleep-time agent: a model with the memory tools, working on drafts through the very same turn loop and edits."""

from __future__ import annotations

import asyncio
import uuid

from orchestra.core.agent import Agent, Limits
from orchestra.core.conversation import Conversation
from orchestra.core.errors import SleeptimeError
from orchestra.core.messages import Message
from orchestra.core.model import Model, Usage
from orchestra.memory.state import StateValues
from orchestra.runtime.archive_tools import ARCHIVE_TOOLS
from orchestra.runtime.definition import Loaded
from orchestra.runtime.hooks import HookContext, Hooks
from orchestra.runtime.journal import NoJournal
from orchestra.runtime.memory_tools import EDIT_TOOLS
from orchestra.runtime.prompt import lone_prompt
from orchestra.runtime.request import RunRequest
from orchestra.runtime.tool import Tool
from orchestra.runtime.tool_calls import ToolCalls
from orchestra.runtime.turn import Turn
from orchestra.runtime.turn_context import TurnContext
from orchestra.sleeptime.work import Work

INSTRUCTIONS = """You look after the memory of another agent while it rests. Below is a stretch of its conversation, or
of documents that it was given; the memory blocks above are what it always has in mind, and you are the one who keeps
them good.

Bring each block up to date with what was said:
- Write down lasting facts about the people and the task: names, dates, numbers, decisions, preferences, constraints.
- When a fact has a new value, replace the old line; do not keep both. When something was withdrawn, delete it.
- One fact a line, in plain words, with dates instead of "yesterday". No small talk, no plans of your own.
- Stay within each block's limit; the block's description says what belongs there.
- What is worth keeping but too long or too special for a block goes into the archive, with archival_memory_insert.

Edit with the tools. Call memory_finish_edits when nothing is left to do, and at once when nothing is worth keeping."""


async def memory_finish_edits() -> str:
    """Finish: all blocks are up to date."""
    return "finished"


FINISH = Tool(memory_finish_edits, idempotent=True)
# It edits with the blocks before its eyes, in a prompt that nobody sends again.
AS_THEY_ARE = Conversation(blocks_in_prompt="fresh")
TOOLS = {**EDIT_TOOLS, FINISH.name: FINISH}
INSERT = ARCHIVE_TOOLS["archival_memory_insert"]


class LlmConsolidator:
    """Runs a model until it calls ``memory_finish_edits`` or answers without a call.

    ``max_steps`` bounds the model calls; ``instructions`` are added to what the sleep-time agent is told.
    """

    def __init__(self, model: Model, *, instructions: str = "", max_steps: int = 20, name: str = "llm") -> None:
        self.name, self._model, self._max_steps = name, model, max_steps
        self._instructions = "\n\n".join(part for part in (INSTRUCTIONS, instructions) if part)

    async def consolidate(self, work: Work) -> Usage:
        """Raises :class:`SleeptimeError` when the model fails or does not come to an end."""
        limits = Limits(model_calls=self._max_steps)
        agent = Agent(
            name=f"{work.agent}-sleeptime", instructions=self._instructions, limits=limits, conversation=AS_THEY_ARE
        )
        prompt = f"{work.persona}\n\n{work.transcript.text()}" if work.persona else work.transcript.text()
        request = RunRequest(uuid.uuid4().hex, agent.name, (Message("user", prompt),), user_id=work.user_id)
        state, archive = StateValues({}), work.archive
        tools = TOOLS if archive is None else {**TOOLS, INSERT.name: INSERT}
        loaded = Loaded(agent, "", tools, (), self._model, "auto", 0)
        context = TurnContext(
            request=request,
            loaded=loaded,
            tools=tools,
            specs=tuple(tool.spec for tool in tools.values()),
            blocks=work.drafts,
            hooks=Hooks((), HookContext(agent.name, request.run_id, None, work.user_id, state.view(), {})),
            limits=agent.limits,
            prompt=lone_prompt(loaded),
            calls_before=work.calls,
            emit=lambda event: None,
            messages=list(request.input),
            final_tools=frozenset({FINISH.name}),
            archive=None if archive is None else lambda name: archive,
        )
        journal = DraftJournal(work)
        turn = Turn(context, journal, ToolCalls(context, journal, state, None, _no_resource, False))
        outcome = await turn.work()
        if outcome.status == "cancelled":
            raise asyncio.CancelledError  # the worker stops, or the pass has taken too long: they know which
        if outcome.status != "completed":
            raise SleeptimeError(work.thread, outcome.error or outcome.reason)
        return context.usage


class DraftJournal(NoJournal):
    """Nothing of a pass is journaled; after each step the next view shows the drafts as they are then."""

    def __init__(self, work: Work) -> None:
        self._work = work

    async def write(self, name: str, value: str) -> str:
        """Look at the drafts again."""
        await self._work.look()
        return value


def _no_resource(name: str) -> object:
    raise SleeptimeError("", f"a sleep-time agent has no resource {name!r}")
