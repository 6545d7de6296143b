"""How an episode comes to its end: diseases described, publications cited, the case ranked, the answer given.

Policies that look things up in their own way end in the same way; and an episode that a limit stopped is brought to
its end by this alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from kgdx.actions.answering import Respond
from kgdx.actions.base import Action
from kgdx.actions.citing import Cite
from kgdx.actions.declare import Diagnose
from kgdx.actions.describing import Describe
from kgdx.actions.explaining import Explain
from kgdx.actions.pack import language_of
from kgdx.actions.ranking import Rank
from kgdx.actions.reading import Extract
from kgdx.actions.state import State
from kgdx.policies.intents import GAP, masked

FATAL = frozenset({"StoreError", "StoreLockedError", "StaleSnapshotError"})
"""Errors that say that the graph cannot be asked, not that it was asked wrongly."""

FAILURES = 2
"""After so many of them nothing more is asked: a single one may be of one action alone."""

NAMED = 3
"""How many of the diseases that were inferred or ranked best are described, beside those that were named."""

DESCRIBED = 20
"""Most entries of diseases that one episode describes; one disease has an entry in several sources."""


@dataclass(frozen=True, slots=True)
class Finishing:
    """Bring an episode to its end from what it has.

    Attributes:
        strict: Whether the answer may rest on nothing but the evidence.
        language: Language of the answer; that of the question when ``None``.
        pubmed: Whether publications are searched for.
        top: How many candidates are ranked for a case.
        explain: How many of them are explained.
        case_bank: Whether to match with the graph's other patients too.

    Example:
        >>> from kgdx.case import Case
        >>> Finishing().choose(State(Case("p"), question="What is ptosis?")).name
        'cite'
    """

    strict: bool = True
    language: Literal["en", "zh"] | None = None
    pubmed: bool = False
    top: int = 10
    explain: int = 3
    case_bank: bool = False

    @property
    def name(self) -> str:
        """``finishing``."""
        return "finishing"

    def choose(self, state: State) -> Action | None:
        """Return the next action on the way to the end; what was tried is not tried again."""
        if state.done:
            return None
        if lost(state):
            return self._respond(state) if state.question else None
        return next((action for action in self._steps(state) if not chosen(state, action)), None)

    def _steps(self, state: State) -> Iterator[Action]:
        case = state.case
        if not state.read and (case.text or case.findings):
            yield Extract()
        yield from self.ranked(state)
        if not state.question:
            if state.ranking is not None:
                yield Diagnose()
            return
        if unknown := undescribed(state):
            yield Describe(diseases=unknown)
        yield Cite(pubmed=self.pubmed)
        yield self._respond(state)

    def _respond(self, state: State) -> Respond:
        return Respond(strict=self.strict, language=self.language or asked_in(state))

    def ranked(self, state: State) -> Iterator[Action]:
        """Yield what ranks the case and explains the best candidates, where there are findings."""
        if state.ranking is None and state.case.observed:
            yield Rank(top=self.top, case_bank=self.case_bank)
        if state.ranking is not None and state.evidence is None and self.explain:
            yield Explain(top=min(self.explain, self.top))


def asked_in(state: State) -> Literal["en", "zh"]:
    """Return the language of a question: that of its own words, not of the names in it.

    Example:
        >>> from kgdx.align.named import Mention
        >>> from kgdx.case import Case
        >>> disease = Mention(25, 28, "糖尿病", "Disease", ("D:1",), ("糖尿病",))
        >>> asked_in(State(Case("p"), question="What are the symptoms of 糖尿病?", mentioned=(disease,)))
        'en'
    """
    words = masked(state.question, state.mentioned or ()).replace(GAP, "")
    said = words if any(each.isalpha() for each in words) else state.question
    return "zh" if language_of(said) == "zh" else "en"


def chosen(state: State, action: Action) -> bool:
    """Tell whether an episode has chosen an action before, whatever came of it."""
    fields = action.parameters()
    return any(
        segment.kind == "action" and segment.name == action.name and segment.parameters == fields
        for segment in state.log
    )


def lost(state: State) -> bool:
    """Tell whether the graph has failed so often that nothing more is asked of it.

    Example:
        >>> from kgdx.case import Case
        >>> lost(State(Case("p")))
        False
    """
    failed = sum(segment.kind == "error" and segment.parameters.get("error") in FATAL for segment in state.log)
    return failed >= FAILURES


def undescribed(state: State) -> tuple[str, ...]:
    """Return the ids of diseases that the episode is about and that are not described yet.

    Those that the question or an action names come first, then the best that were inferred, then the best candidates.
    """
    asked = {id for segment in state.log if segment.name == "describe" for id in segment.parameters.get("diseases", ())}
    about = [id for id in dict.fromkeys(_about(state)) if id not in asked]
    return tuple(about[: max(0, DESCRIBED - len(asked))])


def _about(state: State) -> Iterator[str]:
    looked_up = {
        each.given: {kind for other in state.resolved if other.given == each.given for kind in other.kinds}
        for each in state.resolved
    }
    for mention in state.mentioned or ():
        # a name that was looked up as a symptom alone is no disease that the answer is about
        if mention.kind == "Disease" and "Disease" in looked_up.get(mention.text, ("Disease",)):
            yield from mention.ids
    for each in state.resolved:
        if "Disease" in each.kinds:
            yield from each.ids
    for found in state.retrieved:
        if found.action.startswith("infer"):
            yield from (row["id"] for row in found.rows[:NAMED])
    if state.ranking is not None:
        yield from (candidate.id for candidate in state.ranking.candidates[:NAMED])
