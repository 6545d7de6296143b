"""How an episode comes to its end: diseases described, publications cited, the case ranked, the answer given.

Policies that look things up in their own way end in the same way; and an episode that a limit stopped is brought to
its end by this alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import ClassVar, Literal

from kgdx.actions.answering import Cite, Respond
from kgdx.actions.describing import Describe
from kgdx.actions.explaining import Explain
from kgdx.actions.reading import Diagnose, Extract, Rank
from kgdx.answer.artifacts import Explained, Ranked, Read, Retrieved, mentions_of, ranking_of, resolved_of
from kgdx.answer.evidence_pack import EvidencePack, language_of, pack
from kgdx.answer.sentences import MAX_CHARS
from kgdx.episode.conversation import Exchange, exchanges
from kgdx.episode.policy import Capabilities, Policy
from kgdx.episode.segment import Kind
from kgdx.episode.state import State
from kgdx.episode.wish import Action, Remark, Wish
from kgdx.policies.answer_writing import LANGUAGES, answer_request, best_of, groundless, mend_request, said_in
from kgdx.policies.intents import GAP, masked

FINAL = frozenset({"denied", "rejected", "unreachable", "refused", "missing", "budget"})
"""Kinds of a model's errors after which it is asked no more."""

GROUNDLESS = "groundless"
"""Code of the remark that a model's answer is not taken."""

LANGUAGE = "language"
"""Code of the remark that a model's answer is in another language."""

MAX_NAME = 200
"""Letters of a model's name that an answer carries."""

FAILURES = 2
"""After so many errors of the graph nothing more is asked: a single one may be of one action alone."""

NAMED = 3
"""How many of the diseases that were inferred or ranked best are described, beside those that were named."""

DESCRIBED = 20
"""Most entries of diseases that one episode describes; one disease has an entry in several sources."""


def declaring(
    state: State, rank: Rank | None, explain: Explain | None, diseases: tuple[str, ...] = ()
) -> Action | None:
    """Return the next step to a diagnosis: rank and explain, each tried once, then declare the ranking or an order."""
    ranked = state.get(Ranked) is not None
    if not ranked and rank is not None and not state.tried(rank):
        return rank
    if ranked and explain is not None and not state.all(Explained) and not state.tried(explain):
        return explain
    return Diagnose(diseases=diseases) if ranked or diseases else None


class EndingPolicy(Policy):
    """A policy that ends in the usual way: the case ranked, diseases described, publications cited, an answer given."""

    capabilities: ClassVar[Capabilities] = Capabilities(answers=True)

    strict: bool = True
    """Whether the answer may rest on nothing but the evidence."""
    language: Literal["en", "zh"] | None = None
    """Language of the answer; that of the question when ``None``."""
    pubmed: bool = False
    """Whether publications are searched for."""
    top: int = 10
    """How many candidates are ranked for a case."""
    explain: int = 3
    """How many of them are explained."""
    case_bank: bool | None = None
    """Whether to match with the graph's other patients too; ``None`` where it has some."""

    def close(self, state: State) -> Wish | None:
        return self.ending(state)

    def ending(self, state: State) -> Action | None:
        """Return the next action on the way to the end; what was tried is not tried again."""
        if lost(state):
            return self.respond(state) if state.question else None
        return next((action for action in self._steps(state) if not state.tried(action)), None)

    def _steps(self, state: State) -> Iterator[Action]:
        yield from self.reading(state)
        yield from self.ranked(state)
        if not state.question:
            if state.get(Ranked) is not None:
                yield Diagnose()
            return
        if unknown := undescribed(state):
            yield Describe(diseases=unknown)
        yield Cite(pubmed=self.pubmed)
        yield self.respond(state)

    def respond(self, state: State) -> Respond:
        return Respond(strict=self.strict, language=self.language or asked_in(state))

    def reading(self, state: State) -> Iterator[Action]:
        if state.get(Read) is None and (state.case.text or state.case.findings):
            yield Extract()

    def ranked(self, state: State) -> Iterator[Action]:
        """Yield what ranks the case and explains the best candidates, where there are findings."""
        ranking = state.get(Ranked)
        if ranking is None and state.case.observed:
            yield Rank(top=self.top, case_bank=self.case_bank, explain=True)
        if ranking is not None and self.explain and not state.all(Explained):
            yield Explain(top=min(self.explain, self.top))


