"""How well ways to retrieve diseases find the right one: Hit@K and NDCG@K, and for each patient what went wrong.

The measures are those of GPT-RagAD: layer one retrieves K candidates from the graph, layer two re-orders them. Only
what a case's label means counts as right, of which the best rank counts.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from kgdx.answer.artifacts import DiseasesNamed
from kgdx.api.reranking import Estimate, PatientsAsked, Reranker
from kgdx.case.case_files import Failure
from kgdx.case.patient import Case
from kgdx.errors import CaseError, UsageError
from kgdx.evaluate.labels import KIN, Kinship, Label
from kgdx.evaluate.metrics import Floats, as_json, bootstrap, gains, hits, mean_rank, milliseconds, once_each, ranks_of
from kgdx.evaluate.model_use import ModelUsage
from kgdx.evaluate.runner import Record, by_arm, failures, labelled, shares
from kgdx.graph.snapshot import TABLES
from kgdx.llm.chat import ChatModel, Prices, Usage
from kgdx.policies.thought import ThoughtPolicy
from kgdx.rank.fusion import leading

if TYPE_CHECKING:
    from kgdx.api import Graph
    from kgdx.case import Case
    from kgdx.evaluate.labels import Labels
    from kgdx.graph.snapshot import Snapshot
    from kgdx.policies.rerank import RerankPolicy
    from kgdx.rank.ranker import Ranker
    from kgdx.rank.retrieval import Retrieval

COUNTED = ("asked", "failed", "unknown", "repeated", "omitted", "moved", "unexplained", "ties", "agreement", "bias")
"""What is kept of each order: see :class:`kgdx.results.ranked.Reranking`."""


class ModelOrder:
    """Has one model, which several orders may share with its budget, order pools by one policy."""

    def __init__(
        self, graph: Graph, model: ChatModel, policy: RerankPolicy, *, prices: Prices = (0.0, 0.0), seed: int = 0
    ) -> None:
        self.used = ModelUsage(model, prices)
        self.about = (policy.prompt.name, policy.prompt.digest)
        self._ranker = graph.ranker
        self._reranker = Reranker(graph, self.used, policy, concurrency=1, seed=seed)

    def __call__(self, pool: CandidatePool) -> Reordered:
        """Return the model's order of a pool; the order of retrieval where it gave none."""
        if self._reranker.policy.prompt.chosen_by(pool.case):
            what = f"the instruction {self.about[0]} was chosen on some of these patients"
            raise UsageError(what, hint="measure it on others, or another one on these")
        named = self._ranker.names.candidate
        ranking = self._reranker.listed([named(each).id for each in pool.candidates], pool.scores)
        made = self._reranker.order([(pool.case, ranking)])[0]
        self.used.check()
        order = tuple(self._ranker.number_of(id) for id in made.order)
        return Reordered(order, {name: getattr(made.told, name) for name in COUNTED})

    def estimate(self, cases: Iterable[Case], patients: int) -> Estimate:
        """Return what ordering so many patients' candidates will take; nothing is sent."""
        found = self._reranker.estimate(cases, patients)
        used = Usage(found.prompt_tokens, found.completion_tokens)
        return replace(found, cost=used.cost(self.used.prices))


class ModelAlone(PatientsAsked):
    """Has a model name a patient's diseases from what it knows, without the graph; what it does not name is a miss."""

    def __init__(self, graph: Graph, model: ChatModel) -> None:
        self.used = ModelUsage(model)
        super().__init__(graph, self.used, ThoughtPolicy(query="none"), concurrency=1)

    def __call__(self, pool: CandidatePool) -> Reordered:
        (episode,) = self._run([self._start(pool.case)], self.chooser)
        self.used.check()
        made = episode.state.get(DiseasesNamed)
        return Reordered(tuple(map(self.graph.ranker.number_of, made.declared if made else ())), alone=True)


KEPT = 100
"""Candidates that are retrieved, and re-ordered where a model does (the paper's best K)."""
AT = (1, 10, 20, 50)
AVERAGED = ("agreement", "bias")
"""What is told of an order and is no count."""
Stage = Literal["right", "behind", "lost in re-ranking", "missed in retrieval", "not in the graph", "failed"]
STAGES: tuple[Stage, ...] = get_args(Stage)
"""The right disease is first; is among those retrieved, but not first; was retrieved further up than it is re-ordered
to; is not among those retrieved; is no candidate; or the case could not be ranked."""
MEASURES: Mapping[str, Callable[[Any, Sequence[int]], Floats]] = {"hit": hits, "ndcg": gains}
COLUMNS = ("id", "stated", "arm", "retrieved", "rank", "stage", "kin", "first", "first_name", "error")
"""What is written of each patient and arm."""
SEPARATORS = {".csv": ",", ".tsv": "\t"}


