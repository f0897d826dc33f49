"""The function words and cue phrases of English that tell what a sentence does: state, change, withdraw, ask, wonder.

No word here belongs to a subject matter. Each pattern is compiled once and matched case-insensitively.
"""

from __future__ import annotations

import re


def _any(*phrases: str) -> str:
    return "(?:" + "|".join(phrases) + ")"


def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_CHANGED_MIND = _any(
    "actually", "correction",
    "(?:(?:a )?(?:small |quick |slight )?(?:update|change))(?: (?:of|to|on) (?:the )?plans?)?",
    "(?:there's (?:been )?)?(?:a )?change of plans?", "on second thoughts?", "scratch that", "strike that",
    "scrap that", "forget that", "ignore that", "disregard that", "never ?mind(?: that)?",
    "wait(?: a (?:second|minute|moment))?", "hold on", "sorry", "my (?:mistake|bad|apologies|error)", "apologies",
    "oops", "whoops", "i (?:was wrong|misspoke|made a mistake|mixed (?:that|things) up)(?: (?:earlier|before))?",
    "i(?:'ve| have)? changed my mind", "new plan", "instead", "on reflection", "thinking about it(?: again)?",
    "come to think of it", "(?:let me|i need to|i have to|i must|i should) correct (?:that|myself)",
)  # fmt: skip
_CHANGED_PHRASE = _any(
    "(?:as )?it turns out(?: that)?", "turns out(?: that)?", "from now on", "from here on", "going forward",
    "in the meantime", "meanwhile", "these days", "nowadays", "as of (?:now|today|this \\w+|next \\w+|\\w+)",
    "now that", "since (?:then|we last (?:spoke|talked))", "actually",
    "contrary to what i said(?: (?:earlier|before))?", "(?:things|something)(?: has| have|'s|'ve)? changed",
    "in fact", "after all", "these days", "now",
)  # fmt: skip
_PLAIN_WORD = _any(
    "oh", "ok(?:ay)?", "well", "so", "and", "hey", "hi(?: there| again)?", "hello", "yes", "yeah", "yep", "no",
    "nope", "sure", "right", "thanks(?: a lot| again)?", "thank you(?: so much| very much)?", "great", "good",
    "cool", "perfect", "anyway", "also", "plus", "btw", "fyi", "honestly", "basically", "alright", "hmm+", "um+",
    "uh+", "ah", "besides", "look", "listen", "quick note", "side note", "heads[ -]up", "just a heads[ -]up",
    "one (?:more|other|last) thing", "another thing", "note", "reminder", "first(?: of all)?", "second(?:ly)?",
    "finally", "also note", "good news", "bad news", "news", "for context", "some (?:context|background)",
    "guess what", "ha(?:ha)*", "ugh", "oh and", "luckily", "unfortunately", "sadly", "honestly",
    "small detail", "a detail", "speaking of which", "as a reminder", "before i forget",
)  # fmt: skip
_PLAIN_PHRASE = _any(
    "by the way", "for (?:the|your) (?:records?|information|reference)", "just so(?: that)? you(?:'re aware| know)",
    "you (?:should|ought to|may want to|might want to|need to|must) (?:also )?know(?: that)?",
    "in case (?:it|you) [^,:]{1,30}[,:]",
    "(?:please |also )*(?:note|remember|keep in mind|bear in mind|be aware|mind)(?: that)?(?= (?:my|our|the|i"
    "|we|for|that)\\b)", "as (?:i|we)(?: have|'ve)?(?: already)? (?:said|mentioned|told you)(?: before| earlier)?",
    "(?:just )?to be clear", "(?:just )?let me (?:add|tell you|mention|share|note)(?: that)?",
    "it (?:may|might|could) help to know(?: that)?",
    "i (?:should|must|ought to|want to|wanted to|need to|have to|forgot to|just wanted to|meant to"
    "|can) (?:also )?(?:mention|add|say|tell you|point out|note|let you know)(?: that)?",
    "i(?:'d| would) like to (?:add|mention|say)(?: that)?", "i can (?:confirm|tell you)(?: that)?",
    "(?:i think|i believe|i guess|i suppose|i mean|i'd say)(?: that)?", "just (?=my\\b|our\\b)",
    "also (?=my\\b|our\\b|the\\b|i\\b|we\\b)", "as you (?:may )?know", "what you should know is(?: that)?",
    "(?:the )?(?:thing|fact|truth) is(?: that)?", "it's worth (?:noting|knowing)(?: that)?",
    "worth (?:noting|knowing)(?: that)?", "honestly", "oh and", "at least",
    "(?:and|but|so)(?= (?:i|we|my|our|the|please|he|she|they|it|there|that)\\b)",
    "(?:and|but|so)(?= (?:i|we|he|she|they|it|that)['’])", "(?:and|but|so)(?= (?-i:[A-Z]))",
    "[a-z][^,;:.!?]{2,40}? (?:says?|said|told (?:me|us)|came back(?: to (?:me|us))?|confirmed|wrote(?: to (?:me|us))?)"
    ":\\s+(?=(?:i|we|my|our|the|they|it)\\b)",
    "(?:(?:good|bad|great|sad|some|big|small) )?(?:news|update|word) from [^,;:.!?]{2,40}:\\s+",
)  # fmt: skip
_SEPARATOR = r"(?:\s*[,:;.!–—-]+\s*|\s*$)"

