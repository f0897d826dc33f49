"""The model whose replies are written down beforehand, for tests and demonstrations."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, cast

from orchestra.core.errors import ContextOverflow, InputError, ModelError, ModelNotConfigured, ModelUnavailable
from orchestra.core.jsontext import Json
from orchestra.core.messages import Message
from orchestra.core.model import Delta, ModelReply, ModelRequest
from orchestra.models.playback import completed, played

ErrorKind: TypeAlias = Literal["error", "unavailable", "overflow", "not_configured"]
ERRORS: Mapping[ErrorKind, type[ModelError]] = {
    "error": ModelError,
    "unavailable": ModelUnavailable,
    "overflow": ContextOverflow,
    "not_configured": ModelNotConfigured,
}


@dataclass(frozen=True, slots=True)
class ScriptedReply:
    """One line of a script: ``reply``, or an error of kind ``error``, after ``delay`` seconds.

    With both, the reply's deltas are shown and then the error comes: a stream that breaks.
    """

    reply: ModelReply | None = None
    delay: float = 0.0
    error: ErrorKind | None = None
    problem: str = ""

    def to_json(self) -> dict[str, Json]:
        """The line as JSON, without what it leaves out."""
        out: dict[str, Json] = {}
        if self.reply is not None:
            out["reply"] = self.reply.to_json()
        if self.delay:
            out["delay"] = self.delay
        if self.error is not None:
            out["error"], out["problem"] = self.error, self.problem
        return out

    @classmethod
    def from_json(cls, value: Mapping[str, Json]) -> ScriptedReply:
        """The inverse of :meth:`to_json`."""
        reply, kind = value.get("reply"), value.get("error")
        if kind is not None and kind not in ERRORS:
            raise InputError(f"scripted error {kind!r} is not one of {', '.join(ERRORS)}")
        return cls(
            reply=None if reply is None else ModelReply.from_json(cast("Mapping[str, Json]", reply)),
            delay=float(cast("float", value.get("delay") or 0.0)),
            error=cast("ErrorKind | None", kind),
            problem=str(value.get("problem") or ""),
        )


Line: TypeAlias = ModelReply | ScriptedReply | ModelError | str


class ScriptedModel:
    """Gives its replies in order.

    Which one comes depends on ``request.call_number`` and on nothing else, so another host, or the same one after a
    crash, gives the same reply. A request beyond the end raises :class:`ModelError`.

    ``requests`` keeps every request this object got. It belongs to the object: a copy in another process (Ray) keeps
    its own, and pickling leaves it behind.

    With ``keeps_conversations`` it takes the part of a provider that keeps them: it is asked with new input only, and
    each of its replies has a ``response_id``.
    """

    def __init__(
        self, replies: Sequence[Line], *, name: str = "scripted:inline", keeps_conversations: bool = False
    ) -> None:
        self._name = name
        self.keeps_conversations = keeps_conversations
        self.replies = tuple(_line(number, reply) for number, reply in enumerate(replies))
        self.requests: list[ModelRequest] = []

    @property
    def name(self) -> str:
        """``scripted:inline``, or ``scripted:FILE``."""
        return self._name

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | ModelReply, None]:
        """The reply with the number of ``request``, in several deltas."""
        self.requests.append(request)
        number = request.call_number
        if number >= len(self.replies):
            raise ModelError(self._name, f"the script has {len(self.replies)} replies, call {number + 1} was asked")
        line = self.replies[number]
        if line.delay:
            await asyncio.sleep(line.delay)
        if line.reply is not None:
            reply = completed(line.reply, request, model=self._name)
            async with aclosing(played(reply)) as items:
                async for item in items:
                    if line.error is None or isinstance(item, Delta):
                        yield item
        if line.error is not None:
            raise ERRORS[line.error](self._name, line.problem)

    def to_spec(self) -> dict[str, Json]:
        """The script as JSON, for a stored definition; :func:`orchestra.models.resolve` takes it as it is."""
        spec: dict[str, Json] = {"scripted": [line.to_json() for line in self.replies], "name": self._name}
        return {**spec, "keeps_conversations": True} if self.keeps_conversations else spec

    @classmethod
    def from_spec(cls, spec: Mapping[str, Json]) -> ScriptedModel:
        """The inverse of :meth:`to_spec`."""
        lines = cast("list[Mapping[str, Json]]", spec["scripted"])
        return cls(
            [ScriptedReply.from_json(line) for line in lines],
            name=str(spec.get("name") or "scripted:inline"),
            keeps_conversations=bool(spec.get("keeps_conversations")),
        )

    def __getstate__(self) -> dict[str, object]:
        """Everything but the requests."""
        return {**self.__dict__, "requests": []}


def _line(number: int, line: Line) -> ScriptedReply:
    """``line`` in its full form; its calls get the ids that the call with this number gives them."""
    if isinstance(line, str):
        line = ModelReply(Message("assistant", line))
    if isinstance(line, ModelError):
        kind = next((kind for kind, error in ERRORS.items() if type(line) is error), "error")
        return ScriptedReply(error=cast("ErrorKind", kind), problem=line.problem)
    if isinstance(line, ModelReply):
        line = ScriptedReply(line)
    if line.reply is None:
        if line.error is None:
            raise InputError(f"line {number + 1} of the script holds neither a reply nor an error")
        return line
    message = line.reply.message
    calls = tuple(
        call if call.id else replace(call, id=f"call-{number}-{position}")
        for position, call in enumerate(message.tool_calls)
    )
    return replace(line, reply=replace(line.reply, message=replace(message, tool_calls=calls)))
