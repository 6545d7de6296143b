"""Which terms a candidate disease has and how often, pooled over sources, publications and merged entries.

Frequencies follow HPOA: a count n/m, a percentage, or a frequency class; 0/n, NOT and the class Excluded say absent.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from kgdx.arrays.sparse import Floats, Ints, gather
from kgdx.graph.snapshot import stated

if TYPE_CHECKING:
    from kgdx.graph.snapshot import Snapshot

CLASS_PATIENTS = 5.0
"""A class or a percentage without a count weighs like this many patients."""
OBLIGATE_PATIENTS = 20.0
"""The class Obligate, or 100 %, is said of all patients that a source knows, and weighs like this many."""
PRIOR_PATIENTS = 5.0
"""Weight of the prior that small counts are drawn to: 1/1 says less than 20/20."""
PRIOR_FREQUENCY = 0.45
"""Frequency of an annotation of which nothing is said."""
LISTED_FREQUENCY = 0.15
"""Frequency of what a source lists without frequency, reference or evidence beside others that state them: PrimeKG says
of each pair that it is, and most of its pairs are HPO's own, without what HPO says of them."""
GROUP_SHARE = 0.2
"""What a disease inherits of the frequencies of a broader group's entry."""
ALIKE, LEAST_ALIKE = 0.8, 3
"""Share of the phenotypes of two entries, and how many, that are common where one repeats the other."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Annotation rows, one per statement of a source: how many patients were looked at, and how many have it.

    ``patients`` is 0 where the source gives no frequency; ``listed`` is what is stated without frequency, reference or
    evidence in a graph that has others.
    """

    disease: Ints
    term: Ints
    positive: Floats
    patients: Floats
    listed: Ints

    @property
    def columns(self) -> tuple[Ints, ...]:
        return self.disease, self.term, self.positive, self.patients, self.listed

    def take(self, which: Ints) -> Rows:
        return Rows(*(column[which] for column in self.columns))


