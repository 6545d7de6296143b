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
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from kgdx.arrays.sparse import Floats
from kgdx.errors import StaleSnapshotError, StoreError
from kgdx.schema.model import FREQUENCIES

FORMAT = 5
"""Version of the files' layout; a snapshot of another one is refused and compiled again."""

MANIFEST = "snapshot.json"
DERIVED = "derived"

_S = pa.string()
_L = pa.list_(pa.string())
_I = pa.int32()
_ANNOTATION = {
    "disease": _I,
    "phenotype": _I,
    "frequency": _S,
    "numerator": pa.int64(),
    "denominator": pa.int64(),
    "percentage": pa.float64(),
    "frequency_class": _S,
    "onset": _S,
    "sex": _S,
    "modifiers": _L,
    "evidence": _S,
    "reference": _S,
    "aspect": _S,
    "source": _S,
}

_NAMED = {"id": _S, "name": _S, "language": _S}
_STATED = {"source": _S, "reference": _S, "score": pa.float64()}
_TREATED = {"disease": _I, "drug": _I, "source": _S}

TABLES: Mapping[str, Mapping[str, pa.DataType]] = {
    "disease": {
        "id": _S,
        "name": _S,
        "name_zh": _S,
        "synonyms": _L,
        "definition": _S,
        "source": _S,
        "onset_ages": _L,
        "inheritance": _L,
    },
    "phenotype": {
        "id": _S,
        "name": _S,
        "name_zh": _S,
        "definition": _S,
        "synonyms": _L,
        "synonym_scopes": _L,
        "alt_ids": _L,
        "xrefs": _L,
        "obsolete": pa.bool_(),
        "replaced_by": _S,
        "consider": _L,
    },
    "gene": {"id": _S, "name": _S, "xrefs": _L},
    "symptom": {"id": _S, "name": _S, "name_zh": _S, "synonyms": _L, "language": _S},
    "test": _NAMED,
    "drug": _NAMED,
    "cure": _NAMED,
    "document": {"id": _S, "title": _S, "text": _S, "language": _S},
    "patient_case": {
        "id": _S,
        "label": _S,
        "sex": _S,
        "age": _S,
        "synthetic": pa.bool_(),
        "source": _S,
        "publications": _L,
        "diseases": _L,
    },
    "is_a": {"child": _I, "parent": _I},
    "has_phenotype": _ANNOTATION,
    "lacks_phenotype": _ANNOTATION,
    "same_as": {
        "start": _I,
        "end": _I,
        "relation": _S,
        "method": _S,
        "score": pa.float64(),
        "evidence": _L,
        "source": _S,
    },
    "associated_gene": {"disease": _I, "gene": _I, "source": _S, "association": _S, "publications": _L},
    "disease_protein": {"disease": _I, "gene": _I, "source": _S},
    "has_symptom": {"disease": _I, "symptom": _I, **_STATED, "antecedent": pa.bool_()},
    "symptom_phenotype": {"symptom": _I, "phenotype": _I, "relation": _S, "source": _S},
    "recommend_test": {"disease": _I, "test": _I, **_STATED},
    "recommend_drug": {"disease": _I, "drug": _I, **_STATED},
    "recommend_cure": {"disease": _I, "cure": _I, **_STATED},
    "has_comorbidity": {"start": _I, "end": _I, **_STATED},
    "mentions": {"document": _I, "disease": _I, "source": _S},
    "indication": _TREATED,
    "off_label_use": _TREATED,
    "contraindication": _TREATED,
    "observed": {"case": _I, "phenotype": _I, "source": _S},
    "excluded": {"case": _I, "phenotype": _I},
}
"""Tables and their columns. Node tables are sorted by id, edge tables by their columns from left to right; an edge's
ends are rows (int32) of the node tables. A table without rows has no file."""


