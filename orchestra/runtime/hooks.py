"""Hooks: objects with any of these methods, sync or async, called around what a run does.

``before_…`` hooks run in the order of their registration, ``after_…`` hooks in reverse. What a hook returns replaces
what its event declares as writable (named below); ``None`` changes nothing. Sync hooks run in a thread.

======================  ============================================  ==========================
method                  arguments                                     writable, by returning it
======================  ============================================  ==========================
``before_run``          context                                       nothing
``after_run``           context, result                               nothing
``before_model``        context, request                              the request
``after_model``         context, reply                                nothing
``before_tool``         context, call, arguments                      the arguments
``after_tool``          context, call, content                        the content
``before_block_edit``   context, edit                                 the edit's text
``after_block_edit``    context, edit, version                        nothing
``before_node``         context, visit, decision (``"run"``)          ``"skip"``, ``"abort"``
``after_node``          context, visit, result                        the result
``before_handoff``      context, visit, handoff                       its message and context
``after_handoff``       context, source, handoff                      nothing
``before_pass``         context, transcript                           nothing
``after_pass``          context, report                               nothing
======================  ============================================  ==========================

Nodes and handoffs are those of a swarm or graph, told to its own hooks; ``after_handoff`` when the agent that was
handed the task is about to begin. A pass is one of the sleep-time agent of this agent, on the host that does it: its
run id is the pass's, there is no state and no ``invocation_state``; ``after_pass`` comes when it is published. What
hooks are given are copies: changing them in place changes nothing.

``context.interrupt(name, reason)`` asks somebody, as ``ctx.interrupt`` does in a tool: without an answer the run waits,
and the hook is called again when it is resumed. Not in ``after_run``, nor around block edits and passes. The names that
are asked around one tool call differ from those that its tool asks.

``before_tool`` and ``before_block_edit`` may raise :class:`ToolError`: the tool does not run (the edit is not made) and
the model gets its text as an error result. What ``before_pass`` raises fails the pass, which is tried again later. What
``after_run``, ``after_block_edit`` and ``after_pass`` raise is logged and changes nothing: all is stored by then. A run
that is resumed calls hooks again around what it does again.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from orchestra.core.own_thread import in_own_thread
from orchestra.memory.edits import BlockEdit, Edit
from orchestra.memory.state import AgentState
from orchestra.runtime.questions import Ask, no_questions
from orchestra.runtime.sealed import Sealed

T = TypeVar("T")
_log = logging.getLogger("orchestra")


@dataclass(frozen=True, slots=True)
class HookContext:
    """What a hook sees of the run. ``state`` is the agent's own; ``invocation_state`` is read-only."""

    agent: str
    run_id: str
    session_id: str | None
    user_id: str | None
    state: AgentState
    invocation_state: Mapping[str, object]
    interrupt: Ask = no_questions

    def __repr__(self) -> str:
        return f"HookContext(agent={self.agent!r}, run_id={self.run_id!r})"


class Hooks:
    """The hooks of one run."""

    def __init__(self, hooks: Sequence[object], context: HookContext, invocation_state: Sealed | None = None) -> None:
        self._hooks, self._context, self._invocation_state = hooks, context, invocation_state

    async def call(self, name: str, *arguments: object, ask: Ask = no_questions) -> None:
        """Call all hooks that have the method ``name``; ``ask`` is their ``interrupt``."""
        for hook in self._order(name):
            await self._one(hook, name, ask, *arguments)

    async def tell(self, name: str, *arguments: object) -> None:
        """As :meth:`call`, when all is stored and there is an answer to give: a hook that raises is only logged."""
        for hook in self._order(name):
            try:
                await self._one(hook, name, no_questions, *arguments)
            except (asyncio.CancelledError, KeyboardInterrupt, GeneratorExit):
                raise
            except BaseException as error:
                run = self._context.run_id
                which = f"{type(hook).__name__}.{name}"
                _log.warning("run %s: %s: %s: %s", run, which, type(error).__name__, error)

    async def change(self, name: str, value: T, *arguments: object, ask: Ask = no_questions) -> T:
        """Call them in turn; each may replace ``value``, its last argument."""
        for hook in self._order(name):
            found = await self._one(hook, name, ask, *arguments, value)
            if found is not None:
                value = found  # type: ignore[assignment]
        return value

    def _order(self, name: str) -> Sequence[object]:
        having = [hook for hook in self._hooks if callable(getattr(hook, name, None))]
        return having[::-1] if name.startswith("after_") else having

    async def _one(self, hook: object, name: str, ask: Ask, *arguments: object) -> object:
        method, context = getattr(hook, name), replace(self._context, interrupt=ask)
        if self._invocation_state is not None:  # a copy for each call, as for tools
            context = replace(context, invocation_state=self._invocation_state.open())
        copies = pickle.loads(pickle.dumps(arguments, protocol=5))
        if inspect.iscoroutinefunction(method):
            return await method(context, *copies)
        found = await in_own_thread(method, context, *copies)
        return await found if inspect.isawaitable(found) else found


class HookedEdits:
    """The hooks around edits of blocks. Owner: the run's blocks."""

    def __init__(self, hooks: Hooks) -> None:
        self._hooks = hooks

    async def before(self, label: str, edit: Edit) -> Edit:
        """The edit with the text that hooks want. What else of it they change does not count."""
        asked = BlockEdit.of(label, edit)
        wanted = await self._hooks.change("before_block_edit", asked)
        return edit if wanted.text == asked.text else asked.with_text(wanted.text)

    async def after(self, label: str, edit: Edit, version: int) -> None:
        """It is stored."""
        await self._hooks.tell("after_block_edit", BlockEdit.of(label, edit), version)
