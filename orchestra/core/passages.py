"""What the archive and recall give back, and what they are asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, TypeVar

from orchestra.core.messages import Role
from orchestra.core.span import ALWAYS, Span

TagMode: TypeAlias = Literal["any", "all"]
MAX_RESULTS = 1000
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage of the archive. It belongs to ``agent``, and to ``user_id`` when there is one. Times: Unix seconds.

    ``source`` says where it comes from, as JSON text, or is empty.
    """

    id: str
    text: str
    agent: str
    user_id: str | None = None
    tags: tuple[str, ...] = ()
    source: str = ""
    created_at: float = 0.0
    updated_at: float = 0.0


@dataclass(frozen=True, slots=True)
class PassageHit:
    """A passage that was found. ``score``: the cosine of the angle by meaning; by words it only orders one answer."""

    passage: Passage
    score: float
    by: Literal["meaning", "words"]


@dataclass(frozen=True, slots=True)
class Utterance:
    """Something that was said, as recall found it. ``at`` is Unix seconds; ``score`` only orders one answer."""

    text: str
    role: Role
    agent: str
    session_id: str
    seq: int
    turn: int
    at: float
    score: float = 0.0


class Page(list[T]):
    """One page of what was found, best first. ``cursor`` leads to the next one, which shares nothing with it.

    ``None``: there is no next one. Pages of one search show the archive as it was at its first page.
    """

    cursor: str | None = None

    @classmethod
    def of(cls, items: list[T], cursor: str | None) -> Page[T]:
        """A page with its cursor."""
        made = cls(items)
        made.cursor = cursor
        return made


@dataclass(frozen=True, slots=True)
class PassageQuery:
    """A search of the archive: the agent's own passages and, with ``user_id``, this user's."""

    agent: str
    text: str
    user_id: str | None = None
    tags: tuple[str, ...] = ()
    tag_match_mode: TagMode = "any"
    limit: int = 10
    span: Span = ALWAYS
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class RecallQuery:
    """A search of what was said to and by ``agent``, in the threads that ``scope`` means.

    ``user``: this user's sessions, and without a user this session. ``session``: this one. ``agent``: all of them.
    """

    agent: str
    text: str
    session_id: str | None = None
    user_id: str | None = None
    scope: Literal["session", "user", "agent"] = "user"
    roles: tuple[Role, ...] = ()
    limit: int = 10
    span: Span = ALWAYS
    cursor: str | None = None
