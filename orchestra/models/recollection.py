"""What a request remembers: the sentences of its blocks and conversation, and which of them answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from orchestra.core.continuation import LONGEST, goes_on, joined
from orchestra.core.messages import Message
from orchestra.core.sentences import is_question, sentences, words
from orchestra.core.smalltalk import is_small_talk
from orchestra.core.terms import Token, TokenKind, Weights, tokens
from orchestra.models.shown_blocks import is_update, shown_values

_ASKED = re.compile(
    r"^(?:(?:and|so|but|then|ok(?:ay)?|hey|hi|hello|please|sorry|also|well)[,\s]+)*(?:who|whom|whose|what"
    r"|which|when|where|why|how"
    r"|(?:can|could|would|will) you (?:please )?(?:tell|remind)|do (?:you|i|we)|did (?:you|i|we)|am i|is my"
    r"|are my|remind me|tell me)\b",
    re.IGNORECASE,
)
_WANTED: tuple[tuple[re.Pattern[str], frozenset[TokenKind]], ...] = (
    (re.compile(r"\bhow (?:much|many|long|old|far|big|often|high|tall|large)\b", re.IGNORECASE), frozenset({"number"})),
    (
        re.compile(r"\b(?:when|what (?:time|day|date|year|month)|which (?:day|date|year|month))\b", re.IGNORECASE),
        frozenset({"date", "number"}),
    ),
    (re.compile(r"\b(?:where|which (?:place|city|country)|who|whom|whose)\b", re.IGNORECASE), frozenset({"name"})),
)
_ABOUT_ASKING = words(
    "tell remind rememb know say mention again call go get think exact want need like ask current now still"
)
_GENERAL = re.compile(r"\b(?:about (?:me|us)|remember|(?:you|we|i) know|told you|in memory|noted)\b", re.IGNORECASE)
ENOUGH = 0.4
MOST = 3


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence that may answer, with where it comes from; a larger ``order`` is newer."""

    text: str
    origin: Literal["block", "history"]
    order: int
    pieces: tuple[Token, ...]

    @property
    def stems(self) -> frozenset[str]:
        """The stems of its telling words."""
        return frozenset(token.stem for token in self.pieces if token.kind != "function")


def block_sentences(*texts: str) -> list[Sentence]:
    """The lines in the values of the memory blocks that the messages show, in order; long ones by sentences."""
    out: list[Sentence] = []
    for value in shown_values(texts):
        for line in value.splitlines():
            found = sentences(line)
            whole = [" ".join(found)] if len(found) > 1 and len(line) <= LONGEST else found
            out.extend(Sentence(text, "block", len(out) + i, tokens(text)) for i, text in enumerate(whole))
    return out


def history_sentences(messages: Iterable[Message], *, own: Sequence[str]) -> list[Sentence]:
    """The statements of a conversation in order; what begins with a phrase of ``own`` is this model's and left out."""
    out: list[Sentence] = []
    for message in messages:
        if message.meta.synthetic and is_update(message.text):
            continue
        if message.role == "system" or (message.role == "assistant" and message.text.startswith(tuple(own))):
            continue
        for text in sentences(message.text):
            if not is_question(text):
                out.append(Sentence(text, "history", len(out), tokens(text)))
    return out


def questions(text: str) -> list[str]:
    """The sentences of ``text`` that ask for something."""
    return [sentence for sentence in sentences(text) if is_question(sentence) or _ASKED.match(sentence)]


def answers(question: str, known: Sequence[Sentence]) -> list[str]:
    """The sentences of ``known`` that answer ``question``, best first, at most three, or none.

    The measure is the share of the question's terms, each by how rare it is, that a sentence has. Among near equals win
    kinds of words that the question asks for (numbers for "how much", dates for "when", names for "who" and "where"),
    then blocks, then newer sentences.
    """
    asked = [token for token in tokens(question) if token.kind != "function" and token.stem not in _ABOUT_ASKING]
    wanted = frozenset(token.stem for token in asked)
    if not wanted:
        newest = [sentence.text for sentence in known if sentence.origin == "block"][-MOST:]
        return newest if _GENERAL.search(question) else []
    weights = Weights(sentence.stems for sentence in known)
    whole = weights.total(wanted)
    kinds = next((kinds for pattern, kinds in _WANTED if pattern.search(question)), frozenset[TokenKind]())
    scored: list[tuple[float, Sentence]] = []
    for sentence in known:
        share = weights.total(wanted & sentence.stems) / whole
        if share >= ENOUGH:
            scored.append((share + _liking(sentence, wanted, kinds, len(known)), sentence))
    if not scored:
        return []
    scored.sort(key=lambda item: (-item[0], -item[1].order))
    best = scored[0][1]
    out, covered = [best.text], best.stems & wanted
    for score, sentence in scored[1:]:
        more = (sentence.stems & wanted) - covered
        if len(out) < MOST and more and score >= 0.5 * scored[0][0] and sentence.text not in out:
            out.append(sentence.text)
            covered |= more
    return out


def _liking(sentence: Sentence, wanted: frozenset[str], kinds: frozenset[TokenKind], many: int) -> float:
    rest = [token for token in sentence.pieces if token.kind != "function" and token.stem not in wanted]
    liking = 0.15 if sentence.origin == "block" else 0.0
    if kinds and any(token.kind in kinds for token in rest):
        liking += 0.2
    if not rest:
        liking -= 0.3  # it only repeats the question
    if len(rest) > 20:
        liking -= 0.1
    return liking + 0.1 * sentence.order / (many + 1)


def key_sentence(text: str) -> str:
    """What ``text`` states: its sentence with most telling words, numbers and names, without openers; else empty.

    Questions and small talk count for nothing. A sentence that goes on about the one before it comes with that.
    """
    best, top, before = "", 0.0, ""
    for raw in sentences(text):
        sentence = _opened(raw)
        if is_question(sentence) or _ASKED.match(sentence) or is_small_talk(sentence):
            before = ""
            continue
        if before and goes_on(sentence) and (whole := joined(before, sentence)):
            sentence = whole
        before = sentence
        telling = [token for token in tokens(sentence) if token.kind != "function" and token.stem not in _POLITE]
        worth = min(len(telling), 6) + 1.5 * sum(token.kind in ("number", "date", "name") for token in telling)
        if worth > top:
            best, top = sentence, worth
    return best


def _opened(sentence: str) -> str:
    bare = _OPENER.sub("", sentence)
    return bare[:1].upper() + bare[1:] if bare.strip(" .!?") else sentence


_OPENER = re.compile(
    r"^(?:(?:oh|ok(?:ay)?|so|well|ha(?:ha)*|hey|hi|hello|ugh|yes|no|right|actually|anyway|guess what|by the way|also"
    r"|quick (?:one|update|note)|and|but|honestly|update|correction)\s*[,:!–—-]+\s*"
    r"|(?:oh and|and|so|but)\s+(?=(?:i|we|my|our|the|please|there)\b)"
    r"|(?:(?:good|bad|great) )?news(?: from [^,:;.]{1,30})?[:,]\s*|it turns out(?: that)?\s+"
    r"|i should (?:say|mention|add)(?: that)?\s+)+",
    re.IGNORECASE,
)
_POLITE = words(
    "good morn even afternoon great nic fin thank bye welcom sur perfect cool wow sorry alright greet day night"
)
