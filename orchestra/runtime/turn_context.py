"""What a turn works with."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from orchestra.core.agent import Limits
from orchestra.core.errors import LimitReached
from orchestra.core.events import ContextDecided, RunEvent
from orchestra.core.messages import Message, ToolCall
from orchestra.core.model import ModelReply, ToolSpec, Usage
from orchestra.runtime.archive_tools import ARCHIVE_TOOLS
from orchestra.runtime.definition import Loaded
from orchestra.runtime.guardrails import RunGuardrails
from orchestra.runtime.heartbeat import with_heartbeat
from orchestra.runtime.hooks import Hooks
from orchestra.runtime.memory_files import FILE_TOOL
from orchestra.runtime.memory_tools import EDIT_TOOLS
from orchestra.runtime.offloads import RETRIEVE_TOOL, Offloads
from orchestra.runtime.output_type import OutputType
from orchestra.runtime.prompt import Prompt
from orchestra.runtime.questions import Questions
from orchestra.runtime.request import RunRequest
from orchestra.runtime.run_archive import ToolArchive
from orchestra.runtime.run_blocks import RunBlocks
from orchestra.runtime.tool import Tool

CancelMode: TypeAlias = Literal["now", "after_step"]
"""now: at the next await. after_step: what runs (a model call, tools, nodes) ends first, and is kept."""
Emit = Callable[[RunEvent], None]
SQUEEZE = 0.75  # an estimate may be off by a third for code and tables


@dataclass(slots=True)
class TurnContext:
    """What a turn works with; made by the host when the lease is taken. Owner: the turn.

    After a reply that calls one of ``final_tools``, and when that tool gave no error, the model is not asked again.
    ``ends_with`` tells of a call whether it is sure to end the turn; ``closing``: such a one is being made, the commit
    follows at once, and nothing is journaled any more, just as a last reply is not.
    ``usage`` is all that was used, ``below`` the part of child runs, by agent. ``ends`` is when the limit of seconds is
    over, on the loop's clock. ``above`` is the run that made this one and ``running`` are those that this one made, as
    far as they are at work on this host.
    """

    request: RunRequest
    loaded: Loaded
    tools: dict[str, Tool]
    specs: tuple[ToolSpec, ...]
    blocks: RunBlocks
    hooks: Hooks
    limits: Limits
    prompt: Prompt
    calls_before: int
    emit: Emit
    number: int = 0
    usage: Usage = field(default_factory=Usage)
    below: dict[str, Usage] = field(default_factory=dict)
    ends: float | None = None
    replies: list[ModelReply] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    cancelled: bool = False
    final_tools: frozenset[str] = frozenset()
    ends_with: Callable[[ToolCall], bool] | None = None
    closing: bool = False
    archive: Callable[[str], ToolArchive] | None = None
    open_workspace: Callable[[], Awaitable[Path | None]] | None = None
    workspace: Path | None = None
    compact: Callable[[int], Awaitable[str]] | None = None
    offloads: Offloads | None = None
    flush: Callable[[], Awaitable[None]] | None = None
    questions: Questions = field(default_factory=Questions)
    output: OutputType | None = None
    finishing: asyncio.Event = field(default_factory=asyncio.Event)
    guardrails: RunGuardrails | None = None
    above: TurnContext | None = None
    running: dict[str, TurnContext] = field(default_factory=dict)

    @property
    def spent(self) -> Usage:
        """What it has used with all that runs below it right now, on this host."""
        return sum((child.spent for child in self.running.values()), self.usage)

    def check_limits(self, tool_calls: int = 0) -> None:
        """Raise :class:`LimitReached` when no model call, or not so many tool calls, may follow.

        Runs below one run that work at the same time are each given what was left when they started. On one host they
        are also counted together, so that they exceed the limits above them by no more than one step each.
        """
        context: TurnContext | None = self
        while context is not None:
            limits, used = context.limits, context.spent
            if tool_calls:
                if limits.tool_calls is not None and used.tool_calls + tool_calls > limits.tool_calls:
                    raise LimitReached("tool_calls", limits.tool_calls)
            elif limits.model_calls is not None and used.model_calls >= limits.model_calls:
                raise LimitReached("model_calls", limits.model_calls)
            elif limits.tokens is not None and used.total_tokens >= limits.tokens:
                raise LimitReached("tokens", limits.tokens)
            context = context.above

    def count(self, by_agent: Mapping[str, Usage]) -> None:
        """A child run used this, by agent."""
        for name, usage in by_agent.items():
            self.below[name] = self.below.get(name, Usage()) + usage
            self.usage += usage

    @property
    def usage_by_agent(self) -> dict[str, Usage]:
        """What this agent itself used, and each agent below it."""
        own = self.usage - sum(self.below.values(), Usage())
        return {self.request.agent: own, **self.below}

    async def make_room(self, overflows: int, error: str) -> None:
        """The provider found the prompt too long for the ``overflows``-th time: compact the log, fill less of it.

        The estimates were too low then, or the window is smaller than what is known of it.
        """
        self.prompt.squeeze *= SQUEEZE
        done = (
            "without a session there is nothing to compact" if self.compact is None else await self.compact(overflows)
        )
        self.tell(
            ContextDecided,
            part="overflow",
            decision="yes",
            reason=f"{error}; try {overflows}: {done}",
            tokens=self.prompt.tokens,
            window=self.prompt.window,
        )

    def tell_decisions(self) -> None:
        """Emit what the prompt has decided since."""
        prompt = self.prompt
        for part, decision, reason in prompt.told:
            self.tell(
                ContextDecided, part=part, decision=decision, reason=reason, tokens=prompt.tokens, window=prompt.window
            )
        prompt.told.clear()

    def tell(self, kind: Callable[..., RunEvent], /, **fields: object) -> None:
        """Emit an event of this run."""
        self.number += 1
        request = self.request
        self.emit(kind(run_id=request.run_id, agent=request.agent, path=request.path, number=self.number, **fields))


def tools_for(loaded: Loaded, *, writable: bool, stored: bool = False) -> tuple[dict[str, Tool], tuple[ToolSpec, ...]]:
    """The agent's tools, with the edit tools when it may edit a block.

    An agent whose memory sleeps leaves editing to its sleep-time agent, unless ``memory_tools`` says otherwise; it
    keeps the tools that search what was said and the archive; others have them where ``recall`` and ``archive`` say so.
    One with tools of its own can read large results in a session (``stored``): from the start, since a tool that came
    later would change the beginning of the prompt, which providers cache.
    """
    agent = loaded.agent
    wanted = agent.memory_tools if agent.memory_tools is not None else not agent.sleeps
    tools = dict(loaded.tools)
    if wanted and writable:
        tools |= EDIT_TOOLS
    searching = ("conversation_search",) if agent.recall_scope is not None else ()
    tools |= {name: ARCHIVE_TOOLS[name] for name in (*searching, *agent.archive_tools)}
    if stored and agent.conversation.offload.enabled and loaded.tools:
        tools[RETRIEVE_TOOL.name] = RETRIEVE_TOOL
    if agent.bootstrap and agent.workspace is not None:
        tools[FILE_TOOL.name] = FILE_TOOL
    specs = tuple(tool.spec for tool in tools.values())
    if agent.conversation.pressure is not None:
        specs = tuple(map(with_heartbeat, specs))
    return tools, specs
