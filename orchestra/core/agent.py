"""Definitions: what an agent is. The same fields in Python and in the front matter of ``agents/*.md``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal, TypeAlias

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    InstanceOf,
    JsonValue,
    WithJsonSchema,
    field_validator,
    model_validator,
)
from pydantic.json_schema import SkipJsonSchema

from orchestra.core.agent_tool import AgentTool, ChildMemory
from orchestra.core.blocks import Block
from orchestra.core.conversation import Conversation
from orchestra.core.durations import Seconds
from orchestra.core.errors import ConfigError
from orchestra.core.guardrails import Guardrails
from orchestra.core.model import Model
from orchestra.core.names import check_agent
from orchestra.core.trigger import SleepTrigger, Trigger

OnBusy: TypeAlias = Literal["queue", "reject", "abandon"]
Persistence: TypeAlias = Literal["journal", "turn"]
RESERVED_TOOLS = frozenset({"handoff_to_agent"})


def _every(value: object) -> object:
    """``off`` means never; older YAML reads it as false."""
    if value is None or value is False or (isinstance(value, str) and value.lower() == "off"):
        return None
    try:
        turns = 0 if isinstance(value, bool | float) else int(value)  # type: ignore[call-overload]
    except (TypeError, ValueError):
        turns = 0
    if turns < 1:
        raise ValueError(f"must be a whole number of turns greater than 0, or off, not {value!r}")
    return turns


_EVERY_SCHEMA = {"anyOf": [{"type": "integer", "exclusiveMinimum": 0}, {"enum": ["off", False, None]}]}
Every: TypeAlias = Annotated[int | None, BeforeValidator(_every), WithJsonSchema(_EVERY_SCHEMA)]


class Limits(BaseModel):
    """Limits of one run, shared by its child calls. ``None`` means no limit. ``seconds`` is wall time."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    model_calls: int | None = Field(default=100, gt=0)
    """How many times models may be called."""
    tool_calls: int | None = Field(default=None, gt=0)
    """How many tools may be called."""
    tokens: int | None = Field(default=None, gt=0)
    """How many tokens may be used, input and output together."""
    seconds: Seconds | None = None
    """How long a run may take by the clock: seconds, or a number with s, m, h or d behind it."""
    cost: float | None = Field(default=None, gt=0)
    """What a run may cost, in the currency of the price list."""


class Budget(BaseModel):
    """How many tokens the sleep-time agent may use; reaching it is a named skip."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    tokens_per_session: int | None = Field(default=None, gt=0)
    """For all passes of one session."""
    tokens_per_day: int | None = Field(default=None, gt=0)
    """For all passes of one agent in one day."""


class Sleeptime(BaseModel):
    """How an agent's memory sleeps. A pass is due after every ``every`` completed turns of one session.

    ``blocks`` are the labels that the sleep-time agent tidies (default: all writable ones of the agent). A pass that
    works longer than ``timeout`` seconds loses its lease; after ``max_tries`` failures it is set aside with its error.
    ``max_tokens`` bounds the transcript of one pass; the rest follows in the next one.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True, use_attribute_docstrings=True)

    every: Every = 5
    """A pass is due after this many completed turns of a session; off: never."""
    consolidator: Literal["auto", "llm", "extractive", "scripted", "replay"] = "auto"
    """What does the work: a language model, picked sentences, a script, recorded edits. auto: llm when it can."""
    model: str | Model = "auto"
    """The model of the sleep-time agent, as provider:name, or auto."""
    blocks: tuple[str, ...] | None = None
    """Labels of the blocks that it tidies; left out: all writable ones of the agent."""
    trigger: Trigger = SleepTrigger(turns=True)
    """What makes a pass due: turns, tokens, idle, compaction, adaptive, or one of these with its number."""
    persona: str = ""
    """The sleep-time agent's own persona block."""
    instructions: str = ""
    """Added to what the sleep-time agent is told."""
    script: str | None = None
    """The file of a scripted consolidator, or of the edits that replay plays, one JSON object a line."""
    max_steps: int = Field(default=20, gt=0)
    """How many model calls one pass may take."""
    max_tokens: int = Field(default=16000, gt=0)
    """How many tokens of transcript one pass takes; the rest follows in the next one."""
    max_tries: int = Field(default=3, gt=0)
    """After this many failures a pass is set aside with its error."""
    timeout: Seconds = 300.0
    """How long a pass may take before another host may take it over."""
    budget: Budget = Budget()
    """How many tokens it may use."""
    sources: tuple[str, ...] = ()
    """Files, and folders of files, that it works through besides the dialogue: each once, and again when it changed."""

    @model_validator(mode="after")
    def _recorded(self) -> Sleeptime:
        if self.consolidator == "replay" and self.script is None:
            raise ConfigError("replay needs the file of its edits", field="script", hint="Name a file of JSON lines")
        return self

    @property
    def rule(self) -> str:
        """What makes a pass due, as the store counts it; empty: nothing does. See :meth:`SleepTrigger.rule`."""
        return "" if self.every is None else self.trigger.rule(self.every)


