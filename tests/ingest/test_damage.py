"""What a disk or a hand has changed in a graph's folder is noticed and made again, never loaded."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingest import hooked
from kgdx.ingest.pipeline.build import build, update
from kgdx.ingest.pipeline.build_report import BuildReport
from kgdx.ingest.pipeline.graph_folder import GraphFolder


@pytest.fixture
def graph(tmp_path: Path, core_sources: dict[str, str]) -> tuple[GraphFolder, BuildReport]:
    folder = GraphFolder(tmp_path / "graph")
    return folder, build(core_sources, folder, derive=[hooked.ALIKE])


def flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 3] ^= 0xFF
    file.write_bytes(content)


@pytest.mark.parametrize("kind", ["parsed", "nodes", "relations", "derived", "sources"])
def test_a_damaged_stage_is_made_again(
    kind: str, graph: tuple[GraphFolder, BuildReport], core_sources: dict[str, str]
) -> None:
    folder, report = graph
    for make in (build, update):
        files = sorted((folder.path / "stages" / kind).rglob("*.arrow"))
        assert files
        for file in files:
            flip(file)
        again = make(core_sources, folder, derive=[hooked.ALIKE])
        assert again.fingerprint == report.fingerprint
        assert (again.nodes, again.relations) == (report.nodes, report.relations)
    later = build(core_sources, folder, derive=[hooked.ALIKE])
    assert sum(each.made for each in later.stages if each.stage in ("parse", "check", "derive")) == 0


@pytest.mark.parametrize("damage", ["short", "empty", "another count", "no object"])
def test_a_damaged_list_of_tables_is_no_base(
    damage: str, graph: tuple[GraphFolder, BuildReport], core_sources: dict[str, str]
) -> None:
    folder, report = graph
    file = folder.current().tables
    text = file.read_text("utf-8")
    rows = f"[{report.relations['IS_A']}, "
    assert rows in text
    changed = {"short": text[:99], "empty": "", "another count": text.replace(rows, "[1, "), "no object": "[]"}
    file.write_text(changed[damage], "utf-8")
    again = update({"genes": core_sources["genes"]}, folder, derive=[hooked.ALIKE])
    assert again.fingerprint == report.fingerprint and again.store == "loaded"
