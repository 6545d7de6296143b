"""Reading PrimeKG: each edge once, joined to HPO's phenotypes and to the members of groups; damage costs its rows."""

from __future__ import annotations

import csv
import gzip
import io
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import examples
from kgdx.errors import SourceError
from kgdx.ingest.check import CheckedTables
from kgdx.ingest.manifest import manifest
from kgdx.ingest.records import SCRATCH, Records, scratch_file
from kgdx.ingest.sources import primekg, table_files
from kgdx.schema import load_schema

Parse = Callable[[str, Path], Records]
Write = Callable[[str, str | bytes], Path]
Rows = Callable[[CheckedTables, str], list[dict[str, Any]]]

NODES: dict[str, tuple[int, str, str, str, str]] = {
    "gene": (0, "9796", "gene/protein", "PHYHIP", "NCBI"),
    "gene2": (1, "56992", "gene/protein", "KIF15", "NCBI"),
    "drug": (2, "DB09130", "drug", 'Copper, "ionic"', "DrugBank"),
    "seizure": (3, "1250", "effect/phenotype", "Seizure", "HPO"),
    "old seizure": (4, "1275", "effect/phenotype", "Seizures", "HPO"),
    "nervous": (5, "707", "effect/phenotype", "Abnormality of the nervous system", "HPO"),
    "stranger": (6, "9999999", "effect/phenotype", "Unheard of", "HPO"),
    "disease": (7, "8019", "disease", "mullerian aplasia and hyperandrogenism", "MONDO"),
    "group": (8, "13924_12592_14672", "disease", "osteogenesis imperfecta", "MONDO_grouped"),
    "process": (9, "1990", "biological_process", "protein import", "GO"),
    "pathway": (10, "R-HSA-109581", "pathway", "Apoptosis", "REACTOME"),
    "exposure": (11, "C008324", "exposure", "1-hydroxyphenanthrene", "CTD"),
    "anatomy": (12, "2082", "anatomy", "cardiac ventricle", "UBERON"),
}
Edge = tuple[str, str, str, str]
EDGES: list[Edge] = [
    ("protein_protein", "ppi", "gene", "gene2"),
    ("drug_protein", "carrier", "drug", "gene"),
    ("off-label use", "off-label use", "drug", "group"),
    ("disease_phenotype_positive", "phenotype present", "disease", "seizure"),
    ("disease_phenotype_negative", "phenotype absent", "disease", "seizure"),
    ("phenotype_phenotype", "parent-child", "nervous", "seizure"),
    ("disease_disease", "parent-child", "group", "disease"),
    ("bioprocess_protein", "interacts with", "process", "gene"),
    ("pathway_protein", "interacts with", "pathway", "gene"),
    ("exposure_disease", "linked to", "exposure", "disease"),
    ("anatomy_protein_present", "expression present", "anatomy", "gene"),
]


def turned(edges: Sequence[Edge]) -> list[Edge]:
    return [(relation, word, y, x) for relation, word, x, y in edges]


def cells(edge: Edge) -> list[object]:
    relation, word, x, y = edge
    return [relation, word, *NODES[x], *NODES[y]]


