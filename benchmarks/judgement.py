"""Judge lists of candidates as a clinician would; `python -m benchmarks.judgement [STORE] [--setting NAME] [--lists]`.

Diagnoses the notes of benchmarks/notes on a graph (by default the default graph) and prints in Markdown: how many
healthy people and single unspecific findings were left without a ranking, where the diagnosis of each patient stands,
rows that count an opposite or an absence for a disease, candidates that sex or age rules out, and viral haemorrhagic
fevers in notes of other patients. `--lists` prints each list, too; `--person` gives
sex and age where the text does not tell them; `--curve FILE.svg` prints
and draws instead how the patients fare in each setting, whatever the prior weighs.
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
from kgdx.case.person import years_of
from kgdx.errors import CaseError
from kgdx.rank.commonness import SETTINGS
from kgdx.results.ranked import Candidate, DangerousDisease

NOTES = Path(__file__).parent / "notes"
CONTRARY = {"annotated_absent", "opposite"}
HAEMORRHAGIC = ("hemorrhagic fever", "haemorrhagic fever", "ebola", "marburg", "lassa", "dengue")
OF_WOMEN = ("pregnan", "ovar", "uter", "vagin", "eclampsia", "menopaus", "placenta", "endometr")
OF_MEN = ("prostat", "testic", "penile", "hypospadias")
OF_NEWBORNS = ("neonatal", "newborn", "infantile", "infant ", "of prematurity", "congenital syphilis")
FIRST, TEN, ROWS, UNRANKED = 3, 10, 5, 1000
WEIGHTS = (0.0, 0.3, 0.6, 1.0, 1.6, 2.2)
"""What the log-odds of the prior may count, in the curves of the settings."""
ROMAN = {"i": "1", "ii": "2", "iii": "3", "iv": "4", "v": "5"}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", nargs="?")
    parser.add_argument("--setting")
    for name in ("lists", "person"):
        parser.add_argument(f"--{name}", action="store_true")
    parser.add_argument("--curve", type=Path, metavar="FILE")
    for name in ("healthy", "patients"):
        parser.add_argument(f"--{name}", type=Path, default=NOTES / f"{name}.jsonl", help="other notes of such people")
    options = parser.parse_args(arguments)
    how = {} if options.setting is None else {"setting": options.setting}
    with kgdx.open(options.store) as graph:
        if options.curve:
            found = curves(graph, called(graph, notes(options.patients)))
            print("\n".join(curve_table(found)))
            draw(found, options.curve)
            return 0
        healthy = [(note, diagnosed(graph, note, **how)) for note in notes(options.healthy)]
        told = ("sex", "age") if options.person else ()
        patients = [(note, diagnosed(graph, note, *told, **how)) for note in called(graph, notes(options.patients))]
    print("\n".join(figures(healthy, patients)))
    if options.lists:
        for note, found in (*healthy, *patients):
            print("\n".join(("", f"## {note['id']}", *listed(note, found))))
    return 0


def diagnosed(graph: Graph, note: dict[str, Any], *told: str, **how: Any) -> Diagnosis:
    """Return a note's diagnosis, with what of the person is told beside it; none where it cannot be ranked."""
    read = graph.case(note["text"])
    unread = {"sex": read.sex == "UNKNOWN", "age": read.age is None}
    given = [what for what in told if what in note and unread[what]]
    how |= {what: f"P{int(note[what])}Y" if what == "age" else note[what] for what in given}
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


def curves(graph: Graph, patients: list[dict[str, Any]]) -> dict[tuple[str, str], dict[float, list[int]]]:
    """Return the places of the diagnoses by setting, kind of patient and what the prior's log-odds count."""
    found: dict[tuple[str, str], dict[float, list[int]]] = {}
    read = [(note, graph.case(note["text"])) for note in patients]
    for where, chosen in list(SETTINGS.items()):
        for weight in sorted({*WEIGHTS, chosen}):
            SETTINGS[where] = weight
            graph.ranker.forget()
            for note, case in read:
                try:
                    at = place(note, graph.diagnose(case, setting=where, explain=0))
                except CaseError:
                    at = UNRANKED
                kind = "common" if note["kind"] == "common" else "rare"
                found.setdefault((where, kind), {}).setdefault(weight, []).append(at)
        SETTINGS[where] = chosen
    graph.ranker.forget()
    return found


