"""Proposes questions: what may still be asked, which of it tells most for its price, and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import numpy as np

from kgdx.arrays.sparse import Floats, Ints, gather
from kgdx.case.ddxplus_release import PREFIX, VALUE, evidences
from kgdx.case.patient import Case, Issue, Status
from kgdx.errors import ConfigError, UsageError
from kgdx.rank.evidences import Evidences
from kgdx.rank.fusion import Scored, leading
from kgdx.rank.question_pools import KINDS, Pool, pools
from kgdx.rank.selectors import COMPARED, DEFAULT, Selector, Situation, make_selector
from kgdx.resources import resource

if TYPE_CHECKING:
    from kgdx.rank.query import Query
    from kgdx.rank.ranking import Names
    from kgdx.rank.ranking_model import RankModel
    from kgdx.rank.scorers import Scorer

Way = Literal["ask", "examine", "laboratory", "imaging"]
"""How a question is answered: by asking, by examining, by a laboratory test, by imaging."""
WAYS: tuple[Way, ...] = ("ask", "examine", "laboratory", "imaging")
EVEN: Mapping[str, float] = dict.fromkeys(WAYS, 1.0)
"""Prices by which all questions cost the same."""
MOVED = 5
"""Leaders of which an explanation tells how an answer moves them."""
LEAST_SHARE = 1e-9
"""Share of a disease that somebody has named, however unlikely it is."""
TELLING = 1000
"""Findings of most gain among which narrower ones are looked for."""
OPTIONS = 8
"""Narrower findings, or values, that a question offers after a yes."""


class Moved(NamedTuple):
    """How an answer moves a leading disease.

    Attributes:
        id: The disease.
        name: Its name.
        share: Its share now.
        yes: Its share after a yes, as the question's value supposes.
        no: Its share after a no.
        likelihood: How often patients with the disease have the finding, as far as the graph tells.
    """

    id: str
    name: str
    share: float
    yes: float
    no: float
    likelihood: float


class Option(NamedTuple):
    """A more specific answer than yes: a narrower finding, or a value."""

    id: str
    label: str


class Question(NamedTuple):
    """A question about one finding.

    Attributes:
        kind: One of :data:`~kgdx.rank.question_pools.KINDS`.
        id: The finding.
        label: Its name.
        gain: Bits that the answer is expected to tell about which disease it is, whatever selector chose it.
        value: What the selector gives it, for its price; in the selector's own unit.
        way: How it is answered.
        price: Price of that.
        chance: Share of a yes, as the posterior supposes.
        why: How an answer moves the leaders, those first that it moves most.
        options: What a yes may be narrowed to, the most telling first.
        below: Other proposed findings that need not be asked once this one is absent or unknown.
    """

    kind: str
    id: str
    label: str
    gain: float
    value: float = 0.0
    way: Way = "ask"
    price: float = 1.0
    chance: float = 0.0
    why: tuple[Moved, ...] = ()
    options: tuple[Option, ...] = ()
    below: tuple[str, ...] = ()


class Believer(Protocol):
    """Says what is believed of a case; :class:`kgdx.rank.ranker.Ranker` does."""

    @property
    def model(self) -> RankModel:
        """The compiled model."""
        ...

    @property
    def names(self) -> Names:
        """What its numbers stand for."""
        ...

    @property
    def scorers(self) -> Mapping[str, Scorer]:
        """Scorer by name."""
        ...

    def query(self, case: Case) -> tuple[Query, tuple[Issue, ...]]:
        """Return a case's findings as rows, and what of it cannot be used."""
        ...

    def score_query(self, query: Query) -> Scored:
        """Score every candidate."""
        ...

    def posterior(self, scored: Scored) -> Floats:
        """Return the share of each candidate."""
        ...

    def number_of(self, disease: str) -> int:
        """Return the number of the candidate that a disease is, or -1."""
        ...


class _Valued(NamedTuple):
    """A question that may be asked, before it is put in words."""

    value: float
    row: int
    price: float
    at: Situation


