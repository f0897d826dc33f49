"""The blocking facade: one generic wrapper over the asynchronous runtime, on an event loop in a thread of its own."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Any

from anyio.from_thread import BlockingPortal, start_blocking_portal

if TYPE_CHECKING:
    from orchestra.cluster.runtime import Runtime


class SyncRuntime:
    """A context manager whose attributes are those of :class:`Runtime`, made blocking."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._stack = ExitStack()

    def __enter__(self) -> Any:
        with ExitStack() as stack:
            portal = stack.enter_context(start_blocking_portal())
            stack.enter_context(portal.wrap_async_context_manager(self._runtime))
            self._stack = stack.pop_all()
        return Blocking(self._runtime, portal)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)


class Blocking:
    """Wraps an object: coroutine functions block, async iterators become iterators, the rest stays."""

    def __init__(self, inner: object, portal: BlockingPortal) -> None:
        self._inner, self._portal = inner, portal

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._inner, name)
        if inspect.isasyncgenfunction(value):
            return lambda *args, **kwargs: self._iterate(value(*args, **kwargs))
        if inspect.iscoroutinefunction(value):
            return lambda *args, **kwargs: self._portal.call(_bound(value, args, kwargs))
        if inspect.ismethod(value):
            return lambda *args, **kwargs: self._wrapped(value(*args, **kwargs))
        return self._wrapped(value)

    def _wrapped(self, value: object) -> object:
        plain = value is None or isinstance(value, str | int | float | dict | list | tuple)
        return value if plain or not _has_coroutines(value) else Blocking(value, self._portal)

    def _iterate(self, items: AsyncGenerator[object, None]) -> Iterator[object]:
        try:
            while True:
                try:
                    yield self._portal.call(_bound(items.__anext__, (), {}))
                except StopAsyncIteration:
                    return
        finally:
            self._portal.call(items.aclose)


def _bound(function: Callable[..., Any], args: tuple[object, ...], kwargs: dict[str, object]) -> Callable[[], Any]:
    async def call() -> object:
        return await function(*args, **kwargs)

    return call


def _has_coroutines(value: object) -> bool:
    return any(
        inspect.iscoroutinefunction(member) or inspect.isasyncgenfunction(member)
        for name, member in inspect.getmembers(type(value))
        if not name.startswith("_")
    )
