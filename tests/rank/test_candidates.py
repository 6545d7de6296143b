"""Similar diseases: the same in every process."""

from __future__ import annotations

import os
import subprocess
import sys

NEAREST = """
import hashlib
import numpy as np
from kgdx.rank.neighbours import by_name
made = np.random.default_rng(0)
words = ["".join(letters) for letters in made.choice(list("abcdefghij"), (400, 5))]
names = [" ".join(words[number] for number in made.zipf(1.3, 8) % 400) for _ in range(600)]
near = by_name(names, np.arange(len(names)), len(names))
parts = (near.start, near.index, near.values)
print(hashlib.sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in parts)).hexdigest())
"""


def test_neighbours_do_not_depend_on_the_hash_seed() -> None:
    digests = set()
    for seed in ("1", "2", "3"):
        done = subprocess.run(
            [sys.executable, "-c", NEAREST],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        digests.add(done.stdout)
    assert len(digests) == 1
