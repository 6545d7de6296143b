"""Files that are not what they should be: each is refused in one line, or its bad record is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import TINY
from kgdx.errors import SourceError
from kgdx.ingest.check import CheckedTables
from kgdx.ingest.manifest import manifest
from kgdx.ingest.pipeline.build import build
from kgdx.ingest.sources import read

Write = Callable[[str, str | bytes], Path]
CheckFiles = Callable[..., CheckedTables]


@pytest.mark.parametrize(
    ("source", "file"),
    [
        ("primekg", "kg.csv"),
        ("primekg_disease_features", "disease_features.csv"),
        ("primekg_drug_features", "drug_features.csv"),
    ],
)
def test_lines_that_end_with_carriage_returns_alone_are_refused(source: str, file: str, write: Write) -> None:
    write("nodes.csv", (TINY / "nodes.csv").read_bytes())
    path = write(file, (TINY / file).read_bytes().replace(b"\n", b"\r"))
    with pytest.raises(SourceError, match=r"end with carriage returns alone: save it with line feeds"):
        read(path, manifest(source))


def test_a_header_cell_without_end_is_refused(write: Write) -> None:
    path = write("kg.csv", "relation," + "x" * 200_000 + "\n")
    with pytest.raises(SourceError, match="has no header line .*: name the columns"):
        read(path, manifest("primekg"))


@pytest.mark.parametrize("source", ["cases", "dx_dialogues", "symptom2disease", "agentclinic"])
@pytest.mark.parametrize("page", ["<!DOCTYPE html>\n<p>Not found", "\n <HTML lang='en'><body>404</body></HTML>"])
def test_a_web_page_is_no_patient(source: str, page: str, write: Write) -> None:
    with pytest.raises(SourceError, match="is a web page: save the file"):
        read(write("cases.txt", page), manifest(source))


def test_a_line_of_megabytes_is_refused_alone(write: Write) -> None:
    records = read(write("dx-symptoms.txt", "发热\t发烧/高热\n" + "长" * 2_000_000 + "\t长\n"), manifest("dx_symptoms"))
    assert records.frames["symptom"]["name"].to_list() == ["发热"]
    assert records.rejects["reason"].to_list() == ["the line has 2,000,002 characters"]


def test_a_folder_in_the_place_of_a_file_is_refused_before_it_is_read_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kgdx.ingest.fetch.file_digest", lambda path, origin: pytest.fail("it was read"))
    with pytest.raises(SourceError, match="is a folder: name the file in it"):
        build({"hp": str(tmp_path)}, tmp_path / "graph")


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('"Hyperthermia"', f'"{"h" * 4_000_001}"', "synonyms has more than 4,000,000 bytes"),
        ("name: Fever", f"name: {'f' * 4_001}", "name has more than 4,000 bytes"),
        ("id: HP:0001945", f"id: HP:{'1' * 1_000}", "id has more than 1,000 bytes"),
    ],
)
def test_a_text_that_must_be_damage_is_refused(
    old: str, new: str, reason: str, write: Write, check_files: CheckFiles
) -> None:
    text = (TINY / "hp.obo").read_text("utf-8")
    assert old in text
    checked = check_files(hp=write("hp.obo", text.replace(old, new)))
    assert reason in checked.quarantine["reason"].to_list()
    counts = checked.counts["hp"]
    assert counts.read == counts.loaded + counts.merged + counts.quarantined
