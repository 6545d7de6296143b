"""Readers, one short module per format: a file in, frames of records with line numbers and refused records out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path

from kgdx.errors import SourceError
from kgdx.load.manifest import Manifest
from kgdx.load.records import Records

FORMATS: Mapping[str, str] = {
    "table": "kgdx.load.sources.table",
    "obo": "kgdx.load.sources.obo",
    "hpoa": "kgdx.load.sources.hpoa",
    "orphanet_product1": "kgdx.load.sources.orphanet_product1",
    "phenopackets": "kgdx.load.sources.phenopackets",
}
"""Format → module with ``read(path, manifest) -> Records`` and ``FRAMES``, its frames' columns (none for ``table``)."""


def read(path: Path, manifest: Manifest) -> Records:
    """Read a source's file in its format, which its suffix may tell.

    Args:
        path: The file; gzip is unpacked whatever the name says.
        manifest: The source's manifest.

    Raises:
        SourceError: The file is not what the manifest says.
    """
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    reader = import_module(FORMATS[_known(manifest.also.get(suffix, manifest.format), manifest)])
    function: Callable[[Path, Manifest], Records] = reader.read
    return function(path, manifest)


def _known(name: str, manifest: Manifest) -> str:
    if name not in FORMATS:
        message = f"the manifest of {manifest.name} names the format {name!r}"
        raise SourceError(message, hint=f"one of {', '.join(FORMATS)}")
    return name
