"""Neo4j's offline import into the local server: the graph as CSV files, the server stopped meanwhile.

The database of before is set aside first and put back when the import fails, or at the next start when all of it was
killed.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from kgdx.config import Settings
from kgdx.graph.neo4j import local_server
from kgdx.graph.neo4j.import_files import write_csv
from kgdx.graph.neo4j.local_runtime import Progress, Runtime, find_runtime
from kgdx.graph.protocol import GraphTable

_HEAP = "1g"


def import_offline(
    settings: Settings, running: local_server.ServerInfo, tables: Sequence[GraphTable], between: str, progress: Progress
) -> None:
    """Replace what the local server's database holds by the tables; the server runs again afterwards.

    ``between`` can stand between elements of lists (:func:`kgdx.graph.neo4j.import_files.delimiter`).
    """
    runtime = find_runtime(settings, progress)
    home = running.home
    with local_server.locked(home), tempfile.TemporaryDirectory(dir=home / "import", prefix="push-") as temporary:
        progress("Writing the files for Neo4j's import")
        options = write_csv(tables, Path(temporary), between)
        progress("Stopping the local server for the import")
        local_server.stop(running)
        try:
            _set_aside(home)
            progress("Importing")
            _import(home, runtime, options, Path(temporary))
            local_server.discard_old(home)
        except BaseException:
            local_server.restore_interrupted_import(home)
            raise
        finally:
            ports = tuple(int(address.rpartition(":")[2]) for address in (running.bolt, running.http))
            local_server.start(settings, runtime, (ports[0], ports[1]), running.heap, progress)


def _set_aside(home: Path) -> None:
    aside = home / "data" / "before-import"
    aside.mkdir()
    for kind in ("databases", "transactions"):
        folder = home / "data" / kind / "neo4j"
        if folder.exists():
            folder.rename(aside / kind)


def _import(home: Path, runtime: Runtime, options: Sequence[str], folder: Path) -> None:
    local_server.administer(
        home,
        runtime,
        _HEAP,
        *("database", "import", "full", "neo4j"),
        "--max-off-heap-memory=1g",
        f"--report-file={folder / 'report'}",
        *options,
        folder=folder,
    )
