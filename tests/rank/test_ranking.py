"""The compiled numbers, worked out by hand on the small graph; statements of one reference count once."""

from __future__ import annotations

import os
import subprocess
import sys
from math import log
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import small_graph
from kgdx.errors import StoreError
from kgdx.graph.protocol import GraphTable, NodeTable, RelationTable
from kgdx.graph.snapshot import Snapshot
from kgdx.graph.snapshot_compile import compile_snapshot
from kgdx.rank import Ranker, compile_model
from kgdx.rank.annotations import LISTED_FREQUENCY, PRIOR_FREQUENCY, read_rows
from kgdx.rank.case_bank import compile_if_annotated
from kgdx.rank.ranking_model import RankModel
from small_graph import FEVER, HYPOTONIA, NERVOUS, RECESSIVE, ROOT, SEIZURE, SHORT, STATUS


def value(ranker: Ranker, disease: str, term: str) -> float:
    index, values = ranker.model.columns.frequency.row(ranker.names.terms[term])
    found = values[index == ranker.number_of(disease)]
    return float(found[0]) if len(found) else 0.0


def test_frequencies_pool_patients_of_all_members(ranker: Ranker) -> None:
    # 3 of 4, and "very frequent" as 4.5 of 5, drawn to 0.45 with the weight of 5 patients
    assert value(ranker, "OMIM:1", SEIZURE) == pytest.approx((3 + 4.5 + 5 * 0.45) / (4 + 5 + 5), abs=1e-3)
    assert value(ranker, "OMIM:2", SHORT) == pytest.approx(0.45, abs=1e-3)


def test_frequencies_are_carried_up_by_maximum(ranker: Ranker) -> None:
    assert value(ranker, "OMIM:1", STATUS) == pytest.approx((1 + 2.25) / 9, abs=1e-3)
    assert value(ranker, "OMIM:1", NERVOUS) == value(ranker, "OMIM:1", ROOT) == value(ranker, "OMIM:1", SEIZURE)
    assert value(ranker, "OMIM:1", FEVER) == 0


def test_information_content_counts_candidates_and_not_entries(ranker: Ranker) -> None:
    ic = ranker.model.basis.ic
    # fever is in one of four candidates; hypotonia in OMIM:1 = ORPHA:1 and in OMIM:2
    assert ic[ranker.names.terms[FEVER]] == pytest.approx(log(4))
    assert ic[ranker.names.terms[HYPOTONIA]] == pytest.approx(log(2))
    assert ic[ranker.names.terms[ROOT]] == 0


def test_terms_outside_phenotypic_abnormality_take_no_part(ranker: Ranker) -> None:
    assert value(ranker, "OMIM:4", RECESSIVE) == 0
    assert not len(ranker.model.basis.up.columns(ranker.names.terms[RECESSIVE]))


def test_a_disease_with_an_exact_counterpart_inherits_from_no_group(tmp_path: Path) -> None:
    same = [*small_graph.SAME, ("UMLS:2", "OMIM:1", "broader")]
    ranker = Ranker.open(compile_snapshot(small_graph.tables(same), tmp_path / "s", "f"))
    assert value(ranker, "OMIM:1", small_graph.FOCAL) == 0
    assert 0 < value(ranker, "OMIM:2", small_graph.FOCAL) < value(ranker, "UMLS:2", small_graph.FOCAL)


def test_narrower_read_backwards_is_broader(tmp_path: Path) -> None:
    turned = [("ORPHA:1", "OMIM:1", "exact"), ("OMIM:2", "UMLS:2", "narrower")]
    ranker = Ranker.open(compile_snapshot(small_graph.tables(turned), tmp_path / "s", "f"))
    assert value(ranker, "OMIM:2", small_graph.FOCAL) > 0


def test_the_model_is_compiled_once_and_the_same_each_time(snapshot: Snapshot, tmp_path: Path) -> None:
    folder = compile_model(snapshot)
    assert compile_model(snapshot) == folder
    other = compile_model(compile_snapshot(small_graph.tables(), tmp_path / "s", "f"))
    files = sorted(path.name for path in folder.glob("*.npy"))
    assert files == sorted(path.name for path in other.glob("*.npy"))
    assert all((folder / name).read_bytes() == (other / name).read_bytes() for name in files)


