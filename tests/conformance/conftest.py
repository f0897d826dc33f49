"""A session backend per parameter, and a place for its data that is checked and emptied afterwards."""

from __future__ import annotations

import re
import uuid
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis

from tests.conformance.session_backends import DIFFERENCES, Backend, Place
from tests.servers import Server


@pytest.fixture
async def place(server: Server, tmp_path: Path) -> AsyncIterator[Place]:
    """Clients, a folder and a key prefix; afterwards no key may stand outside the prefix or its own hash tag."""
    client, decoding = Redis.from_url(server.url), Redis.from_url(server.url, decode_responses=True)
    made = Place(server.url, client, decoding, tmp_path, f"conformance:{uuid.uuid4().hex[:8]}")
    yield made
    for session in made.made:
        if (closing := getattr(session, "close", lambda: None)()) is not None:
            await closing
    found = [key async for key in client.scan_iter(count=1000)]
    foreign = [key for key in found if made.prefix.encode() not in key]
    lasting = [key for key in found if re.search(rb"\}:ops[01]$", key) and await client.pttl(key) < 0]
    await client.flushdb()
    await client.aclose()
    await decoding.aclose()
    assert foreign == []
    assert lasting == []


@pytest.fixture
def backend(request: pytest.FixtureRequest) -> Backend:
    """The backend of this parameter; where it is known to differ the test has to fail."""
    made: Backend = request.param
    case = request.function.__name__.removeprefix("test_").split("_")[0]
    if reason := DIFFERENCES.get((made.name, case)):
        request.applymarker(pytest.mark.xfail(reason=reason, strict=True))
    return made


@pytest.fixture
def opened(backend: Backend, place: Place) -> Callable[..., Any]:
    """``opened(session_id, **options)``: a session of the backend, closed at the end."""

    def make(session_id: str = "s", **options: Any) -> Any:
        session = backend.make(place, session_id, **options)
        place.made.append(session)
        return session

    return make
