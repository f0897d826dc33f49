"""The root of the tree, and what is wrong with input and configuration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar


class OrchestraError(Exception):
    """Root of all errors of this package."""

    retryable: ClassVar[bool] = False
    exit_code: ClassVar[int] = 1

    def __init__(self, *args: object) -> None:
        super().__init__(*args)

    def __str__(self) -> str:
        """The message for people; classes with structured data override :meth:`message`."""
        return self.message()

    def message(self) -> str:
        """What went wrong and what to do about it."""
        return " ".join(str(argument) for argument in self.args)


class InputError(OrchestraError, ValueError):
    """What the caller handed in is wrong; nothing was done."""

    exit_code = 2


class ConfigError(InputError):
    """A configuration is wrong. Data: ``problem``, ``file``, ``line`` (1-based), ``field`` (dotted), ``hint``."""

    def __init__(
        self, problem: str, file: str | None = None, line: int | None = None, field: str | None = None, hint: str = ""
    ) -> None:
        super().__init__(problem, file, line, field, hint)
        self.problem, self.file, self.line, self.field, self.hint = problem, file, line, field, hint

    def message(self) -> str:
        """``file:line: field: problem. hint``."""
        where = f"{self.file}:{self.line}" if self.file and self.line else self.file
        text = ": ".join(part for part in (where, self.field, self.problem) if part)
        return f"{text}. {self.hint}" if self.hint else text


class ConfigErrors(ConfigError):
    """Several faults of one file, all of them in ``errors``."""

    def __init__(self, errors: Sequence[ConfigError]) -> None:
        first = errors[0]
        super().__init__(first.problem, first.file, first.line, first.field, first.hint)
        self.args = (tuple(errors),)
        self.errors = tuple(errors)

    def message(self) -> str:
        """One line per fault."""
        return "\n".join(error.message() for error in self.errors)


class UnknownName(InputError):
    """A name leads nowhere. Data: ``kind``, ``name``, ``known``."""

    def __init__(self, kind: str, name: str, known: Sequence[str] = ()) -> None:
        super().__init__(kind, name, tuple(known))
        self.kind, self.name, self.known = kind, name, tuple(known)

    def message(self) -> str:
        """Names the thing and lists what there is."""
        there = f"known: {', '.join(self.known)}" if self.known else "none is known here"
        return f"no {self.kind} named {self.name!r} ({there})"
