"""Candidate genes from files: gene lists, VCFs annotated with genes, and the tables of Exomiser and VEP.

Files are read line by line, gzipped or not. Of each gene the weightiest variant counts; a gene with two variants or
more on one copy each counts as changed on both.
"""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from pathlib import Path

from kgdx.case.case_rows import fold_name
from kgdx.case.person import CandidateGene, GeneEvidence
from kgdx.errors import CaseError
from kgdx.lazy import lazy_pattern

MAX_GENES = 100_000
"""Most genes of a file: there are about 60,000, those that code for no protein counted."""
MAX_LINE = 4_000_000
"""Most characters of a line: a VCF of some hundred samples stays below."""

COMMON = 0.01
"""Allele frequency from which a variant is too common for a rare disease."""
RARE = 0.001
"""Allele frequency below which nothing is taken away."""
IMPACTS = {"HIGH": 1.0, "MODERATE": 0.5, "LOW": 0.05, "MODIFIER": 0.01}
"""Weight of a variant by its predicted impact, as SnpEff and VEP grade consequences."""
LEAST = 0.02
"""A variant that weighs less is none that could be the cause: it lies outside of genes' products, or is common."""
LOST = (
    *("transcript_ablation", "splice_acceptor", "splice_donor", "stop_gained", "frameshift", "stop_lost"),
    *("start_lost", "exon_loss"),
)
CHANGED = ("missense", "inframe", "protein_altering", "splice_region", "regulatory_region_ablation")
SILENT = ("synonymous", "stop_retained", "start_retained", "incomplete_terminal")

_FORMS = "give one gene a line, a VCF annotated with genes, or a table of Exomiser or VEP"
_GENE = lazy_pattern(r"[A-Za-z0-9][\w.@-]{0,39}(?::[\w.-]{1,20})?")
_ENSEMBL = lazy_pattern(r"ENSG\d{11}(?:\.\d+)?")


@dataclass(frozen=True, slots=True)
class _Variant:
    gene: str
    name: str
    weight: float
    zygosity: str
    consequence: str


def read_genes(path: str | Path) -> GeneEvidence:
    """Read the candidate genes of a file.

    Args:
        path: A list (one gene a line: symbol, or NCBIGene, HGNC or Ensembl id; what follows a ``#`` is passed over); a
            VCF whose INFO names genes (ANN, CSQ, BCSQ, GENEINFO or Gene); Exomiser's genes or variants TSV; VEP's
            tab-delimited output. Each also with ``.gz``.
    """
    place = Path(path)
    try:
        with place.open("rb") as raw:
            packed = raw.read(2) == b"\x1f\x8b"
            raw.seek(0)
            stream = gzip.GzipFile(fileobj=raw) if packed else raw
            with io.TextIOWrapper(stream, encoding="utf-8-sig", errors="replace") as text:
                return parse_genes(_lines(text, place), str(place))
    except FileNotFoundError as error:
        raise CaseError(f"no such file: {place}", hint="check the path given to --genes") from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise CaseError(f"{place}: the gzip file is truncated or damaged", hint="fetch it again") from error
    except OSError as error:
        raise CaseError(f"{place}: cannot be read", hint=error.strerror or str(error)) from error


def parse_genes(lines: Iterable[str], where: str = "genes") -> GeneEvidence:
    r"""Read candidate genes from the lines of a file; otherwise as :func:`read_genes`."""
    each = iter(lines)
    for line in each:
        if line.startswith("##fileformat=VCF"):
            return _vcf(each, where)
        if line.startswith("##"):
            if line.startswith("## ENSEMBL VARIANT EFFECT PREDICTOR"):
                return _table(_after_comments(each), where, "VEP")
            continue
        if line.strip():
            names = {fold_name(name.lstrip("#")) for name in line.rstrip("\r\n").split("\t")}
            known = next((form for form, wanted in _TABLES.items() if wanted <= names), None)
            return _table((line, each), where, known) if known else _list([line], each, where)
    raise CaseError(f"{where}: it holds no gene", hint=_FORMS)


