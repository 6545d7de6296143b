"""Consultations as logs: how one begins, goes on from what was kept, and is done again where nobody can be trusted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from kgdx.case import Case
from kgdx.episode.loop import Episode, answered, begin
from kgdx.episode.loop import run as run_episode
from kgdx.episode.policy import POLICIES, Policy, make_policy
from kgdx.episode.resume import resume
from kgdx.episode.segment import Author, Kind, Segment, load
from kgdx.episode.state import Limits, State
from kgdx.episode.wish import Reply
from kgdx.episode.world import World
from kgdx.errors import CaseError, UsageError

if TYPE_CHECKING:
    from kgdx.actions.graph_context import GraphContext

Transcript = Mapping[str, Any] | Iterable[Segment] | str | Path
"""What can be gone on with: :meth:`Consultation.to_dict`, a log, or the file of one."""

PATIENCE = Limits(steps=100_000, stagnation=1_000, errors=1_000)
"""A person decides when it is enough, and a step that fails ends nothing."""

FOR_PEOPLE = {
    "patient": True,
    "narrow": 8,
    "unchanged": 5,
    "complaints": True,
    "kinds": ("phenotype", "evidence", "symptom", "history"),
}
"""Settings with which people are asked: at all; after a yes, which kind; openly after five that changed nothing."""


def asking_policy(name: str | None, settings: Mapping[str, Any]) -> Policy:
    """Return the policy of a name, by default the first that asks patients, set for people."""
    chosen = name or next(each for each in POLICIES.builtin if POLICIES.get(each).capabilities.asks)
    return make_policy(chosen, settings, **{key: each for key, each in FOR_PEOPLE.items() if key not in settings})


def asking(policy: Policy) -> Policy:
    """Return a policy that asks patients."""
    if not (policy.capabilities.asks or policy.capabilities.may_ask):
        can = ((name, kind.capabilities) for name, kind in POLICIES.items())
        able = ", ".join(name for name, each in can if each.asks or each.may_ask)
        raise UsageError(f"the policy {policy.name} asks no patient", hint=f"take one of {able}")
    return policy


def begun(graph: GraphContext, world: World, policy: Policy, case: Case, seed: int) -> Episode:
    """Return a new consultation's episode until it first waits."""
    start = begin(case, policy, seed=seed, limits=PATIENCE, fingerprint=graph.fingerprint)
    return run_episode(world, start, policy)


def resumed(world: World, policy: Policy, log: Sequence[Segment]) -> Episode:
    return run_episode(world, resume(world, log), policy)


def verified(graph: GraphContext, world: World, policy: Policy, log: Sequence[Segment]) -> Episode:
    """Return the episode of a log that somebody else kept, if it is what comes of its answers on this graph.

    Nothing of the log is believed but the patient, the settings and the answers: all else is done again, and compared.

    Args:
        world: What the episode acts on; without models.
    """
    given = resume(World(), log[:1])
    episode = begun(graph, world, policy, given.case, given.seed)
    for segment in log:
        if not episode.waiting:
            break
        if segment.author is Author.PATIENT:
            episode = run_episode(world, answered(episode.state, _said(segment)), policy)
        elif segment.author is Author.USER:
            episode = run_episode(world, finished(episode.state), policy)
    if episode.log[: len(log)] != tuple(log):
        hint = "send back what was sent, or begin again"
        raise UsageError("the transcript was changed, or is of another version of kgdx", hint=hint)
    return episode


def _said(segment: Segment) -> Reply:
    try:
        return Reply.model_validate({**segment.data, **segment.words})
    except ValidationError as error:
        hint = "send back what was sent, or begin again"
        raise UsageError("the transcript has an answer that is none", hint=hint) from error


def finished(state: State) -> State:
    return state.add(Segment(Author.USER, Kind.LIMIT, "finished"))


def log_of(transcript: Transcript) -> tuple[Segment, ...]:
    """Return the log of what can be gone on with.

    Example:
        >>> log_of({"transcript": []})
        Traceback (most recent call last):
            ...
        kgdx.errors.UsageError: the transcript is empty: give one that kgdx wrote, whole
    """
    if isinstance(transcript, str | Path):
        try:
            log = load(Path(transcript).read_text("utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            hint = "give one that kgdx wrote"
            raise CaseError(f"the transcript {transcript} cannot be read ({error})", hint=hint) from error
    elif isinstance(transcript, Mapping):
        given = transcript.get("transcript")
        if not isinstance(given, list) or not all(isinstance(each, Mapping) for each in given):
            raise UsageError("the transcript has no log", hint="give what a consultation wrote, whole")
        log = tuple(Segment.from_dict(each) for each in given)
    else:
        log = tuple(transcript)
    if not log:
        raise UsageError("the transcript is empty", hint="give one that kgdx wrote, whole")
    return log
