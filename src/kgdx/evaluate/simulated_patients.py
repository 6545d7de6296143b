"""Made-up patients: a disease's phenotypes, sampled as often as annotated, then made imprecise, noisy and incomplete.

The three perturbations are those with which Deep-DxSearch (Zheng et al., arXiv:2508.15746) synthesises cases, and
Köhler et al. (AJHG 85:457, 2009) before it: a term gives way to one of its ancestors (imprecision), terms that have
nothing to do with the disease are added (noise), and terms are left out (omission).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from kgdx.arrays.sparse import Ints, Sparse, ancestors, compressed
from kgdx.case.patient import Case, Finding, Status
from kgdx.errors import StoreError, UsageError
from kgdx.graph.snapshot import stated

if TYPE_CHECKING:
    from kgdx.graph.snapshot import Snapshot

ROOT = "HP:0000118"
"""Phenotypic abnormality: only what lies below it is a finding."""
UNSTATED = 0.45
"""Frequency of an annotation that states none: the prior of the ranker."""
LEAST_TERMS = 3
"""With fewer phenotypes a disease is no picture that could be perturbed."""
MOST_STEPS = 2
"""How far up an imprecise term is taken at most; never to the root or to its children, which say no more than an
organ."""
MAX_CASES = 1_000_000


@dataclass(frozen=True, slots=True)
class Perturbation:
    """How far made-up patients are from their disease's annotations; shares from 0 to 1.

    Attributes:
        imprecision: Of the observed terms that give way to an ancestor.
        noise: Unrelated terms, as a share of the observed ones.
        omission: Of the observed terms that are left out; one always stays.
        exclusion: Of the annotated terms that the patient does not have that are stated as absent.

    Example:
        >>> str(Perturbation(noise=0.5))
        'imprecision 0.2, noise 0.5, omission 0.2, exclusion 0.1'
    """

    imprecision: float = 0.2
    noise: float = 0.2
    omission: float = 0.2
    exclusion: float = 0.1

    def __post_init__(self) -> None:
        for name, share in asdict(self).items():
            if not 0 <= share <= 1:
                raise UsageError(f"{name} is {share}", hint="give a share from 0 to 1")

    def __str__(self) -> str:
        return ", ".join(f"{name} {share}" for name, share in asdict(self).items())


class Synthesis:
    """Makes up patients of the diseases of a snapshot that have some annotated phenotypes at least."""

    def __init__(self, snapshot: Snapshot, least: int = LEAST_TERMS) -> None:
        self._diseases = snapshot.column("disease", "id")
        self._terms = snapshot.column("phenotype", "id")
        self._labels = snapshot.table("phenotype").column("name").to_pylist()
        root = np.flatnonzero(self._terms == ROOT)
        if not len(root):
            raise StoreError("the graph has no Phenotypic abnormality", hint="load the ontology with `kgdx build`")
        child, parent = (snapshot.column("is_a", name) for name in ("child", "parent"))
        size = len(self._terms)
        self._up = ancestors(child, parent, size, int(root[0]))
        self._parents = compressed(child, parent, np.ones(len(child), np.int8), size)
        self._vague = np.zeros(size, bool)
        self._vague[[int(root[0]), *child[parent == root[0]]]] = True
        self._annotated = self._annotations(snapshot)
        terms = np.diff(self._annotated.start)
        self._pool = np.flatnonzero(terms >= least)
        if not len(self._pool):
            message = f"no disease of the graph has {least} annotated phenotypes"
            raise StoreError(message, hint="load annotations with `kgdx build`")

    def _annotations(self, snapshot: Snapshot) -> Sparse:
        disease, term = (snapshot.column("has_phenotype", name) for name in ("disease", "phenotype"))
        frequency = stated(snapshot, "has_phenotype").frequency
        frequency = np.where(np.isnan(frequency), UNSTATED, frequency)
        inside = (np.diff(self._up.start) > 1)[term] & (frequency > 0)
        keys, owner = np.unique(disease[inside].astype(np.int64) * len(self._terms) + term[inside], return_inverse=True)
        highest = np.zeros(len(keys))
        np.maximum.at(highest, owner, frequency[inside])
        rows, columns = np.divmod(keys, len(self._terms))
        return compressed(rows, columns, highest, len(self._diseases))

    @cached_property
    def _seen(self) -> Ints:
        return np.unique(self._annotated.index)

    def cases(self, n: int, seed: int = 0, perturbation: Perturbation | None = None) -> Iterator[Case]:
        """Make up so many patients; case k of a seed is the same whatever ``n`` is."""
        if not 0 < n <= MAX_CASES:
            raise UsageError(f"n is {n:,}", hint=f"make up 1 to {MAX_CASES:,} cases")
        if seed < 0:
            raise UsageError(f"the seed is {seed}", hint="give a number that is not negative")
        how = perturbation or Perturbation()
        return (self._case(seed, number, how) for number in range(n))

    def _case(self, seed: int, number: int, how: Perturbation) -> Case:
        chance = np.random.default_rng([seed, number])
        disease = int(chance.choice(self._pool))
        terms, frequency = self._annotated.row(disease)
        has = chance.random(len(terms)) < frequency
        if not has.any():
            has[chance.choice(len(terms), p=frequency / frequency.sum())] = True
        true = terms[has]
        kept = true[chance.random(len(true)) >= how.omission]
        if not len(kept):
            kept = chance.choice(true, 1)
        vaguer = [self._vaguer(int(term), chance) if chance.random() < how.imprecision else int(term) for term in kept]
        observed = list(dict.fromkeys([*vaguer, *self._unrelated(terms, round(how.noise * len(kept)), chance)]))
        above = {ancestor for term in (*observed, *true.tolist()) for ancestor in self._up.columns(term).tolist()}
        lacks = terms[~has]
        absent = [int(term) for term in lacks[chance.random(len(lacks)) < how.exclusion] if int(term) not in above]
        findings = [self._finding(term, Status.PRESENT) for term in observed]
        findings += [self._finding(term, Status.ABSENT) for term in absent]
        return Case(
            id=f"synthetic:{seed}:{number}",
            findings=tuple(findings),
            diseases=(str(self._diseases[disease]),),
            source="phenopacket",
            synthetic=True,
        )

    def _vaguer(self, term: int, chance: np.random.Generator) -> int:
        """An ancestor, one or two steps up; the term itself where only vague ones stand above it."""
        for _ in range(int(chance.integers(1, MOST_STEPS + 1))):
            parents = [each for each in self._parents.columns(term).tolist() if not self._vague[each]]
            parents = [each for each in parents if len(self._up.columns(each))]
            if not parents:
                break
            term = int(chance.choice(parents))
        return term

    def _unrelated(self, terms: Ints, n: int, chance: np.random.Generator) -> list[int]:
        if not n:
            return []
        own = set(terms.tolist())
        above = {ancestor for term in terms.tolist() for ancestor in self._up.columns(term).tolist()}
        found: list[int] = []
        for term in chance.permutation(self._seen).tolist():
            if len(found) == n:
                break
            if term not in above and not own.intersection(self._up.columns(term).tolist()):
                found.append(term)
        return found

    def _finding(self, term: int, status: Status) -> Finding:
        label = self._labels[term] or ""
        return Finding(str(self._terms[term]), status, label=label, text=label)
