"""The record of a compaction: the log stays whole, the record tells what stands in the prompt instead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from orchestra.core.errors import InputError
from orchestra.core.jsontext import Json
from orchestra.core.pickling import by_constructor


@by_constructor
@dataclass(frozen=True, slots=True)
class CompactionRecord:
    """A summary and what it stands for: the messages up to ``upto_seq`` (counted from 1), that one included.

    ``tokens_before`` and ``tokens_after`` are the context's size; ``cycle`` is the number of compactions, this one
    included; ``reason`` says why it was due.
    """

    summary: str
    upto_seq: int
    tokens_before: int
    tokens_after: int
    cycle: int
    reason: str = ""

    @property
    def effective(self) -> bool:
        """Whether the context is smaller now. A compaction that freed nothing is a failure and is not recorded."""
        return self.tokens_after < self.tokens_before

    def to_json(self) -> dict[str, Json]:
        """All fields."""
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_json(cls, value: object) -> CompactionRecord:
        """A record from its JSON object; :class:`InputError` names what is wrong with it."""
        if not isinstance(value, Mapping):
            raise InputError(f"a compaction record is an object, not {type(value).__name__}")
        for name in ("upto_seq", "tokens_before", "tokens_after", "cycle"):
            if type(value.get(name)) is not int:
                raise InputError(f"{name} of a compaction record is a whole number, not {value.get(name)!r}")
        if not isinstance(value.get("summary"), str):
            raise InputError("a compaction record needs the text of its summary")
        return cls(**{name: value[name] for name in cls.__slots__ if name in value})
