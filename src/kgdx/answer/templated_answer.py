"""An answer without a language model: sentences made from the evidence by template, in English or Chinese."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from kgdx.answer.evidence_pack import EvidencePack, clean
from kgdx.answer.facts import INFERENCES, RELATIONS
from kgdx.answer.sentences import split
from kgdx.results.cited import Citation, CitedText, EvidenceItem, Sentence
from kgdx.schema import wording
from kgdx.schema.model import FREQUENCIES

MOST = 12
"""Most names in one sentence, and most sentences of one kind."""

MOST_PUBLICATIONS = 5
"""Most publications of one disease."""

_DESCRIPTION_CHARS = 160
_ASPECTS = {"I": "INHERITANCE", "C": "COURSE"}
"""Aspect of an annotation → what it is called here, where it is no phenotypic abnormality."""

_SAME_QUESTION = {
    "HAS_PHENOTYPE": "HAS_SYMPTOM",
    "INDICATION": "RECOMMEND_DRUG",
    "OFF_LABEL_USE": "RECOMMEND_DRUG",
    "CONTRAINDICATION": "RECOMMEND_DRUG",
}
"""Relation → the one that answers the same question in other sources."""

_Said = tuple[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class _Named:
    """A name in a list, and the evidence behind it."""

    name: str
    ids: tuple[str, ...]


def templated(pack: EvidencePack, language: str = "en", strict: bool = True) -> CitedText:
    """Write an answer from the evidence alone, each sentence with its marks.

    Args:
        pack: The evidence.
        language: ``en`` or ``zh``; names stay in the words of their source.
        strict: Recorded in the answer; it rests on nothing but the evidence either way.

    Example:
        >>> from kgdx.answer.evidence_pack import Nothing
        >>> print(templated(EvidencePack()))
        Not enough evidence: nothing was asked of the graph for this question.
        >>> print(templated(EvidencePack(nothing=(Nothing("get_symptom"),)), "zh"))
        证据不足：图谱没有返回与该问题有关的内容。
    """
    words = CHINESE if language == "zh" else ENGLISH
    said = _said(pack, words) if pack.answers else _nothing(pack, words)
    sentences = (Sentence(text, cites, gap=words.gap) for text, cites in said)
    return CitedText(tuple(sentences), insufficient=not pack.answers, strict=strict, language=words.language)


def _nothing(pack: EvidencePack, words: Phrases) -> Iterator[_Said]:
    unknown = [each for each in pack.resolved if not each.ids]
    if not unknown:
        yield words.nothing if pack.nothing else words.unasked, ()
        yield from _missing(pack, words)
    for each in unknown[:MOST]:
        text, near = words.unknown
        listed = words.list([clean(name) for name in each.candidates], 5)
        end = near.format(list=listed) if listed else near[-1]
        yield text.format(given=clean(each.given)) + end, ()


def _said(pack: EvidencePack, words: Phrases) -> Iterator[_Said]:
    yield from _relations(pack.items, words)
    yield from _inferences(pack.items, words)
    yield from _of_case(pack.items, words)
    for item in _of_kind(pack.items, "row"):
        yield words.row.format(text=_open(item.text), mark=f"[{item.id}]"), (item.id,)
    described = _of_kind(pack.items, "description")
    for item in described:
        for text in _beginning(item.text, _DESCRIPTION_CHARS if len(described) <= 2 else 1):
            yield words.description.format(text=_open(text), mark=f"[{item.id}]"), (item.id,)
    for item in _of_kind(pack.items, "mesh"):
        places = ", ".join(item.details["tree_numbers"])
        heading = item.objects[0]
        filled = {"heading": clean(heading.name), "id": heading.id, "places": places, "mark": f"[{item.id}]"}
        yield words.heading.format(subject=_subject(item), **filled), (item.id,)
    yield from _publications(pack, words)
    yield from _missing(pack, words)


def _publications(pack: EvidencePack, words: Phrases) -> Iterator[_Said]:
    """One sentence for all publications on a disease."""
    citations = {each.id: each for each in pack.citations}
    groups: dict[str, list[_Named]] = {}
    for item in pack.items:
        if item.kind == "publication":
            text = _publication(citations[item.references[0]], words)
            groups.setdefault(_subject(item), []).append(_Named(text, (item.id,)))
    for subject, named in groups.items():
        shown = _list(named, words, MOST_PUBLICATIONS)
        yield words.publication[len(named) > 1].format(subject=subject, list=shown), _ids(named[:MOST_PUBLICATIONS])


def _missing(pack: EvidencePack, words: Phrases) -> Iterator[_Said]:
    """What was looked for in vain, unless it was found by another name."""
    found = {_SAME_QUESTION.get(item.relation, item.relation) for item in pack.items if item.kind == "relation"}
    lacking: dict[tuple[str, ...], dict[str, None]] = {}
    for missing in pack.nothing:
        relation = (RELATIONS.get(missing.template) or INFERENCES.get(missing.template) or ("",))[0]
        things = words.noun(relation, several=True)
        if things and missing.names and _SAME_QUESTION.get(relation, relation) not in found:
            lacking.setdefault(missing.names, {})[things] = None
    for names, lacked in lacking.items():
        listed = words.list([clean(name) for name in names], MOST)
        yield words.missing.format(things=words.alternatives(list(lacked)), names=listed), ()


def _relations(items: Iterable[EvidenceItem], words: Phrases) -> Iterator[_Said]:
    """One sentence for each disease and relation; entries of one name are one disease here."""
    groups: dict[tuple[str, str], list[EvidenceItem]] = {}
    for item in items:
        if item.kind == "relation" and item.action != "explain":
            relation = _ASPECTS.get(item.details.get("aspect", ""), item.relation)
            groups.setdefault((_subject(item).casefold(), relation), []).append(item)
    for (_, relation), group in groups.items():
        named = _objects(group)
        several = len(named) > 1
        what = words.statement(relation, several=several)
        text = words.relation[several].format(what=what, subject=_subject(group[0]), list=_list(named, words))
        yield text, _ids(named)


def _inferences(items: Iterable[EvidenceItem], words: Phrases) -> Iterator[_Said]:
    """One sentence for all diseases that match the same of what was given, those that match most first."""
    groups: dict[tuple[int, int, str, tuple[str, ...]], list[EvidenceItem]] = {}
    for item in items:
        if item.kind == "inference":
            said = item.details.get("given") or (each.name or each.id for each in item.objects)
            objects = tuple(dict.fromkeys(map(clean, said)))
            key = (item.details["matched"], item.details["asked"], item.relation, objects)
            groups.setdefault(key, []).append(item)
    for (matched, asked, relation, objects), group in sorted(groups.items(), key=lambda pair: -pair[0][0])[:MOST]:
        named = _merged((_subject(item), item.id) for item in group)
        text = words.inference[(len(named) > 1) + 2 * (matched < asked)].format(
            objects=words.list(objects, MOST),
            matched=matched,
            asked=asked,
            things=words.noun(relation, several=asked > 1),
            list=_list(named, words),
        )
        yield text, _ids(named)


def _of_case(items: Iterable[EvidenceItem], words: Phrases) -> Iterator[_Said]:
    """The ranking of the case, and what speaks for and against its best candidates."""
    every = list(items)
    ranked = [
        _Named(f"{_subject(each)} ({each.subject.id})", (each.id,))
        for each in every
        if each.subject is not None and each.kind == "candidate"
    ]
    if ranked:
        yield words.candidates.format(list=_list(ranked, words)), _ids(ranked)
    groups: dict[tuple[str, str], list[EvidenceItem]] = {}
    for item in every:
        if item.action == "explain":
            groups.setdefault((_subject(item), item.details["evidence"]), []).append(item)
    for (subject, kind), group in list(groups.items())[:MOST]:
        named = _objects(group)
        yield words.paths[kind].format(subject=subject, list=_list(named, words)), _ids(named)


def _of_kind(items: Iterable[EvidenceItem], kind: str) -> list[EvidenceItem]:
    return [item for item in items if item.kind == kind][:MOST]


def _objects(group: Iterable[EvidenceItem]) -> list[_Named]:
    """What is at the other end, entries of one name together, the most frequent first."""
    every = sorted(group, key=lambda item: -_weight(item))
    often: dict[str, str] = {}
    for item in every:
        often[_object(item).casefold()] = often.get(_object(item).casefold()) or _often(item)
    named = _merged((_object(item), item.id) for item in every)
    return [_Named(each.name + often[each.name.casefold()], each.ids) for each in named]


def _object(item: EvidenceItem) -> str:
    return ", ".join(clean(each.name or each.id) for each in item.objects)


def _merged(named: Iterable[tuple[str, str]]) -> list[_Named]:
    """Names with their evidence; those that differ in case alone are one."""
    found: dict[str, _Named] = {}
    for name, id in named:
        before = found.get(name.casefold(), _Named(name, ()))
        found[name.casefold()] = _Named(before.name, (*before.ids, id))
    return list(found.values())


def _list(named: Iterable[_Named], words: Phrases, most: int = MOST) -> str:
    space = "" if words.language == "zh" else " "
    return words.list([each.name + space + "".join(f"[{id}]" for id in each.ids) for each in named], most)


def _ids(named: Iterable[_Named]) -> tuple[str, ...]:
    """The evidence of the names that are shown."""
    return tuple(dict.fromkeys(id for each in list(named)[:MOST] for id in each.ids))


def _subject(item: EvidenceItem) -> str:
    return "" if item.subject is None else clean(item.subject.name or item.subject.id)


def _weight(item: EvidenceItem) -> float:
    """How often an object goes with its disease, as far as the source says; its score otherwise."""
    details = item.details
    if details.get("denominator"):
        return float(details.get("numerator", 0)) / float(details["denominator"])
    if details.get("percentage") is not None:
        return float(details["percentage"]) / 100
    known = FREQUENCIES.get(str(details.get("frequency_class", "")))
    return known.share if known is not None else float(details.get("score") or 0.0)


def _often(item: EvidenceItem) -> str:
    """How often, in brackets, as far as the source says."""
    details = item.details
    often = ""
    if item.action == "explain":
        often = str(details.get("frequency", "")).replace(" (", ", ").removesuffix(")")  # no brackets in brackets
    elif details.get("denominator"):
        often = f"{details.get('numerator', 0)}/{details['denominator']}"
    elif details.get("percentage") is not None:
        often = f"{details['percentage']:g}%"
    elif details.get("frequency_class") in FREQUENCIES:
        often = FREQUENCIES[details["frequency_class"]].range
    elif details.get("cases"):
        often = str(details["cases"])
    return f" ({often})" if often else ""


def _beginning(text: str, most: int) -> Iterator[str]:
    """The first sentences of a description, up to so many characters; all of it stands in the evidence."""
    shown = 0
    for piece in split(text):
        if shown and shown + len(piece.text) > most:
            return
        shown += len(piece.text)
        yield piece.text if len(piece.text) <= 2 * _DESCRIPTION_CHARS else piece.text[: 2 * _DESCRIPTION_CHARS] + "…"


def _publication(citation: Citation, words: Phrases) -> str:
    """A publication within a sentence: its title, and in brackets where it stands."""
    authors = clean(citation.authors[0]) + words.others * (len(citation.authors) > 1) if citation.authors else ""
    place = " ".join(clean(part) for part in (citation.journal, citation.year) if part)
    told = ", ".join(part for part in (authors, place, citation.id) if part)
    title = clean(citation.title.rstrip("."), 2 * _DESCRIPTION_CHARS)
    return words.titled.format(title=title, told=told) if title else told


def _open(text: str) -> str:
    """A text without the full stop at its end, so that the mark can stand before it."""
    return text.rstrip(" .。")


# The words of templated answers, in English and Chinese.


@dataclass(frozen=True, slots=True)
class Phrases:
    """Patterns of sentences; what stands in braces is filled in.

    Attributes:
        language: ``en`` or ``zh``.
        gap: What stands between sentences.
        comma: What stands between the names of a list, and before the last of them.
        either: What stands before the last of several alternatives.
        more: Follows a list that goes on.
        statements: What is no relation of the ontology → what its objects are to the disease, for one and for several:
            ``INHERITANCE`` and ``COURSE`` for what the Human Phenotype Ontology says beside phenotypic abnormalities,
            ``SAME_CASES`` for phenotypes that are observed together.
        relation: Objects of a disease: one, and several.
        inference: Diseases that match all that was given, one disease and several; and the same for a part of it.
        candidates: The ranking of the case.
        paths: Kind of an evidence path → what of the case speaks how.
        description: What the graph says of a disease.
        heading: The MeSH heading of a disease.
        publication: One publication on a disease, and several.
        titled: A publication whose title is known; and what stands for all authors but the first.
        row: A row of a template that has no words of its own.
        missing: What was asked for and not found.
        nothing: There is no evidence at all; and why, where no look-up was answered.
        unknown: A name that the graph does not know; and what follows where others are near.
    """

    language: str
    gap: str
    comma: tuple[str, str]
    either: str
    more: str
    statements: Mapping[str, tuple[str, str]]
    relation: tuple[str, str]
    inference: tuple[str, str, str, str]
    candidates: str
    paths: Mapping[str, str]
    description: str
    heading: str
    publication: tuple[str, str]
    titled: str
    others: str
    row: str
    missing: str
    nothing: str
    unasked: str
    unknown: tuple[str, str]

    def list(self, names: Sequence[str], most: int) -> str:
        """Return names as a list within a sentence; of more than ``most``, how many are left is said.

        Example:
            >>> ENGLISH.list(["fever", "cough", "chills"], 3), ENGLISH.list(["fever", "cough", "chills"], 1)
            ('fever, cough and chills', 'fever and 2 more')
            >>> CHINESE.list(["发热", "咳嗽", "寒战"], 2)
            '发热、咳嗽等3项'
        """
        shown = names[:most]
        if len(names) > most:
            return self.comma[0].join(shown) + self.more.format(left=len(names) - most, all=len(names))
        return self.comma[0].join(shown[:-1]) + (self.comma[1] if len(shown) > 1 else "") + "".join(shown[-1:])

    def statement(self, relation: str, *, several: bool) -> str:
        """Return what the objects of a relation are to the disease.

        Example:
            >>> ENGLISH.statement("HAS_SYMPTOM", several=True), CHINESE.statement("INHERITANCE", several=False)
            ('symptoms recorded for', '遗传方式')
        """
        forms = self.statements.get(relation) or wording(relation, self.language).statement
        return forms[several] or relation

    def noun(self, relation: str, *, several: bool) -> str:
        """Return what is asked for by a relation; nothing where there is no word for it.

        Example:
            >>> ENGLISH.noun("RECOMMEND_TEST", several=True)
            'tests'
        """
        return wording(relation, self.language).noun[several]

    def alternatives(self, things: Sequence[str]) -> str:
        """Return things of which there is none.

        Example:
            >>> ENGLISH.alternatives(["tests", "drugs", "genes"])
            'tests, drugs or genes'
        """
        return self.comma[0].join(things[:-1]) + (self.either if len(things) > 1 else "") + "".join(things[-1:])


ENGLISH = Phrases(
    language="en",
    gap=" ",
    comma=(", ", " and "),
    either=" or ",
    more=" and {left} more",
    statements=MappingProxyType(
        {
            "INHERITANCE": ("mode of inheritance recorded for", "modes of inheritance recorded for"),
            "COURSE": ("statement on the course of", "statements on the course of"),
            "SAME_CASES": ("feature observed in the same cases as", "features observed in the same cases as"),
        }
    ),
    relation=("The {what} {subject} is {list}.", "The {what} {subject} are {list}."),
    inference=(
        "The disease recorded with {objects} is {list}.",
        "The diseases recorded with {objects} are {list}.",
        "With {objects}, {matched} of the {asked} {things} given, the disease is {list}.",
        "With {objects}, {matched} of the {asked} {things} given, the diseases are {list}.",
    ),
    candidates="The diseases that fit the case best are, in this order, {list}.",
    paths=MappingProxyType(
        {
            "supports": "In favour of {subject} the case has {list}.",
            "against": "Against {subject} speaks {list}.",
            "typical_unmentioned": "Typical of {subject}, but not mentioned in the case, is {list}.",
        }
    ),
    description="{text} {mark}.",
    heading="The MeSH heading of {subject} is {heading} ({id}; {places}) {mark}.",
    publication=("A publication on {subject} is {list}.", "Publications on {subject} are {list}."),
    titled="“{title}” ({told})",
    others=" et al.",
    row="The graph returned {text} {mark}.",
    missing="The graph has no {things} for {names}.",
    nothing="Not enough evidence: the graph returned nothing for this question.",
    unasked="Not enough evidence: nothing was asked of the graph for this question.",
    unknown=("Not enough evidence: the graph has no entry called {given}", "; near it are {list}."),
)

CHINESE = Phrases(
    language="zh",
    gap="",
    comma=("、", "、"),
    either="、",
    more="等{all}项",
    statements=MappingProxyType(
        {
            "INHERITANCE": ("遗传方式", "遗传方式"),
            "COURSE": ("病程特点", "病程特点"),
            "SAME_CASES": ("同见于病例的表型", "同见于病例的表型"),
        }
    ),
    relation=("{subject}的{what}有{list}。", "{subject}的{what}有{list}。"),
    inference=(
        "与{objects}相符的疾病有{list}。",
        "与{objects}相符的疾病有{list}。",
        "与{objects}（所给{asked}项{things}中的{matched}项）相符的疾病有{list}。",
        "与{objects}（所给{asked}项{things}中的{matched}项）相符的疾病有{list}。",
    ),
    candidates="最符合该病例的疾病依次为{list}。",
    paths=MappingProxyType(
        {
            "supports": "支持{subject}的表现有{list}。",
            "against": "不支持{subject}的表现有{list}。",
            "typical_unmentioned": "{subject}的典型表现中，病例未提及{list}。",
        }
    ),
    description="{text}{mark}。",
    heading="{subject}在MeSH中对应的主题词为{heading}（{id}；{places}）{mark}。",
    publication=("关于{subject}的文献有{list}。", "关于{subject}的文献有{list}。"),
    titled="“{title}”（{told}）",
    others="等",
    row="图谱返回：{text}{mark}。",
    missing="图谱中没有{names}的{things}记录。",
    nothing="证据不足：图谱没有返回与该问题有关的内容。",
    unasked="证据不足：没有就该问题查询图谱。",
    unknown=("证据不足：图谱中没有名为“{given}”的条目", "，相近的有{list}。"),
)
