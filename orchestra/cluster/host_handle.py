"""One host as a program sees it: its actor, its incarnation, the calls that wait for it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable
from typing import Literal, TypeVar, cast

import ray
from ray.exceptions import ActorDiedError, RayActorError, RayError, TaskCancelledError

from orchestra.cluster.host_actors import Actor, find
from orchestra.cluster.host_settings import HostSettings
from orchestra.cluster.host_status import HostStatus
from orchestra.core.errors import HostFull

T = TypeVar("T")

PING_SECONDS = 5.0
FIRST_PING_SECONDS = 0.3
RETURN_PAUSE = 0.1
CANCEL_SECONDS = 10.0


class HostLost(Exception):
    """The host did not answer and will not: it died, was declared dead, or cannot be reached.

    ``id`` is the incarnation that the call was sent to; the host may be back as another one by now.
    """

    def __init__(self, reason: str, id: str) -> None:
        super().__init__(reason)
        self.id = id


class HostHandle:
    """Owner: the dispatcher's event loop.

    ``up`` is set while calls may be sent. ``name`` is ``primary-0``, ``id`` its last known incarnation.
    """

    def __init__(self, settings: HostSettings, actor: Actor, status: HostStatus) -> None:
        self.name, self.actor, self.id = status.name, actor, status.id
        self.settings = settings
        self.up = asyncio.Event()
        self.up.set()
        self._waiting: set[asyncio.Future[object]] = set()

    async def ask(self, send: Callable[[Actor], ray.ObjectRef], run_id: str = "") -> bytes:
        """The answer of one call, for the run ``run_id``. Cancelled: so is the run, and its end is waited for.

        Raises:
            HostLost: there will be no answer.
            HostFull: too many calls wait for this host.
        """
        sent_to = self.id
        ref = self._send(send)
        try:
            return cast("bytes", await self._answer(ref, sent_to))
        except asyncio.CancelledError:
            await self._cancelled(ref, run_id)
            raise

    async def items(self, send: Callable[[Actor], ray.ObjectRefGenerator], run_id: str) -> AsyncGenerator[bytes, None]:
        """The items of a streaming call. Closed early or cancelled: as in :meth:`ask`. Raises as :meth:`ask`."""
        sent_to = self.id
        generator = self._send(send)
        ended = False
        try:
            while True:
                try:
                    ref = await self._next(generator, sent_to)
                except StopAsyncIteration:
                    ended = True
                    return
                yield cast("bytes", await self._answer(ref, sent_to))
        except HostLost:
            ended = True
            raise
        finally:
            if not ended:
                await self._cancelled(generator, run_id)

    async def _next(self, generator: ray.ObjectRefGenerator, sent_to: str) -> ray.ObjectRef:
        """The next reference, as soon as it is there or the host is lost."""
        lost: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        self._waiting.add(lost)
        coming = asyncio.ensure_future(anext(generator))
        try:
            await asyncio.wait({coming, lost}, return_when=asyncio.FIRST_COMPLETED)
            if coming.done():
                return coming.result()
            lost.result()
            raise HostLost("it was lost", sent_to)
        except RayError as error:
            raise _lost(error, sent_to) from None
        finally:
            self._waiting.discard(lost)
            if not coming.done():
                coming.cancel()
            if lost.done():
                lost.exception()

    def _send(self, send: Callable[[Actor], T]) -> T:
        try:
            return send(self.actor)
        except ray.exceptions.PendingCallsLimitExceeded:
            raise HostFull(self.id, "too many calls wait for it (hosts.max_pending); try again later") from None
        except RayActorError as error:
            raise HostLost(str(error), self.id) from None

    async def _answer(self, ref: ray.ObjectRef, sent_to: str) -> object:
        """The value, as soon as it is there or the host is lost."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[object] = loop.create_future()

        def settle(value: object, error: BaseException | None) -> None:
            if answer.done():
                return
            if error is None:
                answer.set_result(value)
            else:
                answer.set_exception(_lost(error, sent_to))

        def arrived(done: asyncio.Future[object]) -> None:  # on a thread of Ray's
            error = done.exception()
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(settle, None if error else done.result(), error)

        ref.future().add_done_callback(arrived)
        self._waiting.add(answer)
        try:
            return await answer
        finally:
            self._waiting.discard(answer)

    async def _cancelled(self, ref: ray.ObjectRef | ray.ObjectRefGenerator, run_id: str) -> None:
        """Cancel what was sent and wait for its end (the turn is being stored), though not for ever.

        In both ways: Ray's reaches a call that the host has not begun, ours one whose cancellation Ray has lost.
        """
        with contextlib.suppress(TimeoutError, HostLost, RayError):
            asked = self.actor.cancel.remote(run_id) if run_id else None
            ray.cancel(ref)
            if isinstance(ref, ray.ObjectRefGenerator):
                ref = ref.completed()
            async with asyncio.timeout(CANCEL_SECONDS):
                await self._answer(ref, self.id)
            del asked  # held until here: Ray may drop a call whose reference is gone

    def lost(self, reason: str) -> None:
        """Declare it lost: nothing is sent until it is back, and all who wait are told."""
        self.up.clear()
        waiting, self._waiting = self._waiting, set()
        for answer in waiting:
            if not answer.done():
                answer.set_exception(HostLost(reason, self.id))

    async def returned(self) -> None:
        """Wait until it answers again (Ray restarts it), as whatever incarnation; then ``up``."""
        patience = FIRST_PING_SECONDS
        while True:
            try:
                async with asyncio.timeout(patience):
                    status = cast("HostStatus", await self.actor.status.remote())
                if status.alive:
                    self.id = status.id
                    self.up.set()
                    return
            except ActorDiedError:
                found = await asyncio.to_thread(lambda: find(self.settings.namespace, self.name))
                self.actor = found or self.actor
            except (TimeoutError, RayError):
                pass
            # A call to an actor that is just being restarted may hang; one sent later is answered. But a busy machine
            # is slow, so each one gets more time than the one before.
            patience = min(PING_SECONDS, patience * 1.5)
            await asyncio.sleep(RETURN_PAUSE)

    async def tell(self, method: Literal["cancel", "forget"], *arguments: str) -> object:
        """The answer of a short call, or ``None`` when there is none: it is down, or does not answer in time."""
        if not self.up.is_set():
            return None
        try:
            async with asyncio.timeout(PING_SECONDS):
                return cast("object", await getattr(self.actor, method).remote(*arguments))
        except (TimeoutError, RayError):
            return None

    async def status(self) -> HostStatus | None:
        """What it tells now, or ``None`` when it does not answer in time."""
        try:
            async with asyncio.timeout(PING_SECONDS):
                return cast("HostStatus", await self.actor.status.remote())
        except (TimeoutError, RayError):
            return None


def _lost(error: BaseException, sent_to: str) -> BaseException:
    if isinstance(error, TaskCancelledError):
        return HostLost("the call was cancelled on the host", sent_to)
    if isinstance(error, RayError):
        lines = [line for line in str(error).splitlines() if line.strip()]
        return HostLost(lines[0] if lines else type(error).__name__, sent_to)
    return error
