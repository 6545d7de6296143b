"""Ranks the diseases of a snapshot for a case, without a language model; what a place rests on is asked for apart."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache, partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kgdx.arrays.sparse import Floats, Ints
from kgdx.case.ddxplus_patients import MAPPED
from kgdx.case.patient import Case, Finding, Issue, Status
from kgdx.errors import CaseError, StoreError, UsageError
from kgdx.lazy import Recent
from kgdx.rank.clauses import said
from kgdx.rank.commonness import setting
from kgdx.rank.explanation import Explanation
from kgdx.rank.fusion import Beliefs, Scored, Scorers, Weights, believed, first_share, leading, temperature
from kgdx.rank.gates import UNTOLD, Gates
from kgdx.rank.judgement import Reliability, judged, traits
from kgdx.rank.person_scorer import unused
from kgdx.rank.query import Query
from kgdx.rank.ranking import (
    Bank,
    CandidateNames,
    Ranking,
    family_fields,
    family_rows,
    leaving_out,
    placed,
    ranks_of,
    separation,
)
from kgdx.rank.ranking_model import VERSION, RankModel, open_model
from kgdx.rank.scorers import SCORERS, Scorer
from kgdx.results.ranked import (
    Candidate,
    Contribution,
    Judgement,
    Raised,
    lazy_contributions,
    raised_by,
)
from kgdx.results.view import WEAK, supporting
from kgdx.results.words import count
from kgdx.terms.encoder import chosen

if TYPE_CHECKING:
    from kgdx.graph.snapshot import Snapshot
    from kgdx.rank.proposing import Proposer

SCORED = 16
"""Scored cases that are kept, with all their arrays: half a megabyte each."""
KEPT = 20
"""Longer rankings are not kept."""
RESULTS = 2048
"""Short results that are kept (rankings, beliefs, questions): up to 20 kB each."""
Key = tuple[bytes, bytes, tuple[int, ...], int, tuple[Hashable, ...]]
"""What scores depend on: present terms, absent terms, symptoms, and what else of the case the scorers read."""
Findings = tuple[Sequence[str], Sequence[str]]
"""Ids of observed and of excluded phenotypes."""


class Ranker:
    """Ranks diseases by phenotype; opened once and used for many cases."""

    def __init__(
        self, model: RankModel, names: CandidateNames, scorers: Mapping[str, Scorer], weights: Weights
    ) -> None:
        self.model, self.names, self.scorers, self.weights = model, names, scorers, weights
        self.scoring = Scorers(scorers, weights, model.columns.size)
        self._separated = lru_cache(RESULTS)(partial(separation, model, names))
        self._inside = np.diff(model.basis.up.start) > 0
        whole = [scorer for scorer in scorers.values() if scorer.whole]
        same = [scorer for scorer in whole if type(scorer).reading is Scorer.reading]
        self._whole = [scorer for scorer in whole if scorer not in same[1:]]  # of those that read alike one is asked
        self.forget()

    def forget(self) -> None:
        self._scored: Recent[Key, Scored] = Recent(SCORED)
        self._results: Recent[tuple[object, ...], Any] = Recent(RESULTS)
        self._read_cases: Recent[int, tuple[Case, tuple[Query, tuple[Issue, ...]]]] = Recent(SCORED)
        self._keys: Recent[int, tuple[Query, Key]] = Recent(SCORED)
        self._posteriors: Recent[int, tuple[Scored, Floats]] = Recent(SCORED)  # held with the case: ids are not reused
        self.scoring.forget()

    @classmethod
    def open(
        cls,
        snapshot: Snapshot,
        weights: Weights | Mapping[str, float] | str | Path | None = None,
        scorers: Iterable[type[Scorer]] = (),
        *,
        model: RankModel | None = None,
    ) -> Ranker:
        """Open the ranking model of a snapshot, which is compiled the first time, or make a ranker of another model.

        Weights are a file, or scorer → weight; a scorer is used when it has one. ``scorers`` are used beside those that
        :data:`~kgdx.rank.scorers.SCORERS` finds by name.
        """
        model, weights = model or open_model(snapshot), Weights.read(weights)
        own = {kind.name: kind for kind in scorers}
        kinds = {name: own.get(name) or SCORERS.get(name) for name in (*weights.scorers, *own)}
        opened = {name: kind.open(snapshot, model, str(VERSION)) for name, kind in kinds.items()}
        applying = {name: scorer for name, scorer in opened.items() if scorer.applies}
        return cls(model, CandidateNames(snapshot, model.candidates), applying, weights)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of what decides a score beside snapshot and case: scorers, versions, weights, encoder."""
        versions = {name: scorer.version for name, scorer in self.scorers.items()}
        content = json.dumps([VERSION, versions, self.weights.model_dump(mode="json"), chosen()], sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()

    def rank(
        self,
        case: Case | Findings,
        top: int = 10,
        also: Sequence[str] = (),
        bank: Bank | None = None,
        *,
        explain: bool = False,
        by_family: bool = False,
        abstain: bool = False,
        gates: bool = True,
    ) -> Ranking:
        """Return the best candidates for a case, or for the ids of its observed and excluded phenotypes.

        Args:
            also: Diseases (or entries merged into them) to return beside the ``top``, with the rank that they have.
            bank: Other patients to match with; the case itself and those of its publications are left out.
            explain: Whether to say what each finding adds, as :meth:`explain` does for the candidates given to it.
            by_family: Whether ``top`` counts families: each is one row, its best member, with the others inside.
            abstain: Whether nothing is ranked where a text holds too little to go on.
            gates: Whether diseases that sex or age rules out are left out.
        """
        query, issues = self._read(case)
        little = None
        if abstain and isinstance(case, Case):
            little = self._reliability.too_little(case, query)
        if little is not None:
            return Ranking((), self.model.columns.size, issues, little)
        self._refuse_empty(query)
        out = self._gates.out(query.case) if gates else {}
        others = [self.numbered(disease) for disease in also]

        def find() -> tuple[tuple[Candidate, ...], Judgement]:
            left_out = leaving_out(case) if isinstance(case, Case) else frozenset()
            try:
                scored = self.score_query(query)
                matched = None if bank is None else bank.match(scored, left_out)
                return self._best(scored, top, others, matched, out, explain=explain, by_family=by_family)
            except IndexError as error:  # a disk has changed an index by itself: opening cannot see that
                hint = "`kgdx verify` lists what is wrong; build the graph again with `kgdx build`"
                raise StoreError(f"the ranking model is damaged ({error})", hint=hint) from error

        short = bank is None and not explain and top + len(others) <= KEPT
        key = ("rank", self.key(query), by_family, *out, top, *others)
        candidates, judgement = self._results.get(key, find) if short else find()
        judgement = replace(
            judgement,
            left_out=tuple(count(int(np.count_nonzero(mask)), "disease") + f" {what}" for what, mask in out.items()),
            setting=setting(query.case)[0],
            setting_rule=setting(query.case)[1],
        )
        return Ranking(candidates, self.model.columns.size, issues, judgement)

    def _best(
        self,
        scored: Scored,
        top: int,
        others: list[int],
        matched: Any,
        out: Mapping[str, Ints],
        *,
        explain: bool,
        by_family: bool,
    ) -> tuple[tuple[Candidate, ...], Judgement]:
        total = scored.total if matched is None else matched.raised(scored.total)
        possible = total = _behind(total, [mask for what, mask in out.items() if what not in UNTOLD])
        if untold := [mask for what, mask in out.items() if what in UNTOLD]:
            best = np.arange(len(total)) == total.argmax()
            total = _behind(total, [mask & ~best for mask in untold])
        rows = family_rows(total, self.model.families, top, others) if by_family else []
        ranks = ranks_of(total, rows) if rows else {}
        places = {row.candidate: ranks[row.candidate] for row in rows} or placed(total, top, others)
        numbers = np.array(list(places), np.int64)
        nearest = [] if matched is None else [matched.nearest(number) for number in places]
        explained = self._explains(scored, numbers, [] if matched is None else matched.covered(nearest))
        shares = [None] * len(numbers) if explained is None else explained.tolist()
        parts = scored.parts(numbers)
        scores = [sum(each.values()) for each in parts]
        alike: list[Raised] = [((), 0.0)] * len(numbers)
        if matched is not None:
            gains = [after - before for after, before in zip(total[numbers].tolist(), scores, strict=True)]
            alike = matched.told(nearest, gains)
        told: list[tuple[Contribution, ...]] = [()] * len(numbers)
        if explain:
            told = self._told(scored, numbers, alike)
        candidates, families = [], self.model.families
        for place, (number, rank) in enumerate(places.items()):
            cases, gain = alike[place]
            family = family_fields(rows[place], total, ranks, self.names, self._separated) if rows else {}
            candidates.append(
                Candidate(
                    rank=rank,
                    **self.names.candidate(number)._asdict(),
                    **self.names.hereditary(number),
                    score=scores[place] + gain,
                    parts=parts[place] | ({"case_bank": gain} if gain else {}),
                    contributions=told[place],
                    cases=cases,
                    family="" if families.alone(number) else self._standing(number),
                    **family,
                    explained=shares[place],
                )
            )
        prior = scored.scales["prior"].part(scored.values["prior"]) if "prior" in scored.values else 0.0
        known = self._explains(scored, dangerous := np.array([*self._reliability.dangerous], np.int64))
        explained = np.zeros(len(dangerous)) if known is None else known
        lane = self._reliability.lane(possible, prior, explained, setting(scored.query.case)[0])
        tests = self._reliability.tests(candidates, numbers, scored.query)
        share = first_share(total, self.degrees(scored.query), self.weights.posterior.plausible)
        return tuple(candidates), judged(traits(share, shares[0], scored.query, alike[0][1]), lane, tests)

    def _explains(self, scored: Scored, numbers: Ints, covered: Sequence[float] = ()) -> Floats | None:
        terms = scored.query.observed
        if "coverage" not in scored.values or not len(terms):
            return None
        ic = self.model.basis.ic[terms]
        most = max(float((ic * -np.expm1(-ic)).sum() / max(float(ic.sum()), 1e-9)), 1e-9)
        own = scored.values["coverage"][numbers].astype(np.float64)
        if covered:
            own = np.maximum(own, covered)
        return np.round(np.clip(own / most, 0.0, 1.0), 3)

    def family_of(self, disease: str) -> str:
        number = self.number_of(disease)
        return disease if number < 0 else self._standing(number)

    def _standing(self, number: int) -> str:
        return self.names.candidate(self.model.families.standing(number)).id

    def explain(self, case: Case | Findings, candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
        """Return candidates of a ranking with what each finding adds to their scores; it sums to the score."""
        given = list(candidates)
        numbers = np.array([self.numbered(candidate.id) for candidate in given], np.int64)
        raised = [(candidate.cases, candidate.parts.get("case_bank", 0.0)) for candidate in given]
        told = self._told(self.score_query(self.query(case)[0]), numbers, raised)
        return tuple(replace(each, contributions=parts) for each, parts in zip(given, told, strict=True))

    def _told(self, scored: Scored, numbers: Ints, raised: Sequence[Raised]) -> list[tuple[Contribution, ...]]:
        told = Explanation(self.model, self.names, scored, self.scorers, numbers)
        case = scored.query.case
        name = supporting(() if case is None else case.findings)
        return [
            lazy_contributions(partial(told.contributions, place, raised_by(*each)), name(told.brief(place, WEAK)))
            for place, each in enumerate(raised)
        ]

    def score_all(self, case: Case | Findings) -> tuple[list[str], Floats]:
        return self.ids, self.score(case).total

    def score_many(self, cases: Iterable[Case | Findings]) -> Floats:
        """Return the scores of many cases, equal to those of :meth:`score_all`; shape (cases, candidates)."""
        totals = [self.score(case).total for case in cases]
        return np.array(totals, np.float32).reshape(len(totals), self.model.columns.size)

    def score(self, case: Case | Findings, before: Scored | None = None) -> Scored:
        """Score every candidate.

        ``before`` is the same case when less was known, to go on from: where its findings come first, only what was
        added is computed. The result is equal to the last bit with and without it.
        """
        return self.score_query(self.query(case)[0], before)

    def score_query(self, query: Query, before: Scored | None = None) -> Scored:
        """Score every candidate for a query; otherwise as :meth:`score`.

        The cases scored last are kept: one of them is not scored again, and one with a finding more goes on from it.
        """
        key = self.key(query)
        return self._scored.get(key, lambda: self.score_anew(query, before or self._shorter(query, key)))

    @cached_property
    def hears(self) -> bool:
        return any(scorer.hears for scorer in self.scorers.values())

    def key(self, query: Query) -> Key:
        """Return what scores depend on: queries of one key have one score."""
        return self._keys.get(id(query), lambda: (query, self._key(query)))[1]

    def _key(self, query: Query) -> Key:
        case = query.case
        read = () if case is None else tuple(scorer.reading(case) for scorer in self._whole)
        return (
            query.observed.tobytes(),
            query.excluded.tobytes(),
            query.symptoms,
            query.answered,
            read if any(read) else (),
        )

    def _shorter(self, query: Query, key: Key) -> Scored | None:
        one, other = query.observed[:-1].tobytes(), query.excluded[:-1].tobytes()
        return self._scored.peek((one, *key[1:])) or self._scored.peek((key[0], other, *key[2:]))

    def score_anew(self, query: Query, before: Scored | None = None) -> Scored:
        return self.scoring.score(query, before)

    def beliefs(self, case: Case | Findings | Scored, count: int | None = None) -> Beliefs:
        """Return the leading candidates with their shares among the annotated diseases, as many as the weights say."""
        scored, query = (case, case.query) if isinstance(case, Scored) else (None, self.query(case)[0])
        fitted = self.weights.posterior
        many, findings = count or fitted.leaders, len(query.observed)

        def believe() -> Beliefs:
            found = scored or self.score_query(query)
            numbers = leading(self._possible(found), many)
            return Beliefs(numbers, self.posterior(found)[numbers], findings)

        return self._results.get(("beliefs", self.key(query), many), believe)  # type: ignore[no-any-return]

    def posterior(self, scored: Scored, total: Floats | None = None) -> Floats:
        """Return the share of each candidate among the annotated diseases; shape (candidates,), in sum at most 1.

        What sex or age rules out has none.
        """
        if total is None:
            return self._posteriors.get(id(scored), lambda: (scored, self.posterior(scored, self._possible(scored))))[1]
        fitted = self.weights.posterior
        return believed(total, self.degrees(scored.query), fitted.plausible, fitted.most)

    def _possible(self, scored: Scored) -> Floats:
        case = scored.query.case
        if case is None:
            return scored.total
        out = self._results.get(("out", self.key(scored.query)), lambda: self._gates.out(case))
        return _behind(scored.total, [mask for what, mask in out.items() if what not in UNTOLD])

    def degrees(self, query: Query) -> float:
        """Return the temperature at which the scores of a query become shares."""
        fitted = self.weights.posterior
        if query.symptoms and not len(query.observed):
            return fitted.of_evidences
        return temperature(len(query.observed), fitted.temperature)

    @cached_property
    def _reliability(self) -> Reliability:
        return Reliability(self.model, self.names, self.scorers, self.weights)

    @cached_property
    def _gates(self) -> Gates:
        return Gates(self.names.snapshot, self.model, self.scorers)

    @cached_property
    def proposer(self) -> Proposer:
        from kgdx.rank.proposing import Proposer

        return Proposer(self)

    @cached_property
    def ids(self) -> list[str]:
        ids = list(self.names.diseases)
        return [ids[row] for row in self.model.candidates.disease.tolist()]

    @cached_property
    def terms(self) -> list[str]:
        return list(self.names.terms)

    def number_of(self, disease: str) -> int:
        """Return the candidate that a disease id belongs to, -1 where the graph annotates nothing of it."""
        row = self.names.diseases.get(disease, -1)
        return int(self.model.candidates.of[row]) if row >= 0 else -1

    def numbered(self, disease: str) -> int:
        number = self.number_of(disease)
        if number < 0:
            hint = "give the id of a disease that the graph describes; `kgdx search NAME` finds ids"
            raise UsageError(f"{disease[:40]} is not among the ranked diseases", hint=hint)
        return number

    def query(self, case: Case | Findings) -> tuple[Query, tuple[Issue, ...]]:
        """Return a case's findings as rows, and what of it cannot be used."""
        query, issues = self._read(case)
        self._refuse_empty(query)
        return query, issues

    def _refuse_empty(self, query: Query) -> None:
        scorers = self.scorers.values()
        by_terms = len(query.observed) and any(scorer.reads_terms for scorer in scorers)
        if not by_terms and not any(scorer.knows(query) for scorer in scorers):
            reason, hint = _unrankable(query)
            raise CaseError(reason, hint=hint)

    def _read(self, case: Case | Findings) -> tuple[Query, tuple[Issue, ...]]:
        if not isinstance(case, Case):
            return self._read_anew(case)
        return self._read_cases.get(id(case), lambda: (case, self._read_anew(case)))[1]

    def _read_anew(self, case: Case | Findings) -> tuple[Query, tuple[Issue, ...]]:
        observed, excluded = (case.observed, case.excluded) if isinstance(case, Case) else case
        issues: list[Issue] = list(self._reliability.gaps) if isinstance(case, Case) else []
        symptoms = {id: row for id in observed if (row := self.names.symptom(id)) >= 0}
        mapped = _mapped(case, symptoms) if isinstance(case, Case) and "evidences" in self.scorers else frozenset()
        out = mapped | self._repeated(case) if isinstance(case, Case) else mapped
        present = self._rows((id for id in observed if id not in symptoms and id not in out), issues)
        absent = self._rows((id for id in excluded if self.names.symptom(id) < 0), issues)
        given = case if isinstance(case, Case) else None
        phrases = said(given, own_words=self.weights.own_words) if given is not None and self.hears else ()
        if phrases:
            issues = [*self._reliability.of_words, *issues]
        query = Query(present, absent, given, phrases, tuple(dict.fromkeys(symptoms.values())))
        return query, (*issues, *unused(self.scorers.values(), query))

    def _repeated(self, case: Case) -> frozenset[str]:
        """Return the findings of words that also stand for a narrower one: a wording is one piece of evidence."""
        present = [each for each in case.findings if each.status is Status.PRESENT and each.id in self.names.terms]
        found = set[str]()
        for _, group in groupby(sorted(filter(_worded, present), key=_worded), key=_worded):
            ids = [each.id for each in group]
            for id in ids if len(ids) > 1 else ():
                above = {self.names.term(row) for row in self.model.basis.up.columns(self.names.terms[id]).tolist()}
                found |= above.intersection(ids) - {id}
        return frozenset(found)

    def _rows(self, ids: Iterable[str], issues: list[Issue]) -> Ints:
        rows: dict[int, None] = {}
        for id in ids:
            row = self.names.terms.get(id, -1)
            if row < 0 or not self._inside[row]:
                row = self.names.terms.get(self.names.replacements.get(id, ""), row)
            if row < 0:
                issues.append(Issue("warning", id, f"{id} is not a phenotype of this graph", "it was left out"))
            elif not self._inside[row]:
                message = f"{id} is not a phenotypic abnormality"
                issues.append(Issue("info", id, message, "it does not take part in ranking"))
            else:
                rows[row] = None
        return np.array(list(rows), np.int64)


def _behind(total: Floats, masks: Sequence[Ints]) -> Floats:
    least: Floats = np.where(np.any(masks, axis=0), total.min() - 1, total) if masks else total
    return least


def _worded(finding: Finding) -> tuple[int, ...]:
    return () if finding.span is None else (finding.span.start, finding.span.end)


def _unrankable(query: Query) -> tuple[str, str]:
    case = query.case
    worded = case is not None and (case.text or case.phrases)
    if len(query.observed):
        if worded:
            return (
                "the scorers in use read words, and have none to compare with those of the case",
                "describe the findings in the language of the graph's descriptions",
            )
        return "the scorers in use read words, and the case gives terms", "describe the findings in words"
    return (
        "no finding was recognised, and no disease of the graph is described in these words"
        if worded
        else "no observed finding of the case can be ranked",
        "give at least one phenotypic abnormality that the patient has, such as HP:0001250",
    )


def _mapped(case: Case, symptoms: Mapping[str, int]) -> frozenset[str]:
    implied = {each.id for each in case.findings if each.method == MAPPED and each.text in symptoms}
    return frozenset(implied - {each.id for each in case.findings if each.method != MAPPED})