def asked_in(state: State) -> Literal["en", "zh"]:
    """Return the language of a question: that of its own words, not of the names in it."""
    words = masked(state.question, mentions_of(state)).replace(GAP, "")
    said = words if any(each.isalpha() for each in words) else state.question
    return "zh" if language_of(said) == "zh" else "en"


def lost(state: State) -> bool:
    """Tell whether the graph has failed so often that nothing more is asked of it."""
    failed: int = sum(each.kind is Kind.ERROR and each.data.get("fault") == "graph" for each in state.log)
    return failed >= FAILURES


def undescribed(state: State) -> tuple[str, ...]:
    """Return the ids of diseases that the episode is about and that are not described yet.

    Those that the question or an action names come first, then the best that were inferred, then the best candidates.
    """
    asked = {
        id
        for segment in state.log
        if segment.kind is Kind.WISH and segment.name == "describe"
        for id in segment.data["diseases"] or ()
    }
    about = [id for id in dict.fromkeys(_about(state)) if id not in asked]
    return tuple(about[: max(0, DESCRIBED - len(asked))])


def _about(state: State) -> Iterator[str]:
    resolved, ranking = resolved_of(state), ranking_of(state)
    looked_up = {
        each.given: {kind for other in resolved if other.given == each.given for kind in other.kinds}
        for each in resolved
    }
    for mention in mentions_of(state):
        # a name that was looked up as a symptom alone is no disease that the answer is about
        if mention.kind == "Disease" and "Disease" in looked_up.get(mention.text, ("Disease",)):
            yield from mention.ids
    for each in resolved:
        if "Disease" in each.kinds:
            yield from each.ids
    for found in state.all(Retrieved):
        if found.action.startswith("infer"):
            yield from (row["id"] for row in found.rows[:NAMED])
    if ranking is not None:
        yield from (candidate.id for candidate in ranking.candidates[:NAMED])


class WritingPolicy(EndingPolicy):
    """A policy whose answer a language model writes from the evidence."""

    temperature: float = 0.0
    """Of what the model writes; 0 for the likeliest."""
    fallback: bool = True
    """Whether rules and the template stand in where what the model wrote cannot be used, or it wrote nothing."""

    def may_ask(self, state: State, kept: int = 0) -> bool:
        """Tell whether the model may be asked: it answers, and the limits hold ``kept`` calls more than this one."""
        if any(each.failed in FINAL for each in exchanges(state.log)):
            return False
        spent = state.counts.spent
        counts = state.counts._replace(spent=replace(spent, calls=spent.calls + kept))
        return state.limits.model(counts) is None

    def finish(self, state: State, *, ask: bool = True) -> Wish | None:
        """Return the next wish on the way to the end; the answer is written by the model where that can be."""
        action = self.ending(state)
        if not isinstance(action, Respond):
            return action
        evidence = pack(state)
        if not evidence.answers:
            return action
        return self.written(state, action, evidence, ask and self.may_ask(state))

    def written(self, state: State, action: Respond, evidence: EvidencePack, ask: bool) -> Wish:
        """Return the request for the answer, what is said of it, or the action that gives it."""
        language = action.language or asked_in(state)
        said = exchanges(state.log, "answer")
        if not said:
            return answer_request(evidence, action.strict, language, self.temperature) if ask else action
        if len(said) == 1 and ask and (again := mend_request(said[0], evidence, action.strict, language)) is not None:
            return again
        text = best_of(said, evidence, action.strict, language)[:MAX_CHARS]
        if not text.strip():
            return action
        if not said_in(language, text, evidence):
            remark = Remark(code=LANGUAGE, text=f"the answer is not in {LANGUAGES[language]}")
            if not state.tried(remark):
                return remark
        if self.fallback and action.strict and groundless(text, evidence, language):
            why = f"the answer of the model {name_of(said)} cites nothing of the evidence, and is left out"
            remark = Remark(code=GROUNDLESS, text=why)
            return action if state.tried(remark) else remark
        return action.model_copy(update={"text": text, "author": name_of(said)[:MAX_NAME]})


def name_of(said: Sequence[Exchange]) -> str:
    return next((each.result.name for each in reversed(said) if each.result is not None), "")
