"""An answer in the terminal: what was understood and looked up, the words with their marks, and what they rest on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from actions.packs import filled
from kgdx.answer.cited_answer import Answer
from kgdx.answer.sentences import check
from kgdx.case import Case, Finding, Issue, Status
from kgdx.episode import Author, Kind, Operation, Segment
from kgdx.episode.segment import error_segment
from kgdx.errors import LlmError, StoreError
from kgdx.render.pages import page
from kgdx.render.terminal.answer_text import answer
from kgdx.render.terminal.console import text
from kgdx.render.terminal.diagnosis_text import diagnosis
from kgdx.results.cited import CitedText
from render.terminal.examples import DIAGNOSIS

TOLD = {"prompt": "plan@1", "prompt_tokens": 900, "completion_tokens": 60, "cached": False}


def wish(name: str, **fields: Any) -> Segment:
    return Segment(Author.POLICY, Kind.WISH, name, fields)


def plan(number: int, *refused: str, ended: bool = False, failed: bool = False, thought: str = "") -> Segment:
    made = {"round": number, "actions": [], "refused": list(refused), "ended": ended, "failed": failed}
    return Segment(Author.GRAPH, Kind.RESULT, "read_plan", {"artifact": made}, {"thought": thought})


TRACE = (
    wish("recognise"),
    Segment(Author.GRAPH, Kind.RESULT, "recognise", operations=(Operation("tool", "names", rows=1),)),
    Segment(
        Author.POLICY,
        Kind.WISH,
        "ask_model",
        {"prompt": "plan@1"},
        {"messages": [{"role": "user", "content": "What is flu?"}]},
    ),
    Segment(Author.MODEL, Kind.RESULT, "qwen3", TOLD, {"text": "[]"}),
    plan(1, "unknown action 'get_all'", thought="Its symptoms."),
    wish("get_symptom", diseases=["influenza"], limit=50),
    Segment(Author.GRAPH, Kind.RESULT, "get_symptom", operations=(Operation("query", "symptoms_of_diseases", rows=3),)),
    plan(2, ended=True),
)
WHOLE = """\
What are the symptoms of flu?

Answer
  Fever [E1] and flu in MeSH [E6] are known [E7].
  1 citation taken out that no evidence has: E9

Understood
  influenza  disease flu  D:flu; exact

Looked up
  Round 1  Its symptoms.
    get_symptom  influenza  3 rows
    refused: unknown action 'get_all'
  Round 2: nothing more to look up

Evidence
  flu has the symptom
    E1  fever    book, atlas PMID:7 PMID:8
  4 further items of evidence: --trace shows them

MeSH
  E6  flu: Influenza, Human  MESH:D007251  C01.748.310
    exact by exact, 1.00. An acute viral infection.

Publications
  E7  Doe J. On flu. J Test 2020. PMID:7

Notes
  ! the model gave no answer in 2 tries; the answer rests on what was found
  without it

planner with qwen3 (1 call, 960 tokens)."""


def made(words: str = "Fever [E1] and flu in MeSH [E6] are known [E7][E9].", **more: Any) -> Answer:
    pack = filled()
    told = check(words, pack, author="qwen3")
    remedy = "the answer rests on what was found without it"
    note = Issue("warning", "model", "the model gave no answer in 2 tries", remedy)
    found = Answer(pack.question, told, pack, trace=TRACE, issues=(note,), policy="planner", model="qwen3")
    return replace(found, **more)


def test_an_answer_reads_well_in_eighty_columns() -> None:
    shown = text(answer(made()))
    assert shown.startswith(WHOLE)
    assert shown.endswith("\nDecision support for research, to be judged by a clinician.\n")
    assert max(map(len, shown.splitlines())) <= 80


def test_all_evidence_and_the_models_words_are_shown_on_request_alone() -> None:
    short, whole = (text(answer(made(), everything=everything), 120) for everything in (False, True))
    for line in (
        "E2  cough",
        "Diseases by the symptoms that they match",
        "E4  cold  1 of 2  cough",
        "E5  Flu is an infection. It spreads.",
        'qwen3 asked {"prompt": "plan@1"}',
    ):
        assert line in whole
        assert line not in short


def test_what_failed_stands_where_it_failed() -> None:
    trace = (
        error_segment("m", LlmError("the model m answers 401", kind="denied"), prompt="plan@1"),
        plan(1, failed=True),
        wish("get_drug", diseases=["flu"]),
        error_segment("get_drug", StoreError("the database is gone")),
    )
    template = check("Fever [E1].", filled(), author="template")
    shown = text(answer(made(trace=trace, text=template)))
    assert "  Round 1: no plan, see the notes\n" in shown
    assert "    get_drug  flu  failed, see the notes\n" in shown
    assert "planner with qwen3 (0 calls, 1 failed); the answer by template." in shown


def test_an_answer_without_words_says_so() -> None:
    assert "There is no answer; see the notes." in text(answer(made(text=CitedText(author="none"))))


@pytest.mark.parametrize("harm", ["\x1b[31mred", "a\u202eb", "[bold]x[/bold] :smile:"])
def test_nothing_that_a_name_holds_reaches_the_terminal_as_a_command(harm: str) -> None:
    shown = text(answer(made(question=f"What is {harm}?")))
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "[bold]" in shown or "bold" not in harm


def test_a_long_question_is_cut() -> None:
    shown = text(answer(made(question="0" * 1_500)))
    assert shown.count("0" * 80) == 4
    assert "0…" in shown


def test_a_diagnosis_by_a_model_shows_what_its_plans_looked_up() -> None:
    rank = wish("rank", top=5)
    trace = (*TRACE[2:4], plan(1, thought="Its symptoms."), rank)
    shown = text(diagnosis(replace(DIAGNOSIS, policy="planner", trace=trace), explain=0))
    assert "Looked up\n  Round 1  Its symptoms.\n    rank\n\nplanner with qwen3 (1 call, 960 tokens)\n" in shown
    assert "Looked up" not in text(diagnosis(DIAGNOSIS))


def test_what_was_read_of_a_patient_stands_before_the_answer() -> None:
    read = (Finding("HP:1", label="Ataxia"), Finding("HP:2", Status.ABSENT, "Seizure"))
    shown = text(answer(made(case=Case("case:1", read))))
    assert shown.index("Ataxia") < shown.index("Seizure") < shown.index("Answer\n")
    assert "1 finding present, 1 absent" in shown


def test_the_page_says_of_rounds_what_the_terminal_says() -> None:
    told = made().to_dict(private=True)
    told["rounds"] = [
        {"round": 1, "failed": True},
        {"round": 0, "by": "rules", "steps": [{"action": "get_drug"}]},
        {"round": 2, "ended": True},
    ]
    shown = page(told)
    for words in (
        "Round 1: no plan, see the notes",
        "By the words of the question",
        "Round 2: nothing more to look up",
    ):
        assert words in shown
