"""A diagnosis for a reader: what was understood, the ranked diseases, why each of the first stands there, each step."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from kgdx.episode.segment import Kind, Segment
from kgdx.render.terminal.case_text import issues, patient_read
from kgdx.render.terminal.console import grid
from kgdx.results.evidence_paths import EvidencePath
from kgdx.results.ranked import Candidate, DiagnosisDocument, Judgement, RolloutPart
from kgdx.results.transcript import exchanges, reranking_words
from kgdx.results.view import (
    PATHS,
    SIDES,
    Argument,
    CandidateReason,
    ListedCandidate,
    argument,
    between,
    listed,
    names,
    path_row,
)
from kgdx.results.words import clean, count, frequency, references, signed


class Diagnosed(Protocol):
    """A result that can be shown: :class:`kgdx.Diagnosis` is one."""

    @property
    def policy(self) -> str: ...

    @property
    def rounds(self) -> Sequence[Any]: ...

    @property
    def usage(self) -> Any: ...

    def paths(self, id: str, /) -> tuple[EvidencePath, ...]: ...

    def document(self) -> DiagnosisDocument: ...


BAR = 8
"""Characters of the bar of a candidate that explains all findings."""

CITED = 35
"""Width of the column of frequencies and references in an 80-column terminal."""

TYPICAL = 5
"""Findings that are typical of a disease and not mentioned: so many are shown."""

STYLES = {"supports": "green", "against": "red", "typical_unmentioned": "cyan"}

LONGEST = 160
"""Characters of a step that are shown."""

AUTHORS = {"policy": "cyan", "patient": "green", "graph": "blue", "model": "magenta"}
"""Who wrote a step, and its colour."""

NOTE = "Decision support for research, to be judged by a clinician. Fit is a ranking score, not a probability."


def diagnosis(result: Diagnosed, *, explain: int = 3, members: bool = False) -> RenderableType:
    """Return all of it: patient, findings, notes, ranking, and the reasons of the first ``explain`` candidates."""
    document = result.document()
    parts = _understood(document)
    judgement = document.judgement
    if judgement is not None and not judgement.ranked:
        helps = (Text(f"  {clean(each)}") for each in judgement.helps)
        return Group(*parts, Text(clean(judgement.text), style="bold"), *helps, Text(), Text(NOTE, style="dim"))
    table = ranking(document, members=members)
    parts += [_heading(f"Most likely of {count(document.n_candidates, 'disease')}"), table, Text()]
    parts += [] if judgement is None else [*_judged(judgement), Text()]
    for row in listed(document)[:explain]:
        if row.id in document.evidence:
            parts += [candidate_block(document, row), Text()]
    if len(document.candidates) > explain > 0:
        parts.append(Text("Any other of them: kgdx explain CASE DISEASE", style="dim"))
    if document.reranking is None:
        parts += _planned(result, document)
    else:
        from kgdx.render.terminal.answer_text import taken

        parts.append(Text(f"{reranking_words(document.reranking)}{taken(result.usage.to_dict())}", style="dim"))
    parts.append(Text(NOTE, style="dim"))
    return Group(*parts)


def _judged(judgement: Judgement) -> list[RenderableType]:
    lines = [f"{judgement.text} Setting: {judgement.setting}, {judgement.setting_rule}."]
    lines += [f"Left out: {', '.join(judgement.left_out)} (--no-gates ranks them, too)."] if judgement.left_out else []
    shown: list[RenderableType] = [Text(clean(line), style="dim") for line in lines]
    dangers = [
        (Text(f"  {clean(each.name)} (#{each.rank:,})"), Text(f"settled by {clean(each.settled_by)}"))
        for each in judgement.dangerous
    ]
    tests = [
        (
            Text(f"  {clean(each.name)}"),
            Text("; ".join(f"{clean(one.name)}: {clean(one.result)}" for one in each.predicts)),
        )
        for each in judgement.tests
    ]
    told = [(_heading("Must not be missed"), dangers), (_heading("Test next"), tests)]
    return [*(part for head, rows in told if rows for part in (head, grid(rows, 2, 3), Text())), *shown]


def _planned(result: Diagnosed, document: DiagnosisDocument) -> list[RenderableType]:
    model = next((name for name, _ in exchanges(document.trace)), "")
    if not model:
        return []
    from kgdx.render.terminal.answer_text import lookups, taken

    who = Text(f"{result.policy} with {clean(model)}{taken(result.usage.to_dict())}", style="dim")
    if document.rollout:
        return [_heading("Rollout"), rollout(document.rollout), Text(), who]
    return [_heading("Looked up"), *lookups(result.rounds), Text(), who]


def rollout(parts: Iterable[RolloutPart]) -> RenderableType:
    """Return what a model and the graph wrote by turns, each with its author."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, style="cyan")
    table.add_column(overflow="fold")
    for each in parts:
        lines = "\n".join(clean(line) for line in each.text.split("\n"))
        table.add_row(each.author, Text(lines, style="dim" if each.author == "graph" else ""))
    return Padding(table, (0, 0, 0, 2))


