"""Actions that start from named diseases: what HPO, PrimeKG and clinical sources state of them.

They are the GET actions of DeepDoctor-RAG; each runs one template.
"""

from __future__ import annotations

from abc import ABC
from typing import Annotated, ClassVar

from pydantic import Field

from kgdx.actions.entities import Name, NameList, ids_of, resolve
from kgdx.actions.retrieving import Limit, retrieve
from kgdx.answer.artifacts import Retrieved
from kgdx.episode.state import Artifact, State
from kgdx.episode.wish import Action, Operations

MOST_OF_DISEASE = 1_000
"""Most rows of one disease that an action asks for."""


class OfDiseases(Action, ABC):
    """What the graph states of named diseases: one template, run for all of them at once."""

    makes: ClassVar[type[Artifact]] = Retrieved
    template: ClassVar[str]
    """The template that answers it."""

    diseases: NameList
    """Names of diseases in Chinese or English, or ids."""

    limit: Annotated[int, Field(ge=1, le=MOST_OF_DISEASE)] = 50
    """Most rows of each disease; each row says how many there are in all."""

    def run(self, graph: Operations, view: State) -> Retrieved:
        """Return the rows, and the names as they were understood.

        Raises:
            UsageError: No disease of the graph has any of the names.
        """
        found = resolve(graph, self.diseases, ("Disease",))
        arguments = {"diseases": ids_of(found), "limit": self.limit}
        return retrieve(graph, self, self.template, arguments, found)


class GetSymptom(OfDiseases):
    """Symptoms of diseases.

    Example:
        >>> GetSymptom(diseases=("百日咳", "pertussis")).parameters()
        {'diseases': ['百日咳', 'pertussis'], 'limit': 50}
    """

    name: ClassVar[str] = "get_symptom"
    aliases: ClassVar[tuple[str, ...]] = ("GET_SYMPTOM", "get_symptoms", "GET_SYMPTOMS_OF_DISEASE")
    template: ClassVar[str] = "symptoms_of_diseases"


class GetTest(OfDiseases):
    """Tests that are recommended for diseases.

    Example:
        >>> GetTest(diseases=("百日咳",)).diseases
        ('百日咳',)
    """

    name: ClassVar[str] = "get_test"
    aliases: ClassVar[tuple[str, ...]] = ("GET_TEST", "get_tests", "GET_TESTS_OF_DISEASE")
    template: ClassVar[str] = "tests_of_diseases"


class GetDrug(OfDiseases):
    """Drugs that are recommended for diseases.

    Example:
        >>> GetDrug(diseases=("pertussis",), limit=5).limit
        5
    """

    name: ClassVar[str] = "get_drug"
    aliases: ClassVar[tuple[str, ...]] = ("GET_DRUG", "get_drugs", "GET_DRUGS_OF_DISEASE")
    template: ClassVar[str] = "drugs_of_diseases"


class GetCure(OfDiseases):
    """Treatments that are recommended for diseases.

    Example:
        >>> GetCure(diseases=("肺炎", "肺炎")).diseases
        ('肺炎',)
    """

    name: ClassVar[str] = "get_cure"
    aliases: ClassVar[tuple[str, ...]] = ("GET_CURE", "get_cures", "GET_CURES_OF_DISEASE")
    template: ClassVar[str] = "cures_of_diseases"


class GetComorbidity(OfDiseases):
    """Diseases that occur together with diseases.

    Example:
        >>> GetComorbidity(diseases=("OMIM:154700",)).diseases
        ('OMIM:154700',)
    """

    name: ClassVar[str] = "get_comorbidity"
    aliases: ClassVar[tuple[str, ...]] = ("GET_COMORBIDITY", "get_comorbidities", "GET_COMORBIDITIES_OF_DISEASE")
    template: ClassVar[str] = "comorbidities_of_diseases"


class GetPhenotype(OfDiseases):
    """Findings (HPO) that diseases present with, how often, and on whose word.

    Example:
        >>> GetPhenotype(diseases=("Marfan syndrome",)).template
        'phenotypes_of_diseases'
    """

    name: ClassVar[str] = "get_phenotype"
    aliases: ClassVar[tuple[str, ...]] = ("GET_PHENOTYPE", "get_phenotypes", "GET_PHENOTYPES_OF_DISEASE")
    template: ClassVar[str] = "phenotypes_of_diseases"


class GetGene(OfDiseases):
    """Genes that diseases are associated with.

    Example:
        >>> GetGene(diseases=("Marfan syndrome",)).template
        'genes_of_diseases'
    """

    name: ClassVar[str] = "get_gene"
    aliases: ClassVar[tuple[str, ...]] = ("GET_GENE", "get_genes", "GET_GENES_OF_DISEASE")
    template: ClassVar[str] = "genes_of_diseases"


class GetMedicine(OfDiseases):
    """Drugs that are indicated for diseases, used off label, or contraindicated.

    Example:
        >>> GetMedicine(diseases=("asthma",)).template
        'medicines_of_diseases'
    """

    name: ClassVar[str] = "get_medicine"
    aliases: ClassVar[tuple[str, ...]] = (
        "GET_MEDICINE",
        "get_medicines",
        "GET_MEDICINES_OF_DISEASE",
        "get_indication",
        "get_contraindication",
    )
    template: ClassVar[str] = "medicines_of_diseases"


class GetCooccurrence(Action):
    """Findings (HPO) that were observed in the same patients as one finding, by number of patients.

    Example:
        >>> GetCooccurrence(phenotype="seizure").parameters()
        {'phenotype': 'seizure', 'source': None, 'limit': 20}
    """

    name: ClassVar[str] = "get_cooccurrence"
    makes: ClassVar[type[Artifact]] = Retrieved
    aliases: ClassVar[tuple[str, ...]] = ("GET_COOCCURRENCE", "get_cooccurrences", "GET_COOCCURRENCES_OF_PHENOTYPE")
    template: ClassVar[str] = "cooccurring_phenotypes"

    phenotype: Name
    """A finding in Chinese or English, or its id."""

    source: Annotated[str, Field(max_length=100)] | None = None
    """Only patients of this source."""

    limit: Limit = 20
    """Most findings."""

    def run(self, graph: Operations, view: State) -> Retrieved:
        """Return the findings beside it, and how its name was understood.

        Raises:
            UsageError: No finding of the graph has the name.
        """
        (found,) = resolve(graph, (self.phenotype,), ("Phenotype",))
        arguments = {"phenotype": found.ids[0], "source": self.source, "limit": self.limit}
        return retrieve(graph, self, self.template, arguments, (found,))
