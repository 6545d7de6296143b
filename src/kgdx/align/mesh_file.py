"""The file of the MeSH index: headings and entry terms in SQLite, with full-text indexes (FTS5) for candidates."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

import polars as pl

from kgdx.align import slips
from kgdx.align.index_database import layout_of, written
from kgdx.align.names import Side, descriptors, node_frame
from kgdx.errors import AbsentError
from kgdx.store.protocol import GraphTable

VERSION = 1
"""Changes with the file's layout."""
FILE = "mesh.sqlite"
WHAT = "MeSH index"
"""What messages call it."""

_LAYOUT = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE descriptor (id TEXT PRIMARY KEY, heading TEXT, source TEXT, trees TEXT) WITHOUT ROWID;
CREATE TABLE term (entity TEXT, text TEXT, weight REAL, relation TEXT, folded TEXT, han INTEGER, turned INTEGER,
    key TEXT, bag TEXT, mark TEXT);
CREATE TABLE form (number INTEGER PRIMARY KEY, key TEXT UNIQUE, mark TEXT, length INTEGER);
CREATE TABLE word (word TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE VIRTUAL TABLE words USING fts5 (key, content='', tokenize='unicode61');
CREATE VIRTUAL TABLE grams USING fts5 (key, content='', detail=none, tokenize='trigram');
CREATE VIRTUAL TABLE gram USING fts5vocab (grams, row);
"""
_INDEXES = """
CREATE INDEX term_folded ON term (folded);
CREATE INDEX term_key ON term (key);
CREATE INDEX term_bag ON term (bag) WHERE bag IS NOT NULL;
INSERT INTO form (key, mark, length) SELECT key, min(mark), length(key) FROM term GROUP BY key;
INSERT INTO words (rowid, key) SELECT number, key FROM form;
INSERT INTO grams (rowid, key) SELECT number, key FROM form;
ANALYZE;
"""
TERM = ("entity", "text", "weight", "relation", "folded", "han", "turned", "key", "bag", "mark")
"""Columns of the table of terms."""


def layout() -> str:
    """Return what the file depends on."""
    return layout_of(VERSION)


def write_index(file: Path, tables: Sequence[GraphTable]) -> None:
    """Write the index of a graph's descriptors, in one step.

    Args:
        file: Where it goes.
        tables: MeshDescriptor nodes, and Source nodes for the version.

    Raises:
        AbsentError: There are no descriptors.
        StoreError: The file cannot be written.
    """
    every = descriptors(tables)
    if not every.entities.height:
        raise AbsentError("the graph has no MeSH descriptors", hint="build it with the source mesh")
    nodes = node_frame(tables, "MeshDescriptor", ("id", "tree_numbers"))
    trees = dict(nodes.select("id", pl.col("tree_numbers").list.join("|").fill_null("")).iter_rows())
    with written(file, WHAT) as database:
        database.executescript(_LAYOUT)
        _fill(database, every, trees, _meta(tables, every, trees))
        database.executescript(_INDEXES)


def _fill(database: sqlite3.Connection, every: Side, trees: dict[str, str], meta: dict[str, str]) -> None:
    entities = every.entities.select("id", "name", "source").iter_rows()
    database.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())
    rows = ((id, name, source, trees.get(id, "")) for id, name, source in entities)
    database.executemany("INSERT INTO descriptor VALUES (?, ?, ?, ?)", rows)
    marks = ", ".join("?" * len(TERM))
    database.executemany(f"INSERT INTO term VALUES ({marks})", every.names.select(TERM).iter_rows())
    words = ((word,) for word in sorted(slips.known_words(every.names)))
    database.executemany("INSERT INTO word VALUES (?)", words)


def _meta(tables: Sequence[GraphTable], every: Side, trees: dict[str, str]) -> dict[str, str]:
    digest = sha256()
    for row in every.names.select("entity", "text", "relation").sort(pl.all()).iter_rows():
        digest.update("\x1f".join((*row, trees.get(row[0], ""))).encode())
    sources = sorted(set(every.entities["source"].drop_nulls()))
    stated = dict(node_frame(tables, "Source", ("id", "version")).select("id", "version").iter_rows())
    version = ", ".join(str(stated[name]) for name in sources if stated.get(name))
    return {
        "layout": layout(),
        "source": ", ".join(sources),
        "version": version,
        "checksum": digest.hexdigest(),
        "descriptors": str(every.entities.height),
    }
