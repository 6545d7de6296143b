"""What a person is asked: everyday wordings of questions, and what is asked first about a complaint.

They stand in ``ranking/questions.tsv`` and ``ranking/complaints.tsv``. No clinician has reviewed them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Literal, NamedTuple

from kgdx.case.patient import Case, Status
from kgdx.case.person import years_of
from kgdx.resources import resource
from kgdx.terms.normalise import read_table

Stage = Literal["", "decides", "red flag", "history", "examination", "test"]
STAGES: tuple[Stage, ...] = ("decides", "red flag", "history", "examination", "test")
FIRST = STAGES[:2]
"""Stages whose questions are asked before any other."""
GROWN = 20.0
"""Age in years that nobody reaches who is asked what children are asked."""
NARROWED = 7
"""Answers after which tests are offered: history and examination come before them."""
SEX = "SEX:FEMALE"
"""Id of the question whether the patient is a woman or a girl."""
COMPLAINTS, BEHIND = 2, 8
"""Complaints of a patient whose questions count, and how many places those of the second come behind."""


class QuestionWording(NamedTuple):
    """How a person is asked about a finding.

    Rows without ``key`` ask about a whole system; ages are in years; ``said_by`` are findings that say it already,
    ``moot_by`` those without which nobody asks (``!`` in the same column), and ``tests`` words in the names of the
    tests of which it is a result, in small letters.
    """

    id: str
    key: str
    way: str
    youngest: float
    oldest: float
    sex: str
    said_by: tuple[str, ...]
    moot_by: tuple[str, ...]
    tests: tuple[str, ...]
    en: str
    zh: str

    def fits(self, case: Case) -> bool:
        """Return whether a patient of that sex and age is asked; what children are asked, only a known child."""
        age = None if case.age is None else years_of(case.age)
        sexed = not self.sex or case.sex not in ("MALE", "FEMALE") or case.sex == self.sex
        return sexed and (self.oldest >= GROWN if age is None else self.youngest <= age <= self.oldest)


class Complaint(NamedTuple):
    """What is asked about a complaint: ids of findings, by stage, and which of its tests everybody gets.

    What people say in passing is asked about ``after`` what others they complain of. Who denies the first of
    its ``terms`` has another complaint, with signs in common.
    """

    name: str
    name_zh: str
    sex: str
    after: bool
    terms: tuple[str, ...]
    words: tuple[str, ...]
    stages: Mapping[Stage, tuple[str, ...]]
    due: frozenset[str]


@cache
def wordings() -> Mapping[str, QuestionWording]:
    """Return how people are asked, by the finding; of several rows of one finding the first."""
    return {each.id: each for each in reversed(list(_wordings()))}


def _wordings() -> Iterator[QuestionWording]:
    sexes = {"F": "FEMALE", "M": "MALE", "": ""}
    for key, id, way, ages, sex, said_by, tests, en, zh in read_table(resource("ranking", "questions.tsv")):
        youngest, _, oldest = ages.partition("-")
        said, of = (tuple(filter(None, each)) for each in (said_by.split(","), tests.casefold().split(";")))
        moot = tuple(each[1:] for each in said if each[0] == "!")
        said = tuple(each for each in said if each[0] != "!")
        ages_of = float(youngest or 0), float(oldest or 150)
        yield QuestionWording(id, key, way, *ages_of, sexes[sex], said, moot, of, en, zh)


@cache
def complaints() -> tuple[Complaint, ...]:
    """Return the complaints."""
    ids = {each.key: each.id for each in _wordings()}
    found = []
    for name, zh, sex, after, terms, words, *stages in read_table(resource("ranking", "complaints.tsv")):
        asked = {
            stage: tuple(dict.fromkeys(ids[key.removeprefix("!")] for key in keys.split(", ")))
            for stage, keys in zip(STAGES, stages, strict=True)
        }
        of = {"F": "FEMALE", "M": "MALE", "": ""}[sex]
        due = frozenset(ids[key[1:]] for key in stages[-1].split(", ") if key.startswith("!"))
        said = tuple(filter(None, words.split(";")))
        found.append(Complaint(name, zh, of, bool(after), tuple(terms.split(",")), said, asked, due))
    return tuple(found)


def complaints_of(case: Case, above: Callable[[str], Iterable[str]], said: Iterable[str] = ()) -> tuple[Complaint, ...]:
    """Return what a patient complains of, as it was said before anybody asked; one that is of the patient's sex first.

    ``above`` returns the ids that a finding implies, itself included; ``said`` names complaints said in words alone. A
    complaint may be of a finding with a modifier, such as a side, before that of the finding alone.
    """
    fitting = [each for each in complaints() if each.sex in ("", case.sex) and each.terms[0] not in case.excluded]
    plain = case.text.casefold()
    named = [each for each in fitting if each.name in said]
    begins = (_said(each.words).search(plain) if each.words else None for each in named)
    found = [(len(plain) if at is None else at.start(), each) for at, each in zip(begins, named, strict=True)]
    for finding in case.findings:
        if finding.status is Status.PRESENT and finding.method != "asked":
            implied = set(above(finding.id))
            modified = {f"{id}+{modifier}" for id in implied for modifier in finding.modifiers}
            of = [each for each in fitting if not (implied | modified).isdisjoint(each.terms)]
            of.sort(key=lambda each: (not each.sex, modified.isdisjoint(each.terms), finding.id not in each.terms))
            found += [(-1 if finding.span is None else finding.span.start, each) for each in of[:1]]
    found.sort(key=lambda each: (each[1].after, not (each[1].sex and each[1] in named), each[0]))
    return tuple({each.name: each for _, each in found}.values())[:COMPLAINTS]


def said_complaints(text: str) -> tuple[str, ...]:
    """Return the names of the complaints that a text says in words, in its order."""
    plain = text.casefold()
    begins = ((_said(each.words).search(plain), each.name) for each in complaints() if plain and each.words)
    return tuple(name for _, name in sorted((found.start(), name) for found, name in begins if found))


@cache
def _said(words: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"(?<!\bno )(?<!\bnot )(?<![无没否])(?<!没有)(?<!否认)(?:{'|'.join(map(re.escape, words))})")


def asked_first(
    case: Case, of: Iterable[Complaint]
) -> tuple[dict[str, Stage], dict[str, tuple[Stage, int]], list[str]]:
    """Return what is asked first, in order, what else belongs to the complaints, and which tests everybody gets.

    First comes what decides about the first complaint, and its red flags; the rest has its stage and its place in it,
    and what decides about another complaint is history.
    """
    known = list(of)
    first: dict[str, Stage] = {}
    for stage in FIRST:
        for id in known[0].stages[stage] if known else ():
            if wordings()[id].fits(case):
                first.setdefault(id, stage)
    rest: dict[str, tuple[Stage, int]] = {}
    for number, each in enumerate(known):
        for at, ids in each.stages.items():
            for place, id in enumerate(ids, BEHIND * number):
                if id not in first and wordings()[id].fits(case):
                    rest.setdefault(id, ("history" if at == "decides" else at, place))
    due = [id for id, (at, _) in rest.items() if at == "test" and any(id in each.due for each in known)]
    return first, rest, due
