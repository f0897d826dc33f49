"""Small talk: sentences that react, feel, greet or talk about the talk, and state nothing to remember."""

from __future__ import annotations

import re
from functools import lru_cache

from orchestra.core.sentences import words
from orchestra.core.terms import tokens


def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_DEGREE = (
    r"(?:(?:just|so|such|a bit|a little|really|very|still|quite|pretty|rather|super|too|kind of|not|all|absolutely"
    r"|totally|also|both|honestly|much|even|truly|completely|at least|already|a lot|far|way)\s+)*"
)
_LEAD = r"^(?:(?:oh|and|but|so|well|honestly|ha|haha|ugh|wow|hmm+|luckily|sadly|ok|okay|yes|no)[,!]*\s+)*"
_FEELING = (
    r"(?:excited|sad|happy|annoyed|nervous|tired|worried|stressed|dreading|thrilled|relieved|proud|upset|angry|bored"
    r"|exhausted|glad|sorry|curious|confused|overwhelmed|delighted|disappointed|anxious|grateful|touched|speechless"
    r"|hungry|sleepy|thirsty|looking forward|over the moon|dying to|fed up|in shock|pleased|lost|impressed|amazed"
    r"|surprised|bad about|good about|like crying|dizzy)\b"
)
_VALUED = (
    r"(?:great|nice|good|bad|terrible|awful|horrible|lovely|fun|funny|crazy|sweet|amazing|awesome|wonderful|perfect"
    r"|beautiful|cute|weird|strange|hard|tough|easy|silly|cool|fantastic|brilliant|nightmare|mess|pain|shame|relief"
    r"|pity|joke|disaster|blast|dream|warm|cold|hot|tight|late|early|long|annoying|exciting|worse|better|nicer|best"
    r"|worst|true|fair|plenty|ridiculous|insane|gorgeous|stressful|tiring|boring|interesting|delicious|a lot)"
)
_RECENT = (
    r"(?:yesterday|last (?:night|week|weekend|month|monday|tuesday|wednesday|thursday|friday|saturday|sunday)"
    r"|just now|earlier|this (?:morning|afternoon|evening|week)|the other day|on (?:mon|tues|wednes|thurs|fri"
    r"|satur|sun)day|an hour|hours|all (?:day|night|morning|evening)|today|tonight|ago)"
)
_EVENT = (
    r"(?:talked|spoke|looked|saw|went|slept|spent|had|asked|tried|watched|heard|thought|felt|chatted|checked|read"
    r"|woke|ate|drank|laughed|cried|forgot|showed|told|met|called|ran|walked|came|got|were|was|discussed|wrote)"
)
_CHATTER = (
    _compile(
        rf"{_LEAD}(?:i|we|he|she|they|my \w+|our \w+|everyone)(?:['’](?:m|re|s)| am| are| is| was| were| feel| feels"
        rf"| felt|['’]ve been| have been)\s+{_DEGREE}{_FEELING}"
    ),
    _compile(rf"{_LEAD}(?:at least|better (?:to|that|late|than|now)|good (?:to|thing|luck|that)|no wonder|too bad)\b"),
    _compile(
        rf"{_LEAD}(?:sorry (?:for|about|if|to|that)|thank|thanks|congrat|cheers\b|bye|see you|talk (?:to you )?soon"
        rf"|take care|have an? {_DEGREE}\w+ (?:day|evening|weekend|week|time|night)|good (?:morning|evening|night|day)"
        r"|happy (?:new|monday|friday|weekend)|welcome\b|long time|quick (?:one|question))"
    ),
    _compile(
        rf"{_LEAD}(?:i|we)(?:['’]ll| will|['’]m going to|['’]d better)\s+(?:probably |then |now )?(?:talk|ask|check"
        r"|come back|get back|let you|think|be in touch|see (?:if|what|how|you)|tell you|keep you|sleep on|ping"
        r"|report|write to you|be back)\b"
    ),
    _compile(
        rf"{_LEAD}(?:i|we) (?:don['’]t|do not) (?:know|remember|care|mind|understand|get it)\b"
        rf"|{_LEAD}(?:i|we)(?:['’]d| would)? (?:need|want|like) (?:some(?:one|body|thing)|you|your help|help|an idea)\b"
        rf"|{_LEAD}(?:i|we) (?:know|see|guess|bet|hope|agree|understand|wonder|appreciate)[,.!]"
        rf"|{_LEAD}(?:i|we)(?:['’]ll| will) (?:probably|surely|definitely)?\s*(?:miss|regret|enjoy|be fine|survive"
        r"|manage)\b"
        rf"|{_LEAD}i can(?:['’]t|not)? (?:wait|believe|imagine|hardly|already)\b"
        rf"|{_LEAD}(?:i|we)(?:['’]ve| have) (?:wanted|dreamed|dreamt|always wanted|been meaning|been dreaming"
        r"|been wanting|been looking)\b"
    ),
    _compile(rf"\b(?:sounds|feels|seems|looks|smells|tastes|smelled|sounded|felt|seemed|looked)\s+{_DEGREE}\w+"),
    _compile(
        r"\b(?:has|have|['’]s|['’]ve|just)\s+(?:just |already )?(?:asked|wondered)(?: (?:me|us))?"
        r" (?:whether|if|about|for)\b"
    ),
    _compile(rf"{_LEAD}(?:what|how) (?:an?\b|\w+[.!])|{_LEAD}that(?:['’]s|['’]ll| is| was| will| would| means\b)"),
)
_OPINION = _compile(
    rf"\b(?:is|was|are|were|be|been|['’]s|['’]re|['’]ll be)\s+{_DEGREE}(?:(?:an?|the|my|such an?)\s+)?{_DEGREE}"
    rf"{_VALUED}(?:\s+(?:idea|thing|day|time|one|way|start|deal|news|feeling))?"
    r"(?=\W*$|\s+(?:for|to|that|of|at|in|with|here|there|too|though|about|because|today|now|so far|indeed)\b)[^,;]*$"
)
_PAST_EVENT = _compile(
    rf"{_LEAD}(?:i|we|he|she|they)(?:['’]ve| have|['’]s| has)?\s+(?:just |also |both |finally |only |then )?{_EVENT}\b"
)
_STARTED = _compile(rf"{_LEAD}(?:i|we)(?:['’]ve| have)?\s+(?:just |finally )?(?:started|begun|been)\s+\w+ing\b")
_RECENTLY = _compile(rf"\b{_RECENT}\b")
_THIRD_PAST = _compile(
    rf"{_LEAD}(?:he|she|they)\s+(?:just |also |then |even |almost )?(?!was\b|were\b|had\b|used\b)"
    rf"(?:{_EVENT}|[a-z]{{3,}}ed)\b"
)
_DANGLING = _compile(r"\b(?:it|that|this|them|so|there)\W*$|\b(?:it|that|this) (?:all|too|again)\W*$")
_SETTLED = _compile(
    r"\b(?:decided|agreed|signed|booked|chose|settled|confirmed|reserved|ordered|hired|bought|sold|paid|cancell?ed)\b"
)
_LIGHT = words(
    "good great nice get got go com see say tell think know feel look hear want wait try do make thing time way day"
    " lot bit sur right real fin stay help seem let keep put turn start ask talk work read back come giv take tak mak"
)


