"""What a page says of the candidates of a diagnosis: the ranked list, and why each explained one stands there."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kgdx.report.document import Candidate, Finding, Ranked, Way
from kgdx.report.drawing import NARROW, Drawing
from kgdx.report.layout import draw, sheets
from kgdx.report.words import clean, each_reference, frequency, relation

WEAK = 0.5
"""Below this, a finding is not named among those that support a candidate best."""

MOST_PATHS = 250
"""So many paths are drawn on one page; candidates beyond are in the ranked list alone, and the page says so."""

SHEET = 1180.0
"""Height of a printed page in a drawing's units (A4, 12 mm of margin and a heading)."""

RULES = {
    "exact": "annotated",
    "descendant": "a more specific term is annotated",
    "ancestor": "a more general term is annotated",
    "shared": "a related term is annotated",
    "neighbour": "similar diseases have it",
    "annotated_absent": "annotated as absent",
    "excluded_annotated": "excluded, though annotated",
    "excluded": "excluded",
    "background": "not annotated",
    "breadth": "how many annotations the disease has",
    "baseline": "compared with the other diseases",
    "patient": "another patient of the graph",
}
"""What :attr:`kgdx.rank.Contribution.rule` says, in words."""

_HAN = re.compile("[\u4e00-\u9fff]")


@dataclass(frozen=True, slots=True)
class Bar:
    """One scorer's share in a row of the plot: from where, how wide, in percent of the plot."""

    scorer: str
    start: float
    width: float


@dataclass(frozen=True, slots=True)
class Row:
    """One finding in the plot of contributions; without an id what belongs to the disease as a whole."""

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

    rows: tuple[Row, ...]
    scorers: tuple[str, ...]
    zero: float
    parts: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """A node of a path, with the words that lead to it."""

    words: str
    name: str
    id: str


@dataclass(frozen=True, slots=True)
class Told:
    """A path in words."""

    number: int
    kind: str
    steps: tuple[Step, ...]
    frequency: str
    references: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Listed:
    """A candidate in the ranked list."""

    rank: int
    id: str
    name: str
    also: str
    members: tuple[str, ...]
    score: float
    share: float
    support: tuple[str, ...]
    explained: bool
    anchor: str


@dataclass(frozen=True, slots=True)
class Explained:
    """A candidate with its reasons."""

    listed: Listed
    plot: Plot
    told: tuple[Told, ...]
    wide: Drawing | None
    narrow: Drawing | None
    sheets: tuple[Drawing, ...]
    counts: Mapping[str, int]
    candidate: Candidate


def listed(document: Ranked, findings: Sequence[Finding], shown: Iterable[str]) -> list[Listed]:
    """Return the ranked list.

    Args:
        document: The result.
        findings: Of the patient.
        shown: Ids of the candidates that the page explains.
    """
    explained = set(shown)
    chinese = any(_HAN.search(finding.text) for finding in findings)
    labels = names(findings)
    observed = {finding.id for finding in findings if finding.status == "present"}
    best = max((candidate.score for candidate in document.candidates), default=0.0)
    return [
        _listed(candidate, labels, observed, best, chinese, candidate.id in explained)
        for candidate in document.candidates
    ]


def _listed(
    candidate: Candidate, labels: Mapping[str, str], observed: set[str], best: float, chinese: bool, explained: bool
) -> Listed:
    name, also = candidate.name or candidate.id, candidate.name_zh
    if chinese and also:
        name, also = also, name
    ordered = sorted(weights(candidate).items(), key=lambda item: -item[1])
    support = [clean(labels.get(id) or id) for id, score in ordered if score >= WEAK and id in observed]
    return Listed(
        rank=candidate.rank,
        id=candidate.id,
        name=clean(name),
        also=clean(also) if also != name else "",
        members=tuple(clean(member) for member in candidate.members if member != candidate.id),
        score=candidate.score,
        share=round(100 * max(0.0, candidate.score) / best, 1) if best > 0 else 0.0,
        support=tuple(support),
        explained=explained,
        anchor=f"c{candidate.rank}",
    )


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


