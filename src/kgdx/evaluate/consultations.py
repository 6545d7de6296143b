"""Consultations measured: doctors with and without a model, graph and record meet the patients of OSCE cases.

Every case stays in the denominator; how many diagnoses the graph ranks at all is said beside.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgdx.answer.artifacts import Declared, candidates_of
from kgdx.case import Case, Finding, Status, read_text
from kgdx.case.case_files import Failure
from kgdx.episode.conversation import exchanges
from kgdx.episode.loop import Episode, begin, run
from kgdx.episode.policy import configure
from kgdx.episode.recorded_patient import SimulatedPatient
from kgdx.episode.segment import Author, Kind, dump
from kgdx.episode.state import Limits, State
from kgdx.episode.turns import turns
from kgdx.episode.world import World
from kgdx.errors import CaseError, LlmError, StoreError, UsageError, refusing
from kgdx.evaluate.judges import DiseaseJudge, same_by_graph
from kgdx.evaluate.labels import Labels
from kgdx.evaluate.metrics import interval
from kgdx.evaluate.osce_agents import Encounter, Osce, encounter, matching
from kgdx.evaluate.runner import WRITABLE, Record, Runner, finish, kept
from kgdx.files.known import write_whole
from kgdx.llm.chat import ChatModel, Prices, names, prompt
from kgdx.policies.doctor import DoctorPolicy, RulesDoctorPolicy, diagnosis
from kgdx.policies.doctor_forms import NamedDisease

if TYPE_CHECKING:
    from kgdx.api import Graph

WAYS = ("medkgi", "house", "agentclinic", "thought", "mediq")
"""How a doctor consults; the last three need a model."""

ABLATIONS: Mapping[str, Mapping[str, Any]] = {
    "no-graph": {"graph": False},
    "no-record": {"record": False},
    "random": {"selector": "random"},
    "degree": {"selector": "degree"},
}
"""What is left out of a doctor: one switch each."""

LIMITS = Limits(steps=5_000, stagnation=5_000, errors=5_000)
"""The doctor's own number of turns ends a consultation; what fails is counted and gone on without."""

PROMPTS = ("doctor_", "patient", "measurement", "vignette")
"""How the names of the prompts begin that a consultation is held with."""

LOGS = "consultations"
"""Folder of an evaluation with the log of each consultation; they hold the words of all who spoke."""

READ = frozenset({"read_record", "read_differential", "read_turn", "read_answer"})
"""Actions that read what a model wrote as a doctor."""

TOP, MOST = 5, 10
"""Diseases of a differential that count for the second figure, and for that of the cases which the graph ranks."""


@dataclass(frozen=True)
class Doctor:
    """A doctor by name, such as ``medkgi`` or ``house:no-graph``."""

    name: str
    policy: DoctorPolicy | RulesDoctorPolicy


def doctor(name: str, *, model: bool, questions: int = 20) -> Doctor:
    """Return a doctor by a model or by rules: one of :data:`WAYS`, with what differs behind a colon.

    That are :data:`ABLATIONS` and settings of the policy, joined by a plus.

    Example:
        >>> doctor("medkgi:random", model=False).policy.selector
        'random'
        >>> doctor("medkgi:no-record+candidates=3", model=True).policy.candidates
        3
    """
    way, _, told = name.partition(":")
    parts = [each for each in told.split("+") if each]
    if way not in WAYS or any("=" not in each and each not in ABLATIONS for each in parts):
        hint = f"one of {', '.join(WAYS)}, with {', '.join(f':{each}' for each in ABLATIONS)} or :setting=value"
        raise UsageError(f"no doctor {name[:40]!r}", hint=hint)
    differs = dict[str, Any](each.split("=", 1) for each in parts if "=" in each)
    for each in parts:
        differs |= ABLATIONS.get(each, {})
    settings: dict[str, Any] = {"selector": "medkgi"} if way == "medkgi" else {}
    settings |= {
        "questions": questions,
        "explain": 0,
        "examine": way == "medkgi",
        "interview": way == "house",
        **differs,
    }
    if not model and way not in ("medkgi", "house"):
        raise UsageError(f"the doctor {way} is a language model", hint="name one with --llm")
    if model:
        settings = {"way": way, **({"alignment": "paper"} if way == "medkgi" else {}), **settings}
    made = configure(DoctorPolicy if model else RulesDoctorPolicy, settings)
    return Doctor(name, made)


@dataclass(frozen=True)
class Cast:
    """Who plays what, rules where ``None``; what a million tokens cost that the doctor reads and writes.

    Vignettes are no cases where nobody stages them.
    """

    doctor: ChatModel | None = None
    patient: ChatModel | None = None
    judge: DiseaseJudge | None = None
    prices: Prices = (0.0, 0.0)
    stage: ChatModel | None = None


