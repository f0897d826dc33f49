"""Turn files: JSON lines."""

from pathlib import Path

import pytest

from orchestra.core.errors import ConfigError, ConfigErrors
from orchestra.core.scenario import Turn
from orchestra.runtime.turn_file import load_turns

GOOD = '{"role": "user", "content": "Hi.", "at": "2026-05-01"}'


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path / "t.jsonl"


def test_lines_in_their_order(file: Path) -> None:
    file.write_text(f'{GOOD}\r\n\n  \n{{"content": "a\u2028b"}}\n', encoding="utf-8")
    assert load_turns(file) == (Turn(content="Hi.", at="2026-05-01"), Turn(content="a\u2028b"))


FAULTS = [
    ("{'content': 'x'}", None, "not valid JSON: Expecting property name enclosed in double quotes at column 2"),
    ('{"content": "x"', None, "not valid JSON: Expecting ',' delimiter at column 16"),
    ("[1]", None, "the line is no JSON object"),
    ('"text"', None, "the line is no JSON object"),
    ('{"role": "user"}', "content", "is missing"),
    ('{"content": ""}', "content", "must not be empty"),
    ('{"content": 3}', "content", "must be text, not 3"),
    ('{"content": [{"type": "text"}]}', "content", "must be text, not a list"),
    ('{"content": "x", "role": "assistant"}', "role", "only what the user says is played"),
    ('{"content": "x", "timestamp": 1}', "timestamp", "there is no key 'timestamp'"),
    ('{"content": "x", "at": 5}', "at", "must be text, not 5"),
    ("[" * 100_000, None, "nested too deeply"),
]


@pytest.mark.parametrize(("line", "field", "problem"), FAULTS)
def test_each_malformed_line_has_its_number(file: Path, line: str, field: str | None, problem: str) -> None:
    file.write_text(f"{GOOD}\n\n{line}\n{GOOD}\n", encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_turns(file)
    assert (caught.value.file, caught.value.line, caught.value.field) == ("t.jsonl", 3, field)
    assert problem in caught.value.problem


def test_all_malformed_lines_are_told(file: Path) -> None:
    file.write_text(f"x\n{GOOD}\n[]\n", encoding="utf-8")
    with pytest.raises(ConfigErrors) as caught:
        load_turns(file)
    assert [error.line for error in caught.value.errors] == [1, 3]


@pytest.mark.parametrize("text", ["", "\n \n"])
def test_no_turns(file: Path, text: str) -> None:
    file.write_text(text)
    with pytest.raises(ConfigError, match=r"t\.jsonl:1: there are no turns in it"):
        load_turns(file)


def test_a_missing_file_and_one_that_is_not_utf_8(file: Path) -> None:
    with pytest.raises(ConfigError, match=r"t\.jsonl: there is no such turn file"):
        load_turns(file)
    file.write_bytes(GOOD.encode() + b'\n{"content": "\xff"}')
    with pytest.raises(ConfigError, match=r"t\.jsonl:2: the text is not UTF-8"):
        load_turns(file)
