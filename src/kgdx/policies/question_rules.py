"""Answers questions without a language model: entities by the graph's name index, what is wanted by its words."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from kgdx.actions.answering import Respond
from kgdx.actions.describing import NameFound
from kgdx.actions.entities import MOST
from kgdx.actions.reading import Recognise, Understand
from kgdx.answer.answer_phrases import chinese_of
from kgdx.answer.artifacts import Retrieved, ranking_of
from kgdx.answer.wants import IN_WORDS, OF_DRUGS, OUTSIDE, PASSAGES, UNTOLD, Want
from kgdx.episode.state import State
from kgdx.episode.wish import ACTIONS, Action, Wish, parse_action
from kgdx.policies.finishing import EndingPolicy, lost
from kgdx.policies.question_reading import (
    FINDINGS,
    GAP,
    MOST_COMPARED,
    QuestionReading,
    asks_part,
    by_findings,
    confirmed_of,
    name_in,
    names_to_try,
    others_of,
    part_asked,
    part_of,
    read_question,
    runs,
    says,
    subjects_of,
    texts_of,
)
from kgdx.terms.normalise import read_table

if TYPE_CHECKING:
    from kgdx.terms.names.name_decision import Mention

FOCUS = 3
MOST_COUNTED = 200
"""Diseases that are counted."""
Given = tuple[str, Mapping[str, Any]]
OVERVIEW_WANTS = (Want.DESCRIPTION, Want.SYMPTOM, Want.TEST, Want.DRUG, Want.CURE, Want.COMORBIDITY)

_MEANT = {
    **dict.fromkeys(FINDINGS, Want.SYMPTOM),
    **{"Test": Want.TEST, "Drug": Want.DRUG, "Cure": Want.CURE, "Gene": Want.GENE, "Disease": Want.COMORBIDITY},
}

INFERRED: Mapping[str, tuple[str, str, Want]] = {
    kind: (f"infer_by_{want if kind == 'Disease' else kind.lower()}", f"{kind.lower()}s", want)
    for kind, want in _MEANT.items()
}
"""Class of what a question names → the action that infers diseases from it, its field, and the words that mean it."""

_SALTS = ("", "盐酸", "硫酸")
_FORMS = ("", "片", "胶囊", "肠溶片", "注射液", "颗粒")


@cache
def lookups() -> Mapping[Want, tuple[Given, ...]]:
    """What a question wants → the actions that look it up of diseases, with their fields."""
    found = defaultdict[Want, tuple[Given, ...]](tuple)
    for want, action, fields in read_table(Path(__file__).with_name("question_lookups.tsv")):
        found[Want(want)] += ((action, json.loads(fields)),)
    return found


class RulesPolicy(EndingPolicy):
    """Look up what the words of a question want of the entities that it names, then answer by template."""

    name: ClassVar[str] = "rules"

    def choose(self, state: State) -> Wish | None:
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
        return action.model_copy(update=_answered(read_question(state), state))

    def _steps(self, state: State) -> Iterator[Action]:
        for action in super()._steps(state):
            if isinstance(action, Respond) and state.all(Retrieved):
                yield NameFound()
            yield action

    def _wanted(self, state: State) -> Iterator[Action]:
        yield from self.ranked(state)
        read, names = read_question(state), names_to_try(state)
        if {Want.SAFETY, Want.DOSE, *OUTSIDE} & set(read.wanted) or read.wanted == (Want.URGENCY,):
            return
        if Want.USE in read.wanted and read.diseases and not {"Drug", "Cure"} & {each.kind for each in read.named}:
            return  # of a drug that the graph does not know
        if names and not (state.case.observed and not read.named):
            yield Understand(names=names, read=by_findings(state))
        if read.of_term:
            yield from (_action("get_definition", phenotype=each) for each in read.findings[:MOST_COMPARED])
            return
        about = subjects_of(read)
        asked = [want for want in read.asked if want is not Want.DESCRIPTION]
        if others := others_of(read, about):
            yield from _confirming(read, confirmed_of(read, about), others, state)
        elif Want.TOGETHER in read.wanted and about and about == texts_of(read.named):
            yield from getting(about, asked, state)
            yield from _inferring({"Disease": about})
        elif read.beside_the_point:
            return
        elif read.inferring and not read.unnamed:
            classes = _classes(read.named, read.wanted, causes=says("causes", read.rest) is not None)
            apart = (each for each in runs(read.rest) if f"{each}{GAP}" not in read.rest)  # a part of 皮肤〇 it is not
            if parts := tuple(id for each in apart if (id := part_of(each))):  # "malformations in the lung"
                classes = {"Phenotype": (*classes.get("Phenotype", ()), *parts)}
            if read.conditions:
                classes = {"Phenotype": (*texts_of(read.named), *read.conditions)}
            every = says("every", read.rest) is not None or len(parts) == 1 or bool(read.conditions)
            limit = MOST_COUNTED if says("how_many", read.rest) else 0
            yield from _inferring(classes, without=texts_of(read.denied), every=every, limit=limit)
            further = [want for want in _further(read) if not _meant(want, read.named)]
            yield from getting(_focus(state), further, state)
        elif about and (part := part_asked(read)):
            yield _action("get_phenotype", diseases=list(about), only=[part], forms=True)
        elif read.diseases and not read.asked and (left := read.unread):
            yield _action("get_passage", diseases=list(about), about="symptoms", naming=left.split()[:MOST])
        elif about:
            if Want.DESCRIPTION in read.asked and about[0] in read.findings:
                yield _action("get_definition", phenotype=about[0])
            yield from getting(about, read.asked or OVERVIEW_WANTS, state)
        elif state.case.observed:
            yield from getting(_focus(state), asked, state)
        elif drugs := chinese_of(name_in(read.rest)):
            made = [f"{salt}{drug}{form}" for drug in drugs for salt in _SALTS for form in _FORMS]
            yield _action("infer_by_drug", drugs=made[:MOST])


def _further(read: QuestionReading) -> list[Want]:
    return [want for want in read.asked if want not in (Want.TOGETHER, Want.CAUSE, Want.DESCRIPTION, Want.COMORBIDITY)]


def _confirming(
    read: QuestionReading, subjects: Sequence[str], others: Sequence[str], state: State
) -> Iterator[Action]:
    named = texts_of(read.named)
    for kind, (inferred, *_) in INFERRED.items():
        beside = {"Drug": ["get_medicine"], "Phenotype": ["get_absent"]}
        names = [inferred.replace("infer_by", "get"), *beside.get(kind, ())]
        texts = texts_of(each for each in read.named if each.kind == kind and each.text in others)
        findings = {each.text for each in read.named if each.kind != "Disease"}
        sought = findings if kind in FINDINGS else named
        texts += tuple(text for text in others if text not in (*texts, *sought))  # no name of it: sought in others
        part = [id for text in texts if kind == "Phenotype" and (id := part_of(text))]
        for name in names if texts else ():
            forms = {"forms": True} if name in ("get_phenotype", "get_gene") else {}
            yield _action(name, diseases=list(subjects), only=[*texts[:MOST], *part], **forms)
    if not any(each.rows for each in state.all(Retrieved)):
        yield _action("get_passage", diseases=list(subjects), about="symptoms", naming=list(others[:MOST]))


def _answered(read: QuestionReading, state: State) -> dict[str, Any]:
    about = subjects_of(read)
    if OUTSIDE & set(read.wanted) or read.wanted == (Want.URGENCY,):
        return {"wants": read.wanted, "subjects": ()}
    if OF_DRUGS & set(read.wanted):
        drug = runs(read.rest) if Want.USE in read.wanted else []
        names = (each for each in drug or (*runs(read.rest), *texts_of(read.named)) if len(each) > 1)
        return {"wants": read.wanted, "subjects": about, "unused": ", ".join(dict.fromkeys(names))}
    whether = asks_part(read.rest)
    counted = says("counted", read.rest)
    if not read.named and counted:
        return {"wants": read.wanted, "subjects": (), "unread": counted[0].strip()}
    if read.of_term:
        beside = (want for want in read.asked if want not in (Want.DIFFERENCE, Want.SHARED))
        wants = tuple(beside) or (Want.DESCRIPTION,)
        return {"wants": wants, "subjects": read.findings[:MOST_COMPARED], "unused": name_in(read.rest)}
    if others := others_of(read, about):
        return {
            "wants": read.asked or (Want.SYMPTOM,),
            "subjects": confirmed_of(read, about),
            "others": others,
            "whether": whether,
            "absent": read.absent,
            "unused": name_in(read.rest.partition(":")[0]) if read.chooses else " ".join(read.unheeded),
        }
    if read.beside_the_point:
        return {"wants": (Want.DESCRIPTION,), "subjects": (), "unused": name_in(read.rest)}
    if (read.inferring or not about) and not read.unnamed:
        further = tuple(want for want in _further(read) if not _meant(want, read.named))
        untold = tuple(want for want in further if want in UNTOLD)
        about = _focus(state) if len(further) > len(untold) else ()
        asked = {
            "wants": (Want.DISEASE, *further),
            "subjects": about,
            "without": tuple(read.question[each.start : each.end] for each in read.denied),
        }
        left = " ".join((*(each for each in runs(read.rest) if not part_of(each)), *read.unheeded))
        return asked | {"unused": left if read.named else ""}
    subjects = about or (read.unnamed,)
    if read.diseases and part_asked(read):
        return {"wants": (Want.SYMPTOM,), "subjects": subjects}
    if read.diseases and not read.asked and (left := read.unread):
        return {"wants": OVERVIEW_WANTS, "subjects": subjects, "unread": left}
    unused = counted[0].strip() if counted else "" if read.unnamed else name_in(read.rest)
    unused = " ".join(filter(None, (unused, *read.unheeded)))
    return {"wants": read.asked or OVERVIEW_WANTS, "subjects": subjects, "whether": whether, "unused": unused}


def _classes(named: Sequence[Mention], wanted: Sequence[Want], *, causes: bool = False) -> dict[str, tuple[str, ...]]:
    meant = {kind for kind, (_, _, want) in INFERRED.items() if want in wanted}
    kinds = {text: {each.kind for each in named if each.text == text} & INFERRED.keys() for text in texts_of(named)}
    shared = set.intersection(*kinds.values()) if kinds else set()
    causes = causes and all("Disease" in mine for mine in kinds.values())
    if len(kinds) > 1 and not causes and not meant and any(mine & set(FINDINGS) for mine in kinds.values()):
        present = [kind for kind in FINDINGS if any(kind in mine for mine in kinds.values())]
        return {kind: tuple(kinds) for kind in present}  # a disease that has several things has them as its findings
    found: dict[str, list[str]] = {}
    for text, mine in kinds.items():
        for kind in mine & meant or _usual(mine & shared or mine, causes):
            found.setdefault(kind, []).append(text)
    return {kind: tuple(found[kind]) for kind in INFERRED if kind in found}


def _usual(kinds: Set[str], causes: bool) -> list[str]:
    ordered = [kind for kind in INFERRED if kind in kinds]
    usual = [kind for kind in ordered if INFERRED[kind][2] is Want.SYMPTOM or (causes and kind == "Disease")]
    return usual or ordered[:1]


def _meant(want: Want, named: Sequence[Mention]) -> bool:
    kinds = {mention.kind for mention in named}
    if want in (Want.DRUG, Want.CURE, Want.CONTRAINDICATION):
        return bool(kinds & {"Drug", "Cure"})
    return any(INFERRED[kind][2] is want for kind in kinds if kind in INFERRED)


def _focus(state: State) -> tuple[str, ...]:
    if (ranking := ranking_of(state)) is not None:
        return tuple(candidate.id for candidate in ranking.candidates[:FOCUS])
    inferred = [found.rows for found in state.all(Retrieved) if found.action.startswith("infer") and found.rows]
    best = (rows[place]["id"] for place in range(FOCUS) for rows in inferred if place < len(rows))
    return tuple(dict.fromkeys(best))[:FOCUS]


def getting(diseases: tuple[str, ...], wanted: Iterable[Want], state: State) -> Iterator[Action]:
    """Yield what gets what is wanted of diseases; what no relation states is sought in the words of the sources."""
    if not diseases:
        return
    names = list(diseases[:MOST])
    given = [(want, each) for want in wanted for each in lookups().get(want, ())]
    seen: list[Given] = []
    for _, (name, fields) in given:
        if (name, fields) not in seen:
            seen.append((name, fields))
            yield _action(name, diseases=names, **fields)
    found = {each.action for each in state.all(Retrieved) if each.rows}
    tried = {each.action for each in state.all(Retrieved)}
    for want in dict.fromkeys(wanted):
        stated = {name for name, _ in lookups().get(want, ())}
        if want in IN_WORDS or (want in PASSAGES and stated <= tried and not stated & found):
            yield _action("get_passage", diseases=names, about=PASSAGES[want])


def _inferring(
    classes: Mapping[str, tuple[str, ...]], *, without: Sequence[str] = (), every: bool = False, limit: int = 0
) -> Iterator[Action]:
    for kind, names in classes.items():
        action, parameter, _ = INFERRED[kind]
        ordered: dict[str, Any] = {"likeliest": True} if kind in FINDINGS else {}
        ordered |= {"without": list(without[:MOST])} if without and kind in FINDINGS else {}
        ordered |= {"min_match_count": len(names)} if every else {}
        ordered |= {"limit": limit} if limit else {}
        if kind != "Phenotype":
            names = tuple(name for name in names if not name.startswith("HP:"))
        if names:
            yield _action(action, **{parameter: list(names[:MOST])}, **ordered)


def _action(name: str, **fields: Any) -> Action:
    return parse_action({"action": name, **fields}, ACTIONS)
