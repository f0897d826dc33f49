"""Sessions: one log of messages under one id, and what can be done with it from outside a turn."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from orchestra.core.errors import InputError, UnknownName
from orchestra.core.jsontext import dumps, loads
from orchestra.core.messages import Message, Meta
from orchestra.core.model import Usage
from orchestra.core.names import check_session, thread_name
from orchestra.core.tokens import message_tokens
from orchestra.memory.ended_sessions import forgotten_first
from orchestra.store.connection import Store
from orchestra.store.log_store import LogStore
from orchestra.store.thread_store import Entry, ThreadStore, entry_from
from orchestra.store.turn_store import StoredTurn, TurnStore


def message_text(message: Message) -> str:
    """A message as the log keeps it; sequence number and turn stand in front of it."""
    value = message.to_json()
    meta = value.get("meta")
    if isinstance(meta, dict):
        meta.pop("seq", None)
        meta.pop("turn", None)
    return dumps(value)


def message_from(entry: Entry) -> Message:
    """The message of an entry. Raises ``ValueError`` when it is corrupt."""
    message = Message.from_json(loads(entry.message))
    meta = message.meta
    where = Meta(entry.seq, entry.turn, meta.agent, meta.run, meta.created_at, meta.synthetic, meta.aborted)
    return message.with_meta(where)


def readable(texts: Sequence[str]) -> list[tuple[Entry, Message]]:
    """The entries that hold a message; corrupt ones are left out."""
    out = []
    for text in texts:
        entry = entry_from(text)
        if entry is not None:
            try:
                out.append((entry, message_from(entry)))
            except (ValueError, TypeError, AttributeError):
                continue
    return out


@dataclass(frozen=True, slots=True)
class SessionUsage:
    """Tokens and calls of a session: ``total``, and each turn with its own."""

    total: Usage
    turns: tuple[StoredTurn, ...]


class Session:
    """The log of one agent in one session. The four methods are those of the session protocol."""

    def __init__(self, store: Store, session_id: str, agent: str) -> None:
        self.session_id, self.agent = session_id, agent
        self.thread = thread_name(agent, session_id)
        self._store = store
        self._threads, self._log = ThreadStore(store), LogStore(store)

    async def get_items(self, limit: int | None = None) -> list[Message]:
        """All messages, or the last ``limit`` readable ones, oldest first; ``ValueError`` for a negative limit."""
        if limit is not None and limit < 0:
            raise InputError(f"limit {limit}: use 0 or more, or None for all")
        if limit == 0:
            return []
        if limit is None:
            return [message for _, message in readable(await self._threads.entries(self.thread))]
        found: list[Message] = []
        end, size = -1, limit
        while len(found) < limit:
            texts = await self._threads.entries(self.thread, end - size + 1, end)
            found = [message for _, message in readable(texts)] + found
            if len(texts) < size:
                break
            end -= size
        return found[-limit:]

    async def add_items(self, items: Sequence[Message | Mapping[str, object]]) -> None:
        """Append messages, all or none, in one command. Raises :class:`InputError` for what is not a message."""
        if not items:
            return
        now = time.time()
        made = [item if isinstance(item, Message) else Message.from_json(item) for item in items]
        stamped = [m if m.meta.created_at else m.with_meta(Meta(agent=m.meta.agent, created_at=now)) for m in made]
        texts = [(message_tokens(message), message_text(message)) for message in stamped]
        operation = uuid.uuid4().hex
        await forgotten_first(
            self._store, self.session_id, lambda: self._log.amend(self.thread, "add", operation, texts)
        )

    async def pop_item(self) -> Message | None:
        """Take the last message away, or ``None``; corrupt entries on the way are dropped.

        Raises:
            SessionInterrupted: a run that waits for an answer holds the session.
        """
        while text := await self._log.amend(self.thread, "pop", uuid.uuid4().hex):
            if found := readable([text]):
                return found[0][1]
        return None

    async def clear_session(self) -> None:
        """Delete the messages and all that is derived from them: turns, state, queued passes, a closing's summary."""
        await self._log.amend(self.thread, "clear", uuid.uuid4().hex)
        await self._threads.delete_children(self.thread)

    async def fork(self, at_turn: int, new_id: str, *, operation_id: str | None = None) -> Session:
        """A new session that begins as this one was after turn ``at_turn`` (0: empty), state included.

        Raises:
            InputError: there is no such turn, or ``new_id`` is there already.
        """
        made = Session(self._store, check_session(new_id), self.agent)
        turns, operation = TurnStore(self._store), operation_id or uuid.uuid4().hex
        await forgotten_first(self._store, new_id, lambda: turns.fork(self.thread, at_turn, made.thread, operation))
        return made

    async def rewind(self, turn: int | str | None = None, *, operation_id: str | None = None) -> list[Message]:
        """Take a turn and all that came after it away; the messages that went, oldest first.

        State and counters are as they were before that turn, so the next run stands in its place: edit the question
        that comes back and ask again. ``turn`` is the number of a completed turn or the run id of any, failed ones too;
        ``None`` is the last one. What was learned from it stays in the blocks, as after :meth:`pop_item`.

        Raises:
            InputError: there is no such turn.
            SessionInterrupted: a run that waits for an answer holds the session.
        """
        texts = await TurnStore(self._store).rewind(self.thread, turn, operation_id or uuid.uuid4().hex)
        return [message for _, message in readable(texts)]

    async def usage(self) -> SessionUsage:
        """What the turns used, one by one and together; aborted turns count too."""
        turns = await TurnStore(self._store).turns(self.thread)
        return SessionUsage(sum((turn.usage for turn in turns), Usage()), tuple(turns))

    async def turn(self) -> int:
        """How many turns are completed."""
        return int((await self._threads.head(self.thread)).get("turn", 0))


async def find_session(store: Store, session_id: str, agent: str | None) -> Session:
    """The session; without ``agent`` the one agent that has it.

    Raises:
        UnknownName: no agent has it.
        InputError: several have it.
    """
    if agent is not None:
        return Session(store, session_id, agent)
    agents = await ThreadStore(store).agents_of(session_id)
    if not agents:
        raise UnknownName("session", session_id)
    if len(agents) > 1:
        raise InputError(f"several agents have session {session_id!r} ({', '.join(agents)}): name one with agent=")
    return Session(store, session_id, agents[0])
