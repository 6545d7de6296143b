"""What selectors value, against the definitions written out in full on the small graph."""

from __future__ import annotations

from math import exp, log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import examples
from kgdx.case.patient import Case, Finding, Status
from kgdx.errors import UsageError
from kgdx.rank import Ranker
from kgdx.rank.proposing import WAYS, Question, checked
from kgdx.rank.selectors import (
    DEFAULT,
    LEAST,
    SELECTORS,
    TOLD,
    LookAhead,
    make_selector,
    mutual_information,
    named_information,
    prior,
)
from small_graph import DELAY, FEVER, FOCAL, HYPOTONIA, NERVOUS, RECESSIVE, ROOT, SEIZURE, SHORT, STATUS, TERMS

PHENOTYPES = sorted(set(TERMS) - {"HP:0000001", RECESSIVE})


def case_of(*present: str, absent: tuple[str, ...] = (), unknown: tuple[str, ...] = ()) -> Case:
    told = ((Status.PRESENT, present), (Status.ABSENT, absent), (Status.UNKNOWN, unknown))
    return Case("p", tuple(Finding(id, status) for status, ids in told for id in ids))


def entropy_of(*shares: float) -> float:
    return -sum(share * log2(share) for share in shares if share > 0)


def gain(ranker: Ranker, shares: list[float], term: str) -> float:
    """Entropy of which candidate it is, less what is left of it after the answer."""
    index, values = ranker.model.columns.frequency.row(ranker.names.terms[term])
    frequency = dict(zip(index.tolist(), values.tolist(), strict=True))
    having = [float(frequency.get(number, 0.0)) for number in range(len(shares))]
    left = 0.0
    for answer in (having, [1 - each for each in having]):
        joint = [p * f for p, f in zip(shares, answer, strict=True)]
        if sum(joint) > 0:
            left += sum(joint) * entropy_of(*(each / sum(joint) for each in joint))
    return entropy_of(*shares) - left


@examples(40)
@given(observed=st.lists(st.sampled_from(PHENOTYPES), min_size=1, max_size=4, unique=True))
def test_the_gain_of_a_question_is_what_its_answer_tells_of_the_disease(ranker: Ranker, observed: list[str]) -> None:
    shares = ranker.posterior(ranker.score((observed, ())))
    shares = shares / shares.sum()
    found = mutual_information(ranker.proposer.pools["phenotype"], shares.astype(np.float32))
    for term, bits in zip(ranker.names.terms, found, strict=True):
        assert bits == pytest.approx(gain(ranker, shares.tolist(), term), abs=1e-6)


@pytest.mark.parametrize("name", SELECTORS)
def test_every_selector_asks_the_same_again_and_nothing_that_is_settled(ranker: Ranker, name: str) -> None:
    case = case_of(STATUS, absent=("HP:0001507",), unknown=(HYPOTONIA,))
    found = ranker.proposer.propose(case, name)
    assert found and found == ranker.proposer.propose(case, name)
    assert [each.value for each in found] == sorted((each.value for each in found), reverse=True)
    assert {each.id for each in found} <= {FOCAL, FEVER}, "neither above a finding nor below a no or an unknown"


def test_what_was_answered_elsewhere_is_not_asked_either(ranker: Ranker) -> None:
    first = {each.id for each in ranker.proposer.propose(case_of(STATUS))}
    left = {each.id for each in ranker.proposer.propose(case_of(STATUS), unknown=[NERVOUS])}
    assert left == first - {NERVOUS, SEIZURE, FOCAL, HYPOTONIA, DELAY, ROOT}


def test_a_question_says_why(ranker: Ranker) -> None:
    for each in ranker.proposer.propose(case_of(SEIZURE)):
        assert each.gain > 0 and 0 < each.chance < 1
        why = ranker.proposer.why(case_of(SEIZURE), each.id)
        assert why
        for moved in why:
            assert 0 <= moved.likelihood <= 1
            expected = each.chance * moved.yes + (1 - each.chance) * moved.no
            assert expected == pytest.approx(moved.share, abs=1e-6), "answers move shares, and not on average"


def test_a_yes_can_be_narrowed_to_what_lies_below(ranker: Ranker) -> None:
    found = {each.id: each for each in ranker.proposer.propose(case_of(SHORT))}
    up = ranker.model.basis.up
    for each in found.values():
        for option in each.options:
            assert ranker.names.terms[each.id] in up.columns(ranker.names.terms[option.id])
        assert all(ranker.names.terms[each.id] in up.columns(ranker.names.terms[id]) for id in each.below)
    assert any(each.options for each in found.values())


def named_gain(ranker: Ranker, shares: list[float], asked: str, free: set[str]) -> float:
    """Entropy of the answers "none of them" and "yes, namely t", less what is left of it where the disease is known."""
    pool, terms = ranker.proposer.pools["phenotype"], ranker.names.terms
    answers = []
    for number in range(len(shares)):
        index, value = pool.neighbours.row(number)
        rates = {
            int(t): TOLD * float(f)
            for t, f in zip(index, value, strict=True)
            if terms[asked] in ranker.model.basis.up.columns(t) and pool.ids[t] in free
        }
        total = sum(rates.values())
        chances = {t: (1 - exp(-total)) * rate / total for t, rate in rates.items()}
        answers.append({None: exp(-total), **chances})
    told = {
        answer: sum(p * each.get(answer, 0.0) for p, each in zip(shares, answers, strict=True))
        for answer in {key for each in answers for key in each}
    }
    known = sum(p * entropy_of(*each.values()) for p, each in zip(shares, answers, strict=True))
    return entropy_of(*told.values()) - known


