"""A diagnosis for a reader: what was understood, the ranked diseases, and why each of the first stands there."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from kgdx.case import Case, Status
from kgdx.report.words import clean, count, frequency, references, signed
from kgdx.show.case import findings, issues, patient
from kgdx.show.paths import between, evidence, meets_only_above

if TYPE_CHECKING:
    from kgdx.actions import Diagnosis, EvidencePath
    from kgdx.rank import Candidate

BAR = 8
"""Characters of the bar of the best candidate."""

CITED = 35
"""Width of the column of frequencies and references in an 80-column terminal."""

WEAK = 0.5
"""Below this contribution, a finding that is only related to what the disease shows counts as not explained."""

_HAN = re.compile("[\u4e00-\u9fff]")

NOTE = "Decision support for research, to be judged by a clinician. Fit is a ranking score, not a probability."


@dataclass(frozen=True, slots=True)
class Line:
    """What one finding says about one candidate."""

    name: str
    score: float
    path: EvidencePath | None


def diagnosis(result: Diagnosis, *, explain: int = 3) -> RenderableType:
    """The whole answer: patient, findings, notes, ranking, and the reasons of the first ``explain`` candidates."""
    parts = _understood(result)
    ranked = count(result.n_candidates, "disease")
    parts += [_heading(f"Most likely of {ranked}"), ranking(result), Text()]
    explained = [candidate for candidate in result.candidates[:explain] if candidate.id in result.evidence]
    for candidate in explained:
        parts += [candidate_block(result, candidate), Text()]
    rest = len(result.candidates) - explain
    if rest > 0 and explain:
        parts.append(Text("Any other of them: kgdx explain CASE DISEASE", style="dim"))
    parts += _planned(result)
    parts.append(Text(NOTE, style="dim"))
    return Group(*parts)


def _planned(result: Diagnosis) -> list[RenderableType]:
    """What a model's plans looked up, round by round, and what it took; nothing where no model was asked."""
    model = next((segment.name for segment in result.trace if segment.kind == "prompt"), "")
    if not model:
        return []
    from kgdx.actions.rounds import rounds_of
    from kgdx.actions.state import spent
    from kgdx.show.answer import lookups, taken

    who = Text(f"{result.policy} with {clean(model)}{taken(spent(result.trace))}", style="dim")
    return [_heading("Looked up"), *lookups(rounds_of(result.trace)), Text(), who]


def ranking(result: Diagnosis) -> RenderableType:
    """The candidates: rank, disease, how well it fits, and the findings that support it best."""
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim", expand=True)
    table.add_column("#", justify="right", no_wrap=True, min_width=3)
    table.add_column("Disease", ratio=6, overflow="fold")
    table.add_column("Fit", no_wrap=True, width=BAR + 6)
    table.add_column("Best supported by", ratio=5, overflow="fold")
    best = max((candidate.score for candidate in result.candidates), default=0.0)
    for candidate in result.candidates:
        name = Text(called(result.case, candidate), style="bold")
        name.append(f"\n{identifiers(candidate)}", style="not bold dim")
        support = _support(result, candidate)
        table.add_row(str(candidate.rank), name, fit(candidate.score, best), support)
    return table


def fit(score: float, best: float) -> Text:
    """A score as a bar, relative to the best candidate's, with its number.

    Example:
        >>> fit(5.0, 10.0).plain
        '■■■■       5.0'
    """
    filled = round(BAR * max(0.0, score) / best) if best > 0 else 0
    bar = Text("■" * filled, style="cyan")
    bar.append(" " * (BAR - filled))
    bar.append(f"{score:6.1f}", style="default")
    return bar


def candidate_block(result: Diagnosis, candidate: Candidate) -> RenderableType:
    """Why one candidate stands where it does, finding by finding."""
    paths = result.paths(candidate.id)
    supporting, opposing, silent = _sorted(result, candidate, paths)
    title = Text(f"{candidate.rank}. {called(result.case, candidate)}", style="bold")
    parts: list[RenderableType] = [title, Text(f"   {identifiers(candidate)}", style="dim")]
    parts += _section("speaks for it", "green", supporting)
    parts += _section("speaks against it", "red", opposing)
    if silent:
        names = Text(", ".join(line.name for line in silent))
        parts += [Text("   not explained by it", style="yellow"), Padding(names, (0, 0, 0, 9))]
    typical = [path for path in paths if path.kind == "typical_unmentioned"]
    if typical:
        parts += [Text("   typical of it, not mentioned", style="cyan"), _typical(typical[:5])]
    if candidate.cases:
        parts += [Text("   patients alike", style="green"), _patients(result, candidate)]
    return Group(*parts)


def explanation(result: Diagnosis, candidate: Candidate) -> RenderableType:
    """Everything the graph says about one candidate: the parts of its score, each finding, all evidence paths."""
    parts = _understood(result)
    if result.n_candidates:
        parts.append(_heading(f"Rank {candidate.rank} of {count(result.n_candidates, 'disease')}"))
    parts += [candidate_block(result, candidate), Text()]
    if candidate.parts:
        parts += [_heading("Parts of its score"), _parts({**candidate.parts, "together": candidate.score}), Text()]
    parts += [evidence(result.paths(candidate.id)), Text(), Text(NOTE, style="dim")]
    return Group(*parts)


def called(case: Case, candidate: Candidate) -> str:
    """The candidate's name; for a case in Chinese its Chinese name too, where there is one.

    Example:
        >>> from kgdx.rank import Candidate
        >>> fever = Candidate(1, "OMIM:1", "Fever", ("OMIM:1",), 1.0, name_zh="发热")
        >>> called(Case("p", language="zh"), fever), called(Case("p"), fever)
        ('发热 Fever', 'Fever')
    """
    name = clean(candidate.name or candidate.id)
    if not candidate.name_zh or candidate.name_zh == candidate.name or not _is_chinese(case):
        return name
    return f"{clean(candidate.name_zh)} {name}"


