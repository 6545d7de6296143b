"""Commands about mappings: the table to review, decisions read back, SSSOM in and out, MeSH by name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgdx import api
from kgdx.cli import inputs, output
from kgdx.cli.options import OUT, Json, Store, add_typer, argument, flag, option
from kgdx.errors import UsageError

if TYPE_CHECKING:
    from kgdx.graph.protocol import GraphTable
    from kgdx.terms.names.sssom import MappingStatement

KEEP = "Only keep the decisions; the next build or update takes them in."
File = Annotated[Path, typer.Argument(metavar="FILE", help="The table with decisions.")]


def register(app: typer.Typer) -> None:
    told = "Review how sources were joined, exchange SSSOM."
    add_typer(app, "mappings", told, review, apply, export, **{"import": import_, "mesh": mesh})


def review(
    out: Path | None = option(None, "FILE", "Where to write it; standard output by default.", *OUT),
    status: list[str] | None = option(None, "STATUS", "Only rows of this status, such as ambiguous; repeatable."),
    store: Store = None,
) -> None:
    """Write the table of mappings for review.

    It is tab-separated: one mapping a line, the least certain first, with the other candidates. Put accept, reject,
    replace (with an id under replacement) or add into the column decision, then give the file to `kgdx mappings apply`.
    """
    from kgdx.config import Settings
    from kgdx.ingest.alignment.decisions import Decisions
    from kgdx.ingest.alignment.mappings import align, names_and_classes
    from kgdx.ingest.alignment.review import review_rows, write_review
    from kgdx.render.terminal.graph_text import by_status
    from kgdx.results.words import count
    from kgdx.terms.encoder import meaning

    settings = Settings.load(store)
    decisions = Decisions.read(settings.graph_folder)
    tables = _tables(store)
    found = align(tables, decisions, meaning(settings, output.remark))
    every = review_rows(found, decisions, names_and_classes(tables)[0], tables)
    rows = [row for row in every if not status or row.status in status]
    _write(write_review(rows), out, count(len(rows), "mapping"))
    if out is not None:
        for line in by_status(row.status for row in rows):
            output.remark(line)
        output.remark(f"fill in the column decision, then: kgdx mappings apply {out}")


def apply(file: File, no_update: bool = flag(KEEP), store: Store = None) -> None:
    """Keep the decisions of an edited review, and apply them."""
    from kgdx.ingest.alignment.mappings import names_and_classes
    from kgdx.ingest.alignment.review import read_review

    _take(read_review(file, names_and_classes(_tables(store))[1]), store, update=not no_update)


def export(
    out: Path | None = option(None, "FILE", "Where to write it; standard output by default.", *OUT),
    sssom: bool = option(True, "", "All mappings, or people's decisions only.", "--sssom/--decisions"),
    store: Store = None,
) -> None:
    """Write the mappings of the graph as SSSOM/TSV."""
    from kgdx.config import Settings
    from kgdx.ingest.alignment.decisions import Decisions
    from kgdx.ingest.alignment.mappings import names_and_classes, vocabulary_tables
    from kgdx.ingest.alignment.review import stated_mappings
    from kgdx.results.words import count
    from kgdx.terms.names.sssom import write_sssom

    if not sssom:
        decisions = Decisions.read(Settings.load(store).graph_folder)
        text = write_sssom(decisions.statements, title="Reviewed mappings")
        _write(text, out, count(len(decisions.statements), "decision"))
        return
    with inputs.graph(store) as graph:
        names, _ = names_and_classes(vocabulary_tables(graph.store))
        statements = stated_mappings(graph.store, names)
        text = write_sssom(statements, title="Mappings of a kgdx graph", set_id=f"urn:kgdx:graph:{graph.fingerprint}")
    _write(text, out, count(len(statements), "mapping"))


def import_(file: File, no_update: bool = flag(KEEP), store: Store = None) -> None:
    """Take the mappings of an SSSOM file as decisions.

    Mappings with predicate_modifier Not are rejections. What the graph has no place for is left out and counted.
    """
    from kgdx.ingest.alignment.mappings import all_names, names_and_classes
    from kgdx.ingest.alignment.review import usable
    from kgdx.terms.names.sssom import read_sssom

    found, tables = read_sssom(file), _tables(store)
    statements, left = usable(file, found, names_and_classes(tables)[1], all_names(tables))
    for reason, number in sorted(left.items(), key=lambda item: (-item[1], item[0])):
        output.remark(f"left out: {number:,} ({reason})")
    _take(statements, store, update=not no_update)


def mesh(
    name: str = argument(..., "NAME", "A name, in English."),
    branch: list[str] | None = option(None, "TREE", "Only in this branch of the tree, such as C; repeatable."),
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Say which MeSH descriptor a name means, and why."""
    from kgdx.render.terminal.graph_text import mesh_decision

    with inputs.graph(store) as graph, graph.mesh() as index:
        found = index.map_to_mesh(name, branches=branch or [])
    output.present(found, as_json, mesh_decision)


def _tables(store: str | None) -> list[GraphTable]:
    from kgdx.ingest.alignment.mappings import vocabulary_tables

    with inputs.graph(store) as graph:
        return vocabulary_tables(graph.store)


def _take(statements: Sequence[MappingStatement], store: str | None, *, update: bool) -> None:
    """Keep decisions, and let the graph be inferred again."""
    from kgdx.ingest.alignment.review import summary
    from kgdx.render.terminal.build_text import build_progress, report

    if not statements:
        raise UsageError("there are no decisions in it", hint="fill in the column decision, or give another file")
    output.remark(summary(statements))
    with build_progress() as tell:
        built = api.decide(statements, store=store, now=update, progress=tell)
    if built is not None:
        output.show(report(built))


def _write(text: str, out: Path | None, what: str) -> None:
    if out is None:
        print(text, end="")
    else:
        out.write_text(text, encoding="utf-8")
        output.remark(f"wrote {what} to {out}")
