"""Judge lists of candidates as a clinician would; `python -m benchmarks.judgement [STORE] [--setting NAME] [--lists]`.

Diagnoses the notes of benchmarks/notes on a graph (by default the default graph) and prints in Markdown: how many
healthy people and single unspecific findings were left without a ranking, where the diagnosis of each patient stands,
rows that count an opposite or an absence for a disease, candidates that sex or age rules out, and viral haemorrhagic
fevers in notes of other patients. `--lists` prints each list, too; `--curve` prints
instead how the patients fare in each setting.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import kgdx
from kgdx.answer.diagnosis import Diagnosis
from kgdx.api import Graph
from kgdx.case import Case
from kgdx.errors import CaseError
from kgdx.rank.commonness import SETTINGS
from kgdx.results.ranked import Candidate

NOTES = Path(__file__).parent / "notes"
CONTRARY = {"annotated_absent", "opposite"}
HAEMORRHAGIC = ("hemorrhagic fever", "haemorrhagic fever", "ebola", "marburg", "lassa", "dengue")
OF_WOMEN = ("pregnan", "ovar", "uter", "vagin", "eclampsia", "menopaus", "placenta", "endometr")
OF_MEN = ("prostat", "testic", "penile", "hypospadias")
OF_NEWBORNS = ("neonatal", "newborn", "infantile", "infant ", "of prematurity", "congenital syphilis")
FIRST, TEN, ROWS = 3, 10, 5
ROMAN = {"i": "1", "ii": "2", "iii": "3", "iv": "4", "v": "5"}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", nargs="?")
    parser.add_argument("--setting")
    for name in ("lists", "curve"):
        parser.add_argument(f"--{name}", action="store_true")
    for name in ("healthy", "patients"):
        parser.add_argument(f"--{name}", type=Path, default=NOTES / f"{name}.jsonl", help="other notes of such people")
    options = parser.parse_args(arguments)
    how = {} if options.setting is None else {"setting": options.setting}
    with kgdx.open(options.store) as graph:
        if options.curve:
            print("\n".join(curve(graph, notes(options.patients))))
            return 0
        healthy = [(note, diagnosed(graph, note, **how)) for note in notes(options.healthy)]
        patients = [(note, diagnosed(graph, note, **how)) for note in notes(options.patients)]
    print("\n".join(figures(healthy, patients)))
    if options.lists:
        for note, found in (*healthy, *patients):
            print("\n".join(("", f"## {note['id']}", *listed(note, found))))
    return 0


def diagnosed(graph: Graph, note: dict[str, Any], **how: Any) -> Diagnosis:
    """Return a note's diagnosis; one without candidates where it cannot be ranked."""
    try:
        return graph.diagnose(note["text"], explain=TEN, **how)
    except CaseError:
        return Diagnosis(Case(note["id"]))


