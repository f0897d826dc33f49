"""Typed output: the schema that the model is asked to fit, and whether an answer does."""

from __future__ import annotations

from typing import cast

from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError
from pydantic_core import PydanticSerializationError

from orchestra.core.errors import InputError
from orchestra.core.jsontext import Json
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
