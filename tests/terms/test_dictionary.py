"""The dictionary on disk, the parts it is made of, and names that lose a word."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from kgdx.errors import StoreError
from kgdx.files import known
from kgdx.graph.snapshot import LIST, Snapshot
from kgdx.graph.snapshot_compile import compile_snapshot
from kgdx.terms.dictionary import Entries, Name, build_dictionary, in_scope, shortened, sum_hashes, word_hash
from kgdx.terms.extractor import Extractor
from kgdx.terms.normalise import inflection, word_class
from kgdx.terms.tokens import HARD, NONE, SOFT, Spelling, scan, words


def test_dictionary_is_compiled_once(snapshot: Snapshot) -> None:
    folder = build_dictionary(snapshot)
    before = (folder / "en-keys.npy").stat().st_mtime_ns
    assert build_dictionary(snapshot) == folder
    assert (folder / "en-keys.npy").stat().st_mtime_ns == before


def test_same_ontology_gives_the_same_files(snapshot: Snapshot) -> None:
    from kgdx.terms.dictionary import compile_dictionary

    folder = build_dictionary(snapshot)
    again = folder.with_name("again")
    again.mkdir()
    compile_dictionary(snapshot, again)
    files = known.listed(again)
    assert known.listed(folder, without=[LIST]) == files
    for name in files:
        assert (folder / name).read_bytes() == (again / name).read_bytes(), name


def test_scope_is_what_lies_below_phenotypic_abnormality(snapshot: Snapshot) -> None:
    ids = snapshot.column("phenotype", "id")
    inside = set(ids[in_scope(snapshot)])
    assert {"HP:0001250", "HP:0002121"} <= inside
    assert not inside & {"HP:0000001", "HP:0000118", "HP:0012828", "HP:0006824"}


def test_a_graph_without_phenotypes_has_an_empty_scope(tmp_path: Path) -> None:
    empty = compile_snapshot([], tmp_path / "snapshot", "f")
    assert in_scope(empty).tolist() == []


def test_entries_find_keys_best_rank_first() -> None:
    entries = Entries.of([(7, 2, 0, 3, False), (7, 1, 0, 0, False), (7, 1, 1, 2, True), (-5, 3, 0, 1, False)])
    assert entries.find(np.array([7, 6, -5])).tolist() == [1, -1, 0]
    assert [int(entries.terms[i]) for i in entries.at(1)] == [1, 2]


def test_empty_entries_find_nothing() -> None:
    assert Entries.of([]).find(np.array([1])).tolist() == [-1]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("tumour", "tumors"),
        ("haematoma", "hematomata"),
        ("hypoplastic", "hypoplasia"),
        ("fistulae", "fistula"),
        ("phalanges", "phalanx"),
        ("stenoses", "stenosis"),
        ("anemic", "anaemia"),
        ("generalised", "generalized"),
        ("nevi", "nevus"),
    ],
)
def test_forms_of_a_word_inflect_alike(one: str, other: str) -> None:
    assert inflection(one) == inflection(other)


@pytest.mark.parametrize(("one", "other"), [("renal", "kidneys"), ("fifth", "5th"), ("retarded", "retardation")])
def test_words_of_one_meaning_share_a_class(one: str, other: str) -> None:
    assert word_class(one) == word_class(other)


@pytest.mark.parametrize(("one", "other"), [("limb", "limbic"), ("hypertonia", "hypotonia"), ("ileum", "ilium")])
def test_words_of_different_meaning_differ(one: str, other: str) -> None:
    assert word_class(one) != word_class(other)


def test_words_know_how_they_are_parted() -> None:
    found = words("renal, ear anomalies (rare). But hips")
    assert found.folded == ["renal", "ear", "anomalies", "rare", "hips"]
    assert found.parting.tolist() == [HARD, SOFT, NONE, HARD, HARD]


def test_known_and_short_words_are_not_corrected() -> None:
    spelling = Spelling.of(["microcephaly", "macrocephaly", "fever"], ["patient"])
    assert spelling.correct("microcepaly") == "microcephaly"
    assert spelling.correct("patients") is None
    assert spelling.correct("fevr") is None
    assert spelling.correct("microcephaly") is None


@pytest.mark.parametrize("name", ["en-keys.npy", "zh-terms.npy", "spelling-known.npy", "zh.json"])
@pytest.mark.parametrize("share", [None, 0.0, 0.5])
def test_a_damaged_dictionary_is_made_again(snapshot: Snapshot, tmp_path: Path, name: str, share: float | None) -> None:
    shutil.copytree(snapshot.path, tmp_path / "copy")
    said: list[str] = []
    copy = Snapshot.open(tmp_path / "copy", tell=said.append)
    folder = build_dictionary(copy)
    assert said == []
    content = damage(folder / name, share)
    found = Extractor.open(copy).extract("The patient had seizures.")
    assert said == [f"{folder} is damaged and made again"]
    assert (folder / name).read_bytes() == content
    assert found == Extractor.open(snapshot).extract("The patient had seizures.")


@pytest.mark.parametrize(
    ("name", "share"), [("en-keys.npy", None), ("zh-terms.npy", 0.5), ("spelling-known.npy", 0.0), ("zh.json", 0.5)]
)
def test_a_dictionary_that_was_written_damaged_says_what_to_do(
    snapshot: Snapshot, tmp_path: Path, name: str, share: float | None
) -> None:
    shutil.copytree(snapshot.path, tmp_path / "copy")
    copy = Snapshot.open(tmp_path / "copy")
    folder = build_dictionary(copy)
    damage(folder / name, share)
    known.write_list(folder / LIST, known.known(folder, known.listed(folder, without=[LIST])))
    with pytest.raises(StoreError, match="is damaged .*: build the graph again with `kgdx build`"):
        Extractor.open(copy)


def damage(file: Path, share: float | None) -> bytes:
    """Cut a file down to a share of it, or remove it; return what it held."""
    content = file.read_bytes()
    file.unlink()
    if share is not None:
        file.write_bytes(content[: int(len(content) * share)])
    return content


def test_a_word_of_thousands_of_letters_is_no_typo(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr("kgdx.terms.tokens.stable_hash", lambda word: asked.append(word) or 0)
    spelling = Spelling.of(["fever"], [])
    assert spelling.correct("a" * 100_000) is None
    assert "a" * 100_000 not in asked


def _name(term: int, label: str, rank: int = 0) -> Name:
    folded, _, _, partings = scan(label)
    return Name(term, 0, rank, folded, partings, [word_hash(word) for word in folded])


def _key(words: str) -> int:
    return sum_hashes([word_hash(word) for word in words.split()])


COMMON = [
    _name(10 + number, label) for number, label in enumerate(["Jaw pain", "Jaw cyst", "Jaw tumour", "Jaw clicking"])
]


def _rests(*names: Name) -> set[int]:
    names = (*names, *COMMON)
    taken = {sum_hashes(name.hashes) for name in names}
    return {key for key, _ in shortened(names, taken)}


def test_a_word_is_left_out_beside_a_rare_one() -> None:
    assert _rests(_name(0, "Odontogenic keratocysts of the jaw")) >= {_key("odontogenic keratocyst")}


def test_the_described_noun_stays() -> None:
    assert _key("odontogenic jaw") not in _rests(_name(0, "Odontogenic keratocysts of the jaw"))
    assert _key("conspicuously happy") not in _rests(_name(0, "Conspicuously happy disposition"))


def test_a_word_that_tells_what_is_wrong_stays() -> None:
    assert _key("collecting system") not in _rests(_name(0, "Duplicated collecting system"))
    assert _key("palmitate level") not in _rests(_name(0, "Elevated palmitate level"))
    assert _key("startle response") not in _rests(_name(0, "Exaggerated startle response"))


def test_a_rest_of_two_terms_or_that_is_a_name_is_none() -> None:
    rest = _key("zygomatic hypertrichosis")
    assert rest in _rests(_name(0, "Zygomatic temporal hypertrichosis"))
    assert rest not in _rests(
        _name(0, "Zygomatic temporal hypertrichosis"), _name(1, "Zygomatic frontal hypertrichosis")
    )
    assert rest not in _rests(_name(0, "Zygomatic temporal hypertrichosis"), _name(1, "Zygomatic hypertrichosis"))


def test_only_exact_names_are_shortened() -> None:
    assert not _rests(_name(0, "Odontogenic keratocysts of the jaw", rank=3))
