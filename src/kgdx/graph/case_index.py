"""The patients of a graph by what was observed in them: who is similar to what is asked, and what goes together."""

from __future__ import annotations

import threading
from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kgdx.arrays.sparse import Ints, gather, greatest
from kgdx.graph.protocol import USER, Row
from kgdx.graph.snapshot import Snapshot
from kgdx.graph.snapshot_links import Links

_COLUMNS = ("id", "label", "synthetic", "source", "publications", "diseases")
_LISTS = ("publications", "diseases")
UNIT = 10_000
"""Similarities are whole numbers of this part of 1: sums of them are exact, in any order."""
KEPT_BYTES = 200_000_000
"""Bytes of columns of similarities that are remembered, those that were used last."""
FIRST = 24_000
"""Observations of phenotypes, the most similar first, that are looked at for each thing before cases are left out."""
LIKELY = 256
"""Cases, about as many, that are compared in full to know what the best ones score at least."""
SAMPLE = 4_096
"""Cases by which the likely ones are told from the others."""


@dataclass(frozen=True, slots=True)
class SimilarCases:
    """What is similar to one thing that is asked.

    Attributes:
        terms: Rows of the phenotypes with any similarity to it, each once, the most similar first.
        similarity: Of each, above 0, in parts of :data:`UNIT`; uint16.
    """

    key: str
    terms: Ints
    similarity: Ints

    @classmethod
    def of(cls, key: str, terms: Ints, similarity: Ints) -> SimilarCases:
        """Return the list of phenotypes in any order."""
        order = np.argsort(-similarity.astype(np.int32), kind="stable")
        return cls(key, terms[order], similarity[order])


