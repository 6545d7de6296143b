"""MeSH in NLM's XML: descriptors (`desc20NN.xml`), supplementary records (`supp20NN.xml`), qualifiers (`qual20NN.xml`).

Terms come from all concepts of a record. A concept that is not the preferred one is narrower than it, broader, or
otherwise related, so each entry term keeps its concept's scope: a narrower concept's term does not name the heading.
Format: https://www.nlm.nih.gov/mesh/xml_data_elements.html
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from kgdx.ingest.manifest import Manifest
from kgdx.ingest.records import LINE, RecordBuilder, Records, join_rejects
from kgdx.ingest.sources.term_frames import COMPONENT, in_cycles
from kgdx.ingest.sources.xml_records import XmlFile, shown, text, texts, unexpanded

VERSION = "2"
PREFIX = "MESH:"
RECORD = (
    "id name entry_terms:strings entry_term_scopes:strings entry_term_tags:strings permuted_terms:strings scope_note"
    " semantic_types:strings registry_numbers:strings history_note online_note public_note previous_indexing:strings"
    " annotation date_created date_revised date_established"
)
"""Columns of the frame ``record`` that every kind of record has."""
EXACT = "EXACT"
_SCOPES = {"NRW": "NARROW", "BRD": "BROAD", "REL": "RELATED"}
_INVERSE = {"NRW": "BROAD", "BRD": "NARROW", "REL": "RELATED"}
_YEAR = re.compile(r"(?:19|20)\d\d")


@dataclass(frozen=True, slots=True)
class MeshFileKind:
    root: str
    record: str
    stem: str
    letter: str
    title: str
    more: str
    frames: Mapping[str, str]
    extract: Callable[[Any, str, RecordBuilder], tuple[Any, ...]]


def _read(path: Path, manifest: Manifest, kind: MeshFileKind) -> Records:
    building = RecordBuilder({"record": f"{RECORD} {kind.more}", **kind.frames})
    file = XmlFile(path, kind.root, kind.title)
    known: set[str] = set()
    valid = re.compile(f"{kind.letter}[0-9]{{6,9}}")
    for element in file.records(kind.record):
        ui, name = text(element, f"{kind.stem}UI"), text(element, f"{kind.stem}Name/String")
        reason = _reason(element, ui, name, kind, valid, known)
        if reason is not None or ui is None:
            building.refuse(element.sourceline, shown(element), reason or "")
            continue
        known.add(ui)
        id = PREFIX + ui
        values = _common(element, name)
        building.add("record", element.sourceline, id, name, *values, *kind.extract(element, id, building))
    year = _YEAR.search(file.doctype)
    found = building.records(year[0] if year else None)
    if "place" in found.frames:
        found.frames["is_a"], misplaced = edges(found.frames.pop("place"))
        found.rejects = join_rejects([found.rejects, misplaced])
    return found


def _places(element: Any, id: str, building: RecordBuilder) -> list[str]:
    for number in element.iterfind("TreeNumberList/TreeNumber"):
        if place := (number.text or "").strip():
            building.add("place", number.sourceline, id, place)
    return texts(element, "TreeNumberList/TreeNumber")


def referred(element: Any, path: str, tag: str) -> Iterator[str]:
    """Yield the ids (CURIEs) in all ``tag`` elements below those at a path; a star before a main topic is left out."""
    for part in element.iterfind(path):
        for each in part.iter(tag):
            ui = (each.text or "").strip().lstrip("*")
            if ui:
                yield PREFIX + ui


def _reason(
    element: Any, ui: str | None, name: str | None, kind: MeshFileKind, valid: re.Pattern[str], known: set[str]
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
        *(text(element, tag) for tag in ("HistoryNote", "OnlineNote", "PublicMeSHNote")),
        texts(element, "PreviousIndexingList/PreviousIndexing"),
        text(element, "Annotation"),
        *(_date(element.find(tag)) for tag in ("DateCreated", "DateRevised", "DateEstablished")),
    )


def _terms(concepts: list[Any], preferred: Any, heading: str | None) -> tuple[dict[str, tuple[str, str]], list[str]]:
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


def _descriptor(element: Any, id: str, building: RecordBuilder) -> tuple[Any, ...]:
    line = element.sourceline
    for end in referred(element, "SeeRelatedList/SeeRelatedDescriptor", "DescriptorUI"):
        building.add("see_also", line, id, end)
    actions = element.iter("PharmacologicalActionList")
    for end in dict.fromkeys(end for each in actions for end in referred(each, ".", "DescriptorUI")):
        building.add("action", line, id, end)
    for allowed in element.iterfind("AllowableQualifiersList/AllowableQualifier"):
        for qualifier in referred(allowed, "QualifierReferredTo", "QualifierUI"):
            words = text(allowed, "QualifierReferredTo/QualifierName/String"), text(allowed, "Abbreviation")
            building.add("qualifier", allowed.sourceline, id, qualifier, *words)
    for combination in element.iterfind("EntryCombinationList/EntryCombination"):
        parts = [(part, tag) for part in ("ECIN", "ECOUT") for tag in ("DescriptorUI", "QualifierUI")]
        ends = (next(referred(combination, *each), None) for each in parts)
        building.add("combination", combination.sourceline, *ends)
    return (
        _places(element, id, building),
        text(element, "ConsiderAlso"),
        text(element, "NLMClassificationNumber"),
        _DESCRIPTOR_CLASSES.get(element.get("DescriptorClass", ""), element.get("DescriptorClass")),
    )


def _supplement(element: Any, id: str, building: RecordBuilder) -> tuple[Any, ...]:
    for heading in element.iterfind("HeadingMappedToList/HeadingMappedTo"):
        end = next(referred(heading, ".", "DescriptorUI"), None)
        qualifier = next(referred(heading, ".", "QualifierUI"), None)
        major = any((ui.text or "").strip().startswith("*") for ui in heading.iter("DescriptorUI", "QualifierUI"))
        building.add("heading", heading.sourceline, id, end, qualifier, major)
    for end in referred(element, "PharmacologicalActionList", "DescriptorUI"):
        building.add("action", element.sourceline, id, end)
    number = element.get("SCRClass")
    return (_SUPPLEMENT_CLASSES.get(number, number), texts(element, "SourceList/Source"))


def _qualifier(element: Any, id: str, building: RecordBuilder) -> tuple[Any, ...]:
    abbreviation = next((each.text.strip() for each in element.iter("Abbreviation") if each.text), None)
    return _places(element, id, building), abbreviation


_DESCRIPTOR_CLASSES = {"1": "topic", "2": "publication type", "3": "check tag", "4": "geographic"}
_SUPPLEMENT_CLASSES = dict(
    zip("123456", ("chemical", "protocol", "disease", "organism", "population", "anatomy"), strict=True)
)
_DESCRIPTORS = MeshFileKind(
    root="DescriptorRecordSet",
    record="DescriptorRecord",
    stem="Descriptor",
    letter="D",
    title="NLM's desc20NN.xml",
    more="tree_numbers:strings consider_also classification record_class",
    frames={
        "place": "id tree_number",
        "see_also": "start end",
        "action": "start end",
        "qualifier": "start end name abbreviation",
        "combination": "start with_qualifier end end_qualifier",
    },
    extract=_descriptor,
)
_SUPPLEMENTS = MeshFileKind(
    root="SupplementalRecordSet",
    record="SupplementalRecord",
    stem="SupplementalRecord",
    letter="C",
    title="NLM's supp20NN.xml",
    more="record_class literature:strings",
    frames={"heading": "start end with_qualifier major:bool", "action": "start end"},
    extract=_supplement,
)
_QUALIFIERS = MeshFileKind(
    root="QualifierRecordSet",
    record="QualifierRecord",
    stem="Qualifier",
    letter="Q",
    title="NLM's qual20NN.xml",
    more="tree_numbers:strings abbreviation",
    frames={"place": "id tree_number"},
    extract=_qualifier,
)


read_descriptors, read_supplements, read_qualifiers = (
    partial(_read, kind=kind) for kind in (_DESCRIPTORS, _SUPPLEMENTS, _QUALIFIERS)
)


def edges(places: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Turn places in the tree into edges: the place ``C10.228.140`` lies below ``C10.228``.

    A record with several places has several parents. A place whose parent no record has, that another record has
    already, or that would put a record below itself, is refused; of a cycle (as between Ethics and Morals in some
    releases) the deepest places are.
    """
    first = places["tree_number"].is_first_distinct()
    owned = places.filter(first)
    owner = owned.select(parent="id", _above="tree_number")
    found = places.with_columns(
        pl.col("tree_number").str.extract(r"^(.+)\.[^.]*$").alias("_above"), first.alias("_first")
    ).join(owner, on="_above", how="left", maintain_order="left")
    holder = owner.rename({"parent": "_holder", "_above": "tree_number"})
    found = found.join(holder, on="tree_number", how="left", maintain_order="left")
    reason = pl.coalesce(
        pl.when(~pl.col("_first")).then(pl.format("the place {} is that of {}", "tree_number", "_holder")),
        pl.when(pl.col("_above").is_not_null() & pl.col("parent").is_null()).then(
            pl.format("nothing in this file has the place {}, its parent", "_above")
        ),
        pl.when(pl.col("parent") == pl.col("id")).then(
            pl.format("the place {} puts the record below itself", "tree_number")
        ),
    )
    found = found.with_columns(reason.alias("reason"))
    kept = found.filter(pl.col("reason").is_null() & pl.col("parent").is_not_null())
    kept, cyclic = _acyclic(kept)
    wrong = pl.concat([found.filter(pl.col("reason").is_not_null()), cyclic], how="diagonal_relaxed").sort(LINE)
    refused = wrong.select(
        pl.col(LINE).alias("line"), pl.format("{} {}", "id", "tree_number").alias("record"), "reason"
    )
    return kept.select(LINE, child="id", parent="parent"), refused


def _acyclic(kept: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    refused = []
    while (inside := in_cycles(kept, "id", "parent")).height:
        depth = pl.col("tree_number").str.count_matches(".", literal=True)
        cut = inside.filter(depth == depth.max().over(COMPONENT))
        shown = pl.format("the place {} closes a cycle: {} lies below {} and above it", "tree_number", "id", "parent")
        refused.append(cut.with_columns(shown.alias("reason")).drop(COMPONENT))
        kept = kept.join(cut.select("id", "parent", "tree_number"), on=["id", "parent", "tree_number"], how="anti")
    return kept, pl.concat([kept.clear(), *refused], how="diagonal_relaxed")
