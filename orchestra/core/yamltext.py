"""YAML text to data with line numbers. Scalars follow the YAML 1.2 core rules: ``no`` and dates are text.

Nothing is read from disk or from the environment here; both are handed in.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import yaml

from orchestra.core.document import Document, KeyPath, field_name
from orchestra.core.errors import ConfigError
from orchestra.core.interpolation import interpolate

_TAG = "tag:yaml.org,2002:"
_MAX_VALUES = 100_000
_INT = r"[-+]?(?:0|[1-9][0-9]*)|0o[0-7]+|0x[0-9a-fA-F]+"
_FLOAT = r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"


class _Loader(yaml.SafeLoader):
    """Reads plain scalars by the YAML 1.2 core rules, except that a number with leading zeros is text."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 (the parent's attribute)
    _in_plain = False

    def scan_plain(self) -> yaml.ScalarToken:
        """A plain scalar, in which a question mark is a character like any other: ``[Which one?]``."""
        self._in_plain = True
        try:
            return super().scan_plain()
        finally:
            self._in_plain = False

    def peek(self, index: int = 0) -> str:
        """The character ahead. The parent ends a plain scalar within brackets at ``?``, as YAML 1.1 had it.

        Only its decisions go through here; the text itself is taken from the buffer.
        """
        character = str(super().peek(index))
        return "x" if self._in_plain and character == "?" else character


for _kind, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", _INT, list("-+0123456789")),
    ("float", _FLOAT, list("-+.0123456789")),
    ("merge", r"<<", ["<"]),
):
    _Loader.add_implicit_resolver(_TAG + _kind, re.compile(rf"^(?:{_pattern})$"), _first)

_SYNTAX: tuple[tuple[str, str, str], ...] = (
    (r"'\\t' that cannot start", "there is a tab where YAML wants spaces", "Indent with spaces only"),
    (
        r"mapping values are not allowed",
        "a ':' too many, or wrong indentation",
        "Put text with ': ' in quotes",
    ),
    (r"could not find expected ':'", "a key is not followed by ':'", ""),
    (r"expected <block end>", "the line does not fit what stands above it", "Check its indentation"),
    (r"expected ',' or '\]'", "a list that was opened with '[' is not closed by ']'", ""),
    (r"expected ',' or '\}'", "a mapping that was opened with '{' is not closed by '}'", ""),
    (r"unexpected end of stream", "a quoted text is not closed", ""),
    (r"cannot start any token", "a value starts with a character that means something in YAML", "Put it in quotes"),
    (r"expected alphabetic or numeric", "'*' and '&' start references in YAML", "Put the value in quotes"),
    (r"but found another document", "the file holds more than one document", "Keep one; '---' starts another"),
)


def split_front_matter(text: str, *, file: str | None = None) -> tuple[str, str]:
    """(front matter, body) of a Markdown text that starts with ``---``.

    The front matter keeps its line numbers. Raises :class:`ConfigError` when it is not there or not closed.
    """
    lines = text.splitlines()
    hint = "Start the file with a line ---, then the keys, then a line ---, then the instructions"
    if not lines or lines[0].rstrip() != "---":
        raise ConfigError("there is no front matter", file, 1, None, hint)
    for number, line in enumerate(lines[1:], start=1):
        if line.rstrip() == "---":
            return "\n".join(["", *lines[1:number]]), "\n".join(lines[number + 1 :]).strip()
    raise ConfigError("the front matter is not closed by a line ---", file, 1, None, hint)


def parse(text: str, *, file: str | None = None, variables: Mapping[str, str] | None = None) -> Document:
    """The mapping that ``text`` holds, with variables filled in from ``variables``.

    Raises :class:`ConfigError` when the text is not YAML or no mapping. Faults that leave the rest readable (a key
    twice, a variable that is not set) are in the document's ``faults``.
    """
    node = _compose(text, file)
    if node is None:
        raise ConfigError("there is nothing in it", file, 1, None, "")
    if not isinstance(node, yaml.MappingNode):
        raise ConfigError(
            f"the whole must be a mapping of keys to values, not {_kind_of(node)}", file, node.start_mark.line + 1
        )
    builder = _Builder(file, {} if variables is None else variables)
    data = builder.mapping(node, ())
    return Document(
        data, file, builder.lines, builder.written, frozenset(builder.variable_paths), {}, tuple(builder.faults),
        frozenset(builder.broken),
    )  # fmt: skip


def parse_front_matter(text: str, *, file: str | None = None, variables: Mapping[str, str] | None = None) -> Document:
    """The front matter of a Markdown text, its body as ``instructions``, in which no variables are filled in."""
    front, body = split_front_matter(text, file=file)
    document = parse(front, file=file, variables=variables)
    if not body:
        return document
    if "instructions" in document.data:
        raise document.fault(
            ("instructions",), "the instructions stand here and below the front matter as well", "Keep one of them"
        )
    line = 3 + front.count("\n")
    return Document(
        {**document.data, "instructions": body},
        file,
        {**document.lines, ("instructions",): line},
        document.written,
        document.variables,
        {},
        document.faults,
        document.broken,
    )


def parse_value(text: str) -> object:
    """The value that ``text`` is in YAML, as ``--set key=value`` means it. Raises :class:`ConfigError`."""
    node = _compose(text, None)
    if node is None:
        return None
    builder = _Builder(None, {}, literal=True)
    value = builder.value(node, ())
    if builder.faults:
        raise builder.faults[0]
    return value


