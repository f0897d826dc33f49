"""Calls and their results in a list of JSON items, so that none is cut from the other.

Two shapes are known: chat messages (``tool_calls`` and ``tool_call_id``) and items of the Responses API
(``…_call`` and ``…_call_output`` with one ``call_id``, approval requests and their responses).
"""

from __future__ import annotations

from collections.abc import Sequence

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


def closed_prefix(items: Sequence[Item]) -> int:
    """How many items from the start have all their calls answered among themselves."""
    opened: set[str] = set()
    best = 0
    for place, item in enumerate(items, 1):
        opened.update(calls_of(item))
        if (answered := result_of(item)) is not None:
            opened.discard(answered)
        if not opened:
            best = place
    return best


def whole_pairs(before: Sequence[Item], after: Sequence[Item]) -> list[Item]:
    """``after`` without the halves that were left of pairs whose other half stands in ``before`` only.

    A call that had no result yet stays; a message with several calls goes, with its results, when one of them lost its.
    """
    answered = {found for item in before if (found := result_of(item)) is not None}
    made = {call for item in before for call in calls_of(item)}
    kept = list(after)
    while True:
        here = {found for item in kept if (found := result_of(item)) is not None}
        calls = {call for item in kept for call in calls_of(item)}
        lost = (answered - here) | (made - calls)
        left = [
            item
            for item in kept
            if not (result_of(item) in lost and result_of(item) in made) and not lost.intersection(calls_of(item))
        ]
        if len(left) == len(kept):
            return left
        kept = left
