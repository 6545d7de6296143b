"""What a reader sees of a result, as rows and words: the terminal and the page lay out the same.

Everything here is a pure function of a document. Text that comes from sources is cleaned of what steers a terminal.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kgdx.case.patient import Finding, Status
from kgdx.lazy import lazy_pattern
from kgdx.results.evidence_paths import EvidencePath, PathNode, PathRelation
from kgdx.results.ranked import Candidate, CaseSummary, Contribution, DiagnosisDocument
from kgdx.results.words import clean, each_reference, frequency
from kgdx.schema import relation_words, wording
from kgdx.terms.normalise import read_table

if TYPE_CHECKING:
    from kgdx.results.cited import AnswerDocument, EvidenceItem

GENES = 3
"""Genes of a disease that a row names."""
WEAK = 0.5
"""Below this, a finding is not among those that support a candidate best, and one that is merely related to what the
disease shows counts as not explained."""

LEAST = 0.05
"""Below this, what the person adds is not worth a line."""

SIDES = {
    "supports": "speaks for it",
    "against": "speaks against it",
    "typical_unmentioned": "typical of it, not mentioned",
}
"""Kinds of evidence paths, in the order in which they are shown, and what they say of a disease."""

PATHS = {
    "supports": "Paths from the findings to it",
    "against": "What speaks against it",
    "typical_unmentioned": "Typical of it, not mentioned",
}
"""Kinds of evidence paths as headings of lists."""

RULES = {rule: words for rule, words in read_table(Path(__file__).with_name("rules.tsv"))}
"""What the rule of a contribution says."""

FROM_OBJECT = frozenset({"INDICATION", "CONTRAINDICATION", "OFF_LABEL_USE"})
"""Relations that lead from a drug to the disease; those of other evidence lead from the disease."""

_WIDEST = 200
"""Most marks that a range such as ``[E1-E9]`` stands for."""
_MARK = lazy_pattern(r"[\[［【]\s*(E\d{1,9}(?:\s*[,，、;；-]\s*E\d{1,9})*)\s*[\]］】]")


@dataclass(frozen=True, slots=True)
class ListedCandidate:
    """A candidate in the ranked list, in a reader's words.

    ``support`` is what raises it, the weightiest first: findings, the patient's words, what is known of the person;
    ``best`` the score of the best of the list. A patient described in Chinese is shown Chinese names.
    """

    candidate: Candidate
    support: tuple[str, ...]
    best: float
    chinese: bool

    @property
    def rank(self) -> int:
        """Its number in the list: by family where that has one row for each, or else by disease."""
        return self.candidate.place

    @property
    def id(self) -> str:
        return self.candidate.id

    @property
    def score(self) -> float:
        return self.candidate.score

    @property
    def _names(self) -> tuple[str, str]:
        name, other = self.candidate.name or self.id, self.candidate.name_zh or ""
        return (other, name) if self.chinese and other else (name, other)

    @property
    def name(self) -> str:
        return clean(self._names[0])

    @property
    def also(self) -> str:
        """The name in the other language, where there is one."""
        name, other = self._names
        return clean(other) if other != name else ""

    @property
    def members(self) -> tuple[str, ...]:
        """Other entries that are the same disease."""
        return tuple(clean(member) for member in self.candidate.members if member != self.id)

    @property
    def share(self) -> float:
        """How much of the bar is filled, in percent: the share of the patient's findings that it explains.

        That compares between patients; where it is not known it is the score, of the best candidate's.
        """
        if self.candidate.explained is not None:
            return round(100 * self.candidate.explained, 1)
        return round(100 * max(0.0, self.score) / self.best, 1) if self.best > 0 else 0.0

    @property
    def anchor(self) -> str:
        return f"c{self.candidate.rank}"

    @property
    def others(self) -> int:
        return self.candidate.family_size - 1 if self.candidate.in_family else 0

    @property
    def was(self) -> int | None:
        return self.candidate.retrieved_rank

    @property
    def moved(self) -> bool:
        return self.was not in (None, self.rank)

    @property
    def why(self) -> str:
        """Why a language model moved or named it, with marks of evidence; nothing where it gives no reason that holds.

        What the marks stand for is in the candidate's reason.
        """
        reason = self.candidate.reason
        return clean(reason.text) if reason is not None else ""

    @property
    def apart(self) -> str:
        """What separates it from the next best of its family: the gene, where each has another one, or a finding."""
        found, own = self.candidate.separated_by, self.candidate.genes
        others = self.candidate.in_family[0].genes if self.candidate.in_family else ()
        if own and others and set(own).isdisjoint(others):
            return clean(f"{', '.join(own)}, not {', '.join(others)}")
        return clean(found.name) if found else ""

    @property
    def hereditary(self) -> tuple[str, ...]:
        """Genes, mode of inheritance, when it begins and how common it is, as far as the graph knows them."""
        told, genes = self.candidate, self.candidate.genes
        named = ", ".join(genes[:GENES]) + (f" and {len(genes) - GENES} more genes" if len(genes) > GENES else "")
        begins = f"begins: {', '.join(told.begins[:3])}" if told.begins else ""
        seen = f"prevalence: {told.prevalence}" if told.prevalence else ""
        return tuple(clean(each) for each in (named, ", ".join(told.inheritance), begins, seen) if each)


@dataclass(frozen=True, slots=True)
class Hop:
    """A node of a path, with the words that lead to it."""

    words: str
    name: str
    id: str


@dataclass(frozen=True, slots=True)
class PathRow:
    """A path in words; ``number`` is its place among the paths."""

    number: int
    kind: str
    hops: tuple[Hop, ...]
    frequency: str
    references: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StatedFact:
    """What an item states of a disease, in the form of a path that can be drawn."""

    kind: str
    finding: str
    nodes: tuple[PathNode, ...]
    relations: tuple[PathRelation, ...]
    frequency: str
    references: tuple[str, ...]
    language: str


@dataclass(frozen=True, slots=True)
class CandidateReason:
    """What one finding, or the person, says about one candidate, with the path that shows it best."""

    name: str
    score: float
    path: EvidencePath | None


@dataclass(frozen=True, slots=True)
class WordedSupport:
    """What the patient's words add to a candidate's score, and the words of the disease that they meet."""

    text: str
    words: str
    score: float


@dataclass(frozen=True, slots=True)
class Argument:
    """The findings of a case by what they say of a candidate, its words, and what is typical and not mentioned."""

    supports: tuple[CandidateReason, ...]
    against: tuple[CandidateReason, ...]
    silent: tuple[str, ...]
    typical: tuple[EvidencePath, ...]
    words: tuple[WordedSupport, ...] = ()


@dataclass(frozen=True, slots=True)
class AnswerPiece:
    """A run of an answer's text: words, or the mark of a piece of evidence; ``shown`` where that is there."""

    text: str
    mark: str = ""
    shown: bool = False


