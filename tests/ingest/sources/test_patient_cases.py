"""Patients of any form become nodes: phenopackets in files and folders, ids and words told apart."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kgdx.errors import SourceError
from kgdx.ingest.check import CheckedTables
from kgdx.ingest.records import Records, minted

Parse = Callable[[str, Path], Records]

Write = Callable[[str, str | bytes], Path]

Rows = Callable[[Any, str], list[dict[str, Any]]]

TABLE = """id\ttext\thpo\texcluded\tdiagnosis\tage\tsex\tsynthetic
1\tShe has fits.\tHP:0001250\tHP:0004322\tOMIM:100001\t7\tF\tfalse
2\t\tHP:0001252; low muscle tone\tno fever\tsome disease\t3 months\tM\ttrue
"""


def test_a_table_becomes_patients_with_phenotypes_and_symptoms(
    check_files: Callable[..., Any], rows: Rows, write: Write
) -> None:
    checked = check_files("hp", "hpoa", cases=write("cases.tsv", TABLE))
    first, second = rows(checked, "PatientCase")
    assert (first["id"], first["label"], first["sex"], first["age"]) == ("cases:1", "1", "FEMALE", "P7Y")
    assert (first["text"], first["synthetic"], first["origin"]) == ("She has fits.", False, "table")
    assert (second["id"], second["synthetic"]) == ("cases:2", True)
    symptom = minted("cases", "Symptom", "low muscle tone")
    assert {(row["start"], row["end"], row["text"]) for row in rows(checked, "OBSERVED")} == {
        ("cases:1", "HP:0001250", "HP:0001250"),
        ("cases:2", "HP:0001252", "HP:0001252"),
        ("cases:2", symptom, "low muscle tone"),
    }
    assert {row["end"] for row in rows(checked, "EXCLUDED")} == {"HP:0004322", minted("cases", "Symptom", "no fever")}
    diagnosed = {row["start"]: row["end"] for row in rows(checked, "DIAGNOSED")}
    assert diagnosed == {"cases:1": "OMIM:100001", "cases:2": minted("cases", "Disease", "some disease")}
    assert checked.quarantine.is_empty()


def test_of_two_patients_with_one_id_the_second_is_refused(parse: Parse, write: Write) -> None:
    lines = [{"id": "a", "text": "Fits."}, {"id": "a", "text": "Fever."}, {"id": "a", "text": "Fits."}]
    records = parse("cases", write("c.jsonl", "\n".join(json.dumps(line) for line in lines)))
    assert records.frames["case"].height == 2, "the third is the first once more, and is merged with it"
    assert records.rejects.select("line", "reason").rows() == [(2, "another case (record '1') has the id 'a'")]


def test_cases_without_an_id_get_one_of_their_content(parse: Parse, write: Write) -> None:
    records = parse("cases", write("c.csv", "text,age\nFits.,3\nFever.,3\n"))
    ids = records.frames["case"]["id"].to_list()
    assert len(set(ids)) == 2
    assert all(each.startswith("case:") for each in ids)


def test_dialogues_are_patients_with_symptoms_that_are_there_or_not(
    check_files: Callable[..., Any], rows: Rows, write: Write
) -> None:
    goal = {"explicit_inform_slots": {"流涕": True, "腹痛": "2"}, "implicit_inform_slots": {"打喷嚏": False}}
    line = {
        "consult_id": "7",
        "goal": goal,
        "disease_tag": "过敏性鼻炎",
        "self_repo": "流清鼻涕",
        "dialog": ["流清鼻涕"],
    }
    symptoms = write("s.txt", "流涕\t流鼻涕/清涕\n")
    checked = check_files("hp", "hpoa", dx_dialogues=write("d.jsonl", json.dumps(line)), dx_symptoms=symptoms)
    (case,) = rows(checked, "PatientCase")
    assert (case["id"], case["language"], case["dialogue"]) == ("dx_dialogues:7", "zh", ["流清鼻涕"])
    names = {row["id"]: row for row in rows(checked, "Symptom")}
    assert {row["name"] for row in names.values()} == {"流涕", "打喷嚏"}
    (observed,) = rows(checked, "OBSERVED")
    assert names[observed["end"]]["synonyms"] == ["流鼻涕", "清涕"]
    assert [names[row["end"]]["name"] for row in rows(checked, "EXCLUDED")] == ["打喷嚏"]
    (disease,) = [row for row in rows(checked, "Disease") if row["source"] == "dx_dialogues"]
    assert (disease["name"], disease["name_zh"]) == ("过敏性鼻炎", "过敏性鼻炎")
    assert checked.quarantine["reason"].to_list() == ["whether the patient has '腹痛' is unknown"]
    counts = checked.counts["dx_dialogues"]
    assert counts.read == counts.loaded + counts.merged + counts.quarantined


def test_a_made_up_phenopacket_stays_marked(check_files: Callable[..., Any], rows: Rows, write: Write) -> None:
    packet = {
        "id": "p",
        "phenotypicFeatures": [{"type": {"id": "HP:0001250"}}],
        "metaData": {"externalReferences": [{"id": "kgdx:synthetic"}]},
    }
    checked = check_files("hp", "hpoa", phenopackets=write("p.json", json.dumps(packet)))
    assert [row["synthetic"] for row in rows(checked, "PatientCase")] == [True]


@pytest.mark.parametrize(
    "content", ["", "id,text\n1\n", '{"id": "x"}', b"\xff\xfe\x00\x00", '{"text": "\\ud800', "[" * 99_999]
)
def test_a_file_without_a_usable_case_is_refused(parse: Parse, write: Write, content: str | bytes) -> None:
    with pytest.raises(SourceError):
        parse("cases", write("c.jsonl", content))


def test_the_real_cases_are_read(parse: Parse, shared_data: Path) -> None:
    dialogues = parse("dx_dialogues", shared_data / "dxy-dialogue-train.jsonl.gz")
    assert (dialogues.frames["case"].height, dialogues.rejects.height) == (416, 7)
    assert dialogues.frames["symptom_observed"].height == 1766
    complaints = parse("symptom2disease", shared_data / "symptom2disease-dev.jsonl.gz")
    assert (complaints.frames["case"].height, complaints.rejects.height) == (503, 0)
    assert complaints.frames["disease"]["id"].n_unique() == 22
    osce = parse("agentclinic", shared_data / "agentclinic-medqa.jsonl.gz")
    assert (osce.frames["case"].height, osce.rejects.height) == (107, 0)


Packets = Callable[[CheckedTables, str], list[dict[str, Any]]]


def test_a_patient_becomes_a_node_with_findings_diagnosis_and_publication(
    check_files: Callable[..., CheckedTables], rows: Packets
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
    check_files: Callable[..., CheckedTables], write: Write, tiny: Path, rows: Packets
) -> None:
    text = (tiny / "phenopacket.json").read_text().replace("HP:0004322", "HP:9999999")
    checked = check_files("hp", "hpoa", phenopackets=write("p.json", text))
    assert checked.quarantine["reason"].to_list() == ["HP:9999999 is no Phenotype of this graph"]
    assert len(rows(checked, "OBSERVED")) == 2


def test_a_diagnosis_of_a_disease_that_no_other_source_names_is_kept(
    check_files: Callable[..., CheckedTables], write: Write, tiny: Path, rows: Packets
) -> None:
    text = (tiny / "phenopacket.json").read_text().replace("OMIM:100001", "OMIM:424242")
    checked = check_files("hp", "hpoa", phenopackets=write("p.json", text))
    assert checked.quarantine.is_empty()
    assert [row["end"] for row in rows(checked, "DIAGNOSED")] == ["OMIM:424242"]
    (disease,) = [row for row in rows(checked, "Disease") if row["id"] == "OMIM:424242"]
    label = "Tiny epilepsy syndrome 1, autosomal recessive"
    assert (disease["name"], disease["name_source"], disease["source"]) == (label, "phenopackets", "phenopackets")


def test_a_diagnosis_without_a_label_keeps_its_id_as_name(
    check_files: Callable[..., CheckedTables], write: Write, tiny: Path, rows: Packets
) -> None:
    packet = json.loads((tiny / "phenopacket.json").read_text().replace("OMIM:100001", "OMIM:424242"))
    packet["diseases"] = [{"term": {"id": "OMIM:424242"}}]
    packet.pop("interpretations", None)
    checked = check_files("hp", "hpoa", phenopackets=write("p.json", json.dumps(packet)))
    (disease,) = [row for row in rows(checked, "Disease") if row["id"] == "OMIM:424242"]
    assert (disease["name"], disease["name_source"]) == ("OMIM:424242", "id")


def test_the_name_of_another_source_wins_over_the_label(
    check_files: Callable[..., CheckedTables], rows: Packets
) -> None:
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
