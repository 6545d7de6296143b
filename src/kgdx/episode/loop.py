"""The loop: a policy decides, a world of graph, patient and models does it, the log keeps it.

:func:`advance` and :func:`settle` are pure. :func:`run` and :func:`run_many` drive them, one episode or many at once;
whoever is absent from the world makes an episode wait, and :func:`resume` goes on from its log, in any process.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from importlib.metadata import version
from typing import Any, cast

from pydantic import TypeAdapter

from kgdx.case import Case
from kgdx.episode.conversation import completed, requested
from kgdx.episode.operations import GraphLike, Operations
from kgdx.episode.policy import Policy
from kgdx.episode.segment import VERSION, Author, Kind, Segment, error_of, error_segment
from kgdx.episode.state import Artifact, ArtifactEntry, Limits, State
from kgdx.episode.wish import Action, AskModel, AskPatient, Outcome, Reply, Wish
from kgdx.episode.world import AwaitedPatient, Done, World
from kgdx.errors import KgdxError, UsageError
from kgdx.llm.chat import Completion, private_loop

CLOSING = 8
"""Most wishes that bring an episode to its end after a limit."""

Watch = Callable[[Segment], None]
"""Told each segment as soon as it is written."""


@dataclass(frozen=True, slots=True)
class Episode:
    """An episode that has ended, or waits.

    Attributes:
        reason: Why it ended: ``diagnosed``, ``answered``, ``policy ended``, ``error``, the name of a limit (``steps``,
            ``stagnation``, ``time``, ``cost``, ``calls``, ``tokens``, ``questions``), or ``waiting``.
    """

    state: State
    policy: str
    reason: str
    error: KgdxError | None = None

    @property
    def log(self) -> tuple[Segment, ...]:
        return self.state.log

    @property
    def waiting(self) -> bool:
        return self.reason == "waiting"


def begin(
    case: Case,
    policy: Policy,
    *,
    question: str = "",
    options: Mapping[str, str] | None = None,
    seed: int = 0,
    limits: Limits | None = None,
    fingerprint: str = "",
) -> State:
    """Return the first state of an episode; its ``start`` segment lets the log stand alone."""
    limits = limits or Limits()
    data = {
        "version": VERSION,
        "kgdx": kgdx_version(),
        "policy": policy.name,
        "settings": policy.model_dump(mode="json", fallback=repr),
        "seed": seed,
        "limits": asdict(limits),
        "fingerprint": fingerprint,
    }
    words: dict[str, Any] = {"case": CASE_FORM.dump_python(case, mode="json"), "question": question}
    offered = tuple((options or {}).items())
    if offered:
        words["options"] = [list(each) for each in offered]
    return State(case, question, seed, limits, options=offered).add(
        Segment(Author.LOOP, Kind.START, "episode", data, words)
    )


CASE_FORM = TypeAdapter(Case)


def advance(state: State, policy: Policy) -> tuple[State, Wish | None]:
    """Let the policy decide until a wish is to be done in the world, or the episode has ended."""
    while not state.ended:
        wish = state.pending
        if state.finished:
            state = _end(state, state.limited or state.finished)
        elif wish is None or wish.effect == "note":
            state = chosen(state, policy)
        elif (refused := refusal(state, wish)) is not None:
            state = refused
        else:
            return state, wish
    return state, None


def refusal(state: State, wish: Wish) -> State | None:
    """Return the state that records why the pending wish cannot be done; ``None`` where it can."""
    reason = wish.refused(state)
    if reason is None:
        return None
    message, _, hint = reason.partition(": ")
    return state.add(error_segment(wish.name, UsageError(message, hint=hint or None)))


def chosen(state: State, policy: Policy) -> State:
    """Write down what the policy chooses, that a limit is reached, or that the episode ends: one segment."""
    limited = state.limited
    if not limited and (limit := state.limits.reached(state.counts)):
        return state.add(Segment(Author.LOOP, Kind.LIMIT, limit))
    if limited:
        at = next(number for number, each in enumerate(state.log) if each.kind is Kind.LIMIT)
        closing = sum(each.kind is Kind.WISH for each in state.log[at:])
        if closing >= CLOSING or state.log[-1].kind is Kind.ERROR:
            return _end(state, limited)
    try:
        wish = policy.close(state) if limited else policy.choose(state)
    except KgdxError as error:
        return state.add(error_segment(policy.name, error, choosing=True))
    if wish is None:
        return _end(state, limited or "policy ended")
    if (limit := forbidden(state, wish)) is not None:
        return _end(state, limited) if limited else state.add(Segment(Author.LOOP, Kind.LIMIT, limit))
    return state.add(Segment(Author.POLICY, Kind.WISH, wish.name, wish.parameters(), wish.words()), wish=wish)


def _end(state: State, reason: str) -> State:
    return state.add(Segment(Author.LOOP, Kind.END, reason))


def settle(state: State, done: Done, milliseconds: float = 0.0) -> State:
    """Record what came of the pending action."""
    wish = cast("Action", state.pending)
    if isinstance(done.outcome, KgdxError):
        failed = error_segment(wish.name, done.outcome)
        return state.add(replace(failed, operations=done.operations, milliseconds=milliseconds))
    found = done.outcome.artifact
    digest = "" if found is None else found.digest()
    data: dict[str, Any] = {"digest": digest}
    words: dict[str, Any] = {}
    if found is not None and (summary := found.summary()):
        data["summary"] = summary
    if found is not None and found.kept:
        data["artifact"], words = found.to_data(), found.to_words()
    if done.problems:
        data["problems"] = [dict(each) for each in done.problems]
    ran = done.operations
    segment = Segment(Author.GRAPH, Kind.RESULT, wish.name, data, words, operations=ran, milliseconds=milliseconds)
    return recorded(state, wish, segment, done.outcome.case, found)


def recorded(state: State, wish: Action, segment: Segment, case: Case | None, found: Artifact | None) -> State:
    """Record a result; of a log that is read, the artifact may be made later (:func:`kgdx.episode.resume.resume`)."""
    reads, digest = wish.reads, str(segment.data.get("digest", ""))
    stamp = state.stamp(reads)
    state = state.add(segment, case=case, finished=wish.ends)
    if digest:
        return state.found(ArtifactEntry(found, digest, reads, stamp, wish), wish.makes if found is None else found)
    return replace(state, counts=state.counts._replace(stagnant=state.counts.stagnant + 1))


def answered(state: State, reply: Reply) -> State:
    """Return the state after the patient's reply to the pending question."""
    asked = state.pending
    if not isinstance(asked, AskPatient):
        raise UsageError("no question to the patient is pending", hint="answer the question that the episode asks")
    words = {"text": reply.text} if reply.text else {}
    data: dict[str, Any] = {"status": reply.status and str(reply.status), "term": reply.term, "label": reply.label}
    data |= {"more": [list(each) for each in reply.more]} if reply.more else {}
    data |= {"skipped": True} if reply.skipped else {}
    data |= {"remarks": list(reply.remarks)} if reply.remarks else {}
    return state.add(Segment(Author.PATIENT, Kind.RESULT, asked.name, data, words), case=reply.heard(state.case, asked))


