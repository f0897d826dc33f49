"""Sentences that take a fact back: what of, in words."""

from __future__ import annotations

import re

_LEAD = (
    r"^(?:(?:please|just|also|so|let's|let us|you can|you may|we can|i can|i'd like(?: you)? to"
    r"|i want(?: you)? to|can you|could you"
    r"|would you|go ahead and|we should|we'll|i'll|i will|we will|i'm going to|we're going to|i am|we are|i'm"
    r"|we're|i|we|we've"
    r"|i've|we have|i have|i had to|we had to|(?:i|we)(?:'ve| have)? decided to|had to|now|simply|feel free to"
    r"|finally|since"
    r"|recently|already|totally|completely|it's time to|best to|better to)\s+)*"
)
_VERB = (
    r"(?:forget|forgot|scrap(?:ped|ping)?|scratch(?:ed)?|drop(?:ped|ping)?|disregard|ignore|delet(?:e|ed|ing)"
    r"|remov(?:e|ed|ing)|eras(?:e|ed)"
    r"|cancel(?:l?ed|l?ing)?|discard(?:ed|ing)?|strike|struck|skip(?:ped|ping)?|abandon(?:ed|ing)?|ax(?:e|ed)"
    r"|ditch(?:ed|ing)?|never ?mind"
    r"|don't worry about|do not worry about|don't bother with|leave out|left out|clear|wipe|nix(?:ed)?"
    r"|g[eo]t(?:ting)? rid of|do away with"
    r"|done away with|call(?:ed|ing)? off|g(?:i|a)v(?:e|en|ing) up(?: on)?|throw out|threw out|take out"
    r"|tak(?:e|en) back|withdr[ae]w(?:n)?"
    r"|retir(?:e|ed|ing)|stop(?:ped|ping)?|quit|end(?:ed)?|clos(?:e|ed)|let go of|part(?:ed)? with|done with"
    r"|through with|finished with|revok(?:e|ed)"
    r"|pull(?:ed)? the plug on|back(?:ed|ing)? out of|opt(?:ed)? out of|void|unset|undo|dismiss|rule[d]? out"
    r"|put an end to)"
)
_REST = (
    r"(?:\s+(?:all |everything |anything |what )?(?:(?:i|we)(?:'ve| have)? (?:said|told you|mentioned|wrote) )?"
    r"(?:about|on|regarding|with))?"
)
_COMMAND = re.compile(rf"{_LEAD}{_VERB}{_REST}\s+(?P<what>[^.!?]+)", re.IGNORECASE)
_OVER = (
    r"(?:off(?: the (?:table|list|cards|agenda))?|over(?: and done(?: with)?)?|cancell?ed|gone|dead|void"
    r"|scrapped|dropped|abandoned|obsolete"
    r"|irrelevant|history|out(?: of the (?:picture|question))?|called off|finished|removed|withdrawn|moot"
    r"|no more|out the window|ended|deleted"
    r"|discontinued|a thing of the past|done(?: with)?|null and void|invalid|retired|revoked)"
)
_STATED = re.compile(
    rf"^(?P<what>[^,;]+?)(?:\s+(?:is|are|was|were|has been|have been|had to be|got|gets|has|have)|['’]s|['’]re)"
    rf"(?:\s+(?:now|all|been|just|completely|totally|entirely|officially|already|since))*\s+{_OVER}"
    r"(?:\s+(?:now|again|altogether|entirely|completely|for good|after all|for now|as of \w+|today|by the way"
    r"|unfortunately))*\s*[.!]*$",
    re.IGNORECASE,
)
_FELL = re.compile(
    r"^(?P<what>[^,;]+?)\s+(?:(?:has |have |just )?f[ea]ll(?:en)? through|(?:no longer|does(?:n['’]t| not)"
    r"|do(?:n['’]t| not))"
    r" (?:appl(?:y|ies)|exists?|holds?|matters?|stands?|counts?|happens?)|can (?:now )?be (?:forgotten|ignored"
    r"|deleted|dropped|removed|disregarded|struck|erased)"
    r"|(?:is|are|was|were)(?:n['’]t| not| no longer) (?:a thing|happening|going ahead|relevant|needed|valid"
    r"|required|necessary|on|in play|in effect|in force|applicable|current"
    r"|part of (?:the|my|our) \w+|something (?:i|we)\b.*|an? (?:issue|topic|option|concern|requirement)|true|the case)"
    r"|won['’]t (?:happen|be happening|be needed|apply)|came to (?:an|its) end)\b(?!.*\bbut\b)",
    re.IGNORECASE,
)
_NONE = re.compile(
    r"^(?:there(?:['’]s| is| are|['’]re| won['’]t be| isn['’]t| aren['’]t"
    r"|['’]ll be)(?: going to be)? (?:no(?: longer| more)?|an?y?)(?: an?y?)?\s+(?P<a>.+)"
    r"|(?:i|we)(?:['’]m| am|['’]re| are|['’]ve| have)? no longer\s+(?:(?:have|has|need|want|use|do|got|keep"
    r"|hold|own|run|care about|with|at|in|for|on|an?)\s+)?(?P<b>.+)"
    r"|(?:i|we) (?:do not|don['’]t|can['’]t|won['’]t)(?: really)? (?:(?:have|need|want|use|do|keep|hold|own"
    r"|run|care about)\s+)?(?P<c>.+?) any ?(?:more|longer)\b.*"
    r"|(?:i|we)(?:['’]m|['’]re| am| are) not (?P<d>.+?) any ?(?:more|longer)\b.*"
    r"|no more (?P<e>[^.!?]+)"
    r"|(?:i|we) (?:(?:now )?have|['’]ve got|have got) no (?P<f>.+?)(?: now| any ?more| left)\b.*"
    r"|(?:i|we)(?:['’]ve| have)? (?:lost interest in|lost|sold|gave away|given away|cancell?ed"
    r"|had enough of) (?P<g>(?:the|my|our|that)\b.+))$",
    re.IGNORECASE,
)
_NOT_TARGET = re.compile(r"^(?:to|it|me|him|them|us|you|ing)\b", re.IGNORECASE)
_CUT = re.compile(
    r"\s+(?:off|from) (?:the|my|your|our) (?:list|notes?|memory|records?|plan|agenda)\b.*|[,;:–—].*"
    r"|\s+(?:because|since|as|so|after|that|which"
    r"|i|we|you|any ?more|altogether|entirely|completely|for good|please|now|for now|after all|then|thing|stuff)\b.*$",
    re.IGNORECASE,
)
_KOREAN = re.compile(r"^(?P<what>.+?)(?:은|는|을|를|이|가)?\s*(?:취소|잊어|없던 일|그만|빼 ?주|삭제)")


def withdrawn(clause: str) -> str | None:
    """The words for what ``clause`` takes back (``"the old plan"``), or ``None`` when it takes nothing back."""
    for pattern in (_STATED, _FELL, _NONE, _COMMAND, _KOREAN):
        if match := pattern.match(clause):
            what = next((part for part in match.groupdict().values() if part), "").strip(" .!")
            cut = _CUT.sub("", what).strip()
            if cut and not (pattern is _COMMAND and _NOT_TARGET.match(cut)):
                return cut
    return None
