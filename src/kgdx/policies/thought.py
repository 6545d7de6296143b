"""Think before retrieval, as RAR² does: a thought says what a question needs to know, and finds it; then the answer.

The thought searches documents and, which the paper lacks, the graph by the names in it. Both go into one evidence pack
that the answer cites. The thought itself is shown to nobody but the search and, in an iterative scaling, the next one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from kgdx.actions.answering import Respond
from kgdx.actions.reading import Rank
from kgdx.actions.tools import MOST_SEARCHED, Search
from kgdx.answer.artifacts import DiseasesNamed, Fitted, OptionChosen
from kgdx.answer.evidence_pack import language_of, pack
from kgdx.answer.option_questions import read_option
from kgdx.answer.sentences import MAX_CHARS
from kgdx.answer.wants import Want
from kgdx.episode.conversation import Exchange, exchanges
from kgdx.episode.lookup_rounds import THOUGHT
from kgdx.episode.operations import GraphLike
from kgdx.episode.policy import Capabilities, Policy
from kgdx.episode.segment import Kind, error_of
from kgdx.episode.state import State
from kgdx.episode.wish import ACTIONS, Action, AskModel, Remark, Wish, parse_action
from kgdx.llm.chat import Message, prompt
from kgdx.policies.candidate_evidence import patient
from kgdx.policies.finishing import MAX_NAME, WritingPolicy, asked_in, declaring, lost, name_of, parted
from kgdx.policies.question_reading import wants
from kgdx.policies.question_rules import getting
from kgdx.policies.thought_reading import (
    FACT_CHARS,
    FitPassages,
    NamesThought,
    NameThought,
    OpenSources,
    ReadChoice,
    ReadDiagnosis,
    answer_messages,
    diagnosis_messages,
    direct_messages,
    reasons,
    thought_messages,
)

CODE = "thought"
"""Code of the remarks that something is amiss with what the model wrote."""
ANSWERS = ("thought_answer@", "thought_direct@", "thought_diagnosis@")
"""Beginnings of the names of the prompts that ask for an option or a diagnosis."""

_SEARCHING = (OpenSources.name, Search.name)
"""Actions without which there are no documents."""
_USUAL = (Want.SYMPTOM, Want.GENE, Want.DRUG)
"""What is got of the diseases of a thought where the question's words ask for nothing of them."""
_OF_PATIENTS = (Want.SYMPTOM, Want.GENE)
"""What is got of them for a patient who comes without a question."""
_FEW = 2
"""So many findings, without any disease, are asked which diseases they are of."""
_INFERRED = 5


