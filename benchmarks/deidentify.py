"""What de-identification takes out and leaves; `python -m benchmarks.deidentify`, from a checkout's top.

The sentences of tests/data/identifiers_held_out.jsonl fall into two halves by a checksum of their text: A, which rules
may be made from, and B, which is for measuring alone. An identifier counts as taken out where each of its letters and
digits is; an eponym, drug, gene, place in a disease's name or value counts as kept where nothing of it is touched.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from kgdx.llm.deidentify import identifying

HELD_OUT = Path(__file__).resolve().parents[1] / "tests" / "data" / "identifiers_held_out.jsonl"
LANGUAGES = ("en", "zh")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--half", choices="AB", help="measure this half alone")
    parser.add_argument(
        "--file", type=Path, help="sentences of one's own: text, identifiers and what to keep, in words"
    )
    parser.add_argument("--misses", action="store_true", help="print what was missed or lost in half A")
    options = parser.parse_args(arguments)
    if options.file is not None:
        print("| half | kind | English | Chinese | both |\n|---|---|---:|---:|---:|")
        tell(
            "–",
            [outcome for line in options.file.read_text("utf-8").splitlines() for outcome in worded(json.loads(line))],
        )
        return 0
    sentences = [json.loads(line) for line in HELD_OUT.read_text("utf-8").splitlines()]
    print("| half | kind | English | Chinese | both |\n|---|---|---:|---:|---:|")
    for half in options.half or "AB":
        tell(half, [outcome for each in sentences if each["half"] == half for outcome in judged(each)])
    if options.misses:
        for each in (sentence for sentence in sentences if sentence["half"] == "A"):
            for kind, _, right, passage in judged(each):
                if not right:
                    print(f"{kind}: {passage!r} in {each['text']!r}")
    return 0


def judged(sentence: dict[str, Any]) -> Iterator[tuple[str, str, bool, str]]:
    """Yield for each marked passage its kind, the language, whether it was treated rightly, and the passage."""
    text = sentence["text"]
    out = {at for start, end, _ in identifying(text) for at in range(start, end)}
    for start, end, kind in sentence["identifiers"]:
        taken = all(at in out for at in range(start, end) if text[at].isalnum())
        yield kind, sentence["lang"], taken, text[start:end]
    for start, end in sentence["keep"]:
        yield "kept", sentence["lang"], out.isdisjoint(range(start, end)), text[start:end]


def worded(sentence: dict[str, Any]) -> Iterator[tuple[str, str, bool, str]]:
    """Yield the same for passages that are given in their words: each place of one has to be taken out, or kept."""
    text = sentence["text"]
    out = {at for start, end, _ in identifying(text) for at in range(start, end)}
    for kind, passages in (("stated", sentence["identifiers"]), ("kept", sentence["keep"])):
        for passage in passages:
            places = [match.span() for match in re.finditer(re.escape(passage), text)]
            letters = [at for start, end in places for at in range(start, end) if text[at].isalnum()]
            fine = out.isdisjoint(letters) if kind == "kept" else out.issuperset(letters) and bool(letters)
            yield kind, sentence["lang"], fine, passage


def tell(half: str, outcomes: Sequence[tuple[str, str, bool, str]]) -> None:
    """Print one line for each kind, all identifiers, and what had to stay."""
    given = Counter((kind, language) for kind, language, _, _ in outcomes)
    right = Counter((kind, language) for kind, language, fine, _ in outcomes if fine)
    kinds = sorted({kind for kind, _ in given} - {"kept"})
    for name, group in (*((kind, [kind]) for kind in kinds), ("all identifiers", kinds), ("kept", ["kept"])):
        cells = []
        for languages in (*((each,) for each in LANGUAGES), LANGUAGES):
            cell = [(kind, language) for kind in group for language in languages]
            of = sum(given[each] for each in cell)
            fine = sum(right[each] for each in cell)
            cells.append(f"{fine} of {of} ({fine / of:.1%})" if of else "–")
        print(f"| {half} | {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    raise SystemExit(main())
