"""Option questions are read, or made from a graph; what is none is refused with its reason."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks.scripted_models import scripted_options
from hypothesis import given
from hypothesis import strategies as st

import kgdx
from evaluate.conftest import records
from kgdx.answer.option_questions import LETTERS, OptionQuestion
from kgdx.api import Graph
from kgdx.case import Case
from kgdx.cli import main
from kgdx.errors import CaseError, KgdxError, MissingPackageError, SourceError, UsageError
from kgdx.evaluate.generated_options import (
    KINDS,
    OptionSettings,
    Resemblance,
    case_questions,
    generate_options,
    split_of,
)
from kgdx.evaluate.option_sets import FORMATS, parse_option_set, read_option_set, set_digest, write_option_questions

ASKED = "Which gene causes cystic fibrosis?"

WORDS = ["FBN1", "CFTR", "HBB", "PAH"]

LETTERED = dict(zip("ABCD", WORDS, strict=True))

OWN = {"question": ASKED, "options": LETTERED, "gold": "B"}


def lines(*rows: Any) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({**OWN, "options": {**LETTERED, "C": "cftr."}}, "options B and C are equal"),
        ({**OWN, "options": {"A": "x"}}, "has 1 options"),
        ({**OWN, "gold": "F"}, "'F' is none of its options"),
        ({**OWN, "question": " "}, "question is empty"),
        ({**OWN, "options": None}, "options are no object"),
        ({**OWN, "question": 7}, "question is no text"),
        ([1], "not a JSON object"),
        ({"question": ASKED}, "'options' is missing"),
    ],
)
def test_a_row_that_is_no_question_is_refused_with_its_line_and_the_rest_is_read(row: Any, said: str) -> None:
    found = parse_option_set(lines(OWN, row, OWN), "own.jsonl")
    assert len(found.questions) == 2
    assert len(found.refused) == 1 and said in found.refused[0] and "own.jsonl line 2" in found.refused[0]


def test_a_file_that_is_cut_off_keeps_its_whole_lines_and_says_so() -> None:
    found = parse_option_set(lines(OWN, OWN)[:-20])
    assert len(found.questions) == 1 and "line 2: it is not valid JSON; is the file cut off?" in found.refused[0]


def test_a_gzip_file_that_is_cut_off_is_named(tmp_path: Path) -> None:
    file = tmp_path / "own.jsonl.gz"
    file.write_bytes(gzip.compress(lines(OWN))[:-9])
    with pytest.raises(SourceError, match="truncated"):
        read_option_set(file)


@pytest.mark.parametrize("content", [b"", b"\n\n", b"[]", b"\xff\xfe", b"a,b\n1,2\n", b'{"text": "x"}'])
def test_a_file_that_holds_no_question_is_refused(content: bytes) -> None:
    with pytest.raises(SourceError):
        parse_option_set(content)


def test_two_questions_of_one_id_are_one_question_and_a_refusal() -> None:
    row = {"id": "q1", "question": ASKED, "options": LETTERED}
    found = parse_option_set(lines(row, row))
    assert len(found.questions) == 1 and "another question 'q1'" in found.refused[0]


def test_a_published_set_says_which_package_reads_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: ())
    monkeypatch.setattr(FORMATS, "_points", None)
    monkeypatch.setattr(FORMATS, "_classes", {})
    medqa = {"question": ASKED, "options": LETTERED, "answer": "CFTR", "answer_idx": "B"}
    with pytest.raises(SourceError, match=r"the fields question, options, answer, answer_idx.*pip install kgdx-datas"):
        parse_option_set(lines(medqa))
    with pytest.raises(MissingPackageError, match="format of option questions medqa needs the package kgdx-datasets"):
        parse_option_set(lines(medqa), format="medqa")
    with pytest.raises(UsageError, match="no format of option questions 'medq'"):
        parse_option_set(lines(medqa), format="medq")


WORD = st.text(min_size=1, max_size=20).filter(lambda words: words.strip(" .。\n\r\t") != "")


@given(st.lists(WORD, min_size=2, max_size=6), st.text(max_size=40), st.integers(0, 5))
def test_what_is_written_is_read_again(options: list[str], question: str, gold: int) -> None:
    try:
        asked = OptionQuestion(
            "q1", question, dict(zip(LETTERS, options, strict=False)), LETTERS[gold % len(options)], ("d1",), "x", "en"
        )
    except UsageError:
        return
    text = "\n".join(write_option_questions([asked])).encode("utf-8", "surrogatepass")
    again = parse_option_set(text).questions
    assert again == (asked,) and set_digest(again) == set_digest([asked])


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused_in_one_line(content: bytes) -> None:
    try:
        parse_option_set(content)
    except KgdxError as error:
        assert "\n" not in str(error)


@pytest.fixture(scope="module")
def made(chinese: Graph) -> list[OptionQuestion]:
    return list(generate_options(chinese, OptionSettings(each=4)))


def test_each_has_four_options_of_which_one_is_true(made: list[OptionQuestion]) -> None:
    assert {each.id.split("-")[0] for each in made} == {"symptom", "test"}
    entities = {"symptom": "symptom", "test": "check"}
    for each in made:
        name = next(
            record["name"] for record in records() if record["name"] in each.question or record["name"].isascii()
        )
        true = {
            entity
            for record in records()
            if record["name"] in each.question or (record["name"] == "river fever" and "河谷热" in each.question)
            for entity in record[entities[each.id.split("-")[0]]]
        }
        assert len(each.options) == 4 and each.gold is not None, name
        assert [letter for letter, words in each.options.items() if words in true] == [each.gold]


def test_the_same_seed_gives_the_same_questions_and_another_one_others(chinese: Graph) -> None:
    once, again, other = (
        set_digest(generate_options(chinese, OptionSettings(each=3, seed=seed))) for seed in (0, 0, 1)
    )
    assert once == again != other


def test_questions_on_one_disease_are_held_back_together(chinese: Graph) -> None:
    parts = [
        list(generate_options(chinese, OptionSettings(each=50, splits=(split,)))) for split in ("tuned", "held_out")
    ]
    tuned, held_out = ({each.subject for each in part} for part in parts)
    assert tuned and held_out and not tuned & held_out
    assert all(split_of(each) == "held_out" for each in held_out)


def test_an_unknown_kind_and_a_graph_with_nothing_to_ask_are_refused(chinese: Graph) -> None:
    with pytest.raises(UsageError, match="no kind of question 'colour'"):
        OptionSettings(kinds=("colour",))
    with pytest.raises(UsageError, match="nothing to ask for"):
        list(generate_options(chinese, OptionSettings(kinds=("gene",))))
    assert "heading" in KINDS


def test_findings_that_share_a_parent_come_before_cousins_and_none_is_above(graph: Graph) -> None:
    like = Resemblance(graph)
    for row in sorted(like.abnormal):
        kin = list(like.kin(row, "seed"))
        siblings = [bool({*like.parents[row]} & {*like.parents[each]}) for each in kin]
        assert siblings == sorted(siblings, reverse=True)
        assert not {*kin} & like.above(row)


def test_a_case_without_words_or_diagnosis_makes_no_question(graph: Graph) -> None:
    found = list(case_questions(graph, [Case("p1"), Case("p2", text="Seizures.")], OptionSettings()))
    assert all(isinstance(each, CaseError) for each in found) and len(found) == 2


def test_what_holds_the_answer_is_said_and_the_needed_document_names_it(tmp_path: Path) -> None:
    """Every other disease is described with one of its symptoms."""
    told = records()
    for at, record in enumerate(told):
        if at % 2:
            record["desc"] += f"患者常有{record['symptom'][0]}。"
    source = tmp_path / "medical.json"
    source.write_text("".join(json.dumps(each, ensure_ascii=False) + "\n" for each in told), encoding="utf-8")
    kgdx.build({"chinese_kg": str(source)}, store=tmp_path / "graph")
    with kgdx.open(tmp_path / "graph") as graph:
        made = list(generate_options(graph, OptionSettings(each=8, kinds=("symptom",))))
        texts = {id: text for id, _, text, _, _ in graph.texts.search("假想的疾病", limit=50)}
    assert {each.rests_on for each in made} == {"documents", "graph"}
    for each in made:
        assert (each.rests_on == "documents") is bool(each.needed)
        assert all(each.options[each.gold or ""] in texts[id] for id in each.needed)
        assert not any(
            words in texts[id]
            for id in each.needed
            for words in {*each.options.values()} - {each.options[each.gold or ""]}
        )


def test_the_command_writes_questions_that_are_read_again(
    chinese_store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "q.jsonl"
    args = ["evaluate", "questions", "--store", str(chinese_store), "--diseases", "3", "--out", str(file)]
    for more, status in (["--options", "--language", "zh"], 0), (["--cases", "cases.jsonl"], 2):
        with pytest.raises(SystemExit) as ended:
            main([*args, *more])
        assert ended.value.code == status
    assert "--cases goes with --options" in capsys.readouterr().err
    found = read_option_set(file)
    assert found.format == "own" and found.refused == () and len(found.questions) > 2
    assert all(each.gold is not None for each in found.questions)


def test_a_scripted_model_that_is_none_is_named() -> None:
    with pytest.raises(UsageError, match="no scripted model 'wise'"):
        scripted_options("scripted:wise", [])
