"""The compiled form of templates: the same rows as the store gives, in the same order, from the snapshot's arrays.

The template says what a query means; the contract suite proves for each store that both forms return equal rows. Use
it where a query is asked often: a ranking, a planner's round, a rollout.
"""

from __future__ import annotations

import math
import threading
from bisect import bisect_left
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kgdx.arrays.columns import Column
from kgdx.arrays.sparse import Ints, Sparse
from kgdx.errors import TemplateError
from kgdx.graph.protocol import Row, digest
from kgdx.graph.snapshot import Snapshot
from kgdx.graph.snapshot_links import Links, links, stated_by_either, typical
from kgdx.graph.templates import Template, template
from kgdx.schema.model import FREQUENCIES

if TYPE_CHECKING:
    from kgdx.graph.case_index import CaseIndex, SimilarCases

EVIDENCE = ("evidence_supporting", "evidence_symptoms", "evidence_against", "evidence_shared", "evidence_typical")

STATED = (
    "frequency",
    "numerator",
    "denominator",
    "percentage",
    "frequency_class",
    "onset",
    "evidence",
    "reference",
    "source",
    "aspect",
)
"""Columns of what a source states of a finding of a disease."""
_ORDER = ("source", "reference", "frequency")
_MOST_STEPS = 20
_KEPT = 20_000
Way = tuple[int, ...]
"""Rows of phenotypes, from the lower to the upper end."""


