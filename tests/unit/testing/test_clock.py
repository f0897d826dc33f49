from __future__ import annotations

import pytest

import orchestra.testing
from orchestra.core.errors import InputError
from orchestra.testing import FakeClock


def test_the_clock_moves_only_when_told() -> None:
    clock = FakeClock(100.0)
    assert clock.now() == clock() == 100.0
    assert clock.advance(2.5) == clock.now() == 102.5
    with pytest.raises(InputError):
        clock.advance(-1)
    assert clock.now() == 102.5


def test_the_public_names_are_frozen() -> None:
    assert orchestra.testing.__all__ == [
        "FakeClock",
        "FunctionModel",
        "ScriptedModel",
        "ScriptedReply",
        "call",
        "reply",
    ]
