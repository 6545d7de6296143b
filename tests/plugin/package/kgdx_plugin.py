"""A package outside of kgdx: an action, an encoder, a policy, a scorer and a source, found by their entry points."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import polars as pl

from kgdx.actions import Diagnose, Rank
from kgdx.answer.artifacts import Ranked
from kgdx.episode import Action, Artifact, Policy
from kgdx.ingest.manifest import Source
from kgdx.ingest.records import LINE, Records
from kgdx.rank.scorers import Scorer


@dataclass(frozen=True, slots=True)
class Counted(Artifact):
    """How many findings are present."""

    present: int


class CountFindings(Action):
    """Count the findings that are present."""

    name: ClassVar[str] = "count_findings"
    makes: ClassVar[type[Artifact]] = Counted
    pure: ClassVar[bool] = True

    def run(self, graph, view):
        return Counted(len(view.case.observed))


class CountFirst(Policy):
    """Count the findings, rank, declare."""

    name: ClassVar[str] = "count_first"
    top: int = 3

    def choose(self, state):
        if state.get(Counted) is None:
            return CountFindings()
        return Rank(top=self.top) if state.get(Ranked) is None else Diagnose()


class GeneCount(Scorer):
    """How many genes are known for the candidate."""

    name = "gene_count"

    @classmethod
    def compile(cls, snapshot, model):
        owner = model.candidates.of[snapshot.column("associated_gene", "disease")]
        return {"count": np.bincount(owner[owner >= 0], minlength=model.columns.size).astype(np.float32)}

    def score(self, query):
        return np.log1p(self.arrays["count"])


class Letters:
    """How often each letter occurs, in vectors of length 1."""

    def __init__(self, model=""):
        self.name = f"letters{model}"

    def encode(self, texts):
        signs = "abcdefghijklmnopqrstuvwxyz "
        counts = np.array([[text.lower().count(sign) for sign in signs] for text in texts], np.float32)
        return counts / np.maximum(np.linalg.norm(counts, axis=1, keepdims=True), 1e-9)


class Ward(Source):
    """Lines of ``disease | name | finding``."""

    manifest = Path(__file__).with_name("ward.yaml")

    @staticmethod
    def read(path, manifest):
        cells = [line.split(" | ") for line in path.read_text("utf-8").splitlines()]
        columns = dict(zip(manifest.columns, zip(*cells, strict=True), strict=True))
        return Records({"rows": pl.DataFrame({LINE: range(1, len(cells) + 1), **columns})})
