"""``orchestra archive``: in processes of their own, which find what the others have written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.cli.orchestra_command import Command, Done, write

CLUSTER = "namespace: test\ndata_dir: data\nembeddings: {model: %s}\n"


@pytest.fixture(params=["tests.meanings:make", "none"], ids=["meaning", "words"])
def archive(request: pytest.FixtureRequest, orchestra: Command) -> Command:
    write(orchestra.folder, {"cluster.yaml": CLUSTER % request.param})
    return orchestra


def test_add_search_list_delete(archive: Command) -> None:
    first = archive("archive", "add", "pal", "the boat is blue", "--tag", "boat", "--user", "ana", "--json").json
    assert (first["text"], first["tags"], first["user_id"]) == ("the boat is blue", ["boat"], "ana")
    second = archive("archive", "add", "pal", "-", "--json", text="tea at four\n").json
    assert archive("archive", "add", "pal", "more tea").out.startswith("added p-")

    found = archive("archive", "search", "pal", "boat", "--user", "ana", "--tag", "boat", "--json").json
    assert [hit["passage"]["id"] for hit in found["results"]] == [first["id"]]
    page = archive("archive", "search", "pal", "tea", "--limit", "1", "--json").json
    following = archive("archive", "search", "pal", "tea", "--limit", "1", "--cursor", page["cursor"], "--json").json
    texts = [hit["passage"]["text"] for hit in (*page["results"], *following["results"])]
    assert sorted(texts) == ["more tea", "tea at four"]
    listed = archive("archive", "list", "pal", "--json").json["passages"]
    assert [one["text"] for one in listed] == ["more tea", "tea at four"]

    assert archive("archive", "delete", second["id"]).out == f"deleted {second['id']}\n"
    gone = archive("archive", "delete", second["id"])
    assert (gone.code, "no passage named" in gone.err) == (2, True)
    assert archive("archive", "search", "pal", "boat", "--user", "ben").out.count("the boat is blue") == 0


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["search", "pal", "x", "--since", "soon"], "is no date"),
        (["search", "pal", "x", "--cursor", "x"], "no cursor"),
        (["list", "pal", "--cursor", "x"], "no cursor"),
        (["add", "pal", "  "], "needs some text"),
        (["add", "a|b", "text"], "without '|'"),
        (["add", "pal", "text", "--user", ""], "user_id is empty"),
        (["add", "pal", "lone \udcff byte"], "lone surrogate"),
        (["add", "pal", "text", "--tag", "\udcff"], "lone surrogate"),
        (["search", "pal", "\udcff"], "lone surrogate"),
        (["search", "pal", "x", "--user", ""], "user_id is empty"),
        (["search", "pal|ana", "x"], "without '|'"),
        (["search", "nobody", "x"], "no agent named 'nobody' (known: pal)"),
        (["list", "nobody"], "no agent named 'nobody' (known: pal)"),
        (["list", "pal|ana"], "without '|'"),
        (["list", "pal", "--user", ""], "user_id is empty"),
        (["list", "pal", "--limit", "0"], "'--limit'"),
        (["delete", "p-none"], "no passage named"),
        (["search", "pal", "x", "--cluster", "sets.yaml"], "use Redis 8"),
        (["list", "pal", "--cluster", "odd.yaml"], "odd.yaml:3: embeddings.index: must be one of"),
    ],
)
def test_wrong_input(orchestra: Command, arguments: list[str], problem: str) -> None:
    cluster = CLUSTER % "none"
    sets, odd = (cluster.replace("none", f"none, index: {index}") for index in ("vectorset", "hnsw"))
    write(orchestra.folder, {"cluster.yaml": cluster, "sets.yaml": sets, "odd.yaml": odd})
    assert orchestra("archive", "add", "pal", "the boat is blue", "--user", "ana").code == 0
    done = orchestra("archive", *arguments)
    assert done.code == 2
    assert problem in done.err
    assert done.out == ""


def test_another_model_needs_a_reindex(orchestra: Command) -> None:
    for name, model in (("one", "tests.meanings:make"), ("two", "tests.meanings:other"), ("none", "none")):
        write(orchestra.folder, {f"{name}.yaml": CLUSTER % model})

    def call(name: str, *arguments: str) -> Done:
        return orchestra("archive", *arguments, "--cluster", Path(f"{name}.yaml"))

    call("one", "add", "pal", "the boat is blue")
    assert "boat" in call("one", "search", "pal", "vessel").out
    refused = call("two", "search", "pal", "vessel")
    assert refused.code == 2
    assert "orchestra archive reindex" in refused.err
    assert call("two", "reindex").out == "made the vectors of 1 passages with other\n"
    assert "boat" in call("two", "search", "pal", "vessel").out
    assert "no embedding model" in call("none", "reindex").out