def names(findings: Iterable[Finding]) -> dict[str, str]:
    return {finding.id: clean(finding.label or finding.id) for finding in findings}


def weights(parts: Sequence[Contribution]) -> dict[str, float]:
    """Return what each finding adds to a candidate's score, over all scorers."""
    total: dict[str, float] = defaultdict(float)
    for part in parts:
        if part.finding:
            total[part.finding] += part.score
    return dict(total)


def of_the_person(parts: Iterable[Contribution]) -> tuple[CandidateReason, ...]:
    """Return what is known of the person adds to a candidate's score, in words: genes, onset, sex, family."""
    told = (part for part in parts if part.text and part.rule != "phrase")
    return tuple(CandidateReason(clean(part.text), part.score, None) for part in told if abs(part.score) >= LEAST)


def worded(parts: Sequence[Contribution]) -> tuple[WordedSupport, ...]:
    """Return what each phrase of the patient adds to a candidate's score over all scorers, the weightiest first."""
    scores: dict[str, float] = defaultdict(float)
    met: dict[str, str] = {}
    for part in parts:
        if part.rule == "phrase":
            scores[part.text] += part.score
            met[part.text] = met.get(part.text) or part.words
    ordered = sorted(scores.items(), key=lambda item: -item[1])
    return tuple(WordedSupport(clean(text), clean(met[text]), score) for text, score in ordered)