class Evidence:
    """Answers the templates of :data:`EVIDENCE` from a snapshot."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._ids, self._names = (snapshot.values("phenotype", name).all for name in ("id", "name"))
        child, parent = (snapshot.column("is_a", end) for end in ("child", "parent"))
        self._up = Sparse(np.searchsorted(child, np.arange(len(self._ids) + 1)), parent, parent)
        self._ways: dict[int, dict[int, Way]] = {}

    def rows(self, name: str, bound: Mapping[str, Any]) -> list[Row]:
        found: Callable[..., list[Row]] = getattr(self, name)
        return found(**bound)

    def evidence_supporting(self, diseases: Sequence[str], findings: Sequence[str]) -> list[Row]:
        return self._meeting(self._annotations("has_phenotype", diseases), findings, ("phenotype", *_ORDER))

    def evidence_symptoms(self, diseases: Sequence[str], findings: Sequence[str]) -> list[Row]:
        order = ("phenotype", "symptom", "source", "reference", "relation")
        return self._meeting(self._worded(diseases), findings, order)

    def _meeting(
        self, annotations: Iterable[tuple[int, Row]], findings: Sequence[str], order: Sequence[str]
    ) -> list[Row]:
        given = self._phenotypes(findings)
        exact, below = [], []
        for term, row in annotations:
            for finding in given:
                if (way := self._above(finding).get(term)) is not None:
                    exact.append(row | self._chain(finding, way, "ancestor"))
                elif (way := self._above(term).get(finding)) is not None:
                    below.append(row | self._chain(finding, way[::-1], "descendant"))
        by_length = _by_length(*order)
        return sorted(exact, key=by_length) + sorted(below, key=by_length)

    def evidence_against(self, diseases: Sequence[str], findings: Sequence[str], excluded: Sequence[str]) -> list[Row]:
        absent, present = self._phenotypes(excluded), self._phenotypes(findings)
        had, lacked = [], []
        for term, row in self._annotations("has_phenotype", diseases) if absent else ():
            for finding in absent:
                if (way := self._above(term).get(finding)) is not None:
                    head = {"kind": "excluded", "relation": "HAS_PHENOTYPE"}
                    had.append(head | row | self._chain(finding, way[::-1], "descendant"))
        for term, row in self._annotations("lacks_phenotype", diseases):
            for finding in present:
                if (way := self._above(finding).get(term)) is not None:
                    head = {"kind": "annotated_absent", "relation": "LACKS_PHENOTYPE"}
                    lacked.append(head | row | self._chain(finding, way, "ancestor"))
        by_length = _by_length("phenotype", *_ORDER)
        return sorted(had, key=by_length) + sorted(lacked, key=by_length)

    def evidence_shared(
        self, diseases: Sequence[str], findings: Sequence[str], matched: Sequence[str], via: Sequence[str]
    ) -> list[Row]:
        given, wanted, over = (self._phenotypes(each) for each in (findings, matched, via))
        rows = []
        for term, row in self._annotations("has_phenotype", diseases):
            for top in over if term in wanted else ():
                if (down := self._above(term).get(top)) is not None:
                    met = {"via": self._ids[top], "via_name": self._names[top]} | self._steps("phenotype_path", down)
                    for finding in given:
                        if (up := self._above(finding).get(top)) is not None:
                            head = {"finding": self._ids[finding], "finding_name": self._names[finding]}
                            rows.append(row | met | head | self._steps("finding_path", up))
        return sorted(rows, key=in_order("disease", "finding", "via", "phenotype", *_ORDER))

    def evidence_typical(self, diseases: Sequence[str], known: Sequence[str], minimum: float, limit: int) -> list[Row]:
        left_out = set(self._phenotypes(known))
        rows = []
        for term, row in self._annotations("has_phenotype", diseases):
            if row["aspect"] in (None, "P") and term not in left_out:
                share = _share(row)
                if share is not None and share >= minimum:
                    rows.append({**row, "share": share})
        ordered = in_order("disease", "phenotype", *_ORDER)
        return sorted(rows, key=lambda row: (-row["share"], ordered(row)))[:limit]

    def _phenotypes(self, ids: Iterable[str]) -> list[int]:
        return sorted({row for id in ids if (row := _place(self._ids, id)) is not None})

    def _annotations(self, table: str, diseases: Iterable[str]) -> Iterator[tuple[int, Row]]:
        owner, term = (self._snapshot.column(table, end) for end in ("disease", "phenotype"))
        ids, names = (self._snapshot.values("disease", name) for name in ("id", "name"))
        for disease in sorted({row for id in diseases if (row := _place(ids, id)) is not None}):
            first, last = np.searchsorted(owner, (disease, disease + 1)).tolist()
            head = {"disease": ids[disease], "disease_name": names[disease]}
            stated = (self._snapshot.values(table, name).values(first, last) for name in STATED)
            for phenotype, values in zip(term[first:last].tolist(), zip(*stated, strict=True), strict=True):
                named = {"phenotype": self._ids[phenotype], "phenotype_name": self._names[phenotype]}
                yield phenotype, head | named | dict(zip(STATED, values, strict=True))

    def _worded(self, diseases: Iterable[str]) -> Iterator[tuple[int, Row]]:
        owner, symptom = (self._snapshot.column("has_symptom", end) for end in ("disease", "symptom"))
        mapped, term = (self._snapshot.column("symptom_phenotype", end) for end in ("symptom", "phenotype"))
        relation = self._snapshot.values("symptom_phenotype", "relation")
        ids, names = (self._snapshot.values("disease", name) for name in ("id", "name"))
        symptoms, words = (self._snapshot.values("symptom", name) for name in ("id", "name"))
        for disease in sorted({row for id in diseases if (row := _place(ids, id)) is not None}):
            first, last = np.searchsorted(owner, (disease, disease + 1)).tolist()
            head = {"disease": ids[disease], "disease_name": names[disease]}
            stated = (
                self._snapshot.values("has_symptom", name).values(first, last) for name in ("reference", "source")
            )
            for each, reference, source in zip(symptom[first:last].tolist(), *stated, strict=True):
                said = {
                    "symptom": symptoms[each],
                    "symptom_name": words[each],
                    "reference": reference,
                    "source": source,
                }
                for at in range(*np.searchsorted(mapped, (each, each + 1)).tolist()):
                    named = {"phenotype": self._ids[term[at]], "relation": relation[at]}
                    yield int(term[at]), head | named | said

    def _chain(self, finding: int, way: Way, direction: str) -> Row:
        said = "exact" if len(way) == 1 else direction
        head = {"finding": self._ids[finding], "finding_name": self._names[finding], "direction": said}
        return head | self._steps("path", way)

    def _steps(self, name: str, way: Way) -> Row:
        return {f"{name}_ids": [self._ids[row] for row in way], f"{name}_names": [self._names[row] for row in way]}

    def _above(self, term: int) -> dict[int, Way]:
        if term in self._ways:
            return self._ways[term]
        found: dict[int, Way] = {term: (term,)}
        edge: dict[int, Way] = found
        for _ in range(_MOST_STEPS):
            reached: dict[int, Way] = {}
            for lower, way in edge.items():
                for upper in self._up.columns(lower).tolist():
                    if upper not in found and (upper not in reached or way < reached[upper][:-1]):
                        reached[upper] = (*way, upper)
            if not reached:
                break
            found = {**found, **reached}
            edge = reached
        if len(self._ways) >= _KEPT:
            self._ways.clear()
        self._ways[term] = found
        return found


def _place(ids: Sequence[str], id: str) -> int | None:
    at = bisect_left(ids, id)
    return at if at < len(ids) and ids[at] == id else None


def _share(row: Row) -> float | None:
    """The share of patients as ``evidence_typical`` reckons it."""
    if (row["denominator"] or 0) > 0:
        return None if row["numerator"] is None else float(row["numerator"]) / row["denominator"]
    if row["percentage"] is not None:
        return float(row["percentage"]) / 100
    stated = FREQUENCIES.get(row["frequency_class"] or "")
    return 0.0 if stated is None else stated.share


def in_order(*columns: str) -> Callable[[Row], Any]:
    """The order of the templates: absent values last."""
    return lambda row: [(row[name] is None, row[name] or "") for name in columns]


def _by_length(*columns: str) -> Callable[[Row], Any]:
    last = in_order(*columns)
    return lambda row: (row["disease"], row["finding"], len(row["path_ids"]), *last(row))


@dataclass(frozen=True, slots=True)
class _Listing:
    """How a template that lists what diseases have is answered.

    Attributes:
        edges: Snapshot tables of the relations, which are called like them, in the order of their rows.
        mixed: Columns that sort a disease's rows where several relations give them, or the snapshot has them in another
            order; empty where each relation's rows stand, and are limited, by themselves.
    """

    nodes: str
    edges: tuple[str, ...]
    columns: tuple[str, ...]
    named: tuple[str, ...] = ("id", "name")
    mixed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Inferring:
    """How a template that infers diseases is answered.

    Attributes:
        closed: Whether what is below something given counts for it.
    """

    parameter: str
    nodes: str
    edges: tuple[str, ...]
    closed: bool = False


_PHRASE = ("id", "name", "language")
_STATED = ("score", "reference", "source")
_ANNOTATED = (*STATED[:-1], "sex", "modifiers", "aspect")
_LISTS = ("publications", "modifiers")

_LISTINGS = {
    "symptoms_of_diseases": _Listing("symptom", ("has_symptom",), ("antecedent", *_STATED), _PHRASE),
    "tests_of_diseases": _Listing("test", ("recommend_test",), _STATED, _PHRASE),
    "drugs_of_diseases": _Listing("drug", ("recommend_drug",), _STATED, _PHRASE),
    "cures_of_diseases": _Listing("cure", ("recommend_cure",), _STATED, _PHRASE),
    "comorbidities_of_diseases": _Listing("disease", ("has_comorbidity",), _STATED),
    "genes_of_diseases": _Listing(
        "gene",
        ("associated_gene", "disease_protein"),
        ("association", "publications", "source"),
        mixed=("id", "relation", "source", "association"),
    ),
    "medicines_of_diseases": _Listing("drug", ("contraindication", "indication", "off_label_use"), ("source",)),
    "phenotypes_of_diseases": _Listing(
        "phenotype",
        ("has_phenotype",),
        _ANNOTATED,
        mixed=("id", "source", "reference", "frequency", "evidence", "onset", "sex", "aspect"),
    ),
}
_INFERRING = {
    "infer_diseases": _Inferring("phenotypes", "phenotype", ("has_phenotype",), closed=True),
    "infer_diseases_exact": _Inferring("phenotypes", "phenotype", ("has_phenotype",)),
    "infer_diseases_by_symptoms": _Inferring("symptoms", "symptom", ("has_symptom",)),
    "infer_diseases_by_tests": _Inferring("tests", "test", ("recommend_test",)),
    "infer_diseases_by_drugs": _Inferring("drugs", "drug", ("recommend_drug", "indication", "off_label_use")),
    "infer_diseases_by_cures": _Inferring("cures", "cure", ("recommend_cure",)),
    "infer_diseases_by_comorbidities": _Inferring("comorbidities", "disease", ("has_comorbidity",)),
    "infer_diseases_by_genes": _Inferring("genes", "gene", ("associated_gene", "disease_protein")),
}

_CASES = ("similar_cases", "cooccurring_phenotypes")
_NEIGHBOURS = "phenotype_neighbours"
_TYPICAL = "typical_phenotypes"
_UNSTATED = 0.45
"""Where a phenotype of which no source states a frequency stands among the others."""

COMPILED = (*_LISTINGS, *_INFERRING, *_CASES, *EVIDENCE, _NEIGHBOURS, _TYPICAL)
"""Names of the templates that have a compiled form."""


MOST_REMEMBERED = 200_000
"""Most rows of answers that are remembered; those that were asked for longest ago go first."""


@dataclass(frozen=True, slots=True)
class CompiledRows:
    rows: tuple[Row, ...]
    digest: str


class CompiledQueries:
    """Read templates, answered from a snapshot.

    What a template needs is put together when it is first asked, and kept beside the snapshot.

    Args:
        saved: Returns the rows of the template ``saved_cases`` as the store has them now, in the place of the saved
            cases that the snapshot holds; ``None`` where nothing was saved since it was compiled.
    """

    def __init__(self, snapshot: Snapshot, saved: Callable[[], Sequence[Row]] | None = None) -> None:
        self._snapshot = snapshot
        self._saved = saved
        self._kept: dict[str, Any] = {}
        self._answers: OrderedDict[Any, CompiledRows] = OrderedDict()
        self._remembered = 0
        self._lock = threading.RLock()

    def has(self, name: str) -> bool:
        return name in COMPILED

    def run(self, name: str, /, **parameters: Any) -> list[Row]:
        found = template(name, "read")
        return self._rows(found, found.bind(parameters))

    def answered(self, name: str, /, **parameters: Any) -> CompiledRows:
        """Return the rows of a template with their digest, remembered for the next time that the same is asked.

        The rows are shared by all who ask: leave them as they are.
        """
        found = template(name, "read")
        bound = found.bind(parameters)
        if name in _CASES:
            self._patients()  # forgets all answers when other cases were saved
        key = (name, repr(bound))
        with self._lock:
            known = self._answers.get(key)
            if known is not None:
                self._answers.move_to_end(key)
                return known
        rows = tuple(self._rows(found, bound))
        made = CompiledRows(rows, digest(rows))
        with self._lock:
            self._answers[key] = made
            self._remembered += len(rows) + 1
            while self._remembered > MOST_REMEMBERED:
                self._remembered -= len(self._answers.popitem(last=False)[1].rows) + 1
        return made

    def _rows(self, found: Template, bound: Mapping[str, Any]) -> list[Row]:
        name = found.name
        if (bound.get("limit") or 0) < 0:
            raise TemplateError(f"template {name}: limit is {bound['limit']}", hint="ask for none or more rows")
        if name in _LISTINGS:
            rows = self._listed(_LISTINGS[name], bound["diseases"], bound["limit"])
        elif name in _INFERRING:
            rows = self._inferred(name, _INFERRING[name], bound)
        elif name == "similar_cases":
            given = [bound[each] for each in ("without", "publications", "limit", "asked")]
            rows = self._patients().similar(self._near(bound["near"]), *given)
        elif name in EVIDENCE:
            rows = self._once("evidence", lambda: Evidence(self._snapshot)).rows(name, bound)
        elif name == _TYPICAL:
            rows = self._typical(bound["diseases"], bound["limit"])
        elif name == "cooccurring_phenotypes":
            rows = self._cooccurring(bound["phenotype"], bound["source"], bound["limit"])
        elif name == _NEIGHBOURS:
            rows = self._neighbours(bound["phenotype"])
        else:
            raise TemplateError(f"template {name} has no compiled form", hint="run it on the store")
        return [{column: row[column] for column in found.columns} for row in rows]

    def _listed(self, listing: _Listing, diseases: Sequence[str], limit: int | None) -> list[Row]:
        """What diseases have, the first ``limit`` rows of each group: of a disease, or of a disease and relation."""
        rows: list[Row] = []
        for id_, disease in sorted(self._numbers("disease", diseases).items()):
            mixed: list[Row] = []
            for table in listing.edges:
                edges, start = self._edges(table)
                first, total = int(start[disease]), int(start[disease + 1] - start[disease])
                size = total if limit is None or listing.mixed else min(limit, total)
                head = {"disease": id_, "relation": table.upper(), "total": total}
                mixed += [head | row for row in self._edge_rows(listing, edges, first, first + size)]
            if listing.mixed:
                mixed = [row | {"total": len(mixed)} for row in sorted(mixed, key=in_order(*listing.mixed))[:limit]]
            rows += mixed
        return rows

    def _edge_rows(self, listing: _Listing, edges: Mapping[str, Column], first: int, last: int) -> Iterator[Row]:
        if first == last:
            return iter(())
        nodes = list(edges.values())[1].values(first, last)
        columns = {}
        for name in listing.named:
            values = self._values(listing.nodes, name)
            columns[name] = [values[node] for node in nodes]
        for name in listing.columns:
            if name in edges:
                values = edges[name].values(first, last)
                columns[name] = [value or [] for value in values] if name in _LISTS else values
            else:
                columns[name] = [[] if name in _LISTS else None for _ in nodes]
        return (dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True))

    def _inferred(self, name: str, how: _Inferring, bound: Mapping[str, Any]) -> list[Row]:
        pairs = [(r["given"], r["id"]) if isinstance(r, Mapping) else (r, r) for r in bound[how.parameter]]
        known = self._numbers(how.nodes, [id_ for _, id_ in pairs])
        groups: defaultdict[str, set[int]] = defaultdict(set)
        for given, id_ in pairs:
            if id_ in known:
                groups[given].add(known[id_])
        linked = self._once(
            f"links {name}", lambda: links(self._snapshot, name, how.nodes, how.edges, closed=how.closed)
        )
        counts = np.zeros(self._snapshot.rows("disease"), np.int32)
        for group in groups.values():
            found = [linked.of(node) for node in group]
            counts[found[0] if len(found) == 1 else np.unique(np.concatenate(found))] += 1
        enough = np.flatnonzero(counts >= max(bound["min_match_count"], 1))
        best = enough[np.argsort(-counts[enough], kind="stable")[: bound["limit"]]]
        return self._matches(how.nodes, linked, best, counts[best], sorted(set().union(*groups.values())))

    def _matches(self, table: str, linked: Links, best: Ints, counts: Ints, nodes: Iterable[int]) -> list[Row]:
        ids, names = (self._values("disease", column) for column in ("id", "name"))
        rows: list[Row] = [
            {"id": ids[disease], "name": names[disease], "matched": count, "matched_ids": [], "matched_names": []}
            for disease, count in zip(best.tolist(), counts.tolist(), strict=True)
        ]
        node_ids, node_names = (self._values(table, column) for column in ("id", "name"))
        for node in nodes:
            for at in np.flatnonzero(linked.has(node, best)).tolist():
                rows[at]["matched_ids"].append(node_ids[node])
                rows[at]["matched_names"].append(node_names[node])
        return rows

    def similar(
        self, near: Sequence[SimilarCases], without: Sequence[str], publications: Sequence[str], limit: int
    ) -> list[Row]:
        """Return the rows of ``similar_cases`` for things whose similar phenotypes are given as arrays."""
        rows = self._patients().similar(near, without, publications, limit, len(near))
        return [{column: row[column] for column in template("similar_cases", "read").columns} for row in rows]

    def unlike(
        self, near: Sequence[SimilarCases], without: Sequence[str], publications: Sequence[str], count: int, seed: int
    ) -> list[Row]:
        """Return cases that have as little as any in common with what is asked (:meth:`CaseIndex.unlike`)."""
        return self._patients().unlike(near, without, publications, count, seed)

    def _near(self, rows: Sequence[Row]) -> list[SimilarCases]:
        known = self._numbers("phenotype", [row["id"] for row in rows])
        given: defaultdict[int, dict[int, int]] = defaultdict(dict)
        for row in rows:
            if row["similarity"] > 0 and row["id"] in known:
                of, term = given[row["asked"]], known[row["id"]]
                of[term] = max(of.get(term, 0), row["similarity"])
        from kgdx.graph.case_index import SimilarCases

        return [
            SimilarCases.of("", np.fromiter(of, np.int64, len(of)), np.fromiter(of.values(), np.uint16, len(of)))
            for _, of in sorted(given.items())
        ]

    def _typical(self, diseases: Sequence[str], limit: int) -> list[Row]:
        start, term, share = self._once(_TYPICAL, lambda: typical(self._snapshot, _UNSTATED))
        rows: list[Row] = []
        for id_, disease in sorted(self._numbers("disease", diseases).items()):
            first, beyond = int(start[disease]), int(start[disease + 1])
            head = {
                "disease": id_,
                "disease_name": self._values("disease", "name")[disease],
                "total": beyond - first,
            }
            shown = slice(first, min(beyond, first + limit))
            rows += [
                {**head, **self._phenotype(row), "share": None if math.isnan(said) else said}
                for row, said in zip(term[shown].tolist(), share[shown].tolist(), strict=True)
            ]
        return rows

    def _patients(self) -> CaseIndex:
        from kgdx.graph.case_index import CaseIndex

        saved = None if self._saved is None else self._saved()
        with self._lock:
            before, index = self._kept.get("patients", (None, None))
            if index is None or (saved is not before and saved != before):
                index = CaseIndex(self._snapshot, saved)
                self._answers.clear()
                self._remembered = 0
                self._kept["patients"] = saved, index
            found: CaseIndex = index
            return found

    def _cooccurring(self, phenotype: str, source: str | None, limit: int) -> list[Row]:
        rows = self._numbers("phenotype", [phenotype])
        if not rows:
            return []
        found, counts = self._patients().cooccurring(rows[phenotype], source)
        return [
            {**self._phenotype(row), "cases": cases}
            for row, cases in zip(found[:limit].tolist(), counts[:limit].tolist(), strict=True)
        ]

    def _neighbours(self, phenotype: str) -> list[Row]:
        rows = self._numbers("phenotype", [phenotype])
        if not rows:
            return []
        child, parent = (self._snapshot.column("is_a", end) for end in ("child", "parent"))
        above, below = np.unique(parent[child == rows[phenotype]]), np.unique(child[parent == rows[phenotype]])
        steps = (("above", above), ("below", below))
        return [{"direction": way, **self._phenotype(row)} for way, found in steps for row in found.tolist()]

    def _phenotype(self, row: int) -> Row:
        return {name: self._values("phenotype", name)[row] for name in ("id", "name")}

    def _edges(self, name: str) -> tuple[Mapping[str, Column], Ints]:
        def make() -> tuple[Mapping[str, Column], Ints]:
            either = name == "has_comorbidity"
            columns = stated_by_either(self._snapshot) if either else self._snapshot.columns(name)
            first = next(iter(columns.values())).array()
            return columns, np.searchsorted(first, np.arange(self._snapshot.rows("disease") + 1))

        edges: tuple[Mapping[str, Column], Ints] = self._once(f"edges {name}", make)
        return edges

    def _numbers(self, table: str, ids: Iterable[str]) -> dict[str, int]:
        known = self._once(f"rows {table}", lambda: {id_: row for row, id_ in enumerate(self._values(table, "id"))})
        return {id_: known[id_] for id_ in ids if id_ in known}

    def _values(self, table: str, column: str) -> list[Any]:
        return self._snapshot.values(table, column).all

    def _once(self, key: str, make: Callable[[], Any]) -> Any:
        if key in self._kept:
            return self._kept[key]
        with self._lock:
            if key not in self._kept:
                self._kept[key] = make()
            return self._kept[key]
