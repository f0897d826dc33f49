"""Many agents write one block while it is tidied."""

from __future__ import annotations

from orchestra.experiments.experiment import SharedWriters
from orchestra.experiments.shared_writers import play_shared_writers


def test_nothing_is_lost() -> None:
    found = play_shared_writers(SharedWriters(writers=(4,), turns=6, every=2), 4)
    assert found.result == {
        "writers": 4, "statements": 24, "acknowledged": 16, "lost_updates": 0, "gaps_in_versions": 0,
    }  # fmt: skip
    assert int(str(found.timing["passes"])) > 0
    assert 0.3 < float(str(found.timing["freshness"])) <= 1.0
