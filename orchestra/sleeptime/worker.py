"""The worker of a sleep-time host: waits for due threads, claims them, does their passes."""

from __future__ import annotations

import asyncio
import contextlib
import random
import uuid
from collections.abc import Coroutine

from orchestra.core.agent import Sleeptime
from orchestra.core.errors import Fenced, OrchestraError, SleeptimeError, StoreUnavailable, UnknownName
from orchestra.core.failpoints import failpoint
from orchestra.core.model import Model
from orchestra.core.names import split_thread
from orchestra.models.registry import resolve
from orchestra.models.scripted import ScriptedModel
from orchestra.runtime.caches import CachedAgent
from orchestra.runtime.definition import Loaded, load_agent
from orchestra.runtime.host import Host
from orchestra.sleeptime.closing import Closing, leased
from orchestra.sleeptime.extractive_consolidator import ExtractiveConsolidator
from orchestra.sleeptime.llm_consolidator import LlmConsolidator
from orchestra.sleeptime.passes import Pass
from orchestra.sleeptime.replay_consolidator import ReplayConsolidator
from orchestra.sleeptime.summaries import summarizer_for
from orchestra.sleeptime.work import Consolidator
from orchestra.store.closing_store import ClosingStore
from orchestra.store.definition_store import DefinitionStore
from orchestra.store.event_store import EventFeed
from orchestra.store.pass_store import Claim, PassStore

POLL_SECONDS = 1.0


