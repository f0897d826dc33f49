"""Guardrails: functions that look at what goes in, what comes out, and what tools are called with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Literal, TypeAlias, cast

from pydantic import BaseModel, ConfigDict
from pydantic.json_schema import SkipJsonSchema

from orchestra.core.jsontext import Json
from orchestra.core.pickling import by_constructor

Stage: TypeAlias = Literal["input", "output", "tool"]
Action: TypeAlias = Literal["allow", "reject", "stop"]
Check: TypeAlias = str | SkipJsonSchema[Callable[..., object]]


class Guardrails(BaseModel):
    """Functions of (value, context) that return a :class:`Verdict`; sync ones run in a thread.

    One that raises, or returns anything else, counts as having said no.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True, use_attribute_docstrings=True)

    input: tuple[Check, ...] = ()
    """checks.py:on_topic: looks at the new input of a run, before anything of it is stored."""
    output: tuple[Check, ...] = ()
    """checks.py:no_secrets: looks at the answer, before anything of it is shown or stored."""
    tools: tuple[Check, ...] = ()
    """checks.py:no_payments: looks at each tool call before it runs."""


@by_constructor
@dataclass(frozen=True, slots=True)
class Verdict:
    """What a guardrail says: ``Verdict.allow()``, ``Verdict.reject("why")`` or ``Verdict.stop("why")``.

    Of an input or an output, ``reject`` and ``stop`` both end the run. A rejected tool call does not run and the model
    gets ``why`` as an error result; ``stop`` ends the run. ``why`` is stored with the result: do not quote in it what
    nobody is to read.
    """

    action: Action = "allow"
    why: str = ""

    @classmethod
    def allow(cls) -> Verdict:
        """It may go on."""
        return cls()

    @classmethod
    def reject(cls, why: str) -> Verdict:
        """No, and ``why``."""
        return cls("reject", why)

    @classmethod
    def stop(cls, why: str) -> Verdict:
        """No, and the run ends; ``why``."""
        return cls("stop", why)


@by_constructor
@dataclass(frozen=True, slots=True)
class GuardrailResult:
    """A guardrail that ended a run. ``name`` is its function's; ``agent`` whose it is.

    ``action`` is ``error`` when it gave no verdict: it raised, and ``why`` then has the kind of the error only, since
    its text may quote what was looked at. ``tool`` is the tool that was called.
    """

    name: str
    stage: Stage
    agent: str
    action: Literal["reject", "stop", "error"]
    why: str = ""
    tool: str = ""

    def __str__(self) -> str:
        """For people."""
        what = f"a call of {self.tool!r}" if self.stage == "tool" else f"the {self.stage}"
        return f"the guardrail {self.name!r} of agent {self.agent!r} stopped {what}" + (self.why and f": {self.why}")

    def to_json(self) -> dict[str, Json]:
        """All fields."""
        return cast("dict[str, Json]", asdict(self))

    @classmethod
    def from_json(cls, value: Mapping[str, Json]) -> GuardrailResult:
        """The inverse of :meth:`to_json`."""
        return cls(**value)  # type: ignore[arg-type]
