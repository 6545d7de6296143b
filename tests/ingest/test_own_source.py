"""A source of one's own: scaffolded from its file, compared with the ontology, tried out, built, mended."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from conftest import ROOT
from kgdx.errors import SourceError, UsageError
from kgdx.ingest.manifest import manifests, read_manifest
from kgdx.ingest.own_source import attempt, disagreements, file_of, sample, scaffold
from kgdx.ingest.pipeline import quarantine
from kgdx.ingest.pipeline.build import build, update
from kgdx.ingest.pipeline.build_report import BuildReport
from kgdx.ingest.pipeline.built_graph import read_graph
from kgdx.ingest.pipeline.graph_folder import GraphFolder
from kgdx.ingest.pipeline.stages import Stages
from kgdx.ingest.sources import FORMATS
from kgdx.schema import load_schema

Write = Callable[[str, str | bytes], Path]

EXAMPLE = ROOT / "examples" / "own_source" / "clinic.yaml"

TABLE = """\
disease_id,disease_name,hpo_ids,gene_id,gene_symbol,symptom,score
OMIM:100001,Tiny one,HP:0001250; HP:0001252,7227,TRPS1,fits,0.9
OMIM:100002,Tiny two,HP:0001250,7227,TRPS1,,0.4
WRONG:1,Wrong,HP:0001252,1,A1BG,pain,0.1
"""


def taken_in(text: str) -> str:
    """A scaffold whose guessed relations somebody has taken in."""
    nodes, _, rest = text.partition("relations:\n")
    return nodes.replace("role: record", "role: implied") + "relations:\n" + re.sub("(?m)^  # (  |- )", r"  \1", rest)


def test_a_scaffold_guesses_ids_names_lists_and_relations(write: Write, tmp_path: Path, graph: GraphFolder) -> None:
    path = write("table.csv", TABLE)
    text = scaffold("mine", path, load_schema())
    assert read_manifest(write("mine.yaml", text)).relations == (), "a guess states nothing"
    found = read_manifest(write("mine.yaml", taken_in(text)))
    assert disagreements(found, load_schema(), manifests()) == []
    assert {(node.class_, node.id.column or node.id.template, node.id.mint) for node in found.nodes} == {
        ("Disease", "disease_id", None),
        ("Gene", "NCBIGene:{gene_id}", None),
        ("Symptom", "symptom", "Symptom"),
    }
    assert [node.properties["name"].column for node in found.nodes] == ["disease_name", "gene_symbol", "symptom"]
    has, gene, _ = found.relations
    assert (has.type, has.each and (has.each.column, has.each.separator)) == ("HAS_PHENOTYPE", ("hpo_ids", ";"))
    assert gene.type == "ASSOCIATED_GENE"
    assert found.needs == ("hp",)
    assert "#   score: 0.9" in text, "what nothing is made of is named"
    trial = attempt(found, file_of(found), load_schema(), graph)
    assert (trial.counts.read, trial.counts.loaded, trial.counts.quarantined) == (9, 6, 3)


def test_no_harm_absence_or_opposite_is_guessed(write: Write) -> None:
    path = write("visits.csv", "disease_id,drug,hpo\nOMIM:1,salbutamol,HP:0001250\nOMIM:2,aspirin,HP:0001251\n")
    text = scaffold("visits", path, load_schema())
    assert "# - type: RECOMMEND_DRUG" in text and "# - type: HAS_PHENOTYPE" in text
    for harm in ("CONTRAINDICATION", "LACKS_PHENOTYPE", "OFF_LABEL_USE", "NEGATIVE"):
        assert harm not in text.partition("relations:")[2]


def test_a_column_of_names_belongs_to_the_ids_before_it(write: Write) -> None:
    path = write("table.csv", "omim,name,hpo\nOMIM:1,Fever,HP:0001250\nOMIM:2,Cough,HP:0001251\n")
    found = read_manifest(write("mine.yaml", scaffold("mine", path, load_schema())))
    assert [node.properties["name"].column for node in found.nodes if node.class_ == "Disease"] == ["name"]


def test_a_column_called_after_the_class_holds_the_names_of_its_ids(write: Write, graph: GraphFolder) -> None:
    path = write("table.csv", "disease_id,disease,score\nOMIM:1,Fever,2\nOMIM:2,Cough,3\n")
    found = read_manifest(write("mine.yaml", scaffold("mine", path, load_schema(), str(path))))
    (node,) = found.nodes
    assert (node.id.column, node.properties["name"].column) == ("disease_id", "disease")
    trial = attempt(found, path, load_schema(), graph)
    assert (trial.counts.read, trial.counts.loaded, trial.warnings) == (2, 2, ())
    assert trial.samples[0].first[0]["name"] == "Fever"


def test_rows_that_nothing_counts_as_records_are_named(write: Write, graph: GraphFolder) -> None:
    path = write("table.csv", "disease_id,disease\nOMIM:1,Fever\n")
    text = scaffold("mine", path, load_schema(), str(path)).replace("role: record", "role: implied")
    trial = attempt(read_manifest(write("mine.yaml", text)), path, load_schema(), graph)
    (warning,) = trial.warnings
    assert warning.startswith("no row counts as a record") and "role: record" in warning


@pytest.mark.parametrize("format", ["jsonl", "parquet", "tsv", "utf-16", "gb18030", "gz"])
def test_a_scaffold_is_made_of_every_format_and_can_be_tried_at_once(
    write: Write, tmp_path: Path, graph: GraphFolder, format: str
) -> None:
    table = pl.read_csv(TABLE.encode()).with_columns(pl.lit("共济失调").alias("disease_name"))
    path = tmp_path / "table"
    if format == "jsonl":
        rows = [{"disease": {"id": r["disease_id"]}, "hpo": r["hpo_ids"].split("; ")} for r in table.to_dicts()]
        path.write_text("\n".join(json.dumps(row) for row in rows))
    elif format == "parquet":
        table.write_parquet(path)
    elif format == "tsv":
        table.write_csv(path, separator="\t")
    elif format == "gz":
        path.write_bytes(gzip.compress(table.write_csv().encode()))
    else:
        path.write_bytes(table.write_csv().encode(format))
    found = read_manifest(write("mine.yaml", taken_in(scaffold("mine", path, load_schema(), str(path)))))
    trial = attempt(found, file_of(found), load_schema(), graph)
    titles = {each.title: each.rows for each in trial.samples}
    assert titles["Disease-HAS_PHENOTYPE->Phenotype"] == 3
    assert trial.against is None and trial.counts.quarantined > 0


def test_what_the_reader_merges_is_counted(tiny: Path, graph: GraphFolder) -> None:
    counts = attempt(manifests()["primekg"], tiny / "kg.csv", load_schema(), graph).counts
    rows = len((tiny / "kg.csv").read_text("utf-8").splitlines()) - 1
    assert counts.merged >= rows / 3
    assert counts.read == counts.loaded + counts.merged + counts.quarantined >= rows


def test_a_file_in_which_nothing_is_recognised_still_gives_a_manifest_to_fill_in(write: Write) -> None:
    text = scaffold("mine", write("table.csv", "x,y\n1,2\n"), load_schema())
    found = read_manifest(write("mine.yaml", text))
    assert "CHANGE_ME" in text and found.relations == ()
    only = scaffold("mine", write("terms.csv", "hpo\nHP:0001250\n"), load_schema())
    assert read_manifest(write("mine.yaml", only)).nodes == ()


def test_what_cannot_be_scaffolded_is_refused(write: Write) -> None:
    with pytest.raises(SourceError, match="cannot be a source's name"):
        scaffold("My-Source", write("a.csv", "id\n1\n"), load_schema())
    with pytest.raises(SourceError, match="holds no records"):
        sample(write("a.csv", "id,name\n"))
    with pytest.raises(SourceError, match="is no Parquet file"):
        sample(write("a.parquet", b"PAR1xxxx"))


HEAD = "name: mine\ntitle: t\nhomepage: h\nlicence: l\ncitation: c\ndefault: null\n"


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("format: cvs\nnodes: [{class: Gene, id: a, properties: {name: a}}]", 7, "no format 'cvs'.*did you mean csv"),
        ("format: csv\nneeds: [hpp]\nnodes: [{class: Gene, id: a, properties: {name: a}}]", 8, "did you mean hp"),
        ("format: csv", 1, "it maps nothing"),
        ("format: csv\nnodes:\n  - class: Phenotyp\n    id: a", 9, "no class 'Phenotyp'.*did you mean Phenotype"),
        ("format: csv\nnodes:\n  - class: Gene\n    id: a", 9, "a Gene must have a name"),
        (
            "format: csv\nnodes:\n  - class: Gene\n    id: a\n    properties:\n      name: a\n      nmae_zh: b",
            13,
            "Gene has no property 'nmae_zh': one of name",
        ),
        (
            "format: csv\nnodes:\n  - class: Phenotype\n    id: {column: a, mint: Phenotype}\n"
            "    properties: {name: a}",
            10,
            "a Phenotype is known by its id only",
        ),
        (
            "format: csv\nrelations:\n  - type: HAS_PHENOTYP\n    start: {class: Disease, id: a}\n"
            "    end: {class: Phenotype, id: b}",
            9,
            "no relation 'HAS_PHENOTYP': from Disease to Phenotype go HAS_PHENOTYPE.*did you mean HAS_PHENOTYPE",
        ),
        (
            "format: csv\nrelations:\n  - type: HAS_PHENOTYPE\n    start: {class: Gene, id: a}\n"
            "    end: {class: Phenotype, id: b}",
            9,
            "no HAS_PHENOTYPE goes from Gene to Phenotype: it goes Disease→Phenotype",
        ),
        (
            "format: csv\nrelations:\n  - type: SAME_AS\n    start: {class: Disease, id: a}\n"
            "    end: {class: Disease, id: b}\n    properties:\n      relation: {constant: exakt}",
            13,
            "relation is never 'exakt': one of .*did you mean exact",
        ),
    ],
)
def test_a_disagreement_with_the_ontology_is_named_with_its_line(
    write: Write, text: str, line: int, message: str
) -> None:
    found = disagreements(read_manifest(write("mine.yaml", f"{HEAD}{text}\n")), load_schema(), manifests())
    assert found[0].line == line
    assert re.search(message, found[0].message), found[0].message


@pytest.mark.parametrize("name", list(manifests()))
def test_every_manifest_that_ships_agrees(name: str) -> None:
    formats = [*FORMATS, "huatuo"]  # which the extraction room reads
    assert disagreements(manifests()[name], load_schema(), manifests(), formats) == []


def test_trying_it_out_against_a_graph_finds_ends_that_are_missing_and_changes_nothing(
    graph: GraphFolder, tiny_sources: dict[str, str]
) -> None:
    build({name: tiny_sources[name] for name in ("hp", "hpoa")}, graph)
    before = sorted((path, path.stat().st_mtime_ns) for path in graph.path.rglob("*") if path.is_file())
    trial = attempt(read_manifest(EXAMPLE), file_of(read_manifest(EXAMPLE)), load_schema(), graph)
    assert (trial.counts.loaded, trial.counts.quarantined, trial.against) == (5, 1, graph.path)
    assert [reason.example for reason in trial.reasons] == ["HP:9999999 is no Phenotype of this graph"]
    (diseases, relations) = trial.samples
    assert (diseases.title, diseases.rows) == ("Disease", 2)
    assert {row["name_source"] for row in diseases.first} == {"clinic"}
    assert relations.first[0]["numerator"] == 14
    assert trial.to_dict()["counts"]["read"] == 6
    assert sorted((path, path.stat().st_mtime_ns) for path in graph.path.rglob("*") if path.is_file()) == before


def built(graph: GraphFolder, tiny_sources: dict[str, str]) -> BuildReport:
    return build({"hp": tiny_sources["hp"], "hpoa": tiny_sources["hpoa"], str(EXAMPLE): None}, graph)


def phenotypes(graph: GraphFolder) -> set[str]:
    """What the clinic says of one disease in the graph."""
    stages = Stages(graph.path / "stages")
    found = read_graph(graph.current().tables, stages)
    assert found is not None
    (table,) = [each for each in found.tables if each.name == "HAS_PHENOTYPE" and "clinic" in each.parts]
    held = stages.find(table.stage)
    assert held is not None
    rows = pl.DataFrame(pl.from_arrow(held.table(table.file)))
    return set(rows.filter(pl.col("start") == "OMIM:300672")["end"])


def test_a_mended_record_is_loaded_and_survives_a_rebuild(
    graph: GraphFolder, tiny_sources: dict[str, str], tmp_path: Path
) -> None:
    report = built(graph, tiny_sources)
    assert report.sources["clinic"].quarantined == 1
    (group,) = quarantine.summary(quarantine.read(graph, "clinic"))
    assert (group.count, group.line, group.example) == (1, 5, "HP:9999999 is no Phenotype of this graph")
    file = tmp_path / "refused.csv"
    assert quarantine.export(quarantine.read(graph), file) == 1
    file.write_text(file.read_text().replace('""HP:9999999""', '""HP:0001945""'))
    done = quarantine.retry(graph, file, lambda names: update(names, graph))
    assert (done.mended, done.before, done.after, done.refused) == ({"clinic": 1}, 1, 0, ())
    assert done.report.sources["clinic"].quarantined == 0
    assert phenotypes(graph) == {"HP:0001250", "HP:0001252", "HP:0001945"}
    again = built(graph, tiny_sources)
    assert again.fingerprint == done.report.fingerprint
    assert again.sources["clinic"].read == report.sources["clinic"].read


def test_a_record_that_is_mended_wrongly_is_refused_again_and_can_be_mended_again(
    graph: GraphFolder, tiny_sources: dict[str, str], tmp_path: Path
) -> None:
    built(graph, tiny_sources)
    for number, (wrong, right) in enumerate([("HP:9999999", "HP:0000000"), ("HP:0000000", "HP:0001945")]):
        file = tmp_path / f"{number}.jsonl"
        quarantine.export(quarantine.read(graph), file)
        file.write_text(file.read_text().replace(wrong, right))
        done = quarantine.retry(graph, file, lambda names: update(names, graph))
        assert [row["line"] for row in done.refused] == [[5], []][number]
    kept = quarantine.read_corrections(graph.path)["clinic"]
    assert kept.height == 1 and "HP:9999999" in kept["record"][0] and "HP:0001945" in kept["mended"][0]


def test_without_a_file_refused_records_are_checked_against_what_the_graph_has_now(
    graph: GraphFolder, tiny_sources: dict[str, str]
) -> None:
    built(graph, tiny_sources)
    done = quarantine.retry(graph, None, lambda names: update(names, graph))
    assert (done.mended, done.before, done.after) == ({}, 1, 1)


def test_a_failed_update_leaves_no_corrections(
    graph: GraphFolder, tiny_sources: dict[str, str], tmp_path: Path
) -> None:
    built(graph, tiny_sources)
    file = tmp_path / "a.parquet"
    quarantine.export(quarantine.read(graph), file)
    table = pl.read_parquet(file)
    table.with_columns(pl.col("record").str.replace("HP:9999999", "HP:0001945")).write_parquet(file)

    def fail(names: object) -> BuildReport:
        raise SourceError("no")

    with pytest.raises(SourceError):
        quarantine.retry(graph, file, fail)
    assert quarantine.read_corrections(graph.path) == {}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text, "no record of .* is mended"),
        (lambda text: text.replace('"{""', '"{'), r"record 1 .clinic, line 5. is no JSON"),
        (lambda text: text.replace('""end""', '""ende""'), r"has a field 'ende': it may have start, end"),
        (lambda text: "a,b\n1,2\n", "has no columns key and record"),
    ],
)
def test_a_file_that_mends_nothing_says_why(
    graph: GraphFolder,
    tiny_sources: dict[str, str],
    tmp_path: Path,
    change: Callable[[str], str],
    message: str,
) -> None:
    built(graph, tiny_sources)
    file = tmp_path / "refused.csv"
    quarantine.export(quarantine.read(graph), file)
    file.write_text(change(file.read_text()))
    with pytest.raises(UsageError, match=message):
        quarantine.retry(graph, file, lambda names: update(names, graph))


def test_an_export_overwrites_nothing_and_knows_its_formats(
    graph: GraphFolder, tiny_sources: dict[str, str], tmp_path: Path
) -> None:
    built(graph, tiny_sources)
    table = quarantine.read(graph)
    (tmp_path / "a.csv").write_text("mine")
    with pytest.raises(UsageError, match="is there already"):
        quarantine.export(table, tmp_path / "a.csv")
    with pytest.raises(UsageError, match="none of the suffixes .csv, .jsonl, .parquet"):
        quarantine.export(table, tmp_path / "a.xlsx")
    with pytest.raises(UsageError, match="the graph has no source 'nothing': it has hp"):
        quarantine.read(graph, "nothing")
