"""Commands about Neo4j: a local server, copies of the graph, and Neo4j Browser."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path

import typer

import kgdx
from kgdx import api
from kgdx.cli import inputs, options, output
from kgdx.cli.options import Json, Store, TermOptions, add, add_typer, argument, flag, option
from kgdx.errors import StoreError
from kgdx.lazy import lazy_pattern

ADDRESS = "Address of the Neo4j, as bolt://…; by default that of `kgdx neo4j up`."
_RUN = lazy_pattern(r"run:\S+")


def register(app: typer.Typer) -> None:
    group = add_typer(app, "neo4j", "A local Neo4j, and databases of others.", up, down, status, shell_url, export)
    options.add_group(group, "mapping", "Databases that others built, read through a mapping.")
    add(app, push, pull, browse)


def up(
    bolt_port: int | None = option(None, "PORT", "Port of the Bolt protocol.", min=1, max=65535),
    http_port: int | None = option(None, "PORT", "Port of Neo4j Browser.", min=1, max=65535),
    heap: str = option("1g", "SIZE", "Memory for Java, such as 1g."),
    as_json: Json = False,
) -> None:
    """Start a local Neo4j.

    It listens on this machine only and has a password of its own; the first time, the server is fetched.
    """
    from kgdx.config import Settings
    from kgdx.graph.neo4j.local_server import up as start
    from kgdx.render.terminal.graph_text import server

    info = start(
        Settings.load(), bolt_port=bolt_port, http_port=http_port, heap=heap, progress=lambda line: output.remark(line)
    )
    output.present(info, as_json, server)


def down() -> None:
    """Stop the local Neo4j; its data stays."""
    from kgdx.config import Settings
    from kgdx.graph.neo4j.local_server import down as stop

    output.remark("stopped" if stop(Settings.load()) else "it was not running")


def status(as_json: Json = False) -> None:
    """Show whether the local Neo4j runs, and where.

    The exit code is 6 when it does not.
    """
    from kgdx.config import Settings
    from kgdx.graph.neo4j import local_server
    from kgdx.render.terminal.graph_text import server

    info = local_server.status(Settings.load())
    if info is None:
        raise StoreError("the local Neo4j is not running", hint="start it with `kgdx neo4j up`")
    output.present(info, as_json, server)


def shell_url(
    query: str = argument("", "", "Cypher to fill in."),
) -> None:
    """Print the address of Neo4j Browser on the local server."""
    from kgdx.config import Settings
    from kgdx.graph.neo4j.browser_links import shell_url as address

    typer.echo(address(Settings.load(), query))


def export(
    folder: Path = argument(..., "FOLDER", "The folder to write."),
    force: bool = flag("Replace an export that is there."),
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Write the graph as files that `neo4j-admin` imports.

    The page in the folder tells what to do with them. Example: kgdx neo4j export for-our-server
    """
    from kgdx.render.terminal.graph_text import exported

    report = api.export(folder, store=store, force=force, progress=output.remark)
    output.present(report, as_json, exported)


def push(
    uri: str | None = argument(None, "URI", ADDRESS),
    force: bool = flag("Replace what the Neo4j holds."),
    discard_saved: bool = flag("Do not carry over what was saved there alone (cases, runs)."),
    sessions: int | None = option(None, "N", "How many write at once where the copy goes over Bolt.", min=1, max=64),
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Copy the embedded graph into a Neo4j.

    Counts and content are compared afterwards, those of large relations by samples.
    """
    from kgdx.render.terminal.graph_text import copied

    report = api.push(
        store=store,
        neo4j=uri,
        force=force,
        keep_saved=not discard_saved,
        sessions=sessions,
        progress=output.remark,
    )
    output.present(report, as_json, copied)


def pull(
    uri: str | None = argument(None, "URI", ADDRESS),
    force: bool = flag("Replace the embedded graph."),
    leave_out: bool = flag("Leave out, and list, what the ontology has no place for."),
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Copy the graph of a Neo4j into an embedded one.

    What does not conform to the ontology is refused. Counts and fingerprint are compared afterwards.
    """
    from kgdx.render.terminal.graph_text import copied

    report = api.pull(store=store, neo4j=uri, force=force, leave_out=leave_out, progress=output.remark)
    output.present(report, as_json, copied)


def browse(
    what: str | None = argument(None, "RUN|TEXT|FILE|-", "A saved run, such as run:0123456789abcdef; or the patient."),
    *,
    terms: TermOptions,
    disease: list[str] | None = option(
        None, "ID", "A candidate whose evidence to draw; can be repeated.", "--disease", "-d"
    ),
    top: int = option(1, "N", "How many, where none is named.", "--top", "-n", min=1, max=20),
    neo4j: str | None = option(None, "URI", "The Neo4j; by default that of `kgdx neo4j up`."),
    browser: str | None = option(None, "URL", "Where its Browser is, such as http://host:7474."),
    push: bool = flag("Copy the graph to a Neo4j that has none or another one."),
    open_it: bool = flag("Open the link, rather than only print it.", "--open"),
    style: bool = flag("Say where the style and the saved queries are."),
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Show evidence paths in Neo4j Browser.

    Brings the case and the run to the Neo4j if need be, and prints a link with the query. Example: kgdx browse note.txt
    """
    if style:
        _style(as_json)
        return
    named = what is not None and _RUN.fullmatch(what)
    given = None if named else inputs.one(what)
    result: kgdx.Diagnosis | str = str(what)
    if not named:
        inputs.check_given(given, terms)
        with inputs.graph(store) as graph:
            patient = inputs.with_terms(given, terms, graph)
            result = graph.diagnose(patient, top=max(top, 20), explain=0)
    found = kgdx.browse(
        result,
        disease or (),
        top=top,
        store=store,
        neo4j=neo4j,
        browser=browser,
        push=push or _ask,
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
    if open_it:
        typer.launch(found.url)


def _ask(why: str) -> bool:
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
