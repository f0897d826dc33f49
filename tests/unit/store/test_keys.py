"""All keys of a namespace share one hash slot, whatever ids are in them."""

from __future__ import annotations

import inspect

from hypothesis import given
from hypothesis import strategies as st
from redis.crc import key_slot

from orchestra.store.keys import Keys

NAMESPACES = st.from_regex(r"[a-z0-9-]{1,64}", fullmatch=True)
METHODS = [name for name, _ in inspect.getmembers(Keys, inspect.isfunction) if not name.startswith("_")]


def plain_keys(keys: Keys) -> list[str]:
    """The keys that a namespace has one of."""
    return [value for name, value in vars(keys).items() if name not in ("namespace", "prefix")]


def made_keys(keys: Keys, text: str, number: int) -> list[str]:
    """Every key that a method makes, with ``text`` for each id and ``number`` for each number."""
    made = []
    for name in METHODS:
        method = getattr(keys, name)
        kinds = [parameter.annotation for parameter in inspect.signature(method).parameters.values()]
        made.append(method(*(number if "int" in str(kind) else text for kind in kinds)))
    return made


@given(NAMESPACES, st.text(min_size=1), st.integers(0, 1 << 40))
def test_all_keys_of_a_namespace_share_one_slot(namespace: str, text: str, number: int) -> None:
    keys = Keys(namespace)
    made = plain_keys(keys) + made_keys(keys, text, number)
    assert len(made) == len(set(made)) > 25
    assert {key_slot(key.encode("utf-8", "surrogatepass")) for key in made} == {key_slot(namespace.encode())}


@given(NAMESPACES, st.text(min_size=1), st.text(min_size=1))
def test_two_ids_never_give_one_key(namespace: str, one: str, other: str) -> None:
    keys = Keys(namespace)
    mine, theirs = set(made_keys(keys, one, 1)), set(made_keys(keys, other, 1))
    assert (mine & theirs == set()) == (one != other)
