"""What the extractive consolidator reads and writes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a block. ``sources`` are the numbers of the messages it came from; lines of people have none."""

    text: str
    sources: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Said:
    """One message of the transcript. ``retracted`` marks one that was taken back: it counts for nothing."""

    seq: int
    role: Literal["user", "assistant", "tool"]
    text: str
    retracted: bool = False
