"""The compiled form of the templates on patients: which share findings, and which findings occur in the same ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa

from kgdx.store._links import Links
from kgdx.store.closure import Ints, gather
from kgdx.store.protocol import USER, Row
from kgdx.store.snapshot import Snapshot

_COLUMNS = ("id", "label", "synthetic", "source", "diseases")


class CaseIndex:
    """The patients of a graph, by what was observed in them.

    Args:
        snapshot: That of the graph.
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
        self._having = Links(starts, pairs % max(len(self._cases), 1))

    def similar(self, phenotypes: Ints, without: Iterable[str], min_match_count: int, limit: int) -> list[Row]:
        """Return the rows of ``similar_cases``.

        Args:
            phenotypes: Rows of the phenotypes, ascending, each once.
            without: Ids of cases to leave out.
            min_match_count: Fewest shared phenotypes.
            limit: Most cases.
        """
        counts = np.zeros(len(self._cases), np.int16)
        for phenotype in phenotypes.tolist():
            counts[self._having.of(phenotype)] += 1
        counts[self._synthetic] = 0
        counts[[row for each in without if (row := self._rows.get(each)) is not None]] = 0
        enough = np.flatnonzero(counts >= max(min_match_count, 1))
        best = enough[np.argsort(-counts[enough], kind="stable")[:limit]]
        shared: list[list[str]] = [[] for _ in best]
        for phenotype in phenotypes.tolist():
            id_ = self._phenotypes[phenotype].as_py()
            for at in np.flatnonzero(self._having.has(phenotype, best)).tolist():
                shared[at].append(id_)
        found = self._cases.select(("id", "label", "diseases")).take(pa.array(best)).to_pylist()
        return [
            {**row, "shared": len(ids), "shared_ids": ids, "diseases": row["diseases"] or []}
            for row, ids in zip(found, shared, strict=True)
        ]

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
    def _rows(self) -> dict[str, int]:
        return {id_: row for row, id_ in enumerate(self._cases.column("id").to_pylist())}

    @cached_property
    def _synthetic(self) -> Ints:
        """Rows of the cases that are made up."""
        return np.flatnonzero(np.array([bool(each) for each in self._cases.column("synthetic").to_pylist()], bool))

    def _of_source(self, source: str) -> Ints:
        """For each observation, whether the source states it."""
        import pyarrow.compute as pc

        stated: Ints = pc.fill_null(pc.equal(self._sources, source), False).to_numpy()
        return stated

    def _replace(self, saved: Sequence[Row]) -> None:
        """Put the saved cases in the place of those that the snapshot holds."""
        old = [source == USER for source in self._cases.column("source").to_pylist()]
        if not saved and not any(old):
            return
        kept = np.flatnonzero(~np.array(old, bool))
        rows = [{**row, "source": USER, "diseases": sorted(set(row["diseases"]))} for row in saved]
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
