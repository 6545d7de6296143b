"""What a question wants, by its words, in Chinese and English: symptoms, tests, drugs, the disease itself, and so on.

The entities that the question names are taken out of it first, so that no part of a name counts as a word.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from kgdx.answer.wants import UNSAID, Want
from kgdx.terms.normalise import read_table

if TYPE_CHECKING:
    from kgdx.terms.names.name_decision import Mention

GAP = "〇"

_ALWAYS = (Want.DESCRIPTION, Want.DISEASE, Want.TOGETHER, Want.CAUSE)
_OF_KIN = (Want.GENE, Want.RISK, Want.COMORBIDITY)
_INSTEAD: Mapping[Want, tuple[Want, ...]] = MappingProxyType(
    {
        Want.SHARED: (*(want for want in Want if want is not Want.SHARED),),
        Want.DIFFERENCE: (*_ALWAYS, Want.SYMPTOM, Want.COMORBIDITY, Want.RISK),
        Want.RECURRENCE: (*_ALWAYS, *_OF_KIN, Want.INHERITANCE, Want.ONSET, Want.PREVALENCE),
        Want.GENE: (Want.TEST, Want.CAUSE),
        Want.USE: (Want.DESCRIPTION, Want.DRUG, Want.CURE, Want.CAUSE, Want.DEPARTMENT),
        **{want: tuple(other for other in Want if other not in (want, *UNSAID)) for want in (Want.COST, *UNSAID)},
        Want.SAFETY: tuple(other for other in Want if other is not Want.SAFETY),
        Want.URGENCY: (Want.DEPARTMENT, Want.CURE, Want.TEST),
        Want.DEPARTMENT: (*_ALWAYS, Want.CURE, Want.TEST, Want.SYMPTOM),
        Want.INHERITANCE: (*_ALWAYS, *_OF_KIN),
        Want.ONSET: (*_ALWAYS, Want.SYMPTOM, Want.TEST, Want.RISK, Want.COURSE, Want.COMORBIDITY),
        Want.TRANSMISSION: (*_ALWAYS, Want.COMORBIDITY),
        Want.PREVENTION: (*_ALWAYS, Want.CONTRAINDICATION, Want.CURE, Want.COMORBIDITY),
        Want.DIET: (*_ALWAYS, Want.DRUG, Want.CONTRAINDICATION, Want.CURE),
        Want.PREVALENCE: (*_ALWAYS, Want.COMORBIDITY),
        Want.RISK: (*_ALWAYS, Want.COMORBIDITY),
        Want.COURSE: (*_ALWAYS, Want.CURE, Want.COMORBIDITY),
    }
)
"""What a question wants → what its words would want otherwise: "who treats 〇" is about doctors, not treatments."""

_ASKED_BESIDE = frozenset({Want.SYMPTOM, Want.TEST, Want.DRUG, Want.CURE, Want.GENE, Want.INHERITANCE, Want.COURSE})


@cache
def _words() -> Mapping[str, str]:
    found: dict[str, str] = {}
    for name, words in read_table(Path(__file__).with_name("question_words.tsv")):
        whole = re.sub(r"\{([A-Z_]+)\}", lambda part: found[part[1]], words)
        found[name] = f"{found[name]} | {whole}" if name in found else whole
    return found


@cache
def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(_words()[name], re.IGNORECASE | re.VERBOSE)


def says(name: str, text: str) -> re.Match[str] | None:
    """Find the words of a name, of those in ``question_words.tsv``.

    Example:
        >>> says("every", "Which diseases have both cough and fever?")[0]
        'both'
    """
    return _pattern(name).search(text)


def masked(question: str, spans: Sequence[Mention]) -> str:
    """Return the question with a gap for each entity that it names."""
    parts: list[str] = []
    at = 0
    for span in sorted(spans, key=lambda span: span.start):
        if span.start >= at:
            parts += (question[at : span.start], GAP)
            at = span.end
    return "".join((*parts, question[at:]))


def wants(rest: str) -> tuple[Want, ...]:
    """Return what a question wants, in the order in which it says so."""
    found = {want: match.start() for want in Want if (match := says(want, rest))}
    if Want.DISEASE in found and (names_diseases(rest) or rest.count(GAP) > 1):
        found.pop(Want.CAUSE, None)  # the causes that are asked for are diseases
    if Want.GENE in found and not names_diseases(rest):
        found.pop(Want.DISEASE, None)
    for want in [want for want in _INSTEAD if want in found]:
        for other in _INSTEAD[want]:
            if other not in _ASKED_BESIDE or not says("beside", rest):
                found.pop(other, None)
    if len(found) > 1:
        found.pop(Want.DIFFERENCE, None)  # what else is asked for is told of each
    if Want.CONTRAINDICATION in found and Want.CURE not in found:
        found.pop(Want.DRUG, None)
    if not found.keys() <= {Want.TOGETHER, Want.DISEASE, Want.COMORBIDITY}:
        found.pop(Want.TOGETHER, None)  # "Which genes are associated with 〇?" says what else is meant
    if (Want.DISEASE in found or not found) and (onward := _onward(rest)):
        found.pop(Want.DISEASE, None)
        found.setdefault(Want.COMORBIDITY, onward.start())
    return tuple(sorted(found, key=lambda want: (found[want], want)))


def _onward(rest: str) -> re.Match[str] | None:
    return None if says("from", rest) else says("onward", rest)


def emergency(question: str) -> bool:
    return says("emergency", question) is not None


def asks_whether(rest: str) -> bool:
    """Tell whether a question can be answered with yes or no.

    Example:
        >>> asks_whether("Does 〇 cause 〇?"), asks_whether("〇会遗传吗？"), asks_whether("What does 〇 cause?")
        (True, True, False)
    """
    return says("whether", rest) is not None and says("either", rest) is None


def names_diseases(rest: str) -> bool:
    """Tell whether a question asks for diseases in so many words, and not for a cause of any kind.

    Example:
        >>> names_diseases("Which diseases cause 〇?"), names_diseases("What causes 〇?")
        (True, False)
    """
    return says("diseases_named", rest) is not None


def of_causes(rest: str) -> bool:
    return says("causes", rest) is not None


def negated(question: str, span: Mention) -> bool:
    return says("negated", question[max(0, span.start - 20) : span.start]) is not None


def runs(rest: str) -> list[str]:
    """Return the words of a question that are not accounted for, those together that stand together.

    Example:
        >>> runs("what would I notice if I had Cushing's?"), runs("Can Fabry patients sweat normally?")
        (["Cushing's"], ['Fabry', 'sweat'])
    """
    for name in (*Want, "filler"):
        rest = _pattern(name).sub("|", rest)
    parts = re.split(r"[^\w\s'’-]+|\s-+\s", rest.replace(GAP, "|"))
    kept = ([word for word in part.split() if _telling(word)] for part in parts)
    return [" ".join(words) for words in kept if words]


def _telling(word: str) -> bool:
    return len(word.strip("'-")) > 1 or word.isdigit() or not word.isascii()


def remainder(rest: str) -> str:
    """Return what is left of a question when all words that are not part of a name are taken out."""
    return " ".join(runs(rest))
