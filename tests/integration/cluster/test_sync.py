"""The blocking facade: the same methods, without an event loop of one's own."""

from __future__ import annotations

from orchestra import Agent, Block, Runtime
from orchestra.testing import ScriptedModel, reply
from tests.servers import Server


def test_run_stream_blocks_and_sessions_block(server: Server, namespace: str) -> None:
    config = {"redis": {"url": server.url}, "namespace": namespace}
    with Runtime.start(config, inline=True).sync as runtime:
        model = ScriptedModel([reply("one"), reply("two")])
        runtime.register(Agent(name="a", model=model, blocks=(Block(label="note", value="x"),)))
        assert runtime.run("a", "hello", session_id="s").output == "one"
        events = list(runtime.stream("a", "again", session_id="s"))
        assert events[-1].result.output == "two"
        (block,) = runtime.blocks.list(agent="a")
        runtime.blocks.append(block.id, "y")
        assert runtime.blocks.get(block.id).value == "x\ny"
        assert [message.text for message in runtime.session("s", "a").get_items()] == ["hello", "one", "again", "two"]
        assert runtime.redis_url == server.url
