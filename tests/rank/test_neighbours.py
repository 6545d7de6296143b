"""Similar diseases: the same in every process."""

from __future__ import annotations

import os
import subprocess
import sys

NEAREST = """
import hashlib, itertools
import numpy as np
from kgdx.rank.neighbours import by_name
words = "retinitis pigmentosa spastic ataxia dystonia early onset infantile cardiac renal type".split()
names = [" ".join(each) for each in itertools.permutations(words, 3)][:400]
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
