"""How a question is read by rules: what it names, what it wants, and of which disease it wants it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType

from kgdx.answer.answer_phrases import chinese_of
from kgdx.answer.artifacts import Understood, mentions_of
from kgdx.answer.wants import IN_WORDS, UNSAID, Want
from kgdx.episode.state import State
from kgdx.lazy import lazy_pattern
from kgdx.terms.names.name_decision import Mention
from kgdx.terms.normalise import has_chinese, read_table

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
        **{
            want: tuple(other for other in Want if other not in (want, Want.URGENCY, *UNSAID))
            for want in (Want.COST, *UNSAID)
        },
        Want.SAFETY: tuple(other for other in Want if other not in (Want.SAFETY, Want.URGENCY)),
        Want.URGENCY: (Want.DEPARTMENT, Want.CURE, Want.TEST, Want.SAFETY, Want.DRUG),
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
    for want in (want for want in _INSTEAD if want in found):  # what another one took out takes nothing out
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


def refused(question: str) -> tuple[Want, ...]:
    """Return what is refused, whatever is named: "take ibuprofen" may be a name of the graph."""
    found = wants(question)
    return () if Want.URGENCY in found else tuple({Want.SAFETY, Want.DOSE}.intersection(found))


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
    kept = ([word for word in part.split() if _is_telling(word)] for part in parts)
    return [" ".join(words) for words in kept if words]


def _is_telling(word: str) -> bool:
    return len(word.strip("'-")) > 1 or word.isdigit() or not word.isascii()


def remainder(rest: str) -> str:
    """Return what is left of a question when all words that are not part of a name are taken out."""
    return " ".join(runs(rest))


MOST_COMPARED = 4

MOST_WORDS = 4

_MOST_TRIED = 12

_CONFIRMABLE = {Want.SYMPTOM, Want.DRUG, Want.CURE, Want.TEST, Want.COMORBIDITY, Want.CAUSE, Want.GENE, Want.TOGETHER}

_OF_DISEASES = {*IN_WORDS, Want.CONTRAINDICATION} - {Want.CAUSE, Want.DESCRIPTION, Want.RISK, Want.INHERITANCE}

_WRONG = frozenset(
    {"the", "problem", "problems", "finding", "findings", "signs", "disease", "defect", "defects", "trouble"}
    | {"normal", "normally", "properly", "well"}
)

FINDINGS = ("Symptom", "Phenotype")

LONGEST_NAME = 80

_LISTED = lazy_pattern(r"(?:[、，,;；/和与及或\s]|\b(?:and|or|with|plus)\b)++")

_NUMBER = re.compile(r"(?:\d+[A-Za-z]?|[IVX]+|[A-Z])(?=型?$)")
_VERB = lazy_pattern(r"leads?\s+to\b", re.IGNORECASE)  # no metal
_TYPE_BEHIND = re.compile(
    r",?\s+(?:sub)?type\s+(?:\d+[A-Za-z]?|[IVX]+[A-Z]?|[A-Z])\b|(?:\d+|[IVX]+|[一二三四五六七八九十]+)型"
)
_LATIN = re.compile(r"\b([A-Za-z][A-Za-z' -]+?)\s?综合[征症]")
_HEAD = re.compile(r"\s?综合[征症]")
_FURTHER = re.compile(
    r"\s*(?:and|or|vs\.?|versus|from|[和与及、,/])\s*(?:type\s+)?(\d+[A-Za-z]?|[IVX]+|[A-Z])型?(?![\w'’])"
)

_TYPED = re.compile(r"type\s+(\d+|[IVX]+)\b|(\d+|[IVX]+)型", re.IGNORECASE)
_EARLIER = re.compile(
    r"\btype\s+(\d+|[IVX]+)\s+(?:and|or|vs\.?|versus|from)\s+$|(\d+|[IVX]+)型?[和与及跟、]$", re.IGNORECASE
)

_WITH_NUMBER = lazy_pattern(r"\s+(?:(?:syndrome|disease|disorder)\s+)?(?:type\s+)?(?:\d+[A-Za-z]?|[IVX]+)\b(?!\s*[%/])")


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
    def chooses(self) -> bool:
        """Whether it gives several findings, or several diseases for one, to choose among."""
        alone = [text for text in self.findings if text not in self.diseases]
        among = len(alone) + len(runs(self.options)) > 1
        among |= len(self.diseases) > 1 and bool(alone or name_in(self.rest))
        return bool(self.diseases) and among and says("choice", self.rest) is not None

    @property
    def options(self) -> str:
        return self.rest.replace("：", ":").partition(":")[2]

    @property
    def behind(self) -> str:
        return self.question.replace("：", ":").partition(":")[2]

    @property
    def absent(self) -> bool:
        return self.chooses and says("except", self.rest) is not None

    @property
    def every(self) -> bool:
        return says("every", self.rest) is not None

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
    mentions = _recognised(state)
    typed = list(_typed(question, mentions))
    mentions = _outside(mentions, typed)
    found = _understood(state, mentions)
    mentions = [*_outside(mentions, found), *found]
    unknown = [each for each in typed if each.start not in {one.start for one in found}][:1]
    if unknown and any(each.kind == "Disease" and each.start < unknown[0].start for each in mentions):
        unknown = []  # what is asked of is named before it
    rest = masked(question, [*mentions, *unknown])
    mentions = [] if unknown else mentions  # nothing can be said of it
    wanted = (Want.URGENCY, Want.DISEASE) if emergency(question) else refused(question) or wants(rest)
    named = tuple(mention for mention in mentions if not negated(question, mention))
    denied = tuple(each for each in mentions if each not in named and each.kind in FINDINGS)
    named += tuple(_numbered(question, named))
    unnamed = unknown[0].text if unknown else _unnamed(named, rest, wanted)
    return QuestionReading(question, named, rest, wanted, unnamed, denied)


def _typed(question: str, mentions: Sequence[Mention]) -> Iterator[Mention]:
    """What is named with a type behind it that the name does not have: no entry may be of that type."""
    for each in mentions:
        kinds = ("Disease",) if has_chinese(each.text) else ("Disease", *FINDINGS)
        if each.kind in kinds and (behind := _TYPE_BEHIND.match(question, each.end)):
            yield replace(each, end=behind.end(), text=question[each.start : behind.end()])


def _outside(mentions: Sequence[Mention], found: Sequence[Mention]) -> list[Mention]:
    return [each for each in mentions if not any(one.start <= each.start and each.end < one.end for one in found)]


def _recognised(state: State) -> list[Mention]:
    question = state.question
    mentions = [
        replace(each, text=each.text[:-3].rstrip(), end=each.end - 4 + each.text.endswith(" an"))
        if each.text.endswith((" the", " an"))
        else each
        for each in mentions_of(state)
        if not _VERB.match(question, each.start)
    ]
    mentions = _telling(question, mentions)
    others = [each for each in mentions if not says("pregnant", each.text)]
    return others if len(others) < len(mentions) and Want.SAFETY in wants(masked(question, others)) else mentions


def by_findings(state: State) -> bool:
    """Tell whether nothing but diseases is asked for, by findings alone."""
    mentions = _recognised(state)
    findings = texts_of(each for each in mentions if each.kind in FINDINGS)
    other = any(each.kind == "Disease" and each.text not in findings for each in mentions)
    return not other and wants(masked(state.question, mentions)) == (Want.DISEASE,)


def names_to_try(state: State) -> tuple[str, ...]:
    """The words that may be names of diseases though no entry is called so in full: eponyms, and the members of a list.

    Of "Duchenne, Becker and Emery-Dreifuss muscular dystrophy" the first two are tried with what the last one ends in;
    a finding is tried where what is asked is said of diseases alone.
    """
    mentions = _recognised(state)
    typed = list(_typed(state.question, mentions))
    mentions = _outside(mentions, typed)
    rest = masked(state.question, [*mentions, *typed])
    found = [
        each for each in runs(_LATIN.sub(r"\1 syndrome", rest)) if 1 < len(each) <= LONGEST_NAME and not each.isdigit()
    ]
    found = [_numbered_whole(state.question, each) for each in found]
    joined = [each for each in _joined(state.question, mentions, found) if each not in found]
    ends = {each.text.partition(" ")[2] for each in mentions if each.kind == "Disease"} - {""}
    listed = [f"{each} {end}" for each in found for end in ends if " " not in each]
    diseases = {each.text for each in mentions if each.kind == "Disease"}
    asked = set(wants(rest))
    kinds = FINDINGS if Want.DISEASE in asked else (*FINDINGS, "Gene")  # "which diseases … TRPS1" means the gene
    findings = [each.text for each in mentions if each.kind in kinds and each.text not in diseases | {each.ids[0]}]
    of_disease = bool(asked & {Want.DIFFERENCE, Want.SHARED}) or (
        not diseases and bool(asked - {Want.DISEASE, Want.SYMPTOM, Want.COMORBIDITY, Want.TOGETHER})
    )
    of_type = [each.text for each in typed]
    wide = wider(state.question, mentions)
    tried = (*of_type, *wide, *joined, *listed, *found, *(findings if of_disease else ()))
    return tuple(dict.fromkeys(tried))[:_MOST_TRIED]


def _numbered_whole(question: str, name: str) -> str:
    """A name with the number of its form behind it, as the question has it: the second form is not the first."""
    behind = _WITH_NUMBER.match(question, question.find(name) + len(name)) if name in question else None
    return name + behind[0] if behind else name


def wider(question: str, mentions: Sequence[Mention]) -> list[str]:
    """Chinese words of which what is named is a part: 脊髓性肌萎缩症 is not 肌萎缩."""
    words = [each for each in runs(question) if has_chinese(each)]
    return [each for each in words if any(one.text in each != one.text for one in mentions)]


def _joined(question: str, mentions: Sequence[Mention], found: Sequence[str]) -> Iterator[str]:
    """What is named with the words that stand directly before or behind it: "myotonic" and "dystrophy"."""
    for each in mentions:
        for words in found:
            for whole in (f"{words} {each.text}", f"{each.text} {words}"):
                if whole in question:
                    yield whole


def _understood(state: State, mentions: Sequence[Mention]) -> list[Mention]:
    known, question, made = state.get(Understood), state.question, list[Mention]()
    for each in sorted(() if known is None else known.resolved, key=lambda one: -len(one.given)):
        said = each.given
        while said and said not in question:
            said = said.rpartition(" ")[0]
        start = question.find(said)
        end = start + len(said)
        if head := _HEAD.match(question, end):  # the Chinese word for a syndrome behind a Latin name
            end = head.end()
        taken = [one for one in (*mentions, *made) if one.kind == "Disease"]
        within = [one for one in taken if one.start < end and start < one.end]
        if (
            each.ids
            and said
            and all(start <= one.start and one.end <= end and one.end - one.start < end - start for one in within)
        ):
            kind = "Disease" if "Disease" in each.kinds else each.kinds[0]
            text = each.given if kind == "Disease" else each.ids[0]  # words that are read are no name
            made.append(Mention(start, end, text, kind, each.ids, each.names))
    return made


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
    """What must be the name of the disease that is asked about, though the graph has no such entry."""
    left = name_in(rest)
    if any(each.kind == "Disease" for each in named) or (not named and chinese_of(left)):
        return ""
    if called := says("called", "\n".join((*runs(rest), rest))):
        return called[0].strip()
    asked = [want for want in wanted if want is not Want.DISEASE]
    if not named:
        return "" if Want.DISEASE in wanted and not asked else left
    single = asked and Want.DISEASE not in wanted and len(texts_of(named)) == 1
    return left if single or asks_whether(rest) or Want.PREVALENCE in wanted else ""


def subjects_of(read: QuestionReading) -> tuple[str, ...]:
    return read.diseases[:MOST_COMPARED]


def others_of(read: QuestionReading, about: Sequence[str]) -> tuple[str, ...]:
    """What may be stated of the diseases that a question is about, where it asks whether, how often or which is."""
    other = {Want.DIFFERENCE, Want.SHARED, Want.DISEASE, *(IN_WORDS - {Want.CAUSE, Want.DESCRIPTION})}
    apart = set(read.findings) - set(read.diseases)
    often = Want.PREVALENCE in read.wanted and bool(
        apart or (read.findings and not says("either", read.rest))
    )  # how often a finding is seen in a disease
    if not about or not (often or not other.intersection(read.wanted)):
        return ()
    if says("working", read.rest) and part_asked(read):
        return ()  # yes or no would be the wrong way round
    if not (often or read.chooses or asks_whether(read.rest)):
        return ()
    left, of = name_in(read.rest), confirmed_of(read, about)
    left = left.replace(" ", "") if has_chinese(left) else left
    others = tuple(text for text in texts_of(read.named) if text not in of)
    if read.chooses or others:
        listed = [each for each in runs(read.options) if each not in others] if read.chooses else []
        listed = listed if others or listed else [left]
        whole = [f"{left} {text}" for text in others if left and f"{left} {text}" in read.question]
        return tuple(whole) or (*others, *listed)  # "purple teeth" is not asked with "teeth"
    beside = left and left != read.unnamed and len(left.split()) <= MOST_WORDS and not (set(read.asked) - _CONFIRMABLE)
    return (left,) if beside else ()


def confirmed_of(read: QuestionReading, about: Sequence[str]) -> tuple[str, ...]:
    """The diseases of a question that asks whether something is stated of them."""
    before = [each.text for each in read.named if each.end <= len(read.question) - len(read.behind)]
    only = [text for text in about if text not in read.findings and text in before]
    if only and (len(only) == 1 or read.findings or read.chooses):
        return tuple(only)
    return (about[-1] if says("disease_last", read.rest) else about[0],)


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
    said = text.casefold().removeprefix("正常")
    words = [said] if has_chinese(said) else [word for word in said.split() if word not in _WRONG]
    return _body().get(words[0], "") if len(words) == 1 else ""


def part_asked(read: QuestionReading) -> str:
    """The part of the body of which a question wants the signs of a disease; empty where it names none."""
    if read.asked not in ((), (Want.SYMPTOM,)):
        return ""
    named = (part_of(text) for text in (name_in(read.rest), *read.findings))
    return next(filter(None, named), "")
