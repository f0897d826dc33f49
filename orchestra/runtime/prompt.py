"""The prompt of one turn: what the pure functions of the context make of log, blocks and decisions, call by call."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, cast

from orchestra.context.assembly import Assembled, Surroundings, assemble, before_preprocessors
from orchestra.context.blocks import render
from orchestra.context.decisions import (
    NO_DECISIONS,
    Decisions,
    LastCall,
    pinned_from,
    pinned_text,
    pruned_from,
    pruned_text,
)
from orchestra.context.memory_update import notes_too_large, pinned_notes
from orchestra.context.offload import RETRIEVE
from orchestra.context.preprocessors import applied
from orchestra.context.size import current_tokens
from orchestra.context.view import LogView
from orchestra.context.zones import Tier, fixed_instructions
from orchestra.core.blocks import BlockView
from orchestra.core.errors import ContextOverflow
from orchestra.core.jsontext import Json, dumps
from orchestra.core.messages import Message, Meta, as_messages
from orchestra.core.model import ModelReply, ModelRequest, ToolSpec, Usage
from orchestra.core.own_thread import in_own_thread
from orchestra.core.tokens import message_tokens, text_tokens
from orchestra.runtime.definition import Loaded
from orchestra.runtime.memory_files import FILE_TOOL

if TYPE_CHECKING:
    from orchestra.runtime.turn_context import TurnContext


@dataclass(slots=True)
class Prompt:
    """Owner: the turn. ``decided`` starts as the record says and is what the turn's commit writes.

    ``edition`` and ``seq`` are those of the log when the turn began. ``tokens`` is the size of the last prompt, by
    the provider's own count where it gives one, with the reply and what came after. ``can_flush``: the agent gets a
    memory flush in each cycle.
    """

    loaded: Loaded
    log: LogView
    decided: Decisions
    window: int
    user_id: str | None = None
    edition: int = 0
    seq: int = 0
    stored: bool = True
    clock: Callable[[], float] = time.time
    squeeze: float = 1.0
    can_flush: bool = False
    noticed: int | None = None
    notices: tuple[str, ...] = ()
    tokens: int = 0
    fixed: int = 0
    assembled: Assembled | None = None
    told_notes: tuple[str, ...] = ()
    told: list[tuple[str, str, str]] = field(default_factory=list)
    _before: Decisions = field(init=False)
    _last_call: float | None = field(init=False)
    _system: tuple[tuple[BlockView, ...] | None, str, int] | None = field(default=None, init=False)
    _tools: tuple[tuple[ToolSpec, ...], int] | None = field(default=None, init=False)
    _preprocessed: tuple[list[Message], Sequence[Message]] | None = field(default=None, init=False)
    _taken: list[Message] = field(default_factory=list, init=False)
    _turn: list[Message] = field(default_factory=list, init=False)
    _turn_tokens: int = field(default=0, init=False)
    _noted: Usage | None = field(default=None, init=False)
    _noted_at: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        """What the record says."""
        self._before = self.decided
        if self.decided.call is not None:
            self._last_call, self.noticed = self.decided.call.at, self.decided.call.noticed
        else:
            self._last_call = None

    # --- the request ----------------------------------------------------------------------------------------------

    async def prepare(self) -> None:
        """Apply the agent's preprocessors, in a thread: they may take their time, and the host has others to serve.

        Once for each history: the calls of a turn are shown the same one, in front of what the turn has added. A
        turn that is cancelled meanwhile leaves the thread to itself; it works on copies.
        """
        if self.loaded.preprocessors:
            history = before_preprocessors(self.log, self.decided)
            if self._preprocessed is None or self._preprocessed[0] != history:
                history = list(history)
                self._preprocessed = history, await in_own_thread(applied, self.loaded.preprocessors, history)

    def _preprocess(self, history: Sequence[Message]) -> Sequence[Message]:
        """What came of it in :meth:`prepare`, and for a report, which has no turn, what comes of it now."""
        if self._preprocessed is None or self._preprocessed[0] != history:
            return applied(self.loaded.preprocessors, history)
        given, made = self._preprocessed
        return history if made is given else made

    def request(self, context: TurnContext, *, unsent: Sequence[Message] | None = None) -> ModelRequest:
        """What the model is shown now. ``unsent``: only this, since the provider has the rest.

        Raises:
            ContextOverflow: instructions, blocks and tools alone are larger than the window.
        """
        agent, now = self.loaded.agent, self.clock()
        kept = context.request.conversation is not None
        text, notes = self.opening(context.blocks.ordered, context.specs, now, fresh=kept)
        system = (Message("system", text),) if text else ()
        if self.fixed >= self.window:
            problem = (
                f"instructions, blocks and tools alone take {self.fixed} tokens and its window is {self.window}; "
                "shorten them or choose a model with a larger window"
            )
            raise ContextOverflow(context.loaded.model.name, problem)
        shown: Sequence[Message]
        if unsent is not None:
            shown = unsent
        else:
            made = self.history(self._numbered(context.messages), notes, now)
            self._decide_pruning(made)
            shown = self._merged(made, len(context.request.input))
        self.told_notes = notes
        return ModelRequest(
            (*system, *_with_notes(shown, notes)),
            context.specs,
            agent.model_settings,
            call_number=context.calls_before + len(context.replies),
        )

    def opening(
        self, blocks: list[BlockView], specs: tuple[ToolSpec, ...], now: float, *, fresh: bool = False
    ) -> tuple[str, tuple[str, ...]]:
        """(The system text, notes about edits since it was pinned). Its tokens, with the tools', are ``fixed`` then."""
        pinned, notes = self._blocks(blocks, now, fresh=fresh)
        text, size = self._system_text(pinned, specs)
        self.fixed = size + self._tools_tokens(specs)
        return text, (*notes, *self.notices)

    def history(self, turn: Sequence[Message], notes: Sequence[str], now: float) -> Assembled:
        """What is shown of the log and of this turn; the estimate of all of it is in ``tokens`` then."""
        noted = sum(map(text_tokens, notes))
        around = Surroundings(
            *(self.window, self.fixed + noted, now, self._last_call, self.user_id),
            *(self._preprocess if self.loaded.preprocessors else None, self.squeeze),
            turn_tokens=self._turn_tokens if turn is self._turn else None,
        )
        conversation = self.loaded.agent.conversation
        made = assemble(self.log, turn, decided=self.decided, conversation=conversation, around=around)
        self.assembled, self.tokens = made, self.fixed + noted + made.tokens
        return made

    def _numbered(self, messages: Sequence[Message]) -> Sequence[Message]:
        """This turn's messages with the numbers that they will have in the log, so that decisions can name them.

        They are kept from call to call with their estimate, since a turn only grows: else each call would cost as much
        as all the calls before it.
        """
        kept = len(self._taken)
        if self._taken != list(messages[:kept]):
            self._taken, self._turn, self._turn_tokens, kept = [], [], 0, 0
        for number, message in enumerate(messages[kept:], kept + 1):
            self._taken.append(message)
            if self.stored and not message.meta.seq:
                message = message.with_meta(replace(message.meta, seq=self.seq + number))
            self._turn.append(message)
            self._turn_tokens += message_tokens(message)
        return self._turn

    def _merged(self, made: Assembled, count: int) -> Sequence[Message]:
        """History and this turn, joined by the agent's ``session_input_callback`` when it has one.

        The callback gets copies and shapes only what is shown: what is stored is this turn, whatever it returns.
        """
        merge = self.loaded.merge
        if merge is None:
            return [*made.history, *made.turn]
        joined = merge(deepcopy(list(made.history)), deepcopy(list(made.turn[:count])))
        return (*as_messages(list(joined)), *made.turn[count:])

    def _system_text(self, blocks: tuple[BlockView, ...], specs: tuple[ToolSpec, ...]) -> tuple[str, int]:
        if self._system is None or self._system[0] is not blocks:
            agent = self.loaded.agent
            zones = _zones(blocks, specs) if agent.conversation.pressure is not None else ""
            parts = [part for part in (render(blocks), self.decided.bootstrap, zones, agent.instructions) if part]
            self._system = (blocks, "\n\n".join(parts), sum(map(text_tokens, parts)))
        return self._system[1], self._system[2]

    def system_sizes(self, blocks: Sequence[BlockView]) -> dict[str, int]:
        """Tokens of the pieces of the system text, for a report."""
        return {
            "blocks": text_tokens(render(blocks)),
            "files": text_tokens(self.decided.bootstrap or ""),
            "instructions": text_tokens(self.loaded.agent.instructions),
        }

    @staticmethod
    def why(made: Assembled) -> str:
        """Why results are shortened, or not, for people."""
        return _WHY_NOT.get(
            made.prune_reason, "the window is full and the cache is cold: old tool results are shortened"
        )

    def _tools_tokens(self, specs: tuple[ToolSpec, ...]) -> int:
        if self._tools is None or self._tools[0] is not specs:
            self._tools = (specs, sum(map(self._spec_tokens, specs)))
        return self._tools[1]

    def _spec_tokens(self, spec: ToolSpec) -> int:
        """Its size, kept with the definition.

        A tool of one name is not always described alike (with ``request_heartbeat``, or to whom it hands over): a size
        that depends on what this host has served before would make prompts that do.
        """
        known = self.loaded.spec_sizes.get(spec.name)
        if known is None or known[0] != spec:
            known = self.loaded.spec_sizes[spec.name] = (spec, spec_tokens(spec))
        return known[1]

    # --- decisions ------------------------------------------------------------------------------------------------

    def _blocks(
        self, blocks: list[BlockView], now: float, *, fresh: bool
    ) -> tuple[tuple[BlockView, ...], tuple[str, ...]]:
        """The blocks as the prompt's beginning shows them, and the note of what was edited since."""
        conversation, decided = self.loaded.agent.conversation, self.decided
        if fresh or conversation.blocks_in_prompt == "fresh":
            return tuple(blocks), ()
        pinned = decided.pinned
        if pinned is not None:
            notes = pinned_notes(pinned, blocks)
            if not notes:
                return pinned, ()
            if _names(pinned) != _names(blocks):
                # What an agent may not see any more must not stand there as a note that it is gone.
                reason = "a block was attached, detached or renamed"
            elif decided.pinned_cycle != decided.cycle:
                reason = "a summary has changed what is in front of the messages anyway"
            elif self._last_call is None or now - self._last_call >= conversation.pruning.ttl:
                reason = "the provider's cache has gone cold anyway"
            elif notes_too_large(notes, conversation.notes_tokens):
                reason = f"the notes about their edits are larger than {conversation.notes_tokens} tokens"
            else:
                return pinned, (notes,)
            self.told.append(("blocks", "yes", f"rendered afresh: {reason}"))
        pinned = tuple(blocks)
        self.decided = replace(decided, pinned=pinned, pinned_cycle=decided.cycle)
        return pinned, ()

    def _decide_pruning(self, made: Assembled) -> None:
        if made.pruned is not self.decided.pruned:
            before = self.decided.pruned
            self.decided = replace(self.decided, pruned=made.pruned)
            new = [decision for seq, decision in made.pruned.items() if before.get(seq) != decision]
            trimmed, gone = new.count("trim"), new.count("clear")
            self.told.append(("pruning", "yes", f"{trimmed} old tool results shortened, {gone} left out"))
        elif made.prune_reason != "disabled":
            self.told.append(("pruning", "no", _WHY_NOT[made.prune_reason]))
        for left in made.left_out:
            if left.part == "older turns" and left.reason.endswith("free for history"):
                self.told.append(("fit", "yes", f"{left.messages} messages of older turns left out: {left.reason}"))

    def journaled(self) -> Json:
        """What this turn has decided so far, kept with a reply: another host that goes on makes the same prompts."""
        out: dict[str, Json] = {}
        if self.decided.pruned is not self._before.pruned:
            out["pruned"] = pruned_text(self.decided.pruned, self.decided.upto)
        now, before = self.decided, self._before
        if now.pinned is not before.pinned or now.bootstrap is not before.bootstrap:
            out["pinned"] = pinned_text(now)
        return out

    def replay(self, value: Json) -> None:
        """Take over what an earlier attempt at this turn had decided."""
        known = cast("Mapping[str, str]", value or {})
        if "pruned" in known:
            self.decided = replace(self.decided, pruned=pruned_from(known["pruned"]))
        if "pinned" in known:
            pinned, cycle, bootstrap = pinned_from(known["pinned"])
            self.decided = replace(self.decided, pinned=pinned, pinned_cycle=cycle, bootstrap=bootstrap)

    # --- sizes ----------------------------------------------------------------------------------------------------

    def replied(self, reply: ModelReply, count: int) -> None:
        """A model call has ended; ``count`` messages of this turn were there before the reply."""
        self._last_call = self.clock()
        self._noted, self._noted_at = reply.usage, count + 1
        if reply.usage.input_tokens > 0:
            self.tokens = reply.usage.total_tokens
        else:
            self.tokens += message_tokens(reply.message)

    def size(self, messages: Sequence[Message]) -> int:
        """The size of the context after this turn's ``messages``, with the older turns that did not fit any more."""
        unfitted = self.assembled.unfitted if self.assembled is not None else 0
        if self._noted is None:
            return self.tokens + unfitted
        return self.tokens + unfitted + sum(map(message_tokens, messages[self._noted_at :]))

    def size_before(self, messages: Sequence[Message], specs: tuple[ToolSpec, ...], blocks: list[BlockView]) -> int:
        """The size of the context when the turn begins: its input comes on top of what the record knows."""
        call = self.decided.call
        new = sum(map(message_tokens, messages))
        if call is not None and call.tokens > 0 and (call.cycle, call.edition) == (self.decided.cycle, self.edition):
            return current_tokens(Usage(call.tokens), self.log.tokens_after(call.seq) + new, 0)
        start = self.log.beginning(self.decided.upto)
        history = self.log.sums[-1] - self.log.sums[start]
        if self.decided.summary is not None:
            history += text_tokens(self.decided.summary.summary)
        pinned = self.decided.pinned if self.decided.pinned is not None else tuple(blocks)
        return self._system_text(pinned, specs)[1] + self._tools_tokens(specs) + history + new

    def notes(self, done: bool, edition: int, stored: int) -> tuple[str, str, str]:
        """(The last call, what was pruned, pinned blocks) for the commit; empty where it stays as it is.

        ``decided`` is then what is recorded. Of this turn's messages ``stored`` go into the log: the numbers of the
        others are those of the next turn's messages, of which nothing is decided. When the log was edited while the
        turn ran (``edition`` is another one), none of them has the number that it was decided under.
        """
        if self.decided.pruned is not self._before.pruned:
            last = self.seq + (stored if edition == self.edition else 0)
            kept = {seq: made for seq, made in self.decided.pruned.items() if seq <= last}
            if len(kept) < len(self.decided.pruned):
                self.decided = replace(self.decided, pruned=kept)
        if self._noted is not None and self._last_call is not None:
            tokens = self._noted.total_tokens if done and self._noted.input_tokens > 0 else 0
            noticed = self.noticed
            at, seq = round(self._last_call, 3), self.seq + self._noted_at
            self.decided = replace(
                self.decided, call=LastCall(at, tokens, seq, self.decided.cycle, self.edition, noticed)
            )
        call = self.decided.call.to_text() if self.decided.call is not self._before.call and self.decided.call else ""
        made = cast("Mapping[str, str]", self.journaled())
        return call, made.get("pruned", ""), made.get("pinned", "")


