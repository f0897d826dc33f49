"""A turn without a session: nothing is loaded but the agent, nothing is stored."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from orchestra.core.events import Interrupted, RunStarted
from orchestra.core.result import RunResult
from orchestra.memory.state import StateValues
from orchestra.runtime.journal import BlockWatch
from orchestra.runtime.prompt import lone_prompt
from orchestra.runtime.resuming import carried
from orchestra.runtime.server_conversation import check_model
from orchestra.store.thread_store import Wanted

if TYPE_CHECKING:
    from orchestra.runtime.serving import Serving


async def run_alone(serving: Serving) -> RunResult:
    """Serve it."""
    request, host = serving.request, serving.host
    while True:
        cached, known, ids = serving.agent.known()
        digest, version = (cached.loaded.digest, cached.attachments.version) if cached else ("", "")
        found = await host.threads.load(
            Wanted(request.run_id, "", request.agent, "", host.id, digest, version, ids, known)
        )
        if isinstance(found, tuple):
            break
        await serving.agent.catch_up(found, ids)
    for block in found:
        host.caches.keep_block(block)
    loaded = serving.agent.defined().loaded
    check_model(loaded.model, request.conversation)
    blocks = serving.agent.run_blocks(found)
    journal = BlockWatch(blocks, request.carried)
    state = StateValues({})
    # A child that is visited again goes on with its own part of the run, which its caller has kept.
    calls = sum(message.role == "assistant" for message in request.history) if request.lineage else 0
    context = serving.make(loaded, blocks, state, lone_prompt(loaded, request.history, request.user_id), calls)
    context.tell(RunStarted, session_id=None, turn=1)
    turn = serving.work(context, journal, state, bool(request.carried))
    outcome, interrupted = await serving.watched(turn)
    if interrupted:
        raise asyncio.CancelledError
    result = turn.result(outcome, turn.finished_messages(outcome), turn=1, host=host.id)
    if outcome.status == "interrupted":
        if request.lineage is None:
            for one in outcome.interrupts:
                context.tell(Interrupted, interrupt=one)
        kept = {**request.carried, **journal.unstored(), **context.questions.marks}
        return replace(result, carried=carried(request, kept))
    await context.hooks.tell("after_run", result)
    return result
