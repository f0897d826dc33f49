"""The script file: replies of a scripted model as a YAML list.

Each item has ``text:`` or ``calls: [{name, arguments}]`` (or both), and may have ``delay:`` (seconds before the reply),
``usage:`` (token counts instead of the estimate) and ``error:`` (text, or ``{kind, problem}``).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import yaml
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from orchestra.core.errors import ConfigError, ConfigErrors
from orchestra.core.messages import Message, ToolCall
from orchestra.core.model import ModelReply, Usage
from orchestra.models.scripted import ErrorKind, ScriptedModel, ScriptedReply


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Call(_Strict):
    name: str = Field(min_length=1)
    arguments: dict[str, JsonValue] = Field(default_factory=dict)
    id: str = ""


class _Failure(_Strict):
    kind: ErrorKind = "error"
    problem: str


class _Usage(_Strict):
    input_tokens: int = Field(default=0, ge=0)
    output_tokens: int = Field(default=0, ge=0)
    cached_tokens: int = Field(default=0, ge=0)


def _failure(value: object) -> object:
    return {"problem": value} if isinstance(value, str) else value


class _Item(_Strict):
    text: str | None = None
    calls: tuple[_Call, ...] = ()
    delay: float = Field(default=0.0, ge=0)
    usage: _Usage = _Usage()
    error: Annotated[_Failure | None, BeforeValidator(_failure)] = None

    @model_validator(mode="after")
    def _says_something(self) -> _Item:
        if self.text is None and not self.calls and self.error is None:
            raise ValueError("needs text, calls or error")
        return self

    def line(self) -> ScriptedReply:
        """The item as the model takes it."""
        calls = tuple(ToolCall(call.id, call.name, call.arguments) for call in self.calls)
        reply = ModelReply(Message("assistant", self.text or "", calls), Usage(**self.usage.model_dump()))
        return ScriptedReply(
            reply=reply if self.text is not None or calls else None,
            delay=self.delay,
            error=self.error.kind if self.error else None,
            problem=self.error.problem if self.error else "",
        )


_ITEMS = TypeAdapter(tuple[_Item, ...])


def load_script(path: str | Path) -> ScriptedModel:
    """The scripted model in the YAML file at ``path``. Reads the file, so call it off the event loop.

    Raises:
        ConfigError: the file is missing or wrong; names file, line and field.
    """
    file = str(path)
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"the script cannot be read: {error}", file) from None
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        value = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or "not YAML"
        raise ConfigError(str(problem), file, mark.line + 1 if mark else None) from None
    if not isinstance(value, list) or not value:
        raise ConfigError("a script is a list of replies", file, 1, hint="Write one '- text: …' for each model call")
    try:
        items = _ITEMS.validate_python(value)
    except ValidationError as error:
        raise ConfigErrors(
            [
                ConfigError(fault["msg"], file, _line(node, fault["loc"]), ".".join(map(str, fault["loc"])))
                for fault in error.errors(include_url=False, include_context=False, include_input=False)
            ]
        ) from None
    return ScriptedModel([item.line() for item in items], name=f"scripted:{file}")


def _line(node: yaml.Node | None, where: Sequence[int | str]) -> int | None:
    """The line of the deepest node on the way ``where`` that exists."""
    line: int | None = None
    for step in where:
        below: yaml.Node | None = None
        if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            below = node.value[step]
        elif isinstance(node, yaml.MappingNode):
            pair = next(((key, item) for key, item in node.value if key.value == step), None)
            if pair is not None:
                line, below = pair[0].start_mark.line + 1, pair[1]
                node = below
                continue
        if below is None:
            break
        node, line = below, below.start_mark.line + 1
    return line
