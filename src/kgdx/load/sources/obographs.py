"""Ontologies as obographs JSON (`mondo.json`, `hp.json`), streamed node by node.

Format: https://github.com/geneontology/obographs. JSON has no lines that mean anything, so a node or edge is known by
its number in the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kgdx.errors import SourceError
from kgdx.load.manifest import Manifest
from kgdx.load.records import Records
from kgdx.load.sources.ontology import Ontology, Term, text_of
from kgdx.load.sources.shallow import Shallow
from kgdx.load.sources.terms import FRAMES, HINT, SCOPES, curie, prefixes, release
from kgdx.load.unpack import unpacked

VERSION = "1"
_SKOS = "http://www.w3.org/2004/02/skos/core#"
_IN_OWL = "http://www.geneontology.org/formats/oboInOwl#"
_REPLACED_BY = "http://purl.obolibrary.org/obo/IAO_0100001"
_REASON = "http://purl.obolibrary.org/obo/IAO_0000231"
_MERGED = "IAO:0000227"

__all__ = ["FRAMES", "VERSION", "read"]


def read(path: Path, manifest: Manifest) -> Records:
    """Read the nodes that the source is about as terms, with their edges and matches.

    Raises:
        SourceError: The file is unreadable, is no obographs JSON, has no such node, or its is_a edges form a cycle.
    """
    ontology = Ontology(path, prefixes(manifest))
    for number, node in enumerate(_objects(path, "graphs.item.nodes.item"), 1):
        _node(node, number, ontology)
    for number, edge in enumerate(_objects(path, "graphs.item.edges.item"), 1):
        if edge.get("pred") == "is_a":
            parent = curie(str(edge.get("obj", "")))
            ontology.edges.add(number, curie(str(edge.get("sub", ""))), parent or None, f"is_a {parent}")
    version = next((release(str(found)) for found in _objects(path, "graphs.item.meta.version", str)), None)
    return ontology.records(version)


def _objects(path: Path, place: str, kind: type = dict) -> Iterator[Any]:
    """Objects of one kind at a place in the file, one after the other."""
    import ijson

    with unpacked(path) as stream:
        try:
            for found in ijson.items(Shallow(path, stream), place, use_float=True):
                if isinstance(found, kind):
                    yield found
        except (ijson.JSONError, UnicodeDecodeError) as error:
            reason = " ".join(str(error).split())[:200]
            message = f"{path} is not well-formed JSON in UTF-8 ({reason})"
            raise SourceError(message, hint=f"fetch it again, or {HINT}") from error


def _node(node: dict[str, Any], number: int, ontology: Ontology) -> None:
    if not isinstance(node.get("id"), str) or node.get("type", "CLASS") != "CLASS":
        return
    term = Term(number, curie(node["id"]), name=text_of(node.get("lbl")))
    meta = _dict(node.get("meta"))
    term.definition = text_of(_dict(meta.get("definition")).get("val"))
    term.comment = next((text for each in _list(meta.get("comments")) if (text := text_of(each))), None)
    term.obsolete = meta.get("deprecated") is True
    term.subsets = {str(each).rpartition("#")[2] for each in _list(meta.get("subsets"))}
    for each in _dicts(meta.get("synonyms")):
        if (scope := SCOPES.get(each.get("pred", ""))) and (text := text_of(each.get("val"))):
            term.synonyms.add((text, scope))
    for each in _dicts(meta.get("xrefs")):
        if text := text_of(each.get("val")):
            term.xrefs.add(curie(text))
            for said in _dicts(_dict(each.get("meta")).get("basicPropertyValues")):
                if said.get("pred") == f"{_IN_OWL}source":
                    ontology.matches.add(number, term.id, curie(text), text_of(said.get("val")))
    _more(term, meta, number, ontology)
    ontology.add(term)


def _more(term: Term, meta: dict[str, Any], number: int, ontology: Ontology) -> None:
    """Take what stands among the basic property values: matches, replacements, alternative ids."""
    reasons = set()
    for each in _dicts(meta.get("basicPropertyValues")):
        predicate, value = str(each.get("pred")), text_of(each.get("val"))
        if value is None:
            continue
        if predicate.startswith(_SKOS):
            ontology.matches.add(number, term.id, curie(value), f"skos:{predicate.removeprefix(_SKOS)}")
        elif predicate == _REPLACED_BY:
            term.replaced_by.add(curie(value))
        elif predicate == _REASON:
            reasons.add(curie(value))
        elif predicate == f"{_IN_OWL}hasAlternativeId":
            term.alt_ids.add(curie(value))
        elif predicate == f"{_IN_OWL}consider":
            term.consider.add(curie(value))
    term.stub = term.obsolete and _MERGED in reasons


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _dicts(value: Any) -> Iterator[dict[str, Any]]:
    return (each for each in _list(value) if isinstance(each, dict))
