"""How common a disease is, from the graph alone, and how much that counts for a patient.

Who comes with everyday complaints has a common disease far more often than a rare one that fits as well; who comes with
findings that only rare diseases have is not helped by that. So commonness counts by a gate that the findings open.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from kgdx.arrays.sparse import Floats, Ints
from kgdx.case.patient import Case
from kgdx.rank.clauses import told_by
from kgdx.rank.phrases import articles, heeded, names_of
from kgdx.rank.query import Query
from kgdx.rank.scorers import Scorer
from kgdx.rank.wording import units
from kgdx.terms.normalise import has_chinese, simplify

if TYPE_CHECKING:
    from kgdx.graph.snapshot import Snapshot
    from kgdx.rank.ranking_model import RankModel

MENTIONED, COMORBID, SOURCES, MOST = 1.5, 0.5, 0.3, 2.2
"""What mentions, comorbidities and sources weigh, and the bound of their sum."""
SETTINGS = {"emergency": 1.6, "general": 1.0, "referral": 0.3}
"""What the log-odds of the prior count where the patient is seen: in an emergency room, a general practice or ward,
after referral to a clinic of rare diseases. Chosen on development notes (python -m benchmarks.judgement)."""
BANDS = {"very common": 10.4, "common": 8.5, "uncommon": 6.2, "rare": 3.9}
"""Log-odds of the table's bands beside a disease that HPO's annotations alone describe: one patient in 30, 200, 2,000
and 20,000 of a setting, beside one in a million."""
PREVALENCES = {
    ">1 / 1000": 4.6,
    "6-9 / 10 000": 4.3,
    "1-5 / 10 000": 3.4,
    "1-9 / 100 000": 1.6,
    "1-9 / 1 000 000": 0.0,
    "<1 / 1 000 000": 0.0,
}
"""The same for Orphanet's classes of prevalence, of whom one in ten is seen for it in a year."""
SUSCEPTIBLE = -4.0
"""The same for what is no disease but makes one likelier."""
TOLD = 3.9
"""Log-odds that one unit of the prior by mentions stands for."""
PER_NAT = 0.15
"""Of the weight of a unit, what each of the log-odds counts."""
_SAID = "setting", "childhood", "sudden"
"""What a text says of where the patient is seen: by name or by kin, by an illness since childhood, by a sudden one."""
ACUTE = frozenset(
    f"HP:{number:07}" for number in (2615, 12418, 4372, 31273, 1259, 1695, 31258, 100749, 2248, 2249, 25258, 32546)
)
"""Hypotension, hypoxemia, reduced consciousness, shock, coma, cardiac arrest, delirium, chest pain, bleeding,
stiff neck, guarding: signs with which people come, or are sent, to an emergency room."""
OPEN, WORDS = 3.0, 1.5
"""What the prior weighs where the gate is open, and what is added for a patient described in words."""
BACKGROUND = 20.0
"""Weight of the background in the gate's likelihoods, in diseases."""
NO_DISEASE = re.compile(r"(?i)susceptib|\bmodifier of\b|\bprotection against\b|\bresistance to\b.*\binfection")
_LONGEST = 6
"""Words of the longest name that is looked for in texts; for Chinese twice as many characters."""


class Commonness(Scorer):
    """The prior of commonness, as far as the gate is open.

    s(d) = (OPEN · g + WORDS · [words] · (CLOSED + (1 − CLOSED) · g)) · prior(d), with
    prior(d) = min(MOST, MENTIONED · m(d) + COMORBID · c(d) + SOURCES · n(d)) from how many other texts name the
    disease, how many others name it as a comorbidity, and how many sources describe it, each on a logarithmic scale up
    to 1, and g = σ(Σ_t ln p(t | common diseases) / p(t | curated ones)) over the present findings t.
    """

    name: ClassVar[str] = "commonness"
    standardised: ClassVar[bool] = False
    rest: ClassVar[str] = "prior"
    reads_terms: ClassVar[bool] = False

    @classmethod
    def compile(cls, snapshot: Snapshot, model: RankModel) -> Mapping[str, Floats]:
        if not snapshot.rows("has_symptom"):
            return {}
        size = len(model.curated)
        texts = articles(snapshot, model)
        mentions = mention_counts({number: names for number, names in names_of(snapshot, model).items()}, texts, size)
        end = model.candidates.of[snapshot.column("has_comorbidity", "end")]
        comorbid = np.bincount(end[end >= 0], minlength=size)
        parts = MENTIONED * _scaled(mentions) + COMORBID * _scaled(comorbid) + SOURCES * _sources(snapshot, model)
        prior = np.minimum(parts, MOST).astype(np.float32)
        return {"prior": prior, "ratio": gate_ratios(model, prior)}

    @property
    def applies(self) -> bool:
        return "prior" in self.arrays

    def speaks(self, query: Query) -> bool:
        return not query.symptoms or len(query.observed) > 0

    def gate(self, query: Query) -> float:
        """Return how far the findings open the gate, 0 to 1; with words alone it is open."""
        if not len(query.observed):
            return 1.0
        total = float(self.arrays["ratio"][query.observed].astype(np.float64).sum())
        return 1 / (1 + math.exp(-max(-50.0, min(50.0, total))))

    def score(self, query: Query) -> Floats:
        return self.opened(query, self.gate(query))

    def opened(self, query: Query, gate: float = 1.0) -> Floats:
        weight = OPEN * gate + WORDS * bool(query.phrases) * heeded(gate)
        score: Floats = np.float32(weight) * self.arrays["prior"]
        return score


