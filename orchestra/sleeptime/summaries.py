"""What is left of a session that is closed: a few lines, by a language model or by picked sentences."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Protocol

from orchestra.core.errors import ModelError
from orchestra.core.messages import Message
from orchestra.core.model import Model, ModelReply, ModelRequest, Usage
from orchestra.core.own_thread import in_own_thread
from orchestra.models.recollection import key_sentence
from orchestra.models.registry import resolve
from orchestra.runtime.definition import Loaded
from orchestra.sleeptime.extractive import Line, Said, consolidate
from orchestra.sleeptime.transcript import Transcript

MAX_CHARS = 4000
TOPIC_CHARS = 200
INSTRUCTIONS = f"""You write the summary of a conversation that is over. It is kept in an archive and found again by its
meaning, perhaps years later, by somebody who has nothing else of the conversation.

Say what it was about, what was decided or found out, and what was left open: names, dates, numbers, preferences. Where
something was taken back or changed, only how it ended. Plain sentences, no headings, no advice, at most
{MAX_CHARS // 2} characters. When a summary so far is given, write one summary of it and of what follows."""


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary's text (empty: there was nothing) and what it cost."""

    text: str
    usage: Usage = field(default_factory=Usage)


class Summarizer(Protocol):
    """Joins the summary so far (perhaps empty) with the stretch of conversation that follows it."""

    async def summarize(self, so_far: str, read: Transcript, calls: int) -> Summary:
        """The new summary. ``calls`` counts earlier model calls. Any exception fails the closing."""


class ExtractiveSummarizer:
    """Without a language model: the sentences that state facts, superseded and withdrawn ones left out; no tokens."""

    async def summarize(self, so_far: str, read: Transcript, calls: int) -> Summary:
        """Pure text work, in a thread."""
        heard = [m for m in read.messages if m.role in ("user", "assistant") and m.text and not m.meta.aborted]
        said = [Said(m.meta.seq, "user" if m.role == "user" else "assistant", m.text) for m in heard]
        before = [Line(line.removeprefix("- "), (0,)) for line in so_far.split("\n") if line]
        lines = [line.text for line in await in_own_thread(consolidate, before, said, limit=MAX_CHARS)]
        first = next((m.text for m in heard if m.role == "user"), "")
        if not lines and first:
            topic = await in_own_thread(key_sentence, first) or first
            lines = [" ".join(topic.split())[:TOPIC_CHARS]]
        return Summary("\n".join(f"- {line}" for line in lines))


class LlmSummarizer:
    """One model call for each stretch."""

    def __init__(self, model: Model) -> None:
        self._model = model

    async def summarize(self, so_far: str, read: Transcript, calls: int) -> Summary:
        """Raises :class:`ModelError` when the model fails or says nothing."""
        parts = [f"The summary so far:\n{so_far}"] if so_far else []
        prompt = "\n\n".join([*parts, f"The conversation:\n{read.text()}"])
        request = ModelRequest((Message("system", INSTRUCTIONS), Message("user", prompt)), call_number=calls)
        reply: ModelReply | None = None
        async with aclosing(self._model.stream(request)) as items:  # type: ignore[type-var]
            async for item in items:
                if isinstance(item, ModelReply):
                    reply = item
        text = "" if reply is None else reply.message.text.strip()
        if reply is None or not text:
            raise ModelError(self._model.name, "it gave no summary")
        return Summary(text[:MAX_CHARS], replace(reply.usage, model_calls=1))


def summarizer_for(loaded: Loaded) -> Summarizer:
    """As the agent's sleep-time agent works: a model where one is configured, else picked sentences.

    An agent whose memory does not sleep takes a configured provider if there is one (``auto``).
    """
    kind = "auto" if loaded.agent.sleeptime is None else loaded.agent.sleeptime.consolidator
    if kind in ("extractive", "scripted"):  # a script says how blocks are edited, nothing about summaries
        return ExtractiveSummarizer()
    model = resolve(loaded.sleep_model)
    return ExtractiveSummarizer() if model.name == "extractive" else LlmSummarizer(model)
