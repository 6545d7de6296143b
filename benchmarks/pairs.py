"""Time the making of preference pairs against a scripted HTTP server; ``python -m benchmarks.pairs [--store FOLDER]``.

The server is a process of its own and answers at once, by what it is asked: no thought is like another, so that each of
them is searched for. All that a user's run does is done: searches, facts of the graph, requests over HTTP, the journal.
A sample is a text that the model writes: of a question 15 thoughts, two answers behind each, and 5 answers.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import sys
import tempfile
import time
from collections import Counter
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import kgdx
from kgdx.answer.option_questions import OptionQuestion
from kgdx.config import LlmAccess
from kgdx.llm.connect import connect
from kgdx.policies.thought import ThoughtPolicy
from kgdx_train.pair_choice import Filters
from kgdx_train.pair_making import PairMaker, Retrieval, made_of
from kgdx_train.sample_journal import SampleJournal

ROOT = Path(__file__).resolve().parents[1]
NAMES = ("Marfan syndrome", "Huntington disease", "cystic fibrosis", "Wilson disease", "Gaucher disease", "gout")
LEAST = 200
"""Samples a second that are wanted."""


def serve(url: Connection) -> None:
    sys.path.insert(0, str(ROOT / "tests"))
    from llm.server import Body, Reply, Say, serving

    def script(body: Body, number: int) -> Reply:
        said = body["messages"][0]["content"]
        seed = body.get("seed") or number
        if said.startswith("You prepare"):
            name = NAMES[seed % len(NAMES)]
            return Say(f"What matters here is {name}: its gene, its inheritance and its findings, by point {seed}.")
        return Say(f"It rests on the evidence. Answer: {'AB'[seed // 7 % 2]}")

    with serving(script) as server:
        url.send(server.url)
        url.recv()


def questions(count: int) -> list[OptionQuestion]:
    options = {"A": "FBN1", "B": "HTT", "C": "CFTR", "D": "ATP7B"}
    return [
        OptionQuestion(str(number), f"Patient {number} has {NAMES[number % len(NAMES)]}. Which gene?", options, "A")
        for number in range(count)
    ]


def measured(store: str | None, count: int, concurrency: int, url: str) -> dict[str, Any]:
    with kgdx.open(store) as graph, tempfile.TemporaryDirectory() as folder:
        model = connect(LlmAccess("m", url, attempts=1, timeout=60.0, concurrency=concurrency))
        retrieval = Retrieval(graph, ThoughtPolicy())
        with SampleJournal(Path(folder) / "first").working({}) as first:  # loads the client and opens the index
            asyncio.run(PairMaker(retrieval, model, first).ask(questions(1), lambda: None))
        journal = SampleJournal(Path(folder) / "journal")
        maker = PairMaker(retrieval, model, journal, concurrency=concurrency)
        found: dict[str, Any] = {}
        for name in ("samples", "again, all of them known"):
            started, used = time.perf_counter(), time.process_time()
            with journal.working({}):
                asked = asyncio.run(maker.ask(questions(count), lambda: None))
            wall, processor = time.perf_counter() - started, time.process_time() - used
            number = len(journal)
            found[name] = {
                "number": number,
                "a second": round(number / wall),
                "ms of processor": processor / number * 1e3,
            }
        made, about = made_of(asked, Filters(), 0)
    return {**found, "pairs": Counter(each.kind for each in made), "questions": about["thought"]["questions"]}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store")
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--concurrency", type=int, default=32)
    given = parser.parse_args()
    here, there = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(there,), daemon=True)
    server.start()
    found = measured(given.store, given.questions, given.concurrency, here.recv())
    here.send("end")
    server.join(10)
    for name, told in found.items():
        print(f"{name}: {dict(told)}")
    return int(found["samples"]["a second"] < LEAST)


if __name__ == "__main__":
    sys.exit(main())