OPENER = _compile(rf"^(?:{_PLAIN_WORD}{_SEPARATOR}|{_PLAIN_PHRASE}\b\s*[,:;–—-]*\s*)")
CHANGE_OPENER = _compile(rf"^(?:{_CHANGED_MIND}{_SEPARATOR}|{_CHANGED_PHRASE}\b\s*[,:;–—-]*\s*)")
TAKE_BACK = _compile(
    r"^(?:(?:please|just|actually|oh|no|wait|sorry|ok|okay|let's|you can|hmm)[,\s]+)*"
    r"(?:scratch|strike|scrap|forget|ignore|disregard|drop|cancel|undo|delete|remove) (?:that|it|this)"
    r"(?: (?:last )?(?:one|part|bit))?(?:[,.!;:–—-]|$| please| again| then| altogether| entirely| completely| for now)"
)

CHANGE = _compile(
    r"\b(?:now|nowadays|these days|from (?:now|here) on|going forward|instead|actually|any ?more|no longer"
    r"|chang(?:ed|es?|ing)"
    r"|switch(?:ed|es|ing)?|updat(?:ed|es?|ing)|new|newer|latest|currently|as of|mov(?:ed|es?|ing)|replac\w+"
    r"|rather than"
    r"|turned out|turns out|after all|correction|corrected|since then|in fact|revis\w+|in the end|end(?:ed|ing) up"
    r"|bump\w*|rais(?:e|ed|ing)|lower(?:ed|ing)?|increas\w+|reduc\w+|swap\w*|trad(?:ed|ing)|shift\w*|became|become"
    r"|renam\w+|adjust\w*|until recently|this time|by now|went (?:up|down|from)|upgrad\w+|downgrad\w+|in favou?r of"
    r"|modif\w+|amend\w*|transition\w*|convert\w*|relocat\w*|reschedul\w*|postpon\w*|overrid\w+|supersed\w+"
    r"|not \w+ but)\b"
)
ADDITIVE = _compile(
    r"\b(?:also|as well|too|another|one of (?:my|our|the)|in addition|additionally|a second|besides|on top of)\b"
)
EXCLUSIVE = _compile(r"\b(?:only|solely|exclusively|never|no longer|instead|nothing but)\b")
HEDGE = _compile(
    r"\b(?:might|maybe|perhaps|possibly|thinking (?:of|about)|thought (?:of|about)|considered|considering"
    r"|wonder(?:ed|ing)?"
    r"|not sure|unsure|what if|suppose|supposing|if (?:i|we|you|it|the|my)|i wish|imagine|debating|toying|almost|nearly"
    r"|tempted|hypothetically|in theory|would (?:it|that)|could be|some(?:one|body) (?:said|suggested|told)|i heard"
    r"|probably|was going to|were going to|can't decide|not decided|undecided|hop(?:e|ing) to|would love to)\b"
)
ASKED_FOR = _compile(r"\b(?:what|which|who)(?:'s| is| are| was) your (?P<np>[^,;?]{2,40})\?$")
MUSING = _compile(
    r"\b(?:thinking (?:of|about)|thought (?:of|about)|consider(?:ed|ing)|wonder(?:ed|ing)?|debating|toying"
    r"|tempted|what if|how about)\b"
)
ENDING = _compile(
    r"\b(?:without|no longer|no more|against|not|never|gone|over|off|out|dropp?\w*|forg[eo]t\w*|cancel\w*"
    r"|scrap\w*|scratch\w*|ignor\w*|disregard\w*"
    r"|delet\w*|remov\w*|eras\w*|stop\w*|quit|ended|sold|lost|rid|g[ia]ve[ns]? up|giving up|fell|fallen"
    r"|abandon\w*|ditch\w*|discard\w*|done with|through with"
    r"|plug|obsolete|irrelevant|skip\w*|dismiss\w*|revok\w*|withdr\w*|retir\w*|undo\w*|clear\w*|wip\w+|nix\w*"
    r"|strike|struck|dead|history|void|no)\b|n['’]t\b"
)
WRONG = _compile(
    r"\b(?:wrong|mistak\w+|incorrect|chang\w+|updat\w+|correct\w*|error|mixed|confus\w+|revis\w+|switch\w*"
    r"|different|new)\b"
)
CHOICE = _compile(
    r"^(?:please\s+)?(?:let(?:'s| us)|use|take|keep|put|go (?:with|for)|stick (?:with|to)|pick|choose|consider"
    r"|treat|call)\b"
)
PAST = _compile(
    r"\b(?:used to|previously|formerly|back then|in the past|originally|at first|once upon|long ago|at the time)\b"
)
NEGATED = _compile(
    r"\b(?:not|no longer|never|isn't|aren't|wasn't|doesn't|don't|won't|hasn't|haven't|can't|no)\b|n['’]t\b"
)

