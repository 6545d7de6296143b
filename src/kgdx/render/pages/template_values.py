"""What the templates of pages are given: the rows of a result's view, with plots and drawings."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kgdx.render.pages.drawing import FACTS, NARROW, WIDE, Drawing, Geometry, draw, sheets
from kgdx.results.cited import AnswerDocument, EvidenceItem
from kgdx.results.document import SourceVersion
from kgdx.results.evidence_paths import EvidencePath
from kgdx.results.ranked import Candidate, DiagnosisDocument
from kgdx.results.transcript import log_rows
from kgdx.results.view import (
    RULES,
    ListedCandidate,
    PathRow,
    StatedFact,
    drawn,
    listed,
    names,
    path_row,
    pieces,
    split,
    weights,
)
from kgdx.results.words import clean, each_reference
from kgdx.schema import relation_words

AT_ONCE = 20
"""So many candidates are listed before the reader asks for the rest."""

MOST_PATHS = 250
"""So many paths are drawn on one page; candidates beyond are in the ranked list alone, and the page says so."""

MOST_DRAWN = 200
"""So many facts of the cited evidence are drawn; all of it is listed."""

SHEET = 1180.0
"""Height of a printed page in a drawing's units (A4, 12 mm of margin and a heading)."""

LONG = 120
"""A longer question is not fit to be a heading."""

Ranked = DiagnosisDocument | AnswerDocument


@dataclass(frozen=True, slots=True)
class Bar:
    """One scorer's share in a row of the plot: from where, how wide, in percent of the plot."""

    scorer: str
    start: float
    width: float


@dataclass(frozen=True, slots=True)
class ContributionRow:
    """One finding in the plot of contributions; without an id what belongs to the person or the whole disease."""

    id: str
    name: str
    status: str
    score: float
    by_scorer: tuple[float | None, ...]
    bars: tuple[Bar, ...]
    why: str


@dataclass(frozen=True, slots=True)
class Plot:
    """Contributions to one candidate's score, the weightiest first; ``zero`` in percent from the left."""

    rows: tuple[ContributionRow, ...]
    scorers: tuple[str, ...]
    zero: float
    parts: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """Paths as a graph and in words: drawings for wide screens, phones and, where it is too high for one, sheets.

    ``marks`` has the evidence of each path of an answer, ``kinds`` the kinds of paths with their words.
    """

    told: tuple[PathRow, ...]
    wide: Drawing
    narrow: Drawing
    sheets: tuple[Drawing, ...]
    marks: tuple[str, ...] = ()
    kinds: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ExplainedCandidate:
    """A candidate with its reasons; without a figure where the graph holds no path to it."""

    listed: ListedCandidate
    plot: Plot
    figure: Figure | None


def diagnosis(document: DiagnosisDocument) -> dict[str, Any]:
    """Return what the template of a diagnosis shows."""
    found, zh = _ranked(document), document.case.chinese
    called = (
        "" if document.case.id.startswith("case:") else clean(document.case.id)
    )  # nobody gave an id made of content
    return found | {
        "zh": zh,
        "title": (f"{called}的诊断" if called else "诊断结果") if zh else f"Diagnosis of {called}".removesuffix(" of "),
        "sources": _sources(document),
        "cited": _cited((each.listed.anchor, each.figure.told) for each in found["explained"] if each.figure),
    }


def answer(document: AnswerDocument) -> dict[str, Any]:
    """Return what the template of an answer shows."""
    question = clean(document.question).strip()
    ids = frozenset(item.id for item in document.pack.items)
    cited, other = split(document)
    return {
        **_ranked(document),
        "zh": document.answer.language == "zh",
        "question": question,
        "title": question if len(question) <= LONG and "\n" not in question else "Answer",
        "said": [(sentence, tuple(pieces(sentence.text, ids))) for sentence in document.answer.sentences],
        "cited_items": cited,
        "other_items": other,
        "facts": facts(cited),
        "sources": _sources(document, (each for item in document.pack.items for each in item.sources)),
    }


def _ranked(document: Ranked) -> dict[str, Any]:
    shown, ranked = chosen(document), listed(document)
    findings = document.case.findings if document.case else ()
    labels = names(findings)
    return {
        "doc": document,
        "case": document.case,
        "log": tuple(log_rows(document.trace)),
        "ranked": ranked,
        "at_once": AT_ONCE,
        "shown": frozenset(shown),
        "explained": [
            ExplainedCandidate(row, plot(row.candidate, labels), _drawn(document, row))
            for row in ranked
            if row.id in shown
        ],
        "left_out": sum(row.id in document.evidence for row in ranked) - len(shown),
        "labels": labels,
    }


def chosen(document: Ranked, most: int = MOST_PATHS) -> list[str]:
    """Return the ids of the candidates to explain: those with evidence, best first, up to so many paths."""
    ids: list[str] = []
    room = most
    for candidate in document.candidates:
        if candidate.id in document.evidence:
            room -= len(document.evidence[candidate.id])
            if room < 0 and ids:
                break
            ids.append(candidate.id)
    return ids


def _drawn(document: Ranked, row: ListedCandidate) -> Figure | None:
    paths = list(enumerate(document.evidence[row.id]))
    return _figure(paths, weights(row.candidate.contributions), WIDE) if paths else None