class Proposer:
    """Proposes questions for cases of one graph.

    Args:
        ranker: Says what is believed.
    """

    def __init__(self, ranker: Believer) -> None:
        self._ranker = ranker

    @cached_property
    def pools(self) -> dict[str, Pool]:
        """What can be asked, by kind."""
        found = self._ranker.scorers.get("evidences")
        return pools(self._ranker.model, self._ranker.names, found if isinstance(found, Evidences) else None)

    def propose(
        self,
        case: Case,
        selector: str | Selector = DEFAULT,
        count: int = 48,
        *,
        unknown: Iterable[str] = (),
        kinds: Sequence[str] = ("phenotype",),
        costs: Mapping[str, float] = EVEN,
        among: Iterable[str] = (),
        named: bool = True,
        seed: int = 0,
        scored: Scored | None = None,
        evenly: bool = False,
    ) -> tuple[Question, ...]:
        """Return the questions that are worth most for their price, best first.

        Args:
            case: What is known of the patient. Findings of unknown status count as asked.
            selector: Name of a selector, with settings behind a colon.
            count: How many.
            unknown: Ids to which the answer was "unknown", beside those of the case.
            kinds: What may be asked about; a kind of which the graph knows nothing gives no question.
            costs: Price by way of answering; 1 for a way that is not named.
            among: Ids of the diseases that are to be told apart; all where none of them is a candidate.
            named: Whether a yes is followed by "which?".
            seed: Of random choices.
            scored: The case as it was scored, where it was scored otherwise than by the ranker.
            evenly: Whether the diseases to tell apart are taken for equally likely.
        """
        chosen = make_selector(selector)
        prices = checked(costs)
        if scored is None:
            scored = self._ranker.score_query(self._ranker.query(case)[0])
        asked = [*unknown, *(each.id for each in case.findings if each.status is Status.UNKNOWN)]
        belief = _among(self._ranker.posterior(scored), [self._ranker.number_of(each) for each in among], evenly)
        found: list[_Valued] = []
        for kind in kinds:
            if kind not in KINDS:
                raise UsageError(f"no kind of question {kind[:40]!r}", hint=f"one of {', '.join(KINDS)}")
            if kind in self.pools:
                pool = self.pools[kind]
                free = pool.free(case.observed, (*case.excluded, *asked))
                found += self._valued(Situation(belief, pool, free, scored, named, seed), chosen, count, prices)
        best = sorted(found, key=lambda each: -each.value)[:count]
        told = {
            id(at): self._told(at, [each for each in best if each.at is at])
            for at in {id(e.at): e.at for e in best}.values()
        }
        return _with_below([told[id(each.at)][each.row] for each in best], self.pools)

    def _valued(self, at: Situation, selector: Selector, count: int, prices: Mapping[str, float]) -> list[_Valued]:
        """Return the best questions of one kind."""
        price = np.array([prices[way] for way in WAYS])[self._ways[at.pool.kind]]
        value = np.where(at.free, selector.value(at) / price, 0.0)
        best = leading(value, count)
        return [_Valued(float(value[row]), int(row), float(price[row]), at) for row in best[value[best] > 0]]

    def _told(self, at: Situation, chosen: Sequence[_Valued]) -> dict[int, Question]:
        """Return questions of one kind in words, with the reason of each."""
        pool, gain = at.pool, at.gain
        rows = np.array([each.row for each in chosen], np.int64)
        leaders = at.leaders(COMPARED)
        likelihood = pool.of(leaders, rows)
        share = at.told[leaders].astype(np.float64)
        chance = share @ likelihood / max(float(share.sum()), 1e-30)
        still = np.where(at.free, gain, 0)
        telling = leading(still, TELLING)
        telling = telling[still[telling] > 0]
        why = self._why(leaders, share, likelihood)
        options = _options(pool, rows, telling)
        return {
            each.row: Question(
                *(pool.kind, pool.ids[each.row], pool.labels(each.row), float(gain[each.row]), each.value),
                *(WAYS[self._ways[pool.kind][each.row]], each.price, float(chance[place]), why[place]),
                options[place],
            )
            for place, each in enumerate(chosen)
        }

    def _why(self, leaders: Ints, share: Floats, likelihood: Floats) -> list[tuple[Moved, ...]]:
        """How a yes and a no move the leaders, in the shares among all, for each question."""
        yes, no = (_moved(share, each) for each in (likelihood, 1 - likelihood))
        most = np.argsort(-np.maximum(abs(yes - share[:, None]), abs(no - share[:, None])), axis=0, kind="stable")
        first = most[:MOVED]
        numbers = np.stack([share[first], *(np.take_along_axis(each, first, axis=0) for each in (yes, no, likelihood))])
        described = [self._ranker.names.candidate(number) for number in leaders.tolist()]
        return [
            tuple(Moved(described[at].id, described[at].name, *each) for at, each in zip(which, moved, strict=True))
            for which, moved in zip(first.T.tolist(), numbers.transpose(2, 1, 0).tolist(), strict=True)
        ]

    @cached_property
    def _ways(self) -> dict[str, Ints]:
        """Number of the way of answering of each item, by kind."""
        roots = _read_ways()
        found = {}
        for kind, pool in self.pools.items():
            ways = np.full(len(pool.ids), WAYS.index("laboratory" if kind == "test" else "ask"))
            for way, ids in roots.items():
                for row in (pool.rows.get(id, -1) for id in ids):
                    if row >= 0:
                        ways[row if pool.down is None else pool.down.columns(row)] = WAYS.index(way)
            found[kind] = ways
        return found


