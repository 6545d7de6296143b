"""A graph in formats that others read: RDF (N-Quads in Biolink's terms), KGX's tables, GraphML (NetworkX), Parquet.

Each is written in one pass over the graph, a table at a time, and appears when it is whole. PyTorch Geometric's
HeteroData is made in memory, by :func:`kgdx.learn.hetero_graph.hetero_data`.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

from kgdx.errors import StoreError, UsageError
from kgdx.files.private import possible, private_file, private_folder
from kgdx.graph.protocol import GraphTable, NodeTable
from kgdx.graph.tables import title
from kgdx.schema import Schema, load_schema
from kgdx.terms.names.sssom import BASES

BIOLINK = "https://w3id.org/biolink/vocab/"
_RDF, _RDFS = "http://www.w3.org/1999/02/22-rdf-syntax-ns#", "http://www.w3.org/2000/01/rdf-schema#"
_SKOS, _XSD = "http://www.w3.org/2004/02/skos/core#", "http://www.w3.org/2001/XMLSchema#"
_PROPERTIES = {
    "name": f"{_RDFS}label",
    "synonyms": f"{_SKOS}altLabel",
    "definition": f"{_SKOS}definition",
    "xrefs": f"{BIOLINK}xref",
}
_OWN = "urn:kgdx:property:"
_ROWS = 10_000
"""Rows that are made Python values at a time."""

Rows = Iterator[tuple[GraphTable, dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class GraphFiles:
    """What was written: where, how many nodes and relations, and bytes."""

    path: Path
    format: str
    nodes: int
    relations: int
    bytes: int


def export_graph(
    target: str | Path,
    format: str,
    *,
    store: str | Path | None = None,
    progress: Callable[[str], None] | None = None,
) -> GraphFiles:
    """Write the graph as ``nquads`` or ``graphml`` (a file), or as ``kgx`` or ``parquet`` (a folder).

    Args:
        target: The file or folder, which must not be there yet.
    """
    from kgdx.api.opening import open as open_graph

    if format not in FORMATS:
        raise UsageError(f"there is no format {format!r}", hint=f"one of {', '.join(FORMATS)}")
    path, tell = possible(target).absolute(), progress or (lambda _said: None)
    if path.exists():
        raise UsageError(f"{path} is there already", hint="name a path that is not there yet")
    counts = {"nodes": 0, "relations": 0}

    def counted(tables: Iterable[GraphTable]) -> Iterator[GraphTable]:
        for table in tables:
            tell(f"writing {table.rows.num_rows:,} {title(table)}")
            counts["nodes" if isinstance(table, NodeTable) else "relations"] += table.rows.num_rows
            yield table

    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        private_folder(path.parent)
        with open_graph(store) as graph:
            FORMATS[format](counted(graph.store.tables()), temporary, load_schema())
        os.rename(temporary, path)
    except OSError as error:
        hint = "free some disk space, or name another path; nothing was left there"
        raise StoreError(f"{path} cannot be written ({error.strerror or error})", hint=hint) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True) if temporary.is_dir() else temporary.unlink(missing_ok=True)
    files = [each for each in path.rglob("*") if each.is_file()] if path.is_dir() else [path]
    return GraphFiles(path, format, counts["nodes"], counts["relations"], sum(each.stat().st_size for each in files))


def _rows(tables: Iterable[GraphTable]) -> Rows:
    for table in tables:
        for batch in table.rows.to_batches(_ROWS):
            for row in batch.to_pylist():
                yield table, {name: value for name, value in row.items() if value not in (None, [])}


def _nquads(tables: Iterable[GraphTable], path: Path, schema: Schema) -> None:
    with private_file(path).open("w", encoding="utf-8", newline="\n") as file:
        for table, row in _rows(tables):
            graph = f"<urn:kgdx:source:{quote(str(row.pop('source', 'kgdx')), safe='')}>"
            for subject, predicate, value in _statements(table, row, schema):
                file.write(f"{subject} <{predicate}> {value} {graph} .\n")


def _statements(table: GraphTable, row: dict[str, Any], schema: Schema) -> Iterator[tuple[str, str, str]]:
    if isinstance(table, NodeTable):
        subject = _iri(row.pop("id"))
        yield subject, f"{_RDF}type", f"<{_biolink(schema.node(table.label).biolink)}>"
    else:
        start, end = _iri(row.pop("start")), _iri(row.pop("end"))
        predicate = _biolink(schema.relation(table.type).biolink)
        yield start, predicate, end
        if not row:
            return  # it says no more than the source, which is the quad's graph
        told = json.dumps([table.type, start, end, row], sort_keys=True, default=str)
        subject = f"<urn:kgdx:statement:{hashlib.sha256(told.encode()).hexdigest()[:32]}>"
        yield subject, f"{_RDF}type", f"<{BIOLINK}Association>"
        for part, said in (("subject", start), ("predicate", f"<{predicate}>"), ("object", end)):
            yield subject, f"{_RDF}{part}", said
        row["relation_type"] = table.type
    for name, value in row.items():
        for each in value if isinstance(value, list) else [value]:
            yield subject, _PROPERTIES.get(name, f"{_OWN}{name}"), _literal(each)


def _biolink(curie: str) -> str:
    return BIOLINK + (curie.partition(":")[2] or "related_to")


def _iri(id: str) -> str:
    prefix, _, local = id.partition(":")
    base = BASES.get(prefix, f"urn:kgdx:{quote(prefix, safe='')}:")
    return f"<{base}{quote(local, safe='')}>"


def _literal(value: Any) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
    kind = "boolean" if isinstance(value, bool) else "integer" if isinstance(value, int) else "double"
    return f'"{str(value).lower()}"^^<{_XSD}{kind}>'


def _kgx(tables: Iterable[GraphTable], path: Path, schema: Schema) -> None:
    private_folder(path)
    columns = _columns(schema, ("name", "source", "synonyms", "xrefs", "definition"))
    nodes = ("id", "category", "name", "provided_by", "synonym", "xref", "description", *columns[0])
    edges: tuple[str, ...] = ("id", "subject", "predicate", "object", "kgdx_relation", "knowledge_level", "agent_type")
    edges += ("primary_knowledge_source", "provided_by", *columns[1])
    with (
        private_file(path / "nodes.tsv").open("w", encoding="utf-8", newline="") as first,
        private_file(path / "edges.tsv").open("w", encoding="utf-8", newline="") as second,
    ):
        writers = [_tsv(file, names) for file, names in ((first, nodes), (second, edges))]
        for number, (table, row) in enumerate(_rows(tables)):
            source = row.pop("source", "kgdx")
            if isinstance(table, NodeTable):
                renamed = {"synonyms": "synonym", "xrefs": "xref", "definition": "description"}
                told = {renamed.get(name, name): value for name, value in row.items()}
                told |= {"category": schema.node(table.label).biolink, "provided_by": source}
                writers[0].writerow({name: _cell(value) for name, value in told.items()})
            else:
                inferred = source.startswith("kgdx:")
                told = {"id": f"kgdx:edge.{number}", "subject": row.pop("start"), "object": row.pop("end")}
                told |= {"predicate": schema.relation(table.type).biolink or "biolink:related_to", **row}
                told |= {"kgdx_relation": table.type, "provided_by": source}
                told["knowledge_level"] = "prediction" if inferred else "knowledge_assertion"
                told["agent_type"] = "automated_agent" if inferred else "not_provided"
                told["primary_knowledge_source"] = f"infores:{source.replace('kgdx:', 'kgdx-').replace('_', '-')}"
                writers[1].writerow({name: _cell(value) for name, value in told.items()})


def _tsv(file: IO[str], names: Iterable[str]) -> csv.DictWriter[str]:
    columns = list(dict.fromkeys(names))
    writer = csv.DictWriter(file, columns, delimiter="\t", quoting=csv.QUOTE_NONE, quotechar=None, lineterminator="\n")
    writer.writeheader()
    return writer


def _cell(value: Any) -> str:
    text = "|".join(str(each).replace("|", "/") for each in value) if isinstance(value, list) else str(value)
    return " ".join(text.split())


def _columns(schema: Schema, without: Iterable[str] = ()) -> tuple[list[str], list[str]]:
    nodes = (name for each in schema.nodes.values() for name in each.properties)
    edges = (name for each in schema.relations.values() for name in each.properties)
    left = {"id", "start", "end", "category", *without}
    return tuple([n for n in dict.fromkeys(names) if n not in left] for names in (nodes, edges))  # type: ignore[return-value]


def _parquet(tables: Iterable[GraphTable], path: Path, schema: Schema) -> None:
    import pyarrow.parquet as pq

    private_folder(path)
    for table in tables:
        name = title(table).replace("->", "-")
        pq.write_table(table.rows, private_file(path / f"{name}.parquet"), compression="zstd")


def _graphml(tables: Iterable[GraphTable], path: Path, schema: Schema) -> None:
    kinds: dict[tuple[str, str], str] = {("node", "category"): "string", ("edge", "type"): "string"}
    names = {"integer": "long", "float": "double", "boolean": "boolean"}
    for end, owners in (("node", schema.nodes), ("edge", schema.relations)):
        for owner in owners.values():
            for each in owner.properties.values():
                kind = names.get(each.type, "string")
                known = kinds.setdefault((end, each.name), kind)
                kinds[end, each.name] = kind if known == kind else "string"
    keys = {key: f"d{number}" for number, key in enumerate(kinds)}
    with private_file(path).open("w", encoding="utf-8", newline="\n") as file:
        file.write('<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n')
        for (end, name), key in keys.items():
            file.write(f'<key id="{key}" for="{end}" attr.name="{name}" attr.type="{kinds[end, name]}"/>\n')
        file.write('<graph edgedefault="directed">\n')
        for number, (table, row) in enumerate(_rows(tables)):
            if isinstance(table, NodeTable):
                end, tag = "node", f"<node id={quoteattr(row.pop('id'))}>"
                row["category"] = table.label
            else:
                ends = f"source={quoteattr(row.pop('start'))} target={quoteattr(row.pop('end'))}"
                end, tag = "edge", f'<edge id="e{number}" {ends}>'
                row["type"] = table.type
            file.write(tag + "".join(f'<data key="{keys[end, name]}">{_text(row[name])}</data>' for name in row))
            file.write(f"</{end}>\n")
        file.write("</graph>\n</graphml>\n")


def _text(value: Any) -> str:
    text = "|".join(map(str, value)) if isinstance(value, list) else str(value)
    if isinstance(value, bool):
        text = text.lower()
    return escape("".join(sign for sign in text if sign >= " " or sign in "\t\n"))


FORMATS: Mapping[str, Callable[[Iterable[GraphTable], Path, Schema], None]] = {
    "nquads": _nquads,
    "kgx": _kgx,
    "graphml": _graphml,
    "parquet": _parquet,
}