class CaseIndex:
    """The patients of a graph, by what was observed in them.

    Args:
        saved: Rows of the template ``saved_cases``, which replace what the snapshot holds of that source; ``None``
            leaves the snapshot's.
    """

    def __init__(self, snapshot: Snapshot, saved: Sequence[Row] | None = None) -> None:
        self._phenotypes = snapshot.table("phenotype").column("id")
        self._cases = snapshot.table("patient_case").select(_COLUMNS)
        self._case, self._phenotype = (snapshot.column("observed", end) for end in ("case", "phenotype"))
        self._sources = snapshot.table("observed").column("source")
        if saved is not None:
            self._replace(saved)
        rows = np.arange(len(self._cases) + 1)
        self._start = np.searchsorted(self._case, rows)
        pairs = np.unique(self._phenotype.astype(np.int64) * max(len(self._cases), 1) + self._case)
        starts = np.searchsorted(pairs, np.arange(len(self._phenotypes) + 1) * max(len(self._cases), 1))
        self._having = Links(starts, (pairs % max(len(self._cases), 1)).astype(np.int32))
        self._size = np.diff(starts)
        self._columns: OrderedDict[str, tuple[Ints, int]] = OrderedDict()
        self._lock = threading.Lock()

    def similar(
        self, near: Sequence[SimilarCases], without: Iterable[str], publications: Iterable[str], limit: int, asked: int
    ) -> list[Row]:
        """Return the rows of ``similar_cases``: equation 21 of Deep-DxSearch, exact over all cases.

        Args:
            near: What is similar to each thing that is asked.
            asked: How many things are asked; some may be similar to nothing.
        """
        best, total = self._best(near, self._left_out(without, publications), limit)
        return self._told(near, total, best, asked)

    def unlike(
        self, near: Sequence[SimilarCases], without: Iterable[str], publications: Iterable[str], count: int, seed: int
    ) -> list[Row]:
        """Return rows of cases that have as little as any in common with what is asked, drawn by a seed."""
        free = np.ones(len(self._cases), bool)
        free[self._left_out(without, publications)] = False
        order = np.random.default_rng(seed).permutation(np.flatnonzero(free))
        total = self._exact(near, order)
        drawn = np.argsort(total, kind="stable")[:count]
        return self._told(near, total[drawn], order[drawn], max(len(near), 1))

    def _best(self, near: Sequence[SimilarCases], left_out: Sequence[int], limit: int) -> tuple[Ints, Ints]:
        """The most similar cases and their sums of similarities, without comparing all cases in full.

        Of each thing the most similar phenotypes are looked at. A case without any of them has at most the similarity
        at which that stopped, so every case has a bound, and those whose bound is below what the best ones of the
        likely have for certain are left out. What remains is compared in full: the result is exact.
        """
        bound, rest = np.zeros(len(self._cases), np.int32), 0
        for each in near:
            column, beyond = self._nearest(each)
            bound += column
            rest += beyond
        bound += rest
        bound[left_out] = 0
        least = 1
        if rest and limit > 0:
            some = np.sort(bound[:: max(len(bound) // SAMPLE, 1)])
            likely = np.flatnonzero(bound >= some[-min(LIKELY * len(some) // len(bound) + 2, len(some))])[: 8 * LIKELY]
            if len(likely) >= limit:
                least = max(int(np.partition(self._exact(near, likely), len(likely) - limit)[len(likely) - limit]), 1)
        chosen = np.flatnonzero(bound >= least)
        total = self._exact(near, chosen) if rest else bound[chosen]
        place = greatest(total, limit)
        return chosen[place], total[place]

    def _exact(self, near: Sequence[SimilarCases], cases: Ints) -> Ints:
        total = np.zeros(len(cases), np.int32)
        position, owner = gather(self._start, cases)
        terms, there = self._phenotype[position], np.flatnonzero(np.diff(owner, prepend=-1))
        similarity = np.zeros(len(self._phenotypes), np.uint16)
        for each in near if len(there) else ():
            similarity[each.terms] = each.similarity
            total[owner[there]] += np.maximum.reduceat(similarity[terms], there)
            similarity[each.terms] = 0
        return total

    def _left_out(self, without: Iterable[str], publications: Iterable[str]) -> list[int]:
        named = [row for each in without for row in self._rows.get(each, ())]
        reported = [row for each in publications for row in self._reported.get(each, ())]
        return [*self._synthetic.tolist(), *named, *reported]

    def _told(self, near: Sequence[SimilarCases], total: Ints, best: Ints, asked: int) -> list[Row]:
        found = [{name: column[row] for name, column in self._shown.items()} for row in best.tolist()]
        scores = (total / (asked * UNIT)).tolist()
        matched = self._matched(near, best)
        return [
            {**row, "score": score, "matched": ids, "diseases": row["diseases"] or []}
            for row, score, ids in zip(found, scores, matched, strict=True)
        ]

    def _nearest(self, near: SimilarCases) -> tuple[Ints, int]:
        """How similar each case's nearest phenotype is to a thing, beyond what any other phenotype is; and that."""
        with self._lock:
            if near.key in self._columns:
                self._columns.move_to_end(near.key)
                return self._columns[near.key]
        many = self._size[near.terms]
        last = int(np.searchsorted(np.cumsum(many), FIRST, side="right"))
        beyond = int(near.similarity[last]) if last < len(near.terms) else 0
        terms, value, many = (each[:last][::-1] for each in (near.terms, near.similarity, many))
        ends = np.cumsum(many, dtype=np.int32)
        position = np.repeat(self._having.start[terms].astype(np.int32) - (ends - many.astype(np.int32)), many)
        position += np.arange(len(position), dtype=np.int32)
        column = np.zeros(len(self._cases), np.uint16)
        column[self._having.linked[position]] = np.repeat(value - np.uint16(beyond), many)  # the last one counts
        found = column, beyond
        if near.key:
            with self._lock:
                self._columns[near.key] = found
                while len(self._columns) * column.nbytes > KEPT_BYTES:
                    self._columns.popitem(last=False)
        return found

    def _matched(self, near: Sequence[SimilarCases], cases: Ints) -> list[list[str]]:
        found: list[list[str]] = [[] for _ in cases]
        size = len(self._phenotypes)
        position, owner = gather(self._start, cases)
        terms, there = self._phenotype[position].astype(np.int64), np.flatnonzero(np.diff(owner, prepend=-1))
        similarity = np.zeros(size, np.int64)
        for each in near if len(there) else ():
            similarity[each.terms] = each.similarity
            best = np.maximum.reduceat(similarity[terms] * size + (size - 1 - terms), there)  # of equal ones the first
            for at, value in zip(owner[there].tolist(), best.tolist(), strict=True):
                if value >= size:
                    found[at].append(self._ids[size - 1 - value % size])
            similarity[each.terms] = 0
        return found

    def cooccurring(self, phenotype: int, source: str | None) -> tuple[Ints, Ints]:
        """Return the phenotypes that were observed in the same cases as one, and in how many, most frequent first."""
        size = len(self._phenotypes)
        positions, owner = gather(self._start, self._having.of(phenotype))
        if source is not None:
            stated = self._of_source(source)[positions]
            positions, owner = positions[stated], owner[stated]
        found = self._phenotype[positions]
        if source is not None:  # the phenotype itself has to be stated by the source too
            by_source = np.isin(owner, owner[found == phenotype])
            found, owner = found[by_source], owner[by_source]
        counts = np.bincount(np.unique(owner * size + found) % size, minlength=size)
        counts[phenotype] = 0
        there = np.flatnonzero(counts)
        best = there[np.argsort(-counts[there], kind="stable")]
        return best, counts[best]

    @cached_property
    def _reported(self) -> dict[str, list[int]]:
        found: defaultdict[str, list[int]] = defaultdict(list)
        for row, publications in enumerate(self._cases.column("publications").to_pylist()):
            for each in publications or ():
                found[each].append(row)
        return dict(found)

    @cached_property
    def _shown(self) -> dict[str, list[Any]]:
        return {name: self._cases.column(name).to_pylist() for name in ("id", "label", "diseases")}

    @cached_property
    def _ids(self) -> list[str]:
        ids: list[str] = self._phenotypes.to_pylist()
        return ids

    @cached_property
    def _rows(self) -> dict[str, list[int]]:
        found: defaultdict[str, list[int]] = defaultdict(list)
        for name in ("id", "label"):
            for row, each in enumerate(self._cases.column(name).to_pylist()):
                if each:
                    found[each].append(row)
        return dict(found)

    @cached_property
    def _synthetic(self) -> Ints:
        return np.flatnonzero(np.array([bool(each) for each in self._cases.column("synthetic").to_pylist()], bool))

    def _of_source(self, source: str) -> Ints:
        import pyarrow.compute as pc

        stated: Ints = pc.fill_null(pc.equal(self._sources, source), False).to_numpy()
        return stated

    def _replace(self, saved: Sequence[Row]) -> None:
        import pyarrow as pa

        old = [source == USER for source in self._cases.column("source").to_pylist()]
        if not saved and not any(old):
            return
        kept = np.flatnonzero(~np.array(old, bool))
        rows = [{**row, "source": USER, **{name: sorted(set(row[name])) for name in _LISTS}} for row in saved]
        columns = {name: [row[name] for row in rows] for name in _COLUMNS}
        both = pa.concat_tables([self._cases.take(pa.array(kept)), pa.table(columns, schema=self._cases.schema)])
        ids = both.column("id").to_pylist()
        order = sorted(range(len(ids)), key=ids.__getitem__)
        place = np.empty(len(ids), np.int64)
        place[order] = np.arange(len(ids))
        self._cases = both.take(pa.array(order)).combine_chunks()
        phenotypes = {id_: row for row, id_ in enumerate(self._phenotypes.to_pylist())}
        new = [(len(kept) + at, phenotypes[id_]) for at, row in enumerate(saved) for id_ in row["observed"]]
        stays = ~np.array(old, bool)[self._case]
        before = np.searchsorted(kept, self._case[stays])
        owner = place[np.concatenate([before, np.array([case for case, _ in new], np.int64)])]
        found = np.concatenate([self._phenotype[stays], np.array([row for _, row in new], np.int64)])
        sources = [*self._sources.filter(pa.array(stays)).to_pylist(), *[USER] * len(new)]
        sorting = np.lexsort((found, owner))
        self._case, self._phenotype = owner[sorting], found[sorting]
        self._sources = pa.chunked_array([pa.array(sources, pa.string()).take(pa.array(sorting))])
