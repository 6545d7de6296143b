"""How a question is read by rules: what it names, what it wants, and of which disease it wants it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import log
from pathlib import Path

from kgdx.answer.answer_phrases import chinese_of
from kgdx.answer.artifacts import ABSENT, Understood, mentions_of
from kgdx.answer.wants import IN_WORDS, OUTSIDE, Want
from kgdx.case.reading_limits import masked_runs
from kgdx.episode.state import State
from kgdx.lazy import lazy_pattern
from kgdx.results.cited import Resolved
from kgdx.terms.names.name_decision import Mention
from kgdx.terms.normalise import has_chinese, read_table, word_key
from kgdx.terms.word_index import words_of

GAP = "〇"
_VAGUE = frozenset({Want.DISEASE, Want.DESCRIPTION, Want.RISK, Want.COURSE})
_NOBODY = frozenset({*OUTSIDE, Want.URGENCY, Want.SAFETY, Want.DOSE})
OF_TERMS = frozenset({Want.DESCRIPTION, Want.NAMES})
_OF_GENES = frozenset({Want.GENE, Want.COMORBIDITY, Want.CAUSE, Want.TOGETHER})
_WHOLE = _NOBODY | {Want.SHARED, Want.RECURRENCE}  # asked of all that a text says
_ASKED_BESIDE = frozenset({Want.SYMPTOM, Want.TEST, Want.DRUG, Want.CURE, Want.GENE, Want.COURSE})


@cache
def instead() -> Mapping[Want, tuple[Want, ...]]:
    """What a question wants → what its words would want otherwise, in the order in which it is taken out."""
    table = read_table(Path(__file__).with_name("question_instead.tsv"))
    return {Want(want): tuple(map(Want, others.split())) for want, others in table}


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
    """Find the words of a name, of those in ``question_words.tsv``."""
    return _pattern(name).search(text)


def masked(question: str, spans: Sequence[Mention]) -> str:
    """Return the question with a gap for each entity that it names."""
    parts, at = list[str](), 0
    for span in sorted(spans, key=lambda span: span.start):
        if span.start >= at:
            parts += (question[at : span.start], GAP)
            at = span.end
    return masked_runs("".join((*parts, question[at:])))


def wants(rest: str) -> tuple[Want, ...]:
    """Return what a question wants, in the order in which it says so; of several in one, what each of them wants."""
    whole = _wants(rest)
    told = [found for part in _pattern("parts").split(rest) if (found := _wants(part))]
    apart = [want for found in told for want in found if want in whole or want is not Want.DISEASE]
    return whole if len(told) < 2 or _WHOLE & {*whole, *apart} else tuple(dict.fromkeys(apart))


def _wants(rest: str) -> tuple[Want, ...]:
    found = {want: match.start() for want in Want if (match := says(want, rest))}
    if Want.DISEASE in found and (names_diseases(rest) or rest.count(GAP) > 1):
        found.pop(Want.CAUSE, None)  # the causes that are asked for are diseases
    if Want.GENE in found and not names_diseases(rest):
        found.pop(Want.DISEASE, None)
    if Want.SHARED in found and Want.GENE in found:
        return Want.SHARED, Want.GENE
    for want in (want for want in instead() if want in found):  # what another one took out takes nothing out
        for other in instead()[want]:
            if other not in _ASKED_BESIDE or not says("beside", rest):
                found.pop(other, None)
    if len(found) > 1:
        found.pop(Want.DIFFERENCE, None)  # what else is asked for is told of each
    if Want.CONTRAINDICATION in found and Want.CURE not in found:
        found.pop(Want.DRUG, None)
    both = Want.DISEASE in found and says("of_both", rest) is not None
    if both or not found.keys() <= {Want.TOGETHER, Want.DISEASE, Want.COMORBIDITY}:
        found.pop(Want.TOGETHER, None)  # "Which genes are associated with 〇?" says what else is meant
    if (Want.DISEASE in found or not found) and not says("from", rest) and (onward := says("onward", rest)):
        found.pop(Want.DISEASE, None)
        found.setdefault(Want.COMORBIDITY, onward.start())
    return tuple(sorted(found, key=lambda want: (found[want], want)))


def refused(question: str) -> tuple[Want, ...]:
    """Return what is refused, whatever is named: "take ibuprofen" may be a name of the graph."""
    found = wants(question)
    return () if Want.URGENCY in found else tuple({Want.SAFETY, Want.DOSE}.intersection(found))


@cache
def _odds() -> Mapping[str, Mapping[str, float]]:
    """Want → word → the logarithm of how much likelier its wordings have it than others (naive Bayes)."""
    table = read_table(Path(__file__).with_name("question_kinds.tsv"))
    rows = [(want if want in _NOBODY else "", _stems(said)) for want, said in table]
    every = Counter(word for _, words in rows for word in words)
    there = Counter((want, word) for want, words in rows for word in words)
    odds: dict[str, dict[str, float]] = {}
    for want, of in Counter(want for want, _ in rows).items():
        mine = {word: (there[want, word] + 0.2) / (of + 0.4) for word in every}
        others = {word: (every[word] - there[want, word] + 0.2) / (len(rows) - of + 0.4) for word in every}
        odds[want] = {word: log(mine[word] / others[word]) for word in every}
    return odds


def _stems(text: str) -> set[str]:
    return {" ".join(word_key(word)) for word in words_of(text) if len(word) > 1}


def likeness(question: str) -> tuple[str, float]:
    """Return what of that which nobody tells from a graph a question is most like, and the log odds of it.

    Example:
        >>> likeness("Which clinic near York is best?")[0], likeness("What raises the risk?")[0]
        ('place', '')
    """
    said = _stems(question)
    odds = {want: sum(words[word] for word in said & words.keys()) for want, words in _odds().items()}
    best = max(odds, key=odds.__getitem__)
    return best, odds[best]


def _unpatterned(question: str, rest: str, names: int) -> tuple[Want, ...]:
    """What a question wants by the wordings that it is like: what no graph tells, or what no pattern says."""
    (kind, odds), asked = likeness(question), set(wants(rest))
    if (names or asked) and kind in OUTSIDE:
        strongest = max((_odds()[kind].get(word, 0.0) for word in _stems(question)), default=0.0)
        kind = kind if odds - strongest >= _BESIDE else ""
    unread = not names or not asked - _VAGUE
    if kind and odds > (_LIKELY if unread and kind in OUTSIDE else _SURE) * (1 if names or asked - _VAGUE else 0.5):
        return (Want(kind),)
    return (Want.DISEASE,) if names > 2 and not asked else ()


def asks_whether(rest: str) -> bool:
    return says("whether", rest) is not None and says("either", rest) is None


def asks_part(rest: str) -> bool:
    """Tell whether a question, or a part of it that names something, can be answered with yes or no."""
    return asks_whether(rest) or any(GAP in part and asks_whether(part) for part in _pattern("parts").split(rest))


def names_diseases(rest: str) -> bool:
    """Tell whether a question asks for diseases in so many words, and not for a cause of any kind."""
    return says("diseases_named", rest) is not None


def negated(question: str, span: Mention) -> bool:
    return says("negated", question[max(0, span.start - 20) : span.start]) is not None


def runs(rest: str) -> list[str]:
    """Return the words of a question that are not accounted for, those together that stand together."""
    for name in (*Want, "filler"):
        rest = _pattern(name).sub("|", rest)
    parts = _APART.split(rest.replace(GAP, "|"))
    kept = (
        [word for word in part.split() if word.strip("'-")[1:] or word.isdigit() or not word.isascii()]
        for part in parts
    )
    return [" ".join(words) for words in kept if words]


def remainder(rest: str) -> str:
    return " ".join(runs(rest))


MOST_COMPARED = 4
_BESIDE = 3.0
"""Log odds that all words but the strongest have to have, where a question names something: "list" books no bed."""
_LIKELY, _SURE = 5.0, 12.0
"""Log odds above which a question that is not read otherwise is of a kind, and above which any is."""
MOST_WORDS = 4
_MOST_TRIED = 12
_CONFIRMABLE = {Want.SYMPTOM, Want.DRUG, Want.CURE, Want.TEST, Want.COMORBIDITY, Want.CAUSE, Want.GENE, Want.TOGETHER}
_CODE = lazy_pattern(r"\w+:\w+")
_OF_DISEASES = {*IN_WORDS, Want.CONTRAINDICATION, Want.RECURRENCE, Want.COMORBIDITY} - {
    Want.CAUSE,
    Want.DESCRIPTION,
    Want.RISK,
    Want.INHERITANCE,
}
FINDINGS = ("Symptom", "Phenotype")
LONGEST_NAME = 80
_APART = lazy_pattern(r"[^\w\s'’-]+|\s-+\s|(?<=[A-Za-z]{4})(?=[\u4e00-\u9fff])|(?<=[\u4e00-\u9fff])(?=[A-Za-z]{4})")
"""What ends a run of words; a Latin name within Chinese words stands for itself."""
_LISTED = lazy_pattern(r"(?:[、，,;；/和与及或\s]|\b(?:and|or|with|plus)\b)++")
_NUMBER = re.compile(r"(?:\d+[A-Za-z]?|[IVX]+|[A-Z])(?=型?$)")
_LATIN = re.compile(r"\b([A-Za-z][A-Za-z' -]+?)\s?综合[征症]")
_OF_PART_ZH = lazy_pattern(r"^正常|(?<=.)(?:疾病|病变|病|问题|异常|受累|方面)$")
_PREFIX = lazy_pattern(r"(?:遗传|先天|家族|特发|原发|获得)性$")
"""How a Chinese name of a disease may begin, before what is named: 遗传性耳聋."""
_GUESSED = frozenset({"short", "edit", "encoder"})
_HEAD = re.compile(r"\s?综合[征症]")
_TYPED = re.compile(r"type\s+(\d+|[IVX]+)\b|(\d+|[IVX]+)型", re.IGNORECASE)
_WITH_NUMBER = lazy_pattern(
    r"\s+(?:(?:syndrome|disease|disorder)\s+)?(?:type\s+)?(?:\d+[A-Za-z]?|[IVX]+|(?-i:(?<=type\s)[A-H]\d?))\b(?!\s*[%/])"
)


@dataclass(frozen=True, slots=True)
class QuestionReading:
    """How a question is read."""

    question: str
    named: tuple[Mention, ...]
    rest: str
    wanted: tuple[Want, ...]
    unnamed: str
    denied: tuple[Mention, ...] = ()
    conditions: tuple[str, ...] = ()
    """Ids of modes of inheritance and ages of onset that the diseases asked for have to have."""

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
        alone = [text for text in self.findings if text not in self.diseases]
        among = len(alone) + len(runs(self.options)) > 1
        among |= len(self.diseases) > 1 and bool(alone or name_in(self.rest))
        return bool(self.diseases) and among and says("choice", self.rest) is not None

    @property
    def options(self) -> str:
        return self.rest.replace("：", ":").partition(":")[2]

    @property
    def absent(self) -> bool:
        return self.chooses and says("except", self.rest) is not None

    @property
    def unheeded(self) -> tuple[str, ...]:
        """Words that narrow what is asked by what the graph tells nothing of."""
        said = (found[0] for found in _pattern("unheeded").finditer(self.rest))
        return tuple(each for each in said if Want.CAUSE not in self.wanted or not says("reason", each))

    @property
    def unread(self) -> str:
        """What keeps a question from being answered where it wants nothing that is known."""
        return name_in(self.rest) or (" ".join(self.unheeded) if asks_whether(self.rest) else "")

    @property
    def asked(self) -> tuple[Want, ...]:
        return tuple(want for want in self.wanted if want is not Want.DISEASE)

    @property
    def of_term(self) -> bool:
        """Whether it asks what findings are, are called, or are to one another, or what is said of diseases alone."""
        findings, asked = set(self.findings), set(self.asked)
        if not findings or set(texts_of(self.named)) != findings or findings <= set(self.diseases):
            return False
        if Want.DISEASE in self.wanted or names_diseases(self.rest):
            return Want.COMORBIDITY in asked and len(findings) == 1
        code = not asked and _CODE.fullmatch(self.findings[0]) is not None and not name_in(self.rest)
        pair = len(findings) > 1 and bool({Want.DIFFERENCE, Want.SHARED} & asked)
        return code or pair or bool((OF_TERMS if len(findings) > 1 else OF_TERMS | _OF_DISEASES) & asked)

    @property
    def inferring(self) -> bool:
        """Whether diseases are wanted that match what is named."""
        if not self.named or self.of_term:
            return False
        if Want.CAUSE in self.wanted and len(self.diseases) == 1 and self.diseases == texts_of(self.named):
            return names_diseases(self.rest)
        disease = len(texts_of(self.named)) == 1 and self.diseases and not self.findings
        if Want.DESCRIPTION in self.wanted and disease:
            return False
        asked = [want for want in self.asked if want is not Want.DESCRIPTION]
        several = len(self.findings) > 1 and set(self.findings) == set(texts_of(self.named))
        return Want.DISEASE in self.wanted or not self.diseases or (not asked and several)


def read_question(state: State) -> QuestionReading:
    """Return how a question is read whose entities were recognised."""
    question = state.question
    mentions = _recognised(state)
    typed = list(_typed(question, mentions))
    mentions = _apart(mentions, typed)
    found, absent = _understood(state, mentions), {each.ids[0] for each in _resolved(state) if each.reason == ABSENT}
    mentions = [*_apart(mentions, found), *found]
    unknown = [each for each in typed if each.start not in {one.start for one in found}][:1]
    if unknown and any(each.kind == "Disease" and each.start < unknown[0].start for each in mentions):
        unknown = []  # what is asked of is named before it
    rest = masked(question, [*mentions, *unknown])
    mentions = [] if unknown else mentions  # nothing can be said of it
    alike = _unpatterned(question, rest, len(texts_of(mentions)))
    told = alike if alike == (Want.URGENCY,) else refused(question) or alike or wants(rest)
    wanted = (Want.URGENCY, Want.DISEASE) if says("emergency", question) else told
    conditions = _conditions(rest, mentions)
    genes = {each.kind for each in mentions} == {"Gene"} and not _NOBODY & set(wanted)
    if conditions or (genes and set(wants(rest)) <= _OF_GENES):
        wanted = (Want.DISEASE,)
        for name in conditions:
            rest = _pattern(name).sub(" ", rest)
    findings = {each.text for each in mentions if each.kind in FINDINGS}
    other = any(each.kind == "Disease" and each.text not in findings for each in mentions)
    if Want.DIFFERENCE in wanted and findings and not other and names_diseases(rest):
        wanted = (Want.DISEASE,)  # a differential of findings compares nothing
    if Want.CODE in wanted and says("phenotype_code", rest):
        mentions = [each for each in mentions if each.kind == "Phenotype"] or mentions
    if findings and other and says("reason", rest) and not names_diseases(rest):
        wanted = ()  # whether it is recorded can be told, why not
    sure = other and asks_whether(rest)  # "… does not cause deafness, right?" asks of deafness
    named = tuple(each for each in mentions if sure or not (negated(question, each) or each.text in absent))
    denied = tuple(each for each in mentions if each not in named and each.kind in FINDINGS)
    named += tuple(_numbered(question, named))
    unnamed = unknown[0].text if unknown else _unnamed(named, rest, wanted)
    return QuestionReading(question, named, rest, wanted, unnamed, denied, conditions)


def _conditions(rest: str, named: Sequence[Mention]) -> tuple[str, ...]:
    if not names_diseases(rest) or asks_whether(rest) or not any(each.kind in FINDINGS for each in named):
        return ()
    return tuple(name for name in _words() if name.startswith("HP:") and says(name, rest))


def _typed(question: str, mentions: Sequence[Mention]) -> Iterator[Mention]:
    """What is named with a type behind it that the name does not have: no entry may be of that type."""
    for each in mentions:
        kinds = ("Disease",) if has_chinese(each.text) else ("Disease", *FINDINGS)
        if each.kind in kinds and (behind := _pattern("type_behind").match(question, each.end)):
            yield replace(each, end=behind.end(), text=question[each.start : behind.end()])


def _apart(mentions: Sequence[Mention], found: Sequence[Mention]) -> list[Mention]:
    def inside(each: Mention, one: Mention) -> bool:
        return one.start <= each.start and each.end <= one.end and one.end - one.start > each.end - each.start

    return [each for each in mentions if not any(inside(each, one) for one in found)]


def _recognised(state: State) -> list[Mention]:
    question = state.question
    mentions = _telling(question, list(mentions_of(state)))
    others = [each for each in mentions if not says("pregnant", each.text)]
    return others if len(others) < len(mentions) and Want.SAFETY in wants(masked(question, others)) else mentions


def by_findings(state: State) -> bool:
    """Tell whether a question describes somebody, so that its findings are read as a patient's are."""
    mentions = _recognised(state)
    findings, rest = texts_of(each for each in mentions if each.kind in FINDINGS), masked(state.question, mentions)
    other = any(each.kind == "Disease" and each.text not in findings for each in mentions)
    asked = wants(rest) or _unpatterned(state.question, rest, len(texts_of(mentions)))
    if asks_part(rest) and not findings:
        return True  # "does it go with low calcium?"
    several = len(texts_of(mentions)) > 2 and bool(findings)
    return (not other or several) and set(asked) in ({Want.DISEASE}, {Want.DISEASE, Want.CAUSE}, set())