class Prior(Commonness):
    """How common a disease is where the patient is seen, in log-odds, as far as the gate is open.

    s(d) = w(setting) · PER_NAT · (OPEN · g + WORDS · [words] · (CLOSED + (1 − CLOSED) · g)) · ln o(d, setting), with o
    from the band of the table of common conditions, else from Orphanet's class of prevalence or, where texts tell of
    the disease, from how many do (:class:`Commonness`); it is 1 for what HPO's annotations alone describe.
    """

    name: ClassVar[str] = "prior"
    rest: ClassVar[str] = "prior"

    @classmethod
    def compile(cls, snapshot: Snapshot, model: RankModel) -> Mapping[str, Floats]:
        told = super().compile(snapshot, model).get("prior")
        if told is None:
            return {}
        of, size = model.candidates.of, len(model.curated)
        odds = np.tile(TOLD * told, (len(SETTINGS), 1))
        basis = np.full((len(SETTINGS), size), "", "U60")
        basis[:, told > 0] = "told of in texts"
        for row, stated in enumerate(snapshot.column("disease", "prevalence").tolist()):
            if of[row] >= 0 and (each := PREVALENCES.get(stated or "")) is not None:
                odds[:, of[row]] = np.maximum(odds[:, of[row]], each)
                basis[:, of[row]] = f"prevalence {stated} (Orphanet)"
        for place, name in enumerate(SETTINGS):
            for row, band in enumerate(snapshot.column("disease", name).tolist()):
                if of[row] >= 0 and band in BANDS:
                    odds[place, of[row]] = BANDS[band]
                    basis[place, of[row]] = f"{band} (table of common conditions)"
        names = snapshot.column("disease", "name")[model.candidates.disease].tolist()
        for number, name in enumerate(names):
            if NO_DISEASE.search(name or ""):
                odds[:, number], basis[:, number] = SUSCEPTIBLE, "a susceptibility, no disease"
        common = np.maximum(odds, 0).max(axis=0) / TOLD
        return {"odds": odds.astype(np.float32), "basis": basis, "ratio": gate_ratios(model, common)}

    @property
    def applies(self) -> bool:
        return "odds" in self.arrays

    def reading(self, case: Case) -> Hashable:
        return setting(case)[0]

    def opened(self, query: Query, gate: float = 1.0) -> Floats:
        where = setting(query.case)[0]
        weight = PER_NAT * SETTINGS[where] * (OPEN * gate + WORDS * bool(query.phrases) * heeded(gate))
        score: Floats = np.float32(weight) * self.arrays["odds"][list(SETTINGS).index(where)]
        return score

    def says(self, query: Query, candidates: Ints) -> Sequence[str]:
        where = setting(query.case)[0]
        found = self.arrays["basis"][list(SETTINGS).index(where), candidates].tolist()
        return [f"{where}: {each or 'taken as rare: only annotations describe it'}" for each in found]


def setting(case: Case | None) -> tuple[str, str]:
    """Return where a patient is seen, and why that is assumed."""
    if case is not None and case.setting:
        return case.setting, "as stated"
    if case is not None and (case.gene_evidence or case.family.inheritance):
        return "referral", "since candidate genes or a mode of inheritance are given"
    if case is not None and (found := next(filter(None, (told_by(each).search(case.text) for each in _SAID)), None)):
        return str(found.lastgroup), f"since the text says “{found.group().strip().lower()}”"
    if case is not None and not ACUTE.isdisjoint(case.observed):
        return "emergency", "since a finding is one of emergencies"
    return "general", "since nothing says where the patient is seen"


