"""The runs that one run makes below itself: agents as tools, and the nodes of swarms and graphs."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, Protocol, cast

from orchestra.core.agent import Limits
from orchestra.core.errors import LimitReached, ToolError
from orchestra.core.jsontext import Json, dumps
from orchestra.core.messages import Message
from orchestra.core.model import Usage
from orchestra.core.names import branch_of, derived_id, split_thread
from orchestra.core.result import RunResult
from orchestra.runtime.lineage import Lineage
from orchestra.runtime.request import RunRequest
from orchestra.runtime.sealed import Sealed

if TYPE_CHECKING:
    from orchestra.runtime.host import Host
    from orchestra.runtime.turn_context import Emit, TurnContext

MAX_DEPTH = 8
CHILD_LIFE_SECONDS = 86_400


class ChildDispatcher(Protocol):
    """How a host reaches the host of a child run. Not by the queue for new runs: a full host would wait for itself."""

    async def run_child(self, request: RunRequest, invocation_state: Sealed | None, emit: Emit | None) -> RunResult:
        """The child's result. Its events go to ``emit``, when somebody listens. Cancelling this cancels the child."""


class LocalChildren:
    """Children run where their parent does."""

    def __init__(self, host: Host) -> None:
        self._host = host

    async def run_child(self, request: RunRequest, invocation_state: Sealed | None, emit: Emit | None) -> RunResult:
        """The child's result."""
        return await self._host.run_child(request, invocation_state, emit)


@dataclass(slots=True)
class ChildRuns:
    """The children of one run. Owner: its turn. ``ttl`` is how long the run's session is kept, in seconds.

    ``repeatable``: what this run does is journaled, so that after a crash the same calls come again under the same
    names. Otherwise a name says what was asked too, else another question would get the answer of the first attempt.
    """

    host: Host
    context: TurnContext
    invocation_state: Sealed | None
    repeatable: bool
    ttl: float | None
    listened: bool
    heard: dict[str, list[Message]] = field(default_factory=dict)

    async def run(
        self,
        target: str,
        messages: Sequence[Message],
        *,
        name: str,
        place: str,
        memory: Literal["fresh", "run", "session"],
        handoffs: Mapping[str, str] | None = None,
        carried: Mapping[str, Json] | None = None,
        answering: bool = False,
    ) -> RunResult:
        """Run ``target`` to its end. ``name`` is unique in this run, ``place`` names the tool or node.

        An interrupted child has asked what this run does not know: its caller waits too. ``carried`` is then what the
        result carried, when the child goes on. ``answering``: the answer of this run may be the child's.

        Raises:
            ToolError: ``target`` is at work above this run already, or too many runs are.
            LimitReached: nothing is left of a limit of this run.
        """
        request = self._request(target, tuple(messages), name, place, memory, handoffs or {})
        request = replace(request, answering=answering) if answering else request
        if carried is not None:
            request = replace(request, carried=cast("Mapping[str, str]", carried["journal"]))
        emit = self.context.emit if self.listened else None
        try:
            result = await self.host.children.run_child(request, self.invocation_state, emit)
        except asyncio.CancelledError as gone:
            self.context.count(getattr(gone, "used", {}))  # of a child on this host; another one keeps it to itself
            raise
        if memory != "fresh" and request.session_id is None:
            self.heard[place] = [*request.history, *result.messages]
        return result

    def _request(
        self,
        target: str,
        messages: tuple[Message, ...],
        name: str,
        place: str,
        memory: Literal["fresh", "run", "session"],
        handoffs: Mapping[str, str],
    ) -> RunRequest:
        mine = self.context.request
        callers = (*mine.callers, mine.agent)
        if target in callers:
            raise ToolError(
                f"{target!r} is at work already ({' -> '.join((*callers, target))}), and does not call itself"
            )
        if len(callers) > MAX_DEPTH:
            raise ToolError(f"{target!r} was not called: {' -> '.join(callers)} are {len(callers)} runs deep already")
        if not self.repeatable:
            name = f"{name}-{derived_id(target, *(dumps(message.to_json(meta=False)) for message in messages))}"
        run_id = f"{mine.run_id}.{name}"
        branch, home, keep = "", "", None
        if mine.session_id is not None:
            branch = branch_of(split_thread(mine.root)[0], mine.agent, place)
            if memory != "session":
                home, keep = branch, float(CHILD_LIFE_SECONDS)
                branch = branch_of(mine.run_id, place) if memory == "run" else branch_of(run_id)
        ttl = self.ttl if mine.lineage is None else mine.lineage.ttl
        return RunRequest(
            run_id=run_id,
            agent=target,
            input=messages,
            session_id=mine.session_id,
            user_id=mine.user_id,
            on_busy="queue",
            history=tuple(self.heard.get(place, ())) if memory != "fresh" else (),
            needs_invocation_state=mine.needs_invocation_state,
            path=(*mine.path, place),
            lineage=Lineage(mine.run_id, mine.root, branch, callers, home, keep, ttl),
            left=self._left(),
            handoffs=tuple(handoffs.items()),
            answers=self.context.questions.answers,
            approved=tuple(self.context.questions.always),
            ending=mine.ending,
        )

    def _left(self) -> Limits | None:
        """What is left of this run's limits. Raises :class:`LimitReached`."""
        context, left = self.context, dict[str, float]()
        for limit, used in (
            ("model_calls", context.spent.model_calls),
            ("tool_calls", context.spent.tool_calls),
            ("tokens", context.spent.total_tokens),
        ):
            if (most := getattr(context.limits, limit)) is not None:
                left[limit] = most - used
        if context.ends is not None:
            left["seconds"] = context.ends - asyncio.get_running_loop().time()
        for limit, rest in left.items():
            if rest <= 0:
                raise LimitReached(limit, getattr(context.limits, limit))
        return Limits.model_validate({"model_calls": None, **left}) if left else None


def tool_answer(result: RunResult) -> str:
    """What the caller of an agent as a tool gets. Raises :class:`ToolError` when the agent did not complete."""
    if result.status != "completed":
        why = result.error or result.reason or result.status
        raise ToolError(f"{result.last_agent or 'the agent'} {_ENDED.get(result.status, result.status)}: {why}")
    return output_text(result.output)


def output_text(output: Json) -> str:
    """An output as text: text as it is, everything else as JSON."""
    return output if isinstance(output, str) else "" if output is None else dumps(output)


def usage_json(by_agent: Mapping[str, Usage]) -> dict[str, Json]:
    """Usage by agent, for the journal."""
    return {name: usage.to_json() for name, usage in by_agent.items()}


def usage_from(value: object) -> dict[str, Usage]:
    """The inverse of :func:`usage_json`; nothing where there is nothing."""
    return {name: Usage.from_json(usage) for name, usage in value.items()} if isinstance(value, dict) else {}


_ENDED = {"failed": "failed", "limit": "stopped at a limit", "cancelled": "was cancelled"}
