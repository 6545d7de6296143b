"""A case is immutable, its identity comes from its content; it comes from words and terms, and each mend is told."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgdx.case import (
    Ancestry,
    Case,
    Extraction,
    Finding,
    FindingReader,
    Issue,
    Resolution,
    Span,
    Status,
    read_text,
    sanitise,
)
from kgdx.case.cleaning import MAX_CHARACTERS, unknown, with_terms
from kgdx.case.patient import CORRECTED
from kgdx.errors import CaseError

ids = st.integers(0, 30).map(lambda number: f"HP:{number:07d}")

findings = st.builds(Finding, id=ids, status=st.sampled_from(Status))

cases = st.builds(Case, id=st.just("p"), findings=st.lists(findings, max_size=12).map(tuple), text=st.text(max_size=20))


def test_a_patients_own_words_are_no_part_of_the_representation() -> None:
    shown = repr(Case("p", text="Ada Lovelace has seizures", extra={"Patient_Actor": "Ada Lovelace"}))
    assert "Ada" not in shown and "id='p'" in shown


@given(cases, findings)
def test_with_finding_adds_it_and_keeps_the_rest(case: Case, finding: Finding) -> None:
    changed = case.with_finding(finding)
    assert changed.findings[-1] == finding
    assert [f for f in changed.findings if f.id != finding.id] == [f for f in case.findings if f.id != finding.id]
    assert sum(f.id == finding.id for f in changed.findings) == 1


@given(cases, findings)
def test_with_finding_leaves_the_original_as_it_was(case: Case, finding: Finding) -> None:
    before = case.findings
    case.with_finding(finding)
    assert case.findings is before


@given(cases, findings)
def test_with_finding_twice_is_as_good_as_once(case: Case, finding: Finding) -> None:
    assert case.with_finding(finding).with_finding(finding) == case.with_finding(finding)


@given(cases)
def test_observed_and_excluded_name_each_finding_once(case: Case) -> None:
    for named, status in ((case.observed, Status.PRESENT), (case.excluded, Status.ABSENT)):
        assert len(set(named)) == len(named)
        assert set(named) == {f.id for f in case.findings if f.status is status}


@given(cases)
def test_digest_ignores_order_and_name_of_the_case(case: Case) -> None:
    turned = Case("another", case.findings[::-1], text=case.text)
    assert turned.digest == case.digest


@given(cases, findings)
def test_digest_tells_different_patients_apart(case: Case, finding: Finding) -> None:
    changed = case.with_finding(finding)
    same = sorted((f.id, f.status) for f in changed.findings) == sorted((f.id, f.status) for f in case.findings)
    assert (changed.digest == case.digest) is same


def test_digest_bears_text_that_is_not_valid_unicode() -> None:
    assert Case("p", text="\ud800").digest != Case("p", text="").digest


def test_an_id_is_minted_only_where_there_is_none() -> None:
    assert Case("p").identified().id == "p"
    assert Case("", text="fits").identified().id.startswith("case:")


def test_a_case_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        Case("p").text = "other"  # type: ignore[misc]


def case(*mended: Finding) -> Case:
    return Case("p", mended)


def test_obsolete_id_is_replaced_with_a_notice(reader: FindingReader) -> None:
    clean = sanitise(case(Finding("HP:0006824", label="Floppy baby")), reader)
    assert clean.observed == ("HP:0001252",)
    assert clean.findings[0].label == "Hypotonia"
    assert [issue.level for issue in clean.issues] == ["info"]


def test_unknown_id_is_left_out_with_the_nearest_terms(reader: FindingReader) -> None:
    clean = sanitise(case(Finding("HP:9999999"), Finding("HP:0001250")), reader)
    assert clean.observed == ("HP:0001250",)
    (issue,) = clean.issues
    assert issue.level == "error"
    assert "did you mean Seizure (HP:0001250) or Fever (HP:0001945)?" in issue.remedy


def test_an_answer_about_a_symptom_in_words_stays_when_more_is_read(reader: FindingReader) -> None:
    answer = Finding("KGDX:common.symptom-tearing", Status.ABSENT, method="asked")
    assert sanitise(case(answer, Finding("HP:0001250")), reader).findings[0] == answer


def test_label_beside_an_unknown_id_gives_the_suggestion_and_no_finding() -> None:
    class ByLabel:
        def extract(self, text: str, language: str | None = None, patient: object = None) -> Extraction:
            return Extraction()

        def resolve(self, term: str) -> Resolution:
            return Resolution(Finding("HP:0001250", label="Seizure") if term == "Fits" else None)

    clean = sanitise(case(Finding("HP:9999999", label="Fits")), ByLabel())
    assert clean.findings == ()
    assert clean.issues[0].remedy == "left out; did you mean Seizure (HP:0001250)?"


def test_present_outweighs_absent() -> None:
    clean = sanitise(case(Finding("HP:0001250", Status.ABSENT), Finding("HP:0001250")))
    assert (clean.observed, clean.excluded) == (("HP:0001250",), ())
    assert "both as present and as absent" in clean.issues[0].message


def test_a_correction_takes_the_place_of_what_was_read_and_its_words() -> None:
    read = Finding("HP:0001250", span=Span(3, 7), text="fits")
    clean = sanitise(case(Finding("HP:0001250", Status.UNKNOWN, method=CORRECTED), read))
    assert [(each.status, each.text, each.span) for each in clean.findings] == [(Status.UNKNOWN, "fits", Span(3, 7))]
    assert clean.issues[0].remedy == "taken as unknown, as it was corrected"


def test_terms_given_beside_a_text_outweigh_it_and_presence_outweighs_absence(reader: FindingReader) -> None:
    told = with_terms(Case("p", text="no fits"), reader, ["HP:0001250"], ["HP:0001250"], ["HP:0001945"])
    assert [(each.id, each.status, each.method) for each in told.findings] == [
        ("HP:0001945", Status.UNKNOWN, CORRECTED),
        ("HP:0001250", Status.PRESENT, CORRECTED),
    ]
    assert "given both as present and as absent" in told.issues[0].message


def test_a_correction_leaves_what_a_relative_has() -> None:
    relative = Finding("HP:0001250", Status.FAMILY, span=Span(3, 7))
    clean = sanitise(case(Finding("HP:0001250", Status.ABSENT, method=CORRECTED), relative))
    assert [each.status for each in clean.findings] == [Status.ABSENT, Status.FAMILY]


def test_what_a_relative_has_too_is_kept() -> None:
    clean = sanitise(case(Finding("HP:0001250"), Finding("HP:0001250", Status.FAMILY)))
    assert [finding.status for finding in clean.findings] == [Status.PRESENT, Status.FAMILY]
    assert clean.issues == ()


def test_ids_that_become_equal_are_counted_once(reader: FindingReader) -> None:
    clean = sanitise(case(Finding("HP:0006824"), Finding("HP:0001252")), reader)
    assert len(clean.findings) == 1
    assert "more than once" in clean.issues[-1].message


def test_redundant_ancestor_is_kept_and_noted(ancestry: Ancestry) -> None:
    clean = sanitise(case(Finding("HP:0001250"), Finding("HP:0002133")), ancestry=ancestry)
    assert clean.observed == ("HP:0001250", "HP:0002133")
    assert [issue.where for issue in clean.issues] == ["HP:0001250"]


def test_absence_of_a_term_above_a_present_one_is_left_out(ancestry: Ancestry) -> None:
    clean = sanitise(case(Finding("HP:0001250", Status.ABSENT), Finding("HP:0002133")), ancestry=ancestry)
    assert (clean.observed, clean.excluded) == (("HP:0002133",), ())
    assert clean.issues[0].level == "warning"


def test_absence_of_a_term_below_a_present_one_stays(ancestry: Ancestry) -> None:
    clean = sanitise(case(Finding("HP:0001250"), Finding("HP:0002133", Status.ABSENT)), ancestry=ancestry)
    assert (clean.observed, clean.excluded) == (("HP:0001250",), ("HP:0002133",))
    assert clean.issues == ()


def test_words_that_name_a_finding_twice_are_no_issue() -> None:
    clean = sanitise(case(Finding("HP:0001250", span=Span(0, 7)), Finding("HP:0001250", span=Span(9, 16))))
    assert len(clean.findings) == 1
    assert clean.issues == ()


mended_ids = st.sampled_from(["HP:0001250", "HP:0002133", "HP:0001252", "HP:0001945"])

mended = st.lists(st.builds(Finding, id=mended_ids, status=st.sampled_from(Status)), max_size=10)


@given(mended)
def test_cleaning_a_clean_case_changes_nothing(found: list[Finding]) -> None:
    once = sanitise(case(*found))
    assert sanitise(once) == once


@given(mended)
def test_no_present_finding_is_lost_and_none_is_also_absent(found: list[Finding]) -> None:
    clean = sanitise(case(*found))
    assert set(clean.observed) == {finding.id for finding in found if finding.status is Status.PRESENT}
    assert not set(clean.observed) & set(clean.excluded)


def test_an_obsolete_id_without_replacement_says_what_the_reader_said() -> None:
    issue = Issue("warning", "HP:0000009", "HP:0000009 is obsolete", "consider HP:0001250 (Seizure)")
    assert str(unknown("HP:0000009", Resolution(None, (issue,)))) == f"{issue.message}: {issue.remedy}"


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


def test_unknown_terms_and_none_are_refused(reader: FindingReader) -> None:
    with pytest.raises(CaseError, match=r"unknown term 'HP:1234567': did you mean Seizure \(HP:0001250\)"):
        Case.from_terms(["HP:1234567"], reader)
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