def text(rows: Sequence[Sequence[object]], columns: Sequence[str]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([columns, *rows])
    return out.getvalue()


RELATIONS = [entry.frame for entry in manifest("primekg").relations if entry.role != "implied"]
COLUMNS = [
    "relation",
    "display_relation",
    *(f"{side}_{name}" for side in "xy" for name in ("index", "id", "type", "name", "source")),
]


def kg(edges: Sequence[Edge]) -> str:
    return text([cells(edge) for edge in edges], COLUMNS)


def edges_of(records: Records, relation: str) -> list[tuple[str, str, str]]:
    return records.frames[relation].select("start", "end", "display_relation").rows()


def taken(records: Records) -> int:
    return sum(records.frames[name].height for name in RELATIONS)


def reasons(records: Records) -> list[str]:
    return records.rejects.sort("line")["reason"].to_list()


def test_each_edge_stands_once_and_its_reverse_is_merged(parse: Parse, write: Write) -> None:
    records = parse("primekg", write("kg.csv", kg(EDGES + turned(EDGES))))
    assert (taken(records), records.merged, records.rejects.height) == (len(EDGES), len(EDGES), 0)
    assert edges_of(records, "drug_protein") == [("DRUGBANK:DB09130", "NCBIGene:9796", "carrier")]
    assert records.frames["drug_protein"]["_line"].to_list() == [3]


def test_ids_are_written_as_curies(parse: Parse, write: Write) -> None:
    records = parse("primekg", write("kg.csv", kg(EDGES)))
    ids = {
        row["id"]: row["name"]
        for name in primekg.CLASSES
        if name in records.frames
        for row in records.frames[name].to_dicts()
    }
    assert ids == {
        "NCBIGene:9796": "PHYHIP",
        "NCBIGene:56992": "KIF15",
        "DRUGBANK:DB09130": 'Copper, "ionic"',
        "MONDO:0008019": "mullerian aplasia and hyperandrogenism",
        "MONDO_GROUPED:13924_12592_14672": "osteogenesis imperfecta",
        "GO:0001990": "protein import",
        "REACT:R-HSA-109581": "Apoptosis",
        "MESH:C008324": "1-hydroxyphenanthrene",
        "UBERON:0002082": "cardiac ventricle",
    }


def test_direction_is_that_of_the_ontology_whichever_row_comes_first(parse: Parse, write: Write) -> None:
    forward = parse("primekg", write("a.csv", kg(EDGES + turned(EDGES))))
    back = parse("primekg", write("b.csv", kg(turned(EDGES) + EDGES)))
    for relation in ("drug_protein", "off-label use", "disease_phenotype_positive", "anatomy_protein_present"):
        assert edges_of(forward, relation) == edges_of(back, relation)


def test_between_nodes_of_one_type_the_first_direction_stands(parse: Parse, write: Write) -> None:
    records = parse("primekg", write("kg.csv", kg(turned(EDGES) + EDGES)))
    assert edges_of(records, "phenotype_phenotype") == [("HP:0001250", "HP:0000707", "parent-child")]


def test_a_group_is_joined_to_its_members(check_files: Callable[..., CheckedTables], rows: Rows, write: Write) -> None:
    checked = check_files("hp", primekg=write("kg.csv", kg(EDGES)))
    pairs = {(row["start"], row["end"]) for row in rows(checked, "HAS_MEMBER")}
    group = "MONDO_GROUPED:13924_12592_14672"
    assert pairs == {(group, "MONDO:0013924"), (group, "MONDO:0012592"), (group, "MONDO:0014672")}
    member = next(row for row in rows(checked, "Disease") if row["id"] == "MONDO:0013924")
    assert (member["name"], member["name_source"]) == ("MONDO:0013924", "id")


def test_phenotypes_are_those_of_hpo(check_files: Callable[..., CheckedTables], rows: Rows, write: Write) -> None:
    positive = "disease_phenotype_positive"
    edges = [(positive, "phenotype present", "disease", name) for name in ("old seizure", "stranger", "nervous")]
    before = {row["id"] for row in rows(check_files("hp"), "Phenotype")}
    checked = check_files("hp", primekg=write("kg.csv", kg(edges)))
    assert {row["id"] for row in rows(checked, "Phenotype")} == before
    assert {row["end"] for row in rows(checked, "DISEASE_PHENOTYPE_POSITIVE")} == {"HP:0001250", "HP:0000707"}
    assert checked.counts["primekg"].resolved == 1
    assert checked.quarantine["reason"].to_list() == ["HP:9999999 is no Phenotype of this graph"]


def test_what_a_disease_shows_is_an_annotation_without_frequency_too(
    check_files: Callable[..., CheckedTables], rows: Rows, write: Write
) -> None:
    checked = check_files("hp", primekg=write("kg.csv", kg(EDGES)))
    (shown,) = rows(checked, "HAS_PHENOTYPE")
    assert (shown["start"], shown["end"], shown["source"]) == ("MONDO:0008019", "HP:0001250", "primekg")
    assert shown.get("frequency") is None and shown.get("reference") is None


def test_genes_are_one_node_with_those_of_other_sources(
    check_files: Callable[..., CheckedTables], rows: Rows, write: Write
) -> None:
    before = rows(check_files("hp", "hpoa", "genes"), "Gene")
    number = before[0]["id"].removeprefix("NCBIGene:")
    gene = [*cells(EDGES[0])[:2], 0, number, "gene/protein", "otherwise named", "NCBI", *NODES["gene2"]]
    checked = check_files("hp", "hpoa", "genes", primekg=write("kg.csv", text([gene], COLUMNS)))
    after = {row["id"]: row["name"] for row in rows(checked, "Gene")}
    assert after == {row["id"]: row["name"] for row in before} | {"NCBIGene:56992": "KIF15"}


def test_present_and_absent_stay_apart_and_are_reported(parse: Parse, write: Write) -> None:
    records = parse("primekg", write("kg.csv", kg(EDGES + turned(EDGES))))
    assert edges_of(records, "disease_phenotype_negative") == [("MONDO:0008019", "HP:0001250", "phenotype absent")]
    assert edges_of(records, "disease_phenotype_positive") == [("MONDO:0008019", "HP:0001250", "phenotype present")]
    assert [warning for warning in records.warnings if warning.startswith("1 pairs of a disease and a phenotype")]


def test_one_pair_may_be_joined_by_several_words(parse: Parse, write: Write) -> None:
    edges = [("drug_protein", word, "drug", "gene") for word in ("carrier", "target")]
    records = parse("primekg", write("kg.csv", kg(edges + turned(edges))))
    assert {word for _, _, word in edges_of(records, "drug_protein")} == {"carrier", "target"}


def test_a_missing_reverse_and_a_repeated_row_are_reported(parse: Parse, write: Write) -> None:
    records = parse("primekg", write("kg.csv", kg([EDGES[0], EDGES[0], EDGES[1], *turned(EDGES[1:2])])))
    assert (taken(records), records.merged) == (2, 2)
    assert records.warnings == (
        "1 edges stand in one direction only; is the file complete?",
        "1 rows say what an earlier one says; they are merged into it",
    )


def test_edges_csv_gives_what_kg_csv_gives(parse: Parse, write: Write) -> None:
    whole = parse("primekg", write("kg.csv", kg(EDGES + turned(EDGES))))
    write("nodes.csv", text([node for node in NODES.values()], primekg.NODE_COLUMNS))
    rows = [(relation, word, NODES[x][0], NODES[y][0]) for relation, word, x, y in EDGES + turned(EDGES)]
    short = text(rows, ("relation", "display_relation", "x_index", "y_index"))
    for name, content in (("edges.csv", short.encode()), ("edges.csv.gz", gzip.compress(short.encode()))):
        records = parse("primekg", write(name, content))
        assert records.merged == whole.merged and records.rejects.is_empty()
        for relation in RELATIONS:
            assert edges_of(records, relation) == edges_of(whole, relation)


def test_edges_csv_needs_its_nodes(parse: Parse, write: Write) -> None:
    with pytest.raises(SourceError, match=r"nodes\.csv is not there"):
        parse("primekg", write("edges.csv", "relation,display_relation,x_index,y_index\n"))


def test_dangling_edges_and_bad_nodes_are_refused_with_their_file(parse: Parse, write: Write) -> None:
    nodes = [NODES["gene"], (1, "X1", "gene/protein", "KIF15", "NCBI")]
    path = write("nodes.csv", text(nodes, primekg.NODE_COLUMNS))
    rows = [("protein_protein", "ppi", 0, 1), ("protein_protein", "ppi", 0, 77), ("protein_protein", "ppi", "x", 0)]
    found = parse("primekg", write("edges.csv", text(rows, ("relation", "display_relation", "x_index", "y_index"))))
    refused = found.rejects.select("file", "line", "reason").rows()
    assert set(refused) == {
        (str(path), 3, "'X1' is no id of NCBI"),
        (None, 2, "y_index is '1', no node of nodes.csv that can be used"),
        (None, 3, "y_index is '77', no node of nodes.csv that can be used"),
        (None, 4, "x_index is 'x', no node of nodes.csv that can be used"),
    }


GOOD = cells(EDGES[1])


def changed(**given: object) -> list[object]:
    return [given.get(name, value) for name, value in zip(COLUMNS, GOOD, strict=True)]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (changed(relation="drug_moon"), "'drug_moon' is no relation of PrimeKG"),
        (changed(relation="protein_protein"), "protein_protein joins no drug and gene/protein"),
        (changed(relation=""), "relation is empty"),
        (changed(display_relation=""), "display_relation is empty"),
        (changed(x_index="two"), "the index 'two' is no number of a node"),
        (changed(x_index=1 << 40), "the index '1099511627776' is no number of a node"),
        (changed(x_id="HP:0001250"), "'HP:0001250' is no id of DrugBank"),
        (changed(x_id=""), "the node's id is empty"),
        (changed(x_name=""), "the node's name is empty"),
        (changed(x_type="moon"), "'moon' is no type of PrimeKG's nodes"),
        (changed(y_source="OMIM"), "'OMIM' is no source of nodes of the type gene/protein"),
        (changed(x_name="x" * 5_000), "the name has 5000 characters"),
        (changed(x_name="x" * 200_000), "a cell has more than 131,072 characters"),
        (GOOD[:5], "the line has 5 columns, the header has 12"),
        ([*GOOD, "more"], "the line has 13 columns, the header has 12"),
    ],
)
def test_a_damaged_row_is_named_and_the_others_are_read(
    parse: Parse, write: Write, row: list[object], reason: str
) -> None:
    rest = [cells(edge) for edge in EDGES]
    records = parse("primekg", write("kg.csv", text([*rest[:4], row, *rest[4:]], COLUMNS)))
    assert reasons(records) == [reason]
    assert records.rejects["line"].to_list() == [6]
    assert taken(records) == len(EDGES)


