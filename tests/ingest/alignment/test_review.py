"""The table that people edit: written, mangled by a spreadsheet, read back, refused with the line."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kgdx
from kgdx.errors import UsageError
from kgdx.graph.protocol import GraphTable, NodeTable
from kgdx.ingest.alignment.decisions import FILE, Decisions
from kgdx.ingest.alignment.mappings import align, all_names, names_and_classes, vocabulary_tables
from kgdx.ingest.alignment.review import (
    COLUMNS,
    ReviewRow,
    read_review,
    review_rows,
    stated_mappings,
    usable,
    write_review,
)
from kgdx.ingest.alignment.same_names import infer
from kgdx.terms.names.sssom import MappingSet, MappingStatement, read_rows, read_sssom, write_sssom
from terms.names.named import findings, nodes

CLASSES = {
    "HP:1": "Phenotype",
    "HP:2": "Phenotype",
    "KGDX:zh.a": "Symptom",
    "OMIM:1": "Disease",
    "OMIM:2": "Disease",
    "MONDO:1": "Disease",
    "MESH:D1": "MeshDescriptor",
    "MESH:D2": "MeshDescriptor",
}


def review(tmp_path: Path, *lines: str, encoding: str = "utf-8", separator: str = "\t", end: str = "\n") -> Path:
    header = separator.join(("subject", "relation", "object", "decision", "replacement", "comment"))
    file = tmp_path / "review.tsv"
    rows = [header, *(line.replace("|", separator) for line in lines)]
    file.write_bytes((end.join(rows) + end).encode(encoding))
    return file


def test_what_a_graph_states_can_be_taken_back(default_graph: Path, tmp_path: Path) -> None:
    with kgdx.open(default_graph) as graph:
        tables = vocabulary_tables(graph.store)
        names, classes = names_and_classes(tables)
        stated = stated_mappings(graph.store, names)
    file = tmp_path / "stated.sssom.tsv"
    file.write_text(write_sssom(stated, title="stated"), "utf-8")
    kept, left = usable(file, read_sssom(file), classes, all_names(tables))
    assert len(kept) > 7_000 and left.keys() == {"the vocabulary DDXPLUS"}
    assert len(kept) + left.total() == len({each.pair for each in stated})


def test_decisions_are_read(tmp_path: Path) -> None:
    file = review(
        tmp_path,
        "KGDX:zh.a|exact|HP:1|accept||",
        "OMIM:1|exact|MESH:D1|reject||not the same",
        "OMIM:2||MESH:D1|replace|MESH:D2|",
        "HP:2|narrower|MESH:D2|add||",
        "HP:1|exact|MESH:D1|||left open",
    )
    found = read_review(file, CLASSES)
    assert [(e.subject, e.relation, e.object, e.denied) for e in found] == [
        ("KGDX:zh.a", "exact", "HP:1", False),
        ("OMIM:1", "exact", "MESH:D1", True),
        ("OMIM:2", "exact", "MESH:D1", True),
        ("OMIM:2", "exact", "MESH:D2", False),
        ("HP:2", "narrower", "MESH:D2", False),
    ]
    assert [bool(each.matched) for each in found] == [True, False, False, False, False]
    assert found[1].comment == "not the same"


@pytest.mark.parametrize(
    ("encoding", "separator", "end"),
    [("utf-8-sig", ";", "\r\n"), ("utf-8", ",", "\n"), ("utf-16", "\t", "\r\n"), ("utf-8-sig", "\t", "\r\n")],
)
def test_a_spreadsheet_may_have_mangled_it(tmp_path: Path, encoding: str, separator: str, end: str) -> None:
    file = review(tmp_path, "KGDX:zh.a|exact|HP:1|Accept||", encoding=encoding, separator=separator, end=end)
    assert [each.object for each in read_review(file, CLASSES)] == ["HP:1"]


def test_a_mapping_the_other_way_round_is_turned(tmp_path: Path) -> None:
    (found,) = read_review(review(tmp_path, "MESH:D1|narrower|OMIM:1|add||"), CLASSES)
    assert (found.subject, found.relation, found.object) == ("OMIM:1", "broader", "MESH:D1")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["KGDX:zh.a|exact|HP:1|maybe||"], "line 2: the decision is 'maybe'"),
        (["KGDX:zh.a|same|HP:1|accept||"], "line 2: the relation is 'same'"),
        (["KGDX:zh.a|exact|HP:9|accept||"], "line 2: the graph has no HP:9 that can be mapped"),
        (["|exact|HP:1|accept||"], "line 2: the graph has no empty id"),
        (
            ["KGDX:zh.a|exact|MESH:D1|add||"],
            r"line 2: KGDX:zh.a \(Symptom\) to MESH:D1 \(MeshDescriptor\) is no mapping",
        ),
        (["OMIM:1|exact|OMIM:1|add||"], "line 2: OMIM:1 .* is no mapping"),
        (["OMIM:1|exact|MESH:D1|replace||"], "line 2: the replacement is missing"),
        (["OMIM:1|exact|MESH:D1|replace|MESH:D1|"], "line 2: MESH:D1 is replaced by itself"),
        (
            ["HP:1|exact|MESH:D1|accept||", "", "HP:1|exact|MESH:D1|reject||"],
            "lines 2 and 4, decide differently about HP:1 and MESH:D1",
        ),
        (
            ["HP:1|exact|MESH:D1|accept||", "HP:1|exact|MESH:D2|add||"],
            "lines 2 and 3: HP:1 cannot be exactly the same as two of MESH",
        ),
        (
            ["MONDO:1|exact|OMIM:1|add||", "MONDO:1|exact|OMIM:2|add||"],
            "lines 2 and 3: MONDO:1 cannot be exactly the same as two of OMIM",
        ),
        (["KGDX:zh.a|exact|HP:1|accept||c|x"], "line 2: more cells than the 6 columns"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path: Path, lines: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_review(review(tmp_path, *lines), CLASSES)


def test_wrong_columns_are_told(tmp_path: Path) -> None:
    file = tmp_path / "x.tsv"
    file.write_text("a\tb\n1\t2\n")
    with pytest.raises(UsageError, match="lacks the column 'subject': it has a, b; a review of mappings needs"):
        read_review(file, CLASSES)


def small_graph() -> list[GraphTable]:
    return [
        *findings({"HP:1": ("Fever",), "HP:2": ("Rash",), "HP:3": ("Rash",)}),
        nodes("Symptom", {"KGDX:zh.a": ("fever",), "KGDX:zh.b": ("=rash",)}),
    ]


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="is no regular file"):
        read_rows(tmp_path / "pipe", COLUMNS, what="a review")


def test_the_table_holds_decisions_open_questions_and_what_is_stated() -> None:
    tables = small_graph()
    decisions = Decisions(
        (MappingStatement("KGDX:zh.a", "exact", "HP:2", denied=True), MappingStatement("KGDX:gone.x", "exact", "HP:1"))
    )
    rows = list(review_rows(align(tables, decisions), decisions, names_and_classes(tables)[0]))
    assert [(row.statement.subject, row.statement.object, row.status) for row in rows] == [
        ("KGDX:zh.a", "HP:2", "rejected"),
        ("KGDX:gone.x", "HP:1", "absent"),
        ("KGDX:zh.b", "HP:2", "ambiguous"),
        ("KGDX:zh.b", "HP:3", "ambiguous"),
        ("KGDX:zh.a", "HP:1", "automatic"),
    ]
    assert rows[2].candidates == ("HP:3 Rash (exact 1)",)


def test_diseases_that_names_joined_are_reviewed_too() -> None:
    columns = {"id": ["KGDX:zh.1", "KGDX:en.1"], "name": ["肺炎", "pneumonia"], "source": ["zh", "en"]}
    entries = NodeTable("Disease", pa.table(columns))
    tables: list[GraphTable] = [entries, infer([entries])]
    (row,) = review_rows([], Decisions(), names_and_classes(tables)[0], tables)
    assert (row.method, row.status, row.statement.matched) == ("same meaning", "automatic", "pneumonia = 肺炎")
    rejected = Decisions((MappingStatement("KGDX:zh.1", "exact", "KGDX:en.1", denied=True),))
    assert [row.status for row in review_rows([], rejected, names_and_classes(tables)[0], tables)] == ["rejected"]


def test_an_unedited_table_decides_nothing_and_has_no_formulas(tmp_path: Path) -> None:
    tables = small_graph()
    names, classes = names_and_classes(tables)
    text = write_review(review_rows(align(tables, Decisions()), Decisions(), names))
    file = tmp_path / "review.tsv"
    file.write_text(text, encoding="utf-8")
    assert text.splitlines()[0].split("\t") == list(COLUMNS)
    assert read_review(file, classes) == []
    for row in read_rows(file, COLUMNS, what="x").rows:
        assert not any(cell.startswith(("=", "+", "@")) for cell in row.cells.values())


cells = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=12).map(str.strip)


@given(st.lists(st.tuples(st.sampled_from(["accept", "reject", ""]), cells, cells), max_size=6))
def test_an_edited_table_gives_back_what_was_decided(
    tmp_path_factory: pytest.TempPathFactory, edits: list[tuple[str, str, str]]
) -> None:
    classes = {f"KGDX:s.{n}": "Symptom" for n in range(len(edits))} | {"HP:1": "Phenotype"}
    rows = [
        ReviewRow(
            MappingStatement(f"KGDX:s.{n}", "exact", "HP:1", subject_name=name, matched=said), "exact", "automatic"
        )
        for n, (_, name, said) in enumerate(edits)
    ]
    lines = write_review(rows)
    file = tmp_path_factory.mktemp("review") / "r.tsv"
    file.write_text(lines, encoding="utf-8")
    table = read_rows(file, COLUMNS, what="x")
    assert [row.get("subject") for row in table.rows] == list(classes)[:-1]
    edited = [
        "\t".join([row.get("subject"), "exact", "HP:1", word, "", ""])
        for row, (word, _, _) in zip(table.rows, edits, strict=True)
    ]
    found = read_review(review(file.parent, *edited), classes)
    assert [(each.subject, each.denied) for each in found] == [
        (f"KGDX:s.{n}", word == "reject") for n, (word, _, _) in enumerate(edits) if word
    ]


def test_decisions_survive_in_the_graph_folder(tmp_path: Path) -> None:
    first = Decisions().updated(
        [MappingStatement("OMIM:1", "exact", "MESH:D1"), MappingStatement("HP:1", "exact", "MESH:D1", denied=True)]
    )
    first.write(tmp_path)
    assert Decisions.read(tmp_path) == first
    later = first.updated([MappingStatement("OMIM:1", "exact", "MESH:D1", denied=True)])
    assert [each.denied for each in later.statements] == [True, True]
    assert later.digest != first.digest != Decisions().digest
    assert list(tmp_path.iterdir()) == [tmp_path / FILE]


def test_an_imported_set_is_taken_as_far_as_the_graph_has_it() -> None:
    given = MappingSet(
        {},
        [
            MappingStatement("MESH:D1", "exact", "OMIM:1", matched="x"),
            MappingStatement("OMIM:7", "exact", "MESH:D1"),
            MappingStatement("HP:1", "exact", "OMIM:1"),
        ],
        (4, 5, 6),
        skipped=[(9, "the predicate skos:closeMatch")],
    )
    kept, left = usable(Path("m.tsv"), given, CLASSES, {id: [] for id in CLASSES})
    assert [(each.subject, each.object, each.matched) for each in kept] == [("OMIM:1", "MESH:D1", "")]
    assert left == {
        "the predicate skos:closeMatch": 1,
        "an id that the graph lacks": 1,
        "Phenotype to Disease": 1,
    }
