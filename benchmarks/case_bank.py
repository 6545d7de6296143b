"""What matched patients are worth, by disease, for patients whose publication no annotation cites.

    python -m benchmarks.case_bank STORE CASES [--split FILE] [--sample N] [--json]

The bank's two settings are compared: several patients of one disease (τ; 0 for the best one alone), and the weight λ of
matched patients beside the ranking. Everybody is told all findings; a patient's own publication is never matched.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kgdx
from kgdx.case import read_cases
from kgdx.case.splits import Split
from kgdx.errors import KgdxError
from kgdx.evaluate.contender_kinds import Planned
from kgdx.evaluate.contenders import Board, Chosen, Contender, Met
from kgdx.evaluate.inquiries import sampled
from kgdx.evaluate.labels import Labels
from kgdx.evaluate.leaderboard import Leaderboard
from kgdx.evaluate.metrics import mean_rank
from kgdx.learn.fixed_plans import FixedPlan
from kgdx.learn.ward import Ward
from kgdx.rank.case_bank import CaseBank
from kgdx.rank.ranking import leaving_out

TAUS = (0.0, 0.5, 1.0, 1.5)
WEIGHTS = (None, 1.0, 2.0)


class Pooled(Contender):
    """The ranking with the bank, of which several patients of a disease count by τ."""

    def __init__(self, board: Board, tau: float) -> None:
        super().__init__(board)
        self.name = f"bank, τ = {tau:g}" if tau else "bank, best patient alone"
        self._bank = CaseBank(board.graph.ranker, board.graph.snapshot, pooling=tau)

    def meet(self, id: str) -> Met:
        """Rank, raised by the patients that match."""
        scored = self.board.graph.ranker.score(self.board.told(id))
        total = self._bank.match(scored, leaving_out(self.board.ward.cases[id])).raised(scored.total)
        return Met(mean_rank(total, self.board.right(id)), 2)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", help="graph folder, with patients")
    parser.add_argument("cases", type=Path)
    parser.add_argument("--split", type=Path, help="only the cases that this file of `kgdx split` holds out")
    parser.add_argument("--sample", type=int, help="so many by chance, at most two of a publication")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    try:
        cases = list(read_cases(options.cases))
        if options.split is not None:
            cases = list(Split.read(options.split).only(cases))
        if options.sample is not None:
            cases = sampled(cases, options.sample)
        with kgdx.open(options.store) as graph:
            ward = Ward.of(graph, cases, known=None)
            board = Board(graph, ward, Labels(graph.ranker, graph.snapshot, lambda: graph.names))
            plans = [Planned(board, f"λ = {each:g}" if each else "no bank", FixedPlan(0, each)) for each in WEIGHTS]
            found = Leaderboard(board, Chosen((*plans, *(Pooled(board, tau) for tau in TAUS)))).run()
    except KgdxError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    print(json.dumps(found, indent=2) if options.json else "\n".join(table(found)))
    return 0


def table(found: dict[str, Any]) -> Iterator[str]:
    """Yield the rows: means over diseases, and means over patients, of those that are unseen."""
    told = next(iter(found["methods"].values()))["unseen"]
    yield f"| | {told['by_disease']['n']} diseases: Acc@1 | Acc@5 | {told['n']} patients: Acc@1 | Acc@5 |"
    yield "|---|---|---|---|---|"
    for name, figures in found["methods"].items():
        cells = [_cell(part, key) for part in (figures["unseen"]["by_disease"], figures["unseen"]) for key in KEYS]
        yield f"| {name} | {' | '.join(cells)} |"


KEYS = ("acc1", "acc5")


def _cell(part: dict[str, Any], key: str) -> str:
    low, high = part["ci95"][key]
    return f"{100 * part[key]:.1f} ({100 * low:.0f}–{100 * high:.0f})"


if __name__ == "__main__":
    sys.exit(main())
