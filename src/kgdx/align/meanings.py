"""The last stage of a look-up: names near in meaning by a sentence encoder, whose vectors lie beside the snapshot."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from kgdx.align.cascade import COSINE, LEAD
from kgdx.align.index_file import layout
from kgdx.align.named import ALL_KINDS
from kgdx.errors import UsageError
from kgdx.store.snapshot import Snapshot
from kgdx.text.encoder import VERSION, Encoder, Vectors
from kgdx.text.meaning import contrary
from kgdx.text.stems import form

_TRIED = 20
"""Names that are looked at for the nearest one that does not say the contrary."""


class Meanings:
    """The vectors of the graph's names, one file for each node class, encoded when it is first asked for.

    Args:
        snapshot: Where they are kept.
        encoder: What encodes them.
        chinese: Whether it reads Chinese; Chinese names are left out otherwise.
        progress: Told in words what takes long.

    Raises:
        UsageError: The encoder's name cannot name a folder.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        encoder: Encoder,
        *,
        chinese: bool = False,
        progress: Callable[[str], None] | None = None,
    ) -> None:
        if not re.fullmatch(r"[\w.-]+", encoder.name):
            raise UsageError(f"an encoder cannot be called {encoder.name!r}", hint="use letters, digits, '.' and '-'")
        self._snapshot, self._encoder, self._chinese = snapshot, encoder, chinese
        self._tell = progress or (lambda _: None)
        self._opened: dict[int, tuple[Vectors, npt.NDArray[np.int64]]] = {}

    def nearest(self, database: sqlite3.Connection, given: str, kinds: Sequence[int]) -> list[tuple[str, float]]:
        """Return the folded name nearest in meaning, and the cosine; none when none is near enough.

        It must agree in numbers and telling words, not say the contrary, and be well ahead of the next entity's.
        """
        asked = form(given)
        if asked.han and not self._chinese:
            return []
        vector = self._encoder.encode([given])[0]
        found: list[tuple[float, int]] = []
        for kind in kinds:
            vectors, terms = self._of(database, kind)
            if not len(terms):
                continue
            cosines = vectors @ vector
            some = np.argpartition(cosines, -min(_TRIED, len(cosines)))[-_TRIED:]
            found += [(min(1.0, float(cosines[at])), int(terms[at])) for at in some.tolist()]
        fitting: list[tuple[float, str]] = []
        for cosine, term in sorted(found, key=lambda one: (-one[0], one[1])):
            text, folded, mark = database.execute(
                "SELECT t.text, t.folded, f.mark FROM term t JOIN form f ON f.number = t.form WHERE t.number = ?",
                (term,),
            ).fetchone()
            if mark == asked.mark and not contrary(given, text):
                fitting.append((round(cosine, 4), folded))
        best = fitting[0][0] if fitting else 0.0
        return [(folded, cosine) for cosine, folded in fitting[:1] if best >= COSINE and not _rival(fitting)]

    def _of(self, database: sqlite3.Connection, kind: int) -> tuple[Vectors, npt.NDArray[np.int64]]:
        if kind not in self._opened:

            def compute(folder: Path) -> None:
                self._encode(database, kind, folder)

            version = f"{layout()}-{VERSION}-{self._encoder.name}{'-zh' if self._chinese else ''}"
            folder = self._snapshot.derived(f"meaning-{ALL_KINDS[kind].lower()}", version, compute)
            self._opened[kind] = np.load(folder / "vectors.npy", mmap_mode="r"), np.load(folder / "terms.npy")
        return self._opened[kind]

    def _encode(self, database: sqlite3.Connection, kind: int, folder: Path) -> None:
        query = (
            "SELECT min(t.number), t.text, t.folded FROM term t JOIN entity e ON e.number = t.entity "
            "WHERE t.kind = ? AND t.text = e.name GROUP BY t.folded ORDER BY 1"
        )
        rows = [row for row in database.execute(query, (kind,)) if self._chinese or not form(row[1]).han]
        self._tell(f"encoding {len(rows):,} names of the class {ALL_KINDS[kind]}, once for this graph")
        vectors = self._encoder.encode([row[1] for row in rows]) if rows else np.zeros((0, 1), np.float32)
        np.save(folder / "vectors.npy", vectors.astype(np.float32))
        np.save(folder / "terms.npy", np.array([row[0] for row in rows], np.int64))


def _rival(fitting: Sequence[tuple[float, str]]) -> bool:
    """Whether another name is nearly as near."""
    return len(fitting) > 1 and fitting[0][0] - fitting[1][0] < LEAD and fitting[0][0] < 1
