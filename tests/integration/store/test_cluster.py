"""Every script on a real cluster of three masters: an undeclared key, or one of another slot, is an error there."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from importlib import resources

import pytest

from orchestra import Agent, Approve, Block, Graph, Sleeptime, ToolContext, tool
from orchestra.core.model import ModelReply, ModelRequest
from orchestra.memory.ended_sessions import forget_ended
from orchestra.runtime.client import Client
from orchestra.store.connection import Store
from orchestra.store.context_store import ContextStore, NewSummary
from orchestra.store.pass_store import PassStore
from orchestra.store.passage_store import PassageStore
from orchestra.store.thread_store import ThreadStore
from orchestra.store.vector_sets import VectorSets
from orchestra.testing import FunctionModel, ScriptedModel, call, reply
from tests.hosts import Machines
from tests.integration.store.cluster import Cluster
from tests.servers import binary
from tests.sleeping import passes
from tests.waiting import until

# The scripts of turns, blocks and passes. (A lease is renewed every five seconds and orphans are looked for after
# fifteen: these two are called by hand. Session objects that stand on their own have keys of their own.)
CALLED = """
    amend answer attach beat begin claim close closed closing commit create define draft edit fail forget fork journal
    load publish restore rewind snapshot suspend unclosed unsnap shelve reshelve changes embeddings embedded passages
    undefine unshelve vectors
