"""A large tool result stays in the store; the message shows its head and tail, and a tool reads pages of it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import regex

from orchestra.context.cutting import head_of, safe_before, tail_of
from orchestra.core.conversation import Offload
from orchestra.core.errors import InputError
from orchestra.core.tokens import text_tokens

RETRIEVE = "retrieve_offloaded"
LINE_CHARACTERS = 1_000
"""Longer lines count as several, so that a result of a single line can be read in pages too."""
MAX_PATTERN = 1_000


def over(text: str, tool: str, settings: Offload) -> bool:
    """Whether the result of ``tool`` is put away. Pages of such results never are."""
    limit = settings.tools.get(tool, settings.over_tokens)
    if not settings.enabled or limit <= 0 or tool == RETRIEVE or len(text) <= limit:
        return False
    return text_tokens(text) > limit


def preview(text: str, *, settings: Offload, reference: str) -> str:
    """What the message shows: head and tail of ``text`` around a marker that names ``reference``.

    At most ``settings.preview_tokens`` estimated tokens, the marker among them; when that is too little for the marker,
    the marker alone.
    """
    total = text_tokens(text)
    marker = (
        f"\n[… {len(text)} characters, {total} tokens: only the beginning and the end are shown. "
        f"{RETRIEVE}(reference={reference!r}) reads the rest …]\n"
    )
    room = settings.preview_tokens - text_tokens(marker) - 2  # each of three pieces may round up
    if room <= 1:
        return marker.strip("\n")
    head = head_of(text, (room * 7 + 8) // 9)
    return f"{head}{marker}{tail_of(text[len(head) :], room - text_tokens(head))}"


def page(
    text: str, *, pattern: str | None = None, lines: str | None = None, limit_tokens: int, seconds: float = 0.5
) -> str:
    """One page of ``text``: numbered lines, and how to go on; at most ``limit_tokens`` estimated tokens.

    ``lines`` is ``"10"``, ``"10-20"`` or ``"10-"``, counted from 1; ``pattern`` a regular expression, case-sensitive:
    only lines in which it is found. Lines of more than 1000 characters count as several. A pattern has ``seconds`` for
    the whole text, during which other threads go on (call this in a thread). Raises :class:`InputError` for a range or
    pattern that is none, and for a pattern that takes too long.
    """
    pieces = list(_pieces(text))
    first, last = _range(lines, len(pieces))
    chosen: Sequence[int] = range(first - 1, last)
    if pattern:
        chosen = _matching(pieces, range(first - 1, last), pattern, seconds)
        if not chosen:
            return f"[no line from {first} to {last} of {len(pieces)} matches]"
    # The last line says how to go on; its numbers have at most so many digits.
    room = limit_tokens - text_tokens(_going_on(len(pieces), len(pieces), len(pieces)))
    out: list[str] = []
    used = 0
    for place in chosen:
        line = f"{place + 1}: {pieces[place]}"
        cost = text_tokens(line + "\n")
        if used + cost > room:
            if not out:  # a page that gives nothing would be asked for again and again
                out.append(head_of(line, max(1, room - 1)))
                place += 1
            return "\n".join([*out, _going_on(place, place + 1, len(pieces))])
        out.append(line)
        used += cost
    if last < len(pieces):
        out.append(_going_on(last, last + 1, len(pieces)))
    return "\n".join(out)


def _going_on(upto: int, following: int, count: int) -> str:
    if following > count:
        return f"[up to line {upto} of {count}]"
    return f'[up to line {upto} of {count}; go on with lines="{following}-"]'


def _pieces(text: str) -> Iterator[str]:
    """The lines, long ones in pieces."""
    for line in text.split("\n"):
        start = 0
        while len(line) - start > LINE_CHARACTERS:
            end = safe_before(line, start + LINE_CHARACTERS)
            end = end if end > start else start + LINE_CHARACTERS  # one cluster of a thousand marks is no character
            yield line[start:end]
            start = end
        yield line[start:]


_RANGE = regex.compile(r"\s*(\d+)\s*(?:(-)\s*(\d+)?\s*)?")


def _range(lines: str | None, count: int) -> tuple[int, int]:
    """First and last line, from 1."""
    if lines is None or not lines.strip():
        return 1, count
    found = _RANGE.fullmatch(lines)
    if found is None:
        raise InputError(f'lines is "10", "10-20" or "10-", not {lines!r}')
    first = int(found[1])
    last = int(found[3]) if found[3] else (count if found[2] else first)
    if not 1 <= first <= count:
        raise InputError(f"there is no line {first}: the result has the lines 1 to {count}")
    if last < first:
        raise InputError(f"the range {lines!r} ends before it begins")
    return first, min(last, count)


def _matching(pieces: list[str], places: range, pattern: str, seconds: float) -> list[int]:
    """The places of the lines in which the pattern is found."""
    if len(pattern) > MAX_PATTERN:
        raise InputError(f"the pattern has {len(pattern)} characters; at most {MAX_PATTERN} are read")
    try:
        compiled = regex.compile(pattern)
    except (regex.error, OverflowError, RecursionError) as error:
        raise InputError(f"{pattern!r} is no regular expression: {error}") from None
    # Searched line by line, so that no match goes over a line's end; the limit is for all of them together.
    end = time.monotonic() + seconds
    out: list[int] = []
    for place in places:
        try:
            if compiled.search(pieces[place], concurrent=True, timeout=max(0.001, end - time.monotonic())):
                out.append(place)
        except TimeoutError:
            raise InputError(
                f"the pattern {pattern!r} takes too long on this text; use a simpler one, or a range of lines"
            ) from None
    return out