@pytest.mark.parametrize("left", [0, 20])
def test_a_damaged_model_says_what_to_do(snapshot: Snapshot, tmp_path: Path, left: int) -> None:
    for path in compile_model(snapshot).iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes()[:left])
    with pytest.raises(StoreError, match="cannot be read .*: build the graph again with `kgdx build`"):
        RankModel.open(tmp_path)


def test_a_graph_without_the_ontology_or_without_annotations_says_so(tmp_path: Path) -> None:
    everything = small_graph.tables()
    without = [t for t in everything if not (isinstance(t, NodeTable) and t.label in ("Phenotype", "PatientCase"))]
    bare = [t for t in without if isinstance(t, NodeTable)]
    with pytest.raises(StoreError, match="no HP:0000118"):
        compile_model(compile_snapshot(bare, tmp_path / "a", "f"))
    ontology = [t for t in everything if getattr(t, "label", "") == "Phenotype" or getattr(t, "type", "") == "IS_A"]
    with pytest.raises(StoreError, match="annotates no disease"):
        compile_model(compile_snapshot([*bare, *ontology], tmp_path / "b", "f"))


def test_a_mapping_by_name_joins_no_candidates(tmp_path: Path) -> None:
    tables = small_graph.tables([])
    for source, size in (("kgdx:alignment", 5), ("orphanet_omim", 4)):
        rows = {"start": ["ORPHA:1"], "end": ["OMIM:1"], "relation": ["exact"], "source": [source]}
        same = RelationTable("SAME_AS", "Disease", "Disease", pa.table(rows))
        graph = [table for table in tables if getattr(table, "type", "") != "SAME_AS"]
        ranker = Ranker.open(compile_snapshot([*graph, same], tmp_path / source, "f"))
        assert len(ranker.model.candidates.disease) == size


def test_a_build_leaves_out_the_model_of_a_graph_that_annotates_nothing(tmp_path: Path) -> None:
    nodes = [table for table in small_graph.tables() if isinstance(table, NodeTable)]
    assert compile_if_annotated(compile_snapshot(nodes, tmp_path / "a", "f")) is None
    whole = compile_snapshot(small_graph.tables(), tmp_path / "b", "f")
    assert compile_if_annotated(whole) == compile_model(whole)


def test_arrays_are_small_types(ranker: Ranker) -> None:
    columns = ranker.model.columns
    assert columns.ratio.index.dtype == np.uint16 and columns.ratio.values.dtype == np.float16


def from_source(table: RelationTable, source: str, reference: str | None = "") -> RelationTable:
    rows = table.rows.append_column("source", pa.array([source] * table.rows.num_rows))
    if reference != "":
        rows = rows.set_column(
            rows.column_names.index("reference"), "reference", pa.array([reference] * rows.num_rows, pa.string())
        )
    return RelationTable(table.type, table.start_label, table.end_label, rows)


def snapshot(folder: Path, *references: str | None) -> Snapshot:
    """The small graph, with its annotations stated again by one more source for each reference."""
    tables: list[GraphTable] = []
    for table in small_graph.tables():
        if isinstance(table, RelationTable) and table.type in ("HAS_PHENOTYPE", "LACKS_PHENOTYPE"):
            tables.append(from_source(table, "hpoa"))
            tables += [from_source(table, f"other{n}", each) for n, each in enumerate(references)]
        else:
            tables.append(table)
    return compile_snapshot(tables, folder / "snapshot", "f")


def matrix(ranker: Ranker) -> np.ndarray:
    dense = np.zeros((len(ranker.names.terms), len(small_graph.NAMES)))
    for row in range(len(ranker.names.terms)):
        index, values = ranker.model.columns.frequency.row(row)
        dense[row, index] = values
    return dense


def test_a_source_that_repeats_anothers_statements_changes_no_frequency(tmp_path: Path) -> None:
    once = Ranker.open(snapshot(tmp_path / "once"))
    twice = Ranker.open(snapshot(tmp_path / "twice", ""))
    assert np.allclose(matrix(once), matrix(twice), atol=1e-6)


