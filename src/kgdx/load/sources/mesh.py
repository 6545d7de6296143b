"""MeSH in NLM's XML: what descriptors, supplementary records and qualifiers have in common.

Terms come from all concepts of a record. A concept that is not the preferred one is narrower than it, broader, or
otherwise related, so each entry term keeps its concept's scope: a narrower concept's term does not name the heading.
Format: https://www.nlm.nih.gov/mesh/xml_data_elements.html
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from kgdx.load.records import Records, join_rejects
from kgdx.load.sources.columns import TEXT, TEXTS, Columns, Refused
from kgdx.load.sources.xml import XmlFile, shown, text, texts, unexpanded

PREFIX = "MESH:"
RECORD = (
    "id",
    "name",
    "entry_terms",
    "entry_term_scopes",
    "entry_term_tags",
    "permuted_terms",
    "scope_note",
    "semantic_types",
    "registry_numbers",
    "history_note",
    "online_note",
    "public_note",
    "previous_indexing",
    "annotation",
    "date_created",
    "date_revised",
    "date_established",
)
"""Columns of the frame ``record`` that every kind of record has."""
LISTS = frozenset(
    {
        "entry_terms",
        "entry_term_scopes",
        "entry_term_tags",
        "permuted_terms",
        "semantic_types",
        "registry_numbers",
        "previous_indexing",
        "tree_numbers",
        "literature",
    }
)
EXACT = "EXACT"
_SCOPES = {"NRW": "NARROW", "BRD": "BROAD", "REL": "RELATED"}
_INVERSE = {"NRW": "BROAD", "BRD": "NARROW", "REL": "RELATED"}
_YEAR = re.compile(r"(?:19|20)\d\d")


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of MeSH file.

    Attributes:
        root: Tag of the root element.
        record: Tag of a record; its ``…UI`` and ``…Name`` follow ``stem``.
        stem: Beginning of the tags of a record's id and name.
        letter: First letter of the ids.
        title: What the file is, for messages.
        more: Columns of the frame ``record`` beside :data:`RECORD`.
        frames: The other frames' columns.
    """

    root: str
    record: str
    stem: str
    letter: str
    title: str
    more: tuple[str, ...]
    frames: Mapping[str, tuple[str, ...]]


@dataclass(slots=True)
class Reading:
    """A file that is being read: frames so far, what was refused, and name and abbreviation of qualifiers met."""

    kind: Kind
    frames: dict[str, Columns]
    refused: Refused = field(default_factory=Refused)
    named: dict[str, tuple[str | None, str | None]] = field(default_factory=dict)

    def refer(self, frame: str, line: int, start: str, references: Iterator[str]) -> None:
        """Add a relation to each id that a record refers to."""
        for end in references:
            self.frames[frame].add(line, start, end)


Extract = Callable[[Any, str, Reading], tuple[Any, ...]]
"""(record, its id, reading) → values of the kind's ``more`` columns; relations go into the reading's frames."""


def read_kind(path: Path, kind: Kind, extract: Extract) -> tuple[dict[str, pl.DataFrame], Refused, str | None]:
    """Read all records of a file.

    Returns:
        Frames by name; refused records; the year of the release, where the file names it.

    Raises:
        SourceError: The file is unreadable or is not this kind of MeSH file.
    """
    record_columns = (*RECORD, *kind.more)
    schemas = {"record": record_columns, **kind.frames}
    reading = Reading(
        kind,
        {name: Columns({c: _type(c) for c in columns}) for name, columns in schemas.items()},
    )
    file = XmlFile(path, kind.root, kind.title)
    known: set[str] = set()
    valid = re.compile(f"{kind.letter}[0-9]{{6,9}}")
    for element in file.records(kind.record):
        ui, name = text(element, f"{kind.stem}UI"), text(element, f"{kind.stem}Name/String")
        reason = _fault(element, ui, name, kind, valid, known)
        if reason is not None or ui is None:
            reading.refused.add(element.sourceline, shown(element), reason or "")
            continue
        known.add(ui)
        id = PREFIX + ui
        values = _common(element, name)
        reading.frames["record"].add(element.sourceline, id, name, *values, *extract(element, id, reading))
    year = _YEAR.search(file.doctype)
    frames = {name: columns.frame() for name, columns in reading.frames.items()}
    return frames, reading.refused, year[0] if year else None


def records(frames: dict[str, pl.DataFrame], rejects: list[pl.DataFrame], version: str | None) -> Records:
    """Put what was read together."""
    return Records(frames, join_rejects(rejects), version)


