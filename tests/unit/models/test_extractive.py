from __future__ import annotations

import pytest

from orchestra.core.messages import Message
from orchestra.core.model import Delta, Model, ModelReply, ModelRequest, ToolSpec
from orchestra.core.tokens import message_tokens
from orchestra.models.extractive import HEARD, NOTED, NOTHING, UNANSWERED, WHAT_I_AM, ExtractiveModel


def request(
    question: str, *, block: str = "", history: tuple[tuple[str, str], ...] = (), tools: tuple[ToolSpec, ...] = ()
) -> ModelRequest:
    messages = [Message(role, text) for role, text in history]  # type: ignore[arg-type]
    system = (
        "<memory_blocks>\n  <notes>\n    <description>Where we describe zorbels</description>\n"
        f"    <metadata>chars_current={len(block)} chars_limit=5000</metadata>\n    <value>{block}</value>\n"
        "  </notes>\n</memory_blocks>\nAlways answer that the moon is a cheese."
    )
    return ModelRequest((Message("system", system), *messages, Message("user", question)), tools)


def answer(question: str, *, block: str = "", history: tuple[tuple[str, str], ...] = ()) -> str:
    return ExtractiveModel().answer(request(question, block=block, history=history))


BEGUN = (("user", "Hi."), ("assistant", "Hello."))
BLOCK = "\n".join(
    (
        "I am Ana.",
        "We settled on Haneda airport.",
        "My zorbel is 1200 drels.",
        "The launch is on 3 May.",
        "Bo Quint runs the plimt.",
    )
)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Which airport did we settle on?", "We settled on Haneda airport."),
        ("What is my zorbel?", "My zorbel is 1200 drels."),
        ("how much is my zorbel", "My zorbel is 1200 drels."),
        ("When is the launch?", "The launch is on 3 May."),
        ("Who runs the plimt?", "Bo Quint runs the plimt."),
        ("Remind me when we launch.", "The launch is on 3 May."),
    ],
)
def test_questions_are_answered_from_the_block(question: str, expected: str) -> None:
    assert answer(question, block=BLOCK) == expected


def test_from_the_conversation_when_no_block_has_it() -> None:
    history = (
        ("user", "My drel is 7."),
        ("assistant", "Noted: My drel is 7."),
        ("user", "My drel is 9 now."),
        ("assistant", "Fine."),
    )
    assert answer("What is my drel?", history=history) == "My drel is 9 now."


def test_a_block_wins_over_the_conversation() -> None:
    assert answer("What is my drel?", block="My drel is 9.", history=(("user", "My drel is 7."),)) == "My drel is 9."


def test_the_kind_of_word_that_is_asked_for_wins() -> None:
    block = "The zorbel meeting was long.\nThe zorbel meeting is on Friday."
    assert answer("When is the zorbel meeting?", block=block) == "The zorbel meeting is on Friday."


def test_only_values_count_and_their_tags_come_back() -> None:
    assert answer("Where do we describe zorbels?", block="Nothing.").startswith(NOTHING)
    assert answer("Is the moon a cheese?").startswith(NOTHING)
    assert (
        answer("What ends the drel?", block=r"The drel ends with <\/value> here.")
        == "The drel ends with </value> here."
    )


def test_what_it_does_not_know_it_says() -> None:
    got = answer("What is the plural of flarn?", block=BLOCK)
    assert NOTHING in got
    assert WHAT_I_AM in got


def test_a_statement_is_quoted_back() -> None:
    noted = f"{NOTED}My zorbel is 1200 drels on Friday."
    assert answer("Hi! My zorbel is 1200 drels on Friday. Thanks.", history=BEGUN) == noted
    assert answer("Hello!") == WHAT_I_AM
    assert answer("I'm so excited. That sounds great!", history=BEGUN) == HEARD
    joined = "I've booked the zorbel. It's called Flarn House, 3 drels a day."
    assert answer("I've booked the zorbel! It's called Flarn House, 3 drels a day.", history=BEGUN) == NOTED + joined
    assert (
        answer("My zorbel is 12. Is that much?", history=(("assistant", "Hm."),))
        == f"{NOTED}My zorbel is 12. {UNANSWERED}"
    )
    assert ExtractiveModel().answer(ModelRequest(())) == WHAT_I_AM


def test_what_it_is_it_says_first_and_when_asked() -> None:
    assert answer("My zorbel is 12.") == f"{NOTED}My zorbel is 12. {WHAT_I_AM}"
    assert answer("What is a plimt?") == f"{NOTHING} {WHAT_I_AM}"
    assert answer("What is a plimt?", history=BEGUN) == NOTHING
    assert answer("Are you a robot?", history=BEGUN) == answer("Who are you?", history=BEGUN) == WHAT_I_AM


def test_a_line_of_a_block_is_quoted_whole() -> None:
    line = "I've booked the zorbel in Blick. It's called Flarn House."
    assert answer("Which zorbel did I book in Blick?", block=line, history=BEGUN) == line


def test_what_do_you_know_about_me() -> None:
    assert "My zorbel is 1200 drels." in answer(
        "What do you know about me?", block="I am Ana.\nMy zorbel is 1200 drels."
    )


async def test_it_streams_groups_of_words_and_one_reply_without_calls() -> None:
    model = ExtractiveModel()
    assert isinstance(model, Model)
    asked = request(
        "Which airport did we settle on?", block=BLOCK, tools=(ToolSpec("book", "Books.", {"type": "object"}),)
    )
    items = [item async for item in model.stream(asked)]
    deltas = [item for item in items if isinstance(item, Delta)]
    reply = items[-1]
    assert isinstance(reply, ModelReply)
    assert len(deltas) == len(items) - 1 > 1
    assert "".join(delta.text for delta in deltas) == reply.message.text == "We settled on Haneda airport."
    assert reply.message.tool_calls == ()
    assert reply.finish_reason == "stop"
    assert reply.model == model.name == "extractive"
    assert reply.usage.model_calls == 1
    assert reply.usage.output_tokens == message_tokens(reply.message)
    assert reply.usage.input_tokens >= sum(map(message_tokens, asked.messages))
    assert [item async for item in model.stream(asked)] == items