def notes(path: Path) -> list[dict[str, Any]]:
    """Return the notes of a file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def figures(healthy: list[Any], patients: list[Any]) -> Iterator[str]:
    """Yield the table."""
    yield "| | notes | |\n|---|---|---|"
    for kind in ("healthy", "little"):
        found = [each for note, each in healthy if note["kind"] == kind]
        yield f"| {kind}, without a ranking | {len(found)} | {sum(not each.candidates for each in found)} |"
    for kinds in (("common",), ("rare", "hard")):
        some = [(note, found) for note, found in patients if note["kind"] in kinds]
        places = [place(note, found) for note, found in some]
        tops = ", ".join(str(sum(each <= top for each in places)) for top in (1, FIRST, TEN))
        lane = sum(each <= TEN or in_lane(note, found) for each, (note, found) in zip(places, some, strict=True))
        yield f"| {' and '.join(kinds)}: first, first three, first ten, list or lane | {len(some)} | {tops}, {lane} |"
    every = [found for _, found in patients]
    yield f"| rows that count an opposite or an absence | {len(every)} | {sum(map(contrary_rows, every))} |"
    yield f"| candidates against sex or age | {len(every)} | {sum(against(*each) for each in patients)} |"
    fevers = sum(any(named(each, HAEMORRHAGIC) for each in found.candidates[:TEN]) for found in every)
    yield f"| a viral haemorrhagic fever among ten | {len(every)} | {fevers} |"


def curve(graph: Graph, patients: list[dict[str, Any]]) -> Iterator[str]:
    """Yield how often the diagnosis is first, among three and among ten in each setting, and by the rule."""
    yield "| setting | common | rare and hard |\n|---|---|---|"
    for where in (*SETTINGS, ""):
        found = [(note, place(note, diagnosed(graph, note, setting=where or None))) for note in patients]
        kinds = ([at for note, at in found if (note["kind"] == "common") is common] for common in (True, False))
        cells = (
            "/".join(str(sum(at <= top for at in each)) for top in (1, FIRST, TEN)) + f" of {len(each)}"
            for each in kinds
        )
        yield f"| {where or 'by the rule'} | {' | '.join(cells)} |"


def place(note: dict[str, Any], found: Diagnosis) -> int:
    """Return the place of the first candidate that is the note's diagnosis; 1,000 where none is."""
    wanted = [each.lower() for each in note["truth"]]
    return next((at for at, each in enumerate(found.candidates, 1) if named(each, wanted)), 1000)


def named(candidate: Candidate, parts: Sequence[str]) -> bool:
    """Return whether a candidate's names hold one of some parts; "Neurofibromatosis, type 1" holds "… type I"."""
    names = folded(f"{candidate.name} {candidate.name_zh or ''}")
    return any(folded(part) in names for part in parts)


def folded(name: str) -> str:
    """Return a name without commas and hyphens, with Arabic numbers.

    Example:
        >>> folded("Mucopolysaccharidosis, type II"), folded("Tuberous sclerosis-2")
        ('mucopolysaccharidosis type 2', 'tuberous sclerosis 2')
    """
    words = re.sub(r"[\s,_-]+", " ", name.lower()).split()
    return " ".join(ROMAN.get(word, word) for word in words)


def in_lane(note: dict[str, Any], found: Diagnosis) -> bool:
    """Return whether the diagnosis is among those that must not be missed."""
    return any(named(each, [part.lower() for part in note["truth"]]) for each in found.dangerous)


def contrary_rows(found: Diagnosis) -> int:
    """Return how many findings that a candidate has the opposite or the absence of speak for it, among the first."""
    count = 0
    for candidate in found.candidates[:ROWS]:
        sums: dict[str, float] = {}
        contrary = {each.finding for each in candidate.contributions if each.rule in CONTRARY}
        for each in candidate.contributions:
            if each.finding in contrary:
                sums[each.finding] = sums.get(each.finding, 0) + each.score
        count += sum(score > 0 for score in sums.values())
    return count


def against(note: dict[str, Any], found: Diagnosis) -> int:
    """Return how many candidates the patient's sex or age rules out, by their names."""
    parts = OF_MEN if note["sex"] == "female" else OF_WOMEN
    newborn = OF_NEWBORNS if note["age"] > FIRST else ()
    return sum(named(each, (*parts, *newborn)) for each in found.candidates[:TEN])


def listed(note: dict[str, Any], found: Diagnosis) -> Iterator[str]:
    """Yield the candidates of a note."""
    yield note["text"]
    yield "findings: " + ", ".join(f"{each.label} ({each.status})" for each in found.case.findings)
    at = place(note, found) if "truth" in note else 0
    for number, each in enumerate(found.candidates[:TEN], 1):
        parts = " ".join(f"{name} {part:+.1f}" for name, part in each.parts.items() if abs(part) >= 0.05)
        yield f"{number}. {'*' if number == at else ''}{each.name} {each.id} {each.score:.1f}: {parts}"


if __name__ == "__main__":
    raise SystemExit(main())
