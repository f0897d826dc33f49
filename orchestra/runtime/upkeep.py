"""What keeps a thread's context small: the check after each turn, and what an overflow asks for under way."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from orchestra.context.assembly import summarises
from orchestra.context.compaction import compaction_due
from orchestra.context.flush_gate import reserve_floor_of
from orchestra.context.gate import Gate
from orchestra.core.events import ContextDecided
from orchestra.runtime.caches import CachedThread
from orchestra.runtime.compactor import Compactor, with_record
from orchestra.runtime.prompt import Prompt
from orchestra.runtime.turn import Work
from orchestra.runtime.turn_context import TurnContext

if TYPE_CHECKING:
    from orchestra.runtime.host import Host


class Upkeep:
    """Of one thread on one host."""

    def __init__(self, host: Host, thread: str) -> None:
        self._host, self._thread = host, thread

    async def after(self, turn: Work, cached: CachedThread, edition: int) -> None:
        """The turn is stored: compact when it is due. The answer does not wait for it, unless ``block_stream`` says so.

        The host dies under way: nothing is recorded, and the check after the next turn, on any host, does it again.
        """
        context, prompt = turn.context, turn.context.prompt
        conversation = prompt.loaded.agent.conversation
        if not summarises(conversation) or prompt.assembled is None:
            return
        tokens = prompt.size(context.messages)
        gate = compaction_due(tokens, prompt.window, conversation.compaction, conversation.pressure)
        told = partial(context.tell, ContextDecided, part="compaction", tokens=tokens, window=prompt.window)
        if gate and (reason := self._why_later(prompt, cached, tokens)):
            gate = Gate(False, f"{gate.reason}; {reason}")
        if not gate:
            told(decision="no", reason=gate.reason)
            return
        compactor = self._compactor(prompt, cached, edition)
        if not conversation.compaction.block_stream:
            started = self._host.background.start(self._thread, lambda: compactor.compact(gate.reason))
            full = f"{gate.reason}; this host makes as many summaries as it may at once"
            told(decision="yes" if started else "no", reason=gate.reason if started else full)
            return
        told(decision="yes", reason=gate.reason)
        done = await compactor.compact(gate.reason)
        if done.record is None:
            told(decision="failed", reason=done.reason)

    def _why_later(self, prompt: Prompt, cached: CachedThread, tokens: int) -> str:
        """Why a compaction that is due waits for the next turn; empty when it does not."""
        if self._thread in self._host.background.working:
            return "a summary is being made already"
        if self._host.caches.threads.get(self._thread) is not cached or not cached.is_newest:
            return "another host has changed the record meanwhile"
        reserve = reserve_floor_of(prompt.window, prompt.loaded.agent.conversation.compaction.reserve_floor)
        if (
            prompt.can_flush
            and prompt.decided.flushed != prompt.decided.cycle
            and tokens <= prompt.window - reserve // 2
        ):
            return "the memory flush before the next turn comes first"
        return ""

    async def during(self, context: TurnContext, cached: CachedThread, edition: int, overflows: int) -> str:
        """The provider found the prompt too long: compact what was before this turn; what came of it."""
        prompt = context.prompt
        if not summarises(prompt.loaded.agent.conversation):
            return "no summaries are made; older turns are left out"
        done = await self._compactor(prompt, cached, edition).compact(
            "the provider found the prompt too long", harder=overflows
        )
        if done.record is None:
            return f"{done.reason}; older turns are left out"
        prompt.decided = with_record(prompt.decided, done.record)
        return f"a summary stands for all up to message {done.record.upto_seq} now"

    def _compactor(self, prompt: Prompt, cached: CachedThread, edition: int) -> Compactor:
        # The prompt's decisions, not the cached ones: those do not know of a summary that this turn has made.
        loaded, decided = prompt.loaded, prompt.decided
        return Compactor(self._host, loaded, self._thread, cached.view, decided, edition=edition, fixed=prompt.fixed)
