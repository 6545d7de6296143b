"""The compiled numbers, worked out by hand on the small graph."""

from __future__ import annotations

from math import log
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import small_graph
from kgdx.errors import StoreError
from kgdx.graph.protocol import NodeTable, RelationTable
from kgdx.graph.snapshot import Snapshot
from kgdx.graph.snapshot_compile import compile_snapshot
from kgdx.rank import Ranker, compile_model
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