@dataclass(frozen=True, slots=True)
class Annotations:
    """Pooled annotations, sorted by candidate and term; of absent ones the share of patients that may still have it."""

    candidate: Ints
    term: Ints
    frequency: Floats

    @classmethod
    def of(cls, keys: Ints, terms: int, frequency: Floats) -> Annotations:
        return cls((keys // terms).astype(np.int32), (keys % terms).astype(np.int32), frequency)

    def below(self, size: int) -> Annotations:
        end = int(np.searchsorted(self.candidate, size))
        return Annotations(self.candidate[:end], self.term[:end], self.frequency[:end])


def read_rows(snapshot: Snapshot) -> Rows:
    """Return all annotation rows of a snapshot, first what diseases have, then what they lack.

    Rows keep the order of the tables ``has_phenotype`` and ``lacks_phenotype``. Where several sources take a statement
    from one reference (HPOA and Orphanet's own file from the same entry of Orphanet), each weighs its part of one.
    """
    present = _read(snapshot, "has_phenotype")
    absent = _read(snapshot, "lacks_phenotype")
    patients = np.where(absent.patients > 0, absent.patients, np.float32(CLASS_PATIENTS))
    absent = replace(absent, positive=np.zeros_like(patients), patients=patients, listed=np.zeros(len(patients), bool))
    present = _shared(present, _sources(snapshot, "has_phenotype"))
    absent = _shared(absent, _sources(snapshot, "lacks_phenotype"))
    return Rows(*(np.concatenate(pair) for pair in zip(present.columns, absent.columns, strict=True)))


def _shared(rows: Rows, sources: Floats) -> Rows:
    return replace(rows, positive=rows.positive / sources, patients=rows.patients / sources)


def _sources(snapshot: Snapshot, table: str) -> Floats:
    import pyarrow.compute as pc

    rows = snapshot.table(table)
    one = np.ones(snapshot.rows(table), np.float32)
    source, reference = (rows.column(name).combine_chunks().dictionary_encode() for name in ("source", "reference"))
    if len(source.dictionary) < 2:
        return one
    known = pc.is_valid(rows.column("reference")).to_numpy(zero_copy_only=False)
    code = pc.fill_null(reference.indices, 0).to_numpy(zero_copy_only=False).astype(np.int64)
    disease, term = (snapshot.column(table, name).astype(np.int64) for name in ("disease", "phenotype"))
    statement = (disease * snapshot.rows("phenotype") + term) * max(1, len(reference.dictionary)) + code
    number = len(source.dictionary)
    stated = np.unique(statement[known] * number + source.indices.to_numpy(zero_copy_only=False)[known])
    statements, sources = np.unique(stated // number, return_counts=True)
    one[known] = sources[np.searchsorted(statements, statement[known])]
    return one


def _read(snapshot: Snapshot, table: str) -> Rows:
    said = stated(snapshot, table)
    counted = said.patients > 0
    share = np.nan_to_num(said.share)
    assumed = np.where(share >= 1, OBLIGATE_PATIENTS, CLASS_PATIENTS)
    weight = np.where(counted, said.patients, np.where(np.isnan(said.share), 0.0, assumed))
    with_it = np.where(counted, np.minimum(said.positive, said.patients), share * assumed)
    disease, term = (snapshot.column(table, name) for name in ("disease", "phenotype"))
    listed = weight == 0
    for name in ("reference", "evidence"):
        listed &= snapshot.table(table).column(name).is_null().to_numpy()
    listed &= not listed.all()
    return Rows(disease, term, with_it.astype(np.float32), weight.astype(np.float32), listed)


def listed(rows: Rows, candidate_of: Ints, inside: Ints, lacking: Annotations) -> Annotations:
    """Return what sources only list of the candidates, each pair once, but for what others count as 0."""
    candidate = candidate_of[rows.disease]
    use = rows.listed & (candidate >= 0) & inside[rows.term]
    terms = max(len(inside), 1)
    keys = np.unique(candidate[use].astype(np.int64) * terms + rows.term[use])
    keys = np.setdiff1d(keys, lacking.candidate.astype(np.int64) * terms + lacking.term, assume_unique=True)
    return Annotations.of(keys, terms, np.full(len(keys), LISTED_FREQUENCY, np.float32))


def repeated(rows: Rows, candidate_of: Ints, inside: Ints) -> tuple[Ints, Ints]:
    """Return candidates that are only listed, each with the one of which an entry has nearly the same phenotypes."""
    from scipy import sparse

    each, size = np.arange(len(candidate_of), dtype=np.int32), (len(candidate_of), len(inside))
    own, lacking = pooled(rows, each, inside)
    said = listed(rows, each, inside, lacking)
    lone = ~np.isin(candidate_of[said.candidate], candidate_of[own.candidate])
    places = (said.candidate[lone], said.term[lone]), (own.candidate, own.term)
    lists, has = (sparse.csr_array((np.ones(len(at[0]), np.float32), at), shape=size) for at in places)
    common = (lists @ has.T).tocoo()
    either = np.diff(lists.indptr)[common.row] + np.diff(has.indptr)[common.col] - common.data
    near = (common.data >= LEAST_ALIKE) & (common.data >= ALIKE * either)
    inner, outer = np.unique(candidate_of[np.stack([common.row, common.col])[:, near]], axis=1)
    once = np.bincount(inner)[inner] == 1
    return inner[once], outer[once]


def pooled(rows: Rows, candidate_of: Ints, inside: Ints) -> tuple[Annotations, Annotations]:
    """Pool rows per candidate and term into a smoothed frequency; return what candidates have, and what they lack.

    With n of m patients in all rows together, f = (n + k p) / (m + k) for k = PRIOR_PATIENTS and
    p = PRIOR_FREQUENCY: the posterior mean under a Beta(kp, k(1-p)) prior. A pair that is only ever counted as 0 is
    lacking, with k / (m + k) as the share of its odds that is left.
    """
    candidate = candidate_of[rows.disease]
    use = (candidate >= 0) & inside[rows.term] & ~rows.listed
    terms = len(inside)
    key = candidate[use].astype(np.int64) * terms + rows.term[use]
    keys, owner = np.unique(key, return_inverse=True)
    positive = np.bincount(owner, rows.positive[use], len(keys))
    patients = np.bincount(owner, rows.patients[use], len(keys))
    stated = np.bincount(owner, (rows.positive[use] > 0) | (rows.patients[use] == 0), len(keys)) > 0
    frequency = (positive + PRIOR_PATIENTS * PRIOR_FREQUENCY) / (patients + PRIOR_PATIENTS)
    left = PRIOR_PATIENTS / (patients + PRIOR_PATIENTS)
    parts = ((stated, frequency), (~stated, left))
    present, absent = (Annotations.of(keys[which], terms, value[which].astype(np.float32)) for which, value in parts)
    return present, absent


def with_groups(annotations: Annotations, narrow: Ints, broad: Ints, terms: int) -> Annotations:
    """Add to candidates what broader groups have, at GROUP_SHARE of its frequency; the higher value counts.

    ``narrow`` are the candidates that inherit, ``broad`` the group of each.
    """
    if not len(narrow):
        return annotations
    start = np.searchsorted(annotations.candidate, np.arange(int(max(annotations.candidate.max(), broad.max())) + 2))
    position, pair = gather(start, broad)
    candidate = np.concatenate([annotations.candidate, narrow[pair]])
    term = np.concatenate([annotations.term, annotations.term[position]])
    frequency = np.concatenate([annotations.frequency, annotations.frequency[position] * np.float32(GROUP_SHARE)])
    keys, owner = np.unique(candidate.astype(np.int64) * terms + term, return_inverse=True)
    highest = np.zeros(len(keys), np.float32)
    np.maximum.at(highest, owner, frequency)
    return Annotations.of(keys, terms, highest)
