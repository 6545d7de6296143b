"""Dialogues of the DX dataset and its relatives: symptoms that are true, false or unknown, and the patient's words."""

from __future__ import annotations

from typing import Any

import pytest

from kgdx.case import Status, case_from_document
from kgdx.errors import CaseError

LINE: dict[str, Any] = {
    "consult_id": "1979478",
    "dialog": ["小儿3岁，一直有点流清鼻涕。\n", "孩子现在打喷嚏吗?", "没有"],
    "disease_tag": "过敏性鼻炎",
    "goal": {"explicit_inform_slots": {"流涕": True}, "implicit_inform_slots": {"打喷嚏": False}},
    "self_repo": "小儿3岁，一直有点流清鼻涕。\n",
}


def test_a_consultation_is_a_case() -> None:
    case = case_from_document(LINE)
    assert (case.id, case.source, case.language) == ("1979478", "dialogue", "zh")
    assert (case.observed, case.excluded) == (("流涕",), ("打喷嚏",))
    assert case.text == "小儿3岁，一直有点流清鼻涕。"
    assert case.extra["diagnosis"] == "过敏性鼻炎"
    assert len(case.extra["dialogue"]) == 3


def test_relatives_write_truth_as_numbers_and_keep_the_disease_elsewhere() -> None:
    goal = {"implicit_inform_slots": {"咳嗽": "1", "发烧": "0", "腹痛": "2"}, "disease_tag": "肺炎"}
    case = case_from_document({"id": 5, "goal": goal})
    assert [finding.status for finding in case.findings] == [Status.PRESENT, Status.ABSENT, Status.UNKNOWN]
    assert case.extra["diagnosis"] == "肺炎"


def test_what_is_neither_true_nor_false_is_an_issue() -> None:
    goal = {"explicit_inform_slots": {"咳嗽": True, "发烧": [1], " ": True}, "implicit_inform_slots": 7}
    case = case_from_document({"goal": goal, "dialog": "x"})
    assert case.observed == ("咳嗽",)
    assert len(case.issues) == 4


@pytest.mark.parametrize(
    "document", [{"goal": {"explicit_inform_slots": {}}}, {"goal": 7, "explicit_inform_slots": {}}]
)
def test_a_dialogue_without_a_symptom_is_refused(document: dict[str, Any]) -> None:
    with pytest.raises(CaseError):
        case_from_document(document)
