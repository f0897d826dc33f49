"""Decisions: "let's settle on A", "A it is", "dropping A and going to B instead", and what was to be decided."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from orchestra.sleeptime.extractive.nouns import content_tokens

_LETS = re.compile(
    r"^(?:(?:so|then|ok(?:ay)?|well|alright)[,\s]+)*let(?:['’]s| us)\s+(?:just |simply |definitely |better )?"
    r"(?P<verb>settle on|go (?:with|for|to)|stick (?:with|to)|pick|choose|take|use|book|have|plan on|aim for|agree on"
    r"|decide on|opt for|keep|stay (?:in|at|with))\s+(?P<what>(?!it\b|that\b|this\b|them\b)[^,;!?]+?)"
    r"(?:,?\s+(?:then|instead|please|after all|now))?(?P<rest>[,;]\s.*)?[.!]*$",
    re.IGNORECASE,
)
_PAST = {"settle on": "settled on", "agree on": "agreed on", "decide on": "decided on"}
_IT_IS = re.compile(
    r"^(?:(?:so|then|ok(?:ay)?|well|alright)[,\s]+)*(?P<what>(?!here\b|there\b|what\b|that\b|this\b|as\b)[^,;!?]{2,40}?)"
    r" it is(?:,? (?:then|now))?[.!]*$",
    re.IGNORECASE,
)
_DROPPED = (
    r"(?:dropp?(?:ed|ing)?|skipp?(?:ed|ing)?|cut(?:ting)?(?: out)?|leav(?:e|ing) out|left out|scrapp?(?:ed|ing)?"
    r"|ditch(?:ed|ing)?|cancell?(?:ed|ing)?|giv(?:e|ing) up|gave up|tak(?:e|ing) out|remov(?:e|ed|ing))"
)
_REPLACED = (
    re.compile(
        rf"\b{_DROPPED}\s+(?P<old>[^,;]+?)(?:,|\s+and|,\s+and)\s+(?:(?:we['’]re|i['’]m|we['’]ll|i['’]ll)\s+)?"
        r"(?:(?:going|go|went)\s+(?:to|for|with)|(?:do|tak|us|visit|hav|add|choos|pick|see|try|book)(?:e|es|ing|ed)?"
        r"|took|had|chose)\s+(?P<new>[^,;]+?)\s+instead\b",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\b{_DROPPED}\s+(?P<old>[^,;]+?)\s+(?:in favou?r of|and replac(?:e|ed|ing) (?:it|them) (?:with|by))\s+"
        r"(?P<new>[^,;.!]+)",
        re.IGNORECASE,
    ),
)
_CHOSEN = re.compile(
    r"^(?:so |now |then )*(?:we|i)(?:['’]re| are|['’]m| am|['’]ve| have|['’]ll| will)?\s+(?:now |just )?"
    r"(?:(?:going|go|went|gone)\s+(?:with|for)|tak(?:e|ing|en)|took|us(?:e|ing|ed)|hir(?:e|ed|ing)|hav(?:e|ing)"
    r"|book(?:ed|ing)?|found|got|ask(?:ed|ing)?|choos(?:e|ing)|chose|chosen|pick(?:ed|ing)?)\s+"
    r"(?P<new>[^,;!?]+?)\s+instead\b",
    re.IGNORECASE,
)
_AIMS = re.compile(r"\s+for\s+(?:the\s+)?(?:\w+|\d+)\s+(?:nights?|days?|weeks?|hours?|months?|years?)$", re.IGNORECASE)
_WHICH = re.compile(
    r"\b(?:which|what)\s+(?P<np>(?!one\b|of\b|kind\b|sort\b)[a-z][\w-]*(?: [a-z][\w-]*)?)\s+(?:makes?|would|should"
    r"|is|are|do|does|did|shall|can|could|to|suits?|fits?)\b",
    re.IGNORECASE,
)
_FOR = re.compile(
    r"^(?:(?:and|so|now|as)\s+)?for\s+(?P<np>(?:the|our|my)\s[\w -]{2,30}?),?\s+(?:i|we|should)\b", re.IGNORECASE
)


def decided(text: str) -> tuple[str, str] | None:
    """A decision as a plain statement and what was chosen: ("We settled on A.", "A")."""
    if match := _LETS.match(text):
        what, verb = match["what"].strip(), match["verb"].lower()
        verb = _PAST.get(verb, verb)
        return f"We {verb} {what}{(match['rest'] or '').rstrip('.! ')}.", what
    if match := _IT_IS.match(text):
        return f"We go with {match['what'].strip()}.", match["what"].strip()
    return None


def swapped(text: str) -> tuple[str, str] | None:
    """The old and the new of "dropping A and going to B instead", without how long; ``None`` for other sentences."""
    for pattern in _REPLACED:
        if match := pattern.search(text):
            return match["old"].strip(), _AIMS.sub("", match["new"].strip(" .!"))
    return None


def chosen_instead(text: str) -> str | None:
    """What "we're going with B instead" takes in the place of something said before."""
    match = _CHOSEN.match(text)
    return match["new"].strip() if match else None


@dataclass(slots=True)
class Choices:
    """The choices that were asked or mused about lately: their topics, with the words of each."""

    open: list[tuple[str, frozenset[str], int]] = field(default_factory=list)

    def note(self, text: str, at: int) -> None:
        """Remember a question or musing about a choice, heard in message number ``at``."""
        match = _WHICH.search(text) or _FOR.match(text)
        if match:
            topic = match["np"].strip()
            words = frozenset(token.stem for token in content_tokens(text[: match.start()] + text[match.end() :]))
            self.open.append((topic, words, at))
            del self.open[:-4]

    def topic(self, what: str, at: int) -> str:
        """The topic of the choice that ``what`` settles, of the last messages before ``at``; else empty."""
        stems = frozenset(token.stem for token in content_tokens(what))
        found = next((item for item in reversed(self.open) if stems and stems <= item[1] and at - item[2] <= 8), None)
        return found[0] if found else ""
