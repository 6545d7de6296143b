"""Answers questions without a language model: entities by the graph's name index, what is wanted by its words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

from kgdx.actions.entities import MOST
from kgdx.actions.reading import Recognise
from kgdx.answer.artifacts import Retrieved, mentions_of, ranking_of
from kgdx.episode.segment import Kind
from kgdx.episode.state import State
from kgdx.episode.wish import ACTIONS, Action, Wish, parse_action
from kgdx.policies.finishing import EndingPolicy, lost
from kgdx.policies.intents import Want, masked, negated, of_causes, remainder, wants

if TYPE_CHECKING:
    from kgdx.terms.names.name_decision import Mention

FOCUS = 3
"""For how many of the best diseases, inferred or ranked, is asked what a question wants, where it names none."""

GIVEN: Mapping[Want, tuple[str, ...]] = MappingProxyType(
    {
        Want.SYMPTOM: ("get_symptom", "get_phenotype"),
        Want.TEST: ("get_test",),
        Want.DRUG: ("get_drug", "get_medicine"),
        Want.CONTRAINDICATION: ("get_medicine",),
        Want.CURE: ("get_cure",),
        Want.COMORBIDITY: ("get_comorbidity",),
        Want.TOGETHER: ("get_comorbidity",),
        Want.GENE: ("get_gene",),
        Want.DESCRIPTION: ("get_symptom", "get_phenotype"),
    }
)
"""What a question wants of a disease → the actions that get it."""

OVERVIEW_WANTS = (Want.SYMPTOM, Want.TEST, Want.DRUG, Want.CURE, Want.COMORBIDITY)
"""What is got of a disease when a question names it and nothing else."""

INFERRED: Mapping[str, tuple[str, str, Want | None]] = MappingProxyType(
    {
        "Symptom": ("infer_by_symptom", "symptoms", Want.SYMPTOM),
        "Phenotype": ("infer_by_phenotype", "phenotypes", Want.SYMPTOM),
        "Test": ("infer_by_test", "tests", Want.TEST),
        "Drug": ("infer_by_drug", "drugs", Want.DRUG),
        "Cure": ("infer_by_cure", "cures", Want.CURE),
        "Gene": ("infer_by_gene", "genes", Want.GENE),
        "Disease": ("infer_by_comorbidity", "diseases", Want.COMORBIDITY),
    }
)
"""Class of what a question names → the action that infers diseases from it, its field, and the words that mean it."""

LONGEST_NAME = 80
"""What is left of a question without known entities may be a misspelt name when it has so many letters at most."""

_BETWEEN = re.compile(r"\s{2,}|[、，,;；/]")

_LISTED = re.compile(r"\s*(?:[、，,;；/和与及或]|\s|\b(?:and|or|with|plus)\b)+\s*")
"""What stands between names of a list."""


class RulesPolicy(EndingPolicy):
    """Look up what the words of a question want of the entities that it names, then answer by template.

    Example:
        >>> from kgdx.case import Case
        >>> RulesPolicy().choose(State(Case("p"), question="百日咳吃什么药")).name
        'recognise'
    """

    name: ClassVar[str] = "rules"

    def choose(self, state: State) -> Wish | None:
        """Return the next look-up that the question wants and that was not tried yet; then the end."""
        return self.look_up(state) or self.ending(state)

    def look_up(self, state: State) -> Action | None:
        """Return the next look-up that the question wants and that was not tried yet."""
        if state.question and not state.tried(Recognise()):
            return Recognise()
        if lost(state):
            return None
        wanted = (*self.reading(state), *self._wanted(state))
        return next((action for action in wanted if not state.tried(action)), None)

    def _wanted(self, state: State) -> Iterator[Action]:
        """Yield all that the question wants looked up, in order; later ones may rest on what earlier ones found."""
        yield from self.ranked(state)
        question = state.question
        mentions = _telling(question, mentions_of(state))
        rest = masked(question, mentions)
        wanted = wants(rest)
        named = [mention for mention in mentions if not negated(question, mention)]
        diseases = _texts(mention for mention in named if mention.kind == "Disease")
        asked = [want for want in wanted if want in GIVEN and want is not Want.DESCRIPTION]
        if Want.DESCRIPTION in wanted and Want.DISEASE not in wanted and diseases:
            yield from _getting(diseases, asked or [Want.DESCRIPTION])
        elif Want.TOGETHER in wanted and diseases == _texts(named):
            yield from _getting(diseases, asked)
            yield from _inferring({"Disease": diseases})
        elif named and (Want.DISEASE in wanted or not diseases or (not asked and _findings(named))):
            yield from _inferring(_classes(named, wanted, causes=of_causes(rest)))
            further = [want for want in asked if want is not Want.TOGETHER and not _meant(want, named)]
            yield from _getting(_focus(state), further)
        elif diseases:
            yield from _getting(diseases, asked or OVERVIEW_WANTS)
        elif state.case.observed:
            yield from _getting(_focus(state), asked)
        elif not (left := _name(rest)) or _failed(state):
            return
        elif Want.DISEASE in wanted:
            yield from _inferring({kind: _parts(left) for kind in ("Symptom", "Phenotype")})
        else:
            yield from _getting((left,), asked or OVERVIEW_WANTS)


def _name(rest: str) -> str:
    """What may be a misspelt name in a question that names nothing the graph knows; empty where nothing may."""
    left = remainder(rest)
    return left if len(left) <= LONGEST_NAME and any(each.isalpha() for each in left) else ""


def _failed(state: State) -> bool:
    """Whether a name has been looked up in vain: it is as unknown to the next action."""
    return any(segment.kind is Kind.ERROR and segment.name in ACTIONS for segment in state.log)


def _telling(question: str, mentions: Sequence[Mention]) -> list[Mention]:
    """The mentions that are more than a word such as "treatment", or are listed with one; all where there are none.

    In "药物治疗、中医治疗" the first one is meant as a name, too.
    """
    telling = {mention.start for mention in mentions if remainder(mention.text)}
    for listed in _lists(question, mentions):
        if telling.intersection(mention.start for mention in listed):
            telling.update(mention.start for mention in listed)
    return [mention for mention in mentions if mention.start in telling] or list(mentions)


def _lists(question: str, mentions: Sequence[Mention]) -> Iterator[list[Mention]]:
    """Mentions of one class that stand in a list, one after the other."""
    for kind in dict.fromkeys(mention.kind for mention in mentions):
        listed: list[Mention] = []
        for mention in (each for each in mentions if each.kind == kind):
            if listed and not _LISTED.fullmatch(question[listed[-1].end : mention.start]):
                yield listed
                listed = []
            listed.append(mention)
        yield listed


def _classes(named: Sequence[Mention], wanted: Sequence[Want], *, causes: bool = False) -> dict[str, tuple[str, ...]]:
    """Node class → what the question names of it.

    Where a name is of several classes it is of those that the question's words mean, otherwise of those that all names
    have in common. What brings about findings that are diseases, too, may be found as either.
    """
    meant = {kind for kind, (_, _, want) in INFERRED.items() if want in wanted}
    kinds = {text: {each.kind for each in named if each.text == text} & INFERRED.keys() for text in _texts(named)}
    shared = set.intersection(*kinds.values()) if kinds else set()
    found: dict[str, list[str]] = {}
    for text, mine in kinds.items():
        for kind in mine & meant or _usual(mine & shared or mine, causes):
            found.setdefault(kind, []).append(text)
    return {kind: tuple(found[kind]) for kind in INFERRED if kind in found}


def _findings(named: Sequence[Mention]) -> bool:
    """Whether what is named are findings: several, all of them, though some be called diseases as well."""
    findings = {mention.text for mention in named if INFERRED.get(mention.kind, ("", "", None))[2] is Want.SYMPTOM}
    return len(findings) > 1 and findings == set(_texts(named))


def _usual(kinds: Set[str], causes: bool) -> list[str]:
    """The classes that are meant when no word says so: findings, both as phrases and as terms; otherwise the first."""
    ordered = [kind for kind in INFERRED if kind in kinds]
    usual = [kind for kind in ordered if INFERRED[kind][2] is Want.SYMPTOM or (causes and kind == "Disease")]
    return usual or ordered[:1]


def _meant(want: Want, named: Sequence[Mention]) -> bool:
    """Whether a word of the question only says what the entities are that it names."""
    kinds = {mention.kind for mention in named}
    if want in (Want.DRUG, Want.CURE, Want.CONTRAINDICATION):
        return bool(kinds & {"Drug", "Cure"})
    return any(INFERRED[kind][2] is want for kind in kinds if kind in INFERRED)


def _focus(state: State) -> tuple[str, ...]:
    """The best diseases of the ranking, or of each inference."""
    if (ranking := ranking_of(state)) is not None:
        return tuple(candidate.id for candidate in ranking.candidates[:FOCUS])
    inferred = [found.rows for found in state.all(Retrieved) if found.action.startswith("infer") and found.rows]
    best = (rows[place]["id"] for place in range(FOCUS) for rows in inferred if place < len(rows))
    return tuple(dict.fromkeys(best))[:FOCUS]


def _getting(diseases: tuple[str, ...], wanted: Iterable[Want]) -> Iterator[Action]:
    if not diseases:
        return
    for name in dict.fromkeys(name for want in wanted for name in GIVEN[want]):
        yield parse_action({"action": name, "diseases": list(diseases[:MOST])}, ACTIONS)


def _inferring(classes: Mapping[str, tuple[str, ...]]) -> Iterator[Action]:
    for kind, names in classes.items():
        action, parameter, _ = INFERRED[kind]
        if names:
            yield parse_action({"action": action, parameter: list(names[:MOST])}, ACTIONS)


def _parts(text: str) -> tuple[str, ...]:
    return tuple(filter(None, (part.strip() for part in _BETWEEN.split(text))))


def _texts(mentions: Iterable[Mention]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(mention.text for mention in mentions))
