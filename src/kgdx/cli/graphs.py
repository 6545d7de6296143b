"""Commands about the graph as a whole: build, update, remove, diff, status, verify, search, export."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import typer

import kgdx
from kgdx import api
from kgdx.cli import output
from kgdx.cli.options import Json, Store, argument, flag, option
from kgdx.errors import StoreError, UsageError


def build(
    source: list[str] | None = argument(
        None, "SOURCE…", "Names of sources, or NAME=PATH-OR-URL; the standard ones when none is given."
    ),
    everything: bool = flag("Take every source that has a file.", "--all"),
    place: Path | None = option(None, "PATH", "File of the one source, or folder with the sources' files.", "--from"),
    accept: list[str] | None = option(
        None, "SOURCE", "Accept a source's licence; it is remembered.", "--accept-licence"
    ),
    force: bool = flag("Also where a source has lost half of its rows, or ranking needs what goes."),
    discard: bool = flag(
        "Do not carry what was saved (cases, runs) over from the old graph.", "--discard-saved", "--discard-cases"
    ),
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Build the graph from its sources.

    It replaces the one that is there only when it is complete; saved cases stay. Examples: kgdx build hp
    hpoa=my.hpoa; kgdx build primekg --from kg.csv; kgdx build --all --from downloads/
    """
    from kgdx.api.building import left_behind
    from kgdx.render.terminal.build_text import build_progress, report

    wanted = chosen(source or [], everything, place, accept or [])
    if not force and (gone := left_behind(wanted, store=store)):
        output.remark("The build would take out of the graph that is there what diagnoses need:")
        for name, worth in gone.items():
            output.remark(f"  {name}: {worth}" if worth else f"  {name}")
        if not (sys.stdin.isatty() and sys.stderr.isatty() and typer.confirm("Build without them?", err=True)):
            hint = "add to the graph with `kgdx update`, build in another --store, or build without them by --force"
            raise UsageError(f"ranking needs {', '.join(gone)}", hint=hint)
    with build_progress() as tell:
        built = kgdx.build(wanted, store=store, progress=tell, keep_cases=not discard, force=force)
    output.present(built, as_json, report)


def chosen(
    named: list[str], everything: bool, place: Path | None, accept: list[str]
) -> Mapping[str, str | None] | list[str] | None:
    """Return what a build takes, saying which file is of which source; licences are accepted on the way."""
    from kgdx.cli.source_commands import accept_licence

    for name in accept:
        accept_licence(name, named)
    if not everything and place is None:
        return named or None
    from kgdx.ingest.source_choice import select
    from kgdx.render.terminal.sources_text import gathered

    found = select(named, everything=everything, place=place)
    for line in gathered(found):
        output.remark(line)
    return found.sources


def update(
    source: list[str] = argument(
        ..., "SOURCE…", "Names of sources, or NAME=PATH-OR-URL; a name alone is read from where it was."
    ),
    force: bool = flag("Also where a source has lost half of what it had before."),
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Read some sources again, or add further ones.

    The rest is not built again. The graph is then what a build of all its sources would give. Examples: kgdx update
    hpoa=phenotype.hpoa; kgdx update hp_zh
    """
    from kgdx.render.terminal.build_text import build_progress, report

    with build_progress() as tell:
        built = api.update(source, store=store, progress=tell, force=force)
    output.present(built, as_json, report)


def remove(
    source: str = argument(..., "SOURCE", "Name of the source, as `kgdx status` shows it."),
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Take one source out of the graph.

    It is then what a build without this source would give. Example: kgdx remove hp_zh
    """
    from kgdx.render.terminal.build_text import build_progress, report

    with build_progress() as tell:
        built = api.remove(source, store=store, progress=tell)
    output.present(built, as_json, report)


def diff(
    old: str | None = argument(None, "OLD", "Folder of a graph; what the new one held before if not given."),
    new: str | None = argument(None, "NEW", "Folder of a graph; the store in use if not given."),
    examples: int = option(3, "N", "How many rows of each table to show.", min=0, max=15),
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Show what two graphs differ in.

    Without folders: what the last build or update changed. Rows added, removed and changed, by table and source,
    with examples. What users saved since a graph was built does not count.
    """
    from kgdx.render.terminal.build_text import comparison

    found = api.diff(old, new if new is not None else store)
    output.present(found, as_json, lambda each: comparison(each, examples))


def status(as_json: Json = False, store: Store = None) -> None:
    """Show what the graph holds, and what is stale.

    That is: where it is, how it was made, and which of its sources have changed since. The exit code is 6 when
    there is no graph.
    """
    from kgdx.config import is_neo4j
    from kgdx.render.terminal.build_text import freshness, state

    with kgdx.open(store) as graph:
        found = graph.status()
    fresh = None if is_neo4j(found["store"]) else api.freshness(store)
    if as_json:
        output.write_json(found if fresh is None else {**found, "freshness": fresh.to_dict()})
        return
    output.show(state(found))
    if fresh is not None:
        print()
        output.show(freshness(fresh))


def verify(as_json: Json = False, store: Store = None) -> None:
    """Check the whole graph.

    Of one in a folder all files are compared with their digests, and it is asked; every opening looks at sizes and
    reads what was touched. Of one on a Neo4j all nodes and edges are compared with the ontology. The exit code is 6
    when something is damaged, does not conform, or could not be checked.
    """
    from kgdx.config import Settings
    from kgdx.render.terminal.graph_text import conformance, verified

    settings = Settings.load(store)
    if settings.is_neo4j:
        misfits = api.misfits(store=store)
        output.present({"misfits": misfits}, as_json, lambda _: conformance(misfits))
        if misfits:
            message = f"the graph at {settings.store} does not conform to the ontology: {misfits[0]}"
            raise StoreError(message, hint="mend it there, or replace it with `kgdx push --force`")
        return
    found = api.verify(store=store)
    output.present(found, as_json, verified)
    if found.faults:
        message = f"{len(found.faults)} files of the graph in {found.path} are damaged"
        raise StoreError(message, hint="build it again with `kgdx build`")
    if found.unchecked:
        raise StoreError(found.unchecked[0], hint="save something, or build again with `kgdx build`, and verify then")


def search(
    text: str = argument(..., "NAME", "A name, the beginning of one, or an id."),
    kind: list[str] | None = option(None, "CLASS", "Disease, Phenotype, Drug …; can be repeated."),
    limit: int = option(10, "N", "Most entries.", min=1, max=1000),
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Find diseases, findings and the like by their names.

    Example: kgdx search "brittle bone"
    """
    from kgdx.cli import inputs

    with inputs.graph(store) as graph:
        found = graph.search(text, *(kind or ()), limit=limit)
    from kgdx.render.terminal.graph_text import rows

    columns = ("id", "kind", "name", "matched", "method")
    output.present(found.to_dicts(), as_json, lambda every: rows(columns, every))


def export(
    format: str = argument(..., "nquads|kgx|graphml|parquet", "What to write."),
    path: Path = argument(..., "PATH", "The file, or (kgx, parquet) the folder, to write."),
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Write the graph for other tools.

    Examples: kgdx export nquads graph.nq; kgdx export kgx graph-kgx; kgdx export graphml graph.graphml
    """
    report = api.export_graph(path, format, store=store, progress=output.remark)
    counts = f"{report.nodes:,} nodes and {report.relations:,} relations"
    told = f"{report.path}: {counts} as {report.format}, {report.bytes / 1e6:,.1f} MB"
    output.present(report, as_json, lambda _: told)