@dataclass(frozen=True, slots=True)
class CandidatePool:
    """What layer one retrieved of a case whose words are read: numbers of the best candidates, best first."""

    case: Case
    candidates: tuple[int, ...]
    scores: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Reordered:
    """What layer two makes of a pool: the same numbers in a new order."""

    candidates: tuple[int, ...]
    told: Mapping[str, float | None] = field(default_factory=dict)
    """What became of the order that was asked for: counts, and shares or ``None``."""
    alone: bool = False
    """Whether nothing but what is named was retrieved."""


@dataclass(frozen=True, slots=True)
class Arm:
    """What is measured: a way to retrieve, and what re-orders its best ``kept``, if anything."""

    name: str
    method: Retrieval
    reorder: Callable[[CandidatePool], Reordered] | None = None
    kept: int = KEPT


@dataclass
class _Patient:
    """A case with its label before it is ranked, and its scores by methods: arms share what differs in layer two."""

    given: Case | Failure
    label: Label = field(default_factory=Label)
    case: Case = field(default_factory=lambda: Case(""))
    ms: float = 0.0
    error: str = ""
    scores: dict[int, tuple[Floats, float]] = field(default_factory=dict)


@dataclass
class RetrievedCases:
    """Measures of a case where its disease ranks by an arm, among some candidates, of shape (candidates,), or all."""

    arms: Sequence[Arm]
    ranker: Ranker
    snapshot: Snapshot
    labels: Labels
    read: Callable[[Case], Case] = lambda case: case
    among: Floats | None = None

    def __post_init__(self) -> None:
        self._by_name = {arm.name: arm for arm in self.arms}
        if len(self._by_name) < len(self.arms):
            raise UsageError("two arms have one name", hint="name each method once")
        self._kinship = Kinship(self.ranker, self.snapshot)
        self._last = threading.local()

    @property
    def size(self) -> int:
        return self.ranker.model.columns.size if self.among is None else int(self.among.sum())

    def __call__(self, case: Case | Failure, name: str) -> Record:
        """Measure one case by an arm; one without a diagnosis has no ``label``."""
        patient, arm = self._patient(case), self._by_name[name]
        if isinstance(case, Failure):
            id = case.id or case.where
            return {"id": id, "stated": "", "label": id, "known": False, "stage": "failed", "error": case.message}
        label = patient.label
        if not label.stated:
            return {"id": case.id}
        about = {"id": case.id, "stated": "; ".join(label.stated), "label": label.disease, "known": bool(label.right)}
        try:
            if patient.error:
                raise CaseError(patient.error)
            scores, ms = self._scores(patient, arm.method)
        except CaseError as error:
            return {**about, "stage": "failed", "error": str(error)}
        best = leading(scores, min(arm.kept, self.size))
        begin = time.perf_counter()
        order = Reordered(tuple(best.tolist()))
        if arm.reorder is not None:
            order = arm.reorder(CandidatePool(patient.case, order.candidates, tuple(scores[best].tolist())))
        ms += 1000 * (time.perf_counter() - begin)
        retrieved = rank = mean_rank(scores, label.right)
        if arm.reorder is not None:
            placed = {each: place for place, each in enumerate(order.candidates, 1)}
            missed = np.inf if order.alone else retrieved
            rank = float(min((placed[each] for each in label.right if each in placed), default=missed))
            retrieved = rank if order.alone else retrieved
        first = self.ranker.names.candidate(order.candidates[0]) if order.candidates else None
        return {
            **about,
            "retrieved": as_json(retrieved),
            "rank": as_json(rank),
            "first": first.id if first else "",
            "first_name": first.name if first else "",
            "stage": "right" if rank <= 1 else _stage(arm, label, retrieved, rank),
            "kin": self._kinship.of(order.candidates[0], label) if first else "none",
            "ms": patient.ms + ms,
            "told": dict(order.told),
        }

    def _patient(self, case: Case | Failure) -> _Patient:
        """The case that this thread measures, read once for all arms."""
        last: _Patient | None = getattr(self._last, "patient", None)
        if last is None or last.given is not case:
            last = self._last.patient = _Patient(case)
            if isinstance(case, Case):
                last.label = label = self.labels.of(case)
                if self.among is not None:
                    right, group = ([each for each in part if self.among[each]] for part in (label.right, label.group))
                    last.label = replace(label, right=tuple(right), group=tuple(group))
                begin = time.perf_counter()
                try:
                    last.case = self.read(case) if label.stated else case
                except CaseError as error:
                    last.error = str(error)
                last.ms = 1000 * (time.perf_counter() - begin)
        return last

    def _scores(self, patient: _Patient, method: Retrieval) -> tuple[Floats, float]:
        if id(method) not in patient.scores:
            begin = time.perf_counter()
            scores = method.scores(method.query(patient.case))
            if self.among is not None:
                scores = np.where(self.among, scores, -np.inf)
            patient.scores[id(method)] = scores, 1000 * (time.perf_counter() - begin)
        return patient.scores[id(method)]


