"""Data from a file against a model: every fault in plain English, with file, line, field and the nearest name."""

from __future__ import annotations

import re
import types
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from orchestra.core.document import Document, KeyPath, has, nearest, parse_field
from orchestra.core.errors import ConfigError, ConfigErrors
from orchestra.core.later import LATER_KEYS, LATER_MAPPINGS, LATER_VALUES, NOT_YET

M = TypeVar("M", bound=BaseModel)
_SHOWN = 60
_BOUNDS = {"gt": "greater than", "ge": "of at least", "lt": "less than", "le": "of at most"}
_NOUNS = {
    "string": "text",
    "path": "a path",
    "tuple": "a list",
    "list": "a list",
    "set": "a list",
    "model": "a mapping of keys to values",
    "dict": "a mapping of keys to values",
    "mapping": "a mapping of keys to values",
    "int": "a whole number",
    "float": "a number",
    "decimal": "a number",
    "bool": "true or false",
}


def validated(model: type[M], document: Document) -> M:
    """``document`` as a ``model``.

    A number or boolean that stands where text is wanted counts as the text that was written. Raises
    :class:`ConfigError`, or :class:`ConfigErrors` with all faults of the document, in the order of their lines.
    """
    faults: list[ConfigError] = []
    while True:
        try:
            value = model.model_validate(dict(document.data))
        except ValidationError as error:
            details = error.errors(include_url=False)
            retyped = _as_written(document, details)
            if retyped is not None:  # ``written`` gets smaller each time, so this ends
                document = retyped
                continue
            faults = _faults(model, document, details)
        raise_all([*document.faults, *faults])
        return value


def raise_all(errors: Iterable[ConfigError]) -> None:
    """Raise nothing, the one error, or all of them together in the order of their lines."""
    flat = [one for error in errors for one in (error.errors if isinstance(error, ConfigErrors) else (error,))]
    if len(flat) == 1:
        raise flat[0]
    if flat:
        order: dict[str | None, int] = {}
        for error in flat:
            order.setdefault(error.file, len(order))
        raise ConfigErrors(sorted(flat, key=lambda error: (order[error.file], error.line or 0)))


def keys_at(model: type[BaseModel], path: KeyPath) -> tuple[str, ...]:
    """The keys that may stand in the mapping at ``path`` of a ``model``'s data; none when any key may."""
    return tuple(name for found in _models(_types(model, path)) for name in _fields(found))


def _as_written(document: Document, details: Sequence[ErrorDetails]) -> Document | None:
    """The document with texts in place of the scalars that were read as something else; ``None`` when there is none."""
    paths = {
        path
        for detail in details
        if detail["type"] in ("string_type", "path_type") and (path := _locate(detail, document)[0]) in document.written
    }
    for path in paths:
        changed = document.with_value(path, document.written[path], set_by="")
        kept = {place: text for place, text in document.written.items() if place != path}
        document = replace(document, data=changed.data, written=kept)  # it stays where it was written
    return document if paths else None


def _locate(detail: ErrorDetails, document: Document) -> tuple[KeyPath, bool]:
    """(path in the data, whether the way went through a union); the names of a union's members are left out."""
    path: KeyPath = ()
    tagged = False
    value: object = document.data
    steps = detail["loc"]
    for i, step in enumerate(steps):
        if has(value, step):
            path, value = (*path, step), value[step]  # type: ignore[index]
        elif detail["type"] == "missing" and i == len(steps) - 1:
            path = (*path, step)
        else:
            tagged = True
    return path, tagged


def _faults(model: type[BaseModel], document: Document, details: Sequence[ErrorDetails]) -> list[ConfigError]:
    grouped: dict[KeyPath, list[ErrorDetails]] = {}
    tagged: set[KeyPath] = set()
    for detail in details:
        path, through_union = _locate(detail, document)
        if detail["type"] == "missing" or path not in document.broken:
            grouped.setdefault(path, []).append(detail)
            tagged |= {path} if through_union else set()
    # Where a union's member got further into the value than the others, that is the one which was meant.
    deepest = [
        path
        for path in grouped
        if path not in tagged or not any(len(other) > len(path) and other[: len(path)] == path for other in grouped)
    ]
    return [fault for path in deepest for fault in _explained(model, document, path, grouped[path])]


def _explained(
    model: type[BaseModel], document: Document, path: KeyPath, details: Sequence[ErrorDetails]
) -> list[ConfigError]:
    out: list[ConfigError] = []
    wanted: list[str] = []
    for detail in details:
        kind = detail["type"]
        noun = _NOUNS.get(kind.split("_")[0]) if kind.endswith(("_type", "_parsing", "_from_float")) else None
        if kind in ("is_instance_of", "callable_type"):
            continue
        if noun is not None:
            wanted.append(noun + _bounds(model, path, noun))
        elif kind == "missing":
            out.append(document.fault(path, "is missing", _description(model, path)))
        elif kind == "extra_forbidden":
            out.append(_unknown_key(model, document, path))
        elif kind == "value_error":
            out.append(_raised(document, path, detail))
        elif kind == "literal_error":
            out.append(_not_one_of(model, document, path, detail))
        else:
            out.append(document.fault(path, _worded(detail, document, path)))
    if wanted and not out:
        allowed = " or ".join(dict.fromkeys(wanted))
        value = document.get(path)
        later = _later_mapping(model, path) if isinstance(value, Mapping) else ""
        if later:
            out.append(document.fault(path, f"{later} is {NOT_YET}", f"It must be {allowed}"))
        elif value is None:
            out.append(document.fault(path, f"has no value; it must be {allowed}", "Give it one or remove the key"))
        else:
            out.append(document.fault(path, f"must be {allowed}, not {_shown(document, path)}"))
    return out


