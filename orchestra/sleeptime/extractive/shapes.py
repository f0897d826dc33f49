"""The shapes of sentences that name a slot and give it a value: "my A is B", "change A to B", "B for the A"."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

from orchestra.core.terms import tokens
from orchestra.sleeptime.extractive.nouns import DETERMINER, EMPTY_WORDS

Form: TypeAlias = Literal["named", "set", "verb", "implicit", "loose"]
Found: TypeAlias = "tuple[Form, str, int, int, str]"
"""Form, the slot's noun phrase, start and end of the value, the value that is replaced."""

_FULL_COPULA = re.compile(
    r"\s+(?:(?:is|are|was|were|will be|should be|shall be|must be|has been|have been|needs to be|ought to be"
    r"|has to be|is going to be"
    r"|would be|can be|used to be)(?:n['’]t)?(?: (?:currently|now|actually|still|officially|simply|just|then"
    r"|indeed))*(?: (?:called|named|known as))?"
    r"|remains?|stays?|equals?|becomes?|became|has become|happens to be|turned out to be|turns out to be"
    r"|comes to|amounts to|reads?|stands at"
    r"|(?:has |have |had |is |was |just |recently |now |since )*(?:gone|went|changed|moved|switched|shifted"
    r"|jumped|dropped|risen|rose|grew|grown"
    r"|increased|decreased|climbed|fell|fallen|turned|going|changing|moving|switching|been \w+ed|bumped"
    r"|got \w+ed)(?: (?:up|down|over))?"
    r"(?: from (?P<old>.+?))?(?= (?:to|into)\b)|changes (?=to)|moves (?=to)|goes (?=to))(?=[\s,:])",
    re.IGNORECASE,
)
_THIN_COPULA = re.compile(
    r"(?:(?:(?<=^it)|(?<=^that)|(?<=^this)|(?<=^they)|(?<=^there))['’](?:s|re)(?=\s)|['’](?:s|re)(?=\s(?:\d"
    r"|an?\s|now\b|not\b|on\s|at\s|in\s|going\b|set\b|still\b|actually\b|[\w-]+[.!]?$))|\s*[:=](?=\s)"
    r"|\s+[–—-](?=\s))",
    re.IGNORECASE,
)
_SUBJECT_WORDS = re.compile(r"^(?:it|that|this|these|those|there|they)$", re.IGNORECASE)
_SET = re.compile(
    r"^(?:(?:please|let's|let us|we|i|i've|we've|i have|we have|i'll|we'll|i(?:'d| would) (?:like"
    r"|love) (?:you )?to|i (?:want|need)(?: you)? to|i had to"
    r"|we had to|(?:we|i) can|(?:we|i)(?:'ve| have)? decided to|can you|could you|would you|will you|go ahead and"
    r"|just|now|also|recently|since|finally|then"
    r"|better|should|had)\s+)*(?P<verb>make|made|set|chang(?:e|ed)|switch(?:ed)?|mov(?:e|ed)|updat(?:e|ed)"
    r"|bump(?:ed)?|rais(?:e|ed)"
    r"|lower(?:ed)?|shift(?:ed)?|push(?:ed)?|bring|brought|put|adjust(?:ed)?|increas(?:e|ed)|decreas(?:e|ed)"
    r"|reduc(?:e|ed)|cut|drop(?:ped)?|turn(?:ed)?|convert(?:ed)?"
    r"|upgrad(?:e|ed)|downgrad(?:e|ed)|renam(?:e|ed)|revis(?:e|ed)|reschedul(?:e|ed)|extend(?:ed)?"
    r"|shorten(?:ed)?|fix(?:ed)?|keep|kept|amend(?:ed)?"
    r"|modif(?:y|ied)|correct(?:ed)?|swap(?:ped)?|replac(?:e|ed)|trad(?:e|ed)|exchang(?:e|ed)|postpon(?:e|ed)"
    r"|register(?:ed)?|record(?:ed)?|list(?:ed)?|mark(?:ed)?"
    r"|treat|consider|call)\s+(?P<what>.+)$",
    re.IGNORECASE,
)
_TO = re.compile(
    r"\s+(?:over |up |down |back |out )?(?:(?:from\s+(?P<old>.+?)\s+)?(?:to|into|at|as|with|for|on|by|down as)"
    r"|=)\s+(?P<value>.+)$",
    re.IGNORECASE,
)
_FROM_TO = re.compile(
    r"^(?:over )?from (?P<old>.+?) (?:over )?(?:to|into) (?P<value>[^,;]+?)(?= (?:for|in|on|at|as) |$)", re.IGNORECASE
)
_TOPICS = (
    re.compile(
        r"^(?!(?:저|나|제|내|우리|저희|그|이)(?:는|은|가|이|를|을)\s)"
        r"(?P<np>[가-힣][가-힣 ]{0,14}?)(?:은|는|이|가|을|를)\s+(?P<value>.+)$"
    ),
    re.compile(r"^(?!(?:私|僕|俺|わたし)は)(?P<np>[^、。\s]{1,12}?)(?:は|を|が)(?P<value>.+)$"),
)
_FOR_TAIL = re.compile(
    rf"^(?P<value>.+?)\s+(?:for|as|is what (?:i|we) \w+ (?:for|as)|to be)\s+(?P<np>{DETERMINER}\s[^,;]+)$",
    re.IGNORECASE,
)
_FOR_HEAD = re.compile(
    rf"^(?:for|as for|as to|regarding|about|on|concerning|with regards? to|with respect to|when it comes to"
    rf"|in terms of|re|in case of)\s+(?P<np>{DETERMINER}\s[^,;:]+?)"
    r"\s*[,:;–—-]+\s*(?P<rest>.+)$",
    re.IGNORECASE,
)
_LEAD_IN = re.compile(
    r"^(?:(?:it(?:['’]s| is| was| will be| should be)|that(?:['’]s| is)|i|we|you|let(?:['’]s| us| me)"
    r"|they)\b['’]?(?:ve|ll|d|m|re)?\s*)?(?:(?:now|just|have|had|has|will|would"
    r"|can|should|want|like|need|to|decided|chose|chosen|picked|pick|choose|select(?:ed)?|use|used|using|go"
    r"|going|went|gone|settled|settle|opted|opt"
    r"|switched|switch|changed|change|moved|stick|prefer|say|put|make|take|took|with|on|for|do|am|are|is|be"
    r"|better|rather|ended|up|landed|agreed|set|it|me|down"
    r"|in favou?r of|instead|please|currently|always|usually)\s+)+",
    re.IGNORECASE,
)
_PARTICIPLE = re.compile(
    r"^(?:(?:now|currently|actually|still|instead|officially|already|just|really|back|going to be|gonna be"
    r"|to be|not|no longer)\s+)*"
    r"(?:(?:been\s+)?(?:set|scheduled|fixed|planned|due|changed|moved|switched|updated|raised|lowered|bumped"
    r"|adjusted|increased|reduced|put|listed"
    r"|down|up|shifted|revised|pegged|locked in|registered|recorded|slated|going|called|named|known)\s+)?"
    r"(?:from (?P<old>.+?) )?(?:(?:to|at|for|as|into|with|to be)\s+)?",
    re.IGNORECASE,
)
_INNER = re.compile(
    r"^[^,;:]{1,70}?(?:\bthat|:|\bsays?|\bsaid|\bknow|\bthink|\bbecause|\bso)\s+(?=(?:my|our|the|his|her"
    r"|their)\s[^,;:]{1,60}?\s"
    r"(?:is|are|was|were|will|would|should|must|has|have|stays?|remains?|equals?)\b)",
    re.IGNORECASE,
)
_ANNOUNCED = re.compile(r"^[^,;:]{4,50}:\s+(?=[\w-]+(?: [\w-]+){0,2} (?:is|are)\b)", re.IGNORECASE)
_SWAPPED = re.compile(
    r"^(?:i|we)(?:['’]ve| have|['’]ll| will)?(?: just| now| recently| since)? (?:swap(?:ped)?|trad(?:e|ed)"
    r"|exchang(?:e|ed)|replac(?:e|ed)|substitut(?:e|ed))"
    rf"\s+(?P<old>.+?)\s+(?:for|with|by)\s+(?P<value>.+?)\s+(?:as|for|in)\s+(?P<np>{DETERMINER}\s[^,;]+)$",
    re.IGNORECASE,
)
_REPLACED = re.compile(
    r"^(?P<value>.+?)\s+(?:(?:has|have|is|was|will)\s+)?(?:now\s+)?(?:replac(?:e|ed|es|ing)|supersed(?:e|ed"
    r"|es)|t(?:akes|ook|aken) over from)\s+"
    rf"(?P<old>.+?)\s+(?:as|for|in)\s+(?P<np>{DETERMINER}\s[^,;]+)$",
    re.IGNORECASE,
)
_HAVE = re.compile(
    r"^(?:i|we)(?:['’]ve| have| now have|['’]ll have| will have)?(?: got"
    r"| now)? (?P<np>an?\s[^,;]{1,50}?) of (?P<value>[^,;]+)$",
    re.IGNORECASE,
)
_WISH = re.compile(
    rf"^(?:i|we|they)(?:['’]d| would)? (?:really |do |also )?(?:like|need|want|expect|prefer"
    rf"|love) (?P<np>{DETERMINER}\s[^,;]{{1,50}}?)"
    r" to (?:be|stay|remain|become|equal)(?: at)? (?P<value>[^,;]+)$",
    re.IGNORECASE,
)
_COLON = re.compile(
    r"^(?:[^,;:]{1,60}?\s)?(?P<np>(?:my|our|the|his|her|their|an?)\s[^,;:.]{1,50}?)\s*(?::"
    r"|[,;–—-](?=\s*(?:it|that|they)(?:['’]|\s)))\s*(?P<rest>.+)$",
    re.IGNORECASE,
)
_INVERSE = re.compile(
    rf"^(?:now |currently |still |going to be |then )*(?P<np>(?:(?:my|our|his|her|their|[^\W\d_]+['’]s)\s"
    rf"|(?:the|our|my) (?:new|current|latest|updated|correct|right|actual|final|revised)\s"
    rf"|what (?:i|we) [\w'’ ]+? (?:for|as)\s+(?={DETERMINER}))[^,;]+)$",
    re.IGNORECASE,
)


