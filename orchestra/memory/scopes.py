"""Which block a scope means in a run: references, and the ids derived from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

from orchestra.core.blocks import Block, Scope
from orchestra.core.errors import BlockScopeError
from orchestra.core.names import derived_id
from orchestra.store.definition_store import Attachment


@dataclass(frozen=True, slots=True)
class Place:
    """Where a run happens, as far as scopes ask."""

    agent: str
    session_id: str | None = None
    user_id: str | None = None


def scoped_ref(block: Block) -> str:
    """The reference of a declared block: ``@scope:label``."""
    return f"@{block.scope}:{block.label}"


def split_ref(ref: str) -> tuple[Scope, str] | None:
    """(scope, label) of a scoped reference; ``None`` for a block id."""
    if not ref.startswith("@"):
        return None
    scope, _, label = ref[1:].partition(":")
    return cast("Scope", scope), label


def owner_of(scope: Scope, label: str, place: Place) -> str:
    """Who owns the block of ``scope`` here. Raises :class:`BlockScopeError` when the run lacks what the scope needs."""
    if scope == "shared":
        return ""
    if scope == "agent":
        return place.agent
    owner = place.user_id if scope == "user" else place.session_id
    if owner is None:
        raise BlockScopeError(label, scope, "user_id" if scope == "user" else "session_id")
    return owner


@lru_cache(maxsize=4096)
def scoped_id(scope: Scope, label: str, owner: str) -> str:
    """The id of a scoped block: derived, so two hosts that make it at once make one."""
    return f"{label}-{derived_id('block', scope, label, owner)}"


def resolve(item: Attachment, place: Place) -> str:
    """The block id that an attachment means in a run."""
    found = split_ref(item.ref)
    if found is None:
        return item.ref
    scope, label = found
    return scoped_id(scope, label, owner_of(scope, label, place))


def resolve_all(items: Sequence[Attachment], place: Place) -> tuple[str, ...]:
    """:func:`resolve` for each."""
    return tuple(resolve(item, place) for item in items)
