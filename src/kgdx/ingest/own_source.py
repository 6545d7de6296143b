"""A source of one's own: a first manifest guessed from its file, whether one agrees with the ontology, and a trial.

Neither touches any graph.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice, pairwise, permutations
from pathlib import Path
from types import MappingProxyType
from typing import Any

import polars as pl
import yaml
from jinja2 import Environment, StrictUndefined

from kgdx.errors import SourceError, StoreError
from kgdx.graph.protocol import GraphTable
from kgdx.graph.tables import title
from kgdx.ingest.check import check_staged
from kgdx.ingest.column_mapping import StagedTable, stage
from kgdx.ingest.fetch import fetch
from kgdx.ingest.manifest import Manifest, NodeMap, RelationMap, Value, did_you_mean, line_of
from kgdx.ingest.pipeline.build_report import RefusalCount
from kgdx.ingest.pipeline.build_summary import reasons
from kgdx.ingest.pipeline.built_graph import read_graph
from kgdx.ingest.pipeline.graph_folder import GraphFolder
from kgdx.ingest.pipeline.stages import Stages
from kgdx.ingest.records import LINE, RecordBuilder, RecordCounts
from kgdx.ingest.source_choice import companions, origin_of
from kgdx.ingest.sources import FORMATS, Reader, read
from kgdx.ingest.sources.json_records import at, objects
from kgdx.ingest.sources.table_files import fields, head_of, header_of
from kgdx.ingest.unpack import unpacked
from kgdx.schema import Property, Schema
from kgdx.schema.model import ANNOTATIONS, MATCHES

_NONE: Mapping[str, Reader] = MappingProxyType({})

OTHERS = "(graph)"
"""The source that stands for everything that is in the graph already."""


@dataclass(frozen=True, slots=True)
class TableSample:
    title: str
    rows: int
    first: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Trial:
    """The result of trying out a source; without a graph to try it ``against``, all ends were taken to be there."""

    counts: RecordCounts
    samples: tuple[TableSample, ...]
    reasons: tuple[RefusalCount, ...]
    quarantine: pl.DataFrame
    against: Path | None
    warnings: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {
            "counts": asdict(self.counts),
            "tables": [{"title": each.title, "rows": each.rows, "first": list(each.first)} for each in self.samples],
            "reasons": [asdict(each) for each in self.reasons],
            "quarantine": self.quarantine.to_dicts(),
            "against": None if self.against is None else str(self.against),
            "warnings": list(self.warnings),
        }


def file_of(manifest: Manifest) -> Path:
    origin = origin_of(manifest)
    if origin.startswith(("http://", "https://")):
        raise SourceError(f"{manifest.name} is read from {origin}", hint="fetch it, and name the file")
    return fetch(origin, Path()).path


def attempt(
    manifest: Manifest,
    path: Path,
    schema: Schema,
    folder: GraphFolder,
    *,
    rows: int = 3,
    readers: Mapping[str, Reader] = _NONE,
) -> Trial:
    """Read a source's file and check it, against the nodes of a graph where there is one."""
    companions(manifest, path)
    records = read(path, manifest, readers)
    warnings = records.warnings
    tables, rejects = stage(records, manifest)
    others = _in_graph(folder, manifest.name)
    against = folder.path if others else None
    staged = [*others, *tables] if others else [*tables, *_assumed(tables, schema)]
    checked = check_staged(staged, {manifest.name: rejects}, schema)
    mine = checked.quarantine.filter(pl.col("source") == manifest.name)
    samples = []
    for table in checked.tables:
        own = pl.DataFrame(pl.from_arrow(table.rows)).filter(_own(tables, table, manifest.name))
        if own.height:
            first = [{name: value for name, value in row.items() if value is not None} for row in own[:rows].to_dicts()]
            samples.append(TableSample(title(table), own.height, tuple(first)))
    counts = checked.counts.get(manifest.name, RecordCounts())
    counts.read += records.merged
    counts.merged += records.merged
    if not counts.read and samples:
        hint = "give the class that each row is about `role: record` in the manifest, or state a relation"
        warnings = (*warnings, f"no row counts as a record, since every class is implied: {hint}")
    return Trial(counts, tuple(samples), tuple(reasons(mine)), mine, against, warnings)


