"""Commands that measure accuracy on annotated data."""

from __future__ import annotations

from typing import Annotated

import typer

from kgdx.cli import inputs, measure_answers, output
from kgdx.cli.options import CaseBank, Encoder, Json, Store


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    group = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Measure accuracy on annotated data.")
    group.command("text")(text)
    group.command("rank")(rank)
    group.command("questions")(measure_answers.questions)
    group.command("recall")(measure_answers.recall)
    group.command("answers")(measure_answers.answers)
    app.add_typer(group, name="evaluate")


def text(
    documents: Annotated[str, typer.Argument(metavar="FILE|-", help='JSON lines {"id", "text", "mentions"}; or .gz.')],
    encoder: Encoder = False,
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Measure how well findings are read from text.

    A mention is [start, end, text, HPO id]; a document counts as the set of its terms.
    """
    import kgdx
    from kgdx.evaluate.text import evaluate_text

    with kgdx.open(store, encoder=encoder, progress=output.remark) as graph:
        result = evaluate_text(graph.reader, inputs.json_lines(documents))
    if as_json:
        output.write_json(result)
    else:
        from kgdx.show.evaluation import text_accuracy

        output.show(text_accuracy(result))


def rank(
    cases: Annotated[
        str, typer.Argument(metavar="FILE|FOLDER|-", help="Cases that state their diagnosis: phenopackets, JSON lines.")
    ],
    case_bank: CaseBank = False,
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Measure how often the diagnosis ranks first.

    Phenopackets, or JSON lines {"id", "observed", "excluded", "diseases"} where any equal id counts. A case that fails
    counts as a miss.
    """
    import kgdx
    from kgdx.evaluate.rank import evaluate_rank

    source = inputs.many(cases)
    with kgdx.open(store) as graph, output.progress_bar("cases", inputs.lines(cases)) as advance:
        bank = graph.bank if case_bank else None
        result = evaluate_rank(graph.ranker, graph.snapshot, output.each(source, advance), bank)
    if as_json:
        output.write_json(result)
    else:
        from kgdx.show.evaluation import rank_accuracy

        output.show(rank_accuracy(result))
