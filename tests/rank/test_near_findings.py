"""What is similar to a finding, by the ontology and by meaning; and what of a case is evidence once, twice or never."""

from __future__ import annotations

import numpy as np
import pytest

from kgdx.case.patient import Case, Unread
from kgdx.errors import MissingExtraError
from kgdx.graph.case_index import UNIT
from kgdx.rank import Ranker
from kgdx.rank.clauses import unread
from kgdx.rank.near_findings import NearFindings
from kgdx.terms.measured.amounts import MEASURED
from kgdx.terms.phrase_vectors import PhraseVectors
from small_graph import FEVER, FOCAL, SEIZURE, SHORT, STATUS, Topics


def test_kin_are_similar_by_the_ontology_the_finding_itself_most(ranker: Ranker) -> None:
    near = NearFindings(ranker)
    seizure, fever, unknown = near.by_ontology([SEIZURE, FEVER, "HP:9999999"])
    told = {row["id"]: row["similarity"] for row in near.rows([seizure])}
    assert {SEIZURE, STATUS, FOCAL} <= told.keys() and not {FEVER, SHORT} & told.keys()
    assert max(told.values()) == told[SEIZURE] <= UNIT and list(told.values()) == sorted(told.values(), reverse=True)
    assert [row["id"] for row in near.rows([fever])] == [FEVER] and near.rows([unknown]) == []
    assert near.by_ontology([SEIZURE])[0] is seizure, "a list is made once"


def test_findings_are_similar_to_a_phrase_by_the_cosine_of_their_names(ranker: Ranker) -> None:
    names, rows = ["swollen toe", "muscles ache"], np.array([ranker.names.terms[each] for each in (FEVER, SHORT)])
    near = NearFindings(ranker, PhraseVectors(Topics(), Topics().encode(names), rows))
    podagra, myalgia = near.by_meaning(["podagra", "myalgia"])
    assert [(row["id"], row["similarity"]) for row in near.rows([podagra, myalgia])] == [(FEVER, UNIT), (SHORT, UNIT)]
    assert near.by_meaning(["myalgia", "podagra"]) == [myalgia, podagra]
    with pytest.raises(MissingExtraError, match="by meaning"):
        NearFindings(ranker).by_meaning(["podagra"])


def test_measured_values_of_no_known_analyte_are_told_and_nothing_else() -> None:
    text = "oddness 9.8 % and plain words, 7 of 9"
    parts = (Unread(0, 13, MEASURED, 9.8, "%"), Unread(18, 29, "no finding"), Unread(31, 37, MEASURED, 7))
    assert [each.message for each in unread(Case("p", text=text, unread=parts))] == [
        "no finding was read from oddness 9.8 %"
    ]
    assert not list(unread(Case("p", text=text, unread=parts[1:])))
