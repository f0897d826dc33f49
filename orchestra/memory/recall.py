"""``runtime.recall(…)``: searching what was said, for developers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Literal

from orchestra.core.errors import InputError
from orchestra.core.messages import ROLES, Role
from orchestra.core.names import check_storable
from orchestra.core.passages import Page, RecallQuery, Utterance
from orchestra.core.span import span
from orchestra.memory.search.archive import Archive


class ConversationSearch:
    """What was said to and by one agent, in the sessions that ``scope`` means (see :class:`RecallQuery`).

    ``agent`` may be a function that finds it.
    """

    def __init__(
        self,
        archive: Archive,
        agent: str | Callable[[], Awaitable[str]],
        *,
        session_id: str | None = None,
        user_id: str | None = None,
        scope: Literal["session", "user", "agent"] = "user",
    ) -> None:
        self._archive = archive
        self._agent, self._session_id, self._user_id = agent, session_id, user_id
        self._scope: Literal["session", "user", "agent"] = scope

    async def search(
        self,
        query: str,
        roles: Sequence[Role] | None = None,
        limit: int = 10,
        *,
        start_date: str | None = None,
        end_date: str | None = None,
        cursor: str | None = None,
    ) -> Page[Utterance]:
        """Messages by words and by meaning, evicted from the prompt or not; the filters come before the limit.

        Dates are ISO 8601, both included; one without a time means all of that day in UTC. Blank text finds nothing.

        Raises:
            InputError: a role, a date, the limit or the cursor cannot be used.
        """
        wanted: tuple[Role, ...] = (roles,) if isinstance(roles, str) else tuple(roles or ())  # type: ignore[assignment]
        for role in wanted:
            if role not in ROLES:
                raise InputError(f"role {role!r} is not one of {', '.join(ROLES)}")
        where = (self._session_id, self._user_id, self._scope)
        when = span(start_date, end_date)
        agent = self._agent if isinstance(self._agent, str) else await self._agent()
        return await self._archive.recall(
            RecallQuery(agent, check_storable(query, "query"), *where, wanted, limit, when, cursor)
        )
