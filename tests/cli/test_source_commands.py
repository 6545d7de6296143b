"""Commands about sources and refused records, and building from a folder of files."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import ROOT, TINY
from kgdx.errors import SourceError
from kgdx.ingest.source_choice import select

Invoke = Callable[..., subprocess.CompletedProcess[str]]

CLINIC = ROOT / "examples" / "own_source" / "clinic.yaml"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with published files, one of them compressed, and one of no source."""
    folder = tmp_path / "data"
    folder.mkdir()
    for name in ("hp.obo", "phenotype.hpoa", "genes_to_phenotype.txt"):
        shutil.copy(TINY / name, folder / name)
    (folder / "notes.txt").write_text("x")
    return folder


def test_a_scaffold_is_written_once(invoke: Invoke, tmp_path: Path) -> None:
    target = tmp_path / "mine.yaml"
    table = str(CLINIC.with_name("clinic.csv"))
    done = invoke("sources", "new", "mine", table, "--output", str(target))
    assert done.stdout.strip() == str(target) and "kgdx sources check" in done.stderr
    assert f"default: {json.dumps(table)}" in target.read_text()
    again = invoke("sources", "new", "mine", table, "--output", str(target))
    assert again.returncode == 2 and "is there already" in again.stderr
    shipped = invoke("sources", "new", "hp", table, "--output", str(tmp_path / "b.yaml"))
    assert shipped.returncode == 2 and "ships with kgdx" in shipped.stderr


def test_a_check_shows_what_would_become_of_the_records(invoke: Invoke) -> None:
    done = invoke("sources", "check", str(CLINIC))
    assert done.returncode == 0
    assert "of 6 records, 5 would be loaded, 0 merged with equal ones, 1 refused" in done.stdout
    assert "HP:9999999 is no Phenotype of this graph" in done.stdout
    assert 'line 5: {"start":"OMIM:300672","end":"HP:9999999"' in " ".join(done.stdout.split()).replace('", "', '","')
    assert "Disease-HAS_PHENOTYPE->Phenotype" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    found = json.loads(invoke("sources", "check", str(CLINIC), "--json").stdout)
    assert found["counts"]["loaded"] == 5 and found["tables"][0]["title"] == "Disease"


def test_a_check_of_a_wrong_manifest_names_the_lines_and_fails(invoke: Invoke, tmp_path: Path) -> None:
    path = tmp_path / "clinic.yaml"
    path.write_text(
        CLINIC.read_text().replace("class: Disease\n", "class: Diseas\n").replace("format: csv", "format: cvs")
    )
    done = invoke("sources", "check", str(path))
    assert done.returncode == 5
    assert "clinic.yaml has 2 faults" in done.stdout and "did you mean Disease" in " ".join(done.stdout.split())
    assert [each["line"] for each in json.loads(invoke("sources", "check", str(path), "--json").stdout)["faults"]] == [
        12,
        15,
    ]


def test_a_build_takes_the_files_of_a_folder_and_those_that_are_named(
    invoke: Invoke, folder: Path, tmp_path: Path
) -> None:
    labels = folder / "labels.tsv"
    labels.write_bytes((TINY / "hp-zh.babelon.tsv").read_bytes())
    named = ("hpoa", f"hp_zh={labels}")
    done = invoke("build", *named, "--from", str(folder), "--store", str(tmp_path / "g"), "--json")
    origins = {name: each["origin"] for name, each in json.loads(done.stdout)["sources"].items()}
    assert origins["hp"] == str(folder / "hp.obo") and origins["hp_zh"] == str(labels) and "genes" not in origins
    assert "hp.obo is of hp" in done.stderr
    assert "of no source: notes.txt" in done.stderr.splitlines(), "a file that is named has its source"
    alone = select((), place=folder).sources
    assert alone["genes"] == str(folder / "genes_to_phenotype.txt") and alone["ddxplus"] is None


