"""The quickstart on a language model: a server of the chat-completions protocol on loopback."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.acceptance.cli.orchestra_command import ROOT, Command
from tests.openai_server import Answer, Called, OpenAIServer


def model(body: dict[str, Any]) -> Answer | str:
    """As the agent: answers. As the sleep-time agent: notes the last thing that the user said, then finishes."""
    tools = [tool["function"]["name"] for tool in body.get("tools") or []]
    last = body["messages"][-1]
    if "memory_finish_edits" not in tools:
        return f"I heard: {last['content'][:40]}"
    if last["role"] == "tool":
        return Answer(calls=[Called("memory_finish_edits", {}, id=f"f{len(body['messages'])}")])
    noted = json.dumps(last["content"])[-60:-2].replace("\\", "")
    return Answer(calls=[Called("core_memory_append", {"label": "trip", "content": noted}, id="a1")])


@pytest.mark.parametrize("on", [["--inline"], pytest.param([], marks=pytest.mark.ray)], ids=["inline", "ray"])
@pytest.mark.timeout(180)
def test_the_quickstart_takes_a_configured_provider(orchestra: Command, on: list[str]) -> None:
    with OpenAIServer(model, api_key="sk-test") as server:
        orchestra.variables.update(OPENAI_BASE_URL=server.base_url, OPENAI_API_KEY="sk-test")
        done = orchestra("run", ROOT / "configs/quickstart.yaml", *on, "--json")
        assert done.code == 0, done.err
        assert server.faults == []
    played = done.json
    assert played["model"].startswith("openai:gpt-5-mini (OPENAI_API_KEY is set")
    assert len(played["turns"]) == 26
    assert all(turn["output"].startswith("I heard: ") for turn in played["turns"])
    assert [one["turn"] for one in played["passes"]] == [5, 10, 15, 20, 25]
    assert {one["consolidator"] for one in played["passes"]} == {"llm"}
    assert all(one["usage"]["input_tokens"] for one in played["passes"])
    assert played["usage"]["input_tokens"] == 26 * 11
    assert "sk-test" not in done.out + done.err


def test_a_wrong_key_is_told_and_ends_the_play(orchestra: Command) -> None:
    with OpenAIServer(model, api_key="sk-right") as server:
        orchestra.variables.update(OPENAI_BASE_URL=server.base_url, OPENAI_API_KEY="sk-wrong-word")
        done = orchestra("run", "quickstart", "--inline")
    assert done.code == 1
    assert "turn 1 failed: model openai:gpt-5-mini" in " ".join(done.out.split())
    assert "sk-wrong-word" not in done.err
    assert "Traceback" not in done.err
