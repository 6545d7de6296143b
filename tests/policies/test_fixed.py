"""The default policy reads, ranks, explains and declares, in this order."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kgdx.actions import State
from kgdx.case import Case
from kgdx.errors import UsageError
from kgdx.evaluate.scripted import scripted
from kgdx.policies import POLICIES, FixedPolicy, policy
from kgdx.rank import Candidate, Ranking

START = State(Case("p"))
RANKED = replace(START, read=True, ranking=Ranking((Candidate(1, "OMIM:1", "", ("OMIM:1", "ORPHA:1"), 1.0),), 1))


def chosen(policy: FixedPolicy, state: State) -> str | None:
    action = policy.choose(state)
    return None if action is None else action.name


def test_order_of_actions() -> None:
    policy = FixedPolicy()
    assert chosen(policy, START) == "extract"
    assert chosen(policy, replace(START, read=True)) == "rank"
    assert chosen(policy, RANKED) == "explain"
    assert chosen(policy, replace(RANKED, evidence={})) == "diagnose"
    assert chosen(policy, replace(RANKED, done=True)) is None


def test_nothing_is_explained_when_nothing_is_asked_for() -> None:
    assert chosen(FixedPolicy(explain=0), RANKED) == "diagnose"


def test_other_patients_are_matched_only_when_asked_for() -> None:
    asked = FixedPolicy(case_bank=True).choose(replace(START, read=True))
    assert asked is not None and asked.parameters()["case_bank"] is True
    usual = FixedPolicy().choose(replace(START, read=True))
    assert usual is not None and usual.parameters()["case_bank"] is False


def test_a_disease_asked_for_is_explained_under_the_entry_it_is_merged_into() -> None:
    policy = FixedPolicy(explain=0, also=("ORPHA:1",))
    assert chosen(policy, RANKED) == "explain"
    assert chosen(policy, replace(RANKED, evidence={"OMIM:1": ()})) == "diagnose"


@pytest.mark.parametrize("name", sorted(POLICIES))
def test_every_policy_is_made_by_its_name_and_documented(name: str) -> None:
    settings = {"model": scripted("right", [])} if name == "planner" else {}
    assert policy(name, **settings).name == name
    assert POLICIES[name].__doc__


def test_unknown_policy_or_setting_is_refused() -> None:
    with pytest.raises(UsageError, match="no policy 'oracle': one of fixed"):
        policy("oracle")
    with pytest.raises(UsageError, match="policy fixed"):
        policy("fixed", colour="red")
