"""Every error: pickled and back it is the same, and its message says something."""

from __future__ import annotations

import copy
import inspect
import pickle
import typing

import pytest

from orchestra.core import errors
from orchestra.core.errors import ConfigError, ConfigErrors, OrchestraError

CLASSES = [item for _, item in inspect.getmembers(errors, inspect.isclass) if issubclass(item, OrchestraError)]


def arguments(kind: type[OrchestraError]) -> list[object]:
    """A value for each parameter, by its annotation."""
    if kind is ConfigErrors:
        return [[ConfigError("too long", "a.yaml", 3, "name", "Shorten it"), ConfigError("missing", field="model")]]
    signature = inspect.signature(kind.__init__)
    hints = typing.get_type_hints(kind.__init__)
    out: list[object] = []
    for name, parameter in list(signature.parameters.items())[1:]:
        if parameter.kind is parameter.VAR_POSITIONAL:
            out += [] if out else ["what went wrong"]
            continue
        hint = str(hints[name])
        if "Sequence[int]" in hint:
            out.append((1, 3))
        elif "Sequence" in hint:
            out.append(("one", "two"))
        elif "float" in hint or "int" in hint:
            out.append(7)
        else:
            out.append(f"the {name}")
    return out


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_an_error_survives_pickling_and_says_something(kind: type[OrchestraError]) -> None:
    made = kind(*arguments(kind))
    for again in (pickle.loads(pickle.dumps(made)), copy.copy(made)):
        assert type(again) is kind
        assert str(again) == str(made) != ""
        plain = {name: str(value) for name, value in vars(made).items()}
        assert {name: str(value) for name, value in vars(again).items()} == plain
    assert kind.exit_code in (1, 2)
    assert isinstance(kind.retryable, bool)
    assert inspect.getdoc(kind)


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_the_data_is_in_attributes_and_in_the_message(kind: type[OrchestraError]) -> None:
    values = arguments(kind)
    made = kind(*values)
    names = [name for name, p in inspect.signature(kind.__init__).parameters.items() if p.kind is not p.VAR_POSITIONAL]
    if kind is ConfigErrors:
        assert [error.problem for error in made.errors] == ["too long", "missing"]  # type: ignore[attr-defined]
        assert "a.yaml:3: name: too long. Shorten it" in str(made)
        return
    for name, value in zip(names[1:], values, strict=False):
        if hasattr(made, name):
            found = getattr(made, name)
            assert found == (tuple(value) if isinstance(value, list) else value)
    assert any(str(value) in str(made) or (isinstance(value, tuple) and str(value[0]) in str(made)) for value in values)
