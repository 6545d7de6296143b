"""Measure how fast questions lead to the disease; `python -m benchmarks.inquiry STORE phenopackets CASES`.

Writes the table of docs/benchmarks.md in Markdown, a line a selector and kind of answers. Of CASES, whose disease the
graph describes and who have three findings and more, as many are drawn for each group as `--sample` says, at most two
of a publication: once of all patients, and once of those whose publication the annotations do not cite.
CASES may be a file of DDXPlus's patients, too: `--learn half` then asks the patients of each half with what the others
teach, `--learn lists` with the lists of the conditions alone, and `--learn FILE` writes what all of them teach.
`--out FOLDER` keeps every finished consultation, and goes on when run again.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import kgdx
from kgdx.api import Graph
from kgdx.case import Case, read_cases
from kgdx.evaluate.inquiries import ANSWERS, Answers, Inquiries, Setting, evaluate_inquiry, sampled
from kgdx.evaluate.labels import Labels
from kgdx.evaluate.rank_accuracy import words_reader
from kgdx.evaluate.runner import Runner, kept
from kgdx.rank.evidence_odds import EvidenceTable
from kgdx.rank.evidences import Evidences
from kgdx.rank.held_out_ranks import Withheld
from kgdx.rank.proposing import Proposer

LEAST = 3
"""Findings that a patient has at least: two are known at first."""
SELECTORS = "infogain,infogain:widest=300,infogain:widest=100000,split,degree,medkgi,random"
REFERENCE = (
    "Counts of 1,307 test patients of DDXPlus (Fansi Tchango et al., NeurIPS 2022; CC BY 4.0), synthetic: "
    "`python -m benchmarks.inquiry STORE PATIENTS --learn FILE`."
)
GROUPS = ("all", "unseen")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store", type=Path)
    parser.add_argument("cases", type=Path)
    parser.add_argument("--selectors", default=SELECTORS)
    parser.add_argument("--answers", default="named", help=", ".join(ANSWERS))
    parser.add_argument("--sample", type=int, default=300)
    parser.add_argument("--questions", type=int, default=20)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--learn", help="of DDXPlus's patients: half, lists, or a file to write")
    options = parser.parse_args(arguments)
    if options.learn not in (None, "half", "lists"):
        EvidenceTable.learned(patients_of(options.cases), REFERENCE).write(Path(options.learn))
        return 0
    answers: list[Answers] = [each for each in ANSWERS if each in options.answers.split(",")]
    titles = ("patients, answers, selector", "top-1/10 after 5", "10", "20", "questions to degree", "yes", "ms")
    print("|", " | ".join((*titles, "ended at .6", "patients/s")), "|")
    print("|---" * (len(titles) + 2) + "|")
    with kgdx.open(options.store) as graph:
        if options.learn is not None:
            return ddxplus(graph, patients_of(options.cases), options.learn, options.sample)
        patients = groups(graph, options.cases, options.sample)
        asking = Inquiries(
            graph, labels_of(graph), words_reader(graph), Setting(questions=options.questions, kinds=("phenotype",))
        )
        for group in GROUPS:
            for how in answers:
                for row in measured(asking, group, patients[group], options.selectors.split(","), how, options.out):
                    print("|", " | ".join(row), "|", flush=True)
    return 0


def patients_of(path: Path) -> list[Case]:
    return [case for case in read_cases(path) if isinstance(case, Case)]


def ddxplus(graph: Graph, patients: list[Case], learn: str, sample: int) -> int:
    """Ask DDXPlus's patients, who begin with their first complaint, age and sex."""
    random.Random(0).shuffle(patients)
    middle = len(patients) // 2
    asking = Inquiries(graph, labels_of(graph), setting=Setting(kinds=("evidence",)))
    for part, others in ((patients[:middle], patients[middle:]), (patients[middle:], patients[:middle])):
        scorer = graph.ranker.scorers["evidences"]
        assert isinstance(scorer, Evidences)
        scorer.odds = scorer.odds_of(EvidenceTable.learned(others) if learn == "half" else None)
        graph.ranker.forget()
        graph.ranker.proposer = Proposer(graph.ranker)
        for row in measured(asking, learn, part[:sample], ["infogain"], "named", None):
            print("|", " | ".join(row), "|", flush=True)
    return 0


def labels_of(graph: Graph) -> Labels:
    return Labels.of_graph(graph)


def groups(graph: Graph, path: Path, count: int) -> dict[str, list[Case]]:
    """Return the patients of each group."""
    labels, withheld = labels_of(graph), Withheld(graph.ranker, graph.snapshot)
    able: dict[str, list[Case]] = {group: [] for group in GROUPS}
    annotated = np.diff(graph.ranker.model.propagated.start) > 0  # no question is about what patients alone describe
    for case in read_cases(path):
        if not isinstance(case, Case) or len(case.observed) < LEAST or not case.publications:
            continue
        if not (right := [number for number in labels.of(case).right if annotated[number]]):
            continue
        able["all"].append(case)
        if not any(withheld.cites(number, frozenset(case.publications)) for number in right):
            able["unseen"].append(case)
    return {group: [each for each in sampled(cases, count) if isinstance(each, Case)] for group, cases in able.items()}


def measured(
    asking: Inquiries, group: str, patients: Sequence[Case], selectors: Sequence[str], how: Answers, out: Path | None
) -> Iterator[tuple[str, ...]]:
    """Yield a row for each selector: all of them at the end, since one is compared with the others."""
    begin = time.process_time()
    about = {"selectors": list(selectors), "patients": [each.id for each in patients]}
    with kept(out and out / f"{group}-{how}", about) as journal:
        found = evaluate_inquiry(asking, patients, selectors, (how,), Runner(journal))
    rate = len(patients) * len(selectors) / max(time.process_time() - begin, 1e-9)
    for name, figures in found["selectors"].items():
        yield (f"{group}, {how}, {name}", *cells(figures), f"{rate:.1f}")


def cells(figures: dict[str, Any]) -> Iterator[str]:
    """Yield the cells of a selector."""
    rows = figures["by_question"]
    for q in (5, 10, 20):
        row = rows[min(q, len(rows) - 1)]
        yield f"{100 * row['top1']:.1f} / {100 * row['top10']:.1f}"
    needed = figures["questions_to"].get("degree")
    yield "never" if needed is None else str(needed)
    yield f"{100 * (figures['hits'] or 0):.0f} %"
    yield f"{figures['ms_median']:.1f}"
    ended = figures["ending"]["0.6"]
    yield f"{100 * ended['reached']:.0f} %, {100 * (ended['right'] or 0):.0f} % right"


if __name__ == "__main__":
    raise SystemExit(main())
