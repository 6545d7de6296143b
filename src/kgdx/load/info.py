"""What there is to load, and what a graph folder holds: the data behind `kgdx sources` and `kgdx status`."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from kgdx.errors import StoreError
from kgdx.load.folder import GraphFolder
from kgdx.load.manifest import Manifest, manifests
from kgdx.load.report import BuildReport, read_report
from kgdx.schema import fits


@dataclass(frozen=True, slots=True)
class Status:
    """What a graph folder holds.

    Attributes:
        path: The folder.
        exists: Whether there is a complete graph.
        report: The report of its build, if there is one.
        bytes: Size on disk of the current build.
        fits: Whether it was built with this version of the ontology.
        problem: Why it cannot be used, if it cannot.
    """

    path: Path
    exists: bool
    report: BuildReport | None = None
    bytes: int = 0
    fits: bool = True
    problem: str = ""


def sources() -> tuple[Manifest, ...]:
    """Return the manifests of all sources, those of the default build first.

    Example:
        >>> [manifest.name for manifest in sources() if manifest.standard]
        ['hp', 'hpoa', 'genes']
    """
    return tuple(manifests().values())


def status(folder: GraphFolder | str | os.PathLike[str]) -> Status:
    """Say what a graph folder holds; a broken one is described rather than refused.

    Example:
        >>> status("/nowhere").exists
        False
    """
    target = folder if isinstance(folder, GraphFolder) else GraphFolder(folder)
    try:
        if not target.exists:
            return Status(target.path, exists=False)
        build = target.current()
        report = read_report(build.report)
    except StoreError as error:
        return Status(target.path, exists=True, problem=str(error))
    size = sum(file.stat().st_size for file in build.path.rglob("*") if file.is_file())
    usable = fits(report.schema_version, report.schema_checksum)
    problem = "" if usable else f"built with ontology {report.schema_version}; build it again with `kgdx build`"
    return Status(target.path, True, report, size, usable, problem)