def resolved(text: str) -> object:
    """The value of the plain scalar ``text``: null, a boolean, a number or text. Empty text stays text."""
    if re.fullmatch(r"true|True|TRUE|false|False|FALSE", text):
        return text.lower() == "true"
    if re.fullmatch(_INT, text):
        return int(text, 0)
    if re.fullmatch(_FLOAT, text):
        return float(text)
    return None if text in ("~", "null", "Null", "NULL") else text


def _compose(text: str, file: str | None) -> yaml.Node | None:
    try:
        return yaml.compose(text, Loader=_Loader)
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise ConfigError(f"there is a control character ({ord(text[error.position]):#04x})", file, line) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        said = error.problem or "it cannot be read"
        for pattern, problem, hint in _SYNTAX:
            if re.search(pattern, said):
                opened = error.context_mark.line + 1 if error.context_mark and "opened" in problem else line
                raise ConfigError(f"not valid YAML: {problem}", file, opened, None, hint) from None
        raise ConfigError(f"not valid YAML: {said}", file, line) from None


def _kind_of(node: yaml.Node) -> str:
    return "a list" if isinstance(node, yaml.SequenceNode) else "a single value"


class _Builder:
    """Builds data from nodes and notes for every key path where it stands."""

    def __init__(self, file: str | None, variables: Mapping[str, str], *, literal: bool = False) -> None:
        self.file, self.environ, self.literal = file, variables, literal
        self.lines: dict[KeyPath, int] = {(): 1}
        self.written: dict[KeyPath, str] = {}
        self.variable_paths: set[KeyPath] = set()
        self.faults: list[ConfigError] = []
        self.broken: set[KeyPath] = set()
        self._open: list[yaml.Node] = []
        self._values = 0

    def fault(self, node: yaml.Node, path: KeyPath, problem: str, hint: str = "") -> None:
        self.faults.append(ConfigError(problem, self.file, node.start_mark.line + 1, field_name(path) or None, hint))
        self.broken.add(path)

    def value(self, node: yaml.Node, path: KeyPath) -> object:
        self._values += 1
        if self._values > _MAX_VALUES:
            # An alias of an alias of an alias … grows without bound from a few lines.
            raise ConfigError(
                f"more than {_MAX_VALUES} values once its references are followed", self.file, node.start_mark.line + 1
            )
        if any(node is outer for outer in self._open):
            raise ConfigError("a reference that leads back to itself", self.file, node.start_mark.line + 1)
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, path)
        self._open.append(node)
        try:
            return self.mapping(node, path) if isinstance(node, yaml.MappingNode) else self._sequence(node, path)
        finally:
            self._open.pop()

    def mapping(self, node: yaml.MappingNode, path: KeyPath) -> dict[str, object]:
        if node.tag != f"{_TAG}map":
            self.fault(node, path, f"the tag {node.tag} is not known here", "Leave it out")
        out: dict[str, object] = {}
        merged: dict[str, object] = {}
        first: dict[str, int] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if key_node.tag == f"{_TAG}merge":
                merged |= self._merged(value_node, path)
                continue
            if not isinstance(key_node, yaml.ScalarNode):
                self.fault(key_node, path, "a key must be text, not a list or a mapping")
                continue
            key = str(key_node.value)
            if key in first:
                self.faults.append(
                    ConfigError(
                        f"the key {key!r} stands here twice: on line {first[key]} and on line {line}",
                        self.file, line, field_name((*path, key)), "Keep one of them",
                    )
                )  # fmt: skip
                continue
            first[key] = line
            self.lines[(*path, key)] = line
            out[key] = self.value(value_node, (*path, key))
        return merged | out

    def _merged(self, node: yaml.Node, path: KeyPath) -> dict[str, object]:
        """What ``<<: *name`` brings; of several the first wins, and the mapping's own keys win over all."""
        out: dict[str, object] = {}
        for item in node.value if isinstance(node, yaml.SequenceNode) else [node]:
            if not isinstance(item, yaml.MappingNode):
                self.fault(item, path, "'<<' takes a mapping or a list of mappings")
                continue
            value = self.value(item, path)
            assert isinstance(value, dict)
            out = value | out
        return out

    def _sequence(self, node: yaml.Node, path: KeyPath) -> list[object]:
        if node.tag != f"{_TAG}seq":
            self.fault(node, path, f"the tag {node.tag} is not known here", "Leave it out")
        out = []
        for i, item in enumerate(node.value):
            self.lines[(*path, i)] = item.start_mark.line + 1
            out.append(self.value(item, (*path, i)))
        return out

    def _scalar(self, node: yaml.ScalarNode, path: KeyPath) -> object:
        text = str(node.value)
        if node.tag.removeprefix(_TAG) not in ("str", "null", "bool", "int", "float", "merge"):
            self.fault(node, path, f"the tag {node.tag} is not known here", "Leave it out, and quote what is text")
            return None
        if node.tag not in (f"{_TAG}str", f"{_TAG}merge"):
            value = resolved(text)
            if value is not None and value != "":
                self.written[path] = text
            return None if value == "" else value
        if self.literal or "${" not in text:
            return text
        filled = interpolate(text, self.environ)
        for problem, hint in filled.problems:
            self.fault(node, path, problem, hint)
        if filled.problems:
            return None
        if not filled.used:
            return filled.text
        self.variable_paths.add(path)
        value = resolved(filled.text)
        if not isinstance(value, str):
            self.written[path] = filled.text
        return value
