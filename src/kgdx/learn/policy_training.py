"""Trains the policy that chooses among listed actions, in a folder from which an interrupted run goes on.

Updates are numbered and each has random numbers of its own, so that a run that was killed and gone on with gives the
same policy as one that was not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kgdx.errors import CaseError, StoreError, UsageError
from kgdx.files.known import digest_of
from kgdx.learn.bedside import Bedside, Played, Recorded, recorded
from kgdx.learn.fixed_plans import PLANS, TEACHER
from kgdx.learn.group_policy import Learner, Settings
from kgdx.learn.rewards import PRICES
from kgdx.learn.training_state import FILE, TrainingState
from kgdx.learn.ward import Ward
from kgdx.policies.choice_network import NAMES, ChoiceNetwork
from kgdx.rank.held_out_ranks import Withheld
from kgdx.rank.ranking_model import ROOT

if TYPE_CHECKING:
    from kgdx.api import Graph
    from kgdx.case import Case
    from kgdx.case.splits import Split
    from kgdx.graph.snapshot import Snapshot
    from kgdx.rank.ranker import Ranker

POLICY = "policy.safetensors"
KNOWN = 2
"""Findings that are told at first, as in other consultations of recorded patients."""
EVERY = 10
"""Updates after which the state is written."""
CURVE = ("reward", "top1", "top5", "actions", "questions", "entropy", "divergence")
"""What is kept of each update, of its sampled episodes."""


@dataclass
class Training:
    """A training run.

    Args:
        bedside: Plays the episodes.
        patients: Who is met.
        settings: How it is trained.
        folder: Where the run is kept.
        about: What the policy is trained on, for its card; a run goes on only where it is the same.
    """

    bedside: Bedside
    patients: Sequence[Recorded] = field(repr=False)
    settings: Settings
    folder: Path
    about: Mapping[str, Any] = field(default_factory=dict)

    def run(self, progress: Callable[[], object] = lambda: None) -> ChoiceNetwork:
        """Train until the end, from where the folder is; write and return the policy.

        Args:
            progress: Called after each update, also for those that were done before.

        Raises:
            UsageError: There is no patient, the folder is of another run, or a reward is no number.
            StoreError: The folder cannot be written, or is damaged.
        """
        if not self.patients:
            raise UsageError("there is no patient to train with", hint="give cases whose disease the graph describes")
        groups: dict[str, list[Recorded]] = {}
        for each in self.patients:
            groups.setdefault(each.publication, []).append(each)
        drawn = [groups[name] for name in sorted(groups)]
        learner, curve = self._begun(drawn)
        for _ in curve:
            progress()
        for update in range(len(curve), self.settings.updates):
            chance = np.random.default_rng([self.settings.seed, update])
            met = self._met(drawn, chance, self.settings.episodes // self.settings.group, self.settings.group)
            played = self.bedside.play(learner.network, met, chance)
            curve.append(_told(played, learner.learn(played)))
            if (update + 1) % EVERY == 0 or update + 1 == self.settings.updates:
                self._keep(learner, curve)
            progress()
        card = {**self._about(), "updates": len(curve), "curve": _thinned(curve)}
        network = replace(learner.network, card=card)
        network.write(self.folder / POLICY)
        return network

    def _met(
        self, drawn: Sequence[Sequence[Recorded]], chance: np.random.Generator, count: int, times: int
    ) -> list[Recorded]:
        """Draw some patients evenly over publications, each to be met so many times."""
        found: list[Recorded] = []
        for _ in range(count):
            group = drawn[int(chance.integers(len(drawn)))]
            found += [group[int(chance.integers(len(group)))]] * times
        return found

    def _about(self) -> dict[str, Any]:
        return {
            "settings": self.settings.record(),
            "prices": dict(PRICES),
            "patients": len(self.patients),
            **self.about,
        }

    def _begun(self, drawn: Sequence[Sequence[Recorded]]) -> tuple[Learner, list[dict[str, float]]]:
        """Return the learner and the curve as the folder has them, new ones where it has none."""
        if not (self.folder / FILE).exists():
            return self._taught(drawn), []
        state = TrainingState.load(self.folder, digest_of(self._about()))
        if state is None:
            what = f"{self.folder} holds a training run that is damaged, or of other patients or settings"
            raise UsageError(what, hint="go on with the same ones, remove it, or give another folder")
        layers, initial = ({name: state.arrays[of + name] for name in NAMES} for of in ("", "initial."))
        moments = {name: (state.arrays[f"mean.{name}"], state.arrays[f"square.{name}"]) for name in NAMES}
        steps, curve = state.progress["steps"], state.progress["curve"]
        return Learner(ChoiceNetwork(layers), self.settings, ChoiceNetwork(initial), moments, steps), curve

    def _taught(self, drawn: Sequence[Sequence[Recorded]]) -> Learner:
        """Return a learner that imitates the teacher, where it plays itself and where anything is done."""
        initial, chance = ChoiceNetwork.fresh(self.settings.seed), np.random.default_rng(self.settings.seed)
        learner = Learner(initial, self.settings, initial)
        if self.settings.imitated:
            met = self._met(drawn, chance, self.settings.episodes, 1)
            by_plan, by_chance = self.bedside.play(TEACHER, met), self.bedside.play(initial, met, chance)
            learner.imitate(by_plan.joined(by_chance), TEACHER)
        return learner

    def _keep(self, learner: Learner, curve: list[dict[str, float]]) -> None:
        arrays = {name: learner.network.layers[name] for name in NAMES}
        arrays |= {f"initial.{name}": learner.initial.layers[name] for name in NAMES}
        for name, (mean, square) in learner.moments.items():
            arrays |= {f"mean.{name}": mean, f"square.{name}": square}
        progress = {"steps": learner.steps, "curve": curve}
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            TrainingState(digest_of(self._about()), progress, arrays).save(self.folder)
        except OSError as error:
            raise StoreError(
                f"{self.folder} cannot be written ({error})", hint="make room, and run it again"
            ) from error


def _told(played: Played, learned: Mapping[str, float]) -> dict[str, float]:
    """Return what the curve keeps of an update."""
    values = {
        "reward": played.rewards.mean(),
        "top1": (played.ranks == 1).mean(),
        "top5": (played.ranks > 0).mean(),
        "actions": played.actions.mean(),
        "questions": played.questions.mean(),
        **{name: learned[name] for name in ("entropy", "divergence")},
    }
    return {name: round(float(values[name]), 5) for name in CURVE}


def _thinned(curve: Sequence[Mapping[str, float]], most: int = 30) -> dict[str, list[float]]:
    """Return means of as many stretches of the curve as a card holds."""
    parts = np.array_split(np.arange(len(curve)), min(most, len(curve)))
    return {
        name: [round(float(np.mean([curve[at][name] for at in part])), 4) for part in parts if len(part)]
        for name in CURVE
    }


def unseen(ranker: Ranker, snapshot: Snapshot, cases: Iterable[Case]) -> list[Case]:
    """Return the cases whose publications the annotations of their diseases do not cite.

    Of the others the graph tells what stood in their own publication, which no new patient has.

    Args:
        ranker: That of the graph.
        snapshot: That of the graph.
        cases: Cases that state their diagnoses and publications; one without publications is not known to be unseen.
    """
    withheld, found = Withheld(ranker, snapshot), []
    for case in cases:
        right = [number for each in case.diseases if (number := ranker.number_of(each)) >= 0]
        publications = frozenset(case.publications)
        if right and publications and not any(withheld.cites(number, publications) for number in right):
            found.append(case)
    return found


def train_policy(
    graph: Graph,
    cases: Iterable[Case],
    split: Split,
    settings: Settings,
    folder: Path,
    *,
    known: int = KNOWN,
    progress: Callable[[], object] = lambda: None,
) -> ChoiceNetwork:
    """Train a policy on the cases of one side of a split, and measure it on the other.

    Of both sides only unseen cases count (:func:`unseen`). The card of the checkpoint says what it was trained on, by
    which split, and how it did with the patients that were held out, greedily and drawn, beside the fixed plans.

    Args:
        graph: The open graph.
        cases: Recorded cases with diagnoses and publications.
        split: Which of them are trained on.
        settings: How it is trained.
        folder: Where the run and its checkpoint are kept; an interrupted run goes on.
        known: How many findings are told at first.
        progress: Called after each update.

    Raises:
        CaseError: A side has no patient who can be met.
        UsageError: The folder is of another run.
        StoreError: The folder cannot be written.
    """
    bedside = Bedside(graph.standings)
    ward = Ward.of(graph, unseen(graph.ranker, graph.snapshot, cases), known=known)
    patients = recorded(ward, graph.standings)
    sides = {name: [each for each in patients if each.id in getattr(split, name)] for name in ("train", "held_out")}
    for name, some in sides.items():
        if not some:
            what = f"no case of the side {name} of the split can be met on this graph"
            raise CaseError(
                what, hint="make another with `kgdx split`; cases need publications that no annotation cites"
            )
    about = {"graph": graph.fingerprint, "ontology": ROOT, "split": split.digest, "known": known}
    network = Training(bedside, sides["train"], settings, folder, about).run(progress)
    held, chance = sides["held_out"], np.random.default_rng(settings.seed)
    figures = {"greedy": _figures(bedside.play(network, held), held)}
    figures["sampled"] = _figures(bedside.play(network, held, chance), held)
    figures |= {str(plan): _figures(bedside.play(plan, held), held) for plan in PLANS}
    network = replace(network, card={**network.card, "held_out": len(held), "figures": figures})
    network.write(folder / POLICY)
    return network


def _figures(played: Played, patients: Sequence[Recorded]) -> dict[str, float]:
    """Return means over publications, each of which counts the same."""
    of = np.unique([each.publication for each in patients], return_inverse=True)[1]
    values = {"top1": played.ranks == 1, "top5": played.ranks > 0, "reward": played.rewards}
    values |= {"actions": played.actions, "questions": played.questions}
    counts = np.bincount(of)
    return {name: round(float((np.bincount(of, value) / counts).mean()), 4) for name, value in values.items()}