def test_a_node_that_refers_to_itself_is_refused(parse: Parse, write: Write) -> None:
    again = (77, *NODES["gene"][1:])
    rows = [cells(("protein_protein", "ppi", "gene", "gene")), ["protein_protein", "ppi", *NODES["gene"], *again]]
    records = parse("primekg", write("kg.csv", text(rows, COLUMNS)))
    assert reasons(records) == ["it refers to itself"] * 2
    assert records.rejects["part"].to_list() == ["frame:protein_protein"] * 2


def test_an_index_stands_for_one_node(parse: Parse, write: Write) -> None:
    other = ["protein_protein", "ppi", 0, "123", "gene/protein", "OTHER", "NCBI", *NODES["gene2"]]
    records = parse("primekg", write("kg.csv", text([*map(cells, EDGES), other], COLUMNS)))
    assert reasons(records) == ["the index 0 stands for NCBI 9796 elsewhere"]
    assert taken(records) == len(EDGES)


def test_a_node_with_two_names_keeps_the_first(parse: Parse, write: Write) -> None:
    other = ["bioprocess_protein", "interacts with", *NODES["process"], 0, "9796", "gene/protein", "ALIAS", "NCBI"]
    records = parse("primekg", write("kg.csv", text([cells(EDGES[0]), other], COLUMNS)))
    assert records.frames["gene/protein"].filter(pl.col("id") == "NCBIGene:9796")["name"].to_list() == ["PHYHIP"]
    assert records.warnings[0] == "1 nodes stand under several names, such as 'PHYHIP' and 'ALIAS'; the first is kept"


