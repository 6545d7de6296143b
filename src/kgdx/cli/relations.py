"""The command that reads relations from questions and answers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgdx.cli import output
from kgdx.cli.options import Json

if TYPE_CHECKING:
    from kgdx.extract.model import RelationReader
    from kgdx.llm.accounting import Meter


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("extract-relations")(extract_relations)


def extract_relations(
    file: Annotated[
        list[Path], typer.Argument(metavar="FILE…", help="Questions and answers, JSON lines; or compressed.")
    ],
    out: Annotated[
        Path, typer.Option("--out", "--output", "-o", metavar="FOLDER", help="Where finished pages are kept.")
    ],
    llm: Annotated[
        str | None, typer.Option("--llm", metavar="MODEL", help="Ask this model at KGDX_LLM_BASE_URL; else by rules.")
    ] = None,
    vocabulary: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Names that the rules may trust: a medical.json.")
    ] = None,
    only: Annotated[
        str | None, typer.Option("--pages", metavar="A:B", help="Only pages A to B-1, counted from 0.")
    ] = None,
    page_size: Annotated[int, typer.Option(metavar="N", min=1, max=100_000, help="Records of a page.")] = 1000,
    jobs: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, max=64, help="Processes, or questions at a time; KGDX_LLM_CONCURRENCY."),
    ] = None,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Ask again what the model answered before.")] = False,
    as_json: Json = False,
) -> None:
    """Read relations from questions and answers.

    Interrupted, it goes on where it stopped when run again. Then: kgdx update huatuo=FOLDER. Example: kgdx
    extract-relations huatuo.jsonl --out relations
    """
    from kgdx.extract.pages import count
    from kgdx.extract.run import extract
    from kgdx.show.relations import extraction, extraction_progress

    reader, meter, usual = _reader(llm, vocabulary, jobs, cached=not no_cache)
    wanted = _range(only)
    total = count(file, page_size) if wanted is None else len(wanted)
    with extraction_progress(total, meter.priced) as tell:
        done = extract(file, out, reader, size=page_size, only=wanted, jobs=jobs or usual, meter=meter, progress=tell)
    if as_json:
        output.write_json(done.to_dict())
    else:
        output.show(extraction(done, meter.priced))


def _reader(
    llm: str | None, vocabulary: Path | None, jobs: int | None, *, cached: bool
) -> tuple[RelationReader, Meter, int]:
    """Who reads, what counts the cost, and how many at a time."""
    import os
    from dataclasses import replace

    from kgdx.config import Settings
    from kgdx.errors import UsageError
    from kgdx.llm.accounting import Meter

    if llm is None:
        from kgdx.extract.rules import RuleReader
        from kgdx.extract.wording import Vocabulary, read_vocabulary

        known = Vocabulary() if vocabulary is None else read_vocabulary(vocabulary)
        return RuleReader(known), Meter(), os.cpu_count() or 1
    if vocabulary is not None:
        raise UsageError("--vocabulary is for the rules", hint="leave out --vocabulary, or --llm")
    from kgdx.extract.asked import ModelReader
    from kgdx.llm.connect import connect

    settings = Settings.load()
    access = settings.llm(llm)
    access = access if jobs is None else replace(access, concurrency=jobs)
    meter = Meter.of(access)
    cache = settings.cache / "llm" / "answers.sqlite" if cached else None
    return ModelReader.of(connect(access, cache=cache, meter=meter)), meter, access.concurrency


def _range(text: str | None) -> range | None:
    from kgdx.errors import UsageError

    if text is None:
        return None
    found = re.fullmatch(r"(\d{1,9}):(\d{1,9})", text)
    if found is None or int(found[1]) >= int(found[2]):
        raise UsageError(f"--pages {text} is no range", hint="write it as 0:10, for the pages 0 to 9")
    return range(int(found[1]), int(found[2]))
