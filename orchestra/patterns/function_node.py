"""Plain functions as nodes of a graph: what they are called with, and what becomes of what they return."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import cast, get_type_hints

from pydantic_core import to_jsonable_python

from orchestra.core.errors import ConfigError, InputError
from orchestra.core.jsontext import Json, fault
from orchestra.core.own_thread import in_own_thread
from orchestra.patterns.node_input import as_text
from orchestra.patterns.visits import NodeResult, VisitInput
from orchestra.runtime.tool import Tool
from orchestra.runtime.tool_context import ToolContext

GIVEN = ("text", "outputs", "item")


def check_function(value: object) -> None:
    """Raise :class:`ConfigError` when a node cannot call this."""
    if not callable(value):
        raise ConfigError(f"{value!r} is no function")
    _parameters(_inner(value))


def is_idempotent(value: object) -> bool:
    """Whether it may be started again after a crash: a function made by ``@tool(idempotent=True)``."""
    return isinstance(value, Tool) and value.idempotent


async def call_function(value: object, given: VisitInput, context: ToolContext) -> NodeResult:
    """Call a node's function; a plain one runs in a thread of its own.

    Parameters are filled in by name: ``text`` is the input as one text, ``outputs`` what the nodes before it gave, by
    their names, ``item`` the item of a ``map``; one annotated :class:`ToolContext` gets that. One parameter of another
    name gets the input itself: what ``inputs`` made, else the item, else the output of the node before it (of several:
    all by name), else the task's text.

    Returns what it returned as the node's output; a :class:`NodeResult` as it is.

    Raises:
        InputError: what it returned is no JSON value.
    """
    function = _inner(value)
    names, context_name = _parameters(function)
    values: dict[str, object] = {name: _given(name, given) for name in names}
    if context_name is not None:
        values[context_name] = context
    timeout = value.timeout if isinstance(value, Tool) else None
    async with asyncio.timeout(timeout):
        if inspect.iscoroutinefunction(function):
            found = await function(**values)
        else:
            found = await in_own_thread(function, **values)
    if isinstance(found, NodeResult):
        return found
    output = found
    if fault(found, "output") is not None:
        try:
            output = to_jsonable_python(found)
        except Exception as error:  # each kind of value has its own
            raise InputError(f"output: {error}; a function of a graph returns a JSON value") from None
    if (bad := fault(output, "output")) is not None:
        raise InputError(f"{bad[0]}: {bad[1]}; a function of a graph returns a JSON value")
    return NodeResult("completed", output=cast("Json", output), text=as_text(cast("Json", output)))


def _given(name: str, given: VisitInput) -> object:
    if name == "text":
        return given.text
    if name == "outputs":
        return dict(given.outputs)
    if name == "item":
        return given.item
    if given.value is not None:
        return given.value
    if given.item is not None:
        return given.item
    if len(given.outputs) == 1:
        return next(iter(given.outputs.values()))
    return dict(given.outputs) if given.outputs else given.text


def _inner(value: object) -> Callable[..., object]:
    return value.function if isinstance(value, Tool) else cast("Callable[..., object]", value)


def _parameters(function: Callable[..., object]) -> tuple[list[str], str | None]:
    """(names that are filled in, the one that gets the context). Raises :class:`ConfigError`."""
    try:
        hints = get_type_hints(function)
    except Exception:
        hints = {}  # annotations that cannot be resolved: none of them is the context's
    names: list[str] = []
    context: str | None = None
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise ConfigError(f"parameter {parameter.name!r} of {_name(function)} must be one given by name")
        if hints.get(parameter.name) is ToolContext:
            context = parameter.name
        elif parameter.name in GIVEN or parameter.default is parameter.empty:
            names.append(parameter.name)
    others = [name for name in names if name not in GIVEN]
    if len(others) > 1:
        problem = f"{_name(function)} has the parameters {', '.join(others)}"
        raise ConfigError(problem, hint=f"Only one may have another name than {', '.join(GIVEN)}")
    return names, context


def _name(function: Callable[..., object]) -> str:
    return getattr(function, "__qualname__", repr(function))
