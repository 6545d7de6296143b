"""How a graph is opened, for diagnosing or to save one result, and whether its files are what its build wrote."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from kgdx.actions.graph_source import mapping_of
from kgdx.api.open_graph import Graph
from kgdx.config import Settings
from kgdx.errors import KgdxError, StoreError, StoreLockedError, UsageError
from kgdx.files.private import possible

if TYPE_CHECKING:
    from kgdx.answer.cited_answer import Answer
    from kgdx.answer.diagnosis import Diagnosis
    from kgdx.graph.neo4j.import_files import Exported
    from kgdx.graph.neo4j.schema_statements import Misfit
    from kgdx.ingest.pipeline.build_files import Verified
    from kgdx.ingest.pipeline.build_report import BuildProgress, BuildReport
    from kgdx.terms.encoder import Encoder


def open(
    store: str | Path | None = None,
    *,
    mapping: str | Path | None = None,
    encoder: bool | Encoder = False,
    on_store: bool = False,
    build: bool = False,
    progress: Callable[[str], None] | None = None,
) -> Graph:
    """Open a graph for reading.

    There is no mode to write in: :func:`save` (and :meth:`Graph.writing`) takes the open graph over for one transaction
    and gives it back, so that nobody keeps others from reading for longer than that.

    Args:
        store: Folder of an embedded graph, or Bolt address of a Neo4j server; ``KGDX_STORE``, the config file, or the
            default folder when ``None``.
        mapping: File that says what the names of a Neo4j database stand for that others built; ``KGDX_NEO4J_MAPPING``
            or the config file when ``None``, and without one the database is taken for a graph of kgdx's own.
        encoder: Whether to read by meaning what no name of the graph matches (needs the extra ``encoder``; English),
            or an encoder of your own. The graph's names are encoded once, when words are first read.
        on_store: Whether every look-up runs as Cypher on the store, also those that are answered sooner from the
            snapshot; ``KGDX_ON_STORE`` says the same. The rows are equal.
        build: Whether to build the default graph first where there is none yet, as the commands do; see
            :func:`~kgdx.api.ensure_default_graph`. A graph that ``store`` or a setting names is never built.

    Example:
        >>> open("/nowhere")
        Traceback (most recent call last):
            ...
        kgdx.errors.StoreError: no graph at /nowhere: build one with `kgdx build`
    """
    if build and store is None:
        ensure_default_graph(None if progress is None else _stages(progress))
    settings = Settings.load(store)
    if (described := mapping_of(mapping, settings.store)) is not None:
        settings = replace(settings, neo4j_mapping=described)
    if on_store:
        settings = replace(settings, on_store=True)
    return Graph(settings, _encoder(encoder, settings), progress)


def ensure_default_graph(progress: Callable[[BuildProgress], None] | None = None) -> BuildReport | None:
    """Build the default graph from the standard sources if there is none yet; then :func:`kgdx.open` opens it.

    The default graph is the one in ``KGDX_HOME``. Where ``KGDX_STORE`` or the config file name another store, nothing
    is built. Of processes that call this together one builds, and the others wait until its graph is complete. If that
    process is killed, one of those that wait takes over.

    Returns:
        The report of the build, or ``None`` where there was a graph, another process built it, or the configured store
        is not the default one.

    Example:
        >>> ensure_default_graph()  # doctest: +SKIP
        >>> with kgdx.open() as graph:  # doctest: +SKIP
        ...     print(graph.diagnose("She has ptosis and muscle weakness.").table())
    """
    settings = Settings.load()
    if Path(settings.store) != settings.home / "graphs" / "default":
        return None
    from kgdx.ingest.pipeline.graph_folder import GraphFolder

    folder = GraphFolder(settings.graph_folder)
    begin = time.perf_counter()
    while not folder.exists:
        from kgdx.api.building import making
        from kgdx.ingest.pipeline.build import build as build_graph
        from kgdx.ingest.pipeline.build_report import BuildProgress

        try:
            return build_graph(None, folder, progress=progress, first=True, **making(settings))
        except StoreLockedError:
            if progress is not None:
                waited = time.perf_counter() - begin
                progress(BuildProgress("fetch", "waiting for another process that builds the graph", 0.0, waited))
    return None


def _stages(tell: Callable[[str], None]) -> Callable[[BuildProgress], None]:
    seen: set[str] = set()

    def told(event: BuildProgress) -> None:
        if event.stage not in seen:
            seen.add(event.stage)
            tell(event.detail)

    return told


def _encoder(wanted: bool | Encoder, settings: Settings) -> Encoder | None:
    if not isinstance(wanted, bool):
        return wanted
    if not wanted:
        return None
    from kgdx.terms.encoder import usual

    return usual(settings)


def save(
    result: Diagnosis | Answer, graph: Graph | None = None, *, store: str | Path | None = None, text: bool = False
) -> str:
    """Write a run with its case and candidates into the graph, in one transaction; twice is as good as once.

    Args:
        text: Whether the patient's own words are stored too, with question, answer, and what models said.

    Returns:
        The run's id.
    """
    if graph is not None:
        return graph.save(result, text=text)
    with open(store) as opened:
        return opened.save(result, text=text)


def misfits(*, store: str | Path | None = None) -> tuple[Misfit, ...]:
    """Compare all nodes and edges of a graph on a Neo4j with the ontology, and return what does not conform."""
    from kgdx.graph.neo4j.neo4j_store import Neo4jStore

    with Neo4jStore.connect(Settings.load(store).neo4j()) as server:
        return server.misfits()


def verify(*, store: str | Path | None = None) -> Verified:
    """Read all files of an embedded graph, compare them with the digests that its build recorded, and ask the graph.

    Opening a graph looks at the files' sizes, and reads those whose time of change is not what it was. What a disk has
    changed by itself shows here alone.
    """
    settings = Settings.load(store)
    if settings.is_neo4j:
        raise UsageError(f"{settings.store} keeps its own files", hint="`misfits` compares its graph with the ontology")
    from kgdx.actions.graph_context import GraphContext
    from kgdx.graph.snapshot import TABLES
    from kgdx.ingest.pipeline import build_files
    from kgdx.ingest.pipeline.graph_folder import GraphFolder

    with GraphFolder(settings.graph_folder).reading() as build:
        found = build_files.verify(build.path)
        if found.faults:
            return found
        try:  # sound files may still be of two graphs, or of another engine
            with GraphContext(replace(settings, on_store=True)) as graph:
                for name in TABLES:
                    graph.snapshot.table(name)
                for label in ("Disease", "Phenotype"):
                    ids = graph.store.export_nodes(label, ()).column("id").to_pylist()
                    if ids != graph.snapshot.column(label.lower(), "id").tolist():
                        raise StoreError(f"the store holds other nodes of {label} than the snapshot")
        except KgdxError as error:
            return replace(found, faults=(f"the graph cannot be asked: {error.message}",))
        return found


def export(
    folder: str | Path,
    *,
    store: str | Path | None = None,
    force: bool = False,
    progress: Callable[[str], None] | None = None,
) -> Exported:
    """Write the embedded graph as files for ``neo4j-admin database import full``, with a page that tells what to do.

    The folder appears when it is whole.
    """
    from kgdx.graph.arcade.embedded import ArcadeStore
    from kgdx.graph.copies import content_of
    from kgdx.graph.neo4j import import_files
    from kgdx.graph.snapshot import Snapshot
    from kgdx.ingest.pipeline.build_files import refuse_damaged
    from kgdx.ingest.pipeline.graph_folder import GraphFolder
    from kgdx.ingest.pipeline.stages import Stages
    from kgdx.ingest.pipeline.user_data import kept_tables

    started, tell, target = time.monotonic(), progress or (lambda _said: None), possible(folder).absolute()
    settings = Settings.load(store)
    if settings.is_neo4j:
        raise UsageError(f"{settings.store} is a server", hint="export the graph of a folder; `kgdx pull` makes one")
    import_files.refuse(target, force=force)
    graph = GraphFolder(settings.graph_folder)
    with graph.reading() as build, ArcadeStore.open(build.store) as source:
        tell("Comparing all files with their digests")
        refuse_damaged(build.path)
        content = content_of(source, kept_tables(build, Stages(graph.path / "stages"), source), tell)
        compiled = Snapshot.open(build.snapshot).content
    about = {"id": "build:current", "source": "kgdx", "content": compiled, **content.build}
    size = import_files.export(content.tables, about, target, force=force, progress=tell)
    return import_files.Exported(
        target, content.counts, content.fingerprint, size, round(time.monotonic() - started, 2)
    )