def listed(document: DiagnosisDocument | AnswerDocument) -> list[ListedCandidate]:
    """Return the ranked list."""
    case = document.case or CaseSummary("")
    support = supporting(case.findings)
    best = max((candidate.score for candidate in document.candidates), default=0.0)
    return [
        ListedCandidate(each, support(each.contributions) or tuple(map(clean, each.support)), best, case.chinese)
        for each in document.candidates
    ]


def supporting(findings: Iterable[Finding]) -> Callable[[Sequence[Contribution]], tuple[str, ...]]:
    """Return what names what raises a candidate, weightiest first: findings, phrases, what is known of the person."""
    given = tuple(findings)
    labels, observed = names(given), {each.id for each in given if each.status is Status.PRESENT}

    def named_support(parts: Sequence[Contribution]) -> tuple[str, ...]:
        found = [(score, labels.get(id) or clean(id)) for id, score in weights(parts).items() if id in observed]
        known = {name.lower() for score, name in found if score >= WEAK}
        said = [(each.score, each.text) for each in worded(parts) if each.words and each.text.lower() not in known]
        told = [(each.score, each.name) for each in of_the_person(part for part in parts if part.rule != "prior")]
        support = sorted((each for each in (*found, *said, *told) if each[0] >= WEAK), key=lambda each: -each[0])
        return tuple(name for _, name in support)

    return named_support


def argument(document: DiagnosisDocument | AnswerDocument, candidate: Candidate) -> Argument:
    """Return what the findings of the case say of a candidate that was explained."""
    scores, paths = weights(candidate.contributions), document.evidence.get(candidate.id, ())
    words = worded(candidate.contributions)
    met = " ".join(each.text for each in words if each.score >= WEAK and each.words).lower()
    by: dict[tuple[str, str], list[EvidencePath]] = defaultdict(list)
    for path in paths:
        by[path.kind, path.finding].append(path)
    supports: list[CandidateReason] = []
    opposed: list[CandidateReason] = []
    silent: list[str] = []
    for finding in document.case.findings if document.case else ():
        if finding.status not in (Status.PRESENT, Status.ABSENT):
            continue
        against = by["against", finding.id]
        nearest = min(against or by["supports", finding.id], key=_distance, default=None)
        name = clean(finding.label or finding.id)
        said = f"absent: {name}" if finding.status is Status.ABSENT else name
        reason = CandidateReason(said, scores.get(finding.id, 0.0), nearest)
        if against:
            opposed.append(reason)
        elif reason.score >= WEAK or (nearest is not None and not _merely_related(nearest)):
            supports.append(reason)
        elif finding.status is Status.PRESENT and not (finding.text and clean(finding.text).lower() in met):
            silent.append(name)
    for told in of_the_person(candidate.contributions):
        (supports if told.score > 0 else opposed).append(told)
    return Argument(
        tuple(sorted(supports, key=lambda reason: -reason.score)),
        tuple(sorted(opposed, key=lambda reason: reason.score)),
        tuple(silent),
        tuple(path for path in paths if path.kind == "typical_unmentioned"),
        words,
    )


def _distance(path: EvidencePath) -> tuple[int, bool, bool]:
    published = any(reference.startswith("PMID:") for reference in path.references)
    return len(path.nodes), not path.frequency, not published


def _merely_related(path: EvidencePath) -> bool:
    return len({relation.reversed for relation in path.relations if relation.type == "IS_A"}) == 2


def between(path: EvidencePath) -> str:
    """Return how the finding and the disease's annotated term are related; nothing where they are the same term."""
    steps = [
        (relation.reversed, clean(node.name or node.id))
        for relation, node in zip(path.relations, path.nodes[1:], strict=True)
        if relation.type == "IS_A"
    ]
    if not steps:
        return ""
    up = [name for reverse, name in steps if not reverse]
    annotated = steps[-1][1]
    if len(up) == len(steps):
        return f"annotated as {annotated}, which includes it"
    return f"annotated as {annotated}; both are kinds of {up[-1]}" if up else f"annotated as {annotated}, a kind of it"