def _among(belief: Floats, numbers: Sequence[int], evenly: bool) -> Floats:
    """Return the shares of some candidates among themselves; those of all where none of them is one."""
    kept = [number for number in numbers if number >= 0]
    if not kept:
        return belief
    shares = np.zeros_like(belief)
    shares[kept] = 1.0 if evenly else np.maximum(belief[kept], LEAST_SHARE)
    found: Floats = shares / shares.sum()
    return found


def _moved(share: Floats, likelihood: Floats) -> Floats:
    """Shares after an answer, which leaves their sum as it is; shape (leaders, questions)."""
    joint = share[:, None] * likelihood
    total = joint.sum(axis=0)
    moved: Floats = joint * np.divide(share.sum(), total, out=np.zeros_like(total), where=total > 0)
    return moved


def _with_below(questions: list[Question], known: Mapping[str, Pool]) -> tuple[Question, ...]:
    """Return the questions, each with those of the others that a no settles."""
    below: dict[str, list[str]] = {each.id: [] for each in questions}
    for each in questions:
        pool = known[each.kind]
        rows = [] if pool.up is None else pool.up.columns(pool.rows[each.id]).tolist()
        for upper in {pool.ids[row] for row in rows} - {each.id}:
            if upper in below:
                below[upper].append(each.id)
    return tuple(each._replace(below=tuple(below[each.id])) for each in questions)


def _options(pool: Pool, rows: Ints, telling: Ints) -> list[tuple[Option, ...]]:
    """What a yes to each item may be narrowed to: values of an evidence, or the narrower findings that tell most."""
    if pool.kind == "evidence":
        return [_values(pool.ids[row]) for row in rows.tolist()]
    if pool.up is None:
        return [()] * len(rows)
    place = np.full(len(pool.ids), -1)
    place[rows] = np.arange(len(rows))
    position, owner = gather(pool.up.start, telling)
    of, narrower = place[pool.up.index[position]], telling[owner]
    below = np.flatnonzero((of >= 0) & (narrower != pool.up.index[position]))
    below = below[np.argsort(of[below], kind="stable")]
    ends = np.searchsorted(of[below], np.arange(len(rows) + 1))
    kept = [narrower[below[begin : min(end, begin + OPTIONS)]].tolist() for begin, end in pairwise(ends.tolist())]
    return [tuple(Option(pool.ids[row], pool.labels(row)) for row in each) for each in kept]


def _values(id: str) -> tuple[Option, ...]:
    one = evidences().get(id.removeprefix(PREFIX))
    values = one.values.items() if one is not None else ()
    return tuple(Option(f"{id}{VALUE}{value}", label) for value, label in values)


def checked(costs: Mapping[str, float]) -> dict[str, float]:
    """Return a price for each way of answering.

    Example:
        >>> checked({"imaging": 20})["imaging"], checked({})["ask"]
        (20.0, 1.0)
    """
    for way, price in costs.items():
        if way not in WAYS:
            raise UsageError(f"no way of answering {way[:40]!r}", hint=f"one of {', '.join(WAYS)}")
        if not 0 < price < float("inf"):
            raise UsageError(f"the price of {way} is {price}", hint="give a number above 0")
    return {way: float(costs.get(way, 1.0)) for way in WAYS}


def _read_ways() -> dict[str, list[str]]:
    """Way of answering → the findings that it is for, with all below them; later ones win."""
    import yaml

    path = resource("ranking", "question-ways.yaml")
    given: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    if not isinstance(given, dict) or set(given) - set(WAYS):
        raise ConfigError(f"{path} is damaged", hint="reinstall kgdx")
    return {way: [str(each).partition(" ")[0] for each in ids] for way, ids in given.items()}
