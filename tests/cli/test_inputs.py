"""What the command line is given: files, parameters of templates, and the person."""

from __future__ import annotations

import gzip
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from kgdx.case import Case, Finding, Resolution, Status
from kgdx.cli import inputs
from kgdx.cli.options import TermOptions
from kgdx.cli.template_commands import parse
from kgdx.errors import CaseError, UsageError


class Seizures:
    """Knows one term."""

    def resolve(self, term: str) -> Resolution:
        return Resolution(Finding("HP:0001250", label="Seizure")) if term == "HP:0001250" else Resolution()


@pytest.mark.parametrize(
    "word", ["missing.json", "cases/patient.jsonl.gz", "/nowhere/note", "./note", "~/note", "my note.txt", "C:\\a"]
)
def test_what_is_written_like_a_path_must_exist(word: str) -> None:
    with pytest.raises(CaseError, match="no such file"):
        inputs.existing(word)


@pytest.mark.parametrize(
    "words",
    [
        "fever and seizures",
        "3/6 systolic murmur",
        "nausea/vomiting",
        "发热/头痛",
        "Seizures.\nSince 2020 a note.txt",
        "a" * 100_000,
        "nul\0byte",
        "She takes 2.5 mg.",
    ],
)
def test_words_are_text(words: str) -> None:
    assert inputs.existing(words) is None


def test_an_existing_file_is_read_whatever_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "fever").write_text("seizures", "utf-8")
    monkeypatch.chdir(tmp_path)
    case = inputs.one("fever")
    assert case is not None
    assert case.text == "seizures"


def test_terms_are_added_to_a_case_and_replace_what_it_said() -> None:
    case = Case("p", (Finding("HP:0001250", Status.ABSENT),))
    assert inputs.with_terms(case, TermOptions(hpo=["HP:0001250"]), Seizures()).observed == ("HP:0001250",)


def test_nothing_given_says_how_to_give_something() -> None:
    with pytest.raises(UsageError, match="no patient is given: as in"):
        inputs.with_terms(None, TermOptions(), Seizures())
    with pytest.raises(UsageError, match="--not takes back what was read of a patient: give the patient, too"):
        inputs.with_terms(None, TermOptions(withdrawn=["HP:0001250"]), Seizures())


def test_ids_are_separated_by_commas_but_names_keep_theirs() -> None:
    assert inputs.split(["HP:1, HP:2,", "Leukodystrophy, hypomyelinating"]) == [
        "HP:1",
        "HP:2",
        "Leukodystrophy, hypomyelinating",
    ]


def test_a_folder_is_for_batch(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match="kgdx batch"):
        inputs.one(str(tmp_path))


def test_only_json_lines_are_counted_beforehand(tmp_path: Path) -> None:
    plain, packed, other = tmp_path / "a.jsonl", tmp_path / "b.jsonl.gz", tmp_path / "c.json"
    plain.write_text("{}\n\n{}\n")
    packed.write_bytes(gzip.compress(b"{}\n{}\n{}"))
    other.write_text("{}")
    assert [inputs.lines(str(path)) for path in (plain, packed, other)] == [2, 3, None]


def test_a_damaged_archive_has_no_count(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(b"{}\n" * 9999)[:-20])
    assert inputs.lines(str(path)) is None


DECLARED = {"id": "string", "limit": "integer?", "share": "float", "all": "boolean", "ids": "strings", "rows": "rows"}


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("id=OMIM:1", "OMIM:1"),
        ("id=a=b", "a=b"),
        ("id='; MATCH (n) DETACH DELETE n //", "'; MATCH (n) DETACH DELETE n //"),
        ("limit=10", 10),
        ("share=0.5", 0.5),
        ("all=True", True),
        ("ids=a, b,,c", ["a", "b", "c"]),
        ('ids=["a,b", "c"]', ["a,b", "c"]),
        ("ids=", []),
        ('rows=[{"id": "x"}]', [{"id": "x"}]),
    ],
)
def test_values_take_the_declared_type(word: str, value: object) -> None:
    assert parse("t", DECLARED, [word]) == {word.split("=")[0]: value}


