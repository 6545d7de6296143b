"""Answers questions without a language model: entities by the graph's name index, what is wanted by its words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from kgdx.actions.answering import Respond
from kgdx.actions.describing import NameFound
from kgdx.actions.entities import MOST
from kgdx.actions.reading import Recognise, Understand
from kgdx.answer.artifacts import Retrieved, Understood, mentions_of, ranking_of
from kgdx.answer.wants import PASSAGES, Want
from kgdx.episode.state import State
from kgdx.episode.wish import ACTIONS, Action, Wish, parse_action
from kgdx.policies.finishing import EndingPolicy, lost
from kgdx.policies.intents import (
    asks_whether,
    masked,
    names_diseases,
    negated,
    of_causes,
    remainder,
    wants,
)
from kgdx.terms.normalise import has_chinese, read_table

if TYPE_CHECKING:
    from kgdx.terms.names.name_decision import Mention

FOCUS = 3
"""For how many of the best diseases, inferred or ranked, is asked what a question wants, where it names none."""

MOST_COMPARED = 4
"""Most diseases of one question that are asked about."""

Given = tuple[str, Mapping[str, Any]]
"""An action, and its fields beside the diseases."""

_ABNORMAL: Given = ("get_phenotype", {"aspect": "P", "limit": 200, "forms": True})
_COURSE: Given = ("get_phenotype", {"aspect": "C", "limit": 200, "forms": True})

GIVEN: Mapping[Want, tuple[Given, ...]] = MappingProxyType(
    {
        Want.SYMPTOM: (("get_symptom", {}), _ABNORMAL),
        Want.TEST: (("get_test", {}),),
        Want.DRUG: (("get_drug", {}), ("get_medicine", {})),
        Want.CONTRAINDICATION: (("get_medicine", {}),),
        Want.CURE: (("get_cure", {}), ("get_drug", {})),
        Want.COMORBIDITY: (("get_comorbidity", {}),),
        Want.TOGETHER: (("get_comorbidity", {}),),
        Want.GENE: (("get_gene", {"forms": True}),),
        Want.INHERITANCE: (("get_phenotype", {"aspect": "I", "limit": 200, "forms": True}),),
        Want.ONSET: (_COURSE,),
        Want.COURSE: (_COURSE,),
        Want.CAUSE: (("get_gene", {}),),
        Want.DIFFERENCE: (("get_symptom", {}), _ABNORMAL),
        Want.DESCRIPTION: (("get_symptom", {}), _ABNORMAL),
    }
)
"""What a question wants of a disease → what gets it."""

IN_WORDS = frozenset(
    {
        Want.DESCRIPTION,
        Want.CAUSE,
        Want.INHERITANCE,
        Want.ONSET,
        Want.PREVALENCE,
        Want.RISK,
        Want.PREVENTION,
        Want.TRANSMISSION,
        Want.COURSE,
        Want.DEPARTMENT,
        Want.DIET,
    }
)
"""What sources say in words; of everything else they are read where no relation states it."""

OVERVIEW_WANTS = (Want.DESCRIPTION, Want.SYMPTOM, Want.TEST, Want.DRUG, Want.CURE, Want.COMORBIDITY)
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

CONFIRMED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "Symptom": ("get_symptom",),
        "Phenotype": ("get_phenotype",),
        "Test": ("get_test",),
        "Drug": ("get_drug", "get_medicine"),
        "Cure": ("get_cure",),
        "Gene": ("get_gene",),
        "Disease": ("get_comorbidity",),
    }
)
"""Class of what may be stated of a disease → the actions that say whether it is."""

MOST_WORDS = 4
"""Words of what may be stated of a disease and is no name of the graph, at most."""

_CONFIRMABLE = {Want.SYMPTOM, Want.DRUG, Want.CURE, Want.TEST, Want.COMORBIDITY, Want.CAUSE, Want.GENE, Want.TOGETHER}

_WRONG = frozenset(
    {"the", "problem", "problems", "finding", "findings", "signs", "disease", "defect", "defects", "trouble"}
)
"""Words that leave a part of the body what it is."""

FINDINGS = ("Symptom", "Phenotype")
"""Classes of findings."""

LONGEST_NAME = 80
"""What is left of a question without known entities may be a misspelt name when it has so many letters at most."""

_BETWEEN = re.compile(r"\s{2,}|[、，,;；/]")

_LISTED = re.compile(r"\s*(?:[、，,;；/和与及或]|\s|\b(?:and|or|with|plus)\b)+\s*")
"""What stands between names of a list."""

_OF = re.compile(
    r"\b(?:symptoms?|signs?|features?|complications?|manifestations?|part|seen|found|occur\w*|present)\s+(?:of|in|with)\b"
    r"|的(?:症状|并发症|表现|特征|体征)",
    re.IGNORECASE,
)
"""Words after which the disease is named last: "Is 〇 a symptom of 〇?"."""


@dataclass(frozen=True, slots=True)
class _Reading:
    """How a question is read.

    Attributes:
        question: Its words.
        named: The entities that it names and does not deny.
        rest: Its words without the entities.
        wanted: What it wants, in order.
        unnamed: What may be the name of a disease that the index has otherwise; empty where nothing may.
    """

    question: str
    named: tuple[Mention, ...]
    rest: str
    wanted: tuple[Want, ...]
    unnamed: str

    @property
    def diseases(self) -> tuple[str, ...]:
        """The diseases among what is named, in its words."""
        return _texts(each for each in self.named if each.kind == "Disease")

    @property
    def findings(self) -> tuple[str, ...]:
        """The findings among what is named."""
        return _texts(each for each in self.named if each.kind in FINDINGS)

    @property
    def asked(self) -> tuple[Want, ...]:
        """What is wanted of a disease."""
        return tuple(want for want in self.wanted if want in GIVEN or want in IN_WORDS)

    @property
    def inferring(self) -> bool:
        """Whether diseases are wanted that match what is named."""
        if not self.named:
            return False
        if Want.CAUSE in self.wanted and len(self.diseases) == 1 and self.diseases == _texts(self.named):
            return names_diseases(self.rest)
        if Want.DESCRIPTION in self.wanted and len(_texts(self.named)) == 1 and self.diseases and not self.findings:
            return False
        asked = [want for want in self.asked if want is not Want.DESCRIPTION]
        return Want.DISEASE in self.wanted or not self.diseases or (not asked and _findings(self.named))


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

    def respond(self, state: State) -> Respond:
        """Return the action that answers what the question wants."""
        action = super().respond(state)
        if ranking_of(state) is not None:
            return action
        return action.model_copy(update=_answered(_read(state), state))

    def _steps(self, state: State) -> Iterator[Action]:
        for action in super()._steps(state):
            if isinstance(action, Respond) and state.all(Retrieved):
                yield NameFound()
            yield action

    def _wanted(self, state: State) -> Iterator[Action]:
        """Yield all that the question wants looked up, in order; later ones may rest on what earlier ones found."""
        yield from self.ranked(state)
        read = _read(state)
        if read.unnamed and not (state.case.observed and not read.named):
            yield Understand(names=(read.unnamed,))
        about = _subjects(read, state)
        asked = [want for want in read.asked if want is not Want.DESCRIPTION]
        if others := _others(read, about):
            yield from _confirming(read, about[0], others, state)
        elif Want.TOGETHER in read.wanted and about and about == _texts(read.named):
            yield from _getting(about, asked, state)
            yield from _inferring({"Disease": about}, likeliest=False)
        elif read.inferring and about != (read.unnamed,):
            causes = of_causes(read.rest)
            yield from _inferring(_classes(read.named, read.wanted, causes=causes), likeliest=True)
            further = [want for want in _further(read) if not _meant(want, read.named)]
            yield from _getting(_focus(state), further, state)
        elif about and read.asked and set(read.asked) <= {Want.SYMPTOM} and (part := _part(_name(read.rest))):
            yield _action("get_phenotype", diseases=list(about), only=[part], forms=True)
        elif about:
            yield from _getting(about, read.asked or OVERVIEW_WANTS, state)
        elif state.case.observed:
            yield from _getting(_focus(state), asked, state)
        elif Want.DISEASE in read.wanted and (left := _name(read.rest)):
            yield from _inferring({kind: _parts(left) for kind in FINDINGS}, likeliest=True)


def _read(state: State) -> _Reading:
    """Read a question whose entities were recognised."""
    question = state.question
    mentions = _telling(question, mentions_of(state))
    rest = masked(question, mentions)
    wanted = wants(rest)
    named = tuple(mention for mention in mentions if not negated(question, mention))
    return _Reading(question, named, rest, wanted, _unnamed(named, rest, wanted))


def _unnamed(named: Sequence[Mention], rest: str, wanted: Sequence[Want]) -> str:
    """What may be a disease's name, shortened or misspelt, where the question names none and wants something of one."""
    left = _name(rest)
    asked = [want for want in wanted if want in GIVEN or want in IN_WORDS]
    if any(each.kind == "Disease" for each in named):
        if Want.DIFFERENCE not in wanted or len(_texts(named)) > 1 or not left:
            return ""
        _, _, behind = named[0].text.partition(" ")  # "Becker and Duchenne muscular dystrophy"
        return f"{left} {behind}" if behind and " " not in left else left
    if (
        asked
        and Want.DISEASE not in wanted
        and len(_texts(named)) == 1
        and all(each.kind in FINDINGS for each in named)
    ):
        return left + named[0].text if left and has_chinese(left) else left if left else named[0].text
    if not named:
        return "" if Want.DISEASE in wanted and not asked else left
    return left if asks_whether(rest) and any(each.kind in CONFIRMED for each in named) else ""


