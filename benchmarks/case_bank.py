"""What matched patients are worth, by disease, for patients whose publication no annotation cites.

    python -m benchmarks.case_bank STORE CASES [--split FILE] [--sample N] [--known N] [--json]

Compared are the bank (τ: how much several patients of one disease add up; 0 for the best one alone), the twenty
patients that match best by equation 21, which count likewise, and these by λ, which adds the best one's standardised
similarity so many times. A second table parts them by whether the annotations cite the patient's publication, and by
whether the bank has another patient of the disease. Everybody is told all findings, or `--known` of them. A patient's
own publication is never matched.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

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
LAMBDAS = (1.0, 2.0)


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


class Standardised(Contender):
    """The ranking to which the similarity of each disease's best patient is added, in deviations above the mean one."""

    def __init__(self, board: Board, weight: float) -> None:
        super().__init__(board)
        self.name, self._weight = f"the 20 that match best, λ = {weight:g}", weight

    def meet(self, id: str) -> Met:
        """Rank, raised by the patients that match."""
        patient, bank, standings = self.board.recorded[id], self.board.bank, self.board.graph.standings
        at = self.board.bedside.begin(patient).standing
        similar = np.mean([bank.similar(term) for term in at.query.observed.tolist()], axis=0)
        used = bank.used(patient.leave_out)
        found = standings.match(at, at.query.observed.tolist(), patient.leave_out)
        raised = (found.similar - similar[used].mean()) / max(float(similar[used].std()), 1e-6)
        gain = (self._weight * np.maximum(raised, 0)).astype(np.float32)
        return Met(mean_rank(at.raised(found.candidates, gain).total, self.board.right(id)), 2)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", help="graph folder, with patients")
    parser.add_argument("cases", type=Path)
    parser.add_argument("--split", type=Path, help="only the cases that this file of `kgdx split` holds out")
    parser.add_argument("--sample", type=int, help="so many by chance, at most two of a publication")
    parser.add_argument("--known", type=int, help="findings that are told; all by default")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    try:
        cases = list(read_cases(options.cases))
        if options.split is not None:
            cases = list(Split.read(options.split).only(cases))
        if options.sample is not None:
            cases = sampled(cases, options.sample)
        with kgdx.open(options.store) as graph:
            ward = Ward.of(graph, cases, known=options.known)
            board = Board(graph, ward, Labels(graph.ranker, graph.snapshot, lambda: graph.names))
            plans = [
                Planned(board, f"the 20 that match best, τ = {each:g}" if each else "no bank", FixedPlan(0, each))
                for each in WEIGHTS
            ]
            others = (*(Standardised(board, each) for each in LAMBDAS), *(Pooled(board, tau) for tau in TAUS))
            run = Leaderboard(board, Chosen((*plans, *others)))
            found = run.run()
            found["apart"] = apart(run)
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

    groups = found["apart"]
    yield ""
    yield "| | " + " | ".join(f"{key} ({group['n']})" for key, group in groups.items()) + " |"
    yield "|---|" + "---|" * len(groups)
    for name in found["methods"]:
        pairs = [group["methods"][name] for group in groups.values()]
        yield f"| {name} | " + " | ".join(f"{100 * first:.1f} / {100 * five:.1f}" for first, five in pairs) + " |"


def apart(run: Leaderboard) -> dict[str, Any]:
    """Return Acc@1 and Acc@5 of each method, apart by whether patient and disease are known to the graph."""
    board, found = run.board, dict[str, Any]()
    for unseen, has, with_ in GROUPS:
        at = [
            place
            for place, id in enumerate(run.ids)
            if run.seen(id) is (not unseen)
            and any(board.bank.has(each, leaving_out(board.ward.cases[id])) for each in board.right(id)) is has
        ]
        ranks = {name: np.array([results[place].rank for place in at]) for name, results in run.found.items()}
        shares = {name: [float((rank <= most).mean()) for most in (1, 5)] for name, rank in ranks.items()}
        found[f"{'un' if unseen else ''}seen, {with_} patient"] = {"n": len(at), "methods": shares}
    return found


GROUPS = ((True, True, "a"), (True, False, "no"), (False, True, "a"), (False, False, "no"))
KEYS = ("acc1", "acc5")


def _cell(part: dict[str, Any], key: str) -> str:
    low, high = part["ci95"][key]
    return f"{100 * part[key]:.1f} ({100 * low:.0f}–{100 * high:.0f})"


if __name__ == "__main__":
    sys.exit(main())
