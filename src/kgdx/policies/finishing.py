"""How an episode comes to its end: diseases described, publications cited, the case ranked, the answer given.

Policies that look things up in their own way end in the same way; and an episode that a limit stopped is brought to
its end by this alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal

from kgdx.actions.answering import Cite, Respond
from kgdx.actions.describing import Describe
from kgdx.actions.explaining import Explain
from kgdx.actions.reading import Diagnose, Extract, Rank
from kgdx.answer.artifacts import Drafted, Explained, Ranked, Read, Retrieved, mentions_of, ranking_of, resolved_of
from kgdx.answer.evidence_pack import PROMPT_CHARS, EvidencePack, language_of, pack
from kgdx.answer.sentences import INSUFFICIENT, MAX_CHARS, NOTHING_CITED, check
from kgdx.answer.wants import DANGERS
from kgdx.episode.conversation import Exchange, exchanges
from kgdx.episode.policy import Capabilities, Policy
from kgdx.episode.segment import Kind
from kgdx.episode.state import State
from kgdx.episode.wish import Action, AskModel, Remark, Wish, wish_of
from kgdx.llm.chat import Message, prompt
from kgdx.policies.question_reading import GAP, masked
from kgdx.results.cited import CitedText

LANGUAGES = {"en": "English", "zh": "Chinese (中文)"}
"""What a model is told of the language to answer in."""

QUESTION_CHARS = 8_000
"""Characters of a question that a model is shown at most."""

_SHOWN_FAULTS = 5
_CHINESE = 0.25
"""Share of Chinese characters among the letters of a Chinese text at least; an English one has as few others."""

_TELLING = 8
"""So many Latin words without any of :data:`_ENGLISH` are another language."""

_words = str.split
_ENGLISH = frozenset(_words("the of is are and with by for which that this not may can has have be in to or"))
_NAMES = 3_000
"""Most names of the evidence that are left out of an answer to tell its language."""


def answer_request(
    pack: EvidencePack, strict: bool, language: str, temperature: float = 0.0, draft: str = ""
) -> AskModel:
    """Return the request for an answer, with what rules answer where they did."""
    from kgdx.llm.deidentify import without_persons

    template = prompt("answer" if strict else "answer_open")
    messages = template.messages(
        question=quoted(pack.question[:QUESTION_CHARS]),
        evidence=pack.prompt(PROMPT_CHARS) or "Nothing was found.",
        draft=quoted(without_persons(draft, pack.question)[:QUESTION_CHARS]) or "They answer nothing.",
        language=LANGUAGES[language],
        lacks=INSUFFICIENT[language],
    )
    return AskModel(prompt=template.id, messages=messages, temperature=temperature, streamed=True)


def mend_request(said: Exchange, pack: EvidencePack, strict: bool, language: str) -> AskModel | None:
    """Return the request to write an answer anew without its faults; ``None`` where it has none, or there is none."""
    if said.failed or not said.text.strip():
        return None
    wrong = list(_faults(said.text, pack, strict, language))
    if not wrong:
        return None
    told = "\n".join(f"- {fault}" for fault in wrong)
    turn = Message("user", f"These faults have to be mended:\n{told}\nWrite the whole answer again, by the same rules.")
    first = wish_of(said.wish.name, {**said.wish.data, **said.wish.words})
    assert isinstance(first, AskModel)
    messages = (*first.messages, Message("assistant", said.text[:MAX_CHARS]), turn)
    return first.model_copy(update={"messages": messages, "streamed": False})


def best_of(said: Sequence[Exchange], pack: EvidencePack, strict: bool, language: str) -> str:
    """Return the answer with the fewest faults; of those that have equally many, the first.

    An answer is not trusted: :class:`~kgdx.actions.answering.Respond` checks the one that is taken.
    """
    best, least = said[0].text, len(list(_faults(said[0].text, pack, strict, language)))
    for each in said[1:]:
        found = len(list(_faults(each.text, pack, strict, language)))
        if each.text.strip() and not each.failed and found < least:
            best, least = each.text, found
    return best


def groundless(text: str, pack: EvidencePack, language: str) -> bool:
    """Tell whether an answer cites nothing that exists, and does not say either that the evidence is not enough."""
    sentences = check(text, pack, strict=True, language=language).sentences
    return not sentences or sentences[0].text == NOTHING_CITED[language]


def _faults(text: str, pack: EvidencePack, strict: bool, language: str) -> Iterator[str]:
    checked: CitedText = check(text, pack, strict=strict, language=language)
    if checked.removed:
        yield f"these do not exist in the evidence: {', '.join(dict.fromkeys(checked.removed))}"
    if strict:
        for sentence in [each for each in checked.sentences if not each.supported][:_SHOWN_FAULTS]:
            yield f"no id: {sentence.text[:200]}"
    if text.strip() and not said_in(language, text, pack):
        yield f"it is not in {LANGUAGES[language]}"


def said_in(language: str, text: str, pack: EvidencePack) -> bool:
    """Tell whether a text is in a language; the names of the evidence, which stay in theirs, are left out first."""
    own = re.sub(r"\[E\d+\]", " ", _without(text, _names(pack)))
    letters = [each for each in own if each.isalpha()]
    chinese = sum("一" <= each <= "鿿" for each in letters)
    if language == "zh":
        return chinese >= _CHINESE * len(letters)
    words = re.findall(r"[^\W\d_]+", own.casefold())
    latin = [word for word in words if not any("一" <= each <= "鿿" for each in word)]
    english = len(latin) < _TELLING or any(word in _ENGLISH for word in latin)
    return english and chinese <= (1 - _CHINESE) * len(letters)


def _names(pack: EvidencePack) -> Iterator[str]:
    for item in pack.items:
        yield item.text
        for node in (item.subject, *item.objects):
            if node is not None:
                yield node.name
    for each in pack.resolved:
        yield from (each.given, *each.names)


def _without(text: str, names: Iterator[str]) -> str:
    there = sorted({name for name in names if name and name in text}, key=len, reverse=True)[:_NAMES]
    return re.sub("|".join(map(re.escape, there)), " ", text) if there else text


def quoted(question: str) -> str:
    return "\n".join("> " + line for line in question.splitlines()).replace("====", "=-=-")


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


def parted(given: Any) -> Any:
    """Return the words of a setting that is a text, as ``a+b``."""
    return tuple(filter(None, given.split("+"))) if isinstance(given, str) else given


def declaring(state: State, rank: Rank | None, explain: int, diseases: tuple[str, ...] = ()) -> Action | None:
    """Return the next step to a diagnosis: rank and explain, each tried once, then declare the ranking or an order.

    Args:
        explain: How many to explain: of the diseases that are ranked beside the best where there are some, else of all.
    """
    ranking = ranking_of(state)
    if ranking is None and rank is not None and not state.tried(rank):
        return rank
    if ranking is not None and ranking.candidates and rank is not None and explain and not state.all(Explained):
        why = Explain(diseases=rank.also[:explain]) if rank.also else Explain(top=min(explain, rank.top))
        if not state.tried(why):
            return why
    return Diagnose(diseases=diseases) if ranking is not None or diseases else None


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
        if not evidence.answers and not drafted(state):
            return action
        return self.written(state, action, evidence, ask and self.may_ask(state))

    def written(self, state: State, action: Respond, evidence: EvidencePack, ask: bool) -> Wish:
        """Return the request for the answer, what is said of it, or the action that gives it."""
        language = action.language or asked_in(state)
        said = exchanges(state.log, "answer")
        if not said:
            if not ask:
                return action
            return answer_request(evidence, action.strict, language, self.temperature, drafted(state))
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
        cited = check(text, evidence, strict=action.strict, language=language).cited
        beside = bool(DANGERS.intersection(action.wants) or ("[E" in drafted(state) and not cited))
        return action.model_copy(update={"text": text, "author": name_of(said)[:MAX_NAME], "beside": beside})


def drafted(state: State) -> str:
    """Return what rules answered before the model was asked; nothing where they were not."""
    return (state.last(Drafted) or Drafted()).text


def name_of(said: Sequence[Exchange]) -> str:
    return next((each.result.name for each in reversed(said) if each.result is not None), "")
