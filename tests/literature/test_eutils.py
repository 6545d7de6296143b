"""NCBI's pace is kept by threads and processes together."""

from __future__ import annotations

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kgdx.literature.pubmed import LONGEST_S, RateLimiter

TURNS = """
import sys, time
from pathlib import Path
from kgdx.literature.pubmed import RateLimiter
taken = RateLimiter(Path(sys.argv[1]), 0.05)
for _ in range(6):
    assert taken.wait(time.time() + 60)
    print(time.time())
"""


def test_turns_of_threads_and_processes_are_an_interval_apart(tmp_path: Path) -> None:
    file = tmp_path / "pace"
    command = [sys.executable, "-c", TURNS, str(file)]
    others = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    mine = RateLimiter(file, 0.05)

    def turn(_: int) -> float:
        assert mine.wait(time.time() + 60)
        return time.time()

    with ThreadPoolExecutor(3) as threads:
        times = list(threads.map(turn, range(6)))
    for each in others:
        times += map(float, each.communicate()[0].split())
    times.sort()
    assert len(times) == 18
    assert times[-1] - times[0] >= 17 * 0.05 - 0.05  # a turn is never given early; waking up may be late
    assert max(sum(at <= each < at + 0.5 for each in times) for at in times) <= 12


def test_no_turn_is_taken_that_comes_too_late(tmp_path: Path) -> None:
    slow = RateLimiter(tmp_path / "pace", 30.0)
    assert slow.wait(time.time() + 1)
    before = (tmp_path / "pace").read_text()
    assert not slow.wait(time.time() + 1)
    assert (tmp_path / "pace").read_text() == before


@pytest.mark.parametrize("text", ["", "nonsense", "nan", "1e18", "-5"])
def test_a_file_that_says_nothing_sensible_holds_nobody_up(tmp_path: Path, text: str) -> None:
    (tmp_path / "pace").write_text(text)
    assert RateLimiter(tmp_path / "pace", 0.01).wait(time.time() + 1)
    assert float((tmp_path / "pace").read_text()) <= time.time() + LONGEST_S
