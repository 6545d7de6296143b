"""Ontologies as obographs JSON (`mondo.json`, `hp.json`), streamed node by node.

Format: https://github.com/geneontology/obographs. JSON has no lines that mean anything, so a node or edge is known by
its number in the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from kgdx.errors import SourceError
from kgdx.ingest.manifest import Manifest
from kgdx.ingest.records import Records
from kgdx.ingest.sources.term_frames import (
    DEFINITION,
    HINT,
    SCOPES,
    Ontology,
    OntologyTerm,
    curie,
    prefixes,
    release,
    text_of,
)
from kgdx.ingest.unpack import Readable, unpacked

VERSION = "2"
_SKOS = "http://www.w3.org/2004/02/skos/core#"
_IN_OWL = "http://www.geneontology.org/formats/oboInOwl#"
_SAYING = re.compile(rf"(?:{re.escape(_IN_OWL)}|http://purl\.obolibrary\.org/obo/)(IAO_\d+|hasAlternativeId|consider)")


def read(path: Path, manifest: Manifest) -> Records:
    """Read the nodes that the source is about as terms, with their edges and matches."""
    ontology = Ontology(path, prefixes(manifest))
    for number, node in enumerate(_objects(path, "graphs.item.nodes.item"), 1):
        _node(node, number, ontology)
    for number, edge in enumerate(_objects(path, "graphs.item.edges.item"), 1):
        if edge.get("pred") == "is_a":
            parent = curie(str(edge.get("obj", "")))
            ontology.edge(number, curie(str(edge.get("sub", ""))), parent or None, f"is_a {parent}")
        elif text_of(edge.get("pred")) and text_of(edge.get("sub")):
            ends = (curie(str(edge.get(end, ""))) for end in ("sub", "pred", "obj"))
            ontology.axiom(number, *ends)
    for number, axiom in enumerate(_objects(path, "graphs.item.logicalDefinitionAxioms.item"), 1):
        ontology.axiom(number, curie(str(axiom.get("definedClassId", ""))), DEFINITION, None)
    version = next((release(str(found)) for found in _objects(path, "graphs.item.meta.version", str)), None)
    return ontology.records(version)


def _objects(path: Path, place: str, kind: type = dict) -> Iterator[Any]:
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
    term = OntologyTerm(number, curie(node["id"]), name=text_of(node.get("lbl")))
    meta = _dict(node.get("meta"))
    term.definition = text_of(_dict(meta.get("definition")).get("val"))
    term.comment = next((text for each in _list(meta.get("comments")) if (text := text_of(each))), None)
    term.obsolete = meta.get("deprecated") is True
    for each in _list(meta.get("subsets")):
        term.tell("inSubset", str(each))
    for each in _dicts(meta.get("synonyms")):
        if (scope := each.get("pred")) in SCOPES and (text := text_of(each.get("val"))):
            term.tell(scope, text)
    for each in _dicts(meta.get("xrefs")):
        if text := text_of(each.get("val")):
            term.tell("hasDbXref", text)
            for said in _dicts(_dict(each.get("meta")).get("basicPropertyValues")):
                if said.get("pred") == f"{_IN_OWL}source":
                    ontology.match(number, term.id, curie(text), text_of(said.get("val")))
    for each in _dicts(meta.get("basicPropertyValues")):
        predicate, value = str(each.get("pred")), text_of(each.get("val"))
        if value is not None and predicate.startswith(_SKOS):
            ontology.match(number, term.id, curie(value), f"skos:{predicate.removeprefix(_SKOS)}")
        elif value is not None and (found := _SAYING.fullmatch(predicate)):
            term.tell(found[1], value)
    ontology.add(term)


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _dicts(value: Any) -> Iterator[dict[str, Any]]:
    return (each for each in _list(value) if isinstance(each, dict))


DEPTH = 100
"""Levels of objects and lists; obographs have about ten."""
_STEP = np.zeros(256, np.int8)
_STEP[list(b"[{")] = 1
_STEP[list(b"]}")] = -1


class Shallow:
    r"""A stream of JSON that is watched for its depth as it is read.

    A streaming parser keeps the path to where it is, and a file of a few kilobytes of brackets makes that path fill
    the machine.
    """

    def __init__(self, path: Path, stream: Readable) -> None:
        self._path = path
        self._stream = stream
        self._depth = 0
        self._quoted = False
        self._held = b""

    def read(self, size: int = -1) -> bytes:
        block = self._stream.read(size)
        self._watch(block)
        return block

    def _watch(self, block: bytes) -> None:
        text = self._held + block
        slashes = len(text) - len(text.rstrip(b"\\"))
        self._held = b"\\" if slashes % 2 else b""
        plain = text[: len(text) - len(self._held)].replace(b"\\\\", b"").replace(b'\\"', b"")
        parts = plain.split(b'"')
        outside = b"".join(parts[self._quoted :: 2])
        self._quoted ^= len(parts) % 2 == 0
        if not outside:
            return
        depths = self._depth + np.cumsum(_STEP[np.frombuffer(outside, np.uint8)], dtype=np.int64)
        if depths.max() > DEPTH:
            message = f"{self._path} is nested deeper than {DEPTH} levels"
            raise SourceError(message, hint="no ontology is: check where it comes from")
        self._depth = int(depths[-1])