def _subjects(read: _Reading, state: State) -> tuple[str, ...]:
    """The diseases that the question is about, in its words."""
    known = state.get(Understood)
    found = (read.unnamed,) if known is not None and any(each.ids for each in known.resolved) else ()
    return (*found, *read.diseases)[:MOST_COMPARED]


def _others(read: _Reading, about: Sequence[str]) -> tuple[str, ...]:
    """What may be stated of the disease that a question is about, where it asks whether it is."""
    other = {Want.DIFFERENCE, Want.DISEASE, *(IN_WORDS - {Want.CAUSE, Want.DESCRIPTION})}
    if not about or not asks_whether(read.rest) or other.intersection(read.wanted):
        return ()
    texts = _texts(read.named)
    if len({*texts, *about}) > 1:
        return tuple(text for text in texts if text != _subject(read, about))
    left = _name(read.rest)
    beside = left and left != read.unnamed and len(left.split()) <= MOST_WORDS and not (set(read.asked) - _CONFIRMABLE)
    return (left,) if beside else ()


def _further(read: _Reading) -> list[Want]:
    """What is wanted of the diseases that are found."""
    return [want for want in read.asked if want not in (Want.TOGETHER, Want.CAUSE, Want.DESCRIPTION, Want.COMORBIDITY)]


