"""Graph operations: what a policy may do on the graph. An action is a class and its templates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgdx.lazy import names_of

if TYPE_CHECKING:
    from kgdx.actions.answering import Cite, Respond
    from kgdx.actions.describing import Describe
    from kgdx.actions.explaining import Explain
    from kgdx.actions.headers import (
        GetCure,
        GetDrug,
        GetGene,
        GetMedicine,
        GetSymptom,
        GetTest,
        InferByComorbidity,
        InferByCure,
        InferByDrug,
        InferByGene,
        InferByPhenotype,
        InferBySymptom,
        InferByTest,
    )
    from kgdx.actions.reading import Diagnose, Extract, Rank, Recognise
    from kgdx.actions.retrieving import GetComorbidity, GetCooccurrence, GetPhenotype, Retrieve
    from kgdx.actions.tools import Lookup, Match, Search, Summarise
    from kgdx.episode.wish import ACTIONS, Action, parse_action

__all__ = ["ACTIONS", "Action", "Cite", "Describe", "Diagnose", "Explain", "Extract", "GetComorbidity"]
__all__ += ["GetCooccurrence", "GetCure", "GetDrug", "GetGene", "GetMedicine", "GetPhenotype", "GetSymptom", "GetTest"]
__all__ += ["InferByComorbidity", "InferByCure", "InferByDrug", "InferByGene", "InferByPhenotype", "InferBySymptom"]
__all__ += ["InferByTest", "Lookup", "Match", "Rank", "Recognise", "Respond", "Retrieve", "Search", "Summarise"]
__all__ += ["parse_action"]

__getattr__ = names_of(
    "kgdx",
    {
        "actions.answering": "Cite Respond",
        "actions.describing": "Describe",
        "actions.explaining": "Explain",
        "actions.headers": "GetCure GetDrug GetGene GetMedicine GetSymptom GetTest InferByComorbidity InferByCure "
        "InferByDrug InferByGene InferByPhenotype InferBySymptom InferByTest",
        "actions.reading": "Diagnose Extract Rank Recognise",
        "actions.retrieving": "GetComorbidity GetCooccurrence GetPhenotype Retrieve",
        "actions.tools": "Lookup Match Search Summarise",
        "episode.wish": "ACTIONS Action parse_action",
    },
)
