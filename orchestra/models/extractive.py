"""A model without a language model: it answers with sentences that stand in memory or in the conversation."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from orchestra.core.messages import Message, ToolCall
from orchestra.core.model import Delta, ModelReply, ModelRequest
from orchestra.core.sentences import sentences
from orchestra.models.playback import completed, played
from orchestra.models.recollection import answers, block_sentences, history_sentences, key_sentence, questions
from orchestra.models.written_calls import written_call

NOTED = "Noted: "
NOTHING = "I have nothing about that in memory or in this conversation."
UNANSWERED = "I have nothing in memory about your question."
HEARD = "All right."
WHAT_I_AM = (
    "I am the extractive model, without a language model: I answer with sentences from memory and this conversation."
)


class ExtractiveModel:
    """Answers the newest user message with the sentences that matter, and never makes one up.

    A question is answered from the values of the memory blocks, as they are now, and from the conversation before it. A
    statement is acknowledged by quoting its key sentence, small talk by two words; what this model is, it says in its
    first reply and when asked. It calls a tool only where the newest user message writes
    the call out (``read_report(number=12)``), and quotes what the result begins with. It gives the same reply to the
    same request, so it needs no key and no network. ``usage`` is the token estimate.
    """

    name = "extractive"

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | ModelReply, None]:
        """The answer in groups of words, then the reply."""
        call = _wanted(request)
        message = Message("assistant", self.answer(request)) if call is None else Message("assistant", "", (call,))
        reply = completed(ModelReply(message), request, model=self.name)
        async with aclosing(played(reply)) as items:
            async for item in items:
                yield item

    def answer(self, request: ModelRequest) -> str:
        """The text of the answer to ``request``."""
        messages = request.messages
        newest = _newest(messages)
        if newest is None:
            return WHAT_I_AM
        text = messages[newest].text
        if quoted := _result_of(messages, newest):
            return quoted
        known = [
            *block_sentences(*(one.text for one in messages if one.role == "system" or one.meta.synthetic)),
            *history_sentences((*messages[:newest], *messages[newest + 1 :]), own=(NOTED, NOTHING, HEARD, WHAT_I_AM)),
        ]
        asked = questions(text)
        found = list(dict.fromkeys(answer for question in asked for answer in answers(question, known)))
        if found:
            return " ".join(map(_ended, found))
        key = key_sentence(text)
        reply = NOTED + _quoted(key) if key else NOTHING if asked else HEARD
        if key and asked:
            reply += f" {UNANSWERED}"
        first = all(message.role != "assistant" for message in messages)
        if not (first or _WHO.search(text)):
            return reply
        return f"{reply} {WHAT_I_AM}" if key or (asked and not _WHO.search(text)) else WHAT_I_AM


def _newest(messages: Sequence[Message]) -> int | None:
    """The place of the newest message of a user; notes of the runtime are none."""
    return max((i for i, one in enumerate(messages) if one.role == "user" and not one.meta.synthetic), default=None)


def _wanted(request: ModelRequest) -> ToolCall | None:
    """The call that the newest message of a user writes out, when it was not made yet."""
    newest = _newest(request.messages)
    if newest is None or any(message.role in ("assistant", "tool") for message in request.messages[newest + 1 :]):
        return None
    return written_call(request.messages[newest].text, {tool.name for tool in request.tools})


def _result_of(messages: Sequence[Message], newest: int) -> str:
    """What the result of a call after the newest message of a user begins with; empty when there is none."""
    last = messages[-1]
    if last.role != "tool" or len(messages) - 1 <= newest:
        return ""
    first = next(iter(sentences(last.text)), "")
    return _quoted(first[:300]) if first else ""


_WHO = re.compile(
    r"\b(?:who|what) are you\b|\bare you (?:an? )?(?:\w+ )?(?:ai|bot|robot|human|person|real|model|machine)\b"
    r"|\bhow do you work\b",
    re.IGNORECASE,
)


def _quoted(sentence: str) -> str:
    return sentence if sentence[-1:] in ".!…。！" else f"{sentence}."


def _ended(sentence: str) -> str:
    return sentence if sentence[-1:] in ".!?…。！？\"'”’)" else f"{sentence}."
