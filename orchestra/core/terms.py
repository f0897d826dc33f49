"""Terms: the words of a text as search and comparison see them: tokens with places, light stems, weights."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

from orchestra.core.sentences import is_abbreviation, words

TokenKind: TypeAlias = Literal["word", "name", "number", "date", "function"]

_TOKEN = re.compile(
    r"\d+(?:[.,:/]\d+)*[A-Za-z]*|[^\W\d_]+?(?=n['’]t\b)|n['’]t\b|['’](?:s|re|m|ve|ll|d)\b"
    r"|[^\W_]+(?:-[^\W_]+)*"
)
_CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_RUNS = re.compile(
    "[\u3040-\u309f]+|[\u30a0-\u30ff]+|[\u3400-\u9fff\uf900-\ufaff]+|[^\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+"
)
_HANGUL = re.compile("[가-힣]")
_VOWEL = re.compile("[aeiouy]")
_PARTICLES = re.compile("(?<=[가-힣])(?:에서는|에서|에게|으로|까지|부터|이라|은|는|이|가|을|를|에|로|도|의|와|과|만)$")

DATE_WORDS = words(
    "monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays"
    " saturdays sundays january february march april june july august september october november december"
    " today tomorrow yesterday tonight noon midnight morning afternoon evening weekend"
)
NUMBER_WORDS = words(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
    " seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand"
    " million dozen half"
)
FUNCTION_WORDS = words(
    "a an the this that these those there here it its itself i me my mine myself we us our ours ourselves you"
    " your yours he him his himself she her hers herself they them their theirs themselves who whom whose"
    " which what when where why how be am is are was were been being do does did doing done have has had"
    " having will would shall should can could may might must ought s re m ve ll d n't not no nor and or but"
    " so if then than as of at by for with about against between into through during before after above below"
    " to from up down in out on off over under again further once because while until since although though"
    " per via upon within without toward towards around among across along all any both each few more most"
    " other some such only own same too very just also even still yet ever never always often usually really"
    " quite rather much many lot lots bit little well let lets please yes yeah ok okay oh hi hello hey thanks"
    " thank ca wo sha ai dont im ive"
)
_IRREGULAR = {
    "met": "meet", "went": "go", "gone": "go", "chose": "choos", "chosen": "choos", "bought": "buy", "got": "get",
    "gotten": "get", "left": "leav", "became": "becom", "spoke": "speak", "spoken": "speak", "ran": "run",
    "took": "tak", "taken": "tak", "made": "mak", "paid": "pay", "held": "hold", "kept": "keep", "told": "tell",
    "said": "say", "thought": "think", "sold": "sell", "taught": "teach", "wrote": "writ", "written": "writ",
    "drove": "driv", "driven": "driv", "ate": "eat", "eaten": "eat", "gave": "giv", "given": "giv", "saw": "see",
    "seen": "see", "began": "begin", "begun": "begin", "came": "com", "felt": "feel", "found": "find",
    "grew": "grow", "grown": "grow", "knew": "know", "known": "know", "lost": "los", "led": "lead", "sent": "send",
    "spent": "spend", "won": "win", "rose": "ris", "risen": "ris", "children": "child", "people": "person",
    "wives": "wif", "lives": "liv",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Token:
    """One token. ``start`` and ``end`` are its place in the text, in characters; ``lower`` its text in lower case."""

    lower: str
    stem: str
    kind: TokenKind
    start: int
    end: int


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """A light stem: plural, past and progressive endings go, irregular verbs are mapped; lower case."""
    word = word.lower()
    if not word.isascii():
        return _PARTICLES.sub("", word) if _HANGUL.search(word) else word
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    size = len(word)
    if size > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if size > 4 and word.endswith(("sses", "shes", "ches", "xes")):
        word = word[:-2]
    elif size > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    if word.endswith("ing") and len(word) > 4 and _VOWEL.search(word[:-3]):
        word = _undouble(word[:-3])
    elif word.endswith("eed"):
        word = word[:-1] if len(word) > 5 else word
    elif len(word) > 5 and word.endswith("ied"):
        word = word[:-3] + "y"
    elif len(word) > 4 and word.endswith("ed"):
        word = _undouble(word[:-2])
    return word[:-1] if len(word) > 2 and word.endswith("e") else word


def _undouble(word: str) -> str:
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiouls" else word


@lru_cache(maxsize=4096)
def tokens(text: str) -> tuple[Token, ...]:
    """The tokens of ``text``; clitics (``'s``, ``n't``) are tokens of their own, text without spaces gives pairs."""
    out: list[Token] = []
    opening = True
    for match in _TOKEN.finditer(text):
        raw = match.group()
        start = match.start()
        if _CJK.search(raw):
            out.extend(_pairs(raw, start))
        else:
            lower = raw.lower().replace("’", "'")
            bare = lower.lstrip("'")
            out.append(Token(bare, stem(bare), _kind(raw, bare, opening), start, match.end()))
        after = text[match.end() : match.end() + 1]
        opening = after in (".", "!", "?", ":") and not is_abbreviation(raw)
    return tuple(out)


def _kind(raw: str, lower: str, opening: bool) -> TokenKind:
    if raw[0].isdigit() or lower in NUMBER_WORDS:
        return "number"
    if lower in DATE_WORDS and not (lower == "march" and raw.islower()):
        return "date"
    if lower in FUNCTION_WORDS:
        return "function"
    return "name" if raw[0].isupper() and not opening else "word"


def _pairs(raw: str, start: int) -> list[Token]:
    out: list[Token] = []
    for part in _RUNS.finditer(raw):
        piece, place = part.group(), start + part.start()
        if not _CJK.search(piece):
            kind: TokenKind = "number" if piece[0].isdigit() else "word"
            out.append(Token(piece.lower(), stem(piece), kind, place, place + len(piece)))
        elif "\u3040" <= piece[0] <= "\u309f" and len(piece) < 4:
            out.append(Token(piece, piece, "function", place, place + len(piece)))
        else:
            size = min(2, len(piece))
            starts = range(len(piece) - size + 1)
            pairs = ((piece[i : i + size], place + i) for i in starts)
            out.extend(Token(pair, pair, "word", at, at + size) for pair, at in pairs)
    return out


def content(text: str) -> list[str]:
    """The stems of the words that carry meaning, in order, with repetitions."""
    return [token.stem for token in tokens(text) if token.kind != "function"]


class Weights:
    """Inverse document frequencies over a set of texts; each text is its stems."""

    def __init__(self, texts: Iterable[Iterable[str]]) -> None:
        self._counts: Counter[str] = Counter()
        self._total = 0
        for text in texts:
            self._counts.update(set(text))
            self._total += 1

    def __getitem__(self, term: str) -> float:
        """How much ``term`` tells: near 0 when every text has it, largest for one that none has."""
        return math.log(1 + (self._total + 0.5) / (self._counts[term] + 0.5))

    def total(self, terms: Iterable[str]) -> float:
        """The sum over ``terms``."""
        return sum(self[term] for term in terms)
