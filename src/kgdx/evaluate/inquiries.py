"""How fast questions lead to the disease: simulated patients are asked, and the truth's rank is taken each time.

The episode is the one that a person is asked in (:class:`~kgdx.policies.inquiry.InquiryPolicy`), without an end before
the last question. A patient that cannot be asked is a miss at every question.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from kgdx.case import Ancestry, Case, Finding, Status
from kgdx.case.case_files import Failure
from kgdx.episode.loop import answered, run
from kgdx.episode.recorded_patient import EXACT, Noise, SimulatedPatient, opening
from kgdx.episode.segment import Author, Kind, Segment
from kgdx.episode.state import Limits, State
from kgdx.episode.wish import AskPatient
from kgdx.episode.world import World
from kgdx.errors import CaseError, UsageError
from kgdx.evaluate.inquiry_report import Consulted, report
from kgdx.evaluate.labels import Labels
from kgdx.evaluate.metrics import mean_rank
from kgdx.evaluate.words_reader import words_reader
from kgdx.policies.inquiry import InquiryPolicy
from kgdx.rank.held_out_ranks import Withheld
from kgdx.rank.selectors import make_selector

if TYPE_CHECKING:
    from kgdx.api import Graph
    from kgdx.evaluate.journal import Journal

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

Key = tuple[str, Answers]
"""A selector, and how is answered."""
Asked = tuple[Case | Failure, tuple[Key, ...]]
"""A patient, and who is still to ask it."""
Heard = tuple[Key, Consulted | None]
"""Who asked a patient, and what came of it; ``None`` for one that states no diagnosis."""


@dataclass(frozen=True, slots=True)
class Setting:
    """How patients are asked.

    Attributes:
        questions: Most questions.
        start: How many findings are known at first, of a patient who reports none.
        seed: Of the findings that are, of the noise, and of selectors that choose at random.
        noise: How far answers are from what is recorded.
        kinds: What is asked about.
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
    """Asks simulated patients, by one selector after the other.

    Args:
        graph: What is known.
        labels: Say what counts as right.
        read: Turns the words of a case into findings.
        setting: How patients are asked.
    """

    graph: Graph
    labels: Labels
    read: Callable[[Case], Case] = lambda case: case
    setting: Setting = field(default_factory=Setting)

    def __post_init__(self) -> None:
        self._withheld = Withheld(self.graph.ranker, self.graph.snapshot)

    def consult(self, case: Case | Failure, selector: str, answers: Answers = "named") -> Consulted | None:
        """Ask one patient; ``None`` for one that states no diagnosis."""
        if isinstance(case, Failure):
            return Consulted(case.id or case.where, error=case.message)
        label = self.labels.of(case)
        if not label.stated:
            return None
        publications = frozenset(case.publications)
        seen = None
        if label.right and publications:
            seen = any(self._withheld.cites(number, publications) for number in label.right)
        who = Consulted(case.id, case.publications[0] if publications else case.id, label.disease, seen)
        try:
            return self._ask(self.read(case), label.right, selector, answers, who)
        except CaseError as error:
            return replace(who, error=str(error))

    def _ask(self, case: Case, right: Sequence[int], selector: str, answers: Answers, who: Consulted) -> Consulted:
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
        world = World(self.graph)
        ranks: list[float] = []
        shares: list[float] = []
        leading: list[float] = []
        times: list[float] = []
        hits = 0
        turns: list[tuple[Finding, ...]] = []
        while True:
            rank, share, led = self._stands(state.case, right)
            ranks.append(rank)
            shares.append(share)
            leading.append(led)
            if len(ranks) > self.setting.questions:
                break
            begin = time.perf_counter()
            episode = run(world, state, policy)
            asked = episode.state.pending
            if not isinstance(asked, AskPatient):
                break
            times.append(1000 * (time.perf_counter() - begin))
            reply = patient.reply(asked, episode.state)
            hits += reply.status is Status.PRESENT
            before = set(episode.state.case.findings)
            state = answered(episode.state, reply)
            if forgets:
                turns.append(tuple(each for each in state.case.findings if each not in before))
                state = _forgotten(state, first, turns[-REMEMBERED:])
        left = self.setting.questions + 1 - len(ranks)
        return replace(
            who,
            ranks=(*ranks, *ranks[-1:] * left),
            shares=(*shares, *shares[-1:] * left),
            leading=(*leading, *leading[-1:] * left),
            asked=len(times),
            hits=hits,
            milliseconds=tuple(times),
        )

    def heard(self, asked: Asked) -> Iterator[Heard]:
        """Yield what came of each consultation of a patient."""
        case, keys = asked
        for key in keys:
            yield key, self.consult(case, *key)

    def patient(self, case: Case, answers: Answers) -> SimulatedPatient:
        """Return who answers for a case."""
        return SimulatedPatient(
            case, self._ancestry, answers == "named", case.source == COMPLETE, self.setting.noise, self.setting.seed
        )

    @property
    def _ancestry(self) -> Ancestry:
        return self.graph.ancestry

    def _stands(self, case: Case, right: Sequence[int]) -> tuple[float, float, float]:
        """Rank and share of the right disease, and the share of the leading one."""
        ranker = self.graph.ranker
        scored = ranker.score_query(ranker.query(case.evidence)[0])  # what is unknown changes no score
        share = ranker.posterior(scored)
        return mean_rank(scored.total, right), float(share[list(right)].sum()) if right else 0.0, float(share.max())


