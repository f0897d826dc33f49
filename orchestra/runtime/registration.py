"""What is registered with a runnable: everything that stands inside it, and what it needs to know of the rest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from orchestra.core.agent import Agent
from orchestra.core.agent_tool import AgentTool
from orchestra.core.errors import InputError, UnknownName
from orchestra.core.jsontext import Json, loads
from orchestra.core.runnable import Pattern, Runnable
from orchestra.runtime.definition import reference
from orchestra.runtime.function_ref import FunctionTable
from orchestra.store.definition_store import DefinitionStore


def everything_in(runnables: Sequence[Runnable]) -> list[Runnable]:
    """``runnables`` and all definitions inside them, each once, what stands inside another one first.

    Raises:
        InputError: two different ones have one name.
    """
    found: dict[str, Runnable] = {}
    for runnable in runnables:
        _collect(runnable, found)
    return list(found.values())


def _collect(runnable: Runnable, found: dict[str, Runnable]) -> None:
    for inner in _inside(runnable):
        if not isinstance(inner, str):
            _collect(inner, found)
    known = found.get(runnable.name)
    if known is not None and known is not runnable and known != runnable:
        raise InputError(f"two different runnables are named {runnable.name!r}; give one of them another name")
    found.setdefault(runnable.name, runnable)


def _inside(runnable: Runnable) -> Iterable[Runnable | str]:
    """What a runnable calls, hands off to or runs: definitions, and the names of others."""
    if isinstance(runnable, Pattern):
        members = cast("Mapping[str, Runnable | str]", getattr(runnable, "members", {}))
        return members.values()
    tools = (AgentTool.of(tool) if isinstance(tool, str) else tool for tool in runnable.tools)
    return [tool.runnable for tool in tools if isinstance(tool, AgentTool)]


async def known_to(
    runnables: Sequence[Runnable], definitions: DefinitionStore, table: FunctionTable
) -> dict[str, Mapping[str, Json]]:
    """For every name that ``runnables`` use: what its definition says of itself (description, handoffs, input type).

    Raises:
        UnknownName: one of them names a runnable that is neither among them nor registered.
    """
    known: dict[str, Mapping[str, Json]] = {one.name: _said(one, table) for one in runnables}
    for runnable in runnables:
        for inner in _inside(runnable):
            name = inner if isinstance(inner, str) else inner.name
            if name not in known:
                try:
                    known[name] = cast("Mapping[str, Json]", loads((await definitions.get(name))[0]))
                except UnknownName as error:
                    raise UnknownName("runnable", name, (*known, *error.known)) from None
    return known


def _said(runnable: Agent | Pattern, table: FunctionTable) -> Mapping[str, Json]:
    if isinstance(runnable, Pattern):
        return {"description": runnable.description}
    handoffs, input_ = runnable.handoffs, reference(runnable.input_type, table)
    return {
        "description": runnable.description,
        "handoffs": None if handoffs is None else list(handoffs),
        "input_type": None if input_ is None else dict(input_),
    }
