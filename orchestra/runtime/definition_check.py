"""Whether a run of a swarm or graph that is resumed can go on with the definition as it is now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from orchestra.core.errors import DefinitionChanged
from orchestra.core.jsontext import Json, loads
from orchestra.runtime.definition import Loaded
from orchestra.store.thread_store import Begun


def check_definition(begun: Begun, loaded: Loaded, run_id: str) -> None:
    """Raise :class:`DefinitionChanged` when a swarm or graph is not what the run began with.

    That is who takes part and what leads where; other changes (a timeout, a limit) count from now on. Of an agent it is
    its open calls that matter: see :func:`orchestra.runtime.waiting_calls.check_tools`.
    """
    if not begun.resumed or begun.definition == loaded.digest or loaded.shape is None:
        return
    before = cast("Mapping[str, Json]", loads(begun.request or "{}").get("shape") or {})
    if different := _differences(before, loaded.shape):
        raise DefinitionChanged(loaded.agent.name, run_id, different)


def _differences(before: Mapping[str, Json], now: Mapping[str, Json]) -> tuple[str, ...]:
    out = [f"{part} is gone" for part in before if part not in now]
    out += [f"{part} is new" for part in now if part not in before]
    both = (part for part in before if part in now and before[part] != now[part])
    return (*out, *(f"{part} was {before[part] or 'plain'!r} and is {now[part] or 'plain'!r}" for part in both))
