"""Cases from words and terms: what is read, and what is refused with a hint."""

from __future__ import annotations

import pytest

from kgdx.case import Case, Extraction, Finding, FindingReader, Issue, Resolution, Span, Status, read_text
from kgdx.case.cleaning import MAX_CHARACTERS
from kgdx.errors import CaseError


def test_text_gives_present_and_absent_findings_with_spans(reader: FindingReader) -> None:
    case = Case.from_text("She has seizure, no fever.", reader)
    assert (case.observed, case.excluded) == (("HP:0001250",), ("HP:0001945",))
    span = case.findings[0].span
    assert span is not None
    assert case.text[span.start : span.end] == "seizure"


def test_text_without_a_finding_is_refused(reader: FindingReader) -> None:
    with pytest.raises(CaseError, match="no finding was recognised: name the patient's signs"):
        Case.from_text("She feels well.", reader)


def test_the_readers_reason_for_finding_nothing_is_told() -> None:
    class English:
        def extract(self, text: str, language: str | None = None, patient: object = None) -> Extraction:
            return Extraction((), (Issue("warning", "text", "Chinese text is not read", "load Chinese names"),))

        def resolve(self, term: str) -> Resolution:
            return Resolution()

    with pytest.raises(CaseError, match="Chinese text is not read: load Chinese names"):
        read_text(Case("p", text="发热"), English())


def test_what_no_encoding_can_hold_is_replaced_in_place() -> None:
    assert Case.from_text("a\ud800b").text == "a\ufffdb"


@pytest.mark.parametrize("text", ["", "  \n\t"])
def test_empty_text_is_refused(text: str) -> None:
    with pytest.raises(CaseError, match="the text is empty"):
        Case.from_text(text)


def test_a_very_long_text_is_read(reader: FindingReader) -> None:
    case = Case.from_text("well " * 20_000 + "fever", reader)
    assert case.observed == ("HP:0001945",)


def test_a_text_beyond_the_limit_is_refused() -> None:
    with pytest.raises(CaseError, match="1,000,001 characters"):
        Case.from_text("x" * (MAX_CHARACTERS + 1))


@pytest.mark.parametrize("text", ["fever '); MATCH (n) DETACH DELETE n //", "fever \"'`$x {} \x00 \u202e 发热 \ud800"])
def test_quotes_cypher_and_odd_characters_are_only_words(reader: FindingReader, text: str) -> None:
    assert Case.from_text(text, reader).observed == ("HP:0001945",)


def test_findings_given_beside_the_text_are_kept_and_cleaned(reader: FindingReader) -> None:
    case = read_text(Case("p", (Finding("HP:0006824"),), text="fever"), reader)
    assert case.observed == ("HP:0001252", "HP:0001945")


def test_a_mention_inside_a_longer_one_is_no_finding_of_its_own() -> None:
    class Nested:
        def extract(self, text: str, language: str | None = None, patient: object = None) -> Extraction:
            inner = Finding("HP:0001156", span=Span(0, 13))
            outer = Finding("HP:0009371", span=Span(0, 20))
            return Extraction((inner, outer))

        def resolve(self, term: str) -> Resolution:
            return Resolution()

    assert read_text(Case("p", text="brachydactyly type C"), Nested()).observed == ("HP:0009371",)


def test_terms_may_be_ids_labels_or_outdated_ids(reader: FindingReader) -> None:
    case = Case.from_terms(["HP:0001250", "HP:0006824"], reader, excluded=["fever"])
    assert (case.observed, case.excluded) == (("HP:0001250", "HP:0001252"), ("HP:0001945",))
    assert [issue.where for issue in case.issues] == ["HP:0006824"]


def test_unknown_term_is_refused_with_the_nearest(reader: FindingReader) -> None:
    with pytest.raises(CaseError, match=r"unknown term 'HP:1234567': did you mean Seizure \(HP:0001250\)"):
        Case.from_terms(["HP:1234567"], reader)


def test_no_terms_are_refused(reader: FindingReader) -> None:
    with pytest.raises(CaseError, match="no term is given"):
        Case.from_terms([], reader)


def test_five_hundred_terms_are_one_case(reader: FindingReader) -> None:
    case = Case.from_terms(["HP:0001250"] * 499 + ["fever"], reader)
    assert case.observed == ("HP:0001250", "HP:0001945")


def test_five_hundred_distinct_findings_are_kept() -> None:
    found = tuple(Finding(f"HP:{number:07d}", span=Span(number, number + 1)) for number in range(500))

    class Many:
        def extract(self, text: str, language: str | None = None, patient: object = None) -> Extraction:
            return Extraction(found)

        def resolve(self, term: str) -> Resolution:
            return Resolution()

    assert len(read_text(Case("p", text="x"), Many()).observed) == 500


def test_absent_findings_alone_make_a_case(reader: FindingReader) -> None:
    assert Case.from_text("no fever", reader).findings[0].status is Status.ABSENT