class Snapshot:
    """A compiled snapshot, opened for reading.

    Tables and columns are views of memory-mapped files: they cost nothing until they are read, are shared between
    processes, and must not be changed.

    Example:
        >>> from tempfile import mkdtemp
        >>> import pyarrow as pa
        >>> from kgdx.graph.snapshot_compile import compile_snapshot
        >>> from kgdx.graph.protocol import NodeTable
        >>> rows = pa.table({"id": ["HP:2", "HP:1"], "name": ["Fever", "Cough"]})
        >>> snapshot = compile_snapshot([NodeTable("Phenotype", rows)], Path(mkdtemp()) / "s", fingerprint="f")
        >>> snapshot.column("phenotype", "name").tolist()
        ['Cough', 'Fever']
    """

    def __init__(self, path: Path, manifest: Mapping[str, Any]) -> None:
        self._path = path
        self._manifest = manifest
        self._tables: dict[str, pa.Table] = {}

    @classmethod
    def open(cls, path: str | os.PathLike[str], fingerprint: str | None = None) -> Snapshot:
        """Open the snapshot in ``path``.

        Args:
            path: The snapshot's folder.
            fingerprint: That of the graph it must belong to; ``None`` takes it as it is.

        Raises:
            StoreError: There is no snapshot, or its manifest is damaged.
            StaleSnapshotError: It was compiled from another state of the graph, or by another version.
        """
        path = Path(path)
        try:
            manifest = json.loads((path / MANIFEST).read_bytes())
            layout, found = manifest["format"], manifest["fingerprint"]
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
        return cls(path, manifest)

    @property
    def path(self) -> Path:
        """The snapshot's folder."""
        return self._path

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the build that it was compiled from."""
        return str(self._manifest["fingerprint"])

    def rows(self, name: str) -> int:
        """Return the number of rows of a table, without opening it."""
        return int(self._manifest["tables"][self._known(name)])

    def table(self, name: str) -> pa.Table:
        """Return a table, memory-mapped, in one chunk per column.

        Args:
            name: One of :data:`TABLES`.

        Raises:
            StoreError: No such table, or its file cannot be read.
        """
        if name not in self._tables and not self.rows(name):
            self._tables[name] = pa.schema(list(TABLES[name].items())).empty_table()
        if name not in self._tables:
            file = self._path / f"{name}.arrow"
            try:
                self._tables[name] = pa.ipc.open_file(pa.memory_map(str(file))).read_all()
            except (OSError, pa.ArrowException) as error:
                hint = "build the graph again with `kgdx build`"
                raise StoreError(f"the snapshot file {file} cannot be read ({error})", hint=hint) from error
        return self._tables[name]

    def column(self, name: str, column: str) -> np.ndarray[Any, Any]:
        """Return one column as a NumPy array.

        Row indices (int32) come without a copy. Integers and floats with absent values come as float64 with NaN,
        strings and lists as objects with ``None``.
        """
        table = self.table(name)
        if column not in table.column_names:
            raise StoreError(f"the snapshot table {name} has no column {column!r}")
        values = table.column(column)
        array = values.chunk(0) if values.num_chunks == 1 else values.combine_chunks()
        plain = not array.null_count and (pa.types.is_integer(array.type) or pa.types.is_floating(array.type))
        # `to_numpy` imports pandas wherever that is installed, which takes as long as a diagnosis.
        result: np.ndarray[Any, Any] = np.from_dlpack(array) if plain else array.to_numpy(zero_copy_only=False)
        return result

    def derived(self, name: str, version: int | str, compute: Callable[[Path], None]) -> Path:
        """Return the folder of something computed from this snapshot, computing it once.

        ``compute`` fills an empty folder that gets its final name when it is complete: processes that ask at the same
        time each compute, the first one's result stays, and an interrupted one leaves nothing that counts.

        Args:
            name: What it is, such as ``rank`` or ``dictionary``.
            version: Changes when the computation or its files do.
            compute: Writes the files into the folder it is given.
        """
        if not re.fullmatch(r"[\w.-]+", f"{name}-{version}"):
            raise StoreError(f"a derived part cannot be called {name!r}-{version!r}", hint="use letters and digits")
        target = self._path / DERIVED / f"{name}-{version}"
        if target.is_dir():
            return target
        try:
            target.parent.mkdir(exist_ok=True)
            temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
        except OSError as error:
            hint = "make the graph folder writable, or build the graph again with `kgdx build`"
            raise StoreError(f"cannot write {target.parent} ({error})", hint=hint) from error
        try:
            compute(temporary)
            temporary.chmod(0o755)
            os.rename(temporary, target)
        except OSError as error:
            if not target.is_dir():  # otherwise another process was first, and its result is as good
                hint = "free some disk space and try again"
                raise StoreError(f"cannot write {target} ({error})", hint=hint) from error
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
        return target

    def discard(self, name: str, version: int | str) -> None:
        """Remove something that was computed from this snapshot and is damaged; it can be computed anew.

        Args:
            name: As for :meth:`derived`.
            version: As for :meth:`derived`.

        Raises:
            StoreError: The folder cannot be written.
        """
        target = self._path / DERIVED / f"{name}-{version}"
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


@dataclass(frozen=True, slots=True)
class Stated:
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


def stated(snapshot: Snapshot, table: str) -> Stated:
    """Return what the rows of ``has_phenotype`` or ``lacks_phenotype`` state."""
    import pyarrow as pa
    import pyarrow.compute as pc

    share = np.full(snapshot.rows(table), np.nan)
    classes = snapshot.table(table).column("frequency_class")
    found = pc.index_in(classes, value_set=pa.array(list(FREQUENCIES))).to_numpy(zero_copy_only=False)
    known = ~np.isnan(found) if found.dtype.kind == "f" else np.ones(len(found), bool)
    share[known] = np.array([each.share for each in FREQUENCIES.values()])[found[known].astype(int)]
    percentage = snapshot.column(table, "percentage").astype(float)
    share = np.where(np.isnan(share), percentage / 100, share)
    positive, patients = (snapshot.column(table, name).astype(float) for name in ("numerator", "denominator"))
    return Stated(share, positive, patients)
