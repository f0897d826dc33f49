"""The context's size: the provider's count of the last call, estimates for what came after."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from orchestra.context.size import current_tokens
from orchestra.core.model import Usage


@pytest.mark.parametrize(
    ("usage", "after", "everything", "expected"),
    [
        (Usage(input_tokens=1000, output_tokens=200), (30, 4), 9_999, 1_234),
        (Usage(input_tokens=1000, output_tokens=200), 34, 9_999, 1_234),
        (Usage(input_tokens=1000, output_tokens=200, cached_tokens=900), 0, 9_999, 1_200),
        (Usage(input_tokens=1000), (), 9_999, 1_000),
        (None, (30, 4), 9_999, 9_999),
        (Usage(), 34, 9_999, 9_999),
        (Usage(output_tokens=7), 34, 9_999, 9_999),
        (Usage(input_tokens=-1, output_tokens=5), 34, 9_999, 9_999),
    ],
)
def test_the_size_now(usage: Usage | None, after: Sequence[int] | int, everything: int, expected: int) -> None:
    assert current_tokens(usage, after, everything) == expected
