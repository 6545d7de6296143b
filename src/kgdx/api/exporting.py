"""A graph as files for the offline import of a Neo4j that is not ours."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from kgdx.config import Settings
from kgdx.errors import UsageError
from kgdx.files.private import possible

if TYPE_CHECKING:
    from kgdx.graph.neo4j.import_files import Exported


def export(
    folder: str | Path,
    *,
    store: str | Path | None = None,
    force: bool = False,
    progress: Callable[[str], None] | None = None,
) -> Exported:
    """Write the embedded graph as files for ``neo4j-admin database import full``, with a page that tells what to do.

    The folder appears when it is whole.
    """
    from kgdx.graph.arcade.embedded import ArcadeStore
    from kgdx.graph.copies import content_of
    from kgdx.graph.neo4j import import_files
    from kgdx.graph.snapshot import Snapshot
    from kgdx.ingest.pipeline.build_files import refuse_damaged
    from kgdx.ingest.pipeline.graph_folder import GraphFolder
    from kgdx.ingest.pipeline.stages import Stages
    from kgdx.ingest.pipeline.user_data import kept_tables

    started, tell, target = time.monotonic(), progress or (lambda _said: None), possible(folder).absolute()
    settings = Settings.load(store)
    if settings.is_neo4j:
        raise UsageError(f"{settings.store} is a server", hint="export the graph of a folder; `kgdx pull` makes one")
    import_files.refuse(target, force=force)
    graph = GraphFolder(settings.graph_folder)
    with graph.reading() as build, ArcadeStore.open(build.store) as source:
        tell("Comparing all files with their digests")
        refuse_damaged(build.path)
        content = content_of(source, kept_tables(build, Stages(graph.path / "stages"), source), tell)
        compiled = Snapshot.open(build.snapshot).content
    about = {"id": "build:current", "source": "kgdx", "content": compiled, **content.build}
    size = import_files.export(content.tables, about, target, force=force, progress=tell)
    return import_files.Exported(
        target, content.counts, content.fingerprint, size, round(time.monotonic() - started, 2)
    )
