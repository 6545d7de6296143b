"""Measure common and rare diseases in one list; `python -m benchmarks.joint GRAPH`, from the top of a checkout.

GRAPH is the folder of a graph that holds both, such as one built from HPO, HPOA, an encyclopedia and a Chinese graph.
Prints in Markdown how often the diagnosis is first, among three and among ten on every development set (strict, and by
family), how many labels the graph describes, and the time of a case. `--every 4` takes each fourth case.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import kgdx
from kgdx.api import Graph
from kgdx.case import Case, Failure, Finding, Status, read_cases
from kgdx.case.ddxplus_release import PREFIX, VALUE, evidences
from kgdx.evaluate.labels import Labels
from kgdx.evaluate.rank_accuracy import evaluate_rank, words_reader

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("KGDX_SHARED_DATA", ROOT.parent / "shared" / "data"))
NOTES = ROOT / "tests" / "data" / "notes"
HEAD = ("set", "cases", "labels in graph", "over cases", "over diseases", "over families", "all cases", "ms a case")
PEOPLE = {"common": "common diseases", "rare": "rare diseases"}
LANGUAGES = {"en": "English", "zh": "Chinese"}
ASKING = re.compile(
    r"^(?:do|did|have|has|are|is|were|was|does) (?:you|your|the)(?: (?:have|feel|ever|had|been|has))*\s", re.I
)
Cases = Iterable[Case | Failure]
MANY, TIMED = 10, 40


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graph", help="folder of the graph")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="take each N-th case of the large sets")
    parser.add_argument("--only", nargs="+", metavar="WORD", help="sets whose name has one of these words")
    parser.add_argument("--time", action="store_true", help="measure time alone")
    options = parser.parse_args(arguments)
    with kgdx.open(options.graph) as graph:
        if not options.time:
            print("Top-1/3/10 in percent; but for the last column of those whose label the graph describes.\n")
            show(HEAD, rows(graph, options.every, options.only or [""]))
        print()
        show(("what", "target, ms", "measured, ms of processor time (median)"), times(graph))
    return 0


def rows(graph: Graph, every: int, words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for name, cases in sets(every).items():
        if any(word.lower() in name.lower() for word in words):
            yield row(name, measured(graph, cases()))


def sets(every: int) -> dict[str, Callable[[], Cases]]:
    """Every development set, by name; a file that is absent has no row."""
    patients = DATA / "ddxplus-patients-dev.csv.gz"
    files: dict[str, tuple[Path, Callable[[], Cases]]] = {
        "DDXPlus by id, all evidences": (patients, lambda: read_cases(patients)),
        "DDXPlus by id, first complaint": (patients, lambda: read_cases(patients, known="first")),
        "DDXPlus as words": (patients, lambda: map(as_words, read_cases(patients))),
    }
    for name, file in (
        ("Symptom2Disease", DATA / "symptom2disease-dev.jsonl.gz"),
        ("AgentClinic", DATA / "agentclinic-medqa.jsonl.gz"),
        ("DX", DATA / "dxy-dialogue-train.jsonl.gz"),
        ("phenopackets", DATA / "phenopackets-dev.jsonl.gz"),
    ):
        files[name] = file, lambda file=file: read_cases(file)
    found: dict[str, Callable[[], Cases]] = {}
    for name, (file, cases) in files.items():
        if file.exists():
            found[name] = lambda cases=cases: islice(cases(), 0, None, every)
    for file in sorted(NOTES.glob("notes_*.jsonl"), reverse=True):
        for who, about in PEOPLE.items():
            for code, language in LANGUAGES.items():
                name = f"notes ({file.stem.removeprefix('notes_')} the work), {about}, {language}"
                found[name] = lambda file=file, who=who, code=code: notes(file, who, code)
    return found


def notes(file: Path, who: str, code: str) -> Iterator[Case | Failure]:
    for case in read_cases(file):
        if case.id.startswith(f"{who}-") and case.id.endswith(f"-{code}"):
            yield case


def as_words(case: Case | Failure) -> Case | Failure:
    """A patient of DDXPlus in phrases: the release's questions with the answers; what is denied is left out.

    The phrases that kgdx ships for the evidences are not used: a graph with DDXPlus describes its conditions by them.
    """
    if isinstance(case, Failure):
        return case
    given = (each.id for each in case.findings if each.id.startswith(PREFIX) and each.status is Status.PRESENT)
    return replace(case, findings=(), phrases=tuple(dict.fromkeys(map(in_words, given))))


def in_words(identifier: str) -> str:
    code, _, value = identifier.removeprefix(PREFIX).partition(VALUE)
    evidence = evidences()[code]
    asked = ASKING.sub("", evidence.question).rstrip(" ?:")
    return f"{asked}: {evidence.values[value]}" if value else asked


def measured(graph: Graph, cases: Cases) -> dict[str, Any]:
    return evaluate_rank(
        graph.ranker,
        graph.snapshot,
        cases,
        labels=Labels.of_graph(graph),
        read=words_reader(graph),
    )


def row(name: str, report: dict[str, Any]) -> tuple[str, ...]:
    """One line of the table; of phenopackets the unseen ones count, as a new patient would."""
    group = "unseen" if "unseen" in report["groups"] else "in_graph"
    shown = f"{name}, unseen" if group == "unseen" else name
    everyone = report["groups"]["all"]
    found = [report[by][group] for by in ("groups", "by_disease", "by_family") if group in report[by]]
    figures = [tops(each, 1, 3, 10) for each in found] or ["–"] * 3
    described = round(report["coverage"] * everyone["n"])
    ms = "–" if report["ms_median"] is None else f"{report['ms_median']:.1f}, p95 {report['ms_p95']:.1f}"
    return shown, f"{everyone['n']:,}", f"{described:,}", *figures, tops(everyone, 1, 3, 10), ms


def tops(figures: dict[str, Any], *which: int) -> str:
    return "/".join(f"{100 * figures[f'top{k}']:.1f}" for k in which)


def times(graph: Graph) -> Iterator[tuple[str, str, str]]:
    """Median processor time of cases that were not ranked before, reading included."""
    read = words_reader(graph)
    yield "ten findings", "6", timed(graph, read, ten_findings())
    yield "ten free phrases", "40", timed(graph, read, ten_phrases())
    chinese = [case for case in read_cases(NOTES / "notes_before.jsonl") if case.id.endswith("-zh")]
    yield "Chinese text", "10", timed(graph, read, chinese)


def timed(graph: Graph, read: Callable[[Case], Case], cases: Cases) -> str:
    taken = []
    for case in islice((case for case in cases if isinstance(case, Case)), TIMED):
        graph.ranker.forget()
        begin = time.process_time()
        try:
            graph.ranker.rank(read(case), top=10)
        except kgdx.KgdxError:
            continue
        taken.append(1000 * (time.process_time() - begin))
    return f"{statistics.median(taken):.1f}" if taken else "–"


def ten_findings() -> Iterator[Case]:
    for case in read_cases(DATA / "phenopackets-dev.jsonl.gz"):
        if isinstance(case, Case) and len(case.observed) >= MANY:
            yield Case(case.id, tuple(map(Finding, case.observed[:MANY])))


def ten_phrases() -> Iterator[Case]:
    """Phrases of neighbouring complaints, ten at a time."""
    said: list[str] = []
    for case in read_cases(DATA / "symptom2disease-dev.jsonl.gz"):
        if isinstance(case, Case):
            said += [finding.text for finding in case.findings if finding.text not in said]
        if len(said) >= MANY:
            yield Case(f"phrases-{case.id}", phrases=tuple(said[:MANY]))
            said.clear()


def show(head: Sequence[str], lines: Iterable[Sequence[str]]) -> None:
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for line in lines:
        print(f"| {' | '.join(line)} |", flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
