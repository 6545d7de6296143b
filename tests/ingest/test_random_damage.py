"""What a disk, a hand or chance has changed in a graph's folder is noticed and made anew, or without effect."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kgdx
from ingest import hooked
from kgdx import api
from kgdx.errors import KgdxError
from kgdx.ingest.pipeline.build import build, update
from kgdx.ingest.pipeline.build_report import BuildReport
from kgdx.ingest.pipeline.graph_folder import GraphFolder

DAMAGES = 100

TEMPLATES = ("phenotypes_of_diseases", "genes_of_diseases", "same_as_of_diseases", "groups_of_diseases")


def answers(folder: Path, said: list[str]) -> str:
    """What users read of a graph: rankings, evidence, free text, names, counts and the rows of templates."""
    with kgdx.open(folder, progress=said.append) as graph:
        diseases = graph.snapshot.column("disease", "id").tolist()
        rows: dict[str, Any] = {name: graph.store.run(name, diseases=diseases) for name in TEMPLATES}
        pairs = graph.snapshot.column("has_phenotype", "phenotype").tolist()
        terms = sorted({graph.snapshot.column("phenotype", "id")[row] for row in pairs})
        found = graph.diagnose(terms[:3], top=10)
        rows["ranking"] = [(each.id, each.score) for each in found.candidates]
        rows["evidence"] = [path.to_dict() for paths in found.evidence.values() for path in paths]
        names = [str(name) for name in graph.snapshot.column("phenotype", "name").tolist()]
        rows["text"] = [finding.id for finding in graph.extract(". ".join(names[:12])).findings]
        rows["counts"] = sorted(graph.store.counts().items())
        rows["sources"] = graph.run("sources")
        return json.dumps(rows, sort_keys=True, default=str)


def truncate(file: Path, chance: random.Random) -> None:
    size = file.stat().st_size
    os.truncate(file, chance.randrange(size) if size else 0)


def flip(file: Path, chance: random.Random) -> None:
    content = bytearray(file.read_bytes())
    if content:
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        file.write_bytes(content)


def delete(file: Path, chance: random.Random) -> None:
    file.unlink()


KINDS: tuple[Callable[[Path, random.Random], None], ...] = (truncate, flip, delete)


def restored(whole: Path, folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(whole, folder)


@pytest.fixture
def whole(tiny_graph: Path, tmp_path: Path, kgdx_home: Path) -> tuple[Path, str]:
    folder = tmp_path / "whole"
    shutil.copytree(tiny_graph, folder)
    said: list[str] = []
    return folder, answers(folder, said)


@pytest.mark.heavy
def test_every_random_damage_is_noticed_or_without_effect(whole: tuple[Path, str], tmp_path: Path) -> None:
    """Where opening does not notice it, `verify` or nobody has to: an answer is then what it was."""
    chance, tally = random.Random(20031), Counter[str]()
    source, expected = whole
    folder = tmp_path / "graph"
    files = sorted(path.relative_to(source) for path in source.rglob("*") if path.is_file())
    for number in range(DAMAGES):
        restored(source, folder)
        file, damage = folder / chance.choice(files), chance.choice(KINDS)
        damage(file, chance)
        said: list[str] = []
        try:
            found = answers(folder, said)
        except KgdxError as error:
            tally["refused in one line"] += 1
            assert "\n" not in str(error)
            continue
        about = f"{number}: {damage.__name__} of {file.relative_to(folder)}"
        assert found == expected, f"another answer after {about}"
        tally["made again, and said" if any("made again" in line for line in said) else "without effect"] += 1
    print(dict(tally))
    assert sum(tally.values()) == DAMAGES


@pytest.mark.heavy
def test_damage_that_leaves_the_time_of_change_is_found_by_verify(whole: tuple[Path, str], tmp_path: Path) -> None:
    """As when a disk loses bits by itself: opening cannot notice it, and answers or refuses without a raw exception."""
    chance, tally = random.Random(7), Counter[str]()
    source, _ = whole
    folder = tmp_path / "graph"
    build = next((source / "builds").iterdir()).relative_to(source)
    known = json.loads((source / build / "files.json").read_text())["files"]
    derived = sorted(path.relative_to(source) for path in (source / build / "snapshot" / "derived").rglob("*.npy"))
    files = [build / name for name in known] + derived
    for _ in range(40):
        restored(source, folder)
        file = folder / chance.choice(files)
        before = file.stat()
        flip(file, chance)
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        if not before.st_size:
            continue
        found = api.verify(store=folder)
        assert found.faults or found.again, file
        tally["found by verify"] += 1
    print(dict(tally))


def test_a_cut_bucket_is_refused_and_a_build_mends_it(whole: tuple[Path, str], tmp_path: Path) -> None:
    source, _ = whole
    store = next((source / "builds").iterdir()) / "store"
    bucket = next(store.glob("HAS_PHENOTYPE_0.*.bucket"))
    os.truncate(bucket, bucket.stat().st_size // 2)
    with pytest.raises(KgdxError, match="the store of the graph .* is damaged: store/HAS_PHENOTYPE.*kgdx build"):
        kgdx.open(source).close()
    assert [fault for fault in api.verify(store=source).faults if "HAS_PHENOTYPE" in fault]


@pytest.mark.parametrize("part", ["rank", "names", "text"])
def test_a_damaged_derived_part_is_said_and_made_again(part: str, whole: tuple[Path, str]) -> None:
    source, expected = whole
    derived = next((source / "builds").iterdir()) / "snapshot" / "derived"
    for file in next(derived.glob(f"{part}-*")).iterdir():
        if file.name != "files.json":
            content = bytearray(file.read_bytes())
            content[len(content) // 2] ^= 1
            file.write_bytes(content)
    said: list[str] = []
    found = answers(source, said)
    if part == "names":
        with kgdx.open(source, progress=said.append) as graph:
            graph.names  # noqa: B018  opened when it is first asked for
    assert found == expected
    assert len([line for line in said if f"{part}-" in line and "made again" in line]) == 1


@pytest.fixture
def graph(tmp_path: Path, core_sources: dict[str, str]) -> tuple[GraphFolder, BuildReport]:
    folder = GraphFolder(tmp_path / "graph")
    return folder, build(core_sources, folder, derive=[hooked.ALIKE])


def flip_one(file: Path) -> None:
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
            flip_one(file)
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
