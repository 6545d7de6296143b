"""Derives the mappings of a graph: which classes are aligned, by which rules, and what each relation records."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from kgdx.case.ddxplus_release import PREFIX as DDXPLUS
from kgdx.graph.protocol import GraphTable, NodeTable, RelationTable, Store
from kgdx.graph.snapshot_compile import compile_snapshot
from kgdx.ingest.alignment import differences, symptom_names
from kgdx.ingest.alignment.decisions import CLASSES, TYPES, Decisions, oriented
from kgdx.ingest.alignment.disease_names import label_frame
from kgdx.ingest.pipeline.derive import Derive
from kgdx.schema import load_schema
from kgdx.schema.model import MATCHES
from kgdx.terms import dictionary
from kgdx.terms.encoder import NameEncoder
from kgdx.terms.extractor import Extractor
from kgdx.terms.names.cascade import VERSIONS, AlignmentLimits, Given, candidates, decide, pairs_frame
from kgdx.terms.names.entity_names import Side, descriptors, diseases, edges, node_frame, phenotypes, symptoms
from kgdx.terms.names.same_diseases import RULES as SAMENESS
from kgdx.terms.names.same_diseases import align_diseases, exact_pairs
from kgdx.terms.names.sssom import MappingStatement
from kgdx.terms.names.typos import known_words

SOURCE = "kgdx:alignment"
VERSION = 8
"""Changes with what is aligned or recorded."""

_NODES = ("Disease", "Phenotype", "Symptom", "MeshDescriptor", "Source", "PatientCase")
READS = (*_NODES, "IS_A", *MATCHES.values(), "MAPPED_TO", *differences.READS)

DISEASE_BRANCHES = ("C", "F03")
"""Branches of the MeSH tree that hold diseases and mental disorders."""
FINDING_BRANCHES = ("C", "F01", "F03", "G")
"""Branches that hold findings too: behaviour, and what the body does."""

CURATED = AlignmentLimits(stages=("given", "exact", "normalised"))
"""Between two curated vocabularies: their names hold few misspellings, and many words that differ by a letter."""

_CURATED = ("HP", "MESH", "OMIM", "ORPHA", "DECIPHER", "MONDO")
"""Vocabularies whose words are all real."""

_SEVERAL = 2
"""Entities of a vocabulary that holds slips whose names have to share a word, for it to be none."""

_SHOWN = 5
"""Candidates that a relation records."""


@dataclass(frozen=True, slots=True)
class Alignment:
    type: str
    ends: tuple[str, str]
    rules: AlignmentLimits
    encoder: str | None
    found: pl.DataFrame
    names: Mapping[str, str]
    sources: Mapping[str, str]


def version(decisions: Decisions, meaning: NameEncoder | None) -> str:
    """Return what the mappings of a graph depend on beside its tables: rules, decisions and encoder."""
    versions = ".".join(map(str, (VERSION, symptom_names.VERSION, dictionary.version(), *VERSIONS)))
    return f"{versions} {decisions.digest} {meaning.name if meaning else 'no encoder'}"


def step(decisions: Decisions, meaning: NameEncoder | None) -> Derive:
    made = version(decisions, meaning)
    return Derive(SOURCE, made, READS, lambda tables: relations(tables, decisions, meaning), "aligning names")


def relations(
    tables: Sequence[GraphTable],
    decisions: Decisions,
    meaning: NameEncoder | None = None,
    progress: Callable[[str], None] | None = None,
) -> list[GraphTable]:
    found = align(tables, decisions, meaning, progress)
    versions = source_versions(tables)
    rows: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for each in found:
        rows.setdefault((each.type, *each.ends), []).extend(_automatic(each, decisions, versions))
    for kind, ends, statement in placed(tables, decisions.stated()):
        rows.setdefault((kind, *ends), []).append(_decided(statement))
    in_order = {key: sorted(found, key=lambda row: (row["start"], row["end"])) for key, found in sorted(rows.items())}
    return [RelationTable(*key, pa.Table.from_pylist(found)) for key, found in in_order.items() if found]


def align(
    tables: Sequence[GraphTable],
    decisions: Decisions,
    meaning: NameEncoder | None = None,
    progress: Callable[[str], None] | None = None,
) -> list[Alignment]:
    """Align all classes that can be mapped, whether or not what is found may be stated."""
    tell = progress or (lambda _: None)
    given = _given(tables, decisions)
    everything = diseases(tables).without(label_frame(tables)["id"])  # labels of cases are folded, and bridge nothing
    every, mesh = symptoms(tables), descriptors(tables)
    phrases = every.without(every.entities.filter(pl.col("id").str.starts_with(DDXPLUS))["id"])  # a table maps those
    described = phrases.entities.height or mesh.entities.height
    findings = phenotypes(tables) if described else phenotypes(())  # without a use for them, 60,000 names are not read
    results: list[Alignment] = []

    def add(
        type_: str, ends: tuple[str, str], rules: AlignmentLimits, sides: tuple[Side, Side], found: pl.DataFrame
    ) -> None:
        entities = pl.concat([side.entities.select("id", "name", "source") for side in sides])
        names, sources = (dict(entities.select("id", column).iter_rows()) for column in ("name", "source"))
        results.append(Alignment(type_, ends, rules, meaning.name if meaning else None, found, names, sources))

    tell("aligning diseases")
    decided = [each for kind, _, each in placed(tables, decisions.stated()) if kind == "SAME_AS"]
    known = [*exact_pairs(tables), *((e.subject, e.object) for e in decided if e.relation == "exact")]
    words = _known_words((everything, findings, mesh, every))
    same = _without_different(align_diseases(everything, known, given, meaning, words), tables)
    add("SAME_AS", ("Disease", "Disease"), SAMENESS, (everything, everything), same)
    mapped = _mapped(tables, decisions)
    pairs = (
        (("Symptom", "Phenotype"), phrases, findings, AlignmentLimits()),
        (("Disease", "MeshDescriptor"), everything, descriptors(tables, DISEASE_BRANCHES), AlignmentLimits()),
        (("Phenotype", "MeshDescriptor"), findings, descriptors(tables, FINDING_BRANCHES), CURATED),
    )
    for ends, subjects, objects, rules in pairs:
        if subjects.entities.height and objects.entities.height:
            tell(f"aligning {subjects.entities.height:,} names: {ends[0]} to {ends[1]}")
            left = subjects.without(pl.Series(sorted(mapped.get(ends, ())), dtype=pl.String))
            found = decide(candidates(left, objects, rules, given, meaning, words), rules)
            if ends == ("Symptom", "Phenotype"):
                tell("reading what other names of symptoms say")
                found = _with_said(found, left, objects, tables, given)
            add("MAPPED_TO", ends, rules, (subjects, objects), found)
    return results


def _without_different(found: pl.DataFrame, tables: Sequence[GraphTable]) -> pl.DataFrame:
    """Keep apart what else is known of both as different; the reason follows the matched name."""
    stated = found.with_row_index("row").filter(pl.col("outcome") == "stated").select("row", "subject", "object").rows()
    facts = differences.known(tables, (id for _, *ends in stated for id in ends))
    reasons = {row: why for row, one, other in stated if (why := differences.apart(facts, [one], [other]))}
    rows = pl.DataFrame({"row": list(reasons), "why": list(reasons.values())}, {"row": pl.UInt32, "why": pl.String})
    told = found.with_row_index("row").join(rows, on="row", how="left", maintain_order="left")
    differs = pl.col("why").is_not_null()
    return told.with_columns(
        matched=pl.when(differs).then(pl.col("matched") + "; " + pl.col("why")).otherwise("matched"),
        outcome=pl.when(differs).then(pl.lit("apart")).otherwise("outcome"),
    ).drop("row", "why")


def _with_said(
    found: pl.DataFrame, phrases: Side, findings: Side, tables: Sequence[GraphTable], given: Given
) -> pl.DataFrame:
    """Add what names say that no term has; it counts before what an encoder finds near.

    Symptoms of a source that maps its own are left as it has them.
    """
    named = found.filter((pl.col("outcome") == "stated") & (pl.col("method") != "encoder"))
    mapping = {
        source
        for table in tables
        if isinstance(table, RelationTable) and (table.type, table.start_label) == ("MAPPED_TO", "Symptom")
        for source in table.rows.column("source").unique().to_pylist()
    }
    others = phrases.without(named["subject"]).entities.filter(~pl.col("source").is_in(sorted(mapping)))
    if others.is_empty():
        return found
    with tempfile.TemporaryDirectory(prefix="kgdx-findings-") as scratch:
        reader = Extractor.open(compile_snapshot(_ontology(tables, findings), Path(scratch) / "snapshot", SOURCE))
        said = symptom_names.said_terms(others.select("id", "name").iter_rows(), findings, reader)
    said = said.join(given.refused, on=["subject", "object"], how="anti")
    taken = pl.col("subject").is_in(said["subject"].implode()) & (pl.col("outcome") == "stated")
    return pl.concat([found.filter(~taken), said])


def _ontology(tables: Sequence[GraphTable], findings: Side) -> Iterator[GraphTable]:
    known = findings.entities["id"].to_arrow().cast("string")
    for table in tables:
        if table.name == "Phenotype" or (table.name == "IS_A" and table.ends == ("Phenotype", "Phenotype")):
            for key in ("id",) if table.ends is None else ("start", "end"):
                table = replace(table, rows=table.rows.filter(pc.is_in(table.rows.column(key), value_set=known)))
            yield table


def _known_words(sides: Iterable[Side]) -> set[str]:
    found: set[str] = set()
    for side in sides:
        curated = side.entities.filter(pl.col("vocabulary").is_in(_CURATED))
        found |= known_words(side.names.join(curated, left_on="entity", right_on="id", how="semi"))
        others = side.names.join(curated, left_on="entity", right_on="id", how="anti").filter(~pl.col("han"))
        words = others.select("entity", pl.col("key").str.split(" ").alias("word")).explode("word").unique()
        found |= set(words.group_by("word").len().filter(pl.col("len") >= _SEVERAL)["word"])
    return found


def source_versions(tables: Iterable[GraphTable]) -> dict[str, str]:
    """Return the version, or else the checksum, of each source that the tables name."""
    nodes = node_frame(tables, "Source", ("id", "version", "checksum"))
    found = nodes.select("id", pl.coalesce("version", pl.col("checksum").str.head(16)).alias("version"))
    return {id: version for id, version in found.iter_rows() if version}


def placed(
    tables: Sequence[GraphTable], statements: Iterable[MappingStatement]
) -> Iterator[tuple[str, tuple[str, str], MappingStatement]]:
    """Yield the statements whose ends the graph has, with their type, their classes and in the graph's direction."""
    wanted = list(statements)
    classes = names_and_classes(tables)[1] if wanted else {}
    for each in wanted:
        found = oriented(each, (classes.get(each.subject), classes.get(each.object)))
        if found is not None:
            yield found[0], (classes[found[1].subject], classes[found[1].object]), found[1]


