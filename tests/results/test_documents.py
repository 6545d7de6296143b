from __future__ import annotations

import json
from dataclasses import replace

import pytest

from actions.packs import filled
from conftest import ROOT
from kgdx.actions import Answer
from kgdx.answer.sentences import check
from kgdx.episode import Author, Kind, Segment
from kgdx.errors import UsageError
from kgdx.render.pages import page
from kgdx.results.cited import AnswerDocument
from kgdx.results.document import Result, read
from kgdx.results.ranked import DiagnosisDocument
from kgdx.results.reference import markdown, schemas
from kgdx.results.transcript import exchanges, log_rows
from render.terminal.examples import DIAGNOSIS

LOG = (
    Segment(Author.POLICY, Kind.WISH, "get_symptom", {"diseases": ["flu"]}),
    Segment(
        Author.POLICY,
        Kind.WISH,
        "ask_model",
        {"prompt": "plan@1"},
        {"messages": [{"role": "user", "content": "What is flu?"}]},
    ),
)


def answered() -> Answer:
    pack = filled()
    return Answer(pack.question, check("Fever [E1].", pack, author="qwen3"), pack, case=DIAGNOSIS.case, trace=LOG)


@pytest.mark.parametrize(
    ("form", "document"),
    [(DiagnosisDocument, replace(DIAGNOSIS, trace=LOG).document()), (AnswerDocument, answered().document())],
    ids=["diagnosis", "answer"],
)
def test_a_document_that_went_through_json_is_equal(form: type[Result], document: Result) -> None:
    assert read(form, json.loads(json.dumps(document.to_dict()))).to_dict() == document.to_dict()


def test_a_diagnosis_keeps_the_shape_of_its_json() -> None:
    found = replace(DIAGNOSIS, trace=LOG).to_dict()
    assert set(found) == {
        "schema", "notice", "id", "kgdx_version", "fingerprint", "policy", "reason", "case", "findings",
        "unread", "n_candidates", "candidates", "evidence", "issues", "sources", "trace", "rollout", "reranking",
    }  # fmt: skip
    finding = found["case"]["findings"][0]
    assert finding["span"] == [4, 21]
    assert set(finding) == {
        "id", "label", "status", "span", "text", "matched", "method", "score", "onset", "value", "unit", "range",
    }  # fmt: skip
    candidate = found["candidates"][0]
    assert set(candidate) == {
        "rank", "id", "name", "name_zh", "members", "score", "parts", "contributions", "cases", "family",
        "family_rank", "family_size", "in_family", "separated_by", "nested", "retrieved_rank", "reason",
    }  # fmt: skip
    assert set(candidate["contributions"][0]) == {
        "finding", "status", "scorer", "score", "rule", "matched", "via", "frequency", "references",
        "text", "words",
    }  # fmt: skip
    path = found["evidence"][candidate["id"]][0]
    assert set(path) == {"kind", "finding", "frequency", "references", "nodes", "relations"}
    assert path["nodes"][1] == {"id": "HP:0002217", "label": "Phenotype", "name": "Slow-growing hair"}
    assert path["relations"][0] == {"type": "OBSERVED", "reversed": False, "properties": {}}


def test_an_answer_keeps_the_shape_of_its_json() -> None:
    found = answered().to_dict()
    assert set(found) == {
        "schema", "notice", "id", "kgdx_version", "fingerprint", "policy", "model", "reason", "created", "question",
        "answer", "pack", "rounds", "case", "candidates", "evidence", "sources", "usage", "issues", "trace",
        "option",
    }  # fmt: skip
    assert found["answer"]["text"] == "Fever [E1]." and found["answer"]["cited"] == ["E1"]
    assert set(found["pack"]) == {"items", "diseases", "citations", "resolved", "nothing", "left_out"}
    assert "frequency" in found["pack"]["items"][0] and "digest" in found["pack"]["items"][0]
    assert found["rounds"][0]["steps"][0]["action"] == "get_symptom"


def test_a_patients_words_and_a_models_are_no_part_of_a_document_unless_asked_for() -> None:
    case = replace(DIAGNOSIS.case, text="SECRET words")
    assert "SECRET" not in replace(DIAGNOSIS, case=case).to_json()
    assert "What is flu?" not in json.dumps(answered().to_dict()["trace"])
    assert "What is flu?" in json.dumps(answered().to_dict(private=True)["trace"])


def test_a_document_tells_that_a_patient_was_described_in_chinese_without_the_text() -> None:
    case = replace(DIAGNOSIS.case, findings=(), text="头发稀疏")
    document = replace(DIAGNOSIS, case=case).document()
    assert document.case.chinese
    assert "头发" not in json.dumps(document.to_dict(), ensure_ascii=False)


def test_every_field_of_a_result_says_what_it_is() -> None:
    silent = [
        f"{name}.{field}"
        for name, schema in schemas().items()
        for field, form in schema.get("properties", {}).items()
        if not form.get("description")
    ]
    assert silent == []


def test_the_page_of_results_is_that_of_the_classes() -> None:
    written = (ROOT / "docs" / "reference" / "results.md").read_text(encoding="utf-8")
    assert written == markdown(), "write it anew: python -m kgdx.results.reference docs/reference/results.md"


SECOND = [
    {"author": "policy", "kind": "wish", "name": "ask_model", "data": {"prompt": "plan@1"},
     "words": {"messages": [{"role": "user", "content": "What is flu?"}]}},
    {"author": "model", "kind": "result", "name": "qwen3", "words": {"text": "An infection."}},
    {"author": "graph", "kind": "result", "name": "get_test", "data": {},
     "operations": [{"kind": "query", "name": "tests_of_diseases", "rows": 3, "digest": "ab12"}]},
]  # fmt: skip
"""A log in its second version."""


def test_a_log_of_either_version_keeps_its_form_and_is_shown() -> None:
    document = read(AnswerDocument, {"schema": "kgdx.answer/1", "question": "q", "trace": SECOND})
    assert document.to_dict()["trace"] == SECOND
    assert [(row.name, row.rows, row.digest) for row in log_rows(document.trace)][-1] == (
        "tests_of_diseases",
        3,
        "ab12",
    )
    assert [(name, row.words) for name, row in exchanges(document.trace)] == [
        ("qwen3", "What is flu?"),
        ("qwen3", "An infection."),
    ]
    old = {"author": "tool", "kind": "prompt", "name": "qwen3", "parameters": {}, "content": "What is flu?"}
    first = read(AnswerDocument, {"schema": "kgdx.answer/1", "question": "q", "trace": [old]})
    assert [(name, row.words) for name, row in exchanges(first.trace)] == [("qwen3", "What is flu?")]
    shown = page(document)
    assert "tests_of_diseases" in shown and "ab12" in shown


def test_an_entry_of_a_log_that_is_none_is_refused() -> None:
    with pytest.raises(UsageError, match=r"trace\.0\.name"):
        page({"schema": "kgdx.answer/1", "question": "q", "trace": [{"author": "a", "kind": "wish"}]})