class ThoughtPolicy(WritingPolicy):
    """Let a model think of what it needs to know, search documents and the graph by that, and answer from both."""

    name: ClassVar[str] = "thought"
    capabilities: ClassVar[Capabilities] = Capabilities(answers=True, models=True, chooses=True)

    query: Literal["question+thought", "thought", "question", "none"] = "question+thought"
    """What is searched for; with ``none`` nothing is, and the model answers from what it knows."""
    documents: Annotated[int, Field(ge=0, le=100)] = 32
    """Passages of documents that are searched for; 0 for facts of the graph alone."""
    sources: Annotated[tuple[str, ...], BeforeValidator(parted)] = ()
    """Tags of the sources to search, in a text parted by ``+``; all without any."""
    budget: Annotated[int, Field(ge=16)] = 8_000
    """Tokens of the prompt that passages may take."""
    facts: bool = True
    """Whether the graph is asked of what is named in the thought."""
    scale: Annotated[int, Field(ge=1, le=8)] = 1
    """How many thoughts."""
    scaling: Literal["parallel", "iterative"] = "parallel"
    """Whether several thoughts are sampled at once and joined to one query, or each sees what the one before found."""
    votes: Annotated[int, Field(ge=1, le=64)] = 1
    """How many answers are sampled, of which the most frequent option, or the best places of diseases, count."""
    thought_tokens: Annotated[int, Field(ge=1)] = 512
    """Tokens of a thought at most."""
    answer_tokens: Annotated[int, Field(ge=16)] | None = None
    """Tokens of an answer at most."""
    sampling: Annotated[float, Field(ge=0, le=2)] = 1.0
    """Temperature where several thoughts or answers are sampled."""

    @model_validator(mode="after")
    def _finds(self) -> Self:
        if self.query != "none" and not self.documents and not self.facts:
            raise ValueError("with documents=0 and facts=false nothing is searched: say query=none to answer without")
        return self

    def suited(self, graph: GraphLike) -> Policy:
        """Search no documents where no index of useful ones is made: none is made on a first question."""
        if not self.documents or self.sources or not self.facts or self.query == "none" or graph.texts.useful:
            return self
        return self.model_copy(update={"documents": 0})

    def choose(self, state: State) -> Wish | None:
        """Return the next wish: read the case, open the texts, think, search, fit, look up, answer."""
        if failed := [each for each in state.log if each.kind is Kind.ERROR and each.name in _SEARCHING]:
            raise error_of(failed[-1])
        wish = next((action for action in self.reading(state) if not state.tried(action)), None)
        if wish is not None or lost(state):
            return wish or self.ending(state)
        opened = OpenSources(sources=self.sources)
        if self.documents and self.query != "none" and not state.tried(opened):
            return opened
        asked = exchanges(state.log)
        answering = asked and not asked[-1].wish.data["prompt"].startswith(THOUGHT)
        return (None if answering else self._retrieve(state)) or self._answer(state, ask=True)

    def close(self, state: State) -> Wish | None:
        return self._answer(state, ask=False)

    @property
    def thinks(self) -> bool:
        return "thought" in self.query

    # -- think and retrieve

    def _retrieve(self, state: State) -> Wish | None:
        if self.query == "none":
            return None
        for number in range(1, self._rounds(state) + 1):
            if self.thinks and (wish := self._think(state, number)) is not None:
                return wish
            if (wish := self._search(state, number)) is not None:
                return wish
        return None

    def _rounds(self, state: State) -> int:
        if not self.thinks or self.scaling == "parallel":
            return 1
        done = len(exchanges(state.log, THOUGHT))
        return self.scale if self.may_ask(state, kept=1) else max(1, done)

    def _think(self, state: State, number: int) -> Wish | None:
        said = exchanges(state.log, THOUGHT)
        if len(said) < number:
            if self.may_ask(state, kept=1):
                return self._thought(state)
            return None
        return next((each for each in _doubts(said[number - 1], number) if not state.tried(each)), None)

    def _thought(self, state: State) -> AskModel:
        samples = self.scale if self.scaling == "parallel" else 1
        found = pack(state).prompt(FACT_CHARS) if exchanges(state.log, THOUGHT) else ""
        return AskModel(
            prompt=prompt("thought").id,
            messages=thought_messages(asked_of(state), dict(state.options), found),
            max_tokens=self.thought_tokens,
            temperature=self.sampling if self.scale > 1 else self.temperature,
            samples=samples,
            whole=False,
        )

    def _search(self, state: State, number: int) -> Wish | None:
        query = self.query_of(state, number)
        searched = sum(each.kind is Kind.WISH and each.name == "search" for each in state.log)
        if self.documents and searched < number:
            without = state.case.publications
            return Search(query=query, sources=self.sources, limit=self.documents, without=without)
        if self.documents and state.get(Fitted) is None:
            return FitPassages(budget=self.budget, most=self.documents)
        if self.documents and not state.all(Fitted)[0].found:
            remark = Remark(code=CODE, text="no document has a word of what was searched for")
            if not state.tried(remark):
                return remark
        if not self.facts:
            return None
        naming = NameThought(round=number, text=query)
        if not state.tried(naming):
            return naming
        named = state.all(NamesThought)
        lookups = self._facts(state, named[number - 1]) if len(named) >= number else ()
        return next((each for each in lookups if not state.tried(each)), None)

    def query_of(self, state: State, number: int) -> str:
        """Return what a round searches for: the question, its thought, or both; the question where there is none."""
        said = exchanges(state.log, THOUGHT)
        thoughts = written(said[number - 1]) if self.thinks and len(said) >= number else ()
        thought = "\n".join(each for each in thoughts if each.strip())
        question = state.question or state.case.text or patient(state.case, words=False)
        parts = (thought,) if thought and self.query == "thought" else (question, thought)
        return "\n".join(filter(None, parts))[:MOST_SEARCHED].strip()

    def _facts(self, state: State, named: NamesThought) -> Iterator[Action]:
        if named.diseases:
            wanted = _wanted(state.question) if state.question else _OF_PATIENTS
            yield from getting(named.diseases, wanted, state)
        elif len(named.findings) >= _FEW:
            fields: dict[str, Any] = {"phenotypes": list(named.findings), "limit": _INFERRED}
            yield parse_action({"action": "infer_by_phenotype", **fields}, ACTIONS)

    # -- answer

    def _answer(self, state: State, *, ask: bool) -> Wish | None:
        ask = ask and self.may_ask(state)
        if not state.question:
            return self._diagnosis(state, ask)
        if state.options:
            return self._option(state, ask)
        return self.finish(state, ask=ask)

    def _option(self, state: State, ask: bool) -> Wish | None:
        action = self.ending(state)
        if not isinstance(action, Respond):
            return action
        said = _answers(state)
        if not said:
            return self._asked(state, self._option_messages(state)) if ask else action
        texts = written(said[-1])
        if not any(each.strip() for each in texts):
            return action
        chosen = state.get(OptionChosen)
        if chosen is None:
            return ReadChoice(answers=texts)
        if not chosen.letter:
            remark = Remark(code=CODE, text="the answer chooses none of the options, or more than one")
            if not state.tried(remark):
                return remark
        best = next((each for each in texts if read_option(each, dict(state.options)) == chosen.letter), texts[0])
        return action.model_copy(update={"text": reasons(best)[:MAX_CHARS], "author": name_of(said)[:MAX_NAME]})

    def _option_messages(self, state: State) -> tuple[Message, ...]:
        language, options = self.language or asked_in(state), dict(state.options)
        if self.query == "none":
            return direct_messages(asked_of(state), options, language)
        return answer_messages(asked_of(state), options, pack(state).prompt(FACT_CHARS), language)

    def _diagnosis(self, state: State, ask: bool) -> Wish | None:
        said = _answers(state)
        if not said and ask:
            shown = patient(state.case, words=True)
            language = self.language or language_of(state.case.text)
            evidence = pack(state).prompt(FACT_CHARS)
            return self._asked(state, diagnosis_messages(shown, evidence, language))
        texts = written(said[-1]) if said else ()
        named = state.last(DiseasesNamed)
        if named is None and any(each.strip() for each in texts):
            return ReadDiagnosis(answers=texts)
        declared = named.declared if named is not None else ()
        doubts = _diagnosis_doubts(named) if named is not None else ()
        if doubt := next((each for each in doubts if not state.tried(each)), None):
            return doubt
        if not declared:
            return self._undeclared(state)
        known = self.top > 0 and bool(state.case.observed)
        rank = Rank(top=self.top, also=declared, case_bank=self.case_bank, explain=True) if known else None
        return declaring(state, rank, self.explain, declared)

    def _undeclared(self, state: State) -> Wish | None:
        remark = Remark(code=CODE, text="the model named no disease of the graph")
        if not state.tried(remark):
            return remark
        return self.ending(state) if self.fallback else None

    def _asked(self, state: State, messages: Sequence[Message]) -> AskModel:
        answer = "thought_direct" if self.query == "none" else "thought_answer"
        kind = answer if state.question else "thought_diagnosis"
        return AskModel(
            prompt=prompt(kind).id,
            messages=tuple(messages),
            max_tokens=self.answer_tokens,
            temperature=self.sampling if self.votes > 1 else self.temperature,
            samples=self.votes,
            whole=False,
        )