def _own(tables: list[StagedTable], table: GraphTable, source: str) -> pl.Expr:
    if table.ends is not None:
        return pl.col("source") == source
    named = [each.rows["id"].cast(pl.String) for each in tables if each.ends is None and each.name == table.name]
    return pl.col("id").is_in(pl.concat([pl.Series("id", [], pl.String), *named]).implode())


def _in_graph(folder: GraphFolder, source: str) -> list[StagedTable]:
    try:
        if not folder.exists:
            return []
        with folder.reading() as build:
            stages = Stages(folder.path / "stages")
            graph = read_graph(build.tables, stages)
            if graph is None:
                return []
            found = []
            for table in graph.tables:
                kept = stages.find(table.stage) if table.ends is None else None
                if kept is not None:
                    rows = kept.frame(table.file).filter(pl.col("source") != source)
                    rows = rows.with_columns(pl.lit(None, pl.Int64).alias(LINE))
                    found.append(StagedTable(OTHERS, table.name, None, "implied", rows))
            return found
    except (StoreError, SourceError):
        return []


def _assumed(tables: list[StagedTable], schema: Schema) -> list[StagedTable]:
    found: dict[str, list[pl.Series]] = {}
    for table in tables:
        if table.ends is None:
            if table.role == "patch":
                found.setdefault(table.name, []).append(table.rows["id"])
            continue
        for column, label in zip(("start", "end"), table.ends, strict=True):
            found.setdefault(label, []).append(table.rows[column])
    assumed = []
    for label, ids in found.items():
        every = pl.concat([each.cast(pl.String) for each in ids]).drop_nulls().unique().alias("id")
        rows = pl.DataFrame([every]).with_columns(pl.lit(OTHERS).alias("source"), pl.lit(None, pl.Int64).alias(LINE))
        if "name" in schema.node(label).properties:
            rows = rows.with_columns(pl.col("id").alias("name"))
        assumed.append(StagedTable(OTHERS, label, None, "implied", rows))
    return assumed


Place = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Disagreement:
    line: int
    message: str


def disagreements(
    manifest: Manifest, schema: Schema, known: Collection[str], formats: Iterable[str] = FORMATS
) -> list[Disagreement]:
    """Compare a manifest with what there is."""
    text = manifest.path.read_text("utf-8") if manifest.path else ""
    found = [*_about(manifest, known, list(formats))]
    for number, node in enumerate(manifest.nodes):
        found += _node(node, schema, ("nodes", number))
    for number, relation in enumerate(manifest.relations):
        found += _relation(relation, schema, ("relations", number))
    return sorted((Disagreement(line_of(text, place), message) for place, message in found), key=lambda each: each.line)


def _about(manifest: Manifest, known: Collection[str], formats: list[str]) -> Iterator[tuple[Place, str]]:
    if not manifest.nodes and not manifest.relations:
        yield (), "it maps nothing: give nodes, relations, or both"
    named: list[tuple[Place, str, str, Collection[str]]] = [(("format",), "format", manifest.format, formats)]
    named += [(("also", key), "format", name, formats) for key, name in manifest.also.items()]
    named += [(("needs", number), "source", name, known) for number, name in enumerate(manifest.needs)]
    for place, what, name, there in named:
        if name not in there:
            yield place, f"there is no {what} {name!r}: one of {', '.join(there)}{did_you_mean(name, there)}"


def _node(node: NodeMap, schema: Schema, place: Place) -> Iterator[tuple[Place, str]]:
    if node.class_ not in schema.nodes:
        yield (*place, "class"), _no_class(node.class_, schema)
        return
    properties = schema.node(node.class_).properties
    yield from _properties(node.class_, node.properties, properties, place)
    yield from _minted((*place, "id"), node.id, schema)
    missing = [each.name for each in properties.values() if each.required and each.name not in ("id", "source")]
    for name in missing if node.role != "patch" else ():
        if name not in node.properties:
            yield place, f"a {node.class_} must have a {name}: add it under properties"