def since_childhood(text: str) -> bool:
    return bool(told_by("childhood").search(text))


class Mentions(Scorer):
    """How many other diseases' texts name the disease: s(d) = ln(1 + m(d)).

    A prior of everyday diseases for comparisons, without the bound and the gate of :class:`Commonness`, part of which
    it is.
    """

    name: ClassVar[str] = "mentions"
    rest: ClassVar[str] = "prior"
    reads_terms: ClassVar[bool] = False

    @classmethod
    def compile(cls, snapshot: Snapshot, model: RankModel) -> Mapping[str, Floats]:
        counts = mention_counts(names_of(snapshot, model), articles(snapshot, model), len(model.curated))
        return {"counts": counts.astype(np.int32)} if counts.any() else {}

    @property
    def applies(self) -> bool:
        return "counts" in self.arrays

    def knows(self, query: Query) -> bool:
        return True

    def score(self, query: Query) -> Floats:
        return np.log1p(self.arrays["counts"]).astype(np.float32)


def _scaled(count: Ints) -> Floats:
    value = np.log1p(count.astype(np.float64))
    scaled: Floats = value / max(float(value.max()), 1e-9)
    return scaled


def _sources(snapshot: Snapshot, model: RankModel) -> Floats:
    found: dict[int, set[str]] = defaultdict(set)
    of = model.candidates.of
    columns = snapshot.column("has_symptom", "disease").tolist(), snapshot.column("has_symptom", "source").tolist()
    for disease, source in zip(*columns, strict=True):
        if of[disease] >= 0:
            found[int(of[disease])].add(source or "")
    count = np.zeros(len(model.curated))
    for number, sources in found.items():
        count[number] = len(sources)
    return np.minimum(count, 3)


def mention_counts(names: Mapping[int, Iterable[str]], texts: Mapping[int, Iterable[str]], size: int) -> Ints:
    """Return in how many other candidates' texts a name of each candidate stands."""
    english: dict[tuple[str, ...], set[int]] = defaultdict(set)
    chinese: dict[str, set[int]] = defaultdict(set)
    for number, own in names.items():
        for name in own:
            if has_chinese(name):
                if 2 <= len(name) <= 2 * _LONGEST:
                    chinese[simplify(name)].add(number)
            elif len(name) > 3 and (words := tuple(units(name))) and len(words) <= _LONGEST:
                english[words].add(number)
    counts: Counter[int] = Counter()
    for owner, own_texts in texts.items():
        met: set[int] = set()
        for text in own_texts:
            if has_chinese(text):
                met |= _named(simplify(text), chinese, 2, 2 * _LONGEST)
            else:
                met |= _named(tuple(units(text)), english, 1, _LONGEST)
        counts.update(met - {owner})
    return np.array([counts[number] for number in range(size)])


def _named(text: Sequence[str], names: Mapping[Any, set[int]], shortest: int, longest: int) -> set[int]:
    at, met = 0, set[int]()
    while at < len(text):
        for length in range(min(longest, len(text) - at), shortest - 1, -1):
            found = names.get(text[at : at + length])
            if found:
                met |= found
                at += length - 1
                break
        at += 1
    return met


def gate_ratios(model: RankModel, prior: Floats) -> Floats:
    """Return ln p(t | common) / p(t | curated) of each term; shape (terms,).

    Both are mean propagated frequencies, drawn to the mean of all: of the candidates by the square of their prior, and
    of those that are curated and have none.
    """
    by, terms = model.propagated, len(model.basis.ic)
    owner = np.repeat(np.arange(len(by.start) - 1), np.diff(by.start))
    value = by.values.astype(np.float64)
    told = np.diff(by.start) > 0
    common = np.where(told, np.square(prior.astype(np.float64)), 0.0)
    rare = (model.curated & (prior == 0)).astype(np.float64)
    overall = np.bincount(by.index, value, terms) / max(int(told.sum()), 1)
    ratios = []
    for weight in (common, rare):
        mean = np.bincount(by.index, value * weight[owner], terms)
        ratios.append((mean + BACKGROUND * overall) / (weight.sum() + BACKGROUND))
    ratio = np.log(np.maximum(ratios[0], 1e-9) / np.maximum(ratios[1], 1e-9))
    return np.where(overall > 0, ratio, 0.0).astype(np.float32)
