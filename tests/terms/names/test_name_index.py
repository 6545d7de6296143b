"""Looking names up: what one means, how it goes on, and which of them a question mentions."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgdx.errors import StoreError
from kgdx.graph.protocol import GraphTable, NodeTable, RelationTable
from kgdx.graph.snapshot_compile import compile_snapshot
from kgdx.terms.encoder import Vectors
from kgdx.terms.names.name_database import COMMON, FILE, HEAD, write_index
from kgdx.terms.names.name_decision import KINDS
from kgdx.terms.names.name_index import ENTRIES, NameIndex, open_index
from racing import raced
from terms.names.named import findings, nodes, same_as

DISEASES = {
    "KGDX:zh.1": ("百日咳", "pertussis"),
    "KGDX:en.1": ("whooping cough",),
    "OMIM:154700": ("Marfan syndrome", "MFS"),
    "ORPHA:558": ("Marfan syndrome",),
    "ORPHA:1": ("Marfan lipodystrophy syndrome",),
    "OMIM:2": ("Tumours of the Lung, type II",),
    "OMIM:3": ("Hyperthyroidism", "Overactive thyroid"),
    "OMIM:4": ("Hypothyroidism",),
    "KGDX:zh.2": ("川崎病", "皮肤黏膜淋巴结综合征"),
    "KGDX:zh.3": ("急性间歇性卟啉病",),
    "KGDX:zh.4": ("老年人糖尿病", "diabetes mellitus"),
    "KGDX:zh.5": ("马凡氏综合征(MFS)",),
}
FINDINGS = {"HP:0001945": ("Fever", "Pyrexia"), "HP:0001250": ("Seizure", "Seizures"), "HP:0012735": ("Cough",)}
SYMPTOMS = {"S:1": ("fever",), "S:2": ("发烧",), "S:3": ("咳嗽",), "S:4": ("cough",), "S:5": ("high temperature",)}
DRUGS = {"D:1": ("红霉素软膏",), "D:2": ("红霉素肠溶片",), "D:3": ("Aspirin",), "D:4": ("Cefixime",)}
GENES = {"NCBIGene:2200": ("FBN1",), "NCBIGene:6418": ("SET",), "NCBIGene:7273": ("TTN",)}


def mapped_to(*pairs: tuple[str, str, str]) -> RelationTable:
    start, end, relation = zip(*pairs, strict=True)
    return RelationTable(
        "MAPPED_TO", "Symptom", "Phenotype", pa.table({"start": start, "end": end, "relation": relation})
    )


def tables() -> list[GraphTable]:
    made = nodes("Disease", DISEASES)
    alternatives = [["OMIM:999"] if id == "OMIM:154700" else [] for id in DISEASES]
    rows = made.rows.append_column("alt_ids", pa.array(alternatives, pa.list_(pa.string())))
    return [
        NodeTable("Disease", rows),
        *findings(FINDINGS),
        nodes("Symptom", SYMPTOMS),
        nodes("Drug", DRUGS),
        nodes("Gene", GENES),
        same_as(("KGDX:zh.1", "KGDX:en.1", "exact"), ("ORPHA:1", "OMIM:154700", "broader")),
        mapped_to(("S:1", "HP:0001945", "exact"), ("S:2", "HP:0001945", "exact"), ("S:5", "HP:0001945", "narrower")),
    ]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NameIndex]:
    file = tmp_path_factory.mktemp("names") / FILE
    write_index(file, tables())
    with NameIndex(file) as opened:
        yield opened


@pytest.mark.parametrize(
    ("name", "kind", "ids", "method"),
    [
        ("百日咳", "Disease", ("KGDX:zh.1", "KGDX:en.1"), "exact"),
        ("马凡综合征", "Disease", ("OMIM:154700", "ORPHA:558", "KGDX:zh.5"), "exact"),
        ("马凡氏综合征", "Disease", ("KGDX:zh.5",), "exact"),
        ("Pertussis", "Disease", ("KGDX:zh.1", "KGDX:en.1"), "exact"),
        ("pertusis", "Disease", ("KGDX:zh.1", "KGDX:en.1"), "edit"),
        ("Marfan's Syndrome", "Disease", ("OMIM:154700", "ORPHA:558"), "exact"),
        ("MFS", "Disease", ("OMIM:154700", "ORPHA:558"), "exact"),
        ("lung tumor type 2", "Disease", ("OMIM:2",), "normalised"),
        ("over active thyroid", "Disease", ("OMIM:3",), "edit"),
        ("皮膚粘膜淋巴結綜合症", "Disease", ("KGDX:zh.2",), "normalised"),
        ("急性间歇型卟啉病", "Disease", ("KGDX:zh.3",), "edit"),
        ("omim:154700", "Disease", ("OMIM:154700",), "id"),
        ("OMIM:999", "Disease", ("OMIM:154700",), "id"),
        ("OMIM_154700", "Disease", ("OMIM:154700",), "id"),
        ("mim 154700", "Disease", ("OMIM:154700",), "id"),
        ("https://omim.org/entry/154700", "Disease", ("OMIM:154700",), "id"),
        ("Orphanet:558", "Disease", ("ORPHA:558",), "id"),
        ("ncbigene:2200", "Gene", ("NCBIGene:2200",), "id"),
        ("diabetes mellitus", "Disease", ("KGDX:zh.4",), "exact"),
        ("红霉素", "Drug", ("D:1", "D:2"), "exact"),
        ("fbn1", "Gene", ("NCBIGene:2200",), "exact"),
        ("seizures", "Phenotype", ("HP:0001250",), "exact"),
    ],
)
def test_a_name_means_all_entries_of_that_name(
    index: NameIndex, name: str, kind: str, ids: tuple[str, ...], method: str
) -> None:
    found = index.resolve(name, (kind,))
    assert (found.ids, found.method) == (ids, method)
    assert found.reason
    assert found.left_out == 0


def test_what_a_relation_says_to_be_the_same_says_so(index: NameIndex) -> None:
    found = index.resolve("百日咳")
    assert [(entry.method, entry.via) for entry in found.entries] == [("exact", ""), ("same", "KGDX:zh.1")]
    assert found.entries[1].score < found.entries[0].score


UNNAMED = {
    "OMIM:104130": ("OMIM:104130",),
    "ORPHA:1005": ("Alopecia-epilepsy-pyorrhea syndrome",),
    "KGDX:zh.9": ("无毛癫痫综合征",),
    "ORPHA:69737": ("ORPHA:69737", "Bosley-Salih-Alorainy syndrome"),
    "OMIM:7": ("OMIM:7",),
}


@pytest.fixture
def unnamed(tmp_path: Path) -> Iterator[NameIndex]:
    made = nodes("Disease", UNNAMED)
    named_by_id = ["id" if id == names[0] else "test" for id, names in UNNAMED.items()]
    rows = made.rows.append_column("name_source", pa.array(named_by_id))
    same = same_as(("OMIM:104130", "ORPHA:1005", "exact"), ("KGDX:zh.9", "ORPHA:1005", "exact"))
    write_index(tmp_path / FILE, [NodeTable("Disease", rows), same])
    with NameIndex(tmp_path / FILE) as opened:
        yield opened


@pytest.mark.parametrize("id", ["OMIM:7", "omim:7", "OMIM_7", " OMIM: 7 ", "MIM:7", "https://omim.org/entry/7"])
def test_an_entry_that_is_named_by_its_id_is_found_by_it(unnamed: NameIndex, id: str) -> None:
    found = unnamed.resolve(id)
    assert (found.ids, found.names, found.method) == (("OMIM:7",), ("OMIM:7",), "id")


def test_an_entry_that_is_named_by_its_id_shows_the_name_of_one_that_is_the_same(unnamed: NameIndex) -> None:
    found = unnamed.resolve("OMIM:104130")
    assert dict(zip(found.ids, found.names, strict=True)) == {
        "OMIM:104130": "Alopecia-epilepsy-pyorrhea syndrome",
        "ORPHA:1005": "Alopecia-epilepsy-pyorrhea syndrome",
        "KGDX:zh.9": "无毛癫痫综合征",
    }
    assert unnamed.resolve("ORPHA:69737").names == ("Bosley-Salih-Alorainy syndrome",)


def test_ids_that_differ_by_case_are_told_apart(tmp_path: Path) -> None:
    write_index(tmp_path / FILE, [nodes("Gene", {"g:a": ("one",), "g:A": ("two",)})])
    with NameIndex(tmp_path / FILE) as opened:
        assert opened.resolve("g:A", ("Gene",)).names == ("two",)
        assert opened.resolve("G:a", ("Gene",)).ids == ("g:A", "g:a")


def test_names_that_serve_as_ids_are_names(tmp_path: Path) -> None:
    write_index(tmp_path / FILE, [nodes("Disease", {"gout": ("gout",), "Gout disease": ("Gout disease", "gout")})])
    with NameIndex(tmp_path / FILE) as opened:
        found = opened.resolve("gout")
    assert (found.ids, found.method) == (("gout", "Gout disease"), "exact")


def test_what_is_only_broader_is_no_equal(index: NameIndex) -> None:
    assert index.resolve("Marfan lipodystrophy syndrome").ids == ("ORPHA:1",)


def test_a_name_of_a_finding_reaches_the_symptoms_that_mean_it_in_any_language(index: NameIndex) -> None:
    assert index.resolve("fever", ("Symptom",)).ids == ("S:1", "S:2")
    pyrexia = index.resolve("pyrexia", ("Symptom",))
    assert (pyrexia.ids, pyrexia.entries[0].via) == (("S:1", "S:2"), "HP:0001945")


def test_a_name_for_some_patients_says_that_it_is_narrower(index: NameIndex) -> None:
    found = index.resolve("diabetes mellitus")
    assert found.entries[0].relation == "narrower"
    assert "narrower" in found.reason


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("hypethyroidism", "Disease"),  # a typo of two names
        ("coqueluche", "Disease"),
        ("FBN2", "Gene"),
        ("SEET", "Gene"),
        ("cefoxime", "Drug"),  # another drug
        ("OMIM:154700", "Gene"),
        ("", "Disease"),
        ("   ", "Disease"),
        ("x" * 301, "Disease"),
        ('") OR 1=1 --', "Disease"),
        ("MATCH (n) DETACH DELETE n", "Disease"),
        ("*", "Disease"),
        ("\x00", "Disease"),
    ],
)
def test_nothing_is_stated_of_what_no_name_says(index: NameIndex, name: str, kind: str) -> None:
    found = index.resolve(name, (kind,))
    assert (found.ids, found.method, found.score) == ((), "", 0.0)
    assert "called so" in found.reason


def test_half_a_character_is_no_name_and_no_fault(index: NameIndex) -> None:
    assert index.resolve("\ud800").ids == ()
    assert index.complete("\ud800") == []
    assert index.mentions("\ud800") == []


def test_names_that_come_near_are_shown_where_nothing_is_stated(index: NameIndex) -> None:
    assert [entry.matched for entry in index.resolve("hypethyroidism").candidates] == [
        "Hyperthyroidism",
        "Hypothyroidism",
    ]
    assert index.resolve("百日核").candidates[0].name == "百日咳"
    assert all(entry.method == "words" for entry in index.near("marfan"))


def test_more_entries_than_are_shown_are_counted(tmp_path: Path) -> None:
    many = {f"OMIM:{n}": ("Same name",) for n in range(ENTRIES + 5)}
    write_index(tmp_path / FILE, [nodes("Disease", many)])
    with NameIndex(tmp_path / FILE) as opened:
        found = opened.resolve("same name")
    assert (len(found.ids), found.left_out) == (ENTRIES, 5)


@pytest.mark.parametrize(
    ("prefix", "names"),
    [
        ("marf", ["Marfan syndrome", "Marfan syndrome", "Marfan lipodystrophy syndrome"]),
        ("MARFAN L", ["Marfan lipodystrophy syndrome"]),
        ("lipo", ["Marfan lipodystrophy syndrome"]),
        ("syndrome marf", ["Marfan syndrome", "Marfan syndrome", "Marfan lipodystrophy syndrome"]),
        ("百", ["百日咳"]),
        ("whoop", ["whooping cough"]),
        ("淋巴结", ["川崎病"]),
        ("OMIM:1547", ["Marfan syndrome"]),
        ("zzz", []),
        ("", []),
        ('"', []),
        ("* OR", []),
    ],
)
def test_what_was_typed_is_completed(index: NameIndex, prefix: str, names: list[str]) -> None:
    assert [entry.name for entry in index.complete(prefix)] == names


def test_completions_are_as_many_as_asked_and_say_what_matched(index: NameIndex) -> None:
    (one,) = index.complete("m", limit=1)
    assert (one.id, one.matched) == ("OMIM:154700", "MFS")
    assert {entry.kind for entry in index.complete("fev", ("Phenotype", "Symptom"))} == {"Phenotype", "Symptom"}


def test_a_prefix_of_very_many_names_gives_the_shortest_first(tmp_path: Path) -> None:
    many = {f"OMIM:{n}": (f"Common {'very ' * (n % 7)}disease {n}",) for n in range(COMMON + HEAD)}
    write_index(tmp_path / FILE, [nodes("Disease", many)])
    with NameIndex(tmp_path / FILE) as opened:
        lengths = [len(entry.matched) for entry in opened.complete("common", limit=HEAD)]
    assert len(lengths) == HEAD
    assert lengths == sorted(lengths)


def spans(index: NameIndex, text: str, kinds: Sequence[str] = KINDS) -> list[tuple[str, str]]:
    return [(each.text, each.kind) for each in index.mentions(text, kinds)]


def test_a_question_mentions_entities_in_both_languages(index: NameIndex) -> None:
    assert spans(index, "百日咳有哪些症状?") == [("百日咳", "Disease")]
    assert spans(index, "Which drugs help in Marfan's syndrome?") == [("Marfan's syndrome", "Disease")]
    assert spans(index, "pertussis怎么治疗") == [("pertussis", "Disease")]
    assert spans(index, "发烧、咳嗽可能是什么病？") == [("发烧", "Phenotype"), ("发烧", "Symptom"), ("咳嗽", "Symptom")]
    assert spans(index, "用了红霉素软膏") == [("红霉素软膏", "Drug")]
    assert spans(index, "红霉素能治什么病") == [("红霉素", "Drug")]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("请列出锁骨下动脉-腋动脉瘤的常见症状", "锁骨下动脉-腋动脉瘤"),
        ("如何治疗Shy-Drager综合征", "Shy-Drager综合征"),
        ("静注人免疫球蛋白(pH4)、红霉素能治什么病", "静注人免疫球蛋白(pH4)"),
        ("做抗溶血性链球菌“O”试验", "抗溶血性链球菌“O”试验"),
        ("the drugs 注射用放线菌素D for", "注射用放线菌素D"),
    ],
)
def test_a_chinese_name_may_hold_signs_and_letters(tmp_path: Path, text: str, name: str) -> None:
    write_index(tmp_path / FILE, [nodes("Disease", {"D:1": (name,), "D:2": ("动脉瘤",), "D:3": ("溶血",)})])
    with NameIndex(tmp_path / FILE) as opened:
        assert [each.text for each in opened.mentions(text)] == [name]


def test_a_question_may_name_ids(index: NameIndex) -> None:
    assert spans(index, "What are the features of OMIM:154700?") == [("OMIM:154700", "Disease")]
    assert spans(index, "omim:154700有hp:0001250吗") == [("omim:154700", "Disease"), ("hp:0001250", "Phenotype")]
    assert [each.ids for each in index.mentions("OMIM:999.")] == [("OMIM:154700",)]
    assert spans(index, "OMIM:154700123, note: it") == []


def test_what_stands_in_a_list_is_no_single_name(tmp_path: Path) -> None:
    write_index(tmp_path / FILE, [nodes("Symptom", {"S:1": ("恶心呕吐",), "S:2": ("恶心",), "S:3": ("呕吐",)})])
    with NameIndex(tmp_path / FILE) as opened:
        assert [each.text for each in opened.mentions("恶心、呕吐")] == ["恶心", "呕吐"]


def test_the_longest_name_is_taken_and_every_class_of_it(index: NameIndex) -> None:
    assert spans(index, "marfan lipodystrophy syndrome") == [("marfan lipodystrophy syndrome", "Disease")]
    assert spans(index, "a cough, seizures") == [
        ("cough", "Phenotype"),
        ("cough", "Symptom"),
        ("seizures", "Phenotype"),
    ]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("of the the tumours of the lung, type II", "the the tumours of the lung, type II"),
        ("a tumor of lung type 2", "tumor of lung type 2"),
        ("marfan lipodystrophy marfan syndrome", "marfan syndrome"),
        ("老年老年人糖尿病人", "老年人糖尿病"),
        ("皮肤粘膜淋巴结综合症", "皮肤粘膜淋巴结综合症"),
    ],
)
def test_a_name_is_read_to_its_end_wherever_others_begin_alike(index: NameIndex, text: str, name: str) -> None:
    assert [each.text for each in index.mentions(text, ("Disease",))] == [name]


def test_words_of_a_question_are_no_symbols_of_genes(index: NameIndex) -> None:
    assert spans(index, "Is FBN1 set, or is SET?", ("Gene",)) == [("FBN1", "Gene"), ("SET", "Gene")]
    assert spans(index, "we set a date") == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Which disease fits this patient?", []),
        ("Which disease would best fit the findings?", []),
        ("What fits her best?", []),
        ("Which diseases cause fits?", ["fits"]),
        ("fits with fever in a child", ["fits"]),
        ("a fit", ["fit"]),
    ],
)
def test_a_disease_that_fits_is_no_seizure(tmp_path: Path, text: str, found: list[str]) -> None:
    write_index(tmp_path / FILE, [nodes("Symptom", {"S:1": ("fit", "fits")})])
    with NameIndex(tmp_path / FILE) as opened:
        assert [each.text for each in opened.mentions(text)] == found


def test_only_the_classes_that_are_asked_for_are_mentioned(index: NameIndex) -> None:
    assert spans(index, "fever in pertussis", ("Disease",)) == [("pertussis", "Disease")]
    assert spans(index, "fever in pertussis", ()) == []


@given(
    st.text(max_size=60) | st.lists(st.sampled_from([*"百日咳发烧 ,'", "Marfan", "FBN1 "]), max_size=12).map("".join)
)
def test_any_text_can_be_looked_up(index: NameIndex, text: str) -> None:
    found = index.mentions(text)
    assert all(text[each.start : each.end] == each.text for each in found)
    assert all(one.end <= other.start or one.start == other.start for one, other in pairwise(found))
    assert index.resolve(text, KINDS).given == text
    assert len(index.complete(text, KINDS)) <= 10


class Rhymes:
    """An encoder that finds names near that end alike."""

    name = "rhymes"

    def encode(self, texts: Sequence[str]) -> Vectors:
        vectors = np.zeros((len(texts), 128), np.float32)
        for row, text in zip(vectors, texts, strict=True):
            row[ord(text[-1]) % 128] = 1
        return vectors


def test_an_encoder_finds_what_nothing_else_does_and_says_so(tmp_path: Path) -> None:
    made: list[GraphTable] = [nodes("Disease", {"OMIM:1": ("Gout",), "OMIM:2": ("百日咳",), "OMIM:3": ("Kink 3",)})]
    snapshot = compile_snapshot(made, tmp_path / "snapshot", fingerprint="f")
    folder = snapshot.path / "derived"
    with open_index(snapshot, lambda: FakeStore(made), Rhymes()) as opened:  # type: ignore[arg-type, return-value]
        found = opened.resolve("podagra burnt")
        assert (found.ids, found.method, found.score) == (("OMIM:1",), "encoder", 1.0)
        assert "near in meaning" in found.reason
        assert opened.resolve("kick 4").ids == ()  # another number
        assert opened.resolve("咳咳咳").ids == ()  # the encoder reads no Chinese
    assert len(list(folder.glob("meaning-disease-*"))) == 1
    with open_index(snapshot, lambda: 1 / 0) as opened:  # type: ignore[arg-type, return-value]
        assert opened.resolve("podagra burnt").ids == ()


class FakeStore:
    """Gives the tables of a graph as a store exports them."""

    def __init__(self, tables: Sequence[GraphTable]) -> None:
        self.nodes = {table.label: table.rows for table in tables if isinstance(table, NodeTable)}

    def export_nodes(self, label: str, columns: Sequence[str]) -> pa.Table:
        rows = self.nodes.get(label, pa.table({"id": pa.array([], pa.string())}))
        return rows.select(["id", *(name for name in columns if name in rows.column_names)])

    def export_relations(self, type: str, start_label: str, end_label: str, columns: Sequence[str]) -> pa.Table:
        return pa.table({name: pa.array([], pa.string()) for name in ("start", "end", *columns)})


def test_a_graph_without_any_name_has_an_empty_index(tmp_path: Path) -> None:
    write_index(tmp_path / FILE, [])
    with NameIndex(tmp_path / FILE) as opened:
        assert opened.resolve("gout", KINDS).ids == ()
        assert opened.complete("g", KINDS) == []
        assert opened.mentions("gout") == []


def test_the_same_names_give_the_same_file(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        write_index(tmp_path / name / FILE, tables() if name == "one" else tables()[::-1])
    dumps = [list(sqlite3.connect(tmp_path / name / FILE).iterdump()) for name in ("one", "two")]
    assert [line for line in dumps[0] if "term" in line] == [line for line in dumps[1] if "term" in line]


def test_a_damaged_or_foreign_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be read"):
        NameIndex(tmp_path / "missing.sqlite")
    (tmp_path / "text.sqlite").write_text("no database")
    with pytest.raises(StoreError, match="cannot be read"):
        NameIndex(tmp_path / "text.sqlite")
    write_index(tmp_path / FILE, tables())
    database = sqlite3.connect(tmp_path / FILE)
    with database:
        database.execute("UPDATE meta SET value = '0' WHERE name = 'layout'")
    database.close()
    with pytest.raises(StoreError, match="of another version"):
        NameIndex(tmp_path / FILE)


def test_an_index_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be written"):
        write_index(tmp_path / "missing" / FILE, tables())
    assert list(tmp_path.iterdir()) == []


def damage(file: Path, how: str) -> None:
    """What disks and interrupted copies do to a file."""
    content = file.read_bytes()
    if how == "cut off":
        content = content[: len(content) // 2]
    elif how == "overwritten":
        content = content[:8192] + b"\xff" * (len(content) - 8192)
    file.chmod(0o644)
    file.write_bytes(b"" if how == "emptied" else b"no database" if how == "text" else content)


@pytest.mark.parametrize("how", ["cut off", "overwritten", "emptied", "text", "removed"])
def test_a_damaged_index_is_made_anew(how: str, tmp_path: Path) -> None:
    made: list[GraphTable] = [nodes("Disease", {f"OMIM:{at}": (f"disease number {at}",) for at in range(300)})]
    snapshot = compile_snapshot(made, tmp_path / "snapshot", fingerprint="f")

    def opened() -> NameIndex:
        return open_index(snapshot, lambda: FakeStore(made))  # type: ignore[arg-type, return-value]

    opened().close()
    (file,) = snapshot.path.glob(f"derived/*/{FILE}")
    if how == "removed":
        file.unlink()
    else:
        damage(file, how)
    with opened() as index:
        assert index.resolve("disease number 7").ids == ("OMIM:7",)
        assert index.complete("disease number 29")[0].id == "OMIM:29"
        assert [found.ids for found in index.mentions("is it disease number 12?")] == [("OMIM:12",)]
        assert index.near("disease number")
    assert [found.name for found in (snapshot.path / "derived").iterdir()] == [file.parent.name]
    with NameIndex(file) as index:
        assert index.resolve("disease number 7").ids == ("OMIM:7",)


def test_damage_that_nothing_can_mend_says_what_to_do(tmp_path: Path) -> None:
    write_index(tmp_path / FILE, tables())
    damage(tmp_path / FILE, "overwritten")
    with NameIndex(tmp_path / FILE) as index, pytest.raises(StoreError, match=r"cannot be read .*remove it"):
        index.resolve("gout")


_INDEXING = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from terms.names.named import nodes
from terms.names.test_name_index import FakeStore
from kgdx.terms.names.name_index import open_index
from kgdx.graph.snapshot import Snapshot
made = [nodes("Disease", {f"OMIM:{at}": (f"disease number {at}",) for at in range(2000)})]
print("ready", flush=True)
sys.stdin.readline()
with open_index(Snapshot.open(Path(sys.argv[1])), lambda: FakeStore(made)) as index:
    print(index.resolve("disease number 7").ids[0], flush=True)
"""


def test_processes_that_make_an_index_at_once_end_with_one(tmp_path: Path, root: Path) -> None:
    snapshot = compile_snapshot([nodes("Disease", {"OMIM:7": ("x",)})], tmp_path / "snapshot", fingerprint="f")
    assert raced(_INDEXING, [(snapshot.path, root / "tests")] * 3) == ["OMIM:7\n"] * 3
    assert len(list((snapshot.path / "derived").iterdir())) == 1
