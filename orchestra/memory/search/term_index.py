"""Search by words: BM25 over an in-memory SQLite FTS5 table, which takes additions one by one.

What is indexed are our own terms (:mod:`orchestra.core.terms`): light stems, without Korean particles, and pairs of
characters for scripts without spaces. So one table and one ranking serve all of them, also words of two characters,
which SQLite's trigram tokenizer cannot find.
"""

from __future__ import annotations

import re
import sqlite3
import unicodedata
from collections.abc import Sequence

from orchestra.core.terms import tokens
from orchestra.memory.search.filters import EVERYTHING, Filter

#: Those of Latin, Greek and Cyrillic; the marks of Japanese and Indian scripts are letters to their readers.
_ACCENTS = re.compile("[\u0300-\u036f]")
_HIRAGANA = re.compile("(?<![\u3041-\u3096])[\u3041-\u3096]{2,3}(?![\u3041-\u3096])")
_TABLES = """
CREATE VIRTUAL TABLE terms USING fts5(text, tokenize = "unicode61 remove_diacritics 2");
CREATE TABLE entries (number INTEGER PRIMARY KEY, key TEXT UNIQUE NOT NULL, at REAL NOT NULL);
CREATE TABLE labels (number INTEGER NOT NULL, label TEXT NOT NULL, PRIMARY KEY (label, number)) WITHOUT ROWID;
CREATE INDEX labels_of ON labels (number);
"""


class TermIndex:
    """Entries by key. Owner: one thread at a time; it may move between threads."""

    def __init__(self) -> None:
        self._data = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        self._data.executescript(_TABLES)

    def close(self) -> None:
        """Free its memory."""
        self._data.close()

    def put(self, key: str, text: str, at: float, labels: Sequence[str] = ()) -> None:
        """Add an entry, or replace it. ``at``: Unix seconds."""
        self.drop(key)
        number = self._data.execute("INSERT INTO entries (key, at) VALUES (?, ?)", (key, at)).lastrowid
        self._data.execute("INSERT INTO terms (rowid, text) VALUES (?, ?)", (number, " ".join(_terms(text))))
        rows = [(number, label) for label in dict.fromkeys(labels)]
        self._data.executemany("INSERT INTO labels (number, label) VALUES (?, ?)", rows)

    def drop(self, key: str) -> None:
        """Forget an entry; one that is not there is fine."""
        found = self._data.execute("SELECT number FROM entries WHERE key = ?", (key,)).fetchone()
        if found is not None:
            for table, column in (("entries", "number"), ("labels", "number"), ("terms", "rowid")):
                self._data.execute(f"DELETE FROM {table} WHERE {column} = ?", found)

    def search(self, query: str, count: int, only: Filter = EVERYTHING) -> list[tuple[str, float]]:
        """(key, score) of at most ``count`` entries that share a term with ``query``, the best first."""
        wanted = list(dict.fromkeys(_terms(query)))
        if not wanted:
            return []
        clauses, values = ["terms MATCH ?"], [" OR ".join(f'"{term}"' for term in wanted)]
        conditions, more = _conditions(only)
        rows = self._data.execute(
            "SELECT entries.key, -bm25(terms) FROM terms JOIN entries ON entries.number = terms.rowid WHERE "
            + " AND ".join([*clauses, *conditions])
            + " ORDER BY bm25(terms), entries.number LIMIT ?",
            [*values, *more, count],
        )
        return [(str(key), float(score)) for key, score in rows]


def _conditions(only: Filter) -> tuple[list[str], list[str | float]]:
    clauses: list[str] = []
    values: list[str | float] = []
    if only.span.start is not None:
        clauses.append("entries.at >= ?")
        values.append(only.span.start)
    if only.span.end is not None:
        clauses.append("entries.at < ?")
        values.append(only.span.end)
    if only.labels:
        marks = ", ".join("?" for _ in only.labels)
        having = f" GROUP BY number HAVING count(*) = {len(only.labels)}" if only.match == "all" else ""
        # The plus keeps SQLite from asking the full-text index once for each labelled entry.
        clauses.append(f"+entries.number IN (SELECT number FROM labels WHERE label IN ({marks}){having})")
        values.extend(only.labels)
    return clauses, values


def _terms(text: str) -> list[str]:
    text = _plain(text)
    terms = [term for token in tokens(text) if (term := token.stem.replace('"', "")).strip()]
    # A short run of Hiragana, mostly an ending, is one token; to be found in a longer one it must be pairs as well.
    return terms + [run[i : i + 2] for run in _HIRAGANA.findall(text) for i in range(len(run) - 1)]


def _plain(text: str) -> str:
    """Without accents, so that what is typed without them is found. Before the stems: those are of plain letters."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", text)))
