"""Typed output: the schema that the model is asked to fit, and whether an answer does."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import cast

from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError
from pydantic_core import PydanticSerializationError

from orchestra.core.agent import Agent
from orchestra.core.errors import InputError
from orchestra.core.jsontext import Json, dumps
from orchestra.core.result import RunResult
from orchestra.core.runnable import Runnable
from orchestra.runtime.tool import faults

FENCE = "```"


class OutputType:
    """What an agent's answers are: a pydantic model, a dataclass, or any type that pydantic knows."""

    def __init__(self, agent: str, type_: object) -> None:
        """Raises :class:`InputError` when no JSON schema can be made of ``type_``."""
        try:
            self._adapter: TypeAdapter[object] = TypeAdapter(cast("type[object]", type_))
            schema = self._adapter.json_schema()
        except (PydanticSchemaGenerationError, PydanticUserError) as error:
            raise InputError(f"agent {agent!r}: output_type {type_!r} has no JSON schema ({error})") from None
        schema.setdefault("title", getattr(type_, "__name__", "answer"))
        self.schema = cast("dict[str, Json]", schema)

    def instance(self, value: Json) -> object:
        """What :meth:`parsed` gave, as an instance; as it is when the type does not take its own JSON back."""
        try:
            return self._adapter.validate_json(dumps(value), by_alias=True, by_name=True)
        except ValueError:
            return value

    def parsed(self, text: str) -> Json:
        """The answer as JSON, checked and with its defaults. Raises :class:`ValueError`, which says what is wrong."""
        body = text.strip()
        if body.startswith(FENCE) and body.endswith(FENCE):
            body = body.removeprefix(FENCE).removesuffix(FENCE).removeprefix("json").strip()
        try:
            return cast("Json", self._adapter.dump_python(self._adapter.validate_json(body), mode="json"))
        except ValidationError as error:
            raise ValueError(faults(error)) from None
        except PydanticSerializationError as error:
            raise ValueError(str(error)) from None


class GivenTypes:
    """The output types that a program has given itself, by agent. Owner: its client.

    Results travel as JSON. An agent that a file names its type for has JSON as output here too: two programs that load
    one file have different classes of it.
    """

    def __init__(self) -> None:
        self._types: dict[str, OutputType] = {}

    def learn(self, runnables: Iterable[Runnable]) -> None:
        """These are registered now."""
        for one in runnables:
            self._types.pop(one.name, None)
            if isinstance(one, Agent) and one.output_type is not None and not isinstance(one.output_type, str):
                self._types[one.name] = OutputType(one.name, one.output_type)

    def typed(self, result: RunResult) -> RunResult:
        """The result with an instance as output, when whoever answered has a type of this program."""
        known = self._types.get(result.last_agent)
        if known is None or result.output is None:
            return result
        return replace(result, output=known.instance(result.output))
