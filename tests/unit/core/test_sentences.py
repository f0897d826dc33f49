from __future__ import annotations

import pytest

from orchestra.core.sentences import is_question, sentences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("I met Dr. Smith at 3.5 p.m. today. He left.", ["I met Dr. Smith at 3.5 p.m. today.", "He left."]),
        ("J. R. Tolk wrote it, e.g. in May.", ["J. R. Tolk wrote it, e.g. in May."]),
        ('He said "Stop!" and left. Fine.', ['He said "Stop!" and left.', "Fine."]),
        ("Version 1.2.3 is out. Use it.", ["Version 1.2.3 is out.", "Use it."]),
        ("Wait... what? No.", ["Wait... what?", "No."]),
        ("- first thing\n2. second thing\n\n* third", ["first thing", "second thing", "third"]),
        ("It costs $1,200.50.", ["It costs $1,200.50."]),
        ("예산은 900유로예요. 이제 바꿔 주세요!", ["예산은 900유로예요.", "이제 바꿔 주세요!"]),
        ("予算は900です。東京に住んでいます！", ["予算は900です。", "東京に住んでいます！"]),
        ("", []),
        ("   \n ", []),
    ],
)
def test_where_sentences_end(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


def test_nothing_but_space_and_bullets_is_lost() -> None:
    text = 'A b. "C d?" E f… g h! 1.5 i e.g. j. 終わり。次'
    assert "".join(sentences(text)).replace(" ", "") == text.replace(" ", "")


def test_questions() -> None:
    assert is_question('Is it "new"?')
    assert is_question("本当？")
    assert is_question('He asked "why?"')
    assert not is_question("It is.")
