"""What each node is linked with, and what is typical of diseases: arrays for compiled templates."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kgdx.arrays.columns import Column, mapped_columns
from kgdx.arrays.sparse import Floats, Ints, mapped
from kgdx.errors import StoreError
from kgdx.graph.snapshot import TABLES, Snapshot, stated

if TYPE_CHECKING:
    from kgdx.graph.protocol import Row, Store

VERSION = 1
"""Changes when the files or their meaning do; older ones are made again."""
_SQUARINGS = 4  # 2**4 steps, and 4 more: as many as the template follows
_EITHER = "has_comorbidity"
"""The relation whose edges say the same of both of their ends."""


@dataclass(frozen=True, slots=True)
class Links:
    """What each node is linked with, such as the diseases of each phenotype.

    Attributes:
        start: Where each node's entries begin; shape (nodes + 1,).
        linked: Rows of what it is linked with, ascending and once for each node.
    """

    start: Ints
    linked: Ints

    def of(self, node: int) -> Ints:
        return self.linked[self.start[node] : self.start[node + 1]]

    def has(self, node: int, wanted: Ints) -> Ints:
        """Return for each of some rows whether the node is linked with it."""
        found = self.of(node)
        if not len(found):
            return np.zeros(len(wanted), bool)
        at = np.minimum(np.searchsorted(found, wanted), len(found) - 1)
        result: Ints = found[at] == wanted
        return result


def links(snapshot: Snapshot, name: str, nodes: str, edges: Sequence[str], *, closed: bool) -> Links:
    """Open the links of a template, put together when they are first asked for."""

    def compute(folder: Path) -> None:
        disease, node = _pairs(snapshot, edges)
        if closed:
            disease, node = _with_those_above(snapshot, disease, node)
        size = max(snapshot.rows("disease"), 1)
        unique = np.unique(node.astype(np.int64) * size + disease)
        start = np.searchsorted(unique, np.arange(snapshot.rows(nodes) + 1, dtype=np.int64) * size)
        np.save(folder / "start.npy", start)
        np.save(folder / "disease.npy", (unique % size).astype(np.int32))

    folder = snapshot.derived(f"links-{name}", VERSION, compute)
    try:
        start, disease = (mapped(folder / f"{part}.npy") for part in ("start", "disease"))
    except (OSError, EOFError, ValueError) as error:
        raise _damaged(folder, error) from error
    return Links(start, disease)


def stated_by_either(snapshot: Snapshot) -> dict[str, Column]:
    """Return ``has_comorbidity`` as each of its ends sees it, each statement once, with the best score."""

    def compute(folder: Path) -> None:
        import pyarrow as pa
        import pyarrow.compute  # registers the kernels of group_by and sort_by

        stated = snapshot.table(_EITHER)
        turned = stated.select(["end", "start", *stated.column_names[2:]]).rename_columns(stated.column_names)
        keys = stated.column_names[:-1]
        both = pa.concat_tables([stated, turned]).group_by(keys).aggregate([("score", "max")])
        both = both.select([*keys, "score_max"]).rename_columns(stated.column_names)
        both = both.sort_by([(key, "ascending") for key in keys]).combine_chunks()
        file = str(folder / "table.arrow")
        with pa.OSFile(file, "wb") as sink, pa.ipc.new_file(sink, both.schema) as writer:
            writer.write_table(both, max_chunksize=max(1, both.num_rows))

    folder = snapshot.derived("either", VERSION, compute)
    try:
        return mapped_columns(folder / "table.arrow")
    except (OSError, ValueError) as error:
        raise _damaged(folder, error) from error


def kept_rows(snapshot: Snapshot, name: str, store: Callable[[], Store]) -> tuple[Row, ...]:
    """Return the rows of a template that no save changes, ``sources`` or ``build``, asked for once a build."""

    def compute(folder: Path) -> None:
        (folder / "rows.json").write_text(json.dumps(store().run(name), ensure_ascii=False), encoding="utf-8")

    folder = snapshot.derived(f"rows-{name}", VERSION, compute)
    try:
        return tuple(json.loads((folder / "rows.json").read_bytes()))
    except (OSError, ValueError) as error:
        raise _damaged(folder, error) from error


def typical(snapshot: Snapshot, unstated: float) -> tuple[Ints, Ints, Floats]:
    """Return what diseases present with, the most frequent first.

    Returns:
        Where each disease's entries begin, shape (diseases + 1,); and for each entry the phenotype's row and the
        highest share that a row states, NaN for none.
    """
    said = stated(snapshot, "has_phenotype")
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(said.patients > 0, said.positive / said.patients, said.share)
    aspects = snapshot.values("has_phenotype", "aspect")
    use = np.array([each is None or each == "P" for each in aspects], bool)
    disease, term = (snapshot.column("has_phenotype", name)[use].astype(np.int64) for name in ("disease", "phenotype"))
    pairs, owner = np.unique(disease * snapshot.rows("phenotype") + term, return_inverse=True)
    highest = np.full(len(pairs), -1.0)
    np.maximum.at(highest, owner, np.nan_to_num(share[use], nan=-1.0))
    disease, term = np.divmod(pairs, max(snapshot.rows("phenotype"), 1))
    order = np.lexsort((term, -np.where(highest < 0, unstated, highest), disease))
    start = np.searchsorted(disease, np.arange(snapshot.rows("disease") + 1))
    return start, term[order], np.where(highest < 0, np.nan, highest)[order]


def _pairs(snapshot: Snapshot, edges: Sequence[str]) -> tuple[Ints, Ints]:
    diseases, nodes = [], []
    for name in edges:
        first, second = tuple(TABLES[name])[:2]
        diseases.append(snapshot.column(name, first))
        nodes.append(snapshot.column(name, second))
        if name == _EITHER:
            diseases.append(nodes[-1])
            nodes.append(diseases[-2])
    return np.concatenate(diseases), np.concatenate(nodes)


def _with_those_above(snapshot: Snapshot, disease: Ints, node: Ints) -> tuple[Ints, Ints]:
    """The pairs, and those of each disease with what is above its nodes, as far as the template follows."""
    from scipy import sparse

    size = snapshot.rows("phenotype")
    child, parent = (snapshot.column("is_a", end) for end in ("child", "parent"))
    reach = sparse.csr_array((np.ones(len(child), bool), (child, parent)), shape=(size, size))
    reach = reach + sparse.eye_array(size, dtype=bool, format="csr")
    for done in range(_SQUARINGS):
        reach = reach @ reach
        if done == 1:
            four = reach
    reach = reach @ four
    shape = snapshot.rows("disease"), size
    found = (sparse.csr_array((np.ones(len(node), bool), (disease, node)), shape=shape) @ reach).tocoo()
    return found.row, found.col


def _damaged(folder: Path, error: Exception) -> StoreError:
    hint = "build the graph again with `kgdx build`"
    return StoreError(f"what was compiled in {folder} cannot be read ({error})", hint=hint)
