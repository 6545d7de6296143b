"""Ways to order the diseases of a graph for a patient, by name: what retrieval is compared by, and what is re-ranked.

Each is a few scorers with the weights that ``ranking/weights.yaml`` has under its name. The product's own ranking is
one of them, ``fused``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

from kgdx.arrays.sparse import Floats
from kgdx.case.patient import Case
from kgdx.errors import UsageError
from kgdx.rank.fusion import Weights
from kgdx.rank.query import Query
from kgdx.rank.ranker import Findings, Ranker
from kgdx.registry import Registry

if TYPE_CHECKING:
    from kgdx.graph.snapshot import Snapshot
    from kgdx.rank.ranking_model import RankModel

FUSED = "fused"
"""The method that `kgdx diagnose` uses unless it is told otherwise."""


class Retrieval:
    """Scores every disease for a patient by some scorers; a subclass has a name, and may join them otherwise.

    The ``ranker`` ranks by the method's scorers: its candidates, explanations and names are those of any ranker.
    """

    name: ClassVar[str]

    def __init__(self, ranker: Ranker) -> None:
        self.ranker = ranker

    @classmethod
    def open(
        cls,
        snapshot: Snapshot,
        model: RankModel | None = None,
        weights: Weights | Mapping[str, float] | str | Path | None = None,
    ) -> Self:
        ranker = Ranker.open(snapshot, cls.weights(weights), model=model)
        if not ranker.scorers:
            what = "this way to retrieve finds nothing in the graph that it reads"
            raise UsageError(what, hint="load symptoms in words, install the extra `encoder`, or take another method")
        return cls(ranker)

    @classmethod
    def weights(cls, given: Weights | Mapping[str, float] | str | Path | None = None) -> Weights:
        return Weights.read(given) if isinstance(given, Mapping) else Weights.read(given).of_method(cls.name)

    def query(self, case: Case | Findings) -> Query:
        return self.ranker.query(case)[0]

    def scores(self, query: Query) -> Floats:
        return self.ranker.score_query(query).total


class Fused(Retrieval):
    """The product's own ranking: all scorers that the file of weights uses."""

    name = FUSED

    @classmethod
    def weights(cls, given: Weights | Mapping[str, float] | str | Path | None = None) -> Weights:
        return Weights.read(given)


_MIXED = {
    "in-words": "The scorers of words, weighed for everyday complaints among diseases that are described in words.",
    "in-words-learned": "The same with the learned vectors of the graph.",
    "by-hand": "Scorers that compare words, learned vectors and walks, weighed by hand.",
    "bm25": "BM25 over the symptoms in words and names.",
    "meaning": "The mean over the phrases of the standardised best match in meaning.",
    "mean": "The cosine with the mean vector of the disease's symptoms: GPT-RagAD without its network.",
    "gist": "The greatest cosine of all words together with a symptom or name.",
    "name-cosine": "The greatest cosine of a phrase with a name of the disease.",
    "walk": "A random walk with restart from the findings.",
    "mentions": "How many texts name the disease, whoever the patient is.",
    "vgae-mean": "GPT-RagAD's layer one: mean latents of its graph auto-encoder.",
    "vgae-best": "Best matches in the learned space.",
}
globals().update({name: type(name, (Retrieval,), {"name": name, "__doc__": what}) for name, what in _MIXED.items()})
METHODS: Registry[Retrieval] = Registry(
    "retrieval method", "kgdx.retrieval", {FUSED: f"{__name__}:Fused"} | {name: f"{__name__}:{name}" for name in _MIXED}
)
"""Name → class: the built-in methods, and those that packages name in the entry-point group ``kgdx.retrieval``."""
