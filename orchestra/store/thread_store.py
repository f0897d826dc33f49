"""Threads and runs in Redis: the lease, the log, the journal, the commit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, cast

from orchestra.core.blocks import BlockView
from orchestra.core.errors import Fenced, InputError, SessionInterrupted, SessionOfAnotherUser
from orchestra.store.block_store import block_from
from orchestra.store.connection import Answer, Store, pairs
from orchestra.store.context_store import ContextRecord, record_from
from orchestra.store.definition_store import Attachments, attachments_from

ANSWER_SECONDS = 900
MEMO_SECONDS = 900


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a log: position, turn, estimated tokens, and the message as JSON text."""

    seq: int
    turn: int
    tokens: int
    message: str


def entry_from(text: str) -> Entry | None:
    """The entry, or ``None`` when what is stored is not one."""
    parts = text.split(" ", 3)
    try:
        return Entry(int(parts[0]), int(parts[1]), int(parts[2]), parts[3])
    except (ValueError, IndexError):
        return None


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a host asks for when it begins a turn: with what it has cached already.

    A child run names its ``parent`` run and the thread of the session that it belongs to, ``root``; its own thread is
    kept for ``keep_ms`` (``None``: as long as that session); its state is that of the thread ``home``. ``ending`` takes
    up a run that waits for answers, to end it.
    """

    run: str
    thread: str
    agent: str
    session_id: str
    host: str
    definition_hash: str
    attach_version: str
    block_ids: tuple[str, ...]
    block_stamps: tuple[str, ...]
    edition: int = 0
    cached: int = 0
    input: str = ""
    needs_invocation_state: bool = False
    user: str = ""
    tail: int = 4096
    context_version: str = ""
    parent: str = ""
    root: str = ""
    keep_ms: int | None = None
    home: str = ""
    ending: bool = False


@dataclass(frozen=True, slots=True)
class Begun:
    """The lease and what was loaded with it. ``first`` is the index of the first of ``entries`` in the log.

    ``context`` is ``None`` when the caller's is the newest one; ``bytes`` is how large the log is. ``definition`` is
    the hash of the definition that a resumed run began with. ``answers`` are those to what it asked, as JSON by id;
    ``always`` the tools (``agent|tool``) that are not asked about any more in this session.
    """

    token: int
    resumed: bool
    edition: int
    seq: int
    turn: int
    calls: int
    watermark: int
    first: int
    entries: tuple[str, ...]
    state: dict[str, str]
    journal: dict[str, str]
    blocks: tuple[BlockView, ...]
    context: ContextRecord | None = None
    bytes: int = 0
    definition: str = ""
    request: str = ""
    answers: dict[str, str] = field(default_factory=dict)
    always: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Waiting:
    """The run waits for answers; its result, which has what it asks, as JSON."""

    answer: str


@dataclass(frozen=True, slots=True)
class Stale:
    """The cached definition or attachments are old; these are the new ones. ``digest`` is empty when there is none."""

    digest: str
    text: str
    attachments: Attachments


@dataclass(frozen=True, slots=True)
class MissingBlocks:
    """These blocks (indices into ``Wanted.block_ids``) are not made yet."""

    indices: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Busy:
    """Another run holds the thread."""

    run: str
    host: str


@dataclass(frozen=True, slots=True)
class Ended:
    """The run has ended before; its remembered answer as JSON."""

    answer: str


@dataclass(frozen=True, slots=True)
class Loadable:
    """What the cache lacked for a run without a session, and which further agents are as they were known."""

    blocks: tuple[BlockView, ...]
    current: frozenset[str]


StateOperation: TypeAlias = tuple[str, ...]
Known: TypeAlias = tuple[str, str, str]
"""An agent's name, the digest of its definition, the version of its attachments."""


@dataclass(frozen=True, slots=True)
class Commit:
    """The end of a turn. ``kind`` none stores no messages and counts nothing: it only ends the run.

    ``rule`` is what makes a sleep-time pass due (:attr:`Sleeptime.rule`); empty: nothing does.
    ``ttl_ms`` is how long the session is kept from now on; ``None`` is for ever. ``close_ms`` is how long it may go
    without a turn before it is closed; ``None`` is for ever too. ``call``, ``pruned`` and ``pinned`` are fields of the
    thread's :class:`ContextRecord`; an empty one stays as it is. The answer is remembered for ``answer_seconds``.
    The state is that of the thread ``home``, if one is named.
    """

    run: str
    thread: str
    token: int
    edition: int
    kind: Literal["done", "aborted", "none"]
    status: str
    answer: str
    usage: str
    rule: str
    model_calls: int
    messages: tuple[tuple[int, str], ...] = ()
    operations: tuple[StateOperation, ...] = ()
    ttl_ms: int | None = None
    close_ms: int | None = None
    call: str = ""
    pruned: str = ""
    pinned: str = ""
    answer_seconds: int = ANSWER_SECONDS
    home: str = ""


