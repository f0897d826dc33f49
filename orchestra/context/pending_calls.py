"""The guard at write time: what is appended to a log has a result for every call, whatever goes wrong."""

from __future__ import annotations

from orchestra.context.missing_result import missing_result, without_malformed
from orchestra.core.messages import Message, ToolCall


class PendingCalls:
    """The calls of a run that have no result yet, in call order. Owner: the run that appends.

    Hand every message to :meth:`add` and append what it returns; call :meth:`flush` at the end of the run, after an
    error too, and append what that returns.
    """

    def __init__(self) -> None:
        self._waiting: list[tuple[ToolCall, Message]] = []

    @property
    def names(self) -> tuple[tuple[str, str], ...]:
        """(call id, tool name) of the calls that wait, in call order; an id that was used twice comes twice."""
        return tuple((call.id, call.name) for call, _ in self._waiting)

    def add(self, message: Message) -> list[Message]:
        """What is appended when ``message`` comes, in order; nothing when only malformed calls were in it.

        A message of the user or of the model that comes while calls wait is put after an error result for each of
        them. A result answers the first call with its id that waits. A message that was broken off
        (``meta.aborted``) waits for nothing.
        """
        if message.role == "tool":
            self._answer(message)
            return [message]
        if message.role == "system":  # a notice that the runtime puts in while tools run
            return [message]
        whole = without_malformed(message)
        if whole is None:
            return []
        before = self.flush()
        if not whole.meta.aborted:
            self._waiting = [(call, whole) for call in whole.tool_calls]
        return [*before, whole]

    def flush(self) -> list[Message]:
        """An error result for each call that waits, in call order; doing it again does nothing."""
        made = [missing_result(call, asked) for call, asked in self._waiting]
        self._waiting = []
        return made

    def _answer(self, result: Message) -> None:
        for place, (call, _) in enumerate(self._waiting):
            if call.id == result.tool_call_id:
                del self._waiting[place]
                return