def test_patients_of_one_reference_are_counted_once_however_many_sources_state_them(tmp_path: Path) -> None:
    once, thrice = read_rows(snapshot(tmp_path / "once")), read_rows(snapshot(tmp_path / "thrice", "", ""))
    assert len(thrice.patients) == 3 * len(once.patients)
    assert thrice.patients.sum() == pytest.approx(once.patients.sum(), rel=1e-5)
    assert thrice.positive.sum() == pytest.approx(once.positive.sum(), rel=1e-5)


@pytest.mark.parametrize("reference", ["PMID:77", None])
def test_another_reference_or_none_is_another_statement(tmp_path: Path, reference: str | None) -> None:
    once, twice = read_rows(snapshot(tmp_path / "once")), read_rows(snapshot(tmp_path / "twice", reference))
    assert twice.patients.sum() == pytest.approx(2 * once.patients.sum(), rel=1e-5)


LISTED = [(f"MONDO:{id}", term, None, None, None, None) for id, term, *_ in small_graph.HAS if id == "OMIM:2"]

LISTED = [("MONDO:7", term, *rest) for _, term, *rest in LISTED]


def listed_graph(folder: Path, has: list[small_graph.Stated]) -> Ranker:
    tables = small_graph.tables(names={"MONDO:7": "Of a list"}, has=has, same_as=[])
    return Ranker.open(compile_snapshot(tables, folder / "snapshot", "f"))


def test_what_a_source_only_lists_ranks_below_what_others_state_with_evidence(tmp_path: Path) -> None:
    ranker = listed_graph(tmp_path, [*small_graph.HAS, *LISTED])
    ids, scores = ranker.score_all(([small_graph.SHORT, small_graph.HYPOTONIA], []))
    ranked = [ids[at] for at in np.argsort(-scores)]
    assert ranked.index("OMIM:2") < ranked.index("MONDO:7") < ranked.index("OMIM:3")


def test_a_list_changes_no_frequency_that_others_state_and_is_all_there_is_alone(tmp_path: Path) -> None:
    again = [("OMIM:2", term, *rest) for _, term, *rest in LISTED]
    assert np.allclose(
        matrix(listed_graph(tmp_path / "a", small_graph.HAS)),
        matrix(listed_graph(tmp_path / "b", [*small_graph.HAS, *again])),
    )
    alone = listed_graph(tmp_path / "c", LISTED)
    assert alone.model.columns.frequency.values.max() == pytest.approx(PRIOR_FREQUENCY, abs=1e-3)
    beside = listed_graph(tmp_path / "d", [*small_graph.HAS, *LISTED])
    index, values = beside.model.columns.frequency.row(list(beside.names.terms).index(small_graph.SHORT))
    shown = dict(zip(index.tolist(), values.tolist(), strict=True))
    assert shown[beside.ids.index("MONDO:7")] == pytest.approx(LISTED_FREQUENCY, abs=1e-3)


NEAREST = """
import hashlib
import numpy as np
from kgdx.rank.neighbours import by_name
made = np.random.default_rng(0)
words = ["".join(letters) for letters in made.choice(list("abcdefghij"), (400, 5))]
names = [" ".join(words[number] for number in made.zipf(1.3, 8) % 400) for _ in range(3400)]
names += [f"equally near {words[number % 9]}" for number in range(330)]
near = by_name(names, np.arange(len(names)), len(names))
parts = (near.start, near.index, near.values)
print(hashlib.sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in parts)).hexdigest())
"""


def test_neighbours_depend_neither_on_the_hash_seed_nor_on_the_processor() -> None:
    digests = set()
    for seed, lacks in (("1", ""), ("2", ""), ("3", "X86_V4 AVX512_ICL AVX512_SPR")):
        environment = os.environ | {"PYTHONHASHSEED": seed, "NPY_DISABLE_CPU_FEATURES": lacks}
        words = [sys.executable, "-c", NEAREST]
        digests.add(subprocess.run(words, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout)
    assert len(digests) == 1
