"""Compiles a snapshot into the ranking model: arrays in a folder, memory-mapped when they are read."""

from __future__ import annotations

from dataclasses import dataclass, fields
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kgdx.arrays.sparse import Ints, Sparse, ancestors, compressed, mapped, transposed
from kgdx.errors import StoreError
from kgdx.rank import neighbours
from kgdx.rank.annotations import Rows, listed, pooled, read_rows, repeated, with_groups
from kgdx.rank.candidates import PREFERRED, Candidates, merged, nested
from kgdx.rank.descriptions import described, joined, pseudo_annotations
from kgdx.rank.families import Families, families
from kgdx.rank.feature_matrices import Basis, Columns, by_row, columns, opposites, propagate, term_statistics

if TYPE_CHECKING:
    from kgdx.graph.snapshot import Snapshot

VERSION = 16
"""Changes when the model's arrays or their meaning do; older ones are compiled again."""
ROOT = "HP:0000118"
"""Phenotypic abnormality: only terms under it take part."""
MAPPED = "kgdx:alignment"
"""Source of equivalences that rest on names alone: ways between vocabularies, no reason to rank two entries as one."""


@dataclass(frozen=True, slots=True)
class RankModel:
    """Everything that ranking needs, as arrays.

    ``alike`` leads from a candidate to those with similar annotations, ``related`` to those with similar names or
    common genes, with their shares; ``propagated`` is the transpose of ``columns.frequency``. ``curated`` are those
    that have annotations of their own or of a broader group, not only symptoms in words.
    """

    candidates: Candidates
    basis: Basis
    columns: Columns
    alike: Sparse
    related: Sparse
    propagated: Sparse
    curated: Ints
    families: Families

    @classmethod
    def open(cls, folder: Path) -> RankModel:
        try:
            model: RankModel = read_part(cls, folder, "")
            if (wrong := model.misfit()) is not None:
                raise ValueError(f"{wrong} has an index out of bounds")
        except (OSError, EOFError, ValueError) as error:
            hint = "build the graph again with `kgdx build`"
            raise StoreError(f"the ranking model in {folder} cannot be read ({error})", hint=hint) from error
        return model

    def misfit(self) -> str | None:
        """Return which part has an index out of bounds, as in files that something has damaged; ``None`` for none."""
        terms, size, diseases = len(self.basis.ic), self.columns.size, len(self.candidates.of)
        entries, families = len(self.candidates.members.start) - 1, len(self.families.members.start) - 1
        matrices = (
            (terms, "basis.up basis.down basis.opposite columns.annotated columns.lacking propagated"),
            (size, "columns.frequency columns.ratio columns.contrary alike related families.members"),
            (diseases, "candidates.members"),
        )
        for end, names in matrices:
            for name in names.split():
                if not attrgetter(name)(self).fits(end):
                    return name
        numbers = (
            (0, diseases, "candidates.disease"),
            (-1, size, "candidates.of"),
            (0, entries, "candidates.narrow candidates.broad"),
            (-1, entries, "candidates.entry"),
            (0, families, "families.of"),
        )
        for least, end, names in numbers:
            for name in names.split():
                values = attrgetter(name)(self)
                if len(values) and (values.min() < least or values.max() >= end):
                    return name
        return None


def open_model(snapshot: Snapshot) -> RankModel:
    """Open the ranking model of a snapshot, compiled where there is none yet, and again where it is damaged."""
    try:
        return RankModel.open(compile_model(snapshot))
    except StoreError:
        if not snapshot.has_derived("rank", VERSION):
            raise
    snapshot.discard("rank", VERSION, said=True)
    return RankModel.open(compile_model(snapshot))


def compile_model(snapshot: Snapshot) -> Path:
    return snapshot.derived("rank", VERSION, lambda folder: write_part(build_model(snapshot), folder, ""))


def build_model(snapshot: Snapshot) -> RankModel:
    """Compute the ranking model of a snapshot."""
    up = _ontology(snapshot)
    terms = snapshot.rows("phenotype")
    inside = np.diff(up.start) > 0
    rows = read_rows(snapshot)
    candidates = _candidates(snapshot, rows, inside)
    size = len(candidates.disease)
    if not size:
        raise StoreError("the graph annotates no disease with phenotypes", hint="load some, for example `kgdx build`")
    annotations, lacking = pooled(rows, candidates.entry, inside)
    annotations = with_groups(annotations, candidates.narrow, candidates.broad, terms).below(size)
    lacking = lacking.below(size)
    stated = propagate(annotations, up)
    curated = np.bincount(stated.candidate, minlength=size) > 0
    # What terms tell, and which diseases are alike, rests on curated annotations alone: lists of symptoms in words name
    # everyday findings, and would make these look rarer among rare diseases than they are.
    ic, background = term_statistics(stated, terms, max(int(curated.sum()), 1))
    ids, names = (snapshot.column("phenotype", name).tolist() for name in ("id", "name"))
    basis = Basis(up, transposed(up, terms), ic, background, opposites(ids, names, up))
    weighted = stated.frequency * ic[stated.term]
    features = neighbours.annotation_features(stated.term, stated.candidate, weighted, (size, terms))
    alike = neighbours.nearest(features, neighbours.ANNOTATION_SHARE)
    related = _related(snapshot, candidates, curated)
    shares = alike.array(size) + related.array(size)
    lent = shares @ by_row(stated, size).array(terms)
    annotations = joined(annotations, listed(rows, candidates.of, inside, lacking), terms)
    annotations = joined(annotations, pseudo_annotations(snapshot, candidates, inside), terms)
    propagated = propagate(annotations, up)
    matrices = columns(annotations, lacking, propagated, basis, size, lent)
    frequency = by_row(propagated, size)
    narrow = np.uint16 if terms <= np.iinfo(np.uint16).max else np.int32
    kept = Sparse(frequency.start, frequency.index.astype(narrow), frequency.values.astype(np.float16))
    kin = families(snapshot, candidates, _names(snapshot, candidates), _groups(snapshot))
    return RankModel(candidates, basis, matrices, alike, related, kept, curated, kin)


