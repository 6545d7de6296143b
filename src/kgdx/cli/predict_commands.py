"""Commands that ask a graph's embeddings: predicted links and nearest nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from kgdx.cli import inputs, options
from kgdx.cli.options import Json, Learned, Store, argument, flag, option
from kgdx.errors import UsageError

Rows = Annotated[int, typer.Option("--top", "-n", metavar="N", min=1, max=1000, help="How many to list.")]


@dataclass(frozen=True, slots=True)
class Keeping:
    """What becomes of predictions."""

    save: bool = flag("Keep them in the graph, as relations PREDICTED, which are no facts.")
    drop: str | None = option(None, "MODEL", "Take a model's kept predictions out of the graph.")


def predict(
    keeping: Keeping,
    node: str | None = argument(None, "NODE", "A name or an id; disease:, symptom: … may stand before."),
    relation: str | None = argument(None, "RELATION", "Name of the ontology, such as has_symptom."),
    top: Rows = 10,
    known: bool = flag("List also what the graph states."),
    embeddings: Learned = None,
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Predict links that the graph does not state.

    They are no facts, and nothing in kgdx takes them for such. `kgdx run predictions limit=20` lists those that were
    kept. Examples: kgdx predict disease:influenza has_symptom; kgdx predict symptom:fever has_symptom --top 5; kgdx
    predict --drop vgae
    """
    if keeping.drop is not None:
        if node is not None:
            raise UsageError("--drop goes without a node", hint="first drop, then predict")
        with inputs.graph(store) as graph:
            gone = graph.drop_predictions(keeping.drop)
        options.write_json({"model": keeping.drop, "dropped": gone}) if as_json else print(f"dropped {gone:,}")
        return
    if node is None or relation is None:
        raise UsageError(
            "a node and a relation are needed", hint="such as `kgdx predict disease:influenza has_symptom`"
        )
    with inputs.graph(store) as graph:
        found = graph.predict(node, relation, top=top, embeddings=embeddings, known=known)
        kept = graph.keep_predictions(found) if keeping.save else None
    if kept is not None:
        options.remark(f"kept {kept:,} predictions of {found.model}, apart from the facts")
    from kgdx.render.terminal.learned_text import predictions

    options.present(found, as_json, predictions)


def nearest(
    node: Annotated[str, typer.Argument(metavar="NODE", help="As for `kgdx predict`.")],
    top: Rows = 10,
    embeddings: Learned = None,
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Find the nodes that are nearest to one.

    Example: kgdx nearest disease:asthma
    """
    with inputs.graph(store) as graph:
        found = graph.nearest(node, top=top, embeddings=embeddings)
    from kgdx.render.terminal.learned_text import neighbours

    options.present(found, as_json, neighbours)