def _subject(read: _Reading, about: Sequence[str]) -> str:
    """The disease of a question that asks whether something is stated of it."""
    only = [text for text in about if text not in read.findings]
    if len(only) == 1:
        return only[0]
    return about[-1] if _OF.search(read.rest) else about[0]


def _confirming(read: _Reading, disease: str, others: Sequence[str], state: State) -> Iterator[Action]:
    """Yield what says whether things are stated of a disease."""
    subject = _subject(read, (disease, *(text for text in read.diseases if text != disease)))
    named = _texts(read.named)
    for kind, names in CONFIRMED.items():
        texts = _texts(each for each in read.named if each.kind == kind and each.text in others)
        texts += tuple(text for text in others if text not in named)  # no name of the graph: sought in others
        part = [id for text in texts if kind == "Phenotype" and (id := _part(text))]
        for name in names if texts else ():
            forms = {"forms": True} if kind in ("Phenotype", "Gene") else {}
            yield _action(name, diseases=[subject], only=[*texts[:MOST], *part], **forms)
    if not any(each.rows for each in state.all(Retrieved)):
        yield _action("get_passage", diseases=[subject], about="symptoms", naming=list(others[:MOST]))


def _answered(read: _Reading, state: State) -> dict[str, Any]:
    """The fields of the action that answers."""
    about = _subjects(read, state)
    whether = asks_whether(read.rest)
    if others := _others(read, about):
        return {
            "wants": read.asked or (Want.SYMPTOM,),
            "subjects": (_subject(read, about),),
            "others": others,
            "whether": True,
        }
    if (read.inferring and about != (read.unnamed,)) or (not about and not read.unnamed):
        further = tuple(want for want in _further(read) if not _meant(want, read.named))
        return {"wants": (Want.DISEASE, *further), "subjects": _focus(state) if further else ()}
    subjects = about or (read.unnamed,)
    return {"wants": read.asked or OVERVIEW_WANTS, "subjects": subjects, "whether": whether}


