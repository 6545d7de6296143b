"""DDXPlus's files become diseases, symptoms with their questions, and patients; damage is named and set apart."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kgdx.errors import SourceError
from kgdx.ingest.check import CheckedTables
from kgdx.ingest.fetch import fetch, file_digest
from kgdx.ingest.manifest import manifest
from kgdx.ingest.records import Records
from kgdx.resources import resource

Parse = Callable[[str, Path], Records]
Rows = Callable[[CheckedTables, str], list[dict[str, Any]]]


@pytest.fixture
def release(tiny: Path, tmp_path: Path) -> Path:
    for name in ("conditions", "evidences"):
        shutil.copy(tiny / f"ddxplus-{name}.json", tmp_path / f"release_{name}.json")
    return tmp_path / "release_conditions.json"


def changed(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    content = json.loads(path.read_bytes())
    change(content)
    path.write_text(json.dumps(content), "utf-8")


def by_id(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in rows}


def test_conditions_have_readable_names_in_three_languages(
    check_files: Callable[..., CheckedTables], rows: Rows
) -> None:
    found = by_id(rows(check_files("hp", "hpoa", "ddxplus"), "Disease"))["DDXPLUS:pneumonia"]
    assert (found["name"], found["name_zh"], found["name_fr"]) == ("Pneumonia", "肺炎", "Pneumonie")
    assert (found["xrefs"], found["severity"]) == (["ICD10:J17", "ICD10:J18"], 3)


def test_evidences_have_phrases_and_their_question(check_files: Callable[..., CheckedTables], rows: Rows) -> None:
    found = by_id(rows(check_files("hp", "hpoa", "ddxplus"), "Symptom"))
    assert found["DDXPLUS:E_201"]["name"] == "cough" and found["DDXPLUS:E_201"]["name_zh"] == "咳嗽"
    assert found["DDXPLUS:E_201"]["question"] == "Do you have a cough?"
    pain = found["DDXPLUS:E_55"]
    assert (pain["answer_kind"], pain["asked_after"], pain["default_answer"]) == ("multiple", "DDXPLUS:E_53", "V_123")
    assert pain["answers"] == ["V_123 nowhere", "V_89 forehead", "V_29 lower chest"]


def test_relations_tell_symptoms_from_history(check_files: Callable[..., CheckedTables], rows: Rows) -> None:
    checked = check_files("hp", "hpoa", "ddxplus")
    found = {(row["start"], row["end"]): row["antecedent"] for row in rows(checked, "HAS_SYMPTOM")}
    assert found[("DDXPLUS:bronchitis", "DDXPLUS:E_79")] is True
    assert found[("DDXPLUS:bronchitis", "DDXPLUS:E_201")] is False
    assert len(found) == 9


def test_patients_are_observed_with_codes_and_terms(check_files: Callable[..., CheckedTables], rows: Rows) -> None:
    checked = check_files("hp", "hpoa", "ddxplus", "ddxplus_patients")
    first = {row["end"] for row in rows(checked, "OBSERVED") if row["start"] == "ddxplus_patients:patient-2"}
    assert first >= {"DDXPLUS:E_91", "DDXPLUS:E_55_@_V_29"}
    assert {row["end"] for row in rows(checked, "EXCLUDED")} >= {"DDXPLUS:E_136"}
    assert {(row["start"], row["end"]) for row in rows(checked, "DIAGNOSED")} == {
        ("ddxplus_patients:patient-2", "DDXPLUS:pneumonia"),
        ("ddxplus_patients:patient-3", "DDXPLUS:bronchitis"),
    }
    stated = {row["id"] for row in rows(check_files("hp", "hpoa", "ddxplus"), "Disease")}
    assert {row["id"] for row in rows(checked, "Disease")} == stated, "no disease is made from a condition's name"


def test_unknown_codes_of_patients_are_refused_one_by_one(parse: Parse, tiny: Path, tmp_path: Path) -> None:
    file = tmp_path / "ddxplus-patients.csv"
    text = (tiny / "ddxplus-patients.csv").read_text("utf-8")
    file.write_text(text.replace("'E_79'", "'E_7777', 'E_55_@_V_7777'"), "utf-8")
    found = parse("ddxplus_patients", file)
    assert [reason.partition(":")[0] for reason in found.rejects["reason"]] == [
        "'E_7777' is no evidence of DDXPlus",
        "'V_7777' is no value of E_55",
    ]
    assert found.frames["case"].height == 2


def test_a_table_with_other_columns_is_refused(parse: Parse, tmp_path: Path) -> None:
    file = tmp_path / "ddxplus-patients.csv"
    file.write_text("id,text\n1,cough\n", "utf-8")
    with pytest.raises(SourceError, match="it is not a patient of DDXPlus"):
        parse("ddxplus_patients", file)


def test_an_evidence_that_is_not_there_is_refused(parse: Parse, release: Path) -> None:
    changed(release, lambda content: content["Pneumonia"]["symptoms"].update({"E_888": {}}))
    found = parse("ddxplus", release)
    assert found.rejects["reason"].to_list() == ["'E_888' is no evidence of the release"]
    assert found.frames["symptom"].height == 9


def test_an_entry_of_another_form_is_refused_with_its_file(parse: Parse, release: Path) -> None:
    changed(release.with_name("release_evidences.json"), lambda content: content["E_53"].update({"data_type": 7}))
    changed(release, lambda content: content.update({"Nothing": 1}))
    found = parse("ddxplus", release)
    assert [(file and Path(file).name, reason) for file, reason in found.rejects.select("file", "reason").rows()] == [
        ("release_evidences.json", "its data_type '7' is none of B, C, M"),
        (None, "it is not a JSON object"),
        (None, "'E_53' is no evidence of the release"),
    ]


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"Pneumonia": 1}', "[" * 100_000])
def test_a_file_that_is_no_release_is_an_error(parse: Parse, release: Path, content: str) -> None:
    release.write_text(content, "utf-8")
    with pytest.raises(SourceError):
        parse("ddxplus", release)


def test_a_truncated_file_is_an_error(parse: Parse, release: Path) -> None:
    release.write_bytes(release.read_bytes()[:-40])
    with pytest.raises(SourceError, match="is not valid JSON"):
        parse("ddxplus", release)


def test_a_newer_release_keeps_its_own_words(parse: Parse, release: Path) -> None:
    def renamed(content: dict[str, Any]) -> None:
        content["Plague"] = content.pop("Bronchitis") | {"condition_name": "Plague"}

    changed(release, renamed)
    names = parse("ddxplus", release).frames["condition"]["name"].to_list()
    assert names == ["Pneumonia", "Plague"]


def test_what_ships_is_read_without_loss(parse: Parse) -> None:
    found = parse("ddxplus", fetch(str(manifest("ddxplus").default), Path()).path)
    assert (found.frames["condition"].height, found.frames["evidence"].height) == (49, 223)
    assert found.frames["symptom"].height == 888 and not found.rejects.height


def test_the_default_is_the_file_that_ships() -> None:
    path = fetch("kgdx:ddxplus/release_conditions.json", Path()).path
    assert path == resource("data", "ddxplus", "release_conditions.json")
    assert file_digest(path, "") == manifest("ddxplus").checksum
