"""Questions for transcripts that have none."""

from __future__ import annotations

from orchestra.experiments.silver import with_questions
from orchestra.experiments.workloads import Dialogue
from orchestra.experiments.workloads.dialogue import in_turns


def test_lines_are_true_from_when_they_are_made_until_they_are_replaced() -> None:
    said = ("My budget is 900 euros.", "I live in Graz.", "Thanks!", "Make the budget 1200 euros instead.", "Bye.")
    talk = in_turns([pair for text in said for pair in (("user", text, 0.0), ("assistant", "Noted.", 0.0))])  # type: ignore[misc]
    questions = with_questions(Dialogue("w", "c", talk, ())).questions
    assert [(one.line, one.evidence, one.since, one.until) for one in questions] == [
        ("My budget is 900 euros.", (1,), 1, 4),
        ("I live in Graz.", (3,), 2, None),
        ("My budget is 1200 euros.", (7,), 4, None),
    ]
