"""How the log becomes the prompt: every default of the context, with the reason for it.

Tokens are those of :mod:`orchestra.core.tokens`, characters are Unicode code points, ``W`` is the model's window.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, WithJsonSchema, model_validator

from orchestra.core.durations import Seconds
from orchestra.core.errors import ConfigError
from orchestra.core.session_template import TimeZone

_FROZEN = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)
Ratio: TypeAlias = Annotated[float, Field(gt=0, le=1)]


class HistoryLimit(BaseModel):
    """How many of the last turns are shown; a user's own number beats the default, 0 means as many as fit."""

    model_config = _FROZEN

    default: int = Field(default=0, ge=0)
    """For users who are not named below; 0: as many as fit."""
    users: dict[str, Annotated[int, Field(ge=0)]] = Field(default_factory=dict)
    """Turns by user id."""
    hysteresis: bool = False
    """Let the view grow to one and a half times the limit before it is cut back: a moving cut breaks prompt caches."""

    def of(self, user_id: str | None) -> int:
        """The limit for this user, in turns; 0: none."""
        return self.users.get(user_id, self.default) if user_id is not None else self.default


class Window(BaseModel):
    """The strategy ``window``: the last turns, or the last messages, whichever is given."""

    model_config = _FROZEN

    turns: int | None = Field(default=None, gt=0)
    """Whole turns."""
    messages: int | None = Field(default=None, gt=0)
    """Messages; a call is never parted from its result, so there may be fewer."""


class Summarizing(BaseModel):
    """The strategy ``summarizing``: when the window is full, the oldest part becomes a summary."""

    model_config = _FROZEN

    ratio: Ratio = 0.3
    """The share of the messages that is summarised at once: larger cuts come less often and break fewer caches."""
    preserve_recent: int = Field(default=10, ge=0)
    """So many of the last messages stay as they are: what is being worked on."""


class Flush(BaseModel):
    """A last chance to save what matters, before a compaction puts a summary in place of messages."""

    model_config = _FROZEN

    enabled: bool = True
    """Whether the agent gets it; without a place to save to (blocks, archive, workspace) it never runs."""
    soft_threshold: int | None = Field(default=None, ge=0)
    """So many tokens before the compaction; left out: min(4000, W/20); 4000 never fires in a small window."""
    forced_bytes: int = Field(default=2 << 20, ge=0)
    """A stored log of this size flushes whatever its tokens, once a cycle; 0: never."""
    max_failures: int = Field(default=3, gt=0)
    """After so many failures in a row the cycle counts as flushed: a turn must not pay for a broken flush for ever."""
    max_steps: int = Field(default=6, gt=0)
    """Model calls of one flush."""
    timeout: Seconds = 120.0
    """How long one flush may take; then it has failed, and the answer is not kept waiting any longer."""
    prompt: str = ""
    """Added to what the agent is told."""


class WindowGuard(BaseModel):
    """A window that is too small for a conversation is an error before a model is asked, not a puzzle afterwards."""

    model_config = _FROZEN

    minimum: int = Field(default=16_000, ge=0)
    """Tokens below which no model is asked: instructions, blocks and tools alone take thousands."""
    warn_below: int = Field(default=32_000, ge=0)
    """Tokens below which a warning is given."""