@dataclass(frozen=True, slots=True)
class Inquiring:
    """The work of asking patients on a graph, for :func:`kgdx.learn.shares.shared`.

    Attributes:
        setting: How they are asked.
    """

    setting: Setting

    def inquiries(self, graph: Graph) -> Inquiries:
        """Return what asks."""
        labels = Labels(graph.ranker, graph.snapshot, lambda: graph.names)
        return Inquiries(graph, labels, words_reader(graph), self.setting)

    def on(self, graph: Graph) -> Callable[[Asked], list[Heard]]:
        """Return what asks a patient."""
        inquiries = self.inquiries(graph)
        return lambda asked: list(inquiries.heard(asked))


def _forgotten(state: State, first: Case, turns: Sequence[tuple[Finding, ...]]) -> State:
    """Return the state as if only what was known at first and some turns had been heard."""
    kept = first
    for finding in (each for turn in turns for each in turn):
        kept = kept.with_finding(finding)
    return state.add(Segment(Author.LOOP, Kind.RESULT, "forget"), case=kept)


def evaluate_inquiry(
    inquiries: Inquiries,
    cases: Iterable[Case | Failure],
    selectors: Sequence[str],
    answers: Sequence[Answers] = ("named",),
    journal: Journal | None = None,
    progress: Callable[[], object] = lambda: None,
    through: Callable[[Iterable[Asked]], Iterable[Iterable[Heard]]] | None = None,
) -> dict[str, Any]:
    """Ask every patient by every selector and compare.

    Args:
        inquiries: Asks.
        cases: Patients with their diagnoses.
        selectors: Names, with settings behind a colon.
        answers: Whether a yes says which finding it is; one or both.
        journal: Where each finished consultation is kept, and taken from when run again.
        progress: Called after each patient.
        through: Has others do what :meth:`Inquiries.heard` does with each of its items.

    Returns:
        ``selectors``: name → what :func:`~kgdx.evaluate.inquiry_report.report` says of it, with named answers where
        both were measured; ``answers``: the same for each; ``n``, ``unlabelled``, ``failed``, ``setting``.

    Raises:
        UsageError: A selector does not exist, or is given twice.
        CaseError: No case states its diagnosis.
    """
    if len(set(selectors)) != len(selectors) or not selectors:
        raise UsageError("no selector, or one twice", hint="give names such as infogain,degree")
    for name in selectors:
        make_selector(name.removesuffix(FORGETFUL))
    known = (
        {} if journal is None else {(each["case"], each["selector"], each["answers"]): each for each in journal.records}
    )
    found: dict[Key, list[Consulted]] = {(name, how): [] for how in answers for name in selectors}
    unlabelled = 0
    given = list(cases)

    def asked() -> Iterator[Asked]:
        for number, case in enumerate(given):
            yield case, tuple(key for key in found if (number, *key) not in known)

    for number, heard in enumerate((through or partial(map, inquiries.heard))(asked())):
        told = {key: Consulted.of(known[number, *key]["consulted"]) for key in found if (number, *key) in known}
        for key, each in heard:
            told[key] = each
            if journal is not None:
                consulted = None if each is None else each.record()
                journal.add({"case": number, "selector": key[0], "answers": key[1], "consulted": consulted})
        unlabelled += all(each is None for each in told.values())
        for key, each in told.items():
            if each is not None:
                found[key].append(each)
        progress()
    if not any(found.values()):
        raise CaseError("no case states its diagnosis", hint="give phenopackets, or JSON lines with diseases")
    by_answers = {how: {"selectors": report({name: found[name, how] for name in selectors})} for how in answers}
    shown: Answers = "named" if "named" in answers else answers[0]
    some = found[selectors[0], shown]
    return {
        "selectors": by_answers[shown]["selectors"],
        "answers": by_answers,
        "n": len(some),
        "unlabelled": unlabelled,
        "failed": [{"id": each.id, "error": each.error} for each in some if each.error],
        "setting": setting_of(inquiries.setting),
    }


def setting_of(setting: Setting) -> dict[str, Any]:
    """Return a setting as plain values."""
    from dataclasses import asdict

    return {**asdict(setting), "kinds": list(setting.kinds)}


def sampled(
    cases: Iterable[Case | Failure], count: int, seed: int = 0, by_publication: int = 2
) -> list[Case | Failure]:
    """Return cases chosen at random, at most some of a publication.

    Example:
        >>> cases = [Case(str(n), publications=("PMID:1",)) for n in range(9)]
        >>> len(sampled(cases, 5))
        2
    """
    given = list(cases)
    order = np.random.default_rng(seed).permutation(len(given)).tolist()
    chosen: list[int] = []
    having: dict[str, int] = {}
    for number in order:
        case = given[number]
        publication = case.publications[0] if isinstance(case, Case) and case.publications else ""
        if publication and having.get(publication, 0) >= by_publication:
            continue
        having[publication] = having.get(publication, 0) + 1
        chosen.append(number)
        if len(chosen) == count:
            break
    return [given[number] for number in sorted(chosen)]
