"""The two indexes of the archive, where the server has them."""

from __future__ import annotations

from typing import cast

import pytest

from orchestra.core.errors import StoreIncompatible
from orchestra.memory.search.archive import index_on
from orchestra.memory.search.passage_search import Index
from orchestra.store.connection import Store

INDEXES = ("scan", "vectorset")


async def index_or_skip(store: Store, wanted: str) -> Index:
    """The index, or the test is skipped: the server has none."""
    try:
        return await index_on(store, cast("Index", wanted))
    except StoreIncompatible:
        version = (await store.redis.info("server")).get("server_name", "redis")
        pytest.skip(f"this {version} has no vector sets (Redis 8 has)")
