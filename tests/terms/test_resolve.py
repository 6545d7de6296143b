"""One given term: ids in all forms, labels, phrases, and what comes nearest."""

from __future__ import annotations

import pytest

from kgdx.case.patient import Status
from kgdx.terms.extractor import Extractor


@pytest.mark.parametrize(
    "term", ["HP:0001250", "hp:0001250", "HP_0001250", " HP:1250 ", "Seizure", "epileptic seizures"]
)
def test_term_is_resolved_without_remark(reader: Extractor, term: str) -> None:
    resolution = reader.resolve(term)
    assert resolution.finding is not None
    assert (resolution.finding.id, resolution.finding.status) == ("HP:0001250", Status.PRESENT)
    assert resolution.finding.span is None
    assert not resolution.issues


def test_chinese_term_is_resolved(reader: Extractor) -> None:
    finding = reader.resolve("癲癇發作").finding
    assert finding is not None
    assert finding.id == "HP:0001250"


def test_replaced_ids_are_resolved_with_notice(reader: Extractor) -> None:
    alternative, obsolete = reader.resolve("HP:0001275"), reader.resolve("HP:0006824")
    assert alternative.finding is not None
    assert obsolete.finding is not None
    assert (alternative.finding.id, obsolete.finding.id) == ("HP:0001250", "HP:0000252")
    assert alternative.issues[0].remedy == "HP:0001250 is used"
    assert "HP:0000252 (Microcephaly) is used" in obsolete.issues[0].remedy


def test_obsolete_id_without_replacement_names_what_to_consider(reader: Extractor) -> None:
    resolution = reader.resolve("HP:0006957")
    assert resolution.finding is None
    assert resolution.issues[0].remedy == "consider HP:0000252 (Microcephaly), HP:0000256 (Macrocephaly)"


def test_unknown_id_names_its_neighbours(reader: Extractor) -> None:
    resolution = reader.resolve("HP:0000253")
    assert resolution.finding is None
    assert "HP:0000252 (Microcephaly), HP:0000256 (Macrocephaly)" in resolution.issues[0].remedy


def test_id_of_no_finding_is_told(reader: Extractor) -> None:
    resolution = reader.resolve("HP:0012828")
    assert resolution.finding is not None
    assert "no phenotypic abnormality" in resolution.issues[0].message


def test_misspelt_phrase_is_resolved_with_notice(reader: Extractor) -> None:
    resolution = reader.resolve("Brachydactily")
    assert resolution.finding is not None
    assert (resolution.finding.id, resolution.finding.method) == ("HP:0001156", "fuzzy")
    assert "is read as Brachydactyly" in resolution.issues[0].message


def test_adjectives_of_degree_do_not_hide_a_term(reader: Extractor) -> None:
    finding = reader.resolve("severe bilateral hearing loss").finding
    assert finding is not None
    assert finding.id == "HP:0000365"


@pytest.mark.parametrize("term", ["renal stones of agenesis", "hearing the loss of a pin", "xyzzy", "", "疼"])
def test_phrase_that_says_more_or_nothing_is_refused(reader: Extractor, term: str) -> None:
    resolution = reader.resolve(term)
    assert resolution.finding is None
    assert resolution.issues[0].level == "error"


def test_nearest_names_are_suggested(reader: Extractor) -> None:
    resolution = reader.resolve("renal artery agenesis")
    assert "HP:0000104" in [finding.id for finding in resolution.suggestions]
    assert "HP:0000104 Renal agenesis" in resolution.issues[0].remedy


def test_an_id_that_lost_or_gained_a_digit_is_not_guessed(reader: Extractor) -> None:
    for given in ("HP:000125", "HP:00012500"):
        resolution = reader.resolve(given)
        assert resolution.finding is None
        assert "HP:0001250" in [finding.id for finding in resolution.suggestions]
        assert f"{given} has {len(given) - 3} digits" in resolution.issues[0].message


def test_a_text_is_no_term(reader: Extractor) -> None:
    resolution = reader.resolve("seizure " * 10_000)
    assert resolution.finding is None
    assert "79,999 characters" in resolution.issues[0].message
