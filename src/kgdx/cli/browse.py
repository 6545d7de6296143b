"""The command that shows a result's evidence in Neo4j Browser."""

from __future__ import annotations

import re
import sys
from dataclasses import asdict, dataclass
from typing import Annotated

import typer

from kgdx.cli import inputs, output
from kgdx.cli.groups import grouped
from kgdx.cli.options import Excluded, Json, Observed, Store

_RUN = re.compile(r"run:\S+")


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(browse)


@dataclass(frozen=True)
class Wanted:
    """Whose evidence is drawn."""

    hpo: Observed = None
    exclude_hpo: Excluded = None
    disease: Annotated[
        list[str] | None,
        typer.Option("--disease", "-d", metavar="ID", help="A candidate whose evidence to draw; can be repeated."),
    ] = None
    top: Annotated[
        int, typer.Option("--top", "-n", metavar="N", min=1, max=20, help="How many, where none is named.")
    ] = 3


@dataclass(frozen=True)
class Where:
    """Where it is drawn."""

    neo4j: Annotated[
        str | None, typer.Option("--neo4j", metavar="URI", help="The Neo4j; by default that of `kgdx neo4j up`.")
    ] = None
    browser: Annotated[
        str | None, typer.Option("--browser", metavar="URL", help="Where its Browser is, such as http://host:7474.")
    ] = None
    push: Annotated[bool, typer.Option("--push", help="Copy the graph to a Neo4j that has none or another one.")] = (
        False
    )
    open_it: Annotated[bool, typer.Option("--open", help="Open the link, rather than only print it.")] = False


@grouped
def browse(
    what: Annotated[
        str | None,
        typer.Argument(metavar="RUN|TEXT|FILE|-", help="A saved run, such as run:0123456789abcdef; or the patient."),
    ] = None,
    *,
    wanted: Wanted,
    where: Where,
    style: Annotated[bool, typer.Option("--style", help="Say where the style and the saved queries are.")] = False,
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Show evidence paths in Neo4j Browser.

    Brings the case and the run to the Neo4j if need be, and prints a link with the query. Example: kgdx browse note.txt
    """
    if style:
        _style(as_json)
        return
    import kgdx

    named = what is not None and _RUN.fullmatch(what)
    given = None if named else inputs.one(what)
    result: kgdx.Diagnosis | str = str(what)
    if not named:
        with inputs.graph(store) as graph:
            patient = inputs.with_terms(given, wanted.hpo, wanted.exclude_hpo, graph)
            result = graph.diagnose(patient, top=max(wanted.top, 20), explain=0)
    found = kgdx.browse(
        result,
        wanted.disease or (),
        top=wanted.top,
        store=store,
        neo4j=where.neo4j,
        browser=where.browser,
        push=where.push or _ask,
        progress=output.remark,
    )
    if as_json:
        output.write_json(asdict(found))
    else:
        if found.saved:
            output.remark(f"saved as {found.run}")
        print(found.url)
        output.remark(f"Browser asks for the password of {found.user}; press the play button to run the query.")
        output.remark("Colours and captions: kgdx browse --style")
    if where.open_it:
        typer.launch(found.url)


def _ask(why: str) -> bool:
    """Ask at a terminal; nobody is asked elsewhere."""
    return sys.stdin.isatty() and sys.stderr.isatty() and typer.confirm(f"{why}: copy this one there?", err=True)


def _style(as_json: bool) -> None:
    from kgdx.resources import resource

    grass, queries = resource("browser", "kgdx.grass"), sorted(resource("browser", "queries").glob("*.cypher"))
    if as_json:
        output.write_json({"style": str(grass), "queries": [str(path) for path in queries]})
        return
    print(grass)
    for path in queries:
        print(path)
    output.remark("Drop a file onto the editor of Neo4j Browser: the style is taken at once, a query can be saved.")