def named_slot(text: str) -> Found | None:
    """The slot that ``text`` names and the value it gives, or ``None``."""
    if inner := _INNER.search(text) or _ANNOUNCED.match(text):
        found = _copula(text[inner.end() :])
        if found and found[0] == "named":
            form, np, start, end, old = found
            return form, np, start + inner.end(), end + inner.end(), old
    if not text.isascii() and (found := _topic(text)):
        return found
    return _swap(text) or _for_head(text) or _set(text) or _copula(text) or _for_tail(text)


def _topic(text: str) -> Found | None:
    """The topic of a Korean or Japanese sentence, which its particle marks."""
    for pattern in _TOPICS:
        if match := pattern.match(text):
            start, end = match.span("value")
            return "named", match["np"], start, len(text[:end].rstrip(" .!。！")), ""
    return None


def _swap(text: str) -> Found | None:
    """The slot of "I have an A of B", "I want the A to be B", "I swapped A for B as my C", "B replaced A as the C"."""
    if match := _HAVE.match(text):
        return "named", match["np"].split(" ", 1)[1], *match.span("value"), ""
    if match := _WISH.match(text):
        return "named", match["np"], *match.span("value"), ""
    for pattern in (_SWAPPED, _REPLACED):
        if match := pattern.match(text):
            return "set", match["np"], *match.span("value"), match["old"]
    return None


