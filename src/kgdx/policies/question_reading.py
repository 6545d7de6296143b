"""How a question is read by rules: what it names, what it wants, and of which disease it wants it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from kgdx.answer.artifacts import Understood, mentions_of
from kgdx.answer.term_tables import chinese_of
from kgdx.answer.wants import IN_WORDS, Want
from kgdx.episode.state import State
from kgdx.lazy import lazy_pattern
from kgdx.policies.intents import asks_whether, emergency, masked, names_diseases, negated, remainder, wants
from kgdx.terms.normalise import has_chinese, read_table

if TYPE_CHECKING:
    from kgdx.terms.names.name_decision import Mention

MOST_COMPARED = 4

MOST_WORDS = 4
"""Words of what may be stated of a disease and is no name of the graph, at most."""

_CONFIRMABLE = {Want.SYMPTOM, Want.DRUG, Want.CURE, Want.TEST, Want.COMORBIDITY, Want.CAUSE, Want.GENE, Want.TOGETHER}

_OF_DISEASES = IN_WORDS - {Want.CAUSE, Want.DESCRIPTION, Want.RISK, Want.INHERITANCE}

_WRONG = frozenset(
    {"the", "problem", "problems", "finding", "findings", "signs", "disease", "defect", "defects", "trouble"}
)

FINDINGS = ("Symptom", "Phenotype")

LONGEST_NAME = 80
"""What is left of a question without known entities may be a misspelt name when it has so many letters at most."""

_LISTED = lazy_pattern(r"(?:[、，,;；/和与及或\s]|\b(?:and|or|with|plus)\b)++")

_OF = lazy_pattern(
    r"\b(?:symptoms?|signs?|features?|complications?|manifestations?|part|seen|found|occur\w*|present)\s+(?:of|in|with)\b"
    r"|的(?:症状|并发症|表现|特征|体征)",
    re.IGNORECASE,
)
"""Words after which the disease is named last: "Is 〇 a symptom of 〇?"."""

_NUMBER = re.compile(r"(?:\d+[A-Za-z]?|[IVX]+|[A-Z])(?=型?$)")
_VERB = lazy_pattern(r"leads?\s+to\b", re.IGNORECASE)  # no metal
_LATIN = re.compile(r"\b([A-Za-z][A-Za-z' -]+?)\s?综合[征症]")
_FURTHER = re.compile(
    r"\s*(?:and|or|vs\.?|versus|from|[和与及、,/])\s*(?:type\s+)?(\d+[A-Za-z]?|[IVX]+|[A-Z])型?(?!\w)"
)
"""A number at the end of a disease's name, and that of another form behind it."""

_TYPED = re.compile(r"type\s+(\d+|[IVX]+)\b|(\d+|[IVX]+)型", re.IGNORECASE)
_EARLIER = re.compile(
    r"\btype\s+(\d+|[IVX]+)\s+(?:and|or|vs\.?|versus|from)\s+$|(\d+|[IVX]+)型?[和与及跟、]$", re.IGNORECASE
)
"""A number at the beginning of a disease's name, and that of another form before it: "type 1 and type 2 diabetes"."""

