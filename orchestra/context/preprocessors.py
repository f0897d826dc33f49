"""What a user does with the history before it is shown: an ordered list of steps, each of which gets a copy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, cast

import regex

from orchestra.context.repair import repair
from orchestra.context.window import last_messages, passing
from orchestra.core.errors import ConfigError, OrchestraError
from orchestra.core.jsontext import Json, copied
from orchestra.core.messages import Message, Part, ToolCall, as_messages

REDACTED = "[redacted]"
REDACT_SECONDS = 1.0
BUILT_IN = ("window_size", "filter", "redact")
_CALL = regex.compile(r"\s*(window_size)\s*\(\s*(\d+)\s*\)\s*")


class Preprocessor(Protocol):
    """A function from messages to messages, oldest first. It may change the list that it gets, or return another."""

    def __call__(self, messages: list[Message], /) -> Sequence[Message]:
        """The messages that are shown."""


Resolve = Callable[[str], object]
"""From an import path to what it names; raises an :class:`OrchestraError` when there is nothing."""


@dataclass(frozen=True, slots=True)
class WindowSize:
    """The last ``size`` messages. A head summary and the user's newest message stay."""

    size: int

    def __call__(self, messages: Sequence[Message], /) -> Sequence[Message]:
        """The end of ``messages``."""
        return last_messages(messages, self.size)


@dataclass(frozen=True, slots=True)
class Filter:
    """The messages for which ``predicate`` is true. A head summary and the user's newest message stay."""

    predicate: Callable[[Message], bool]

    def __call__(self, messages: Sequence[Message], /) -> Sequence[Message]:
        """The messages that pass; the predicate gets copies."""
        return passing(messages, lambda message: bool(self.predicate(_copy(message))))


@dataclass(frozen=True, slots=True)
class Redact:
    """Every place that matches is replaced: in texts, reasoning, data, and the arguments of calls.

    ``replacement`` is taken as it stands. Other threads go on while it searches. Raises :class:`ConfigError` for a
    pattern that takes longer than a second on one text: what could not be searched is not shown.
    """

    pattern: regex.Pattern[str]
    replacement: str = REDACTED

    def __call__(self, messages: Sequence[Message], /) -> Sequence[Message]:
        """The messages, redacted; unchanged when nothing matches."""
        made = [self._redacted(message) for message in messages]
        return messages if all(map(_is, made, messages)) else made

    def _redacted(self, message: Message) -> Message:
        content: str | tuple[Part, ...]
        if isinstance(message.content, str):
            content = self._sub(message.content)
        else:
            content = tuple(self._part(part) for part in message.content)
        calls = tuple(self._call(call) for call in message.tool_calls)
        if content == message.content and calls == message.tool_calls:
            return message
        return replace(message, content=content, tool_calls=calls)

    def _part(self, part: Part) -> Part:
        return replace(part, text=self._sub(part.text), value=self._json(part.value))

    def _call(self, call: ToolCall) -> ToolCall:
        return replace(call, arguments={name: self._json(value) for name, value in call.arguments.items()})

    def _json(self, value: Json) -> Json:
        if isinstance(value, str):
            return self._sub(value)
        if isinstance(value, list):
            return [self._json(item) for item in value]
        if isinstance(value, dict):
            return {self._sub(name): self._json(item) for name, item in value.items()}
        return value

    def _sub(self, text: str) -> str:
        try:
            return str(self.pattern.sub(lambda _: self.replacement, text, concurrent=True, timeout=REDACT_SECONDS))
        except TimeoutError:
            raise ConfigError(
                f"the pattern {self.pattern.pattern!r} takes too long on a text of {len(text)} characters",
                field="conversation.preprocessors",
                hint="Use a pattern without repeats inside repeats.",
            ) from None


def parse(entries: Sequence[str | Mapping[str, object]], resolve: Resolve) -> tuple[Preprocessor, ...]:
    """The steps that ``conversation.preprocessors`` names, in order.

    An entry is ``{window_size: 200}`` (or ``window_size(200)``), ``{filter: package.module:predicate}``,
    ``{redact: pattern}``, ``{redact: [pattern, replacement]}``, ``{redact: {pattern: …, replacement: …}}``, or the
    import path of a function. Raises :class:`ConfigError`, which names the entry.
    """
    return tuple(_parsed(entry, resolve, f"conversation.preprocessors[{place}]") for place, entry in enumerate(entries))