def explained(document: Ranked, findings: Sequence[Finding], entry: Listed, candidate: Candidate) -> Explained:
    """Return the reasons of one candidate."""
    paths = list(enumerate(document.evidence[candidate.id]))
    weight = weights(candidate)
    wide = draw(paths, weight) if paths else None
    tall = wide is not None and wide.height > SHEET
    return Explained(
        listed=entry,
        plot=plot(candidate, names(findings)),
        told=tuple(told(number, path) for number, path in paths),
        wide=wide,
        narrow=draw(paths, weight, NARROW) if paths else None,
        sheets=tuple(sheets(paths, weight, SHEET)) if tall else (),
        counts={kind: sum(path.kind == kind for _, path in paths) for kind in dict.fromkeys(p.kind for _, p in paths)},
        candidate=candidate,
    )


def names(findings: Iterable[Finding]) -> dict[str, str]:
    """Return finding → what it is called."""
    return {finding.id: finding.label or finding.id for finding in findings}


def weights(candidate: Candidate) -> dict[str, float]:
    """Return what each finding adds to the candidate's score, over all scorers."""
    total: dict[str, float] = defaultdict(float)
    for part in candidate.contributions:
        if part.finding:
            total[part.finding] += part.score
    return dict(total)


def plot(candidate: Candidate, labels: Mapping[str, str]) -> Plot:
    """Return the plot of a candidate's contributions: they sum to its score.

    Example:
        >>> from kgdx.report.document import Contribution
        >>> parts = (Contribution(finding="HP:1", score=3.0, scorer="a"), Contribution(finding="", score=-1.0))
        >>> drawn = plot(Candidate(rank=1, id="OMIM:1", score=2.0, contributions=parts), {"HP:1": "Fit"})
        >>> [(row.name, row.score, row.bars[0].width) for row in drawn.rows], drawn.zero
        ([('Fit', 3.0, 75.0), ('the disease as a whole', -1.0, 25.0)], 25.0)
    """
    groups: dict[tuple[str, str], list[tuple[str, float, str]]] = defaultdict(list)
    for part in candidate.contributions:
        status = part.status if part.finding else ""
        groups[part.finding, status].append((part.scorer, part.score, part.rule))
    scorers = tuple(dict.fromkeys([*candidate.parts, *(part.scorer for part in candidate.contributions)]))
    sides = [(sum(s for _, s, _ in group if s > 0), -sum(s for _, s, _ in group if s < 0)) for group in groups.values()]
    right, left = (max((side[at] for side in sides), default=0.0) for at in (0, 1))
    span = right + left if right + left > 1e-9 else 1.0
    zero = 100 * left / span
    rows = [
        _row(finding, status, group, labels, scorers, zero, 100 / span)
        for (finding, status), group in sorted(groups.items(), key=lambda item: -sum(part[1] for part in item[1]))
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
) -> Row:
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
    return Row(
        id=finding,
        name=clean(labels.get(finding) or finding) if finding else "the disease as a whole",
        status=status,
        score=sum(score for _, score, _ in group),
        by_scorer=tuple(sums.get(scorer) for scorer in scorers),
        bars=tuple(bars),
        why="; ".join(list(rules)[:3]),
    )


def told(number: int, path: Way) -> Told:
    """Return a path in words."""
    first = path.nodes[0]
    start = "patient" if first.label == "PatientCase" else clean(first.name or first.id)
    steps = [Step("", start, "" if first.label == "PatientCase" else first.id)]
    for edge, node in zip(path.relations, path.nodes[1:], strict=True):
        steps.append(
            Step(
                relation(edge.type, against=edge.reversed, language=path.language), clean(node.name or node.id), node.id
            )
        )
    return Told(
        number, path.kind, tuple(steps), frequency(path.frequency), tuple(map(clean, each_reference(path.references)))
    )
