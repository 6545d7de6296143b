"""Reading PrimeKG's features: an entry of MONDO once with every different text, drugs by their place in nodes.csv."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from kgdx.errors import SourceError
from kgdx.ingest.check import CheckedTables
from kgdx.ingest.manifest import manifest
from kgdx.ingest.records import Records
from kgdx.ingest.sources import primekg_features

Parse = Callable[[str, Path], Records]
Write = Callable[[str, str | bytes], Path]
Rows = Callable[[CheckedTables, str], list[dict[str, Any]]]

GROUP = {"group_id_bert": "13924_12592", "group_name_bert": "osteogenesis imperfecta"}
DISEASE = (
    "node_index",
    "mondo_id",
    "mondo_name",
    "group_id_bert",
    "group_name_bert",
    "mondo_definition",
    *primekg_features.texts_of(manifest("primekg_disease_features")),
)
DRUG = ("node_index", *primekg_features.texts_of(manifest("primekg_drug_features")))
NODES = (
    "node_index,node_id,node_type,node_name,node_source\n"
    "0,9796,gene/protein,PHYHIP,NCBI\n"
    '14,DB09130,drug,"Copper, ionic",DrugBank\n'
)


def table(columns: tuple[str, ...], *rows: Mapping[str, str], separator: str = ",") -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, delimiter=separator, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def entry(number: str, name: str, **cells: str) -> dict[str, str]:
    return {"node_index": "7", "mondo_id": number, "mondo_name": name, **cells}


def test_an_entry_stands_once_with_every_different_text(parse: Parse, write: Write) -> None:
    rows = [
        entry("8019", "one", mondo_definition="What it is.", mayo_causes="First,\nwith a second line."),
        entry("8019", "one", mondo_definition="What it is.", mayo_causes="Another."),
        entry("8019", "one", mondo_definition="What it is.", mayo_causes="Another.", umls_description="In short."),
    ]
    records = parse("primekg_disease_features", write("disease_features.csv", table(DISEASE, *rows)))
    (row,) = records.frames["disease"].to_dicts()
    assert (row["id"], row["name"], row["definition"], row["_line"]) == ("MONDO:0008019", "one", "What it is.", 2)
    assert row["mayo_causes"] == ["First,\nwith a second line.", "Another."]
    assert row["umls_description"] == ["In short."]
    assert (records.merged, records.rejects.height) == (2, 0)


def test_members_of_a_group_are_joined_to_it_and_named(
    check_files: Callable[..., CheckedTables], rows: Rows, write: Write
) -> None:
    given = [entry("13924", "type 1", **GROUP), entry("12592", "type 2", **GROUP), entry("1", "alone")]
    checked = check_files(primekg_disease_features=write("disease_features.csv", table(DISEASE, *given)))
    group = "MONDO_GROUPED:13924_12592"
    names = {row["id"]: row["name"] for row in rows(checked, "Disease")}
    assert names == {
        "MONDO:0013924": "type 1",
        "MONDO:0012592": "type 2",
        "MONDO:0000001": "alone",
        group: "osteogenesis imperfecta",
    }
    pairs = [(row["start"], row["end"]) for row in rows(checked, "HAS_MEMBER")]
    assert pairs == [(group, "MONDO:0013924"), (group, "MONDO:0012592")]
    assert checked.counts["primekg_disease_features"].loaded == 3


def test_features_give_a_member_of_primekgs_groups_its_name(
    check_files: Callable[..., CheckedTables], rows: Rows, write: Write
) -> None:
    kg = (
        "relation,display_relation,x_index,x_id,x_type,x_name,x_source,y_index,y_id,y_type,y_name,y_source\n"
        "disease_protein,associated with,1,13924_12592,disease,a group,MONDO_grouped,0,9796,gene/protein,PHYHIP,NCBI\n"
    )
    features = table(DISEASE, entry("13924", "type 1", **GROUP))
    files = {"primekg": write("kg.csv", kg), "primekg_disease_features": write("disease_features.csv", features)}
    checked = check_files("hp", **files)
    names = {row["id"]: (row["name"], row["name_source"]) for row in rows(checked, "Disease")}
    assert names["MONDO:0013924"] == ("type 1", None)
    assert names["MONDO:0012592"] == ("MONDO:0012592", "id")


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (entry("x1", "one"), "mondo_id is 'x1', no id of MONDO"),
        (entry("1", ""), "mondo_name is empty"),
        (
            entry("1", "one", group_id_bert="1-2", group_name_bert="g"),
            "group_id_bert is '1-2', no group of ids of MONDO",
        ),
        (entry("1", "one", group_id_bert="1_2"), "group_name_bert is empty"),
    ],
)
def test_a_damaged_entry_is_refused(parse: Parse, write: Write, row: dict[str, str], reason: str) -> None:
    path = write("disease_features.csv", table(DISEASE, row, entry("8019", "good")))
    records = parse("primekg_disease_features", path)
    assert records.rejects.select("line", "reason").rows() == [(2, reason)]
    assert records.frames["disease"]["name"].to_list() == ["good"]


@pytest.mark.parametrize("name", ["drug_features.csv", "drug_features.tab"])
def test_drugs_are_found_by_their_place_among_the_nodes(parse: Parse, write: Write, name: str) -> None:
    write("nodes.csv", NODES)
    row = {"node_index": "14", "state": "Copper is a solid.", "atc_1": "Copper, ionic is related to the blood."}
    separator = "\t" if name.endswith("tab") else ","
    records = parse("primekg_drug_features", write(name, table(DRUG, row, row, separator=separator)))
    (drug,) = records.frames["drug"].to_dicts()
    assert (drug["id"], drug["name"], drug["state"]) == ("DRUGBANK:DB09130", "Copper, ionic", "Copper is a solid.")
    assert (records.merged, records.rejects.height) == (1, 0)


def test_features_of_no_drug_are_refused(parse: Parse, write: Write) -> None:
    write("nodes.csv", NODES)
    rows = [{"node_index": index, "state": f"state {n}"} for n, index in enumerate(("0", "99", "", "14", "14"))]
    records = parse("primekg_drug_features", write("drug_features.csv", table(DRUG, *rows)))
    assert records.rejects.select("line", "reason").rows() == [
        (2, "the node 0 is no drug but a gene/protein"),
        (3, "node_index is '99', no node of nodes.csv that can be used"),
        (4, "node_index is '', no node of nodes.csv that can be used"),
        (6, "DRUGBANK:DB09130 stands here a second time"),
    ]
    assert records.frames["drug"].height == 1


@pytest.mark.parametrize("source", ["primekg_disease_features", "primekg_drug_features"])
def test_another_file_is_an_error_that_names_the_column(parse: Parse, write: Write, source: str) -> None:
    with pytest.raises(SourceError, match="has no column"):
        parse(source, write("features.csv", "node_index,state\n1,solid\n"))