def ranking(document: DiagnosisDocument, *, members: bool = False) -> RenderableType:
    """Return the candidates: rank, disease, how well it fits, and the findings that support it best."""
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim", expand=True)
    rows = listed(document)
    moved = any(row.was is not None for row in rows)
    table.add_column("was → #" if moved else "#", justify="right", no_wrap=True, min_width=3)
    table.add_column("Disease", ratio=6, overflow="fold")
    table.add_column("Fit", no_wrap=True, width=BAR + 6)
    table.add_column("Best supported by", ratio=5, overflow="fold")
    for row in rows:
        name = Text(_called(document, row), style="bold")
        name.append(f"\n{clean(row.id)}", style="not bold dim")
        name.append(f"\n{'; '.join(row.hereditary)}" if row.hereditary else "", style="not bold")
        name.append("".join(f"\n{line}" for line in _family(row, members=members)), style="not bold")
        name.append(f"\n{row.why}" if row.why else "", style="not bold italic")
        support = Text(", ".join(row.support[:2]))
        if len(row.support) > 2:
            support.append(f" +{len(row.support) - 2}", style="dim")
        table.add_row(
            f"{row.was} → {row.rank}" if row.moved else str(row.rank),
            name,
            fit(row.score, row.share),
            support,
        )
    return table


def fit(score: float, share: float) -> Text:
    """Return a score with a bar of how much is explained, in percent.

    Example:
        >>> fit(5.0, 50.0).plain
        '■■■■       5.0'
    """
    filled = round(BAR * share / 100)
    bar = Text("■" * filled, style="cyan")
    bar.append(" " * (BAR - filled))
    bar.append(f"{score:6.1f}", style="default")
    return bar


def candidate_block(document: DiagnosisDocument, row: ListedCandidate) -> RenderableType:
    """Return why one candidate stands where it does, finding by finding."""
    found = argument(document, row.candidate)
    title = Text(f"{row.rank}. {_called(document, row)}", style="bold")
    same = f" = {', '.join(row.members)}" if row.members else ""
    parts: list[RenderableType] = [title, Text(f"   {clean(row.id)}{same}", style="dim")]
    parts += _moved(row) + _section("supports", found.supports) + _section("against", found.against) + _words(found)
    if found.silent:
        parts += [Text("   not explained by it", style="yellow"), Padding(Text(", ".join(found.silent)), (0, 0, 0, 9))]
    if found.typical:
        lines = [("", Text(clean(path.nodes[0].name or path.finding)), _cited(path)) for path in found.typical]
        kind = "typical_unmentioned"
        parts += [Text(f"   {SIDES[kind]}", style=STYLES[kind]), _grid(lines[:TYPICAL])]
    if row.candidate.cases:
        parts += [Text("   patients alike", style="green"), _patients(document, row.candidate)]
    return Group(*parts)


def _moved(row: ListedCandidate) -> list[RenderableType]:
    reason = row.candidate.reason
    if not row.moved and reason is None:
        return []
    lines: list[tuple[RenderableType, ...]] = [("", Text(row.why, style="italic"), Text())] if row.why else []
    for each in () if reason is None else reason.grounds:
        lines.append((Text(f"[{each.mark}]"), Text(clean(each.text)), Text(references(each.references), style="dim")))
    title = Text(f"   number {row.was} by score" if row.moved else "   what the model says", style="yellow")
    return [title, _grid(lines)] if lines else [title]


def explanation(result: Diagnosed, candidate: Candidate) -> RenderableType:
    """Return all that the graph says about one candidate: the parts of its score, each finding, all evidence paths."""
    document = result.document()
    parts = _understood(document)
    if document.n_candidates:
        parts.append(_heading(f"Rank {candidate.rank} of {count(document.n_candidates, 'disease')}"))
    (row,) = listed(document.model_copy(update={"candidates": (candidate,)}))
    parts += [candidate_block(document, row), Text()]
    if candidate.parts:
        scores = {**candidate.parts, "together": candidate.score}
        told = grid((f"  {clean(name)}", Text(signed(value), justify="right")) for name, value in scores.items())
        parts += [_heading("Parts of its score"), told, Text()]
    parts += [_evidence(result.paths(candidate.id)), Text(), Text(NOTE, style="dim")]
    return Group(*parts)


def _called(document: DiagnosisDocument, row: ListedCandidate) -> str:
    return f"{row.name} {row.also}" if row.also and document.case.chinese else row.name


def _family(row: ListedCandidate, *, members: bool) -> list[str]:
    if not row.others:
        return []
    lines = [f"+{row.others} of its family" + (f"; separated by {row.apart}" if row.apart else "")]
    if members:
        lines += [f"  {each.rank}. {clean(each.name)} ({clean(each.id)})" for each in row.candidate.in_family]
        if row.others > len(row.candidate.in_family):
            lines.append(f"  and {row.others - len(row.candidate.in_family)} more")
    return lines


def _understood(document: DiagnosisDocument) -> list[RenderableType]:
    case = document.case
    parts = patient_read(case)
    if document.issues:
        parts += [_heading("Notes"), issues(document.issues), Text()]
    return parts