@examples(30)
@given(observed=st.lists(st.sampled_from(PHENOTYPES), min_size=1, max_size=3, unique=True))
def test_the_gain_of_a_named_answer_is_that_of_all_its_answers(ranker: Ranker, observed: list[str]) -> None:
    shares = ranker.posterior(ranker.score((observed, ())))
    shares = shares / shares.sum()
    pool = ranker.proposer.pools["phenotype"]
    free = pool.free(observed, ())
    found = named_information(pool, shares, np.arange(len(shares)), free)
    open_ = {id for id, each in zip(pool.ids, free, strict=True) if each}
    for term in open_:
        bits = float(found[ranker.names.terms[term]])
        assert bits == pytest.approx(named_gain(ranker, shares.tolist(), term, open_), abs=1e-6)


def looked_ahead(share: list[float], likely: list[list[float]], ahead: int) -> list[float]:
    """The definition, with all questions as branches: likely[d][q], and the answers' entropies before and after."""

    def after(answer: list[float]) -> list[float]:
        joint = [p * a for p, a in zip(share, answer, strict=True)]
        return [each / sum(joint) for each in joint]

    found = []
    for asked in range(len(likely[0])):
        yes = [row[asked] for row in likely]
        no = [1 - each for each in yes]
        chance = sum(p * y for p, y in zip(share, yes, strict=True))
        gain = entropy_of(*share) - chance * entropy_of(*after(yes)) - (1 - chance) * entropy_of(*after(no))
        reward = gain / (1 + abs(2 * chance - 1) / 0.4)
        rest = [[each for place, each in enumerate(row) if place != asked] for row in likely]
        if ahead > 1 and rest[0]:
            for part, answer in ((chance, yes), (1 - chance, no)):
                further = looked_ahead(after(answer), rest, ahead - 1)
                reward += part * sum(further) / len(further)
        found.append(reward)
    return found


@pytest.mark.parametrize("ahead", [1, 2, 3])
def test_uncertainty_of_thoughts_is_its_definition(ahead: int) -> None:
    likely = [[0.9, 0.2, 0.5], [0.1, 0.3, 0.6], [0.4, 0.8, 0.05]]
    found = LookAhead(ahead=ahead, branches=3)._reward(np.array([0.5, 0.3, 0.2]), np.array(likely), ahead)
    assert found.tolist() == pytest.approx(looked_ahead([0.5, 0.3, 0.2], likely, ahead))


def test_the_prior_may_be_that_of_an_encoder(ranker: Ranker, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[str, ...]] = []

    def vectors_of(texts: tuple[str, ...]) -> np.ndarray:
        told.append(texts)
        return np.array([[1.0, 0.0] if "epilepsy" in each.casefold() else [0.6, 0.8] for each in texts])

    monkeypatch.setattr("kgdx.rank.proposing.vectors_of", vectors_of)
    by_graph, by_names = (ranker.proposer.propose(case_of(SHORT), name) for name in ("medkgi", "medkgi:prior=encoder"))
    pool = ranker.proposer.pools["phenotype"]
    assert (pool.labels(pool.rows[SHORT]),) in told and by_names
    assert [each.value for each in by_graph] != [each.value for each in by_names]
    assert prior(np.array([[0.2, 0.4], [-1.0, 0.1]]))[1] == pytest.approx(LEAST / 0.3, rel=1e-4)
    assert prior(ranker.proposer._alike(np.arange(4), np.arange(0))).tolist() == [0.25] * 4


def test_a_dear_question_comes_later(ranker: Ranker) -> None:
    case = case_of(SEIZURE)
    even: tuple[Question, ...] = ranker.proposer.propose(case)
    dear = ranker.proposer.propose(case, costs={even[0].way: 100.0})
    assert {each.way for each in even} <= set(WAYS)
    assert all(each.value == pytest.approx(each.gain / each.price) for each in dear)


@pytest.mark.parametrize("costs", [{"imaging": 0}, {"imaging": float("nan")}, {"guessing": 1}])
def test_a_price_is_above_0_and_of_a_known_way(costs: dict[str, float]) -> None:
    with pytest.raises(UsageError):
        checked(costs)


def test_selectors_are_found_by_name_with_their_settings() -> None:
    assert make_selector("split:leaders=3").model_dump() == {"leaders": 3}
    assert DEFAULT in SELECTORS
    for wrong in ("nobody", "split:leaders=0", "split:depth=3"):
        with pytest.raises(UsageError):
            make_selector(wrong)


def test_an_unknown_kind_is_refused(ranker: Ranker) -> None:
    with pytest.raises(UsageError, match="kind"):
        ranker.proposer.propose(case_of(SEIZURE), kinds=("rumour",))