@dataclass
class ConsultEvaluation:
    """Lets each doctor meet every patient, some at the same time, and adds up how they did."""

    graph: Graph
    doctors: Sequence[Doctor]
    cast: Cast = field(default_factory=Cast)
    seed: int = 0
    jobs: int = 1
    progress: Callable[[], None] = lambda: None
    folder: Path | None = field(default=None, init=False)

    def run(self, cases: Iterable[Case | Failure], folder: Path | None = None) -> dict[str, Any]:
        """Let every doctor meet every patient.

        Args:
            folder: Keeps finished consultations and their logs; those that it has are not held again.

        Returns:
            ``doctors``: name → figures; ``coverage``: share of the cases whose diagnosis the graph ranks; ``n``;
            ``failed``: what could not be read; ``rows``: what was measured of each consultation.
        """
        self.folder = folder
        played, failed = osce_cases(cases, self.cast.stage)
        about = {
            "what": "consultations",
            "graph": self.graph.fingerprint,
            "seed": self.seed,
            "patient": _name(self.cast.patient),
            "doctor": _name(self.cast.doctor),
            "judge": self.cast.judge.id if self.cast.judge else "none",
            "stage": _name(self.cast.stage),
            "questions": [each.policy.questions for each in self.doctors],
            "prompts": [prompt(each).id for each in names() if each.startswith(PROMPTS)],
        }
        with kept(folder, about) as journal:
            runner = Runner(journal, self.jobs, self.progress, strict=True)
            items = ((each.case.id, each) for each in played)
            rows = runner.run(items, [each.name for each in self.doctors], self)
            runner.check()
            report = self._report(played, rows, failed)
            finish(folder, rows, {key: value for key, value in report.items() if key != "rows"})
        return report

    def __call__(self, osce: Osce, name: str) -> Record:
        """Let a doctor meet a patient; what a used up budget has spoilt is not measured."""
        graph, who = self.graph, next(each for each in self.doctors if each.name == name)
        models = {} if self.cast.doctor is None else {self.cast.doctor.name: self.cast.doctor}
        world = World(graph, self._encounter(osce), models, prices=self.cast.prices)
        start = begin(osce.opening, who.policy, seed=self.seed, limits=LIMITS, fingerprint=graph.fingerprint)
        episode = run(world, start, who.policy)
        if any(each.failed == "budget" for each in exchanges(episode.log)):
            return {"error": "the budget of the doctor's model is used up", "kind": "budget"}
        record = self._row(name, osce, episode)
        if self.folder is not None:
            _keep(self.folder / LOGS / name.replace(":", "-"), osce.case.id, episode)
        return record

    @cached_property
    def _labels(self) -> Labels:
        return Labels.of_graph(self.graph)

    def _encounter(self, osce: Osce) -> Encounter:
        def read(text: str) -> Case:
            case = replace(osce.opening, text=text)
            with suppress(CaseError):
                case = read_text(case, self.graph.reader, self.graph.ancestry, words=True)
            return replace(case, text="")

        def invents(sentence: str) -> bool:
            return any(
                not self._told(each, story, osce) for each in read(sentence).findings if each.status is Status.PRESENT
            )

        story, results = (read("\n".join(each.text for each in facts)) for facts in (osce.story, osce.results))
        known, measured = (SimulatedPatient(each, self.graph.ancestry) for each in (story, results))
        return encounter(osce, known, patient=self.cast.patient, measured=measured, invents=invents)

    def _told(self, finding: Finding, story: Case, osce: Osce) -> bool:
        above, said = self.graph.ancestry.ancestors, {*story.observed}
        if said & {finding.id, *above(finding.id)} or any(finding.id in above(id) for id in said):
            return True
        return bool(matching(osce.story, finding.label, 1))  # what the reader did not find in it

    def _row(self, who: str, osce: Osce, episode: Episode) -> Record:
        state, label = episode.state, self._labels.of(osce.case)
        named = stated(state)
        right = [same_by_graph(each, osce.diagnosis, label, self.graph.ranker) for each in named[:MOST]]
        exact = bool(right and right[0])
        judged: bool | None = exact or None
        if self.cast.judge is not None and named and not exact:
            judged = self.cast.judge.same(osce.diagnosis, named[0].name)
        spent = state.counts.spent
        return {
            "id": osce.case.id,
            "doctor": who,
            "covered": bool(label.right),
            "exact": exact,
            "within": any(right[:TOP]),
            "ten": any(right),
            "judged": bool(judged),
            "named": bool(named),
            "rounds": len(turns(state.log)),
            "ordered": sum(bool(each.asked.order) for each in turns(state.log)),
            "diagnosis": named[0].name if named else "",
            "reason": episode.reason,
            "faults": dict(faults(state)),
            "calls": spent.calls,
            "tokens": spent.prompt_tokens + spent.completion_tokens,
            "cost": round(spent.cost, 9),
        }

    def _report(
        self, played: Sequence[Osce], rows: Sequence[Record], failed: Sequence[Mapping[str, str]]
    ) -> dict[str, Any]:
        missed = [{"id": each["id"], **_MISSED} for each in failed]
        by = {each.name: [row for row in rows if row["arm"] == each.name] + missed for each in self.doctors}
        total = len(played) + len(failed)
        return {
            "n": total,
            "coverage": sum(bool(self._labels.of(each.case).right) for each in played) / total,
            "played_by": {
                "doctor": _name(self.cast.doctor),
                "patient": _name(self.cast.patient),
                "judge": self.cast.judge.id if self.cast.judge else "none",
            },
            "doctors": {name: figures(found) for name, found in by.items()},
            "failed": list(failed),
            "rows": list(rows),
        }


