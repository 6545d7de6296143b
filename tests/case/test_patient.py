"""A case is immutable and its identity comes from its content."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgdx.case import Case, Finding, Status

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
