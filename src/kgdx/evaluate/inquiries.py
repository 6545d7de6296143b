"""How fast questions lead to the disease: simulated patients are asked, and the truth's rank is taken each time.

The episode is the one that a person is asked in (:class:`~kgdx.policies.inquiry.InquiryPolicy`), without an end before
the last question. A patient that cannot be asked is a miss at every question.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from kgdx.case import Case, Finding, Status
from kgdx.case.case_files import Failure
from kgdx.episode.loop import answered, run
from kgdx.episode.recorded_patient import EXACT, Noise, SimulatedPatient, opening
from kgdx.episode.segment import Author, Kind, Segment
from kgdx.episode.state import Limits, State
from kgdx.episode.wish import AskPatient
from kgdx.episode.world import World
from kgdx.errors import CaseError, UsageError
from kgdx.evaluate.labels import Labels, cluster, seen
from kgdx.evaluate.metrics import METRICS, MISS, Floats, as_json, bootstrap, mean_rank, milliseconds, once_each, values
from kgdx.evaluate.rank_accuracy import words_reader
from kgdx.evaluate.runner import Record, Runner, by_arm, failures, numbered
from kgdx.policies.inquiry import InquiryPolicy
from kgdx.rank.held_out_ranks import Withheld
from kgdx.rank.selectors import make_selector

if TYPE_CHECKING:
    from kgdx.api import Graph

Answers = Literal["bare", "named"]
"""Whether a yes says which recorded finding it is."""
ANSWERS: tuple[Answers, ...] = ("bare", "named")
ABLATIONS: Mapping[str, tuple[str, ...]] = {
    "graph": ("common",),
    "record": ("infogain/record",),
    "selector": ("random", "degree"),
}
"""What is left out, and the selectors that are measured without it; ``/record`` forgets all but the last turns."""
FORGETFUL = "/record"
REMEMBERED = 3
"""Last turns that a consultation without a record knows, beside what it began with."""
COMPLETE = "ddxplus"
"""Source of patients of whom everything is recorded."""

THRESHOLDS = (0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""Accuracies (the truth first) to which questions are counted."""
BASELINE = "degree"
"""The selector whose last accuracy is one, too."""
CERTAIN = (0.4, 0.5, 0.6, 0.7)
"""Shares of the leading disease at which a consultation might end."""
_PLACES = {name: METRICS.index(name) for name in ("top1", "top3", "top10", "mrr")}


@dataclass(frozen=True, slots=True)
class Setting:
    """How patients are asked.

    Attributes:
        start: How many findings are known at first, of a patient who reports none.
        noise: How far answers are from what is recorded.
    """

    questions: int = 20
    start: int = 2
    seed: int = 0
    noise: Noise = EXACT
    kinds: tuple[str, ...] = ("phenotype", "evidence")

    def __post_init__(self) -> None:
        if not 1 <= self.questions <= 500 or not 0 <= self.start <= 100:
            raise UsageError("the number of questions is out of range", hint="ask 1 to 500")