class SleepWorker:
    """Does passes on one host, at most ``at_once`` at a time. A failing or slow pass delays no turn and no other pass.

    ``backoff`` is the pause in seconds before the second try; it doubles with each further one. A pass whose blocks
    others kept publishing is done again after a random part of it, and that counts as no try.
    """

    def __init__(self, host: Host, *, at_once: int = 8, backoff: float = 2.0, lease_ms: int | None = None) -> None:
        self.host, self._backoff = host, backoff
        self._passes = PassStore(host.store, lease_ms=lease_ms or host.hosts.life_ms * 3 // 2)
        self._closings = ClosingStore(host.store, lease_ms=self._passes.lease_ms)
        self._definitions = DefinitionStore(host.store)
        self._places = asyncio.Semaphore(at_once)
        self._running: dict[str, asyncio.Task[None]] = {}
        self._loop: asyncio.Task[None] | None = None
        self._stopping = False

    async def start(self) -> None:
        """Begin to look for due threads."""
        self._loop = asyncio.create_task(self._forever(), name=f"sleep-time worker of {self.host.id}")

    async def stop(self) -> None:
        """Stop; passes that are under way are given up, another worker will do them."""
        self._stopping = True
        waiting = {task for task in (self._loop, *self._running.values()) if task is not None}
        while waiting:
            for task in waiting:
                task.cancel()
            # A client library may swallow a cancellation while it reads, so it is asked again until it has ended.
            _, waiting = await asyncio.wait(waiting, timeout=0.1)

    async def _forever(self) -> None:
        feed = EventFeed(self.host.store, self.host.store.keys.wake)
        last = "$"
        try:
            while not self._stopping:
                try:
                    if last == "$":
                        last = await feed.latest()
                    pause = await self._start_due()
                    # Woken by a turn or pass that made one due; a lease that ends is found by looking again.
                    events = await feed.wait(last, seconds=pause)
                    last = events[-1]["id"] if events else last
                except (StoreUnavailable, OSError):
                    await asyncio.sleep(POLL_SECONDS)
        finally:
            await feed.close()

    async def _start_due(self) -> float:
        """Start the passes that are due; seconds until it is worth looking again without an event."""
        ready, later = await self._passes.due()
        for thread in ready:
            self._start(f"pass of {thread}", self._one(thread))
        for thread in await self._closings.due():
            self._start(f"closing of {thread}", self._close(thread))
        return POLL_SECONDS if later is None else min(POLL_SECONDS, max(0.01, later))

    def _start(self, name: str, work: Coroutine[None, None, None]) -> None:
        if name in self._running:
            work.close()
            return
        self._running[name] = task = asyncio.create_task(work, name=name)
        task.add_done_callback(lambda _: self._running.pop(name, None))

    async def _close(self, thread: str) -> None:
        """Close a session that was asked for, or whose time has come."""
        async with self._places:
            claim = await self._closings.claim(thread, self.host.id, uuid.uuid4().hex)
            if claim is None:
                return
            failpoint("closing.claimed")
            try:
                loaded = (await self._agent(thread)).loaded
                sleeptime = loaded.agent.sleeptime or Sleeptime()
                skip = await self._over_budget(thread, sleeptime)
                if loaded.agent.archive is False:
                    skip = "archive: false leaves no summaries"
                if skip:
                    await self._closings.give_back(claim, skip, reason="skip")
                    return
                one = Closing(self.host.store, claim, loaded, summarizer_for(loaded))
                async with asyncio.timeout(sleeptime.timeout):
                    done = await leased(one, self._closings, self.host.id)
                if not done:
                    await self._closings.give_back(claim, "the log was changed meanwhile", reason="again")
            except (Fenced, StoreUnavailable):
                return  # another worker has it, or will have it when the lease ends
            except asyncio.CancelledError:
                await self._closings.give_back(claim, "the worker stopped", max_tries=99, reason="again")
                raise
            except UnknownName as error:
                await self._closings.give_back(claim, str(error), reason="skip")
            except Exception as error:
                problem = str(error) if isinstance(error, OrchestraError) else f"{type(error).__name__}: {error}"
                pause = min(60_000, int(self._backoff * 1000 * 2**claim.tries))
                await self._closings.give_back(claim, problem, backoff_ms=pause)

    async def _one(self, thread: str) -> None:
        async with self._places:
            claim = await self._passes.claim(thread, self.host.id, uuid.uuid4().hex)
            if claim is None:
                return
            failpoint("pass.claimed")
            max_tries, rule = 3, ""
            try:
                cached = await self._agent(thread)
                sleeptime = cached.loaded.agent.sleeptime
                if sleeptime is None or sleeptime.every is None:
                    await self._passes.fail(
                        claim, "memory does not sleep any more", max_tries=1, backoff_ms=0, reason="skip"
                    )
                    return
                max_tries, rule = sleeptime.max_tries, sleeptime.rule
                await self._leased(claim, cached, sleeptime)
            except (Fenced, StoreUnavailable):
                return  # another worker has it, or will have it when the lease ends
            except asyncio.CancelledError:
                # This worker stops: another one may do the pass at once, and it has not failed.
                stopped = "the worker stopped"
                await self._passes.fail(claim, stopped, max_tries=max_tries + 99, backoff_ms=0, reason="again")
                raise
            except UnknownName as error:
                await self._passes.fail(claim, str(error), max_tries=1, backoff_ms=0, reason="skip")
            except Exception as error:
                problem = str(error) if isinstance(error, OrchestraError) else f"{type(error).__name__}: {error}"
                pause = min(60_000, int(self._backoff * 1000 * 2**claim.tries))
                await self._passes.fail(claim, problem, max_tries=max_tries, backoff_ms=pause, rule=rule)

    async def _leased(self, claim: Claim, cached: CachedAgent, sleeptime: Sleeptime) -> None:
        """Do the pass while its lease is renewed, for ``sleeptime.timeout`` seconds at most.

        After that it is wedged: its lease ends, and somebody else may try.
        """
        if skip := await self._over_budget(claim.thread, sleeptime):
            await self._passes.fail(claim, skip, max_tries=1, backoff_ms=0, reason="skip", rule=sleeptime.rule)
            return
        status = await self._passes.status(claim.thread)
        one = Pass(
            *(self.host.store, claim, sleeptime, cached.attachments, self._consolidator(cached.loaded, sleeptime)),
            archive=cached.loaded.agent.archive is not False,
            hooks=cached.loaded.hooks,
        )
        try:
            async with asyncio.TaskGroup() as group:
                renewing = group.create_task(self._renew(claim))
                try:
                    async with asyncio.timeout(sleeptime.timeout):
                        outcome = await one.work(int(status.get("calls", 0)))
                except TimeoutError:
                    raise SleeptimeError(claim.thread, f"it took longer than {sleeptime.timeout:g} s") from None
                finally:
                    renewing.cancel()
        except ExceptionGroup as raised:
            raise raised.exceptions[0] from None  # what the pass raised, so that its error says what was wrong
        if outcome == "edited":
            await self._passes.fail(claim, "the log was changed meanwhile", max_tries=99, backoff_ms=0, reason="again")
        elif outcome == "moved":
            # Not at once, nor all at the same time: those who lost to each other would meet again.
            pause = int(self._backoff * 1000 * random.uniform(0.1, 1.0))
            problem = "its blocks were published by others each time before it"
            await self._passes.fail(claim, problem, max_tries=99, backoff_ms=pause, reason="again")

    async def _renew(self, claim: Claim) -> None:
        with contextlib.suppress(asyncio.CancelledError):
            while True:
                await asyncio.sleep(self._passes.lease_ms / 3000)
                if not await self._passes.renew(claim):
                    return

    async def _over_budget(self, thread: str, sleeptime: Sleeptime) -> str:
        budget = sleeptime.budget
        if budget.tokens_per_session is None and budget.tokens_per_day is None:
            return ""
        used = int((await self._passes.status(thread)).get("tokens", 0))
        if budget.tokens_per_session is not None and used >= budget.tokens_per_session:
            return f"budget reached: tokens_per_session={budget.tokens_per_session}"
        if budget.tokens_per_day is not None:
            today = await self._passes.spent_today(split_thread(thread)[0])
            if today >= budget.tokens_per_day:
                return f"budget reached: tokens_per_day={budget.tokens_per_day}"
        return ""

    async def _agent(self, thread: str) -> CachedAgent:
        """The agent's definition and attachments as they are now."""
        name, _ = split_thread(thread)
        text, digest = await self._definitions.get(name)
        attachments = await self._definitions.attachments(name)
        known = self.host.caches.agents.get(name)
        if known is not None and known.loaded.digest == digest:
            loaded = known.loaded
        else:
            loaded = await asyncio.to_thread(load_agent, text, digest, self.host.functions)
        cached = CachedAgent(loaded, attachments, loaded.size)
        self.host.caches.keep_agent(name, cached)
        return cached

    @staticmethod
    def _consolidator(loaded: Loaded, sleeptime: Sleeptime) -> Consolidator:
        return consolidator_for(loaded.sleep_model, sleeptime)


def consolidator_for(model: Model | str, sleeptime: Sleeptime) -> Consolidator:
    """The consolidator that a definition asks for; ``auto`` is the model where one is configured, else extractive."""
    if sleeptime.consolidator == "extractive":
        return ExtractiveConsolidator()
    if sleeptime.consolidator == "replay":
        return ReplayConsolidator(sleeptime.script or "")
    options = {"instructions": sleeptime.instructions, "max_steps": sleeptime.max_steps}
    if sleeptime.consolidator == "scripted":
        scripted = resolve(f"scripted:{sleeptime.script}") if sleeptime.script else resolve(model)
        return LlmConsolidator(scripted, name="scripted", **options)  # type: ignore[arg-type]
    found = resolve(model)
    if sleeptime.consolidator == "auto" and found.name == "extractive":
        return ExtractiveConsolidator()
    return LlmConsolidator(found, name="scripted" if isinstance(found, ScriptedModel) else "llm", **options)  # type: ignore[arg-type]
