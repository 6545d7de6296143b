"""Age, sex, onset, family and genes on the command line."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]

HYPOTONIA = "HP:0001252"


def diagnosed(invoke: Run, *options: str) -> dict[str, dict[str, object]]:
    """Return the candidates of a patient with hypotonia, by id."""
    done = invoke("diagnose", "--hpo", HYPOTONIA, "--json", *options)
    assert done.returncode == 0, done.stderr
    return {each["id"]: each for each in json.loads(done.stdout)["candidates"]}


def test_a_gene_raises_its_disease_and_says_so(invoke: Run) -> None:
    before, after = diagnosed(invoke), diagnosed(invoke, "--gene", "GENB")
    assert after["OMIM:100002"]["score"] > before["OMIM:100002"]["score"]  # type: ignore[operator]
    assert after["OMIM:100001"]["score"] == pytest.approx(before["OMIM:100001"]["score"])
    (told,) = [each for each in after["OMIM:100002"]["contributions"] if each.get("text")]  # type: ignore[attr-defined]
    assert (told["rule"], told["text"]) == ("gene_evidence", "its gene GENB is the candidate gene")
    assert "its gene GENB is the candidate gene" in " ".join(
        invoke("explain", "hypotonia", "OMIM:100002", "--gene", "GENB").stdout.split()
    )


def test_a_file_of_genes_is_read(invoke: Run, tmp_path: Path) -> None:
    file = tmp_path / "genes.txt"
    file.write_text("GENA\nNCBIGene:20\n")
    found = diagnosed(invoke, "--genes", str(file))
    assert found["OMIM:100001"]["parts"]["gene_evidence"] == found["OMIM:100002"]["parts"]["gene_evidence"] > 0  # type: ignore[index, operator]


def test_the_person_is_shown_and_counts(invoke: Run) -> None:
    shown = invoke("diagnose", "A 3-month-old girl with seizures since birth, parents are first cousins.").stdout
    assert "female · 3 months · began at birth · parents related" in shown
    found = diagnosed(invoke, "--age", "3 months", "--onset", "congenital", "--inheritance", "AR", "--consanguineous")
    assert {"onset", "inheritance"} <= set(found["OMIM:100001"]["parts"])  # type: ignore[call-overload]


def test_nothing_of_the_person_leaves_the_ranking_as_it_was(invoke: Run) -> None:
    plain = diagnosed(invoke)
    findings = {"likelihood", "coverage", "typicality", "excluded", "obligate", "hub"}
    assert set(plain["OMIM:100001"]["parts"]) == findings  # type: ignore[call-overload]
    for candidate in plain.values():
        assert sum(candidate["parts"].values()) == pytest.approx(candidate["score"], abs=1e-4)  # type: ignore[attr-defined]


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