def _name(rest: str) -> str:
    """What may be a misspelt name in a question that names nothing the graph knows; empty where nothing may."""
    left = remainder(rest)
    return left if len(left) <= LONGEST_NAME and any(each.isalpha() for each in left) else ""


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
    if len(kinds) > 1 and not causes and not meant and any(mine & set(FINDINGS) for mine in kinds.values()):
        present = [kind for kind in FINDINGS if any(kind in mine for mine in kinds.values())]
        return {kind: tuple(kinds) for kind in present}  # a disease that has several things has them as its findings
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


def _getting(diseases: tuple[str, ...], wanted: Iterable[Want], state: State) -> Iterator[Action]:
    """Yield what gets what is wanted of diseases; what no relation states is sought in the words of the sources."""
    if not diseases:
        return
    names = list(diseases[:MOST])
    given = [(want, each) for want in wanted for each in GIVEN.get(want, ())]
    seen: list[Given] = []
    for _, (name, fields) in given:
        if (name, fields) not in seen:
            seen.append((name, fields))
            yield _action(name, diseases=names, **fields)
    found = {each.action for each in state.all(Retrieved) if each.rows}
    tried = {each.action for each in state.all(Retrieved)}
    for want in dict.fromkeys(wanted):
        stated = {name for name, _ in GIVEN.get(want, ())}
        if want in IN_WORDS or (want in PASSAGES and stated <= tried and not stated & found):
            yield _action("get_passage", diseases=names, about=PASSAGES[want])


def _inferring(classes: Mapping[str, tuple[str, ...]], *, likeliest: bool) -> Iterator[Action]:
    for kind, names in classes.items():
        action, parameter, _ = INFERRED[kind]
        ordered = {"likeliest": True} if likeliest and kind in FINDINGS else {}
        if names:
            yield _action(action, **{parameter: list(names[:MOST])}, **ordered)


def _action(name: str, **fields: Any) -> Action:
    return parse_action({"action": name, **fields}, ACTIONS)


@cache
def _body() -> Mapping[str, str]:
    rows = read_table(Path(__file__).with_name("body_parts.tsv"))
    return {word: id for english, chinese, id in rows for word in (*english.split(), *chinese.split())}


def _part(text: str) -> str:
    """The phenotype that stands for what is wrong with a part of the body; empty where none is named."""
    said = text.casefold()
    words = [said] if has_chinese(said) else [word for word in said.split() if word not in _WRONG]
    return _body().get(words[0], "") if len(words) == 1 else ""


def _parts(text: str) -> tuple[str, ...]:
    return tuple(filter(None, (part.strip() for part in _BETWEEN.split(text))))


def _texts(mentions: Iterable[Mention]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(mention.text for mention in mentions))