@lru_cache(maxsize=1_024)
def _wanted(question: str) -> tuple[Want, ...]:
    return tuple(wants(question)) or _USUAL


def asked_of(state: State) -> str:
    """Return what a model is told that is asked: the question, and the patient where there is one."""
    case = state.case
    told = patient(case, words=True) if case.text.strip() or case.findings else ""
    if state.question:
        return f"{state.question}\nThe patient: {told}" if told else state.question
    return f"Which diseases does this patient most likely have? {told}"


def written(said: Exchange) -> tuple[str, ...]:
    """Return what a model wrote to a request: each sample."""
    if said.result is None:
        return ()
    return tuple(said.result.words.get("samples") or filter(None, (said.text,)))


def _answers(state: State) -> list[Exchange]:
    return [each for each in exchanges(state.log, "thought_") if each.wish.data["prompt"].startswith(ANSWERS)]


def _diagnosis_doubts(named: DiseasesNamed) -> Iterator[Remark]:
    if named.unknown:
        unknown = f"names of the model's diagnosis that no disease of the graph has: {len(named.unknown)}"
        yield Remark(code=CODE, text=unknown)
    if named.invented:
        yield Remark(code=CODE, text=f"marks in the model's reasons that no evidence has: {named.invented}")


def _doubts(said: Exchange, number: int) -> Iterator[Remark]:
    if not any(each.strip() for each in written(said)):
        yield Remark(code=CODE, text=f"thought {number} is empty: the question alone is searched for")
    elif said.failed or (said.result is not None and said.result.data.get("finish_reason") == "length"):
        yield Remark(code=CODE, text=f"thought {number} was cut off: what there is of it is searched for")