def _unknown_key(model: type[BaseModel], document: Document, path: KeyPath) -> ConfigError:
    key = str(path[-1])
    models = _models(_types(model, path[:-1]))
    if any(key in LATER_KEYS.get(found.__name__, ()) for found in models):
        return document.fault(path, f"the key {key!r} is {NOT_YET}", "Remove it")
    known = keys_at(model, path[:-1])
    return document.fault(path, f"there is no key {key!r}", nearest(key, known) or f"There are: {', '.join(known)}")


def _later_mapping(model: type[BaseModel], path: KeyPath) -> str:
    """What a mapping at ``path`` will mean one day, if it will."""
    places = [(found.__name__, str(path[-1])) for found in _models(_types(model, path[:-1]))] if path else []
    return next((LATER_MAPPINGS[place] for place in places if place in LATER_MAPPINGS), "")


def _not_one_of(model: type[BaseModel], document: Document, path: KeyPath, detail: ErrorDetails) -> ConfigError:
    allowed = re.findall(r"'([^']*)'", str(detail.get("ctx", {}).get("expected", "")))
    value = document.get(path)
    named = next(iter(value), None) if isinstance(value, Mapping) and len(value) == 1 else value
    for found in _models(_types(model, path[:-1])):
        if isinstance(named, str) and named in LATER_VALUES.get((found.__name__, str(path[-1])), ()):
            return document.fault(path, f"{named!r} is {NOT_YET}", f"Allowed: {', '.join(allowed)}")
    problem = f"must be one of {', '.join(allowed)}; it is {_shown(document, path)}"
    return document.fault(path, problem, nearest(value, allowed) if isinstance(value, str) else "")


def _raised(document: Document, path: KeyPath, detail: ErrorDetails) -> ConfigError:
    error = detail.get("ctx", {}).get("error")
    if isinstance(error, ConfigError):
        return document.fault((*path, *parse_field(error.field or "")), error.problem, error.hint)
    return document.fault(path, str(error))


def _worded(detail: ErrorDetails, document: Document, path: KeyPath) -> str:
    context = detail.get("ctx", {})
    kind = detail["type"]
    shown = _shown(document, path)
    bound = {
        "greater_than": "gt", "greater_than_equal": "ge", "less_than": "lt", "less_than_equal": "le",
    }.get(kind)  # fmt: skip
    if bound is not None:
        return f"must be {_BOUNDS[bound].removeprefix('of ')} {context[bound]:g}, not {shown}"
    if kind == "too_short":
        least = context["min_length"]
        return f"must have at least {least} {'entry' if least == 1 else 'entries'}"
    if kind == "string_too_short":
        return "must not be empty"
    if kind == "finite_number":
        return f"must be a finite number, not {shown}"
    return f"does not fit: {detail['msg'].removeprefix('Input ')}"


def _shown(document: Document, path: KeyPath) -> str:
    """The value for people. What a variable or the caller's own state brought may be secret and is not shown."""
    value = document.get(path)
    if path in document.variables:
        return "what its variable holds"
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if path[:1] == ("invocation_state",):
        return "such a value"
    text = document.written.get(path) or (repr(value) if isinstance(value, str) else str(value))
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _bounds(model: type[BaseModel], path: KeyPath, noun: str) -> str:
    if "number" not in noun or not path:
        return ""
    for found in _models(_types(model, path[:-1])):
        if isinstance(path[-1], str) and path[-1] in (fields := _fields(found)):
            for limit in fields[path[-1]].metadata:
                for name, words in _BOUNDS.items():
                    if (bound := getattr(limit, name, None)) is not None:
                        return f" {words} {bound:g}"
    return ""


def _description(model: type[BaseModel], path: KeyPath) -> str:
    for found in _models(_types(model, path[:-1])):
        if isinstance(path[-1], str) and path[-1] in (fields := _fields(found)):
            return (fields[path[-1]].description or "").rstrip(".")
    return ""


def _types(model: type[BaseModel], path: KeyPath) -> list[object]:
    """What may stand at ``path``: the types that remain when unions are taken apart."""
    found: list[object] = [model]
    for step in path:
        found = [inner for outer in found for inner in _inside(outer, step)]
    return found


def _inside(outer: object, step: str | int) -> list[object]:
    if isinstance(outer, type) and issubclass(outer, BaseModel):
        field = _fields(outer).get(step) if isinstance(step, str) else None
        return _apart(field.annotation) if field else []
    origin, inner = get_origin(outer), get_args(outer)
    if origin in (tuple, list) and isinstance(step, int) and inner:
        return _apart(inner[0])
    if origin is dict and isinstance(step, str):
        return _apart(inner[1])
    return []


def _apart(annotation: object) -> list[object]:
    origin = get_origin(annotation)
    if origin is Annotated:
        return _apart(get_args(annotation)[0])
    if origin in (Union, types.UnionType):
        return [part for member in get_args(annotation) for part in _apart(member)]
    return [annotation]


def _fields(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """The fields by the keys that stand in files."""
    return {field.alias or name: field for name, field in model.model_fields.items()}


def _models(found: Iterable[object]) -> list[type[BaseModel]]:
    return [one for one in found if isinstance(one, type) and issubclass(one, BaseModel)]