def _relation(relation: RelationMap, schema: Schema, place: Place) -> Iterator[tuple[Place, str]]:
    ends = (relation.start.class_, relation.end.class_)
    for end, name in zip(("start", "end"), ends, strict=True):
        if name not in schema.nodes:
            yield (*place, end, "class"), _no_class(name, schema)
        yield from _minted((*place, end, "id"), getattr(relation, end).id, schema)
    if relation.type not in schema.relations:
        fitting = [name for name, each in schema.relations.items() if ends in each.ends]
        offer = f"from {ends[0]} to {ends[1]} go {', '.join(fitting)}" if fitting else "see `kgdx schema`"
        message = f"there is no relation {relation.type!r}: {offer}{did_you_mean(relation.type, schema.relations)}"
        yield (*place, "type"), message
        return
    found = schema.relation(relation.type)
    if ends not in found.ends:
        allowed = ", ".join(f"{start}→{end}" for start, end in found.ends)
        yield (*place, "type"), f"no {relation.type} goes from {ends[0]} to {ends[1]}: it goes {allowed}"
    known = found.properties
    if relation.type == MATCHES["exact"]:
        known = {"relation": Property("relation", "string", values=tuple(MATCHES)), **known}
    yield from _properties(relation.type, relation.properties, known, place)
    for each in found.properties.values():
        if each.required and each.name != "source" and each.name not in relation.properties:
            yield place, f"a {relation.type} must have a {each.name}: add it under properties"


def _properties(
    owner: str, given: Mapping[str, Value], known: Mapping[str, Property], place: Place
) -> Iterator[tuple[Place, str]]:
    settable = [name for name in known if name not in ("id", "source")]
    for name, value in given.items():
        where = (*place, "properties", name)
        if name not in settable:
            offer = f"one of {', '.join(settable)}" if settable else "it has none"
            yield where, f"{owner} has no property {name!r}: {offer}{did_you_mean(name, settable)}"
            continue
        allowed = known[name].values
        stated = [value.constant] if isinstance(value.constant, str) else list((value.values or {}).values())
        wrong = [each for each in stated if allowed and each not in allowed]
        if wrong:
            yield where, f"{name} is never {wrong[0]!r}: one of {', '.join(allowed)}{did_you_mean(wrong[0], allowed)}"


def _minted(place: Place, id: Value, schema: Schema) -> Iterator[tuple[Place, str]]:
    if id.mint is not None and id.mint not in schema.nodes:
        yield (*place, "mint"), _no_class(id.mint, schema)
    elif id.mint is not None and (prefixes := schema.node(id.mint).prefixes) and "KGDX" not in prefixes:
        yield (*place, "mint"), f"a {id.mint} is known by its id only ({', '.join(prefixes)}), none can be minted"


def _no_class(name: str, schema: Schema) -> str:
    return f"there is no class {name!r}: one of {', '.join(schema.nodes)}{did_you_mean(name, schema.nodes)}"