def applied(preprocessors: Sequence[Preprocessor], messages: Sequence[Message]) -> Sequence[Message]:
    """``messages`` after all steps, in order, with calls and results whole after each; unchanged when none changes it.

    Each step gets a copy. A call whose result a step leaves out goes with it. Raises :class:`ConfigError` when
    one returns something that is no list of messages.
    """
    if preprocessors:
        messages = repair(messages)
    for preprocessor in preprocessors:
        if isinstance(preprocessor, WindowSize | Filter | Redact):
            messages = preprocessor(cast("list[Message]", messages))
            continue
        made = preprocessor([_copy(message) for message in messages])
        try:
            made = list(made)
            shown = as_messages(made) if made else ()
        except (OrchestraError, TypeError) as error:
            name = getattr(preprocessor, "__qualname__", type(preprocessor).__name__)
            raise ConfigError(
                f"{name} returned {type(made).__name__}: {error}",
                field="conversation.preprocessors",
                hint="A preprocessor returns the list of messages that is shown.",
            ) from None
        messages = _unchanged(messages, repair(shown, unanswered="drop"))
    return messages


def redacted(preprocessors: Sequence[Preprocessor], messages: Sequence[Message]) -> Sequence[Message]:
    """``messages`` after those steps that redact, and no others: one message for one.

    For what is shown to a model elsewhere than in a prompt.
    """
    for preprocessor in preprocessors:
        if isinstance(preprocessor, Redact):
            messages = preprocessor(messages)
    return messages


def _unchanged(given: Sequence[Message], made: Sequence[Message]) -> Sequence[Message]:
    """``given`` when ``made`` says the same; else ``made`` with those of ``given`` that are the same in it."""
    if len(given) == len(made) and all(one is other or one == other for one, other in zip(given, made, strict=True)):
        return given
    return made


def _copy(message: Message) -> Message:
    """A message of which nothing that can be changed belongs to another one."""
    if not message.tool_calls and isinstance(message.content, str):
        return message
    content = message.content
    if not isinstance(content, str):
        content = tuple(replace(part, value=copied(part.value)) for part in content)
    calls = tuple(
        replace(call, arguments={name: copied(value) for name, value in call.arguments.items()})
        for call in message.tool_calls
    )
    return replace(message, content=content, tool_calls=calls)


def _is(one: object, other: object) -> bool:
    return one is other


def _parsed(entry: str | Mapping[str, object], resolve: Resolve, field: str) -> Preprocessor:
    if isinstance(entry, str):
        if called := _CALL.fullmatch(entry):
            return _window_size(int(called[2]), field)
        return cast("Preprocessor", _function(entry, resolve, field))
    if not isinstance(entry, Mapping) or len(entry) != 1:
        raise ConfigError(f"{entry!r} is no preprocessor", field=field, hint=_HINT)
    ((name, value),) = entry.items()
    if name == "window_size":
        return _window_size(value, field)
    if name == "filter":
        return Filter(cast("Callable[[Message], bool]", _function(value, resolve, f"{field}.filter")))
    if name == "redact":
        return _redact(value, f"{field}.redact")
    raise ConfigError(f"there is no preprocessor {name!r}", field=field, hint=_HINT)


_HINT = "Use {window_size: N}, {filter: package.module:function}, {redact: PATTERN}, or the import path of a function."


def _window_size(value: object, field: str) -> WindowSize:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ConfigError(f"window_size is a number from 1 on, not {value!r}", field=field)
    return WindowSize(value)


def _function(value: object, resolve: Resolve, field: str) -> object:
    if not isinstance(value, str) or ":" not in value:
        raise ConfigError(f"{value!r} is no import path", field=field, hint=_HINT)
    try:
        found = resolve(value)
    except OrchestraError as error:
        raise ConfigError(str(error), field=field) from error
    if not callable(found):
        raise ConfigError(f"{value} is {type(found).__name__}, not a function", field=field)
    return found


def _redact(value: object, field: str) -> Redact:
    if isinstance(value, str):
        value = {"pattern": value}
    elif isinstance(value, list | tuple) and len(value) in (1, 2):
        value = dict(zip(("pattern", "replacement"), value, strict=False))
    if not isinstance(value, Mapping) or "pattern" not in value or not value.keys() <= {"pattern", "replacement"}:
        raise ConfigError(f"{value!r} names no pattern", field=field, hint="Use {redact: PATTERN}.")
    pattern, replacement = value["pattern"], value.get("replacement", REDACTED)
    if not isinstance(pattern, str) or not isinstance(replacement, str) or not pattern:
        raise ConfigError("pattern and replacement are texts, and the pattern is not empty", field=field)
    try:
        compiled = regex.compile(pattern)
    except regex.error as error:
        raise ConfigError(f"{pattern!r} is no regular expression: {error}", field=field) from None
    return Redact(compiled, replacement)
