"""Time every read template on a store with the default graph; ``python benchmarks/templates.py [--store PATH|URI]``.

Each template runs with the parameters of a real question: a well-known disease, ten findings that are typical of it,
and ten common ones that thousands of diseases share. On a Neo4j the database hits of each are shown too, as ``PROFILE``
counts them. ``--only`` names templates by their beginning; ``--json`` prints the figures for a program.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Iterable, Mapping
from typing import Any

from kgdx.actions.graph_context import GraphContext
from kgdx.config import Neo4jAccess, Settings
from kgdx.errors import KgdxError
from kgdx.graph.neo4j.bolt import connect
from kgdx.graph.protocol import Store
from kgdx.graph.templates import Template, templates
from kgdx.graph.templates import template as find_template

MARFAN = ("OMIM:154700", "ORPHA:558")
TYPICAL = [f"HP:{n:07d}" for n in (1166, 1083, 2616, 768, 545, 1382, 2650, 486, 1519, 4382)]
COMMON = [f"HP:{n:07d}" for n in (1250, 1263, 1252, 252, 4322, 486, 1629, 365, 1249, 2650)]

#: Milliseconds that a template may take on the embedded store, by the beginning of its name; others: retrieval.
TARGETS = {
    "infer_": 100.0,
    "similar_": 100.0,
    "cooccurring_": 100.0,
    "search_": 100.0,
    "count_": 1000.0,
    "evidence_": 50.0,
}
RETRIEVAL = 10.0

PARAMETERS: dict[str, Any] = {
    "disease": MARFAN[0],
    "diseases": list(MARFAN),
    "name": "Marfan syndrome",
    "text": "marfan",
    "phenotype": TYPICAL[0],
    "phenotypes": TYPICAL,
    "alt_id": "HP:0001505",
    "symbols": ["FBN1"],
    **{
        given: [{"given": id_, "id": id_} for id_ in (*MARFAN, "NCBIGene:2200")]
        for given in ("symptoms", "tests", "drugs", "cures", "comorbidities", "genes")
    },
    "findings": TYPICAL,
    "excluded": COMMON,
    "known": TYPICAL,
    "descriptors": ["MESH:D008382"],
    "publications": ["PMID:36467473"],
    "minimum": 0.5,
    "matched": ["HP:0001083", "HP:0000767", "HP:0002108"],
    "without": [],
    "via": ["HP:0000924", "HP:0000765", "HP:0000118"],
    "case_id": "none",
    "run_id": "none",
    "source": "user",
    "min_match_count": 2,
    "limit": 20,
}
VARIANTS = {"phenotypes": COMMON, "findings": COMMON}


def main(arguments: list[str] | None = None) -> int:
    """Print one line for each template; medians beyond their target are marked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", help="graph folder or Bolt URI; the default graph without it")
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--only", default="", metavar="PREFIX", help="templates whose name begins so")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    try:
        settings = Settings.load(options.store)
        chosen = [t for name, t in templates().items() if t.kind == "read" and name.startswith(options.only)]
        with GraphContext(settings) as graph:
            rows = [row for each in chosen for row in timed(graph.store, each, options.runs)]
        if settings.is_neo4j:
            add_hits(settings.neo4j(), chosen, rows)
    except KgdxError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    if options.json:
        print(json.dumps(rows))
    else:
        show(rows)
    return 0


def timed(store: Store, template: Template, runs: int) -> list[dict[str, Any]]:
    """Median and 95th percentile of a template, for the typical and (where it asks for findings) the common ones."""
    out = []
    for suffix, parameters in questions(template).items():
        times = []
        found = len(store.run(template.name, **parameters))  # the first run plans and fills the cache
        for _ in range(runs):
            begin = time.perf_counter()
            store.run(template.name, **parameters)
            times.append(1000 * (time.perf_counter() - begin))
        times.sort()
        p95 = times[min(len(times) - 1, round(0.95 * len(times)))]
        row = {"template": template.name + suffix, "median_ms": statistics.median(times), "p95_ms": p95, "rows": found}
        out.append(row | {"target_ms": target(template.name)})
    return out


def questions(template: Template) -> dict[str, dict[str, Any]]:
    """The parameters that a template runs with, by what is added to its name."""
    asked = {name: PARAMETERS.get(name) for name in template.parameters}
    common = {name: values for name, values in VARIANTS.items() if name in asked}
    return {"": asked} | ({" (common)": asked | common} if common else {})


def add_hits(access: Neo4jAccess, chosen: Iterable[Template], rows: Iterable[dict[str, Any]]) -> None:
    """Add to the rows how many database hits a server counts for each question."""
    counted = {}
    with connect(access) as driver, driver.session(database=access.database) as session:
        for each in chosen:
            text = find_template(each.name, "read", "neo4j").text
            for suffix, parameters in questions(each).items():
                plan = session.run(f"PROFILE {text}", parameters).consume().profile
                counted[each.name + suffix] = hits(plan or {})
    for row in rows:
        row["db_hits"] = counted[row["template"]]


def hits(plan: Mapping[str, Any]) -> int:
    """Database hits of a plan's operator and all below it.

    Example:
        >>> hits({"args": {"DbHits": 2}, "children": [{"args": {"DbHits": 3}}]})
        5
    """
    below = sum(hits(child) for child in plan.get("children", []))
    return int(plan.get("args", {}).get("DbHits", 0)) + below


def target(name: str) -> float:
    """What the template may take.

    Example:
        >>> target("evidence_shared"), target("genes_of_diseases")
        (50.0, 10.0)
    """
    return next((ms for start, ms in TARGETS.items() if name.startswith(start)), RETRIEVAL)


def show(rows: list[dict[str, Any]]) -> None:
    """A table for people, with a mark where a median is beyond its target."""
    print(f"{'template':40} {'median ms':>10} {'p95 ms':>10} {'target':>8} {'rows':>7} {'db hits':>9}")
    for row in rows:
        mark = "" if row["median_ms"] <= row["target_ms"] else "  beyond target"
        figures = f"{row['median_ms']:10.2f} {row['p95_ms']:10.2f} {row['target_ms']:8.0f} {row['rows']:7d}"
        figures += f" {row.get('db_hits', ''):>9}"
        print(f"{row['template']:40} {figures}{mark}")


if __name__ == "__main__":
    sys.exit(main())
