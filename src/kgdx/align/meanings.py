"""The last stage of a look-up: names near in meaning by a sentence encoder, whose vectors lie beside the snapshot."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence

from kgdx.align.cascade import COSINE, LEAD
from kgdx.align.index_file import layout
from kgdx.align.named import ALL_KINDS
from kgdx.store.snapshot import Snapshot
from kgdx.text.encoder import VERSION, Encoder, Rows, Vectors, check_name, name_vectors, nearest_names
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
        check_name(encoder)
        self._snapshot, self._encoder, self._chinese = snapshot, encoder, chinese
        self._tell = progress
        self._opened: dict[int, tuple[Vectors, Rows]] = {}

    def nearest(self, database: sqlite3.Connection, given: str, kinds: Sequence[int]) -> list[tuple[str, float]]:
        """Return the folded name nearest in meaning, and the cosine; none when none is near enough.

        It must agree in numbers and telling words, not say the contrary, and be well ahead of the next entity's.
        """
        asked = form(given)
        if asked.han and not self._chinese:
            return []
        vector = self._encoder.encode([given])
        found: list[tuple[float, int]] = []
        for kind in kinds:
            vectors, terms = self._of(database, kind)
            (rows,), (cosines,) = nearest_names(vector, vectors, _TRIED)
            found += zip(cosines.tolist(), terms[rows].tolist(), strict=True)
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

    def _of(self, database: sqlite3.Connection, kind: int) -> tuple[Vectors, Rows]:
        if kind not in self._opened:
            version = f"{layout()}-{VERSION}{'-zh' if self._chinese else ''}"
            part = f"meaning-{ALL_KINDS[kind].lower()}", version

            def names() -> dict[int, str]:
                return self._names(database, kind)

            self._opened[kind] = name_vectors(self._snapshot, part, self._encoder, names, self._tell)
        return self._opened[kind]

    def _names(self, database: sqlite3.Connection, kind: int) -> dict[int, str]:
        query = (
            "SELECT min(t.number), t.text, t.folded FROM term t JOIN entity e ON e.number = t.entity "
            "WHERE t.kind = ? AND t.text = e.name GROUP BY t.folded ORDER BY 1"
        )
        rows = database.execute(query, (kind,))
        return {number: text for number, text, _ in rows if self._chinese or not form(text).han}


def _rival(fitting: Sequence[tuple[float, str]]) -> bool:
    """Whether another name is nearly as near."""
    return len(fitting) > 1 and fitting[0][0] - fitting[1][0] < LEAD and fitting[0][0] < 1
