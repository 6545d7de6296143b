"""Actions, and the episode in which a policy chooses among them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from kgdx.actions.answer import Answer
from kgdx.actions.answering import Respond
from kgdx.actions.base import Action, Operations, parse_action
from kgdx.actions.citing import Cite
from kgdx.actions.declare import Diagnose
from kgdx.actions.describing import Describe
from kgdx.actions.diagnosis import Diagnosis
from kgdx.actions.episode import Chosen, Episode, Policy, run, step
from kgdx.actions.evidence import EvidencePath, PathNode, PathRelation
from kgdx.actions.explaining import Explain
from kgdx.actions.inferring import (
    InferByComorbidity,
    InferByCure,
    InferByDrug,
    InferByGene,
    InferByPhenotype,
    InferBySymptom,
    InferByTest,
)
from kgdx.actions.known import Citation, CitedText, Description, Resolved, Sentence
from kgdx.actions.ranking import Rank
from kgdx.actions.reading import Extract
from kgdx.actions.recognising import Recognise
from kgdx.actions.record import Replayed, replay
from kgdx.actions.relating import (
    GetComorbidity,
    GetCooccurrence,
    GetCure,
    GetDrug,
    GetGene,
    GetMedicine,
    GetPhenotype,
    GetSymptom,
    GetTest,
)
from kgdx.actions.retrieving import Infer, Match, Retrieve
from kgdx.actions.state import Author, Limits, Retrieved, Segment, State
from kgdx.results.ranked import NOTICE

_KINDS: tuple[type[Action], ...] = (
    GetSymptom,
    GetTest,
    GetDrug,
    GetCure,
    GetComorbidity,
    InferBySymptom,
    InferByTest,
    InferByDrug,
    InferByCure,
    InferByComorbidity,
    GetPhenotype,
    GetGene,
    GetMedicine,
    InferByPhenotype,
    InferByGene,
    GetCooccurrence,
    Describe,
    Cite,
    Recognise,
    Extract,
    Rank,
    Explain,
    Retrieve,
    Infer,
    Match,
    Diagnose,
    Respond,
)

ACTIONS: Mapping[str, type[Action]] = MappingProxyType({action.name: action for action in _KINDS})
"""Name → action; what a policy may choose from."""

__all__ = [
    "ACTIONS",
    "NOTICE",
    "Action",
    "Answer",
    "Author",
    "Chosen",
    "Citation",
    "Cite",
    "CitedText",
    "Describe",
    "Description",
    "Diagnose",
    "Diagnosis",
    "Episode",
    "EvidencePath",
    "Explain",
    "Extract",
    "GetComorbidity",
    "GetCooccurrence",
    "GetCure",
    "GetDrug",
    "GetGene",
    "GetMedicine",
    "GetPhenotype",
    "GetSymptom",
    "GetTest",
    "Infer",
    "InferByComorbidity",
    "InferByCure",
    "InferByDrug",
    "InferByGene",
    "InferByPhenotype",
    "InferBySymptom",
    "InferByTest",
    "Limits",
    "Match",
    "Operations",
    "PathNode",
    "PathRelation",
    "Policy",
    "Rank",
    "Recognise",
    "Replayed",
    "Resolved",
    "Respond",
    "Retrieve",
    "Retrieved",
    "Segment",
    "Sentence",
    "State",
    "parse_action",
    "replay",
    "run",
    "step",
]
