"""Proposes questions: what may still be asked, which of it tells most for its price, and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache, cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, cast

import numpy as np

from kgdx.arrays.sparse import Floats, Ints, gather
from kgdx.case.ddxplus_release import PREFIX, VALUE, evidences
from kgdx.case.patient import Case, Issue, Status
from kgdx.config.values import read_yaml
from kgdx.errors import ConfigError, UsageError
from kgdx.rank.complaints import FIRST, NARROWED, SEX, STAGES, Stage, asked_first, complaints_of, wordings
from kgdx.rank.evidences import Evidences
from kgdx.rank.fusion import Scored, leading
from kgdx.rank.gates import sex_told
from kgdx.rank.meanings import vectors_of
from kgdx.rank.question_pools import KINDS, QuestionPool, pools
from kgdx.rank.selectors import COMPARED, DEFAULT, Selector, Situation, make_selector
from kgdx.rank.settled import ALIKE, Settled
from kgdx.resources import resource

if TYPE_CHECKING:
    from kgdx.rank.query import Query
    from kgdx.rank.ranking import CandidateNames
    from kgdx.rank.ranking_model import RankModel
    from kgdx.rank.scorers import Scorer

Way = Literal["ask", "look", "examine", "laboratory", "imaging"]
"""How a question is answered: by asking, by looking, by examining, by a laboratory test, by imaging."""
WAYS: tuple[Way, ...] = ("ask", "look", "examine", "laboratory", "imaging")
EVEN: Mapping[str, float] = dict.fromkeys(WAYS, 1.0)
"""Prices by which all questions cost the same."""
EFFORT: Mapping[str, float] = {"ask": 1.0, "look": 1.1, "examine": 1.25, "laboratory": 2.0, "imaging": 3.0}
"""Prices by effort. Set by hand, not fitted."""
MOVED = 5
"""Leaders of which an explanation tells how an answer moves them."""
LEAST_SHARE = 1e-9
"""Share of a disease that somebody has named, however unlikely it is."""
OPTIONS = 8
"""Narrower findings, or values, that a question offers after a yes."""
OF_COMPLAINT, LATER, REVIEW, UNWORDED, JARGON, FAR, FAMILY = 6.0, 0.93, 0.25, 0.2, 0.1, 0.4, 3.0
"""How much more a question of the complaint's table is worth than another that tells as much, as far as common
conditions lead, and what part of that each place further back in a stage has; how much less a whole system is worth,
what nobody has put in everyday words, what has none at all, and what is of another system than all that is known; and
how much more its family. Where common conditions lead, no system is asked, nor what has no such words. Set by hand."""
LEAST_COMMON = 0.5
"""How far common conditions lead at least where questions of the complaint's table are valued."""
SETTLING, LIKELY, RARELY = 5, 0.4, 0.6
"""Leaders of which the tests are offered that settle it, and the share from which one is asked what settles it: a
common condition, and a rare disease, of which two findings in few others already make much."""
OFTEN, ALWAYS, RATIO = 0.4, 0.65, 2.0
"""How often patients have what a test that settles finds, or a finding that does, and how much it tells at least."""
TELLS = 0.03
"""Bits that a question to a person tells at least that the complaint's table does not have."""
UNLIKELY = 0.03
"""Share of an answer that nobody waits for."""
LEADING, LEAST_LEAD = 3, 0.05
"""Leaders that a question has to be able to change, and the share from which one counts that comes among them."""


