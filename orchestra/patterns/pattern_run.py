"""One run of a swarm or a graph on a host: the engine, with child runs as its nodes and a journal that keeps them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from orchestra.core.errors import DefinitionChanged, Fenced, InputError, LimitReached, StoreUnavailable
from orchestra.core.events import HandedOff, NodeEnded, NodeStarted
from orchestra.core.failpoints import failpoint
from orchestra.core.graph import Graph
from orchestra.core.guardrails import GuardrailResult
from orchestra.core.handoff import Handoff, handoff_in
from orchestra.core.interrupts import Interrupt, InterruptView, Reject, response_from_json
from orchestra.core.jsontext import Json, dumps, loads
from orchestra.core.messages import Message, ToolCall
from orchestra.core.model import Usage
from orchestra.core.result import RunResult
from orchestra.core.swarm import Swarm
from orchestra.patterns.engine import Approval, NodeEnd, NodeStart, execute
from orchestra.patterns.function_node import call_function, is_idempotent
from orchestra.patterns.graph_plan import GraphPlan
from orchestra.patterns.handoff import targets_of
from orchestra.patterns.node_input import as_text
from orchestra.patterns.outcome import PatternOutcome
from orchestra.patterns.swarm_plan import SwarmPlan
from orchestra.patterns.visits import ABORTED, NodeResult, NodeStatus, Visit, interrupt_id
from orchestra.runtime.child_runs import output_text
from orchestra.runtime.questions import asked_in
from orchestra.runtime.tool_calls import UNKNOWN_OUTCOME
from orchestra.runtime.turn import Outcome, Turn

if TYPE_CHECKING:
    from orchestra.memory.state import AgentState, StateValues
    from orchestra.runtime.journal import Journal
    from orchestra.runtime.serving import Serving
    from orchestra.runtime.turn_context import TurnContext

LAST = "last_node"
"""The key of a swarm's own state that names who answered last."""