class Pruning(BaseModel):
    """Old tool results are shortened once the provider's prompt cache has gone cold anyway."""

    model_config = _FROZEN

    enabled: bool = True
    """Whether old tool results are shortened in the view; the log keeps them whole."""
    ttl: Seconds = 300.0
    """How long a provider keeps a prompt in its cache; while it is warm nothing changes, for a change would cost it."""
    keep_last: int = Field(default=3, ge=0)
    """Nothing at or after this many assistant messages from the end is touched: it is being worked on."""
    soft_ratio: Ratio = 0.3
    """Below this share of the window nothing is done."""
    hard_ratio: Ratio = 0.5
    """From this share on, results that were shortened go altogether, oldest first."""
    min_prunable: int = Field(default=50_000, ge=0)
    """Characters that must be left to gain before results go altogether: less is not worth a broken cache."""
    soft_over: int = Field(default=4_000, gt=0)
    """Results longer than so many characters are shortened to head and tail."""
    head: int = Field(default=1_500, ge=0)
    """Characters that stay of the beginning."""
    tail: int = Field(default=1_500, ge=0)
    """Characters that stay of the end."""
    placeholder: str = "[an old tool result was left out here]"
    """What stands in place of a result that went."""
    allow: tuple[str, ...] = ()
    """Globs of the tools whose results may be shortened; none: all."""
    deny: tuple[str, ...] = ()
    """Globs of the tools whose results stay; these win."""


class Compaction(BaseModel):
    """A summary takes the place of the older messages in the prompt; the log keeps them, and recall finds them."""

    model_config = _FROZEN

    enabled: bool = True
    """Whether summaries are made; without them the oldest turns simply leave the prompt."""
    reserve_floor: int | None = Field(default=None, ge=0)
    """Tokens kept free for the reply and the tools; left out: min(20000, W/4)."""
    keep_recent: int | None = Field(default=None, ge=0)
    """Tokens of recent messages that stay as they are; left out: min(20000, W/4)."""
    parts: int = Field(default=2, gt=0)
    """How many parts are summarised on their own before they are joined: a fault costs one part only."""
    base_ratio: Ratio = 0.4
    """The share of the window that one chunk takes when messages are small."""
    min_ratio: Ratio = 0.15
    """The smallest share, for large messages."""
    safety: float = Field(default=1.2, ge=1)
    """Estimates are taken this many times: they are estimates."""
    retries: int = Field(default=3, ge=0)
    """How often a failed summary is tried again before it goes on without the oversized messages."""
    model: str | None = None
    """The model that writes summaries, as provider:name; left out: the agent's own."""
    timeout: Seconds = 120.0
    """How long one summary may take."""
    block_stream: bool = False
    """true: a compaction that is due comes before the answer's stream goes on; false: the answer comes first."""
    max_overflows: int = Field(default=3, ge=0)
    """How often a turn that the provider finds too long is compacted and tried again."""


class Pressure(BaseModel):
    """Virtual context: the agent is told that its window fills, and at the end half of it goes to a summary."""

    model_config = _FROZEN

    at: Ratio = 0.7
    """The share of the window at which the agent gets one notice a cycle."""
    evict_at: Ratio = 1.0
    """The share at which messages are evicted."""
    evict: Ratio = 0.5
    """The share of the window that is evicted."""


class Offload(BaseModel):
    """A large tool result goes to the store; the message gets its head, its tail and a reference."""

    model_config = _FROZEN

    enabled: bool = True
    """Whether large results are put away."""
    over_tokens: int = Field(default=2_500, gt=0)
    """Results larger than so many tokens."""
    preview_tokens: int = Field(default=1_000, gt=0)
    """Tokens of head and tail that stay in the message."""
    page_tokens: int = Field(default=2_000, gt=0)
    """Tokens that one call of retrieve_offloaded gives at most."""
    tools: dict[str, Annotated[int, Field(ge=0)]] = Field(default_factory=dict)
    """over_tokens for single tools; 0: never."""


class BootstrapLimits(BaseModel):
    """How much of the files that are loaded at the start of a session is shown."""

    model_config = _FROZEN

    max_chars: int = Field(default=20_000, gt=0)
    """Characters of one file."""
    total_chars: int = Field(default=60_000, gt=0)
    """Characters of all files together, shared fairly."""
    head: Ratio = 0.7
    """The share of a file's budget that its beginning gets: identity stands at the top."""
    tail: Ratio = 0.2
    """The share of its end, where the newest notes are; the rest is for the marker."""


