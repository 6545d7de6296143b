"""Readers, one short module per format: a file in, frames of records with line numbers and refused records out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from types import MappingProxyType

from kgdx.errors import SourceError
from kgdx.load.installed import installed_reader
from kgdx.load.manifest import Manifest
from kgdx.load.records import Records
from kgdx.load.unpack import PACKED

FORMATS: Mapping[str, str] = {
    "table": "kgdx.load.sources.table",
    "tsv": "kgdx.load.sources.table",
    "csv": "kgdx.load.sources.table:read_csv",
    "jsonl": "kgdx.load.sources.jsonl",
    "parquet": "kgdx.load.sources.jsonl:read_parquet",
    "obo": "kgdx.load.sources.obo",
    "owl": "kgdx.load.sources.owl",
    "obographs": "kgdx.load.sources.obographs",
    "hpoa": "kgdx.load.sources.hpoa",
    "orphanet_product1": "kgdx.load.sources.orphanet:read_disorders",
    "orphanet_product4": "kgdx.load.sources.orphanet:read_phenotypes",
    "orphanet_product6": "kgdx.load.sources.orphanet:read_genes",
    "orphanet_prevalence": "kgdx.load.sources.orphanet:read_prevalence",
    "orphanet_ages": "kgdx.load.sources.orphanet:read_ages",
    "phenopackets": "kgdx.load.sources.cases:read_phenopackets",
    "mesh_descriptors": "kgdx.load.sources.mesh:read_descriptors",
    "mesh_supplements": "kgdx.load.sources.mesh:read_supplements",
    "mesh_qualifiers": "kgdx.load.sources.mesh:read_qualifiers",
    "chinese_kg": "kgdx.load.sources.chinese_kg",
    "encyclopedia": "kgdx.load.sources.encyclopedia",
    "cases": "kgdx.load.sources.cases",
    "dx_symptoms": "kgdx.load.sources.cases:read_symptoms",
    "primekg": "kgdx.load.sources.primekg",
    "primekg_disease_features": "kgdx.load.sources.primekg_features:read_diseases",
    "primekg_drug_features": "kgdx.load.sources.primekg_features:read_drugs",
}
"""Format → module with ``read(path, manifest) -> Records``, or ``module:function``."""

FOLDERS = ("phenopackets", "cases")
"""Formats of which a source may be a folder; of formats that live elsewhere, their readers say it."""

Reader = Callable[[Path, Manifest], Records]
"""Reads a file as its manifest says. It, or its module, may have ``VERSION: str``, which changes with what it gives."""


def reader(path: Path, manifest: Manifest, readers: Mapping[str, Reader] = MappingProxyType({})) -> Reader:
    """Return the reader of a source's file, by the manifest's format or that of the file's suffix.

    Args:
        path: The file; ``.gz`` and the like at its end are no suffix.
        manifest: The source's manifest.
        readers: Readers beside those of :data:`FORMATS`, by format.

    Raises:
        SourceError: There is no such format.
    """
    suffix = next((each for each in reversed(path.suffixes) if each.lower() not in PACKED), "").lower()
    name = manifest.also.get(suffix, manifest.format)
    if name in readers:
        return readers[name]
    if name not in FORMATS:
        if (installed := installed_reader(name)) is not None:
            return cast("Reader", installed)
        message = f"the manifest of {manifest.name} names the format {name!r}"
        raise SourceError(message, hint=f"one of {', '.join((*FORMATS, *readers))}")
    module, _, function = FORMATS[name].partition(":")
    found: Reader = getattr(import_module(module), function or "read")
    return found


def read(path: Path, manifest: Manifest, readers: Mapping[str, Reader] = MappingProxyType({})) -> Records:
    """Read a source's file in its format, which its suffix may tell.

    Args:
        path: The file; a compressed one is unpacked whatever its name says.
        manifest: The source's manifest.
        readers: As for :func:`reader`.

    Raises:
        SourceError: The file is not what the manifest says.
    """
    return reader(path, manifest, readers)(path, manifest)
