"""The file of an index of names: names and ids of entities in SQLite, laid out so that no look-up reads much of it.

Forms (:class:`kgdx.terms.normalise.Form`) are numbered by length, so that a full-text search that stops early has found
the shortest names; prefixes that many names share come with their first names. The file is written in one step, and
opened for reading only where it is of the layout that is wanted.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

import polars as pl

from kgdx.errors import StoreError
from kgdx.files.known import whole_file
from kgdx.graph.protocol import GraphTable
from kgdx.terms.names.cascade import VERSIONS
from kgdx.terms.names.entity_names import Side, diseases, drugs, node_frame, phenotypes, plain, symptoms
from kgdx.terms.names.name_decision import ALL_KINDS, KINDS
from kgdx.terms.names.same_diseases import Components, exact_pairs
from kgdx.terms.names.typos import han_skeleton

VERSION = 4
"""Changes with the file's layout, or with which names are read."""
FILE = "names.sqlite"
LONGEST_PREFIX = 12
COMMON = 200
"""Names that share a prefix from which on its first ones are kept."""
HEAD = 50
"""How many of them."""

_LAYOUT = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE entity (number INTEGER PRIMARY KEY, id TEXT COLLATE NOCASE, kind INTEGER, name TEXT, source TEXT,
    same INTEGER, trees TEXT);
CREATE TABLE other_id (id TEXT COLLATE NOCASE, entity INTEGER, PRIMARY KEY (id, entity)) WITHOUT ROWID;
CREATE TABLE form (number INTEGER PRIMARY KEY, key TEXT, skeleton TEXT, bag TEXT, mark TEXT);
CREATE TABLE term (number INTEGER PRIMARY KEY, entity INTEGER, kind INTEGER, form INTEGER, folded TEXT, text TEXT,
    weight REAL, relation TEXT, turned INTEGER);
CREATE TABLE head (kind INTEGER, prefix TEXT, place INTEGER, term INTEGER, PRIMARY KEY (kind, prefix, place))
    WITHOUT ROWID;
