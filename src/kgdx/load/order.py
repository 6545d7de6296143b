"""What is ordered of a build, and what its stages share while it is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kgdx.load.choice import Wanted
from kgdx.load.clock import Clock, Progress
from kgdx.load.deliver import Before
from kgdx.load.derive import Derive
from kgdx.load.digests import Digests
from kgdx.load.folder import BuildFolder, GraphFolder
from kgdx.load.hooks import Hook
from kgdx.load.report import StageReport
from kgdx.load.sources import Reader
from kgdx.load.stages import Stages
from kgdx.load.tables import BuiltGraph, BuiltSource
from kgdx.schema import Schema


@dataclass(frozen=True, slots=True)
class Order:
    """What to build, and how.

    Attributes:
        folder: The graph folder.
        kind: ``build``, ``update`` or ``remove``.
        choose: Says which sources the graph is to have, from what it has.
        derive: Steps that infer further tables.
        compile: Functions that compute something from the finished snapshot; they run in a second process.
        readers: Readers of formats that live elsewhere.
        cache: Where downloads are kept.
        progress: Called as the build goes on.
        keep_cases: Whether what users saved is carried over.
        force: Whether a source may lose half of its rows.
        first: Whether to build only where there is no graph yet, and to wait a second for another builder.
    """

    folder: GraphFolder
    kind: str
    choose: Callable[[BuiltGraph | None], Choice]
    cache: Path
    derive: Sequence[Derive] = ()
    compile: Sequence[Hook] = ()
    readers: Mapping[str, Reader] = field(default_factory=dict)
    progress: Callable[[Progress], None] | None = None
    keep_cases: bool = True
    force: bool = False
    first: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """The sources that a graph is to have, and those of them that are taken as they were read before."""

    wanted: Mapping[str, Wanted]
    kept: Mapping[str, BuiltSource] = field(default_factory=dict)


@dataclass(slots=True)
class Work:
    """What the stages of one build share.

    Attributes:
        order: What to build.
        made: The folder of the new build.
        stages: Results that are kept by content.
        digests: Of files, by what tells whether they changed.
        schema: The ontology.
        clock: Times the stages, and tells of them.
        before: The build before, where its tables are known.
        done: What each stage made, and found made.
        remarks: What goes among the report's warnings.
    """

    order: Order
    made: BuildFolder
    stages: Stages
    digests: Digests
    schema: Schema
    clock: Clock
    before: Before | None
    done: list[StageReport] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def note(self, stage: str, what: str, made: int, found: int, seconds: float) -> None:
        """Record what a stage made, what it found made, and how long it took."""
        self.done.append(StageReport(stage, what, made, found, round(seconds, 3)))