def _stage(arm: Arm, label: Label, retrieved: float, rank: float) -> Stage:
    if not label.right:
        return "not in the graph"
    if retrieved > arm.kept:
        return "missed in retrieval"
    return "lost in re-ranking" if rank > retrieved else "behind"


def of_source(snapshot: Snapshot, ranker: Ranker, source: str) -> Floats:
    """Return which candidates a source describes: it has an entry of theirs, or says something of one."""
    stated = {"disease": np.arange(snapshot.rows("disease"))} | {
        name: snapshot.column(name, "disease")
        for name, columns in TABLES.items()
        if {"disease", "source"} <= set(columns)
    }
    known: dict[str, list[Floats]] = {}
    for name, rows in stated.items():
        sources = np.asarray(snapshot.table(name).column("source").to_pylist(), object)
        for each in {one for one in sources.tolist() if one}:
            known.setdefault(each, []).append(rows[sources == each])
    among = np.zeros(ranker.model.columns.size, bool)
    for rows in known.get(source, ()):
        of = ranker.model.candidates.of[rows]
        among[of[of >= 0]] = True
    if not among.any():
        raise UsageError(f"no source {source[:40]!r} describes a disease", hint=f"one of {', '.join(sorted(known))}")
    return among


def whole_numbers(given: str, name: str, least: int, most: int) -> tuple[int, ...]:
    """Return what an option lists, whole numbers with commas within bounds, ascending."""
    parts = [each.strip() for each in given.split(",") if each.strip()]
    if not parts or not all(each.isascii() and each.isdigit() and least <= int(each) <= most for each in parts):
        what = f"{name} {given[:40]!r} is no list of whole numbers from {least} to {most:,}"
        raise UsageError(what, hint=f"as in {name} 10,50")
    return tuple(sorted({int(each) for each in parts}))


def retrieval_figures(
    records: Iterable[Record], arms: Iterable[str], n_candidates: int, at: Sequence[int] = AT
) -> dict[str, Any]:
    """Return the figures of all cases by some arms, the baseline first, at some ranks.

    Returns:
        ``methods`` and ``in_graph`` (the cases whose label is among the candidates): arm → ``n``, ``hit`` and ``ndcg``
        (K → mean), ``ci95`` (the same with intervals over patients), ``ci95_labels`` (over labels), ``by_label`` (means
        over labels, with ``n`` and ``ci95``), ``labels`` (of each label ``n``, ``hit`` and what ranks first instead),
        ``ms_median``, ``stages`` and ``kin`` (shares of the cases), and ``orders`` (what became of a model's orders).
        Beside: ``paired`` (arm → differences from the first one, in pairs, of the cases ``in_graph``), ``labels`` (how
        many, how many among the candidates, and those that are not), ``not_run`` (arms that read nothing of any case),
        ``unlabelled``, ``failed``, ``n_candidates``.
    """
    every = by_arm(records, arms)
    first, unlabelled = labelled(next(iter(every.values()), []), "label")
    found = {name: [each for each in told if "label" in each] for name, told in every.items()}
    silent = {name: told[0]["error"] for name, told in found.items() if all(each.get("error") for each in told)}
    silent = silent if len(silent) < len(found) else {}
    found = {name: told for name, told in found.items() if name not in silent}
    in_graph = {name: [each for each in told if each["known"]] for name, told in found.items()}
    inside = {name: told for name, told in in_graph.items() if told}
    labels = {each["label"]: each for each in first if each["stated"]}
    return {
        "methods": {name: _figures(told, at) for name, told in found.items()},
        "in_graph": {name: {**_figures(told, at), "labels": by_label(told, at)} for name, told in inside.items()},
        "paired": _paired(inside, at),
        "labels": {
            "n": len(labels),
            "in_graph": sum(each["known"] for each in labels.values()),
            "unknown": sorted(each["stated"] for each in labels.values() if not each["known"]),
        },
        "unlabelled": unlabelled,
        "failed": {name: failures(told) for name, told in found.items()},
        "not_run": silent,
        "n_candidates": n_candidates,
    }


