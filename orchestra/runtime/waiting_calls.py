"""Tool calls that wait for an answer: what of them is kept while the run is suspended, and when they may start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, cast

from orchestra.core.errors import DefinitionChanged
from orchestra.core.failpoints import failpoint
from orchestra.core.interrupts import Interrupt
from orchestra.core.jsontext import Json, copied, dumps, loads
from orchestra.core.model import ModelReply
from orchestra.runtime.journal import Journal
from orchestra.runtime.questions import Questions

if TYPE_CHECKING:
    from orchestra.runtime.tool import Tool


@dataclass(slots=True)
class Waited:
    """How far a call got before it began to wait. ``rounds`` is how often it has waited, 0: never.

    ``arguments`` are those that somebody was asked to approve: what runs is what was shown. ``content`` is the result
    of a tool that has run and about which a hook has asked since, with the ``state`` that it changed and the ``usage``
    below it. ``carried`` is what a child run without a session has done.
    """

    rounds: int = 0
    arguments: dict[str, Json] | None = None
    content: str | None = None
    state: list[list[str]] = field(default_factory=list)
    usage: dict[str, Json] = field(default_factory=dict)
    carried: dict[str, Json] | None = None


@dataclass(slots=True)
class WaitingCalls:
    """The calls of one turn that wait. Owner: its :class:`ToolCalls`.

    The journal gets ``w:<call>.<round>`` when a call waits (together with the end of the run's part, in one script) and
    ``r:<call>.<round>`` right before its tool starts after that. So a host that dies leaves one of these behind:

    - ``w`` of a round without ``r``: nobody has started the tool since it asked. It may run.
    - ``w`` with ``r``: it was started after the answer, and nobody knows how far it got. Only an idempotent one runs.

    A host that is late with its ``r`` is fenced, so of two hosts that resume one run only one starts the tool.
    """

    questions: Questions
    journal: Journal
    asked: dict[str, Interrupt] = field(default_factory=dict)

    def waited(self, name: str) -> Waited:
        """How far the call got in earlier parts of this run."""
        rounds, text = 0, None
        while (known := self.journal.known(f"w:{name}.{rounds + 1}")) is not None:
            rounds, text = rounds + 1, known
        return Waited(**{**loads(text), "rounds": rounds}) if text is not None else Waited()

    def startable(self, name: str, waited: Waited) -> bool:
        """Whether it waited, and nobody has started it since."""
        return waited.rounds > 0 and self.journal.known(f"r:{name}.{waited.rounds}") is None

    def may_ask(self, tool: Tool, waited: Waited) -> bool:
        """Whether a call whose start is not known cannot have started, since nobody has been asked about it yet."""
        needs = tool.needs_approval is not False and waited.arguments is None
        return needs and not self.questions.always_approved(tool.name)

    async def refused(self, name: str, tool: Tool, arguments: dict[str, Json], waited: Waited) -> str | None:
        """``None`` when the call may run; else what the model reads. Raises :class:`Interrupt` while nobody has said.

        Raises:
            ToolError: the arguments do not fit: nobody is asked about what cannot run.
        """
        if waited.arguments is None:
            if not await tool.wants_approval(arguments) or self.questions.always_approved(tool.name):
                return None
            tool.checked(arguments)
            waited.arguments = cast("dict[str, Json]", copied(arguments))
        return self.questions.approval(name, tool.name, waited.arguments)

    async def starting(self, name: str, tool: Tool, waited: Waited) -> None:
        """The tool of the call is about to start. Raises :class:`Fenced` when another host has taken over."""
        if not tool.idempotent:
            await self.journal.starting()
            if waited.rounds:
                await self.journal.mark(f"r:{name}.{waited.rounds}", "1")
                failpoint("turn.waited_tool_starting")

    def wait(self, name: str, waited: Waited, asked: Interrupt) -> None:
        """The call waits from now on."""
        kept = {key: value for key, value in asdict(waited).items() if value and key != "rounds"}
        self.questions.marks[f"w:{name}.{waited.rounds + 1}"] = dumps(kept)
        self.asked[name] = asked

    def all_asked(self, names: Sequence[str]) -> Interrupt:
        """The questions of these calls as one, in their order."""
        return Interrupt(*(one for name in names if name in self.asked for one in self.asked[name].interrupts))


def check_tools(run_id: str, agent: str, journal: Mapping[str, str], tools: Mapping[str, Tool]) -> None:
    """A run whose waiting tools are gone cannot go on. Raises :class:`DefinitionChanged`, which names them."""
    gone = []
    for entry in journal:
        if not entry.startswith("j:w:"):
            continue
        call = entry[len("j:w:") :].rpartition(".")[0]
        position, _, index = call.partition(".")
        if f"j:t:{call}" in journal or f"j:m:{position}" not in journal:
            continue
        name = ModelReply.from_json(loads(journal[f"j:m:{position}"])).message.tool_calls[int(index)].name
        if name not in tools:
            gone.append(f"the tool {name!r} is gone")
    if gone:
        raise DefinitionChanged(agent, run_id, tuple(sorted(set(gone))))
