"""Size of an evidence page and the time until a reader can use it, in a real headless Chromium.

    python benchmarks/page.py [diagnosis.json] --paths 200 --runs 10

The page is that of a diagnosis whose first candidate has so many evidence paths, made from those of the given
diagnosis (``kgdx diagnose CASE --json``) or made up; or of the document as it is with ``--paths 0``. "Interactive" is
the time from the start of the navigation until the page's script has run and the first box of the graph answers to a
click and is laid out, each run in a fresh profile.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from kgdx.render.pages import page, write


def made_up(number: int) -> dict[str, Any]:
    """A diagnosis with so many paths: exact matches, shared ancestors, contrary and unmentioned findings."""
    evidence, findings = [], []
    for at in range(number):
        id, kind = f"HP:{at:07d}", ("supports", "supports", "supports", "against", "typical_unmentioned")[at % 5]
        terms = [(id, f"Abnormality number {at} of the hand")]
        if at % 2 and kind != "typical_unmentioned":
            terms += [(f"HP:8{at // 6:06d}", f"Abnormality group {at // 6}"), (f"HP:9{at:06d}", f"Kindred sign {at}")]
        nodes = [{"id": term, "label": "Phenotype", "name": name} for term, name in terms]
        nodes.append({"id": "OMIM:100000", "label": "Disease", "name": "A syndrome of many signs"})
        relations: list[dict[str, Any]] = [{"type": "IS_A"}, {"type": "IS_A", "reversed": True}][: len(terms) - 1]
        if kind != "typical_unmentioned":
            nodes.insert(0, {"id": "p", "label": "PatientCase", "name": "patient"})
            relations.insert(0, {"type": "OBSERVED" if kind == "supports" else "EXCLUDED"})
            findings.append({"id": id, "label": terms[0][1], "status": "present" if kind == "supports" else "absent"})
        relations.append({"type": "HAS_PHENOTYPE", "reversed": True})
        given = {"kind": kind, "finding": id, "frequency": f"{at % 9} of 9", "references": [f"PMID:{10**7 + at}"]}
        evidence.append({**given, "nodes": nodes, "relations": relations})
    parts = [{"finding": each["id"], "scorer": "likelihood", "score": 0.5, "rule": "exact"} for each in findings]
    best = {"rank": 1, "id": "OMIM:100000", "name": "A syndrome of many signs", "score": 9.0, "contributions": parts}
    case = {"id": "p", "findings": findings}
    head = {"schema": "kgdx.diagnosis/1", "case": case, "n_candidates": 12_000, "candidates": [best]}
    return {**head, "evidence": {"OMIM:100000": evidence}}


def grown(document: dict[str, Any], number: int) -> dict[str, Any]:
    """The document with so many paths to its first candidate, taken from those of all of its candidates."""
    first = document["candidates"][0]
    ours = [path for paths in document["evidence"].values() for path in paths]
    taken = [{**ours[at % len(ours)], "nodes": [*ours[at % len(ours)]["nodes"]]} for at in range(number)]
    for at, path in enumerate(taken):
        if at >= len(ours):  # a path that was used before stands for a further finding
            path["nodes"] = [
                node if node["label"] != "Phenotype" else {**node, "id": f"{node['id']}.{at // len(ours)}"}
                for node in path["nodes"]
            ]
        path["nodes"][-1] = {"id": first["id"], "label": "Disease", "name": first["name"]}
    return {**document, "evidence": {first["id"]: taken}}


def interactive(browser: Any, address: str) -> float:
    """Milliseconds until a click on the graph is answered."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    tab = context.new_page()
    tab.goto(address, wait_until="commit")
    tab.wait_for_selector(".kgdx-report.live svg .box", state="attached")
    spent = tab.evaluate(
        """() => {
            const box = document.querySelector("svg.wide .box");
            box.dispatchEvent(new MouseEvent("click", { bubbles: true }));
            if (box.getAttribute("aria-pressed") !== "true") throw new Error("the graph does not answer");
            box.getBoundingClientRect();  // the layout of page and graph is part of it
            return performance.now();
        }"""
    )
    context.close()
    return float(spent)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("document", nargs="?", type=Path)
    parser.add_argument("--paths", type=int, default=200)
    parser.add_argument("--runs", type=int, default=10)
    options = parser.parse_args()
    if options.document:
        document = json.loads(options.document.read_text(encoding="utf-8"))
        document = grown(document, options.paths) if options.paths else document
    else:
        document = made_up(options.paths)

    from playwright.sync_api import sync_playwright

    started = time.perf_counter()
    html = page(document)
    spent = 1000 * (time.perf_counter() - started)
    print(f"page                {len(html.encode()) / 1e6:.3f} MB, made in {spent:.0f} ms")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        address = write(html, Path(folder) / "page.html").as_uri()
        program = os.environ.get("CHROMIUM") or shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        times = sorted(interactive(browser, address) for _ in range(options.runs + 1))
        version = browser.version
        browser.close()
    print(f"interactive (ms)    min {times[0]:.0f}, median {statistics.median(times):.0f}, max {times[-1]:.0f}")
    print(f"                    {len(times)} loads, Chromium {version}")


if __name__ == "__main__":
    main()
