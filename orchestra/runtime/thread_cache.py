"""A thread in a host's cache: brought up to date by what ``begin`` sent, and carried on by a commit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from orchestra.context.view import TAIL_ENTRIES, LogView
from orchestra.core.messages import Message
from orchestra.core.tokens import message_tokens
from orchestra.memory.sessions import readable
from orchestra.memory.state import StateValues
from orchestra.runtime.caches import CachedThread
from orchestra.store.context_store import NO_RECORD
from orchestra.store.thread_store import Begun, Committed


def thread_now(cached: CachedThread | None, begun: Begun) -> CachedThread:
    """The thread as it is now: what is cached with what is new, or all that the server sent."""
    if cached is None or cached.edition != begun.edition or cached.count != begun.first:
        if cached is None or cached.edition != begun.edition or begun.first + len(begun.entries) != cached.count:
            record = cached.record if cached is not None else NO_RECORD
            cached = CachedThread(begun.edition, begun.first, LogView(begun.first), dict(begun.state), 2000)
            cached.note(record)
    elif begun.entries:
        cached.state = dict(begun.state)
    if begun.context is not None:
        cached.note(begun.context)
    if cached.count == begun.first:
        for text in begun.entries:
            if not (found := readable([text])):
                cached.view.skip()
            for entry, message in found:
                cached.view.add(message, entry.tokens)
                cached.bytes += 600 + 2 * len(entry.message)
        cached.count += len(begun.entries)
    return cached


def carried_on(
    thread: CachedThread, begun: Begun, messages: Sequence[Message], done: Committed, state: StateValues, edition: int
) -> bool:
    """Add a committed turn to the cached thread; False when something else happened to the thread meanwhile."""
    if edition != begun.edition or done.count != thread.count + len(messages):
        return False
    first = done.seq - len(messages)
    for offset, message in enumerate(messages, 1):
        meta = replace(message.meta, seq=first + offset, turn=done.turn)
        thread.view.add(message.with_meta(meta), tokens := message_tokens(message))
        thread.bytes += 600 + 8 * tokens
    thread.count, thread.state = done.count, state.after_commit()
    thread.view.trim(TAIL_ENTRIES)
    # What was forgotten is not counted any more: else a long session would not be worth keeping one day.
    thread.bytes = min(thread.bytes, 2000 + 600 * len(thread.view.messages) + 8 * thread.view.sums[-1])
    return True
