"""The page of an answer: what its template is given."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kgdx.report.candidates import SHEET, Told, told
from kgdx.report.diagnosis import reasons, sources
from kgdx.report.document import Answer, Citation, Item, Relation, Sentence, Way, read
from kgdx.report.drawing import FACTS, NARROW, Drawing
from kgdx.report.layout import draw, sheets
from kgdx.report.words import clean, relation

MOST_DRAWN = 200
"""So many facts of the cited evidence are drawn; all of it is listed."""

LONG = 120
"""A longer question is not fit to be a heading."""

_MARK = re.compile(r"[\[［【]\s*(E\d{1,9}(?:\s*[,，、;；]\s*E\d{1,9})*)\s*[\]］】]")

FROM_OBJECT = frozenset({"INDICATION", "CONTRAINDICATION", "OFF_LABEL_USE"})
"""Relations that lead from a drug to the disease; those of other evidence lead from the disease."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of an answer's text: words, or the mark of a piece of evidence."""

    text: str
    mark: str = ""
    shown: bool = False


@dataclass(frozen=True, slots=True)
class Said:
    """A sentence, and whether it begins a new line or paragraph."""

    pieces: tuple[Piece, ...]
    supported: bool
    gap: str


@dataclass(frozen=True, slots=True)
class Facts:
    """Cited evidence as a graph, with its ways in words and the mark of each."""

    told: tuple[Told, ...]
    marks: tuple[str, ...]
    kinds: tuple[tuple[str, str], ...]
    wide: Drawing
    narrow: Drawing
    sheets: tuple[Drawing, ...]


def view(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the template of an answer shows.

    Raises:
        UsageError: The document is damaged.
    """
    answer = read(Answer, document)
    question = clean(answer.question).strip()
    cited = frozenset(mark for sentence in answer.answer.sentences for mark in sentence.cites)
    ids = frozenset(item.id for item in answer.pack.items)
    findings = () if answer.case is None else answer.case.findings
    return {
        "doc": answer,
        "case": answer.case,
        "question": question,
        "title": question if len(question) <= LONG and "\n" not in question else "Answer",
        "said": [said(sentence, ids) for sentence in answer.answer.sentences],
        "cited_items": [item for item in answer.pack.items if item.id in cited],
        "other_items": [item for item in answer.pack.items if item.id not in cited],
        "stated": stated,
        "facts": facts([item for item in answer.pack.items if item.id in cited]),
        "sources": sources(answer, (each for item in answer.pack.items for each in item.sources)),
        "publications": [(each, reference(each)) for each in answer.pack.citations],
        **reasons(answer, findings),
    }


def said(sentence: Sentence, ids: frozenset[str]) -> Said:
    """Split a sentence at its marks; only marks of evidence that is there become links.

    Example:
        >>> [(piece.text, piece.shown) for piece in said(Sentence(text="So it is [E1, E7]."), frozenset({"E1"})).pieces]
        [('So it is ', False), ('E1', True), ('E7', False), ('.', False)]
    """
    return Said(tuple(_pieces(clean(sentence.text), ids)), sentence.supported, sentence.gap)


def _pieces(text: str, ids: frozenset[str]) -> Iterator[Piece]:
    last = 0
    for match in _MARK.finditer(text):
        if match.start() > last:
            yield Piece(text[last : match.start()])
        for mark in re.findall(r"E\d+", match[1]):
            yield Piece(mark, mark, mark in ids)
        last = match.end()
    if last < len(text):
        yield Piece(text[last:])


def stated(item: Item) -> tuple[str, str, str]:
    """Return what an item states as subject, words and object; all of it as one text where it has no such form.

    Example:
        >>> from kgdx.report.document import Node
        >>> fever = Item(id="E1", kind="relation", text="", subject=Node(id="D", name="Flu"), relation="HAS_SYMPTOM",
        ...              objects=(Node(id="S", name="Fever"),))
        >>> stated(fever)
        ('Flu', 'has the symptom', 'Fever')
    """
    if item.kind != "relation" or item.subject is None or not item.objects:
        return clean(item.text), "", ""
    subject = clean(item.subject.name or item.subject.id)
    objects = ", ".join(clean(each.name or each.id) for each in item.objects)
    words = relation(item.relation, against=False, language=item.language)
    return (objects, words, subject) if item.relation in FROM_OBJECT else (subject, words, objects)


def facts(items: Sequence[Item]) -> Facts | None:
    """Return the graph of what some items state of diseases; ``None`` where they state nothing of that form."""
    ways: list[tuple[str, Way]] = []
    for item in items:
        if item.kind not in ("relation", "inference") or item.subject is None:
            continue
        edge = Relation(type=item.relation, reversed=item.relation not in FROM_OBJECT)
        for each in item.objects:
            nodes = (each, item.subject)
            way = Way(
                kind=item.relation,
                finding=each.id,
                frequency=item.frequency,
                nodes=nodes,
                relations=(edge,),
                references=item.references,
                language=item.language,
            )
            ways.append((item.id, way))
    ways = ways[:MOST_DRAWN]
    if not ways:
        return None
    numbered = [(number, way) for number, (_, way) in enumerate(ways)]
    wide = draw(numbered, {}, FACTS)
    return Facts(
        told=tuple(told(number, way) for number, way in numbered),
        marks=tuple(mark for mark, _ in ways),
        kinds=tuple((kind, relation(kind, against=True)) for kind in dict.fromkeys(way.kind for _, way in ways)),
        wide=wide,
        narrow=draw(numbered, {}, NARROW),
        sheets=tuple(sheets(numbered, {}, SHEET, FACTS)) if wide.height > SHEET else (),
    )


def reference(citation: Citation) -> str:
    """Say a publication as in a list of references, without its id.

    Example:
        >>> reference(Citation(id="PMID:1", title="On ptosis.", authors=("Doe J",), journal="J Neurol", year="2020"))
        'Doe J. On ptosis. J Neurol 2020'
    """
    authors = ", ".join(citation.authors[:3]) + (" et al" if len(citation.authors) > 3 else "")
    place = " ".join(part for part in (citation.journal, citation.year) if part)
    return clean(". ".join(part.rstrip(".") for part in (authors, citation.title, place) if part))
