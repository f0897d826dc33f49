"""What the agents of a swarm leave for each other in one run, and how the next one is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from orchestra.core.handoff import Handoff
from orchestra.core.jsontext import Json, copied, dumps
from orchestra.core.messages import Message, Part
from orchestra.patterns.node_input import task_text
from orchestra.patterns.visits import VisitInput

_SHORTEST = 120


class SharedContext:
    """Knowledge by agent, and the path so far. Owner: the plan of one run; a second run starts with an empty one."""

    def __init__(self, task: Sequence[Message], *, knowledge_chars: int) -> None:
        self._task, self._bound = tuple(task), knowledge_chars
        self._path: list[str] = []
        self._knowledge: dict[str, Json] = {}

    def visited(self, agent: str) -> None:
        """``agent`` had its visit."""
        self._path.append(agent)

    def left(self, agent: str, context: Json) -> None:
        """``agent`` leaves ``context``. Its newest knowledge stands last; objects are merged, the newer key counts."""
        if context is None or context == {}:
            return
        old = self._knowledge.pop(agent, None)
        both = isinstance(old, dict) and isinstance(context, dict)
        self._knowledge[agent] = copied({**old, **context} if both else context)  # type: ignore[dict-item]

    def input_for(self, handoff: Handoff, sender: str, others: Mapping[str, str]) -> VisitInput:
        """What the agent that ``sender`` handed off to gets. ``others`` are the agents that it may hand off to."""
        known, cut = _bounded(self._knowledge, self._bound)
        parts = [
            f"## Handed to you by {sender}\n\n{handoff.message}",
            f"## The user's request\n\n{task_text(self._task)}",
            f"## The agents that worked on it so far\n\n{' -> '.join(self._path)}",
        ]
        if known:
            note = f"(Shortened to {self._bound} characters; the oldest was cut first.)\n\n" if cut else ""
            parts.append("## What they found out\n\n" + note + "\n".join(f"{name}: {text}" for name, text in known))
        if others:
            listed = "\n".join(f"- {name}: {text}" if text else f"- {name}" for name, text in others.items())
            parts.append(f"## The other agents\n\n{listed}")
        text = "\n\n".join(parts)
        media = [
            part
            for message in self._task
            if not isinstance(message.content, str)
            for part in message.content
            if part.type not in ("text", "reasoning")
        ]
        content: str | tuple[Part, ...] = (Part("text", text), *media) if media else text
        return VisitInput((Message("user", content),), text, copied(self._knowledge), value=text)  # type: ignore[arg-type]


def _bounded(knowledge: Mapping[str, Json], bound: int) -> tuple[list[tuple[str, str]], bool]:
    """The knowledge as text by agent, oldest first, within ``bound`` characters; and whether anything was left out."""
    texts = {name: dumps(value) for name, value in knowledge.items()}
    over = sum(len(name) + len(text) + 3 for name, text in texts.items()) - bound
    if over <= 0:
        return list(texts.items()), False
    for name, text in texts.items():
        if over <= 0:
            break
        texts[name] = _head_and_tail(text, max(_SHORTEST, len(text) - over))
        over -= len(text) - len(texts[name])
    while over > 0 and len(texts) > 1:  # so many agents that even their shortest texts are too long together
        name = next(iter(texts))
        over -= len(name) + len(texts.pop(name)) + 3
    return list(texts.items()), True


def _head_and_tail(text: str, length: int) -> str:
    if len(text) <= length:
        return text
    mark = f" … {len(text) - length} characters left out … "
    kept = max(0, length - len(mark))
    head = (kept + 1) // 2
    return text[:head] + mark + text[len(text) - (kept - head) :]