@dataclass
class Inquiries:
    """Asks simulated patients, by one selector after the other."""

    graph: Graph
    labels: Labels
    read: Callable[[Case], Case] = lambda case: case
    setting: Setting = field(default_factory=Setting)

    def __post_init__(self) -> None:
        self._withheld = Withheld(self.graph.ranker, self.graph.snapshot)

    def __call__(self, case: Case | Failure, arm: str) -> Record:
        selector, _, answers = arm.rpartition(" ")
        return self.consult(case, selector, "bare" if answers == "bare" else "named")

    def consult(self, case: Case | Failure, selector: str, answers: Answers = "named") -> Record:
        """Ask one patient; what states no diagnosis has no ``cluster``.

        Returns:
            ``id``, ``cluster`` (what the patient is resampled with: the publication), ``disease``, ``seen`` (whether
            the annotations cite the publication); ``ranks`` and ``shares`` of the truth and the share of the disease
            that is ``leading``, after each number of questions from none on; ``asked`` (fewer where nothing informative
            was left), ``hits`` (answered with yes), ``milliseconds`` (from each answer to the next question).
        """
        if isinstance(case, Failure):
            id = case.id or case.where
            return {"id": id, "cluster": id, "disease": "", "error": case.message}
        label = self.labels.of(case)
        if not label.stated:
            return {"id": case.id}
        who: Record = {"id": case.id, "cluster": cluster(case), "disease": label.disease}
        who["seen"] = seen(case, label.right, self._withheld)
        try:
            return who | self._ask(self.read(case), label.right, selector, answers)
        except CaseError as error:
            return who | {"error": str(error)}

    def _ask(self, case: Case, right: Sequence[int], selector: str, answers: Answers) -> Record:
        patient = self.patient(case, answers)
        name, forgets = selector.removesuffix(FORGETFUL), selector.endswith(FORGETFUL)
        policy = InquiryPolicy(
            questions=self.setting.questions,
            certain=1.0,
            selector=name,
            explain=0,
            kinds=self.setting.kinds,
            named=answers == "named",
        )
        first = opening(case, self.setting.start, self.setting.seed)
        state = State(first, limits=Limits(steps=100_000, stagnation=100_000), seed=self.setting.seed)
        world, turns = World(self.graph), list[tuple[Finding, ...]]()
        stood: list[tuple[float | None, float, float]] = []
        times: list[float] = []
        hits = 0
        known: tuple[tuple[str, ...], tuple[str, ...]] | None = None
        while True:
            before = known
            known = state.case.observed, state.case.excluded
            stood.append(stood[-1] if known == before else self._stands(state.case, right))
            if len(stood) > self.setting.questions:
                break
            begin = time.perf_counter()
            episode = run(world, state, policy)
            asked = episode.state.pending
            if not isinstance(asked, AskPatient):
                break
            times.append(1000 * (time.perf_counter() - begin))
            reply = patient.reply(asked, episode.state)
            hits += reply.status is Status.PRESENT
            heard = set(episode.state.case.findings)
            state = answered(episode.state, reply)
            if forgets:
                turns.append(tuple(each for each in state.case.findings if each not in heard))
                state = _forgotten(state, first, turns[-REMEMBERED:])
        stood += stood[-1:] * (self.setting.questions + 1 - len(stood))
        ranks, shares, leading = zip(*stood, strict=True)
        found = {"ranks": list(ranks), "shares": list(shares), "leading": list(leading)}
        return found | {"asked": len(times), "hits": hits, "milliseconds": times}

    def patient(self, case: Case, answers: Answers) -> SimulatedPatient:
        complete, setting = case.source == COMPLETE, self.setting
        return SimulatedPatient(case, self.graph.ancestry, answers == "named", complete, setting.noise, setting.seed)

    def _stands(self, case: Case, right: Sequence[int]) -> tuple[float | None, float, float]:
        ranker = self.graph.ranker
        scored = ranker.score_query(ranker.query(case.evidence)[0])  # what is unknown changes no score
        share = ranker.posterior(scored)
        rank = as_json(mean_rank(scored.total, right))
        return rank, float(share[list(right)].sum()) if right else 0.0, float(share.max())


def inquiries_on(graph: Graph, setting: Setting) -> Inquiries:
    return Inquiries(graph, Labels.of_graph(graph), words_reader(graph), setting)


def _forgotten(state: State, first: Case, turns: Sequence[tuple[Finding, ...]]) -> State:
    """Return the state as if only what was known at first and some turns had been heard."""
    kept = first
    for finding in (each for turn in turns for each in turn):
        kept = kept.with_finding(finding)
    return state.add(Segment(Author.LOOP, Kind.RESULT, "forget"), case=kept)


def arm_of(selector: str, answers: Answers) -> str:
    return f"{selector} {answers}"


def checked_selectors(selectors: Sequence[str]) -> None:
    """Refuse names that are no selectors."""
    if len(set(selectors)) != len(selectors) or not selectors:
        raise UsageError("no selector, or one twice", hint="give names such as infogain,degree")
    for name in selectors:
        make_selector(name.removesuffix(FORGETFUL))


def evaluate_inquiry(
    inquiries: Inquiries,
    cases: Iterable[Case | Failure],
    selectors: Sequence[str],
    answers: Sequence[Answers] = ("named",),
    runner: Runner | None = None,
) -> dict[str, Any]:
    """Ask every patient by every selector and compare.

    Returns:
        ``selectors``: name → what :func:`report` says of it, with named answers where both were measured; ``answers``:
        the same for each; ``n``, ``unlabelled``, ``failed``, ``setting``.
    """
    checked_selectors(selectors)
    arms = [arm_of(name, how) for how in answers for name in selectors]
    records = (runner or Runner()).run(numbered(cases), arms, inquiries)
    found = by_arm((each for each in records if "cluster" in each), arms)
    if not found:
        raise CaseError("no case states its diagnosis", hint="give phenopackets, or JSON lines with diseases")
    by_answers = {how: {"selectors": report({name: found[arm_of(name, how)] for name in selectors})} for how in answers}
    shown: Answers = "named" if "named" in answers else answers[0]
    some = found[arm_of(selectors[0], shown)]
    return {
        "selectors": by_answers[shown]["selectors"],
        "answers": by_answers,
        "n": len(some),
        "unlabelled": len([each for each in records if each["arm"] == arms[0]]) - len(some),
        "failed": failures(some),
        "setting": {**asdict(inquiries.setting), "kinds": list(inquiries.setting.kinds)},
    }


