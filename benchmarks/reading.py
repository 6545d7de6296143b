"""Reading notes: findings, whose they are, age and sex, against notes annotated by hand; by language, kind, register.

Run ``python -m benchmarks.reading NOTES [--store FOLDER] [--symptoms] [--json]``, from the top of a checkout. NOTES are
JSON lines::

    {"id": …, "language": "en", "register": "ward", "text": …, "age_years": 22.0 or null, "sex": "female" or null,
     "findings": [{"text": …, "start": 17, "hpo": ["HP:…", …], "status": "present", "kind": "words", "who": "patient"}]}

Or they are phrases, of which totals alone are printed: what is to be read and what not, as ids or in words::

    {"text": …, "lang": "en", "expect": ["HP:…" or words, …], "reject": [words, …]}

Words are met by a finding whose name or own words hold them, or that is what the reader makes of them, its parent or
child. A phrase is right where all that is expected is read and nothing of the rest, wrong where any of the rest is.
Words that name a side or a course are not met by a finding that is read with another one ("left leg swelling" by one of
the right); ``--plain`` leaves that out.

A finding of the patient is read where one of its ids, or a parent or child of one, was read with its status. Precision
is the share of the findings read of the patient that match an annotated one; a finding read belongs to the kind
``laboratory`` where a value or analyte gave it. A relative's finding is taken for the patient's where it was read as
present within its words and the patient is not annotated with it. With ``--symptoms`` a symptom that HPO lacks counts
as the terms of HPO that the graph maps it to ("throbbing headache" as headache), where one of these is annotated.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any

import kgdx
from kgdx.api import Graph
from kgdx.case import Case, Finding, Status
from kgdx.case.cleaning import inner_spans
from kgdx.case.demographics import described
from kgdx.case.person import years_of
from kgdx.errors import CaseError
from kgdx.rank.wording import units
from kgdx.terms.phenotypes import Terms

REPEATS = 3
WORDS = frozenset({"id", "exact", "variant", "fuzzy", "encoder"})
"""Methods by which words are read; any other is that of a value."""
YOUNG, MONTH, HALF = 2.0, 1 / 12, 0.5
"""Below two years an age is right within a month, from then on within half a year."""
Note = dict[str, Any]


class Tally(Counter[str]):
    """Counts of one group of notes, and the shares that come of them."""

    def shares(self) -> dict[str, float | int]:
        def share(part: str, whole: str) -> float:
            return round(self[part] / self[whole], 4) if self[whole] else 0.0

        result: dict[str, float | int] = {"notes": self["notes"]}
        for kind in ("words", "laboratory"):
            if self[f"{kind} wanted"] or self[f"{kind} read"]:
                result[f"{kind}_wanted"] = self[f"{kind} wanted"]
                result[f"{kind}_recall"] = share(f"{kind} found", f"{kind} wanted")
                result[f"{kind}_precision"] = share(f"{kind} right", f"{kind} read")
        result["relatives_wanted"] = self["relatives"]
        result["relatives_taken_for_patient"] = self["relatives taken"]
        for what in ("age", "sex"):
            result[f"{what}_wanted"] = self[f"{what} wanted"]
            result[f"{what}_right"] = share(f"{what} right", f"{what} wanted")
            result[f"{what}_wrongly_read"] = self[f"{what} made up"]
        return result


class Judge:
    """Compares what was read with what is annotated."""

    def __init__(self, terms: Terms, mapped: Mapping[str, Set[str]] | None = None) -> None:
        self._terms = terms
        self._mapped = mapped or {}
        self._near: dict[str, frozenset[str]] = {}

    def near(self, curie: str) -> frozenset[str]:
        """The current id, its parents and its children."""
        if curie not in self._near:
            current, _ = self._terms.current(curie)
            row = self._terms.row(current.id) if current else None
            rows = [] if row is None else self._terms.neighbours(row)
            self._near[curie] = frozenset({current.id if current else curie, *map(self._terms.id, rows)})
        return self._near[curie]

    def count(self, note: Note, case: Case) -> Tally:
        tally = Tally(notes=1)
        own = [each for each in note["findings"] if each["who"] == "patient"]
        wanted = [(each, self._ids(each)) for each in own]
        read = [each for each in case.findings if each.status in (Status.PRESENT, Status.ABSENT)]
        for each, ids in wanted:
            found = any(finding.id in ids and finding.status == each["status"] for finding in read)
            tally[f"{each['kind']} wanted"] += 1
            tally[f"{each['kind']} found"] += found
        for finding in read:
            right = [each for each, ids in wanted if finding.id in ids and finding.status == each["status"]]
            kind = right[0]["kind"] if right else "words" if finding.method in WORDS else "laboratory"
            tally[f"{kind} read"] += 1
            tally[f"{kind} right"] += bool(right)
        for each in note["findings"]:
            if each["who"] == "relative":
                tally["relatives"] += 1
                tally["relatives taken"] += self._taken(each, read, wanted)
        self._person(note, case, tally)
        return tally

    def _ids(self, annotated: Note) -> frozenset[str]:
        ids = frozenset().union(*map(self.near, annotated["hpo"]))
        return ids | {id for id, terms in self._mapped.items() if not terms.isdisjoint(annotated["hpo"])}

    def _taken(self, relative: Note, read: Sequence[Finding], wanted: Sequence[tuple[Note, frozenset[str]]]) -> bool:
        """Whether a relative's finding was read within its words as the patient's, who is not said to have it."""
        ids = frozenset().union(*map(self.near, relative["hpo"]))
        start, end = relative["start"], relative["start"] + len(relative["text"])
        return any(
            finding.id in ids
            and finding.status is Status.PRESENT
            and (finding.span is None or (finding.span.start < end and start < finding.span.end))
            and not any(finding.id in theirs and each["status"] == "present" for each, theirs in wanted)
            for finding in read
        )

    @staticmethod
    def _person(note: Note, case: Case, tally: Tally) -> None:
        age, read = note["age_years"], years_of(case.age)
        if age is None:
            tally["age made up"] += read is not None
        else:
            tally["age wanted"] += 1
            margin = (MONTH if age < YOUNG else HALF) + 1e-6
            tally["age right"] += read is not None and abs(read - age) <= margin
        sex = (note["sex"] or "unknown").upper()
        if sex == "UNKNOWN":
            tally["sex made up"] += case.sex in ("FEMALE", "MALE")
        else:
            tally["sex wanted"] += 1
            tally["sex right"] += case.sex == sex


def read_notes(path: Path) -> list[Note]:
    """Read JSON lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def read_note(text: str, graph: Graph) -> Case:
    """Read a text as a case; one without any finding has none."""
    try:
        return Case.from_text(text, graph)
    except CaseError:
        return described(Case("", text=text))


