"""Made-up patients: a disease's phenotypes, sampled as often as annotated, then made imprecise, noisy and incomplete.

The three perturbations are those with which Deep-DxSearch (Zheng et al., arXiv:2508.15746) synthesises cases, and
Köhler et al. (AJHG 85:457, 2009) before it: a term gives way to one of its ancestors (imprecision), terms that have
nothing to do with the disease are added (noise), and terms are left out (omission).
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from kgdx.arrays.sparse import Ints, Sparse, ancestors, compressed
from kgdx.case import Ancestry
from kgdx.case.ddxplus_release import evidence_of
from kgdx.case.patient import Case, Finding, Status
from kgdx.episode.state import State
from kgdx.episode.wish import AskPatient, Reply
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

    Raises:
        UsageError: A share is below 0 or above 1.

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
    """Makes up patients of the diseases of a snapshot.

    Args:
        snapshot: Diseases with annotated phenotypes, and the hierarchy.
        least: Annotated phenotypes that a disease must have to be picked.

    Raises:
        StoreError: No disease has enough annotations.
    """

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
        """Disease → its phenotypes with their frequencies, the highest that is stated."""
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
        """Terms of which any disease is annotated: what may turn up by chance."""
        return np.unique(self._annotated.index)

    def cases(self, n: int, seed: int = 0, perturbation: Perturbation | None = None) -> Iterator[Case]:
        """Make up patients; case k of a seed is the same whatever ``n`` is.

        Args:
            n: How many.
            seed: Of the random choices.
            perturbation: How far from the annotations; the default one when ``None``.

        Raises:
            UsageError: ``n`` or ``seed`` is out of range.
        """
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
        """Terms that are no annotated one, and stand neither above nor below one."""
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


# Simulated patients: they know a case, and answer what is asked from it, never more.


@dataclass(frozen=True, slots=True)
class Noise:
    """How far answers are from what is recorded; shares from 0 to 1.

    Attributes:
        forgets: Of the recorded findings that the patient does not know of.
        contradicts: Of the yes and no that are turned round.
        unsure: Of the questions that are answered with "don't know" whatever is recorded.

    Raises:
        UsageError: A share is below 0 or above 1.

    Example:
        >>> Noise(unsure=0.2).unsure
        0.2
    """

    forgets: float = 0.0
    contradicts: float = 0.0
    unsure: float = 0.0

    def __post_init__(self) -> None:
        for name, share in asdict(self).items():
            if not 0 <= share <= 1:
                raise UsageError(f"{name} is {share}", hint="give a share from 0 to 1")


EXACT = Noise()
"""Answers as recorded."""
Answer = Literal[Status.PRESENT, Status.ABSENT, Status.UNKNOWN]


@dataclass(frozen=True)
class SimulatedPatient:
    """Answers by a recorded case: yes where the finding or one below it is recorded, no where it is excluded.

    What the case does not record is "don't know": most answers are. It says no diagnosis, and nothing that was not
    asked for. Equal questions get equal answers.

    Attributes:
        case: What is recorded.
        ancestry: Knows which findings lie below others.
        named: Whether a yes names the recorded finding below the one that was asked for, or the values of an evidence.
        complete: Whether the record is whole, as DDXPlus's are: what it does not have is absent.
        noise: How far the answers are from it.
        seed: Of the noise.

    Example:
        >>> from kgdx.case import Case, Finding
        >>> class Flat:
        ...     def ancestors(self, id): return frozenset()
        >>> patient = SimulatedPatient(Case("p", (Finding("HP:0001250"),)), Flat())
        >>> patient.reply(AskPatient(term="HP:0001250"), None).status
        <Status.PRESENT: 'present'>
    """

    case: Case
    ancestry: Ancestry
    named: bool = True
    complete: bool = False
    noise: Noise = EXACT
    seed: int = 0

    def reply(self, asked: AskPatient, state: State) -> Reply:
        """Answer a question; an open one gets the recorded findings that are not known yet, by their names."""
        if asked.term is None:
            return self._openly(state)
        below = [each for each in self.known if self._below(each.id, asked.term)]
        status: Answer = Status.PRESENT if below else self._lacking(asked.term)
        if not asked.which:
            status = self._noisy(asked.term, status)
        if status is not Status.PRESENT or not below:
            return Reply(status=status)
        narrower = [each for each in below if each.id != asked.term] if self.named or asked.which else []
        if not narrower or len(narrower) < len(below):
            return Reply(status=status)
        first, *others = narrower
        more = tuple((each.id, each.label) for each in others if evidence_of(each.id) == asked.term)
        return Reply(status=status, term=first.id, label=first.label, more=more)

    @cached_property
    def known(self) -> tuple[Finding, ...]:
        """The recorded findings that the patient knows to be present."""
        present = (each for each in self.case.findings if each.status is Status.PRESENT)
        return tuple(each for each in present if not self._drawn("forgets", each.id, self.noise.forgets))

    def _openly(self, state: State) -> Reply:
        heard = {finding.id for finding in state.case.findings}
        told = [each.label or each.id for each in self.known if each.id not in heard]
        return Reply(text=", ".join(told)) if told else Reply(status=Status.UNKNOWN)

    def _below(self, id: str, term: str) -> bool:
        return term in (id, evidence_of(id)) or term in self.ancestry.ancestors(id)

    def _lacking(self, term: str) -> Answer:
        above = {term, *self.ancestry.ancestors(term)}
        absent = self.complete or bool(above.intersection(self.case.excluded))
        return Status.ABSENT if absent else Status.UNKNOWN

    def _noisy(self, term: str, status: Answer) -> Answer:
        if self._drawn("unsure", term, self.noise.unsure):
            return Status.UNKNOWN
        turned: dict[Status, Answer] = {Status.PRESENT: Status.ABSENT, Status.ABSENT: Status.PRESENT}
        if status in turned and self._drawn("contradicts", term, self.noise.contradicts):
            return turned[status]
        return status

    def _drawn(self, what: str, term: str, share: float) -> bool:
        return share > 0 and random.Random(f"{self.seed}:{self.case.id}:{what}:{term}").random() < share


FIRST = "first"
"""Key of ``Case.extra``: the findings with which a recorded consultation begins."""


def opening(case: Case, count: int = 2, seed: int = 0) -> Case:
    """Return a case of which only some findings are known: where a consultation begins.

    Of a recorded consultation (a dialogue, a patient of DDXPlus) they are what the patient reports at first; of others
    they are chosen at random among those that are present.

    Args:
        case: What is recorded.
        count: How many of the present findings are known.
        seed: Of the choice; equal seeds and cases give equal openings.
    """
    first = case.extra.get(FIRST)
    if first is not None:
        told = [each for each in case.findings if each.id in first or (each.method == "mapped" and each.text in first)]
        return replace(case, findings=tuple(told), text="", phrases=(), diseases=(), extra={})
    present: Sequence[Finding] = [each for each in case.findings if each.status is Status.PRESENT]
    chosen = random.Random(f"{seed}:{case.id}").sample(list(present), min(count, len(present)))
    kept = tuple(each for each in present if each in chosen)
    return replace(case, findings=kept, text="", diseases=(), extra={})
