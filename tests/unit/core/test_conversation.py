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