_TABLES = {
    "Exomiser": {"gene_symbol", "exomiser_gene_combined_score"},
    "VEP": {"uploaded_variation", "extra"},
    "table of variants": {"symbol", "consequence"},
    "table of genes": {"gene_symbol"},
}
"""Forms of tables, by columns that each has."""


def _lines(stream: io.TextIOWrapper, place: Path) -> Iterator[str]:
    while line := stream.readline(MAX_LINE):
        if len(line) == MAX_LINE:
            raise CaseError(f"{place}: a line has more than {MAX_LINE:,} characters", hint=_FORMS)
        if "\0" in line:
            raise CaseError(f"{place}: it is not text", hint=_FORMS)
        yield line


def _after_comments(lines: Iterator[str]) -> tuple[str, Iterator[str]]:
    return next((line for line in lines if not line.startswith("##")), ""), lines


def _list(first: list[str], rest: Iterator[str], where: str) -> GeneEvidence:
    genes: dict[str, CandidateGene] = {}
    for number, line in enumerate(chain(first, rest), start=1):
        words = re.split(r"[#\t,;]", line.strip(), maxsplit=1)[0].split()
        if not words:
            continue
        said = words[0]
        if len(words) > 2 or not _GENE.fullmatch(said):
            raise CaseError(f"{where} line {number}: {' '.join(words)[:40]!r} is no gene", hint=_FORMS)
        genes.setdefault(said, CandidateGene(said))
        _bounded(genes, where)
    return _evidence(genes.values(), where, complete=False, source="list")


def _bounded(genes: Mapping[str, object], where: str) -> None:
    if len(genes) > MAX_GENES:
        raise CaseError(f"{where}: it holds more than {MAX_GENES:,} genes", hint=_FORMS)


def _evidence(genes: Iterable[CandidateGene], where: str, *, complete: bool, source: str) -> GeneEvidence:
    found = tuple(sorted(genes, key=lambda gene: -gene.score)) if source != "list" else tuple(genes)
    if not found:
        raise CaseError(f"{where}: it holds no gene", hint=_FORMS)
    return GeneEvidence(found, complete, source)


def _gathered(variants: Iterable[_Variant], where: str) -> dict[str, CandidateGene]:
    genes: dict[str, CandidateGene] = {}
    single: dict[str, int] = {}
    for each in variants:
        single[each.gene] = single.get(each.gene, 0) + (
            each.zygosity == "HETEROZYGOUS" and each.weight >= IMPACTS["MODERATE"]
        )
        before = genes.get(each.gene)
        both = "BIALLELIC" if single[each.gene] > 1 or (before and before.zygosity == "BIALLELIC") else each.zygosity
        gene = CandidateGene(each.gene, each.name, each.weight, both, each.consequence)
        if before is None or gene.score > before.score:
            genes[each.gene] = gene
            _bounded(genes, where)
        elif both == "BIALLELIC":
            genes[each.gene] = replace(before, zygosity=both)
    return {id: gene for id, gene in genes.items() if gene.score > 0}


def consequence_weight(consequence: str, impact: str = "") -> float:
    """Return the weight of a variant by its consequence, in the terms of Sequence Ontology, or by its stated impact.

    Example:
        >>> consequence_weight("missense_variant&splice_region_variant"), consequence_weight("", "HIGH")
        (0.5, 1.0)
    """
    if impact.upper() in IMPACTS:
        return IMPACTS[impact.upper()]
    for words, kind in ((LOST, "HIGH"), (CHANGED, "MODERATE"), (SILENT, "LOW")):
        if any(word in consequence.lower() for word in words):
            return IMPACTS[kind]
    return IMPACTS["MODIFIER"] if consequence else IMPACTS["MODERATE"]


def rarity(frequency: float | None) -> float:
    """Return what the frequency of an allele leaves of a variant's weight.

    Example:
        >>> rarity(None), rarity(0.0001), rarity(0.02)
        (1.0, 1.0, 0.01)
    """
    if frequency is None or frequency < RARE:
        return 1.0
    return 0.01 if frequency >= COMMON else 0.3