@pytest.mark.parametrize("damage", [b"\xff\xfe\xfd", b"\x00"])
def test_bytes_that_are_no_text_cost_their_line(parse: Parse, write: Write, damage: bytes) -> None:
    lines = kg(EDGES).encode().split(b"\n")
    lines[3] = lines[3].replace(b"osteogenesis", b"osteo" + damage)
    records = parse("primekg", write("kg.csv", b"\n".join(lines)))
    assert records.rejects.select("line", "reason").rows() == [
        (4, "the line holds bytes that are no text in the file's encoding")
    ]
    assert taken(records) == len(EDGES) - 1


def test_a_quotation_mark_that_nobody_closes_costs_its_line(parse: Parse, write: Write) -> None:
    lines = kg(EDGES).split("\n")
    lines[1] = lines[1].replace("KIF15", '"KIF15')
    records = parse("primekg", write("kg.csv", "\n".join(lines)))
    assert records.rejects.select("line", "reason").rows() == [(2, "a quotation mark is not closed")]
    assert taken(records) == len(EDGES) - 1


def test_a_name_may_hold_a_line_break_and_later_lines_keep_their_numbers(parse: Parse, write: Write) -> None:
    broken = changed(x_id="DB00001", x_index=50, x_name="two\nlines, and more")
    rows = [broken, *map(cells, EDGES[:1]), changed(x_id="X")]
    records = parse("primekg", write("kg.csv", text(rows, COLUMNS)))
    assert records.frames["drug"].select("_line", "name").rows() == [(2, "two\nlines, and more")]
    assert records.frames["protein_protein"]["_line"].to_list() == [4]
    assert records.rejects["line"].to_list() == [5]


