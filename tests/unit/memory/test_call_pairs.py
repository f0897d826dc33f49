"""Calls and results: which belong together, in both shapes, also when an id comes again."""

from __future__ import annotations

import pytest

from orchestra.memory.call_pairs import calls_of, closed_prefix, pairs_in, result_of, whole_pairs

CALL = {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "1", "output": "x"}
TEXT = {"role": "user", "content": "a"}
BOTH = {"role": "assistant", "content": "", "tool_calls": [{"id": "1"}, {"id": "2"}]}
FIRST, SECOND = ({"role": "tool", "tool_call_id": name, "content": ""} for name in "12")


@pytest.mark.parametrize(
    ("item", "calls", "result"),
    [
        (CALL, ("1",), None),
        (OUTPUT, (), "1"),
        (TEXT, (), None),
        (BOTH, ("1", "2"), None),
        (FIRST, (), "1"),
        ({"type": "computer_call", "call_id": "3"}, ("3",), None),
        ({"type": "mcp_approval_request", "id": "4"}, ("4",), None),
        ({"type": "mcp_approval_response", "approval_request_id": "4"}, (), "4"),
        ({"type": "web_search_call", "id": "5"}, (), None),
        ({"tool_calls": [None, {"id": 3}, {}], "tool_call_id": 7}, (), None),
        ("text", (), None),
    ],
)
def test_what_an_item_calls_or_answers(item: object, calls: tuple[str, ...], result: str | None) -> None:
    assert (calls_of(item), result_of(item)) == (calls, result)


def test_an_id_that_comes_again_is_another_pair() -> None:
    items = [CALL, OUTPUT, CALL, OUTPUT, OUTPUT]
    assert pairs_in(items) == [(0, 1), (2, 3)]
    assert whole_pairs(items, range(1, 4)) == [CALL, OUTPUT]
    assert whole_pairs(items, range(3, 5)) == [OUTPUT], "a result that never had a call is no half"


def test_a_message_of_two_calls_goes_with_both_results() -> None:
    items = [BOTH, FIRST, SECOND, TEXT]
    assert whole_pairs(items, [0, 1, 3]) == [TEXT]
    assert whole_pairs(items, [1, 2, 3]) == [TEXT]
    assert whole_pairs(items, range(4)) == items


@pytest.mark.parametrize(
    ("items", "closed"),
    [
        ([], 0),
        ([TEXT], 1),
        ([TEXT, CALL], 1),
        ([TEXT, CALL, TEXT], 1),
        ([TEXT, CALL, TEXT, OUTPUT, TEXT], 5),
        ([BOTH, FIRST], 0),
        ([BOTH, SECOND, FIRST], 3),
        ([CALL, OUTPUT, CALL], 2),
        ([OUTPUT, CALL], 1),
    ],
)
def test_how_far_everything_is_answered(items: list[object], closed: int) -> None:
    assert closed_prefix(items) == closed