def names_to_try(state: State) -> tuple[str, ...]:
    """The words that may be names of diseases though no entry is called so in full: eponyms, and the members of a list.

    Of "Duchenne, Becker and Emery-Dreifuss muscular dystrophy" the first two are tried with what the last one ends in;
    a finding is tried where what is asked is said of diseases alone.
    """
    mentions = _recognised(state)
    typed = list(_typed(state.question, mentions))
    mentions = _apart(mentions, typed)
    rest = masked(state.question, [*mentions, *typed])
    found = [
        each for each in runs(_LATIN.sub(r"\1 syndrome", rest)) if 1 < len(each) <= LONGEST_NAME and not each.isdigit()
    ]
    found = [_numbered_whole(state.question, each) for each in found]
    joined = [each for each in _joined(state.question, mentions, found) if each not in found]
    diseases = {each.text for each in mentions if each.kind == "Disease"}
    asked = set(wants(rest))
    kinds = FINDINGS if Want.DISEASE in asked else (*FINDINGS, "Gene")  # "which diseases … TRPS1" means the gene
    findings = [each.text for each in mentions if each.kind in kinds and each.text not in diseases | {each.ids[0]}]
    wide = wider(state.question, mentions)
    unnamed = bool(found or diseases)  # two findings alone are compared as what they are
    of_disease = bool(asked & {Want.DIFFERENCE, Want.SHARED} and unnamed) or (
        not diseases and bool(asked - {Want.DISEASE, Want.SYMPTOM, Want.COMORBIDITY, Want.TOGETHER, *OF_TERMS})
    )
    if not diseases and asks_whether(rest) and (len(findings) > 1 or says("disease_last", rest)):
        findings = findings[-1:] if says("disease_last", rest) else findings[:1]  # "is scoliosis seen in …?"
        of_disease = True
    of_type = [each.text for each in typed]
    tried = (*of_type, *wide, *joined, *found, *(findings if of_disease else ()))
    return tuple(dict.fromkeys(tried))[:_MOST_TRIED]


