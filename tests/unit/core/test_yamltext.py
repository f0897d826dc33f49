"""YAML text to data with line numbers; every way in which it can be wrong."""

import math

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from orchestra.core.document import field_name, parse_field
from orchestra.core.errors import ConfigError
from orchestra.core.interpolation import escape
from orchestra.core.yamltext import parse, parse_front_matter, parse_value, resolved, split_front_matter


def read(text: str, **variables: str) -> dict[str, object]:
    document = parse(text, file="f.yaml", variables=variables)
    assert not document.faults
    return dict(document.data)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ("-3", -3),
        ("0x1f", 31),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        ("true", True),
        ("False", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("yes", "yes"),
        ("off", "off"),
        ("007", "007"),
        ("1_000", "1_000"),
        ("12:30:45", "12:30:45"),
        ("2026-05-01", "2026-05-01"),
        ("2026-05-01T10:00:00Z", "2026-05-01T10:00:00Z"),
        (".nan", ".nan"),
        ("'3'", "3"),
        ('"true"', "true"),
        ("[1, {a: b}]", [1, {"a": "b"}]),
        ("!!str 3", "3"),
        ("[Which one?, a ?b c?]", ["Which one?", "a ?b c?"]),
        ("{a: Why?, b: c}", {"a": "Why?", "b": "c"}),
        ("{? a : b}", {"a": "b"}),
    ],
)
def test_scalars_are_what_yaml_1_2_says_and_dates_are_text(text: str, value: object) -> None:
    assert read(f"key: {text}") == {"key": value}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('"${N:-3}"', 3),
        ("${N:-3}", 3),
        ("'${N:-0.5}'", 0.5),
        ("${N:-true}", True),
        ("${N:-null}", None),
        ('"${N:-}"', ""),
        ("${N:-a: b}", "a: b"),
        ("v${N:-3}", "v3"),
        ("${A}${A}", 11),
        ("$${N}", "${N}"),
        ("'3'", "3"),
    ],
)
def test_a_filled_in_scalar_is_typed_as_if_it_had_been_written(text: str, value: object) -> None:
    assert read(f"key: '{text}'" if ": " in text else f"key: {text}", A="1") == {"key": value}


def test_keys_are_text_as_written() -> None:
    assert read("1: a\ntrue: b\noff: c\n${A}: d") == {"1": "a", "true": "b", "off": "c", "${A}": "d"}


def test_anchors_and_merged_mappings() -> None:
    text = "base: &base {limit: 5, scope: user}\nother: {<<: *base, limit: 6}\nlist: [*base]"
    data = read(text)
    assert data["other"] == {"limit": 6, "scope": "user"}
    assert data["list"] == [data["base"]]


def test_every_key_and_entry_has_its_line() -> None:
    document = parse("# comment\nname: a\nblocks:\n  - label: b\n    limit: 3\n  - {label: c}\n", file="f.yaml")
    assert document.line(("name",)) == 2
    assert document.line(("blocks", 0, "limit")) == 5
    assert document.line(("blocks", 1, "label")) == 6
    assert document.line(("blocks", 1, "missing")) == 6
    assert document.line(("nowhere",)) == 1


SYNTAX = [
    ("", 1, "there is nothing in it"),
    ("# only a comment\n", 1, "there is nothing in it"),
    ("- a\n- b", 1, "the whole must be a mapping of keys to values, not a list"),
    ("\njust text", 2, "the whole must be a mapping of keys to values, not a single value"),
    ("a: b\n\tc: d", 2, "there is a tab where YAML wants spaces"),
    ("a:\n  b: c\n\td: e", 3, "there is a tab where YAML wants spaces"),
    ("a: b: c", 1, "a ':' too many"),
    ("a: b\n c: d", 2, "a ':' too many, or wrong indentation"),
    ("a: b\nc\nd: e", 3, "a key is not followed by ':'"),
    ("a:\n    - b\n   - c", 3, "the line does not fit what stands above it"),
    ("x: 1\na: [b, c", 2, "a list that was opened with '[' is not closed"),
    ("x: 1\na: {b: c", 2, "a mapping that was opened with '{' is not closed"),
    ("a: 'b", 1, "a quoted text is not closed"),
    ("a: @b", 1, "a value starts with a character that means something in YAML"),
    ("a: *", 1, "'*' and '&' start references"),
    ("a: *gone", 1, "undefined alias 'gone'"),
    ("a: 1\n---\nb: 2", 2, "more than one document"),
    ("a: 1\nb: \x07", 2, "there is a control character (0x07)"),
    ("a: &a [*a]", 1, "a reference that leads back to itself"),
    ("a: &a {b: {c: *a}}", 1, "a reference that leads back to itself"),
]


