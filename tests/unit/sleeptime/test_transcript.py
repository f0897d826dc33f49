"""The transcripts of passes: their union is the log, without a gap or a repeat, for any size of a pass."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from orchestra.core.messages import Message, Meta, ToolCall
from orchestra.core.tokens import message_tokens
from orchestra.memory.sessions import message_text
from orchestra.sleeptime.transcript import transcript

# Per turn: how many tool calls, whether it was broken off, how many messages were added from outside afterwards.
TURNS = st.lists(st.tuples(st.integers(0, 2), st.booleans(), st.integers(0, 2)), max_size=8)


def log_of(turns: list[tuple[int, bool, int]]) -> tuple[list[str], list[list[int]]]:
    """The entries of a log, and the sequence numbers of each stretch that must not be split."""
    entries: list[str] = []
    units: list[list[int]] = []
    done = 0
    for number, (calls, aborted, added) in enumerate(turns):
        made = [Message("user", f"question {number}")]
        for n in range(calls):
            made.append(Message("assistant", "", (ToolCall(f"{n}", "look", {"n": n}),)))
            made.append(Message("tool", "found " * 20, tool_call_id=f"{n}", name="look"))
        if not aborted:
            made.append(Message("assistant", f"answer {number} " * (number + 1)))
            done += 1
        meta = Meta(run=f"r{number}", aborted=aborted)
        first = len(entries) + 1
        units.append(list(range(first, first + len(made))))
        stamped = [message.with_meta(meta) for message in made]
        for message in [*stamped, *(Message("user", "from outside") for _ in range(added))]:
            entries.append(f"{len(entries) + 1} {done} {message_tokens(message)} {message_text(message)}")
        units += [[n] for n in range(units[-1][-1] + 1, len(entries) + 1)]
    return entries, units


@given(TURNS, st.integers(1, 200), st.integers(0, 5))
def test_the_union_of_passes_is_the_log(turns: list[tuple[int, bool, int]], max_tokens: int, behind: int) -> None:
    entries, units = log_of(turns)
    read: list[int] = []
    watermark = turn = 0
    while watermark < len(entries):
        older = entries[max(0, watermark - behind) :]  # what is read from the store may reach further back
        found = transcript(older, watermark=watermark, watermark_turn=turn, max_tokens=max_tokens)
        seqs = [message.meta.seq for message in found.messages]
        assert seqs
        assert found.upto == seqs[-1] > watermark
        assert found.rest == (found.upto < len(entries))
        assert found.upto_turn >= turn
        taken = [unit for unit in units if unit[0] in seqs]
        assert [seq for unit in taken for seq in unit] == seqs  # whole turns only
        tokens = sum(int(entries[seq - 1].split(" ")[2]) for seq in seqs)
        assert tokens <= max_tokens or len(taken) == 1
        read += seqs
        watermark, turn = found.upto, found.upto_turn
    assert read == list(range(1, len(entries) + 1))


def test_nothing_waits() -> None:
    entries, _ = log_of([(0, False, 0)])
    found = transcript(entries, watermark=2, watermark_turn=1, max_tokens=100)
    assert (found.messages, found.upto, found.upto_turn, found.rest) == ((), 2, 1, False)


def test_unreadable_entries_are_passed_over() -> None:
    entries, _ = log_of([(0, False, 0), (0, False, 0)])
    entries[1] = "2 1 3 no json"
    found = transcript(entries, watermark=0, watermark_turn=0, max_tokens=100)
    assert [message.meta.seq for message in found.messages] == [1, 3, 4]


def test_how_a_model_reads_it() -> None:
    entries, _ = log_of([(1, True, 0), (0, False, 0)])
    found = transcript(entries, watermark=0, watermark_turn=0, max_tokens=1000, retracted=(8, 9))
    lines = found.text().split("\n")
    assert lines[0] == "(Messages 8, 9 were retracted: what came only from them is not true.)"
    assert lines[1:4] == [
        "[1] user (of a turn that was broken off): question 0",
        "[2] assistant (of a turn that was broken off): ",
        "  calls look({'n': 0})",
    ]
    assert lines[-1] == "[5] assistant: answer 1 answer 1 "
