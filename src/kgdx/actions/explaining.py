"""The action that finds, for the best candidates, the paths that speak for and against them, the nearest ones first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from math import sqrt
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field

from kgdx.answer.artifacts import Explained, ranking_of
from kgdx.case import Ancestry, Case, Status
from kgdx.episode.operations import Operations
from kgdx.episode.state import Artifact, State
from kgdx.episode.wish import Action
from kgdx.errors import UsageError
from kgdx.graph.protocol import Row
from kgdx.results.evidence_paths import (
    EDGE_PROPERTIES,
    EvidencePath,
    Kind,
    PathNode,
    PathRelation,
    frequency_text,
    references,
)
from kgdx.results.view import weights
from kgdx.schema.model import FREQUENCIES

if TYPE_CHECKING:
    from kgdx.results.ranked import Candidate, Contribution

MAX_EXPLAINED = 1000
"""Most candidates that one request explains."""

TYPICAL_SHARE = 0.5
"""A phenotype that at least half of the patients have counts as typical."""

TYPICAL_ROWS = 200
"""How many typical annotations are read per disease, those that the case implies among them."""


SHARED_FINDINGS = 20
"""For how many findings, of those that meet a candidate only at a shared ancestor, the way there is looked up: a case
of hundreds of findings meets every disease at hundreds of ancestors, which hardly count."""


TOGETHER = 30
"""Up to so many findings, one query asks for all candidates; beyond, every finding would meet the ancestors of every
candidate in it, and one query for each candidate takes a fifth of the time."""


class Explain(Action):
    """Find the evidence paths of candidates: what supports them, what speaks against, what is typical but unmentioned.

    Example:
        >>> Explain(top=3).parameters()
        {'diseases': None, 'top': 3, 'typical': 5}
    """

    name: ClassVar[str] = "explain"
    needs_findings: ClassVar[bool] = True
    makes: ClassVar[type[Artifact]] = Explained

    diseases: tuple[str, ...] | None = None
    """Ids of candidates, or of any diseases; the best of the ranking when absent."""

    top: Annotated[int, Field(ge=1, le=MAX_EXPLAINED)] = 10
    """How many of the ranking's best to explain, when no ids are given."""

    typical: Annotated[int, Field(ge=0, le=1000)] = 5
    """How many unmentioned typical phenotypes to show for each."""

    def run(self, graph: Operations, view: State) -> Explained:
        members = self._members(view)
        if not members:
            return Explained()
        case, ids = view.case, sorted(members)
        observed, excluded = list(case.observed), list(case.excluded)
        candidates = self._told(graph, view, members)
        direct = graph.query("evidence_supporting", diseases=ids, findings=observed)
        worded = _in_words(graph, ids, observed)
        shared = _shared(graph, candidates, members, [*direct, *worded])
        phrases = _phrases(graph, case, candidates, members)
        contrary = graph.query("evidence_against", diseases=ids, findings=observed, excluded=excluded)
        usual = graph.query(
            "evidence_typical",
            diseases=ids,
            known=[*observed, *excluded],
            minimum=TYPICAL_SHARE,
            limit=TYPICAL_ROWS * len(ids),
        )
        for_ = by_candidate([*direct, *shared], members)
        in_words = by_candidate(worded, members)
        said = {each.id: weights(each.contributions) for each in candidates}
        against = by_candidate(contrary, members)
        typical = by_candidate(usual, members)
        found: dict[str, tuple[EvidencePath, ...]] = {
            candidate: (
                *supporting(case, for_.get(candidate, ()), said.get(candidate, {})),
                *supporting(case, in_words.get(candidate, ()), said.get(candidate, {})),
                *phrases.get(candidate, ()),
                *against_paths(case, against.get(candidate, ()), said.get(candidate, {})),
                *typical_paths(case, typical.get(candidate, ()), graph.graph.ancestry, self.typical),
            )
            for candidate in dict.fromkeys(members.values())
        }
        return Explained(found, candidates)

    def _told(self, graph: Operations, view: State, members: Mapping[str, str]) -> tuple[Candidate, ...]:
        ranking = ranking_of(view)
        chosen = [] if ranking is None else [each for each in ranking.candidates if each.id in members]
        if all(each.contributions for each in chosen):
            return tuple(chosen)
        given = {"candidates": [each.id for each in chosen]}
        told: tuple[Candidate, ...] = graph.tool(
            "ranker", given, lambda: graph.graph.ranker.explain(view.case, chosen), len
        )
        return told

    def _members(self, state: State) -> dict[str, str]:
        ranking = ranking_of(state)
        candidates = () if ranking is None else ranking.candidates
        if self.diseases is None:
            if ranking is None:
                raise UsageError("there is nothing to explain", hint="rank first, or name diseases")
            chosen = {candidate.id: tuple(candidate.members) for candidate in candidates[: self.top]}
        else:
            merged = {
                entry: candidate
                for candidate in candidates
                for entry in (candidate.id, *candidate.members, *candidate.nested)
            }
            chosen = {
                merged[id].id if id in merged else id: tuple(merged[id].members) if id in merged else ()
                for id in self.diseases
            }
        return {member: id for id, others in chosen.items() for member in (id, *others)}


