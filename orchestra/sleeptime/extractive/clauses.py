"""From a message to its clauses: openers taken off, compound sentences split, contrasts ("not A") cut out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from orchestra.core.sentences import is_question, sentences
from orchestra.core.terms import tokens
from orchestra.sleeptime.extractive import cues

_CODE = re.compile(r"```.*?(?:```|$)", re.DOTALL)
_JOINT = re.compile(
    r"\s*(?:;|\s[–—]|\s-|,)\s+(?:(?:and|but|so|yet|also|plus|then)\s+)*(?=(?:i|we|my|our|please|make|let's"
    r"|i'(?:m|ve|ll|d)|we'(?:re|ve|ll|d)|the [\w -]{2,30}? (?:is|are|was|will|has))\b)"
    r"|\s+(?:and|but)\s+(?:also |now |then )*(?=(?:my|our|i|we|i'(?:m|ve|ll|d)|we'(?:re|ve|ll|d))\s)"
    r"|(?:,|;|\s[–—-])\s+(?:(?:and|but|so|now|actually|instead)[\s,]+)*(?=(?:it|that|they)(?:['’]s|['’]re| is"
    r"| are| will| should| has)\b.*)"
    r"|\s+but\s+(?:now\s+)?(?=(?:it|that|they)\b)"
    r"|,\s+so\s+(?=[^,;]{2,40}\sit is\b)"
    r"|,\s+which (?:is|was|means)\b[^,;]{0,40}?\s(?:because|since)\s+"
    r"|(?:,|;)\s*(?=(?:make (?:it|that)|scratch that|forget (?:it|that)|can you|could you|would you|is that"
    r"|is it|does that|do you|what|how|right\?|ok\?))",
    re.IGNORECASE,
)
_DEPENDENT = re.compile(
    r"(?:for|as|when|if|regarding|about|on|concerning|with|in|instead|rather|since|because|while|although"
    r"|though|after|before|once"
    r"|whenever|unless|given|according|until|even|whether|like|until|to)\b(?! me\b)(?!.*[,;])",
    re.IGNORECASE,
)
_ASIDE = re.compile(
    r",\s*(?:by the way|i['’]d say|i guess|i suppose|i think|though|then|(?:just )?so you know|if that helps"
    r"|talk (?:to you )?soon|luckily|unfortunately|sadly)(?=[.!]*$)",
    re.IGNORECASE,
)
_IMPLICIT_START = re.compile(r"(?:it|that|they)\b", re.IGNORECASE)
_HAS_VERB = re.compile(
    r"^(?:i|we|he|she|it|they|you|please|make|set|change|let's)\b|\b(?:is|are|was|were|am|will|has|have|had|be"
    r"|do|does|did|can|could|would|should|no longer|used to)\b|['’](?:s|re|m|ve|ll|d)\b|n['’]t\b|\w{2,}(?:ed"
    r"|es)\b|:\s",
    re.IGNORECASE,
)
_NEGATIVE_OR_PAST = re.compile(
    r"\b(?:not|no longer|never mind|used to|was|were|previously|any ?more|forget|scratch|originally|said"
    r"|thought|told|changed|over|off|gone|cancell?ed)\b|n['’]t\b",
    re.IGNORECASE,
)
_CONTRASTS = (
    re.compile(
        r"\s*(?:,|\s[–—-]|\s?\()\s*(?:and |but |so |thus |hence )?(?:is |are |it's )?(?:not|no longer"
        r"|rather than|instead of|as opposed to|in place of|replacing|up from|down from|previously"
        r"|formerly)\s+(?P<old>[^,.;()!?]+?)(?:\)|,(?=\s)|(?=\s*[.!;]|\s*$))",
        re.IGNORECASE,
    ),
    re.compile(r"\s+(?:and|but) not\s+(?P<old>[^,.;!?]+?)(?=\s*[.,!;]|\s*$)", re.IGNORECASE),
    re.compile(
        r"\s+(?:rather than|instead of|as opposed to|in place of"
        r"|over the old)\s+(?P<old>[^,.;!?]+?)(?=\s*[.,!;]|\s*$)",
        re.IGNORECASE,
    ),
    re.compile(
        r"^(?:rather than|instead of|in place of|no longer|not)\s+(?P<old>[^,.;!?]+?)\s*,\s*(?:but\s+)?",
        re.IGNORECASE,
    ),
    re.compile(
        r"(?<=\s)(?:not|no longer)\s+(?P<old>[^,.;!?]+?)\s*,?\s+but(?: rather| instead| now)?(?=\s)",
        re.IGNORECASE,
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Clause:
    """One clause. ``old`` is the value that a contrast names as replaced, ``cued`` when a change is announced."""

    text: str
    cued: bool = False
    question: bool = False
    take_back: bool = False
    old: str = ""


def clauses(text: str) -> Iterator[Clause]:
    """The clauses of a message in order."""
    announced = False
    for sentence in sentences(_CODE.sub("\n", text)):
        if "://" in sentence or len(sentence) > 600:
            yield Clause(sentence)
            continue
        question = is_question(sentence)
        parts = _parts(sentence)
        for i, part in enumerate(parts):
            if i < len(parts) - 1 and part[-1:].isalnum():
                part += "."
            clause = _clause(part, announced, question and i == len(parts) - 1)
            announced = clause.take_back or (clause.cued and not clause.text)
            if clause.text or clause.take_back:
                yield clause


def _clause(part: str, announced: bool, question: bool) -> Clause:
    take_back = bool(cues.TAKE_BACK.match(part))
    cued = announced
    while True:
        if match := cues.CHANGE_OPENER.match(part):
            cued = True
        elif not (match := cues.OPENER.match(part)):
            break
        if not part[match.end() :].strip(" .!"):
            part = "" if match.end() >= len(part.rstrip(" .!")) else part
            break
        part = part[match.end() :]
    if take_back and (match := cues.TAKE_BACK.match(part)):
        part = part[match.end() :].strip(" ,.!;:–—-")
    old = ""
    if not question:
        part, old = _without_contrast(part)
    part = _ASIDE.sub("", part.strip(" ,;–—-"))
    part = part.rstrip("!") + "." if part.endswith("!") else part
    return Clause(part[:1].upper() + part[1:], cued, question, take_back, old)


def _without_contrast(part: str) -> tuple[str, str]:
    for pattern in _CONTRASTS:
        if (match := pattern.search(part)) and (rest := part[: match.start()] + " " + part[match.end() :]).strip(" .!"):
            if len(tokens(rest)) < 2:
                continue
            return re.sub(r"\s+([,.;!])", r"\1", re.sub(r"\s{2,}", " ", rest)).strip(), match["old"].strip()
    return part, ""


def _parts(sentence: str) -> list[str]:
    out: list[str] = []
    start = 0
    lead = ""
    for joint in _JOINT.finditer(sentence):
        before, after = sentence[start : joint.start()].strip(" ,;"), sentence[joint.end() :]
        if (
            len(tokens(before)) < 2
            or len(tokens(after)) < 2
            or not _HAS_VERB.search(before)
            or not _HAS_VERB.search(after)
        ):
            continue
        if _IMPLICIT_START.match(after) and not (cues.CHANGE.search(after) or _NEGATIVE_OR_PAST.search(before)):
            continue
        if _DEPENDENT.match(before):
            continue
        out.append(lead + before)
        lead = "now " if cues.CHANGE.search(joint.group()) else ""
        start = joint.end()
    out.append(lead + sentence[start:])
    return out
