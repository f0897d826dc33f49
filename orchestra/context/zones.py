"""The fixed part of a prompt under memory pressure: which tiers of memory there are, and the tools that reach them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal, TypeAlias

Tier: TypeAlias = Literal["blocks", "recall", "archive", "files", "offloaded"]

_TEXTS: dict[Tier, tuple[str, tuple[str, ...]]] = {
    "blocks": (
        "Memory blocks stand in every prompt, between <memory_blocks> tags. They are small: keep in them what you need "
        "in every turn.",
        ("core_memory_append", "core_memory_replace", "memory_insert", "memory_rethink"),
    ),
    "recall": (
        "Recall is everything that was ever said here, also messages that are no longer shown. Nothing is lost: "
        "search it before you say that you do not know.",
        ("conversation_search",),
    ),
    "archive": (
        "The archive holds any number of passages that you save. It is not shown; you search it.",
        ("archival_memory_insert", "archival_memory_search"),
    ),
    "files": (
        "Notes in files are shown at the start of the next session; you add to their end.",
        ("memory_file_append",),
    ),
    "offloaded": (
        "A large tool result is shown as its beginning, its end and a reference; you read the rest page by page.",
        ("retrieve_offloaded",),
    ),
}


def fixed_instructions(tiers: Sequence[Tier], *, tools: Collection[str]) -> str:
    """The text that explains ``tiers``, in that order, naming only those of ``tools`` that the agent has."""
    lines = [
        "Your context window is limited. The newest messages are shown to you; when it fills, the oldest ones are "
        "replaced by a summary. Your memory has these tiers:"
    ]
    for tier in tiers:
        text, names = _TEXTS[tier]
        having = [name for name in names if name in tools]
        lines.append(f"- {text} Tools: {', '.join(having)}." if having else f"- {text}")
    lines.append(
        "When you are told of memory pressure, save first what you will need word for word, then go on with the task."
    )
    return "\n".join(lines)
