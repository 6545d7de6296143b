"""Names of the graph's entities: what one means, how it goes on, and which of them a text mentions.

One SQLite file beside the snapshot (:mod:`kgdx.terms.names.name_database`); every look-up reads a few of its rows. What
a name means is decided by the stages of every alignment (:mod:`kgdx.terms.names.cascade`): an id, the same name, the
same but for inflection, numerals and word order, a typo, and with an encoder the meaning.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from kgdx.case.patient import valid
from kgdx.errors import StoreError
from kgdx.graph.protocol import Closing, Exports, GraphTable, NodeTable, RelationTable
from kgdx.graph.snapshot import Snapshot
from kgdx.lazy import lazy_pattern
from kgdx.terms.names.cascade import NORMALISED, REORDERED, TYPO_COST
from kgdx.terms.names.mentions import complete, mentions, near
from kgdx.terms.names.name_database import FILE, layout, marks, opened, unreadable, write_index
from kgdx.terms.names.name_decision import ALL_KINDS, KINDS, Mention, NameDecision, NameEntry, kinds_of
from kgdx.terms.names.sssom import BASES, PREFIXES
from kgdx.terms.names.suggestions import Meanings, lay_names, shortened, typos_of
from kgdx.terms.normalise import Form, bare, fold_name, form, has_chinese

if TYPE_CHECKING:
    from kgdx.terms.encoder import Encoder

LONGEST = 300
"""Letters of the longest name that is looked up; no name of a source is as long."""
ENTRIES = 40
"""Most entries of one name; sources have far fewer, relations of what is the same may join more."""
DECIDED = 4096
"""Names of which it is kept what they mean: an agent asks for the same ones again and again."""
LEAST = 0.85
"""Least score of what is stated; a related name has less."""
WITHIN = 0.05
"""How far below the best an entry of the same stage may be: names and synonyms count, narrower ones do not."""
SHORT = 0.9
"""Factor of the score of a name that is given in short."""
SAME = 0.99
"""Factor of the score of an entry that a relation says to be the same as the one found."""

_BRIDGES = {"Symptom": "Phenotype"}
"""A name of the second class stands for what is said to be the same in the first."""
_DISEASE, _PHENOTYPE = KINDS.index("Disease"), KINDS.index("Phenotype")
_ID = lazy_pattern(r"([A-Za-z][\w.]*?)(?:\s*[:_]\s*(\S+)|\s+(\d+))")
_I = TypeVar("_I", bound="NameIndex")
_P = ParamSpec("_P")
_R = TypeVar("_R")
_Found = list[tuple[Any, str, float]]
"""Rows (:data:`_COLUMNS`) of names that were found, each with the stage and what it takes from the score."""
_Entries = list[tuple[NameEntry, int | None]]
"""Entries, each with the number of what it is the same as."""
_COLUMNS = "e.id, e.kind, e.name, e.source, t.text, t.weight, t.relation, e.same"
_FROM = "FROM term t JOIN form f ON f.number = t.form JOIN entity e ON e.number = t.entity"


def repairing(look_up: Callable[Concatenate[_I, _P], _R]) -> Callable[Concatenate[_I, _P], _R]:
    """Make the file anew and look up again where it turns out to be damaged."""

    @wraps(look_up)
    def run(index: _I, /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        used = index._database
        try:
            return look_up(index, *args, **kwargs)
        except sqlite3.ProgrammingError:  # it was closed: no fault of the file
            raise
        except sqlite3.DatabaseError as error:
            index._repair(used, error)
            return look_up(index, *args, **kwargs)

    return run


class NameIndex(Closing):
    """An opened index; close it, or use it as a context manager. Threads may share it."""

    def __init__(self, file: Path, again: Callable[[], object] | None = None, meanings: Meanings | None = None) -> None:
        self._file, self._meanings, self._again = file, meanings, again
        self._lock, self._left = threading.Lock(), list[sqlite3.Connection]()
        self._decided = lru_cache(DECIDED)(self._decide)
        try:
            self._database, self._meta = opened(file)
        except StoreError:
            if again is None:
                raise
            again()
            self._database, self._meta = opened(file)

    @repairing
    def resolve(self, name: str, kinds: Sequence[str] = ("Disease",), *, limit: int = ENTRIES) -> NameDecision:
        """Return the entries that a name, or an id, means, and why; what was decided last is kept.

        All entries of that name are returned, and what relations say is exactly the same as one of them.
        """
        return self._decided(valid(name), tuple(kinds), limit)

    def _decide(self, name: str, wanted: tuple[str, ...], limit: int) -> NameDecision:
        given = name.strip()
        if not given or len(given) > LONGEST:
            reason = "it is empty" if not given else f"it is longer than {LONGEST} letters"
            return NameDecision(name, wanted, (), f"nothing is called so: {reason}")
        searched = tuple(dict.fromkeys((*wanted, *(_BRIDGES[kind] for kind in wanted if kind in _BRIDGES))))
        asked = [form(text) for text in dict.fromkeys((given, bare(given)))]
        asked = [each for each in asked if each.folded]
        numbers = kinds_of(searched)
        for stage in (self._by_id, self._exact, self._normalised, self._typos, self._shortened, self._near_in_meaning):
            found = stage(given, asked, numbers)
            if stage == self._by_id and all(row[0] == row[2] for row, *_ in found):
                found = self._exact(given, asked, numbers) or found  # a database may have no ids but names
            entries = self._with_same(_stated(found), wanted)
            if entries and entries[0].method != "id":
                entries = self._with_namesakes(entries)
            if entries:
                kept = tuple(entries[:limit])
                return NameDecision(name, wanted, kept, _reason(given, entries), (), len(entries) - len(kept))
        if entries := self._as_other(given, asked, wanted):
            return NameDecision(name, wanted, tuple(entries[:limit]), _reason(given, entries))
        reason = f"no {' or '.join(map(str.lower, wanted))} is called so"
        return NameDecision(name, wanted, (), reason, tuple(self.near(given, wanted)))

    @repairing
    def entry(self, id: str) -> NameEntry | None:
        """Return an entry by its id, or an alternative one; ``None`` when there is none."""
        found = self._by_id(id, [], kinds_of(KINDS))
        return _entry(*found[0])[0] if found else None

    @repairing
    def near(self, name: str, kinds: Sequence[str] = ("Disease",), limit: int = 5) -> list[NameEntry]:
        return near(self._database, form(valid(name)), kinds_of(kinds), limit)

    @repairing
    def complete(self, prefix: str, kinds: Sequence[str] = ("Disease",), limit: int = 10) -> list[NameEntry]:
        return complete(self._database, valid(prefix[:LONGEST]), kinds_of(kinds), limit)

    @repairing
    def mentions(self, text: str, kinds: Sequence[str] = KINDS) -> list[Mention]:
        return mentions(self._database, valid(text), kinds_of(kinds))

    def close(self) -> None:
        """Close the file, and forget what was decided; closing twice is fine."""
        self._decided.cache_clear()
        for database in (self._database, *self._left):
            database.close()

    def _repair(self, used: sqlite3.Connection, error: sqlite3.Error) -> None:
        with self._lock:
            if self._database is not used:
                return
            if self._again is None:
                raise unreadable(self._file, error) from error
            self._again()
            self._database, self._meta = opened(self._file)
            self._left.append(used)  # another thread may be in the middle of it

    def _by_id(self, given: str, asked: Sequence[Form], kinds: Sequence[int]) -> _Found:
        ids = _ids(given)
        rows = self._all(
            f"SELECT id, kind, name, source, id, 1.0, 'exact', same FROM entity WHERE id IN ({marks(ids)}) "
            f"UNION SELECT e.id, e.kind, e.name, e.source, o.id, 1.0, 'exact', e.same "
            f"FROM other_id o JOIN entity e ON e.number = o.entity WHERE o.id IN ({marks(ids)}) ORDER BY 2, 1",
            (*ids, *ids),
        )
        found = [row for row in rows if row[1] in kinds]
        return [(row, "id", 1.0) for row in [row for row in found if row[4] == given] or found]

    def _exact(self, given: str, asked: Sequence[Form], kinds: Sequence[int]) -> _Found:
        found = [(row, "exact", 1.0) for each in asked for row in self._of("t.folded", each.folded, kinds)]
        said = dict.fromkeys((given, *(each.key for each in asked if each.han)))
        lay = [form(name) for each in said for name in lay_names(each)] if _DISEASE in kinds else []
        return found + [(row, "exact", 1.0) for each in lay for row in self._of("t.folded", each.folded, [_DISEASE])]

    def _normalised(self, given: str, asked: Sequence[Form], kinds: Sequence[int]) -> _Found:
        found = [(row, "normalised", NORMALISED) for each in asked for row in self._of("f.key", each.key, kinds)]
        for each in asked:
            rows = [] if each.bag is None else self._of("f.bag", each.bag, kinds, turned=not each.turned)
            found += [(row, "normalised", REORDERED) for row in rows]
        return found

    def _typos(self, given: str, asked: Sequence[Form], kinds: Sequence[int]) -> _Found:
        return [
            (row, "edit", 1 - TYPO_COST * distance)
            for each in asked
            for key, distance in typos_of(self._database, each, kinds)
            for row in self._of("f.key", key, kinds)
        ]

    def _shortened(self, given: str, asked: Sequence[Form], kinds: Sequence[int]) -> _Found:
        return [
            (row, "short", SHORT)
            for kind in kinds
            if kind in (_DISEASE, _PHENOTYPE)
            for each in asked[:1]
            for key in shortened(self._database, given, each, kind)
            for row in self._of("t.folded", key, [kind])
        ]

    def _as_other(self, given: str, asked: Sequence[Form], wanted: Sequence[str]) -> list[NameEntry]:
        """A finding by the name of the disease that is called so, or a disease by that of a finding in Chinese."""
        if ("Phenotype" in wanted) == ("Disease" in wanted) or ("Disease" in wanted and not has_chinese(given)):
            return []
        mine, other = ("Disease", "Phenotype") if "Disease" in wanted else ("Phenotype", "Disease")
        known = self._with_same(_stated(self._exact(given, asked, [KINDS.index(other)])), [other])
        names = dict.fromkeys(fold_name(entry.name) for entry in known)
        found = [(row, "same", SAME) for name in names for row in self._of("t.folded", name, [KINDS.index(mine)])]
        return [entry for entry, _ in _stated(found)]

    def _near_in_meaning(self, given: str, asked: Sequence[Form], kinds: Sequence[int]) -> _Found:
        if self._meanings is None:
            return []
        nearest = self._meanings.nearest(self._database, given, kinds)
        return [(row, "encoder", cosine) for name, cosine in nearest for row in self._of("t.folded", name, kinds)]

    def _of(self, column: str, value: str, kinds: Sequence[int], *, turned: bool = False) -> list[Any]:
        query = f"SELECT {_COLUMNS} {_FROM} WHERE {column} = ? AND t.kind IN ({marks(kinds)})"
        return self._all(f"{query} AND t.turned" if turned else query, (value, *kinds))

    def _with_same(self, stated: _Entries, kinds: Sequence[str]) -> list[NameEntry]:
        """The entries of the wanted classes, and what is exactly the same as one of the best of them.

        A synonym of some source leads no further where another entry is called by the name itself.
        """
        entries = [entry for entry, _ in stated if entry.kind in kinds]
        seen = {(entry.kind, entry.id) for entry in entries}
        query = "SELECT id, kind, name, source FROM entity WHERE same = ? ORDER BY kind, id"
        best = max((entry.score for entry, _ in stated), default=0.0)
        for entry, same in stated:
            if same is None or entry.relation != "exact" or entry.score < best:
                continue
            score = round(entry.score * SAME, 4)
            for id, number, name, source in self._all(query, (same,)):
                kind = ALL_KINDS[number]
                if kind in kinds and (kind, id) not in seen:
                    seen.add((kind, id))
                    entries.append(NameEntry(id, kind, name, source, entry.matched, "same", "exact", score, entry.id))
        return entries

    def _with_namesakes(self, entries: list[NameEntry]) -> list[NameEntry]:
        """The entries, and the diseases that are called in full as those of them that mean exactly what was asked.

        So a name in one language leads to the entries of another vocabulary that no relation joins to its own.
        """
        seen = {entry.id for entry in entries}
        best = max((entry.score for entry in entries), default=0.0)
        for entry in list(entries):
            if entry.kind != "Disease" or entry.relation != "exact" or entry.score < best * SAME - 1e-6:
                continue
            score = round(entry.score * SAME, 4)
            for id, _, name, source, *_ in self._of("t.folded", fold_name(entry.name), [_DISEASE]):
                if id not in seen and fold_name(name) == fold_name(entry.name):
                    seen.add(id)
                    entries.append(
                        NameEntry(id, "Disease", name, source, entry.matched, "same", "exact", score, entry.id)
                    )
        return entries

    def _all(self, query: str, parameters: Iterable[Any]) -> list[Any]:
        return self._database.execute(query, tuple(parameters)).fetchall()


def open_index(
    snapshot: Snapshot,
    store: Callable[[], Exports],
    encoder: Encoder | None = None,
    *,
    chinese: bool = False,
    progress: Callable[[str], None] | None = None,
) -> NameIndex:
    """Open the index of a graph, making it first when there is none yet."""

    def compute(folder: Path) -> None:
        if progress is not None:
            progress("indexing the names of the graph, once")
        write_index(folder / FILE, named_tables(store()))

    file, again = cached_file(snapshot, "names", FILE, compute)
    meanings = Meanings(snapshot, encoder, chinese=chinese, progress=progress) if encoder else None
    return NameIndex(file, again, meanings)


def cached_file(
    snapshot: Snapshot, name: str, file: str, compute: Callable[[Path], None]
) -> tuple[Path, Callable[[], object]]:
    """Return an index's file beside a snapshot's arrays, made when there is none yet, and what makes it anew."""
    make = partial(snapshot.derived, name, layout(), compute)

    def again() -> None:
        snapshot.discard(name, layout())
        make()

    return make() / file, again


def named_tables(store: Exports) -> list[GraphTable]:
    """Read what an index is made of from a graph's store."""
    synonyms = ["name", "source", "synonyms"]
    current = [*synonyms, "name_zh", "synonym_scopes", "alt_ids", "obsolete", "replaced_by"]
    columns = {"Disease": [*current, "name_source"], "Phenotype": current, "Symptom": synonyms}
    nodes = [NodeTable(kind, store.export_nodes(kind, columns.get(kind, ["name", "source"]))) for kind in KINDS]
    joins: tuple[tuple[str, str, str, list[str]], ...] = (
        ("IS_A", "Phenotype", "Phenotype", []),
        ("SAME_AS", "Disease", "Disease", []),
        ("MAPPED_TO", "Symptom", "Phenotype", ["relation"]),
    )
    relations = [
        RelationTable(type, start, end, store.export_relations(type, start, end, wanted))
        for type, start, end, wanted in joins
    ]
    return [*nodes, *relations]


