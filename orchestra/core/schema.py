"""JSON Schemas of configuration files, for editors."""

from __future__ import annotations

from typing import Literal, NoReturn, TypeAlias

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import CoreSchema, PydanticOmit

from orchestra.core.agent import Agent
from orchestra.core.cluster import ClusterConfig
from orchestra.core.jsontext import Json
from orchestra.core.scenario import Scenario

SchemaName: TypeAlias = Literal["agent", "cluster", "scenario"]
SCHEMAS: dict[SchemaName, type[BaseModel]] = {"agent": Agent, "cluster": ClusterConfig, "scenario": Scenario}
_VARIABLE = {"$ref": "#/$defs/Variable"}
_TYPED = ("integer", "number", "boolean")


class _Generator(GenerateJsonSchema):
    def handle_invalid_for_json_schema(self, schema: CoreSchema, error_info: str) -> NoReturn:
        """Functions and objects can be given in Python only: they are left out."""
        raise PydanticOmit


def json_schema(name: SchemaName) -> dict[str, Json]:
    """The JSON Schema of the front matter of an agent file, of a cluster file or of a scenario file."""
    return schema_of(SCHEMAS[name], name)


def schema_of(model: type[BaseModel], name: str) -> dict[str, Json]:
    """The JSON Schema (draft 2020-12) of a file that holds a ``model`` and is called a ``name`` file.

    Wherever a number, a boolean or a word of a fixed set is wanted, a variable (``${NAME}``) is allowed as well.
    """
    schema = model.model_json_schema(schema_generator=_Generator)
    variable: JsonSchemaValue = {"type": "string", "pattern": r"\$\{", "description": "A variable: ${NAME:-default}"}
    out: dict[str, Json] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Orchestra {name} file",
    }
    open_schema = _open(schema)
    assert isinstance(open_schema, dict)
    definitions = open_schema.pop("$defs", {})
    assert isinstance(definitions, dict)
    return {**out, **{key: value for key, value in open_schema.items() if key != "title"}} | {
        "$defs": {**definitions, "Variable": variable}
    }


def _open(schema: object) -> Json:
    """``schema`` with variables allowed beside typed scalars, and without the titles that only repeat the keys."""
    if isinstance(schema, list):
        return [_open(item) for item in schema]
    if not isinstance(schema, dict):
        return schema  # type: ignore[return-value]
    out: dict[str, Json] = {}
    for key, value in schema.items():
        if key in ("properties", "$defs"):
            out[key] = {name: _open(inner) for name, inner in value.items()}
        elif key in ("default", "enum", "const", "required"):
            out[key] = value
        elif key == "description":
            out[key] = value.split("\n")[0].replace("``", "`")
        elif key != "title":
            out[key] = _open(value)
    if "anyOf" in out:
        inner = out["anyOf"]
        assert isinstance(inner, list)
        members: list[Json] = [
            part
            for item in inner
            for part in (item["anyOf"] if isinstance(item, dict) and set(item) == {"anyOf"} else [item])  # type: ignore[union-attr]
        ]
        out["anyOf"] = [item for i, item in enumerate(members) if item not in members[:i]]
        return out
    if out.get("type") in _TYPED or "enum" in out or "const" in out:
        about: dict[str, Json] = {key: out.pop(key) for key in ("description", "default") if key in out}
        return {"anyOf": [out, dict(_VARIABLE)], **about}
    return out
