"""Summaries in stages: parts on their own, then joined, with fallbacks that never put a placeholder for history."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace

from orchestra.context.chunk_ratio import chunk_tokens, oversized
from orchestra.context.identifiers import MAX_CHARS, MAX_LISTED, STRETCH, appended, in_order, missing, searched
from orchestra.context.splitting import split_by_maximum, split_by_share
from orchestra.context.summary_prompt import SummaryKind, SummaryRequest, prompt, transcript
from orchestra.core.conversation import Compaction
from orchestra.core.jsontext import dumps
from orchestra.core.messages import Message
from orchestra.core.tokens import text_tokens

__all__ = ["Staged", "SummaryKind", "SummaryRequest", "joined", "prompt", "staged", "summarise", "transcript"]

FEW_MESSAGES = 4
LONGEST_WAIT = 8.0


@dataclass(frozen=True, slots=True)
class Staged:
    """What came of it: the summary of the first ``covered`` messages and, when they are not all, ``reason``.

    ``text`` is ``None`` when nothing could be summarised; the history then stays as it is.
    """

    text: str | None
    covered: int
    reason: str = ""


async def summarise(
    messages: Sequence[Message],
    tokens: Sequence[int],
    *,
    previous: str | None,
    window: int,
    settings: Compaction,
    ask: Callable[[SummaryRequest], Awaitable[str]],
    sleep: Callable[[float], Awaitable[None]],
    kind: SummaryKind = "whole",
    estimate: Callable[[str], int] = text_tokens,
) -> str | None:
    """The summary of all ``messages``; ``None``: it failed, so the compaction is cancelled. Arguments: :func:`staged`.

    The reason of a failure, and what could be done of it, are told by :func:`staged`.
    """
    made = await _staged(
        messages, tokens, previous, kind, _Summariser(window, settings, ask, sleep, estimate), whole=True
    )
    return made.text


async def staged(
    messages: Sequence[Message],
    tokens: Sequence[int],
    *,
    previous: str | None,
    window: int,
    settings: Compaction,
    ask: Callable[[SummaryRequest], Awaitable[str]],
    sleep: Callable[[float], Awaitable[None]],
    kind: SummaryKind = "whole",
    estimate: Callable[[str], int] = text_tokens,
) -> Staged:
    """Summarise as many of the first ``messages`` as possible: a finished part is kept when a later one fails.

    Args:
        messages: repaired. Where fewer than all are covered the end is a legal place for a cut.
        tokens: their estimates, one for each.
        previous: the summary of what came before; the last call takes it in.
        window: of the summariser's own model, in tokens.
        settings: of compaction.
        ask: calls the summariser and gives its text. Any exception, ``TimeoutError`` as well, is a failed try; so are
            an empty text and one that is longer than what it replaces.
        sleep: waits so many seconds between tries: 1, 2, 4, 8, 8, …
        kind: of the request when one call does: ``whole``, or ``turn_prefix`` for the first part of a turn.
        estimate: tokens of a text.
    """
    return await _staged(
        messages, tokens, previous, kind, _Summariser(window, settings, ask, sleep, estimate), whole=False
    )


def joined(history: str | None, turn_prefix: str | None) -> str | None:
    """One summary of the history and of the first part of the turn that is going on."""
    if not history or not turn_prefix:
        return history or turn_prefix
    return f"{history.rstrip()}\n\nThe turn that is going on, up to here:\n{turn_prefix}"


async def _staged(
    messages: Sequence[Message],
    tokens: Sequence[int],
    previous: str | None,
    kind: SummaryKind,
    run: _Summariser,
    *,
    whole: bool,
) -> Staged:
    if not messages:
        return Staged(None, 0, "there are no messages to summarise")
    before = run.estimate(previous) if previous else 0
    pieces = _pieces(messages, tokens, before, run)
    if len(pieces) == 1:
        text = await run.of_messages(kind, messages, tokens, previous, before)
        return Staged(text, len(messages)) if text is not None else Staged(None, 0, run.reason)
    partials: list[str] = []
    covered, real = 0, False
    for piece in pieces:
        part, sizes = messages[piece.start : piece.stop], tokens[piece.start : piece.stop]
        text = await run.of_messages("part", part, sizes, None, 0)
        if text is None and all(run.too_large(size) for size in sizes):
            text = "\n".join(_note(message, size) for message, size in zip(part, sizes, strict=True))
        elif text is not None:
            real = True
        if text is None:
            break
        partials.append(text)
        covered = piece.stop
    if not real or (whole and covered < len(messages)):
        return Staged(None, 0, run.reason)
    reason = run.reason if covered < len(messages) else ""
    chunk = chunk_tokens(tokens, run.window, settings=run.settings)
    text = await run.merged(partials, previous, before, sum(tokens[:covered]), chunk)
    return Staged(text, covered, reason) if text is not None else Staged(None, 0, run.reason)


def _pieces(messages: Sequence[Message], tokens: Sequence[int], before: int, run: _Summariser) -> list[range]:
    """What each call summarises; one piece when one call does."""
    total, chunk = sum(tokens), chunk_tokens(tokens, run.window, settings=run.settings)
    # Few messages are not worth parting, unless they cannot all be in one prompt.
    few = len(messages) < FEW_MESSAGES and (total + before) * run.settings.safety <= run.window
    if few or total <= chunk:
        return [range(len(messages))]
    shares = split_by_share(messages, tokens, run.settings.parts)
    return [
        range(share.start + piece.start, share.start + piece.stop)
        for share in shares
        for piece in split_by_maximum(messages[share.start : share.stop], tokens[share.start : share.stop], chunk)
    ]


def _note(message: Message, tokens: int) -> str:
    return f"[left out: a message of the role {message.role} with about {tokens} tokens, too large to be summarised]"


@dataclass(slots=True)
class _Summariser:
    """Calls with their retries. Owner: one staged summary; ``reason`` is that of its last failure."""

    window: int
    settings: Compaction
    ask: Callable[[SummaryRequest], Awaitable[str]]
    sleep: Callable[[float], Awaitable[None]]
    estimate: Callable[[str], int]
    reason: str = field(default="", init=False)

    def too_large(self, tokens: int) -> bool:
        return oversized(tokens, self.window, safety=self.settings.safety)

    async def of_messages(
        self, kind: SummaryKind, messages: Sequence[Message], tokens: Sequence[int], previous: str | None, before: int
    ) -> str | None:
        """One summary of these messages: all of them, else without the oversized ones, else ``None``."""
        replaced = sum(tokens) + before
        request = SummaryRequest(kind, tuple(messages), previous)
        text = await self._tried(request, replaced)
        large = [self.too_large(size) for size in tokens]
        if text is None and any(large) and not all(large):
            smaller = tuple(
                replace(message, content=_note(message, size), tool_calls=()) if is_large else message
                for message, size, is_large in zip(messages, tokens, large, strict=True)
            )
            request = replace(request, messages=smaller)
            text = await self._tried(request, replaced)
        return None if text is None else await self._complete(request, text, replaced)

    async def merged(
        self, partials: Sequence[str], previous: str | None, before: int, tokens: int, chunk: int
    ) -> str | None:
        """One text of all partial summaries and the previous one; in several rounds when they are over the chunk."""
        texts = list(partials)
        while len(texts) > 2 and sum(map(self.estimate, texts)) + before > chunk:
            rounds: list[str] = []
            for bundle in self._bundles(texts, chunk):
                text = await self._merge(bundle, None, sum(map(self.estimate, bundle)))
                if text is None:
                    return None
                rounds.append(text)
            texts = rounds
        return await self._merge(texts, previous, tokens + before)

    def _bundles(self, texts: Sequence[str], chunk: int) -> list[list[str]]:
        """Neighbours that are joined in one call: at least two (else no round would make them fewer)."""
        bundles: list[list[str]] = [[]]
        filled = 0
        for text in texts:
            size = self.estimate(text)
            if len(bundles[-1]) >= 2 and filled + size > chunk:
                bundles.append([])
                filled = 0
            bundles[-1].append(text)
            filled += size
        return bundles

    async def _merge(self, texts: Sequence[str], previous: str | None, replaced: int) -> str | None:
        if len(texts) == 1 and not previous:
            return texts[0]
        request = SummaryRequest("merge", (), previous, tuple(texts))
        text = await self._tried(request, replaced)
        return None if text is None else await self._complete(request, text, replaced)

    async def _tried(self, request: SummaryRequest, replaced: int) -> str | None:
        for number in range(1 + self.settings.retries):
            if number:
                await self.sleep(min(LONGEST_WAIT, 2.0 ** (number - 1)))
            if (text := await self._once(request, replaced)) is not None:
                return text
        return None

    async def _once(self, request: SummaryRequest, replaced: int) -> str | None:
        try:
            text = (await self.ask(request)).strip()
        except Exception as error:  # whatever a summariser fails with, the history stays
            self.reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            return None
        size = self.estimate(text)
        if not text:
            self.reason = "the summary was empty"
        elif size > replaced:
            self.reason = f"the summary of {size} tokens was longer than the {replaced} that it replaces"
        else:
            return text
        return None

    async def _complete(self, request: SummaryRequest, text: str, replaced: int) -> str:
        """The text with every identifier of its source: one more try, then the lost ones as a list."""
        wanted = await _identifiers_of(request)
        lost = missing(wanted, text)
        if not lost:
            return text
        again = await self._once(replace(request, keep=lost[:MAX_LISTED]), replaced)
        if again is not None and len(still := missing(wanted, again)) < len(lost):
            text, lost = again, still
        room = MAX_CHARS
        while self.estimate(complete := appended(text, lost, max_chars=room)) > replaced and complete != text:
            room //= 2  # a list that makes the summary longer than its source would make it worthless
        return complete


async def _identifiers_of(request: SummaryRequest) -> tuple[str, ...]:
    """Those of everything that is summarised. The loop is let go on in between: a search takes its time."""
    found: dict[str, None] = {}
    scanned = 0
    sources = [*(_searched(message) for message in request.messages), *request.partials, request.previous or ""]
    for text in sources:
        ranks: dict[str, int] = {}
        for literals in searched(text):
            for literal, rank in literals:
                ranks.setdefault(literal, rank)
            scanned += min(len(text), STRETCH)
            if scanned >= STRETCH:
                scanned = 0
                await asyncio.sleep(0)
        found.update(dict.fromkeys(in_order(ranks)))
    return tuple(found)


def _searched(message: Message) -> str:
    return "\n".join((message.text, *(dumps(dict(call.arguments)) for call in message.tool_calls)))
