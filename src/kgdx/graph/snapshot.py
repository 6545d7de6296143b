"""The graph's numeric part as memory-mapped Arrow files: what scorers, text matching and rollouts read.

A snapshot is compiled once per build (:mod:`kgdx.graph.snapshot_compile`), carries the build's fingerprint, and is
refused when it belongs to another one. Opening reads one small JSON file; a table is mapped when it is first asked for.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kgdx.arrays.columns import Column, mapped_columns, places
from kgdx.arrays.sparse import Floats
from kgdx.errors import StaleSnapshotError, StoreError, refusing
from kgdx.files import known
from kgdx.files.private import FOLDER
from kgdx.schema.model import FREQUENCIES

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = 6
"""Version of the files' layout; a snapshot of another one is refused and compiled again."""

MANIFEST = "snapshot.json"
DERIVED = "derived"
LIST = "files.json"
"""In a derived part: its files, with sizes and digests."""

Tell = Callable[[str], None]
"""Told in words what takes long, or what was wrong."""

_NUMBERED = {
    **{name: name for name in ("disease", "phenotype", "gene", "symptom", "test", "drug", "cure", "document")},
    **dict.fromkeys(("child", "parent"), "phenotype"),
    **dict.fromkeys(("start", "end"), "disease"),
    "case": "patient_case",
}
"""Columns that are numbers of rows, and the node tables whose rows they are."""


def _columns(listed: str) -> dict[str, str]:
    """Return columns with their kinds: what stands behind a colon, else numbers of rows for ends, and texts."""
    named = (each.partition(":")[::2] for each in listed.split())
    return {name: kind or ("int32" if name in _NUMBERED else "string") for name, kind in named}


_ADDED = {
    "disease": "severity:float64 settled_by emergency general referral prevalence patient_sex youngest:float64"
    " oldest:float64 course name_source",
    "phenotype": "lay_synonyms:strings",
    "symptom": "asked_after",
}
ADDED = frozenset((table, column) for table, listed in _ADDED.items() for column in _columns(listed))
"""Columns that snapshots of this layout may lack, because they were compiled before there were any."""

_ANNOTATION = (
    "disease phenotype frequency numerator:int64 denominator:int64 percentage:float64 frequency_class onset sex"
    " modifiers:strings evidence reference aspect source"
)
_STATED = "source reference score:float64"
TABLES: Mapping[str, Mapping[str, str]] = {
    name: _columns(listed)
    for name, listed in {
        "disease": "id name name_zh synonyms:strings definition source onset_ages:strings inheritance:strings "
        + _ADDED["disease"],
        "phenotype": "id name name_zh definition synonyms:strings synonym_scopes:strings lay_synonyms:strings"
        " alt_ids:strings xrefs:strings obsolete:bool replaced_by consider:strings",
        "gene": "id name xrefs:strings",
        "symptom": "id name name_zh synonyms:strings language asked_after",
        **dict.fromkeys(("test", "drug", "cure"), "id name language"),
        "document": "id title text language",
        "patient_case": "id label sex age synthetic:bool source publications:strings diseases:strings",
        "is_a": "child parent",
        "has_phenotype": _ANNOTATION,
        "lacks_phenotype": _ANNOTATION,
        "same_as": "start end relation method score:float64 evidence:strings source",
        "associated_gene": "disease gene source association publications:strings",
        "disease_protein": "disease gene source",
        "has_symptom": f"disease symptom {_STATED} antecedent:bool",
        "symptom_phenotype": "symptom phenotype relation source",
        "recommend_test": f"disease test {_STATED}",
        "recommend_drug": f"disease drug {_STATED}",
        "recommend_cure": f"disease cure {_STATED}",
        "has_comorbidity": f"start end {_STATED}",
        "mentions": "document disease source",
        **dict.fromkeys(("indication", "off_label_use", "contraindication"), "disease drug source"),
        "observed": "case phenotype source",
        "excluded": "case phenotype",
    }.items()
}
"""Tables and their columns. Node tables are sorted by id, edge tables by their columns from left to right; an edge's
ends are rows (int32) of the node tables. A table without rows has no file."""

