"""Calls and their results in a list of JSON items, so that none is cut from the other.

Two shapes are known: chat messages (``tool_calls`` and ``tool_call_id``) and items of the Responses API
(``…_call`` and ``…_call_output`` with one ``call_id``, approval requests and their responses).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from orchestra.memory.session_items import Item


def calls_of(item: Item) -> tuple[str, ...]:
    """The ids of the calls that an item makes."""
    if not isinstance(item, dict):
        return ()
    kind = item.get("type")
    if isinstance(kind, str):
        if kind.endswith("_call") and isinstance(item.get("call_id"), str):
            return (item["call_id"],)
        if kind == "mcp_approval_request" and isinstance(item.get("id"), str):
            return (item["id"],)
    calls = item.get("tool_calls")
    if not isinstance(calls, list):
        return ()
    return tuple(call["id"] for call in calls if isinstance(call, dict) and isinstance(call.get("id"), str))


def result_of(item: Item) -> str | None:
    """The id of the call whose result an item is."""
    if not isinstance(item, dict):
        return None
    kind = item.get("type")
    if isinstance(kind, str) and kind.endswith("_call_output"):
        found = item.get("call_id")
    elif kind == "mcp_approval_response":
        found = item.get("approval_request_id")
    else:
        found = item.get("tool_call_id")
    return found if isinstance(found, str) else None


def pairs_in(items: Sequence[Item]) -> list[tuple[int, int]]:
    """(place of a call, place of its result), in the order of results. Ids may come again in later turns."""
    waiting: dict[str, list[int]] = {}
    pairs = []
    for place, item in enumerate(items):
        for call in calls_of(item):
            waiting.setdefault(call, []).append(place)
        if (answered := result_of(item)) is not None and waiting.get(answered):
            pairs.append((waiting[answered].pop(0), place))
    return pairs


def closed_prefix(items: Sequence[Item]) -> int:
    """How many items from the start have all their calls answered among themselves."""
    results = {result: call for call, result in pairs_in(items)}
    open_calls: dict[int, int] = {}
    best = 0
    for place, item in enumerate(items):
        if count := len(calls_of(item)):
            open_calls[place] = count
        if place in results:
            call = results[place]
            open_calls[call] -= 1
            if not open_calls[call]:
                del open_calls[call]
        if not open_calls:
            best = place + 1
    return best


def whole_pairs(items: Sequence[Item], kept: Iterable[int]) -> list[Item]:
    """The items at the places ``kept``, without halves of pairs whose other half is not among them.

    A call that has no result yet stays; a message with several calls goes, with its results, when one of them lost its.
    """
    places, pairs = set(kept), pairs_in(items)
    while halves := {
        place for pair in pairs if (pair[0] in places) != (pair[1] in places) for place in pair if place in places
    }:
        places -= halves
    return [item for place, item in enumerate(items) if place in places]
