"""Patients: one file, JSON lines, a folder, compressed; and packets that cannot be used."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kgdx.errors import SourceError
from kgdx.ingest.check import CheckedTables
from kgdx.ingest.records import Records

Parse = Callable[[str, Path], Records]
Write = Callable[[str, str | bytes], Path]
Rows = Callable[[CheckedTables, str], list[dict[str, Any]]]


def test_a_patient_becomes_a_node_with_findings_diagnosis_and_publication(
    check_files: Callable[..., CheckedTables], rows: Rows
) -> None:
    checked = check_files("hp", "hpoa", "phenopackets")
    (case,) = rows(checked, "PatientCase")
    assert (case["id"], case["sex"], case["age"], case["synthetic"]) == (
        "PMID_11111111_patient_1",
        "FEMALE",
        "P7Y",
        False,
    )
    assert {(row["end"], row["onset"]) for row in rows(checked, "OBSERVED")} == {
        ("HP:0001250", "HP:0003577"),
        ("HP:0001252", None),
    }, "the obsolete term is replaced by the current one"
    assert [row["end"] for row in rows(checked, "EXCLUDED")] == ["HP:0004322"]
    assert [row["end"] for row in rows(checked, "DIAGNOSED")] == ["OMIM:100001"]
    assert [row["end"] for row in rows(checked, "REPORTED_IN")] == ["PMID:11111111"]


def test_file_lines_folder_and_gzip_give_the_same_cases(parse: Parse, write: Write, tmp_path: Path, tiny: Path) -> None:
    packet = json.loads((tiny / "phenopacket.json").read_text())
    packets = [packet | {"id": f"case {number}"} for number in range(3)]
    lines = "".join(json.dumps(each) + "\n" for each in packets)
    folder = tmp_path / "folder"
    folder.mkdir()
    for number, each in enumerate(packets):
        (folder / f"{number}.json").write_text(json.dumps(each, indent=2))
    wanted = parse("phenopackets", write("cases.jsonl", lines)).frames
    for path in (folder, write("cases.jsonl.gz", gzip.compress(lines.encode()))):
        found = parse("phenopackets", path).frames
        for name, frame in wanted.items():
            assert found[name].drop("_line").equals(frame.drop("_line"))
    assert wanted["case"]["id"].to_list() == ["case 0", "case 1", "case 2"]


def test_a_bad_packet_is_set_apart_with_its_line(parse: Parse, write: Write, tiny: Path) -> None:
    good = json.dumps(json.loads((tiny / "phenopacket.json").read_text()))
    records = parse("phenopackets", write("cases.jsonl", f'{good}\n{{"id": "empty", "subject": {{}}}}\nnot json\n'))
    assert records.frames["case"].height == 1
    assert records.rejects["line"].to_list() == [2, 3]
    assert "no phenotypicFeatures" in records.rejects["reason"][0]


def test_an_unknown_term_is_quarantined_and_the_rest_of_the_case_loads(
    check_files: Callable[..., CheckedTables], write: Write, tiny: Path, rows: Rows
) -> None:
    text = (tiny / "phenopacket.json").read_text().replace("HP:0004322", "HP:9999999")
    checked = check_files("hp", "hpoa", phenopackets=write("p.json", text))
    assert checked.quarantine["reason"].to_list() == ["HP:9999999 is no Phenotype of this graph"]
    assert len(rows(checked, "OBSERVED")) == 2


def test_a_diagnosis_of_a_disease_that_no_other_source_names_is_kept(
    check_files: Callable[..., CheckedTables], write: Write, tiny: Path, rows: Rows
) -> None:
    text = (tiny / "phenopacket.json").read_text().replace("OMIM:100001", "OMIM:424242")
    checked = check_files("hp", "hpoa", phenopackets=write("p.json", text))
    assert checked.quarantine.is_empty()
    assert [row["end"] for row in rows(checked, "DIAGNOSED")] == ["OMIM:424242"]
    (disease,) = [row for row in rows(checked, "Disease") if row["id"] == "OMIM:424242"]
    label = "Tiny epilepsy syndrome 1, autosomal recessive"
    assert (disease["name"], disease["name_source"], disease["source"]) == (label, "phenopackets", "phenopackets")


def test_a_diagnosis_without_a_label_keeps_its_id_as_name(
    check_files: Callable[..., CheckedTables], write: Write, tiny: Path, rows: Rows
) -> None:
    packet = json.loads((tiny / "phenopacket.json").read_text().replace("OMIM:100001", "OMIM:424242"))
    packet["diseases"] = [{"term": {"id": "OMIM:424242"}}]
    packet.pop("interpretations", None)
    checked = check_files("hp", "hpoa", phenopackets=write("p.json", json.dumps(packet)))
    (disease,) = [row for row in rows(checked, "Disease") if row["id"] == "OMIM:424242"]
    assert (disease["name"], disease["name_source"]) == ("OMIM:424242", "id")


def test_the_name_of_another_source_wins_over_the_label(check_files: Callable[..., CheckedTables], rows: Rows) -> None:
    (disease,) = [
        row for row in rows(check_files("hp", "hpoa", "phenopackets"), "Disease") if row["id"] == "OMIM:100001"
    ]
    assert disease["name_source"] == "hpoa"


def test_a_diagnosis_of_a_strange_vocabulary_is_quarantined_once(
    check_files: Callable[..., CheckedTables], write: Write, tiny: Path
) -> None:
    text = (tiny / "phenopacket.json").read_text().replace("OMIM:100001", "ICD10:G40")
    checked = check_files("hp", "hpoa", phenopackets=write("p.json", text))
    (reason,) = checked.quarantine["reason"].to_list()
    assert "ICD10:G40 is no id of a Disease" in reason
    assert checked.counts["phenopackets"].quarantined == 1


@pytest.mark.parametrize("content", ["", "{}", '{"observed": ["HP:0001250"]}', "just text"])
def test_what_holds_no_phenopacket_is_refused(parse: Parse, write: Write, content: str) -> None:
    with pytest.raises(SourceError):
        parse("phenopackets", write("p.json", content))
