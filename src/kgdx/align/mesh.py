"""MeSH descriptors by name: one SQLite file beside the snapshot, and a decision that says how it came about.

The file (:mod:`kgdx.align.mesh_file`) finds candidates, as DeepDoctor-RAG does it. What may be stated is decided by the
same stages as every other alignment (:mod:`kgdx.align.cascade`), so a name gets the same descriptor here and in the
graph's own relations.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import polars as pl

from kgdx.align import slips
from kgdx.align.cascade import Rules, candidates, decide
from kgdx.align.index_database import opened
from kgdx.align.mesh_file import FILE, TERM, WHAT, layout, write_index
from kgdx.align.names import Side, side
from kgdx.errors import StoreError
from kgdx.store.protocol import NodeTable, Store
from kgdx.store.snapshot import Snapshot
from kgdx.text.stems import Form, bare, form

NEAR = 5
"""Candidates that are shown where nothing can be stated."""

_TYPES = {name: pl.String for name in TERM} | {"weight": pl.Float64, "han": pl.Boolean, "turned": pl.Boolean}


@dataclass(frozen=True, slots=True)
class MeshCandidate:
    """A descriptor that a name may mean.

    Attributes:
        id: CURIE.
        heading: The descriptor's name.
        matched: The heading or entry term that comes nearest.
        method: The stage that found it; ``words`` for one that only shares words.
        score: 0 to 1.
    """

    id: str
    heading: str
    matched: str
    method: str
    score: float


@dataclass(frozen=True, slots=True)
class MeshDecision:
    """Which descriptor a name means, and why.

    Attributes:
        name: The name that was asked for.
        id: CURIE of the descriptor; ``None`` when none is stated.
        heading: Its name.
        relation: How the name relates to it: ``exact``, ``narrower`` or ``broader``.
        method: The stage that decided.
        score: 0 to 1.
        reason: In words.
        candidates: What was considered, the best first.
        thresholds: What had to be reached.
        version: The MeSH release, as its source names it.
        checksum: SHA-256 of the descriptors that were searched.
    """

    name: str
    id: str | None
    heading: str | None
    relation: str | None
    method: str | None
    score: float
    reason: str
    candidates: tuple[MeshCandidate, ...]
    thresholds: dict[str, Any]
    version: str | None
    checksum: str

    def to_dict(self) -> dict[str, Any]:
        """Return the decision as plain values."""
        return asdict(self)

    def to_json(self) -> str:
        """Return the decision as JSON, always the same for the same name and descriptors."""
        return json.dumps(self.to_dict(), ensure_ascii=False, sort_keys=True)


class MeshIndex:
    """An opened index; close it, or use it as a context manager.

    Raises:
        StoreError: There is no such file, or it is of another layout.
    """

    def __init__(self, file: Path) -> None:
        self._database, self._meta = opened(file, WHAT, layout())

    @property
    def version(self) -> str | None:
        """The MeSH release, as its source names it."""
        return self._meta.get("version") or None

    @property
    def checksum(self) -> str:
        """SHA-256 of the descriptors' ids, names and tree numbers."""
        return self._meta["checksum"]

    def map_to_mesh(
        self, name: str, *, synonyms: Sequence[str] = (), branches: Sequence[str] = (), rules: Rules | None = None
    ) -> MeshDecision:
        """Say which descriptor a name means.

        Args:
            name: The name, in English.
            synonyms: Other names of the same thing; a match of the name itself goes before.
            branches: Branches of the tree in which the descriptor must be, such as ``C`` and ``F03`` for diseases.
            rules: What may be stated.
        """
        wanted = rules or Rules()
        said = [form(text) for each in (name, *synonyms) for text in dict.fromkeys((each, bare(each)))]
        if not self._may_match(said):  # the tables of the stages take twenty times as long to say the same
            return self._none(name, said, branches, wanted)
        asked = _asked(name, synonyms)
        objects = self._found(asked, branches)
        known = self._words(objects, asked)
        decided = decide(candidates(asked, objects, wanted, words=known), wanted)
        headings = dict(objects.entities.select("id", "name").iter_rows())
        listed = tuple(
            MeshCandidate(row["object"], headings[row["object"]], row["matched"], row["method"], row["score"])
            for row in decided.iter_rows(named=True)
        )
        stated = decided.filter(pl.col("outcome") == "stated").row(0, named=True) if _states(decided) else None
        listed = listed or tuple(self._near(asked.names["key"].unique(), branches))
        return MeshDecision(
            name=name,
            id=stated["object"] if stated else None,
            heading=headings[stated["object"]] if stated else None,
            relation=stated["relation"] if stated else None,
            method=stated["method"] if stated else None,
            score=stated["score"] if stated else 0.0,
            reason=_reason(decided, bool(listed)),
            candidates=listed,
            thresholds=wanted.to_dict() | {"branches": list(branches)},
            version=self.version,
            checksum=self.checksum,
        )

    def _may_match(self, said: Sequence[Form]) -> bool:
        """Whether there is a term with one of these forms, or one that may be a slip of spelling away."""
        for each in said:
            for column, value in (("folded", each.folded), ("key", each.key), ("bag", each.bag)):
                if value and self._database.execute(f"SELECT 1 FROM term WHERE {column} = ?", (value,)).fetchone():
                    return True
            if any(self._sharing_trigrams(each.key, each.mark, slips.bound(len(each.key), han=each.han))):
                return True
        return False

    def _none(self, name: str, said: Sequence[Form], branches: Sequence[str], rules: Rules) -> MeshDecision:
        """The decision that none is stated, where no term comes into question."""
        near = tuple(self._near(dict.fromkeys(each.key for each in said if each.key), branches))
        return MeshDecision(
            name=name,
            id=None,
            heading=None,
            relation=None,
            method=None,
            score=0.0,
            reason=_UNSTATED[bool(near)],
            candidates=near,
            thresholds=rules.to_dict() | {"branches": list(branches)},
            version=self.version,
            checksum=self.checksum,
        )

    def close(self) -> None:
        """Close the file; closing twice is fine."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _found(self, asked: Side, branches: Sequence[str]) -> Side:
        """The descriptors with a term that may match: by a form, or by the rarest trigrams."""
        rows: dict[tuple[Any, ...], None] = {}
        select = f"SELECT {', '.join(TERM)} FROM term WHERE"
        for column in ("folded", "key", "bag"):
            for value in asked.names[column].drop_nulls().unique():
                rows.update(dict.fromkeys(self._database.execute(f"{select} {column} = ?", (value,))))
        for key, mark, han in asked.names.select("key", "mark", "han").unique().iter_rows():
            for (near,) in self._sharing_trigrams(key, mark, slips.bound(len(key), han=han)):
                rows.update(dict.fromkeys(self._database.execute(f"{select} key = ?", (near,))))
        names = pl.DataFrame(list(rows), schema=_TYPES, orient="row")
        entities = self._descriptors(names["entity"].unique(), branches)
        return Side(entities, names.join(entities, left_on="entity", right_on="id", how="semi"))

    def _sharing_trigrams(self, key: str, mark: str, edits: int) -> Iterator[tuple[str]]:
        if edits:
            grams = sorted({key[at : at + 3] for at in range(len(key) - 2)})
            counted = {gram: 0 for gram in grams}
            marks = ", ".join("?" * len(grams))
            counted |= dict(self._database.execute(f"SELECT term, doc FROM gram WHERE term IN ({marks})", grams))
            rarest = sorted(grams, key=lambda gram: (counted[gram], gram))[: slips.rare(edits)]
            query = " OR ".join('"' + gram.replace('"', '""') + '"' for gram in rarest if counted[gram])
            if query:
                yield from self._database.execute(
                    "SELECT f.key FROM grams g JOIN form f ON f.number = g.rowid "
                    "WHERE grams MATCH ? AND f.mark = ? AND f.length BETWEEN ? AND ?",
                    (query, mark, len(key) - edits, len(key) + edits),
                )

    def _descriptors(self, ids: Iterable[str], branches: Sequence[str]) -> pl.DataFrame:
        wanted = list(ids)
        rows: list[tuple[str, str, str, str]] = []
        for start in range(0, len(wanted), 500):
            part = wanted[start : start + 500]
            marks = ", ".join("?" * len(part))
            rows += self._database.execute(
                f"SELECT id, heading, source, trees FROM descriptor WHERE id IN ({marks})", part
            ).fetchall()
        kept = [(*row[:3], "MESH") for row in rows if not branches or _within(row[3], branches)]
        columns = {"id": pl.String, "name": pl.String, "source": pl.String, "vocabulary": pl.String}
        return pl.DataFrame(sorted(kept), schema=columns, orient="row")

    def _words(self, objects: Side, asked: Side) -> set[str]:
        """Which of the words in question are words of MeSH."""
        keys = [*objects.names["key"], *asked.names["key"]]
        wanted = sorted({word for key in keys for word in key.split(" ")})
        found: set[str] = set()
        for start in range(0, len(wanted), 500):
            part = wanted[start : start + 500]
            marks = ", ".join("?" * len(part))
            found.update(
                row[0] for row in self._database.execute(f"SELECT word FROM word WHERE word IN ({marks})", part)
            )
        return found

    def _near(self, keys: Iterable[str], branches: Sequence[str]) -> Iterator[MeshCandidate]:
        """The descriptors whose terms share most words with the name: nothing is stated of them."""
        from rapidfuzz.fuzz import token_sort_ratio

        best: dict[str, tuple[float, str]] = {}
        for key in keys:
            query = " OR ".join(f'"{word}"' for word in dict.fromkeys(key.replace('"', " ").split()))
            for entity, text, near in self._database.execute(
                "SELECT t.entity, t.text, t.key FROM (SELECT rowid FROM words WHERE words MATCH ? "
                "ORDER BY bm25(words), rowid LIMIT 50) w "
                "JOIN form f ON f.number = w.rowid JOIN term t ON t.key = f.key",
                (query,),
            ):
                score = round(token_sort_ratio(key, near) / 100, 4)
                best[entity] = max(best.get(entity, (0.0, "")), (score, text))
        headings = dict(self._descriptors(best, branches).select("id", "name").iter_rows())
        ranked = sorted((-score, entity, text) for entity, (score, text) in best.items() if entity in headings)
        for score, entity, text in ranked[:NEAR]:
            yield MeshCandidate(entity, headings[entity], text, "words", -score)


def open_index(snapshot: Snapshot, store: Callable[[], Store]) -> MeshIndex:
    """Open the index of a graph, making it first when there is none yet.

    Args:
        snapshot: The graph's; the index lies beside its arrays.
        store: Opens the graph's store; asked only when the index has to be made.

    Raises:
        AbsentError: The graph has no descriptors.
        StoreError: The index cannot be written.
    """

    def compute(folder: Path) -> None:
        columns = ["name", "source", "entry_terms", "entry_term_scopes", "tree_numbers"]
        found = store()
        rows = NodeTable("MeshDescriptor", found.export_nodes("MeshDescriptor", columns))
        sources = NodeTable("Source", found.export_nodes("Source", ["version", "checksum"]))
        write_index(folder / FILE, [rows, sources])

    file = snapshot.derived("mesh", layout(), compute) / FILE
    try:
        return MeshIndex(file)
    except StoreError:  # it is damaged
        snapshot.discard("mesh", layout())
        return MeshIndex(snapshot.derived("mesh", layout(), compute) / FILE)


def _asked(name: str, synonyms: Sequence[str]) -> Side:
    texts = [name, *synonyms]
    nodes = pl.DataFrame({"id": ["?"], "name": [name], "source": [""]})
    names = pl.DataFrame(
        {
            "entity": ["?"] * len(texts),
            "text": texts,
            "weight": [1.0] + [0.995] * len(synonyms),
            "relation": ["exact"] * len(texts),
        }
    )
    return side(nodes, names, diseases=True)


def _within(trees: str, branches: Sequence[str]) -> bool:
    return any(tree.startswith(tuple(branches)) for tree in trees.split("|"))


def _states(decided: pl.DataFrame) -> bool:
    return bool((decided["outcome"] == "stated").any())


_UNSTATED = ("no term shares a word", "no term is the same or a slip away; others share words")
"""Why none is stated where no term comes into question: without and with others near it."""


def _reason(decided: pl.DataFrame, listed: bool) -> str:
    """Why a descriptor is stated, or none."""
    if not decided.height:
        return _UNSTATED[listed]
    best = decided.row(0, named=True)
    said = f"{best['said']!r} and {best['matched']!r}"
    if best["outcome"] == "stated":
        how = {
            "exact": "are the same",
            "normalised": "are the same but for inflection, spelling, numerals or word order",
            "edit": "differ by a slip of spelling",
        }[best["method"]]
        return f"{said} {how}"
    if best["outcome"] == "ambiguous":
        rivals = int((decided["outcome"] == "ambiguous").sum())
        return f"{rivals} descriptors are equally near"
    return f"{said} match with {best['score']:.2f}, which is not enough"