def test_bom_and_windows_line_ends_make_no_difference(parse: Parse, write: Write) -> None:
    plain = parse("primekg", write("a.csv", kg(EDGES)))
    other = parse("primekg", write("b.csv", "\ufeff" + kg(EDGES).replace("\n", "\r\n")))
    assert other.rejects.is_empty()
    for relation in RELATIONS:
        assert edges_of(other, relation) == edges_of(plain, relation)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"relation,x_index\nppi,1\n", "has no column 'display_relation'"),
        ("relation,display_relation\n".encode("utf-16"), "is UTF-16"),
        (bytes(range(256)) * 40, "is a binary file"),
        (gzip.compress(kg(EDGES).encode(), mtime=0)[:-20], "truncated or damaged"),
        (gzip.compress(kg(EDGES).encode(), mtime=0)[:-4] + b"\x01\x00\x00\x00", "truncated or damaged"),
        (gzip.compress(b" " * 30_000_000, mtime=0), "times its size"),
    ],
)
def test_a_file_that_is_none_of_primekgs_is_an_error(parse: Parse, write: Write, content: bytes, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        parse("primekg", write("kg.csv", content))


def test_blocks_give_what_the_whole_gives(parse: Parse, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [cells(edge) for edge in EDGES + turned(EDGES)]
    rows.insert(5, changed(x_id="DB00001", x_index=50, x_name="two\nlines\nand a third"))
    path = write("kg.csv", text(rows, COLUMNS) + "cut,off")
    whole = parse("primekg", path)
    for size in (64, 300, 1_000):
        monkeypatch.setattr(table_files, "BLOCK", size)
        parts = parse("primekg", path)
        assert parts.rejects.equals(whole.rejects)
        assert parts.merged == whole.merged
        for name in whole.frames.keys() | parts.frames.keys():
            assert parts.frames[name].equals(whole.frames[name]), name


def test_every_relation_of_primekg_is_mapped_to_its_own_name() -> None:
    mapped = {each.frame: each.type for each in manifest("primekg").relations if each.role != "implied"}
    assert len(mapped) == 30 and mapped == {name: name.upper().replace("-", "_").replace(" ", "_") for name in mapped}
    for type in mapped.values():
        assert "display_relation" in load_schema().relation(type).properties


LONG = ("long more", "long ", "long ,", "long a,b,c,d,e,f", "long ,,x")
OTHER = ("short", "namespace", "relation", "loop", "nul", "latin", "blank", 'quote,"', 'quote,"a"b')
damage = st.sampled_from(["none"] * 5) | st.sampled_from(LONG + OTHER)


@examples(60)
@given(st.lists(st.tuples(st.sampled_from(EDGES + turned(EDGES)), damage), max_size=40))
def test_every_row_is_taken_merged_or_refused(rows: list[tuple[Edge, str]]) -> None:
    lines, expected = [text([], COLUMNS).rstrip("\n").encode()], 0
    for edge, fault in rows:
        relation, word, x, _ = edge
        made = cells(edge)
        if fault == "namespace":
            made[3] = "WRONG:1"
        elif fault == "relation":
            made[0] = "no_such"
        elif fault == "loop":
            made = cells((relation, word, x, x))
        elif fault == "short":
            made = made[:7]
        elif fault.startswith("long"):
            made = [*made, *fault[5:].split(",")]
        line = text([made], COLUMNS).split("\n")[1].encode()
        if fault.startswith("quote"):
            line = line.replace(b",", fault[5:].encode(), 1)
        elif fault == "nul":
            line += b"\0"
        elif fault == "latin":
            line += b"\xe9"
        lines.append(b"" if fault == "blank" else line)
        expected += fault != "blank"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kg.csv"
        path.write_bytes(b"\n".join(lines) + b"\n")
        records = primekg.read(path, manifest("primekg"))
    assert taken(records) + records.merged + records.rejects.height == expected
    sound = {frozenset((relation, x, y)) for (relation, _, x, y), fault in rows if fault == "none"}
    assert taken(records) == len(sound)


def test_the_hand_drawn_file_loads_whole(
    check_files: Callable[..., CheckedTables], rows: Rows, every_source: dict[str, str]
) -> None:
    records = primekg.read(Path(every_source["primekg"]), manifest("primekg"))
    assert (taken(records), records.merged, records.rejects.height) == (22, 22, 0)
    checked = check_files("hp", primekg=every_source["primekg"])
    found = checked.counts["primekg"]
    assert (found.read, found.loaded, found.quarantined, found.resolved) == (22, 21, 1, 1)
    positive = {(row["start"], row["end"]) for row in rows(checked, "DISEASE_PHENOTYPE_POSITIVE")}
    assert positive == {("MONDO_GROUPED:3_4", "HP:0001250"), ("MONDO_GROUPED:3_4", "HP:0001252")}


def blocks(path: Path) -> tuple[list[tuple[Any, ...]], list[str]]:
    header = table_files.read_header(path)
    parts = list(table_files.read_blocks(path, header))
    return [row for rows, _ in parts for row in rows.rows()], [why for _, bad in parts for why in bad["reason"]]


def test_sound_lines_beside_damaged_ones_are_read_at_once(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at = []
    record = table_files._record

    def counted(lines: Sequence[str], at: int, *rest: Any, **named: Any) -> Any:
        looked_at.append(lines[at])
        return record(lines, at, *rest, **named)

    monkeypatch.setattr(table_files, "_record", counted)
    sound = 'a,"b ""c"", d"\n' * 500
    rows, why = blocks(write("a.csv", f'x,y\n{sound}1,"2\n3,4,5\n{sound}"6\n7",8\n'))
    assert (looked_at, len(rows)) == (['1,"2', '"6'], 1_001)
    assert why == ["a quotation mark is not closed", "the line has 3 columns, the header has 2"]
    assert rows[0] == ("a", 'b "c", d', 2)
    assert rows[-1] == ("6\n7", "8", 1_004)


def test_text_that_begins_as_compressed_data_do_is_text(write: Write) -> None:
    rows, why = blocks(write("a.csv", "x,y\nx^1,2\n,,\n(,3\n"))
    assert (rows, why) == ([("x^1", "2", 2), ("(", "3", 4)], ["the line has 3 columns, the header has 2"])


def test_rows_wait_on_disk_in_files_that_nobody_has_to_remove(
    parse: Parse, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "scratch"
    folder.mkdir()
    made: list[IO[bytes]] = []

    def scratch() -> IO[bytes]:
        made.append(scratch_file())
        return made[-1]

    monkeypatch.setattr(primekg, "scratch_file", scratch)
    before = SCRATCH.set(folder)
    try:
        records = parse("primekg", write("kg.csv", kg(EDGES + turned(EDGES))))
    finally:
        SCRATCH.reset(before)
    assert taken(records) == len(EDGES) and len(made) == len(EDGES)
    assert all(file.closed for file in made) and list(folder.iterdir()) == []