def lone_prompt(loaded: Loaded, history: Sequence[Message] = (), user_id: str | None = None) -> Prompt:
    """The prompt of a run without a record: ``history`` is all that was said before."""
    log = LogView()
    for message in history:
        log.add(message, message_tokens(message))
    return Prompt(loaded, log, NO_DECISIONS, loaded.window_tokens, user_id, stored=False)


def spec_tokens(spec: ToolSpec) -> int:
    """Estimated tokens of a tool's description."""
    return text_tokens(spec.name + spec.description + dumps(dict(spec.parameters)))


_WHY_NOT = {
    "warm": "the provider's cache is still warm",
    "nothing_eligible": "there is no old tool result",
    "below_soft": "the window is not full enough",
    "nothing_over": "there is nothing to gain",
    "disabled": "pruning is off",
}


def _zones(blocks: Sequence[BlockView], specs: Sequence[ToolSpec]) -> str:
    """What explains the tiers of memory to an agent that is told of memory pressure."""
    tools = {spec.name for spec in specs}
    there: dict[Tier, bool] = {
        "blocks": bool(blocks),
        "recall": "conversation_search" in tools,
        "archive": "archival_memory_search" in tools,
        "files": FILE_TOOL.name in tools,
        "offloaded": RETRIEVE in tools,
    }
    return fixed_instructions([tier for tier, is_there in there.items() if is_there], tools=tools)


def _names(blocks: Sequence[BlockView]) -> list[tuple[str, str, str]]:
    return [(block.id, block.born, block.label) for block in blocks]


def _with_notes(messages: Sequence[Message], notes: Sequence[str]) -> Sequence[Message]:
    """``messages`` with the notes before the newest one; a call and its results stay together."""
    if not notes:
        return messages
    at = len(messages) - 1
    while at > 0 and messages[at].role == "tool":
        at -= 1
    at = max(at, 0)
    made = [Message("user", note, meta=Meta(synthetic=True)) for note in notes]
    return [*messages[:at], *made, *messages[at:]]
