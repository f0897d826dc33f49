"""Data of users: each format as it is, its known faults handled and counted, others named with line and field."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from orchestra.core.errors import ConfigError
from orchestra.core.jsontext import Json
from orchestra.experiments.workloads import (
    Dialogue,
    load_beam,
    load_letta_worlds,
    load_locomo,
    load_longmemeval,
    load_transcripts,
    terms,
)


def written(path: Path, value: Json) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1), encoding="utf-8")
    return path


def locomo(**more: Json) -> Json:
    lines = [("Ada", "Hello Bo!"), ("Bo", "I have a cat."), ("Ada", "I went to Oslo."), ("Bo", "Its name is Tom.")]
    session = [{"speaker": who, "dia_id": f"D1:{i}", "text": text} for i, (who, text) in enumerate(lines, 1)]
    second = [{"speaker": "Ada", "dia_id": "D2:1", "text": "I am back."}]
    qa = [
        {"question": "Pet?", "answer": "a cat", "evidence": ["D1:2; D1:04"], "category": 1},
        {"question": "When?", "answer": 2022, "evidence": ["D:1:3"], "category": 2},
        {"question": "Lost?", "answer": "no", "evidence": ["D", "D9:9"], "category": 4},
        {"question": "Dog?", "adversarial_answer": "a dog", "evidence": ["D1:2"], "category": 5},
    ]
    notes = {"session_1_observation": {"Bo": [["Bo has a cat.", "D1:2"]]}}
    talk = {"speaker_a": "Ada", "speaker_b": "Bo", "session_2": second, "session_1": session}
    return [{"sample_id": "c1", "conversation": talk, "qa": qa, "observation": notes, **more}]


class TestLocomo:
    def test_evidence_ids_of_all_shapes(self, tmp_path: Path) -> None:
        (dialogue,) = load_locomo(written(tmp_path / "a.json", locomo()))
        assert [one.text for one in dialogue.utterances][-1] == "I am back."
        assert [(q.evidence, q.since, q.answer) for q in dialogue.questions] == [
            ((2, 4), 2, "a cat"),
            ((3,), 2, "2022"),
        ]
        assert dialogue.observations[0].sources == (2,)
        assert dialogue.defects == {
            "adversarial questions without an answer": 1,
            "adversarial questions, left out": 1,
            "evidence ids that lead nowhere": 1,
            "malformed evidence ids": 3,
            "questions without evidence, left out": 1,
        }

    def test_wrong_labels_are_corrected(self, tmp_path: Path) -> None:
        audit: Json = [
            {
                "sample_id": "c1",
                "qa_index": 0,
                "question": "Pet?",
                "correct_answer": "Tom",
                "correct_evidence": ["D1:4"],
            },
            {"sample_id": "c1", "qa_index": 1, "question": "Other?", "correct_answer": "x", "correct_evidence": []},
        ]
        data = written(tmp_path / "a.json", locomo())
        (dialogue,) = load_locomo(data, audit=written(tmp_path / "audit.json", audit))
        assert (dialogue.questions[0].answer, dialogue.questions[0].evidence) == ("Tom", (4,))
        assert dialogue.defects["labels corrected by the audit"] == 1
        assert dialogue.defects["entries of the audit that fit no question"] == 1


class TestLongMemEval:
    def entry(self, name: str, *, marked: bool) -> Json:
        talk = [
            [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}],
            [
                {"role": "user", "content": "I play the oud.", **({"has_answer": True} if marked else {})},
                {"role": "assistant", "content": "Nice."},
            ],
        ]
        return {
            "question_id": name,
            "question_type": "single-session-user",
            "question": "What do I play?",
            "answer": "the oud",
            "haystack_session_ids": ["s1", "s2"],
            "haystack_sessions": talk,
            "answer_session_ids": ["s2"],
        }

    def test_marked_messages_sessions_and_abstention(self, tmp_path: Path) -> None:
        entries: Json = [self.entry("a", marked=True), self.entry("b", marked=False), self.entry("c_abs", marked=True)]
        a, b, c = load_longmemeval(written(tmp_path / "a.json", entries))
        assert (a.questions[0].evidence, a.questions[0].since) == ((3,), 2)
        assert b.questions[0].evidence == (3, 4)
        assert b.defects["questions whose evidence are whole sessions"] == 1
        assert c.questions == ()
        assert c.defects == {"abstention questions, left out": 1}


class TestBeam:
    def folder(self, tmp_path: Path) -> Path:
        turns: Json = [
            [
                {"role": "user", "id": 0, "content": "My sprint ends on May 2. ->-> 1,1"},
                {"role": "assistant", "id": 1, "content": "Fine."},
                {"role": "user", "id": 2, "content": "No, on May 9."},
                {"role": "assistant", "id": 2, "content": "Fine."},
            ]
        ]
        written(tmp_path / "1" / "chat.json", [{"batch_number": 1, "turns": turns}])
        asked: Json = {
            "abstention": [{"question": "Who?", "ideal_response": "unknown"}],
            "knowledge_update": [
                {"question": "When?", "answer": "May 9", "source_chat_ids": {"original_info": [0], "updated_info": [2]}}
            ],
            "information_extraction": [
                {"question": "Start?", "answer": "x", "source_chat_ids": 0},
                {"question": "End?", "answer": "y", "source_chat_ids": [[0], 77]},
            ],
        }
        written(tmp_path / "1" / "probing_questions" / "probing_questions.json", asked)
        return tmp_path

    def test_markers_and_source_ids_of_all_shapes(self, tmp_path: Path) -> None:
        (dialogue,) = load_beam(self.folder(tmp_path))
        assert dialogue.utterances[0].text == "My sprint ends on May 2."
        assert [(q.kind, q.evidence, q.since) for q in dialogue.questions] == [
            ("knowledge_update", (1, 3), 2),
            ("information_extraction", (1,), 1),
            ("information_extraction", (1,), 1),
        ]
        assert dialogue.defects == {
            "message ids that are used twice": 1,
            "plan markers, cut off": 1,
            "questions without sources, left out": 1,
            "source ids given as an object": 1,
            "source ids that lead nowhere": 1,
        }

    def test_no_chat(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match=r"no chat\.json"):
            load_beam(tmp_path)


def world(**more: Json) -> Json:
    return {
        "facts": ["Ada Lind plays the oud in Oslo.", "Bo Moor keeps eleven bees."],
        "question": ["What does Ada play?", "How many bees?"],
        "answer": ["oud", "eleven"],
        "supporting_fact_indices": [[0], [1]],
        "contradicting_facts": ['"Ada Lind plays the harp in Oslo."', "Bo Moor gave his bees away."],
        "contradicting_answers": ["harp", "none"],
        **more,
    }


def lines(path: Path, *values: Json) -> Path:
    path.write_text("\n".join(json.dumps(value) for value in values), encoding="utf-8")
    return path


class TestLettaWorlds:
    def test_only_clean_contradictions_are_asked(self, tmp_path: Path) -> None:
        (dialogue,) = load_letta_worlds(lines(tmp_path / "w.jsonl", world()))
        updates = [question for question in dialogue.questions if question.kind == "update"]
        (one,) = updates
        assert (one.since, one.answer) == (3, "harp")
        assert [said.turn for said in dialogue.utterances] == [1, 2, 3, 4]
        assert one.now[0].stands_in(terms("Ada Lind plays the harp in Oslo."))
        assert one.before[0].stands_in(terms("Ada Lind plays the oud in Oslo."))
        assert dialogue.defects == {"contradictions that are not clean, left out": 1}
        # An unclean contradiction ends its fact all the same.
        assert [question.until for question in dialogue.questions if question.kind == "first"] == [3, 4]


@pytest.fixture
def _in_tokyo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


class TestTranscripts:
    def test_a_folder_of_conversations(self, tmp_path: Path) -> None:
        said: list[Json] = [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Hello."},
            {"role": "user", "content": "I live in Graz.", "timestamp": "2026-03-31T10:00:00+00:00"},
            {"role": "assistant", "content": "Noted.", "timestamp": 1_774_951_260},
            {"role": "user", "content": "Bye."},
        ]
        lines(tmp_path / "b.jsonl", *said)
        lines(tmp_path / "a.jsonl", *said[1:2])
        a, b = load_transcripts(tmp_path)
        assert (a.case, a.turns) == ("a", 1)
        assert [(one.turn, one.at) for one in b.utterances] == [
            (1, 1_774_951_200),
            (1, 1_774_951_200),
            (1, 1_774_951_260),
            (2, 1_774_951_260),
        ]
        assert b.defects == {"messages of other roles, left out": 1}

    def test_messages_without_a_time_make_no_pause(self, tmp_path: Path) -> None:
        # Every other message tells its time, as in the documentation.
        said: list[Json] = []
        for minute in range(3):
            said.append({"role": "user", "content": "Hello.", "timestamp": f"2026-03-31T10:0{minute}:00"})
            said.append({"role": "assistant", "content": "Hello."})
        (dialogue,) = load_transcripts(lines(tmp_path / "a.jsonl", *said))
        times = [one.at for one in dialogue.utterances]
        assert [later - one for one, later in pairwise(times)] == [0, 60, 0, 60, 0]

    @pytest.mark.usefixtures("_in_tokyo")
    def test_times_without_a_zone_are_utc(self, tmp_path: Path) -> None:
        said: list[Json] = [
            {"role": "user", "content": "Hello.", "timestamp": text}
            for text in ("2026-03-31T10:00:00", "2026-03-31T12:00:00+02:00", "2026-03-31T10:00:00Z")
        ]
        (dialogue,) = load_transcripts(lines(tmp_path / "a.jsonl", *said))
        assert [one.at for one in dialogue.utterances] == [1_774_951_200] * 3


Load = Callable[[Path], tuple[Dialogue, ...]]


@pytest.mark.parametrize(
    ("load", "text", "line", "field"),
    [
        (load_transcripts, '{"role": "user", "content": "Hi."}\n\n{"role": "user"}', 3, "content"),
        (load_transcripts, '{"role": "user", "content": 7}', 1, "content"),
        (load_transcripts, '{"role": "user", "content": "a", "timestamp": "soon"}', 1, "timestamp"),
        (load_transcripts, '{"role": "user", "content": "a"}\n{"role": "user"', 2, None),
        (load_transcripts, '{"role": "user", "content": "a", "timestamp": 1e999}', 1, "timestamp"),
        (load_transcripts, '{"role": "user", "content": "a", "timestamp": NaN}', 1, "timestamp"),
        (load_transcripts, '{"role": "user", "content": "a", "timestamp": 1774951200000}', 1, "timestamp"),
        (load_transcripts, "\n" + "[" * 100_000, 2, None),
        (load_transcripts, '{"role": "user", "content": ' + "9" * 5000 + "}", 1, None),
        (load_letta_worlds, json.dumps(world(answer=["oud"])), 1, "answer"),
        (load_letta_worlds, json.dumps(world(supporting_fact_indices=[[0], [9]])), 1, "supporting_fact_indices[1]"),
        (load_longmemeval, '[\n {"question_id": "a",\n  "answer_session_ids": {"x": 1}}\n]', 3,
         "[0].answer_session_ids"),
        (load_locomo, '[\n {"sample_id": "c",\n "conversation": {\n "session_1": [\n {"text": "a",\n "speaker": 4}]}}]',
         6,
         "[0].conversation.session_1[0].speaker"),
        (load_locomo, '[\n {"sample_id": "c",\n  "conversation": {"session_1": [{"speaker": "A",\n "text": "a"}]}}]', 3,
         "[0].conversation.session_1[0].dia_id"),
        (load_locomo, '{"a": 1}', 1, None),
        (load_locomo, '[\n1,\n', 3, None),
    ],
)  # fmt: skip
def test_a_malformed_file_names_line_and_field(
    load: Load, text: str, line: int, field: str | None, tmp_path: Path
) -> None:
    path = tmp_path / "data.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load(path)
    assert (caught.value.line, caught.value.field, caught.value.exit_code) == (line, field, 2)
    assert "data.jsonl" in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such data file"):
        load_locomo(tmp_path / "none.json")
