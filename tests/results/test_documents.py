from __future__ import annotations

import json
from dataclasses import replace

import pytest

from actions.packs import filled
from conftest import ROOT
from kgdx import Diagnosis
from kgdx.answer.cited_answer import Answer
from kgdx.answer.sentences import check
from kgdx.case import Finding, Status
from kgdx.episode import Author, Kind, Segment
from kgdx.errors import UsageError
from kgdx.render.pages import page
from kgdx.results.cited import AnswerDocument, EvidenceItem
from kgdx.results.consulted import percent
from kgdx.results.document import Result, read
from kgdx.results.evidence_paths import EvidencePath, PathNode, PathRelation
from kgdx.results.ranked import Candidate, CaseSummary, Contribution, DiagnosisDocument
from kgdx.results.reference import markdown, schemas
from kgdx.results.transcript import exchanges, log_rows
from kgdx.results.view import argument, between, listed, of_the_person, stated, worded
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


def empty(value: object, place: str = "") -> list[str]:
    """Return the places of a document that hold nothing."""
    if value in (None, "", [], {}):
        return [place]
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [each for name, one in inner for each in empty(one, f"{place}.{name}")]


@pytest.mark.parametrize("made", [DIAGNOSIS, answered()], ids=["diagnosis", "answer"])
def test_a_document_writes_nothing_empty_and_its_json_is_its_dictionary(made: Diagnosis | Answer) -> None:
    left = {place.rpartition(".")[2] for place in empty(made.to_dict(trace=False)) if "evidence" not in place}
    assert left <= {"gap", "frequency"}, "no space before a sentence; a frequency is made as it is written"
    assert json.loads(made.to_json()) == made.to_dict()


def test_a_diagnosis_keeps_the_shape_of_its_json() -> None:
    found = replace(DIAGNOSIS, trace=LOG).to_dict()
    assert {"schema", "notice", "id", "policy", "reason", "case", "findings", "candidates", "trace"} <= set(found)
    finding = found["case"]["findings"][0]
    assert finding["span"] == [4, 21] and finding["status"] == "present"
    first, *others = found["candidates"]
    assert set(first["contributions"][0]) == {"finding", "status", "score", "rule", "parts"}
    for each in first["contributions"]:
        assert sum(each["parts"].values()) == pytest.approx(each["score"])
    assert others and not any("contributions" in each for each in others if each["id"] not in found["evidence"])
    path = found["evidence"][first["id"]][0]
    assert path["nodes"][1] == {"id": "HP:0002217", "label": "Phenotype", "name": "Slow-growing hair"}
    assert path["relations"][0] == {"type": "OBSERVED"}


def test_a_list_without_candidates_is_written() -> None:
    assert read(DiagnosisDocument, {"case": {"id": "p"}}).to_dict()["candidates"] == []


def test_a_candidate_that_was_not_explained_names_what_raises_it() -> None:
    told = replace(DIAGNOSIS, evidence={}).document()
    assert not any(each.contributions for each in told.candidates)
    assert [row.support for row in listed(told)] == [row.support for row in listed(DIAGNOSIS.document())]


def test_an_answer_keeps_the_shape_of_its_json() -> None:
    found = answered().to_dict()
    assert {"schema", "notice", "id", "policy", "question", "answer", "pack", "rounds", "case", "trace"} <= set(found)
    assert found["answer"]["text"] == "Fever [E1]." and found["answer"]["cited"] == ["E1"]
    assert {"items", "diseases"} <= set(found["pack"])
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


ENTRIES = [
    {"author": "policy", "kind": "wish", "name": "ask_model", "data": {"prompt": "plan@1"},
     "words": {"messages": [{"role": "user", "content": "What is flu?"}]}},
    {"author": "model", "kind": "result", "name": "qwen3", "words": {"text": "An infection."}},
    {"author": "graph", "kind": "result", "name": "get_test", "data": {},
     "operations": [{"kind": "query", "name": "tests_of_diseases", "rows": 3, "digest": "ab12"}]},
]  # fmt: skip


