"""A simulated patient answers from a recorded case, and never tells more."""

from __future__ import annotations

import pytest

from kgdx.case.patient import Case, Finding, Status
from kgdx.episode import AskPatient, Reply, State
from kgdx.episode.recorded_patient import Noise, SimulatedPatient, opening
from kgdx.errors import UsageError

SEIZURE, FOCAL, NERVOUS, SHORT, GROWTH = "HP:0001250", "HP:0007359", "HP:0000707", "HP:0004322", "HP:0001507"
ABOVE = {FOCAL: {SEIZURE, NERVOUS}, SEIZURE: {NERVOUS}, SHORT: {GROWTH}}
RECORDED = Case(
    "p", (Finding(FOCAL, label="Focal-onset seizure"), Finding(GROWTH, Status.ABSENT)), diseases=("OMIM:1",)
)


class Tree:
    def ancestors(self, id: str) -> frozenset[str]:
        return frozenset(ABOVE.get(id, ()))


@pytest.mark.parametrize(
    ("term", "reply"),
    [
        (FOCAL, Reply(status=Status.PRESENT)),
        (NERVOUS, Reply(status=Status.PRESENT, term=FOCAL, label="Focal-onset seizure")),
        (GROWTH, Reply(status=Status.ABSENT)),
        (SHORT, Reply(status=Status.ABSENT)),
        ("HP:0001945", Reply(status=Status.UNKNOWN)),
    ],
)
def test_answers_follow_the_recorded_case(term: str, reply: Reply) -> None:
    asked = AskPatient(term=term)
    assert SimulatedPatient(RECORDED, Tree()).reply(asked, State(Case("p"))) == reply


def test_a_yes_names_the_finding_below_only_when_asked_to() -> None:
    patient = SimulatedPatient(RECORDED, Tree(), named=False)
    assert patient.reply(AskPatient(term=SEIZURE), State(Case("p"))) == Reply(status=Status.PRESENT)


def test_an_open_question_gets_what_is_not_known_yet_and_never_the_diagnosis() -> None:
    patient = SimulatedPatient(RECORDED, Tree())
    assert patient.reply(AskPatient(), State(Case("p"))) == Reply(text="Focal-onset seizure")
    assert patient.reply(AskPatient(), State(RECORDED)) == Reply(status=Status.UNKNOWN)


def test_an_opening_is_some_of_the_findings_and_equal_for_equal_seeds() -> None:
    whole = Case("p", tuple(Finding(f"HP:{number:07}") for number in range(9)), text="words", diseases=("OMIM:1",))
    first = opening(whole, 3, seed=4)
    assert first == opening(whole, 3, seed=4) != opening(whole, 3, seed=5)
    assert len(first.findings) == 3 and set(first.findings) <= set(whole.findings)
    assert (first.text, first.diseases) == ("", ())


def test_noise_forgets_contradicts_and_is_unsure_and_stays_the_same() -> None:
    def statuses(noise: Noise) -> list[Status | None]:
        patient = SimulatedPatient(RECORDED, Tree(), noise=noise, seed=3)
        return [patient.reply(AskPatient(term=term), State(Case("p"))).status for term in (FOCAL, NERVOUS, GROWTH)]

    yes, no, unsure = Status.PRESENT, Status.ABSENT, Status.UNKNOWN
    assert statuses(Noise()) == [yes, yes, no]
    assert statuses(Noise(unsure=1)) == [unsure] * 3
    assert statuses(Noise(forgets=1)) == [unsure, unsure, no]
    assert statuses(Noise(contradicts=1)) == [no, no, yes]
    assert statuses(Noise(0.5, 0.5, 0.5)) == statuses(Noise(0.5, 0.5, 0.5))
    with pytest.raises(UsageError):
        Noise(forgets=1.5)


def test_an_evidence_is_answered_with_its_values_and_a_whole_record_says_no() -> None:
    values = tuple(Finding(f"DDXPLUS:E_55_@_{value}", label=value) for value in ("V_89", "V_108"))
    patient = SimulatedPatient(Case("p", values), Tree(), complete=True)
    asked = AskPatient(term="DDXPLUS:E_55")
    reply = patient.reply(asked, State(Case("p")))
    assert (reply.term, reply.more) == ("DDXPLUS:E_55_@_V_89", (("DDXPLUS:E_55_@_V_108", "V_108"),))
    assert patient.reply(AskPatient(term="DDXPLUS:E_91"), State(Case("p"))).status is Status.ABSENT


def test_a_recorded_consultation_begins_with_what_was_reported_first() -> None:
    whole = Case("p", (Finding("a"), Finding("b")), text="words", extra={"first": ["b"], "diagnosis": "Gout"})
    assert opening(whole).observed == ("b",) and not opening(whole).text and not opening(whole).extra