def _in_words(graph: Operations, diseases: Sequence[str], findings: Sequence[str]) -> list[Row]:
    """Return what sources say in words that findings meet: symptoms that are phenotypes, and what texts name."""
    if not findings:
        return []
    rows: list[Row] = []
    if graph.graph.in_words:
        rows += graph.query("evidence_symptoms", diseases=diseases, findings=findings)
    if graph.graph.in_texts:  # only texts name phenotypes, and only the store says which
        rows += graph.query("evidence_texts", diseases=diseases, findings=findings)
    return rows


def _phrases(
    graph: Operations, case: Case, candidates: Sequence[Candidate], members: Mapping[str, str]
) -> dict[str, list[EvidencePath]]:
    told = {
        (each.id, part.words): part
        for each in candidates
        for part in each.contributions
        if part.rule == "phrase" and part.words and part.score > 0
    }
    names = {each.id: each.name for each in candidates}
    ids = sorted(member for member, candidate in members.items() if any(candidate == id for id, _ in told))
    if not ids:
        return {}
    found: dict[str, list[EvidencePath]] = defaultdict(list)
    for row in graph.query("symptoms_of_diseases", diseases=ids, limit=None):
        part = told.pop((members[row["disease"]], row["name"]), None)
        if part is not None:
            disease = PathNode(row["disease"], "Disease", names[members[row["disease"]]] or "")
            met = {"text": part.text, "method": "words", "contribution": round(part.score, 4)}
            relations = PathRelation("OBSERVED", met), _annotation(row, "HAS_SYMPTOM")
            nodes = (PathNode(case.id, "PatientCase", "patient"), PathNode(row["id"], "Symptom", row["name"]), disease)
            path = EvidencePath(nodes, relations, "supports", row["id"], references=references(row))
            found[members[row["disease"]]].append(path)
    return found


def _strongest(candidate: Candidate, covered: Set[str]) -> Iterator[Contribution]:
    """Yield the matches at shared ancestors of the :data:`SHARED_FINDINGS` findings that they help most."""
    parts = [part for part in candidate.contributions if part.rule == "shared" and part.finding not in covered]
    helped: dict[str, float] = {}
    for part in parts:
        helped[part.finding] = helped.get(part.finding, 0.0) + part.score
    ordered = sorted((-score, finding) for finding, score in helped.items() if score > 0)
    kept = {finding for _, finding in ordered[:SHARED_FINDINGS]}
    yield from (part for part in parts if part.finding in kept)


