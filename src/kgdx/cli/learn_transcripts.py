"""The command that writes transcripts in the protocol of a language model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from kgdx.cli import inputs, options
from kgdx.cli.options import Json, Store, grouped


@dataclass(frozen=True, slots=True)
class Writing:
    """What is written down, and how."""

    policy: Annotated[str, typer.Option(metavar="NAME", help="Whose acts, such as fixed.")] = "fixed"
    notation: Annotated[
        Literal["tags", "calls"], typer.Option(help="How acts are written: in tags, or as calls in JSON.")
    ] = "tags"
    form: Annotated[
        Literal["transcripts", "verl"], typer.Option("--format", help="JSON lines, or rows for verl as Parquet.")
    ] = "transcripts"
    least: Annotated[
        float | None, typer.Option(metavar="REWARD", help="Only transcripts with at least this reward.")
    ] = None
    result: Annotated[int, typer.Option(metavar="N", min=16, help="Characters of what an act is answered by.")] = 2_000


@grouped
def transcripts(
    cases: Annotated[str, typer.Argument(metavar="FILE|FOLDER|-", help="Cases that state their diagnosis; or .gz.")],
    to: Annotated[Path, typer.Option("--out", "--output", "-o", metavar="FILE", help="Where they are written.")],
    writing: Writing,
    split: Annotated[
        Path | None, typer.Option("--split", metavar="FILE", help="Only those to train on, by `kgdx split`.")
    ] = None,
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Write down what a policy does, to warm a model up.

    What it does with cases is written as a language model would. Example: kgdx learn transcripts cases.jsonl --policy
    fixed -o transcripts.jsonl
    """
    from kgdx.case import Case
    from kgdx.case.splits import Split
    from kgdx.episode.policy import make_policy
    from kgdx.learn.recorded_cases import RecordedCases
    from kgdx.learn.tag_transcripts import Transcripts, verl_rows, write_transcripts, write_verl
    from kgdx.policies.tags import TagsPolicy

    given = [case for case in inputs.many(cases) if isinstance(case, Case)]
    if split is not None:
        given = Split.read(split).only(given, "train")
    model = TagsPolicy(notation=writing.notation, result=writing.result, top=0, explain=0)
    with inputs.graph(store) as graph:
        ward = RecordedCases.of(graph, given, known=None)
        if writing.form == "verl":
            count = write_verl(verl_rows(ward, ward.ids, model), to)
        else:
            made = Transcripts(ward, make_policy(writing.policy), model)
            with options.progress_bar("transcripts", len(ward.ids)) as advance:
                count = write_transcripts(made.all(ward.ids, advance), to, writing.least)
    if as_json:
        options.write_json({"file": str(to), "transcripts": count, "cases": len(given)})
    else:
        print(f"{count:,} of {len(given):,} cases: {to}")
