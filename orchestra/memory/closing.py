"""Closing sessions: asked for, or by the day in their id. The summary itself is made in the background."""

from __future__ import annotations

from datetime import date, timedelta

from orchestra.core.names import thread_name
from orchestra.core.session_template import SessionTemplate
from orchestra.store.closing_store import ClosingStore
from orchestra.store.connection import Store

#: How many days before today are looked at for sessions that nobody closed.
DAYS_BACK = 7


async def open_session(store: Store, template: SessionTemplate, agent: str, user_id: str | None) -> str:
    """The id of the session of now.

    One of a day is closed when its day is over (unless it is idle for long enough before that). Those of the seven days
    before are closed now, if there is something that is not closed yet: they had turns after midnight, say.

    Raises:
        ConfigError: the template needs a user and there is none.
    """
    now = await store.now() / 1000
    session_id = template.fill(user=user_id, at=now)
    if template.dated:
        closings, today = ClosingStore(store), template.today(now)
        await closings.at(thread_name(agent, session_id), template.ends(today))
        for other in _days_before(today):
            await closings.ask(thread_name(agent, template.on(other, user=user_id)))
    return session_id


def _days_before(today: date) -> list[date]:
    return [today - timedelta(days=back) for back in range(1, DAYS_BACK + 1)]
