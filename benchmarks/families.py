"""How often rows of one list are forms of one disease; `python -m benchmarks.families STORE CASES [--sample 500]`.

Ranks recorded patients by family, with the graph's other patients, and prints of how many lists two of the first ten
rows have a name in common once numbers and types are left out, and of how many patients the disease stands among the
first rows, by itself or inside a row.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import kgdx
from benchmarks.inquiry import groups
from kgdx.evaluate.labels import Labels

NUMBERED = re.compile(r"^(.{6,}?)[, ]+(?:type |types |form |group )?(?:\d+[a-z]*\d*|[ivx]+[a-h]?)\b")
FIRST = (1, 3, 10)


def wholes(names: list[str]) -> Iterator[str]:
    """Yield what is before the number of each name, or the name that has none."""
    for name in names:
        found = NUMBERED.match(name.lower())
        yield found[1] if found else name.lower()


def main(arguments: list[str] | None = None) -> int:
    """Print the two measures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store", type=Path)
    parser.add_argument("cases", type=Path)
    parser.add_argument("--sample", type=int, default=500)
    options = parser.parse_args(arguments)
    doubled = ranked = 0
    by_itself, inside = dict.fromkeys(FIRST, 0), dict.fromkeys(FIRST, 0)
    with kgdx.open(options.store) as graph:
        labels, disease = Labels.of_graph(graph), graph.snapshot
        said = {
            id: [name, *(synonyms or ())]
            for id, name, synonyms in zip(
                *(disease.values("disease", column) for column in ("id", "name", "synonyms")), strict=True
            )
        }
        for case in groups(graph, options.cases, options.sample)["all"]:
            rows = graph.ranker.rank(case, bank=graph.bank, by_family=True).candidates
            called = [set(wholes([each for id in (row.id, *row.members) for each in said.get(id, ())])) for row in rows]
            doubled += any(one & other for one, other in combinations(called, 2))
            right = {graph.ranker.ids[number] for number in labels.of(case).right}
            own = [row.id in right for row in rows]
            family = [row.id in right or any(each.id in right for each in row.in_family) for row in rows]
            for first in FIRST:
                by_itself[first] += any(own[:first])
                inside[first] += any(family[:first])
            ranked += 1
    print(f"lists of ten rows that hold forms of one disease in two: {doubled} of {ranked}")
    print("| the disease is | " + " | ".join(f"first {first}" for first in FIRST) + " |\n|---|---|---|---|")
    print("| a row by itself | " + " | ".join(map(str, by_itself.values())) + " |")
    print("| in a row | " + " | ".join(map(str, inside.values())) + " |")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
