"""Arguments and options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

Store = Annotated[
    str | None,
    typer.Option(
        "--store",
        help="Folder of the graph, or the address of a Neo4j (bolt://…).",
        envvar="KGDX_STORE",
        show_default="the folder of kgdx",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Top = Annotated[int, typer.Option("--top", "-n", min=1, max=1000, help="How many diseases to list.")]
Policy = Annotated[str, typer.Option("--policy", help="Who chooses the steps of the diagnosis.")]
Observed = Annotated[
    list[str] | None,
    typer.Option("--hpo", help="A finding that is present: an HPO id or a name. Repeat it, or separate by commas."),
]
Excluded = Annotated[
    list[str] | None,
    typer.Option("--exclude-hpo", help="A finding that is absent, likewise."),
]
CaseArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="TEXT|FILE|-",
        help="The patient in words; a file (text, phenopacket, JSON); or - for standard input.",
    ),
]
