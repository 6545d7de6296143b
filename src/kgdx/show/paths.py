"""Evidence paths as sentences: from the patient over a finding and the ontology to the disease that shows it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from kgdx.report.words import KINDS, clean, frequency, references
from kgdx.report.words import relation as said

if TYPE_CHECKING:
    from kgdx.actions import EvidencePath


def sentence(path: EvidencePath) -> str:
    """Return a path as one line that reads from left to right.

    Example:
        >>> from kgdx.actions.evidence import EvidencePath, PathNode, PathRelation
        >>> nodes = (PathNode("p", "PatientCase"), PathNode("HP:1", "", "Fit"), PathNode("D:1", "", "X"))
        >>> relations = (PathRelation("OBSERVED"), PathRelation("HAS_PHENOTYPE", reversed=True))
        >>> sentence(EvidencePath(nodes, relations, "supports", "HP:1", "3 of 4", ("PMID:1",)))
        'patient ─has→ Fit ─seen in→ X: 3 of 4 (75%), PMID:1'
    """
    first = path.nodes[0]
    parts = ["patient" if first.label == "PatientCase" else clean(first.name or first.id)]
    for relation, node in zip(path.relations, path.nodes[1:], strict=True):
        words = said(relation.type, against=relation.reversed)
        parts.append(f"─{words}→ {clean(node.name or node.id)}")
    note = ", ".join(part for part in (frequency(path.frequency), references(path.references)) if part)
    return " ".join(parts) + (f": {note}" if note else "")


def between(path: EvidencePath) -> str:
    """Say how the finding and the disease's annotated term are related; empty where they are the same term.

    Example:
        >>> from kgdx.actions.evidence import EvidencePath, PathNode, PathRelation
        >>> nodes = (PathNode("HP:2", "Phenotype", "Grand mal"), PathNode("HP:1", "Phenotype", "Fit"))
        >>> between(EvidencePath(nodes, (PathRelation("IS_A"),), "supports", "HP:2"))
        'annotated as Fit, which includes it'
    """
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
    if not up:
        return f"annotated as {annotated}, a kind of it"
    return f"annotated as {annotated}; both are kinds of {up[-1]}"


def meets_only_above(path: EvidencePath) -> bool:
    """Whether finding and annotation are merely relatives: neither is a kind of the other."""
    ways = {relation.reversed for relation in path.relations if relation.type == "IS_A"}
    return len(ways) == 2


def evidence(paths: Iterable[EvidencePath], kinds: Iterable[str] = tuple(KINDS)) -> RenderableType:
    """All paths of one candidate, by what they say, one line each."""
    each = list(paths)
    parts: list[RenderableType] = []
    for kind in kinds:
        chosen = [path for path in each if path.kind == kind]
        if not chosen:
            continue
        parts.append(Text(f"{KINDS[kind]} ({len(chosen)})", style="bold"))
        for line in dict.fromkeys(sentence(path) for path in chosen):
            parts.append(Padding(_hanging(line), (0, 0, 0, 2)))
        parts.append(Text())
    return Group(*parts[:-1]) if parts else Text("The graph holds no path from the findings to this disease.")


def _hanging(line: str) -> RenderableType:
    """A line whose further lines are indented, so that each path is seen to begin."""
    from rich.table import Table

    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(width=1)
    grid.add_column(overflow="fold")
    grid.add_row(Text("·", style="dim"), Text(line))
    return grid
