"""A log keeps of a model what a trainer needs: increments of messages and tokens, and who wrote each."""

from __future__ import annotations

from typing import ClassVar

import pytest

from episode.worlds import Scripted, ask_model
from kgdx.case import Case
from kgdx.episode import AskModel, Limits, Policy, State, Wish, World, begin, dump, load, run
from kgdx.episode.conversation import conversation, exchanges, requested, training_sample
from kgdx.llm.chat import Message


class Tags(Policy):
    """Continues one text, with something of the environment's after each call."""

    name: ClassVar[str] = "tags"

    def choose(self, state: State) -> Wish | None:
        done = len(exchanges(state.log))
        if done == 0:
            return ask_model("begin", tokens=True, temperature=1.0, whole=False)
        if done == 3:
            return None
        given = (Message("assistant", f"<guide>{done}</guide>"),)
        return AskModel(prompt="test@1", messages=given, continues=True, tokens=True, temperature=1.0, whole=False)


def test_a_continued_text_is_one_message_and_its_tokens_are_increments() -> None:
    policy = Tags()
    episode = run(World(models={"m": Scripted()}), begin(Case("p"), policy, seed=3), policy)
    texts = [each.text for each in exchanges(episode.log)]
    whole = f"{texts[0]}<guide>1</guide>{texts[1]}<guide>2</guide>{texts[2]}"
    assert conversation(episode.log) == (Message("user", "begin"), Message("assistant", whole))
    assert [len(each.wish.words["messages"]) for each in exchanges(episode.log)] == [1, 1, 1]
    ids, mask, logprobs = training_sample(load(dump(episode.log)))
    assert len(ids) == len(mask) == len(logprobs)
    written = bytes(one for one, own in zip(ids, mask, strict=True) if own).decode()
    assert written == "".join(texts)
    assert {value for value, own in zip(logprobs, mask, strict=True) if own} == {-0.5}
    assert {value for value, own in zip(logprobs, mask, strict=True) if not own} == {0.0}
    assert bytes(ids).decode().endswith(whole)


def test_seeds_differ_by_call_and_by_episode_and_tokens_left_bound_an_answer() -> None:
    policy = Tags()
    model = World(models={"m": Scripted()})
    one, other = (run(model, begin(Case("p"), policy, seed=seed), policy) for seed in (3, 4))
    assert exchanges(one.log)[0].text != exchanges(other.log)[0].text
    state = State(Case("p"), limits=Limits(tokens=100))
    assert requested(state, ask_model()).max_tokens == 100
    assert requested(state, ask_model(max_tokens=7)).max_tokens == 7
    assert (requested(state, ask_model()).seed, requested(state, ask_model(temperature=0.5)).seed) == (None, 0)


@pytest.mark.parametrize("count", [1, 3])
def test_several_samples_of_one_request_have_own_seeds(count: int) -> None:
    class Samples(Tags):
        def choose(self, state: State) -> Wish | None:
            return None if state.log[1:] else ask_model(samples=count, temperature=1.0, tokens=True)

    policy = Samples()
    episode = run(World(models={"m": Scripted()}), begin(Case("p"), policy), policy)
    result = episode.log[2]
    assert len({*result.words.get("samples", [result.words["text"]])}) == count
    assert len(result.tokens) == count