def test_a_source_that_cannot_be_downloaded_says_how_to_do_without(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kgdx.ingest.fetch.time.sleep", lambda _: None)
    done = invoke(
        "build", f"hp={TINY / 'hp.obo'}", "mondo=http://127.0.0.1:1/mondo.obo", "--store", str(tmp_path / "g")
    )
    assert done.returncode == 5
    assert "to build without mondo, name the sources that you have, or give `--from FOLDER` alone" in done.stderr


def test_a_build_from_one_file_is_of_the_one_named_source(invoke: Invoke, folder: Path, tmp_path: Path) -> None:
    store = ["--store", str(tmp_path / "g"), "--json"]
    done = invoke("build", "hp", "--from", str(folder / "hp.obo"), *store)
    assert json.loads(done.stdout)["sources"]["hp"]["origin"] == str(folder / "hp.obo")
    for arguments, message in [
        ((), "is one file, and no sources are named"),
        (("hp", "hpoa"), "is one file, and 2 sources are named"),
    ]:
        wrong = invoke("build", *arguments, "--from", str(folder / "hp.obo"), *store)
        assert wrong.returncode == 2 and message in wrong.stderr
    assert "there is nothing at" in invoke("build", "hp", "--from", str(folder / "none"), *store).stderr
    for name in ("hp.obo", "phenotype.hpoa", "genes_to_phenotype.txt"):
        (folder / name).unlink()
    assert "holds no file of any source" in invoke("build", "--from", str(folder), *store).stderr


def test_a_named_source_takes_its_file_and_those_it_needs_from_the_folder(
    invoke: Invoke, folder: Path, tmp_path: Path
) -> None:
    done = invoke("build", str(CLINIC), "--from", str(folder), "--store", str(tmp_path / "g"), "--json")
    sources = json.loads(done.stdout)["sources"]
    assert sources["hp"]["origin"] == str(folder / "hp.obo") and "hpoa" not in sources
    assert select(["phenopackets"], place=folder).sources["phenopackets"] is None, "the patients that ship stand in"
    (folder / "hp.obo").unlink()
    with pytest.raises(SourceError, match="holds no file of these sources"):
        select(["hp"], place=folder)


def test_a_licence_is_accepted_once(
    invoke: Invoke, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "home"
    monkeypatch.setenv("KGDX_HOME", str(own))
    path = tmp_path / "clinic.yaml"
    path.write_text(CLINIC.read_text() + "accept: always\n")
    shutil.copy(CLINIC.with_name("clinic.csv"), tmp_path / "clinic.csv")
    build = ("build", f"hp={TINY / 'hp.obo'}", str(path), "--store", str(tmp_path / "g"))
    refused = invoke(*build)
    assert refused.returncode == 5 and "must be accepted before it is used" in refused.stderr
    done = invoke(*build, "--accept-licence", str(path))
    assert done.returncode == 0 and "accepted the licence of Findings counted in our clinic" in done.stderr
    assert invoke(*build).returncode == 0
    assert "clinic" in json.loads((own / "licences.json").read_text())
    assert invoke("sources", "accept", "nothing").returncode == 5


def test_refused_records_are_shown_exported_mended_and_loaded(invoke: Invoke, tmp_path: Path) -> None:
    store = ("--store", str(tmp_path / "g"))
    assert invoke("build", f"hp={TINY / 'hp.obo'}", str(CLINIC), *store).returncode == 0
    shown = invoke("quarantine", "show", *store).stdout
    assert "1 record refused, of 1 source" in shown and "clinic.csv, line 5" in shown
    assert max(map(len, shown.splitlines())) <= 80
    assert json.loads(invoke("quarantine", "show", "clinic", "--json", *store).stdout)[0]["line"] == 5
    file = tmp_path / "refused.jsonl"
    assert "wrote 1 record" in invoke("quarantine", "export", str(file), *store).stderr
    file.write_text(file.read_text().replace("HP:9999999", "HP:0001945"))
    done = invoke("quarantine", "retry", str(file), *store)
    assert "1 record mended: 1 taken, 0 refused again" in done.stdout
    assert "No record is refused." in invoke("quarantine", "show", *store).stdout
    assert "no record is refused" in invoke("quarantine", "retry", *store).stderr