def _is_chinese(case: Case) -> bool:
    said = (case.text, *(finding.text for finding in case.findings))
    return case.language == "zh" or any(_HAN.search(words) for words in said)


def identifiers(candidate: Candidate) -> str:
    """The candidate's id and those of the entries that are the same disease."""
    others = [clean(member) for member in candidate.members if member != candidate.id]
    return clean(candidate.id) + (f" = {', '.join(others)}" if others else "")


def _understood(result: Diagnosis) -> list[RenderableType]:
    """The patient, the findings that were read, and what was doubtful about them."""
    parts: list[RenderableType] = [patient(result.case), Text()]
    if result.case.findings:
        parts += [_indented(findings(result.case.findings, limit=40, places=False)), Text()]
    if result.issues:
        parts += [_heading("Notes"), issues(result.issues), Text()]
    return parts


def _heading(words: str) -> Text:
    return Text(words, style="bold")


def _indented(inner: RenderableType) -> RenderableType:
    return Padding(inner, (0, 0, 0, 2))


def _scores(candidate: Candidate) -> dict[str, float]:
    """Score of each finding, over all scorers."""
    total: dict[str, float] = defaultdict(float)
    for contribution in candidate.contributions:
        total[contribution.finding] += contribution.score
    return total


def _support(result: Diagnosis, candidate: Candidate) -> Text:
    """The findings that raise the candidate most."""
    observed = set(result.case.observed)
    labels = {finding.id: finding.label for finding in result.case.findings}
    ordered = sorted(_scores(candidate).items(), key=lambda item: -item[1])
    raising = [
        clean(labels.get(finding) or finding) for finding, score in ordered if score >= WEAK and finding in observed
    ]
    text = Text(", ".join(raising[:2]))
    if len(raising) > 2:
        text.append(f" +{len(raising) - 2}", style="dim")
    return text


def _sorted(
    result: Diagnosis, candidate: Candidate, paths: Iterable[EvidencePath]
) -> tuple[list[Line], list[Line], list[Line]]:
    """The case's findings by what they say of the candidate: for, against, nothing."""
    scores = _scores(candidate)
    by: dict[tuple[str, str], list[EvidencePath]] = defaultdict(list)
    for path in paths:
        by[path.kind, path.finding].append(path)
    sides: tuple[list[Line], list[Line], list[Line]] = ([], [], [])
    for finding in result.case.findings:
        if finding.status not in (Status.PRESENT, Status.ABSENT):
            continue
        against = by["against", finding.id]
        chosen = against or by["supports", finding.id]
        name = clean(finding.label or finding.id)
        if finding.status is Status.ABSENT:
            name = f"absent: {name}"
        nearest = min(chosen, key=_nearness, default=None)
        line = Line(name, scores.get(finding.id, 0.0), nearest)
        if against:
            sides[1].append(line)
        elif nearest is not None and not (meets_only_above(nearest) and line.score < WEAK):
            sides[0].append(line)
        elif finding.status is Status.PRESENT:
            sides[2].append(line)
    sides[0].sort(key=lambda line: -line.score)
    sides[1].sort(key=lambda line: line.score)
    return sides


def _nearness(path: EvidencePath) -> tuple[int, bool, bool]:
    """Shorter paths first, then those with a frequency, then those with a publication."""
    published = any(reference.startswith("PMID:") for reference in path.references)
    return len(path.nodes), not path.frequency, not published


def _section(words: str, style: str, lines: list[Line]) -> list[RenderableType]:
    """One side of the argument: a line for each finding, strongest first."""
    if not lines:
        return []
    table = _grid()
    for line in lines:
        name = Text(line.name)
        if line.path is not None and between(line.path):
            name.append(f"\n{between(line.path)}", style="dim")
        table.add_row(Text(signed(line.score), style=style), name, Text() if line.path is None else _cited(line.path))
    return [Text(f"   {words}", style=style), Padding(table, (0, 0, 0, 3))]


def _typical(paths: Iterable[EvidencePath]) -> RenderableType:
    table = _grid()
    for path in paths:
        table.add_row("", Text(clean(path.nodes[0].name or path.finding)), _cited(path))
    return Padding(table, (0, 0, 0, 3))


def _patients(result: Diagnosis, candidate: Candidate) -> RenderableType:
    """The patients of the graph that have the disease, with the findings they share with this one."""
    labels = {finding.id: finding.label for finding in result.case.findings}
    table = _grid()
    for case in candidate.cases:
        shared = Text(", ".join(clean(labels.get(finding) or finding) for finding in case.shared))
        shared.append(f"\n{references(case.publications)}" if case.publications else "", style="dim")
        table.add_row("", Text(clean(case.id)), shared)
    return Padding(table, (0, 0, 0, 3))


def _grid() -> Table:
    table = Table.grid(padding=(0, 1, 0, 0), expand=True)
    table.add_column(width=5, justify="right")
    table.add_column(ratio=1, overflow="fold")
    table.add_column(ratio=1, overflow="fold")
    return table


def _cited(path: EvidencePath) -> Text:
    """How often, and who says so: on one line where both fit the column of an 80-column terminal."""
    said, cited = frequency(path.frequency) or "listed in", references(path.references, limit=1)
    text = Text(said)
    text.append(" " if len(said) + len(cited) < CITED else "\n")
    return text.append(cited, style="dim")


def _parts(parts: Mapping[str, float]) -> RenderableType:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column()
    table.add_column(justify="right")
    for name, value in parts.items():
        table.add_row(f"  {clean(name)}", signed(value))
    return table