def _ontology(snapshot: Snapshot) -> Sparse:
    ids = snapshot.column("phenotype", "id")
    found = np.flatnonzero(ids == ROOT)
    if not len(found) and snapshot.rows("has_symptom"):
        none = np.zeros(0, np.int32)
        return compressed(none, none, none.astype(np.int8), len(ids))
    if not len(found):
        raise StoreError(f"the graph has no {ROOT} (Phenotypic abnormality)", hint="load the Human Phenotype Ontology")
    child, parent = (snapshot.column("is_a", end) for end in ("child", "parent"))
    return ancestors(child, parent, len(ids), int(found[0]))


def _candidates(snapshot: Snapshot, rows: Rows, inside: Ints) -> Candidates:
    ids = snapshot.column("disease", "id").tolist()
    use = inside[rows.term] & ((rows.positive > 0) | (rows.patients == 0))
    having = (np.bincount(rows.disease[which], minlength=len(ids)) > 0 for which in (use, use & ~rows.listed))
    annotated, stated = (described(snapshot, each) for each in having)
    start, end, relation = _equivalences(snapshot)
    exact, groups = relation == "exact", _groups(snapshot)
    found = merged(ids, annotated, stated, (start[exact], end[exact]), groups)
    return nested(found, ids, *groups, repeated(rows, found.of, inside))


def _equivalences(snapshot: Snapshot) -> tuple[Ints, Ints, Ints]:
    stated = snapshot.column("same_as", "source") != MAPPED
    start, end, relation = (snapshot.column("same_as", name)[stated] for name in ("start", "end", "relation"))
    return start, end, relation


def _groups(snapshot: Snapshot) -> tuple[Ints, Ints]:
    start, end, relation = _equivalences(snapshot)
    broader, narrower = (relation == kind for kind in ("broader", "narrower"))
    return np.concatenate([start[broader], end[narrower]]), np.concatenate([end[broader], start[narrower]])


def _names(snapshot: Snapshot, candidates: Candidates) -> list[str]:
    ids, names = snapshot.column("disease", "id"), snapshot.stated_names()
    pairs = zip(ids, names, strict=True)
    named = np.array([id.startswith(PREFERRED) and name not in (None, "", id) for id, name in pairs])
    rows = map(candidates.members.columns, range(len(candidates.disease)))
    return [next((names[row] for row in each[named[each]].tolist()), "") for each in rows]


def _related(snapshot: Snapshot, candidates: Candidates, curated: Ints) -> Sparse:
    size = len(candidates.disease)
    owner = np.repeat(np.arange(size), np.diff(candidates.members.start[: size + 1]))
    rows = candidates.members.index[: len(owner)][curated[owner]]
    names = snapshot.stated_names()
    named = neighbours.by_name([names[row] for row in rows.tolist()], owner[curated[owner]], size)
    disease, gene = (snapshot.column("associated_gene", end) for end in ("disease", "gene"))
    candidate = candidates.of[disease]
    use = (candidate >= 0) & curated[candidate]
    genes = neighbours.weighted(candidate[use], gene[use], (size, snapshot.rows("gene")))
    both = named.array(size) + neighbours.nearest(genes, neighbours.GENE_SHARE).array(size)
    return Sparse(both.indptr, both.indices, both.data)


def write_part(part: Any, folder: Path, prefix: str) -> None:
    for field in fields(part):
        value = getattr(part, field.name)
        if isinstance(value, np.ndarray):
            np.save(folder / f"{prefix}{field.name}.npy", value, allow_pickle=False)
        else:
            write_part(value, folder, f"{prefix}{field.name}.")


_PARTS = {"Candidates": Candidates, "Basis": Basis, "Columns": Columns, "Sparse": Sparse, "Families": Families}


def read_part(kind: Any, folder: Path, prefix: str) -> Any:
    values = {}
    for field in fields(kind):
        part = _PARTS.get(str(field.type))
        name = f"{prefix}{field.name}"
        values[field.name] = mapped(folder / f"{name}.npy") if part is None else read_part(part, folder, f"{name}.")
    return kind(**values)
