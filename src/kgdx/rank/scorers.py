"""The scorers: each turns a case into one score per candidate, and says what each finding adds.

A new scorer is a subclass of :class:`Scorer`, found by its name in :data:`SCORERS`. Scores are compared within one case
only, so a constant that is the same for all candidates is left out.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from kgdx.arrays.sparse import Floats, Ints, mapped
from kgdx.case.patient import Case, Status
from kgdx.errors import StoreError
from kgdx.rank.feature_matrices import Columns
from kgdx.rank.query import Field, Query, Told
from kgdx.registry import Registry

if TYPE_CHECKING:
    from kgdx.graph.snapshot import Snapshot
    from kgdx.rank.ranking_model import RankModel


class Scorer(ABC):
    """Scores every candidate for a case.

    Attributes:
        name: The scorer's name, in weights and in explanations.
        version: Changes when :meth:`compile` or the meaning of its arrays does; older arrays are computed again.
        reads: Which findings :meth:`explain` speaks of.
        standardised: Whether scores are standardised over the candidates before they are weighed. ``False`` for what
            has a unit and a bound of its own, which standardising would take away.
        rest: Rule of the contribution that belongs to no finding.
        reads_terms: Whether it tells diseases apart by phenotypes, so that it can rank a case that has nothing else.
        whole: Whether scores depend on more of the case than the terms that are present and absent: on its
            :attr:`~kgdx.case.Case.background`.
        steady: Whether :meth:`score` returns one array for a person, whatever the findings are.
    """

    name: ClassVar[str]
    version: ClassVar[int] = 1
    reads: ClassVar[Status] = Status.PRESENT
    standardised: ClassVar[bool] = True
    rest: ClassVar[str] = "baseline"
    reads_terms: ClassVar[bool] = True
    whole: ClassVar[bool] = True
    steady: ClassVar[bool] = False

    def __init__(self, model: RankModel, arrays: Mapping[str, Floats]) -> None:
        self.model, self.arrays = model, arrays

    def field(self, query: Query) -> Field | None:
        return None

    @classmethod
    def compile(cls, snapshot: Snapshot, model: RankModel) -> Mapping[str, Floats]:
        return {}

    @abstractmethod
    def score(self, query: Query) -> Floats:
        """Return the score of each candidate; shape (candidates,), higher is better, all finite."""

    def gate(self, query: Query) -> float:
        return 1.0

    def heeded(self, gate: float) -> float:
        return 1.0

    def reading(self, case: Case) -> Hashable:
        return case.background if self.whole else None

    def speaks(self, query: Query) -> bool:
        return True

    def tells(self, query: Query) -> bool:
        return True

    def says(self, query: Query, candidates: Ints) -> Sequence[str]:
        """Return in words what of each candidate's score belongs to no finding; by default nothing beyond the rule."""
        return [""] * len(candidates)

    def explain(self, query: Query, candidates: Ints) -> Floats:
        """Return what each finding adds to the score of some candidates, beyond what it adds to the average one.

        What no finding explains becomes one contribution of rule :attr:`rest`. By default that is all of it. Shape
        (findings that the scorer reads, candidates given).
        """
        return np.zeros((len(query.terms(self.reads)), len(candidates)), np.float32)

    @property
    def applies(self) -> bool:
        return True

    @property
    def heard(self) -> int:
        return 0

    @property
    def hears(self) -> bool:
        return self.heard > 0

    def knows(self, query: Query) -> bool:
        return False

    def told(self, query: Query, candidates: Ints) -> list[list[Told]]:
        """Return what the patient's words add to the score of each candidate; nothing by default."""
        return [[] for _ in candidates]

    def on(self, columns: Columns) -> Self | None:
        """Return the scorer for other columns than the candidates' own, ``None`` where it knows those alone.

        Patients of a case bank and diseases without one publication are such columns. They get no part of a scorer
        that cannot tell.
        """
        return None

    @classmethod
    def open(cls, snapshot: Snapshot, model: RankModel, version: str) -> Self:
        """Return the scorer with its arrays, which are compiled the first time."""
        if cls.compile.__func__ is Scorer.compile.__func__:  # type: ignore[attr-defined]
            return cls(model, {})

        def write(folder: Path) -> None:
            for name, array in cls.compile(snapshot, model).items():
                np.save(folder / f"{name}.npy", array, allow_pickle=False)

        code = hashlib.sha256(f"{cls.__module__}:{cls.__qualname__}".encode()).hexdigest()[:8]
        folder = snapshot.derived(f"scorer-{cls.name}", f"{version}.{cls.version}-{code}", write)
        try:
            files = sorted(folder.glob("*.npy"))
            return cls(model, {file.stem: mapped(file) for file in files})
        except (OSError, EOFError, ValueError) as error:
            hint = "build the graph again with `kgdx build`"
            raise StoreError(f"the arrays of the scorer {cls.name} cannot be read ({error})", hint=hint) from error


SCORERS: Registry[Scorer] = Registry(
    "scorer",
    "kgdx.scorers",
    {
        "likelihood": "kgdx.rank.term_scorers:Likelihood",
        "coverage": "kgdx.rank.term_scorers:Coverage",
        "typicality": "kgdx.rank.term_scorers:Typicality",
        "excluded": "kgdx.rank.term_scorers:Excluded",
        "obligate": "kgdx.rank.term_scorers:Obligate",
        "hub": "kgdx.rank.hub:Hub",
        "words": "kgdx.rank.phrases:WordsScorer",
        "meaning": "kgdx.rank.meanings:MeaningScorer",
        "mean": "kgdx.rank.meanings:MeanMeaning",
        "gist": "kgdx.rank.meanings:Gist",
        "articles": "kgdx.rank.phrases:Articles",
        "names": "kgdx.rank.meanings:NameMeaning",
        "evidences": "kgdx.rank.evidences:Evidences",
        "commonness": "kgdx.rank.commonness:Commonness",
        "prior": "kgdx.rank.commonness:Prior",
        "mentions": "kgdx.rank.commonness:Mentions",
        "walk": "kgdx.rank.walks:Walk",
        "vgae_mean": "kgdx.rank.latents:LatentMean",
        "vgae_best": "kgdx.rank.latents:LatentBest",
        "onset": "kgdx.rank.onset:Onset",
        "course": "kgdx.rank.onset:Course",
        "sex": "kgdx.rank.inheritance:Sex",
        "inheritance": "kgdx.rank.inheritance:Inheritance",
        "gene_evidence": "kgdx.rank.inheritance:Genes",
    },
)
"""Name → scorer: the built-in ones, and those that other packages name in the entry-point group ``kgdx.scorers``."""