def _figure(
    paths: Sequence[tuple[int, EvidencePath | StatedFact]], weight: Mapping[str, float], geometry: Geometry, **more: Any
) -> Figure:
    wide = draw(paths, weight, geometry)
    return Figure(
        told=tuple(path_row(number, path) for number, path in paths),
        wide=wide,
        narrow=draw(paths, weight, NARROW),
        sheets=tuple(sheets(paths, weight, SHEET, geometry)) if wide.height > SHEET else (),
        **more,
    )


def facts(items: Iterable[EvidenceItem]) -> Figure | None:
    """Return the graph of what some items state of diseases; ``None`` where they state nothing of that form."""
    found = list(drawn(items))[:MOST_DRAWN]
    if not found:
        return None
    kinds = dict.fromkeys(fact.kind for _, fact in found)
    return _figure(
        [(number, fact) for number, (_, fact) in enumerate(found)],
        {},
        FACTS,
        marks=tuple(mark for mark, _ in found),
        kinds=tuple((kind, clean(relation_words(kind, against=True))) for kind in kinds),
    )


def _sources(
    document: Ranked, named: Iterable[str] = ()
) -> tuple[tuple[SourceVersion, ...], tuple[SourceVersion, ...]]:
    paths = (path for id in chosen(document) for path in document.evidence[id])
    ids = {str(relation.properties.get("source")) for path in paths for relation in path.relations} | {*named}
    return (
        tuple(each for each in document.sources if each.id in ids),
        tuple(each for each in document.sources if each.id not in ids),
    )


def _cited(groups: Iterable[tuple[str, Sequence[PathRow]]]) -> list[tuple[str, Mapping[str, int]]]:
    used: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for anchor, rows in groups:
        for row in rows:
            for reference in row.references:
                used[reference][anchor] += 1
    ordered = sorted(used, key=lambda reference: (-used[reference].total(), reference))
    return [(reference, used[reference]) for reference in each_reference(ordered)]


def plot(candidate: Candidate, labels: Mapping[str, str]) -> Plot:
    """Return the plot of a candidate's contributions: they sum to its score.

    Example:
        >>> from kgdx.case import Status
        >>> from kgdx.results.ranked import Contribution
        >>> fit = Contribution("exact", 3.0, "HP:1", Status.PRESENT, {"a": 3.0})
        >>> parts = (fit, Contribution("baseline", -1.0, parts={"a": -1.0}))
        >>> drawn = plot(Candidate(1, "OMIM:1", "X", (), 2.0, contributions=parts), {"HP:1": "Fit"})
        >>> [(row.name, row.score, row.bars[0].width) for row in drawn.rows], drawn.zero
        ([('Fit', 3.0, 75.0), ('the disease as a whole', -1.0, 25.0)], 25.0)
    """
    groups: dict[tuple[str, str, str], list[tuple[str, float, str]]] = defaultdict(list)
    for row in candidate.contributions:
        told = groups[row.finding, str(row.status) if row.finding else "", row.text]
        told += [(scorer, score, row.rule) for scorer, score in (row.parts or {"": row.score}).items()]
    told_by = (scorer for group in groups.values() for scorer, _, _ in group)
    scorers = tuple(dict.fromkeys([*candidate.parts, *told_by]))
    sides = [(sum(s for _, s, _ in group if s > 0), -sum(s for _, s, _ in group if s < 0)) for group in groups.values()]
    right, left = (max((side[at] for side in sides), default=0.0) for at in (0, 1))
    span = right + left if right + left > 1e-9 else 1.0
    zero = 100 * left / span
    rows = [
        _row(finding, status, group, {**labels, "": clean(text)} if text else labels, scorers, zero, 100 / span)
        for (finding, status, text), group in sorted(groups.items(), key=lambda item: -sum(part[1] for part in item[1]))
    ]
    rows.sort(key=lambda row: not row.id)  # what is no finding comes last
    return Plot(tuple(rows), scorers, round(zero, 2), tuple(candidate.parts.get(scorer, 0.0) for scorer in scorers))


def _row(
    finding: str,
    status: str,
    group: Sequence[tuple[str, float, str]],
    labels: Mapping[str, str],
    scorers: Sequence[str],
    zero: float,
    scale: float,
) -> ContributionRow:
    sums: dict[str, float] = defaultdict(float)
    for scorer, score, _ in group:
        sums[scorer] += score
    bars: list[Bar] = []
    right = left = zero
    for scorer in scorers:
        width = abs(sums.get(scorer, 0.0)) * scale
        if width < 0.05:
            continue
        if sums[scorer] > 0:
            bars.append(Bar(scorer, round(right, 2), round(width, 2)))
            right += width
        else:
            left -= width
            bars.append(Bar(scorer, round(left, 2), round(width, 2)))
    rules = dict.fromkeys(RULES.get(rule, clean(rule)) for _, _, rule in group if rule)
    return ContributionRow(
        id=finding,
        name=labels.get(finding) or clean(finding) or "the disease as a whole",
        status=status,
        score=sum(score for _, score, _ in group),
        by_scorer=tuple(sums.get(scorer) for scorer in scorers),
        bars=tuple(bars),
        why="; ".join(list(rules)[:3]),
    )
