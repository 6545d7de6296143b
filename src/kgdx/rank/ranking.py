"""What ranking returns, and the ids, names and references behind the model's numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from kgdx.arrays.sparse import Floats, Ints
from kgdx.case.ddxplus_release import PREFIX, evidence_of
from kgdx.case.patient import Case, Issue
from kgdx.rank.candidates import Candidates
from kgdx.rank.families import Families
from kgdx.rank.fusion import leading
from kgdx.rank.term_scorers import dense
from kgdx.results.ranked import Candidate, FamilyMember, Judgement, Separation
from kgdx.schema.model import FREQUENCIES
from kgdx.terms.normalise import has_chinese

if TYPE_CHECKING:
    from kgdx.graph.snapshot import Snapshot
    from kgdx.rank.ranking_model import RankModel

_TABLES = ("has_phenotype", "lacks_phenotype")
TABLE = "KGDX:common."
"""Ids of the conditions of the table of common conditions."""
_KEPT = 4096
_KEPT_ANNOTATIONS = 65_536


class DescribedCandidate(NamedTuple):
    """A candidate in words: as :class:`~kgdx.results.ranked.Candidate` has them."""

    id: str
    name: str
    members: tuple[str, ...]
    name_zh: str | None
    nested: tuple[str, ...] = ()


class CandidateNames:
    """Turns rows and candidates into what people read."""

    def __init__(self, snapshot: Snapshot, candidates: Candidates) -> None:
        self.snapshot = snapshot
        self._candidates = candidates
        self.candidate = cache(self._candidate)
        self.genes = cache(self._symbols)
        self.hereditary = cache(self._hereditary)
        self.annotation = lru_cache(_KEPT_ANNOTATIONS)(self._annotation)
        self._by_term = lru_cache(_KEPT)(self._rows_by_term)

    @cached_property
    def terms(self) -> dict[str, int]:
        return {id: row for row, id in enumerate(self.snapshot.values("phenotype", "id").all)}

    @cached_property
    def diseases(self) -> dict[str, int]:
        return {id: row for row, id in enumerate(self.snapshot.values("disease", "id").all)}

    @cached_property
    def replacements(self) -> dict[str, str]:
        """Alternative and obsolete phenotype ids → the current one."""
        ids, alternatives, replaced = (
            self.snapshot.values("phenotype", name).values() for name in ("id", "alt_ids", "replaced_by")
        )
        found = {other: id for id, others in zip(ids, alternatives, strict=True) for other in others or ()}
        return found | {id: other for id, other in zip(ids, replaced, strict=True) if other is not None}

    @cached_property
    def symptoms(self) -> dict[str, int]:
        return {id: row for row, id in enumerate(self.snapshot.values("symptom", "id").all)}

    def symptom(self, id: str) -> int:
        """Return the row of a symptom, also of one that is given with a value; -1 where the graph has none of it."""
        if id.startswith("HP:"):
            return -1
        return self.symptoms.get(id, self.symptoms.get(evidence_of(id), -1))

    def symptom_id(self, row: int) -> str:
        return str(self.snapshot.values("symptom", "id")[row])

    def term(self, row: int) -> str:
        return self._term_ids[row]

    def label(self, term: str) -> str:
        return self._labels[self.terms[term]] or term

    @cached_property
    def _labels(self) -> list[str]:
        return self.snapshot.values("phenotype", "name").all

    @cached_property
    def _term_ids(self) -> list[str]:
        return list(self.terms)

    def _candidate(self, number: int) -> DescribedCandidate:
        rows = self._candidates.members.columns(number).tolist()
        ids, names, chinese = ([self._disease(column, row) for row in rows] for column in ("id", "name", "name_zh"))
        named = [name for name, id in zip(names, ids, strict=True) if name != id]
        if ids[0].startswith(PREFIX):  # of what DDXPlus calls "Anemia" the table says which
            named.sort(key=lambda name: not ids[names.index(name)].startswith(TABLE))
        name = next((name for name in named if not has_chinese(name)), (named or names)[0])
        nested = tuple(self._disease("id", row) for row in self._nested.get(number, ()))
        return DescribedCandidate(ids[0], name, tuple(ids), next(filter(None, chinese), None), nested)

    def _symbols(self, number: int) -> tuple[str, ...]:
        disease, gene = (self.snapshot.column("associated_gene", end) for end in ("disease", "gene"))
        symbols = self.snapshot.values("gene", "name")
        return tuple(sorted(filter(None, (symbols[int(each)] for each in {*gene[list(self.at(disease, number))]}))))

    def _hereditary(self, number: int) -> dict[str, Any]:
        disease, said, kind = self._told_of
        told: dict[str, dict[str, None]] = {"inheritance": {}, "onset": {}}
        for at in self.at(disease, number):
            told[kind[at]][said[at]] = None
        members = self._candidates.members.columns(number).tolist()
        for what, column in (("inheritance", "inheritance"), ("onset", "onset_ages")):
            for row in members:
                told[what] |= dict.fromkeys(map(str.lower, self.snapshot.values("disease", column)[row] or ()))
        common = (self.snapshot.values("disease", name)[row] for name in ("prevalence", "general") for row in members)
        return {
            "genes": self.genes(number),
            "inheritance": tuple(told["inheritance"]),
            "begins": tuple(told["onset"]),
            "prevalence": next(filter(None, common), None),
        }

    def at(self, owner: Ints, number: int) -> Iterator[int]:
        members = self._candidates.members.columns(number)
        first, last = (np.searchsorted(owner, members, side).tolist() for side in ("left", "right"))
        for begin, end in zip(first, last, strict=True):
            yield from range(begin, end)

    @cached_property
    def _told_of(self) -> tuple[Ints, list[str], list[str]]:
        disease, term = (self.snapshot.column("has_phenotype", end) for end in ("disease", "phenotype"))
        said = {
            row: name.lower().rsplit(" ", 1)
            for row, name in enumerate(self._labels)
            if name and name.endswith((" inheritance", " onset"))
        }
        rows = np.flatnonzero(np.isin(term, list(said)))
        names, kinds = zip(*(said[each] for each in term[rows].tolist()), strict=True) if len(rows) else ((), ())
        return disease[rows], list(names), list(kinds)

    @cached_property
    def _nested(self) -> dict[int, list[int]]:
        of, entry = self._candidates.of, self._candidates.entry
        found: dict[int, list[int]] = {}
        for row in np.flatnonzero(of != entry).tolist():
            found.setdefault(int(of[row]), []).append(row)
        return found

    def _annotation(self, number: int, term: int, *, lacking: bool = False) -> tuple[str, tuple[str, ...]]:
        frequency, reference = (self.snapshot.values(_TABLES[lacking], name) for name in ("frequency", "reference"))
        frequencies: dict[str, None] = {}
        references: dict[str, None] = {}
        for row in self._rows(number, term, lacking):
            stated = frequency[row]
            if stated:
                frequencies[FREQUENCIES[stated].name if stated in FREQUENCIES else stated] = None
            for cited in (reference[row] or "").split(";"):
                if cited.strip():
                    references[cited.strip()] = None
        return ", ".join(frequencies), tuple(references)

    def _rows(self, number: int, term: int, lacking: bool) -> list[int]:
        own = self._by_term(number, lacking).get(term, [])
        if own or lacking:
            return own
        groups = self._candidates.broad[self._candidates.narrow == number]
        return [row for group in groups.tolist() for row in self._by_term(group, lacking).get(term, ())]

    def _rows_by_term(self, number: int, lacking: bool) -> dict[int, list[int]]:
        disease, phenotype = (self.snapshot.column(_TABLES[lacking], end) for end in ("disease", "phenotype"))
        found: dict[int, list[int]] = {}
        for row in self.at(disease, number):
            found.setdefault(int(phenotype[row]), []).append(row)
        return found

    def _disease(self, column: str, row: int) -> str:
        return str(self.snapshot.values("disease", column)[row] or "")


@dataclass(frozen=True, slots=True)
class Ranking:
    """The best of ``n_candidates`` for a case, best first; findings that could not be used; how far to rely on it."""

    candidates: tuple[Candidate, ...]
    n_candidates: int
    issues: tuple[Issue, ...] = ()
    judgement: Judgement | None = None


class Bank(Protocol):
    """Other patients that a case can be matched with; :class:`kgdx.rank.case_bank.CaseBank` is one."""

    def match(self, scored: Any, leave_out: frozenset[str] = frozenset()) -> Any: ...


def leaving_out(case: Case) -> frozenset[str]:
    return frozenset({case.id, *case.publications} - {""})


SHOWN = 20
"""How many other members of a family a row holds, the best ones."""


@dataclass(frozen=True, slots=True)
class ListRow:
    """One row of a list: a candidate, the rank of its family, and the other members of that, best first."""

    candidate: int
    rank: int
    others: Ints


def family_rows(total: Floats, families: Families, top: int, also: Iterable[int] = ()) -> list[ListRow]:
    """Return the best families, each by its best member; equal scores are in the order of the candidates."""
    members = families.members
    best = np.maximum.reduceat(total[members.index], members.start[:-1])
    found = []
    for place, family in enumerate(leading(best, top).tolist(), start=1):
        ordered = _ordered(total, members.columns(family))
        found.append(ListRow(int(ordered[0]), place, ordered[1:]))
    shown = {row.candidate for row in found}
    for number in dict.fromkeys(also):
        if number not in shown:
            family = int(families.of[number])
            ordered = _ordered(total, members.columns(family))
            found.append(ListRow(number, _rank(best, family), ordered[ordered != number]))
    return sorted(found, key=lambda row: row.rank)


def ranks_of(total: Floats, shown: Iterable[ListRow]) -> dict[int, int]:
    """Return the rank by disease of each candidate that rows show; equal scores are in the order of the candidates."""
    numbers = np.concatenate([[row.candidate, *row.others[:SHOWN]] for row in shown]).astype(np.int64)
    ordered, value = np.sort(total), total[numbers]
    upper = np.searchsorted(ordered, value, side="right")
    ranks = len(total) - upper + 1
    for at in np.flatnonzero(upper - np.searchsorted(ordered, value) > 1).tolist():
        ranks[at] += np.count_nonzero(total[: numbers[at]] == value[at])
    return dict(zip(numbers.tolist(), ranks.tolist(), strict=True))


def family_fields(
    row: ListRow,
    total: Floats,
    ranks: Mapping[int, int],
    names: CandidateNames,
    separated: Callable[[int, int], Separation | None],
) -> dict[str, Any]:
    """Return what a candidate that stands for a row says of its family."""
    if not len(row.others):
        return {"family_rank": row.rank}
    members, shown = [], row.others[:SHOWN]
    for number, score in zip(shown.tolist(), total[shown].tolist(), strict=True):
        told = names.candidate(number)
        members.append(FamilyMember(ranks[number], told.id, told.name, score, told.name_zh, names.genes(number)))
    return {
        "family_rank": row.rank,
        "family_size": len(row.others) + 1,
        "in_family": tuple(members),
        "separated_by": separated(row.candidate, int(row.others[0])),
    }


def _ordered(total: Floats, members: Ints) -> Ints:
    ordered: Ints = members[np.argsort(-total[members], kind="stable")]
    return ordered


def separation(model: RankModel, names: CandidateNames, one: int, other: int) -> Separation | None:
    """Return the finding that separates two candidates best; ``None`` where none does."""
    shares = [dense(*model.propagated.row(number), len(model.basis.ic)) for number in (one, other)]
    apart = np.abs(shares[0] - shares[1]) * model.basis.ic
    at = int(apart.argmax())
    if apart[at] <= 0:
        return None
    id, (here, there) = names.term(at), (round(float(share[at]), 2) for share in shares)
    return Separation(id, names.label(id), names.candidate(other).id, here, there)


def placed(total: Floats, top: int, also: Iterable[int] = ()) -> dict[int, int]:
    """Return the best candidates and their ranks, best first; equal scores are in the order of the candidates."""
    ranks = {number: rank for rank, number in enumerate(leading(total, top).tolist(), start=1)}
    ranks |= {number: _rank(total, number) for number in also}
    return dict(sorted(ranks.items(), key=lambda item: item[1]))


def _rank(values: Floats, at: int) -> int:
    return int(np.count_nonzero(values > values[at]) + np.count_nonzero(values[:at] == values[at])) + 1