def test_a_log_keeps_its_form_and_is_shown() -> None:
    document = read(AnswerDocument, {"schema": "kgdx.answer/3", "question": "q", "trace": ENTRIES})
    assert document.to_dict()["trace"] == ENTRIES
    assert [(row.name, row.rows, row.digest) for row in log_rows(document.trace)][-1] == (
        "tests_of_diseases",
        3,
        "ab12",
    )
    assert [(name, row.said) for name, row in exchanges(document.trace)] == [
        ("qwen3", "What is flu?"),
        ("qwen3", "An infection."),
    ]
    shown = page(document)
    assert "tests_of_diseases" in shown and "ab12" in shown


def test_an_entry_of_a_log_that_is_none_is_refused() -> None:
    with pytest.raises(UsageError, match=r"trace\.0\.name"):
        page({"schema": "kgdx.answer/3", "question": "q", "trace": [{"author": "a", "kind": "wish"}]})


def test_what_the_person_adds_is_told_apart_from_the_patients_words() -> None:
    parts = (
        Contribution("gene_evidence", 9.0, text="its gene TTN is the candidate gene"),
        Contribution("sex", 0.01, text="hardly counts"),
        Contribution("phrase", 2.0, text="always thirsty", words="increased thirst"),
    )
    candidate = Candidate(1, "X:1", "X", (), 11.0, contributions=parts)
    assert [each.name for each in of_the_person(candidate.contributions)] == ["its gene TTN is the candidate gene"]
    assert [(each.text, each.words, each.score) for each in worded(candidate.contributions)] == [
        ("always thirsty", "increased thirst", 2.0)
    ]


def test_a_finding_is_silent_where_nothing_speaks_for_it_and_no_words_stand_for_it() -> None:
    told = [
        Finding("HP:1", label="Thirst", text="always thirsty"),
        Finding("HP:2", label="Rash"),
        Finding("HP:3", Status.ABSENT, label="Fever"),
        Finding("HP:4", Status.FAMILY, label="Migraine"),
    ]
    words = Contribution("phrase", 2.0, text="Always thirsty", words="increased thirst")
    candidate = Candidate(1, "X:1", "X", (), 2.0, contributions=(words,))
    document = DiagnosisDocument(case=CaseSummary("p", findings=tuple(told)), candidates=(candidate,))
    assert argument(document, candidate).silent == ("Rash",)


@pytest.mark.parametrize(
    ("share", "shown"),
    [(0, "0%"), (0.0002, "<0.1%"), (0.0005, "0.1%"), (0.0123, "1.2%"), (0.0995, "10%"), (0.4567, "46%"), (1, "100%")],
)
def test_a_share_is_never_rounded_to_nothing(share: float, shown: str) -> None:
    assert percent(share) == shown


def test_only_a_relation_with_both_ends_is_stated_as_one() -> None:
    drug, gout = PathNode("D", "Drug", "Colchicine"), PathNode("G", "Disease", "Gout")
    relation = EvidenceItem("E1", "relation", "words", subject=gout, relation="INDICATION", objects=(drug,))
    assert stated(relation)[::2] == ("Colchicine", "Gout"), "a drug is named first"
    for other in (replace(relation, kind="row"), replace(relation, subject=None), replace(relation, objects=())):
        assert stated(other) == ("words", "", "")


def test_how_a_finding_and_an_annotated_term_are_related_is_said_by_the_steps_between() -> None:
    steps = [PathNode(id, "Phenotype", id) for id in ("fit", "epilepsy", "nerves", "tremor", "shaking")]
    up, down = PathRelation("IS_A"), PathRelation("IS_A", reversed=True)

    def told(*relations: PathRelation) -> str:
        return between(EvidencePath(tuple(steps[: len(relations) + 1]), relations, "supports", "fit"))

    assert told(PathRelation("OBSERVED")) == ""
    assert told(up, up) == "annotated as nerves, which includes it"
    assert told(down, down) == "annotated as nerves, a kind of it"
    assert told(up, up, down, down) == "annotated as shaking; both are kinds of nerves"
