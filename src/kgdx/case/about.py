"""What somebody states of the patient beside the findings: one set of names for Python, the commands and the server."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import TypedDict

from kgdx.case.patient import SETTINGS, SEXES, Case, Issue
from kgdx.case.person import (
    SEX_WORDS,
    CandidateGene,
    Family,
    GeneEvidence,
    checked_age,
    checked_mode,
    checked_onset,
    merged,
    renamed,
)
from kgdx.errors import CaseError, UsageError

UNTOLD = 5000
"""A list that comes to so many genes of equal weight says hardly anything."""
NAMED = 3
"""Unknown genes that are named one by one; more are counted."""


class About(TypedDict, total=False):
    """What is stated of a patient; the keyword arguments of :meth:`kgdx.Graph.diagnose` beside the case.

    Attributes:
        age: Now: ``7`` (years), ``3 months``, ``P7Y3M``.
        sex: ``female`` or ``male``, in any of the forms that tables have.
        onset: When the disease began: an age, ``congenital``, ``infantile``, …, or HPO's term.
        inheritance: The mode that is suspected: ``AD``, ``AR``, ``XLR``, ``XLD``, ``XL``, ``MT``, or HPO's term.
        genes: Symbols or ids of the genes in which the patient has candidate variants, or a file of them
            (:func:`kgdx.case.gene_files.read_genes`).
        setting: Where the patient is seen: ``emergency``, ``general`` or ``referral`` (to a clinic of rare diseases).
    """

    age: str | int | None
    sex: str | None
    onset: str | int | None
    inheritance: str | Sequence[str] | None
    consanguineous: bool | None
    genes: Sequence[str] | Path | None
    setting: str | None


def with_person(case: Case, about: About) -> Case:
    """Return a case with what is stated of the patient, which counts more than what the case says itself."""
    unknown = about.keys() - About.__annotations__.keys()
    if unknown:
        raise UsageError(f"nothing is called {min(unknown)!r}", hint=f"one of {', '.join(About.__annotations__)}")
    age, sex, onset, modes = about.get("age"), about.get("sex"), about.get("onset"), about.get("inheritance")
    related, genes = about.get("consanguineous"), about.get("genes")
    family = case.family
    listed = (modes,) if isinstance(modes, str) else modes or ()
    family = Family(
        family.consanguineous if related is None else related,
        family.affected,
        tuple(dict.fromkeys(checked_mode(mode) for mode in listed)) or family.inheritance,
    )
    return replace(
        case,
        age=case.age if age is None else checked_age(str(age)),
        sex=case.sex if sex is None else _sex(str(sex)),
        onset=case.onset if onset is None else checked_onset(str(onset)),
        family=family,
        gene_evidence=_genes(genes) or case.gene_evidence,
        setting=_setting(about.get("setting")) or case.setting,
    )


def _setting(said: str | None) -> str:
    if said and said not in SETTINGS:
        raise UsageError(f"there is no setting {str(said)[:40]!r}", hint=f"give {', '.join(SETTINGS)}, or leave it out")
    return said or ""


def _sex(said: str) -> str:
    found = said.upper() if said.upper() in SEXES else SEX_WORDS.get(said.strip().lower())
    if found is None:
        raise CaseError(f"sex {said[:40]!r} is not known", hint="give female or male, or leave it out")
    return found


def _genes(given: Sequence[str] | Path | None) -> GeneEvidence | None:
    if isinstance(given, Path):
        from kgdx.case.gene_files import read_genes

        return read_genes(given)
    listed = (given,) if isinstance(given, str) else given or ()
    named = [name.strip() for name in listed if name.strip()]
    return merged(CandidateGene(name) for name in named)


class GeneNames:
    """The genes that a graph knows, by id, symbol and ids in other vocabularies."""

    def __init__(self, genes: Iterable[tuple[str, str | None, Iterable[str]]]) -> None:
        self._known: dict[str, tuple[str, str]] = {}
        self._symbols: list[str] = []
        for id, name, others in genes:
            found = id, name or ""
            for called in (*others, name, id):
                if called:
                    self._known[_plain(called)] = found
            if name:
                self._symbols.append(name)

    def find(self, gene: str) -> tuple[str, str] | None:
        """Return id and symbol of a gene, ``None`` for an unknown one."""
        return self._known.get(_plain(gene))

    def nearest(self, gene: str) -> list[str]:
        return get_close_matches(gene.upper(), self._symbols, n=3, cutoff=0.6)

    def known(self, case: Case) -> Case:
        """Return a case with its candidate genes under the graph's ids, and issues about those that are unknown."""
        evidence = case.gene_evidence
        if evidence is None:
            return case
        if not self._known:
            raise CaseError("the graph knows no genes", hint="build it with them, as in `kgdx build hp hpoa genes`")
        each = [(gene, self.find(gene.id) or self.find(gene.name)) for gene in evidence.genes]
        unknown = [gene.name or gene.id for gene, found in each if found is None]
        if len(unknown) == len(each):
            raise self._none_known(unknown)
        genes = merged(
            (renamed(gene, *found) if found else gene for gene, found in each),
            complete=evidence.complete,
            source=evidence.source,
        )
        issues = (*self._unknown(unknown, len(each)), *_untold(evidence))
        return replace(case, gene_evidence=genes).with_issues(issue for issue in issues if issue not in case.issues)

    def _none_known(self, unknown: Sequence[str]) -> CaseError:
        if len(unknown) > NAMED:
            hint = "give symbols such as FBN1, or ids such as NCBIGene:2200"
            return CaseError(f"none of the {len(unknown):,} genes has a disease in this graph", hint=hint)
        return CaseError(f"no disease of this graph has the gene {unknown[0][:40]!r}", hint=self._meant(unknown[0]))

    def _unknown(self, unknown: Sequence[str], count: int) -> list[Issue]:
        if not unknown or len(unknown) > NAMED:
            message = f"{len(unknown):,} of {count:,} candidate genes have no disease in this graph"
            remedy = "they count among the candidates, and no disease rises by them"
            return [Issue("info", "genes", message, remedy)] if unknown else []
        return [
            Issue("warning", gene, f"no disease of this graph has the gene {gene[:40]!r}", self._meant(gene))
            for gene in unknown
        ]

    def _meant(self, gene: str) -> str:
        near = self.nearest(gene)
        return (
            f"did you mean {' or '.join(near)}?" if near else "check the symbol; ids such as NCBIGene:2200 are read too"
        )


def _plain(gene: str) -> str:
    name = gene.strip().upper()
    if name.removeprefix("ENSEMBL:").startswith("ENSG"):
        return name.removeprefix("ENSEMBL:").partition(".")[0]
    return (
        f"NCBIGENE:{name}"
        if name.isdecimal()
        else name.replace("NCBI_GENE:", "NCBIGENE:").replace("ENTREZ:", "NCBIGENE:")
    )


def _untold(evidence: GeneEvidence) -> list[Issue]:
    total, squares = sum(gene.score for gene in evidence.genes), sum(gene.score**2 for gene in evidence.genes)
    if not squares or total**2 / squares < UNTOLD:
        return []
    message = f"a list of {len(evidence.genes):,} genes says hardly anything: most diseases have a gene on it"
    return [Issue("warning", "genes", message, "give the genes with rare and damaging variants, or scores")]
