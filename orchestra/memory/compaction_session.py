"""A session whose old items are replaced by a summary, without losing what others write meanwhile."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeAlias, TypeVar

from orchestra.memory.call_pairs import closed_prefix
from orchestra.memory.session_items import Item
from orchestra.memory.wrapped_session import Session, WrappedSession, replaceable

T = TypeVar("T")
ShouldTrigger: TypeAlias = Callable[[Sequence[Item]], "bool | Awaitable[bool]"]
Summarize: TypeAlias = Callable[[Sequence[Item]], "Sequence[Item] | Awaitable[Sequence[Item]]"]


class CompactionSession(WrappedSession):
    """A session that can be compacted.

    Reading and writing go to the inner session. :meth:`run_compaction` replaces its history; the OpenAI Agents SDK
    calls it after each turn, elsewhere call it yourself when a run has ended.

    Args:
        session: one that can replace its history in one step: Orchestra's own, or a wrapper of one.
        should_trigger: told the whole history; whether it is time.
        summarize: given the history up to the last answered call; what stands in its place (items that a model reads).

    Both functions may be asynchronous. They get copies.

    Raises:
        InputError: ``session`` cannot replace its history.
    """

    def __init__(self, session: Session, should_trigger: ShouldTrigger, summarize: Summarize) -> None:
        replaceable(session)
        super().__init__(session)
        self._should_trigger, self._summarize = should_trigger, summarize

    async def run_compaction(self, args: Mapping[str, object] | None = None, *, force: bool = False) -> bool:
        """Replace the history if it is time, or ``force`` (also as ``args["force"]``). Whether it was replaced.

        It is a compare-and-set: what is appended meanwhile, by whomever, stays behind the summary; when something is
        popped, cleared or compacted meanwhile, nothing is changed and False comes back. An error of ``summarize`` or of
        the storage goes to the caller, and the old history is there. A call without its result is never summarised
        away, nor what follows it.
        """
        force = force or bool((args or {}).get("force"))
        snapshot = await self.snapshot()
        count = closed_prefix(snapshot.items)
        if count == 0 or not (force or await _value(self._should_trigger(list(snapshot.items)))):
            return False
        summary = await _value(self._summarize(list(snapshot.items[:count])))
        return await self.replace_items(snapshot, count, list(summary))


async def _value(found: T | Awaitable[T]) -> T:
    return await found if isinstance(found, Awaitable) else found
