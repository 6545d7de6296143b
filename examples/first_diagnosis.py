"""The main job in Python: read a patient, rank the diseases, and ask why the first one stands there.

Run `kgdx build` once, then `python examples/first_diagnosis.py`; a path to another phenopacket can follow.
"""

from __future__ import annotations

import sys
from pathlib import Path

import kgdx

PATIENT = Path(__file__).with_name("patient.json")


def main(path: Path = PATIENT) -> None:
    with kgdx.open() as graph:
        case = kgdx.Case.from_phenopacket(path, graph)
        diagnosis = graph.diagnose(case, top=5, explain=1)

    print(f"{len(case.observed)} findings present, {len(case.excluded)} absent")
    for candidate in diagnosis.candidates:
        print(f"{candidate.rank}. {candidate.name} ({candidate.id})  {candidate.score:.1f}")

    first = diagnosis.candidates[0]
    print(f"\nWhy {first.name}:")
    for path_ in diagnosis.paths(first.id)[:5]:
        print(f"  {path_}")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
