"""What wrappers of sessions pass on to the session inside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, Self, runtime_checkable

from orchestra.core.errors import InputError
from orchestra.memory.session_items import Item
from orchestra.memory.stored_session import SessionTimes, Snapshot


class Session(Protocol):
    """The session protocol, as the OpenAI Agents SDK has it too."""

    session_id: str

    async def get_items(self, limit: int | None = None) -> list[Item]:
        """All items or the last ``limit``, oldest first."""

    async def add_items(self, items: Any) -> None:
        """Append items."""

    async def pop_item(self) -> Item | None:
        """Take the newest item away."""

    async def clear_session(self) -> None:
        """Delete everything."""


@runtime_checkable
class Replaceable(Protocol):
    """What Orchestra's sessions can do beyond the protocol: replace what was read, if it is still there."""

    async def set_items(self, items: Sequence[Item]) -> None:
        """Replace the whole history in one step."""

    async def snapshot(self) -> Snapshot:
        """The whole history."""

    async def replace_items(self, snapshot: Snapshot, count: int, items: Sequence[Item]) -> bool:
        """Replace the first items of a snapshot; False when the history has moved."""


def can_replace(session: object) -> bool:
    """Whether the history of ``session``, or of what it wraps, can be replaced in one step."""
    while isinstance(session, WrappedSession):
        session = session.session
    return isinstance(session, Replaceable)


def replaceable(session: object) -> Replaceable:
    """``session``, if its history can be replaced in one step. Raises :class:`InputError`."""
    if isinstance(session, Replaceable) and can_replace(session):
        return session
    raise InputError(
        f"{type(session).__name__} cannot replace its history in one step; use RedisSession, SQLiteSession, "
        "InMemorySession, or a wrapper of one of them"
    )


class WrappedSession:
    """A session around another: whatever a wrapper does not change goes to the inner one."""

    session_id: str

    def __init__(self, session: Session) -> None:
        self.session, self.session_id = session, session.session_id

    @property
    def session_settings(self) -> Any:
        """The settings of the inner session."""
        return getattr(self.session, "session_settings", None)

    @session_settings.setter
    def session_settings(self, value: object) -> None:
        setattr(self.session, "session_settings", value)  # noqa: B010  a foreign class need not declare it

    @property
    def corrupt_items(self) -> int:
        """The corrupt entries that the inner session has skipped."""
        return int(getattr(self.session, "corrupt_items", 0))

    async def get_items(self, limit: int | None = None) -> list[Item]:
        """All items, or the last ``limit``, oldest first."""
        return await self.session.get_items(limit)

    async def add_items(self, items: Sequence[Item]) -> None:
        """Append the items, all or none."""
        await self.session.add_items(items)

    async def pop_item(self) -> Item | None:
        """Take the newest item away."""
        return await self.session.pop_item()

    async def clear_session(self) -> None:
        """Delete everything."""
        await self.session.clear_session()

    async def set_items(self, items: Sequence[Item]) -> None:
        """Replace the whole history in one step. Raises :class:`InputError` when the inner session cannot."""
        await replaceable(self.session).set_items(items)

    async def snapshot(self) -> Snapshot:
        """The whole history. Raises as :meth:`set_items`."""
        return await replaceable(self.session).snapshot()

    async def replace_items(self, snapshot: Snapshot, count: int, items: Sequence[Item]) -> bool:
        """Replace the first ``count`` items of ``snapshot``; False when the history has moved."""
        return await replaceable(self.session).replace_items(snapshot, count, items)

    async def times(self) -> SessionTimes | None:
        """When the inner session was made and last written, if it knows."""
        found = getattr(self.session, "times", None)
        return None if found is None else await found()

    async def ping(self) -> bool:
        """Whether the storage answers; True for a session without ``ping``."""
        found = getattr(self.session, "ping", None)
        return True if found is None else bool(await found())

    async def close(self) -> None:
        """Close the inner session, if it can be closed."""
        if (found := getattr(self.session, "close", None)) is not None and (waiting := found()) is not None:
            await waiting

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()
