"""Whether the files of a graph are what its build wrote."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kgdx.config import Settings
from kgdx.errors import UsageError

if TYPE_CHECKING:
    from kgdx.ingest.pipeline.build_files import Verified


def verify(*, store: str | Path | None = None) -> Verified:
    """Read all files of an embedded graph and compare them with the digests that its build recorded.

    Opening a graph looks at the files' sizes, and reads those whose time of change is not what it was. What a disk has
    changed by itself shows here alone.

    Args:
        store: Graph folder.

    Raises:
        StoreError: There is no graph, or its list of files is damaged.
        UsageError: The store is a Neo4j server.
    """
    settings = Settings.load(store)
    if settings.is_neo4j:
        raise UsageError(f"{settings.store} is a server", hint="a server keeps and checks its own files")
    from kgdx.ingest.pipeline import build_files
    from kgdx.ingest.pipeline.graph_folder import GraphFolder

    with GraphFolder(settings.graph_folder).reading() as build:
        return build_files.verify(build.path)
