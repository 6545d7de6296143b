"""Which diseases anything describes, and what their symptoms in words say in terms of the ontology.

A disease takes part in ranking where the graph has phenotypes, symptoms, a text, tests or patients of it;
a label that only patients have does not. Its symptoms
in words that name a phenotype become pseudo-annotations, so that a finding given as a term finds it, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kgdx.arrays.sparse import Floats, Ints
from kgdx.case.patient import Status
from kgdx.rank.annotations import Annotations
from kgdx.terms.normalise import fold_name, has_chinese, read_table

if TYPE_CHECKING:
    from kgdx.graph.snapshot import Snapshot
    from kgdx.rank.candidates import Candidates

ARTICLE_FREQUENCY = 0.45
"""Frequency of a symptom that an English article names."""
LIST_FREQUENCY = 0.35
"""Frequency of a symptom in a Chinese list, which is long and unsorted."""
LABELS = "KGDX:"
"""Ids of names that a source of cases or of one's own brought: as the label of a patient alone it is no candidate."""
_ENDS = {"has_symptom": "disease", "recommend_test": "disease", "mentions": "disease"}


@cache
def group_names() -> frozenset[str]:
    """Return the folded names that stand for groups of diseases and are no diagnosis."""
    rows = read_table(Path(__file__).with_name("groups.tsv"))
    return frozenset(fold_name(name) for row in rows for name in row if name)


def described(snapshot: Snapshot, annotated: Ints) -> Ints:
    """Return which disease rows anything describes; names of groups are left out where no phenotype is annotated."""
    found = np.zeros(len(annotated), bool)
    for table, end in _ENDS.items():
        found[snapshot.column(table, end)] = True
    if snapshot.rows("patient_case"):
        known = {id for ids in snapshot.column("patient_case", "diseases") for id in ids}
        ids = snapshot.column("disease", "id").astype(str)
        found |= np.isin(ids, sorted(known)) & ~np.char.startswith(ids, LABELS)
    if found.any():
        columns = (snapshot.values("disease", name).values() for name in ("source", "definition"))
        listing = {source for source in snapshot.column("has_symptom", "source").tolist() if source}
        found |= np.array([bool(text) and source in listing for source, text in zip(*columns, strict=True)], bool)
        names = snapshot.column("disease", "name").tolist()
        groups = group_names()
        rows = np.flatnonzero(found & ~annotated).tolist()
        found[[row for row in rows if fold_name(names[row] or "") in groups]] = False
    return found | annotated


@dataclass(frozen=True, slots=True)
class SymptomPhrases:
    """Symptoms in words of the candidates, each pair once, sorted by candidate and symptom.

    ``texts`` is what each row of the symptom table is called: its names and synonyms, in any language.
    """

    candidate: Ints
    symptom: Ints
    texts: list[tuple[str, ...]]


def phrases(snapshot: Snapshot, candidates: Candidates, *, risks: bool = True) -> SymptomPhrases:
    """Return the candidates' symptoms in words, with or without what came before the illness."""
    disease, symptom = (snapshot.column("has_symptom", end).astype(np.int64) for end in ("disease", "symptom"))
    of = candidates.of[disease].astype(np.int64)
    if not risks:
        of[[each is True for each in snapshot.column("has_symptom", "antecedent").tolist()]] = -1
    size = max(snapshot.rows("symptom"), 1)
    keys = np.unique(of[of >= 0] * size + symptom[of >= 0])
    columns = (snapshot.values("symptom", name).values() for name in ("name", "name_zh", "synonyms"))
    texts = [
        tuple(dict.fromkeys(filter(None, (name, chinese, *(synonyms or ())))))
        for name, chinese, synonyms in zip(*columns, strict=True)
    ]
    return SymptomPhrases((keys // size).astype(np.int32), (keys % size).astype(np.int32), texts)


def pseudo_annotations(snapshot: Snapshot, candidates: Candidates, inside: Ints) -> Annotations:
    """Return what the candidates' symptoms in words say as annotations of terms ``inside``, sorted by both."""
    known = phrases(snapshot, candidates)
    used = np.unique(known.symptom).tolist()
    terms = _terms_of({row: known.texts[row][0] for row in used if known.texts[row]}, snapshot, inside)
    share = {row: LIST_FREQUENCY if has_chinese(known.texts[row][0]) else ARTICLE_FREQUENCY for row in terms}
    best: dict[tuple[int, int], float] = {}
    for candidate, symptom in zip(known.candidate.tolist(), known.symptom.tolist(), strict=True):
        for term in terms.get(symptom, ()):
            key = candidate, term
            best[key] = max(best.get(key, 0.0), share[symptom])
    keys = sorted(best)
    columns = np.array(keys, np.int32).reshape(-1, 2)
    return Annotations(columns[:, 0], columns[:, 1], np.array([best[key] for key in keys], np.float32))


def _terms_of(texts: dict[int, str], snapshot: Snapshot, inside: Ints) -> dict[int, list[int]]:
    mapped, vocabularies = _mapped(snapshot, inside)
    vocabulary = [id.split(":")[0] for id in snapshot.values("symptom", "id").values()]
    found = {symptom: mapped[symptom] for symptom in texts if symptom in mapped}
    unmapped = {row: text for row, text in texts.items() if row not in found and vocabulary[row] not in vocabularies}
    if not unmapped:
        return found
    from kgdx.terms.extractor import Extractor

    reader = Extractor.open(snapshot)
    rows = {id: row for row, id in enumerate(snapshot.values("phenotype", "id").values())}
    for symptom, text in unmapped.items():
        present = (each for each in reader.extract(text).findings if each.status is Status.PRESENT)
        named = [rows[each.id] for each in present if inside[rows[each.id]]]
        if named:
            found[symptom] = list(dict.fromkeys(named))
    return found


def _mapped(snapshot: Snapshot, inside: Ints) -> tuple[dict[int, list[int]], set[str]]:
    ids = snapshot.values("symptom", "id").values()
    found: dict[int, list[int]] = {}
    vocabularies: set[str] = set()
    columns = (snapshot.column("symptom_phenotype", name).tolist() for name in ("symptom", "phenotype", "source"))
    for symptom, term, source in zip(*columns, strict=True):
        if inside[term]:
            found.setdefault(symptom, []).append(term)
            if stated(source):
                vocabularies.add(ids[symptom].split(":")[0])
    return found, vocabularies


def stated(source: str | None) -> bool:
    """Return whether a source states its relations itself, and they are not inferred."""
    return not (source or "").startswith("kgdx:")


def joined(one: Annotations, other: Annotations, terms: int) -> Annotations:
    """Return the annotations of both; where both state a pair, the first one's frequency holds."""
    if not len(other.term):
        return one
    key = np.concatenate([part.candidate.astype(np.int64) * terms + part.term for part in (one, other)])
    value: Floats = np.concatenate([one.frequency, other.frequency])
    keys, first = np.unique(key, return_index=True)
    kind = one.candidate.dtype
    return Annotations((keys // terms).astype(kind), (keys % terms).astype(kind), value[first])
