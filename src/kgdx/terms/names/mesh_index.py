"""MeSH descriptors by name: an index of their headings and entry terms, and a decision that says how it came about.

The index is the one of all names (:mod:`kgdx.terms.names.name_index`), in a file of its own. What may be stated is
decided by the rules of every alignment (:mod:`kgdx.terms.names.cascade`), so a name gets the same descriptor here and
in the graph's own relations.
"""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import polars as pl

from kgdx.errors import AbsentError
from kgdx.graph.protocol import Exports, GraphTable, NodeTable
from kgdx.graph.snapshot import Snapshot
from kgdx.terms.names.cascade import CANDIDATES, TYPO_COST, AlignmentLimits, decide
from kgdx.terms.names.entity_names import Side, asked_names, descriptors, node_frame
from kgdx.terms.names.name_database import marks, write_sides
from kgdx.terms.names.name_decision import kinds_of
from kgdx.terms.names.name_index import NameIndex, cached_file, repairing
from kgdx.terms.names.suggestions import typos_within
from kgdx.terms.normalise import Form

FILE = "mesh.sqlite"
NEAR = 5
"""Candidates that are shown where nothing can be stated."""
BRANCHES = ("C", "F03")
"""Branches of the MeSH tree that hold diseases: Diseases, and Mental Disorders."""
KEPT = 10_000
"""Decisions about diseases that are kept."""

_KIND = ("MeshDescriptor",)
_NUMBERS = kinds_of(_KIND)
_TURNED = {"narrower": "broader", "broader": "narrower"}
_READ = 120
"""Descriptors near a name of which those of the wanted branches are taken."""


@dataclass(frozen=True, slots=True)
class MeshCandidate:
    """A descriptor that a name may mean."""

    id: str
    heading: str
    matched: str
    method: str
    score: float


@dataclass(frozen=True, slots=True)
class MeshDecision:
    """Which descriptor a name means, and why."""

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
        return asdict(self)

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), ensure_ascii=False, sort_keys=True)


class MeshIndex(NameIndex):
    """An opened index of descriptors; close it, or use it as a context manager."""

    @property
    def version(self) -> str | None:
        return self._meta.get("version") or None

    @property
    def checksum(self) -> str:
        return self._meta["checksum"]

    @repairing
    def map_to_mesh(
        self,
        name: str,
        *,
        synonyms: Sequence[str] = (),
        branches: Sequence[str] = (),
        rules: AlignmentLimits | None = None,
    ) -> MeshDecision:
        """Return the descriptor that a name means, and why."""
        wanted = rules or AlignmentLimits()
        asked = asked_names(name, synonyms)
        headings, found = self._candidates(asked, branches, typos="edit" in wanted.stages)
        decided = []
        if found:  # a table of nothing takes twenty times as long to say the same
            table = pl.DataFrame(found, schema=CANDIDATES, orient="row")
            decided = list(decide(table, wanted).iter_rows(named=True))
        listed = tuple(
            MeshCandidate(row["object"], headings[row["object"]], row["matched"], row["method"], row["score"])
            for row in decided
        ) or tuple(self._near(asked, branches))
        stated: dict[str, Any] = next((row for row in decided if row["outcome"] == "stated"), {})
        return MeshDecision(
            name=name,
            id=stated.get("object"),
            heading=headings.get(stated.get("object", "")),
            relation=stated.get("relation"),
            method=stated.get("method"),
            score=stated.get("score", 0.0),
            reason=_reason(decided, bool(listed)),
            candidates=listed,
            thresholds=wanted.to_dict() | {"branches": list(branches)},
            version=self.version,
            checksum=self.checksum,
        )

    def _candidates(
        self, asked: Sequence[tuple[str, Form, float]], branches: Sequence[str], *, typos: bool
    ) -> tuple[dict[str, str], list[tuple[Any, ...]]]:
        for stage in (self._same, self._typos_of) if typos else (self._same,):
            best: dict[str, tuple[Any, ...]] = {}
            found = [(said, weight, hit) for said, each, weight in asked for hit in stage(each)]
            inside = self._within({hit[0][0] for *_, hit in found}, branches)
            for said, weight, (row, method, factor) in found:
                id, _, heading, _, matched, own, relation, _ = row
                order = -math.floor(factor * weight * own * 1e4 + 0.5) / 1e4, said, matched  # as polars rounds
                if id in inside and (id not in best or order < best[id][0]):
                    best[id] = order, heading, method, _TURNED.get(relation, relation)
            if best:
                break
        headings = {id: heading for id, (_, heading, *_) in best.items()}
        rows = [("?", id, method, -o[0], o[1], o[2], relation) for id, (o, _, method, relation) in best.items()]
        return headings, rows

    def _same(self, asked: Form) -> list[tuple[Any, str, float]]:
        return [*self._exact("", [asked], _NUMBERS), *self._normalised("", [asked], _NUMBERS)]

    def _typos_of(self, asked: Form) -> list[tuple[Any, str, float]]:
        found = typos_within(self._database, asked, _NUMBERS, strict=True)
        return [
            (row, "edit", 1 - TYPO_COST * edits) for key, edits in found for row in self._of("f.key", key, _NUMBERS)
        ]

    def _within(self, ids: set[str], branches: Sequence[str]) -> set[str]:
        if not branches:
            return ids
        rows = self._all(f"SELECT id, trees FROM entity WHERE id IN ({marks(list(ids))})", ids)
        return {id for id, trees in rows if any(tree.startswith(tuple(branches)) for tree in trees.split("|"))}

    def _near(self, asked: Sequence[tuple[str, Form, float]], branches: Sequence[str]) -> Iterator[MeshCandidate]:
        found = [entry for said, *_ in asked for entry in self.near(said, _KIND, _READ)]
        inside = self._within({entry.id for entry in found}, branches)
        ranked = sorted((entry for entry in found if entry.id in inside), key=lambda entry: (-entry.score, entry.id))
        for entry in list({entry.id: entry for entry in reversed(ranked)}.values())[::-1][:NEAR]:
            yield MeshCandidate(entry.id, entry.name, entry.matched, "words", entry.score)


