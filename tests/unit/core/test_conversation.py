"""The configuration of the context: no key is there without an effect, and what makes no sense is refused."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest
from pydantic import BaseModel, ValidationError

import orchestra
from orchestra.core import conversation
from orchestra.core.conversation import Conversation

PARTS = sorted(
    (one for _, one in inspect.getmembers(conversation, inspect.isclass) if issubclass(one, BaseModel)),
    key=lambda one: one.__name__,
)
PARTS = [one for one in PARTS if one.__module__ == conversation.__name__]
SOURCE = "\n".join(
    path.read_text("utf-8")
    for path in sorted(Path(orchestra.__file__).parent.rglob("*.py"))
    if path.name != "conversation.py" and path.parts[-2] not in ("cli", "experiments")
)


@pytest.mark.parametrize("key", sorted(f"{part.__name__}.{name}" for part in PARTS for name in part.model_fields))
def test_each_key_is_read_somewhere(key: str) -> None:
    # `default` and `users` are read by the model's own method.
    if key not in ("HistoryLimit.default", "HistoryLimit.users"):
        assert re.search(rf"\.{key.partition('.')[2]}\b", SOURCE)


@pytest.mark.parametrize(
    "wrong",
    [
        {"offload": {"tools": {"read": -1}}},
        {"flush": {"timeout": -1}},
        {"flush": {"soft_threshold": -1}},
        {"compaction": {"reserve_floor": -1}},
        {"history_limit": -1},
        {"pressure": 1.5},
        {"unknown": 1},
    ],
)
def test_values_without_a_meaning_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Conversation.model_validate(wrong)


@pytest.mark.parametrize(
    "right",
    [{"flush": {"soft_threshold": 0, "forced_bytes": 0}}, {"compaction": {"reserve_floor": 0}}, {"history_limit": 0}],
)
def test_zero_is_a_value(right: dict[str, object]) -> None:
    assert Conversation.model_validate(right)


# What the specification of the context says where nothing is configured.
DEFAULTS: dict[str, object] = {
    "strategy": "safeguard",
    "blocks_in_prompt": "pinned",
    "history_limit.default": 0,
    "flush.enabled": True,
    "flush.soft_threshold": None,
    "flush.forced_bytes": 2 * 1024 * 1024,
    "flush.max_failures": 3,
    "guard.minimum": 16_000,
    "guard.warn_below": 32_000,
    "pruning.ttl": 300,
    "pruning.keep_last": 3,
    "pruning.soft_ratio": 0.3,
    "pruning.hard_ratio": 0.5,
    "pruning.min_prunable": 50_000,
    "pruning.soft_over": 4_000,
    "pruning.head": 1_500,
    "pruning.tail": 1_500,
    "compaction.reserve_floor": None,
    "compaction.keep_recent": None,
    "compaction.parts": 2,
    "compaction.base_ratio": 0.4,
    "compaction.min_ratio": 0.15,
    "compaction.safety": 1.2,
    "compaction.retries": 3,
    "compaction.block_stream": False,
    "compaction.max_overflows": 3,
    "pressure": None,
    "offload.over_tokens": 2_500,
    "offload.preview_tokens": 1_000,
    "bootstrap.max_chars": 20_000,
    "bootstrap.total_chars": 60_000,
    "bootstrap.head": 0.7,
    "bootstrap.tail": 0.2,
}


@pytest.mark.parametrize("key", DEFAULTS)
def test_defaults(key: str) -> None:
    value: object = Conversation()
    for name in key.split("."):
        value = getattr(value, name)
    assert value == DEFAULTS[key]


def test_a_number_for_pressure_is_when_the_agent_is_told() -> None:
    pressure = Conversation.model_validate({"pressure": 0.7}).pressure
    assert pressure is not None
    assert (pressure.at, pressure.evict_at, pressure.evict) == (0.7, 1.0, 0.5)