class PatternRun(Turn):
    """One run of a pattern, from its input to its outcome; begin and commit are those of a turn. Owner: its serving.

    Journal entries: ``n:<visit>`` is a settlement of the engine, ``s:<visit>`` the start of a function that cannot be
    repeated; ``w:<visit>.<round>`` and ``r:<visit>.<round>`` tell that it began to wait for an answer, and that it was
    started again after one (see :class:`orchestra.runtime.waiting_calls.WaitingCalls`).
    """

    def __init__(
        self, serving: Serving, context: TurnContext, journal: Journal, state: StateValues, resumed: bool
    ) -> None:
        tools = serving.tools(context, journal, state, resumed)
        super().__init__(context, journal, tools)
        self._tools, self._state, self._resumed = tools, state, resumed
        self._children = serving.children(context, journal)
        self._invocation_state = serving.invocation_state
        self._found: PatternOutcome | None = None
        self._handed: tuple[str, Handoff] | None = None
        self._views: dict[str, AgentState] = {}
        pattern = context.loaded.pattern
        assert isinstance(pattern, Swarm | Graph)
        self.pattern: Swarm | Graph = pattern
        self._plan: SwarmPlan | GraphPlan | None = None

    async def work(self) -> Outcome:
        """Run the nodes to the end of the run."""
        outcome = await super().work()
        found = self._found
        if found is None:
            # It was cancelled, or a limit was reached, while nodes ran: what they did so far is told.
            self._found = self._plan.outcome() if self._plan is not None else PatternOutcome("failed")
            return outcome
        if self.context.request.ending:  # it was only to be ended, and so was what waited below it
            return replace(outcome, status="cancelled", reason=self.context.request.ending, output=None, interrupts=())
        if found.last_node and found.status in ("completed", "limit"):
            self._remember(found.last_node)
        if found.status == "completed":
            self.context.messages.append(self._stamped(Message("assistant", output_text(found.output))))
        asked = tuple(InterruptView.from_json(cast("Mapping[str, Json]", one)) for one in found.interrupts)
        tripped = [
            one for visit in found.visits if found.reason == "guardrail" for one in visit.result.guardrail_results
        ]
        results = tuple(GuardrailResult.from_json(cast("Mapping[str, Json]", one)) for one in tripped)
        return Outcome(found.status, found.reason, found.error, found.output, asked, results)

    async def _loop(self) -> Json:
        self._journal.check()
        pattern = self.pattern
        checkpoints = _Checkpoints(self._journal, self._views, self._state)
        checkpoints.restore()
        plan = self._plan = self._made_plan()
        self._found = await execute(
            plan,
            self._node,
            checkpoints,
            run_id=self.context.request.run_id,
            max_concurrency=pattern.max_concurrency if isinstance(pattern, Graph) else None,
            node_timeout=pattern.node_timeout,
            execution_timeout=pattern.execution_timeout,
            approval=self._approval,
            emit=self._tell,
            finish=self.context.finishing,
            fatal=(Fenced, StoreUnavailable, LimitReached, DefinitionChanged),
        )
        return self._found.output

    def _made_plan(self) -> SwarmPlan | GraphPlan:
        task = self.context.request.input
        if isinstance(self.pattern, Swarm):
            last = self._state.view().get(LAST) if self.pattern.start == "last" else None
            return SwarmPlan(self.pattern, task, first=last if isinstance(last, str) else None)
        opened = self._invocation_state.open if self._invocation_state is not None else dict
        return GraphPlan(self.pattern, task, invocation_state=opened)

    def _remember(self, node: str) -> None:
        if isinstance(self.pattern, Swarm) and self.pattern.start == "last":
            self._state.view().set(LAST, node)

    # --- nodes ----------------------------------------------------------------------------------------------------

    def _approval(self, visit: Visit) -> Approval | None:
        """What somebody has said about a visit that needs an approval."""
        answer = self.context.questions.answers.get(interrupt_id(self.context.request.run_id, visit))
        if answer is None:
            return None
        response = response_from_json(cast("Mapping[str, Json]", answer))
        return Approval(False, response.reason) if isinstance(response, Reject) else Approval(True)

    async def _node(self, visit: Visit) -> NodeResult:
        try:
            return await self._visited(visit)
        except Interrupt as asked:
            return NodeResult("interrupted", "interrupt", interrupts=tuple(one.to_json() for one in asked.interrupts))

    async def _visited(self, visit: Visit) -> NodeResult:
        hooks, ask = self.context.hooks, self.context.questions.asker(visit.key)
        if (handed := self._handed) is not None and handed[1].target == visit.node:
            await hooks.call("after_handoff", *handed, ask=ask)
        decision = await hooks.change("before_node", "run", visit.copied(), ask=ask)
        if decision not in ("run", "skip", "abort"):
            raise InputError(f"before_node returned {decision!r}; return 'skip', 'abort', or nothing")
        if decision == "skip":
            return NodeResult("skipped", "hook", output=visit.given.text, text=visit.given.text)
        if decision == "abort":
            return NodeResult("failed", ABORTED, "a hook aborted the run")
        failpoint("pattern.node_starting")
        function = self.pattern.nodes[visit.node].function if isinstance(self.pattern, Graph) else None
        result = await (self._child(visit) if function is None else self._function(visit, function))
        failpoint("pattern.node_done")
        if result.status == "interrupted":
            return result
        result = await hooks.change("after_node", result, visit.copied(), ask=ask)
        if (handoff := result.handoff) is None:
            return result
        wanted = await hooks.change("before_handoff", handoff, visit.copied(), ask=ask)
        return replace(result, handoff=replace(wanted, target=handoff.target))

    async def _child(self, visit: Visit) -> NodeResult:
        """A node that is a run below this one."""
        targets = targets_of(self.pattern, visit.node) if isinstance(self.pattern, Swarm) else {}
        waited = self._journal.known(f"w:{visit.key}")  # without a session: what the child had done
        found = await self._children.run(
            *(visit.runs, visit.given.messages),
            name=visit.key,
            place=visit.node,
            memory=visit.memory,
            handoffs=targets,
            carried=None if waited is None else loads(waited),
            answering=self._may_answer(visit.node),
        )
        context = self.context
        if found.status == "interrupted" and found.carried is not None:
            context.questions.marks[f"w:{visit.key}"] = dumps(dict(found.carried))
        if found.status == "limit" and (most := getattr(context.limits, found.reason, None)) is not None:
            used = context.spent + found.usage
            spent = {"model_calls": used.model_calls, "tool_calls": used.tool_calls, "tokens": used.total_tokens}
            if spent.get(found.reason, 0) >= most:  # not its own limit, but the end of what was left of this run's
                context.count(found.usage_by_agent)
                raise LimitReached(found.reason, most)
        handoff = handoff_in(found.messages, agent=visit.node, targets=tuple(targets)) if targets else None
        return NodeResult(
            cast("NodeStatus", found.status),
            found.reason,
            found.error,
            found.output,
            as_text(found.output) if found.output is not None else "",
            handoff if found.status == "completed" else None,
            found.usage,
            {name: usage for name, usage in found.usage_by_agent.items() if usage != Usage()},
            tuple(one.to_json() for one in found.interrupts) if found.status == "interrupted" else (),
            tuple(one.to_json() for one in found.guardrail_results),
        )

    def _may_answer(self, node: str) -> bool:
        """Whether what the node gives may be the answer of the whole run: nothing is sure to follow it."""
        guardrails, pattern = self.context.guardrails, self.pattern
        if guardrails is None or not guardrails.answering:
            return False
        edges = pattern.edges if isinstance(pattern, Graph) else ()
        return not any(edge.from_ == node and edge.when is None and edge.on != "failure" for edge in edges)

    async def _function(self, visit: Visit, function: object) -> NodeResult:
        """A node that is a plain function: it runs here."""
        if self.context.request.ending:
            return NodeResult("cancelled", self.context.request.ending)
        journal, rounds = self._journal, 0
        while journal.known(f"w:{visit.key}.{rounds + 1}") is not None:
            rounds += 1
        if not is_idempotent(function):
            if rounds and journal.known(f"r:{visit.key}.{rounds}") is None:
                await journal.mark(f"r:{visit.key}.{rounds}", "1")  # nobody has started it since it asked
            elif journal.known(f"s:{visit.key}") is not None:
                return NodeResult("failed", "unknown_outcome", UNKNOWN_OUTCOME)
            else:
                await journal.starting()
                await journal.write(f"s:{visit.key}", "1")
        view = self._views[visit.key] = self._state.view()
        call = ToolCall(visit.key, visit.node, {})
        try:
            return await call_function(function, visit.given, self._tools.surroundings(visit.key, call, {}, view))
        except BaseException as error:
            if (asked := asked_in(error)) is None:
                raise
            self.context.questions.marks[f"w:{visit.key}.{rounds + 1}"] = "1"
            raise asked from None
        finally:
            view.close()

    # --- events ---------------------------------------------------------------------------------------------------

    def _tell(self, event: NodeStart | NodeEnd) -> None:
        tell = self.context.tell
        if isinstance(event, NodeStart):
            visit = event.visit
            tell(NodeStarted, node=visit.node, visit=visit.number, item=visit.item, runs=visit.runs)
            return
        result = event.result
        self.context.count(result.usage_by_agent)
        tell(
            NodeEnded,
            node=event.node,
            visit=event.number,
            item=event.item,
            status=result.status,
            reason=result.reason,
            error=result.error,
            text=result.text,
            usage=result.usage,
            seconds=event.seconds,
            replayed=event.replayed,
        )
        if result.handoff is not None:
            handoff = result.handoff
            self._handed = event.node, handoff
            tell(HandedOff, source=event.node, target=handoff.target, message=handoff.message)

    # --- the end --------------------------------------------------------------------------------------------------

    def finished_messages(self, outcome: Outcome) -> tuple[Message, ...]:
        """The input, and the output of a run that completed; nothing of the nodes."""
        if outcome.status == "completed":
            return tuple(self.context.messages)
        mine = self.context.messages[: len(self.context.request.input)]
        return tuple(message.with_meta(replace(message.meta, aborted=True)) for message in mine)

    def result(self, outcome: Outcome, messages: tuple[Message, ...], *, turn: int, host: str) -> RunResult:
        """The result, with every visit of every node."""
        made, found = super().result(outcome, messages, turn=turn, host=host), self._found
        used = {name: usage for name, usage in made.usage_by_agent.items() if usage != Usage()}
        if found is None:
            return replace(made, usage_by_agent=used)
        results: Mapping[str, Sequence[Json]] = {
            name: [visit.to_json() for visit in visits] for name, visits in found.node_results.items()
        }
        last = self.pattern.nodes[found.last_node].runs if isinstance(self.pattern, Graph) and found.last_node else ""
        return replace(
            made,
            usage_by_agent=used,
            last_agent=last or found.last_node or made.last_agent,
            node_results=results,
            node_history=found.node_history,
        )


class _Checkpoints:
    """The settlements of one run in its journal. With each goes what a function set of the pattern's state."""

    def __init__(self, journal: Journal, views: Mapping[str, AgentState], state: StateValues) -> None:
        self._journal, self._views, self._state = journal, views, state
        found = [loads(text) for text in journal.entries("n:").values()]
        self._known = sorted(found, key=lambda entry: cast("int", entry["at"]))
        self._next = len(self._known)

    def restore(self) -> None:
        """Set again what functions had set in earlier processes of this run."""
        for entry in self._known:
            for operation in entry.get("state", ()):
                self._state.apply(tuple(operation))

    def known(self) -> Sequence[Json]:
        """The settlements of earlier processes, in their order."""
        return [cast("Json", entry["settled"]) for entry in self._known]

    async def write(self, name: str, value: Json) -> None:
        """Keep one."""
        entry: dict[str, Json] = {"at": self._next, "settled": value}
        if name in self._views:
            entry["state"] = [list(item) for item in self._views[name].changes()]
        self._next += 1
        failpoint("pattern.settling")
        text = dumps(entry)
        if await self._journal.write(f"n:{name}", text) != text:
            raise Fenced(f"visit {name}")  # another process of this run has settled it, and goes on
        failpoint("pattern.settled")
