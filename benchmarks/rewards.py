"""What agents get that look for reward where nothing was done, beside the honest agents that know as much.

    python -m benchmarks.rewards STORE [--cases FILE] [--count N] [--json]

Each writes tags on recorded patients; rewards are means. The clean reading is what is trained with; the letter is the
paper's equations as they are printed.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

import kgdx
from benchmarks.environment import DATA, usable
from kgdx.errors import KgdxError
from kgdx.learn.recorded_cases import RecordedCases
from kgdx.policies.tags import TagsPolicy
from kgdx_train.adversaries import BASELINES, SCRIPTS, Known, Writer
from kgdx_train.rewards import Scoring, reward
from kgdx_train.rollouts import TagRollouts

WRONG = "Gout"
"""A disease that no patient has."""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", nargs="?", help="graph folder; the default graph without it")
    parser.add_argument("--cases", type=Path, default=DATA / "phenopackets-dev.jsonl.gz")
    parser.add_argument("--count", type=int, default=30, help="cases")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    try:
        with kgdx.open(options.store) as graph:
            ward = RecordedCases.of(graph, islice(usable(options.cases), options.count), known=None)
            found = list(measured(ward))
    except KgdxError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    if options.json:
        print(json.dumps(found))
    else:
        print("| agent | clean | letter | beside | clean |\n|---|---|---|---|---|")
        for row in found:
            beside = f"{row['beside']} | {row['beside_clean']:.3f}" if row["beside"] else "|"
            print(f"| {row['agent']} | {row['clean']:.3f} | {row['letter']:.3f} | {beside} |")
    return 0 if all(row["clean"] <= row["beside_clean"] + 1e-9 for row in found if row["beside"]) else 1


def measured(ward: RecordedCases) -> Iterator[dict[str, Any]]:
    """Yield the mean rewards of each agent."""
    clean: dict[str, float] = {}
    for name, script in SCRIPTS.items():
        values = []
        for id in ward.ids:
            terms = tuple(each.label for each in ward.start(id).case.findings if each.id in ward.cases[id].observed)
            known = Known(ward.truth(id).names[0], WRONG, terms[:6])
            [episode] = TagRollouts(ward).run(Writer(script(known)), TagsPolicy(top=0, explain=0), [id])
            truth = ward.truth(id)
            values.append([reward(episode.log, truth, Scoring(letter=letter)).value for letter in (False, True)])
        clean[name], letter = (float(each) for each in np.mean(values, axis=0))
        beside = BASELINES.get(name, "")
        yield {
            "agent": name,
            "clean": clean[name],
            "letter": letter,
            "beside": beside,
            "beside_clean": clean.get(beside, 0.0),
        }


if __name__ == "__main__":
    sys.exit(main())
