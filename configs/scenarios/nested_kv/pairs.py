"""Nested key-value lookup: pairs of UUIDs by a seed, put into the archive and followed through it."""

from __future__ import annotations

import itertools
import json
import random
import re
import uuid
from collections.abc import Mapping
from typing import Any

from orchestra import ToolContext
from orchestra.core.messages import Message

UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
FOUND = 3


def pairs(spec: Mapping[str, Any]) -> tuple[list[tuple[str, str]], list[list[str]]]:
    """(all pairs in the order's own sequence, a chain of UUIDs for each depth: the key, what it leads to, the end)."""
    seeded = random.Random(spec["seed"])

    def fresh() -> str:
        return str(uuid.UUID(int=seeded.getrandbits(128), version=4))

    chains = [[fresh() for _ in range(depth + 2)] for depth in range(spec["deepest"] + 1)]
    made = [pair for chain in chains for pair in itertools.pairwise(chain)]
    made += [(fresh(), fresh()) for _ in range(spec["pairs"] - len(made))]
    random.Random(f"{spec['seed']}:{spec['order']}").shuffle(made)
    return made, chains


def orders(text: str) -> list[dict[str, int]]:
    """What each order is made from: the numbers in the task."""
    named = {"pairs": r"(\d+) pairs", "deepest": r"to (\d+) deep", "seed": r"[Ss]eed (\d+)", "orders": r"(\d+) orders"}
    found = {name: int(match[1]) for name, pattern in named.items() if (match := re.search(pattern, text))}
    if missing := named.keys() - found.keys():
        raise ValueError(f"the task does not say: {', '.join(sorted(missing))}")
    count = found.pop("orders")
    return [{**found, "order": order} for order in range(count)]


def one(state: Any, invocation_state: Mapping[str, object]) -> object:
    """The input of one order: its numbers alone."""
    return state.item


async def deal(text: str, ctx: ToolContext) -> dict[str, Any]:
    """Put the pairs of an order into the archive, unless they are there from an earlier run."""
    assert ctx.archive is not None
    spec = json.loads(text)
    made, chains = pairs(spec)
    tag = f"seed-{spec['seed']}-of-{spec['pairs']}-order-{spec['order']}"
    there = await ctx.archive.search(made[-1][0], tags=[tag], limit=1)
    if not there:
        for key, value in made:
            await ctx.archive.insert(f"The value of key {key} is {value}.", tags=[tag])
    first = [{"depth": depth, "way": [chain[0]]} for depth, chain in enumerate(chains)]
    return {"tag": tag, "open": first, "done": []}


async def search(outputs: dict[str, Any], ctx: ToolContext) -> dict[str, Any]:
    """What the archive has about the end of each way, without the pair that led there: it is not read twice."""
    assert ctx.archive is not None
    state = outputs.get("take") or outputs["deal"]
    still = []
    for one in state["open"]:
        *before, key = one["way"]
        page = await ctx.archive.search(key, tags=[state["tag"]], limit=FOUND)
        notes = [hit.passage.text for hit in page if not any(known in hit.passage.text for known in before)]
        still.append({**one, "notes": notes})
    return {**state, "open": still}


def question(state: Any, invocation_state: Mapping[str, object]) -> list[Message]:
    """What the reader is given: the pairs that were found, then the question."""
    asked = state.item
    return [
        Message("user", "\n".join(asked["notes"]) or "There is no pair with that key."),
        Message("user", f"What is the value of key {asked['way'][-1]}?"),
    ]


def take(outputs: dict[str, Any]) -> dict[str, Any]:
    """Go on where a key led on; what is no key itself is the end of its way."""
    state = outputs["search"]
    still, done = [], list(state["done"])
    for asked, answer in zip(state["open"], outputs["read"], strict=True):
        key = asked["way"][-1]
        named = UUID.findall(str(answer))
        # A pair of another key is what a careless reader gives for a key that there is none of.
        led = named[-1:] if named and named[-1] != key and (len(named) == 1 or named[0] == key) else []
        (still if led else done).append({"depth": asked["depth"], "way": [*asked["way"], *led]})
    return {"tag": state["tag"], "open": still, "done": done}


def score(text: str, outputs: dict[str, Any]) -> str:
    """How many keys were followed all the way to their true end, in all and by depth."""
    specs = orders(text.split("\n\n")[0])
    right: dict[int, int] = {}
    for spec, found in zip(specs, outputs["look"], strict=True):
        ways = {one["depth"]: one["way"] for one in found["done"]}
        for depth, chain in enumerate(pairs(spec)[1]):
            right[depth] = right.get(depth, 0) + (ways.get(depth) == chain)
    by_depth = ", ".join(f"{depth}: {count} of {len(specs)}" for depth, count in right.items())
    return f"{sum(right.values())} of {len(specs) * len(right)} right (nested {by_depth})"
