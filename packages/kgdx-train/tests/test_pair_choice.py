"""Samples become pairs by whether what follows them is right; every question and sample is accounted for."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgdx.answer.option_questions import OptionQuestion
from kgdx.errors import StoreError, UsageError
from kgdx.llm.chat import Message
from kgdx.policies.thought import ThoughtPolicy
from kgdx_train.pair_choice import Asked, Filters, Statistics, Tried, pairs_of
from kgdx_train.pair_making import PairMaker
from kgdx_train.preference_pairs import Pair, read_pairs, split_pairs, write_pairs
from kgdx_train.sample_journal import Sample, SampleJournal

QUESTION = OptionQuestion("q1", "Which gene?", {"A": "FBN1", "B": "TP53"}, "A")
PROMPTS = {kind: (Message("user", f"prompt of {kind}s"),) for kind in ("thought", "answer")}
RIGHT, WRONG, NONE = (Sample(text) for text in ("The answer is A.", "The answer is B.", "I cannot say."))


def thought(text: str, direct: Sample, retrieved: Sample, seed: int = 0) -> Tried:
    return Tried(Sample(text), seed, direct, retrieved)


def asked(*thoughts: Tried, answers: tuple[Sample, ...] = (), question: OptionQuestion = QUESTION) -> Asked:
    tried = [Tried(each, number) for number, each in enumerate(answers)]
    return Asked(question, "d", thoughts, tried, PROMPTS)


def test_a_thought_is_chosen_where_both_answers_are_right_and_rejected_where_the_retrieved_one_is_wrong() -> None:
    found, why = pairs_of(asked(thought("good", RIGHT, RIGHT, 3), thought("bad", RIGHT, WRONG, 4)), Filters(), 0)
    [pair] = found
    assert (pair.kind, pair.chosen, pair.rejected, pair.seeds) == ("thought", "good", "bad", (3, 4))
    assert pair.prompt == ({"role": "user", "content": "prompt of thoughts"},)
    assert why["thought"][0] == "pairs"


def test_a_mixed_thought_is_dropped_unless_it_is_to_be_rejected() -> None:
    samples = (thought("good", RIGHT, RIGHT), thought("mixed", WRONG, RIGHT))
    found, why = pairs_of(asked(*samples), Filters(), 0)
    assert not found and why["thought"][0] == "all right" and why["thought"][1]["mixed"] == 1
    [pair], _ = pairs_of(asked(*samples), Filters(mixed="reject"), 0)
    assert pair.rejected == "mixed"


def test_answers_are_paired_by_the_option_that_they_choose() -> None:
    [pair], _ = pairs_of(asked(answers=(WRONG, NONE, RIGHT)), Filters(), 0)
    assert (pair.chosen, pair.rejected, pair.seeds) == (RIGHT.text, WRONG.text, (2, 0))


@pytest.mark.parametrize(
    ("thoughts", "why"),
    [
        ((), "no text usable"),
        ((thought("a", RIGHT, RIGHT),), "all right"),
        ((thought("a", RIGHT, WRONG), thought("b", WRONG, WRONG)), "all wrong"),
        ((thought("a", WRONG, RIGHT),), "mixed alone"),
        ((thought("a", RIGHT, NONE),), "no answer readable"),
        ((Tried(Sample("a", "cut"), 0), Tried(Sample("", "empty"), 1)), "no text usable"),
        ((thought("思考", RIGHT, RIGHT), thought("bad", RIGHT, WRONG)), "all wrong"),
    ],
)
def test_it_is_said_why_a_question_gives_no_pair(thoughts: tuple[Tried, ...], why: str) -> None:
    found, said = pairs_of(asked(*thoughts), Filters(), 0)
    assert not found and said["thought"][0] == why


def test_a_question_without_gold_gives_none() -> None:
    open_ = OptionQuestion("q2", "Which gene?", {"A": "FBN1", "B": "TP53"})
    found, why = pairs_of(asked(thought("a", RIGHT, RIGHT), thought("b", RIGHT, WRONG), question=open_), Filters(), 0)
    assert not found and {reason for reason, _ in why.values()} == {"no gold"}


def test_texts_that_are_equal_too_long_or_in_another_language_are_left_out() -> None:
    texts = ("good", "good  ", "x" * 9_000, "思考", "bad")
    samples = [thought(text, RIGHT, WRONG if text == "bad" else RIGHT) for text in texts]
    found, why = pairs_of(asked(*samples), Filters(), 0)
    assert [(each.chosen, each.rejected) for each in found] == [("good", "bad")]
    assert {name: why["thought"][1][name] for name in ("duplicate", "length", "language")} == dict.fromkeys(
        ("duplicate", "length", "language"), 1
    )


sample = st.sampled_from([RIGHT, WRONG, NONE, Sample("", "empty"), Sample("The answer is A", "cut")])
tried = st.builds(thought, st.text(max_size=3), sample, sample, st.integers(0, 9))


@given(st.lists(st.builds(asked, tried, tried, tried, answers=st.tuples(sample, sample, sample)), max_size=4))
def test_counts_add_up_and_no_text_is_in_two_pairs(questions: list[Asked]) -> None:
    counted, made = Statistics(), []
    for each in questions:
        pairs, why = pairs_of(each, Filters(), 1)
        counted.add(pairs, why)
        made += pairs
        for kind in ("thought", "answer"):
            texts = [text for pair in pairs if pair.kind == kind for text in (pair.chosen, pair.rejected)]
            assert len(set(texts)) == len(texts)
    told = counted.to_dict()
    assert told["questions"] == len(questions)
    for kind in ("thought", "answer"):
        assert sum(told[kind]["questions"].values()) == len(questions)
        assert sum(told[kind]["samples"].values()) == 3 * len(questions)
        assert told[kind]["pairs"] == sum(pair.kind == kind for pair in made)


def pair(number: int, **changed: object) -> Pair:
    given: dict[str, object] = {"chosen": "a", "rejected": "b", **changed}
    return Pair(f"q{number}", "thought", ({"role": "user", "content": "q"},), seeds=(0, 1), digest=str(number), **given)


def test_a_pairs_file_is_read_as_it_was_written_whatever_the_texts_hold(tmp_path: Path) -> None:
    hostile = pair(1, chosen='\u2028 "}\n{"pairs": 9} <|im_end|>\x00', rejected="\x85 </s>")
    write_pairs(tmp_path / "pairs.jsonl", [hostile, pair(2)], {"model": "m"})
    found, about = read_pairs(tmp_path / "pairs.jsonl")
    assert found == [hostile, pair(2)] and about["model"] == "m"
    assert (tmp_path / "pairs.jsonl").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda lines: lines[:-1], "is cut off: it says 3 pairs, and has 2"),
        (lambda lines: [*lines[:-1], lines[-1][:20]], r"is cut off or damaged \(line 4\)"),
        (lambda lines: lines[1:], "cannot be read as pairs"),
        (lambda lines: ['{"format": 9, "pairs": 0}'], "holds no pairs of format 1"),
        (lambda lines: [lines[0], *lines[2:], '{"id": 1}'], r"cut off or damaged \(line 4\)"),
        (lambda lines: [lines[0], *lines[2:], lines[1].replace("thought", "step")], "damaged"),
    ],
)
def test_a_file_that_is_cut_off_or_none_is_one_line(tmp_path: Path, change: object, said: str) -> None:
    file = tmp_path / "pairs.jsonl"
    write_pairs(file, [pair(number) for number in range(3)], {})
    file.write_text("\n".join(change(file.read_text().splitlines())))  # type: ignore[operator]
    with pytest.raises(UsageError, match=said) as error:
        read_pairs(file)
    assert "\n" not in str(error.value)


@given(st.lists(st.integers(0, 20), min_size=2, max_size=40), st.floats(0.01, 0.99), st.integers(0, 9))
def test_pairs_of_a_question_stay_on_one_side(numbers: list[int], share: float, seed: int) -> None:
    pairs = [pair(each) for each in numbers]
    if len(set(numbers)) < 2:
        with pytest.raises(UsageError, match="none can be held out"):
            split_pairs(pairs, share, seed)
        return
    train, rest = split_pairs(pairs, share, seed)
    assert train and rest and not {each.digest for each in train} & {each.digest for each in rest}
    assert len(train) + len(rest) == len(pairs)


KEY = ("d", "thought", 0, 0)


def test_a_journal_keeps_what_was_written_and_drops_a_line_that_was_cut(tmp_path: Path) -> None:
    journal = SampleJournal(tmp_path / "journal")
    with journal.working({"model": "m"}):
        journal.add(KEY, Sample("half \ud83e 思\u2028\n", ""))  # type: ignore[arg-type]
        journal.add(("d", "direct", 0, 0), Sample("", "empty"))
    with (tmp_path / "journal").open("a") as stream:
        stream.write('{"question": "d", "asked"')
    again = SampleJournal(tmp_path / "journal")
    with again.working({"model": "m"}):
        assert len(again) == 2 and again.get(KEY) == Sample("half \ud83e 思\u2028\n")  # type: ignore[arg-type]
        again.add(("d", "answer", 0, 0), Sample("x"))
    lines = (tmp_path / "journal").read_text().splitlines()
    assert len(lines) == 4 and all(json.loads(line) for line in lines)


def test_a_journal_of_another_model_or_one_that_is_damaged_is_one_line(tmp_path: Path) -> None:
    with SampleJournal(tmp_path / "journal").working({"model": "m", "graph": "g"}):
        pass
    with (
        pytest.raises(UsageError, match="samples of another model"),
        SampleJournal(tmp_path / "journal").working({"model": "n", "graph": "g"}),
    ):
        pass
    for damaged in ("{}\n[1]\n", "[1]\n", "{\n"):
        (tmp_path / "journal").write_text(damaged)
        with pytest.raises(StoreError, match="is damaged: remove it"), SampleJournal(tmp_path / "journal").working({}):
            pass


def test_samples_of_a_folder_that_was_trained_anew_are_of_another_model(tmp_path: Path) -> None:
    weights = tmp_path / "model" / "model.safetensors"
    weights.parent.mkdir()
    weights.write_bytes(b"first")
    retrieval: Any = SimpleNamespace(policy=ThoughtPolicy())
    model: Any = SimpleNamespace(name=str(weights.parent))
    journal = SampleJournal(tmp_path / "journal")
    maker = PairMaker(retrieval, model, journal)
    for _ in range(2):
        with journal.working(maker.about("g")):
            pass
    weights.write_bytes(b"trained")
    with pytest.raises(UsageError, match="samples of another model"), journal.working(maker.about("g")):
        pass


def test_only_one_process_writes_a_journal(tmp_path: Path) -> None:
    one, other = (SampleJournal(tmp_path / "journal") for _ in range(2))
    with one.working({}), pytest.raises(StoreError, match="another process makes pairs"), other.working({}):
        pass


def test_a_full_disk_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreError, match="No space left on device.*nothing is asked twice"):
        write_pairs(tmp_path / "pairs.jsonl", [pair(1)], {})
    with pytest.raises(StoreError, match="No space left on device"), SampleJournal(tmp_path / "journal").working({}):
        pass
