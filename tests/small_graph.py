"""A graph of a dozen terms and six diseases whose every score can be worked out by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgdx.graph.protocol import GraphTable, NodeTable, RelationTable
from kgdx.schema.model import MATCHES

# term → parent; the tree of tests/data/tiny, with a branch that is no phenotypic abnormality
TERMS = {
    "HP:0000001": None,
    "HP:0000118": "HP:0000001",
    "HP:0000707": "HP:0000118",
    "HP:0001250": "HP:0000707",
    "HP:0002133": "HP:0001250",
    "HP:0007359": "HP:0001250",
    "HP:0001252": "HP:0000707",
    "HP:0001507": "HP:0000118",
    "HP:0004322": "HP:0001507",
    "HP:0001510": "HP:0001507",
    "HP:0001945": "HP:0000118",
    "HP:0000007": "HP:0000001",
}
SEIZURE, STATUS, FOCAL = "HP:0001250", "HP:0002133", "HP:0007359"
HYPOTONIA, SHORT, DELAY, FEVER = "HP:0001252", "HP:0004322", "HP:0001510", "HP:0001945"
NERVOUS, RECESSIVE, ROOT = "HP:0000707", "HP:0000007", "HP:0000118"

NAMES = {
    "OMIM:1": "Tiny epilepsy syndrome 1, autosomal recessive",
    "OMIM:2": "Short stature with hypotonia",
    "OMIM:3": "Fever of unknown cause",
    "OMIM:4": "Inherited nothing",
    "ORPHA:1": "Autosomal recessive tiny epilepsy syndrome type I",
    "UMLS:2": "Rare genetic epilepsy",
}
# disease, term, numerator, denominator, class, reference
HAS = [
    ("OMIM:1", SEIZURE, 3, 4, None, "PMID:1"),
    ("OMIM:1", STATUS, 1, 4, None, "PMID:1;PMID:2"),
    ("OMIM:2", SHORT, None, None, None, "OMIM:2"),
    ("OMIM:2", HYPOTONIA, 1, 8, None, "PMID:3"),
    ("OMIM:3", FEVER, 5, 5, None, "PMID:4"),
    ("OMIM:4", RECESSIVE, None, None, None, "OMIM:4"),
    ("ORPHA:1", SEIZURE, None, None, "HP:0040281", "ORPHA:1"),
    ("ORPHA:1", HYPOTONIA, None, None, "HP:0040283", "ORPHA:1"),
    ("UMLS:2", FOCAL, None, None, "HP:0040283", "UMLS:2"),
]
LACKS = [("OMIM:1", SHORT, 0, 3, None, "PMID:1"), ("OMIM:2", SEIZURE, None, None, None, "OMIM:2")]
GENES = [("OMIM:1", "NCBIGene:10"), ("ORPHA:1", "NCBIGene:10"), ("OMIM:2", "NCBIGene:20")]
SAME = [("ORPHA:1", "OMIM:1", "exact"), ("UMLS:2", "OMIM:2", "broader")]
# case, diagnosis, publication, observed
CASES = [("p1", "OMIM:3", "PMID:4", (FOCAL, SHORT)), ("p2", "OMIM:2", "PMID:9", (SHORT, HYPOTONIA))]


Stated = tuple[str, str, int | None, int | None, str | None, str | None]


def tables(
    same_as: Sequence[tuple[str, str, str]] = tuple(SAME),
    *,
    names: Mapping[str, str] | None = None,
    genes: Sequence[tuple[str, str]] = tuple(GENES),
    has: Sequence[Stated] = tuple(HAS),
    lacks: Sequence[Stated] = tuple(LACKS),
) -> list[GraphTable]:
    """The graph as staged tables; what is given replaces its cross-references, names, genes and annotations."""
    named = NAMES | dict(names or {})
    edges = [(child, parent) for child, parent in TERMS.items() if parent]
    ids = [*TERMS, "HP:0006824"]
    return [
        NodeTable("Disease", pa.table({"id": list(named), "name": list(named.values())})),
        NodeTable(
            "Phenotype",
            pa.table(
                {
                    "id": ids,
                    "name": ids,
                    "alt_ids": pa.array([["HP:0001275"] if id == SEIZURE else [] for id in ids], pa.list_(pa.string())),
                    "replaced_by": pa.array([*(None for _ in TERMS), HYPOTONIA], pa.string()),
                    "obsolete": [*(False for _ in TERMS), True],
                }
            ),
        ),
        NodeTable("Gene", pa.table({"id": ["NCBIGene:10", "NCBIGene:20"], "name": ["GENA", "GENB"]})),
        NodeTable("PatientCase", pa.table({"id": [case[0] for case in CASES]})),
        _relation("IS_A", "Phenotype", "Phenotype", edges),
        _annotations("HAS_PHENOTYPE", has),
        _annotations("LACKS_PHENOTYPE", lacks),
        _relation("ASSOCIATED_GENE", "Disease", "Gene", genes),
        *(
            _relation(type, "Disease", "Disease", [pair[:2] for pair in same_as if pair[2] == relation])
            for relation, type in MATCHES.items()
        ),
        _relation("DIAGNOSED", "PatientCase", "Disease", [(case[0], case[1]) for case in CASES]),
        _relation("REPORTED_IN", "PatientCase", "Publication", [(case[0], case[2]) for case in CASES]),
        _relation("OBSERVED", "PatientCase", "Phenotype", [(case[0], term) for case in CASES for term in case[3]]),
    ]


def _relation(kind: str, start: str, end: str, pairs: Sequence[tuple[str, str]], **more: list[str]) -> RelationTable:
    columns = {"start": [pair[0] for pair in pairs], "end": [pair[1] for pair in pairs]} | more
    return RelationTable(kind, start, end, pa.table({key: pa.array(v, pa.string()) for key, v in columns.items()}))


def _annotations(kind: str, rows: Sequence[Stated]) -> RelationTable:
    disease, term, positive, patients, frequency_class, reference = zip(*rows, strict=True)
    stated = [
        c or (None if m is None else f"{n}/{m}") for n, m, c in zip(positive, patients, frequency_class, strict=True)
    ]
    columns = {
        "start": pa.array(disease),
        "end": pa.array(term),
        "numerator": pa.array(positive, pa.int64()),
        "denominator": pa.array(patients, pa.int64()),
        "frequency_class": pa.array(frequency_class, pa.string()),
        "frequency": pa.array(stated, pa.string()),
        "reference": pa.array(reference),
    }
    return RelationTable(kind, "Disease", "Phenotype", pa.table(columns))


# Diseases that are described in words: id, English and Chinese name, definition.
WORDED = [
    ("KGDX:flu", "influenza", "流行性感冒", "Influenza is an infection of the airways."),
    ("KGDX:gout", "gout", "痛风", "Gout is unlike influenza: it swells one joint at night."),
    ("KGDX:heart", "heart disease", "心脏病", "Heart disease is a word for many diseases."),
    ("KGDX:night", "nightmares", None, "Bad dreams, also with influenza."),
]
SYMPTOMS = [
    ("KGDX:s1", "aching muscles and chills", "肌肉酸痛", "en"),
    ("KGDX:s2", "HP:0001945", None, "en"),  # the name of fever in this graph
    ("KGDX:s3", "swollen red big toe", "足趾红肿", "en"),
    ("KGDX:s4", "发热", None, "zh"),
    ("DDXPLUS:E_1", "painful toe", None, "en"),
    ("DDXPLUS:E_2", "sneezing", None, "en"),
]
HAS_SYMPTOM = [
    ("KGDX:flu", "KGDX:s1"),
    ("KGDX:flu", "KGDX:s2"),
    ("KGDX:flu", "KGDX:s4"),
    ("KGDX:flu", "DDXPLUS:E_2"),
    ("KGDX:gout", "KGDX:s3"),
    ("KGDX:gout", "DDXPLUS:E_1"),
    ("KGDX:heart", "KGDX:s1"),
    ("KGDX:night", "KGDX:s4"),
]


def worded() -> list[GraphTable]:
    """The graph with common diseases beside it, in words, one of them a group, and one the same as OMIM:3."""
    ids, names, chinese, definitions = zip(*WORDED, strict=True)
    symptom, words, translated, language = zip(*SYMPTOMS, strict=True)
    diseases = {
        "id": ids,
        "name": names,
        "name_zh": chinese,
        "definition": definitions,
        "source": ("words",) * len(ids),
    }
    return [
        *tables([*SAME, ("KGDX:night", "OMIM:3", "exact")]),
        NodeTable("Disease", pa.table({key: pa.array(value, pa.string()) for key, value in diseases.items()})),
        NodeTable(
            "Symptom",
            pa.table(
                {
                    key: pa.array(value, pa.string())
                    for key, value in (
                        ("id", symptom),
                        ("name", words),
                        ("name_zh", translated),
                        ("language", language),
                    )
                }
            ),
        ),
        _relation("HAS_SYMPTOM", "Disease", "Symptom", HAS_SYMPTOM, source=["words"] * len(HAS_SYMPTOM)),
    ]


TOPICS = (("toe", "podagra", "gout"), ("muscles", "myalgia", "influenza"), ("sneezing", "sternutation"))
"""Words that mean the same, for the encoder: each topic is a direction of its own, and what has none another."""


class Topics:
    """Turns a text into the direction of what it is about."""

    name = "topics"

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row of length 1 a text."""
        found = np.zeros((len(texts), len(TOPICS) + 1), np.float32)
        for row, text in zip(found, texts, strict=True):
            told = [at for at, words in enumerate(TOPICS) if any(word in text.lower() for word in words)]
            row[told or [len(TOPICS)]] = 1
        return found / np.linalg.norm(found, axis=1, keepdims=True)
