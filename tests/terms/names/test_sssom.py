"""SSSOM in and out: nothing is lost on the way, and what is wrong is told with its line."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kgdx.errors import UsageError
from kgdx.terms.names.sssom import BASES, MANUAL, MappingStatement, curie, read_sssom, refuse_circles, write_sssom

HEADER = "#mapping_set_id: urn:x\n#license: https://creativecommons.org/publicdomain/zero/1.0/\n"
COLUMNS = "subject_id\tpredicate_id\tobject_id\tmapping_justification"


def written(tmp_path: Path, text: str | bytes) -> Path:
    file = tmp_path / "m.sssom.tsv"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


names = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=20).map(str.strip)
local = st.text("0123456789abcdef.", min_size=1, max_size=12)
ids = st.builds("{}:{}".format, st.sampled_from(sorted(BASES)), local)
statements = st.builds(
    MappingStatement,
    subject=ids,
    relation=st.sampled_from(["exact", "narrower", "broader"]),
    object=ids,
    denied=st.booleans(),
    subject_name=names,
    object_name=names,
    justification=st.sampled_from([MANUAL, "semapv:LexicalMatching"]),
    confidence=st.none() | st.integers(0, 10_000).map(lambda n: n / 10_000),
    matched=names,
    comment=names,
)


@given(st.lists(statements, max_size=8, unique_by=lambda each: (each.subject, each.object)))
def test_what_is_written_is_read_back(tmp_path_factory: pytest.TempPathFactory, given: list[MappingStatement]) -> None:
    file = written(tmp_path_factory.mktemp("sssom"), write_sssom(given, title="T"))
    found = read_sssom(file)
    assert list(found.statements) == given
    assert not found.skipped


def test_the_header_is_valid_sssom() -> None:
    text = write_sssom([MappingStatement("HP:1", "exact", "MESH:D1")], title="T")
    header = yaml.safe_load("".join(line[1:] + "\n" for line in text.splitlines() if line.startswith("#")))
    assert {"mapping_set_id", "license", "curie_map"} <= header.keys()
    assert {"HP", "MESH", "skos", "semapv"} == set(header["curie_map"])


@pytest.mark.parametrize(
    ("rows", "version", "message"),
    [
        (
            [("HP:1", "narrower", "HP:2"), ("HP:2", "narrower", "HP:3"), ("HP:1", "broader", "HP:3")],
            "1.0",
            "in a circle",
        ),
        ([("OMIM:1", "narrower", "MONDO:1"), ("MONDO:1", "exact", "OMIM:1")], "1", "in a circle"),
        ([("HP:1", "exact", "MESH:D1")], "2.0", "is SSSOM 2.0"),
    ],
)
def test_a_circle_and_another_version_are_one_line(
    tmp_path: Path, rows: list[tuple[str, str, str]], version: str, message: str
) -> None:
    text = write_sssom([MappingStatement(*row) for row in rows], title="T")
    file = written(tmp_path, text.replace("#license", f"#sssom_version: '{version}'\n#license", 1))
    with pytest.raises(UsageError, match=message):
        refuse_circles(file, enumerate(read_sssom(file).statements))


def test_skos_says_what_the_object_is_to_the_subject(tmp_path: Path) -> None:
    text = write_sssom([MappingStatement("HP:1", "narrower", "MESH:D1")], title="T")
    assert "skos:broadMatch" in text
    assert read_sssom(written(tmp_path, text)).statements[0].relation == "narrower"


def test_ids_of_other_spellings_are_understood() -> None:
    bases = {"ordo": "http://www.orpha.net/ORDO/Orphanet_", "x": "http://example.org/"}
    assert curie("ordo:558", bases) == "ORPHA:558"
    assert curie("Orphanet:558", {}) == "ORPHA:558"
    assert curie("hp:0001945", {}) == "HP:0001945"
    assert curie("x:1", bases) is None
    assert curie("no curie", {}) is None


def test_what_kgdx_has_no_place_for_is_skipped_and_told(tmp_path: Path) -> None:
    rows = "HP:1\tskos:relatedMatch\tMESH:D1\tsemapv:LexicalMatching\nCHEBI:1\tskos:exactMatch\tMESH:D1\tx:y\n"
    found = read_sssom(written(tmp_path, f"{HEADER}{COLUMNS}\n{rows}"))
    assert found.statements == []
    assert found.skipped == [(4, "the predicate skos:relatedMatch"), (5, "the vocabulary CHEBI")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{COLUMNS}\n", "has no header"),
        (f"#mapping_set_id: x\n{COLUMNS}\n", "the header lacks license"),
        ("#[\n" + COLUMNS + "\n", "line 2: the header is no YAML"),
        (HEADER, "has no table"),
        (f"{HEADER}subject_id\tobject_id\n", "lacks the column 'predicate_id'"),
        (f"{HEADER}{COLUMNS}\tsubject_id\n", "the column 'subject_id' is there twice"),
        (f"{HEADER}{COLUMNS}\nHP:1\tskos:exactMatch\t\tx:y\n", "line 4: object_id is empty"),
        (f"{HEADER}{COLUMNS}\nHP:1\tskos:exactMatch\tMESH:D1\tx:y\tmore\n", "line 4: more cells than the 4 columns"),
        (
            f"{HEADER}{COLUMNS}\nHP:1\tskos:exactMatch\tMESH:D1\tx:y\nHP:1\tskos:broadMatch\tMESH:D1\tx:y\n",
            "lines 4 and 5: HP:1 and MESH:D1 are mapped differently",
        ),
        (f"{HEADER}{COLUMNS}\tconfidence\nHP:1\tskos:exactMatch\tMESH:D1\tx:y\t7\n", "line 4: confidence is '7'"),
        (
            f"{HEADER}{COLUMNS}\tpredicate_modifier\nHP:1\tskos:exactMatch\tMESH:D1\tx:y\tmaybe\n",
            "line 4: predicate_modifier is 'maybe'",
        ),
        (HEADER.encode() + b"subject_id\t\xff\n", "line 3: no utf-8 text"),
        (f"{HEADER}{COLUMNS}\nHP:1\0", "line 4: a NUL byte"),
        (f'{HEADER}{COLUMNS}\n"HP:1\tskos', "lacks|is empty|EOF"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path: Path, text: str | bytes, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_sssom(written(tmp_path, text))


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        read_sssom(tmp_path / "none.tsv")