_CASES = ("patient_case.arrow", "observed.arrow", "excluded.arrow")
ENDS: Mapping[str, Mapping[str, str]] = {
    name: {column: _NUMBERED[column] for column in columns if column in _NUMBERED} for name, columns in TABLES.items()
}
"""By table the columns that are numbers of rows, and the node tables whose rows they are."""

_LEFT_S = 24 * 3600.0
"""How long something derived may take at most; what is half-made and older was left behind."""


def schema(name: str) -> pa.Schema:
    """Return the columns of a table as Arrow's types."""
    import pyarrow as pa

    return pa.schema(
        [(column, pa.list_(pa.string()) if kind == "strings" else kind) for column, kind in TABLES[name].items()]
    )


_VERIFY = "`kgdx verify` lists all that is wrong; build the graph again with `kgdx build`"


class Snapshot:
    """A compiled snapshot, opened for reading.

    Tables and columns are views of memory-mapped files: they cost nothing until they are read, are shared between
    processes, and must not be changed.
    """

    def __init__(self, path: Path, manifest: Mapping[str, Any], tell: Tell | None = None) -> None:
        self._path = path
        self._manifest = manifest
        self._tell = tell
        self._tables: dict[str, pa.Table] = {}
        self._columns: dict[str, dict[str, Column]] = {}

    @classmethod
    def open(cls, path: str | os.PathLike[str], fingerprint: str | None = None, tell: Tell | None = None) -> Snapshot:
        path = Path(path)
        try:
            manifest = json.loads((path / MANIFEST).read_bytes())
            layout, found = manifest["format"], manifest["fingerprint"]
            listed = known.from_document(manifest.get("files", {}))
            if layout == FORMAT and manifest["checksum"] != _checksum(manifest):
                raise ValueError("its manifest was changed")
        except FileNotFoundError:
            raise StoreError(f"no snapshot in {path}", hint="build the graph with `kgdx build`") from None
        except (OSError, ValueError, KeyError, TypeError) as error:
            hint = "build the graph again with `kgdx build`"
            raise StoreError(f"the snapshot in {path} is damaged ({error})", hint=hint) from error
        if layout != FORMAT:
            message = f"the snapshot in {path} has layout {layout}, this version reads {FORMAT}"
            raise StaleSnapshotError(message, hint="build the graph again with `kgdx build`")
        if fingerprint is not None and fingerprint != found:
            message = f"the snapshot in {path} was compiled from another state of the graph"
            raise StaleSnapshotError(message, hint="build the graph again with `kgdx build`")
        if faults := known.faults(path, listed):
            message = f"the snapshot in {path} is damaged: {faults[0]}"
            raise StoreError(message, hint="build the graph again with `kgdx build`")
        return cls(path, manifest, tell)

    @property
    def path(self) -> Path:
        return self._path

    @property
    def fingerprint(self) -> str:
        return str(self._manifest["fingerprint"])

    @property
    def content(self) -> str:
        """Digest of what it holds of the graph, whichever graph and machine it was compiled on; without users' cases.

        Snapshots of equal graphs are equal files.
        """
        listed = known.from_document(self._manifest["files"])
        return known.digest_of({name: was.sha256 for name, was in listed.items() if name not in _CASES})

    def rows(self, name: str) -> int:
        return int(self._manifest["tables"][self._known(name)])

    def table(self, name: str) -> pa.Table:
        """Return a table as Arrow's, memory-mapped, in one chunk per column.

        Args:
            name: One of :data:`TABLES`.
        """
        import pyarrow as pa

        if name not in self._tables and not self.rows(name):
            self._tables[name] = schema(name).empty_table()
        if name not in self._tables:
            try:
                table = pa.ipc.open_file(pa.memory_map(str(self._file(name)))).read_all()
                for place, field in enumerate(schema(name)):
                    if (name, field.name) in ADDED and field.name not in table.column_names:
                        table = table.add_column(place, field, pa.nulls(table.num_rows, field.type))
                if table.num_rows != self.rows(name) or table.schema != schema(name):
                    raise ValueError(f"it has {table.num_rows:,} rows or other columns, not {self.rows(name):,}")
                table.validate()
            except (OSError, ValueError, pa.ArrowException) as error:
                raise self._unreadable(name, error) from error
            self.columns(name)
            self._tables[name] = table
        return self._tables[name]

    def values(self, name: str, column: str) -> Column:
        """Return one column, whose values are read where they are asked for, without Arrow."""
        found = self.columns(name)
        if column not in found:
            raise StoreError(f"the snapshot table {name} has no column {column!r}")
        return found[column]

    def column(self, name: str, column: str) -> np.ndarray[Any, Any]:
        """Return one column as a NumPy array.

        Row indices (int32) come without a copy. Integers and floats with absent values come as float64 with NaN,
        strings and lists as objects with ``None``.
        """
        try:
            return self.values(name, column).array()
        except ValueError as error:  # a disk has changed it by itself: opening cannot see that
            why = " ".join(str(error).split())[:100]
            raise StoreError(f"the snapshot table {name} is damaged ({why})", hint=_VERIFY) from error

    def columns(self, name: str) -> Mapping[str, Column]:
        """Return all columns of a table, in its order."""
        if self._known(name) not in self._columns:
            try:
                self._columns[name] = self._mapped(name)
            except (OSError, ValueError) as error:
                raise self._unreadable(name, error) from error
        return self._columns[name]

    def stated_names(self) -> list[str]:
        """Return the names of diseases that sources state, their ids where none does; a match's is another's."""
        columns = (self.values("disease", column).values() for column in ("id", "name", "name_source"))
        return [id if source in ("id", "match") else name or "" for id, name, source in zip(*columns, strict=True)]

    def _mapped(self, name: str) -> dict[str, Column]:
        rows, kinds = self.rows(name), TABLES[name]
        if not rows:
            return {column: Column.absent(kind, 0) for column, kind in kinds.items()}
        found = mapped_columns(self._file(name), rows, self._manifest.get("columns", {}).get(name))
        for column, kind in kinds.items():
            if (name, column) in ADDED:
                found.setdefault(column, Column.absent(kind, rows))
        if any(len(each) != rows for each in found.values()) or {c: each.kind for c, each in found.items()} != kinds:
            raise ValueError(f"it does not have {rows:,} rows of these columns")
        for column, of in ENDS.get(name, {}).items():
            ends = found[column].array()
            if ends.min() < 0 or ends.max() >= self.rows(of):
                raise ValueError(f"its column {column} names rows that {of} does not have")
        return {column: found[column] for column in kinds}

    def _file(self, name: str) -> Path:
        return self._path / f"{name}.arrow"

    def _unreadable(self, name: str, error: Exception) -> StoreError:
        hint = "build the graph again with `kgdx build`"
        return StoreError(f"the snapshot file {self._file(name)} cannot be read ({error})", hint=hint)

    def derived(self, name: str, version: int | str, compute: Callable[[Path], None]) -> Path:
        """Return the folder of something computed from this snapshot, computing it once.

        ``compute`` fills an empty folder that gets its final name when it is complete: processes that ask at the same
        time each compute, the first one's result stays, and an interrupted one leaves nothing that counts.
        """
        if not re.fullmatch(r"[\w.-]+", f"{name}-{version}"):
            raise StoreError(f"a derived part cannot be called {name!r}-{version!r}", hint="use letters and digits")
        target = self._path / DERIVED / f"{name}-{version}"
        if target.is_dir():
            if _is_sound(target):
                return target
            self.discard(name, version, said=True)
        hint = "make the graph folder writable, or build the graph again with `kgdx build`"
        with refusing(StoreError, f"cannot write {target.parent}", hint):
            target.parent.mkdir(FOLDER, exist_ok=True)
            for left in target.parent.glob(".*"):  # by processes that were killed
                with suppress(FileNotFoundError):  # another process was first
                    if time.time() - left.stat().st_mtime > _LEFT_S:
                        shutil.rmtree(left, ignore_errors=True)
            temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
        try:
            compute(temporary)
            known.write_list(temporary / LIST, known.known(temporary, known.listed(temporary)))
            known.place(temporary, target)
        except OSError as error:
            if not target.is_dir():  # otherwise another process was first, and its result is as good
                hint = "free some disk space and try again"
                raise StoreError(f"cannot write {target} ({error})", hint=hint) from error
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
        return target

    def has_derived(self, name: str, version: int | str) -> bool:
        """Whether something was computed from this snapshot already; arguments as for :meth:`derived`."""
        return (self._path / DERIVED / f"{name}-{version}").is_dir()

    def discard(self, name: str, version: int | str, *, said: bool = False) -> None:
        """Remove something that was computed from this snapshot and is damaged; it can be computed anew."""
        target = self._path / DERIVED / f"{name}-{version}"
        if said and self._tell is not None:
            self._tell(f"{target} is damaged and made again")
        try:
            aside = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
            with suppress(FileNotFoundError):  # another process was first
                os.rename(target, aside / "damaged")
            shutil.rmtree(aside, ignore_errors=True)
        except OSError as error:
            hint = "make the graph folder writable, or build the graph again with `kgdx build`"
            raise StoreError(f"cannot remove the damaged {target} ({error})", hint=hint) from error

    def _known(self, name: str) -> str:
        if name not in TABLES:
            raise StoreError(f"the snapshot has no table {name!r}", hint=f"one of {', '.join(TABLES)}")
        return name


