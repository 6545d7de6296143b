"""How far a build is, and what it reports: for people first, for machines everything, as JSON."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from kgdx.errors import StoreError

SHARES = {
    "fetch": 0.02,
    "parse": 0.3,
    "check": 0.05,
    "derive": 0.13,
    "compile": 0.05,
    "index": 0.1,
    "load": 0.25,
    "finish": 0.1,
}
"""Stages in order, and about how much of the whole each is: what a progress bar shows."""


@dataclass(frozen=True, slots=True)
class BuildProgress:
    stage: str
    detail: str
    done: float
    seconds: float
    rows: int = 0
    bytes: int = 0
    total: int = 0


@dataclass(slots=True)
class Clock:
    """Reports a build's progress and measures its stages (:data:`SHARES`)."""

    callback: Callable[[BuildProgress], None] | None
    start: float = field(default_factory=time.perf_counter)
    seconds: dict[str, float] = field(default_factory=dict)

    def tell(
        self, stage: str, detail: str, part: float = 0.0, *, rows: int = 0, bytes: int = 0, total: int = 0
    ) -> None:
        if self.callback is not None:
            names = list(SHARES)
            before = sum(SHARES[name] for name in names[: names.index(stage)])
            done = min(1.0, before + SHARES[stage] * part)
            self.callback(BuildProgress(stage, detail, done, self.elapsed, rows, bytes, total))

    @property
    def elapsed(self) -> float:
        return time.perf_counter() - self.start

    @contextmanager
    def stage(self, name: str, detail: str) -> Iterator[None]:
        self.tell(name, detail)
        start = time.perf_counter()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start


@dataclass(frozen=True, slots=True)
class Change:
    """How the rows of one table that one source states differ.

    A relation of which a property changed counts as removed and added; only nodes are changed. ``examples`` are lines
    such as ``+ OMIM:1``, ``- OMIM:1 HP:1``, ``~ OMIM:1``.
    """

    table: str
    source: str
    added: int = 0
    removed: int = 0
    changed: int = 0
    examples: tuple[str, ...] = ()


def by_table(changes: Iterable[Change]) -> Mapping[str, tuple[int, int, int]]:
    found: dict[str, tuple[int, int, int]] = {}
    for each in changes:
        added, removed, changed = found.get(each.table, (0, 0, 0))
        found[each.table] = (added + each.added, removed + each.removed, changed + each.changed)
    return found


TEXTS = ("version", "checksum", "licence", "citation")
NUMBERS = ("read", "loaded", "merged", "quarantined")
"""What a graph itself says of its sources."""


@dataclass(frozen=True, slots=True)
class SourceReport:
    """One source in a build: where it came from, and what became of its records.

    ``read`` is ``loaded`` and ``merged`` and ``quarantined`` together; ``resolved`` counts obsolete and alternative HPO
    ids that were replaced. What kgdx itself states has no ``origin``.
    """

    name: str
    title: str = ""
    origin: str = ""
    version: str | None = None
    checksum: str | None = None
    licence: str = ""
    citation: str = ""
    read: int = 0
    loaded: int = 0
    merged: int = 0
    quarantined: int = 0
    resolved: int = 0
    seconds: float = 0.0
    found: bool = False


@dataclass(frozen=True, slots=True)
class StageReport:
    stage: str
    what: str
    made: int
    found: int
    seconds: float


@dataclass(frozen=True, slots=True)
class RefusalCount:
    """How often records of a source were refused for one reason, with one of them."""

    source: str
    reason: str
    count: int
    example: str


@dataclass(frozen=True, slots=True)
class BuildReport:
    id: str
    path: str
    created: str
    fingerprint: str
    schema_version: str
    schema_checksum: str
    kgdx_version: str
    sources: Mapping[str, SourceReport] = field(default_factory=dict)
    nodes: Mapping[str, int] = field(default_factory=dict)
    relations: Mapping[str, int] = field(default_factory=dict)
    reasons: tuple[RefusalCount, ...] = ()
    warnings: tuple[str, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    kind: str = "build"
    stages: tuple[StageReport, ...] = ()
    changes: tuple[Change, ...] | None = None
    store: str = "loaded"
    peak_memory: int = 0
    content: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    mappings: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    near: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    @property
    def quarantined(self) -> int:
        return sum(source.quarantined for source in self.sources.values())

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(self.to_dict(), indent=1, ensure_ascii=False) + "\n", "utf-8")


def read_report(path: Path) -> BuildReport:
    try:
        return TypeAdapter(BuildReport).validate_json(path.read_bytes())
    except (OSError, ValueError) as error:
        reason = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error
        hint = "build the graph again with `kgdx build`"
        raise StoreError(f"the build report {path} cannot be read ({reason})", hint=hint) from error
