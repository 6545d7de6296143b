"""MeSH descriptors (`desc20NN.xml`): headings, terms, the tree, and what descriptors refer to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kgdx.load.manifest import Manifest
from kgdx.load.records import Records
from kgdx.load.sources.mesh import RECORD, Kind, Reading, read_kind, records, referred
from kgdx.load.sources.mesh_tree import edges
from kgdx.load.sources.xml import text, texts

VERSION = "1"
CLASSES = {"1": "topic", "2": "publication type", "3": "check tag", "4": "geographic"}
KIND = Kind(
    root="DescriptorRecordSet",
    record="DescriptorRecord",
    stem="Descriptor",
    letter="D",
    title="NLM's desc20NN.xml",
    more=("tree_numbers", "consider_also", "classification", "record_class"),
    frames={
        "place": ("id", "tree_number"),
        "see_also": ("start", "end"),
        "action": ("start", "end"),
        "qualifier": ("start", "end", "name", "abbreviation"),
        "combination": ("start", "with_qualifier", "end", "end_qualifier"),
    },
)
FRAMES = {
    "record": (*RECORD, *KIND.more),
    **{name: columns for name, columns in KIND.frames.items() if name != "place"},
    "is_a": ("child", "parent"),
}


def read(path: Path, manifest: Manifest) -> Records:
    """Read descriptors as the frame ``record``, and their references to each other as a frame for each kind.

    Raises:
        SourceError: The file is unreadable or is no descriptor file.
    """
    frames, refused, version = read_kind(path, KIND, _extract)
    frames["is_a"], misplaced = edges(frames.pop("place"))
    return records(frames, [refused.frame(), misplaced], version)


def _extract(element: Any, id: str, reading: Reading) -> tuple[Any, ...]:
    line = element.sourceline
    numbers = element.findall("TreeNumberList/TreeNumber")
    for number in numbers:
        if place := (number.text or "").strip():
            reading.frames["place"].add(number.sourceline, id, place)
    reading.refer("see_also", line, id, referred(element, "SeeRelatedList/SeeRelatedDescriptor", "DescriptorUI"))
    actions = dict.fromkeys(
        end for each in element.iter("PharmacologicalActionList") for end in referred(each, ".", "DescriptorUI")
    )
    reading.refer("action", line, id, iter(actions))
    for allowed in element.iterfind("AllowableQualifiersList/AllowableQualifier"):
        for qualifier in referred(allowed, "QualifierReferredTo", "QualifierUI"):
            if (words := reading.named.get(qualifier)) is None:  # a qualifier is called the same wherever it is allowed
                words = text(allowed, "QualifierReferredTo/QualifierName/String"), text(allowed, "Abbreviation")
                reading.named[qualifier] = words
            reading.frames["qualifier"].add(allowed.sourceline, id, qualifier, *words)
    for combination in element.iterfind("EntryCombinationList/EntryCombination"):
        _combine(combination, reading)
    return (
        texts(element, "TreeNumberList/TreeNumber"),
        text(element, "ConsiderAlso"),
        text(element, "NLMClassificationNumber"),
        CLASSES.get(element.get("DescriptorClass", ""), element.get("DescriptorClass")),
    )


def _combine(combination: Any, reading: Reading) -> None:
    start, qualifier, end, end_qualifier = (
        next(referred(combination, part, tag), None)
        for part, tag in (
            ("ECIN", "DescriptorUI"),
            ("ECIN", "QualifierUI"),
            ("ECOUT", "DescriptorUI"),
            ("ECOUT", "QualifierUI"),
        )
    )
    reading.frames["combination"].add(combination.sourceline, start, qualifier, end, end_qualifier)