def _shared(
    graph: Operations, candidates: Iterable[Candidate], members: Mapping[str, str], direct: Iterable[Row]
) -> list[Row]:
    """Return the annotations that meet a finding only at a shared ancestor, as the ranker named it."""
    covered = {(members[row["disease"]], row["finding"]) for row in direct}
    wanted = {
        (candidate.id, part.finding, part.via, part.matched)
        for candidate in candidates
        if candidate.id in members
        for part in _strongest(candidate, {finding for id, finding in covered if id == candidate.id})
    }
    rows: list[Row] = []
    together = len({part[1] for part in wanted}) <= TOGETHER
    groups = [set(members.values())] if together else [{each} for each in dict.fromkeys(members.values())]
    for group in groups:
        parts = [part for part in wanted if part[0] in group]
        if parts:
            diseases, findings, via, matched = (sorted({str(part[at]) for part in parts}) for at in range(4))
            named = sorted(member for member, candidate in members.items() if candidate in diseases)
            rows += graph.query("evidence_shared", diseases=named, findings=findings, matched=matched, via=via)
    return [row for row in rows if (members[row["disease"]], row["finding"], row["via"], row["phenotype"]) in wanted]


def share(row: Mapping[str, Any]) -> float | None:
    """Return the share of patients that an annotation states; ``None`` when it states none."""
    if row.get("denominator"):
        return float(row.get("numerator") or 0) / float(row["denominator"])
    if row.get("percentage") is not None:
        return float(row["percentage"]) / 100
    stated = FREQUENCIES.get(row.get("frequency_class") or "")
    return None if stated is None else stated.share


def supporting(
    case: Case, rows: Iterable[Row], weights: Mapping[str, float] = MappingProxyType({})
) -> list[EvidencePath]:
    """Return the paths from the case over a finding and the ontology to annotations of one candidate.

    Only the annotations nearest to each finding are kept: what is three steps away says nothing once the finding
    itself is annotated.
    """
    return [_path(case, row, "supports", "OBSERVED", "HAS_PHENOTYPE", weights) for row in _nearest(rows)]


def against_paths(
    case: Case, rows: Iterable[Row], weights: Mapping[str, float] = MappingProxyType({})
) -> list[EvidencePath]:
    """Return the paths from an excluded finding to an annotation, or from an observed one to an annotated absence."""
    return [
        _path(
            case,
            row,
            "against",
            "EXCLUDED" if row["relation"] == "HAS_PHENOTYPE" else "OBSERVED",
            row["relation"],
            weights,
        )
        for row in _nearest(rows)
    ]


def typical_paths(case: Case, rows: Iterable[Row], ancestry: Ancestry, limit: int) -> list[EvidencePath]:
    """Return what most patients with the disease have and the case does not mention, what is surest first.

    Shares are ordered by the lower bound of their interval: 40 of 45 before 1 of 1. A phenotype above an observed
    finding is implied by it; one below any mentioned finding is a detail of it.
    """
    mentioned = {finding.id for finding in case.findings if finding.status in (Status.PRESENT, Status.ABSENT)}
    implied = mentioned.union(*(ancestry.ancestors(id) for id in case.observed))
    kept: dict[str, Row] = {}
    for row in sorted(rows, key=lambda row: (-least_share(row), row["phenotype"])):
        phenotype = row["phenotype"]
        if phenotype not in implied and not mentioned & ancestry.ancestors(phenotype):
            kept.setdefault(phenotype, row)
    return [_unmentioned(row) for row in list(kept.values())[:limit]]


def least_share(row: Row) -> float:
    """Return the lower bound of the 95 % score interval of an annotation's share (Wilson 1927).

    One without a number of patients counts as five, as in ranking.
    """
    rate, n, z = share(row) or 0.0, row.get("denominator") or 5, 1.96
    middle, spread = rate + z * z / (2 * n), sqrt(rate * (1 - rate) / n + (z / (2 * n)) ** 2)
    return max(middle - z * spread, 0.0) / (1 + z * z / n)