def act(world: World, state: State, wish: Action) -> Done:
    """Run an action on a view of the state, or return what an equal one found before."""
    reads = wish.reads
    previous = wish.makes if wish.goes_on else None
    view = state.view((*reads, *wish.sees), previous)
    kept = wish.makes.kept or wish.changes_case
    key = None if kept else (wish.key, state.stamp(reads), (state.seed, state.counts.steps) if wish.random else None)
    if key is not None and (known := world.memo.peek(key)) is not None:
        return known
    operations = Operations(world.graph)
    try:
        made = wish.run(operations, view)
    except KgdxError as error:
        return Done(error, tuple(operations.ran))
    outcome = made if isinstance(made, Outcome) else Outcome(made)
    done = Done(outcome, tuple(operations.ran), tuple(operations.problems))
    if key is not None and not done.problems:
        world.memo.keep(key, done)
    return done


def step(graph: GraphLike, state: State, action: Action) -> State:
    """Run one action outside of any policy, and record it."""
    wished = state.add(Segment(Author.POLICY, Kind.WISH, action.name, action.parameters(), action.words()), wish=action)
    if (reason := action.refused(state)) is not None:
        raise UsageError(reason)
    started = time.perf_counter()
    done = act(World(graph), wished, action)
    if isinstance(done.outcome, KgdxError):
        raise done.outcome
    return settle(wished, done, (time.perf_counter() - started) * 1000)


def _here(world: World, state: State, wish: Wish) -> State | None:
    if isinstance(wish, Action) and (world.graph is not None or wish.pure):
        started = time.perf_counter()
        done = act(world, state, wish)
        return settle(state, done, (time.perf_counter() - started) * 1000)
    if isinstance(wish, AskPatient) and world.patient is not None:
        return answered(state, world.patient.reply(wish, state))
    return None


