"""Identifiers: what a summary must keep letter by letter, since no one can guess it again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

MAX_LISTED = 100
MAX_CHARS = 4_000
STRETCH = 8_000
"""Characters that are searched at once."""
HEADING = "Identifiers from the messages, word for word:"

# Boundaries are ASCII ones: in a text without spaces an identifier touches the words around it.
_UUID = r"(?<![0-9A-Za-z])[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(?![0-9A-Za-z])"
_URL = r"(?<![0-9A-Za-z])[A-Za-z][A-Za-z0-9+.-]{0,20}://[^\s<>\"'`|\\^{}\[\]「」『』（）。，、；]+"
_ASCII = r"[A-Za-z0-9_.@+~=-]"
_LETTER = r"\u00c0-\u1fff\u3040-\ud7ff\uf900-\ufaff\U00020000-\U0002fa1f"
# A name that begins in another script may go on in any; one that begins in ASCII ends where the script changes, since
# there the sentence goes on.
_NAME = rf"(?:{_ASCII}+|[{_LETTER}][{_LETTER}A-Za-z0-9_.@+~=-]*)"
_PATH = (
    rf"(?:(?<![0-9A-Za-z_/.:<\\~-])(?:(?:~|\.{{1,2}})?/{_NAME}(?:/{_NAME})*/?|[A-Za-z]:\\{_NAME}(?:\\{_NAME})*)"
    # The characters that may not stand in front are those of the names: a long run is tried once, not at each place.
    r"|(?<![A-Za-z0-9_.@+/:<\\~-])[A-Za-z0-9_.@+-]+(?:/[A-Za-z0-9_.@+-]+)*/[A-Za-z0-9_.@+-]*\.[A-Za-z][A-Za-z0-9]{0,9}"
    r"(?![0-9A-Za-z_]))"
)
_HASH = r"(?<![0-9A-Za-z_-])(?=[0-9a-fA-F]*[0-9])(?=[0-9a-fA-F]*[a-fA-F])[0-9a-fA-F]{7,128}(?![0-9A-Za-z_-])"
_UNITS = (
    "% ‰ °C °F °K ° "
    "ns µs us ms s sec secs second seconds min mins minute minutes h hr hrs hour hours d day days week weeks month "
    "months year years "
    "bytes byte kbit Mbit Gbit B kB KB MB GB TB PB KiB MiB GiB TiB kbps Mbps Gbps Mbit/s Gbit/s MB/s GB/s "
    "nm µm mm cm m km inch inches ft mi mile miles yd m² m³ km² ha km/h mph m/s "
    "mg g kg t lb lbs oz ml mL l L "
    "Hz kHz MHz GHz V mV kV A mA W kW MW Wh kWh J kJ kcal Pa hPa kPa bar psi N Nm Ω "
    "px pt em rem dpi fps rpm tokens rows lines USD EUR GBP JPY CNY KRW CHF € $ £ ¥ ₩ dollars euros yen "
    "円 元 원 年 月 日 時 时 分 秒 人 個 个 本 枚 台 歳 岁 년 월 일 시 분 초 명 개 公里 公斤 メートル キロ グラム"
)
_UNIT = "|".join(re.escape(unit) for unit in sorted(_UNITS.split(), key=len, reverse=True))
_NUMBER = r"\d{1,40}(?:[.,]\d{1,40}){0,20}"
_QUANTITY = (
    rf"(?<![0-9A-Za-z_.,/-])(?:[€$£¥₩]\ ?{_NUMBER}(?:[kKMB](?![0-9A-Za-z]))?"
    rf"|{_NUMBER}\ ?(?:{_UNIT})(?![0-9A-Za-z_]))"
)
# One pass over the text; the first that matches at a place wins, so what is inside of a URL is no path of its own.
_ANY = re.compile(
    r"(?=[0-9A-Za-z./~€$£¥₩])"
    rf"(?:(?P<uuid>{_UUID})|(?P<url>{_URL})|(?P<path>{_PATH})|(?P<hash>{_HASH})|(?P<quantity>{_QUANTITY}))",
    re.ASCII,
)
_RANKS = {"uuid": 0, "hash": 1, "url": 2, "path": 3, "quantity": 4}
_AT_THE_END = ".,;:!?'\"*~=+-"


def identifiers(text: str) -> tuple[str, ...]:
    """UUIDs, hashes, URLs, paths and numbers with a unit: in this order, each kind as it occurs, each once."""
    found: dict[str, int] = {}
    for literals in searched(text):
        for literal, rank in literals:
            found.setdefault(literal, rank)
    return in_order(found)


def searched(text: str) -> Iterator[list[tuple[str, int]]]:
    """(Identifier, rank of its kind) as they occur, one stretch of the text after another.

    A search holds the interpreter to its end, and a megabyte takes it a third of a second: who is on an event loop lets
    others go on between two stretches.
    """
    at = 0
    while at < len(text):
        end, found = at + STRETCH, list[tuple[str, int]]()
        # What begins in this stretch may end in the next one: it is searched beyond, and what is cut off there, again.
        for match in _ANY.finditer(text, at, end + STRETCH // 8):
            if match.start() >= end:
                break
            whole = match if match.end() < end + STRETCH // 8 else _ANY.match(text, match.start())
            if whole is None:
                continue
            end = max(end, whole.end())
            kind = whole.lastgroup or ""
            literal = _trimmed(whole[0]) if kind in ("url", "path") else whole[0]
            if len(literal) > 1:
                found.append((literal, _RANKS[kind]))
        at = end
        yield found


def in_order(ranks: Mapping[str, int]) -> tuple[str, ...]:
    """Identifiers by kind, each kind as it occurs."""
    return tuple(sorted(ranks, key=ranks.__getitem__))


def missing(source: str | Sequence[str], summary: str) -> tuple[str, ...]:
    """The identifiers of ``source`` that do not stand literally in ``summary``; ``1 GB`` does not stand in ``11 GB``.

    ``source`` is a text, or identifiers that were found already.
    """
    kept = set(identifiers(summary))
    wanted = identifiers(source) if isinstance(source, str) else source
    return tuple(one for one in wanted if one not in kept and not _stands_in(one, summary))


def appended(summary: str, lost: Sequence[str], *, max_chars: int = MAX_CHARS) -> str:
    """``summary`` with the identifiers that it ``lost`` as a list, at most 100 and ``max_chars`` characters of them.

    What did not fit is counted at the end. Nothing lost, or no room for the first one: the summary as it is.
    """
    lines: list[str] = []
    room = max_chars - len(HEADING) - 40  # 40: the line that counts what was left out
    for one in lost[:MAX_LISTED]:
        room -= len(one) + 3
        if room < 0:
            break
        lines.append(f"- {one}")
    if not lines:
        return summary
    if len(lines) < len(lost):
        lines.append(f"- and {len(lost) - len(lines)} more")
    return "\n".join((summary.rstrip(), "", HEADING, *lines))


def _trimmed(literal: str) -> str:
    while literal and (literal[-1] in _AT_THE_END or (literal[-1] == ")" and literal.count("(") < literal.count(")"))):
        literal = literal[:-1]
    return literal


def _stands_in(one: str, summary: str) -> bool:
    at = summary.find(one)
    while at >= 0:
        before, after = summary[at - 1 : at] if at else "", summary[at + len(one) : at + len(one) + 1]
        if not (_joins(before) and _joins(one[0])) and not (_joins(after) and _joins(one[-1])):
            return True
        at = summary.find(one, at + 1)
    return False


def _joins(character: str) -> bool:
    return bool(character) and character.isascii() and (character.isalnum() or character == "_")
