"""The names of all keys. A namespace is one hash slot: the literal hash tag is the namespace, free ids come last."""

from __future__ import annotations

from orchestra.core.names import check_namespace


class Keys:
    """Key names of one namespace."""

    def __init__(self, namespace: str) -> None:
        self.namespace = check_namespace(namespace)
        self.prefix = f"orchestra:{{{namespace}}}:"
        plain = "schema token hosts runs due idles events agents blocks threads wake"
        archive = "embeddings archives snaps closes closing"
        for name in (*plain.split(), *archive.split()):
            setattr(self, name, self.prefix + name)

    schema: str
    token: str
    hosts: str
    runs: str
    due: str
    events: str
    agents: str
    blocks: str
    threads: str
    wake: str
    embeddings: str
    archives: str
    snaps: str
    closes: str
    closing: str
    idles: str

    def definition(self, name: str) -> str:
        """HASH json, hash."""
        return f"{self.prefix}def:{name}"

    def attach(self, agent: str) -> str:
        """HASH ref → order access kind, and ``@version``."""
        return f"{self.prefix}attach:{agent}"

    def users(self, ref: str) -> str:
        """SET of agents that a block (or a scoped label) is attached to."""
        return f"{self.prefix}users:{ref}"

    def head(self, thread: str) -> str:
        """HASH: lease, counters, watermark."""
        return f"{self.prefix}head:{thread}"

    def log(self, thread: str) -> str:
        """LIST of ``seq turn tokens message``."""
        return f"{self.prefix}log:{thread}"

    def turns(self, thread: str) -> str:
        """LIST of ``turn first count done|aborted details``."""
        return f"{self.prefix}turns:{thread}"

    def state(self, thread: str) -> str:
        """HASH key → JSON."""
        return f"{self.prefix}state:{thread}"

    def work(self, thread: str) -> str:
        """HASH: the pass of a thread; its lease token, tries and last error."""
        return f"{self.prefix}pass:{thread}"

    def passes(self, thread: str) -> str:
        """LIST of the reports of published passes, the last 500."""
        return f"{self.prefix}passes:{thread}"

    def retracted(self, thread: str) -> str:
        """LIST of sequence numbers that were popped after a pass had seen them."""
        return f"{self.prefix}retracted:{thread}"

    def context(self, thread: str) -> str:
        """HASH: what was decided about the prompt: summary, what was pruned, pinned blocks, the last call, flushes."""
        return f"{self.prefix}context:{thread}"

    def offload(self, thread: str) -> str:
        """HASH reference → a tool result that was too large for a prompt."""
        return f"{self.prefix}offload:{thread}"

    def spent(self, agent: str, day: int) -> str:
        """Tokens that an agent's passes used on one day (days since 1970, UTC); expires two days later."""
        return f"{self.prefix}spent:{day}:{agent}"

    def sources(self, agent: str) -> str:
        """HASH document → what an agent's passes have worked through of it."""
        return f"{self.prefix}sources:{agent}"

    def run(self, run_id: str) -> str:
        """HASH: status, thread, input; ``j:…`` is the journal."""
        return f"{self.prefix}run:{run_id}"

    def children(self, thread: str) -> str:
        """ZSET thread of a child run, at any depth below ``thread`` → when it ends by itself (ms; inf = with it)."""
        return f"{self.prefix}children:{thread}"

    def session(self, session_id: str) -> str:
        """SET of the agents that have this session."""
        return f"{self.prefix}session:{session_id}"

    def block(self, block_id: str) -> str:
        """HASH: the block."""
        return f"{self.prefix}block:{block_id}"

    def history(self, block_id: str) -> str:
        """STREAM, ids ``version-0``."""
        return f"{self.prefix}hist:{block_id}"

    def draft(self, token: int, block_id: str) -> str:
        """HASH: a pass's private copy of a block; expires."""
        return f"{self.prefix}draft:{token}:{block_id}"

    def op(self, operation_id: str) -> str:
        """Remembered answer of a developer's edit, 15 minutes."""
        return f"{self.prefix}op:{operation_id}"

    def snapshot(self, snapshot_id: str, part: str = "") -> str:
        """HASH: a snapshot; with ``part`` (log, context, ``block:<id>``, …) what it copied. Ids hold no colon."""
        return f"{self.prefix}snap:{snapshot_id}{':' if part else ''}{part}"

    def snapshots(self, thread: str) -> str:
        """LIST of the ids of a thread's snapshots, in order."""
        return f"{self.prefix}snaps:{thread}"

    def user_threads(self, user: str) -> str:
        """SET of the threads in which this user has had a turn."""
        return f"{self.prefix}userthreads:{user}"

    def passage(self, passage_id: str) -> str:
        """HASH: a passage of the archive and its vector."""
        return f"{self.prefix}passage:{passage_id}"

    def shelf(self, owner: str) -> str:
        """ZSET passage id → time of its making: all passages of one owner (``agent`` or ``agent|user``)."""
        return f"{self.prefix}shelf:{owner}"

    def changes(self, owner: str) -> str:
        """STREAM, ids ``n-0``: which passages of one owner changed, the last 10,000 changes."""
        return f"{self.prefix}arch:{owner}"

    def vectors(self, owner: str) -> str:
        """VECTOR SET of the passages of one owner, where the server searches them (``embeddings.index``)."""
        return f"{self.prefix}vset:{owner}"

    def vectored(self, owner: str) -> str:
        """HASH edition, born, last: of which vectors the vector set is, and up to which change it is complete."""
        return f"{self.prefix}vsetat:{owner}"