def told(world: World, state: State, name: str, answer: list[Completion] | KgdxError, spent: float = 0.0) -> State:
    """Record what a language model answered to the pending request, in so many milliseconds."""
    wish = cast("AskModel", state.pending)
    if isinstance(answer, KgdxError):
        return state.add(replace(error_segment(name, answer, prompt=wish.prompt), milliseconds=spent))
    return state.add(completed(state.log, wish, name, answer, spent, world.prices))


def run(world: World, state: State, policy: Policy, watch: Watch | None = None) -> Episode:
    """Run an episode until it ends or waits."""
    seen, after = len(state.log), cast("State | None", state)
    while after is not None:
        state, wish = advance(after, policy)
        seen = _shown(state, seen, watch)
        after = None if wish is None else perform(world, state, wish)
    return _episode(state, policy)


def _shown(state: State, seen: int, watch: Watch | None) -> int:
    for segment in state.log[seen:] if watch is not None else ():
        cast("Watch", watch)(segment)
    return len(state.log)


def perform(world: World, state: State, wish: Wish) -> State | None:
    return _asked(world, state, wish) if isinstance(wish, AskModel) else _here(world, state, wish)


def forbidden(state: State, wish: Wish) -> str | None:
    """Return the limit that a wish would pass, of requests to models or of questions; ``None`` for none."""
    if wish.effect == "model":
        return state.limits.model(state.counts)
    most = state.limits.questions
    return "questions" if wish.effect == "patient" and most is not None and state.counts.questions >= most else None


def _asked(world: World, state: State, wish: AskModel) -> State | None:
    started, name = time.perf_counter(), wish.model
    answer: list[Completion] | KgdxError
    try:
        if (model := world.model(name)) is None:
            return None
        name, request = model.name, requested(state, wish)
        if wish.whole and request.n == 1:
            answer = [model.ask(request, world.on_text if wish.streamed else None)]
        else:
            import asyncio

            answer = asyncio.run_coroutine_threadsafe(model.sample(request), private_loop()).result()
    except KgdxError as error:
        answer = error
    return told(world, state, name, answer, (time.perf_counter() - started) * 1000)


async def run_many(
    world: World, starts: Iterable[State], policy: Policy, *, concurrency: int = 64, watch: Watch | None = None
) -> list[Episode]:
    """Run many episodes at once; each is equal to the same one run alone.

    Requests to models are awaited together. Requests to an endpoint are not joined: it batches by itself. The episodes
    come in the order of the starts.
    """
    import asyncio

    room = asyncio.Semaphore(concurrency)

    async def one(state: State) -> Episode:
        async with room:
            return await _run(world, state, policy, watch)

    return list(await asyncio.gather(*(one(state) for state in starts)))


async def _run(world: World, state: State, policy: Policy, watch: Watch | None) -> Episode:
    seen, after = len(state.log), cast("State | None", state)
    while after is not None:
        state, wish = advance(after, policy)
        seen = _shown(state, seen, watch)
        after = None if wish is None else await _awaited(world, state, wish)
    return _episode(state, policy)


async def _awaited(world: World, state: State, wish: Wish) -> State | None:
    if isinstance(wish, AskModel):
        started, name = time.perf_counter(), wish.model
        answer: list[Completion] | KgdxError
        try:
            if (model := world.model(name)) is None:
                return None
            name, request = model.name, requested(state, wish)
            answer = await model.sample(request, world.on_text if wish.streamed else None)
            answer = [each.whole() for each in answer] if wish.whole else answer
        except KgdxError as error:
            answer = error
        return told(world, state, name, answer, (time.perf_counter() - started) * 1000)
    if isinstance(wish, Action) and wish.slow:
        import asyncio

        return await asyncio.to_thread(_here, world, state, wish)
    if isinstance(wish, AskPatient) and isinstance(world.patient, AwaitedPatient):
        return answered(state, await world.patient.awaited(wish, state))
    return _here(world, state, wish)


def _episode(state: State, policy: Policy) -> Episode:
    if not state.ended:
        return Episode(state, policy.name, "waiting")
    failed = next((each for each in reversed(state.log) if each.kind is Kind.ERROR), None)
    error = error_of(failed) if failed is not None and state.ended == "error" else None
    return Episode(state, policy.name, state.ended, error)


@cache
def kgdx_version() -> str:
    return version("kgdx")
