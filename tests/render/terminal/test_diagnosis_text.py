"""Cases and diagnoses in the terminal."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from rich.console import RenderableType

from kgdx.answer.diagnosis import Diagnosis
from kgdx.case import Case, Extraction, Finding, Issue, Span, Status
from kgdx.render.terminal.case_text import extraction, findings, issues, marked
from kgdx.render.terminal.console import text
from kgdx.render.terminal.diagnosis_text import candidate_block, diagnosis, explanation, fit
from kgdx.results.evidence_paths import EvidencePath, PathRelation
from kgdx.results.ranked import Candidate, Ground, MoveReason
from kgdx.results.view import listed
from render.terminal.examples import ANNOTATED, DIAGNOSIS, DISEASE, EXACT, FIRST, PATIENT, contribution, observed, term

WHOLE = """\
Patient  p1 · female · 4 years
         3 findings present, 1 absent

  present        Slow-growing hair        HP:0002217  “hair grows slowly”
                 Short metacarpal         HP:0010049
                 Broad forehead           HP:0000337
  absent         Intellectual disability  HP:0001249  “智力正常”
  in the family  Migraine                 HP:0002076  “migrane” fuzzy 90%

Notes
  ! Seizure is given both as present and as absent; kept as present
  · Fever is implied by Recurrent fever; kept

Most likely of 12,731 diseases
  # Disease                           Fit            Best supported by
  1 Trichorhinophalangeal syndrome,   ■■■■■■■■   9.1 Slow-growing hair, Short
    type I                                           metacarpal
    OMIM:190350
  2 Langer-Giedion syndrome           ■■■■       4.2
    OMIM:150230

1. Trichorhinophalangeal syndrome, type I
   OMIM:190350 = ORPHA:77258
   speaks for it
    +3.1 Slow-growing hair                   9 of 12 (75%) PMID:25792522 +1
    +1.2 Short metacarpal                    frequent (30–79%) ORPHA:77258
         annotated as Short long bone, which
         includes it
   speaks against it
    −0.3 absent: Intellectual disability     3 of 12 (25%) PMID:1 +1
   not explained by it
         Broad forehead
   typical of it, not mentioned
         Cone-shaped epiphyses of the        very frequent (80–99%) ORPHA:77258
         phalanges of the hand
"""


def block(result: Diagnosis) -> RenderableType:
    """The reasons of the first candidate."""
    document = result.document()
    return candidate_block(document, listed(document)[0])


def test_a_diagnosis_reads_well_in_eighty_columns() -> None:
    shown = text(diagnosis(DIAGNOSIS, explain=1))
    assert shown.startswith(WHOLE)
    assert max(map(len, shown.splitlines())) <= 80


def test_a_mark_of_three_digits_is_whole() -> None:
    ground = Ground("E126", DISEASE, "HP:0002217", "Slow-growing hair (75%)", ("PMID:25792522",))
    reason = MoveReason("Slow-growing hair is seen in it [E126].", (ground,), 0)
    first = replace(DIAGNOSIS.candidates[0], retrieved_rank=50, reason=reason)
    shown = text(block(replace(DIAGNOSIS, candidates=(first, *DIAGNOSIS.candidates[1:]))))
    assert "\n   [E126] Slow-growing hair (75%)" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_an_unexplained_candidate_names_no_reasons() -> None:
    assert "1. Trich" not in text(diagnosis(DIAGNOSIS, explain=0))


@pytest.mark.parametrize(
    ("score", "share", "shown"), [(10, 100, "■■■■■■■■  10.0"), (5, 50, "■■■■       5.0"), (-1, 0, "          -1.0")]
)
def test_the_bar_is_the_share_that_is_explained(score: float, share: float, shown: str) -> None:
    assert fit(score, share).plain == shown


def test_explanation_shows_every_path_as_a_sentence_and_the_parts_of_the_score() -> None:
    shown = text(explanation(DIAGNOSIS, FIRST), width=200)
    assert "patient ─has→ Short metacarpal ─a kind of→ Short long bone ─seen in→ Trichorhinophalangeal" in shown
    assert "patient ─does not have→ Intellectual disability ─seen in→" in shown
    assert "Paths from the findings to it (2)" in shown
    assert "similarity  +5.9" in shown


def test_what_rounds_to_nothing_has_no_sign() -> None:
    little = replace(FIRST, parts={"excluded": -0.01})
    assert re.search(r"excluded +0\.0\n", text(explanation(DIAGNOSIS, little)))


def test_names_cannot_steer_the_terminal() -> None:
    evil = Candidate(1, "OMIM:1", "\x1b]0;owned\x07[red]Name[/red]", ("OMIM:1",), 1.0)
    case = Case("c", (Finding("HP:1", label="\x1b[2Jgone"),))
    shown = text(diagnosis(Diagnosis(case, (evil,), {"OMIM:1": ()}), explain=1))
    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert "[red]Name[/red]" in shown, "markup is text, not style"


def test_hundreds_of_findings_are_counted_rather_than_listed() -> None:
    many = tuple(Finding(f"HP:{number:07}", label=f"Sign {number}") for number in range(500))
    shown = text(diagnosis(replace(DIAGNOSIS, case=Case("c", many), candidates=(), evidence={})))
    assert "… and 460 more findings" in shown


def test_a_mere_relative_that_adds_little_counts_as_not_explained() -> None:
    relative = EvidencePath(
        (PATIENT, term("HP:0000337", "Broad forehead"), term("HP:1", "Face"), term("HP:2", "Long philtrum"), DISEASE),
        (observed(), PathRelation("IS_A"), PathRelation("IS_A", reversed=True), ANNOTATED),
        "supports",
        "HP:0000337",
    )
    shown = text(block(replace(DIAGNOSIS, evidence={FIRST.id: (EXACT, relative)})))
    assert "Long philtrum" not in shown
    strong = replace(FIRST, contributions=(contribution("HP:0000337", 1.0),))
    shown = text(block(replace(DIAGNOSIS, candidates=(strong,), evidence={FIRST.id: (relative,)})), width=200)
    assert "annotated as Long philtrum; both are kinds of Face" in shown


def test_a_case_in_chinese_sees_chinese_names_beside_the_others() -> None:
    case = replace(DIAGNOSIS.case, text="thin hair", findings=())
    named = replace(DIAGNOSIS, case=case, candidates=(replace(FIRST, name_zh="毛发-鼻-指综合征"),))
    assert "毛发" not in text(diagnosis(named))
    chinese = replace(named, case=replace(case, text="头发稀疏"))
    assert "毛发-鼻-指综合征" in text(diagnosis(chinese), width=200)


NOTE = "No seizures. Ataxia since 2020."

FOUND = (
    Finding("HP:0001250", Status.ABSENT, "Seizure", Span(3, 11), "seizures", "Seizure", "variant"),
    Finding("HP:0001251", Status.PRESENT, "Ataxia", Span(13, 19), "Ataxia", "Ataxia", "exact"),
)


def test_a_hard_wrapped_text_is_refilled_and_its_findings_stay_in_place() -> None:
    note = "No\r\nseizures.\n\nAtaxia"
    found = [Finding("HP:1", Status.ABSENT, span=Span(4, 12)), Finding("HP:2", span=Span(15, 21))]
    assert marked(note, found, brackets=True).plain.split() == ["No", "[seizures:", "absent].", "[Ataxia]"]


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