def report(found: Mapping[str, Sequence[Record]]) -> dict[str, Any]:
    """Return the figures of each selector, over the same patients in the same order.

    Returns:
        Name → ``by_question`` (``q``, ``n``, ``top1``, ``top3``, ``top10``, ``mrr``, mean ``share`` of the truth,
        ``ci95`` of each, from the start on), ``questions_to`` (an accuracy, or the last one of ``degree`` → questions
        until the truth is first that often, ``None`` for never), ``ms_median`` and ``ms_p95`` (milliseconds a
        question), ``hits`` (share of the questions that were answered with yes), ``asked`` (mean number), ``groups``
        (``unseen``: the same for patients whose publication the annotations do not cite; ``by_disease``: means over
        diseases), ``ending`` (a share of the leading disease → how often it is reached (``reached``), after how many
        questions (``median``), and how often the leading disease is right then (``right``)), and ``against``: other
        selector → differences of the last figures, in pairs, with intervals.
    """
    length = max((len(each.get("ranks", ())) for all_ in found.values() for each in all_), default=0) or 1
    shown: dict[str, Any] = {}
    for name, records in found.items():
        times = [spent for each in records for spent in each.get("milliseconds", ())]
        asked = sum(each.get("asked", 0) for each in records)
        shown[name] = {
            **_compared(name, found, length),
            **milliseconds(times),
            "hits": sum(each.get("hits", 0) for each in records) / asked if asked else None,
            "asked": asked / max(len(records), 1),
            "groups": {"by_disease": {"by_question": _curve(records, length, by_disease=True)}},
            "ending": {str(share): _ended(records, share) for share in CERTAIN},
        }
        unseen = {other: [each for each in those if each.get("seen") is False] for other, those in found.items()}
        if unseen[name]:
            shown[name]["groups"]["unseen"] = _compared(name, unseen, length)
    return shown


def _compared(name: str, found: Mapping[str, Sequence[Record]], length: int) -> dict[str, Any]:
    curve = _curve(found[name], length)
    baseline = float((_ranks(found[BASELINE], length)[:, -1] <= 1).mean()) if found.get(BASELINE) else None
    wanted = {str(share): share for share in THRESHOLDS} | ({} if baseline is None else {BASELINE: baseline})
    reached = {key: next((row["q"] for row in curve if row["top1"] >= share), None) for key, share in wanted.items()}
    against = {other: _paired(found[name], those, length) for other, those in found.items() if other != name}
    return {"by_question": curve, "questions_to": reached, "against": against}


def _ranks(records: Sequence[Record], length: int) -> Floats:
    missed = (None,) * length
    each = [record.get("ranks", missed) for record in records]
    return np.array([[MISS if rank is None else rank for rank in ranks] for ranks in each], float)


def _clusters(records: Sequence[Record]) -> list[str]:
    return [each["cluster"] for each in records]


def _curve(records: Sequence[Record], length: int, *, by_disease: bool = False) -> list[dict[str, Any]]:
    ranks = _ranks(records, length)
    share = np.array([each.get("shares", (0.0,) * length) for each in records], float)
    weight = once_each([each["disease"] for each in records])[0] if by_disease else np.ones(len(records))
    rows = []
    for q in range(length):
        each = values(ranks[:, q])
        mean = weight @ each / weight.sum()
        low, high = bootstrap(each, _clusters(records), weight)
        rows.append(
            {
                "q": q,
                "n": len(records),
                **{name: float(mean[place]) for name, place in _PLACES.items()},
                "share": float(weight @ share[:, q] / weight.sum()),
                "ci95": {name: [float(low[place]), float(high[place])] for name, place in _PLACES.items()},
            }
        )
    return rows


def _ended(records: Sequence[Record], share: float) -> dict[str, Any]:
    ends = [next((q for q, led in enumerate(each.get("leading", ())) if led >= share), None) for each in records]
    reached = [((each["ranks"][q] or MISS) <= 1, q) for each, q in zip(records, ends, strict=True) if q is not None]
    return {
        "reached": len(reached) / max(len(records), 1),
        "median": float(np.median([q for _, q in reached])) if reached else None,
        "right": float(np.mean([right for right, _ in reached])) if reached else None,
    }


def _paired(ours: Sequence[Record], others: Sequence[Record], length: int) -> dict[str, Any]:
    each = values(_ranks(ours, length)[:, -1]) - values(_ranks(others, length)[:, -1])
    low, high = bootstrap(each, _clusters(ours))
    return {
        name: {"difference": float(each[:, place].mean()), "ci95": [float(low[place]), float(high[place])]}
        for name, place in _PLACES.items()
    }


def sampled(cases: Iterable[Case | Failure], count: int, seed: int = 0) -> list[Case | Failure]:
    """Return cases chosen at random, at most two of a publication."""
    given = list(cases)
    order = np.random.default_rng(seed).permutation(len(given)).tolist()
    chosen: list[int] = []
    having: Counter[str] = Counter()
    for number in order:
        case = given[number]
        publication = case.publications[0] if isinstance(case, Case) and case.publications else ""
        if publication and having[publication] >= 2:
            continue
        having[publication] += 1
        chosen.append(number)
        if len(chosen) == count:
            break
    return [given[number] for number in sorted(chosen)]
