"""What one clause claims: of whom, about which slot, which value. Works from the words alone, so stored lines parse too."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

from orchestra.core.terms import Token, stem, tokens
from orchestra.sleeptime.extractive import cues

Form: TypeAlias = Literal["named", "set", "verb", "implicit", "loose"]

_EMPTY_WORDS = frozenset(
    stem(word)
    for word in ["new", "current", "latest", "updated", "actual", "final", "exact", "own", "usual", "default", "present", "right", "correct", "real", "overall", "choice", "value", "setting", "pick", "selection", "preference", "answer", "go", "use", "change", "switch", "update", "make", "set", "move", "put", "thing", "one", "way", "actually", "now", "instead", "currently", "anymore", "longer", "official", "officially", "chosen", "preferred", "selected", "revised", "original", "initial", "old", "previous", "previously", "already", "number", "replace", "adjust", "decide", "prefer", "pick", "choose", "select", "settle", "opt", "plan", "planned", "get", "keep", "need", "want", "like", "time", "last", "end", "case", "turn", "bump", "raise", "lower", "shift", "become", "happen", "remain", "stay", "equal", "be", "matter", "it's", "concern", "regard", "come", "term"]
)
_FAMILIES = {
    stem(word): family
    for family, words in {
        "@place": "live reside base move relocate settle located dwell",
        "@work": "work employed job joined hired",
        "@name": "call name rename named called",
    }.items()
    for word in words.split()
}
FUNCTIONAL = frozenset({"@place", "@work", "@name"})
_DETERMINER = r"(?:my|our|the|his|her|their|your|this|that|[^\W\d_][\w-]*['’]s|[^\W\d_]+s['’])"
_FULL_COPULA = re.compile(
    r"\s+(?:(?:is|are|was|were|will be|should be|shall be|must be|has been|have been|needs to be|ought to be|has to be|is going to be"
    r"|would be|can be)(?:n['’]t)?(?: (?:currently|now|actually|still|officially|simply|just|then|indeed))*(?: (?:called|named|known as))?"
    r"|remains?|stays?|equals?|becomes?|became|has become|happens to be|turned out to be|turns out to be|comes to|amounts to|reads?|stands at"
    r"|(?:has |have |had |is |was |just |recently |now |since )*(?:gone|went|changed|moved|switched|shifted|jumped|dropped|risen|rose|grew|grown"
    r"|increased|decreased|climbed|fell|fallen|turned|going|changing|moving|switching|been \w+ed|bumped|got \w+ed)(?: (?:up|down|over))?"
    r"(?: from (?P<old>.+?))?(?= (?:to|into)\b)|changes (?=to)|moves (?=to)|goes (?=to))(?=[\s,:])",
    re.IGNORECASE,
)
_THIN_COPULA = re.compile(
    r"(?:(?:(?<=^it)|(?<=^that)|(?<=^this)|(?<=^they)|(?<=^there))['’](?:s|re)(?=\s)|['’](?:s|re)(?=\s(?:\d|an?\s|now\b|not\b|on\s|at\s|in\s|going\b|set\b|still\b|actually\b|[\w-]+[.!]?$))|\s*[:=](?=\s)|\s+[–—-](?=\s))",
    re.IGNORECASE,
)
_SUBJECT_WORDS = re.compile(r"^(?:it|that|this|these|those|there|they)$", re.IGNORECASE)
_SET = re.compile(
    r"^(?:(?:please|let's|let us|we|i|i've|we've|i have|we have|i'll|we'll|i(?:'d| would) (?:like|love) (?:you )?to|i (?:want|need)(?: you)? to|i had to"
    r"|we had to|(?:we|i)(?:'ve| have)? decided to|can you|could you|would you|will you|go ahead and|just|now|also|recently|since|finally|then"
    r"|better|should|had)\s+)*(?P<verb>make|made|set|chang(?:e|ed)|switch(?:ed)?|mov(?:e|ed)|updat(?:e|ed)|bump(?:ed)?|rais(?:e|ed)"
    r"|lower(?:ed)?|shift(?:ed)?|push(?:ed)?|bring|brought|put|adjust(?:ed)?|increas(?:e|ed)|decreas(?:e|ed)|reduc(?:e|ed)|cut|drop(?:ped)?|turn(?:ed)?|convert(?:ed)?"
    r"|upgrad(?:e|ed)|downgrad(?:e|ed)|renam(?:e|ed)|revis(?:e|ed)|reschedul(?:e|ed)|extend(?:ed)?|shorten(?:ed)?|fix(?:ed)?|keep|kept|amend(?:ed)?"
    r"|modif(?:y|ied)|correct(?:ed)?|swap(?:ped)?|replac(?:e|ed)|trad(?:e|ed)|exchang(?:e|ed)|postpon(?:e|ed)|register(?:ed)?|record(?:ed)?|list(?:ed)?|mark(?:ed)?"
    r"|treat|consider|call)\s+(?P<what>.+)$",
    re.IGNORECASE,
)
_TO = re.compile(
    r"\s+(?:over |up |down |back |out )?(?:(?:from\s+(?P<old>.+?)\s+)?(?:to|into|at|as|with|for|on|by|down as)|=)\s+(?P<value>.+)$",
    re.IGNORECASE,
)
_FOR_TAIL = re.compile(
    rf"^(?P<value>.+?)\s+(?:for|as|is what (?:i|we) \w+ (?:for|as)|to be)\s+(?P<np>{_DETERMINER}\s[^,;]+)$",
    re.IGNORECASE,
)
_FOR_HEAD = re.compile(
    rf"^(?:for|as for|as to|regarding|about|on|concerning|with regards? to|with respect to|when it comes to|in terms of|re|in case of)\s+(?P<np>{_DETERMINER}\s[^,;:]+?)"
    r"\s*[,:;–—-]+\s*(?P<rest>.+)$",
    re.IGNORECASE,
)
_LEAD_IN = re.compile(
    r"^(?:(?:it(?:['’]s| is| was| will be| should be)|that(?:['’]s| is)|i|we|you|let(?:['’]s| us| me)|they)\b['’]?(?:ve|ll|d|m|re)?\s*)?(?:(?:now|just|have|had|has|will|would"
    r"|can|should|want|like|need|to|decided|chose|chosen|picked|pick|choose|select(?:ed)?|use|used|using|go|going|went|gone|settled|settle|opted|opt"
    r"|switched|switch|changed|change|moved|stick|prefer|say|put|make|take|took|with|on|for|do|am|are|is|be|better|rather|ended|up|landed|agreed|set|it|me|down"
    r"|in favou?r of|instead|please|currently|always|usually)\s+)+",
    re.IGNORECASE,
)
_PARTICIPLE = re.compile(
    r"^(?:(?:now|currently|actually|still|instead|officially|already|just|really|back|going to be|gonna be|to be|not|no longer)\s+)*"
    r"(?:(?:been\s+)?(?:set|scheduled|fixed|planned|due|changed|moved|switched|updated|raised|lowered|bumped|adjusted|increased|reduced|put|listed"
    r"|down|up|shifted|revised|pegged|locked in|registered|recorded|slated|going|called|named|known)\s+)?"
    r"(?:from (?P<old>.+?) )?(?:(?:to|at|for|as|into|with|to be)\s+)?",
    re.IGNORECASE,
)
_TAIL = re.compile(
    r"[\s,]+(?:now|instead|these days|nowadays|from (?:now|here) on|going forward|any ?more|actually|at the moment|currently|as of (?:now|today)|after all"
    r"|please|for now|then|by the way|though|in the end|this time|too|thanks?|thank you|in future|already|again|so you know|just so you know|if that helps"
    r"|if possible|rather)?[.!\s]*$",
    re.IGNORECASE,
)
_RELATIVE = re.compile(r"\s(?:that|which|who|i|we|you|i['’]\w+|we['’]\w+)\s.*$", re.IGNORECASE)
_INVERSE = re.compile(
    rf"^(?:now |currently |still |going to be |then )*(?P<np>(?:(?:my|our|his|her|their|[^\W\d_]+['’]s)\s|(?:the|our|my) (?:new|current|latest|updated|correct|right|actual|final|revised)\s"
    rf"|what (?:i|we) [\w'’ ]+? (?:for|as)\s+(?={_DETERMINER}))[^,;]+)$",
    re.IGNORECASE,
)
_OWNER = re.compile(
    r"^(my|our|your|his|her|their|the|this|that)\b|^((?:my |our |the |his |her |their )?[\w-]+(?: [\w-]+)?)['’]s?\s(?=\w)",
    re.IGNORECASE,
)
_ARTICLE = re.compile(r"\ban?\s+$", re.IGNORECASE)
_PREPOSITIONS = frozenset(["in", "at", "on", "to", "for", "with", "by", "from", "of", "about", "as", "into", "near", "under", "over", "through"])
_AUX = frozenset(
    ["am", "is", "are", "was", "were", "be", "been", "being", "have", "has", "had", "do", "does", "did", "will", "would", "can", "could", "should", "shall", "must", "m", "re", "s", "ve", "ll", "d", "just", "now", "also", "currently", "still", "always", "usually", "often", "then", "really", "have", "recently", "finally", "both", "once", "since", "already", "not", "never", "only", "mostly"]
)


@dataclass(frozen=True, slots=True)
class Claim:
    """One clause. ``slot`` are the stems that name what it is about, ``value_at`` where the value stands in ``text``.

    ``owner`` holds the stems of whose slot it is: ``self`` for the speaker, ``?`` for "his" and "her", empty when not told.
    ``old`` is a value that the clause itself says is replaced. ``head`` is the predicate of a named subject up to its first preposition.
    """

    text: str
    form: Form
    slot: frozenset[str]
    owner: frozenset[str]
    prepositions: frozenset[str]
    terms: frozenset[str]
    value_at: tuple[int, int]
    old: str = ""
    cued: bool = False
    head: tuple[str, ...] = ()

    @property
    def value(self) -> str:
        """The words of the value."""
        return self.text[self.value_at[0] : self.value_at[1]]


def _words(text: str) -> tuple[Token, ...]:
    return tuple(token for token in tokens(text) if token.kind != "function")


def slot_terms(phrase: str) -> tuple[frozenset[str], frozenset[str]]:
    """The slot that a noun phrase names, and its owner."""
    phrase = _RELATIVE.sub("", " " + phrase.strip()).strip() or phrase
    owner: frozenset[str] = frozenset()
    if match := _OWNER.match(phrase):
        word = (match.group(1) or "").lower()
        if word in ("my", "our", "your"):
            owner = frozenset({"self"})
        elif word in ("his", "her", "their"):
            owner = frozenset({"?"})
        elif match.group(2):
            owner = frozenset(token.stem for token in _words(match.group(2)))
        phrase = phrase[match.end() :]
    stems = [token.stem for token in _words(phrase)]
    return frozenset([term for term in stems if term not in _EMPTY_WORDS] or stems), owner


@lru_cache(maxsize=8192)
def parse(text: str, cued: bool = False) -> Claim:
    """The claim of ``text``, a clause without openers. ``cued`` when what stood before it announced a change."""
    bare = _TAIL.sub("", text) or text
    cued = cued or bool(cues.CHANGE.search(text))
    found = _for_head(bare) or _set(bare)
    cued = cued or (found is not None and found[0] == "implicit")  # "make it 12"
    found = found or _copula(bare) or _for_tail(bare, 0, "")
    if found is None:
        return _verb(text, bare, cued)
    form, np, start, end, old = found
    if form == "implicit":
        slot, owner = frozenset[str](), frozenset[str]()
    else:
        slot, owner = slot_terms(np)
        if not slot:
            return _verb(text, bare, cued)
    terms = frozenset(token.stem for token in _words(bare)) - (_EMPTY_WORDS - slot)
    return Claim(text, form, slot, owner, frozenset(), terms, (start, end), old, cued)


_Found: TypeAlias = "tuple[Form, str, int, int, str]"


def _value(text: str, start: int) -> tuple[int, int, str]:
    """Where the value that begins at ``start`` stands, without participles in front, and the value it replaces."""
    start += len(text[start:]) - len(text[start:].lstrip(" ,:;–—-"))
    match = _PARTICIPLE.match(text[start:])
    old = ""
    if match and start + match.end() < len(text):
        start, old = start + match.end(), match.group("old") or ""
    return start, len(text.rstrip(" .!,;")), old


def _for_head(text: str) -> _Found | None:
    if not (match := _FOR_HEAD.match(text)):
        return None
    rest = match.start("rest")
    lead = _LEAD_IN.match(text[rest:])
    start, end, old = _value(text, rest + (lead.end() if lead else 0))
    return ("named", match["np"], start, end, old) if start < end else None


def _for_tail(text: str, start: int, old: str) -> _Found | None:
    if not (match := _FOR_TAIL.match(text[start:])):
        return None
    lead = _LEAD_IN.match(match["value"] + " ")
    value = start + (lead.end() if lead else 0)
    end = start + match.end("value")
    return ("named", match["np"], value, end, old) if value < end else None


def _set(text: str) -> _Found | None:
    if not (match := _SET.match(text)):
        return None
    what, at = match["what"], match.start("what")
    verb = match["verb"].lower()
    head = what.split(" ", 1)[0].lower().strip(",")
    implicit = head in ("it", "that", "this", "them", "things")
    if to := _TO.search(what):
        np, value, old = what[: to.start()], at + to.start("value"), to["old"] or ""
        if verb.startswith(("replac", "swap", "trad", "exchang")) and not implicit:
            return (
                ("set", np, value, len(text), np)
                if re.match(_DETERMINER, np, re.IGNORECASE)
                else ("implicit", "", value, len(text), np)
            )
        if implicit:
            return "implicit", "", value, len(text), old
        if re.match(rf"{_DETERMINER}\s", np, re.IGNORECASE):
            return "set", np, value, len(text), old
        if re.match(rf"{_DETERMINER}\s", to["value"], re.IGNORECASE) and verb in (
            "make",
            "made",
            "put",
            "set",
            "keep",
            "kept",
            "list",
        ):
            return "set", to["value"], at, at + to.start(), old  # "put 14 as the X"
        return None
    if implicit and len(what) > len(head) + 1:
        return "implicit", "", at + len(head) + 1, len(text), ""
    if verb in ("make", "made", "set", "keep", "kept", "call", "consider") and re.match(
        rf"{_DETERMINER}\s", what, re.IGNORECASE
    ):
        pieces = tokens(what)
        strong = next(
            (token for token in pieces[2:] if token.kind in ("number", "name", "date")),
            pieces[-1] if len(pieces) > 2 else None,
        )
        if strong:
            return "set", what[: strong.start], at + strong.start, len(text), ""
    return None


def _copula(text: str) -> _Found | None:
    match = _FULL_COPULA.search(text) or _THIN_COPULA.search(text)
    if not match or match.start() > 90:
        return None
    np = text[: match.start()].strip()
    old = match.groupdict().get("old") or ""
    if "," in np or not np:
        return None
    start, end, moved = _value(text, match.end())
    if start >= end:
        return None
    rest = text[match.end() : end].strip()
    if _SUBJECT_WORDS.match(np):
        return "implicit", "", start, end, old or moved
    first = np.split(" ", 1)[0].lower()
    if re.match(r"(?:i|we|you|he|she|what|who|how|where|when|why|which|there|if)\b", first):
        inverse = re.match(rf"what (?:i|we)\b.*?(?:for|as)\s+(?P<np>{_DETERMINER}\s.+)$", np, re.IGNORECASE)
        return ("named", inverse["np"], start, end, old) if inverse else None
    determined = re.match(rf"{_DETERMINER}\s", np, re.IGNORECASE)
    if not determined and (other := _INVERSE.match(rest)):
        return "named", re.sub(r"^what .*? (?:for|as)\s+", "", other["np"]), 0, match.start(), old
    if not determined and _named(np):
        return None  # a person: what follows is one of many things that can be said
    if len(tokens(np)) > 9:
        return None
    return "named", np, start, end, old or moved


def _named(np: str) -> bool:
    pieces = tokens(np)
    return len(pieces) > 1 and all(token.kind == "name" for token in pieces[1:] if token.kind != "function")


def _verb(text: str, bare: str, cued: bool) -> Claim:
    """A clause that begins with its subject and a verb, or one of no known shape."""
    pieces = tokens(bare)
    terms = frozenset(token.stem for token in pieces if token.kind != "function") - _EMPTY_WORDS
    subject: set[str] = set()
    at = 0
    if pieces and pieces[0].lower in ("i", "we"):
        subject, at = {"self"}, 1
    elif pieces and pieces[0].lower in ("he", "she", "they"):
        subject, at = {"?"}, 1
    else:
        while at < len(pieces) and (bare[pieces[at].start].isupper() or pieces[at].lower in ("and", "both", "jr")):
            if pieces[at].lower not in ("and", "both", "the"):
                subject.add(pieces[at].stem)
            at += 1
    first = at
    while at < len(pieces) and (
        pieces[at].lower in _AUX or pieces[at].lower in ("a", "an") or pieces[at].lower.endswith("ly")
    ):
        at += 1
    if not subject or at >= len(pieces):
        return Claim(text, "loose", frozenset(), frozenset(), frozenset(), terms, (0, 0), "", cued)
    verb = pieces[at]
    family = _FAMILIES.get(verb.stem, verb.stem)
    if any(token.lower in ("am", "is", "are", "was", "m", "s") for token in pieces[first:at]) and _ARTICLE.search(
        bare[: verb.start]
    ):
        family = "be"  # "is a plumber"
    after = pieces[at + 1 :]
    prepositions = frozenset(token.lower for token in after if token.lower in _PREPOSITIONS)
    start = next((token.start for token in after if token.lower not in _PREPOSITIONS), verb.end)
    if verb.lower in _PREPOSITIONS:
        prepositions |= {verb.lower}
    end = len(bare.rstrip(" .!"))
    head = _head(pieces[at:])
    return Claim(
        text,
        "verb",
        frozenset({family}),
        frozenset(subject),
        prepositions,
        terms,
        (min(start, end), end),
        "",
        cued,
        head,
    )


def _head(pieces: tuple[Token, ...]) -> tuple[str, ...]:
    out: list[str] = []
    for token in pieces[:6]:
        if token.lower in _PREPOSITIONS:
            return (*out, token.lower)
        if token.kind != "function" and not token.lower.endswith("ly"):
            out.append(token.stem)
    return ()
