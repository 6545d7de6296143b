"""Files that are not what they should be, by hand and at random: refused in one line, or read with sound counts."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import TINY, examples
from kgdx.errors import SourceError
from kgdx.ingest.check import CheckedTables, check_staged
from kgdx.ingest.column_mapping import stage
from kgdx.ingest.manifest import manifest
from kgdx.ingest.pipeline.build import build
from kgdx.ingest.sources import read
from kgdx.schema import load_schema

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
    ids=lambda value: value[:30],
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


FILES = {
    "hp.obo": "hp",
    "phenotype.hpoa": "hpoa",
    "genes_to_phenotype.txt": "genes",
    "orphanet-omim-xrefs.tsv": "orphanet_omim",
    "en_product1.xml": "orphanet_omim",
    "hp-zh.babelon.tsv": "hp_zh",
    "disease-names-zh.tsv": "disease_names_zh",
    "phenopacket.json": "phenopackets",
    "desc2025.xml": "mesh",
    "mondo.json": "mondo",
    "mondo.owl": "mondo",
    "en_product4.xml": "orphanet_phenotypes",
    "en_product6.xml": "orphanet_genes",
    "en_product9_prev.xml": "orphanet_prevalence",
    "en_product9_ages.xml": "orphanet_ages",
}

edit = st.tuples(
    st.sampled_from(["put", "cut", "double", "end"]),
    st.floats(0, 1, exclude_max=True),
    st.integers(1, 80),
    st.binary(min_size=1, max_size=6),
)


def mangled(content: bytes, edits: list[tuple[str, float, int, bytes]]) -> bytes:
    """Put bytes in, cut a piece out, double a piece, or end the file early."""
    for kind, where, length, new in edits:
        at = int(where * len(content))
        before, piece, after = content[:at], content[at : at + length], content[at + length :]
        content = {
            "put": before + new + piece + after,
            "cut": before + after,
            "double": before + piece + piece + after,
            "end": before + piece,
        }[kind]
    return content


@pytest.mark.parametrize("file", FILES)
@examples(40)
@given(edits=st.lists(edit, min_size=1, max_size=5))
def test_a_mangled_source_is_read_or_refused(file: str, edits: list[tuple[str, float, int, bytes]]) -> None:
    found = manifest(FILES[file])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / file
        path.write_bytes(mangled((TINY / file).read_bytes(), edits))
        try:
            records = read(path, found)
        except SourceError as error:
            assert "\n" not in str(error) and error.hint
            return
    tables, rejects = stage(records, found)
    checked = check_staged(tables, {found.name: rejects}, load_schema())
    counts = checked.counts[found.name]
    assert counts.read == counts.loaded + counts.merged + counts.quarantined
    assert checked.quarantine.height == counts.quarantined
