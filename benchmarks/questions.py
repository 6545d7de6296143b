"""Free questions answered by rules, held against the facts that a right answer has: how many, how soon, how fast.

Each line of the file is a question with facts, of which each is a list of ways to say it, and how many of them a
right answer needs at least::

    {"id": "q1", "language": "en", "question": "…", "facts": [["fever", "发热"], ["cough"]], "need": 1}

An answer is *right in 400* when its first 400 characters hold enough of the facts, *right somewhere* when the whole
text does. Of what nobody can answer from the graph (``"unknown": true``) it is right to say so and to name what is
missing.
*Refused* is an answer that says not to know what the graph has facts for, ``source_named`` those of them that name the
source which would bring it; *wrong* is one with statements of which none is a fact.

    python -m benchmarks.questions tests/data/questions_dev.jsonl --store FOLDER --json

With ``--llm MODEL`` a language model plans and writes, for the same questions.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import kgdx
from kgdx.answer.cited_answer import Answer
from kgdx.errors import KgdxError

FIRST = 400
"""Characters in which the fact has to stand."""

OUTCOMES = ("right", "unknown_said", "late", "refused", "wrong")
"""What an answer can be: right in its first characters, rightly unknown, right further on, refused, or wrong."""


def outcome(question: Mapping[str, Any], text: str, cited: bool) -> str:
    """Return what an answer is.

    Args:
        question: With ``facts``, ``need`` and ``unknown``.
        text: The answer.
        cited: Whether it states anything.

    Example:
        >>> outcome({"facts": [["fever"]], "need": 1}, "It has Fever.", True)
        'right'
    """
    if question.get("unknown"):
        return "wrong" if cited or not text else "unknown_said"
    if _held(question, text[:FIRST]):
        return "right"
    if _held(question, text):
        return "late"
    return "wrong" if cited else "refused"


def _held(question: Mapping[str, Any], text: str) -> bool:
    said = text.casefold()
    held = sum(any(each.casefold() in said for each in fact) for fact in question["facts"])
    return bool(held >= question.get("need", 1))


def _asked(graph: kgdx.Graph, words: str, model: str | None = None) -> tuple[str, bool, float]:
    """The text of an answer, whether it states anything, and its milliseconds."""
    started = time.perf_counter()
    how = {"policy": "rules"} if model is None else {"model": model}
    try:
        answer: Answer = graph.ask(words, **how)
    except KgdxError as error:
        return str(error), False, (time.perf_counter() - started) * 1000
    took = (time.perf_counter() - started) * 1000
    return answer.text.text, not answer.text.insufficient and bool(answer.text.cited), took


def measure(
    graph: kgdx.Graph, questions: Sequence[Mapping[str, Any]], model: str | None = None
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return totals by language, and a row for each question."""
    for each in questions:  # what is opened when it is first needed is no part of the time
        _asked(graph, each["question"])
    rows = []
    for each in questions:
        text, cited, took = _asked(graph, each["question"], model)
        found = outcome(each, text, cited)
        rows.append({"id": each["id"], "language": each["language"], "outcome": found, "ms": took, "text": text})
        if model is not None:
            print(each["id"], found, f"{took / 1000:.0f} s", flush=True)
    return {
        name: _total([row for row in rows if name in ("all", row["language"])]) for name in ("all", "en", "zh")
    }, rows


def _total(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    count = len(rows)
    if not count:
        return {"questions": 0}
    counted = Counter(row["outcome"] for row in rows)
    times = sorted(row["ms"] for row in rows)
    soon = counted["right"] + counted["unknown_said"]
    return {
        "questions": count,
        **{name: counted[name] for name in OUTCOMES},
        "source_named": sum(
            row["outcome"] == "refused" and ("would bring it" in row["text"] or "可补充的来源" in row["text"])
            for row in rows
        ),
        "right_in_400": round(soon / count, 4),
        "right_somewhere": round((soon + counted["late"]) / count, 4),
        "wrong_share": round(counted["wrong"] / count, 4),
        "refused_share": round(counted["refused"] / count, 4),
        "ms_median": round(statistics.median(times), 1),
        "ms_p95": round(times[min(count - 1, int(0.95 * count))], 1),
    }


def main() -> None:
    """Measure a file of questions and print the totals."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--store", help="folder of the graph")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--llm", metavar="MODEL", help="have this model plan and write, as `kgdx ask --llm` does")
    parser.add_argument("--only", metavar="TEXT", default="", help="questions whose id begins so")
    parser.add_argument("--first", type=int, help="so many of them")
    parser.add_argument("--failed", action="store_true", help="print what is not right, too")
    given = parser.parse_args()
    questions = [json.loads(line) for line in given.file.read_text(encoding="utf-8").splitlines() if line.strip()]
    questions = [each for each in questions if each["id"].startswith(given.only)][: given.first]
    with kgdx.open(given.store) as graph:
        totals, rows = measure(graph, questions, given.llm)
    if given.failed:
        said = {each["id"]: each for each in questions}
        for row in rows:
            if row["outcome"] not in ("right", "unknown_said"):
                print(row["outcome"], row["id"], said[row["id"]]["question"], "→", row["text"][:FIRST])
    if given.json:
        print(json.dumps(totals, ensure_ascii=False, indent=1))
    else:
        for name, total in totals.items():
            print(name, " ".join(f"{key}={value}" for key, value in total.items()))


if __name__ == "__main__":
    main()
