"""The record of a compaction comes back from JSON and from another process as it was."""

from __future__ import annotations

import pickle

import pytest

from orchestra.core.compaction import CompactionRecord
from orchestra.core.errors import InputError
from orchestra.core.jsontext import dumps, loads

RECORD = CompactionRecord("요약 👩‍👩‍👧‍👦", upto_seq=12, tokens_before=900, tokens_after=300, cycle=2, reason="full")


def test_it_survives_json_and_pickling() -> None:
    assert CompactionRecord.from_json(loads(dumps(RECORD.to_json()))) == RECORD
    assert pickle.loads(pickle.dumps(RECORD)) == RECORD
    bare = {name: value for name, value in RECORD.to_json().items() if name != "reason"}
    assert CompactionRecord.from_json({**bare, "later": 1}).reason == ""


@pytest.mark.parametrize(("after", "effective"), [(899, True), (900, False), (901, False), (0, True)])
def test_it_is_effective_when_the_context_is_smaller(after: int, effective: bool) -> None:
    assert CompactionRecord("s", 1, 900, after, 1).effective is effective


@pytest.mark.parametrize(
    "value",
    [
        [],
        {},
        {**RECORD.to_json(), "upto_seq": "12"},
        {**RECORD.to_json(), "cycle": True},
        {**RECORD.to_json(), "tokens_after": 1.5},
        {**RECORD.to_json(), "summary": None},
    ],
)
def test_what_is_none_is_refused(value: object) -> None:
    with pytest.raises(InputError):
        CompactionRecord.from_json(value)