def vocabulary_tables(store: Store) -> list[GraphTable]:
    """Return what alignment reads of a store, without what it stated itself."""
    schema, counts = load_schema(), store.counts()
    there = filter(counts.get, _NODES)
    nodes = [NodeTable(label, store.export_nodes(label, list(schema.node(label).properties))) for label in there]
    tables: list[GraphTable] = [*nodes]
    for type_ in (*MATCHES.values(), "MAPPED_TO", "IS_A", *differences.READS):
        for start, end in schema.relation(type_).ends if counts.get(type_) else ():
            if type_ == "IS_A" and start != "Phenotype":
                continue
            rows = store.export_relations(type_, start, end, list(schema.relation(type_).properties))
            tables.append(RelationTable(type_, start, end, rows.filter(pc.not_equal(rows.column("source"), SOURCE))))
    return tables


def names_and_classes(tables: Sequence[GraphTable]) -> tuple[dict[str, str], dict[str, str]]:
    """Return name and class of each node that can be mapped, by id."""
    found = {label: dict(node_frame(tables, label, ("id", "name")).iter_rows()) for label in CLASSES}
    names = {id: name for each in found.values() for id, name in each.items()}
    return names, {id: label for label, each in found.items() for id in each}


def all_names(tables: Sequence[GraphTable]) -> dict[str, list[str]]:
    """Return the names of each node that can be mapped, in all its languages, by id."""
    columns = ("id", "name", "name_zh", "synonyms")
    rows = (row for label in CLASSES for row in node_frame(tables, label, columns).iter_rows())
    return {id: [each for each in (name, zh, *(synonyms or ())) if each] for id, name, zh, synonyms in rows}


