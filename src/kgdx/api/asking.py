"""Answering questions on an open graph: which policy, which model, within which limits, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar

from kgdx.actions.answer import Answer
from kgdx.actions.episode import Episode, Policy, Watch, run
from kgdx.actions.known import CitedText
from kgdx.actions.pack import pack
from kgdx.actions.rounds import UNPLANNED
from kgdx.actions.state import Limits, State
from kgdx.case import Case, Issue
from kgdx.errors import KgdxError, LlmError, StoreError, UsageError
from kgdx.policies import ROUNDS
from kgdx.policies import policy as make_policy

if TYPE_CHECKING:
    from kgdx.actions.graph import GraphContext
    from kgdx.config import Settings
    from kgdx.llm.protocol import ChatModel
    from kgdx.store.protocol import Row

Number = TypeVar("Number", int, float)

_REMEDIES = {
    "model": "the answer rests on what was found without it",
    UNPLANNED: "what the words of the question ask for was looked up instead",
    "language": "ask again, or ask another model",
    "groundless": "it was written by template instead",
}
"""What becomes of the answer where something failed."""

MAX_QUESTION = 20_000
"""Letters of a question at most."""

MAX_ROUNDS = 50
"""Most rounds of a planner."""

STEPS = 200
"""Most actions of a question, where nobody says."""


class Asking(TypedDict, total=False):
    """How a question is answered; the keyword arguments of :meth:`kgdx.Graph.ask`.

    Attributes:
        strict: Whether the answer may rest on nothing but the evidence; otherwise a model may add what it knows, marked
            as such. On by default.
        pubmed: Whether PubMed is searched for publications; by default as it is set, and it is off where nothing is.
        language: Language of the answer, ``en`` or ``zh``; that of the question by default.
        rounds: Most plans of a model.
        fallback: Whether rules and the template stand in where no plan of a model, or not its answer, can be used. On
            by default.
        limits: When to stop: actions, time, and calls, tokens and cost of the model.
        seed: Of the policy's random choices.
        on_text: Given each piece of a model's answer as it is written.
        watch: Given each segment of the log, as soon as the choice and its action are done.
    """

    strict: bool
    pubmed: bool | None
    language: Literal["en", "zh"] | None
    rounds: int
    fallback: bool
    limits: Limits | None
    seed: int
    on_text: Callable[[str], None] | None
    watch: Watch | None


def ask(
    graph: GraphContext,
    question: str,
    case: Case | None,
    policy: Policy | str | None,
    model: ChatModel | str | None,
    how: Asking,
) -> Answer:
    """Answer a question; see :meth:`kgdx.Graph.ask`."""
    from kgdx.policies.finishing import Finishing

    unknown = how.keys() - Asking.__annotations__.keys()
    if unknown:
        raise UsageError(f"no setting {min(unknown)!r}", hint=f"one of {', '.join(sorted(Asking.__annotations__))}")
    question = checked(question)
    limits = within(how.get("limits"))
    rounds = how.get("rounds", ROUNDS)
    if not 1 <= rounds <= MAX_ROUNDS:
        raise UsageError(f"rounds is {rounds}", hint=f"ask for 1 to {MAX_ROUNDS}")
    ending: dict[str, Any] = {
        "strict": how.get("strict", True),
        "pubmed": _asks_pubmed(graph.settings) if how.get("pubmed") is None else how["pubmed"],
        "language": how.get("language"),
    }
    name = policy if isinstance(policy, str) else "rules" if model is None and policy is None else "planner"
    if name == "fixed":
        raise UsageError("the policy fixed answers no questions", hint="take rules or planner")
    if policy is None or isinstance(policy, str):
        settings = dict(ending)
        if name == "planner":
            settings |= planning(graph.settings, model, limits) | {"rounds": rounds, "on_text": how.get("on_text")}
            settings |= {"fallback": how.get("fallback", True)}
        policy = make_policy(name, **settings)
    patient = Case("question") if case is None else case.identified()
    state = State(patient, question=question, seed=how.get("seed", 0))
    episode = run(graph, state, policy, limits, closing=Finishing(**ending), watch=how.get("watch"))
    fingerprint, sources = provenance(graph)
    found = replace(answer_of(episode, case, fingerprint=fingerprint), sources=sources)
    if not found.pack.answers and not found.candidates and (error := failure(episode)) is not None:
        raise error
    return found


def checked(question: str) -> str:
    """Return a question without the space around it.

    Raises:
        UsageError: It is empty, or too long.

    Example:
        >>> checked(" What is ptosis? ")
        'What is ptosis?'
    """
    question = question.encode("utf-8", "replace").decode("utf-8").strip()
    if not any(each.isalnum() for each in question):
        raise UsageError("the question is empty", hint='ask one, such as "Which gene causes Marfan syndrome?"')
    if len(question) > MAX_QUESTION:
        raise UsageError(f"the question has {len(question):,} letters", hint="give a patient's text as the case")
    return question


def within(limits: Limits | None) -> Limits:
    """Return the limits of a question: what fails, or finds nothing, does not end it; the policy goes on without.

    Example:
        >>> within(Limits(calls=3)).errors
        64
    """
    limits = limits or Limits(steps=STEPS)
    return replace(limits, errors=max(limits.errors, limits.steps), stagnation=max(limits.stagnation, limits.steps))


def planning(settings: Settings, model: ChatModel | str | None, limits: Limits) -> dict[str, Any]:
    """Return what a planner needs: its model, the prices, and its limits, which end a call that is under way, too.

    Args:
        settings: Say which endpoint.
        model: A model that is ready, the name of one at the endpoint, or ``None`` for the one that is set.
        limits: What it may cost.

    Raises:
        ConfigError: No model or endpoint is set.
        UsageError: A cost is limited, and no prices are set.
    """
    if model is not None and not isinstance(model, str):
        return {"model": model, "limits": limits}
    from kgdx.llm.accounting import Budget, Meter
    from kgdx.llm.connect import connect

    access = settings.llm(model)
    prices = (access.price_in, access.price_out)
    if limits.cost is not None and not any(prices):
        raise UsageError(
            "a cost is limited, and no prices are set", hint="set KGDX_LLM_PRICE_IN and KGDX_LLM_PRICE_OUT"
        )
    set_ = Budget.of(access)
    budget = Budget(
        _least(set_.calls, limits.calls),
        _least(set_.tokens, limits.tokens),
        _least(set_.cost, limits.cost),
        _least(set_.seconds, limits.seconds),
    )
    meter = Meter(*prices, budget)
    asked = connect(access, cache=settings.cache / "llm" / "answers.sqlite", meter=meter)
    return {"model": asked, "limits": limits, "prices": prices}


def _asks_pubmed(settings: Settings) -> bool:
    from kgdx.literature import pubmed_access

    access = pubmed_access(settings)
    return access is not None and access.ask


def provenance(graph: GraphContext) -> tuple[str, tuple[Row, ...]]:
    """Return a graph's fingerprint and sources; without what cannot be asked any more, since a result stands alone."""
    fingerprint = ""
    sources: tuple[Row, ...] = ()
    with suppress(StoreError):
        fingerprint = graph.fingerprint
        sources = graph.sources()
    return fingerprint, sources


