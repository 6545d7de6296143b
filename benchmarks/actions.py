"""Time the graph actions, their templates and the look-up of names; ``python -m benchmarks.actions --store FOLDER``.

Each template is asked questions as they come, with nodes that are drawn by how often they occur, and the worst ones:
with the nodes that occur most. Where it has a compiled form, every answer of both forms is compared. Then names are
looked up (:mod:`benchmarks.lookups`), and whole actions run, from names to rows. A graph of 4 million relations is
made by::

    python -m benchmarks.generate.primekg made && python -m benchmarks.generate.medical made
    kgdx build --from made --store GRAPH

``--only`` prints one of the three parts, ``--questions`` and ``--seed`` change what is asked, ``--json`` prints the
figures for a program. The exit code is 1 where an answer differs or a median is too slow.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.lookups import look_ups, percentiles, whole_action
from kgdx.actions import ACTIONS
from kgdx.actions.graph_context import GraphContext
from kgdx.config import Settings
from kgdx.errors import KgdxError
from kgdx.graph.snapshot import TABLES, Snapshot

GET_MS, INFER_MS, COMPILED_MS = 10.0, 100.0, 5.0
"""What the median of a template may take, and that of a compiled form."""
PARTS = ("templates", "look_ups", "actions")
LIMIT = 50
GIVEN = 5


@dataclass(frozen=True, slots=True)
class Asked:
    """What a template is asked about: its parameter, and where the nodes and their relations stand in the snapshot.

    What starts from diseases looks up; whatever starts from other things counts diseases, or patients.
    """

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
    "phenotypes_of_diseases": Asked("diseases", "disease", ("has_phenotype",)),
    "cooccurring_phenotypes": Asked("phenotype", "phenotype", ("observed",)),
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
    parser.add_argument("--only", choices=PARTS, help="one part of it")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    try:
        with GraphContext(Settings.load(options.store)) as graph:
            found = measure(graph, options.questions, options.seed, {options.only} if options.only else set(PARTS))
    except KgdxError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    if options.json:
        print(json.dumps(found))
    else:
        show(found)
    rows = [row for part in PARTS for row in found.get(part, ())]
    return 0 if all(row["in_time"] and row.get("same", True) for row in rows) else 1


def measure(graph: GraphContext, count: int, seed: int, parts: set[str]) -> dict[str, Any]:
    """The figures of some parts, and how many relations the graph has."""
    found: dict[str, Any] = {"relations": sum(n for name, n in graph.store.counts().items() if name.isupper())}
    asked = {name: questions_of(graph.snapshot, each, count, seed) for name, each in TEMPLATES.items()}
    if "templates" in parts:
        found["templates"] = [
            measured(graph, name, kind, given) for name, kinds in asked.items() for kind, given in kinds.items()
        ]
    if "look_ups" in parts:
        found["look_ups"] = look_ups(graph, count, seed)
    if "actions" in parts:
        found["actions"] = list(_whole(graph, asked))
    return found


def _whole(graph: GraphContext, asked: dict[str, dict[str, list[dict[str, Any]]]]) -> Iterator[dict[str, Any]]:
    """Each action that runs one of the templates, asked by the names of the same nodes."""
    for name, action in ACTIONS.items():
        template = getattr(action, "template", "")
        questions = asked.get(template, {}).get("as they come")
        if questions:
            each = TEMPLATES[template]
            ids, names = (graph.snapshot.column(each.nodes, column) for column in ("id", "name"))
            called = dict(zip(map(str, ids), map(str, names), strict=True))
            given = [[called[id] for id in _ids(parameters[each.parameter])] for parameters in questions]
            field = getattr(action, "takes", "phenotype" if each.parameter == "phenotype" else "diseases")
            yield whole_action(graph, name, field, given, INFER_MS if each.infers else GET_MS)


def _ids(bound: Any) -> list[str]:
    return [bound] if isinstance(bound, str) else [one if isinstance(one, str) else one["id"] for one in bound]


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
    given = GIVEN if asked.infers and asked.parameter != "phenotype" else 1
    share = degree / degree.sum()
    drawn = [rng.choice(len(degree), min(given, int((share > 0).sum())), replace=False, p=share) for _ in range(count)]
    most = [rng.permutation(np.argsort(-degree)[:given]) for _ in range(3)]
    return {
        "as they come": [_parameters(asked, [str(ids[at]) for at in nodes]) for nodes in drawn],
        "most frequent": [_parameters(asked, [str(ids[at]) for at in nodes]) for nodes in most],
    }


def _parameters(asked: Asked, ids: list[str]) -> dict[str, Any]:
    if asked.parameter == "phenotype":
        return {"phenotype": ids[0], "source": None, "limit": LIMIT}
    if not asked.infers:
        return {"diseases": ids, "limit": LIMIT}
    given: list[Any] = ids if asked.parameter == "phenotypes" else [{"given": id_, "id": id_} for id_ in ids]
    return {asked.parameter: given, "min_match_count": 1, "limit": LIMIT}


def measured(graph: GraphContext, name: str, kind: str, questions: list[dict[str, Any]]) -> dict[str, Any]:
    """The times of a template over the questions, and of its compiled form, and whether all their rows are equal."""
    times, answers = timed(lambda parameters: graph.run(name, **parameters), questions)
    target = INFER_MS if TEMPLATES[name].infers else GET_MS
    row: dict[str, Any] = {"template": name, "asked": kind, "rows": int(np.median([len(rows) for rows in answers]))}
    row |= {"template_ms": percentiles(times), "target_ms": target, "in_time": bool(np.median(times) <= target)}
    if not graph.compiled.has(name):
        return row
    times, again = timed(lambda parameters: graph.compiled.run(name, **parameters), questions)
    row |= {"compiled_ms": percentiles(times), "compiled_target_ms": COMPILED_MS, "same": answers == again}
    return row | {"in_time": row["in_time"] and bool(np.median(times) <= COMPILED_MS)}


def timed(run: Callable[[dict[str, Any]], list[Any]], questions: list[dict[str, Any]]) -> tuple[list[float], list[Any]]:
    """Milliseconds and rows of each question, asked for the second time: the first one plans and fills caches."""
    times, answers = [], []
    for parameters in questions:
        run(parameters)
        begin = time.perf_counter()
        answers.append(run(parameters))
        times.append(1000 * (time.perf_counter() - begin))
    return times, answers


def show(found: dict[str, Any]) -> None:
    """Tables for people, with a mark where a median is beyond its target or an answer differs."""
    print(f"{found['relations']:,} relations; median and 95th percentile in milliseconds")
    if "templates" in found:
        print(
            f"\n{'template':32} {'asked':14} {'rows':>5} {'template':>16} {'target':>7} {'compiled':>16} {'target':>7}"
        )
    for row in found.get("templates", ()):
        compiled = f"{_figures(row['compiled_ms'])} {row['compiled_target_ms']:7.0f}" if "same" in row else ""
        print(
            f"{row['template']:32} {row['asked']:14} {row['rows']:5d} {_figures(row['template_ms'])} "
            f"{row['target_ms']:7.0f} {compiled}{_mark(row)}"
        )
    for part, title in (("look_ups", "look-up of a name"), ("actions", "action, from names to rows")):
        if part in found:
            print(f"\n{title:32} {'questions':>9} {'found':>6} {'time':>16} {'target':>7}")
        for row in found.get(part, ()):
            print(
                f"{row['asked']:32} {row['questions']:9d} {row['found']:6.0%} {_figures(row['ms'])} "
                f"{row['target_ms']:7.0f}{_mark(row)}"
            )


def _figures(times: list[float]) -> str:
    return f"{times[0]:7.2f} {times[1]:8.2f}"


def _mark(row: dict[str, Any]) -> str:
    return ("" if row["in_time"] else "  beyond target") + ("" if row.get("same", True) else "  ROWS DIFFER")


if __name__ == "__main__":
    sys.exit(main())