def _limit(value: object) -> object:
    """A number is the default for all users."""
    return {"default": value} if isinstance(value, int) and not isinstance(value, bool) else value or {}


def _or_number(model: type[BaseModel]) -> WithJsonSchema:
    """The schema of a part that may be given as one number."""
    return WithJsonSchema({"anyOf": [{"type": "number", "minimum": 0}, model.model_json_schema(), {"type": "null"}]})


def _pressure(value: object) -> object:
    """A number is the share at which the agent is told."""
    return {"at": value} if isinstance(value, int | float) and not isinstance(value, bool) else value


class Conversation(BaseModel):
    """How the log becomes the prompt. ``full`` warns that prompts grow without bound."""

    model_config = _FROZEN

    strategy: Literal["safeguard", "full", "window", "summarizing"] = "safeguard"
    """safeguard: all techniques together. full: everything. window: the newest. summarizing: old parts as a summary."""
    window: Window = Window(turns=20)
    """For the strategy window."""
    summarizing: Summarizing = Summarizing()
    """For the strategy summarizing."""
    history_limit: Annotated[HistoryLimit, BeforeValidator(_limit), _or_number(HistoryLimit)] = HistoryLimit()
    """How many of the last turns are shown: a number, or {default, users}; left out: as many as fit."""
    preprocessors: tuple[str | dict[str, JsonValue], ...] = ()
    """Applied in order to the history that is shown: window_size, filter, redact, or a function by import path."""
    blocks_in_prompt: Literal["pinned", "fresh"] = "pinned"
    """pinned: edits follow as notes and the prefix that providers cache stays; fresh: blocks are rendered each time."""
    notes_tokens: int = Field(default=2_000, gt=0)
    """Notes about edits larger than so many tokens: the blocks are rendered afresh, for then the cache saves less."""
    pressure: Annotated[Pressure | None, BeforeValidator(_pressure), _or_number(Pressure)] = None
    """Virtual context: a share of the window at which the agent is told, or {at, evict_at, evict}; left out: off."""
    flush: Flush = Flush()
    """Saving what matters before a compaction."""
    guard: WindowGuard = WindowGuard()
    """The smallest window."""
    pruning: Pruning = Pruning()
    """Shortening old tool results."""
    compaction: Compaction = Compaction()
    """Summaries in place of old messages."""
    offload: Offload = Offload()
    """Putting large tool results away."""
    bootstrap: BootstrapLimits = BootstrapLimits()
    """How much of the bootstrap files is shown."""
    ttl: Seconds | None = None
    """How long a session is kept after its last turn: 30d, 12h, or seconds; left out: for ever."""
    close_after: Seconds | None = None
    """How long a session goes without a turn before it is closed with a summary: 12h, or seconds; left out: never."""
    time_zone: TimeZone = "UTC"
    """The time zone of {date} in session ids, such as Europe/Berlin."""

    @model_validator(mode="after")
    def _sizes(self) -> Conversation:
        _below(self.pruning.head + self.pruning.tail, self.pruning.soft_over, "pruning", "head and tail", "soft_over")
        _below(self.pruning.soft_ratio, self.pruning.hard_ratio, "pruning", "soft_ratio", "hard_ratio")
        _below(self.bootstrap.head + self.bootstrap.tail, 1.0, "bootstrap", "head and tail", "1")
        _below(self.offload.preview_tokens, self.offload.over_tokens, "offload", "preview_tokens", "over_tokens")
        if self.window.turns is not None and self.window.messages is not None:
            raise ConfigError("give turns or messages, not both", field="window")
        if self.ttl is not None and self.close_after is not None and self.ttl <= self.close_after:
            raise ConfigError("it must be below ttl: a session that has ended leaves no summary", field="close_after")
        return self


def _below(small: float, large: float, part: str, name: str, other: str) -> None:
    if small > large:
        raise ConfigError(f"{name} together are {small:g} and must not be above {other}, {large:g}", field=part)