def by_candidate(rows: Iterable[Row], members: Mapping[str, str]) -> dict[str, list[Row]]:
    """Sort rows by the candidate that their disease belongs to."""
    sorted_rows: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        sorted_rows[members[row["disease"]]].append(row)
    return dict(sorted_rows)


def _nearest(rows: Iterable[Row]) -> list[Row]:
    """Per finding, the rows with the fewest steps; exact and frequent annotations first."""
    groups: dict[str, list[tuple[int, Row]]] = defaultdict(list)
    for row in rows:
        groups[row["finding"]].append((len(_way(row)[0]), row))
    kept: list[Row] = []
    for finding in sorted(groups):
        fewest = min(size for size, _ in groups[finding])
        near = [row for size, row in groups[finding] if size == fewest]
        kept += sorted(
            near,
            key=lambda row: (-(share(row) or 0.0), row["phenotype"], row["disease"], str(row.get("reference") or "")),
        )
    return kept


def _way(row: Row) -> tuple[list[str], list[str], int]:
    """Ids and names from the finding to what is annotated, and how many of the steps rise."""
    if "via" in row:
        ends = ((row[f"finding_path_{what}"], row[f"phenotype_path_{what}"]) for what in ("ids", "names"))
        ids, names = ([*up, *reversed(down[:-1])] for up, down in ends)
        return ids, names, len(row["finding_path_ids"]) - 1
    rises = 0 if row["direction"] == "descendant" else len(row["path_ids"]) - 1
    return list(row["path_ids"]), list(row["path_names"]), rises


def _path(case: Case, row: Row, kind: Kind, first: str, last: str, weights: Mapping[str, float]) -> EvidencePath:
    ids, names, rises = _way(row)
    chain = [PathNode(id, "Phenotype", name or "") for id, name in zip(ids, names, strict=True)]
    steps = [PathRelation("IS_A", reversed=at >= rises) for at in range(len(chain) - 1)]
    if row.get("symptom"):
        chain.append(PathNode(row["symptom"], "Symptom", row["symptom_name"] or ""))
        steps.append(PathRelation("MAPPED_TO", {"relation": row["relation"]}, reversed=True))
    if "symptom" in row or "span" in row:
        last = "HAS_SYMPTOM"
    observed = _observation(case, row["finding"], first, weights.get(row["finding"]))
    return EvidencePath(
        nodes=(PathNode(case.id, "PatientCase", "patient"), *chain, _disease(row)),
        relations=(observed, *steps, _annotation(row, last)),
        kind=kind,
        finding=row["finding"],
        frequency=frequency_text(row),
        references=references(row),
    )


def _unmentioned(row: Row) -> EvidencePath:
    return EvidencePath(
        nodes=(PathNode(row["phenotype"], "Phenotype", row["phenotype_name"]), _disease(row)),
        relations=(_annotation(row, "HAS_PHENOTYPE"),),
        kind="typical_unmentioned",
        finding=row["phenotype"],
        frequency=frequency_text(row),
        references=references(row),
    )


def _disease(row: Row) -> PathNode:
    return PathNode(row["disease"], "Disease", row["disease_name"])


def _annotation(row: Row, type: str) -> PathRelation:
    kept = {key: row[key] for key in EDGE_PROPERTIES if row.get(key) not in (None, "", [])}
    return PathRelation(type, kept, reversed=True)


def _observation(case: Case, id: str, type: str, contribution: float | None) -> PathRelation:
    adds = {} if contribution is None else {"contribution": round(contribution, 4)}
    status = Status.PRESENT if type == "OBSERVED" else Status.ABSENT
    found = next((finding for finding in case.findings if finding.id == id and finding.status is status), None)
    if found is None:
        return PathRelation(type, adds)
    kept = {"method": found.method, "matched": found.matched, "score": found.score, "onset": found.onset}
    return PathRelation(type, {key: value for key, value in kept.items() if value not in (None, "")} | adds)
