"""What is known of a patient beside the findings: age, onset, family and candidate genes; read and checked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from kgdx.errors import CaseError
from kgdx.lazy import lazy_pattern

RELATIVES = ("PARENT", "SIBLING")
"""Relatives of whom it can be said that they have the same disease."""

ZYGOSITIES = ("HETEROZYGOUS", "BIALLELIC", "HEMIZYGOUS", "")
"""What a gene's variants come to: one on one of two copies, on both copies, on the only copy, or not stated."""

OLDEST = 130
"""More years than anybody has lived."""


@dataclass(frozen=True, slots=True)
class Family:
    """What is known of the patient's family.

    Attributes:
        consanguineous: Whether the parents are related by blood; ``None`` where nobody says.
        affected: Members of :data:`RELATIVES` who have the same disease.
        inheritance: HPO CURIEs of the modes of inheritance that are suspected.
    """

    consanguineous: bool | None = None
    affected: tuple[str, ...] = ()
    inheritance: tuple[str, ...] = ()

    @property
    def known(self) -> bool:
        return bool(self.consanguineous is not None or self.affected or self.inheritance)


@dataclass(frozen=True, slots=True)
class CandidateGene:
    """A gene in which the patient has a variant that may be the cause.

    Attributes:
        id: CURIE or symbol, as given; the graph's CURIE once it was looked up.
        score: How much its variants speak for it, 0 to 1 and relative to the others' scores.
        zygosity: One of :data:`ZYGOSITIES`.
        consequence: What the weightiest variant does, such as ``stop_gained``.
    """

    id: str
    name: str = ""
    score: float = 1.0
    zygosity: str = ""
    consequence: str = ""


@dataclass(frozen=True, slots=True)
class GeneEvidence:
    """The genes in which the patient has candidate variants; ``source``: what they were read from, such as ``VCF``."""

    genes: tuple[CandidateGene, ...]
    complete: bool = False
    source: str = ""


def gene_evidence(given: object, where: str = "gene_evidence") -> GeneEvidence | None:
    """Read candidate genes from JSON: a list of genes, or an object with ``genes`` and ``complete``.

    A gene is a symbol or an id, or an object with ``gene`` and, where known, ``score``, ``zygosity``, ``consequence``.
    """
    if given is None or given == []:
        return None
    listed, complete, source = given, False, "list"
    if isinstance(given, Mapping):
        listed, complete, source = given.get("genes"), given.get("complete", False), given.get("source", "list")
    if not isinstance(listed, list) or not isinstance(complete, bool) or not isinstance(source, str):
        raise CaseError(f'{where} is no list of genes: write ["FBN1", …]')
    return merged((_gene(each, where) for each in listed), complete=complete, source=source)


def merged(genes: Iterable[CandidateGene], *, complete: bool = False, source: str = "list") -> GeneEvidence | None:
    """Return evidence with each gene once, with its best score; ``None`` where there is no gene.

    Example:
        >>> merged([CandidateGene("A", score=0.2), CandidateGene("A", score=0.5)]).genes
        (CandidateGene(id='A', name='', score=0.5, zygosity='', consequence=''),)
    """
    best: dict[str, CandidateGene] = {}
    for gene in genes:
        before = best.get(gene.id)
        if before is None or gene.score > before.score:
            best[gene.id] = gene
    return GeneEvidence(tuple(best.values()), complete, source) if best else None


def _gene(given: object, where: str) -> CandidateGene:
    if isinstance(given, str) and given.strip():
        return CandidateGene(given.strip())
    if isinstance(given, Mapping):
        name, score = given.get("gene"), given.get("score", 1.0)
        zygosity, consequence = given.get("zygosity", ""), given.get("consequence", "")
        fits = isinstance(score, int | float) and not isinstance(score, bool) and 0 <= score <= 1
        if isinstance(name, str) and name.strip() and fits and zygosity in ZYGOSITIES and isinstance(consequence, str):
            return CandidateGene(name.strip(), "", float(score), str(zygosity), consequence)
    raise CaseError(f'{where}: {str(given)[:40]!r} is no gene: write "FBN1" or {{"gene": "FBN1", "score": 0.9}}')


def gene_evidence_json(evidence: GeneEvidence) -> object:
    """Return candidate genes in the form that :func:`gene_evidence` reads.

    Example:
        >>> gene_evidence_json(GeneEvidence((CandidateGene("FBN1"),), source="list"))
        ['FBN1']
    """
    genes: list[object] = []
    for gene in evidence.genes:
        said = {"score": gene.score, "zygosity": gene.zygosity, "consequence": gene.consequence}
        kept = {key: value for key, value in said.items() if value not in ("", 1.0)}
        genes.append({"gene": gene.id, **kept} if kept else gene.id)
    if not evidence.complete and evidence.source == "list":
        return genes
    return {"genes": genes, "complete": evidence.complete, "source": evidence.source}


_ISO = lazy_pattern(r"P(?=\d)(\d+Y)?(\d+M)?(\d+W)?(\d+D)?", re.IGNORECASE)
_ISO_PARTS = lazy_pattern(r"P(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)W)?(?:(\d+)D)?(?:T.*)?", re.IGNORECASE)
_AGE = lazy_pattern(
    r"(?P<number>\d{1,3})\s*-?\s*(?P<unit>years?|yrs?|y/?o|y|months?|mos?|weeks?|wks?|w|days?|d|周岁|岁|年|个月|月|周|天|日)",
    re.IGNORECASE,
)
_UNITS = {"y": "Y", "m": "M", "w": "W", "d": "D", "周岁": "Y", "岁": "Y", "年": "Y", "个月": "M", "月": "M"}
_UNITS |= {"周": "W", "天": "D", "日": "D"}
_IN_YEARS = (1.0, 1 / 12, 7 / 365.25, 1 / 365.25)


