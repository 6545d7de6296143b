"""What matched patients are worth, by disease, for patients whose publication no annotation cites.

    python -m benchmarks.case_bank STORE CASES [--split FILE] [--sample N] [--known N] [--json]

Compared are the ranking without the bank, and the bank (τ: how much several patients of one disease add up; 0 for the
best one alone). A second table parts them by whether the annotations cite the patient's publication, and by
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

import kgdx
from kgdx.case import read_cases
from kgdx.case.splits import Split
from kgdx.errors import KgdxError
from kgdx.evaluate.contenders import Board, Contender, Entrants, PatientResult
from kgdx.evaluate.inquiries import sampled
from kgdx.evaluate.labels import Labels
from kgdx.evaluate.leaderboard import Leaderboard
from kgdx.evaluate.metrics import mean_rank, ranks_of
from kgdx.evaluate.runner import Record, Runner, by_arm
from kgdx.learn.recorded_cases import RecordedCases
from kgdx.rank.case_bank import CaseBank
from kgdx.rank.ranking import leaving_out

TAUS = (0.0, 0.5, 1.0, 1.5)


class Alone(Contender):
    """The ranking without the bank."""

    name = "no bank"

    def meet(self, id: str) -> PatientResult:
        """Rank."""
        return PatientResult(mean_rank(self.board.graph.ranker.score(self.board.told(id)).total, self.board.right(id)))


class Pooled(Contender):
    """The ranking with the bank, of which several patients of a disease count by τ."""

    def __init__(self, board: Board, tau: float) -> None:
        super().__init__(board)
        self.name = f"bank, τ = {tau:g}" if tau else "bank, best patient alone"
        self._bank = CaseBank(board.graph.ranker, board.graph.snapshot, pooling=tau)

    def meet(self, id: str) -> PatientResult:
        """Rank, raised by the patients that match."""
        scored = self.board.graph.ranker.score(self.board.told(id))
        total = self._bank.match(scored, leaving_out(self.board.ward.cases[id])).raised(scored.total)
        return PatientResult(mean_rank(total, self.board.right(id)), 2)


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
            ward = RecordedCases.of(graph, cases, known=options.known)
            board = Board(graph, ward, Labels(graph.ranker, graph.snapshot, lambda: graph.names))
            run = Leaderboard(board, Entrants((Alone(board), *(Pooled(board, tau) for tau in TAUS))))
            runner = Runner()
            found = run.run(runner)
            found["apart"] = apart(run, by_arm(runner.records, run.methods))
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


def apart(run: Leaderboard, met: dict[str, list[Record]]) -> dict[str, Any]:
    """Return Acc@1 and Acc@5 of each method, apart by whether patient and disease are known to the graph."""
    board, found = run.board, dict[str, Any]()
    for unseen, has, with_ in GROUPS:
        at = [
            place
            for place, id in enumerate(run.ids)
            if run.seen(id) is (not unseen)
            and any(board.bank.has(each, leaving_out(board.ward.cases[id])) for each in board.right(id)) is has
        ]
        ids = {run.ids[place] for place in at}
        ranks = {name: ranks_of([each for each in some if each["item"] in ids]) for name, some in met.items()}
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
