"""Rankings: joined by reciprocal rank, remembered for a while, and given out in pages that share nothing."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from orchestra.core.errors import InputError
from orchestra.core.names import derived_id
from orchestra.core.passages import MAX_RESULTS

Ranking: TypeAlias = Sequence[tuple[str, float]]
REMEMBERED = 64
_PLACE = re.compile(r"[0-9]{1,9}")
#: Of reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009): how slowly a lower rank loses weight.
K = 60


def fused(rankings: Sequence[Ranking]) -> list[tuple[str, float]]:
    """Several rankings joined: each entry gets 1 / (60 + rank) from each. Equal sums: the first one stays first."""
    sums: dict[str, float] = {}
    for ranking in rankings:
        for rank, (key, _) in enumerate(ranking, 1):
            sums[key] = sums.get(key, 0.0) + 1 / (K + rank)
    return sorted(sums.items(), key=lambda item: -item[1])[:MAX_RESULTS]


class Rankings:
    """The rankings of recent searches, so that the pages of one search are pieces of one ranking.

    One that is forgotten (64 later ones, a restart) is made again; what has changed meanwhile may then move entries
    from page to page.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[str, Ranking] = OrderedDict()
        self._count = 0

    async def page(
        self, search: Sequence[str], cursor: str | None, limit: int, ranked: Callable[[], Awaitable[Ranking]]
    ) -> tuple[Ranking, str | None]:
        """The page at ``cursor`` of the search that ``search`` describes, and the cursor of the next one.

        Raises:
            InputError: the cursor is none, or of another search; ``limit`` is not 1 to 1000.
        """
        if not 1 <= limit <= MAX_RESULTS:
            raise InputError(f"limit {limit}: use 1 to {MAX_RESULTS}")
        what = derived_id(*search)[:8]
        number, start = _parts(cursor, what) if cursor else ("", 0)
        ranking = self._known.get(f"{what}.{number}")
        if ranking is None:
            ranking = await ranked()
            self._count += 1
            number = number or format(self._count, "x")
        name = f"{what}.{number}"
        self._known[name] = ranking
        self._known.move_to_end(name)
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        end = start + limit
        return ranking[start:end], f"{name}.{end}" if end < len(ranking) else None


def _parts(cursor: str, what: str) -> tuple[str, int]:
    parts = cursor.split(".")
    if len(parts) != 3 or not _PLACE.fullmatch(parts[2]):
        raise InputError(f"{cursor!r} is no cursor; use the one that came with the page before, or none")
    if parts[0] != what:
        raise InputError("that cursor belongs to another search; repeat its query and filters, or leave the cursor out")
    return parts[1], int(parts[2])
