"""What a model is shown of a ranking to put it in order: each candidate with what speaks for and against it, marked.

The evidence is what the ranker says that each finding adds, so that no query is run for it. What a model writes of a
candidate is held against the same evidence.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from itertools import count
from typing import Annotated, Any, ClassVar

from pydantic import Field

from kgdx.answer.artifacts import Ranked, ranking_of
from kgdx.answer.evidence_pack import EvidencePack, clean, language_of
from kgdx.answer.sentences import check, marks
from kgdx.case import Case, Status
from kgdx.episode.operations import Operations
from kgdx.episode.state import Artifact, Reads, State, digest_of
from kgdx.episode.wish import Action
from kgdx.results.cited import EvidenceItem
from kgdx.results.evidence_paths import PathNode
from kgdx.results.ranked import Candidate, Contribution, Ground, MoveReason
from kgdx.results.view import stated

LEAST = 0.05
"""What adds less to a score is no evidence."""

RULES = {
    "exact": "",
    "descendant": "a kind of the patient's finding {finding}",
    "ancestor": "the patient's finding {finding} is a kind of it",
    "shared": "related to the patient's finding {finding}",
    "annotated_absent": "the patient has it, and the disease does not",
    "opposite": "the opposite of the patient's finding {finding}",
    "excluded_annotated": "the patient does not have it",
}
"""Rules of contributions that say how a finding meets an annotation of a disease, in words."""

_AGAINST = frozenset({"annotated_absent", "opposite", "excluded_annotated"})
_NAMED = 100
_WORDS = 300
_SAID = 4_000


@dataclass(frozen=True, slots=True)
class Briefed(Artifact):
    """The evidence of a ranking's candidates, each piece with its mark."""

    depends: ClassVar[tuple[Reads, ...]] = (Ranked, "evidence")

    items: tuple[EvidenceItem, ...] = ()
    lines: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Id of a candidate → its line of a prompt, but for the mark."""

    def digest(self) -> str:
        return digest_of([*self.lines.values()])


class Brief(Action):
    """Gather what speaks for and against the candidates of the ranking, for a model that is to order them."""

    name: ClassVar[str] = "brief"
    planned: ClassVar[bool] = False
    makes: ClassVar[type[Artifact]] = Briefed

    top: Annotated[int, Field(ge=1, le=1000)] = 50
    """Of how many candidates."""
    each: Annotated[int, Field(ge=1, le=40)] = 6
    """How much of each at most: what adds or takes most first."""

    def run(self, graph: Operations, view: State) -> Briefed:
        ranking = ranking_of(view)
        chosen = () if ranking is None else ranking.candidates[: self.top]
        ranker, case = graph.graph.ranker, view.case
        if not all(each.contributions for each in chosen):
            chosen = ranker.explain(case, chosen)
        labels = {each.id: each.label for each in case.findings if each.label}

        def label(id: str) -> str:
            return str(labels.get(id) or (ranker.names.label(id) if id in ranker.names.terms else id))

        number = count(1)
        groups = [tuple(_items(each, label, self.each, number)) for each in chosen]
        lines = {each.id: line(each, items) for each, items in zip(chosen, groups, strict=True)}
        return Briefed(tuple(item for items in groups for item in items), lines)


def _items(
    candidate: Candidate, label: Callable[[str], str], most: int, number: Iterator[int]
) -> Iterator[EvidenceItem]:
    weights: dict[tuple[str, str], float] = {}
    best: dict[tuple[str, str], Contribution] = {}
    for part in candidate.contributions:
        score = part.score
        if not score or (key := _topic(part)) is None:  # most scorers have nothing to say of a finding
            continue
        weights[key] = weights.get(key, 0.0) + score
        if key not in best or abs(score) > abs(best[key].score):
            best[key] = part
    telling = [
        key for key, part in best.items() if abs(weights[key]) >= LEAST and (part.rule != "phrase" or weights[key] > 0)
    ]
    subject = PathNode(candidate.id, "Disease", candidate.name)
    for key in nsmallest(most, telling, key=lambda key: -abs(weights[key])):
        yield _item(f"E{next(number)}", subject, best[key], label)


def _topic(part: Contribution) -> tuple[str, str] | None:
    if part.finding and part.rule in RULES:
        return "finding", part.finding
    if part.rule == "phrase":
        return ("words", part.text) if part.words else None
    return ("person", part.text) if part.text else None


def _item(mark: str, subject: PathNode, part: Contribution, label: Callable[[str], str]) -> EvidenceItem:
    if part.rule not in RULES:
        said = f"“{part.text}”; its description: “{part.words}”" if part.rule == "phrase" else part.text
        text = f"{subject.name}: {clean(said, _WORDS)}"
        details = {"evidence": "supports" if part.score > 0 else "against", "said": clean(said, _WORDS)}
        return EvidenceItem(mark, "row", text, language_of(text), subject, details=details, action="rank")
    annotated, finding = part.matched or part.finding, label(part.finding)
    how = RULES[part.rule].format(finding=finding)
    against = part.rule in _AGAINST
    notes = "; ".join(filter(None, (part.frequency, how)))
    text = clean(label(annotated) + (f" ({notes})" if notes else ""), _WORDS)
    nodes = [PathNode(annotated, "Phenotype", label(annotated))]
    if part.finding != annotated:
        nodes.append(PathNode(part.finding, "Phenotype", finding))
    return EvidenceItem(
        mark,
        "relation",
        text,
        language_of(text),
        subject,
        "LACKS_PHENOTYPE" if part.rule == "annotated_absent" else "HAS_PHENOTYPE",
        tuple(nodes),
        references=part.references,
        details={"evidence": "against" if against else "supports"},
        action="rank",
    )


def by_disease(items: Iterable[EvidenceItem]) -> dict[str, tuple[EvidenceItem, ...]]:
    """Return the evidence by the disease that it is about."""
    found: dict[str, list[EvidenceItem]] = {}
    for each in items:
        if each.subject is not None:
            found.setdefault(each.subject.id, []).append(each)
    return {id: tuple(items) for id, items in found.items()}


def line(candidate: Candidate, items: Iterable[EvidenceItem]) -> str:
    """Return a candidate as a line of JSON but for its mark; nothing in its names can end it or pass for a mark."""
    told: dict[str, Any] = {"disease": clean(candidate.name)}
    if candidate.name_zh and candidate.name_zh != candidate.name:
        told["also"] = clean(candidate.name_zh)
    for each in items:
        side = "for" if each.details["evidence"] == "supports" else "against"
        told.setdefault(side, {})[each.id] = each.details.get("said", each.text)
    return json.dumps(told, ensure_ascii=False)


def marked(line: str, mark: str) -> str:
    return f'{{"id": "{mark}", {line[1:]}'


def patient(case: Case, words: bool) -> str:
    """Return what a model is told of the patient, as quoted data."""
    told: dict[str, Any] = {}
    if case.sex in ("FEMALE", "MALE"):
        told["sex"] = case.sex.lower()
    for name, value in (("age", case.age), ("onset", case.onset)):
        if value:
            told[name] = clean(str(value))
    for name, status in (("present", Status.PRESENT), ("absent", Status.ABSENT)):
        findings = [clean(each.label or each.text or each.id) for each in case.findings if each.status is status]
        if findings:
            told[name] = list(dict.fromkeys(findings))[:_NAMED]
    if words and case.text.strip():
        told["words"] = clean(case.text, _SAID)
    return json.dumps(told, ensure_ascii=False)


def reason(text: str, own: Sequence[EvidenceItem], known: Mapping[str, EvidenceItem]) -> MoveReason:
    """Return what of a model's reason the evidence carries."""
    cited = [known[id] for mark in marks(text) for id in mark.ids if id in known]
    given = {each.id: each for each in (*own, *cited)}
    checked = check(" ".join(text.replace("<", "‹").split()), EvidencePack(items=tuple(given.values())), strict=True)
    mine = {each.id for each in own}
    said = [each for each in checked.sentences if any(letter.isalnum() for letter in each.text)]
    kept = [each for each in said if each.cites and each.agrees and mine & {*each.cites}]
    told = dict.fromkeys(id for each in kept for id in each.cites)
    grounds = tuple(_ground(given[id]) for id in told)
    # where nothing is cited, the check puts a sentence of its own first
    left = len(said) - len(kept) - int(checked.insufficient and not any(each.cites for each in said))
    return MoveReason(" ".join(each.text for each in kept), grounds, max(0, left))


def _ground(item: EvidenceItem) -> Ground:
    finding = item.objects[0].id if item.objects else ""
    disease = item.subject.id if item.subject is not None else ""
    passage = item.details.get("passage")
    references = item.references or ((str(passage),) if passage else item.sources)
    said = item.details.get("said") or " ".join(filter(None, stated(item)))
    return Ground(item.id, disease, finding, str(said), references)
