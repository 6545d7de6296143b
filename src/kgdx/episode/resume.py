"""Going on from a log: fold it, make again what the graph found, compare digests; and replaying its queries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from kgdx.episode.loop import CASE_FORM, act, answered, recorded
from kgdx.episode.operations import Queries
from kgdx.episode.policy import POLICIES, Policy, configure
from kgdx.episode.segment import Kind, Operation, Segment
from kgdx.episode.state import Artifact, Limits, State
from kgdx.episode.wish import Action, AskModel, AskPatient, Outcome, Reply, Wish, wish_of
from kgdx.episode.world import World
from kgdx.errors import KgdxError, UsageError
from kgdx.graph.protocol import digest


def resume(world: World, log: Iterable[Segment]) -> State:
    """Return the state that a log ends in; what the graph found is made again, where there is one, and compared."""
    segments = iter(log)
    first = _beginning(segments)
    if "case" not in first.words:
        raise UsageError("the log is without its words", hint="give one that was written to be resumed")
    fingerprint = first.data.get("fingerprint", "")
    if world.graph is not None and fingerprint and world.graph.fingerprint != fingerprint:
        hint = "open the graph that it was begun on, or begin anew"
        raise UsageError("the log was begun on another graph, or the graph was built again since", hint=hint)
    try:
        case = CASE_FORM.validate_python(first.words["case"])
        limits = Limits(**first.data["limits"])
        question, options = str(first.words["question"]), tuple((a, b) for a, b in first.words.get("options", ()))
        state = State(case, question, int(first.data["seed"]), limits, options=options).add(first)
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError("the log's beginning cannot be read", hint="give a log that kgdx wrote") from error
    for segment in segments:
        state = _fold(world, state, segment)
    return _made_again(world, state)


def policy_of(log: Iterable[Segment], **settings: Any) -> Policy:
    """Return the policy that began a log, with its settings."""
    first = _beginning(iter(log))
    named, given = str(first.data.get("policy", "")), first.data.get("settings", {})
    if not isinstance(given, Mapping):
        raise UsageError("the log's beginning cannot be read", hint="give a log that kgdx wrote")
    return configure(POLICIES.get(named), {**given, **settings})


def _beginning(segments: Iterator[Segment]) -> Segment:
    first = next(segments, None)
    if first is None or first.kind is not Kind.START:
        raise UsageError("the log has no beginning", hint="give the log of an episode from its first line")
    return first


def _fold(world: World, state: State, segment: Segment) -> State:
    wish = state.pending
    if segment.kind is Kind.WISH:
        return state.add(segment, wish=wish_of(segment.name, {**segment.data, **segment.words}))
    if segment.kind is not Kind.RESULT:
        return state.add(segment)
    if isinstance(wish, AskPatient):
        return answered(state, Reply.model_validate({**segment.data, **segment.words}))
    if not isinstance(wish, Action):
        if not isinstance(wish, AskModel):
            raise UsageError("the log has a result that nothing asked for", hint="give a log that kgdx wrote, whole")
        return state.add(segment)
    if wish.changes_case:
        done = act(world, state, wish)
        if isinstance(done.outcome, KgdxError):
            raise done.outcome
        return _same(recorded(state, wish, segment, done.outcome.case, done.outcome.artifact), wish, done.outcome)
    found = None
    if wish.makes.kept and "artifact" in segment.data:
        found = wish.makes.from_log(segment.data["artifact"], segment.words)
    return recorded(state, wish, segment, None, found)


def _made_again(world: World, state: State) -> State:
    if world.graph is None:
        return state
    artifacts = dict(state.artifacts)
    made: set[type[Artifact]] = set()

    def make(kind: type[Artifact]) -> None:
        if kind in made or kind not in artifacts:
            return
        made.add(kind)
        for key, entry in artifacts[kind].items():
            for each in entry.reads:
                if not isinstance(each, str):
                    make(each)
            now = replace(state, artifacts=artifacts)
            if entry.value is None and now.fresh(entry):
                wish = cast("Action", entry.wish)
                outcome = act(world, now, wish).outcome
                if isinstance(outcome, KgdxError):
                    raise outcome
                _same(now, wish, outcome, entry.digest)
                artifacts[kind] = {**artifacts[kind], key: entry._replace(value=outcome.artifact)}

    for kind in tuple(artifacts):
        make(kind)
    return replace(state, artifacts=artifacts)


def _same(state: State, wish: Wish, outcome: Outcome, digest: str | None = None) -> State:
    expected = state.log[-1].data.get("digest", "") if digest is None else digest
    if (outcome.artifact.digest() if outcome.artifact is not None else "") != expected:
        hint = "resume it on the graph and with the version of kgdx that began it"
        raise UsageError(f"the graph does not answer {wish.name} as the log says", hint=hint)
    return state


@dataclass(frozen=True, slots=True)
class Replayed:
    """One query of a log, run again; ``same`` when it returned the rows that the log records."""

    template: str
    parameters: Mapping[str, Any]
    recorded: int | None
    rows: int | None
    same: bool
    error: str = ""


def replay(trace: Sequence[Segment], graph: Queries) -> tuple[Replayed, ...]:
    """Run every query of a log, such as ``diagnosis.trace``, again, and compare row counts and digests with the record.

    Another store with the same content gives the same rows.

    Example:
        >>> replay([], graph=None)
        ()
    """
    return tuple(_again(each, graph) for segment in trace for each in segment.operations if each.kind == "query")


def _again(ran: Operation, graph: Queries) -> Replayed:
    try:
        rows = graph.run(ran.name, **ran.parameters)
    except KgdxError as error:
        return Replayed(ran.name, ran.parameters, ran.rows, None, False, str(error))
    same = len(rows) == ran.rows and digest(rows) == ran.digest
    return Replayed(ran.name, ran.parameters, ran.rows, len(rows), same)
