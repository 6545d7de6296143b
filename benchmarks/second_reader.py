"""Reading texts by rules, and by rules and a language model: right, missed, wrong; calls and tokens.

Run ``python -m benchmarks.second_reader TEXTS… --llm MODEL [--jobs N] [--show]``. TEXTS are JSON lines::

    {"id": …, "language": "en", "text": …, "truth": [{"label": "Seizure", "status": "present"}, …]}

with ``term``, an HPO id, in place of ``label`` where one is known; or with ``phrase`` for the text and ``expected`` for
the truth, in words: ``Chest pain -absent; 发热/Fever +present``. The model is asked as everywhere: at
``KGDX_LLM_BASE_URL``, from the cache where it has answered before, ``--jobs`` texts at a time. Without ``--llm`` rules
alone are measured; with ``--perfect`` the model is one that knows the truth and quotes whole texts, which tells what
names that are held to the graph, and rules that stay, leave of a perfect reading.

A text is right where all of its truth is read and nothing that is not; wrong where a finding is read as present that is
no relative of one in the truth, or as absent that is present there; else something was missed. A finding is met by
itself and by what is more general or more special by one step, a present one by all that is more special, an absent one
by all that is more general; relatives are also those with a common parent. People judge a fifth to a quarter of the
texts otherwise: the figures compare readings, and are no accuracy. Findings that are no terms of HPO are not counted.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import Any

import kgdx
from kgdx.api import Graph
from kgdx.api.questions import READER, faults, read_twice, within
from kgdx.case import Case, Extraction
from kgdx.episode.loop import begin, run_many
from kgdx.episode.segment import add_spent
from kgdx.episode.state import Limits, State
from kgdx.episode.world import World
from kgdx.llm.budget import Spent
from kgdx.llm.chat import ChatModel, Completion, OnText, Request, private_loop
from kgdx.policies.second_reader import ReadTwice, united

VERDICTS = ("right", "missed", "wrong")
_EXPECTED = re.compile(r"\s*(.+?)\s*[+-]\s*(present|absent)\s*")

Said = tuple[str, str]
"""Id and status of a finding."""


@dataclass
class Truth:
    """A text with what is to be read in it; labels that the graph does not know are left out."""

    id: str
    language: str
    text: str
    expected: tuple[Said, ...]
    unknown: tuple[str, ...] = ()


@dataclass
class Arm:
    """What one way of reading has read, text by text."""

    name: str
    read: list[tuple[Said, ...]]
    labels: list[list[Said]] = field(default_factory=list)
    """The same by names, as people judge it."""
    notes: list[str] = field(default_factory=list)
    spent: Spent = field(default_factory=Spent)

    def take(self, found: Extraction) -> None:
        self.read.append(tuple(dict.fromkeys((each.id, str(each.status)) for each in found.findings)))
        self.labels.append(list(dict.fromkeys((each.label, str(each.status)) for each in found.findings)))


class Relatives:
    """Which terms are near to each other in the ontology."""

    def __init__(self, graph: Graph) -> None:
        self._above = graph.ancestry.ancestors
        ids = graph.snapshot.values("phenotype", "id").all
        self._parents: dict[str, set[str]] = defaultdict(set)
        edges = (graph.snapshot.column("is_a", end).tolist() for end in ("child", "parent"))
        for child, parent in zip(*edges, strict=True):
            self._parents[ids[child]].add(ids[parent])

    def meets(self, special: str, general: str) -> bool:
        return special == general or general in self._above(special) or special in self._parents[general]

    def related(self, one: str, other: str) -> bool:
        line = one == other or one in self._above(other) or other in self._above(one)
        return line or bool(self._parents[one] & self._parents[other])

    def verdict(self, expected: Sequence[Said], read: Iterable[Said]) -> str:
        present = [id for id, status in read if status == "present" and id.startswith("HP:")]
        absent = [id for id, status in read if status == "absent" and id.startswith("HP:")]
        true = [id for id, status in expected if status == "present"]
        strange = any(not any(self.related(id, each) for each in true) for id in present)
        if strange or any(id in true for id in absent):
            return "wrong"
        met = (
            any(self.meets(each, id) for each in present)
            if status == "present"
            else any(self.meets(id, each) for each in absent)
            for id, status in expected
        )
        return "right" if all(met) else "missed"


def truths(paths: Iterable[Path], graph: Graph) -> Iterator[Truth]:
    for path in paths:
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            expected, unknown = [], []
            for label, status in _expected(row):
                found = graph.resolve(label).finding
                if found is None:
                    unknown.append(label)
                else:
                    expected.append((found.id, status))
            text = row.get("text") or row["phrase"]
            language = row.get("language") or ("zh" if re.search("[一-鿿]", text) else "en")
            yield Truth(row["id"], language, text, tuple(expected), tuple(unknown))


def _expected(row: Mapping[str, Any]) -> Iterator[Said]:
    for each in row.get("truth", ()):
        yield each.get("term") or each["label"], each["status"]
    for part in re.split("[;；]", row.get("expected", "")):
        if found := _EXPECTED.fullmatch(part):
            yield found[1].split("/")[-1], found[2]


class Perfect(ChatModel):
    """A model that writes the truth of each text, by the names in it, and doubts what is no relative of it."""

    _SHOWN = re.compile(r'^(\d+)\. ".*": (.+) \((present|absent)\)$', re.MULTILINE)

    def __init__(self, graph: Graph, texts: Iterable[Truth], relatives: Relatives) -> None:
        self._graph, self._relatives = graph, relatives
        self._known = {each.text.strip(): each for each in texts}

    @property
    def name(self) -> str:
        return "perfect"

    async def complete(self, request: Request, on_text: OnText | None = None) -> Completion:
        words = request.messages[-1].content
        if "# Note" not in words:
            return Completion(json.dumps({str(number): "a" for number in range(1, 41)}), self.name)
        truth = self._known[words.split("# Note\n\n")[1].split("\n\n# Read by the program")[0]]
        label = self._graph.ranker.names.label
        said = {"quote": truth.text, "whose": "patient"}
        found = [{**said, "name": label(id), "status": status} for id, status in truth.expected]
        doubts = [{"number": int(n), "reason": "other meaning"} for n, name, status in self._SHOWN.findall(words)
                  if (read := self._graph.resolve(name).finding) is not None
                  and self._relatives.verdict(truth.expected, [(read.id, status)]) == "wrong"]  # fmt: skip
        return Completion(json.dumps({"findings": found, "doubts": doubts}), self.name)


def by_rules(graph: Graph, texts: Sequence[Truth]) -> Arm:
    arm = Arm("rules", [])
    for each in texts:
        arm.take(graph.extract(each.text))
    return arm


def by_both(
    graph: Graph, texts: Sequence[Truth], model: ChatModel | str, limits: Limits, jobs: int, *, heed_doubts: bool
) -> Arm:
    """Read all texts by rules and the model, so many at a time."""
    held = within(limits)
    chooser, world = read_twice(graph, None, World(graph), model, limits, heed_doubts=heed_doubts)
    starts = [begin(Case(each.id, text=each.text), chooser, limits=held) for each in texts]
    work = run_many(world, starts, chooser, concurrency=jobs)
    arm = Arm("rules and model" + (", doubts heeded" if heed_doubts else ""), [])
    for each, episode in zip(texts, asyncio.run_coroutine_threadsafe(work, private_loop()).result(), strict=True):
        arm.take(united(graph.extract(each.text), episode.state))
        arm.notes.append(_note(episode.state))
        arm.spent = reduce(add_spent, episode.log, arm.spent)
    return arm


def _note(state: State) -> str:
    told = [{name: value for name, value in each.summary().items() if value} for each in state.all(ReadTwice)]
    failed = [issue.message for issue in faults(state) if issue.where == READER]
    return json.dumps([*filter(None, told), *failed], ensure_ascii=False)


def table(arms: Sequence[Arm], texts: Sequence[Truth], relatives: Relatives) -> Iterator[str]:
    yield "| reading | language | right | missed | wrong | of the truth | calls | cached | tokens read | written |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for arm in arms:
        for language in ("all", *sorted({each.language for each in texts})):
            some = [n for n, each in enumerate(texts) if language in ("all", each.language)]
            counts = Counter(relatives.verdict(texts[n].expected, arm.read[n]) for n in some)
            wanted = [(n, each) for n in some for each in texts[n].expected]
            met = sum(relatives.verdict([each], [s for s in arm.read[n] if s[1] == each[1] and
                      relatives.related(s[0], each[0])]) == "right" for n, each in wanted)  # fmt: skip
            spent, whole = arm.spent, language == "all"
            cost = (spent.calls, spent.cached, spent.prompt_tokens, spent.completion_tokens) if whole else ("",) * 4
            cells = (arm.name, language, *(counts[each] for each in VERDICTS), f"{met}/{len(wanted)}", *cost)
            yield f"| {' | '.join(map(str, cells))} |"


def changes(arms: Sequence[Arm], texts: Sequence[Truth], relatives: Relatives) -> Iterator[str]:
    """Yield what each text of which the model said something came to."""
    for n, each in enumerate(texts):
        verdicts = [relatives.verdict(each.expected, arm.read[n]) for arm in arms]
        notes = [arm.notes[n] for arm in arms if arm.notes]
        if len(set(verdicts)) > 1 or (notes and notes[0] != "[]"):
            yield f"{each.id}\t{' → '.join(verdicts)}\t{each.text}\t{list(each.expected)}\t{notes[:1]}"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", type=Path, nargs="+")
    parser.add_argument("--llm")
    parser.add_argument("--perfect", action="store_true")
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--limit", type=int, help="read the first N texts of all")
    parser.add_argument("--max-calls", type=int, default=2_000)
    parser.add_argument("--max-tokens", type=int)
    parser.add_argument("--graph", type=Path)
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--out", type=Path, help="write what each way reads of each text, by names, as JSON lines")
    options = parser.parse_args(arguments)
    os.environ.setdefault("KGDX_LLM_CONCURRENCY", str(options.jobs))
    limits = Limits(steps=500, calls=options.max_calls, tokens=options.max_tokens)
    with kgdx.open(options.graph) as graph:
        texts = list(truths(options.texts, graph))[: options.limit]
        arms = [by_rules(graph, texts)]
        relatives = Relatives(graph)
        model = Perfect(graph, texts, relatives) if options.perfect else options.llm
        for heed_doubts in (False, True) if model is not None else ():
            arms.append(by_both(graph, texts, model, limits, options.jobs, heed_doubts=heed_doubts))
        print("\n".join(table(arms, texts, relatives)))
        if unknown := [label for each in texts for label in each.unknown]:
            print(f"\nnot known to the graph, and left out: {', '.join(unknown)}")
        if options.out:
            lines = ({"id": each.id, "text": each.text, "read": {arm.name: arm.labels[n] for arm in arms}}
                     for n, each in enumerate(texts))  # fmt: skip
            options.out.write_text("".join(f"{json.dumps(each, ensure_ascii=False)}\n" for each in lines), "utf-8")
        if options.show:
            print("\n".join(changes(arms, texts, relatives)))


if __name__ == "__main__":
    main()
