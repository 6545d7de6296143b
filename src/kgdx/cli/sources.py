"""Commands about sources: which there are, their licences, and sources of one's own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgdx.cli import output
from kgdx.cli.options import Json, Store

if TYPE_CHECKING:
    from kgdx.load.manifest import Manifest

WRONG = 5

group = typer.Typer(help="List the sources, or make one of your own.", invoke_without_command=True)


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    group.callback()(sources)
    for command in (new, check, accept):
        group.command()(command)
    app.add_typer(group, name="sources")


def sources(context: typer.Context, as_json: Json = False) -> None:
    """List the sources that can be loaded: those that ship with kgdx, and your own."""
    if context.invoked_subcommand is not None:
        return
    from kgdx.load.info import sources as every
    from kgdx.show.sources import source_list

    found = every()
    if as_json:
        output.write_json([each.model_dump(mode="json", by_alias=True) for each in found])
    else:
        output.show(source_list(found))


def new(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="What the source is to be called: small letters, digits, _.")
    ],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="CSV, TSV, JSON lines or Parquet; compressed or not.")],
    to: Annotated[
        Path | None,
        typer.Option("--out", "--output", "-o", metavar="FILE", help="File to write; NAME.yaml by default."),
    ] = None,
) -> None:
    """Write a first manifest for a file of yours, with a guess at what its columns mean.

    Example: kgdx sources new my_annotations annotations.csv
    """
    from kgdx.errors import UsageError
    from kgdx.load.manifest import manifests
    from kgdx.load.scaffold import scaffold
    from kgdx.schema import load_schema

    target = to or Path(f"{name}.yaml")
    if target.exists():
        raise UsageError(f"{target} is there already", hint="give another file with --out")
    if name in manifests() and manifests()[name].shipped:
        raise UsageError(f"a source called {name} ships with kgdx", hint="choose another name")
    beside = file.absolute().parent == target.absolute().parent
    target.write_text(scaffold(name, file, load_schema(), file.name if beside else str(file.absolute())), "utf-8")
    print(target)
    output.remark(f"read it, mend it, then: kgdx sources check {target}")


def check(
    manifest: Annotated[str, typer.Argument(metavar="MANIFEST", help="A manifest's file, or the name of a source.")],
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="The source's file; by default the manifest's own.")
    ] = None,
    rows: Annotated[int, typer.Option(metavar="N", min=0, max=100, help="How many rows of each table to show.")] = 3,
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Say what a manifest would load, merge and refuse, and why; no graph is touched.

    The ends of relations are looked for in the graph that is there, if any. The exit code is 5 where the manifest is
    wrong or nothing can be loaded. Example: kgdx sources check my_annotations.yaml
    """
    from dataclasses import asdict

    from kgdx.api import readers
    from kgdx.config import Settings
    from kgdx.load.agreement import disagreements
    from kgdx.load.folder import GraphFolder
    from kgdx.load.manifest import manifests
    from kgdx.load.sources import FORMATS
    from kgdx.load.trial import attempt, file_of
    from kgdx.schema import load_schema
    from kgdx.show.sources import tried, wrong

    found = _manifest(manifest)
    known = manifests([] if found.shipped or found.path is None else [found.path])
    if problems := disagreements(found, load_schema(), known, [*FORMATS, *readers()]):
        if as_json:
            output.write_json({"faults": [asdict(each) for each in problems]})
        else:
            output.show(wrong(found, problems))
        raise typer.Exit(WRONG)
    folder = GraphFolder(Settings.load(store).graph_folder)
    trial = attempt(found, file or file_of(found), load_schema(), folder, rows=rows, readers=readers())
    if as_json:
        output.write_json(trial.to_dict())
    else:
        output.show(tried(found, trial))
    if not trial.counts.loaded + trial.counts.merged:
        raise typer.Exit(WRONG)


def accept(
    name: Annotated[str, typer.Argument(metavar="SOURCE", help="Name of the source, or its manifest's file.")],
) -> None:
    """Accept a source's licence, which is remembered with the date."""
    accept_licence(name)


def accept_licence(name: str, words: Sequence[str] = ()) -> None:
    """Remember that the user accepts the licence of a source, and say which it is.

    Args:
        name: Its name, or the path of its manifest.
        words: Sources as a command line gives them, among them perhaps the path of its manifest.
    """
    from kgdx.config import Settings
    from kgdx.load.choice import accept as remember
    from kgdx.load.manifest import is_manifest

    paths = (word.partition("=")[0] for word in words)
    found = _manifest(name, [Path(path).expanduser() for path in paths if is_manifest(path)])
    remember(found, Settings.load().home)
    output.remark(f"accepted the licence of {found.title}: {found.licence} ({found.homepage})")


def _manifest(word: str, more: Sequence[Path] = ()) -> Manifest:
    """A manifest by its path or by its source's name."""
    from kgdx.load.manifest import is_manifest, manifest, read_manifest

    return read_manifest(Path(word).expanduser(), named=False) if is_manifest(word) else manifest(word, more)