"""
REACHED = set(CALLED.split())


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    path = binary("valkey")
    assert path is not None
    made = Cluster(path)
    yield made
    made.stop()


async def runs_below_runs(runtime: Client) -> None:
    """A graph with an agent that calls another one, its threads, and their end with the session."""
    kid = Agent(name="kid", model=ScriptedModel([reply("ok")]))
    boss = Agent(
        name="boss", model=ScriptedModel([reply(calls=[call("kid", input="x")]), reply("ok")]), tools=(kid.as_tool(),)
    )
    await runtime.register(Graph("g", nodes={"a": boss, "f": lambda text: 1}, edges=[("a", "f")]))
    result = await runtime.run("g", "go", session_id="s")
    assert result.status == "completed", result.error
    assert len(await ThreadStore(runtime.store).children("g|s")) == 4  # each with the branch that keeps its state
    await (await runtime.session("s", "g").open()).clear_session()
    assert await ThreadStore(runtime.store).children("g|s") == []


async def work(runtime: Client) -> None:
    """Agents, blocks, passes, sessions: what makes every script run."""
    fails = [False, True]  # a closing, after a pass

    async def sleep(request: ModelRequest) -> ModelReply:
        if fails and bool(request.tools) == fails[-1]:
            fails.pop()
            raise ValueError("once")
        if not request.tools:
            return reply("They talked.")
        if request.messages[-1].role == "tool":
            return reply(calls=[call("memory_finish_edits")])
        return reply(calls=[call("core_memory_append", label="team", content="by the pass")])

    async def note(ctx: ToolContext) -> str:
        """Note."""
        ctx.agent.state.increment("n")
        await ctx.blocks.append("team", "by the tool")
        return "noted"

    model = ScriptedModel([reply(calls=[call("note")]), reply("ok")] * 3)
    blocks = (Block(label="team", scope="shared"), Block(label="human", scope="user"))
    sleeptime = Sleeptime(every=2, model=FunctionModel(sleep))
    await runtime.register(Agent(name="a", model=model, tools=(note,), blocks=blocks, sleeptime=sleeptime))
    lent = await runtime.blocks.create(Block(label="lent", value="one\ntwo"))
    await runtime.blocks.attach("a", lent.id)
    for edit in (
        runtime.blocks.insert(lent.id, "three"),
        runtime.blocks.replace(lent.id, "one", "1"),
        runtime.blocks.rethink(lent.id, "all new", expected_version=3),
        runtime.blocks.update(lent.id, metadata={"k": 1}),
    ):
        await edit
    for _ in range(2):
        result = await runtime.run("a", "go", session_id="s", user_id="ana")
        assert result.status == "completed", result.error
    assert (await runtime.run("a", "go", user_id="ana")).status == "completed"
    await passes(runtime.store, 1)
    assert await runtime.close_session("s", "a")
    await runtime.drain("s")
    assert len(await runtime.passages.list("a", user_id="ana")) == 1
    session = runtime.session("s", "a")
    await session.add_items([{"role": "user", "content": "added"}])
    assert await session.pop_item() is not None
    await session.fork(1, "branch")
    assert len(await runtime.session("branch", "a").rewind()) > 1
    snapshot = await runtime.snapshot("s", "a")
    await runtime.blocks.update(lent.id, value="later")
    assert len((await runtime.restore(snapshot, blocks="all")).blocks) == 1
    await runtime.delete_snapshot(snapshot)
    await runtime.store.read("DEL", runtime.store.keys.head("a|branch"))
    await forget_ended(runtime.store, "branch")
    await session.clear_session()
    await archive_work(runtime)
    await waiting_work(runtime)
    await runtime.blocks.detach("a", lent.id)
    assert (await runtime.blocks.list(agent="a"))[0].value == "by the tool\nby the tool\nby the tool\nby the pass"
    await runtime.delete_agent("a", cascade=True)


async def waiting_work(runtime: Client) -> None:
    """What makes the scripts of runs that wait run, those of a child too."""

    @tool(needs_approval=True)
    def pay() -> str:
        """Pay."""
        return "paid"

    low = Agent(name="low", model=ScriptedModel([reply(calls=[call("pay")]), reply("x")]), tools=(pay,))
    top = ScriptedModel([reply(calls=[call("low", input="go")]), reply("done")])
    await runtime.register(low, Agent(name="top", model=top, tools=(low.as_tool(),)))
    result = await runtime.run("top", "go", session_id="w")
    assert result.status == "interrupted"
    assert (await runtime.resume(result.run_id, {result.interrupts[0].id: Approve(always=True)})).output == "done"


async def archive_work(runtime: Client) -> None:
    """What makes the scripts of the archive and of recall run."""
    one = await runtime.passages.insert("a", "the boat is blue", ["boat"], user_id="ana")
    await runtime.passages.update(one.id, tags=["ship"])
    assert [hit.passage.id for hit in await runtime.passages.search("a", "boat", ["ship"], user_id="ana")] == [one.id]
    assert await runtime.recall("a", user_id="ana").search("anything") == []
    passages = PassageStore(runtime.store)
    assert await passages.embedded(await passages.identify("m", 1), [(one.id, 1, "AAAAAA==")])
    # The server has no vector sets; what the script does with its keys before it adds to one can be seen all the same.
    assert (await VectorSets(runtime.store).put("a|ana", 1, "", last=1))[0] == "ok"
    assert await runtime.passages.delete(one.id)
    await runtime.passages.insert("a", "the boat is green")


async def in_namespace(url: str, name: str, used: set[str]) -> None:
    """All of it in one namespace; the scripts that were called are noted."""
    store = await Store.open(url, name)
    run, machines = store.run, Machines(store)

    async def noting(script: str, *rest: object) -> object:
        used.add(script)
        return await run(script, *rest)  # type: ignore[arg-type]

    async def gone() -> bool:
        return not await PassStore(store).pending()

    store.run = noting  # type: ignore[method-assign, assignment]
    try:
        host = await machines.host()
        await machines.worker(host)
        await work(machines.client_of(host))
        await runs_below_runs(machines.client_of(host))
        await store.read("ZADD", store.keys.due, 0, "b|s")
        await until("the pass of an agent without a definition is dropped", gone)
    finally:
        await machines.stop()
        await store.close()


async def test_all_scripts_run_on_a_cluster(cluster: Cluster) -> None:
    """Three namespaces, so that each of the masters has its turn."""
    used: set[str] = set()
    names: dict[str, str] = {}
    for number in range(100):
        names.setdefault(cluster.url_of(f"orchestra:{{ns-{number}}}:log"), f"ns-{number}")
    assert len(names) == 3
    await asyncio.gather(*(in_namespace(url, name, used) for url, name in names.items()))
    assert used >= REACHED


async def test_the_rarely_needed_scripts_too(cluster: Cluster) -> None:
    name = "rare"
    store = await Store.open(cluster.url_of(f"orchestra:{{{name}}}:log"), name)
    try:
        await store.read("HSET", store.keys.head("a|s"), "seq", 0)
        await store.read("ZADD", store.keys.due, 0, "a|s")
        await store.read("HSET", store.keys.head("a|s"), "turn", 1)
        assert await PassStore(store).ask("a|s")
        claim = await PassStore(store).claim("a|s", "h@1", "c")
        assert claim is not None
        assert await PassStore(store).renew(claim)
        keys = store.keys
        orphan = await store.run("orphan", [keys.run("r"), keys.hosts, keys.head("a|s")], ["r", "", ""])
        assert orphan[0] == "ENDED"
        await store.read("HSET", keys.head("a|s"), "edition", 1, "token", 7, "run", "r")
        await store.read("RPUSH", keys.log("a|s"), "1 1 1 {}")
        contexts = ContextStore(store)
        assert await contexts.put_away("a|s", 7, "reference", "large") == "large"
        assert await contexts.flushed("a|s", "r", 7, 0, "done", max_failures=3) == (0, 0)
        assert await contexts.compact(NewSummary("a|s", 0, 1, 1, 1, "{}", 2, 1)) == "OK"
        await contexts.not_compacted("a|s", "why")
    finally:
        await store.close()


def test_no_script_makes_a_key_of_its_own() -> None:
    """What a script touches came in as a key: nothing in them builds a name."""
    for path in (resources.files("orchestra.store") / "lua").iterdir():
        text = re.sub(r"--[^\n]*", "", path.read_text(encoding="utf-8"))
        assert "orchestra:" not in text, path.name
        for command, first in re.findall(r"redis\.call\('(\w+)'(?:, *([^,)]+))?", text):
            assert command == "TIME" or not re.search(r"'|\.\.", first), (path.name, first)
