"""An answer without a language model: sentences made from the evidence by template, in English or Chinese."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from kgdx.answer.answer_phrases import SentencePatterns, inferred, patterns_in, unknown_name
from kgdx.answer.evidence_pack import EvidencePack, clean
from kgdx.answer.facts import INFERENCES, RELATIONS
from kgdx.answer.sentences import split
from kgdx.answer.stated_things import weight_of
from kgdx.results.cited import Citation, CitedText, EvidenceItem, Sentence
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
    name: str
    ids: tuple[str, ...]


def templated(pack: EvidencePack, language: str = "en", strict: bool = True) -> CitedText:
    """Write an answer from the evidence alone, each sentence with its marks.

    Names stay in the words of their source; it rests on nothing but the evidence, be it ``strict`` or not.
    """
    words = patterns_in(language)
    said = _said(pack, words) if pack.answers else _nothing(pack, words)
    sentences = (Sentence(text, cites, gap=words.gap) for text, cites in said)
    return CitedText(tuple(sentences), insufficient=not pack.answers, strict=strict, language=words.language)


def _nothing(pack: EvidencePack, words: SentencePatterns) -> Iterator[_Said]:
    unknown = [each for each in pack.resolved if not each.ids]
    if not unknown:
        yield words.nothing if pack.nothing else words.unasked, ()
        yield from _missing(pack, words)
    for each in unknown[:MOST]:
        yield unknown_name(each, words), ()


def _said(pack: EvidencePack, words: SentencePatterns) -> Iterator[_Said]:
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


def _publications(pack: EvidencePack, words: SentencePatterns) -> Iterator[_Said]:
    citations = {each.id: each for each in pack.citations}
    groups: dict[str, list[_Named]] = {}
    for item in pack.items:
        if item.kind == "publication":
            text = _publication(citations[item.references[0]], words)
            groups.setdefault(_subject(item), []).append(_Named(text, (item.id,)))
    for subject, named in groups.items():
        shown = _list(named, words, MOST_PUBLICATIONS)
        yield words.publication[len(named) > 1].format(subject=subject, list=shown), _ids(named[:MOST_PUBLICATIONS])


def _missing(pack: EvidencePack, words: SentencePatterns) -> Iterator[_Said]:
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


def _relations(items: Iterable[EvidenceItem], words: SentencePatterns) -> Iterator[_Said]:
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


def _inferences(items: Iterable[EvidenceItem], words: SentencePatterns) -> Iterator[_Said]:
    for how, group in islice(inferred(items).items(), MOST):
        named = _merged((_subject(item), item.id) for item in group)
        yield words.inferred(how, _list(named, words), len(named), MOST), _ids(named)


def _of_case(items: Iterable[EvidenceItem], words: SentencePatterns) -> Iterator[_Said]:
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
        yield words.of_kind("paths", kind).format(subject=subject, list=_list(named, words)), _ids(named)


def _of_kind(items: Iterable[EvidenceItem], kind: str) -> list[EvidenceItem]:
    return [item for item in items if item.kind == kind][:MOST]


def _objects(group: Iterable[EvidenceItem]) -> list[_Named]:
    every = sorted(group, key=lambda item: -weight_of(item))
    often: dict[str, str] = {}
    for item in every:
        often[_object(item).casefold()] = often.get(_object(item).casefold()) or _often(item)
    named = _merged((_object(item), item.id) for item in every)
    return [_Named(each.name + often[each.name.casefold()], each.ids) for each in named]


def _object(item: EvidenceItem) -> str:
    return ", ".join(clean(each.name or each.id) for each in item.objects)


def _merged(named: Iterable[tuple[str, str]]) -> list[_Named]:
    found: dict[str, _Named] = {}
    for name, id in named:
        before = found.get(name.casefold(), _Named(name, ()))
        found[name.casefold()] = _Named(before.name, (*before.ids, id))
    return list(found.values())


def _list(named: Iterable[_Named], words: SentencePatterns, most: int = MOST) -> str:
    space = "" if words.language == "zh" else " "
    return words.list([each.name + space + "".join(f"[{id}]" for id in each.ids) for each in named], most)


def _ids(named: Iterable[_Named]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(id for each in list(named)[:MOST] for id in each.ids))


def _subject(item: EvidenceItem) -> str:
    return "" if item.subject is None else clean(item.subject.name or item.subject.id)


def _often(item: EvidenceItem) -> str:
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
    shown = 0
    for piece in split(text):
        if shown and shown + len(piece.text) > most:
            return
        shown += len(piece.text)
        yield piece.text if len(piece.text) <= 2 * _DESCRIPTION_CHARS else piece.text[: 2 * _DESCRIPTION_CHARS] + "…"


def _publication(citation: Citation, words: SentencePatterns) -> str:
    authors = clean(citation.authors[0]) + words.others * (len(citation.authors) > 1) if citation.authors else ""
    place = " ".join(clean(part) for part in (citation.journal, citation.year) if part)
    told = ", ".join(part for part in (authors, place, citation.id) if part)
    title = clean(citation.title.rstrip("."), 2 * _DESCRIPTION_CHARS)
    return words.titled.format(title=title, told=told) if title else told


def _open(text: str) -> str:
    return text.rstrip(" .。")
