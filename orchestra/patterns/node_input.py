"""The input of a graph's node: the task, then what the nodes before it gave. Equal inputs are equal to the byte."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from orchestra.core.errors import InputError
from orchestra.core.jsontext import Json, dumps, fault
from orchestra.core.messages import Message, Part, as_messages
from orchestra.patterns.visits import VisitInput


def as_text(value: Json) -> str:
    """A node's output as text: text as it is, everything else as JSON."""
    return value if isinstance(value, str) else dumps(value)


def task_text(task: Sequence[Message]) -> str:
    """The words of the task."""
    return "\n\n".join(message.text for message in task if message.text)


def node_input(
    task: Sequence[Message], outputs: Mapping[str, tuple[Json, str]], item: tuple[int, int, Json] | None = None
) -> VisitInput:
    """The task followed by ``outputs`` (data and text by node, in their given order) and by the item of a ``map``.

    ``item`` is (index, how many, value).
    """
    parts = [f"## From {name}\n\n{text}" for name, (_, text) in outputs.items()]
    if item is not None:
        parts.append(f"## Item {item[0] + 1} of {item[1]}\n\n{as_text(item[2])}")
    return VisitInput(
        with_text(task, "\n\n".join(parts)),
        "\n\n".join(part for part in (task_text(task), *parts) if part),
        {name: data for name, (data, _) in outputs.items()},
        item[2] if item is not None else None,
    )


def with_text(task: Sequence[Message], text: str) -> tuple[Message, ...]:
    """The task with ``text`` after it: in its last message when that is the user's, else in one more."""
    if not text:
        return tuple(task)
    if not task or task[-1].role != "user":
        return (*task, Message("user", text))
    *rest, last = task
    if isinstance(last.content, str):
        content: str | tuple[Part, ...] = f"{last.content}\n\n{text}" if last.content else text
    else:
        content = (*last.content, Part("text", text))
    return (*rest, Message("user", content, name=last.name, meta=last.meta))


def own_input(value: object, outputs: Mapping[str, Json], item: Json) -> VisitInput:
    """What a node's ``inputs`` function returned: text, messages, or another JSON value, which is shown as JSON.

    Raises:
        InputError: it is none of these.
    """
    if isinstance(value, str):
        return VisitInput((Message("user", value),), value, outputs, item, value)
    if isinstance(value, Message) or (isinstance(value, list | tuple) and value and isinstance(value[0], Message)):
        messages = as_messages(value)
        return VisitInput(messages, task_text(messages), outputs, item)
    if (found := fault(value, "inputs")) is not None:
        raise InputError(f"{found[0]}: {found[1]}; inputs returns text, messages or a JSON value")
    text = dumps(value)
    return VisitInput((Message("user", text),), text, outputs, item, value)  # type: ignore[arg-type]
