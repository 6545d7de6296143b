"""Mappings on the command line: review, edit, apply; SSSOM out and in; MeSH by name."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import TINY

SOURCES = (
    f"hp={TINY / 'hp.obo'}",
    f"hpoa={TINY / 'phenotype.hpoa'}",
    f"hp_zh={TINY / 'hp-zh.babelon.tsv'}",
    f"chinese_kg={TINY / 'medical.json'}",
    f"mesh={TINY / 'desc2025.xml'}",
)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import kgdx

    folder = tmp_path_factory.mktemp("mappings") / "graph"
    kgdx.build(SOURCES, store=folder)
    return folder


@pytest.fixture
def graph(built: Path, tmp_path: Path) -> str:
    return str(shutil.copytree(built, tmp_path / "graph"))


def lines(file: Path) -> list[dict[str, str]]:
    header, *rows = file.read_text(encoding="utf-8").splitlines()
    return [dict(zip(header.split("\t"), row.split("\t"), strict=True)) for row in rows]


def test_a_reviewed_mapping_survives_a_rebuild(invoke: Callable, graph: str, tmp_path: Path) -> None:
    import kgdx

    table = tmp_path / "review.tsv"
    said = invoke("mappings", "review", "--out", str(table), "--store", graph)
    assert said.returncode == 0 and f"kgdx mappings apply {table}" in said.stderr
    assert f"wrote {len(lines(table))} mapping" in said.stderr and "automatic   stated" in said.stderr
    automatic = [row for row in lines(table) if row["status"] == "automatic" and row["object"].startswith("HP:")]
    assert automatic, "the Chinese symptoms of the tiny graph are findings of the tiny ontology"
    wrong = automatic[0]
    text = table.read_text(encoding="utf-8").splitlines()
    edited = [text[0], *(change(line) if line.startswith(wrong["subject"]) else line for line in text[1:])]
    table.write_text("\n".join(edited) + "\n", encoding="utf-8-sig")
    done = invoke("mappings", "apply", str(table), "--store", graph)
    assert done.returncode == 0, done.stderr
    assert "1 decision: 0 stated, 1 rejected" in done.stderr

    def stated() -> set[tuple[str, str]]:
        out = invoke("mappings", "export", "--store", graph).stdout
        rows = [line.split("\t") for line in out.splitlines() if not line.startswith("#")][1:]
        return {(row[0], row[4]) for row in rows}

    assert (wrong["subject"], wrong["object"]) not in stated()
    kgdx.build(SOURCES, store=graph)
    assert (wrong["subject"], wrong["object"]) not in stated()
    assert (automatic[1]["subject"], automatic[1]["object"]) in stated()
    kept = invoke("mappings", "export", "--decisions", "--store", graph).stdout
    assert wrong["subject"] in kept and "\tNot\t" in kept


def change(line: str) -> str:
    cells = line.split("\t")
    return "\t".join([*cells[:10], "reject", "", ""])


def test_an_imported_mapping_is_stated(invoke: Callable, graph: str, tmp_path: Path) -> None:
    file = tmp_path / "in.sssom.tsv"
    file.write_text(
        "#mapping_set_id: urn:x\n#license: CC0\n#curie_map:\n#  hpo: http://purl.obolibrary.org/obo/HP_\n"
        "subject_id\tpredicate_id\tobject_id\tmapping_justification\n"
        "hpo:0001945\tskos:broadMatch\tmesh:D009422\tsemapv:ManualMappingCuration\n"
        "hpo:9999999\tskos:exactMatch\tmesh:D009422\tsemapv:ManualMappingCuration\n"
    )
    done = invoke("mappings", "import", str(file), "--store", graph)
    assert done.returncode == 0, done.stderr
    assert "left out: 1 (an id that the graph lacks)" in done.stderr
    out = invoke("mappings", "export", "--store", graph).stdout
    assert "HP:0001945\t" in out and "skos:broadMatch\tMESH:D009422" in out


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ("MESH:D009422\tskos:broadMatch\tHP:0001945\t\tx:y", "lines 4 and 5, decide differently"),
        ("HP:0001945\tskos:exactMatch\tMESH:D004827\t\tx:y", "lines 4 and 5: HP:0001945 cannot be"),
        ("HP:0001250\tskos:exactMatch\tMESH:D004827\t癫痫\tx:y", "line 5: '癫痫' is in a language"),
    ],
)
def test_a_set_that_cannot_be_right_is_refused_as_a_whole(
    invoke: Callable, graph: str, tmp_path: Path, second: str, message: str
) -> None:
    columns = "subject_id\tpredicate_id\tobject_id\tobject_label\tmapping_justification"
    first = f"#mapping_set_id: urn:x\n#license: CC0\n{columns}\nHP:0001945\tskos:exactMatch\tMESH:D009422\t\tx:y"
    (tmp_path / "in.tsv").write_text(f"{first}\n{second}\n", "utf-8")
    done = invoke("mappings", "import", str(tmp_path / "in.tsv"), "--store", graph)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1) and message in done.stderr
    assert not (Path(graph) / "mappings.sssom.tsv").exists()


def test_a_name_finds_its_descriptor(invoke: Callable, graph: str) -> None:
    found = json.loads(invoke("mappings", "mesh", "epilepsies", "--json", "--store", graph).stdout)
    assert (found["id"], found["method"]) == ("MESH:D004827", "normalised")
    shown = invoke("mappings", "mesh", "Epilepsy", "--branch", "C10", "--store", graph)
    assert "Epilepsy: MESH:D004827 Epilepsy (exact, 1.00)" in shown.stdout


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("subject\tobject\tdecision\nHP:0001945\tMESH:D009422\n", "there are no decisions in it"),
        ("subject\tobject\tdecision\nHP:1\tMESH:D009422\tadd\n", "line 2: the graph has no HP:1"),
        ("a;b\n", "lacks the column 'subject'"),
    ],
)
def test_a_table_that_cannot_be_right_is_refused(
    invoke: Callable, graph: str, tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "t.tsv").write_text(text)
    done = invoke("mappings", "apply", str(tmp_path / "t.tsv"), "--store", graph)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert message in done.stderr
    assert not (Path(graph) / "mappings.sssom.tsv").exists()


def test_a_graph_without_mesh_says_so(invoke: Callable) -> None:
    done = invoke("mappings", "mesh", "fever")
    assert done.returncode == 6
    assert "no MeSH descriptors" in done.stderr