def _heading(words: str) -> Text:
    return Text(words, style="bold")


def _section(kind: str, reasons: Iterable[CandidateReason]) -> list[RenderableType]:
    lines: list[tuple[RenderableType, ...]] = []
    for reason in reasons:
        name = Text(reason.name)
        if reason.path is not None and between(reason.path):
            name.append(f"\n{between(reason.path)}", style="dim")
        cited = Text() if reason.path is None else _cited(reason.path)
        lines.append((Text(signed(reason.score), style=STYLES[kind]), name, cited))
    return [Text(f"   {SIDES[kind]}", style=STYLES[kind]), _grid(lines)] if lines else []


def _words(found: Argument) -> list[RenderableType]:
    lines: list[tuple[RenderableType, ...]] = [
        (Text(signed(each.score), style=STYLES["supports"]), Text(f"“{each.text}”"), Text(each.words, style="dim"))
        for each in found.words
        if each.words and each.score > 0
    ]
    return [Text("   its description says so, too", style=STYLES["supports"]), _grid(lines)] if lines else []


def _patients(document: DiagnosisDocument, candidate: Candidate) -> RenderableType:
    labels = names(document.case.findings)
    lines: list[tuple[RenderableType, ...]] = []
    for case in candidate.cases:
        shared = Text(", ".join(labels.get(finding) or clean(finding) for finding in case.shared))
        shared.append(f"\n{references(case.publications)}" if case.publications else "", style="dim")
        lines.append(("", Text(clean(case.id)), shared))
    return _grid(lines)


def _grid(lines: Iterable[tuple[RenderableType, ...]]) -> RenderableType:
    table = Table.grid(padding=(0, 1, 0, 0), expand=True)
    table.add_column(min_width=5, no_wrap=True, justify="right")
    table.add_column(ratio=1, overflow="fold")
    table.add_column(ratio=1, overflow="fold")
    for line in lines:
        table.add_row(*line)
    return Padding(table, (0, 0, 0, 3))


def _cited(path: EvidencePath) -> Text:
    said, cited = frequency(path.frequency) or "listed in", references(path.references, limit=1)
    text = Text(said)
    text.append(" " if len(said) + len(cited) < CITED else "\n")
    return text.append(cited, style="dim")


def sentence(path: EvidencePath) -> str:
    """Return a path as one line that reads from left to right.

    Example:
        >>> from kgdx.results.evidence_paths import PathNode, PathRelation
        >>> nodes = (PathNode("p", "PatientCase"), PathNode("HP:1", "", "Fit"), PathNode("D:1", "", "X"))
        >>> relations = (PathRelation("OBSERVED"), PathRelation("HAS_PHENOTYPE", reversed=True))
        >>> sentence(EvidencePath(nodes, relations, "supports", "HP:1", "3 of 4", ("PMID:1",)))
        'patient ─has→ Fit ─seen in→ X: 3 of 4 (75%), PMID:1'
    """
    row = path_row(0, path)
    hops = " ".join(f"─{hop.words}→ {hop.name}" if hop.words else hop.name for hop in row.hops)
    note = ", ".join(part for part in (row.frequency, references(path.references)) if part)
    return f"{hops}: {note}" if note else hops


def _evidence(paths: Iterable[EvidencePath]) -> RenderableType:
    each = list(paths)
    parts: list[RenderableType] = []
    for kind, heading in PATHS.items():
        chosen = [path for path in each if path.kind == kind]
        if not chosen:
            continue
        grid = Table.grid(padding=(0, 1, 0, 0))
        grid.add_column(width=1)
        grid.add_column(overflow="fold")
        for line in dict.fromkeys(map(sentence, chosen)):
            grid.add_row(Text("·", style="dim"), Text(line))
        parts += [Text(f"{heading} ({len(chosen)})", style="bold"), Padding(grid, (0, 0, 0, 2)), Text()]
    return Group(*parts[:-1]) if parts else Text("The graph holds no path from the findings to this disease.")


def steps(log: Iterable[Segment]) -> RenderableType:
    """Return a whole episode, the segments of its log in order: number, author, what it is, the little that it says.

    What the patient or a model said is shown as it is; it is the reader's own terminal.
    """
    lines = [Text(), Text("Steps", style="bold")]
    for number, segment in enumerate(log, 1):
        author = str(segment.author)
        line = Text(f"{number:4}  ")
        line.append(f"{author:8}", style=AUTHORS.get(author, "dim"))
        line.append(f" {'' if segment.kind is Kind.WISH else str(segment.kind)!s:7} {segment.name}", style="bold")
        line.append(f"  {_said({**segment.data, **segment.words})}")
        lines.append(line)
    return Group(*lines)


def _said(data: Mapping[str, Any]) -> str:
    told = data.get("summary", data)
    kept = {name: value for name, value in dict(told).items() if value not in (None, "", [], {}, (), False)}
    line = clean(json.dumps(kept, ensure_ascii=False, default=str)) if kept else ""
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"