@pytest.mark.parametrize(("text", "line", "problem"), SYNTAX)
def test_what_is_no_mapping_in_yaml(text: str, line: int, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(text, file="f.yaml")
    assert caught.value.file == "f.yaml"
    assert caught.value.line == line
    assert problem in caught.value.problem
    assert "<" not in caught.value.problem


def test_references_that_multiply_are_stopped() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    with pytest.raises(ConfigError, match="more than 100000 values once its references are followed"):
        parse("\n".join(lines), file="f.yaml")


FAULTS = [
    ("a: 1\nb: 2\na: 3", 3, "a", "twice: on line 1 and on line 3"),
    ("a:\n  - {b: 1, b: 2}", 2, "a[0].b", "twice: on line 2 and on line 2"),
    ("a: ${NOWHERE}", 1, "a", "the environment variable NOWHERE is not set"),
    ("a:\n  - b\n  - x ${NOWHERE} y", 3, "a[1]", "the environment variable NOWHERE is not set"),
    ("a: ${x y}", 1, "a", "'${x y}' is not a variable"),
    ("a: !python/object:os.system x", 1, "a", "the tag !python/object:os.system is not known here"),
    ("a: !thing {b: 1}", 1, "a", "the tag !thing is not known here"),
    ("a: !thing [b]", 1, "a", "the tag !thing is not known here"),
    ("a:\n  ? [b]\n  : c", 2, "a", "a key must be text"),
    ("a: {<<: text}", 1, "a", "'<<' takes a mapping"),
]


@pytest.mark.parametrize(("text", "line", "field", "problem"), FAULTS)
def test_faults_that_leave_the_rest_readable(text: str, line: int, field: str, problem: str) -> None:
    [error] = parse(text, file="f.yaml").faults
    assert (error.file, error.line, error.field) == ("f.yaml", line, field)
    assert problem in error.problem


def test_front_matter_keeps_its_lines_and_the_body_becomes_the_instructions() -> None:
    document = parse_front_matter("---\nname: a\n\nlimit: 3\n---\n\nHelp ${USER}.\n\n---\nMore.\n", file="a.md")
    assert document.data == {"name": "a", "limit": 3, "instructions": "Help ${USER}.\n\n---\nMore."}
    assert document.line(("limit",)) == 4


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("", 1, "there is no front matter"),
        ("name: a", 1, "there is no front matter"),
        ("\n---\nname: a\n---", 1, "there is no front matter"),
        ("---\nname: a\n", 1, "the front matter is not closed by a line ---"),
        ("---\n---\nHelp.", 1, "there is nothing in it"),
        ("---\nname: a\ninstructions: x\n---\nHelp.", 3, "the instructions stand here and below the front matter"),
        ("---\nname: a\n\tb: c\n---\n", 3, "there is a tab"),
    ],
)
def test_front_matter_that_is_wrong(text: str, line: int, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_front_matter(text, file="a.md")
    assert (caught.value.file, caught.value.line) == ("a.md", line)
    assert problem in caught.value.problem


def test_instructions_may_stand_in_the_front_matter_when_there_is_no_body() -> None:
    assert parse_front_matter("---\nname: a\ninstructions: Help.\n---\n").data["instructions"] == "Help."
    assert split_front_matter("---\r\nname: a\r\n---\r\nHelp.\r\n") == ("\nname: a", "Help.")


@pytest.mark.parametrize(
    ("text", "value"),
    [("3", 3), ("", None), ("off", "off"), ("[a, 2]", ["a", 2]), ("${HOME}", "${HOME}"), ("a b", "a b")],
)
def test_values_of_the_command_line(text: str, value: object) -> None:
    assert parse_value(text) == value


def test_a_value_of_the_command_line_that_is_no_yaml() -> None:
    with pytest.raises(ConfigError, match="not closed"):
        parse_value("[a")


@given(st.lists(st.integers(0, 99) | st.text("abc_-", min_size=1), max_size=5).map(lambda steps: ("top", *steps)))
def test_field_names_come_back(path: tuple[str | int, ...]) -> None:
    assert parse_field(field_name(path)) == path


@given(st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text("ab 1.-"))
def test_a_variable_gives_what_the_same_text_gives_when_written(value: object) -> None:
    text = "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    filled = parse("key: ${V}", variables={"V": text}).data["key"]
    assert filled == resolved(text)
    if not isinstance(value, str):
        assert type(filled) is type(value)
        assert filled == value or (isinstance(value, float) and math.isclose(filled, value))  # type: ignore[arg-type]


@given(st.text(st.characters(blacklist_categories=("Cs", "Cc")), max_size=40))
def test_any_text_survives_being_written_and_read(text: str) -> None:
    written = yaml.safe_dump({"key": escape(text)}, allow_unicode=True, default_style='"')
    assert parse(written).data == {"key": text}