def iso_age(said: str) -> str | None:
    """Return an age as an ISO 8601 duration; a number alone is years."""
    said = said.strip()
    if _ISO.fullmatch(said):
        return said.upper() if (years_of(said) or 0) <= OLDEST else None
    number = re.fullmatch(r"(\d{1,3})(?:\.0+)?", said)
    if number:
        return f"P{int(number[1])}Y" if int(number[1]) <= OLDEST else None
    parts: dict[str, int] = {}
    for found in _AGE.finditer(said):
        unit = found["unit"].lower()
        parts.setdefault(_UNITS.get(unit) or _UNITS[unit[0]], int(found["number"]))
    if not parts or parts.get("Y", 0) > OLDEST or said.startswith(("-", "−")):
        return None
    return "P" + "".join(f"{parts[unit]}{unit}" for unit in "YMWD" if unit in parts)


def years_of(duration: str | None) -> float | None:
    """Return an ISO 8601 duration in years; ``None`` for anything else."""
    found = _ISO_PARTS.fullmatch(duration or "")
    if not found or not any(found.groups()):
        return None
    return sum(int(part or 0) * unit for part, unit in zip(found.groups(), _IN_YEARS, strict=True))


def checked_age(said: str) -> str:
    """Return an age that somebody states as an ISO 8601 duration."""
    found = iso_age(said)
    if found is None:
        hint = f"give years from 0 to {OLDEST}, or such as P7Y3M, 3 months"
        raise CaseError(f"age {said[:40]!r} is no age", hint=hint)
    return found


SEX_WORDS = {
    **dict.fromkeys(("m", "male", "man", "boy", "男", "男性", "男孩"), "MALE"),
    **dict.fromkeys(("f", "female", "woman", "girl", "女", "女性", "女孩"), "FEMALE"),
    **dict.fromkeys(("other", "other_sex"), "OTHER"),
    **dict.fromkeys(("", "u", "unknown", "unknown_sex", "na", "n/a", "未知", "不详"), "UNKNOWN"),
}
"""How a sex is written → one of :data:`kgdx.case.patient.SEXES`."""

ONSETS = {
    **dict.fromkeys(("antenatal", "prenatal", "产前"), "HP:0030674"),
    "fetal": "HP:0011461",
    "embryonal": "HP:0011460",
    **dict.fromkeys(("congenital", "birth", "at birth", "since birth", "先天", "出生"), "HP:0003577"),
    **dict.fromkeys(("neonatal", "newborn", "新生儿期"), "HP:0003623"),
    **dict.fromkeys(("infantile", "infancy", "婴儿期"), "HP:0003593"),
    **dict.fromkeys(("childhood", "儿童期"), "HP:0011463"),
    **dict.fromkeys(("juvenile", "adolescence", "青少年期"), "HP:0003621"),
    **dict.fromkeys(("adult", "adulthood", "成年"), "HP:0003581"),
    **dict.fromkeys(("young adult", "young adulthood"), "HP:0011462"),
    **dict.fromkeys(("middle age", "中年"), "HP:0003596"),
    **dict.fromkeys(("late", "老年"), "HP:0003584"),
}
"""Words for the onset of a disease → HPO's term."""

MODES = {
    **dict.fromkeys(("ad", "dominant", "autosomal dominant", "常染色体显性", "显性"), "HP:0000006"),
    **dict.fromkeys(("ar", "recessive", "autosomal recessive", "常染色体隐性", "隐性"), "HP:0000007"),
    **dict.fromkeys(("xl", "x", "x linked", "x连锁", "伴性"), "HP:0001417"),
    **dict.fromkeys(("xlr", "xr", "x linked recessive", "x连锁隐性"), "HP:0001419"),
    **dict.fromkeys(("xld", "xd", "x linked dominant", "x连锁显性"), "HP:0001423"),
    **dict.fromkeys(("yl", "y linked", "y连锁"), "HP:0001450"),
    **dict.fromkeys(("mt", "mitochondrial", "maternal", "线粒体", "母系"), "HP:0001427"),
}
"""Words for a mode of inheritance → HPO's term."""

_HPO = lazy_pattern(r"HP:\d{7}")


def checked_onset(said: str) -> str:
    """Return an onset as HPO's term, or as the age at which the disease began."""
    word = said.strip().removesuffix("起病")
    if _HPO.fullmatch(word.upper()):
        return word.upper()
    known = ONSETS.get(word.lower().removesuffix(" onset").removesuffix("-onset")) or iso_age(word)
    if known is None:
        stages = "congenital, neonatal, infantile, childhood, juvenile, adult, middle age, late"
        hint = f"give an age such as 5 or 3 months, or one of {stages}"
        raise CaseError(f"onset {said[:40]!r} is no onset", hint=hint)
    return known


def checked_mode(said: str) -> str:
    """Return a mode of inheritance as HPO's term."""
    word = said.strip()
    if _HPO.fullmatch(word.upper()):
        return word.upper()
    plain = re.sub(r"[\s_-]+", " ", word.lower()).removesuffix(" inheritance").removesuffix("遗传")
    if plain not in MODES:
        hint = "give AD, AR, XLR, XLD, XL, MT or an HPO id"
        raise CaseError(f"inheritance {said[:40]!r} is no mode of inheritance", hint=hint)
    return MODES[plain]


def renamed(gene: CandidateGene, id: str, name: str) -> CandidateGene:
    """Return a candidate gene under the graph's id and name.

    Example:
        >>> renamed(CandidateGene("FBN1", score=0.5), "NCBIGene:2200", "FBN1").id
        'NCBIGene:2200'
    """
    return replace(gene, id=id, name=name)
