"""Shapes of graphs against plain definitions: reachability and loops by brute force."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from orchestra.core.graph_shape import Arc, GraphShape

NODES = tuple("abcdef")
arcs = st.lists(st.builds(Arc, st.sampled_from(NODES), st.sampled_from(NODES), st.booleans()), max_size=12)


def leads(pairs: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """The pairs (from, to) with a way of at least one step."""
    closed = set(pairs)
    for middle in NODES:
        closed |= {(a, b) for a in NODES for b in NODES if (a, middle) in closed and (middle, b) in closed}
    return closed


@given(arcs)
def test_loops_and_what_is_reachable(edges: list[Arc]) -> None:
    shape = GraphShape(NODES, tuple(edges), entry=("a",))
    ways = leads({(arc.source, arc.target) for arc in edges})
    assert shape.unreachable == tuple(name for name in NODES[1:] if ("a", name) not in ways)
    assert shape.cyclic == {name for name in NODES if (name, name) in ways}
    for loop in shape.loops:
        assert all((one, other) in ways for one in loop for other in loop)
    free = leads({(arc.source, arc.target) for arc in edges if not arc.bounded})
    assert {name for loop in shape.unbounded for name in loop} == {name for name in NODES if (name, name) in free}
    assert shape.repeatable == {b for b in NODES if any((a, a) in ways and (a == b or (a, b) in ways) for a in NODES)}


@given(arcs)
def test_every_reachable_node_is_in_one_layer_behind_what_leads_to_it_without_a_loop(edges: list[Arc]) -> None:
    shape = GraphShape(NODES, tuple(edges))
    place = {name: level for level, names in enumerate(shape.layers) for name in names}
    assert set(place) == set(NODES) - set(shape.unreachable)
    assert sum(map(len, shape.layers)) == len(place)
    for arc in edges:
        if arc.source in place and arc.target not in shape.cyclic:
            assert place[arc.source] < place[arc.target]


def test_without_an_entry_the_nodes_without_incoming_arcs_start_and_in_a_pure_loop_the_first() -> None:
    assert GraphShape(("a", "b", "c"), (Arc("a", "c"), Arc("b", "c"))).starts == ("a", "b")
    assert GraphShape(("a", "b"), (Arc("a", "b"), Arc("b", "a"))).starts == ("a",)
