"""Print consultations with patients line by line, to be judged; `python -m benchmarks.bedside PATIENTS [STORE]`.

PATIENTS are JSON lines: what a patient says at first (`opening`), what is found when it is asked for (`has`, regular
expressions for the English name or wording of a finding), and names of the diagnosis (`truth`). All else is answered
with no, an open question with nothing more. A question that is no other than one before is marked `again`, and the
place of the diagnosis in the last list is told. Each line is for a reader to judge: would a clinician ask this now?
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import kgdx
from benchmarks.judgement import called, notes
from kgdx.api import Graph
from kgdx.api.consulting import Consultation
from kgdx.rank.complaints import wordings
from kgdx.results.consulted import QuestionDocument


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("patients", type=Path)
    parser.add_argument("store", nargs="?")
    options = parser.parse_args(arguments)
    with kgdx.open(options.store) as graph:
        for patient in called(graph, notes(options.patients)):
            print("\n".join(played(graph, patient)), "\n", flush=True)
    return 0


def played(graph: Graph, patient: dict[str, Any]) -> Iterator[str]:
    """Yield a patient's opening, a line a question with its answer, and how it ended."""
    yield f"## {patient['id']} ({patient['kind']}; {patient['truth'][0]}): {patient['opening']}"
    consultation, asked = graph.consult(patient["opening"]), set[tuple[str | None, str]]()
    while (question := consultation.question) is not None:
        reply = answer(patient["has"], question)
        again = " again" if (question.term, question.kind) in asked else ""
        asked.add((question.term, question.kind))
        offered = f" [{'; '.join(each.name for each in question.options)}]" if question.kind == "which" else ""
        told = {True: "yes", False: "no", None: "-"}[reply]
        yield f"{question.number}.{again} {question.text}{offered} ({question.label or 'open'}) {told}"
        consultation.answer(reply)
    yield ended(consultation, patient)


def answer(has: Sequence[str], question: QuestionDocument) -> bool | None:
    """Return whether a patient has what is asked about; ``None`` where it is no question of yes or no."""
    if question.term is None or question.kind == "which":
        return None
    worded = wordings().get(question.term)
    said = f"{question.label} | {worded.en if worded else ''}".lower()
    return any(re.search(each, said) for each in has)


def ended(consultation: Consultation, patient: dict[str, Any]) -> str:
    """Return why a consultation ended, and the leaders, with the place of the diagnosis."""
    found, closing = consultation.diagnosis.candidates if consultation.known else (), consultation.closing
    at = next((n for n, each in enumerate(found, 1) if not patient["ids"].isdisjoint(each.members)), 0)
    leaders = ", ".join(f"{each.name} {each.share:.0%}" for each in consultation.differential[:3])
    return f"-> {closing.ended if closing else ''}; diagnosis at {at or 'none'}; {leaders}"


if __name__ == "__main__":
    raise SystemExit(main())