def by_label(told: Sequence[Record], at: Sequence[int]) -> dict[str, dict[str, Any]]:
    """Return of each label, as it is stated, its cases, hits, and what ranks first most often where it does not."""
    found = {}
    for label in sorted({each["stated"] for each in told}):
        some = [each for each in told if each["stated"] == label]
        others = [each["first_name"] for each in some if each.get("first") and each["stage"] != "right"]
        hit = hits(ranks_of(some), at).mean(axis=0)
        instead = max(dict.fromkeys(others), key=others.count, default="")
        found[label] = {"n": len(some), "hit": dict(zip(map(str, at), hit.tolist(), strict=True)), "instead": instead}
    return found


def _each(told: Sequence[Record], at: Sequence[int]) -> Floats:
    ranks = ranks_of(told)
    return np.column_stack([measure(ranks, at) for measure in MEASURES.values()])


def _figures(told: Sequence[Record], at: Sequence[int]) -> dict[str, Any]:
    labels, each = [one["label"] for one in told], _each(told, at)
    weight, n = once_each(labels)
    return {
        "n": len(told),
        **_shaped(each.mean(axis=0), at),
        "ci95": _interval(each, range(len(told)), at),
        "ci95_labels": _interval(each, labels, at),
        "by_label": {
            "n": n,
            **_shaped(weight @ each / weight.sum(), at),
            "ci95": _interval(each, labels, at, weight),
        },
        "ms_median": milliseconds([one["ms"] for one in told if "ms" in one])["ms_median"],
        "stages": shares((one["stage"] for one in told), STAGES),
        "kin": shares((one.get("kin", "none") for one in told), KIN),
        **_orders(told),
    }


def _orders(told: Sequence[Record]) -> dict[str, Any]:
    """What became of the orders that a model was asked for: sums of counts, means of shares; nothing without one."""
    found: dict[str, list[float]] = {}
    for each in told:
        for name, value in each.get("told", {}).items():
            if value is not None:
                found.setdefault(name, []).append(value)
    summed = {name: sum(values) if name not in AVERAGED else float(np.mean(values)) for name, values in found.items()}
    return {"orders": summed} if summed else {}


def _shaped(values: Sequence[Any] | Floats, at: Sequence[int]) -> dict[str, dict[str, Any]]:
    listed = [each.tolist() if isinstance(each, np.ndarray) else float(each) for each in values]
    return {
        name: dict(zip(map(str, at), listed[place * len(at) :], strict=False)) for place, name in enumerate(MEASURES)
    }


def _interval(
    each: Floats, clusters: Sequence[Hashable], at: Sequence[int], weights: Floats | None = None
) -> dict[str, dict[str, Any]]:
    return _shaped(np.column_stack(bootstrap(each, clusters, weights)), at)


def _paired(found: Mapping[str, Sequence[Record]], at: Sequence[int]) -> dict[str, Any]:
    (base, first), *others = found.items() if found else [("", [])]
    shown: dict[str, Any] = {}
    for name, told in others:
        both = {each["item"]: each for each in told}
        pairs = [(each, both[each["item"]]) for each in first if each["item"] in both]
        apart = _each([each for _, each in pairs], at) - _each([each for each, _ in pairs], at)
        shown[name] = {
            "against": base,
            **_shaped(apart.mean(axis=0), at),
            "ci95": _interval(apart, range(len(pairs)), at),
            "ci95_labels": _interval(apart, [each["label"] for each, _ in pairs], at),
        }
    return shown


def patient_lines(records: Iterable[Record], suffix: str) -> str:
    """Return a line for each patient and arm, as a table (``.csv``, ``.tsv``) or as JSON lines (``.jsonl``)."""
    import polars as pl

    empty = dict.fromkeys(COLUMNS, "") | {"retrieved": None, "rank": None, "kin": "none"}
    rows = [{key: row.get(key, empty[key]) for key in COLUMNS} for row in records if "label" in row]
    table = pl.DataFrame(rows, schema=list(COLUMNS), infer_schema_length=None, strict=False)
    if suffix == ".jsonl":
        return table.write_ndjson()
    return table.write_csv(separator=SEPARATORS[suffix])