_EVERY = re.compile(r"\bboth\b|\ball\s+of\b|同时|兼有|既.*又", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class QuestionReading:
    """How a question is read."""

    question: str
    named: tuple[Mention, ...]
    rest: str
    wanted: tuple[Want, ...]
    unnamed: str
    denied: tuple[Mention, ...] = ()

    @property
    def diseases(self) -> tuple[str, ...]:
        return texts_of(each for each in self.named if each.kind == "Disease")

    @property
    def findings(self) -> tuple[str, ...]:
        return texts_of(each for each in self.named if each.kind in FINDINGS)

    @property
    def beside_the_point(self) -> bool:
        """Whether it asks for no diseases, and most of its words are none that the graph knows."""
        if not self.inferring or self.asked or Want.DISEASE in self.wanted:
            return False
        left, names = len(name_in(self.rest).split()), texts_of(self.named)
        return left > (len(names) if set(names) == set(self.findings) else 0)

    @property
    def every(self) -> bool:
        return _EVERY.search(self.rest) is not None

    @property
    def asked(self) -> tuple[Want, ...]:
        return tuple(want for want in self.wanted if want is not Want.DISEASE)

    @property
    def of_finding(self) -> bool:
        """Whether it wants of a finding what is said of diseases alone: who treats it, whether it is catching."""
        if self.diseases or len(self.findings) != 1 or texts_of(self.named) != self.findings:
            return False
        diseases = Want.DISEASE in self.wanted or names_diseases(self.rest)
        return Want.COMORBIDITY in self.asked or bool(not diseases and set(self.asked) & _OF_DISEASES)

    @property
    def inferring(self) -> bool:
        """Whether diseases are wanted that match what is named."""
        if not self.named or self.of_finding:
            return False
        if Want.CAUSE in self.wanted and len(self.diseases) == 1 and self.diseases == texts_of(self.named):
            return names_diseases(self.rest)
        if Want.DESCRIPTION in self.wanted and len(texts_of(self.named)) == 1 and self.diseases and not self.findings:
            return False
        if Want.DESCRIPTION in self.wanted and len(self.findings) == 1 and not names_diseases(self.rest):
            return False
        asked = [want for want in self.asked if want is not Want.DESCRIPTION]
        several = len(self.findings) > 1 and set(self.findings) == set(texts_of(self.named))
        return Want.DISEASE in self.wanted or not self.diseases or (not asked and several)


def read_question(state: State) -> QuestionReading:
    """Return how a question is read whose entities were recognised."""
    question = state.question
    mentions = _telling(question, [each for each in mentions_of(state) if not _VERB.match(question, each.start)])
    rest = masked(question, mentions)
    wanted = (Want.URGENCY, Want.DISEASE) if emergency(question) else wants(rest)
    named = tuple(mention for mention in mentions if not negated(question, mention))
    denied = tuple(each for each in mentions if each not in named and each.kind in FINDINGS)
    named += tuple(_numbered(question, named))
    return QuestionReading(question, named, rest, wanted, _unnamed(named, rest, wanted), denied)


def _numbered(question: str, named: Sequence[Mention]) -> Iterator[Mention]:
    for each in named:
        number, further = _NUMBER.search(each.text), _FURTHER.match(question, each.end)
        if each.kind == "Disease" and number and further:
            text = each.text[: number.start()] + further[1]
            yield replace(each, start=further.start(1), end=further.end(1), text=text)
        typed, earlier = _TYPED.match(each.text), _EARLIER.search(question[: each.start])
        if each.kind == "Disease" and typed and earlier:
            text = each.text.replace(typed[1] or typed[2], earlier[1] or earlier[2], 1)
            yield replace(each, start=earlier.start(), end=earlier.end(), text=text)


def _unnamed(named: Sequence[Mention], rest: str, wanted: Sequence[Want]) -> str:
    left = name_in(rest)
    asked = [want for want in wanted if want is not Want.DISEASE]
    findings = {each.text for each in named if each.kind in FINDINGS}
    of_one = asks_whether(rest) or Want.PREVALENCE in wanted
    if of_one and left and named and all(each.text in findings for each in named):
        return left  # "Does Noonan cause short stature?": what is named is what may be stated of a disease
    if any(each.kind == "Disease" for each in named):
        if Want.DIFFERENCE not in wanted or len(texts_of(named)) > 1 or not left:
            return ""
        _, _, behind = named[0].text.partition(" ")  # "Becker and Duchenne muscular dystrophy"
        return f"{left} {behind}" if behind and " " not in left else left
    if (
        asked
        and Want.DISEASE not in wanted
        and len(texts_of(named)) == 1
        and all(each.kind in FINDINGS for each in named)
    ):
        return left + named[0].text if left and has_chinese(left) else left if left else named[0].text
    if not named and chinese_of(left):
        return ""
    if not named:
        return "" if Want.DISEASE in wanted and not asked else left
    return left if asks_whether(rest) else ""


def subjects_of(read: QuestionReading, state: State) -> tuple[str, ...]:
    """The diseases that the question is about, in its words."""
    known = state.get(Understood)
    found = (read.unnamed,) if known is not None and any(each.ids for each in known.resolved) else ()
    return (*found, *read.diseases)[:MOST_COMPARED]


def others_of(read: QuestionReading, about: Sequence[str]) -> tuple[str, ...]:
    """What may be stated of the disease that a question is about, where it asks whether it is."""
    other = {Want.DIFFERENCE, Want.DISEASE, *(IN_WORDS - {Want.CAUSE, Want.DESCRIPTION})}
    often = Want.PREVALENCE in read.wanted and bool(read.findings)  # how often a finding is seen in a disease
    if not about or not (often or (asks_whether(read.rest) and not other.intersection(read.wanted))):
        return ()
    texts, left = texts_of(read.named), name_in(read.rest)
    if len({*texts, *about}) > 1:
        others = tuple(text for text in texts if text != subject_of(read, about))
        whole = [f"{left} {text}" for text in others if left and f"{left} {text}" in read.question]
        return tuple(whole) or others  # "purple teeth" is not asked with "teeth"
    beside = left and left != read.unnamed and len(left.split()) <= MOST_WORDS and not (set(read.asked) - _CONFIRMABLE)
    return (left,) if beside else ()


def subject_of(read: QuestionReading, about: Sequence[str]) -> str:
    """The disease of a question that asks whether something is stated of it."""
    only = [text for text in about if text not in read.findings]
    if len(only) == 1:
        return only[0]
    return about[-1] if _OF.search(read.rest) else about[0]


def name_in(rest: str) -> str:
    """What may be a misspelt name in a question that names nothing the graph knows; empty where nothing may."""
    left = _LATIN.sub(r"\1 syndrome", remainder(rest))
    return left if len(left) <= LONGEST_NAME and any(each.isalpha() for each in left) else ""


def _telling(question: str, mentions: Sequence[Mention]) -> list[Mention]:
    telling = {mention.start for mention in mentions if remainder(mention.text)}
    for listed in _lists(question, mentions):
        if telling.intersection(mention.start for mention in listed):
            telling.update(mention.start for mention in listed)
    return [mention for mention in mentions if mention.start in telling] or list(mentions)


def _lists(question: str, mentions: Sequence[Mention]) -> Iterator[list[Mention]]:
    for kind in dict.fromkeys(mention.kind for mention in mentions):
        listed: list[Mention] = []
        for mention in (each for each in mentions if each.kind == kind):
            if listed and not _LISTED.fullmatch(question[listed[-1].end : mention.start]):
                yield listed
                listed = []
            listed.append(mention)
        yield listed


def texts_of(mentions: Iterable[Mention]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(mention.text for mention in mentions))


@cache
def _body() -> Mapping[str, str]:
    rows = read_table(Path(__file__).with_name("body_parts.tsv"))
    return {word: id for english, chinese, id in rows for word in (*english.split(), *chinese.split())}


def part_of(text: str) -> str:
    """The phenotype that stands for what is wrong with a part of the body; empty where none is named."""
    said = text.casefold()
    words = [said] if has_chinese(said) else [word for word in said.split() if word not in _WRONG]
    return _body().get(words[0], "") if len(words) == 1 else ""


def part_asked(read: QuestionReading) -> str:
    """The part of the body of which a question wants the signs of a disease; empty where it names none."""
    if read.asked not in ((), (Want.SYMPTOM,)):
        return ""
    named = (part_of(text) for text in (name_in(read.rest), *read.findings))
    return next(filter(None, named), "")
