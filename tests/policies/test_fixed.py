"""The default policy reads, ranks, explains and declares, in this order."""

from __future__ import annotations

import pytest

from episode.states import state_of
from kgdx.case import Case
from kgdx.episode import POLICIES, State, make_policy
from kgdx.errors import UsageError
from kgdx.policies import FixedPolicy
from kgdx.rank import Ranking
from kgdx.results.ranked import Candidate

START = State(Case("p"))
READ = state_of(Case("p"), read=True)
RANKING = Ranking((Candidate(1, "OMIM:1", "", ("OMIM:1", "ORPHA:1"), 1.0),), 1)
RANKED = state_of(Case("p"), read=True, ranking=RANKING)


def chosen(policy: FixedPolicy, state: State) -> str | None:
    action = policy.choose(state)
    return None if action is None else action.name


def test_order_of_actions() -> None:
    policy = FixedPolicy()
    assert chosen(policy, START) == "extract"
    assert chosen(policy, READ) == "rank"
    assert chosen(policy, RANKED) == "explain"
    explained = state_of(Case("p"), read=True, ranking=RANKING, evidence={})
    assert chosen(policy, explained) == "diagnose"


def test_nothing_is_explained_when_nothing_is_asked_for() -> None:
    assert chosen(FixedPolicy(explain=0), RANKED) == "diagnose"


def test_other_patients_are_matched_where_there_are_some() -> None:
    for case_bank in (None, True, False):
        wish = FixedPolicy(case_bank=case_bank).choose(READ)
        assert wish is not None and wish.parameters()["case_bank"] is case_bank


def test_a_disease_asked_for_is_explained_under_the_entry_it_is_merged_into() -> None:
    policy = FixedPolicy(explain=0, also=("ORPHA:1",))
    assert chosen(policy, RANKED) == "explain"
    assert chosen(policy, state_of(Case("p"), read=True, ranking=RANKING, evidence={"OMIM:1": ()})) == "diagnose"


@pytest.mark.parametrize("name", sorted(POLICIES))
def test_every_policy_is_made_by_its_name_and_documented(name: str) -> None:
    assert make_policy(name).name == name
    assert POLICIES[name].__doc__


def test_unknown_policy_or_setting_is_refused() -> None:
    with pytest.raises(UsageError, match="no policy 'oracle': one of .*fixed"):
        make_policy("oracle")
    with pytest.raises(UsageError, match="the policy fixed has no setting 'colour': its settings: also, case_bank"):
        make_policy("fixed", {"colour": "red"})
    with pytest.raises(UsageError, match="policy fixed: top"):
        make_policy("fixed", {"top": "many"})
