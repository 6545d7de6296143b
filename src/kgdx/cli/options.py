"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Store = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="PATH|URI",
        help="Folder of the graph, or bolt://… of a Neo4j; also by KGDX_STORE.",
        envvar="KGDX_STORE",
        show_envvar=False,
    ),
]
Mapping = Annotated[
    Path | None,
    typer.Option(
        "--mapping",
        metavar="FILE",
        help="What the names of the Neo4j stand for, where others built it; also by KGDX_NEO4J_MAPPING.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Html = Annotated[
    Path | None,
    typer.Option("--html", metavar="FILE", help="Also write it as one page for a browser, a phone or paper."),
]
Force = Annotated[
    bool, typer.Option("--force", help="Let --html replace a file that is no such page.", show_default=False)
]
Top = Annotated[int, typer.Option("--top", "-n", metavar="N", min=1, max=1000, help="How many diseases to list.")]
Policy = Annotated[str, typer.Option("--policy", metavar="NAME", help="Who chooses the steps of the diagnosis.")]
Encoder = Annotated[
    bool,
    typer.Option("--encoder", help="Also read by meaning what no name matches (English; needs kgdx[encoder])."),
]
CaseBank = Annotated[
    bool,
    typer.Option("--case-bank", help="Also match with the patients in the graph (never of the same publication)."),
]
Observed = Annotated[
    list[str] | None,
    typer.Option(
        "--hpo",
        metavar="TERM",
        help="A finding that is present: HPO id or name; can be repeated.",
    ),
]
Excluded = Annotated[
    list[str] | None,
    typer.Option("--exclude-hpo", metavar="TERM", help="A finding that is absent, likewise."),
]
CaseArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="TEXT|FILE|-",
        help="The patient in words; a file (text, phenopacket, JSON); or - for standard input.",
    ),
]
