"""Small expressions of configurations, such as ``check.output.score < 7``: CEL, by a library, never ``eval``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from orchestra.core.errors import InputError

if TYPE_CHECKING:
    from cel import Program

MAX_CHARS = 2000
_NESTED = 100
_DEFINED = re.compile(r"\.(?:all|exists|exists_one|map|filter)\(\s*(\w+)\s*,")
_BOUND = re.compile(r"\s*([A-Za-z_]\w*)\.visits\s*<=?\s*\d+\s*|\s*\d+\s*>=?\s*([A-Za-z_]\w*)\.visits\s*")


class Expression:
    """A compiled expression; what it is made of is its ``text``. Pickled by that text.

    Raises:
        InputError: the text is no expression; the message shows where.
    """

    __slots__ = ("_program", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._program = _compiled(text)

    def __reduce__(self) -> tuple[type[Expression], tuple[str]]:
        return Expression, (self.text,)

    @property
    def names(self) -> tuple[str, ...]:
        """The names that the expression reads, in alphabetical order, without those that it defines itself."""
        return tuple(sorted(set(self._program.variables()) - set(_DEFINED.findall(self.text))))

    @property
    def bounded_by(self) -> frozenset[str]:
        """Nodes whose number of visits bounds how often this can be true: ``draft.visits < 3``, alone or with ``&&``.

        Whatever else bounds it is not seen here: an expression with other operators around it gives nothing.
        """
        if re.search(r"\|\||[!?\"']", self.text):
            return frozenset()
        found = (_BOUND.fullmatch(part) for part in self.text.split("&&"))
        return frozenset(match[1] or match[2] for match in found if match)

    def evaluate(self, names: Mapping[str, object]) -> object:
        """The value for these names.

        Raises:
            InputError: it cannot be computed; the message says why, and never shows a value.
        """
        try:
            return self._program.execute(dict(names))
        except KeyError as error:
            raise InputError(f"there is no {error.args[0]!r} in what {self.text!r} looks at") from None
        except Exception as error:
            raise InputError(f"{self.text!r} cannot be computed: {_first_sentence(error)}") from None


def _compiled(text: str) -> Program:
    if len(text) > MAX_CHARS:
        raise InputError(f"an expression has at most {MAX_CHARS} characters, this one has {len(text)}")
    if sum(text.count(mark) for mark in "([{") > _NESTED:
        raise InputError(f"an expression has at most {_NESTED} brackets")
    import cel  # its import costs more than the rest of this package, and most graphs need no expression

    try:
        return cel.compile(text)
    except Exception as error:
        found = re.search(r"ERROR: <input>:\d+:(\d+): (?:Syntax error: )?(.*)", str(error))
        problem = f"at character {found[1]}: {found[2].split(' expecting {')[0]}" if found else _first_sentence(error)
        raise InputError(f"{text!r} is no expression, {problem}") from None


def _first_sentence(error: Exception) -> str:
    return str(error).splitlines()[0].split(". ")[0]