def groups(note: Note) -> Iterator[str]:
    """The groups that a note counts in."""
    yield from ("all", f"language {note['language']}", f"register {note['register']}")


def mapped_symptoms(graph: Graph) -> dict[str, Set[str]]:
    """Return the terms of HPO that the graph maps each symptom to."""
    symptoms, terms = (graph.snapshot.values(kind, "id").values() for kind in ("symptom", "phenotype"))
    found: dict[str, Set[str]] = {}
    rows = (graph.snapshot.column("symptom_phenotype", end).tolist() for end in ("symptom", "phenotype"))
    for symptom, term in zip(*rows, strict=True):
        found[symptoms[symptom]] = {terms[term], *found.get(symptoms[symptom], ())}
    return found


def evaluate(graph: Graph, notes: Sequence[Note], *, symptoms: bool = False) -> dict[str, Any]:
    """Read every note and compare; milliseconds are the median of the notes' best of three."""
    judge, times = Judge(graph.reader.terms, mapped_symptoms(graph) if symptoms else None), []
    tallies: dict[str, Tally] = defaultdict(Tally)
    for note in notes:
        best, case = float("inf"), Case("")
        for _ in range(REPEATS):
            begin = time.perf_counter()
            case = read_note(note["text"], graph)
            best = min(best, time.perf_counter() - begin)
        times.append(1000 * best)
        counted = judge.count(note, case)
        for group in groups(note):
            tallies[group].update(counted)
    words = statistics.mean(len(note["text"]) for note in notes)
    return {
        "ms_median": round(statistics.median(times), 2),
        "ms_longest": round(max(times), 2),
        "characters_mean": round(words),
        "groups": {group: tally.shares() for group, tally in sorted(tallies.items())},
    }


def shown(result: dict[str, Any]) -> str:
    """The result as a table in Markdown."""
    found = [f"{kind}_{share}" for kind in ("words", "laboratory") for share in ("recall", "precision")]
    head = [*found, "relatives_taken_for_patient", "age_right", "sex_right"]
    lines = [f"| group | notes | {' | '.join(head)} |", "|---" * (len(head) + 2) + "|"]
    for group, each in result["groups"].items():
        cells = " | ".join(str(each.get(name, "")) for name in head)
        lines.append(f"| {group} | {each['notes']} | {cells} |")
    return "\n".join([*lines, f"\n{result['ms_median']} ms a note (median), {result['ms_longest']} ms the longest"])


