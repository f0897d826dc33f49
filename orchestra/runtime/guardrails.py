"""Guardrails of one run: their functions are asked here, and anything but a clear yes is a no."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias, cast

from orchestra.core.errors import ConfigError
from orchestra.core.guardrails import GuardrailResult, Guardrails, Stage, Verdict
from orchestra.core.jsontext import Json, copied
from orchestra.core.messages import Message, ToolCall
from orchestra.core.own_thread import in_own_thread
from orchestra.runtime.function_ref import FunctionTable, Ref, from_text, load, pack

if TYPE_CHECKING:
    from orchestra.runtime.request import RunRequest
    from orchestra.runtime.sealed import Sealed

Function: TypeAlias = Callable[..., object]
GuardrailRefs: TypeAlias = Mapping[str, Sequence[Ref]]


@dataclass(frozen=True, slots=True)
class GuardrailContext:
    """What a guardrail knows beside the value. ``messages`` are the new input; ``invocation_state`` is read-only."""

    agent: str
    run_id: str
    session_id: str | None
    user_id: str | None
    messages: tuple[Message, ...]
    invocation_state: Mapping[str, object]

    def __repr__(self) -> str:
        return f"GuardrailContext(agent={self.agent!r}, run_id={self.run_id!r})"


class GuardrailTripped(Exception):
    """A guardrail ended the run. Data: ``result``; ``finished`` are results of tool calls beside a stopped one."""

    def __init__(self, result: GuardrailResult, finished: Sequence[Message] = ()) -> None:
        super().__init__(result, finished)
        self.result, self.finished = result, finished


@dataclass(frozen=True, slots=True)
class LoadedGuardrails:
    """An agent's guardrails, ready to run, with their names."""

    input: tuple[tuple[str, Function], ...] = ()
    output: tuple[tuple[str, Function], ...] = ()
    tools: tuple[tuple[str, Function], ...] = ()


NO_GUARDRAILS = LoadedGuardrails()


@dataclass(slots=True)
class RunGuardrails:
    """Those that one run is to ask. Owner: its turn.

    ``answering``: what it gives may be the answer of the whole run. ``agent``: whose they are (``""``: the run's).
    """

    loaded: LoadedGuardrails
    request: RunRequest
    invocation_state: Sealed | None
    agent: str = ""
    answering: bool = False

    @property
    def of_answer(self) -> bool:
        """Whether the answer is looked at before anybody sees it."""
        return self.answering and bool(self.loaded.output)

    @property
    def of_tools(self) -> bool:
        """Whether tool calls are."""
        return bool(self.loaded.tools)

    async def input(self) -> None:
        """Look at the new input. Raises :class:`GuardrailTripped`."""
        text = "\n\n".join(message.text for message in self.request.input)
        await self._pass("input", self.loaded.input, text)

    async def output(self, answer: Json) -> None:
        """Look at the answer. Raises :class:`GuardrailTripped`."""
        await self._pass("output", self.loaded.output, answer)

    async def tool(self, call: ToolCall, arguments: Mapping[str, Json]) -> str | None:
        """``None`` when the call may run, else what the model reads. Raises :class:`GuardrailTripped`."""
        for name, function in self.loaded.tools:
            shown = replace(call, arguments=cast("dict[str, Json]", copied(dict(arguments))))
            refused = await self._asked("tool", name, function, shown, call.name)
            if refused is not None and refused.action == "reject":
                return refused.why or f"the guardrail {name!r} rejected this call"
            if refused is not None:
                raise GuardrailTripped(refused)
        return None

    async def _pass(self, stage: Stage, functions: Sequence[tuple[str, Function]], value: Json) -> None:
        for name, function in functions:
            if (refused := await self._asked(stage, name, function, copied(value))) is not None:
                raise GuardrailTripped(refused)

    async def _asked(
        self, stage: Stage, name: str, function: Function, value: object, tool: str = ""
    ) -> GuardrailResult | None:
        request, agent = self.request, self.agent or self.request.agent
        opened = {} if self.invocation_state is None else self.invocation_state.open()
        messages = tuple(Message.from_json(message.to_json()) for message in request.input)
        context = GuardrailContext(agent, request.run_id, request.session_id, request.user_id, messages, opened)
        try:
            if inspect.iscoroutinefunction(function):
                said = await function(value, context)
            else:
                said = await in_own_thread(function, value, context)
                if inspect.isawaitable(said):
                    said = await said
        except asyncio.CancelledError:
            if asyncio.current_task().cancelling():  # type: ignore[union-attr]
                raise
            return GuardrailResult(name, stage, agent, "error", "it raised CancelledError", tool)
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as error:  # SystemExit too: it ends no host
            return GuardrailResult(name, stage, agent, "error", f"it raised {type(error).__name__}", tool)
        if not isinstance(said, Verdict) or said.action not in ("allow", "reject", "stop"):
            return GuardrailResult(name, stage, agent, "error", f"it returned {type(said).__name__}, no Verdict", tool)
        return None if said.action == "allow" else GuardrailResult(name, stage, agent, said.action, said.why, tool)


def pack_guardrails(guardrails: Guardrails, table: FunctionTable) -> dict[str, list[Ref]]:
    """What a definition keeps of them."""
    return {
        stage: [from_text(one) if isinstance(one, str) else pack(one, table) for one in getattr(guardrails, stage)]
        for stage in Guardrails.model_fields
    }


def load_guardrails(agent: str, refs: GuardrailRefs, table: FunctionTable) -> LoadedGuardrails:
    """The inverse of :func:`pack_guardrails`. Raises :class:`FunctionUnavailable`, :class:`ConfigError`."""
    return LoadedGuardrails(
        **{stage: tuple(_loaded(agent, stage, ref, table) for ref in refs[stage]) for stage in refs}
    )


def _loaded(agent: str, stage: str, ref: Ref, table: FunctionTable) -> tuple[str, Function]:
    found = load(ref, table)
    if not callable(found) or isinstance(found, type):
        raise ConfigError(f"agent {agent!r}: {found!r} is no function", field=f"guardrails.{stage}")
    name = getattr(found, "__name__", type(found).__name__)
    return str(name), cast("Function", found)
