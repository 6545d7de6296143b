from __future__ import annotations

from kgdx.case import Extraction, Finding, Issue, Span, Status
from kgdx.case.demographics import mentions
from kgdx.render.terminal.console import text
from kgdx.render.terminal.case_text import extraction, findings, issues, marked

NOTE = "No seizures. Ataxia since 2020."
FOUND = (
    Finding("HP:0001250", Status.ABSENT, "Seizure", Span(3, 11), "seizures", "Seizure", "variant"),
    Finding("HP:0001251", Status.PRESENT, "Ataxia", Span(13, 19), "Ataxia", "Ataxia", "exact"),
)


def test_a_hard_wrapped_text_is_refilled_and_its_findings_stay_in_place() -> None:
    note = "No\r\nseizures.\n\nAtaxia"
    found = [Finding("HP:1", Status.ABSENT, span=Span(4, 12)), Finding("HP:2", span=Span(15, 21))]
    assert marked(note, found, brackets=True).plain.split() == ["No", "[seizures:", "absent].", "[Ataxia]"]


def test_places_can_be_left_out() -> None:
    assert "at 13" in text(findings(FOUND))
    assert "at 13" not in text(findings(FOUND, places=False))


def test_findings_are_marked_in_the_text_with_brackets_where_there_is_no_colour() -> None:
    assert marked(NOTE, FOUND, brackets=True).plain == "No [seizures: absent]. [Ataxia] since 2020."


def test_marking_keeps_the_text_where_there_is_colour() -> None:
    assert marked(NOTE, FOUND, brackets=False).plain == NOTE


def test_an_overlapping_finding_is_marked_once() -> None:
    inner = Finding("HP:0001251", label="Ataxia", span=Span(14, 16))
    assert marked(NOTE, (*FOUND, inner), brackets=True).plain.count("[") == 2


def test_present_findings_come_first() -> None:
    lines = text(findings(FOUND)).splitlines()
    assert lines[0].startswith("present  Ataxia")
    assert lines[1].startswith("absent   Seizure")


def test_an_extraction_shows_text_table_and_notes() -> None:
    noted = (Issue("warning", "HP:1", "HP:1 is obsolete", "replaced by HP:2"),)
    shown = text(extraction(NOTE, Extraction(FOUND, noted), (), brackets=True))
    assert shown.startswith("No [seizures: absent].")
    assert "! HP:1 is obsolete; replaced by HP:2" in shown


def test_who_the_patient_is_stands_with_its_words_and_place() -> None:
    said = "A 3-month-old girl, parents are first cousins."
    lines = text(extraction(said, Extraction(), mentions(said), brackets=True)).splitlines()
    assert [line.split()[:2] for line in lines[-3:]] == [["age", "3"], ["sex", "female"], ["consanguineous", "yes"]]
    assert "“3-month-old” at 2–13" in lines[-3]


def test_a_text_without_findings_says_so() -> None:
    assert "No finding was recognised." in text(extraction("Nothing.", Extraction(), (), brackets=True))


def test_equal_notes_are_shown_once_and_many_are_counted() -> None:
    each = [Issue("info", "x", f"note {number}") for number in range(20)]
    shown = text(issues([*each, each[0]]))
    assert shown.count("note 0\n") == 1
    assert "… and 12 more notes" in shown


def test_chinese_labels_keep_the_columns_aligned() -> None:
    rows = text(
        findings([Finding("HP:0001251", label="共济失调"), Finding("HP:0001250", label="Seizure")])
    ).splitlines()
    assert rows[0].index("HP:") + 4 == rows[1].index("HP:"), "each of the four characters is two columns wide"