def _least(one: Number | None, other: Number | None) -> Number | None:
    given = [each for each in (one, other) if each is not None]
    return min(given) if given else None


def answer_of(episode: Episode, case: Case | None, *, fingerprint: str) -> Answer:
    """Return what an episode answered.

    Args:
        episode: It has ended.
        case: The patient that the question came with, if any.
        fingerprint: Of the graph.

    Example:
        >>> from kgdx.actions import State
        >>> answer_of(Episode(State(Case("p"), question="q"), "rules", "steps"), None, fingerprint="f").reason
        'steps'
    """
    state, ranking = episode.state, episode.state.ranking
    issues = [*(() if case is None else state.case.issues), *(() if ranking is None else ranking.issues)]
    issues += faults(state)
    return Answer(
        question=state.question,
        text=state.answer or CitedText(author="none"),
        pack=pack(state),
        case=None if case is None else state.case,
        candidates=() if ranking is None else tuple(ranking.candidates),
        evidence=state.evidence or {},
        trace=state.log,
        issues=tuple(dict.fromkeys(issues)),
        reason=episode.reason,
        policy=episode.policy,
        model=next((segment.name for segment in state.log if segment.kind == "prompt"), ""),
        fingerprint=fingerprint,
        version=kgdx_version(),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def faults(state: State) -> Iterator[Issue]:
    """Yield what failed in an episode, for people: a model that gave no answer, actions, what of a plan was refused.

    Example:
        >>> from kgdx.actions import Author, Segment
        >>> log = (Segment(Author.TOOL, "error", "get_test", content="the graph knows no disease called 'x'"),)
        >>> [issue.where for issue in faults(State(Case("p"), log=log))]
        ['get_test']
    """
    refused = 0
    for number, segment in enumerate(state.log):
        if segment.kind != "error":
            continue
        if segment.name == "plan":
            refused += 1
        elif "kind" in segment.parameters:
            again = any(later.kind == "answer" for later in state.log[number:])
            yield Issue("warning" if again else "error", "model", segment.content, _REMEDIES["model"])
        else:
            yield Issue(
                "warning", segment.name, segment.content, _REMEDIES.get(segment.name, "the answer does without")
            )
    if refused:
        parts = "1 part" if refused == 1 else f"{refused} parts"
        yield Issue("info", "planner", f"{parts} of the model's plans could not be run", "the rounds say why")


def failure(episode: Episode) -> KgdxError | None:
    """Return why an episode has found nothing: the error that ended it, the graph's last one, or the model's."""
    from kgdx.policies.finishing import FATAL

    if episode.error is not None:
        return episode.error
    failed = [segment for segment in episode.log if segment.kind == "error"]
    unread = [segment for segment in failed if segment.parameters.get("error") in FATAL and segment.name != "cite"]
    if unread:  # that a graph which cannot be read has returned nothing would be taken for its answer
        return StoreError(unread[-1].content)
    failed = [segment for segment in failed if "kind" in segment.parameters]
    return LlmError(failed[-1].content, kind=failed[-1].parameters["kind"]) if failed else None


@cache
def kgdx_version() -> str:
    """Return the version of the installed package, which takes a while to find out."""
    return version("kgdx")
