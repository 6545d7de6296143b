"""Choosing sources: by name, by a manifest's path, by a folder of files; and only under accepted licences."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kgdx.errors import ConfigError, SourceError, UsageError
from kgdx.ingest import source_choice
from kgdx.ingest.manifest import manifest, manifests, own_folder
from kgdx.ingest.source_choice import choose, companions, in_folder

Write = Callable[[str, str | bytes], Path]

MINE = """
name: mine
title: My table
homepage: https://example.org
licence: My terms
citation: none
default: rows.csv
needs: [hp]
files: ["mine-*.csv"]
format: csv
nodes: [{class: Disease, id: id}]
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    monkeypatch.setenv("KGDX_HOME", str(home))
    return home


def test_a_manifest_is_found_by_its_path_and_its_default_file_beside_it(write: Write, tmp_path: Path) -> None:
    path = write("my-source.yaml", MINE)
    wanted = choose([str(path)])
    assert list(wanted) == ["hp", "mine"]
    assert wanted["mine"].origin == str(tmp_path / "rows.csv")
    assert wanted["mine"].manifest.path == path and not wanted["mine"].manifest.shipped
    assert choose([f"{path}=https://example.org/x.csv"])["mine"].origin == "https://example.org/x.csv"
    assert choose({str(path): "other.csv"})["mine"].origin == str(Path("other.csv").absolute())
    assert choose(["mine"], more=[path])["mine"].origin == str(tmp_path / "rows.csv")


def test_a_manifest_in_the_users_folder_is_found_by_its_name(home: Path) -> None:
    with pytest.raises(SourceError, match="no source is called 'mine'"):
        choose(["mine"])
    own_folder().mkdir(parents=True)
    (own_folder() / "mine.yaml").write_text(MINE)
    assert own_folder() == home / "loaders"
    assert "mine" in choose(["mine"]) and "mine" in manifests()
    (own_folder() / "mine.yaml").write_text(MINE.replace("default: rows.csv", "default: null"))
    with pytest.raises(SourceError, match=r"mine .My table. needs a file of yours: give it as mine=PATH-OR-URL"):
        choose(["mine"])


def test_a_manifest_given_by_its_path_wins_over_one_in_the_folder(write: Write) -> None:
    own_folder().mkdir(parents=True)
    (own_folder() / "mine.yaml").write_text(MINE)
    path = write("newer.yaml", MINE.replace("My table", "Newer"))
    assert choose([str(path)])["mine"].manifest.title == "Newer"
    assert choose([str(path)], more=[own_folder() / "mine.yaml"])["mine"].manifest.title == "Newer"


def test_no_manifest_takes_the_name_of_one_that_ships(write: Write) -> None:
    with pytest.raises(SourceError, match="is called 'hp', like a source that ships with kgdx: give it another name"):
        choose([str(write("x.yaml", MINE.replace("name: mine", "name: hp")))])


def test_wrong_choices_are_refused(write: Write) -> None:
    path = write("mine.yaml", MINE)
    with pytest.raises(UsageError, match="mine is given twice"):
        choose([str(path), str(write("b.yaml", MINE))])
    with pytest.raises(UsageError, match="hp is given twice"):
        choose(["hp", "hp=x"])
    with pytest.raises(UsageError, match="no file is given after 'hp='"):
        choose(["hp="])
    with pytest.raises(SourceError, match="no such manifest: nowhere.yaml"):
        choose(["nowhere.yaml"])
    with pytest.raises(SourceError, match="did you mean hpoa"):
        choose(["hpao"])
    with pytest.raises(SourceError, match="needs 'nothing', which does not exist"):
        choose([str(write("c.yaml", MINE.replace("[hp]", "[nothing]")))])


def test_a_wrong_field_is_named_with_its_line_and_what_may_stand_there(write: Write) -> None:
    for old, new, message in [
        ("format: csv", "formt: csv", r"wrong at format \(line 1\)"),
        ("nodes: [{class: Disease, id: id}]", "nodes:\n  - class: Disease\n    idd: id", r"nodes.0.id \(line 12\)"),
        ("needs: [hp]", "neds: [hp]", r"wrong at neds \(line 8\): no such field; one of .*did you mean needs"),
        ("{class: Disease, id: id}", "{class: Disease, id: id, rle: record}", r"rle \(line 11\).*did you mean role"),
        ("id: id}", "id: {column: id, case: Upper}}", r"nodes.0.id.case \(line 11\): .*'lower' or 'upper'"),
    ]:
        with pytest.raises(SourceError, match=message):
            choose([str(write("mine.yaml", MINE.replace(old, new)))])


def test_files_of_a_folder_go_to_the_sources_whose_names_they_have(write: Write, tmp_path: Path) -> None:
    path = write("mine.yaml", MINE)
    folder = tmp_path / "data"
    (folder / "deep").mkdir(parents=True)
    (folder / ".hidden").mkdir()
    for name in ("HP.obo", "deep/mine-1.csv.gz", "notes.txt", ".hidden/mine-3.csv", ".mine-4.csv"):
        (folder / name).write_text("x")
    found = in_folder(folder, manifests([path]))
    assert found.files == {"hp": folder / "HP.obo", "mine": folder / "deep" / "mine-1.csv.gz"}
    assert found.unknown == (folder / "notes.txt",)
    (folder / "mine-2.csv").write_text("x")
    with pytest.raises(SourceError, match=r"2 files in .* are of the source mine \(deep/mine-1.csv.gz, mine-2.csv\)"):
        in_folder(folder, manifests([path]))
    with pytest.raises(SourceError, match="no such folder"):
        in_folder(folder / "none", manifests())


def test_what_must_stand_beside_a_file_is_found_or_missed(write: Write, tmp_path: Path) -> None:
    found = manifest("mine", [write("mine.yaml", MINE + "companions: {edges.csv: [nodes.csv]}\n")])
    folder = tmp_path / "data"
    folder.mkdir()
    with pytest.raises(SourceError, match=r"edges.csv.gz needs the file nodes.csv beside it: put nodes.csv into"):
        companions(found, folder / "edges.csv.gz")
    (folder / "nodes.csv.gz").write_text("x")
    assert companions(found, folder / "edges.csv.gz") == (folder / "nodes.csv.gz",)
    assert companions(found, folder / "other.csv") == ()
    (folder / "edges.csv").write_text("x")
    named = found.model_copy(update={"files": ("edges.csv",)})
    both = in_folder(folder, {"mine": named})
    assert both.companions == (folder / "nodes.csv.gz",) and both.unknown == ()


def test_a_source_that_asks_for_it_is_downloaded_only_under_an_accepted_licence(write: Write, home: Path) -> None:
    path = write("mine.yaml", MINE + "accept: true\n")
    assert choose([str(path)]), "a local file needs no acceptance"
    url = f"{path}=https://example.org/x.csv"
    with pytest.raises(SourceError, match=r"licence of My table .My terms. must be .*kgdx sources accept mine"):
        choose([url])
    source_choice.accept(manifest("mine", [path]), home)
    assert choose([url])
    assert source_choice.accepted(home)["mine"]["licence"] == "My terms"
    write("mine.yaml", MINE.replace("My terms", "Other terms") + "accept: always\n")
    with pytest.raises(SourceError, match="has changed since you accepted it"):
        choose([str(path)])


def test_a_damaged_list_of_licences_is_not_taken_for_consent(home: Path) -> None:
    home.mkdir()
    for content in ("{", '["mine"]', '{"mine": true}'):
        (home / source_choice.FILE).write_text(content)
        with pytest.raises(ConfigError, match="licences.json"):
            source_choice.accepted(home)
