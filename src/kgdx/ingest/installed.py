"""Sources that installed packages bring: each a class with a manifest, and a reader where its format is its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from kgdx.registry import Registry


class Source:
    """A source of another package, named in its entry points of the group ``kgdx.sources``."""

    manifest: ClassVar[Path]
    """The manifest's file."""
    read: ClassVar[Any] = None
    """A static method that reads a file as the manifest says (:data:`kgdx.ingest.sources.Reader`), where the manifest's
    format is the entry point's name; ``None`` where kgdx has a reader of the format."""


SOURCES: Registry[Source] = Registry("source", "kgdx.sources", {})
"""Name → source of an installed package; those that ship with kgdx are manifests in the folder ``loaders``."""


def installed_manifests() -> list[Path]:
    return [Path(kind.manifest) for kind in SOURCES.values()]


def installed_reader(format: str) -> Any:
    """Return the reader that an installed package brings for a format of its own; ``None`` for none."""
    return SOURCES.get(format).read if format in SOURCES else None