def _numbered_whole(question: str, name: str) -> str:
    """A name with the number of its form behind it, as the question has it: the second form is not the first."""
    behind = _WITH_NUMBER.match(question, question.find(name) + len(name)) if name in question else None
    return name + behind[0] if behind else name


def wider(question: str, mentions: Sequence[Mention]) -> list[str]:
    """Chinese words of which what is named is a part: 脊髓性肌萎缩症 is not 肌萎缩, nor 遗传性耳聋 any 耳聋."""
    begun = ((each, _PREFIX.search(question, 0, each.start)) for each in mentions)
    whole = [prefix[0] + each.text for each, prefix in begun if prefix]
    words = whole + [each for each in runs(question) if has_chinese(each)]
    return [each for each in words if any(one.text in each != one.text for one in mentions)]


def _joined(question: str, mentions: Sequence[Mention], found: Sequence[str]) -> Iterator[str]:
    """What is named with the words that stand directly before or behind it: "myotonic" and "dystrophy"."""
    pairs = ((f"{words} {each.text}", f"{each.text} {words}") for each in mentions for words in found)
    return (whole for pair in pairs for whole in pair if whole in question)


def _understood(state: State, mentions: Sequence[Mention]) -> list[Mention]:
    question, made = state.question, list[Mention]()
    findings = {one.text for one in mentions if one.kind in FINDINGS}
    for each in sorted(_resolved(state), key=lambda one: -len(one.given)):
        said = each.given
        while said and said not in question:
            said = said.rpartition(" ")[0]
        start = question.find(said)
        end = start + len(said)
        if head := _HEAD.match(question, end):  # the Chinese word for a syndrome behind a Latin name
            end = head.end()
        longer = each.matched.casefold().removeprefix(said.casefold()).strip()
        if each.method in _GUESSED and said in findings and (" " in longer or len(longer) > len("syndrome")):
            continue  # a finding is no rare disease whose name begins with it
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