_ANN = ("allele", "consequence", "impact", "symbol", "gene")
_BCSQ = ("consequence", "symbol")
_FREQUENCIES = (
    "gnomad_af",
    "gnomadg_af",
    "gnomade_af",
    "max_af",
    "gnomad_af_popmax",
    "exac_af",
    "af_popmax",
    "maf_1000g",
)
_FORMAT = lazy_pattern(
    r'##INFO=<ID=(ANN|CSQ|BCSQ|GENEINFO|Gene|GENE|SYMBOL|Gene\.refGene|Func\.refGene)\b.*?(?:Format:\s*([^">]+))?"?>?\s*$'
)


def _vcf(lines: Iterator[str], where: str) -> GeneEvidence:
    formats: dict[str, tuple[str, ...]] = {}
    count = 0

    def variants() -> Iterator[_Variant]:
        nonlocal count
        for line in lines:
            if line.startswith("##"):
                if (found := _FORMAT.match(line)) and found[2]:
                    formats[found[1]] = tuple(fold_name(name) for name in found[2].split("|"))
            elif not line.startswith("#") and line.strip():
                count += 1
                cells = line.rstrip("\r\n").split("\t")
                if len(cells) < 8:
                    raise CaseError(
                        f"{where}: variant {count} has {len(cells)} columns", hint="a VCF has 8 or more, by tabs"
                    )
                yield from _of_line(cells, formats)

    named = 0

    def weighty() -> Iterator[_Variant]:
        nonlocal named
        for each in variants():
            named += 1
            if each.weight >= LEAST:
                yield each

    genes = _gathered(weighty(), where)
    if not count:
        raise CaseError(f"{where}: the VCF holds no variant", hint="give the file with the patient's variants")
    if not genes and named:
        hint = "give the patient's variants before they were filtered"
        raise CaseError(f"{where}: none of the VCF's {count:,} variants is rare and changes a gene", hint=hint)
    if not genes:
        hint = "annotate it with genes first (SnpEff, VEP, bcftools csq), or give a list of genes"
        raise CaseError(f"{where}: none of the VCF's {count:,} variants names a gene", hint=hint)
    return _evidence(genes.values(), where, complete=True, source="VCF")


def _of_line(cells: list[str], formats: Mapping[str, tuple[str, ...]]) -> Iterator[_Variant]:
    zygosity = _zygosity(cells)
    if zygosity is None:
        return
    info = dict(part.partition("=")[::2] for part in cells[7].split(";"))
    passed = 1.0 if cells[6] in ("PASS", ".", "") else 0.3
    stated = _frequency(info)
    for gene, name, consequence, impact, frequency in _annotated(info, formats):
        common = max((each for each in (stated, frequency) if each is not None), default=None)
        weight = passed * consequence_weight(consequence, impact) * rarity(common)
        yield _Variant(gene, name, weight, zygosity, consequence)


def _zygosity(cells: list[str]) -> str | None:
    if len(cells) < 10:
        return ""
    keys, values = cells[8].split(":"), cells[9].split(":")
    called = values[keys.index("GT")] if "GT" in keys and keys.index("GT") < len(values) else ""
    alleles = [each for each in re.split(r"[/|]", called) if each not in ("", ".")]
    if not alleles:
        return ""
    changed = sum(each != "0" for each in alleles)
    if not changed:
        return None
    if len(alleles) == 1:
        return "HEMIZYGOUS"
    return "BIALLELIC" if changed == len(alleles) else "HETEROZYGOUS"


_folded = lru_cache(4096)(fold_name)


def _frequency(info: Mapping[str, str]) -> float | None:
    folded = {_folded(key): value for key, value in info.items()}
    return _highest(folded.get(name, "") for name in _FREQUENCIES)


def _highest(values: Iterable[str]) -> float | None:
    found = [float(each) for value in values if value for each in re.findall(r"\d+\.?\d*(?:[eE]-?\d+)?", value)]
    return max(found, default=None)


