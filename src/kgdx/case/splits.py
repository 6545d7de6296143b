"""Parts of a set of cases, to train on one and to measure on the other: whole publications are on one side.

Cases of one publication resemble each other, and a graph's annotations are curated from publications, so that a case
tells of the others of its publication. A case without one is on a side of its own.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np

from kgdx.case.case_files import Failure
from kgdx.case.patient import Case
from kgdx.errors import CaseError, UsageError
from kgdx.files.known import write_whole

SCHEMA = "kgdx.split/1"
Side = Literal["train", "held_out"]
SIDES: tuple[Side, Side] = ("train", "held_out")


@dataclass(frozen=True)
class Split:
    """Which cases are trained on, and which are held out."""

    train: tuple[str, ...] = field(repr=False)
    held_out: tuple[str, ...] = field(repr=False)
    share: float
    seed: int

    @classmethod
    def of(cls, cases: Iterable[Case | Failure], share: float = 0.3, seed: int = 0) -> Self:
        """Split cases by publication.

        Publications are drawn in a random order and held out where they fit, so that the share of cases is met as
        nearly as they allow. Those that have a case in common are drawn together, and so are cases with one id.

        Example:
            >>> cases = [Case(str(n), publications=(f"PMID:{n // 2}",)) for n in range(8)]
            >>> split = Split.of(cases, 0.25, seed=1)
            >>> len(split.train), len(split.held_out)
            (6, 2)
        """
        if not 0 < share < 1:
            raise UsageError(f"the share to hold out is {share:g}", hint="give a number between 0 and 1, as in .3")
        groups = _groups([case for case in cases if isinstance(case, Case)])
        total = sum(map(len, groups))
        if len(groups) < 2:
            what = "there is no case" if not groups else f"all of {total:,} cases are of one publication"
            raise CaseError(f"{what}: nothing can be held out", hint="give cases of several publications")
        room = min(round(share * total) or 1, total - 1)
        held: list[str] = []
        for at in np.random.default_rng(seed).permutation(len(groups)).tolist():
            if len(held) + len(groups[at]) <= room:
                held += groups[at]
        held = held or min(groups, key=len)
        out = frozenset(held)
        return cls(
            tuple(sorted(id for group in groups for id in group if id not in out)), tuple(sorted(out)), share, seed
        )

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read a split that :meth:`write` wrote."""
        try:
            content = json.loads(Path(path).read_text("utf-8"))
        except OSError as error:
            raise CaseError(f"{path}: {error.strerror or error}", hint="make one with `kgdx split`") from error
        except (ValueError, RecursionError) as error:
            raise CaseError(f"{path} is no split of cases", hint="make one with `kgdx split`") from error
        found = cls._of_json(content)
        if found is None:
            raise CaseError(f"{path} is no split of cases", hint="make one with `kgdx split`")
        if content.get("digest") != found.digest:
            raise CaseError(f"{path} is not what its digest says", hint="fetch it again, or make it with `kgdx split`")
        if not found.train or not found.held_out:
            side = "train" if not found.train else "held_out"
            raise CaseError(f"{path} has no case in {side}", hint="make it again with another --held-out")
        return found

    @classmethod
    def _of_json(cls, content: object) -> Self | None:
        if not isinstance(content, dict) or content.get("schema") != SCHEMA:
            return None
        train, held_out, share, seed = (content.get(key) for key in ("train", "held_out", "share", "seed"))
        lists = all(isinstance(part, list) and all(isinstance(id, str) for id in part) for part in (train, held_out))
        if not lists or not isinstance(share, int | float) or not isinstance(seed, int):
            return None
        return cls(tuple(train), tuple(held_out), float(share), seed)  # type: ignore[arg-type]

    def write(self, path: Path) -> None:
        """Write it, whole or not at all."""
        try:
            write_whole(path, json.dumps(self.to_dict(), ensure_ascii=False, indent=1) + "\n")
        except (OSError, UnicodeEncodeError) as error:
            reason = getattr(error, "strerror", None) or "an id is no text"
            raise CaseError(f"{path} cannot be written ({reason})", hint="choose another -o") from error

    def to_dict(self) -> dict[str, Any]:
        return {"schema": SCHEMA, "digest": self.digest, **self._content()}

    def _content(self) -> dict[str, Any]:
        return {"share": self.share, "seed": self.seed, "held_out": list(self.held_out), "train": list(self.train)}

    @cached_property
    def digest(self) -> str:
        """SHA-256 of which case is on which side; what was trained on a side states it."""
        content = {side: list(getattr(self, side)) for side in SIDES}
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    @cached_property
    def _sides(self) -> Mapping[str, Side]:
        return {**dict.fromkeys(self.train, "train"), **dict.fromkeys(self.held_out, "held_out")}

    def side(self, case: Case) -> Side:
        """Return the side that a case is on."""
        found = self._sides.get(case.id)
        if found is None:
            what = f"the case {case.id[:40]!r} is on no side of the split"
            raise CaseError(what, hint="split these cases with `kgdx split`, or give those that were split")
        return found

    def only(self, cases: Iterable[Case | Failure], side: Side = "held_out") -> list[Case]:
        """Return the cases of one side, in their order; what could not be read is on none."""
        found = [case for case in cases if isinstance(case, Case) and self.side(case) == side]
        if not found:
            raise CaseError(f"no case is in {side} of the split", hint="give the cases that were split")
        return found


def _groups(cases: Sequence[Case]) -> list[list[str]]:
    parent: dict[str, str] = {}

    def root(name: str) -> str:
        parent.setdefault(name, name)
        while parent[name] != name:
            parent[name] = name = parent[parent[name]]
        return name

    for case in cases:
        for publication in case.publications:
            parent[root(f"publication {publication}")] = root(f"case {case.id}")
    found: dict[str, dict[str, None]] = {}
    for case in cases:
        found.setdefault(root(f"case {case.id}"), {})[case.id] = None
    return [list(ids) for ids in found.values()]
