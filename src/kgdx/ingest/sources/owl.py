"""Ontologies in OWL as RDF/XML (`mondo.owl`, `hp.owl`), class by class: 200 MB are read with flat memory.

What is read is what the OBO Foundry's tools write: named classes with annotations, subclass axioms between them, and
owl:Axiom elements that annotate a cross-reference. Of logical definitions it is read that there is one.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kgdx.ingest.manifest import Manifest
from kgdx.ingest.records import Records
from kgdx.ingest.sources.term_frames import DEFINITION, Ontology, OntologyTerm, curie, prefixes, release, text_of
from kgdx.ingest.sources.xml_records import XmlFile

VERSION = "2"
_OWL = "{http://www.w3.org/2002/07/owl#}"
_RDF = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}"
_RDFS = "{http://www.w3.org/2000/01/rdf-schema#}"
_SKOS = "{http://www.w3.org/2004/02/skos/core#}"
_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
_OBO = "{http://purl.obolibrary.org/obo/}"
_IN_OWL = "{http://www.geneontology.org/formats/oboInOwl#}"


def read(path: Path, manifest: Manifest) -> Records:
    """Read the classes that the source is about as terms, with their edges and matches."""
    ontology = Ontology(path, prefixes(manifest))
    version = None
    file = XmlFile(path, f"{_RDF}RDF", "an ontology in OWL as RDF/XML")
    for element in file.records(f"{_OWL}Class", f"{_OWL}Ontology", f"{_OWL}Axiom", nested=True):
        if element.tag == f"{_OWL}Ontology":
            version = release(_value(element.find(f"{_OWL}versionIRI"))) or release(
                element.findtext(f"{_OWL}versionInfo")
            )
        elif element.tag == f"{_OWL}Axiom":
            _axiom(element, ontology)
        elif about := element.get(f"{_RDF}about"):
            _class(element, curie(about), ontology)
    return ontology.records(version)


def _class(element: Any, id: str, ontology: Ontology) -> None:
    term = OntologyTerm(element.sourceline, id)
    for child in element.iterchildren(tag="{*}*"):
        space, _, tag = child.tag[1:].rpartition("}")
        space = f"{{{space}}}"
        value = _value(child)
        if space == _RDFS and tag == "subClassOf":
            for parent in _parents(child):
                ontology.edge(child.sourceline, id, parent, f"subClassOf {parent}")
            for predicate, other in _restrictions(child):
                ontology.axiom(child.sourceline, id, predicate, other)
        elif space == _OWL and tag == "equivalentClass":
            ontology.axiom(child.sourceline, id, DEFINITION, None)
        elif value is None:
            continue
        elif space == _SKOS:
            ontology.match(child.sourceline, id, curie(value), f"skos:{tag}")
        elif space == _OBO and tag == "IAO_0000115":
            term.definition = term.definition or value
        elif space in (_IN_OWL, _OBO):
            term.tell(tag, value)
        elif space == _OWL and tag == "deprecated":
            term.obsolete = value == "true"
        elif space == _RDFS and tag == "label" and str(child.get(_LANGUAGE, "en")).startswith("en"):
            term.name = term.name or value
        elif space == _RDFS and tag == "comment":
            term.comment = term.comment or value
    ontology.add(term)


def _axiom(element: Any, ontology: Ontology) -> None:
    about, source, target = (
        _value(element.find(f"{_OWL}annotated{part}")) for part in ("Property", "Source", "Target")
    )
    if about is None or source is None or target is None:
        return
    if about.endswith("#hasExactSynonym"):
        kinds = (_value(each) or "" for each in element.iterfind(f"{_IN_OWL}hasSynonymType"))
        if any(kind.endswith("#layperson") for kind in kinds):
            ontology.call(curie(source), target)
    elif about.endswith("#hasDbXref"):
        for said in element.iterfind(f"{_IN_OWL}source"):
            if evidence := _value(said):
                ontology.match(element.sourceline, curie(source), curie(target), evidence)


def _parents(element: Any) -> Iterator[str]:
    if resource := element.get(f"{_RDF}resource"):
        yield curie(resource)
    for inner in element.iterchildren(tag=f"{_OWL}Class"):
        if about := inner.get(f"{_RDF}about"):
            yield curie(about)


def _restrictions(element: Any) -> Iterator[tuple[str, str]]:
    for inner in element.iterchildren(tag=f"{_OWL}Restriction"):
        on, some = (inner.find(f"{_OWL}{part}") for part in ("onProperty", "someValuesFrom"))
        ends = [each.get(f"{_RDF}resource") for each in (on, some) if each is not None]
        if len(ends) == 2 and all(ends):
            yield curie(ends[0]), curie(ends[1])


def _value(element: Any) -> str | None:
    if element is None:
        return None
    return element.get(f"{_RDF}resource") or text_of(element.text)
