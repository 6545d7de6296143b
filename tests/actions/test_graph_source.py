"""The folder with the snapshots of servers' graphs: what is kept there."""

from __future__ import annotations

import os
from pathlib import Path

from kgdx.actions.server_snapshot import KEPT_SNAPSHOTS, UNFINISHED_S, prune_snapshots


def used(folder: Path, name: str, seconds_ago: float, now: float) -> Path:
    made = folder / name
    made.mkdir()
    (made / "disease.arrow").touch()
    os.utime(made, (now - seconds_ago, now - seconds_ago))
    return made


def test_snapshots_used_longest_ago_go(tmp_path: Path) -> None:
    now = tmp_path.stat().st_mtime
    new = used(tmp_path, "new", 1000, now)
    others = [used(tmp_path, f"{age}", age, now) for age in range(1, 6)]
    prune_snapshots(tmp_path, new)
    assert {path.name for path in tmp_path.iterdir()} == {"new", *(path.name for path in others[: KEPT_SNAPSHOTS - 1])}


def test_an_interrupted_compilation_goes_and_one_that_runs_stays(tmp_path: Path) -> None:
    now = tmp_path.stat().st_mtime
    new, running = used(tmp_path, "new", 0, now), used(tmp_path, ".a.1", 60, now)
    used(tmp_path, ".a.2", UNFINISHED_S + 60, now)
    prune_snapshots(tmp_path, new)
    assert set(tmp_path.iterdir()) == {new, running}
