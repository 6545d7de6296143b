"""The sources there are, and whether a graph is up to date with them: for `kgdx sources` and `kgdx status`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from kgdx.load.choice import Wanted
from kgdx.load.fetch import DIGESTS, Digests
from kgdx.load.folder import GraphFolder
from kgdx.load.manifest import Manifest, manifests
from kgdx.load.parse import mapping_digest, recipe
from kgdx.load.report import read_report
from kgdx.load.sources import Reader
from kgdx.load.stages import Stages
from kgdx.load.tables import BuiltSource, read_graph
from kgdx.schema import load_schema

_NONE: Mapping[str, Reader] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class SourceState:
    """A source of a graph, and whether it still is what was read.

    Attributes:
        name: The source.
        origin: Where it was read from.
        stale: Why an update would read something else; empty where it would not, or where that cannot be told without
            fetching.
    """

    name: str
    origin: str
    stale: str = ""


@dataclass(frozen=True, slots=True)
class Freshness:
    """How a graph was made last, and whether it still is what its sources give.

    Attributes:
        kind: ``build``, ``update``, ``remove`` or ``pull``.
        created: When, UTC, ISO 8601.
        seconds: How long it took.
        sources: The graph's sources, those read from files.
        kept: Results of stages that the next build need not make.
        kept_bytes: Their size on disk.
    """

    kind: str
    created: str
    seconds: float
    sources: tuple[SourceState, ...]
    kept: int = 0
    kept_bytes: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return asdict(self)


def freshness(folder: GraphFolder | str | os.PathLike[str], readers: Mapping[str, Reader] = _NONE) -> Freshness:
    """Return how a graph was made last, and which of its sources an update would read anew; no source is read for this.

    Args:
        folder: The graph folder.
        readers: As for :func:`kgdx.load.build.build`.

    Raises:
        StoreError: There is no graph, or its report is damaged.
    """
    target = folder if isinstance(folder, GraphFolder) else GraphFolder(folder)
    build = target.current()
    report = read_report(build.report)
    stages = Stages(target.path / "stages")
    graph = read_graph(build.tables, stages)
    found = []
    if graph is not None:
        digests = Digests(stages.path / DIGESTS)
        known = manifests(sorted(build.manifests.glob("*.yaml")))
        for name, source in graph.sources.items():
            found.append(SourceState(name, source.origin, _stale(source, known.get(name), digests, readers)))
    folders = [path for path in stages.path.glob("*/*") if path.is_dir()]
    size = sum(file.stat().st_size for path in folders for file in path.iterdir())
    seconds = report.seconds.get("total", 0.0)
    return Freshness(report.kind, report.created, seconds, tuple(found), len(folders), size)


def _stale(source: BuiltSource, found: Manifest | None, digests: Digests, readers: Mapping[str, Reader]) -> str:
    if found is None:
        return "its manifest is gone"
    wanted, path = Wanted(found, source.origin), Path(source.path)
    if not path.exists():
        return "its file is gone"
    if digests.unchanged(path) is False:
        return "its file has changed"
    if source.mapping != mapping_digest(wanted):
        return "its manifest has changed"
    if source.recipe != recipe(wanted, path, readers, load_schema()):
        return "it was read by another version of kgdx"
    return ""


def sources() -> tuple[Manifest, ...]:
    """Return the manifests of all sources, those of the default build first.

    Example:
        >>> [manifest.name for manifest in sources() if manifest.standard]
        ['hp', 'hpoa', 'genes']
    """
    return tuple(manifests().values())
