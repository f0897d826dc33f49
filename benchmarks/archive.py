"""The archive at size: ``python -m benchmarks.archive [--passages 32000] [--cache DIR]``.

Generated passages, embedded once by the real model and kept in a file; a real server; medians and 95th percentiles of
single calls. Recall is counted against a brute-force scan in float64. Nothing here is a test.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import os
import platform
import random
import resource
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import platformdirs
import psutil
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from orchestra.core.passages import MAX_RESULTS, Passage
from orchestra.core.span import Span
from orchestra.memory.passages import Passages
from orchestra.memory.search.archive import LocalArchive
from orchestra.memory.search.embedder import DEFAULT, Embedder, find, load
from orchestra.memory.search.filters import EVERYTHING, Filter
from orchestra.memory.search.shelf import Shelf
from orchestra.store.connection import Store
from tests.servers import Server, binary

SEED, DAY = 20, 86_400.0
FIRST_DAY = 1_700_000_000.0
CACHE = Path(platformdirs.user_cache_dir("orchestra")) / "benchmarks"


def listed(text: str) -> list[str]:
    return text.split("|")


PEOPLE = listed(
    "Ana|Ben|Chloé|Deniz|Emeka|Farah|Goran|Hana|Ivo|Jun|Katya|Luis|Mina|Nils|Olga|Pavel|Quynh|Rosa|Sami|Tove"
)
PLACES = listed("Lisbon|Kyoto|Bergen|Lagos|Oaxaca|Tbilisi|Hanoi|Porto|Tartu|Quito|Malmö|Seoul|Accra|Split|Cork|Basel")
THINGS = listed(
    "a wooden boat|the lease of the flat|a peanut allergy|the quarterly report|a new bicycle|the garden wall|"
    "piano lessons|the visa application|a broken heater|the wedding speech|a rescue dog|the tax return|"
    "a night train|the museum tickets|a leaking roof|the vaccination card|a sourdough starter|"
    "the marathon training|an old camera|the school play|a camping stove|the insurance claim|a chess club|"
    "the language course|a solar panel"
)
DOINGS = listed(
    "has decided to sell|wants to talk about|forgot again about|is worried about|asked for help with|"
    "has paid for|will inherit|is looking for|gave away|had to cancel|is proud of|wrote a long letter about|"
    "dreams of|insured"
)
ENDINGS = listed(
    "before the winter|because of the move|after the operation|for her mother|with two friends from work|"
    "in spite of the price|until the end of March|since the argument|as a surprise|for the third time|"
    "without telling anybody"
)
QUERIES = listed(
    "what food is dangerous for him?|sailing|heating that does not work|public transport at night|"
    "learning an instrument|pets from a shelter|running a long distance|baking bread|taking pictures|"
    "renting an apartment|medical records|electricity from the sun|a party for newlyweds|"
    "papers for entering a country|water coming in"
)
TAGS = ("home", "health", "travel", "work")


def corpus(count: int) -> list[str]:
    """``count`` different sentences, the same ones every time."""
    made = random.Random(SEED)
    texts: dict[str, None] = {}
    while len(texts) < count:
        who, place, day = made.choice(PEOPLE), made.choice(PLACES), made.randint(1, 28)
        what = f"{made.choice(DOINGS)} {made.choice(THINGS)} {made.choice(ENDINGS)}"
        texts[f"On the {day} of {made.choice(('May', 'June', 'October'))} in {place}: {who} {what}."] = None
    return list(texts)


def vectors_of(texts: Sequence[str], cache: Path, say: Callable[[str], None]) -> NDArray[np.float32]:
    """The vectors, made once and kept in ``cache``; what was made is kept also when this is interrupted."""
    name = hashlib.blake2b("\n".join((DEFAULT, *texts)).encode(), digest_size=8).hexdigest()
    file, part = cache / f"archive-{name}.npy", cache / f"archive-{name}.part.npy"
    if file.is_file():
        return np.asarray(np.load(file), np.float32)
    cache.mkdir(parents=True, exist_ok=True)
    embedder = load(find("auto"))
    done = [np.load(part)] if part.is_file() else []
    count = sum(len(piece) for piece in done)
    while count < len(texts):
        done.append(embedder.embed(texts[count : count + 512]))
        count += len(done[-1])
        np.save(part, np.concatenate(done))
        say(f"embedded {count} of {len(texts)}")
    part.rename(file)
    return np.asarray(np.load(file), np.float32)


class Cached:
    """The real model, except for the passages of the corpus, whose vectors are known."""

    def __init__(self, texts: Sequence[str], vectors: NDArray[np.float32]) -> None:
        self._known = dict(zip(texts, vectors, strict=True))
        self.name, self.dimension = DEFAULT, int(vectors.shape[1])

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if all(text in self._known for text in texts):
            return np.stack([self._known[text] for text in texts])
        return load(find("auto")).embed(texts)


def cached() -> Embedder:
    """As ``embeddings: {model: benchmarks.archive:cached}`` makes it."""
    texts = corpus(int(os.environ["ARCHIVE_PASSAGES"]))
    return Cached(texts, vectors_of(texts, Path(os.environ["ARCHIVE_CACHE"]), lambda text: None))


def milliseconds(calls: Callable[[int], object], rounds: int) -> tuple[float, float]:
    """Median and 95th percentile of one call."""
    took = []
    for number in range(20):  # warm up
        calls(number)
    for number in range(rounds):
        start = time.perf_counter()
        calls(number)
        took.append((time.perf_counter() - start) * 1000)
    return statistics.median(took), statistics.quantiles(took, n=20)[18]


async def awaited(calls: Callable[[int], object], rounds: int) -> tuple[float, float]:
    """The same for coroutines."""
    took = []
    for number in range(rounds):
        start = time.perf_counter()
        await calls(number)  # type: ignore[misc]
        took.append((time.perf_counter() - start) * 1000)
    return statistics.median(took), statistics.quantiles(took, n=20)[18]


def megabytes() -> float:
    """Resident memory of this process."""
    return float(psutil.Process().memory_info().rss) / 1e6


async def measure(url: str, count: int, rounds: int, console: Console) -> None:
    texts = corpus(count)
    matrix = vectors_of(texts, Path(os.environ["ARCHIVE_CACHE"]), console.print)
    queries = load(find("auto")).embed(QUERIES)
    table = Table("what", "measured", box=None, pad_edge=False)

    store = await Store.open(url, "bench")
    first = LocalArchive(store, "benchmarks.archive:cached")
    passages = Passages(store, first)
    start = time.perf_counter()
    await inserted(passages, texts)
    took = time.perf_counter() - start
    table.add_row("insert, 80 a command", f"{count / took:,.0f} passages/s")
    start = time.perf_counter()
    await passages.search("bench", QUERIES[0])
    took = time.perf_counter() - start
    table.add_row("vectors stored and loaded", f"{count / took:,.0f} passages/s")
    singles = await awaited(lambda n: passages.insert("single", f"one passage {n}"), 300)
    table.add_row("insert of one passage", f"{singles[0]:.2f} ms, p95 {singles[1]:.2f}")
    info = await store.redis.info("memory")
    table.add_row("memory of the server", f"{int(info['used_memory']) / 1e6:.0f} MB")
    await first.close()

    before = megabytes()
    archive = LocalArchive(store, "benchmarks.archive:cached")
    passages = Passages(store, archive)
    start = time.perf_counter()
    await passages.search("bench", QUERIES[0])
    table.add_row("a new process loads all from Redis", f"{time.perf_counter() - start:.1f} s")
    (shelf,) = archive._passages._shelves.values()
    assert isinstance(shelf, Shelf)
    table.add_row("memory for it", f"{megabytes() - before:.0f} MB more, matrix and index {shelf.size / 1e6:.0f} MB")

    half_year = Span(FIRST_DAY + 100 * DAY, FIRST_DAY + 300 * DAY)
    filters = {
        "scan, no filter": EVERYTHING,
        "scan, one tag (3/8 of all)": Filter(("home",)),
        "scan, two tags, all (1/8)": Filter(("home", "health"), "all"),
        "scan, one tag and 200 days": Filter(("home",), span=half_year),
        "scan, 200 days": Filter(span=half_year),
    }
    for name, only in filters.items():
        p50, p95 = scan(shelf, queries, only, rounds)
        table.add_row(name, f"{p50:.2f} ms, p95 {p95:.2f}")
    for name, tags in (("whole search, known query vector, no filter", None), ("the same, one tag", ["home"])):
        p50, p95 = await awaited(lambda n, tags=tags: passages.search("bench", texts[n], tags), rounds)  # type: ignore[misc]
        table.add_row(name, f"{p50:.2f} ms, p95 {p95:.2f}")
    p50, p95 = await awaited(lambda n: passages.search("bench", f"{QUERIES[n % len(QUERIES)]} {n}"), 60)
    table.add_row("whole search, the query embedded", f"{p50:.2f} ms, p95 {p95:.2f}")
    table.add_row(
        "recall@10 against brute force", f"{recall(shelf, matrix, texts, queries, await by_text(passages)):.4f}"
    )
    await archive.close()
    await words(store, rounds, table)
    await store.close()
    console.print(table)


async def inserted(passages: Passages, texts: Sequence[str]) -> None:
    """A quarter has each tag, an eighth two; they spread over 400 days."""
    groups = [texts[number::4] for number in range(4)]
    for number, group in enumerate(groups):
        for piece in range(0, len(group), 80):
            tags = [TAGS[number], *([TAGS[(number + 1) % 4]] if piece % 160 == 0 else [])]
            day = FIRST_DAY + DAY * (piece % 400)
            await passages.insert_many("bench", group[piece : piece + 80], tags, created_at=day)


async def vector_sets(url: str, count: int, rounds: int, console: Console) -> None:
    """The same passages where the server searches them (``embeddings: {index: vectorset}``)."""
    texts = corpus(count)
    matrix = vectors_of(texts, Path(os.environ["ARCHIVE_CACHE"]), console.print)
    store = await Store.open(url, "bench")
    archive = LocalArchive(store, "benchmarks.archive:cached", index="vectorset")
    passages = Passages(store, archive)
    table = Table("vector sets", "measured", box=None, pad_edge=False)
    await inserted(passages, texts)
    plain = int((await store.redis.info("memory"))["used_memory"])
    start = time.perf_counter()
    await passages.search("bench", QUERIES[0])
    took = time.perf_counter() - start
    table.add_row("vectors stored and put into the set", f"{count / took:,.0f} passages/s")
    used = int(str(await store.read("MEMORY", "USAGE", store.keys.vectors("bench"))))
    table.add_row("memory of the server: passages, set", f"{plain / 1e6:.0f} MB, {used / 1e6:.0f} MB")
    wanted = (
        ("whole search, known query vector, no filter", {}),
        ("the same, one tag", {"tags": ["home"]}),
        ("the same, one tag and 200 days", {"tags": ["home"], "start_date": "2024-02-22", "end_date": "2024-09-08"}),
    )
    for name, given in wanted:
        p50, p95 = await awaited(lambda n, given=given: passages.search("bench", texts[n], **given), rounds)  # type: ignore[misc]
        table.add_row(name, f"{p50:.2f} ms, p95 {p95:.2f}")
    ids = await by_text(passages)
    tagged = {one.id for one in await passages_with(passages, "home")}
    embedded = load(find("auto")).embed(QUERIES)
    for name, tags in (("recall@10 against brute force", None), ("the same, one tag", ["home"])):
        hits = 0
        for query, vector in zip(QUERIES, embedded, strict=True):
            scores = -(matrix.astype(np.float64) @ vector.astype(np.float64))
            ranked = [ids[texts[row]] for row in np.argsort(scores)]
            if tags:
                ranked = [one for one in ranked if one in tagged]
            found = await passages.search("bench", query, tags)
            hits += len({hit.passage.id for hit in found} & set(ranked[:10]))
        table.add_row(name, f"{hits / (10 * len(QUERIES)):.4f}")
    await archive.close()
    await store.close()
    console.print(table)


async def passages_with(passages: Passages, tag: str) -> list[Passage]:
    """All passages that have the tag."""
    out: list[Passage] = []
    cursor = None
    while True:
        page = await passages.list("bench", limit=1000, cursor=cursor)
        out += [one for one in page if tag in one.tags]
        if page.cursor is None:
            return out
        cursor = page.cursor


def scan(shelf: Shelf, queries: NDArray[np.float32], only: Filter, rounds: int) -> tuple[float, float]:
    """The search in the matrix alone."""
    vectors = shelf._vectors
    return milliseconds(lambda n: vectors.search(queries[n % len(queries)], MAX_RESULTS, only), rounds)


async def by_text(passages: Passages) -> dict[str, str]:
    """Text → id of all passages."""
    out: dict[str, str] = {}
    cursor = None
    while True:
        page = await passages.list("bench", limit=1000, cursor=cursor)
        out |= {one.text: one.id for one in page}
        if page.cursor is None:
            return out
        cursor = page.cursor


def recall(
    shelf: Shelf, matrix: NDArray[np.float32], texts: Sequence[str], queries: NDArray[np.float32], ids: dict[str, str]
) -> float:
    """Which part of the ten nearest by definition is among the ten found."""
    hits = 0
    for query in queries:
        nearest = np.argsort(-(matrix.astype(np.float64) @ query.astype(np.float64)))[:10]
        found = {key for key, _ in shelf._vectors.search(query, 10)}
        hits += len(found & {ids[texts[row]] for row in nearest})
    return hits / (10 * len(queries))


async def words(store: Store, rounds: int, table: Table) -> None:
    """The same archive without a model."""
    before = megabytes()
    archive = LocalArchive(store, "none")
    passages = Passages(store, archive)
    start = time.perf_counter()
    await passages.search("bench", QUERIES[0])
    table.add_row(
        "words only: loads and indexes all", f"{time.perf_counter() - start:.1f} s, {megabytes() - before:.0f} MB"
    )
    for name, tags in (("words only: whole search, no filter", None), ("the same, one tag", ["home"])):
        p50, p95 = await awaited(lambda n, tags=tags: passages.search("bench", QUERIES[n % 15], tags), rounds)  # type: ignore[misc]
        table.add_row(name, f"{p50:.2f} ms, p95 {p95:.2f}")
    await archive.close()


def main() -> None:
    parser = argparse.ArgumentParser(description="The archive at size.")
    parser.add_argument("--passages", type=int, default=32_000)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--cache", type=Path, default=CACHE)
    given = parser.parse_args()
    os.environ |= {"ARCHIVE_PASSAGES": str(given.passages), "ARCHIVE_CACHE": str(given.cache)}
    console = Console()
    vectors_of(corpus(given.passages), given.cache, console.print)
    console.print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} processors, numpy {np.__version__}")
    for kind, work in (("valkey", measure), ("redis8", vector_sets)):
        path = binary(kind)
        if path is None:
            console.print(f"no {kind} here: left out")
            continue
        server = Server(path)
        try:
            asyncio.run(work(server.url, given.passages, given.rounds, console))
        finally:
            server.stop()
    console.print(f"most memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3:.0f} MB")


if __name__ == "__main__":
    main()
