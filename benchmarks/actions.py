"""Time the graph actions' templates and their compiled forms; ``python -m benchmarks.actions --store FOLDER``.

Each template is asked questions as they come, with nodes that are drawn by how often they occur, and the worst ones:
with the nodes that occur most. Every answer of both forms is compared. A graph of 4 million relations is made by::

    python -m benchmarks.generate.primekg made && python -m benchmarks.generate.medical made
    kgdx build --from made --store GRAPH

``--json`` prints the figures for a program; the exit code is 1 where an answer differs or a median is too slow.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kgdx.actions.graph import GraphContext
from kgdx.config import Settings
from kgdx.errors import KgdxError
from kgdx.store.snapshot import TABLES, Snapshot

GET_MS, INFER_MS, COMPILED_MS = 10.0, 100.0, 5.0
"""What the median of a template may take, and that of a compiled form."""
LIMIT = 50
GIVEN = 5


@dataclass(frozen=True, slots=True)
class Asked:
    """What a template is asked about: its parameter, and where the nodes and their relations stand in the snapshot."""

    parameter: str
    nodes: str
    edges: tuple[str, ...]

    @property
    def infers(self) -> bool:
        return self.parameter != "diseases"


TEMPLATES = {
    "symptoms_of_diseases": Asked("diseases", "disease", ("has_symptom",)),
    "tests_of_diseases": Asked("diseases", "disease", ("recommend_test",)),
    "drugs_of_diseases": Asked("diseases", "disease", ("recommend_drug",)),
    "cures_of_diseases": Asked("diseases", "disease", ("recommend_cure",)),
    "comorbidities_of_diseases": Asked("diseases", "disease", ("has_comorbidity",)),
    "genes_of_diseases": Asked("diseases", "disease", ("associated_gene", "disease_protein")),
    "medicines_of_diseases": Asked("diseases", "disease", ("indication", "off_label_use", "contraindication")),
    "infer_diseases_by_symptoms": Asked("symptoms", "symptom", ("has_symptom",)),
    "infer_diseases_by_tests": Asked("tests", "test", ("recommend_test",)),
    "infer_diseases_by_drugs": Asked("drugs", "drug", ("recommend_drug", "indication", "off_label_use")),
    "infer_diseases_by_cures": Asked("cures", "cure", ("recommend_cure",)),
    "infer_diseases_by_comorbidities": Asked("comorbidities", "disease", ("has_comorbidity",)),
    "infer_diseases_by_genes": Asked("genes", "gene", ("associated_gene", "disease_protein")),
    "infer_diseases": Asked("phenotypes", "phenotype", ("has_phenotype",)),
}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", help="graph folder or Bolt URI; the default graph without it")
    parser.add_argument("--questions", type=int, default=40, help="how many of each kind")
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    try:
        with GraphContext(Settings.load(options.store)) as graph:
            relations = sum(n for name, n in graph.store.counts().items() if name.isupper())
            rows = [
                measured(graph, name, kind, questions)
                for name, asked in TEMPLATES.items()
                for kind, questions in questions_of(graph.snapshot, asked, options.questions, options.seed).items()
            ]
    except KgdxError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    if options.json:
        print(json.dumps({"relations": relations, "actions": rows}))
    else:
        show(relations, rows)
    return 0 if all(row["same"] and row["in_time"] for row in rows) else 1


def questions_of(snapshot: Snapshot, asked: Asked, count: int, seed: int) -> dict[str, list[dict[str, Any]]]:
    """Parameters with nodes as they occur and with those that occur most; none where the graph has no such relation."""
    degree = np.zeros(snapshot.rows(asked.nodes), np.int64)
    for table in asked.edges:
        first, second, *_ = TABLES[table]
        ends = (first, second) if table == "has_comorbidity" else (second,) if asked.infers else (first,)
        for end in ends:
            degree += np.bincount(snapshot.column(table, end), minlength=len(degree))
    if not degree.any():
        return {}
    rng = np.random.default_rng(seed)
    ids = snapshot.column(asked.nodes, "id")
    given = GIVEN if asked.infers else 1
    share = degree / degree.sum()
    drawn = [rng.choice(len(degree), min(given, int((share > 0).sum())), replace=False, p=share) for _ in range(count)]
    most = [rng.permutation(np.argsort(-degree)[:given]) for _ in range(3)]
    return {
        "as they come": [_parameters(asked, [str(ids[at]) for at in nodes]) for nodes in drawn],
        "most frequent": [_parameters(asked, [str(ids[at]) for at in nodes]) for nodes in most],
    }


def _parameters(asked: Asked, ids: list[str]) -> dict[str, Any]:
    if not asked.infers:
        return {"diseases": ids, "limit": LIMIT}
    given: list[Any] = ids if asked.parameter == "phenotypes" else [{"given": id_, "id": id_} for id_ in ids]
    return {asked.parameter: given, "min_match_count": 1, "limit": LIMIT}


def measured(graph: GraphContext, name: str, kind: str, questions: list[dict[str, Any]]) -> dict[str, Any]:
    """Both forms' times over the questions, and whether all their rows are equal."""
    template, answers = timed(lambda parameters: graph.run(name, **parameters), questions)
    compiled, again = timed(lambda parameters: graph.compiled.run(name, **parameters), questions)
    target = INFER_MS if TEMPLATES[name].infers else GET_MS
    return {
        "template": name,
        "asked": kind,
        "rows": int(np.median([len(rows) for rows in answers])),
        "template_ms": [round(float(np.percentile(template, q)), 3) for q in (50, 95)],
        "compiled_ms": [round(float(np.percentile(compiled, q)), 3) for q in (50, 95)],
        "target_ms": [target, COMPILED_MS],
        "same": answers == again,
        "in_time": bool(np.median(template) <= target and np.median(compiled) <= COMPILED_MS),
    }


def timed(run: Callable[[dict[str, Any]], list[Any]], questions: list[dict[str, Any]]) -> tuple[list[float], list[Any]]:
    """Milliseconds and rows of each question, asked for the second time: the first one plans and fills caches."""
    times, answers = [], []
    for parameters in questions:
        run(parameters)
        begin = time.perf_counter()
        answers.append(run(parameters))
        times.append(1000 * (time.perf_counter() - begin))
    return times, answers


def show(relations: int, rows: list[dict[str, Any]]) -> None:
    """A table for people, with a mark where a median is beyond its target or an answer differs."""
    print(f"{relations:,} relations; median and 95th percentile in milliseconds")
    print(f"{'template':32} {'asked':14} {'rows':>5} {'template':>16} {'target':>7} {'compiled':>16} {'target':>7}")
    for row in rows:
        figures = [f"{row[form][0]:7.2f} {row[form][1]:8.2f}" for form in ("template_ms", "compiled_ms")]
        targets = [f"{target:7.0f}" for target in row["target_ms"]]
        mark = "" if row["in_time"] else "  beyond target"
        mark += "" if row["same"] else "  ROWS DIFFER"
        print(
            f"{row['template']:32} {row['asked']:14} {row['rows']:5d} {figures[0]} {targets[0]} {figures[1]} "
            f"{targets[1]}{mark}"
        )


if __name__ == "__main__":
    sys.exit(main())