def _is_sound(folder: Path) -> bool:
    listed = known.read_list(folder / LIST)
    if listed is None or known.faults(folder, listed):
        return False
    if known.touched(folder, listed):
        with suppress(OSError):  # a folder for reading only is read through again each time
            known.write_list(folder / LIST, known.known(folder, listed))
    return True


def _checksum(manifest: Mapping[str, Any]) -> str:
    return known.digest_of({name: value for name, value in manifest.items() if name != "checksum"})


def write_manifest(folder: Path, fingerprint: str, tables: Mapping[str, int]) -> None:
    """Write the manifest of a snapshot whose files are there, and bring all of it to the disk."""
    listed = known.known(folder, [f"{name}.arrow" for name, rows in tables.items() if rows])
    placed = {name: places(folder / f"{name}.arrow")[0] for name, rows in tables.items() if rows}
    about = {"format": FORMAT, "fingerprint": fingerprint, "tables": dict(tables), "files": known.as_document(listed)}
    about["columns"] = placed
    known.write_whole(folder / MANIFEST, json.dumps({**about, "checksum": _checksum(about)}))


@dataclass(frozen=True, slots=True)
class AnnotationColumns:
    """What each row of an annotation table says; each of shape (rows,).

    Attributes:
        share: Of a frequency class (the middle of its range) or a percentage, 0 to 1; NaN where there is neither.
        positive: Patients with the phenotype; NaN where there is no count.
        patients: Patients looked at; NaN where there is no count.
    """

    share: Floats
    positive: Floats
    patients: Floats

    @property
    def frequency(self) -> Floats:
        """The count's share where there is a count, else the class or percentage; NaN where nothing is stated."""
        with np.errstate(invalid="ignore", divide="ignore"):
            counted = np.minimum(self.positive / self.patients, 1.0)
        return np.where(self.patients > 0, counted, self.share)


def stated(snapshot: Snapshot, table: str) -> AnnotationColumns:
    """Return what the rows of ``has_phenotype`` or ``lacks_phenotype`` state."""
    share = np.full(snapshot.rows(table), np.nan)
    classes = snapshot.column(table, "frequency_class")
    for name, each in FREQUENCIES.items():
        share[classes == name] = each.share
    percentage = snapshot.column(table, "percentage").astype(float)
    share = np.where(np.isnan(share), percentage / 100, share)
    positive, patients = (snapshot.column(table, name).astype(float) for name in ("numerator", "denominator"))
    return AnnotationColumns(share, positive, patients)