class Moved(NamedTuple):
    """How an answer moves a leading disease: its share now, after a yes and a no, and P(finding | disease)."""

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

    ``gain`` is in bits, whatever selector chose it; ``value`` is the selector's own for the ``price``; ``chance`` the
    share of a yes; ``options`` what a yes may be narrowed to; ``below`` other proposed findings that need not be asked
    once this one is absent or unknown; ``stage`` where the table of complaints has it. It ``moves`` where an answer can
    change which disease is first, or bring a likely one among the first three; a test that everybody with the complaint
    gets is ``due``.
    """

    kind: str
    id: str
    label: str
    gain: float
    value: float = 0.0
    way: Way = "ask"
    price: float = 1.0
    chance: float = 0.0
    options: tuple[Option, ...] = ()
    below: tuple[str, ...] = ()
    stage: Stage = ""
    moves: bool = True
    due: bool = False


class Believer(Protocol):
    """Says what is believed of a case; :class:`kgdx.rank.ranker.Ranker` does."""

    @property
    def model(self) -> RankModel: ...

    @property
    def names(self) -> CandidateNames: ...

    @property
    def scorers(self) -> Mapping[str, Scorer]: ...

    def query(self, case: Case) -> tuple[Query, tuple[Issue, ...]]: ...

    def score_query(self, query: Query) -> Scored: ...

    def posterior(self, scored: Scored) -> Floats: ...

    def number_of(self, disease: str) -> int: ...


class _Valued(NamedTuple):
    value: float
    row: int
    price: float
    at: Situation


class Proposer:
    """Proposes questions for cases of one graph."""

    def __init__(self, ranker: Believer) -> None:
        self._ranker = ranker
        self._deciding: dict[int, list[int]] = {}

    @cached_property
    def pools(self) -> dict[str, QuestionPool]:
        scorers = self._ranker.scorers
        evidences, inheritance = scorers.get("evidences"), scorers.get("inheritance")
        keys = {id: each.key for id, each in wordings().items()}
        return pools(
            *(self._ranker.model, self._ranker.names, evidences if isinstance(evidences, Evidences) else None, keys),
            None if inheritance is None else inheritance.arrays["modes"],
        )

    @cached_property
    def settled(self) -> Settled:
        return Settled(self._ranker.model, self._ranker.names, self.pools)

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
        evenly: bool = False,
        complaints: Sequence[str] | None = None,
        narrow: int = OPTIONS,
    ) -> tuple[Question, ...]:
        """Return the questions that are worth most for their price, best first.

        Findings of unknown status, and ids that are ``unknown``, count as asked. A kind that the graph knows nothing of
        gives no question; a way of answering without a price costs 1. ``named`` is whether a yes is followed by
        "which?", of so many ``narrow``er findings.

        Args:
            among: Diseases that are to be told apart, equally likely where ``evenly``; all where none is known.
            complaints: Names of those that are said in words. A person is asked unless it is ``None``: first about the
                complaints, then what tells the leaders apart near what is known, then tests that settle which it is.
        """
        if unheard := [kind for kind in kinds if kind not in KINDS]:
            raise UsageError(f"no kind of question {unheard[0][:40]!r}", hint=f"one of {', '.join(KINDS)}")
        chosen, prices, person = make_selector(selector), checked(costs), complaints is not None
        scored = self._ranker.score_query(self._ranker.query(case)[0])
        asked = [*unknown, *(each.id for each in case.findings if each.status is Status.UNKNOWN)]
        belief = _among(self._ranker.posterior(scored), [self._ranker.number_of(each) for each in among], evenly)
        of = () if complaints is None else complaints_of(case, self.settled.above, complaints)
        first, rest, due = asked_first(case, of)
        heard = len({*asked, *(each.id for each in case.findings if each.method == "asked")})
        narrowed, likeliest = not person or heard >= NARROWED, int(belief.argmax())
        rare = not self._described_in_words[likeliest]
        if person and narrowed and belief[likeliest] >= (RARELY if rare else LIKELY):
            settling = (id for id, _ in self.settling(case, likeliest)[1])
            asked_now = (id for id in settling if not rare or id in wordings() or heard >= 2 * NARROWED)
            due = list(dict.fromkeys((*due, *asked_now)))
        here = [kind for kind in kinds if kind in self.pools]
        free = self.settled.free(case, asked, here, person=person)
        found, best_of = list[_Valued](), dict[int, Ints]()
        common = float(belief[self._described_in_words].sum() / max(float(belief.sum()), 1e-30))
        for kind in here:
            pool, open_ = self.pools[kind], free[kind]
            if not narrowed:
                soon = self._ways[kind] < WAYS.index("laboratory")
                soon[[pool.rows[id] for id in (*first, *due) if id in pool.rows]] = True
                open_ = open_ & soon
            families = self._ranker.model.families.of
            at = Situation(*(belief, pool, open_, scored, named, seed, person, families, best_of), alike=self._alike)
            price = np.array([prices[way] for way in WAYS])[self._ways[kind]]
            value = np.where(open_, chosen.value(at) / price, 0.0)
            if person:
                value *= self._worth(at, np.flatnonzero(value), rest, common)
            if kind == "phenotype":
                said = [each.id for each in case.findings] if person else ()
                self.settled.without_alike(value, at, asked, said)
            if np.count_nonzero(belief) > 1:
                rows = (pool.rows.get(id, -1) for id in (*first, *due))
                found += [_Valued(0.0, row, float(price[row]), at) for row in rows if row >= 0 and at.free[row]]
            best = leading(value, 2 * count)
            best = best[value[best] > 0]
            found += [_Valued(float(value[row]), row, float(price[row]), at) for row in best.tolist()]
        order = {id: place for place, id in enumerate((*first, *due))}
        found.sort(key=lambda each: (order.get(each.at.pool.ids[each.row], len(order)), -each.value))
        best_found = _unlike(found, count, order)
        told = {
            id(at): self._told(at, [each for each in best_found if each.at is at], narrow)
            for at in {id(e.at): e.at for e in best_found}.values()
        }
        stages = {**{id: stage for id, (stage, _) in rest.items()}, **first}
        questions = (told[id(each.at)][each.row] for each in best_found)
        staged = [each._replace(stage=stages.get(each.id, ""), due=each.id in due) for each in questions]
        if person and sex_told(case) == "UNKNOWN" and SEX not in asked:
            sexed = (at for at, each in enumerate(staged) if each.id in wordings() and wordings()[each.id].sex)
            if (n := next(sexed, -1)) >= 0:
                staged.insert(n, staged[n]._replace(kind="history", id=SEX, label="female", gain=0.0, options=()))
        return _with_below(staged, self.pools)

    def why(self, case: Case, id: str) -> tuple[Moved, ...]:
        """Return how an answer to a question moves the leaders, those first that it moves most."""
        pool = next((each for each in self.pools.values() if each.row(id) >= 0), None)
        if pool is None:
            return ()
        scored = self._ranker.score_query(self._ranker.query(case)[0])
        free = np.ones(len(pool.ids), bool)
        at = Situation(self._ranker.posterior(scored), pool, free, scored, alike=self._alike)
        leaders = at.leaders(COMPARED)
        share, likelihood = at.told[leaders].astype(np.float64), pool.of(leaders, np.array([pool.row(id)]))[:, 0]
        yes, no = (_moved(share, each) for each in (likelihood, 1 - likelihood))
        first = np.argsort(-np.maximum(abs(yes - share), abs(no - share)), kind="stable")[:MOVED]
        described = map(self._ranker.names.candidate, leaders[first].tolist())
        numbers = zip(*(each[first].tolist() for each in (share, yes, no, likelihood)), strict=True)
        return tuple(Moved(each.id, each.name, *moved) for each, moved in zip(described, numbers, strict=True))

    def _alike(self, numbers: Ints, known: Ints) -> Floats:
        diseases = tuple(each.name for each in map(self._ranker.names.candidate, numbers.tolist()))
        findings = tuple(map(self.pools["phenotype"].labels, known.tolist()))
        found: Floats = vectors_of(diseases) @ vectors_of(findings).T if findings else np.zeros((len(diseases), 0))
        return found

    def left_to_examine(self, case: Case, said: Sequence[str] = ()) -> list[tuple[str, str]]:
        """Return what is to be examined and tested and nobody has said yet: ids and names, in order.

        First what settles the leaders and the genes of a rare one, then what the table of complaints has.
        """
        scored = self._ranker.score_query(self._ranker.query(case)[0])
        belief = self._ranker.posterior(scored)
        leaders = [number for number in leading(belief, LEADING).tolist() if belief[number] >= LEAST_LEAD]
        settling = dict(each for number in leaders for each in self.settling(case, number)[1])
        settling = {id: label for id, label in settling.items() if self.way(id) not in ("ask", "look")}
        if leaders and not self._described_in_words[leaders[0]]:
            settling |= self._genes(leaders[0])
        of = complaints_of(case, self.settled.above, said)
        free = self.settled.free(case, (), self.pools, person=True)
        for id in dict.fromkeys(id for stage in STAGES[-2:] for each in of for id in each.stages[stage]):
            at = ((kind, pool.rows.get(id, -1)) for kind, pool in self.pools.items())
            kind, row = next(((kind, row) for kind, row in at if row >= 0 and free[kind][row]), ("", -1))
            if kind and wordings()[id].fits(case):
                settling.setdefault(id, self.pools[kind].labels(row))
        return list(settling.items())

    def settling(self, case: Case, number: int) -> tuple[bool, list[tuple[str, str]]]:
        """Return whether it is settled that a patient has a disease, and ids and names of results that still can do it.

        They are of the tests that are recommended for it, or what laboratory and imaging show in it and in few others,
        or what nearly all patients have. A disease that has none of these is settled by its share.
        """
        if "phenotype" not in self.pools or number < 0:
            return True, []
        pool = self.pools["phenotype"]
        if (rows := self._deciding.get(number)) is None:
            rows = self._deciding[number] = self._decides(pool, number)
        implied = {each for id in case.observed for each in self.settled.above(id)}
        name, known = self._ranker.names.candidate(number).name.casefold(), {each.id for each in case.findings}
        telling = [row for row in rows if pool.labels(row).casefold() not in name]  # no other name of the disease
        if not telling or any(pool.ids[row] in implied for row in rows):
            return True, []
        return False, [(pool.ids[row], pool.labels(row)) for row in telling if pool.ids[row] not in known][:2]

    def unexplained(self, case: Case, number: int, others: Sequence[int], said: Sequence[str] = ()) -> list[int]:
        """Return which other diseases have a finding that decides about a complaint, and that a disease never has."""
        pool, of = self.pools.get("phenotype"), complaints_of(case, self.settled.above, said)
        deciding = {id for each in of for stage in FIRST for id in each.stages[stage]} & set(case.observed)
        rows = [] if pool is None else [pool.rows[id] for id in deciding if id in pool.rows]
        if pool is None or not rows or not others:
            return []
        often = pool.of(np.array([number, *others]), np.array(rows))
        return [other for other, its in zip(others, often[1:], strict=True) if (its[often[0] == 0] > 0).any()]

    def _decides(self, pool: QuestionPool, number: int) -> list[int]:
        recommended = [row for id in self._results_of.get(number, ()) if (row := pool.rows.get(id, -1)) >= 0]
        own, often = pool.likelihood.row(number)
        chance = dict(zip(own.tolist(), often.tolist(), strict=True))
        if found := [row for row in recommended if chance.get(row, 0) >= OFTEN / 2]:
            return sorted(found, key=lambda row: -chance[row])
        telling = often * self._ranker.model.basis.ic[own] * ~self.settled.unasked("phenotype")[own]
        tested = (often >= OFTEN) & (self._ways["phenotype"][own] >= WAYS.index("laboratory"))
        worth = np.where(tested if (telling * tested > RATIO).any() else often >= ALWAYS, telling, 0)
        best = np.argsort(-worth, kind="stable")[:2]
        return [int(own[place]) for place in best.tolist() if worth[place] > RATIO]

    def _genes(self, number: int) -> dict[str, str]:
        snapshot = self._ranker.names.snapshot
        disease, gene = (snapshot.column("associated_gene", end) for end in ("disease", "gene"))
        rows = gene[self._ranker.model.candidates.of[disease] == number][:2].tolist()
        ids, names = snapshot.values("gene", "id"), snapshot.values("gene", "name")
        return {str(ids[row]): f"gene {names[row]}" for row in rows}

    def _worth(self, at: Situation, rows: Ints, rest: Mapping[str, tuple[Stage, int]], common: float) -> Floats:
        kind, pool = at.pool.kind, at.pool
        worth = np.where(self._worded[kind][rows], 1.0, self._lay[kind][rows] * (1 - common))
        if kind == "history":
            worth[rows == pool.rows["FAMILY:PARENT"]] = FAMILY
        if pool.reviewed is not None:
            worth[pool.reviewed[rows]] = REVIEW * (1 - common)
        if kind == "phenotype":
            systems = self.settled.systems
            known = np.bitwise_or.reduce(systems[at.scored.query.observed], initial=0)
            worth *= np.where(systems[rows] & known, 1.0, FAR) if known else 1.0
        worth, some = np.zeros(len(pool.ids)), worth
        worth[rows] = some
        settling = dict.fromkeys(id for n in at.leaders(SETTLING).tolist() for id in self._results_of.get(n, ()))
        for id, (_, place) in {**{id: ("test", 0) for id in settling}, **rest}.items():
            if (row := pool.rows.get(id, -1)) >= 0:
                worth[row] *= 1 + (OF_COMPLAINT * LATER**place) * max(common, LEAST_COMMON)
        return worth

    def _told(self, at: Situation, chosen: Sequence[_Valued], narrow: int) -> dict[int, Question]:
        pool, gain = at.pool, at.gain
        rows = np.array([each.row for each in chosen], np.int64)
        leaders = at.leaders(COMPARED)
        likelihood = pool.of(leaders, rows)
        share = at.told[leaders].astype(np.float64)
        chance = share @ likelihood / max(float(share.sum()), 1e-30)
        offered = at.free if not at.person else at.free & self._worded[pool.kind] & (gain >= TELLS)
        options = _options(pool, rows, np.where(offered, gain, 0), narrow)
        moves = _moves(at.shares, leaders, likelihood)
        return {
            each.row: Question(
                *(pool.kind, pool.ids[each.row], pool.labels(each.row), float(gain[each.row]), each.value),
                *(WAYS[self._ways[pool.kind][each.row]], each.price, float(chance[place]), options[place]),
                moves=bool(moves[place]) and (not at.person or gain[each.row] >= TELLS),
            )
            for place, each in enumerate(chosen)
        }

    @cached_property
    def _described_in_words(self) -> Ints:
        found = np.zeros(len(self._ranker.model.curated), bool)
        for kind, pool in self.pools.items():
            if kind not in ("phenotype", "history"):
                found |= pool.described
        return found

    @cached_property
    def _results_of(self) -> dict[int, tuple[str, ...]]:
        if (tests := self.pools.get("test")) is None:
            return {}
        of = [(each.tests, id) for id, each in wordings().items() if each.tests]
        named = {row: tests.labels(row).casefold() for row in tests.rows.values()}
        results = {row: [id for words, id in of if any(word in name for word in words)] for row, name in named.items()}
        return {
            number: tuple(dict.fromkeys(id for row in tests.neighbours.columns(number).tolist() for id in results[row]))
            for number in np.flatnonzero(np.diff(tests.neighbours.start)).tolist()
        }

    @cached_property
    def _worded(self) -> dict[str, Ints]:
        ids = {id for id, each in wordings().items() if each.key}
        return {kind: np.array([id in ids for id in pool.ids], bool) for kind, pool in self.pools.items()}

    @cached_property
    def _lay(self) -> dict[str, Floats]:
        found = {kind: np.full(len(pool.ids), UNWORDED) for kind, pool in self.pools.items()}
        lay = self._ranker.names.snapshot.column("phenotype", "lay_synonyms").tolist()
        told = self._ways["phenotype"] < WAYS.index("examine")
        found["phenotype"][told & ~np.array([bool(each) for each in lay])] = JARGON
        return found

    def way(self, id: str) -> Way:
        found = ((kind, pool.rows[id]) for kind, pool in self.pools.items() if id in pool.rows)
        return next((WAYS[self._ways[kind][row]] for kind, row in found), "ask")

    @cached_property
    def _ways(self) -> dict[str, Ints]:
        roots = _read_ways()
        found = {}
        for kind, pool in self.pools.items():
            ways = np.full(len(pool.ids), WAYS.index("laboratory" if kind == "test" else "ask"))
            for way, id in roots:
                if (row := pool.rows.get(id, -1)) >= 0:
                    ways[row if pool.down is None else pool.down.columns(row)] = WAYS.index(way)
            for id, each in wordings().items():
                if (row := pool.rows.get(id, -1)) >= 0:
                    ways[row] = WAYS.index(cast(Way, each.way))
            found[kind] = ways
        return found


def _among(belief: Floats, numbers: Sequence[int], evenly: bool) -> Floats:
    kept = [number for number in numbers if number >= 0]
    if not kept:
        return belief
    shares = np.zeros_like(belief)
    shares[kept] = 1.0 if evenly else np.maximum(belief[kept], LEAST_SHARE)
    found: Floats = shares / shares.sum()
    return found


def _moved(share: Floats, likelihood: Floats) -> Floats:
    joint = share * likelihood
    moved: Floats = joint * (share.sum() / joint.sum() if joint.any() else 0)
    return moved


def _moves(shares: Floats, leaders: Ints, likelihood: Floats) -> Ints:
    share = shares[leaders].astype(np.float64)
    now = np.argsort(-share, kind="stable")[:LEADING]
    behind = np.ones(len(share), bool)
    behind[now] = False
    changed = np.zeros(likelihood.shape[1], bool)
    for each in (likelihood, 1 - likelihood):
        joint = share[:, None] * each
        total = joint.sum(axis=0)
        after = np.argsort(-joint.T, axis=1, kind="stable")[:, :LEADING].T
        likely = joint[after, np.arange(len(total))] * share.sum() >= LEAST_LEAD * total
        come = (likely & behind[after]).any(axis=0) | (after[:1] != now[:1, None]).any(axis=0)
        changed |= come & (total >= UNLIKELY * share.sum())
    return changed


def _unlike(found: Sequence[_Valued], count: int, first: Mapping[str, int]) -> list[_Valued]:
    kept: list[_Valued] = []
    taken: dict[str, dict[int, float]] = {kind: {} for kind in KINDS}
    below: dict[str, dict[int, list[float]]] = {kind: {} for kind in KINDS}
    for each in found:
        pool, row = each.at.pool, each.row
        gains, narrower = taken[pool.kind], below[pool.kind]
        if row in gains:
            continue
        gain = float(each.at.gain[row])
        above = [] if pool.up is None else pool.up.columns(row).tolist()
        same = [*(gains[other] for other in above if other in gains), *narrower.get(row, ())]
        if pool.ids[row] not in first and any(max(other, gain) <= ALIKE * min(other, gain) for other in same):
            continue
        gains[row] = gain
        for other in above:
            narrower.setdefault(other, []).append(gain)
        kept.append(each)
        if len(kept) == count:
            break
    return kept


def _with_below(questions: list[Question], known: Mapping[str, QuestionPool]) -> tuple[Question, ...]:
    below: dict[str, list[str]] = {each.id: [] for each in questions}
    for each in questions:
        pool = known[each.kind]
        rows = [] if pool.up is None else pool.up.columns(pool.rows[each.id]).tolist()
        for upper in {pool.ids[row] for row in rows} - {each.id}:
            if upper in below:
                below[upper].append(each.id)
    return tuple(each._replace(below=tuple(below[each.id])) for each in questions)


def _options(pool: QuestionPool, rows: Ints, telling: Floats, narrow: int) -> list[tuple[Option, ...]]:
    if pool.kind == "evidence":
        return [_values(pool.ids[row]) for row in rows.tolist()]
    found: list[list[Option]] = [[] for _ in rows]
    if pool.down is not None and narrow:
        position, owner = gather(pool.down.start, rows)
        below = pool.down.index[position]
        use = np.flatnonzero((telling[below] > 0) & (below != rows[owner]))
        use = use[np.lexsort((-telling[below[use]], owner[use]))]
        use = use[np.arange(len(use)) - np.searchsorted(owner[use], owner[use]) < narrow]
        for at, row in zip(owner[use].tolist(), below[use].tolist(), strict=True):
            found[at].append(Option(pool.ids[row], pool.labels(row)))
    return [tuple(each) for each in found]


@cache
def _values(id: str) -> tuple[Option, ...]:
    one = evidences().get(id.removeprefix(PREFIX))
    return () if one is None else tuple(Option(f"{id}{VALUE}{value}", label) for value, label in one.values.items())


def checked(costs: Mapping[str, float]) -> dict[str, float]:
    """Return a price for each way of answering."""
    for way, price in costs.items():
        if way not in WAYS:
            raise UsageError(f"no way of answering {way[:40]!r}", hint=f"one of {', '.join(WAYS)}")
        if not 0 < price < float("inf"):
            raise UsageError(f"the price of {way} is {price}", hint="give a number above 0")
    return {way: float(costs.get(way, 1.0)) for way in WAYS}


def _read_ways() -> list[tuple[Way, str]]:
    path = resource("ranking", "question-ways.yaml")
    rows = [str(each).split(" ", 2) for each in read_yaml(path)]
    if any(len(row) < 3 or row[0] not in WAYS for row in rows):
        raise ConfigError(f"{path} is damaged", hint="reinstall kgdx")
    return [(cast(Way, way), id) for way, id, _ in rows]