CREATE TABLE word (word TEXT PRIMARY KEY, first TEXT, length INTEGER, forms INTEGER) WITHOUT ROWID;
CREATE VIRTUAL TABLE words USING fts5 (key, content='', tokenize='unicode61', prefix='2 3');
CREATE VIRTUAL TABLE counted USING fts5vocab (words, row);
"""
_INDEXES = """
CREATE INDEX entity_id ON entity (id);
CREATE INDEX entity_same ON entity (same) WHERE same IS NOT NULL;
CREATE INDEX form_key ON form (key);
CREATE INDEX form_skeleton ON form (skeleton);
CREATE INDEX form_bag ON form (bag) WHERE bag IS NOT NULL;
CREATE INDEX term_folded ON term (folded, kind);
CREATE INDEX term_form ON term (form);
CREATE INDEX word_near ON word (first, length);
CREATE TABLE token (token TEXT PRIMARY KEY, forms INTEGER) WITHOUT ROWID;
INSERT INTO token SELECT term, doc FROM counted;
DROP TABLE counted;
ANALYZE;
"""


def layout() -> str:
    return ".".join(map(str, (VERSION, *VERSIONS)))


def write_index(file: Path, tables: Sequence[GraphTable]) -> None:
    write_sides(file, sides(tables), tables)


def write_sides(
    file: Path,
    every: Mapping[str, Side],
    tables: Sequence[GraphTable],
    meta: Mapping[str, str] | None = None,
    trees: Mapping[str, str] | None = None,
) -> None:
    """Write an index of named entities, which gets its name when it is done; nothing is left of one that fails."""
    try:
        with whole_file(file) as temporary, closing(sqlite3.connect(temporary)) as database:
            database.executescript("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;" + _LAYOUT)
            database.executemany("INSERT INTO meta VALUES (?, ?)", {"layout": layout(), **(meta or {})}.items())
            _fill(database, every, tables, trees or {})
            database.executescript(_INDEXES)
            database.commit()
    except (sqlite3.Error, OSError) as error:
        raise StoreError(f"the index {file} cannot be written ({error})", hint="free some disk space") from error


def opened(file: Path) -> tuple[sqlite3.Connection, dict[str, str]]:
    """Open an index for reading, for any thread, with its table ``meta``."""
    try:
        database = sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True, check_same_thread=False)
    except sqlite3.Error as error:
        raise unreadable(file, error) from error
    try:
        _read_ahead(file)
        meta = dict(database.execute("SELECT name, value FROM meta"))
        (pages,), (size,) = (database.execute(f"PRAGMA {name}").fetchone() for name in ("page_count", "page_size"))
        if file.stat().st_size != pages * size:
            raise sqlite3.DatabaseError("it is cut off")
    except (sqlite3.Error, OSError) as error:
        database.close()
        raise unreadable(file, error) from error
    if meta.get("layout") != layout():
        database.close()
        raise StoreError(f"the index {file} is of another version", hint="remove it; it is made again")
    return database, meta


def _read_ahead(file: Path) -> None:
    if hasattr(os, "posix_fadvise"):
        with file.open("rb") as content:
            os.posix_fadvise(content.fileno(), 0, 0, os.POSIX_FADV_WILLNEED)


def marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))


def unreadable(file: Path, error: Exception) -> StoreError:
    hint = "remove it; it is made again when it is next needed"
    return StoreError(f"the index {file} cannot be read ({error})", hint=hint)


def sides(tables: Sequence[GraphTable]) -> dict[str, Side]:
    """Return the entities of each class with the forms of all their names."""
    found = {
        "Disease": diseases(tables, lookup=True),
        "Phenotype": phenotypes(tables, lookup=True),
        "Symptom": symptoms(tables, lookup=True),
        "Drug": drugs(tables),
    }
    every = found | {kind: plain(tables, kind) for kind in KINDS if kind not in found}
    return {kind: every[kind] for kind in KINDS}


def _fill(
    database: sqlite3.Connection, every: Mapping[str, Side], tables: Sequence[GraphTable], trees: Mapping[str, str]
) -> None:
    entities = _entities(every, tables)
    described = entities.select("number", "id", "kind", "name", "source", "same").iter_rows()
    rows = ((*row, trees.get(row[1], "")) for row in described)
    database.executemany("INSERT INTO entity VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    database.executemany("INSERT OR IGNORE INTO other_id VALUES (?, ?)", _other_ids(entities, tables))
    terms = _terms(every, entities)
    distinct = _forms(terms)
    database.executemany(
        "INSERT INTO form VALUES (?, ?, ?, ?, ?)",
        distinct.select("form", "key", "skeleton", "bag", "mark").iter_rows(),
    )
    numbered = terms.join(distinct.select("form", "key", "bag", "mark"), on=["key", "bag", "mark"], nulls_equal=True)
    numbered = numbered.sort(pl.col("folded").str.len_chars(), "folded", -pl.col("weight"), "entity")
    numbered = numbered.with_row_index("number")
    columns = ("number", "entity", "kind", "form", "folded", "text", "weight", "relation", "turned")
    database.executemany(f"INSERT INTO term VALUES ({', '.join('?' * 9)})", numbered.select(columns).iter_rows())
    database.executemany("INSERT INTO head VALUES (?, ?, ?, ?)", _heads(numbered))
    words = distinct.filter(~pl.col("han")).select(word=pl.col("key").str.split(" ").list.unique()).explode("word")
    counted = words.group_by("word").len("forms").sort("word").iter_rows()
    database.executemany("INSERT INTO word VALUES (?, ?, ?, ?)", ((w, w[:1], len(w), forms) for w, forms in counted))
    tokens = (
        (number, spaced(key) if han else key) for number, key, han in distinct.select("form", "key", "han").rows()
    )
    database.executemany("INSERT INTO words (rowid, key) VALUES (?, ?)", tokens)


def spaced(key: str) -> str:
    return " ".join(key[at : at + 2] for at in range(len(key) - 1)) or key


def _entities(every: Mapping[str, Side], tables: Sequence[GraphTable]) -> pl.DataFrame:
    listed = [
        side.entities.select("id", "name", "source", kind=pl.lit(ALL_KINDS.index(kind))) for kind, side in every.items()
    ]
    entities = pl.concat(listed).sort("kind", "id").with_row_index("number")
    known = set(entities["id"])
    joined = Components()
    for one, other in (*exact_pairs(tables), *exact_pairs(tables, "MAPPED_TO", ("Symptom", "Phenotype"))):
        if one in known and other in known:
            joined.join(one, other)
    roots = {root: at for at, root in enumerate(sorted(joined.members))}
    same = [roots.get(joined.find(id)) for id in entities["id"]]
    return _with_shown_names(entities.with_columns(pl.Series("same", same, pl.Int64)), every)


def _with_shown_names(entities: pl.DataFrame, every: Mapping[str, Side]) -> pl.DataFrame:
    rows = entities.select("id", "name", "kind", "same")
    of_same: dict[int, str] = {}
    for id, name, _, same in sorted(rows.iter_rows(), key=lambda row: (row[2], row[0].startswith("KGDX:"), row[0])):
        if same is not None and name != id:
            of_same.setdefault(same, name)
    other = {id: text for side in every.values() for id, text in _other_names(side)}
    shown = [name if name != id else of_same.get(same, other.get(id, name)) for id, name, _, same in rows.iter_rows()]
    return entities.with_columns(pl.Series("name", shown, pl.String))


def _other_names(side: Side) -> Iterator[tuple[str, str]]:
    unnamed = side.entities.filter(pl.col("name") == pl.col("id")).select(entity="id")
    yield from side.names.join(unnamed, on="entity", how="semi").sort("weight").select("entity", "text").iter_rows()


def _other_ids(entities: pl.DataFrame, tables: Sequence[GraphTable]) -> Iterator[tuple[str, int]]:
    numbers = {(kind, id): number for number, id, kind in entities.select("number", "id", "kind").iter_rows()}
    for kind in ("Disease", "Phenotype"):
        nodes = node_frame(tables, kind, ("id", "alt_ids", "replaced_by"))
        for id, others, current in nodes.iter_rows():
            number = numbers.get((KINDS.index(kind), current or id))
            if number is not None:
                yield from ((other, number) for other in (others or ()))
                if current:
                    yield id, number


def _terms(every: Mapping[str, Side], entities: pl.DataFrame) -> pl.DataFrame:
    found = []
    for kind, side in every.items():
        number = ALL_KINDS.index(kind)
        mine = entities.filter(pl.col("kind") == number).select("number", "id")
        rows = side.names.join(mine, left_on="entity", right_on="id").drop("entity").rename({"number": "entity"})
        columns = ("entity", "text", "weight", "relation", "folded", "turned", "key", "bag", "mark", "han")
        found.append(rows.select(*columns, kind=pl.lit(number)))
    return pl.concat(found)


def _forms(terms: pl.DataFrame) -> pl.DataFrame:
    distinct = terms.select("key", "bag", "mark", "han").unique(["key", "bag", "mark"], maintain_order=True)
    distinct = distinct.sort(pl.col("key").str.len_chars(), "key", "bag", "mark").with_row_index("form", 1)
    return distinct.with_columns(pl.Series("skeleton", [skeleton(key) for key in distinct["key"]], pl.String))


def skeleton(key: str) -> str:
    """Return what a typo leaves of a key whose words are known: blanks and weak characters may be missing."""
    return han_skeleton(key) if not key.isascii() else key.replace(" ", "")


def _heads(terms: pl.DataFrame) -> Iterator[tuple[int, str, int, int]]:
    for length in range(1, LONGEST_PREFIX + 1):
        long = terms.filter(pl.col("folded").str.len_chars() >= length)
        named = long.select("kind", "number", prefix=pl.col("folded").str.slice(0, length))
        groups = ["kind", "prefix"]
        many = named.filter(pl.len().over(groups) > COMMON)
        first = many.with_columns(place=pl.int_range(pl.len()).over(groups)).filter(pl.col("place") < HEAD)
        yield from first.select("kind", "prefix", "place", "number").iter_rows()
