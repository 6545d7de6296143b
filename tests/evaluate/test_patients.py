"""A simulated patient answers from a recorded case, and never tells more."""

from __future__ import annotations

import pytest

from kgdx.case import Case, Finding, Status
from kgdx.episode import AskPatient, Reply, State
from kgdx.evaluate.simulated_patients import SimulatedPatient, opening

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
