"""MeSH supplementary records (`supp20NN.xml`): chemicals, protocols, rare diseases, organisms and populations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kgdx.load.manifest import Manifest
from kgdx.load.records import Records
from kgdx.load.sources.mesh import RECORD, Kind, Reading, read_kind, records, referred
from kgdx.load.sources.xml import texts

VERSION = "1"
CLASSES = {"1": "chemical", "2": "protocol", "3": "disease", "4": "organism", "5": "population", "6": "anatomy"}
KIND = Kind(
    root="SupplementalRecordSet",
    record="SupplementalRecord",
    stem="SupplementalRecord",
    letter="C",
    title="NLM's supp20NN.xml",
    more=("record_class", "literature"),
    frames={"heading": ("start", "end", "with_qualifier", "major"), "action": ("start", "end")},
)
FRAMES = {"record": (*RECORD, *KIND.more), **KIND.frames}


def read(path: Path, manifest: Manifest) -> Records:
    """Read supplementary records as the frame ``record``, with ``heading`` (where indexed) and ``action``.

    Raises:
        SourceError: The file is unreadable or is no file of supplementary records.
    """
    frames, refused, version = read_kind(path, KIND, _extract)
    return records(frames, [refused.frame()], version)


def _extract(element: Any, id: str, reading: Reading) -> tuple[Any, ...]:
    for heading in element.iterfind("HeadingMappedToList/HeadingMappedTo"):
        end = next(referred(heading, ".", "DescriptorUI"), None)
        qualifier = next(referred(heading, ".", "QualifierUI"), None)
        major = any((ui.text or "").strip().startswith("*") for ui in heading.iter("DescriptorUI", "QualifierUI"))
        reading.frames["heading"].add(heading.sourceline, id, end, qualifier, major)
    reading.refer("action", element.sourceline, id, referred(element, "PharmacologicalActionList", "DescriptorUI"))
    number = element.get("SCRClass")
    return (CLASSES.get(number, number), texts(element, "SourceList/Source"))