@dataclass(frozen=True, slots=True)
class Committed:
    """What a commit came to; ``count`` entries are in the log now; ``due`` when a sleep-time pass was queued.

    ``context_version`` is that of the context's record before this commit.
    """

    turn: int
    seq: int
    count: int
    due: bool
    context_version: str = ""


@dataclass(frozen=True, slots=True)
class Edited:
    """The log was changed from outside; its edition now."""

    edition: int


@dataclass(frozen=True, slots=True)
class Changed:
    """A state key that an update had read has moved; its JSON now (empty when absent)."""

    key: str
    value: str


@dataclass(frozen=True, slots=True)
class Journaled:
    """``value`` is what stands in the journal: the first one that was written."""

    value: str
    duplicate: bool
    blocks: tuple[BlockView, ...] = field(default=())


class SessionLeft(Exception):
    """A session of this id has ended by its time to live and left its blocks: forget it, and come again."""


class ThreadStore:
    """Typed functions over the scripts that touch threads and runs."""

    def __init__(self, store: Store) -> None:
        self.store = store

    async def begin(self, wanted: Wanted) -> Begun | Stale | MissingBlocks | Busy | Ended | Waiting:
        """Take the lease and load.

        Raises:
            SessionInterrupted: a waiting run holds the thread.
            InputError: the run id is that of a run of another agent or session.
            SessionLeft: a session of this id has ended, and its blocks are still there.
        """
        k, thread = self.store.keys, wanted.thread
        answer = await self.store.run(
            "begin",
            [
                *(k.head(thread), k.log(thread), k.state(wanted.home or thread), k.run(wanted.run), k.runs, k.hosts),
                k.token,
                *(k.definition(wanted.agent), k.attach(wanted.agent), k.session(wanted.session_id), k.threads),
                k.user_threads(wanted.user),
                *(k.turns(thread), k.work(thread), k.passes(thread), k.retracted(thread)),
                *(k.context(thread), k.offload(thread), k.children(wanted.root or thread)),
                *(k.block(block_id) for block_id in wanted.block_ids),
            ],
            [
                *(
                    wanted.run,
                    wanted.host,
                    wanted.definition_hash,
                    wanted.attach_version,
                    wanted.edition,
                    wanted.cached,
                ),
                *(wanted.tail, wanted.input, "1" if wanted.needs_invocation_state else "0", thread, wanted.user),
                *(wanted.context_version, wanted.parent, "" if wanted.keep_ms is None else wanted.keep_ms),
                *(wanted.home, "1" if wanted.ending else "", *wanted.block_stamps),
            ],
        )
        if answer[0] != "OK":
            return _not_begun(answer, wanted.session_id)
        _, token, resumed, head, first, entries, state, journal, blocks, context, always = answer
        edition, seq, turn, calls, watermark, size = (int(item) for item in cast("list[str]", head))
        known = pairs(journal)
        return Begun(
            int(cast("str", token)),
            resumed == 1,
            *(edition, seq, turn, calls, watermark),
            int(cast("int", first)),
            tuple(cast("list[str]", entries)),
            pairs(state),
            {name: text for name, text in known.items() if name.startswith("j:")},
            moved_blocks(blocks, wanted.block_ids),
            None if context is None else record_from(pairs(context)),
            size,
            definition=known.get("def", ""),
            request=known.get("input", ""),
            answers={name[2:]: text for name, text in known.items() if name.startswith("a:")},
            always=tuple(line for line in cast("str", always).split("\n") if line),
        )

    async def load(self, wanted: Wanted, further: Sequence[Known] = ()) -> Loadable | Stale | MissingBlocks:
        """What a run without a session needs, and which ``further`` agents are as known; writes nothing."""
        k, names = self.store.keys, [name for name, _, _ in further]
        answer = await self.store.run(
            "load",
            [
                *(key for name in (wanted.agent, *names) for key in (k.definition(name), k.attach(name))),
                *(k.block(block_id) for block_id in wanted.block_ids),
            ],
            [
                *(wanted.definition_hash, wanted.attach_version, len(further)),
                *(part for _, digest, version in further for part in (digest, version)),
                *wanted.block_stamps,
            ],
        )
        if answer[0] != "OK":
            return cast("Stale | MissingBlocks", _not_begun(answer, ""))
        current = frozenset(name for name, same in zip(names, cast("list[int]", answer[2]), strict=True) if same)
        return Loadable(moved_blocks(answer[1], wanted.block_ids), current)

    async def journal(
        self,
        run: str,
        thread: str,
        token: int,
        name: str,
        value: str,
        block_ids: Sequence[str],
        stamps: Sequence[str],
    ) -> Journaled:
        """Write one journal entry, once; with it come the blocks that moved. Raises :class:`Fenced`."""
        k = self.store.keys
        answer = await self.store.run(
            "journal",
            [k.head(thread), k.run(run), *(k.block(block_id) for block_id in block_ids)],
            [token, f"j:{name}", value, *stamps],
        )
        if answer[0] == "FENCED":
            raise Fenced(f"thread {thread}", token)
        if answer[0] == "DUP":
            return Journaled(cast("str", answer[1]), True, moved_blocks(answer[2], block_ids))
        return Journaled(value, False, moved_blocks(answer[1], block_ids))

    async def commit(self, commit: Commit) -> Committed | Ended | Edited | Changed:
        """End the turn. Raises :class:`Fenced`."""
        k, thread = self.store.keys, commit.thread
        answer = await self.store.run(
            "commit",
            [
                *(k.head(thread), k.log(thread), k.state(commit.home or thread), k.turns(thread), k.run(commit.run)),
                *(k.runs, k.due),
                *(k.events, k.threads, k.wake, k.work(thread), k.passes(thread), k.retracted(thread)),
                *(k.closes, k.context(thread), k.offload(thread), k.children(thread), k.idles),
            ],
            [
                *(commit.run, commit.token, commit.edition, commit.kind, commit.answer, commit.usage, commit.rule),
                *(commit.model_calls, commit.answer_seconds, thread, commit.status),
                "" if commit.ttl_ms is None else commit.ttl_ms,
                *("" if commit.close_ms is None else commit.close_ms, commit.call, commit.pruned, commit.pinned),
                len(commit.messages),
                *(part for tokens, message in commit.messages for part in (tokens, message)),
                *(part for operation in commit.operations for part in operation),
            ],
        )
        status = answer[0]
        if status == "FENCED":
            raise Fenced(f"thread {thread}", commit.token)
        if status == "DUP":
            return Ended(cast("str", answer[1]))
        if status == "EDITED":
            return Edited(int(cast("str", answer[1])))
        if status == "CHANGED":
            return Changed(cast("str", answer[1]), cast("str", answer[2]))
        turn, seq, count, due = (int(cast("int", item)) for item in answer[1:5])
        return Committed(turn, seq, count, due == 1, cast("str", answer[5]))

    async def entries(self, thread: str, first: int = 0, last: int = -1) -> list[str]:
        """Entries of the log by index, both ends included; negative counts from the end."""
        return await self.store.items(self.store.keys.log(thread), first, last)

    async def length(self, thread: str) -> int:
        """How many entries the log has."""
        return cast("int", await self.store.read("LLEN", self.store.keys.log(thread)))

    async def head(self, thread: str) -> dict[str, str]:
        """The head's fields; empty when the thread is not there."""
        return await self.store.fields(self.store.keys.head(thread))

    async def turns(self, thread: str) -> list[str]:
        """The entries of the turns' list, oldest first."""
        return await self.store.items(self.store.keys.turns(thread))

    async def agents_of(self, session_id: str) -> list[str]:
        """The agents that have this session, sorted; those whose session has ended by its time to live are left out."""
        return [agent for agent in await self.members(session_id) if await self.exists(f"{agent}|{session_id}")]

    async def members(self, session_id: str) -> list[str]:
        """The agents that have this session, sorted, those among them whose session has ended."""
        return sorted(cast("set[str]", await self.store.read("SMEMBERS", self.store.keys.session(session_id))))

    async def exists(self, thread: str) -> bool:
        """Whether the thread is there: not deleted, and not ended by its time to live."""
        return await self.store.read("EXISTS", self.store.keys.head(thread)) == 1

    async def forget(self, session_id: str, agents: Sequence[str], block_ids: Sequence[str]) -> None:
        """Take the ended threads of these agents out of the lists, with ``block_ids`` when no agent has the session."""
        k = self.store.keys
        names = [f"{agent}|{session_id}" for agent in agents]
        await self.store.run(
            "forget",
            [
                *(k.session(session_id), k.threads, k.due, k.blocks, *(k.head(name) for name in names)),
                *(key for block_id in block_ids for key in (k.block(block_id), k.history(block_id), k.users(block_id))),
            ],
            [len(names), *(part for pair in zip(names, agents, strict=True) for part in pair), *block_ids],
        )

    async def threads(self, limit: int = 100) -> list[tuple[str, float]]:
        """(thread, last use in Unix seconds), newest first."""
        found = await self.store.scored(self.store.keys.threads, limit, newest=True)
        return [(name, score / 1000) for name, score in found]

    async def state(self, thread: str) -> dict[str, str]:
        """The thread's state: key → JSON. For the agent itself and for ending a thread, never for another agent."""
        return await self.store.fields(self.store.keys.state(thread))

    async def delete(self, thread: str) -> None:
        """Delete a thread and all that is derived from it.

        The data goes first: when the process dies in between, what stays are entries of lists, and those drop what has
        no data when they are read (and the sleep-time queue when it is claimed).
        """
        k, session_id = self.store.keys, thread.partition("|")[2]
        await self.delete_children(thread)
        user = (await self.head(thread)).get("user")
        await self.store.read("DEL", *self._keys(thread))
        if user:
            await self.store.read("SREM", k.user_threads(user), thread)
        for queue in (k.due, k.idles, k.closes, k.closing, k.threads):
            await self.store.read("ZREM", queue, thread)
        await self.store.read("SREM", k.session(session_id), thread.partition("|")[0])

    async def children(self, thread: str) -> list[str]:
        """The threads of child runs at any depth below a session's thread."""
        return [name for name, _ in await self.store.scored(self.store.keys.children(thread))]

    async def delete_children(self, thread: str) -> None:
        """Delete the threads of a session's child runs, one by one. Safe to repeat, also after a crash in here."""
        k = self.store.keys
        for child in await self.children(thread):
            run = (await self.head(child)).get("last_run")
            await self.store.read("DEL", *self._keys(child), *([k.run(run)] if run else []))
            await self.store.read("ZREM", k.due, child)
            await self.store.read("ZREM", k.children(thread), child)

    async def end_children_with(self, thread: str) -> None:
        """Let the children that live as long as their session end when it does. Safe to repeat."""
        k = self.store.keys
        ends = int(cast("int", await self.store.read("PEXPIRETIME", k.head(thread))))
        for child, until in await self.store.scored(k.children(thread)):
            if until == float("inf") and ends > 0:
                for key in self._keys(child):
                    await self.store.read("PEXPIREAT", key, ends)

    def _keys(self, thread: str) -> tuple[str, ...]:
        k = self.store.keys
        return (
            *(k.head(thread), k.log(thread), k.turns(thread), k.state(thread), k.work(thread), k.passes(thread)),
            *(k.retracted(thread), k.context(thread), k.offload(thread)),
        )


