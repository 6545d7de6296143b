"""Cases as an agent may meet them: what they tell at first, who answers, and what is right, which no state holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Self

from kgdx.case import Ancestry, Case, Failure
from kgdx.episode.loop import advance, begin, chosen, forbidden, perform, refusal
from kgdx.episode.policy import Policy
from kgdx.episode.recorded_patient import EXACT, Noise, SimulatedPatient, opening
from kgdx.episode.segment import error_segment
from kgdx.episode.state import Limits, State
from kgdx.episode.wish import AskPatient, Reply, Wish
from kgdx.episode.world import Patient, World
from kgdx.errors import CaseError, UsageError
from kgdx.rank.held_out_ranks import Withheld

if TYPE_CHECKING:
    from kgdx.api import Graph
    from kgdx.graph.snapshot import Snapshot
    from kgdx.llm.chat import ChatModel
    from kgdx.rank.ranker import Ranker

LIMITS = Limits(steps=64, stagnation=64, errors=8)
"""Of an episode of training: a wish that is refused is an error that the agent sees, not its end."""


@dataclass(frozen=True, slots=True)
class Truth:
    """What is right for a case: nothing of it is ever observed."""

    ids: frozenset[str] = frozenset()
    names: tuple[str, ...] = ()


class AgentPolicy(Policy):
    """Wishes what an agent has chosen, and closes without a wish of its own."""

    name: ClassVar[str] = "environment"
    wish: Wish | None = None

    def choose(self, state: State) -> Wish | None:
        return self.wish

    def close(self, state: State) -> Wish | None:
        return None


_CLOSING = AgentPolicy()


def wished(world: World, state: State, wish: Wish | None) -> State:
    """Return the state after a wish of an agent: refused, or done; and ended where it declares or meets a limit.

    All faces of the environment go through here. ``None`` stands for a choice that is none: an error in the log.
    """
    if state.ended:
        raise UsageError("the episode has ended", hint="call reset")
    if wish is None:
        nothing = UsageError("nothing is there to choose", hint="choose what the mask allows")
        state = state.add(error_segment(AgentPolicy.name, nothing))
    else:
        state = chosen(state, AgentPolicy.model_construct(wish=wish))
    if wish is not None and state.pending is not None:
        note = state if wish.effect == "note" else None
        after = note or refusal(state, wish) or perform(world, state, wish)
        if after is None:
            raise UsageError(f"the world cannot do {wish.name}", hint="give the world what its menu needs")
        state = after
    if state.finished or state.limited or state.limits.reached(state.counts):
        state, _ = advance(state, _CLOSING)
    return state


def allowed(state: State, wish: Wish) -> bool:
    """Tell whether a wish can be done now; :func:`wished` writes an error or a limit for one that cannot."""
    return not state.ended and wish.refused(state) is None and not forbidden(state, wish)


@dataclass(frozen=True)
class RecordedCases:
    """Cases whose diagnoses are withheld; it is the patient of its own :attr:`world`.

    A state of an episode holds the findings with which the case begins and its publications, by which other actions
    leave the case itself out; neither the diagnoses nor the causal genes.
    """

    graph: Graph = field(repr=False)
    cases: Mapping[str, Case] = field(repr=False)
    known: int | None = 2
    limits: Limits = LIMITS
    noise: Noise = EXACT
    seed: int = 0

    @classmethod
    def of(cls, graph: Graph, cases: Iterable[Case | Failure], **settings: object) -> RecordedCases:
        """Return those cases that state a diagnosis and have findings."""
        kept: dict[str, Case] = {}
        for case in cases:
            if isinstance(case, Failure) or not case.diseases or not case.observed:
                continue
            if case.id in kept:
                raise CaseError(f"two cases are called {case.id[:40]}", hint="give each an id of its own")
            kept[case.id] = case
        if not kept:
            raise CaseError("no case states a diagnosis and has findings", hint="give phenopackets with diseases")
        return cls(graph, kept, **settings)  # type: ignore[arg-type]

    def __deepcopy__(self, memo: object) -> Self:
        """Return the same ones: nothing of them changes, and an open graph is shared."""
        return self

    @cached_property
    def ids(self) -> tuple[str, ...]:
        return tuple(self.cases)

    @cached_property
    def world(self) -> World:
        """What episodes act on: the graph, and the patients, where they can be asked."""
        patient: Patient | None = None if self.known is None else self
        return World(self.graph, patient)

    def world_with(self, model: ChatModel) -> World:
        return replace(self.world, models={model.name: model})

    def start(self, id: str, *, seed: int = 0, policy: Policy | None = None) -> State:
        """Return the first state of an episode."""
        case = self._recorded(id)
        told = replace(case, text="", diseases=(), extra={}) if self.known is None else self._opening(case)
        names = self.graph.ranker.names
        findings = (
            replace(each, label=names.label(each.id)) if not each.label and each.id in names.terms else each
            for each in told.findings
        )
        told = replace(told, findings=tuple(findings), genes=(), onset=None)
        fingerprint = self.graph.fingerprint
        return begin(told, policy or AgentPolicy(), seed=seed, limits=self.limits, fingerprint=fingerprint)

    def _opening(self, case: Case) -> Case:
        return opening(case, self.known or 0, self.seed)

    def reply(self, asked: AskPatient, state: State) -> Reply:
        return self.patient(state.case.id).reply(asked, state)

    def patient(self, id: str) -> SimulatedPatient:
        """Return who answers for a case."""
        if id not in self._patients:
            self._patients[id] = SimulatedPatient(self._recorded(id), self.ancestry, noise=self.noise, seed=self.seed)
        return self._patients[id]

    @cached_property
    def _patients(self) -> dict[str, SimulatedPatient]:
        return {}

    @cached_property
    def ancestry(self) -> Ancestry:
        return self.graph.ancestry

    def truth(self, id: str) -> Truth:
        """Return what is right for a case."""
        if id not in self._truths:
            ranker, stated = self.graph.ranker, self._recorded(id).diseases
            numbers = [number for each in stated if (number := ranker.number_of(each)) >= 0]
            found = [ranker.names.candidate(number) for number in dict.fromkeys(numbers)]
            ids = {*stated, *(one for each in found for one in (each.id, *each.members))}
            self._truths[id] = Truth(frozenset(ids), tuple(each.name for each in found))
        return self._truths[id]

    @cached_property
    def _truths(self) -> dict[str, Truth]:
        return {}

    def _recorded(self, id: str) -> Case:
        if id not in self.cases:
            hint = f"one of the {len(self.cases):,} that it was made with"
            raise UsageError(f"the environment has no case {str(id)[:40]!r}", hint=hint)
        return self.cases[id]


def unseen(ranker: Ranker, snapshot: Snapshot, cases: Iterable[Case]) -> list[Case]:
    """Return the cases whose publications the annotations of their diseases do not cite.

    Of the others the graph tells what stood in their own publication, which no new patient has. A case without
    publications is not known to be unseen.
    """
    withheld, found = Withheld(ranker, snapshot), []
    for case in cases:
        right = [number for each in case.diseases if (number := ranker.number_of(each)) >= 0]
        publications = frozenset(case.publications)
        if right and publications and not any(withheld.cites(number, publications) for number in right):
            found.append(case)
    return found
