"""What a line typed in the terminal means as an answer, and how a question looks."""

from __future__ import annotations

import pytest

from orchestra.cli.asking import question, response
from orchestra.core.interrupts import Approve, InterruptView, Reject, Response

APPROVAL = InterruptView("i", "approval", "it costs money", "billing", "credit", {"amount": 49.0}, "approval")
QUESTION = InterruptView("i", "seat", "which one?", "travel", "book")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("y", Approve()),
        ("YES", Approve()),
        ("always", Approve(always=True)),
        ("n", Reject("")),
        ("no not this month", Reject("not this month")),
        ("rather not", Reject("rather not")),
    ],
)
def test_answers_to_an_approval(text: str, expected: Response) -> None:
    assert response(APPROVAL, text) == expected


@pytest.mark.parametrize(
    ("text", "expected"), [("12A", "12A"), ('{"row": 12}', {"row": 12}), ("null", None), ("yes", "yes"), ("7", 7)]
)
def test_answers_to_a_question(text: str, expected: Response) -> None:
    assert response(QUESTION, text) == expected


def test_a_question_says_who_asks_what_and_with_what() -> None:
    assert [line.plain for line in question(APPROVAL)] == ["? credit of billing: it costs money", "  amount: 49.0"]
    assert [line.plain for line in question(QUESTION)] == ["? book of travel, seat: which one?"]
    node = InterruptView("i", "approval", "needs one", "send", arguments={"input": "x" * 700}, node="send")
    head, given = (line.plain for line in question(node))
    assert (head, len(given)) == ("? send: needs one", len("  input: ") + 600)
