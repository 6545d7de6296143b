"""Transcripts in the protocol of a language model, made from what another policy did; and rows for verl.

A policy that writes no words (``fixed``, ``rounds``) is met with each case. What it looked up, matched and declared is
written down in tags or in calls, and done again on the graph: a transcript is a rollout as any other, its answers are
the graph's, and it has a reward.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from kgdx.case import Status
from kgdx.episode.conversation import conversation, spans
from kgdx.episode.loop import run
from kgdx.episode.policy import Policy
from kgdx.episode.segment import Kind, Segment
from kgdx.episode.state import State
from kgdx.errors import CaseError, StoreError, UsageError
from kgdx.files.private import private_file
from kgdx.learn.recorded_cases import RecordedCases
from kgdx.llm.chat import prompt
from kgdx.policies.tags import PROMPTS, Notation, TagsPolicy, presented
from kgdx_train.adversaries import Writer
from kgdx_train.rewards import Scoring, declared, reward
from kgdx_train.rollouts import Row, TagRollouts

Act = tuple[str, tuple[str, ...]]
"""What is done, and the names that it is done with."""
ARGUMENT = {"lookup": "diseases", "match": "phenotypes", "search": "queries", "diagnose": "diseases"}
THOUGHTS = {
    "lookup": "I look up what is typical of the diseases that lead.",
    "match": "I look for patients with the same phenotypes.",
    "search": "I search for what is written about the disease that leads.",
    "diagnose": "I state the diseases that fit best.",
}
"""What stands before an act; a policy without words has no thoughts of its own."""
VERL = "kgdx/diagnosis"
"""Name of the data source in rows for verl, by which it finds a reward function."""


def written(act: str, names: Sequence[str], notation: Notation) -> str:
    """Return an act as a model writes it, with a thought before it."""
    thought = f"<think>{THOUGHTS[act]}</think>"
    if notation == "calls":
        call = {"name": act, "arguments": {ARGUMENT[act]: list(names)}}
        return f"{thought}<tool_call>{json.dumps(call, ensure_ascii=False)}</tool_call>"
    if act == "diagnose":
        bold = ", ".join(f"\\textbf{{{name}}}" for name in names)
        return f"{thought}<diagnose>{bold}</diagnose>"
    whole = any("," in name for name in names)  # names with commas are parted by semicolons
    return f"{thought}<{act}>{'; '.join(names) + ';' if whole else ', '.join(names)}</{act}>"


class Transcripts:
    """Transcripts of a policy in the protocol."""

    def __init__(self, ward: RecordedCases, policy: Policy, model: TagsPolicy, scoring: Scoring | None = None) -> None:
        self.ward, self.policy, self.model = ward, policy, model
        self.scoring = scoring or Scoring(rules=model.rules)

    def of(self, id: str) -> Row:
        """Return the transcript of a case: prompt, text with who wrote it, reward."""
        log = run(self.ward.world, self.ward.start(id, policy=self.policy), self.policy).log
        acts = self.acts(self.ward.start(id), log)
        parts = [written(act, names, self.model.notation) for act, names in acts]
        [episode] = TagRollouts(self.ward).run(Writer(parts), self.model, [id])
        worth = reward(episode.log, self.ward.truth(id), self.scoring)
        return {
            "case": id,
            "notation": self.model.notation,
            "policy": self.policy.name,
            "prompt": [{"role": each.role, "content": each.content} for each in conversation(episode.log)[:2]],
            "completion": [{"text": each.text, "own": each.own} for each in spans(episode.log)],
            "reward": round(worth.value, 4),
        }

    def acts(self, begun: State, log: Sequence[Segment]) -> list[Act]:
        """Return what a policy did as a model may do it; a match and a search where it did none."""
        ids, _ = declared(log)
        names = [self._called(each) for each in ids[: self.model.rules.declared]]
        if not names:
            raise CaseError(f"the policy {self.policy.name} declares nothing for {begun.case.id[:40]!r}")
        findings = (each for each in begun.case.findings if each.status is Status.PRESENT)
        present = tuple(dict.fromkeys(each.label or each.id for each in findings))
        rules, wishes = self.model.rules, [each for each in log if each.kind is Kind.WISH]
        looked = [self._called(id) for each in wishes if each.name == "lookup" for id in _listed(each, "diseases")]
        found: list[Act] = []
        if present and rules.matches:
            found.append(("match", present))
        if looked and rules.lookups:
            found.append(("lookup", tuple(dict.fromkeys(looked))[: rules.names]))
        if rules.searches:
            found.append(("search", (names[0],)))
        return [*found, ("diagnose", tuple(names))]

    def _called(self, id: str) -> str:
        ranker = self.ward.graph.ranker
        number = ranker.number_of(id)
        return ranker.names.candidate(number).name if number >= 0 else id

    def all(self, ids: Iterable[str], tell: Callable[[], object] = lambda: None) -> Iterator[Row]:
        """Yield the transcripts of cases; those for which the policy declares nothing are left out."""
        for id in ids:
            try:
                yield self.of(id)
            except CaseError:
                continue
            finally:
                tell()


def _listed(segment: Segment, name: str) -> list[str]:
    given = segment.data.get(name) or segment.words.get(name) or ()
    return [str(each) for each in given]


def write_transcripts(rows: Iterable[Row], path: Path, least: float | None = None) -> int:
    """Write transcripts as JSON lines, and return how many."""
    count = 0
    try:
        with private_file(path).open("w", encoding="utf-8") as stream:
            for row in rows:
                if least is None or row["reward"] >= least:
                    stream.write(json.dumps(row, ensure_ascii=False) + "\n")
                    count += 1
    except OSError as error:
        raise StoreError(f"{path} cannot be written ({error.strerror})", hint="make room, or name another") from error
    return count


def read_transcripts(path: Path, notation: Notation) -> list[Row]:
    """Read the transcripts of a file."""
    hint = "make one with `kgdx learn transcripts`"
    try:
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
        sound = all(isinstance(row["prompt"], list) and isinstance(row["completion"], list) for row in rows)
        other = next((row["notation"] for row in rows if row["notation"] != notation), None)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{path} cannot be read as transcripts ({type(error).__name__})", hint=hint) from error
    if not rows or not sound:
        raise UsageError(f"{path} holds no transcripts", hint=hint)
    if other is not None:
        raise UsageError(f"{path} holds transcripts in {other}, the run is in {notation}", hint="give --notation")
    return rows


def verl_rows(ward: RecordedCases, ids: Iterable[str], model: TagsPolicy, side: str = "train") -> Iterator[Row]:
    """Yield rows as verl reads them: prompt, data source, what is right, and what names the case to its tools."""
    for index, id in enumerate(ids):
        told = presented(ward.start(id).case, model.rules)
        truth = ward.truth(id)
        right = {"ids": sorted(truth.ids), "names": list(truth.names)}
        yield {
            "data_source": VERL,
            "prompt": [
                {"role": each.role, "content": each.content}
                for each in prompt(PROMPTS[model.notation]).messages(**told)
            ],
            "ability": "diagnosis",
            "reward_model": {"style": "rule", "ground_truth": json.dumps(right)},
            "extra_info": {"split": side, "index": index, "case": id, "need_tools_kwargs": True},
        }


def write_verl(rows: Iterable[Row], path: Path) -> int:
    """Write rows for verl as Parquet, and return how many."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.Table.from_pylist(list(rows))
    try:
        pq.write_table(table, private_file(path))
    except OSError as error:
        raise StoreError(f"{path} cannot be written ({error.strerror})", hint="make room, or name another") from error
    return int(table.num_rows)
