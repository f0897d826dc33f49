"""When memory sleeps more often than is worth it."""

from __future__ import annotations

import pytest

from orchestra import Sleeptime
from orchestra.cluster.scenario.frequency import too_frequent
from orchestra.cluster.scenario.passes import ChangedBlock, PassReport
from orchestra.core.model import Usage


def one(*, changed: bool, messages: int = 4) -> PassReport:
    blocks = (ChangedBlock("notes", "b", 1, 2),) if changed else ()
    return PassReport("p", 2, messages, blocks, "llm", Usage(1000, 10, 1), 0.5, 1, 0, ())


def test_it_names_the_measured_cost() -> None:
    found = too_frequent([*[one(changed=True)] * 2, *[one(changed=False)] * 3], Sleeptime(every=1))
    assert found.startswith("3 of the last 5 passes changed nothing; they took 3,030 tokens and 1.5 s.")
    assert "turns 1 is too frequent here" in found


@pytest.mark.parametrize(
    "passes",
    [
        [one(changed=False)] * 3,  # too few to tell
        [*[one(changed=True)] * 3, *[one(changed=False)] * 2],
        [*[one(changed=True)] * 4, *[one(changed=False, messages=0)] * 20],  # of documents
        [*[one(changed=False)] * 30, *[one(changed=True)] * 20],  # long ago
    ],
)
def test_it_is_silent(passes: list[PassReport]) -> None:
    assert too_frequent(passes, Sleeptime(every=1)) == ""
    assert too_frequent([one(changed=False)] * 9, None) == ""
