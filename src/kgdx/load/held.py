"""What a graph holds, from the files of its build and what users saved since: its store need not be read whole."""

from __future__ import annotations

from kgdx.load.carry import USER, tables_now
from kgdx.load.folder import BuildFolder
from kgdx.load.stages import Stages
from kgdx.load.tables import load_tables, read_graph
from kgdx.schema import load_schema
from kgdx.store.copy import Kept
from kgdx.store.protocol import Store
from kgdx.store.tables import merged


def held(build: BuildFolder, stages: Stages, store: Store) -> Kept | None:
    """Return a build's tables; ``None`` where their files are not there, as in a graph that was copied from a server.

    Args:
        build: The current build, held for reading.
        stages: The graph folder's stages.
        store: The build's store: what users saved is read from it.

    Raises:
        StoreError: A file is damaged.
    """
    graph = read_graph(build.tables, stages)
    if graph is None:
        return None
    carried = any(USER in table.parts for table in graph.tables)
    return Kept(merged(load_tables(graph.tables, stages)), tables_now(store, load_schema(), carried=carried))
