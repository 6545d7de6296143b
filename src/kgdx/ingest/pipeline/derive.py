"""Derive steps: what kgdx infers from the checked tables, each step declared with what it reads and its version."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from kgdx.errors import StoreError
from kgdx.graph.protocol import GraphTable, NodeTable
from kgdx.graph.tables import conformed, title
from kgdx.ingest.check import plain_table
from kgdx.ingest.column_mapping import matches_apart
from kgdx.ingest.pipeline.built_graph import BuiltTable, built, graph_table, keep_table, load_table
from kgdx.ingest.pipeline.stages import Stages, code_digest, key_of
from kgdx.schema import Schema


@dataclass(frozen=True, slots=True)
class Derive:
    """One step that infers further tables, made again only when something that it rests on has changed.

    Attributes:
        version: Changes whenever the results would: it holds the digests of outer inputs too (decisions that people
            made, the name of an encoder).
        reads: The node classes and relation types that it looks at. ``Source`` stands for a table of the loaded
            sources: id, version, checksum, licence, citation.
        function: Gets the tables of these classes and types, those of earlier steps among them, and returns tables of
            its own. Their ``source`` is the step's name, whatever they say.
    """

    name: str
    version: str
    reads: tuple[str, ...]
    function: Callable[[Sequence[GraphTable]], Iterable[GraphTable]]
    detail: str = "inferring"


@dataclass(frozen=True, slots=True)
class StepResult:
    """The outcome of a derive step: its tables, whether an earlier build made them, and how long it took."""

    name: str
    tables: Sequence[BuiltTable]
    found: bool
    seconds: float


def derive(
    steps: Sequence[Derive],
    tables: Sequence[BuiltTable],
    sources: NodeTable,
    stages: Stages,
    schema: Schema,
    tell: Callable[[str, float], None],
) -> Iterator[StepResult]:
    """Run the steps in their order, each on what was there before it; what did not change is not inferred again."""
    known = list(tables)
    for number, step in enumerate(steps):
        tell(step.detail, number / len(steps))
        started = time.perf_counter()
        read = [table for table in known if table.name in step.reads]
        rests_on = [[title(table), sorted(table.parts.items())] for table in read]
        stated = sources.rows.to_pylist() if "Source" in step.reads else []
        key = key_of(step.name, step.version, _code(step.function), schema.checksum, sorted(rests_on), stated)
        stage = stages.get("derived", key, partial(_make, step, read, sources, stages, schema))
        made = [built(stage, facts) for facts in stage.facts["tables"]]
        known += made
        yield StepResult(step.name, made, not stage.made, time.perf_counter() - started)


def _code(function: Callable[..., Any]) -> str:
    inner = function.func if isinstance(function, partial) else function
    module = getattr(inner, "__module__", type(inner).__module__)
    return code_digest(module.rpartition(".")[0] or module)


def _make(
    step: Derive, read: Sequence[BuiltTable], sources: NodeTable, stages: Stages, schema: Schema, folder: Path
) -> Mapping[str, Any]:
    given: list[GraphTable] = []
    ids: dict[str, list[pl.Series]] = {}
    for kept in read:
        table = load_table(kept, stages)
        keys = ["id"] if table.ends is None else ["start", "end"]
        given.append(replace(table, rows=table.rows.sort_by([(key, "ascending") for key in keys])))
        if table.ends is None:
            ids.setdefault(table.name, []).append(pl.Series("id", pl.from_arrow(table.rows["id"])))
    if "Source" in step.reads:
        given.append(sources)
    parts: dict[tuple[str, tuple[str, str] | None], list[pl.DataFrame]] = {}
    for table in step.function(given):
        for name, rows in matches_apart(table.name, pl.DataFrame(pl.from_arrow(table.rows))):
            if rows.height:
                own = graph_table(name, table.ends, plain_table(rows.with_columns(pl.lit(step.name).alias("source"))))
                frame = pl.DataFrame(pl.from_arrow(conformed(own, schema)))
                parts.setdefault((name, table.ends), []).append(frame)
    facts = []
    for number, ((name, ends), frames) in enumerate(sorted(parts.items(), key=lambda item: item[0][1] is not None)):
        rows = pl.concat(frames, how="diagonal")
        if ends is None:
            rows = _new_nodes(rows, name, step, ids)
        else:
            _refuse_loose(rows, name, ends, step, ids)
            identity = [column for column in schema.relation(name).identity if column in rows.columns]
            rows = rows.unique(["start", "end", *identity], keep="first", maintain_order=True)
        if rows.height:
            facts.append(keep_table(folder, f"{number:03}", graph_table(name, ends, plain_table(rows))))
    return {"tables": facts}


def _new_nodes(rows: pl.DataFrame, label: str, step: Derive, ids: dict[str, list[pl.Series]]) -> pl.DataFrame:
    if label not in step.reads:
        message = f"the step {step.name} gives nodes of {label}, which it does not read"
        raise StoreError(message, hint="add the class to what it reads")
    new = rows.unique("id", keep="first", maintain_order=True).filter(~_known("id", label, ids))
    ids.setdefault(label, []).append(new["id"])
    return new


def _refuse_loose(
    rows: pl.DataFrame, type: str, ends: tuple[str, str], step: Derive, ids: Mapping[str, list[pl.Series]]
) -> None:
    for end, label in zip(("start", "end"), ends, strict=True):
        loose = rows.filter(~_known(end, label, ids))
        if loose.height:
            message = f"the step {step.name} gives a {type} of {loose.item(0, end)}, which is no {label} that it reads"
            raise StoreError(message, hint="mend the step, or add the class to what it reads")


def _known(column: str, label: str, ids: Mapping[str, list[pl.Series]]) -> pl.Expr:
    return pl.col(column).is_in(pl.concat([pl.Series("id", [], pl.String), *ids.get(label, [])]).implode())