def _given(tables: Sequence[GraphTable], decisions: Decisions) -> Given:
    frames = []
    for label in ("Disease", "Phenotype"):
        nodes = node_frame(tables, label, ("id", "xrefs")).explode("xrefs").drop_nulls("xrefs")
        mesh = pl.col("xrefs").str.extract(r"^(?:MESH|MSH|MeSH):([DC]\d+)$")
        frames.append(nodes.select(subject="id", object=pl.lit("MESH:") + mesh).drop_nulls("object"))
    refused = pairs_frame(*map(list, zip(*sorted(decisions.unequal(tables)), strict=True)))
    return Given(pl.concat(frames).unique(maintain_order=True), refused)


def _mapped(tables: Sequence[GraphTable], decisions: Decisions) -> dict[tuple[str, str], set[str]]:
    found: dict[tuple[str, str], set[str]] = {}
    for _, ends, each in placed(tables, decisions.stated()):
        if each.relation == "exact":
            found.setdefault(ends, set()).add(each.subject)
    for ends in TYPES:
        found.setdefault(ends, set()).update(start for start, _ in edges(tables, "MAPPED_TO", *ends))
    return found


def _automatic(one: Alignment, decisions: Decisions, versions: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """The rows of what an alignment states, unless a person states the same pair.

    A record names the versions of its two nodes' sources only: another source that changes leaves it as it is.
    """
    decided = {each.pair for each in decisions.stated()}
    thresholds = one.rules.to_dict()
    stated = one.found.filter(pl.col("outcome") == "stated").select("subject")
    shown = one.found.join(stated.unique(), on="subject", how="semi")
    by_subject: dict[str, list[dict[str, Any]]] = {}
    for row in shown.iter_rows(named=True):
        by_subject.setdefault(row["subject"], []).append(row)
    for subject, rows in by_subject.items():
        listed = [
            {"id": row["object"], "name": one.names.get(row["object"])}
            | {column: row[column] for column in ("matched", "method", "score", "outcome")}
            for row in rows
        ]
        for row in rows:
            if row["outcome"] == "stated" and frozenset((subject, row["object"])) not in decided:
                sides = sorted({one.sources[id] for id in (subject, row["object"])})
                record = {
                    "said": row["said"],
                    "matched": row["matched"],
                    "candidates": listed[:_SHOWN],
                    "thresholds": thresholds,
                    "encoder": one.encoder,
                    "versions": {name: versions[name] for name in sides if name in versions},
                }
                yield {
                    "start": subject,
                    "end": row["object"],
                    "relation": row["relation"],
                    "method": row["method"],
                    "score": row["score"],
                    "status": "automatic",
                    "decision": json.dumps(record, ensure_ascii=False),
                    "source": SOURCE,
                }


def _decided(statement: MappingStatement) -> dict[str, Any]:
    record = {"decided": "by a person", "said": statement.matched or None, "comment": statement.comment or None}
    return {
        "start": statement.subject,
        "end": statement.object,
        "relation": statement.relation,
        "method": "review",
        "score": 1.0 if statement.confidence is None else statement.confidence,
        "status": "accepted" if statement.matched else "manual",
        "decision": json.dumps({k: v for k, v in record.items() if v}, ensure_ascii=False),
        "source": SOURCE,
    }
