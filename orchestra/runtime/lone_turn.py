"""A turn without a session: nothing is loaded but the agent, nothing is stored."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from orchestra.core.blocks import BlockView
from orchestra.core.events import Interrupted, RunStarted
from orchestra.core.result import RunResult
from orchestra.memory.state import StateValues
from orchestra.runtime.journal import BlockWatch
from orchestra.runtime.prompt import lone_prompt
from orchestra.runtime.resuming import carried
from orchestra.runtime.server_conversation import check_model
from orchestra.store.thread_store import Loadable, Wanted

if TYPE_CHECKING:
    from orchestra.runtime.serving import Serving


async def run_alone(serving: Serving) -> RunResult:
    """Serve it."""
    request, host = serving.request, serving.host
    fresh = await _looked_up(serving)
    loaded = serving.agent.defined().loaded
    if serving.may_refuse(loaded) and (refused := await serving.refused(loaded)) is not None:
        return refused
    check_model(loaded.model, request.conversation)
    blocks = serving.agent.run_blocks(fresh)
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


async def _looked_up(serving: Serving) -> tuple[BlockView, ...]:
    """The blocks that the cache lacks; the agent and what the cache has are checked by the server.

    The run above has asked for this agent too, when it began: a run without a session, with all that is below it, works
    with the definitions of one moment. Blocks may have changed meanwhile: an agent that has any asks again.
    """
    request, host, agent = serving.request, serving.host, serving.agent
    while True:
        cached, known, ids = agent.known()
        if cached is not None and not ids and serving.checked.get(request.agent) is cached:
            return ()
        digest, version = (cached.loaded.digest, cached.attachments.version) if cached else ("", "")
        further = {} if cached is None else agent.below(cached, serving.checked)
        found = await host.threads.load(
            Wanted(request.run_id, "", request.agent, "", host.id, digest, version, ids, known),
            [(name, one.loaded.digest, one.attachments.version) for name, one in further.items()],
        )
        if isinstance(found, Loadable):
            break
        await agent.catch_up(found, ids)
    serving.checked.update({name: further[name] for name in found.current})
    for block in found.blocks:
        host.caches.keep_block(block)
    return found.blocks
