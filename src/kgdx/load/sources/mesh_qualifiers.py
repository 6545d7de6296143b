"""MeSH qualifiers (`qual20NN.xml`): the subheadings, and their tree."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kgdx.load.manifest import Manifest
from kgdx.load.records import Records
from kgdx.load.sources.mesh import RECORD, Kind, Reading, read_kind, records
from kgdx.load.sources.mesh_tree import edges
from kgdx.load.sources.xml import texts

VERSION = "1"
KIND = Kind(
    root="QualifierRecordSet",
    record="QualifierRecord",
    stem="Qualifier",
    letter="Q",
    title="NLM's qual20NN.xml",
    more=("tree_numbers", "abbreviation"),
    frames={"place": ("id", "tree_number")},
)
FRAMES = {"record": (*RECORD, *KIND.more), "is_a": ("child", "parent")}


def read(path: Path, manifest: Manifest) -> Records:
    """Read qualifiers as the frame ``record``, and their tree as ``is_a``.

    Raises:
        SourceError: The file is unreadable or is no qualifier file.
    """
    frames, refused, version = read_kind(path, KIND, _extract)
    frames["is_a"], misplaced = edges(frames.pop("place"))
    return records(frames, [refused.frame(), misplaced], version)


def _extract(element: Any, id: str, reading: Reading) -> tuple[Any, ...]:
    for number in element.iterfind("TreeNumberList/TreeNumber"):
        if place := (number.text or "").strip():
            reading.frames["place"].add(number.sourceline, id, place)
    abbreviation = next((each.text.strip() for each in element.iter("Abbreviation") if each.text), None)
    return (texts(element, "TreeNumberList/TreeNumber"), abbreviation)
