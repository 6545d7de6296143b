"""Size of an evidence page and the time until a reader can use it, and how quick the workbench is, in Chromium.

    python benchmarks/page.py [diagnosis.json] --paths 200 --runs 10
    python benchmarks/page.py --workbench --store GRAPH --runs 40
    python benchmarks/page.py --pictures docs/images

The page is that of a diagnosis whose first candidate has so many evidence paths, made from those of the given
diagnosis (``kgdx diagnose CASE --json``) or made up; or of the document as it is with ``--paths 0``. "Interactive" is
the time from the start of the navigation until the page's script has run and the first box of the graph answers to a
click and is laid out, each run in a fresh profile.

With ``--workbench`` the page of ``kgdx serve`` is measured, started here with one worker: its first contentful paint in
fresh profiles, and from a change to a patient (a finding flipped, removed and brought back, added; a letter typed into
the note) until the new ranking is painted. With ``--pictures`` its pictures for the documentation are taken instead.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
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
    head = {"schema": "kgdx.diagnosis/3", "case": case, "n_candidates": 12_000, "candidates": [best]}
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


CHANGED = """async (change) => {
    const ranked = document.getElementById("ranked");
    const painted = () => new Promise((done) => requestAnimationFrame(() => {
        const after = new MessageChannel();
        after.port1.onmessage = () => done(performance.now());
        after.port2.postMessage(0);
    }));
    const shown = new Promise((done) => new MutationObserver((_, observer) => {
        if (!ranked.classList.contains("stale")) { observer.disconnect(); done(); }
    }).observe(ranked.querySelector("#ranking"), { childList: true }));
    const text = document.getElementById("text");
    const started = performance.now();
    if (change === "flip") document.querySelector(".chip .flip").click();
    else if (change === "remove") document.querySelector(".chip .remove").click();
    else if (change === "undo") document.getElementById("undo").click();
    else { text.value += "."; text.dispatchEvent(new Event("input", { bubbles: true })); }
    await shown;
    return (await painted()) - started;
}"""
"""Makes a change to the patient of the workbench, and returns the milliseconds until the new ranking is painted."""


@contextmanager
def served(store: Path | None) -> Iterator[str]:
    """Run the server; yields its address."""
    command = [sys.executable, "-m", "kgdx", "serve", "--port", "0", "--workers", "1", "--rate", "0"]
    command += ["--store", str(store)] if store else []
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        lines = (line for line in process.stderr if "listening on " in line)
        yield next(lines).partition("listening on ")[2].strip()
    finally:
        process.terminate()
        process.communicate(timeout=30)


def workbench(browser: Any, address: str, runs: int) -> None:
    """Print how soon the workbench is painted, and how soon it follows a change."""
    paints = []
    for _ in range(runs + 1):
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        tab = context.new_page()
        tab.goto(address)
        tab.wait_for_selector("#ranking li", timeout=60_000)
        paints.append(tab.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime"))
        context.close()
    tell("first paint", paints[1:])  # the first one starts the browser's own processes
    tab = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    tab.goto(address)
    tab.wait_for_selector("#ranking li", timeout=60_000)
    every = []
    for change in ("flip", "remove", "undo", "type"):
        if change == "type":
            tab.click("#edit")
        times = []
        for _ in range(runs):
            tab.wait_for_timeout(150)
            times.append(tab.evaluate(CHANGED, change))
            if change == "remove":
                tab.wait_for_timeout(150)
                tab.evaluate(CHANGED, "undo")
            elif change == "undo":
                tab.wait_for_timeout(150)
                tab.evaluate(CHANGED, "flip")
        tell(f"{change} to ranking", times)
        every += times
    tell("any change", every)


NOTE = """Referral letter. 7-year-old girl with global developmental delay, seizures since infancy, possible hypotonia.
No hearing impairment. Her mother has migraine. Mild scoliosis. Keeps glimming her left frob."""
PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
DESK = {"viewport": {"width": 1180, "height": 800}}


def pictures(browser: Any, address: str, folder: Path) -> None:
    """Take the pictures of the workbench: the example, one finding flipped, on a phone, in Chinese, printed."""

    def opened(locale: str, device: dict[str, Any]) -> Any:
        tab = browser.new_context(locale=locale, color_scheme="light", **device).new_page()
        tab.goto(address)
        tab.wait_for_selector("#next h3", timeout=60_000)
        return tab

    def taken(tab: Any, name: str) -> None:
        tab.mouse.move(0, 0)
        tab.wait_for_timeout(800)
        tab.screenshot(path=folder / f"workbench-{name}.png")

    def flipped(tab: Any) -> None:
        tab.click(".chip:nth-child(3) .flip")
        tab.wait_for_selector(".chip:nth-child(3).absent")

    desk, phone, chinese = opened("en", DESK), opened("en", PHONE), opened("zh-CN", PHONE)
    taken(desk, "before")
    for tab, name in ((desk, "after"), (phone, "phone-after"), (chinese, "chinese-after")):
        flipped(tab)
        if tab is not desk:
            tab.evaluate("document.getElementById('ranked').scrollIntoView()")
        taken(tab, name)
    printed = opened("en", {"viewport": {"width": 900, "height": 1000}})
    printed.click("#own")
    printed.fill("#title", "Girl, 7, delay and seizures")
    printed.fill("#text", NOTE)
    printed.wait_for_timeout(2000)
    printed.click("#edit")
    printed.emulate_media(media="print")
    taken(printed, "print")


def tell(what: str, times: list[float]) -> None:
    """Print the middle and the slow end of some times."""
    ordered = sorted(times)
    slow = ordered[min(len(ordered) - 1, round(0.95 * len(ordered)))]
    print(f"{what + ' (ms)':<24}p50 {statistics.median(ordered):.0f}, p95 {slow:.0f}, of {len(ordered)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("document", nargs="?", type=Path)
    parser.add_argument("--paths", type=int, default=200)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--workbench", action="store_true", help="measure the page of kgdx serve")
    parser.add_argument("--pictures", type=Path, help="folder that gets pictures of it")
    parser.add_argument("--store", type=Path, help="its graph")
    options = parser.parse_args()

    from playwright.sync_api import sync_playwright

    program = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if options.workbench or options.pictures:
        with served(options.store) as address, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
            if options.pictures:
                pictures(browser, address, options.pictures)
            else:
                workbench(browser, address, options.runs)
            browser.close()
        return
    if options.document:
        document = json.loads(options.document.read_text(encoding="utf-8"))
        document = grown(document, options.paths) if options.paths else document
    else:
        document = made_up(options.paths)
    started = time.perf_counter()
    html = page(document)
    spent = 1000 * (time.perf_counter() - started)
    print(f"page                {len(html.encode()) / 1e6:.3f} MB, made in {spent:.0f} ms")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        address = write(html, Path(folder) / "page.html").as_uri()
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        times = sorted(interactive(browser, address) for _ in range(options.runs + 1))
        version = browser.version
        browser.close()
    print(f"interactive (ms)    min {times[0]:.0f}, median {statistics.median(times):.0f}, max {times[-1]:.0f}")
    print(f"                    {len(times)} loads, Chromium {version}")


if __name__ == "__main__":
    main()
