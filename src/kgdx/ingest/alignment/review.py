"""Mappings as a table that people edit: what was stated, what was left open, and reading their decisions back."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl
import pyarrow.compute as pc

from kgdx.errors import UsageError
from kgdx.graph.protocol import GraphTable, RelationTable, Store
from kgdx.ingest.alignment.decisions import Decisions, oriented
from kgdx.ingest.alignment.mappings import Alignment
from kgdx.ingest.alignment.same_names import SOURCE as JOINED
from kgdx.ingest.alignment.same_names import judged
from kgdx.schema import load_schema
from kgdx.schema.model import MATCHES
from kgdx.terms.names.same_diseases import vocabulary
from kgdx.terms.names.sssom import (
    JUSTIFICATIONS,
    MANUAL,
    OTHER,
    PREDICATES,
    MappingRow,
    MappingSet,
    MappingStatement,
    read_rows,
    refuse_circles,
)
from kgdx.terms.normalise import has_chinese

# fmt: off
COLUMNS = (
    "subject", "subject_name", "relation", "object", "object_name", "score", "method", "status", "matched",
    "candidates", "decision", "replacement", "comment",
)
# fmt: on
"""Columns of the table; people fill in the last three, and may correct ``relation``."""

WORDS = {"accepted": "accept", "yes": "accept", "rejected": "reject", "no": "reject"}
WORDS |= {word: word for word in ("accept", "reject", "replace", "add", "")}
"""Words that the column ``decision`` may hold, and their meaning."""

_OPEN = ("stated", "ambiguous", "below", "taken", "conflict", "apart")
_SHOWN = 5
Numbered = tuple[int, MappingStatement]


@dataclass(frozen=True, slots=True)
class ReviewRow:
    statement: MappingStatement
    method: str
    status: str
    candidates: tuple[str, ...] = ()


def review_rows(
    found: Iterable[Alignment], decisions: Decisions, names: Mapping[str, str], tables: Iterable[GraphTable] = ()
) -> Iterator[ReviewRow]:
    """Yield what a person may want to look at: decisions first, then what was left open, then what is stated.

    The least certain stands first; what ``tables`` hold of diseases that were joined by their names is stated, too.
    """
    decided = {each.pair for each in decisions.statements}
    for each in decisions.statements:
        known = each.subject in names and each.object in names
        status = "rejected" if each.denied else "accepted" if each.matched else "manual"
        named = replace(each, subject_name=names.get(each.subject, ""), object_name=names.get(each.object, ""))
        yield ReviewRow(named, "review", status if known else "absent")
    every = (*(row for one in found for row in _alignment_rows(one)), *_joined_rows(tables, names))
    rows = [row for row in every if row.statement.pair not in decided]
    yield from sorted(rows, key=lambda row: (row.status == "automatic", row.statement.confidence or 0))


def _joined_rows(tables: Iterable[GraphTable], names: Mapping[str, str]) -> Iterator[ReviewRow]:
    """Yield what the step before joined by names, and what it kept apart with the reason, found again."""
    others = []
    for table in tables:
        if isinstance(table, RelationTable) and table.type in MATCHES.values():
            source = table.rows.column("source")
            table = replace(table, rows=table.rows.filter(pc.not_equal(source.cast("string"), JOINED)))
        others.append(table)
    for pair in judged(others):
        statement = MappingStatement(
            pair.left,
            pair.relation,
            pair.right,
            subject_name=names.get(pair.left, ""),
            object_name=names.get(pair.right, ""),
            justification=OTHER,
            confidence=-pair.rank,
            matched=pair.evidence,
            comment=pair.refused,
        )
        yield ReviewRow(statement, pair.method, "apart" if pair.refused else "automatic")


def _alignment_rows(one: Alignment) -> Iterator[ReviewRow]:
    others: dict[str, list[str]] = {}
    shown = one.found.filter(pl.col("outcome").is_in(_OPEN))
    wanted = set(shown["subject"])
    for row in one.found.iter_rows(named=True):
        if row["subject"] in wanted:
            told = f"{row['object']} {one.names.get(row['object'], '')} ({row['method']} {row['score']:g})"
            others.setdefault(row["subject"], []).append(told)
    for row in shown.iter_rows(named=True):
        statement = MappingStatement(
            row["subject"],
            row["relation"],
            row["object"],
            subject_name=one.names.get(row["subject"], ""),
            object_name=one.names.get(row["object"], ""),
            justification=JUSTIFICATIONS.get(row["method"], OTHER),
            confidence=row["score"],
            matched=row["said"] if row["said"] == row["matched"] else f"{row['said']} = {row['matched']}",
        )
        rivals = [told for told in others[row["subject"]] if not told.startswith(f"{row['object']} ")]
        status = "automatic" if row["outcome"] == "stated" else row["outcome"]
        yield ReviewRow(statement, row["method"], status, tuple(rivals[:_SHOWN]))


def write_review(rows: Iterable[ReviewRow]) -> str:
    """Return the table as tab-separated text; what a spreadsheet would take for a formula gets an apostrophe before."""
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter="\t", lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        each = row.statement
        score = "" if each.confidence is None else f"{each.confidence:g}"
        said = (each.subject, each.subject_name, each.relation, each.object, each.object_name, score, row.method)
        cells = (*said, row.status, each.matched, "; ".join(row.candidates), "", "", each.comment)
        writer.writerow([f"'{cell}" if cell[:1] in "=+-@" and cell else cell for cell in cells])
    return stream.getvalue()


def read_review(file: Path, classes: Mapping[str, str]) -> list[MappingStatement]:
    """Read the decisions that people wrote into the table."""
    table = read_rows(file, ("subject", "object", "decision"), what="a review of mappings")
    return _consistent(
        file, ((row.line, each) for row in table.rows for each in _decisions(file, row, classes)), classes
    )


def _consistent(file: Path, rows: Iterable[Numbered], classes: Mapping[str, str]) -> list[MappingStatement]:
    """Return the statements, each pair once; a file that contradicts itself is refused as a whole."""
    found: dict[frozenset[str], tuple[int, MappingStatement]] = {}
    for line, each in rows:
        first, before = found.setdefault(each.pair, (line, each))
        if (before.subject, before.relation, before.denied) != (each.subject, each.relation, each.denied):
            message = f"{file}, lines {first} and {line}, decide differently about {each.subject}"
            raise UsageError(f"{message} and {each.object}", hint="keep one of them")
    _check_single(file, found.values(), classes)
    refuse_circles(file, found.values())
    return [each for _, each in found.values()]


def _decisions(file: Path, row: MappingRow, classes: Mapping[str, str]) -> Iterator[MappingStatement]:
    word = WORDS.get(row.get("decision").lower())
    place = f"{file}, line {row.line}"
    if word is None:
        hint = "write accept, reject, replace or add, or leave it empty"
        raise UsageError(f"{place}: the decision is {row.get('decision')!r}", hint=hint)
    if not word:
        return
    relation = row.get("relation").lower() or "exact"
    if relation not in PREDICATES:
        raise UsageError(f"{place}: the relation is {relation!r}", hint=f"one of {', '.join(PREDICATES)}")
    subject, object = row.get("subject"), row.get("object")
    comment = row.get("comment").removeprefix("'")
    if word == "replace":
        replacement = row.get("replacement")
        if not replacement:
            raise UsageError(f"{place}: the replacement is missing", hint="put its id into the column replacement")
        if replacement == object:
            raise UsageError(f"{place}: {object} is replaced by itself", hint="write accept, or give another id")
        yield _checked(place, MappingStatement(subject, relation, object, denied=True, comment=comment), classes)
        yield _checked(place, MappingStatement(subject, relation, replacement, comment=comment), classes)
        return
    statement = MappingStatement(subject, relation, object, denied=word == "reject", comment=comment)
    if word == "accept":
        statement = replace(statement, matched=row.get("matched").removeprefix("'") or f"{subject} = {object}")
    yield _checked(place, statement, classes)


def _checked(place: str, statement: MappingStatement, classes: Mapping[str, str]) -> MappingStatement:
    for id in (statement.subject, statement.object):
        if id not in classes:
            hint = "`kgdx query search_diseases` and `search_phenotypes` find ids"
            raise UsageError(f"{place}: the graph has no {id or 'empty id'} that can be mapped", hint=hint)
    found = oriented(statement, (classes[statement.subject], classes[statement.object]))
    if found is None or statement.subject == statement.object:
        pair = f"{statement.subject} ({classes[statement.subject]}) to {statement.object} ({classes[statement.object]})"
        hint = "mapped are Disease to Disease, Disease and Phenotype to MeshDescriptor, Symptom to Phenotype"
        raise UsageError(f"{place}: {pair} is no mapping", hint=hint)
    return found[1]


def _check_single(file: Path, found: Iterable[Numbered], classes: Mapping[str, str]) -> None:
    exact: dict[tuple[str, str, str], tuple[int, MappingStatement]] = {}
    for line, each in found:
        if each.denied or each.relation != "exact" or each.justification == OTHER:
            continue  # a source may state two, and has its reasons
        same = classes[each.subject] == classes[each.object]
        ends = [(each.subject, each.object), *([(each.object, each.subject)] if same else [])]
        for one, other in ends:
            key = one, classes[other], vocabulary(other)
            before = exact.setdefault(key, (line, each))
            if before[1] != each:
                message = f"{file}, lines {before[0]} and {line}: {one} cannot be exactly the same as two of {key[2]}"
                raise UsageError(message, hint="write narrower or broader as the relation of one, or reject it")


def usable(
    file: Path, found: MappingSet, classes: Mapping[str, str], names: Mapping[str, Sequence[str]]
) -> tuple[list[MappingStatement], dict[str, int]]:
    """Return the mappings of an SSSOM file that this graph can take, and why the others are left out.

    ``names`` are those of each id: a label in a language in which it has none may be that of another id.
    """
    kept: list[tuple[int, MappingStatement]] = []
    left = Counter(reason for _, reason in found.skipped)
    for line, each in zip(found.lines, found.statements, strict=True):
        ends = classes.get(each.subject), classes.get(each.object)
        placed = oriented(each, ends)
        if None in ends:
            left["an id that the graph lacks"] += 1
        elif placed is None:
            left[f"{ends[0]} to {ends[1]}"] += 1
        else:
            for id, label in ((each.subject, each.subject_name), (each.object, each.object_name)):
                if label and names[id] and all(has_chinese(name) != has_chinese(label) for name in names[id]):
                    message = f"{file}, line {line}: {label!r} is in a language in which {id} has no name"
                    raise UsageError(message, hint=f"it is {names[id][0]}; correct the id, or leave the label empty")
            kept.append((line, replace(placed[1], matched="")))
    return _consistent(file, kept, classes), left


def stated_mappings(store: Store, names: Mapping[str, str]) -> list[MappingStatement]:
    """Return the mappings and equalities that a graph states; of a pair that people judged, what they say."""
    columns = ["method", "score", "status", "source"]
    counts, schema = store.counts(), load_schema()
    found: list[MappingStatement] = []
    for type_, relation in (*((type, relation) for relation, type in MATCHES.items()), ("MAPPED_TO", None)):
        for start, end in schema.relation(type_).ends if counts.get(type_) else ():
            wanted = columns if relation else ["relation", *columns]
            for row in store.export_relations(type_, start, end, wanted).to_pylist():
                decided = row["status"] in ("accepted", "manual")
                each = MappingStatement(
                    row["start"],
                    relation or row["relation"] or "exact",
                    row["end"],
                    subject_name=names.get(row["start"], ""),
                    object_name=names.get(row["end"], ""),
                    justification=MANUAL if decided else JUSTIFICATIONS.get(row["method"], OTHER),
                    confidence=row["score"],
                    comment=f"{row['source']}: {row['method'] or 'stated by the source'}",
                )
                found.append(each)
    judged = {each.pair for each in found if each.justification == MANUAL}
    found = [each for each in found if each.justification == MANUAL or each.pair not in judged]
    return sorted(found, key=lambda each: (each.subject, each.object, each.comment))


def summary(statements: Sequence[MappingStatement]) -> str:
    denied = sum(each.denied for each in statements)
    decisions = "1 decision" if len(statements) == 1 else f"{len(statements):,} decisions"
    return f"{decisions}: {len(statements) - denied:,} stated, {denied:,} rejected"
