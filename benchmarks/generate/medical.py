"""Make a file of the shape of medical.json; `python -m benchmarks.generate.medical FOLDER`, from the top of a checkout.

Writes medical.json (QASystemOnMedicalKG): by default 8,808 diseases with symptoms, examinations, drugs, treatments and
complications, about 150,000 statements. How many a disease has, and how often the most frequent symptom, examination,
drug, treatment and complication occur, are about those of the published file; the names are made up. The same seed
gives the same bytes.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

DISEASES = 8_808
SEED = 23


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of statement: its field, how many different things there are, and how diseases have them.

    Attributes:
        field: In the file.
        word: Ends the names of the things; empty where they are diseases.
        things: How many there are.
        most: How many a disease has at most.
        mean: And on average.
        share: Of all statements that name the most frequent thing.
        tail: The n-th most frequent one is named in proportion to (n + q) to the power of -tail.
    """

    field: str
    word: str
    things: int
    most: int
    mean: float
    share: float
    tail: float


KINDS = (
    Kind("symptom", "痛", 6_155, 10, 6.5, 995 / 57_311, 1.0),
    Kind("check", "检查", 3_340, 10, 4.4, 2_125 / 39_096, 1.0),
    Kind("common_drug", "片", 1_204, 2, 1.5, 303 / 13_477, 0.8),
    Kind("cure_way", "治疗", 536, 7, 2.4, 6_870 / 20_916, 1.6),
    Kind("acompany", "", 2_528, 28, 2.2, 374 / 19_151, 0.9),
)
_SYLLABLES = "阿巴卡达法加哈基拉马纳帕萨塔维亚泽罗林明"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where the file goes")
    parser.add_argument("--scale", type=float, default=1.0, help="times as many diseases, symptoms, drugs …")
    parser.add_argument("--seed", type=int, default=SEED)
    options = parser.parse_args(arguments)
    options.folder.mkdir(parents=True, exist_ok=True)
    path = options.folder / "medical.json"
    statements = write(path, options.scale, options.seed)
    print(f"{statements:,} statements in {path}")
    return 0


def write(path: Path, scale: float = 1.0, seed: int = SEED) -> int:
    """Write the file and return how many statements are in it."""
    rng = np.random.default_rng(seed)
    size = max(2, round(DISEASES * scale))
    diseases = [f"{_word(at)}病" for at in range(size)]
    lists = {}
    for kind in KINDS:
        things = max(2, round(kind.things * scale))
        names = [f"{_word(at)}{kind.word}" for at in range(things)] if kind.word else diseases[:things]
        lists[kind.field] = _drawn(kind, names, size, rng)
    statements = 0
    with path.open("w", encoding="utf-8") as file:
        for at, name in enumerate(diseases):
            record: dict[str, object] = {"name": name, "desc": f"{name}是一种疾病。", "category": ["疾病百科"]}
            for field, chosen in lists.items():
                record[field] = [thing for thing in chosen[at] if thing != name]
                statements += len(chosen[at]) - (name in chosen[at])
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
    return statements


def _drawn(kind: Kind, names: list[str], diseases: int, rng: np.random.Generator) -> list[list[str]]:
    """Different things for each disease, the frequent ones being anywhere among the names."""
    sums = np.cumsum(_weights(kind, len(names)))
    place = rng.permutation(len(names))
    counts = np.maximum(1, rng.binomial(kind.most, kind.mean / kind.most, diseases))
    picked = place[np.minimum(np.searchsorted(sums, rng.random(int(counts.sum())) * sums[-1]), len(names) - 1)]
    return [[names[at] for at in np.unique(part)] for part in np.split(picked, np.cumsum(counts)[:-1])]


def _weights(kind: Kind, size: int) -> np.ndarray:
    """Weights by rank (Zipf and Mandelbrot), moved until the first has its share of the whole."""
    low, high = 0.0, float(size)
    for _ in range(60):
        middle = (low + high) / 2
        weights = (np.arange(1, size + 1) + middle) ** -kind.tail
        low, high = (middle, high) if weights[0] / weights.sum() > kind.share else (low, middle)
    return (np.arange(1, size + 1) + low) ** -kind.tail


def _word(number: int) -> str:
    """A made-up word for a number.

    Example:
        >>> _word(0), _word(21)
        ('阿阿', '巴巴')
    """
    word = ""
    while number or len(word) < 2:
        number, at = divmod(number, len(_SYLLABLES))
        word = _SYLLABLES[at] + word
    return word


if __name__ == "__main__":
    sys.exit(main())