def phrases(graph: Graph, rows: Sequence[Note], *, plain: bool = False) -> str:
    """Return totals over phrases, by language; with ``plain`` sides and courses are not compared."""
    judge, counted = Judge(graph.terms), defaultdict[str, Counter[str]](Counter)
    for row in rows:
        read = [each for each in graph.extract(row["text"]).findings if each.status is Status.PRESENT]
        wanted = [met(graph, judge, each, read, plain=plain) for each in row["expect"]]
        rest = [met(graph, judge, each, read, exactly=True, plain=plain) for each in row["reject"]]
        for group in (row["lang"], "all"):
            told = counted[group]
            told.update(phrases=1, right=int(all(wanted) and not any(rest)), wrong=int(any(rest)))
            told.update(
                {
                    "expected": len(wanted),
                    "expected read": sum(wanted),
                    "rejected": len(rest),
                    "rejected read": sum(rest),
                }
            )
    heads = ("phrases", "right", "wrong", "expected", "expected read", "rejected", "rejected read")
    lines = ["| language | " + " | ".join(heads) + " |", "|---" * (len(heads) + 1) + "|"]
    lines += [f"| {group} | " + " | ".join(str(told[each]) for each in heads) + " |" for group, told in counted.items()]
    return "\n".join(lines)


def met(
    graph: Graph,
    judge: Judge,
    wanted: str,
    read: Sequence[Finding],
    *,
    exactly: bool = False,
    plain: bool = False,
) -> bool:
    """Whether any finding is what is wanted: by its id or a near one, or by its words."""
    if not plain:
        read = [each for each in read if not _contradicts(wanted, each)]
    wanted_units = frozenset(units(wanted))
    said = [
        frozenset(units(each)) for finding in read for each in (finding.label, finding.text, finding.matched) if each
    ]
    if any(
        wanted_units == each or (not exactly and each and (each <= wanted_units or wanted_units <= each))
        for each in said
    ):
        return True
    ids = {wanted} if wanted.startswith(("HP:", "DDXPLUS:", "KGDX:")) else _named(graph, wanted, exactly)
    near = ids if exactly else {one for each in ids for one in judge.near(each)}
    return any(finding.id in near for finding in read)


def _named(graph: Graph, wanted: str, exactly: bool) -> set[str]:
    """What words name; of a general term inside a more exact one only the latter where just that is meant."""
    found = graph.extract(wanted).findings
    within = inner_spans(each.span for each in found if each.span) if exactly else frozenset()
    return {each.id for each in found if each.span not in within}


_SAID = (
    ("HP:0012835", r"\bleft\b"),
    ("HP:0012834", r"\bright\b(?! (?:upper|lower))"),
    ("HP:0012832", r"\bbilateral\b|\bboth\b"),
    ("HP:0011010", r"\bchronic\b"),
    ("HP:0011009", r"\bacute\b"),
)
_APART = (frozenset({"HP:0012835", "HP:0012834", "HP:0012832"}), frozenset({"HP:0011010", "HP:0011009"}))
UNILATERAL = re.compile(r"\bunilateral\b|\bone side", re.IGNORECASE)


def _contradicts(wanted: str, finding: Finding) -> bool:
    """Whether wanted words name another side or course than a finding was read with."""
    named = {id for id, pattern in _SAID if re.search(pattern, wanted, re.IGNORECASE)}
    if UNILATERAL.search(wanted):
        return "HP:0012832" in finding.modifiers
    own = frozenset(finding.modifiers)
    return any(named & group and own & group and not named & own & group for group in _APART)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("notes", type=Path, help="annotated notes")
    parser.add_argument("--store", help="the graph to read by; the default graph without it")
    parser.add_argument("--symptoms", action="store_true", help="count symptoms as the terms that they are mapped to")
    parser.add_argument("--plain", action="store_true", help="phrases: do not compare sides and courses")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args(arguments)
    with kgdx.open(options.store) as graph:
        rows = [json.loads(line) for line in options.notes.read_text("utf-8").splitlines()]
        if rows and "expect" in rows[0]:
            print(phrases(graph, rows, plain=options.plain))
            return 0
        result = evaluate(graph, read_notes(options.notes), symptoms=options.symptoms)
    print(json.dumps(result, indent=1, ensure_ascii=False) if options.json else shown(result))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
