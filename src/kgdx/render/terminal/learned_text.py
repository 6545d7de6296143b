"""Embeddings in the terminal: what they were learned on, how well links are told, and what they predict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from kgdx.render.terminal.console import Flow, plain
from kgdx.results.predicted import Neighbours, Node, Prediction, Predictions
from kgdx.results.words import clean, count
from kgdx.schema import relation_words

Card = Mapping[str, Any]


def learned(card: Card) -> RenderableType:
    """Return the card of embeddings: nodes, links, and figures of the held-out links where there are any."""
    network, isolated = clean(card["training"]["encoder"]), card["statistics"]["isolated"]
    best = "" if card["best_epoch"] == card["epochs"] else f", those of epoch {card['best_epoch']} kept"
    epochs = f"{count(card['epochs'], 'epoch')}{best}, {card['seconds']:,.0f} s"
    nodes = [(kind, size, isolated[kind]) for kind, size in card["nodes"].items()]
    links = [
        (name, told["links"], ", ".join(f"{kind} {alone:,}" for kind, alone in told["isolated"].items()))
        for name, told in card["statistics"]["relations"].items()
    ]
    parts: list[RenderableType] = [
        Text(f"{clean(card['name'])}: {network}, {card['width']} wide, seed {card['training']['seed']}; {epochs}"),
        *(Text(), plain(("nodes", "", "without a link"), nodes, right=("", "without a link"))),
        *(Text(), plain(("relation", "links", "nodes without one"), links, right=("links",))),
    ]
    if card["figures"]:
        columns = ("held-out links", "AUC", "AP", "by degree", "by names")
        figures = [
            (
                name,
                *(f"{score:.3f}" for score in (told["auc"], told["ap"], told["degree"]["auc"], told["cosine"]["auc"])),
            )
            for name, told in card["figures"].items()
        ]
        parts += [Text(), plain(columns, figures, right=columns[1:])]
    return Group(*parts)


def progress_line(done: int, most: int, loss: float, auc: float | None) -> str:
    """Return how far a training is.

    Example:
        >>> progress_line(10, 200, 1.25, 0.8512)
        'epoch 10 of 200: loss 1.250, AUC of held-out links 0.851'
    """
    held = "" if auc is None else f", AUC of held-out links {auc:.3f}"
    return f"epoch {done:,} of {most:,}: loss {loss:.3f}{held}"


def predictions(found: Predictions) -> RenderableType:
    """Return the predictions as a table, with what is known beside it."""
    against = found.node.kind != "Disease"
    words = relation_words(found.relation, against=against)
    head = Text(f"{named(found.node)}: {words} …", style="bold")
    has = f"{count(found.known, 'such link')} of it in the graph, {found.candidates:,} nodes to be linked to"
    told = f"Predicted by the embeddings {found.model}; no facts. {has}."
    share = ["" if row.probability is None else f"{100 * row.probability:.1f}%" for row in found.rows]
    rows = [
        (likely, row.score, row.by_degree, "known" if row.known else "", named(row.node), because(row))
        for likely, row in zip(share, found.rows, strict=True)
    ]
    columns = ("probability", "score", "by degree", "", words, "because")
    if not rows:
        return Group(head, Text("nothing that the graph does not state already", style="dim"))
    table = plain(columns, rows, right=("probability", "score", "by degree"))
    hubs = sum(row.by_degree <= len(rows) for row in found.rows)
    facts = [
        "by degree: the place by nothing but how many such links a node has; "
        f"{hubs} of these {len(rows)} are among its first {len(rows)}.",
        "No link was held out of training (--held-out 0): scores order, and no probability can be told."
        if found.calibration_error is None
        else f"Expected calibration error on held-out links: {found.calibration_error:.3f}.",
    ]
    return Group(head, Flow(Text(told, style="dim")), table, *(Flow(Text(each, style="dim")) for each in facts))


def neighbours(found: Neighbours) -> RenderableType:
    """Return the nearest nodes as a table, with what they share."""
    head = Text(f"Nearest to {named(found.node)} by the embeddings {found.model}", style="bold")
    rows = []
    for node, both, n in found.rows:
        more = f" and {n - len(both)} more" if n > len(both) else ""
        rows.append((f"{node.cosine:.3f}", named(node), (_listed(both) + more) if n else "nothing stated of both"))
    return Group(head, plain(("cosine", "", "both have"), rows, right=("cosine",)))


def named(node: Node) -> str:
    """Return a node's name and id.

    Example:
        >>> named(Node("KGDX:1", "Symptom", "fever"))
        'fever (KGDX:1)'
    """
    return f"{clean(node.name)} ({clean(node.id)})"


def because(row: Prediction) -> str:
    """Return what speaks for a predicted link: who is known to have it, and what is known that is like it.

    Example:
        >>> node = Node("KGDX:1", "Symptom", "fever", 0.9)
        >>> because(Prediction(node, 1.0, 0.5, 1, False, (node,), ()))
        'like fever'
    """
    parts = [f"as of {_listed(row.shared)}"] if row.shared else []
    parts += [f"like {_listed(row.similar)}"] if row.similar else []
    return "; ".join(parts) or "its place among all"


def _listed(nodes: Iterable[Node]) -> str:
    return ", ".join(clean(node.name) for node in nodes)