ROWS = 200
"""Rows that are looked at."""
SHARE = 0.6
"""Share of a column's values that have to look like ids for it to be taken for one."""
_SEPARATORS = (";", "|", ",")
_WORDS = {
    "Disease": ("disease", "disorder", "diagnosis", "syndrome", "condition", "疾病", "病名"),
    "Phenotype": ("phenotype", "hpo"),
    "Symptom": ("symptom", "sign", "complaint", "症状"),
    "Gene": ("gene", "entrez", "基因"),
    "Drug": ("drug", "medication", "medicine", "药"),
    "Test": ("test", "check", "examination", "检查"),
    "Cure": ("cure", "therapy", "treatment", "治疗"),
    "Publication": ("publication", "pmid", "doi"),
}
_NUMBERS = {"NCBIGene": ("gene", "entrez", "ncbi"), "OMIM": ("omim", "mim"), "ORPHA": ("orpha",), "PMID": ("pmid",)}
"""Words in the name of a column of bare numbers that tell whose they are."""
_OF_RUNS = ("HAS_RUN", "CONSIDERED", "WEIGHED", "ASKED", "ORDERED", "PREDICTED")
_AVOIDED = frozenset({"MAPPED_TO", *MATCHES.values(), "MENTIONS", *_OF_RUNS, *ANNOTATIONS[1:]})
"""Relations that kgdx states itself, or that need a judgement."""
_NEVER = {"LACKS_PHENOTYPE", "EXCLUDED", "CONTRAINDICATION", "OFF_LABEL_USE", "DRUG_EFFECT"}
_NEVER |= {"ANATOMY_PROTEIN_ABSENT", "DISEASE_PHENOTYPE_NEGATIVE"}
"""Relations of harm, absence or opposite: a file states them only where a person says so."""
_ID = re.compile(r"[\w.]+:[^\s;|,]+")
_NAMES = re.compile(r"(^|[._\s])(name|label|title|term|symbol)s?$|名称?$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class FileSample:
    format: str
    columns: Mapping[str, Sequence[Any]]
    encoding: str = "utf-8"
    delimiter: str | None = None


@dataclass(frozen=True, slots=True)
class IdColumn:
    """A column of ids: the class they are of, how an id is written in YAML, and whether a row has several of them."""

    column: str
    label: str
    expression: str
    separator: str | None = None
    name: str | None = None
    several: bool = False

    @property
    def minted(self) -> bool:
        return "mint:" in self.expression


def sample(path: Path) -> FileSample:
    with unpacked(path) as stream:
        head = stream.read(1 << 20)
    if head.startswith(b"PAR1"):
        found = _parquet(path)
    else:
        encoding = _encoding(head)
        text = head_of(path, encoding)
        found = _json(path, text, encoding) if text.lstrip()[:1] in ("{", "[") else _delimited(path, text, encoding)
    if not any(len(values) for values in found.columns.values()):
        raise SourceError(f"{path} holds no records", hint="give a file with at least one")
    return found


def scaffold(name: str, path: Path, schema: Schema, default: str | None = None) -> str:
    """Write a manifest for a file, with comments on what was guessed and what is left."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise SourceError(f"{name!r} cannot be a source's name", hint="use small letters, digits and _")
    found = sample(path)
    keys = list(_keys(found, schema))
    used = {key.column for key in keys} | {key.name for key in keys}
    left = {column: _first(values) for column, values in found.columns.items() if column not in used}
    template = Path(__file__).with_suffix(".yaml.jinja").read_text("utf-8")
    page = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)
    guessed = {"keys": keys, "pairs": list(_pairs(keys, schema)), "left": left, "found": found, "schema": schema}
    return page.from_string(template).render(
        name=name, file=path.name, default=default or path.name, plain=_plain, **guessed
    )


def _first(values: Sequence[Any]) -> str:
    return " ".join(next((str(value) for value in values if value is not None), "").split())[:60]


def _encoding(head: bytes) -> str:
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    try:
        head[: max(0, head.rfind(b"\n"))].decode()
    except UnicodeDecodeError:
        return "gb18030"
    return "utf-8"


def _parquet(path: Path) -> FileSample:
    try:
        schema = pl.Schema(pl.read_parquet_schema(path))
        rows = pl.read_parquet(path, n_rows=ROWS).to_dicts()
    except pl.exceptions.PolarsError as error:
        raise SourceError(f"{path} is no Parquet file, or is damaged", hint="fetch it again") from error
    return FileSample("parquet", {name: [at(row, name) for row in rows] for name in fields(schema)})


def _json(path: Path, text: str, encoding: str) -> FileSample:
    whole = text if text.lstrip()[:1] == "[" else text[: text.rfind("\n") + 1] or text
    rows = [entry for _, entry in islice(objects(path, whole.encode(), RecordBuilder({})), ROWS)]
    names = dict.fromkeys(name for row in rows for name in _paths(row))
    return FileSample("jsonl", {name: [at(row, name) for row in rows] for name in names}, encoding)


def _paths(entry: Any, before: str = "") -> Iterator[str]:
    if isinstance(entry, dict):
        for name, value in entry.items():
            yield from _paths(value, f"{before}.{name}" if before else name)
    elif isinstance(entry, list) and any(isinstance(member, dict) for member in entry):
        for member in entry:
            yield from _paths(member, before)
    elif before:
        yield before


def _delimited(path: Path, text: str, encoding: str) -> FileSample:
    header = header_of(path, text)
    lines = text.split("\n")[1 : ROWS + 1]
    content = "\n".join(line.rstrip("\r") for line in lines if line.strip())
    schema = dict.fromkeys(header.columns, pl.String)
    rows = pl.DataFrame(schema=schema)
    if content:
        options: dict[str, Any] = {"has_header": False, "truncate_ragged_lines": True, "ignore_errors": True}
        rows = pl.read_csv(content.encode(), schema=schema, separator=header.separator, **options)
    return FileSample("csv", rows.to_dict(as_series=False), encoding, header.separator)


def _keys(found: FileSample, schema: Schema) -> Iterator[IdColumn]:
    every = [key for name, values in found.columns.items() if (key := _key(name, _given(values), schema))]
    known = {key.label for key in every if not key.minted}
    keys = [key for key in every if not key.minted or key.label not in known]
    taken = {key.column for key in keys}
    worded = {key.column: key.label for key in every if key.column not in taken}
    for key in keys:
        words = _WORDS.get(key.label, (key.label.lower(),))
        near = [name for name in found.columns if name not in taken and _NAMES.search(name)]
        own = [name for name in near if any(word in name.lower() for word in words)]
        own += [name for name, label in worded.items() if label == key.label]
        beside = [name for left, name in pairwise(found.columns) if left == key.column and name in near]
        names = own or (near if len(keys) == 1 else beside)
        several = bool(key.separator) or any(isinstance(value, list) for value in found.columns[key.column])
        named = None if several or key.minted or not names else names[0]
        yield replace(key, name=named, several=several)


def _given(values: Sequence[Any]) -> list[str]:
    flat = [member for value in values for member in (value if isinstance(value, list) else [value])]
    return [str(value).strip() for value in flat if value is not None and str(value).strip()]


def _key(name: str, values: Sequence[str], schema: Schema) -> IdColumn | None:
    if not values:
        return None
    for separator in (*(each for each in _SEPARATORS if any(each in value for value in values)), None):
        members = values if separator is None else [part for value in values for part in value.split(separator)]
        label = _label([member.strip() for member in members if member.strip()], name, schema)
        if label is not None:
            return IdColumn(name, label, _plain(name), separator)
    word = name.lower()
    if all(value.isdigit() for value in values):
        for prefix, words in _NUMBERS.items():
            if any(each in word for each in words):
                label = next(each.name for each in schema.nodes.values() if prefix in each.prefixes)
                return IdColumn(name, label, _plain(f"{prefix}:{{{name}}}"))
        return None
    return _by_word(name, values, schema)


def _label(values: Sequence[str], name: str, schema: Schema) -> str | None:
    fitting = [
        each.name
        for each in schema.nodes.values()
        if each.prefixes
        and sum(each.accepts_id(value) for value in values if _ID.fullmatch(value)) >= SHARE * len(values)
    ]
    named = [label for label in fitting if any(word in name.lower() for word in _WORDS.get(label, (label.lower(),)))]
    return next(iter(named or fitting), None)


def _by_word(name: str, values: Sequence[str], schema: Schema) -> IdColumn | None:
    for label, words in _WORDS.items():
        minted = label in schema.nodes and (not schema.node(label).prefixes or "KGDX" in schema.node(label).prefixes)
        if minted and any(word in name.lower() for word in words) and not re.search(r"(^|[._])id$", name.lower()):
            separator = next((each for each in ";|" if sum(each in value for value in values) > len(values) / 4), None)
            expression = f"{{column: {_plain(name)}, mint: {label}}}"
            return IdColumn(name, label, expression, separator)
    return None


def _plain(text: str) -> str:
    if re.fullmatch(r"[A-Za-z][\w.-]*", text) and yaml.safe_load(text) == text:
        return text
    return json.dumps(text, ensure_ascii=False)


def _pairs(keys: Sequence[IdColumn], schema: Schema) -> Iterator[tuple[IdColumn, IdColumn, str]]:
    hub = next((key for key in keys if key.label == "Disease"), keys[0] if keys else None)
    offered = [each for name, each in schema.relations.items() if name not in _AVOIDED | _NEVER]
    for first, second in permutations(keys, 2):
        fitting = (each.name for each in offered if (first.label, second.label) in each.ends)
        if hub in (first, second) and first.label != second.label and (name := next(fitting, None)):
            yield first, second, name