def _for_head(text: str) -> Found | None:
    match = _FOR_HEAD.match(text)
    if match is None and (match := _COLON.match(text)) and _FULL_COPULA.search(" " + match["np"] + " "):
        match = None
    if match is None:
        return None
    rest = match.start("rest")
    lead = _LEAD_IN.match(text[rest:])
    start, end, old = _value(text, rest + (lead.end() if lead else 0))
    return ("named", match["np"], start, end, old) if start < end else None


def _for_tail(text: str) -> Found | None:
    if not (match := _FOR_TAIL.match(text)):
        return None
    end = match.end("value")
    start = 0
    pieces = list(tokens(text[:end]))
    while pieces and (pieces[-1].kind == "function" or pieces[-1].stem in EMPTY_WORDS):
        pieces.pop()  # "B works for the A"
    end = pieces[-1].end if pieces else 0
    for token in pieces:
        if token.kind == "function" or token.stem in EMPTY_WORDS:
            start = token.end
    start += len(text[start:end]) - len(text[start:end].lstrip())
    return ("named", match["np"], start, end, "") if start < end else None


def _set(text: str) -> Found | None:
    if not (match := _SET.match(text)):
        return None
    what, at = match["what"], match.start("what")
    if what.lower().startswith(("my mind", "our minds", "your mind")):
        return None
    verb = match["verb"].lower()
    head = what.split(" ", 1)[0].lower().strip(",")
    implicit = head in ("it", "that", "this", "them", "things")
    if from_to := _FROM_TO.match(what):
        return "implicit", "", at + from_to.start("value"), at + from_to.end("value"), from_to["old"]
    if to := _TO.search(what):
        np, value, old = what[: to.start()], at + to.start("value"), to["old"] or ""
        if verb.startswith(("replac", "swap", "trad", "exchang")) and not implicit:
            return (
                ("set", np, value, len(text), np)
                if re.match(DETERMINER, np, re.IGNORECASE)
                else ("implicit", "", value, len(text), np)
            )
        if implicit:
            return "implicit", "", value, len(text), old
        if re.match(rf"{DETERMINER}\s", np, re.IGNORECASE):
            return "set", np, value, len(text), old
        if re.match(rf"{DETERMINER}\s", to["value"], re.IGNORECASE) and verb in (
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
        rf"{DETERMINER}\s", what, re.IGNORECASE
    ):
        pieces = tokens(what)
        strong = next(
            (token for token in pieces[2:] if token.kind in ("number", "name", "date")),
            pieces[-1] if len(pieces) > 2 else None,
        )
        if strong:
            return "set", what[: strong.start], at + strong.start, len(text), ""
    return None


