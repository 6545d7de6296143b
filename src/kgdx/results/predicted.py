"""What a graph's embeddings expect: predicted links of a node, and its nearest nodes, each with what speaks for it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Node:
    """A node of the graph, with the cosine of its latent to that of the node it is compared with, if any."""

    id: str
    kind: str
    name: str
    cosine: float | None = None


@dataclass(frozen=True, slots=True)
class Prediction:
    """A link that a model expects to a node; where the graph states it, it is a fact, and no prediction.

    The ``score`` is the decoder's: only its order has a meaning. The calibrated ``probability`` is ``None`` where no
    link was held out of training, as the paper trains; ``by_degree`` is its place where candidates are ordered by
    nothing but how many such links they have. ``similar`` is what the asking node is known to be linked to and is
    nearest to the other end, ``shared`` what is nearest to the asking node and is known to have the link.
    """

    node: Node
    score: float
    probability: float | None
    by_degree: int
    known: bool
    similar: tuple[Node, ...]
    shared: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Predictions:
    """What a model expects of one node by one relation of the ontology, the most probable first.

    ``embeddings`` is the digest of the model; ``known`` how many such links the graph states, ``candidates`` how many
    nodes there are to be linked to. The calibration error is on links held out of training, if any were;
    ``reliability`` has of bins of these, and of pairs that are none: mean probability, share of links, weight.
    """

    node: Node
    relation: str
    model: str
    embeddings: str
    rows: tuple[Prediction, ...]
    known: int
    candidates: int
    calibration_error: float | None
    reliability: tuple[tuple[float, float, float], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {"schema": "kgdx.predictions/1", **asdict(self)}


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The nodes whose latents are nearest to that of a node, by embeddings and their digest, the nearest first.

    Each comes with what the graph states that both have (at most five), and how much that is.
    """

    node: Node
    model: str
    embeddings: str
    rows: tuple[tuple[Node, tuple[Node, ...], int], ...]

    def to_dict(self) -> dict[str, Any]:
        rows = [{**asdict(node), "shared": [asdict(each) for each in both], "n": n} for node, both, n in self.rows]
        return {"schema": "kgdx.neighbours/1", **asdict(self), "rows": rows}
