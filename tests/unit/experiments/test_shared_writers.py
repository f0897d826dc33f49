"""Losses are found in a history."""

from __future__ import annotations

from orchestra.experiments.shared_writers import Statement, freshness_over, lost_updates, said_by
from orchestra.store.block_store import Version

RED, OSLO = Statement("Team1's work mug", "red", True), Statement("Team1's home trip", "Oslo", True)
TEAL = Statement("Team1's work mug", "teal", False)


def history(*values: str) -> list[Version]:
    return [Version(i, "append", "agent", "", "", "", value, float(i)) for i, value in enumerate(values, 1)]


def test_a_line_that_is_rewritten_is_not_lost() -> None:
    log = history(RED.line, f"{RED.line}\n{OSLO.line}", f"{TEAL.line}\n{OSLO.line}")
    assert lost_updates([RED, OSLO, TEAL], log) == 0


def test_a_line_that_is_overwritten_is_lost() -> None:
    assert lost_updates([RED, OSLO], history(RED.line, OSLO.line)) == 1
    assert lost_updates([RED, OSLO], history(RED.line)) == 1
    assert lost_updates([RED], []) == 1


def test_a_line_that_came_back_was_lost_for_a_while() -> None:
    assert lost_updates([RED, OSLO], history(f"{RED.line}\n{OSLO.line}", RED.line, f"{RED.line}\n{OSLO.line}")) == 1


def test_freshness_goes_by_what_was_said_when() -> None:
    log = history(RED.line, f"{RED.line}\n{OSLO.line}", f"{TEAL.line}\n{OSLO.line}")
    assert freshness_over([(1.5, RED), (2.5, OSLO), (3.5, TEAL)], log) == 1.0
    assert freshness_over([(0.5, RED), (2.5, OSLO), (2.6, TEAL)], log) == (0 + 1 + 0.5) / 3


def test_writers_have_slots_of_their_own() -> None:
    slots = [{one.slot for one in said_by(writer, 10)} for writer in (1, 2, 3)]
    assert not slots[0] & slots[1]
    assert not slots[1] & slots[2]
    assert sum(one.new for one in said_by(1, 10)) == 7