def _copula(text: str) -> Found | None:
    match, thin = _FULL_COPULA.search(text), _THIN_COPULA.search(text)
    if thin and (match is None or (thin.start() < match.start() and _SUBJECT_WORDS.match(text[: thin.start()]))):
        match = thin  # "it's going to be"
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
        inverse = re.match(rf"what (?:i|we)\b.*?(?:for|as)\s+(?P<np>{DETERMINER}\s.+)$", np, re.IGNORECASE)
        return ("named", inverse["np"], start, end, old) if inverse else None
    determined = re.match(rf"(?:an?|{DETERMINER})\s", np, re.IGNORECASE)
    if not determined and re.match(r"an?\s", rest, re.IGNORECASE):
        return None  # "Rex is a dog": what Rex is, not a slot named Rex
    if not determined and re.match(r"the\s[^,;]+$", rest, re.IGNORECASE):
        return "named", rest, 0, match.start(), old
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


def _value(text: str, start: int) -> tuple[int, int, str]:
    """Where the value that begins at ``start`` stands, without participles in front, and the value it replaces."""
    start += len(text[start:]) - len(text[start:].lstrip(" ,:;–—-"))
    match = _PARTICIPLE.match(text[start:])
    old = ""
    if match and start + match.end() < len(text):
        start, old = start + match.end(), match.group("old") or ""
    return start, len(text.rstrip(" .!,;")), old