def write_mesh(file: Path, tables: Sequence[GraphTable]) -> None:
    """Write the index of a graph's descriptors, in one step."""
    every = descriptors(tables)
    if not every.entities.height:
        raise AbsentError("the graph has no MeSH descriptors", hint="build it with the source mesh")
    nodes = node_frame(tables, "MeshDescriptor", ("id", "tree_numbers"))
    trees = dict(nodes.select("id", pl.col("tree_numbers").list.join("|").fill_null("")).iter_rows())
    write_sides(file, {_KIND[0]: every}, tables, _meta(tables, every, trees), trees)


def _meta(tables: Sequence[GraphTable], every: Side, trees: dict[str, str]) -> dict[str, str]:
    digest = sha256()
    for row in every.names.select("entity", "text", "relation").sort(pl.all()).iter_rows():
        digest.update("\x1f".join((*row, trees.get(row[0], ""))).encode())
    stated = dict(node_frame(tables, "Source", ("id", "version")).select("id", "version").iter_rows())
    sources = sorted(set(every.entities["source"].drop_nulls()))
    return {"version": ", ".join(stated[name] for name in sources if stated.get(name)), "checksum": digest.hexdigest()}


def open_index(snapshot: Snapshot, store: Callable[[], Exports]) -> MeshIndex:
    """Open the index of a graph, making it first when there is none yet."""

    def compute(folder: Path) -> None:
        columns = ["name", "source", "entry_terms", "entry_term_scopes", "tree_numbers"]
        found = store()
        rows = NodeTable("MeshDescriptor", found.export_nodes("MeshDescriptor", columns))
        sources = NodeTable("Source", found.export_nodes("Source", ["version", "checksum"]))
        write_mesh(folder / FILE, [rows, sources])

    return MeshIndex(*cached_file(snapshot, "mesh", FILE, compute))


_UNSTATED = ("no term shares a word", "no term is the same or a typo away; others share words")
"""Reasons to state none where no term comes into question: without and with others near it."""


def _reason(decided: Sequence[dict[str, Any]], listed: bool) -> str:
    if not decided:
        return _UNSTATED[listed]
    best = decided[0]
    said = f"{best['said']!r} and {best['matched']!r}"
    if best["outcome"] == "stated":
        how = {
            "exact": "are the same",
            "normalised": "are the same but for inflection, spelling, numerals or word order",
            "edit": "differ by a typo",
        }[best["method"]]
        return f"{said} {how}"
    if best["outcome"] == "ambiguous":
        rivals = sum(row["outcome"] == "ambiguous" for row in decided)
        return f"{rivals} descriptors are equally near"
    return f"{said} match with {best['score']:.2f}, which is not enough"


class Headings:
    """Decides which heading a disease has, by its names, each once; safe with several threads."""

    def __init__(self, open_index: Callable[[], MeshIndex]) -> None:
        self._open = open_index
        self._opened: list[MeshIndex | None] = []
        self._lock = threading.Lock()
        self._decided: dict[tuple[str, ...], MeshDecision | None] = {}

    def decide(self, names: Sequence[str]) -> MeshDecision | None:
        """Return the decision for a disease; ``None`` where the graph has no MeSH."""
        key = tuple(names)
        with self._lock:
            if key not in self._decided:
                index = self._ready()
                if len(self._decided) >= KEPT:
                    self._decided.clear()
                first, others = (key[0], key[1:]) if key else ("", ())
                decided = None if index is None else index.map_to_mesh(first, synonyms=others, branches=BRANCHES)
                self._decided[key] = decided
            return self._decided[key]

    def close(self) -> None:
        with self._lock:
            for index in filter(None, self._opened):
                index.close()

    def _ready(self) -> MeshIndex | None:
        if not self._opened:
            try:
                self._opened.append(self._open())
            except AbsentError:  # a graph without MeSH: its diseases have no heading, and need none
                self._opened.append(None)
        return self._opened[0]
