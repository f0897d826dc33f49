"""Which models can go on with a conversation that the provider keeps, and what stands in requests and replies."""

from __future__ import annotations

import pickle

import pytest

from orchestra.core.messages import Message
from orchestra.core.model import Model, ModelReply, ModelRequest, ServerConversation, keeps_conversations
from orchestra.core.result import RunResult
from orchestra.models import FallbackModel, resolve
from orchestra.models.conversion import request_messages
from orchestra.testing import FunctionModel, ScriptedModel, reply

KEPT = ServerConversation(previous_response_id="r0")


def scripted(name: str = "scripted:inline", *, keeps: bool = True) -> ScriptedModel:
    return ScriptedModel([reply("one"), reply("two", response_id="mine")], name=name, keeps_conversations=keeps)


@pytest.mark.parametrize(
    ("model", "keeps"),
    [
        (resolve("openai-responses:gpt-5-mini"), True),
        (resolve("openai:gpt-5-mini"), False),
        (resolve("anthropic:claude-haiku-4-5"), False),
        (resolve("extractive"), False),
        (scripted(), True),
        (scripted(keeps=False), False),
        (FunctionModel(lambda request: "hi", keeps_conversations=True), True),
        (FunctionModel(lambda request: "hi"), False),
        (resolve(["openai-responses:gpt-5-mini", "openai-responses:gpt-5"]), True),
        (resolve(["openai-responses:gpt-5-mini", "openai:gpt-5-mini"]), False),
        (FallbackModel([scripted("a:x"), scripted("a:y")]), True),
        (FallbackModel([scripted("a:x"), scripted("b:x")]), False),  # b knows nothing of the conversations of a
    ],
)
def test_who_keeps_conversations(model: Model, keeps: bool) -> None:
    assert keeps_conversations(model) is keeps


def test_a_script_that_keeps_them_says_so_wherever_it_goes() -> None:
    for copy in (ScriptedModel.from_spec(scripted().to_spec()), pickle.loads(pickle.dumps(scripted()))):
        assert copy.keeps_conversations
    assert not ScriptedModel.from_spec(scripted(keeps=False).to_spec()).keeps_conversations


async def test_replies_in_a_conversation_have_ids_and_others_none() -> None:
    async def response_id(number: int, conversation: ServerConversation | None) -> str:
        request = ModelRequest((Message("user", "hi"),), call_number=number, conversation=conversation)
        items = [item async for item in scripted().stream(request)]
        assert isinstance(items[-1], ModelReply)
        return items[-1].response_id

    assert [await response_id(0, KEPT), await response_id(1, KEPT)] == ["response-0", "mine"]
    assert [await response_id(0, None), await response_id(1, None)] == ["", "mine"]


def test_what_comes_after_a_reply() -> None:
    assert KEPT.after("r1") == ServerConversation(previous_response_id="r1")
    assert ServerConversation().after("r1") == ServerConversation(previous_response_id="r1")
    named = ServerConversation("c1")
    assert named.after("r1") == named
    for one in (KEPT, named, ServerConversation()):
        assert ServerConversation.from_json(one.to_json()) == pickle.loads(pickle.dumps(one)) == one


def test_replies_and_results_keep_their_ids_and_those_of_earlier_versions_are_read() -> None:
    kept = reply("hi", response_id="r1")
    assert ModelReply.from_json(kept.to_json()) == kept
    old = {name: value for name, value in kept.to_json().items() if name != "response_id"}
    assert ModelReply.from_json(old) == reply("hi")
    result = RunResult("run", "completed", last_response_id="r1")
    assert RunResult.from_json(result.to_json()).last_response_id == "r1"
    assert RunResult.from_json({"run_id": "run", "status": "completed"}).last_response_id is None


def test_instructions_go_beside_the_input_that_is_kept() -> None:
    messages = (Message("system", "Be brisk."), Message("user", "hi"), Message("system", "said by the caller"))
    (apart,) = request_messages(messages, system="openai", apart=True)
    assert (apart.instructions, len(apart.parts)) == ("Be brisk.", 2)  # type: ignore[union-attr]
    (together,) = request_messages(messages, system="openai")
    assert (together.instructions, len(together.parts)) == (None, 3)  # type: ignore[union-attr]
