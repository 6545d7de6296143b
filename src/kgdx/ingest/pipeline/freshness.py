"""The sources there are, and whether a graph is up to date with them: for `kgdx sources` and `kgdx status`."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from kgdx.graph.templates import templates
from kgdx.ingest.fetch import DIGESTS, Digests
from kgdx.ingest.manifest import Manifest, manifests
from kgdx.ingest.pipeline.built_graph import BuiltSource, read_graph
from kgdx.ingest.pipeline.graph_folder import GraphFolder, sound_report
from kgdx.ingest.pipeline.parse import mapping_digest, recipe
from kgdx.ingest.pipeline.stages import Stages
from kgdx.ingest.source_choice import ChosenSource
from kgdx.ingest.sources import Reader
from kgdx.schema import load_schema
from kgdx.schema.model import MATCHES
from kgdx.terms.normalise import read_table

METHODS = Path(__file__).with_name("methods.tsv")
_WALKED = re.compile(r"\[[^\]]*?:([A-Z_|]+)")
"""Types of relations in a pattern of Cypher."""


@dataclass(frozen=True, slots=True)
class SourceState:
    """A source of a graph, and whether it still is what was read."""

    name: str
    origin: str
    stale: str = ""


@dataclass(frozen=True, slots=True)
class AbsentSource:
    """A source that a graph would gain by."""

    name: str
    worth: str
    command: str


@dataclass(frozen=True, slots=True)
class Freshness:
    """How a graph was made last, and whether it still is what its sources give."""

    kind: str
    created: str
    seconds: float
    sources: tuple[SourceState, ...]
    kept: int = 0
    kept_bytes: int = 0
    absent: tuple[AbsentSource, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def freshness(folder: str | os.PathLike[str], readers: Mapping[str, Reader] = MappingProxyType({})) -> Freshness:
    """Return how a graph was made last, and which sources an update would read anew; no source is read for this."""
    target = GraphFolder(folder)
    build = target.current()
    report = sound_report(build)
    stages = Stages(target.path / "stages")
    graph = read_graph(build.tables, stages)
    found = []
    known = manifests(sorted(build.manifests.glob("*.yaml")))
    if graph is not None:
        digests = Digests(stages.path / DIGESTS)
        for name, source in graph.sources.items():
            found.append(SourceState(name, source.origin, _stale(source, known.get(name), digests, readers)))
    folders = [path for path in stages.path.glob("*/*") if path.is_dir()]
    size = sum(file.stat().st_size for path in folders for file in path.iterdir())
    seconds = report.seconds.get("total", 0.0)
    others = {name: each for name, each in known.items() if graph is not None and name not in graph.sources}
    absent = tuple(
        AbsentSource(name, each.worth, f"kgdx update {name}{'' if each.default is not None else '=FILE'}")
        for name, each in others.items()
        if each.worth
    )
    return Freshness(report.kind, report.created, seconds, tuple(found), len(folders), size, absent)


def _stale(source: BuiltSource, found: Manifest | None, digests: Digests, readers: Mapping[str, Reader]) -> str:
    if found is None:
        return "its manifest is gone"
    wanted, path = ChosenSource(found, source.origin), Path(source.path)
    if not path.exists():
        return "its file is gone"
    if digests.unchanged(path) is False:
        return "its file has changed"
    if source.mapping != mapping_digest(wanted):
        return "its manifest has changed"
    if source.recipe != recipe(wanted, path, readers, load_schema()):
        return "it was read by another version of kgdx"
    return ""


def parts(found: Manifest) -> dict[tuple[str, ...], list[str]]:
    """Return what of a source takes part in which methods: methods → relations, and properties of nodes."""
    given = {f"{each.class_}.{name}" for each in found.nodes for name in each.properties}
    for each in found.relations:  # of SAME_AS the property says which of its types a row is
        several = each.type == MATCHES["exact"] and "relation" in each.properties
        given |= {*MATCHES.values()} if several else {each.type}
    by_methods: dict[tuple[str, ...], list[str]] = {}
    for part in sorted(given):
        if methods := tuple(name for name, read in _read_by_methods().items() if part in read):
            by_methods.setdefault(methods, []).append(part)
    return by_methods


@cache
def _read_by_methods() -> Mapping[str, frozenset[str]]:
    found = {}
    for method, reads, patterns in read_table(METHODS):
        texts = [each.text for name, each in templates().items() if any(fnmatch(name, p) for p in patterns.split())]
        walked = (types for text in texts for types in _WALKED.findall(text))
        found[method] = frozenset([*reads.split(), *(type for types in walked for type in types.split("|"))])
    return found
