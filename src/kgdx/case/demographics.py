"""Who the patient is, read from free text: age, sex, onset, related parents, affected relatives; English and Chinese.

Only plain statements are read, each with its place. What a text says of two kinds at once is left open, with an issue.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from kgdx.case.ages import (
    FEMALE,
    KIN,
    MALE,
    NUMBER,
    UNIT,
    PersonStatement,
    about_relative,
    ages,
    chinese,
    duration,
    has_han,
    number_of,
    sex_of,
)
from kgdx.case.patient import Case, Issue, Span
from kgdx.case.person import ONSETS, Family, checked_onset, years_of
from kgdx.case.reading_limits import masked_runs
from kgdx.errors import CaseError
from kgdx.lazy import lazy_pattern

LONGEST = 20_000
"""Characters that are looked at: who somebody is stands at the beginning."""


@dataclass(frozen=True, slots=True)
class PersonMention:
    """A statement about the patient.

    Attributes:
        kind: ``age``, ``sex``, ``onset``, ``consanguineous`` or ``affected``.
        value: In the form that a case has it; ``true`` or ``false`` for related parents.
    """

    kind: str
    value: str
    span: Span
    text: str


_NOUN = lazy_pattern(
    rf"(?:^|,\s*|\b(?:a|an|this|the|newborn|term|preterm)\s+)(?:[\w-]+\s+){{0,3}}?(?P<sex>{FEMALE}|{MALE})\b(?!\s*[-’'])"
    r"|\b(?:newborn|neonate|infant|baby|child|toddler|patient|pt)[\s,(:]+(?P<letter>(?-i:[MF]))(?![\w/'’-])"
    r"|\b(?P<title>Mr|Mrs|Ms|Miss)\b\.?\s+[A-Z]"
    rf"|\b(?P<before>female|male)\s+(?:infant|newborn|neonate|child|baby|toddler|patient|adolescent)",
    re.IGNORECASE,
)
_PRONOUN = lazy_pattern(r"(?:^|[.!?]\s+)(?P<sex>She|He)\b")
_ANY_PRONOUN = lazy_pattern(r"\b(?P<sex>she|her|he|his|him)\b", re.IGNORECASE)
_FIRST_PERSON = r"\bI(?:['’]m| am)\b[^.;!?]{0,40}\b"
_TOLD = lazy_pattern(
    rf"(?P<female>{_FIRST_PERSON}(?:mum|mom|mother|wife|pregnant|breastfeeding)\b|\bmy\s+(?:periods?|pregnancy)\b|\bLMP\b"
    r"|我[^。；，母妈]{0,12}[，]?(?:月经|例假|怀孕)|老太太)"
    rf"|(?P<male>{_FIRST_PERSON}(?:dad|father|husband)\b|\bmy\s+(?:prostate|testicles?)\b|老大爷|小伙子)",
    re.IGNORECASE,
)
"""What only one sex says of itself."""
_FIELD = lazy_pattern(r"\b(?:sex|gender)\s*[:=]?\s*(?P<sex>female|male|[MF])\b", re.IGNORECASE)
_PERSON_ZH = lazy_pattern("[他她]")
_RELATED = lazy_pattern(
    r"\b(?P<no>non-?\s?|no\s+(?:\w+\s+){0,2}|not\s+|den(?:y|ies|ied)\s+(?:\w+\s+){0,1}|without\s+)?consanguin(?:eous|ity)\b"
    r"|\bparents?\b[^.;]{0,30}\b(?P<unrelated>(?:are|were)\s+(?:not|un)\s?related|not\s+(?:first|second)[- ]cousins)"
    r"|\bparents?\b[^.;]{0,40}\b(?:first|second|third)[- ](?:degree\s+)?cousins?\b"
    r"|(?P<否>非|否认|无|不是)?(?:父母)?(?:系|为|是)?近亲(?:结婚|婚配|婚育)?",
    re.IGNORECASE,
)
_STAGE = r"infancy|childhood|adolescence|adulthood|birth"
_ONSET = lazy_pattern(
    rf"\b(?:since|from)\s+(?:early\s+|late\s+)?(?P<stage>{_STAGE})\b"
    r"|\b(?P<kind>congenital|neonatal|infantile|childhood|juvenile|adult|late)[- ]onset\b"
    r"|\b(?:(?:onset(?:\s+of\s+\w+)?|beg(?:an|inning|un)|started|starting)\s+(?:was\s+|is\s+)?(?:at\s+)?(?:the\s+)?(?:age\s+(?:of\s+)?)?"
    r"|since\s+(?:the\s+)?age\s+(?:of\s+)?)"
    rf"(?P<number>{NUMBER})\b(?!\s*(?:[/%]|\.?\d))\s*(?:(?P<unit>{UNIT})\b(?:\s+(?:old|of age))?)?(?!\s*ago)"
    r"|(?P<born>自?出生(?:后|时)?(?:即|起|就)|生后即|自幼)"
    r"|(?P<年>\d{1,3})\s*(?P<单位>岁|个月|月)(?:时|龄)?(?:开始)?(?:起病|发病|出现)",
    re.IGNORECASE,
)
_AFFECTED = lazy_pattern(
    r"\b(?:same|just|exactly)\s+(?:as|like)\s+(?:my|his|her)\s+(?P<as>mum|mom|mother|dad|father|brother|sister)\b"
    r"|\b(?P<who>mum|mom|dad|mother|father|parent|brother|sister|sibling)s?\s+(?:(?:is|was|are|were)\s+(?:also|similarly|likewise)\s+"
    r"affected|(?:also\s+)?(?:has|had|have)\s+(?:the\s+)?(?:same|similar)\s+(?:disease|condition|symptoms?|problems?|"
    r"disorder|findings)|also\s+(?:has|had|have|suffers?)\b)"
    r"|(?P<同>母亲|父亲|父母|我?爸爸?|我?妈妈?|哥哥?|姐姐?|弟弟?|妹妹?)(?:也|亦)(?:有|患|是|这样)"
    r"|(?P<亲>母亲|父亲|父母|哥哥|姐姐|弟弟|妹妹)(?:有|患)(?:同样|类似|相同|同)(?:的)?(?:疾病|症状|病|表现|病史)?",
    re.IGNORECASE,
)
_PARENTS = frozenset({"mother", "father", "parent", "mum", "mom", "dad", "母", "父", "爸", "妈"})


@lru_cache(maxsize=4)
def mentions(text: str) -> tuple[PersonMention, ...]:
    """Return what a text says of who the patient is, in its order."""
    text = masked_runs(text[:LONGEST])
    found = [*_person(text), *_related(text), *_onsets(text), *_relatives(text)]
    if not any(each.kind == "sex" for each in found):
        found += _nouns(text)
    if not any(each.kind == "sex" for each in found):
        found += [*_pronouns(text)] or [*_told(text)]
    return tuple(sorted(dict.fromkeys(found), key=lambda each: (each.span.start, each.kind)))


def described(case: Case, found: tuple[PersonMention, ...] | None = None) -> Case:
    """Return the case with what its text says of the patient, where the case itself does not say it.

    What contradicts the case, or itself, is an issue: what was given counts, and of two statements neither.
    """
    if not case.text:
        return case
    found = mentions(case.text) if found is None else found
    issues: list[Issue] = []
    sex, age = _one(found, "sex", issues), _one(found, "age", issues)
    if sex and case.sex in ("FEMALE", "MALE") and sex.value != case.sex:
        issues.append(_contradicted("sex", case.sex.lower(), sex, sex.value.lower()))
    if age and case.age and abs((years_of(case.age) or 0) - (years_of(age.value) or 0)) >= 1:
        issues.append(_contradicted("age", case.age, age, age.value))
    stages = [each.value for each in found if each.kind == "onset"]
    related = {each.value == "true" for each in found if each.kind == "consanguineous"}
    affected = dict.fromkeys(each.value for each in found if each.kind == "affected")
    family = case.family
    return replace(
        case,
        sex=sex.value if sex and case.sex == "UNKNOWN" else case.sex,
        age=case.age or (age.value if age else None),
        onset=case.onset or (stages[0] if stages else None),
        family=Family(
            related.pop() if family.consanguineous is None and len(related) == 1 else family.consanguineous,
            family.affected or tuple(affected),
            family.inheritance,
        ),
    ).with_issues(issue for issue in issues if issue not in case.issues)


def _one(found: tuple[PersonMention, ...], kind: str, issues: list[Issue]) -> PersonMention | None:
    each = {mention.value: mention for mention in reversed(found) if mention.kind == kind}
    if len(each) > 1:
        said = " and ".join(f"{value} (characters {m.span.start}-{m.span.end})" for value, m in sorted(each.items()))
        message = f"the text states more than one {kind}: {said}"
        issues.append(Issue("warning", "text", message, f"none was used; give the patient's {kind} itself"))
        return None
    return next(iter(each.values()), None)


def _contradicted(kind: str, given: str, mention: PersonMention, said: str) -> Issue:
    where = f"characters {mention.span.start}-{mention.span.end}"
    return Issue("warning", where, f"the {kind} is given as {given}, the text says {said}", "the given one was used")


def _mention(kind: str, value: str, match: re.Match[str], group: str | int = 0) -> PersonMention:
    return PersonMention(kind, value, Span(*match.span(group)), match[group])


def _person(text: str) -> list[PersonMention]:
    said = [*about_relative(text), *ages(text), *(chinese(text) if has_han(text) else ())]
    said += [PersonStatement("sex", sex_of(match["sex"]), *match.span("sex"), 0) for match in _FIELD.finditer(text)]
    kept: list[PersonMention] = []
    for kind in ("age", "sex"):
        best = min((each.rank for each in said if each.kind == kind), default=0)
        ordered = sorted((each for each in said if each.kind == kind and each.rank == best), key=_longest_first)
        taken: list[PersonStatement] = []
        for each in ordered:
            if not taken or each.start >= taken[-1].end:
                taken.append(each)
        kept += [
            PersonMention(kind, each.value, Span(each.start, each.end), text[each.start : each.end]) for each in taken
        ]
    return kept


def _longest_first(said: PersonStatement) -> tuple[int, int]:
    return said.start, said.start - said.end


def _nouns(text: str) -> Iterator[PersonMention]:
    first = re.split(r"(?<=[.!?])(?<!Mr\.)(?<!Mrs\.)(?<!Ms\.)\s", text, maxsplit=1)[0]
    for match in _NOUN.finditer(first):
        group = next(name for name in ("sex", "before", "letter", "title") if match[name])
        yield _mention("sex", sex_of(match[group]), match, group)


def _pronouns(text: str) -> Iterator[PersonMention]:
    relative = re.search(rf"\b(?:{KIN})\b", text, re.IGNORECASE)
    for match in _PRONOUN.finditer(text[: relative.start() if relative else None]):
        yield _mention("sex", sex_of(match["sex"]), match, "sex")
    relative = re.search("[父母兄弟姐妹哥爸妈]", text)
    for match in _PERSON_ZH.finditer(text[: relative.start() if relative else None]):
        yield _mention("sex", "FEMALE" if match.group() == "她" else "MALE", match)


def _told(text: str) -> Iterator[PersonMention]:
    for match in _TOLD.finditer(text):
        yield _mention("sex", "FEMALE" if match["female"] else "MALE", match)
        return
    relative = re.search(rf"\b(?!partner)(?:{KIN})\b", text, re.IGNORECASE)
    found = list(_ANY_PRONOUN.finditer(text[: relative.start() if relative else None]))
    if len({match.group()[0].lower() == "s" or match.group().lower() == "her" for match in found}) == 1:
        word = found[0].group().lower()
        yield _mention("sex", "FEMALE" if word in ("she", "her") else "MALE", found[0])


def _related(text: str) -> Iterator[PersonMention]:
    for match in _RELATED.finditer(text):
        denied = match["no"] or match["unrelated"] or match["否"]
        yield _mention("consanguineous", "false" if denied else "true", match)


def _onsets(text: str) -> Iterator[PersonMention]:
    for match in _ONSET.finditer(text):
        if stage := match["stage"] or match["kind"]:
            yield _mention("onset", ONSETS[stage.lower()], match)
        elif match["born"]:
            yield _mention("onset", ONSETS["儿童期" if match["born"] == "自幼" else "birth"], match)
        else:
            number, unit = match["number"] or match["年"], match["unit"] or match["单位"]
            age = duration(number_of(number), {"岁": "y", "个": "m", "月": "m"}.get((unit or "y")[0], unit or "y"))
            if age:
                try:
                    yield _mention("onset", checked_onset(age), match)
                except CaseError:
                    continue


def _relatives(text: str) -> Iterator[PersonMention]:
    for match in _AFFECTED.finditer(text):
        who = (match["who"] or match["as"] or match["同"] or match["亲"]).lower().removeprefix("我")
        yield _mention("affected", "PARENT" if who in _PARENTS or who[0] in _PARENTS else "SIBLING", match)
