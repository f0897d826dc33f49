"""Logs for the tests of the context: short builders, and any log that hypothesis can think of, broken ones too."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from orchestra.context.summary_message import summary_message
from orchestra.core.messages import Message, Meta, ToolCall


def user(text: str = "hello", *, turn: int = 0) -> Message:
    return Message("user", text, meta=Meta(turn=turn))


def asks(*ids: str, text: str = "", aborted: bool = False, tool: str = "look") -> Message:
    calls = tuple(ToolCall(one, tool) for one in ids)
    return Message("assistant", text, tool_calls=calls, meta=Meta(aborted=aborted))


def says(text: str = "fine", *, aborted: bool = False) -> Message:
    return Message("assistant", text, meta=Meta(aborted=aborted))


def answers(call: str, text: str = "found", *, synthetic: bool = False, tool: str = "look") -> Message:
    return Message("tool", text, tool_call_id=call, name=tool, is_error=synthetic, meta=Meta(synthetic=synthetic))


def stored(*messages: Message) -> list[Message]:
    """The messages as a log gives them: with a ``seq`` from 1, and turns counted by messages of the user."""
    out: list[Message] = []
    turn = 0
    for seq, message in enumerate(messages, 1):
        turn += message.role == "user" and not message.meta.synthetic
        out.append(message.with_meta(replace(message.meta, seq=seq, turn=max(turn, 1))))
    return out


def shape(messages: object) -> str:
    """One letter for each message: u, a, s(ummary), t(ool), e (an error result that was made up), n(otice)."""
    letters = []
    for message in messages:  # type: ignore[attr-defined]
        if message.role == "user" and message.meta.synthetic:
            letters.append("s")
        elif message.role == "tool" and message.meta.synthetic:
            letters.append("e")
        else:
            letters.append({"user": "u", "assistant": "a", "tool": "t", "system": "n"}[message.role])
    return "".join(letters)


# Few ids, so that they are reused, doubled and orphaned all the time; "" is a call that was never finished.
IDS = st.sampled_from(["c1", "c2", "c3", ""])
TEXTS = st.sampled_from(["", "hello", "안녕하세요", "👩‍👩‍👧‍👦🇰🇷", "e\u0301\u0323", "x" * 50])
MESSAGE = st.one_of(
    st.builds(user, TEXTS),
    st.builds(says, TEXTS, aborted=st.booleans()),
    st.builds(
        lambda ids, text, aborted: asks(*ids, text=text, aborted=aborted),
        st.lists(IDS, min_size=1, max_size=3),
        TEXTS,
        st.sampled_from([False, False, False, True]),
    ),
    st.builds(answers, IDS, TEXTS, synthetic=st.booleans()),
    st.builds(answers, IDS, TEXTS),
    st.builds(Message, st.just("system"), TEXTS),
)
LOGS = st.builds(
    lambda head, rest: stored(*head, *rest),
    st.sampled_from([(), (), (summary_message("what was said before"),)]),
    st.lists(MESSAGE, max_size=40),
)
