"""``@tool``: a function that a model can call. Its schema comes from type hints and docstring."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Annotated, Any, TypeAlias, get_type_hints, overload

from griffe import Docstring, DocstringSectionKind
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, create_model
from pydantic_core import PydanticUndefined, to_jsonable_python

from orchestra.core.errors import InputError, ToolError
from orchestra.core.jsontext import Json, dumps
from orchestra.core.model import ToolSpec
from orchestra.core.own_thread import in_own_thread
from orchestra.runtime.tool_context import ToolContext

logging.getLogger("griffe").setLevel(logging.ERROR)

NeedsApproval: TypeAlias = bool | Callable[[Mapping[str, Json]], object]


class Tool:
    """A function with what a model and the runtime need to know of it. Calling it calls the function.

    ``idempotent``: the runtime may start it again when a host died while it ran. Without it, such a call is answered
    with an error that says it may or may not have run. ``timeout`` in seconds; a sync function's thread cannot be
    stopped, only its result is dropped. ``needs_approval``: the run waits for somebody's answer before the tool runs;
    a function (async or not) of the arguments, which it gets as one mapping, says whether it does.
    """

    def __init__(
        self,
        function: Callable[..., object],
        *,
        name: str | None = None,
        description: str | None = None,
        idempotent: bool = False,
        timeout: float | None = None,
        needs_approval: NeedsApproval = False,
    ) -> None:
        self.function = function
        self.name = name or function.__name__
        self._description = description
        self.idempotent, self.timeout, self.needs_approval = idempotent, timeout, needs_approval
        self.is_async = inspect.iscoroutinefunction(function)
        self.__name__ = self.name
        self.__doc__ = function.__doc__
        self.__wrapped__ = function

    def __call__(self, *args: object, **kwargs: object) -> object:
        """Call the function itself, as if it were not decorated."""
        return self.function(*args, **kwargs)

    @cached_property
    def _parsed(self) -> tuple[type[BaseModel], str | None, str]:
        return _arguments_of(self.function, self.name)

    @property
    def description(self) -> str:
        """What the model reads: the docstring without its sections, or what was given."""
        return self._description if self._description is not None else self._parsed[2]

    @cached_property
    def spec(self) -> ToolSpec:
        """Name, description and JSON Schema of the arguments."""
        schema = self._parsed[0].model_json_schema()
        schema.pop("title", None)
        for field in schema.get("properties", {}).values():
            field.pop("title", None)
        return ToolSpec(self.name, self.description, schema)

    async def run(self, arguments: Mapping[str, Json], context: ToolContext) -> str:
        """Call the function with checked arguments; a sync one runs in a thread. The result as text for the model.

        Raises:
            ToolError: the arguments do not fit, or the time is over.
        """
        values: dict[str, Any] = self.checked(arguments)
        if (context_name := self._parsed[1]) is not None:
            values[context_name] = context
        try:
            async with asyncio.timeout(self.timeout):
                if self.is_async:
                    result = await self.function(**values)  # type: ignore[misc]
                else:
                    result = await in_own_thread(self.function, **values)
        except TimeoutError:
            if self.timeout is None:
                raise
            raise ToolError(f"{self.name} took longer than {self.timeout:g} s and was stopped") from None
        return as_text(result)

    def checked(self, arguments: Mapping[str, Json]) -> dict[str, object]:
        """The arguments as the function gets them. Raises :class:`ToolError` when they do not fit."""
        model = self._parsed[0]
        try:
            checked = model.model_validate(dict(arguments))
        except ValidationError as error:
            raise ToolError(f"arguments of {self.name}: {faults(error)}") from None
        return {name: getattr(checked, name) for name in model.model_fields}

    async def wants_approval(self, arguments: Mapping[str, Json]) -> bool:
        """Whether somebody is to be asked before a call with these arguments runs."""
        if not callable(self.needs_approval):
            return self.needs_approval
        if inspect.iscoroutinefunction(self.needs_approval):
            return bool(await self.needs_approval(dict(arguments)))
        return bool(await in_own_thread(self.needs_approval, dict(arguments)))


def as_text(result: object) -> str:
    """A tool's result as the model gets it: text as it is, everything else as JSON."""
    if result is None:
        return "done"
    return result if isinstance(result, str) else dumps(to_jsonable_python(result, fallback=str))


@overload
def tool(function: Callable[..., object], /) -> Tool: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    idempotent: bool = False,
    timeout: float | None = None,
    needs_approval: NeedsApproval = False,
) -> Callable[[Callable[..., object]], Tool]: ...
def tool(
    function: Callable[..., object] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    idempotent: bool = False,
    timeout: float | None = None,
    needs_approval: NeedsApproval = False,
) -> Tool | Callable[[Callable[..., object]], Tool]:
    """Make a function a tool: ``@tool`` or ``@tool(name=…, idempotent=…, timeout=…, needs_approval=…)``.

    The parameters' types and the docstring (Google, NumPy or Sphinx style) make the schema. A parameter annotated
    :class:`ToolContext` is filled in and hidden from the model.
    """

    def made(inner: Callable[..., object]) -> Tool:
        return Tool(
            inner,
            name=name,
            description=description,
            idempotent=idempotent,
            timeout=timeout,
            needs_approval=needs_approval,
        )

    return made if function is None else made(function)


def _arguments_of(function: Callable[..., object], name: str) -> tuple[type[BaseModel], str | None, str]:
    try:
        hints = get_type_hints(function, include_extras=True)
    except NameError as error:
        raise InputError(f"tool {name!r}: the annotation {error.name!r} cannot be found") from None
    summary, described = _docstring(function)
    fields: dict[str, Any] = {}
    context: str | None = None
    for parameter in inspect.signature(function).parameters.values():
        hint = hints.get(parameter.name, str)
        if hint is ToolContext:
            context = parameter.name
            continue
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise InputError(f"tool {name!r}: parameter {parameter.name!r} must be one that can be given by name")
        default = PydanticUndefined if parameter.default is parameter.empty else parameter.default
        text = described.get(parameter.name)
        fields[parameter.name] = (Annotated[hint, Field(description=text)] if text else hint, default)
        if default is PydanticUndefined:
            fields[parameter.name] = (fields[parameter.name][0], ...)
    try:
        model = create_model(name, __config__=ConfigDict(extra="forbid", arbitrary_types_allowed=False), **fields)
        TypeAdapter(model)
    except Exception as error:
        raise InputError(f"tool {name!r}: no schema can be made of its parameters ({error})") from None
    return model, context, summary


def _docstring(function: Callable[..., object]) -> tuple[str, dict[str, str]]:
    text = inspect.getdoc(function)
    if not text:
        return "", {}
    summary, described = "", {}
    for section in Docstring(text, lineno=1).parse("auto"):
        if section.kind is DocstringSectionKind.text:
            summary += ("\n\n" if summary else "") + str(section.value).strip()
        elif section.kind is DocstringSectionKind.parameters:
            described.update({item.name: item.description for item in section.value})
    return summary, described


def faults(error: ValidationError) -> str:
    """What is wrong with arguments, for the model."""
    return "; ".join(f"{'.'.join(map(str, fault['loc'])) or 'arguments'}: {fault['msg']}" for fault in error.errors())
