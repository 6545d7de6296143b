"""Making graphs: built from their sources, updated, compared, corrected, and copied to and from a Neo4j."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgdx.config import Settings
from kgdx.errors import KgdxError, StoreError, UsageError
from kgdx.files.private import private_folder

if TYPE_CHECKING:
    from kgdx.graph.copies import CopyReport
    from kgdx.graph.protocol import Exports
    from kgdx.graph.snapshot import Snapshot
    from kgdx.ingest.extraction.annotate import DocumentReader
    from kgdx.ingest.pipeline.build_report import BuildProgress, BuildReport
    from kgdx.ingest.pipeline.derive import Derive
    from kgdx.ingest.pipeline.freshness import Freshness
    from kgdx.ingest.pipeline.graph_diff import Comparison
    from kgdx.ingest.pipeline.quarantine import RetryResult
    from kgdx.ingest.pipeline.snapshot_hooks import Hook
    from kgdx.ingest.sources import Reader
    from kgdx.terms.names.sssom import MappingStatement


def build(
    sources: Iterable[str] | Mapping[str, str | None] | None = None,
    *,
    store: str | Path | None = None,
    progress: Callable[[BuildProgress], None] | None = None,
    keep_cases: bool = True,
    force: bool = False,
) -> BuildReport:
    """Build a graph from its sources, and put it in the place of the one that is there.

    What an earlier build of the folder made of the same inputs is not made again: a build that was interrupted goes on
    where it stopped. A graph for a Neo4j is built in a folder of this machine's, without an embedded store, and then
    written to the server, for which the embedded engine need not be installed.

    Args:
        sources: Names of sources, or ``name=path-or-URL``; the default build when ``None``.
        force: Whether a source may have lost half of the rows that it has in the old graph, and whether a database is
            replaced that is no graph of kgdx.
    """
    from kgdx.ingest.pipeline.build import build as build_graph

    settings = Settings.load(store)
    how: dict[str, Any] = {"progress": progress, "keep_cases": keep_cases, "force": force}
    if not settings.is_neo4j:
        settings = _embedded(store)
        return build_graph(sources, settings.graph_folder, **how, **making(settings))
    from kgdx.actions.graph_source import keep_snapshot
    from kgdx.graph.copies import Content, counts, write
    from kgdx.graph.neo4j.neo4j_store import Neo4jStore
    from kgdx.graph.tables import digests, merged
    from kgdx.ingest.pipeline.build_report import BuildProgress
    from kgdx.ingest.pipeline.built_graph import load_tables, read_graph
    from kgdx.ingest.pipeline.graph_folder import GraphFolder
    from kgdx.ingest.pipeline.stages import Stages

    access, folder = settings.neo4j(), GraphFolder(_folder_of(settings))
    begun = time.perf_counter()

    def tell(said: str) -> None:
        if progress is not None:
            progress(BuildProgress("load", said, 0.0, time.perf_counter() - begun))

    with Neo4jStore.unchecked(access) as server:
        if not server.is_empty() and not server.run("build") and not force:
            hint = "use an empty one, or replace all of it with --force"
            raise StoreError(f"the database at {access.uri} holds something that is no graph of kgdx", hint=hint)
        how |= making(replace(settings, store=str(folder.path)), engine=False)
        report = build_graph(sources, folder, **how, server=server)
    with folder.reading() as build:
        graph = read_graph(build.tables, stages := Stages(folder.path / "stages"))
        assert graph is not None, "it was just built"
        tables = merged(load_tables(graph.tables, stages))
        about = {name: getattr(report, name) for name in ("fingerprint", "schema_version", "schema_checksum")}
        about |= {"kgdx_version": report.kgdx_version, "created": report.created}
        content = Content(tables, about, counts(tables), digests(tables))
        copied = write(content, str(folder.path), settings, access, force=True, keep_saved=keep_cases, progress=tell)
        keep_snapshot(build.snapshot, settings, access, copied, tell)
    return report


def _folder_of(settings: Settings) -> Path:
    if not settings.is_neo4j:
        return settings.graph_folder
    from kgdx.actions.graph_source import server_name

    name = re.sub(r"[^\w.-]+", "_", server_name(settings.neo4j()))
    return settings.home / "graphs" / "servers" / name


def left_behind(
    sources: Iterable[str] | Mapping[str, str | None] | None, *, store: str | Path | None = None
) -> dict[str, str]:
    """Return what a build would take out of the graph that is there though ranking needs it: source → what it is for.

    Sources of the default build are named where the annotations of findings are among what goes.
    """
    settings = Settings.load(store)
    from kgdx.ingest.manifest import manifests
    from kgdx.ingest.pipeline.graph_folder import GraphFolder, sound_report
    from kgdx.ingest.source_choice import choose

    folder, gone = GraphFolder(_folder_of(settings)), {}
    with suppress(KgdxError):  # the build itself says what is wrong
        if folder.exists:
            there, wanted = sound_report(folder.current()).sources, choose(sources)
            gone = {
                name: found.worth
                for name, found in manifests().items()
                if found.standard and name in there and name not in wanted
            }
    return gone if "hpoa" in gone else {}


def update(
    sources: Iterable[str] | Mapping[str, str | None],
    *,
    store: str | Path | None = None,
    progress: Callable[[BuildProgress], None] | None = None,
    force: bool = False,
) -> BuildReport:
    """Read some sources of the embedded graph again, or add further ones, without rebuilding the rest.

    The graph is then what a build of all its sources would give. The old one stays until that is done.

    Args:
        sources: Names of sources, or ``name=path-or-URL``; a name alone is read from where it was read before.
        force: Whether a source may have lost half of its rows.
    """
    settings = _embedded(store)
    from kgdx.ingest.pipeline.build import update as update_graph

    return update_graph(sources, settings.graph_folder, progress=progress, force=force, **making(settings))


def remove(
    source: str, *, store: str | Path | None = None, progress: Callable[[BuildProgress], None] | None = None
) -> BuildReport:
    """Take one source out of the embedded graph, which is then what a build without it would give.

    Args:
        source: The source's name; ``user`` for all saved cases and runs.
    """
    settings = _embedded(store)
    from kgdx.ingest.pipeline.build import remove as remove_source

    return remove_source(source, settings.graph_folder, progress=progress, **making(settings))


def retry(
    file: str | Path | None = None,
    *,
    store: str | Path | None = None,
    progress: Callable[[BuildProgress], None] | None = None,
) -> RetryResult:
    """Load records that were refused again: those that were mended in a file, or all as they are.

    Args:
        file: What ``kgdx quarantine export`` wrote and someone has mended; ``None`` to check the refused records
            against what the graph has now.
    """
    settings = _embedded(store)
    from kgdx.ingest.pipeline.graph_folder import GraphFolder
    from kgdx.ingest.pipeline.quarantine import retry as again

    run = partial(update, store=store, progress=progress)
    return again(GraphFolder(settings.graph_folder), None if file is None else Path(file), run)


def decide(
    statements: Iterable[MappingStatement],
    *,
    store: str | Path | None = None,
    now: bool = True,
    progress: Callable[[BuildProgress], None] | None = None,
) -> BuildReport | None:
    """Keep people's decisions about mappings in the graph folder, where they win over what kgdx decides by itself.

    Args:
        statements: Mappings that are to be stated or rejected; of one pair of ids the newest counts.
        now: Whether the graph takes them in at once; otherwise the next build or update does.

    Returns:
        What the update made, if there was one.
    """
    settings = _embedded(store)
    from kgdx.ingest.alignment.decisions import Decisions
    from kgdx.ingest.pipeline.graph_folder import GraphFolder

    folder = GraphFolder(settings.graph_folder)
    folder.current()  # raises where there is none
    with folder.deciding():
        Decisions.read(folder.path).updated(statements).write(folder.path)
    return update((), store=store, progress=progress) if now else None


def diff(old: str | Path | None = None, new: str | Path | None = None) -> Comparison:
    """Compare two embedded graphs, as they were built: rows added, removed and changed, by table and source.

    Args:
        old: Graph folder; ``None`` for what the new one held before its last build or update.
        new: Graph folder; the store in use when ``None``.
    """
    before = None if old is None else _embedded(old).graph_folder
    target = _embedded(new).graph_folder
    from kgdx.ingest.pipeline.graph_diff import diff as compare

    return compare(before, target)


def freshness(store: str | Path | None = None) -> Freshness:
    """Return how the embedded graph was made last, and which of its sources an update would read anew.

    No source is read for this: a file counts as changed when its size, time or place on the disk has.
    """
    settings = _embedded(store)
    from kgdx.ingest.pipeline.freshness import freshness as judge

    return judge(settings.graph_folder, readers())


def push(
    *,
    store: str | Path | None = None,
    neo4j: str | None = None,
    force: bool = False,
    keep_saved: bool = True,
    sessions: int | None = None,
    progress: Callable[[str], None] | None = None,
) -> CopyReport:
    """Copy the embedded graph into a Neo4j; counts and content are compared afterwards.

    Args:
        neo4j: Bolt address; the local server that kgdx started when ``None``.
        keep_saved: Whether cases and runs that were saved there alone are carried over into the new graph.
    """
    settings = _embedded(store)
    access = settings.neo4j(neo4j)
    from kgdx.actions.graph_source import keep_snapshot
    from kgdx.graph.arcade.embedded import ArcadeStore
    from kgdx.graph.copies import SESSIONS
    from kgdx.graph.copies import push as copy
    from kgdx.ingest.pipeline import build_files
    from kgdx.ingest.pipeline.graph_folder import GraphFolder
    from kgdx.ingest.pipeline.stages import Stages
    from kgdx.ingest.pipeline.user_data import kept_tables

    folder = GraphFolder(settings.graph_folder)
    with folder.reading() as build, ArcadeStore.open(build.store) as source:
        (progress or _quiet)("Comparing all files with their digests")
        build_files.refuse_damaged(build.path)
        kept = kept_tables(build, Stages(folder.path / "stages"), source)
        report = copy(
            source,
            settings,
            access,
            kept=kept,
            force=force,
            keep_saved=keep_saved,
            sessions=sessions or SESSIONS,
            progress=progress or _quiet,
        )
    _indexed(settings, progress or _quiet)
    with folder.reading() as build:
        keep_snapshot(build.snapshot, settings, access, report, progress or _quiet)
    return report


def pull(
    *,
    store: str | Path | None = None,
    neo4j: str | None = None,
    force: bool = False,
    leave_out: bool = False,
    progress: Callable[[str], None] | None = None,
) -> CopyReport:
    """Copy the graph of a Neo4j into an embedded one; counts and content are compared afterwards.

    What does not conform to the ontology is refused.

    Args:
        neo4j: Bolt address; the local server that kgdx started when ``None``.
        leave_out: Whether classes, relations and properties that the ontology does not have are left out, and named in
            the report.
    """
    settings = _embedded(store)
    access = settings.neo4j(neo4j)
    from kgdx.graph.neo4j.neo4j_store import Neo4jStore
    from kgdx.ingest.pipeline.build import pull as copy

    _, compile = _derived(settings)
    with Neo4jStore.connect(access) as source:
        (progress or _quiet)("Comparing the graph with the ontology")
        found = source.misfits()
        if wrong := [each for each in found if not (each.outside and leave_out)]:
            leaves = ", or leave it out with `--leave-out`" if all(each.outside for each in wrong) else ""
            message = f"the graph at {access.uri} does not conform to the ontology: {wrong[0]}"
            raise StoreError(message, hint=f"`kgdx verify --store {access.uri}` lists all; mend it there{leaves}")
        report = copy(source, settings.graph_folder, compile=compile, force=force, progress=progress or _quiet)
    _indexed(settings, progress or _quiet)
    return replace(report, left_out=tuple(map(str, found)))


def _embedded(store: str | Path | None) -> Settings:
    settings = Settings.load(store)
    if settings.is_neo4j:
        raise UsageError(f"{settings.store} is a server", hint="build in a folder, then copy it with `kgdx push`")
    if settings.home.is_dir():
        private_folder(settings.home)
    return settings


def _index_names(chinese: bool, snapshot: Snapshot, tables: Callable[[], Exports], tell: Callable[[str], None]) -> None:
    """Make the indexes of names, of MeSH descriptors and of texts, for which the first question would have to wait.

    The graph is whole without them: one that cannot be made now is made when it is first asked for.
    """
    from kgdx.terms.names import mesh_index, name_index
    from kgdx.terms.text_search import index_useful

    with suppress(KgdxError):
        name_index.open_index(snapshot, tables, chinese=chinese, progress=tell).close()
    with suppress(KgdxError):
        index_useful(snapshot, tables, tell)
    with suppress(KgdxError):  # a graph without MeSH has none
        mesh_index.open_index(snapshot, tables).close()


def _indexed(settings: Settings, tell: Callable[[str], None]) -> None:
    from kgdx.graph.arcade.embedded import ArcadeStore
    from kgdx.ingest.pipeline.build_stages import index
    from kgdx.ingest.pipeline.graph_folder import GraphFolder

    with (
        suppress(KgdxError),
        GraphFolder(settings.graph_folder).reading() as build,
        ArcadeStore.open(build.store) as store,
    ):
        index(build.snapshot, store, (partial(_index_names, "zh" in settings.align_languages),), tell)


def _derived(settings: Settings) -> tuple[tuple[Derive, ...], tuple[Hook, ...]]:
    from kgdx.ingest.alignment import equivalence, mappings, same_names
    from kgdx.ingest.alignment.decisions import Decisions
    from kgdx.ingest.extraction import annotate
    from kgdx.rank.case_bank import compile_if_annotated
    from kgdx.terms.dictionary import build_dictionary
    from kgdx.terms.encoder import meaning

    decisions, encoder = Decisions.read(settings.graph_folder), meaning(settings)
    same = (equivalence.step(decisions), same_names.step(decisions), mappings.step(decisions, encoder))
    return (annotate.step(_document_reader(settings)), *same), (compile_if_annotated, build_dictionary)


def _document_reader(settings: Settings) -> DocumentReader | None:
    if not settings.llm_reads_documents:
        return None
    from kgdx.ingest.extraction.model_readers import ModelDocumentReader
    from kgdx.llm.connect import connect

    access = settings.llm()
    return ModelDocumentReader(connect(access, cache=settings.cache / "llm" / "answers.sqlite"), access.concurrency)


def making(settings: Settings, *, engine: bool = True) -> dict[str, Any]:
    if engine:
        from kgdx.graph.arcade import arcade_engine

        arcade_engine.require()
    derive, compile = _derived(settings)
    index = (partial(_index_names, "zh" in settings.align_languages),)
    return {
        "derive": derive,
        "compile": compile,
        "index": index,
        "readers": readers(),
        "cache": settings.cache / "downloads",
    }


def readers() -> dict[str, Reader]:
    """Return the readers of formats that live above the load room, by format."""
    from kgdx.ingest.extraction.extract import read

    return {"huatuo": read}


def _quiet(message: str) -> None:
    """Ignore a progress message."""