def referred(element: Any, path: str, tag: str) -> Iterator[str]:
    """Yield the ids (CURIEs) in all ``tag`` elements below those at a path; a star before a main topic is left out."""
    for part in element.iterfind(path):
        for each in part.iter(tag):
            ui = (each.text or "").strip().lstrip("*")
            if ui:
                yield PREFIX + ui


def _type(column: str) -> Any:
    if column == "major":
        return pl.Boolean()
    return TEXTS if column in LISTS else TEXT


def _fault(
    element: Any, ui: str | None, name: str | None, kind: Kind, valid: re.Pattern[str], known: set[str]
) -> str | None:
    if ui is None:
        return f"it has no {kind.stem}UI"
    if not valid.fullmatch(ui):
        return f"its {kind.stem}UI '{ui[:60]}' is not {kind.letter} and digits"
    if ui in known:
        return f"{PREFIX}{ui} stands here a second time"
    if entity := unexpanded(element):
        return f"it holds the entity {entity}, which is not expanded"
    return None if name is not None else f"it has no {kind.stem}Name"


def _common(element: Any, heading: str | None) -> tuple[Any, ...]:
    """The values of :data:`RECORD` after the name."""
    concepts = element.findall("ConceptList/Concept")
    preferred = next((each for each in concepts if each.get("PreferredConceptYN") == "Y"), None)
    terms, permuted = _terms(concepts, preferred, heading)
    note = None if preferred is None else text(preferred, "ScopeNote")
    types = [] if preferred is None else texts(preferred, "SemanticTypeList/SemanticType/SemanticTypeName")
    return (
        list(terms),
        [scope for scope, _ in terms.values()],
        [tag for _, tag in terms.values()],
        permuted,
        note or text(element, "Note"),
        types,
        _numbers(concepts),
        text(element, "HistoryNote"),
        text(element, "OnlineNote"),
        text(element, "PublicMeSHNote"),
        texts(element, "PreviousIndexingList/PreviousIndexing"),
        text(element, "Annotation"),
        _date(element.find("DateCreated")),
        _date(element.find("DateRevised")),
        _date(element.find("DateEstablished")),
    )


def _terms(concepts: list[Any], preferred: Any, heading: str | None) -> tuple[dict[str, tuple[str, str]], list[str]]:
    """Entry terms with scope and lexical tag, the preferred concept's first, and terms in another order of words."""
    scopes = _scopes(preferred)
    terms: dict[str, tuple[str, str]] = {}
    permuted: dict[str, None] = {}
    for concept in sorted(concepts, key=lambda each: each is not preferred):
        scope = EXACT if concept is preferred else scopes.get(concept.findtext("ConceptUI") or "", "RELATED")
        for term in concept.iterfind("TermList/Term"):
            words = text(term, "String")
            if words is None or words == heading:
                continue
            if term.get("IsPermutedTermYN") == "Y":
                permuted.setdefault(words)
            else:
                terms.setdefault(words, (scope, term.get("LexicalTag") or "NON"))
    return terms, [words for words in permuted if words not in terms]


def _scopes(preferred: Any) -> dict[str, str]:
    """Concept → how it relates to the preferred one: of a pair, the second is narrower (NRW) or broader (BRD)."""
    if preferred is None:
        return {}
    own = preferred.findtext("ConceptUI")
    found = {}
    for relation in preferred.iterfind("ConceptRelationList/ConceptRelation"):
        name = relation.get("RelationName")
        first, second = relation.findtext("Concept1UI"), relation.findtext("Concept2UI")
        if first == own:
            found[second] = _SCOPES.get(name, "RELATED")
        elif second == own:
            found[first] = _INVERSE.get(name, "RELATED")
    return found


def _numbers(concepts: list[Any]) -> list[str]:
    """Registry numbers of all concepts; 0 stands for none."""
    found: dict[str, None] = {}
    for concept in concepts:
        for tag in ("RegistryNumber", "RelatedRegistryNumber"):
            for each in concept.iter(tag):
                number = (each.text or "").strip()
                if number and number != "0":
                    found.setdefault(number)
    return list(found)


def _date(element: Any) -> str | None:
    if element is None:
        return None
    parts = [text(element, part) or "" for part in ("Year", "Month", "Day")]
    return "-".join(part.zfill(2) for part in parts) if all(part.isdigit() for part in parts) else None
