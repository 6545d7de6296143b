"""Publications: those that relations carry without a network, PubMed's on request, and never a patient's words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from actions.fakes import Fake
from actions.packs import FLU, state
from conftest import require_module
from kgdx.actions import Cite
from kgdx.answer.artifacts import citations_of
from kgdx.episode import Kind, State, step
from kgdx.errors import StoreError
from kgdx.literature import Found, Literature, Publication, PubMed, PubMedAccess
from literature.ncbi import serving

WORDS = "My name is Ada Lovelace and I cough; what is it?"


class Books:
    """A literature database that remembers what it was asked."""

    def __init__(self, found: Found | None = None, error: Exception | None = None) -> None:
        self.asked: list[tuple[Mapping[str, Sequence[str]], Sequence[str], int]] = []
        self.found, self.error = found or Found(), error

    def find(self, names: Mapping[str, Sequence[str]], pmids: Sequence[str], limit: int) -> Found:
        self.asked.append((names, pmids, limit))
        if self.error is not None:
            raise self.error
        return self.found


def graph(literature: Literature | None = None) -> Any:
    made: Any = Fake()
    made.answers["publications_by_ids"] = [{"id": "PMID:8", "title": "On cough"}]
    described = {"id": FLU, "name": "flu", "name_zh": "流感", "synonyms": ["influenza", "流感"]}
    made.answers["descriptions_of_diseases"] = [{**described, "text": None, "source": "book"}]
    made.literature = literature
    return made


def start(**more: Any) -> State:
    return state(WORDS, **({"citations": (), "described": ()} | more))


def problems(made: State) -> list[str]:
    results = (segment for segment in made.log if segment.kind is Kind.RESULT)
    return [problem["message"] for segment in results for problem in segment.data.get("problems", ())]


def test_publications_that_relations_carry_need_no_network() -> None:
    books = Books()
    made = step(graph(books), start(), Cite())
    assert [(each.id, each.title, each.about) for each in citations_of(made)] == [
        ("PMID:7", "", (FLU,)),
        ("PMID:8", "On cough", (FLU,)),
        ("PMID:9", "", (FLU,)),
    ]
    assert {each.origin for each in citations_of(made)} == {"graph"}
    assert books.asked == []
    assert citations_of(step(graph(books), made, Cite())) == citations_of(made)


def test_pubmed_is_given_names_of_the_graph_and_nothing_of_the_words_of_a_user() -> None:
    books = Books()
    made = step(graph(books), start(), Cite(pubmed=True, limit=2))
    assert books.asked == [({FLU: ("flu", "influenza")}, ["7", "8", "9"], 2)]
    recorded = str([segment.to_dict() for segment in made.log])
    assert "Ada" not in recorded
    assert "cough; what" not in recorded


def test_what_pubmed_finds_completes_and_adds_to_what_the_graph_has() -> None:
    seven = Publication("7", "On flu", ("Doe J",), "J Test", "2020", "10.1/7", "It spreads.")
    new = Publication("70", "More on flu", ("Roe R",), "J Test", "2021")
    made = step(graph(Books(Found({FLU: (new, seven)}, (seven,)))), start(), Cite(pubmed=True))
    by_id = {each.id: each for each in citations_of(made)}
    assert list(by_id) == ["PMID:7", "PMID:8", "PMID:9", "PMID:70"]
    assert (by_id["PMID:7"].title, by_id["PMID:7"].origin, by_id["PMID:7"].doi) == ("On flu", "graph", "10.1/7")
    assert (by_id["PMID:70"].origin, by_id["PMID:70"].about) == ("pubmed", (FLU,))


@pytest.mark.parametrize(
    ("literature", "problem"),
    [
        (None, "PubMed: it was not asked: set KGDX_PUBMED_EMAIL to the address that NCBI asks for"),
        (Books(Found(problems=("it answers 429",))), "PubMed: it answers 429"),
        (Books(error=StoreError("the shelf broke")), "PubMed: the shelf broke"),
    ],
)
def test_whatever_fails_the_publications_of_the_graph_stay_and_the_log_says_what(
    literature: Literature | None, problem: str
) -> None:
    made = step(graph(literature), start(), Cite(pubmed=True))
    assert [each.id for each in citations_of(made)] == ["PMID:7", "PMID:8", "PMID:9"]
    assert problems(made) == [problem]


def test_settings_that_cannot_be_used_do_not_fail_an_answer() -> None:
    class Broken(Fake):
        @property
        def literature(self) -> Literature:
            raise StoreError("no settings")

    made: Any = Broken()
    made.answers |= {"publications_by_ids": [], "descriptions_of_diseases": []}
    assert problems(step(made, start(), Cite(pubmed=True))) == ["PubMed: no settings"]


def test_an_answer_cites_what_pubmed_returned_over_http(tmp_path: Path) -> None:
    require_module("Bio", "pubmed")
    with serving() as server:
        books = PubMed(PubMedAccess("ada@example.org", base_url=server.url, seconds=30.0), tmp_path)
        made = step(graph(books), start(), Cite(pubmed=True))
        books.close()
    assert [each.id for each in citations_of(made)[:3]] == ["PMID:7", "PMID:8", "PMID:9"]
    assert [each.id for each in citations_of(made)[3:]] == ["PMID:101", "PMID:102", "PMID:103"]
    assert str(citations_of(made)[3]) == "Doe J, The Test Group. Report 101. J Test 2021. PMID:101"
    sent = str(server.requests)
    assert "Ada" not in sent
    assert "Lovelace" not in sent
    assert '"flu"[Title/Abstract] OR "influenza"[Title/Abstract]' in sent