def _annotated(
    info: Mapping[str, str], formats: Mapping[str, tuple[str, ...]]
) -> Iterator[tuple[str, str, str, str, float | None]]:
    for key, usual in (("ANN", _ANN), ("CSQ", ()), ("BCSQ", _BCSQ)):
        names = formats.get(key, usual) if key != "ANN" else usual
        for entry in info.get(key, "").split(",") if key in info and names else ():
            said = dict(zip(names, entry.split("|"), strict=False))
            symbol, id = said.get("symbol", "").strip(), said.get("gene", "").strip()
            if symbol or id:
                common = _highest(said.get(name, "") for name in _FREQUENCIES)
                yield symbol or id, symbol, said.get("consequence", ""), said.get("impact", ""), common
    for entry in filter(None, info.get("GENEINFO", "").split("|")):
        symbol, _, number = entry.partition(":")
        yield (f"NCBIGene:{number}" if number.isdecimal() else symbol), symbol, "", "", None
    for key in ("Gene", "GENE", "SYMBOL", "Gene.refGene"):
        for symbol in re.split(r"[,&|]|\\x3b", info.get(key, "")):
            if _GENE.fullmatch(symbol) and symbol not in (".", "NONE"):
                yield symbol, "" if _ENSEMBL.fullmatch(symbol) else symbol, "", "", None


def _table(table: tuple[str, Iterator[str]], where: str, form: str) -> GeneEvidence:
    header, rows = table
    names = [fold_name(name.lstrip("#")) for name in header.rstrip("\r\n").split("\t")]
    read: Callable[[Mapping[str, str]], _Variant | None] = _exomiser if form == "Exomiser" else _effect

    def variants() -> Iterator[_Variant]:
        for line in rows:
            if line.strip() and not line.startswith("##"):
                found = read(dict(zip(names, line.rstrip("\r\n").split("\t"), strict=False)))
                if found is not None and (form == "Exomiser" or found.weight >= LEAST):
                    yield found

    genes = _gathered(variants(), where)
    return _evidence(genes.values(), where, complete=form != "table of genes", source=form)


def _exomiser(row: Mapping[str, str]) -> _Variant | None:
    symbol, number = row.get("gene_symbol", ""), row.get("entrez_gene_id", "")
    score = _score(row, ("exomiser_variant_score", "exomiser_gene_variant_score", "variant_score"))
    zygosity = {"AR": "BIALLELIC", "AD": "HETEROZYGOUS", "XD": "HETEROZYGOUS"}.get(row.get("moi", ""), "")
    if not symbol:
        return None
    id = f"NCBIGene:{number}" if number.isdecimal() else symbol
    return _Variant(id, symbol, score, zygosity, row.get("functional_class", ""))


def _score(row: Mapping[str, str], names: Iterable[str]) -> float:
    for name in names:
        try:
            return min(max(float(row[name]), 0.0), 1.0)
        except (KeyError, ValueError):
            continue
    return 1.0


def _effect(row: Mapping[str, str]) -> _Variant | None:
    extra = dict(part.partition("=")[::2] for part in row.get("extra", "").split(";"))
    said = {fold_name(key): value for key, value in extra.items()} | {
        k: v for k, v in row.items() if v not in ("", "-")
    }
    symbol = next((said[name] for name in ("symbol", "gene_symbol", "gene_name") if said.get(name)), "")
    id = said.get("gene", "") or said.get("gene_id", "")
    if not symbol and not id:
        return None
    common = _highest(said.get(name, "") for name in _FREQUENCIES)
    weight = consequence_weight(said.get("consequence", ""), said.get("impact", "")) * rarity(common)
    zygosity = {"hom": "BIALLELIC", "het": "HETEROZYGOUS", "hem": "HEMIZYGOUS"}.get(
        said.get("zyg", "").lower()[-3:], ""
    )
    if not said.get("consequence") and not said.get("impact"):
        weight = _score(said, ("score", "variant_score")) * rarity(common)
    return _Variant(symbol or id, symbol, weight, zygosity, said.get("consequence", ""))
