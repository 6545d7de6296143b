"""The command that draws learned embeddings as a map."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kgdx.cli import inputs
from kgdx.cli.options import Learned, Store
from kgdx.errors import UsageError


def embedding_map(
    out: Annotated[Path, typer.Option("--out", "--output", "-o", metavar="FILE", help="Page to write.")],
    kind: Annotated[str, typer.Option(metavar="KIND", help="Which nodes: disease, symptom, phenotype …")] = "disease",
    by: Annotated[str, typer.Option(metavar="links|source", help="What makes the groups.")] = "links",
    phrases: Annotated[
        str, typer.Option(metavar="WORDS", help="A patient's symptoms with ; between them, to be shown in it.")
    ] = "",
    embeddings: Learned = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is no such page.")] = False,
    store: Store = None,
) -> None:
    """Draw a map of learned embeddings as a page: groups, search, nearest nodes, and a patient's place.

    It needs no extra, but for --phrases the one that encodes words. Example: kgdx learn map --out map.html --phrases
    "fever; dry cough"
    """
    from kgdx.api.embedding_map import embedding_map
    from kgdx.cli import page_files
    from kgdx.render.pages.map_page import map_page

    page_files.check(out, force=force)
    said = tuple(part.strip() for part in phrases.split(";") if part.strip())
    if phrases and not said:
        raise UsageError("--phrases holds no words", hint='give symptoms with ; between them: "fever; dry cough"')
    with inputs.graph(store) as graph:
        found = embedding_map(graph, kind=kind, by=by, embeddings=embeddings, phrases=said)
    page_files.write(out, lambda: map_page(found), force=force)
