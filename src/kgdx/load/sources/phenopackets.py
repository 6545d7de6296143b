"""GA4GH phenopackets v2 (a file, JSON lines, a folder; gzipped or not) as frames, read by the case room's reader."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl

from kgdx.case import Case, Failure, Status, read_cases
from kgdx.errors import CaseError, SourceError
from kgdx.load.manifest import Manifest
from kgdx.load.records import LINE, REJECTS, Records, join_rejects

FRAMES = {
    "case": ("id", "label", "sex", "age"),
    "observed": ("case", "phenotype", "onset", "text"),
    "excluded": ("case", "phenotype", "onset", "text"),
    "diagnosed": ("case", "disease"),
    "reported": ("case", "publication"),
    "publication": ("publication",),
}
_STATUS = {Status.PRESENT: "observed", Status.ABSENT: "excluded"}
_PLACE = re.compile(r"(?P<file>.*?) line (?P<line>\d+)(?:: .*)?", re.DOTALL)


def read(path: Path, manifest: Manifest) -> Records:
    """Read cases; a packet that cannot be used is refused, and so is each part of one, with its place and reason.

    Raises:
        SourceError: The path does not exist or holds no case at all.
    """
    rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in FRAMES}
    rejects: list[tuple[Any, ...]] = []
    number = 0
    try:
        for number, case in enumerate(read_cases(path), 1):
            if isinstance(case, Failure):
                rejects.append((*_place(case.where), case.id, case.message))
            elif case.source != "phenopacket":
                rejects.append((str(path), number, case.id, "it is not a phenopacket"))
            else:
                _add(case, number, rows)
                rejects += [(*_place(i.where), case.id, i.message) for i in case.issues if i.level != "info"]
    except CaseError as error:
        raise SourceError(error.message, hint=error.hint) from error
    if not rows["case"]:
        reason = rejects[0][-1] if rejects else "it holds no case"
        raise SourceError(f"{path} has no usable phenopacket ({reason})", hint="give GA4GH phenopackets v2 in JSON")
    frames = {}
    for name, columns in FRAMES.items():
        schema = {LINE: pl.Int64, **dict.fromkeys(columns, pl.String)}
        frames[name] = pl.DataFrame(rows[name], schema=schema, orient="row")
    refused = pl.DataFrame(rejects, schema=REJECTS, orient="row")
    return Records(frames, join_rejects([refused]))


def _add(case: Case, number: int, rows: dict[str, list[tuple[Any, ...]]]) -> None:
    rows["case"].append((number, case.id, case.id, case.sex, case.age))
    for finding in case.findings:
        if finding.status in _STATUS:
            rows[_STATUS[finding.status]].append((number, case.id, finding.id, finding.onset, finding.text or None))
    rows["diagnosed"] += [(number, case.id, disease) for disease in case.diseases]
    rows["reported"] += [(number, case.id, publication) for publication in case.publications]
    rows["publication"] += [(number, publication) for publication in case.publications]


def _place(where: str) -> tuple[str, int | None]:
    found = _PLACE.fullmatch(where)
    return (found["file"], int(found["line"])) if found else (where, None)
