"""The commands that hold patients out, and that put every method on the same ones into one table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kgdx.cli import inputs, output
from kgdx.cli.options import (
    OUT,
    BudgetOptions,
    Cases,
    Force,
    Html,
    Json,
    OnSplit,
    Out,
    Sample,
    Seed,
    Sharing,
    Store,
    argument,
    option,
)
from kgdx.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kgdx.api import Graph
    from kgdx.case import Case, Failure
    from kgdx.evaluate.leaderboard import Leaderboard

WIDTH = 100
"""Columns of the table."""


@dataclass(frozen=True, slots=True)
class MethodOptions:
    """Who runs."""

    methods: str = option("", "NAMES", "Methods or kinds of them, several with commas; the first is the baseline.")
    llm: str | None = option(None, "MODEL", "For the methods that ask a model; else they do not run.")
    questions: int = option(20, "N", "Questions to a patient at most.", min=1, max=500)


@dataclass(frozen=True, slots=True)
class ContestOptions:
    """Which patients, and what is known of them."""

    split: OnSplit = None
    known: str = option("2", "N|all", "Findings that are told at first; with all, nobody can be asked.")
    sample: Sample = None
    seed: Seed = 0
    out: Out = None


def leaderboard(
    cases: Cases,
    methods: MethodOptions,
    patients: ContestOptions,
    budget: BudgetOptions,
    sharing: Sharing,
    html: Html = None,
    force: Force = False,
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Put every method on the same patients into one table.

    Fixed plans, the case bank, ways to retrieve, selectors of questions and policies, each told the same at first.
    Example: kgdx leaderboard cases.jsonl --split split.json --methods plans,bank --html board.html
    """
    from kgdx.case.splits import Split
    from kgdx.evaluate.inquiries import sampled
    from kgdx.evaluate.runner import Runner, finish, kept

    output.check(html, force=force)
    if methods.llm is not None:
        sharing.refuse("--llm")
    parts = None if patients.split is None else Split.read(patients.split)
    given = list(inputs.many(cases)) if parts is None else parts.only(inputs.many(cases))
    if patients.sample is not None:
        given = sampled(given, patients.sample, patients.seed)
    with inputs.graph(store) as graph:
        run = _leaderboard(graph, given, methods, patients, budget, "" if parts is None else parts.digest)
        about = {
            **{"graph": graph.fingerprint, "ranker": graph.ranker.digest, "methods": list(run.methods)},
            **{"known": patients.known, "questions": methods.questions, "seed": patients.seed, "llm": methods.llm},
        }
        with kept(patients.out, about, given) as journal, output.progress_bar("patients", len(run.ids)) as advance:
            task = partial(_leaderboard, given=tuple(given), methods=methods, patients=patients)
            runner = Runner(journal, progress=advance, through=sharing.through(task, graph, share=1))
            result = run.run(runner)
            finish(patients.out, runner.records, result)
    output.figures("leaderboard", result, as_json, WIDTH)
    output.figures_page("leaderboard", result, html, force=force)


def _leaderboard(
    graph: Graph,
    given: Sequence[Case | Failure],
    methods: MethodOptions,
    patients: ContestOptions,
    budget: BudgetOptions | None = None,
    split: str = "",
) -> Leaderboard:
    """The contenders and the patients; other processes, which are given no budget, ask no model."""
    from kgdx.evaluate.labels import Labels
    from kgdx.evaluate.leaderboard import Board, Leaderboard, choose
    from kgdx.learn.recorded_cases import LIMITS, RecordedCases

    limits = replace(LIMITS, steps=10_000, stagnation=10_000)
    ward = RecordedCases.of(graph, given, known=_known(patients.known), seed=patients.seed, limits=limits)
    board = Board(graph, ward, Labels.of_graph(graph), methods.questions, split=split)
    if methods.llm is not None and budget is not None:
        from kgdx.api.questions import connected

        budget.require(graph.settings)
        model, prices = connected(graph.settings, methods.llm, budget.limits())
        board = replace(board, model=model, prices=prices)
    return Leaderboard(board, choose(board, inputs.listed(methods.methods)))


def _known(given: str) -> int | None:
    """How many findings are told at first; ``None`` for all."""
    if given == "all":
        return None
    if not (given.isascii() and given.isdigit() and 1 <= int(given) <= 100):
        raise UsageError(f"--known {given[:40]!r} is no number of findings", hint="give 1 to 100, or all")
    return int(given)


def split(
    cases: str = argument(..., "FILE|FOLDER|-", "Cases, in any form; or .gz."),
    to: Path = option(..., "FILE", "File to write.", *OUT),
    held_out: float = option(0.3, "SHARE", "Of the cases, to measure on."),
    seed: int = option(0, "N", "Of the choice.", min=0),
    as_json: Json = False,
) -> None:
    """Part cases by publication, to train on one side.

    No publication is on both sides; a case without one is by itself. The file names the cases of each side, with a
    digest. Example: kgdx split cases.jsonl --held-out .3 --seed 0 -o split.json
    """
    from kgdx.case import Failure
    from kgdx.case.splits import Split

    given = list(inputs.many(cases))
    made = Split.of(given, held_out, seed)
    made.write(to)
    unread = sum(isinstance(case, Failure) for case in given)
    if as_json:
        sizes = {"train": len(made.train), "held_out": len(made.held_out), "unread": unread}
        output.write_json({"file": str(to), "digest": made.digest, "seed": made.seed, **sizes})
        return
    print(f"{len(made.train):,} cases to train on, {len(made.held_out):,} held out: {to}")
    print(f"digest {made.digest}")
    if unread:
        output.remark(f"{unread:,} could not be read and are on no side")