def moved_blocks(value: object, block_ids: Sequence[str]) -> tuple[BlockView, ...]:
    """The blocks of a script's answer: (index from 1, fields) each."""
    found = cast("list[tuple[int, list[str]]]", value)
    # A block that was deleted meanwhile has no fields: what was shown of it stays until the next turn.
    return tuple(block_from(block_ids[index - 1], pairs(fields)) for index, fields in found if fields)


def _not_begun(answer: Answer, session_id: str) -> Stale | MissingBlocks | Busy | Ended | Waiting:
    status = answer[0]
    if status == "WAIT":
        return Waiting(cast("str", answer[1]))
    if status == "STALE":
        return Stale(cast("str", answer[1]), cast("str", answer[2]), attachments_from(pairs(answer[3])))
    if status == "MISSING":
        return MissingBlocks(tuple(int(cast("int", item)) - 1 for item in answer[1:]))
    if status == "BUSY":
        return Busy(cast("str", answer[1]), cast("str", answer[2]))
    if status == "DUP":
        return Ended(cast("str", answer[1]))
    if status == "LEFT":
        raise SessionLeft(session_id)
    if status == "USER":
        raise SessionOfAnotherUser(session_id)
    if status == "OTHER":
        agent, _, session = cast("str", answer[1]).partition("|")
        raise InputError(
            f"this run id is that of a run of {agent!r} in session {session!r}; a new run needs another one"
        )
    raise SessionInterrupted(session_id, cast("str", answer[1]))
