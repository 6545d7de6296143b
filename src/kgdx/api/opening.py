"""How a graph is opened, for diagnosing or to save one result, and whether its files are what its build wrote."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from kgdx.actions.graph_source import mapping_of
from kgdx.api.open_graph import Graph
from kgdx.config import Settings
from kgdx.errors import UsageError

if TYPE_CHECKING:
    from kgdx.answer.cited_answer import Answer
    from kgdx.answer.diagnosis import Diagnosis
    from kgdx.ingest.pipeline.build_files import Verified
    from kgdx.ingest.pipeline.build_report import Progress
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
        progress: Told in words what takes long.

    Raises:
        StoreError: There is no graph, or it cannot be opened or built.
        MissingExtraError: The extra ``encoder`` is wanted and not installed.

    Example:
        >>> open("/nowhere")
        Traceback (most recent call last):
            ...
        kgdx.errors.StoreError: no graph at /nowhere: build one with `kgdx build`
    """
    if build and store is None:
        from kgdx.api.building import ensure_default_graph

        ensure_default_graph(None if progress is None else _stages(progress))
    settings = Settings.load(store)
    if (described := mapping_of(mapping, settings.store)) is not None:
        settings = replace(settings, neo4j_mapping=described)
    if on_store:
        settings = replace(settings, on_store=True)
    return Graph(settings, _encoder(encoder, settings), progress)


def _stages(tell: Callable[[str], None]) -> Callable[[Progress], None]:
    """Return what tells in words which stage of a build begins."""
    seen: set[str] = set()

    def told(event: Progress) -> None:
        if event.stage not in seen:
            seen.add(event.stage)
            tell(event.detail)

    return told


def _encoder(wanted: bool | Encoder, settings: Settings) -> Encoder | None:
    """Return the encoder to use; the one of the settings is loaded only when asked for."""
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
        result: What :meth:`Graph.diagnose` or :meth:`Graph.ask` returned.
        graph: The open graph; opened from ``store`` for this when ``None``.
        store: As for :func:`open`.
        text: Whether the patient's own words are stored too, with question, answer, and what models said.

    Returns:
        The run's id.

    Raises:
        StoreLockedError: Another process reads or writes the graph; nothing was changed.
        StoreError: The graph lacks a finding or candidate of the diagnosis; nothing was changed.
    """
    if graph is not None:
        return graph.save(result, text=text)
    with open(store) as opened:
        return opened.save(result, text=text)


def verify(*, store: str | Path | None = None) -> Verified:
    """Read all files of an embedded graph and compare them with the digests that its build recorded.

    Opening a graph looks at the files' sizes, and reads those whose time of change is not what it was. What a disk has
    changed by itself shows here alone.

    Args:
        store: Graph folder.

    Raises:
        StoreError: There is no graph, or its list of files is damaged.
        UsageError: The store is a Neo4j server.
    """
    settings = Settings.load(store)
    if settings.is_neo4j:
        raise UsageError(f"{settings.store} is a server", hint="a server keeps and checks its own files")
    from kgdx.ingest.pipeline import build_files
    from kgdx.ingest.pipeline.graph_folder import GraphFolder

    with GraphFolder(settings.graph_folder).reading() as build:
        return build_files.verify(build.path)