class Recall(BaseModel):
    """What ``conversation_search`` looks through."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    scope: Literal["session", "user", "agent"] = "user"
    """session: this one. user: all sessions of the user with this agent. agent: everybody's with this agent."""


class Agent(BaseModel):
    """An agent.

    ``tools`` holds functions made by ``@tool``, plain functions, references (``tools/weather.py:forecast``,
    ``package.module:function``), or other runnables (``other.as_tool()``, ``agent:researcher``). ``model`` is
    ``provider:name``, ``auto``, ``extractive``, ``scripted:FILE``, a list of these (the next one when one fails), or an
    object with the methods of :class:`orchestra.core.model.Model`. ``context_tokens`` may only lower the model's own
    window.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True, use_attribute_docstrings=True)

    name: str
    """The agent's name: 1 to 128 characters without '|' and line breaks."""
    description: str = ""
    """What the agent is for, in one sentence."""
    instructions: str = ""
    """The system prompt. In a Markdown file it is the text below the front matter."""
    model: str | Model | tuple[str | Model, ...] = "auto"
    """provider:name, auto, extractive, scripted:FILE, or a list of these: the next one when one fails."""
    model_settings: dict[str, JsonValue] = Field(default_factory=dict)
    """Passed on to the provider, such as temperature."""
    context_tokens: int | None = Field(default=None, gt=0)
    """May only lower the model's own window."""
    tools: tuple[str | SkipJsonSchema[InstanceOf[AgentTool]] | Callable[..., object], ...] = ()
    """References such as tools/weather.py:forecast or package.module:function, or agent:researcher."""
    handoffs: tuple[str, ...] | None = None
    """Whom it may hand off to in a swarm, by name; left out: everyone in it."""
    memory_tools: bool | None = None
    """Whether the agent itself gets the tools that edit its blocks."""
    blocks: tuple[Block, ...] = ()
    """Pieces of memory that always stand in the prompt."""
    recall: bool | Recall | None = None
    """Whether the agent gets conversation_search, and how far; left out: when its memory sleeps."""
    archive: bool | Literal["search"] | None = None
    """true: it searches the archive and adds to it; search: only that; left out: search when its memory sleeps."""
    workspace: str | None = None
    """A folder of files that belong to the agent; {session} in it stands for the session's id, for one folder each."""
    bootstrap: tuple[str, ...] = ()
    """Files of the workspace that are shown from the start of a session; {today} in a name stands for the date."""
    hooks: tuple[str | SkipJsonSchema[object], ...] = ()
    """References such as hooks.py:audit."""
    guardrails: Guardrails = Guardrails()
    """Functions that look at input, output and tool calls, and may end the run."""
    limits: Limits = Limits()
    """Limits of one run."""
    persistence: Persistence = "journal"
    """journal: a killed turn goes on where it was. turn: it starts again."""
    on_busy: OnBusy = "queue"
    """What happens to a new input while the session is busy."""
    conversation: Conversation = Conversation()
    """How the log becomes the prompt."""
    input_type: str | SkipJsonSchema[object] | None = None
    """A pydantic model, such as schemas/trip.py:Question, that other agents must fill in who call it as a tool."""
    output_type: str | SkipJsonSchema[object] | None = None
    """A pydantic model, such as schemas/trip.py:Trip, that answers must fit; asked for once more when one does not."""
    session_input_callback: str | SkipJsonSchema[Callable[..., object]] | None = None
    """A function (checks.py:merge) of history and new input that gives what the model is shown; it stores nothing."""
    sleeptime: Sleeptime | None = None
    """How the agent's memory is tidied in the background; left out: it is not."""

    @field_validator("name")
    @classmethod
    def _name(cls, name: str) -> str:
        return check_agent(name)

    def as_tool(
        self, name: str | None = None, description: str | None = None, *, memory: ChildMemory = "fresh"
    ) -> AgentTool:
        """This agent as a tool of another one: ``Agent(tools=[researcher.as_tool()])``.

        The caller gets the answer and nothing else. ``memory="fresh"``: each call starts without messages;
        ``"session"``: it remembers its earlier calls under the caller's session.
        """
        return AgentTool(self, name or "", description or "", memory)

    @property
    def sleeps(self) -> bool:
        """Whether a sleep-time agent tidies its memory."""
        return self.sleeptime is not None and self.sleeptime.every is not None

    @property
    def sleep_rule(self) -> str:
        """What makes a pass due, as the store counts it; empty: nothing does."""
        return "" if self.sleeptime is None else self.sleeptime.rule

    @property
    def recall_scope(self) -> Literal["session", "user", "agent"] | None:
        """How far ``conversation_search`` looks; ``None``: the agent does not have it."""
        wanted = self.sleeps if self.recall is None else self.recall
        if isinstance(wanted, Recall):
            return wanted.scope
        return "user" if wanted else None

    @property
    def archive_tools(self) -> tuple[str, ...]:
        """The names of its archive tools. The sleep-time agent adds to the archive unless ``archive`` is false."""
        wanted = ("search" if self.sleeps else False) if self.archive is None else self.archive
        if wanted == "search":
            return ("archival_memory_search",)
        return ("archival_memory_insert", "archival_memory_search") if wanted else ()

    def _sources(self) -> None:
        """Documents are the agent's, so what is learned from them has to be where all of its users are."""
        sleeptime = self.sleeptime
        if sleeptime is None or not sleeptime.sources:
            return
        for block in self.blocks:
            tidied = sleeptime.blocks is None or block.label in sleeptime.blocks
            if tidied and block.scope in ("agent", "shared") and block.access == "write" and not block.read_only:
                return
        raise ConfigError(
            f"what agent {self.name!r} learns from documents has no block to go to",
            field="sleeptime.sources",
            hint="Declare a writable block of scope agent or shared, and let the sleep-time agent tidy it",
        )

    @model_validator(mode="after")
    def _labels(self) -> Agent:
        seen: dict[str, int] = {}
        for i, block in enumerate(self.blocks):
            if block.label in seen:
                raise ConfigError(
                    f"agent {self.name!r} declares two blocks labelled {block.label!r}",
                    field=f"blocks[{i}].label",
                    hint=f"The other one is blocks[{seen[block.label]}]",
                )
            seen[block.label] = i
            if len(block.value) > block.limit:
                raise ConfigError(
                    f"the value has {len(block.value)} characters and the limit is {block.limit}",
                    field=f"blocks[{i}].value",
                    hint="Shorten it or raise the limit",
                )
        self._sources()
        for i, label in enumerate((self.sleeptime.blocks if self.sleeptime else None) or ()):
            if label not in seen:
                hint = f"Its blocks are: {', '.join(seen) or 'none'}"
                raise ConfigError(
                    f"agent {self.name!r} declares no block {label!r}", field=f"sleeptime.blocks[{i}]", hint=hint
                )
        return self
