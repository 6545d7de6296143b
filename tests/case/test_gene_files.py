"""Candidate genes from lists, VCFs and the tables of Exomiser and VEP."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgdx.case import read_genes
from kgdx.case.gene_files import parse_genes
from kgdx.errors import CaseError

HEAD = """##fileformat=VCFv4.2
##INFO=<ID=ANN,Number=.,Type=String,Description="Functional annotations: 'Allele | Annotation | Impact | Gene_Name'">
##INFO=<ID=CSQ,Number=.,Type=String,Description="From VEP. Format: Allele|Consequence|IMPACT|SYMBOL|Gene|gnomAD_AF">
#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\tp1
"""


def vcf(*variants: tuple[str, str]) -> list[str]:
    """Return a VCF's lines: INFO and genotype of each variant."""
    lines = [f"1\t{at}\t.\tA\tG\t50\tPASS\t{info}\tGT:DP\t{call}:30\n" for at, (info, call) in enumerate(variants, 1)]
    return [*HEAD.splitlines(keepends=True), *lines]


def ann(gene: str, impact: str = "HIGH") -> str:
    return f"DP=30;ANN=G|stop_gained|{impact}|{gene}|ENSG{gene}|transcript"


def csq(gene: str, consequence: str, frequency: str = "") -> str:
    return f"CSQ=G|{consequence}||{gene}|ENSG1|{frequency}"


def test_a_list_has_a_gene_a_line_by_symbol_or_id() -> None:
    found = parse_genes(
        ["# mine\n", "FBN1\n", "\n", "HGNC:11773 TGFBR2\n", "ENSG00000166147.1\n", "fbn1-AS1\n", "FBN1\n"]
    )
    assert [gene.id for gene in found.genes] == ["FBN1", "HGNC:11773", "ENSG00000166147.1", "fbn1-AS1"]
    assert not found.complete


def test_a_vcf_names_genes_with_impact_and_genotype_and_is_complete() -> None:
    found = parse_genes(vcf((ann("A"), "0/1"), (ann("B", "LOW"), "1/1"), (ann("C"), "0/0"), (ann("D"), "1")))
    assert {gene.id: (gene.score, gene.zygosity) for gene in found.genes} == {
        "A": (1.0, "HETEROZYGOUS"),
        "B": (0.05, "BIALLELIC"),
        "D": (1.0, "HEMIZYGOUS"),
    }
    assert found.complete and found.source == "VCF"


def test_two_variants_on_one_copy_each_change_both() -> None:
    found = parse_genes(vcf((ann("A"), "0/1"), (ann("A", "MODERATE"), "1|0")))
    assert [(gene.id, gene.zygosity) for gene in found.genes] == [("A", "BIALLELIC")]


def test_a_common_variant_and_one_that_changes_nothing_are_no_candidates() -> None:
    rare, common = csq("A", "missense_variant", "0.00001"), csq("B", "missense_variant", "0.2")
    seldom, outside = csq("C", "stop_gained", "0.002"), csq("D", "intron_variant")
    found = parse_genes(vcf((rare, "0/1"), (common, "0/1"), (seldom, "0/1"), (outside, "0/1")))
    assert [(gene.id, gene.score) for gene in found.genes] == [("A", 0.5), ("C", 0.3)]
    with pytest.raises(CaseError, match="none of the VCF's 2 variants is rare and changes a gene"):
        parse_genes(vcf((common, "0/1"), (outside, "0/1")))


@pytest.mark.parametrize(
    ("info", "gene"),
    [("GENEINFO=FBN1:2200|X:1", "NCBIGene:2200"), ("Gene=FBN1", "FBN1"), ("BCSQ=missense|FBN1|t", "FBN1")],
)
def test_other_ways_of_naming_a_gene_are_read(info: str, gene: str) -> None:
    assert gene in {each.id for each in parse_genes(vcf((info, "0/1"))).genes}


def test_exomisers_genes_are_read_with_the_score_of_their_variants() -> None:
    head = "#RANK\tID\tGENE_SYMBOL\tENTREZ_GENE_ID\tMOI\tEXOMISER_GENE_COMBINED_SCORE\tEXOMISER_GENE_VARIANT_SCORE\n"
    found = parse_genes([head, "1\tx\tFBN1\t2200\tAD\t0.99\t0.8\n", "2\ty\tGENA\t1\tAR\t0.1\t0.4\n"])
    assert [(gene.id, gene.name, gene.score, gene.zygosity) for gene in found.genes] == [
        ("NCBIGene:2200", "FBN1", 0.8, "HETEROZYGOUS"),
        ("NCBIGene:1", "GENA", 0.4, "BIALLELIC"),
    ]
    assert found.source == "Exomiser"


def test_veps_default_output_is_read() -> None:
    head = "#Uploaded_variation\tLocation\tAllele\tGene\tFeature\tFeature_type\tConsequence\tExtra\n"
    row = "v1\t1:1\tG\tENSG00000166147\tENST1\tTranscript\tstop_gained\tIMPACT=HIGH;SYMBOL=FBN1;IND=p;ZYG=HET\n"
    found = parse_genes(["## ENSEMBL VARIANT EFFECT PREDICTOR v110\n", "## Column descriptions:\n", head, row])
    assert [(gene.id, gene.score, gene.zygosity) for gene in found.genes] == [("FBN1", 1.0, "HETEROZYGOUS")]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (HEAD.splitlines(keepends=True), "the VCF holds no variant"),
        (
            vcf(("DP=3", "0/1"), ("DP=4", "0/1")),
            "none of the VCF's 2 variants names a gene: annotate it with genes first",
        ),
        ([], "it holds no gene"),
        (["# nothing\n"], "it holds no gene"),
        (
            ["The patient has seizures and a fever!\n", "??\n"],
            "line 1: 'The patient has seizures and a fever!' is no gene",
        ),
        (["##fileformat=VCFv4.2\n", "1\t2\n"], "variant 1 has 2 columns"),
    ],
)
def test_a_file_without_genes_says_what_is_wrong_in_one_line(lines: list[str], message: str) -> None:
    with pytest.raises(CaseError, match=message) as caught:
        parse_genes(lines, "file")
    assert "\n" not in str(caught.value)


def test_a_packed_file_is_read_and_a_damaged_one_named(tmp_path: Path) -> None:
    file = tmp_path / "genes.txt.gz"
    file.write_bytes(gzip.compress(b"FBN1\n"))
    assert [gene.id for gene in read_genes(file).genes] == ["FBN1"]
    file.write_bytes(gzip.compress(b"FBN1\n" * 1000)[:-20])
    with pytest.raises(CaseError, match="damaged"):
        read_genes(file)
    with pytest.raises(CaseError, match="no such file"):
        read_genes(tmp_path / "none")


@given(
    st.lists(st.text("ABG1:|;=/#,. \t0-\0", max_size=60).map(lambda line: line + "\n"), max_size=12),
    st.sampled_from(["", HEAD]),
)
def test_any_lines_are_genes_or_a_case_error(lines: list[str], head: str) -> None:
    try:
        found = parse_genes([*head.splitlines(keepends=True), *lines])
    except CaseError:
        return
    assert found.genes and all(0 < gene.score <= 1 for gene in found.genes)