def _ids(given: str) -> list[str]:
    written = _ID.fullmatch(given)
    curies = [f"{PREFIXES.get(written[1].lower(), written[1])}:{written[2] or written[3]}"] if written else []
    return [given, *curies, *(f"{ours}:{given[len(base) :]}" for ours, base in BASES.items() if given.startswith(base))]


def _entry(row: Any, method: str, factor: float) -> tuple[NameEntry, int | None]:
    id, kind, name, source, matched, weight, relation, same = row
    return NameEntry(id, ALL_KINDS[kind], name, source, matched, method, relation, round(factor * weight, 4)), same


def _stated(found: _Found) -> _Entries:
    ranked = sorted(
        (_entry(*each) for each in found),
        key=lambda one: (one[0].relation != "exact", -one[0].score, one[0].kind, one[0].id),
    )
    once = {(entry.kind, entry.id): (entry, same) for entry, same in reversed(ranked) if entry.score >= LEAST}
    kept = [one for one in once.values() if one[0].relation == "exact"] or list(once.values())
    best = max((entry.score for entry, _ in kept), default=0.0)
    kept = [one for one in kept if one[0].score >= best - WITHIN]
    return sorted(kept, key=lambda one: (-one[0].score, one[0].kind, one[0].id))


def _reason(given: str, entries: Sequence[NameEntry]) -> str:
    best = next((entry for entry in entries if entry.method != "same"), entries[0])
    how = {
        "id": "is the id of an entry",
        "exact": f"is the name {best.matched!r}",
        "normalised": f"is {best.matched!r} but for inflection, spelling, numerals or word order",
        "edit": f"and {best.matched!r} differ by a typo",
        "short": f"is short for {best.matched!r}",
        "encoder": f"is near in meaning to {best.matched!r}",
        "same": f"is {best.matched!r}, which a relation says to be the same",
    }[best.method]
    wider = "" if best.relation == "exact" else f", and the entry is {best.relation}"
    return f"{given!r} {how}{wider}"
