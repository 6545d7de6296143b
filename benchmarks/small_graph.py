"""The graph of the hand-drawn sources in ``tests/data/tiny``, for trials that need a whole graph again and again."""

from __future__ import annotations

from pathlib import Path

import kgdx

TINY = Path(__file__).resolve().parents[1] / "tests" / "data" / "tiny"
FILES = {
    "hp": "hp.obo",
    "hpoa": "phenotype.hpoa",
    "genes": "genes_to_phenotype.txt",
    "orphanet_omim": "orphanet-omim-xrefs.tsv",
    "hp_zh": "hp-zh.babelon.tsv",
    "agentclinic": "agentclinic.jsonl",
    "cases": "cases.csv",
    "chinese_kg": "medical.json",
    "ddxplus": "ddxplus-conditions.json",
    "ddxplus_patients": "ddxplus-patients.csv",
    "disease_names_zh": "disease-names-zh.tsv",
    "dx_dialogues": "dx-dialogue.jsonl",
    "dx_symptoms": "dx-symptoms.txt",
    "encyclopedia": "encyclopedia.jsonl",
    "encyclopedia_symptoms": "encyclopedia-symptoms.jsonl",
    "mesh": "desc2025.xml",
    "mesh_qualifiers": "qual2025.xml",
    "mesh_supplements": "supp2025.xml",
    "mondo": "mondo.obo",
    "orphanet": "en_product1.xml",
    "orphanet_ages": "en_product9_ages.xml",
    "orphanet_genes": "en_product6.xml",
    "orphanet_phenotypes": "en_product4.xml",
    "orphanet_prevalence": "en_product9_prev.xml",
    "phenopackets": "phenopacket.json",
    "primekg": "kg.csv",
    "primekg_disease_features": "disease_features.csv",
    "primekg_drug_features": "drug_features.csv",
    "symptom2disease": "symptom2disease.jsonl",
}
"""Source → its hand-drawn file."""
BESIDE = ("nodes.csv", "ddxplus-evidences.json")
"""Files that others need beside them."""


def build(folder: Path) -> Path:
    """Build the graph of all hand-drawn sources in a folder, and return the folder."""
    kgdx.build({name: str(TINY / file) for name, file in FILES.items()}, store=folder, force=True)
    return folder
