"""What comes before the first model call of a turn: the window guard, the files of a new session, the memory flush."""

from __future__ import annotations

from dataclasses import replace

from orchestra.context.bootstrap import render
from orchestra.context.pressure import notice, pressure_due
from orchestra.context.window_guard import guard
from orchestra.core.events import ContextDecided
from orchestra.core.own_thread import in_own_thread
from orchestra.runtime.memory_files import read_files, today
from orchestra.runtime.turn_context import TurnContext


async def start_turn(context: TurnContext) -> None:
    """All of it. Raises :class:`ContextWindowTooSmall` before any model is asked."""
    prompt, agent = context.prompt, context.loaded.agent
    provider, _, model = context.loaded.model.name.partition(":")
    warning = guard(prompt.window, settings=agent.conversation.guard, provider=provider, model=model)
    if warning is not None:
        context.tell(ContextDecided, part="guard", decision="yes", reason=warning, window=prompt.window)
    if agent.bootstrap and context.workspace is not None and prompt.decided.bootstrap is None:
        day = today(prompt.clock(), agent.conversation.time_zone)
        files = await in_own_thread(read_files, context.workspace, agent.bootstrap, day)
        text = render(files, limits=agent.conversation.bootstrap)
        prompt.decided = replace(prompt.decided, bootstrap=text)
    _press(context)
    if context.flush is not None:
        await context.flush()


def _press(context: TurnContext) -> None:
    """Tell the agent that its window fills, once a cycle."""
    prompt = context.prompt
    settings = context.loaded.agent.conversation.pressure
    if settings is None:
        return
    tokens = prompt.size_before(context.messages, context.specs, context.blocks.ordered)
    gate = pressure_due(
        tokens=tokens, window=prompt.window, settings=settings, cycle=prompt.decided.cycle, noticed=prompt.noticed
    )
    if gate:
        prompt.noticed = prompt.decided.cycle
        prompt.notices = (notice(tokens, prompt.window),)
    context.tell(
        ContextDecided,
        part="pressure",
        decision="yes" if gate else "no",
        reason=gate.reason,
        tokens=tokens,
        window=prompt.window,
    )
