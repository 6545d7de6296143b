"""GA4GH phenopackets v2 (a file, JSON lines, a folder; gzipped or not) as frames, read by the case room's reader."""

from __future__ import annotations

from pathlib import Path

from kgdx.load.manifest import Manifest
from kgdx.load.records import Records
from kgdx.load.sources import cases

VERSION = cases.VERSION
FRAMES = cases.FRAMES


def read(path: Path, manifest: Manifest) -> Records:
    """Read phenopackets; one that cannot be used is refused, and so is each part of one, with its place and reason.

    Raises:
        SourceError: The path does not exist or holds no phenopacket at all.
    """
    return cases.collect(path, manifest, "a GA4GH phenopacket v2", lambda case: case.source == "phenopacket")
