"""Names of diseases in short: what people call them, their first word, their abbreviation."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kgdx.terms.names.name_database import write_index
from kgdx.terms.names.name_index import NameIndex
from kgdx.terms.names.suggestions import lay_names
from terms.names.named import nodes

DISEASES = {
    "D:1": "Huntington disease",
    "D:2": "Duchenne muscular dystrophy",
    "D:3": "Cushing disease",
    "D:4": "Cushing syndrome",
    "D:5": "Fabry disease",
    "D:6": "amyotrophic lateral sclerosis",
    "D:7": "Cystic fibrosis",
    "D:8": "囊性纤维化",
    "D:9": "Trimethylaminuria; TMAU",
    "D:10": "Tietz syndrome (TTS)",
    "D:11": "Takotsubo syndrome (TTS)",
    "D:12": "Blindness-scoliosis-arachnodactyly syndrome",
    "D:13": "Colorblindness, deutan",
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NameIndex]:
    file = tmp_path_factory.mktemp("short") / "names.sqlite"
    write_index(file, [nodes("Disease", {id: (name,) for id, name in DISEASES.items()})])
    with NameIndex(file) as opened:
        yield opened


@pytest.mark.parametrize(
    ("name", "id", "method"),
    [
        ("Huntington's", "D:1", "short"),
        ("huntington", "D:1", "short"),
        ("Duchenne", "D:2", "short"),
        ("Fabry", "D:5", "short"),
        ("ALS", "D:6", "exact"),
        ("TMAU", "D:9", "short"),
    ],
)
def test_a_short_name_stands_for_the_one_disease_that_is_called_so(
    index: NameIndex, name: str, id: str, method: str
) -> None:
    found = index.resolve(name)
    assert (found.ids[0], found.method) == (id, method)
    assert found.reason


def test_a_short_name_of_two_diseases_is_not_decided(index: NameIndex) -> None:
    assert index.resolve("TTS").ids == ()
    found = index.resolve("Cushing")
    assert found.ids == ()
    assert {each.name for each in found.candidates} == {"Cushing disease", "Cushing syndrome"}


def test_a_name_leads_to_the_entry_in_the_other_language_and_an_invented_one_nowhere(index: NameIndex) -> None:
    assert index.resolve("Blorgowitz").ids == ()
    assert index.resolve("囊性纤维化").ids == ("D:7", "D:8")


def test_the_first_finding_of_a_list_is_short_for_nothing_and_words_may_be_closed_up(index: NameIndex) -> None:
    assert index.resolve("blindness").ids == ()
    assert [each.id for each in index.near("red-green color blindness")] == ["D:13", "D:12"]


def test_an_abbreviation_counts_in_capitals_alone(index: NameIndex) -> None:
    assert [each.ids for each in index.mentions("ALS symptoms")] == [("D:6",)]
    assert index.mentions("als symptoms") == []
    assert lay_names("ms") == []
    assert lay_names("MEN1")[0] == "Multiple endocrine neoplasia 1"
    assert lay_names("MEN 2A") == lay_names("MEN2A") == ["Multiple endocrine neoplasia, type IIA"]