def path_row(number: int, path: EvidencePath | StatedFact) -> PathRow:
    """Return a path in words."""
    first, patient = path.nodes[0], path.nodes[0].label == "PatientCase"
    hops = [Hop("", "patient" if patient else clean(first.name or first.id), "" if patient else first.id)]
    for edge, node in zip(path.relations, path.nodes[1:], strict=True):
        hops.append(Hop(edge_words(edge, path), clean(node.name or node.id), node.id))
    references = tuple(map(clean, each_reference(path.references)))
    return PathRow(number, path.kind, tuple(hops), frequency(path.frequency), references)


def edge_words(edge: PathRelation, path: EvidencePath | StatedFact) -> str:
    """Return how a relation reads where its path goes."""
    if edge.properties.get("method") == "words" and edge.type == "OBSERVED":
        return clean(f"said “{edge.properties.get('text', '')}”, compared with")
    language = path.language if isinstance(path, StatedFact) else "en"
    return clean(relation_words(edge.type, against=edge.reversed, language=language))


def pieces(text: str, ids: frozenset[str]) -> Iterator[AnswerPiece]:
    """Split a sentence at its marks; only marks of evidence that is there are shown as such.

    Example:
        >>> [(piece.text, piece.shown) for piece in pieces("So it is [E1, E7].", frozenset({"E1"}))]
        [('So it is ', False), ('E1', True), ('E7', False), ('.', False)]
        >>> [piece.text for piece in pieces("So it is [E1-E3].", frozenset({"E1"}))]
        ['So it is ', 'E1', 'E2', 'E3', '.']
    """
    last, text = 0, clean(text)
    for match in _MARK.finditer(text):
        if match.start() > last:
            yield AnswerPiece(text[last : match.start()])
        for first, last_of in re.findall(r"E(\d+)(?:\s*-\s*E(\d+))?", match[1]):
            for number in range(int(first), min(int(last_of or first), int(first) + _WIDEST) + 1):
                yield AnswerPiece(f"E{number}", f"E{number}", f"E{number}" in ids)
        last = match.end()
    if last < len(text):
        yield AnswerPiece(text[last:])


def named(node: PathNode | None) -> str:
    return "" if node is None else clean(node.name or node.id)


def stated(item: EvidenceItem) -> tuple[str, str, str]:
    """Return what an item states as subject, words and object; all of it as one text where it has no such form."""
    if item.kind != "relation" or item.subject is None or not item.objects:
        return clean(item.text), "", ""
    subject, objects = named(item.subject), ", ".join(map(named, item.objects))
    words = clean(relation_words(item.relation, against=False, language=item.language))
    return (objects, words, subject) if item.relation in FROM_OBJECT else (subject, words, objects)


def topic(item: EvidenceItem) -> str:
    """Return what an item is about; items of one topic stand together."""
    if item.kind == "relation" and item.subject is not None:
        name = named(item.subject)
        if item.action == "explain":
            side = SIDES.get(str(item.details.get("evidence")), "evidence")
            return f"{name}: {'what ' if side.startswith('speaks') else ''}{side}"
        words = wording(item.relation)
        if item.relation in FROM_OBJECT:
            return f"{words.inverse[:1].upper()}{words.inverse[1:]} {name}"
        shown = words.label if words.label != item.relation else item.relation.lower().replace("_", " ")
        return f"{name} {clean(shown)}"
    if item.kind == "inference":
        return f"Diseases by the {wording(item.relation).noun[1] or 'entities'} that they match"
    return {"description": "Descriptions", "passage": "Documents"}.get(item.kind, item.kind.capitalize())


def drawn(items: Iterable[EvidenceItem]) -> Iterator[tuple[str, StatedFact]]:
    """Yield the mark of each item that states something of a disease, with what can be drawn of it."""
    for item in items:
        if item.kind not in ("relation", "inference") or item.subject is None:
            continue
        edge = PathRelation(item.relation, reversed=item.relation not in FROM_OBJECT)
        for each in item.objects:
            nodes = (each, item.subject)
            yield (
                item.id,
                StatedFact(item.relation, each.id, nodes, (edge,), item.frequency, item.references, item.language),
            )


def split(document: AnswerDocument) -> tuple[Sequence[EvidenceItem], Sequence[EvidenceItem]]:
    """Return the evidence that an answer cites, and the other evidence."""
    cited = frozenset(document.answer.cited)
    items = document.pack.items
    return [item for item in items if item.id in cited], [item for item in items if item.id not in cited]
