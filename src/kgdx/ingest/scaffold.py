"""A first manifest for a file of one's own: its columns, and a guess at what each of them means."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise, permutations
from pathlib import Path
from typing import Any

import polars as pl
import yaml
from jinja2 import Environment, StrictUndefined

from kgdx.errors import SourceError
from kgdx.ingest.records import RecordBuilder
from kgdx.ingest.sources.json_records import at, objects
from kgdx.ingest.sources.table_files import fields, head_of, header_of
from kgdx.ingest.unpack import unpacked
from kgdx.schema import Schema
from kgdx.schema.model import ANNOTATIONS, MATCHES

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
