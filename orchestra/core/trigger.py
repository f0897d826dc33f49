"""What makes a sleep-time pass due, as the configuration says it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema, model_validator

from orchestra.core.document import nearest
from orchestra.core.durations import SECONDS_SCHEMA, Seconds
from orchestra.core.errors import ConfigError

_FROZEN = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class AdaptiveInterval(BaseModel):
    """Between which numbers of turns the trigger ``adaptive`` chooses."""

    model_config = _FROZEN

    min: int = Field(default=1, gt=0)
    """Turns between passes while facts come thick."""
    max: int = Field(default=25, gt=0)
    """Turns between passes while there is nothing to learn."""

    @model_validator(mode="after")
    def _ordered(self) -> AdaptiveInterval:
        if self.max < self.min:
            raise ConfigError(f"max is {self.max} and min is {self.min}", field="max", hint="Make max at least min")
        return self


class SleepTrigger(BaseModel):
    """Exactly one of the keys. A name alone stands for the defaults: 4000 tokens, 10 minutes, 1 to 25 turns."""

    model_config = _FROZEN

    turns: bool | None = None
    """After every so many completed turns, as ``every`` says."""
    tokens: int | None = Field(default=None, gt=0)
    """When so many tokens were said since the last pass."""
    idle: Seconds | None = None
    """When nothing was said for so long: seconds, or a number with s, m, h or d behind it."""
    compaction: bool | None = None
    """Before a summary takes the place of messages in the prompt."""
    adaptive: AdaptiveInterval | None = None
    """Every so many turns, by what passes find: more often while facts change, less often while nothing does."""

    @model_validator(mode="after")
    def _one(self) -> SleepTrigger:
        given = [name for name in NAMES if getattr(self, name) not in (None, False)]
        if len(given) != 1:
            has = " and ".join(given) or "none"
            raise ConfigError(f"must have exactly one of {', '.join(NAMES)}, and it has {has}")
        return self

    def rule(self, every: int) -> str:
        """As the store counts it: ``turns 5``, ``tokens 40``, ``idle 600000`` (ms), ``adaptive 1 25``, ``compaction``.

        ``every`` is the number of turns for the first one.
        """
        if self.tokens is not None:
            return f"tokens {self.tokens}"
        if self.idle is not None:
            return f"idle {max(1, int(min(self.idle, _LONGEST) * 1000))}"
        if self.adaptive is not None:
            return f"adaptive {self.adaptive.min} {self.adaptive.max}"
        return "compaction" if self.compaction else f"turns {every}"


NAMES = ("turns", "tokens", "idle", "compaction", "adaptive")
_LONGEST = 100 * 366 * 86_400
_ALONE: Mapping[str, Mapping[str, object]] = {
    "turns": {"turns": True},
    "tokens": {"tokens": 4000},
    "idle": {"idle": 600.0},
    "compaction": {"compaction": True},
    "adaptive": {"adaptive": {}},
}


def _named(value: object) -> object:
    if isinstance(value, Mapping | SleepTrigger):
        return value
    if isinstance(value, str) and value in _ALONE:
        return _ALONE[value]
    problem = f"must be one of {', '.join(NAMES)}, or a mapping such as {{tokens: 4000}}, not {value!r}"
    raise ConfigError(problem, hint=nearest(value, NAMES) if isinstance(value, str) else "")


_INTERVAL = {
    "type": "object",
    "properties": {name: {"type": "integer", "exclusiveMinimum": 0} for name in ("min", "max")},
    "additionalProperties": False,
}
_VALUES = {
    "turns": {"const": True},
    "tokens": {"type": "integer", "exclusiveMinimum": 0},
    "idle": SECONDS_SCHEMA,
    "compaction": {"const": True},
    "adaptive": _INTERVAL,
}
_SCHEMA = {
    "anyOf": [
        {"enum": list(NAMES)},
        *(
            {"type": "object", "properties": {name: value}, "required": [name], "additionalProperties": False}
            for name, value in _VALUES.items()
        ),
    ]
}
Trigger: TypeAlias = Annotated[SleepTrigger, BeforeValidator(_named), WithJsonSchema(_SCHEMA)]
