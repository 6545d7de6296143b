"""Rewards are read from what was done: each equation on rollouts of scripted agents, and what earns nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import ROOT, examples
from kgdx.episode import Author, Episode, Kind, dump, load, run
from kgdx.episode.conversation import spans
from kgdx.errors import UsageError
from kgdx.learn.recorded_cases import RecordedCases, Truth
from kgdx.policies.tags import TagsPolicy
from kgdx_train.adversaries import BASELINES, SCRIPTS, Known, Writer
from kgdx_train.rewards import (
    EVEN,
    Reward,
    Scoring,
    Weights,
    diagnosis_reward,
    format_reward,
    greatest,
    least,
    match_reward,
    reward,
    score,
    search_reward,
    weights,
)
from learn.conftest import EPILEPSY_NAME, STATURE_NAME

KNOWN = Known(EPILEPSY_NAME, STATURE_NAME, ("Seizure", "Status epilepticus"))
POLICY = TagsPolicy(top=0, length=6_000)


def played(ward: RecordedCases, parts: Sequence[str], policy: TagsPolicy = POLICY) -> Episode:
    """A rollout of an agent that writes these parts for case "one"."""
    return run(ward.world_with(Writer(parts)), ward.start("one", policy=policy), policy)


def worth(ward: RecordedCases, name: str, **how: object) -> Reward:
    return reward(played(ward, SCRIPTS[name](KNOWN)).log, ward.truth("one"), Scoring(**how))  # type: ignore[arg-type]


def test_the_honest_agent_gets_all_but_the_price_of_its_match(ward: RecordedCases) -> None:
    found = worth(ward, "honest")
    assert [(each.name, round(each.value, 3)) for each in found.parts] == [
        ("format", 1.0),
        ("match", 0.4),
        ("search", 1.0),
        ("diagnosis", 0.8),
    ]
    assert found.value == found.reported == pytest.approx(greatest(EVEN))
    assert "right in place 1" in str(found)


@pytest.mark.parametrize("name", BASELINES)
def test_an_adversary_earns_no_more_than_the_honest_agent_that_knows_as_much(ward: RecordedCases, name: str) -> None:
    assert worth(ward, name).value <= worth(ward, BASELINES[name]).value + 1e-12


@pytest.mark.parametrize("name", ["forged", "empty_query", "lone_tags"])
def test_the_letter_of_the_paper_pays_for_some_of_it(ward: RecordedCases, name: str) -> None:
    assert worth(ward, name, letter=True).value >= worth(ward, BASELINES[name], letter=True).value
    assert worth(ward, "forged", letter=True).value > worth(ward, "wrong", letter=True).value


def test_what_breaks_the_protocol_is_the_least_there_is_and_is_reported_as_nothing(ward: RecordedCases) -> None:
    for name in ("forged", "lone_tags", "in_thought", "endless", "obedient"):
        found = worth(ward, name)
        assert (found.value, found.reported, found.parts[0].value) == (least(EVEN), 0.0, 0.0), name
    assert least(EVEN) <= worth(ward, "same_match").value


def test_the_same_match_again_is_refused_and_hardly_changed_ones_lose_the_bonus(ward: RecordedCases) -> None:
    twice = ["<think>.</think><match>Seizure</match>", "<think>.</think><match>Seizure, Hypotonia</match>"]
    log = played(ward, [*twice, SCRIPTS["wrong"](KNOWN)[0]]).log
    part = match_reward(log, ward.truth("one"))
    assert (part.value, part.reason) == (pytest.approx(-0.2), "2 done, a hit, too few phenotypes changed")
    assert match_reward(log, ward.truth("one"), letter=True).value == 0.0
    again = match_reward(played(ward, SCRIPTS["same_match"](KNOWN)).log, ward.truth("one"))
    assert (again.value, again.reason) == (pytest.approx(0.4), "1 done, a hit")


def test_a_query_counts_by_its_telling_words_and_the_best_one_counts(ward: RecordedCases) -> None:
    def searched(*queries: str) -> float:
        said = ". ".join(f"|hp| {each}" for each in queries)
        log = played(ward, [f"<think>.</think><search>{said}</search>", SCRIPTS["wrong"](KNOWN)[0]]).log
        return search_reward(log, ward.truth("one")).value

    assert searched("syndrome type 1 autosomal recessive") == 0
    assert searched("tiny") == pytest.approx(0.5 ** (1 / 3))
    assert searched("tiny", "a tiny epilepsy") == 1
    assert searched("OMIM:100001") == 1


def test_a_query_to_a_source_that_is_not_there_is_no_search(ward: RecordedCases) -> None:
    log = played(ward, ["<think>.</think><search>|PMC| tiny epilepsy</search>", SCRIPTS["wrong"](KNOWN)[0]]).log
    assert search_reward(log, ward.truth("one")).reason == "no search"


def test_a_disease_is_right_by_its_id_and_a_wrong_one_never_wholly_near(ward: RecordedCases) -> None:
    def diagnosed(*names: str, discount: bool = False) -> float:
        said = ", ".join(f"\\textbf{{{each}}}" for each in names)
        log = played(ward, [f"<think>.</think><diagnose>{said}</diagnose>"]).log
        return diagnosis_reward(log, ward.truth("one"), discount=discount).value

    assert diagnosed("OMIM:100001") == diagnosed(EPILEPSY_NAME.upper()) == pytest.approx(0.8)
    assert diagnosed(STATURE_NAME, EPILEPSY_NAME, discount=True) == pytest.approx(0.5)
    assert diagnosed(STATURE_NAME, STATURE_NAME.upper(), EPILEPSY_NAME, discount=True) == pytest.approx(0.5)
    assert diagnosed(STATURE_NAME) == pytest.approx(0.2)
    assert diagnosed("no such disease") == 0
    assert diagnosed(*(f"no {n}" for n in range(5)), EPILEPSY_NAME) == 0  # the sixth name is not read


def test_a_reward_is_a_function_of_the_log_alone(ward: RecordedCases) -> None:
    for name in ("honest", "same_match", "forged"):
        log = played(ward, SCRIPTS[name](KNOWN)).log
        assert reward(load(dump(log)), ward.truth("one")) == reward(log, ward.truth("one"))


def test_the_truth_is_not_in_the_log_of_an_agent_that_does_not_know_it(ward: RecordedCases) -> None:
    log = played(ward, SCRIPTS["wrong"](KNOWN)).log
    other = replace(ward, cases={"one": replace(ward.cases["one"], diseases=("OMIM:100002",))})
    assert played(other, SCRIPTS["wrong"](KNOWN)).log == log
    assert reward(log, other.truth("one")).value > reward(log, ward.truth("one")).value


def test_text_of_a_wish_that_was_not_done_earns_nothing() -> None:
    truth = Truth(frozenset({"OMIM:1"}), ("Marfan syndrome",))
    assert format_reward([]).value == 0
    assert {part(log=[], truth=truth).value for part in (match_reward, search_reward, diagnosis_reward)} == {0.0}


def test_the_stages_weigh_search_then_match_then_diagnosis() -> None:
    assert [weights(at) for at in (0, 0.2, 0.4, 0.6)] == [
        Weights(0.05, 0.9, 0.05),
        Weights(0.9, 0.05, 0.05),
        Weights(0.05, 0.05, 0.9),
        EVEN,
    ]
    assert all(sum(weights(at / 10)) == pytest.approx(1) for at in range(11))
    with pytest.raises(UsageError, match="the progress is 1.5"):
        weights(1.5)


PIECES = st.sampled_from(
    [
        *(f"<{end}{tag}>" for tag in ("think", "lookup", "match", "search", "diagnose", "refer") for end in ("", "/")),
        *("<think>.</think>", f"<search>{EPILEPSY_NAME}</search>", "<match>Seizure</match>", "<match>x</match>"),
        *(f"\\textbf{{{EPILEPSY_NAME}}}", EPILEPSY_NAME, "Seizure", ", ", "|hp| ", "\u2028", "\x00", "{", "\\"),
        f"<diagnose>\\textbf{{{EPILEPSY_NAME}}}</diagnose>",
    ]
)


@examples(60)
@given(parts=st.lists(st.lists(PIECES, min_size=1, max_size=6).map("".join), min_size=1, max_size=4))
def test_whatever_is_written_only_what_the_graph_did_is_paid(ward: RecordedCases, parts: list[str]) -> None:
    log, truth = played(ward, parts).log, ward.truth("one")
    done = {each.name for each in log if (each.author, each.kind) == (Author.GRAPH, Kind.RESULT)}
    found = reward(log, truth)
    for part, name in zip(found.parts[1:], ("match", "search", "diagnose"), strict=True):
        assert part.value <= 0 or name in done
    assert least(EVEN) - 1e-12 <= found.value <= greatest(EVEN) + 1e-12 and 0 <= found.reported <= 1
    assert found.parts[0].value == 1 or found.value == least(EVEN)
    assert reward(load(dump(log)), truth) == found


def test_a_finished_transcript_is_worth_what_its_log_is(ward: RecordedCases) -> None:
    episode, truth = played(ward, SCRIPTS["honest"](KNOWN)), ward.truth("one")
    text = "".join(each.text for each in spans(episode.log))
    found = score(text, truth)
    assert found == score(text, json.dumps({"ids": sorted(truth.ids), "names": list(truth.names)}))
    assert found.value == pytest.approx(reward(episode.log, truth).value)
    assert score("no tags", truth).value == least(EVEN)
    assert score(text, {"ids": ["OMIM:0"], "names": ["Another disease"]}).value < found.value


def test_functions_for_other_trainers_are_three_lines_each() -> None:
    page = (ROOT / "docs" / "how-to" / "train.md").read_text("utf-8")
    block = re.search(r"```python\n(from kgdx_train.rewards.*?)```", page, re.DOTALL)
    assert block is not None
    told: dict[str, Any] = {}
    exec(block[1], told)
    text = rf"<think>?</think><diagnose>\textbf{{{EPILEPSY_NAME}}}</diagnose>"
    right = json.dumps({"ids": ["OMIM:100001"], "names": [EPILEPSY_NAME]})
    assert told["compute_score"]("kgdx/diagnosis", text, right) == pytest.approx(0.32)
    chat = [{"role": "assistant", "content": text}]
    assert (
        told["worth"](prompts=["?"] * 2, completions=[text, chat], ground_truth=[right] * 2)
        == [pytest.approx(0.32)] * 2
    )