def _resolved(state: State) -> tuple[Resolved, ...]:
    known = state.get(Understood)
    return () if known is None else known.resolved


def _numbered(question: str, named: Sequence[Mention]) -> Iterator[Mention]:
    for each in named:
        number, further = _NUMBER.search(each.text), _pattern("further").match(question, each.end)
        if each.kind == "Disease" and number and further:
            text = each.text[: number.start()] + further[1]
            yield replace(each, start=further.start(1), end=further.end(1), text=text)
        typed, earlier = _TYPED.match(each.text), _pattern("earlier").search(question[: each.start])
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
    often = Want.PREVALENCE in read.wanted and bool(apart or (read.findings and not says("either", read.rest)))
    if not about or not (often or not other.intersection(read.wanted)):
        return ()
    if says("working", read.rest) and part_asked(read):
        return ()  # yes or no would be the wrong way round
    beside_list = bool(apart) and Want.SYMPTOM not in read.asked and asks_part(read.rest)
    if not (often or read.chooses or beside_list or asks_whether(read.rest) or says("reason", read.rest)):
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
    colon = f"{read.question}:".replace("：", ":").index(":")
    before = [each.text for each in read.named if each.end <= colon]
    only = [text for text in about if text not in read.findings and text in before]
    if only and (len(only) == 1 or read.findings or read.chooses):
        return tuple(only)
    return (about[-1] if says("disease_last", read.rest) else about[0],)