@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("OMIM:1", "is not NAME=VALUE: as in `kgdx run t id=…"),
        ("=1", "is not NAME=VALUE"),
        ("limit=ten", "a whole number"),
        ("share=x", "a number"),
        ("all=1", "true or false"),
        ("ids=[1", "a,b,c"),
        ("rows={}", "a JSON array"),
    ],
)
def test_what_does_not_fit_says_what_would(word: str, says: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse("t", DECLARED, [word])
    assert says in str(raised.value)


def test_a_parameter_is_given_once() -> None:
    with pytest.raises(UsageError, match="given twice"):
        parse("t", DECLARED, ["id=a", "id=b"])


def test_an_unknown_parameter_is_left_for_the_template_to_refuse() -> None:
    assert parse("t", DECLARED, ["lmit=3"]) == {"lmit": "3"}


Run = Callable[..., "subprocess.CompletedProcess[str]"]

HYPOTONIA = "HP:0001252"


def diagnosed(invoke: Run, *options: str) -> dict[str, dict[str, object]]:
    """Return the candidates of a patient with hypotonia, by id."""
    done = invoke("diagnose", "--hpo", HYPOTONIA, "--json", *options)
    assert done.returncode == 0, done.stderr
    return {each["id"]: each for each in json.loads(done.stdout)["candidates"]}


def test_a_file_of_genes_is_read(invoke: Run, tmp_path: Path) -> None:
    file = tmp_path / "genes.txt"
    file.write_text("GENA\nNCBIGene:20\n")
    found = diagnosed(invoke, "--genes", str(file))
    assert found["OMIM:100001"]["parts"]["gene_evidence"] == found["OMIM:100002"]["parts"]["gene_evidence"] > 0  # type: ignore[index, operator]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--age", "400"), "age '400' is no age: give years from 0 to 130"),
        (("--age=-5",), "age '-5' is no age"),
        (("--sex", "x"), "sex 'x' is not known: give female or male"),
        (("--onset", "soon"), "onset 'soon' is no onset"),
        (("--inheritance", "odd"), "inheritance 'odd' is no mode of inheritance"),
        (("--gene", "GENX"), "no disease of this graph has the gene 'GENX': did you mean GEN"),
        (("--gene", "GENA", "--genes", "x"), "both --gene and --genes are given"),
        (("--genes", "/nowhere.vcf"), "no such file: /nowhere.vcf"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(invoke: Run, options: tuple[str, ...], message: str) -> None:
    done = invoke("diagnose", "--hpo", HYPOTONIA, *options)
    assert done.returncode != 0 and done.stdout == ""
    (line,) = done.stderr.strip().splitlines()
    assert message in line


def test_a_vcf_that_is_empty_or_names_no_gene_says_so(invoke: Run, tmp_path: Path) -> None:
    file = tmp_path / "p.vcf"
    file.write_text("##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n")
    assert "the VCF holds no variant" in invoke("diagnose", "--hpo", HYPOTONIA, "--genes", str(file)).stderr
    file.write_text(file.read_text() + "1\t1\t.\tA\tG\t.\tPASS\tDP=3\n")
    assert (
        "none of the VCF's 1 variants names a gene"
        in invoke("diagnose", "--hpo", HYPOTONIA, "--genes", str(file)).stderr
    )


def test_contradictions_are_told_and_what_is_given_counts(invoke: Run) -> None:
    shown = " ".join(invoke("diagnose", "She has seizures.", "--sex", "male").stdout.split())
    assert "the sex is given as male, the text says female; the given one was used" in shown
    shown = " ".join(invoke("diagnose", "She has seizures and hypotonia.", "--exclude-hpo", HYPOTONIA).stdout.split())
    assert "Hypotonia (HP:0001252) is read as present; taken as absent, as it was corrected" in shown
    shown = " ".join(invoke("diagnose", "She has seizures and hypotonia.", "--not", "hypotonia").stdout.split())
    assert "1 finding present" in shown
    assert "unclear Hypotonia" in shown


def test_a_table_names_the_genes_of_each_patient(invoke: Run, tmp_path: Path) -> None:
    file = tmp_path / "patients.csv"
    file.write_text(f"id,hpo,genes,sex,age,onset\n1,{HYPOTONIA},GENB,F,400,\n2,{HYPOTONIA},,,,infantile\n")
    first, second = (json.loads(line) for line in invoke("batch", str(file)).stdout.splitlines())
    assert first["candidates"][0]["parts"]["gene_evidence"] > 0
    assert any("'400' is no age" in issue["message"] for issue in first["issues"])
    assert second["case"]["onset"] == "HP:0003593"
