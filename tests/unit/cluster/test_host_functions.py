"""Functions by value, from a program to a host."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import pytest

from orchestra.cluster.envelope import Edition
from orchestra.cluster.host_functions import Bundle, HostFunctions, Travelling, resolved_hints
from orchestra.core.errors import FunctionUnavailable
from orchestra.runtime.function_ref import FunctionTable, load, pack
from orchestra.runtime.tool import Tool
from orchestra.runtime.tool_context import ToolContext
from orchestra.testing import ScriptedModel, reply

ray = pytest.importorskip("ray")
from orchestra.cluster.function_bundle import FunctionBundle  # noqa: E402


def bundle_of(*values: object, **resources: Callable[[], object]) -> tuple[FunctionBundle, list[dict[str, str]]]:
    table = FunctionTable()
    references = [pack(value, table) for value in values]
    bundle = FunctionBundle(table, lambda: resources)
    assert bundle.refresh()
    return bundle, references


def arrived(bundle: FunctionBundle) -> Bundle:
    return cast("Bundle", ray.cloudpickle.loads(bundle.data))


def test_a_closure_arrives_with_what_it_holds_and_with_its_annotations() -> None:
    word = "held"

    def speak(context: ToolContext, loud: bool = False) -> str:
        return word.upper() if loud else word

    bundle, (reference,) = bundle_of(speak)
    host = HostFunctions()
    host.learn(arrived(bundle))
    found = cast("Callable[..., object]", load(reference, host))
    assert found is not speak
    assert found(None, loud=True) == "HELD"
    assert found.__annotations__["context"] is ToolContext
    assert "context" not in Tool(found).spec.parameters["properties"]  # type: ignore[operator]


def test_an_edition_counts_changes_only_and_a_scripted_model_needs_none() -> None:
    table: FunctionTable = FunctionTable()
    resources: dict[str, Callable[[], object]] = {}
    bundle = FunctionBundle(table, lambda: resources)
    table.put(ScriptedModel([reply("x")]))
    assert not bundle.refresh()
    assert bundle.edition is None
    table.put(lambda: 1)
    assert bundle.refresh()
    assert not bundle.refresh()
    first = bundle.edition
    resources["connection"] = dict
    assert bundle.refresh()
    assert first is not None
    assert bundle.edition == Edition(first.owner, first.number + 1)


def test_a_host_has_what_it_learnt_until_the_program_goes() -> None:
    bundle, (reference,) = bundle_of(lambda: 1)
    host = HostFunctions()
    assert bundle.edition is not None
    assert not host.has(bundle.edition)
    host.learn(arrived(bundle))
    assert host.has(bundle.edition)
    host.forget(bundle.owner)
    assert not host.has(bundle.edition)
    with pytest.raises(FunctionUnavailable, match="lambda"):
        load(reference, host)


def test_what_does_not_load_on_a_host_is_named_when_it_is_used() -> None:
    bundle = Bundle(Edition("owner", 0), {"token": ("broken", b"no pickle")}, {"connection": b"no pickle"})
    host = HostFunctions()
    factories = host.learn(bundle)
    with pytest.raises(FunctionUnavailable, match="broken"):
        load({"value": "token", "name": "broken"}, host)
    with pytest.raises(FunctionUnavailable, match="connection"):
        factories["connection"]()


def test_hints_travel_only_where_they_are_texts_that_mean_something() -> None:
    def local(value: NotThere) -> None: ...  # type: ignore[name-defined]  # noqa: F821

    assert resolved_hints(local) is None
    assert resolved_hints(3) is None
    assert Travelling(3, None).arrived() == 3