@lru_cache(maxsize=8192)
def is_opinion(sentence: str) -> bool:
    """Whether ``sentence`` says no more than that something is good, bad, hard or the like."""
    pieces = tokens(sentence)
    exact = any(token.kind in ("number", "date", "name") and token.lower != "one" for token in pieces)
    return not exact and sum(token.kind != "function" for token in pieces) <= 6 and bool(_OPINION.search(sentence))


@lru_cache(maxsize=8192)
def is_small_talk(sentence: str) -> bool:
    """Whether ``sentence`` is a reaction, a feeling of the moment, an event of the day or talk about the talk.

    English only; judged by function words and general cue words, so a fact in an unusual dress may be taken for talk
    and talk for a fact.
    """
    if not sentence.isascii() and any(ord(letter) > 0x2FFF for letter in sentence):
        return False
    if any(pattern.search(sentence) for pattern in _CHATTER):
        return True
    pieces = tokens(sentence)
    telling = [token for token in pieces if token.kind != "function" and token.stem not in _LIGHT]
    exact = [token for token in telling if token.kind in ("number", "date") or sentence[token.start].isupper()]
    named = [token for token in exact if token.kind != "word" and token.lower not in ("one", "half")]
    if not telling:
        return True
    if is_opinion(sentence):
        return True
    if _SETTLED.search(sentence):
        return False
    if _PAST_EVENT.match(sentence) and (_RECENTLY.search(sentence) or (len(telling) <= 2 and not named)):
        return True
    if _STARTED.match(sentence) and not named:
        return True
    if _THIRD_PAST.match(sentence) and not named:
        return True
    return len(telling) <= 1 and not named and bool(_DANGLING.search(sentence))