def name_in(rest: str) -> str:
    """What may be a misspelt name in a question that names nothing the graph knows; empty where nothing may."""
    left = _LATIN.sub(r"\1 syndrome", remainder(rest))
    return left if len(left) <= LONGEST_NAME and any(each.isalpha() for each in left) else ""


def _telling(question: str, mentions: Sequence[Mention]) -> list[Mention]:
    """The mentions that are no mere words of questions, and those of the same kind that are listed beside one."""
    telling = [each for each in mentions if remainder(each.text) or (each.start and each.text[0].isupper())]
    pairs = ((each, sorted((each, one), key=lambda two: two.start)) for each in mentions for one in telling)
    same = ((each, before, behind) for each, (before, behind) in pairs if before.kind == behind.kind)
    listed = [each for each, before, behind in same if _LISTED.fullmatch(question[before.end : behind.start])]
    return [each for each in mentions if each in telling or each in listed] or list(mentions)


def texts_of(mentions: Iterable[Mention]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(mention.text for mention in mentions))


@cache
def _body() -> Mapping[str, str]:
    rows = read_table(Path(__file__).with_name("body_parts.tsv"))
    return {word: id for english, chinese, id in rows for word in (*english.split(), *chinese.split())}


def part_of(text: str) -> str:
    """The phenotype that stands for what is wrong with a part of the body; empty where none is named."""
    said = _OF_PART_ZH.sub("", text.casefold())
    words = [said] if has_chinese(said) else [word for word in said.split() if not says("of_part", word)]
    return _body().get(words[0], "") if len(words) == 1 else ""


def part_asked(read: QuestionReading) -> str:
    """The part of the body of which a question wants the signs of a disease; empty where it names none."""
    if says("besides", read.rest) or read.asked not in ((), (Want.SYMPTOM,)):
        return ""
    named = (part_of(text) for text in (name_in(read.rest), *read.findings))
    return next(filter(None, named), "")
