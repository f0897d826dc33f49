"""A model without a language model: it answers with sentences that stand in memory or in the conversation."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from orchestra.core.messages import Message
from orchestra.core.model import Delta, ModelReply, ModelRequest
from orchestra.models.playback import completed, played
from orchestra.models.recollection import answers, block_sentences, history_sentences, key_sentence, questions

NOTED = "Noted: "
NOTHING = "I have nothing about that in memory or in this conversation."
WHAT_I_AM = (
    "I am the extractive model, without a language model: I answer with sentences from memory and this conversation."
)


class ExtractiveModel:
    """Answers the newest user message with the sentences that matter, and never makes one up.

    A question is answered from the values of the memory blocks in the system message and from the conversation before
    it. A statement is acknowledged by quoting its key sentence. It calls no tools and gives the same reply to the same
    request, so it needs no key and no network. ``usage`` is the token estimate.
    """

    name = "extractive"

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | ModelReply, None]:
        """The answer in groups of words, then the reply."""
        reply = completed(ModelReply(Message("assistant", self.answer(request))), request, model=self.name)
        async with aclosing(played(reply)) as items:
            async for item in items:
                yield item

    def answer(self, request: ModelRequest) -> str:
        """The text of the answer to ``request``."""
        messages = request.messages
        newest = max((i for i, message in enumerate(messages) if message.role == "user"), default=None)
        if newest is None:
            return WHAT_I_AM
        text = messages[newest].text
        known = [
            *(
                sentence
                for message in messages
                if message.role == "system"
                for sentence in block_sentences(message.text)
            ),
            *history_sentences((*messages[:newest], *messages[newest + 1 :]), own=(NOTED, NOTHING, WHAT_I_AM)),
        ]
        asked = questions(text)
        if not asked:
            key = key_sentence(text)
            return NOTED + _quoted(key) if key else WHAT_I_AM
        found = list(dict.fromkeys(answer for question in asked for answer in answers(question, known)))
        return " ".join(map(_ended, found)) if found else f"{NOTHING} {WHAT_I_AM}"


def _quoted(sentence: str) -> str:
    return sentence if sentence[-1:] in ".!…。！" else f"{sentence}."


def _ended(sentence: str) -> str:
    return sentence if sentence[-1:] in ".!?…。！？\"'”’)" else f"{sentence}."