def curve_table(found: dict[tuple[str, str], dict[float, list[int]]]) -> Iterator[str]:
    """Yield how often the diagnosis is first and among ten, a line a weight, the chosen one in bold."""
    yield "| setting | the log-odds count | " + " | ".join(f"{kind}, first / ten" for kind in ("common", "rare")) + " |"
    yield "|---|---|---|---|"
    for where, chosen in SETTINGS.items():
        for weight in found[where, "common"]:
            cells = (
                f"{_top(found[where, kind][weight], 1):.0%} / {_top(found[where, kind][weight], TEN):.0%}"
                for kind in ("common", "rare")
            )
            yield f"| {where} | {'**' * (weight == chosen)}{weight}{'**' * (weight == chosen)} | {' | '.join(cells)} |"


def draw(found: dict[tuple[str, str], dict[float, list[int]]], file: Path) -> None:
    """Draw what rare patients lose and common ones gain, a panel a setting; the chosen weight is marked."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 3.6), layout="constrained")
    panels = figure.subplots(1, len(SETTINGS), sharey=True)
    for axes, (where, chosen) in zip(panels, SETTINGS.items(), strict=True):
        axes.axvline(chosen, color="#bbb", linewidth=1)
        for kind, color in (("common", "C0"), ("rare", "C3")):
            places = found[where, kind]
            for top, style in ((1, "-"), (TEN, "--")):
                shares = [_top(each, top) for each in places.values()]
                label = f"{kind} ({len(places[chosen])}), {'first' if top == 1 else 'first ten'}"
                axes.plot(list(places), shares, style, color=color, marker="o", markersize=3, label=label)
        axes.set(title=where, xlabel="what the log-odds of the prior count", ylim=(0, 1))
    panels[0].set_ylabel("patients")
    panels[0].legend(fontsize="small")
    figure.savefig(file)


def _top(places: list[int], top: int) -> float:
    return sum(at <= top for at in places) / len(places)


def place(note: dict[str, Any], found: Diagnosis) -> int:
    """Return the place of the first candidate that is the note's diagnosis."""
    return next((at for at, each in enumerate(found.candidates, 1) if diagnosed_as(note, each)), UNRANKED)


def diagnosed_as(note: dict[str, Any], disease: Candidate | DangerousDisease) -> bool:
    """Return whether a disease, or an entry merged into it, is called as the note's diagnosis."""
    return not note["ids"].isdisjoint(getattr(disease, "members", (disease.id,)))


def called(graph: Graph, patients: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return notes with the ids of diseases whose name or synonym has all words of a name of the diagnosis.

    "Telangiectasia, hereditary hemorrhagic, type 2" is so called, "Huntington disease-like 1" is not.
    """
    columns = (graph.snapshot.values("disease", name).all for name in ("id", "name", "name_zh", "synonyms"))
    chinese: list[tuple[str, str]] = []
    having: dict[str, set[tuple[str, frozenset[str]]]] = {}
    for id, name, name_zh, synonyms in zip(*columns, strict=True):
        chinese += [(id, each) for each in (name_zh, *(synonyms or ())) if each and not each.isascii()]
        for each in map(words, filter(None, (name, *(synonyms or ())))):
            for word in each:
                having.setdefault(word, set()).add((id, each))
    for note in patients:
        note["ids"] = {id for id, name in chinese if any(not each.isascii() and each in name for each in note["truth"])}
        for wanted in filter(None, map(words, note["truth"])):
            among = min((having.get(word, set()) for word in wanted), key=len)
            note["ids"] |= {id for id, name in among if wanted <= name and ("like" in name) == ("like" in wanted)}
    return patients


def named(candidate: Candidate, parts: Sequence[str]) -> bool:
    """Return whether a candidate's name holds one of some parts."""
    return any(part in candidate.name.lower() for part in parts)


def words(name: str) -> frozenset[str]:
    """Return the words of a name in Latin letters but for "type", with Arabic numbers.

    Example:
        >>> sorted(words("Mucopolysaccharidosis, type II"))
        ['2', 'mucopolysaccharidosis']
    """
    found = re.findall(r"[a-z0-9]+", name.lower().replace("haem", "hem").replace("oedema", "edema"))
    return frozenset(ROMAN.get(word, word) for word in found) - {"type"}


def in_lane(note: dict[str, Any], found: Diagnosis) -> bool:
    """Return whether the diagnosis is among those that must not be missed."""
    return any(diagnosed_as(note, each) for each in found.dangerous)


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
    """Return how many candidates the patient's sex or age rules out, by their names: as noted, or else as read."""
    age = note["age"] if "age" in note else years_of(found.case.age) or 0
    parts = {"female": OF_MEN, "male": OF_WOMEN}.get(note.get("sex", found.case.sex.lower()), ())
    newborn = OF_NEWBORNS if age > FIRST else ()
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