NO_LONGER = _compile(r"\bno longer\b|(?:\bnot|n['’]t)\b.*\bany ?(?:more|longer)\b")
DENIAL = _compile(r"(?:n['’]t|\b(?:not|no longer))\s*(?:really |actually |going to be )?$")

CONSTRAINT = _compile(
    r"\b(?:must|never|always|only|prefer\w*|avoid|without|at (?:most|least)|no (?:more|less|fewer|later"
    r"|earlier) than|under"
    r"|below|above|within|up to|max(?:imum)?|min(?:imum)?|less than|more than|make sure|as long as|need(?:s)? to|has to"
    r"|have to|can't|cannot|don't|do not|required?|insist|nothing|except|unless|rule out|stick to|favou?rite|ideally)\b"
)
PREFERENCE = _compile(
    r"\bI(?:'m| am|'d| would|'ve| have)?(?: really| always| usually| also| much| rather| do| don't| do not"
    r"| never| can't)*"
    r" (?:prefer|like|love|enjoy|hate|dislike|need|want|favou?r|avoid|adore|detest|stand|use|own|have|live"
    r"|work|speak|plan)\b"
)
REQUEST = _compile(
    r"^(?:please\b|(?:can|could|would|will) you\b|i(?:'d| would) (?:like|love|want) you to|i (?:want"
    r"|need) you to|help me\b"
    r"|let's\b|let us\b|let me know|(?:find|show|tell|give|help|send|write|explain|check|search|look|recommend"
    r"|suggest|list"
    r"|plan|create|draft|summari[sz]e|remind|compare|describe|get|pick|add|try|do|don't|go|come|read|keep|walk"
    r"|take|make|put"
    r"|propose|prepare|think|imagine|start|stop|wait|see)\b(?! me down\b))"
)
OUTCOME = _compile(
    r"\b(?:confirmed|decided|agreed|settled|finali[sz]ed|completed|scheduled|booked|reserved|arranged|approved"
    r"|registered"
    r"|signed|chosen|cancell?ed|purchased|paid|submitted|delivered|concluded|resolved)\b"
)
NOT_AN_OUTCOME = _compile(
    r"\b(?:if|once|until|unless|when|would|could|should|can|(?-i:may)|might|not|never|yet|want|shall|let me"
    r"|will|noted|you (?:said|mentioned|told))\b|n['’]t\b"
)
ABOUT_THE_TALK = _compile(
    r"^(?:that(?:'s| is| was| sounds| helps| makes| would| works| all)|this (?:is|was|looks|sounds|helps)"
    r"|sounds|looks|you(?:'re| are|"
    r" were| have| should| can| could)?\b(?!.*:)|it(?:'s| is| was)? (?:all |so |really |very |been |a )*"
    r"(?:good|great|nice|fine|ok(?:ay)?|cool|fun|hard|lovely|funny|interesting|late|early|helpful|pleasure"
    r"|been|long|true|amazing|awesome)"
    r"|what an?\b|how (?:nice|great|cool)|wow\b|glad\b|happy to\b|no (?:problem|worries|rush|hurry)|take care"
    r"|see you|talk (?:to|soon)"
    r"|i(?:'m| am)? (?:(?:just|so|really|very) )*(?:see|understand|agree|appreciate|think so|know|glad"
    r"|thankful|grateful|curious|wondering"
    r"|happy for|sorry|back|here|thinking|bored|listening)|good (?:luck|morning|evening|night|job|to|idea"
    r"|point|question)|nice to"
    r"|i(?:'ll| will) (?:get back|let you know|think|check|see|be back|keep)|(?:and )?(?:how|what) about"
    r"|let me (?:think|see|check|know))\b"
)
EPHEMERAL = _compile(
    r"\b(?:today|right now|at the moment|tonight|yesterday|just now|this (?:morning|afternoon|evening)"
    r"|a (?:second|minute|moment)"
    r"|bye|later)\b"
)