_MISSED: Mapping[str, Any] = {
    **dict.fromkeys(("covered", "exact", "within", "ten", "judged", "named"), False),
    **dict.fromkeys(("rounds", "ordered", "calls", "tokens", "cost"), 0),
    "faults": {},
}


def osce_cases(
    cases: Iterable[Case | Failure], stage: ChatModel | None = None
) -> tuple[list[Osce], list[dict[str, str]]]:
    """Return the OSCE cases, and why others are none; a model may stage vignettes."""
    played, failed = [], []
    for case in cases:
        try:
            if isinstance(case, Failure):
                raise CaseError(case.message)
            vignette = stage is not None and "actor" not in case.extra
            played.append(Osce.staged(case, stage) if stage is not None and vignette else Osce.of(case))
        except (CaseError, LlmError) as error:
            if isinstance(error, LlmError) and error.kind not in ("malformed", "refused", "truncated"):
                raise
            id = case.id or case.where if isinstance(case, Failure) else case.id
            failed.append({"id": id, "error": str(error)})
    if not played:
        raise CaseError("there is no OSCE case to consult on", hint="give cases in AgentClinic's form")
    return played, failed


def stated(state: State) -> tuple[NamedDisease, ...]:
    """Return the diseases that a consultation ended with, the diagnosis first.

    Those that a model has named count as it named them; otherwise those that were declared, or ranked.
    """
    remarks = (each.data.get("code") for each in state.log if each.kind is Kind.WISH and each.name == "remark")
    if (named := diagnosis(state)) and "left" not in remarks:
        return named
    declared = state.last(Declared)
    ranked = {each.id: each.name for each in candidates_of(state)}
    ids = declared.diseases if declared is not None and declared.diseases else tuple(ranked)
    return tuple(NamedDisease(ranked.get(id, id), (id,)) for id in ids)


def faults(state: State) -> Counter[str]:
    """Return what went wrong in a consultation and was gone on without, by kind."""
    found: Counter[str] = Counter()
    for segment in state.log:
        if segment.author is Author.PATIENT:
            found.update(f"patient_{each.partition(':')[0]}" for each in segment.data.get("remarks", ()))
        elif segment.kind is Kind.WISH and segment.name == "remark":
            found[str(segment.data["code"])] += 1
        elif segment.kind is Kind.RESULT and segment.name in READ and segment.data["artifact"]["failed"]:
            found["unreadable"] += 1
    return found


def figures(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    ids = [row["id"] for row in rows]
    found: dict[str, Any] = {"n": len(rows)}
    for name in ("exact", "within", "judged"):
        about = interval([float(row[name]) for row in rows], ids)
        found[name] = {"share": about["mean"], "low": about["low"], "high": about["high"]}
    covered = [row for row in rows if row["covered"]]
    for name in ("exact", "ten"):
        found[f"{name}_of_covered"] = sum(row[name] for row in covered) / len(covered) if covered else None
    for name in ("rounds", "ordered", "calls", "tokens"):
        found[name] = sum(row[name] for row in rows) / len(rows)
    found["cost"] = round(sum(row["cost"] for row in rows), 9)
    found["silent"] = sum(not row["named"] for row in rows)
    total: Counter[str] = Counter()
    for row in rows:
        total.update(row["faults"])
    found["faults"] = dict(sorted(total.items()))
    return found


def expanded(doctors: Iterable[str], ablate: Iterable[str]) -> Iterator[str]:
    """Yield doctors by name, each followed by itself without what is to be left out: graph, record, selector."""
    left_out = {"graph": ("no-graph",), "record": ("no-record",), "selector": ("random", "degree")}
    wanted = list(ablate)
    for each in wanted:
        if each not in left_out:
            raise UsageError(f"{each[:40]!r} cannot be left out", hint=f"of {', '.join(left_out)}")
    for name in doctors:
        yield name
        if name.partition(":")[0] in ("medkgi", "house") and ":" not in name:
            yield from (f"{name}:{one}" for each in wanted for one in left_out[each])


def _keep(folder: Path, id: str, episode: Episode) -> None:
    path = folder / f"{re.sub(r'[^A-Za-z0-9._-]', '-', id)}.jsonl"
    with refusing(StoreError, f"{path} cannot be written", WRITABLE):
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(path, dump(episode.log))


def _name(model: ChatModel | None) -> str:
    return "rules" if model is None else model.name
