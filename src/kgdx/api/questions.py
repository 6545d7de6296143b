"""Answering questions on an open graph: which policy, which model, within which limits, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar

from kgdx.answer.artifacts import OptionChosen, candidates_of, evidence_of, ranking_of
from kgdx.answer.artifacts import answer_of as given_answer
from kgdx.case import Case, Issue
from kgdx.episode.conversation import exchanges
from kgdx.episode.loop import Episode, Watch, begin, kgdx_version, run
from kgdx.episode.policy import POLICIES, Policy, default_policy, make_policy
from kgdx.episode.segment import Author, Kind, error_of, message_of
from kgdx.episode.state import Limits, State
from kgdx.episode.wish import UNPLANNED
from kgdx.episode.world import World
from kgdx.errors import KgdxError, LlmError, StoreError, UsageError

if TYPE_CHECKING:
    from kgdx.actions.graph_context import GraphContext
    from kgdx.answer.cited_answer import Answer
    from kgdx.config import LlmAccess, Settings
    from kgdx.graph.protocol import Row
    from kgdx.llm.chat import ChatModel, Prices
    from kgdx.policies.second_reader import SecondReader

Number = TypeVar("Number", int, float)

READER = "reader"
"""What the model is called in a world, and in issues, that reads a text beside the rules."""

_REMEDIES = {
    "model": "the answer rests on what was found without it",
    READER: "what rules read stands",
    UNPLANNED: "what the words of the question ask for was looked up",
    "language": "ask again, or ask another model",
    "groundless": "it was written by template instead",
}
"""What becomes of the answer where something failed."""

UNUSABLE = frozenset({"truncated", "malformed", "cut", "context", "budget"})
"""Kinds of a model's errors that are of what it wrote, was to read or may cost, not of whether it can be asked."""

MAX_QUESTION = 20_000
"""Letters of a question at most."""

MAX_ROUNDS = 50
"""Most plans of a model."""

STEPS = 200
"""Most actions of a question, where nobody says."""


class Asking(TypedDict, total=False):
    """How a question is answered; the keyword arguments of :meth:`kgdx.Graph.ask`.

    Attributes:
        options: Letter → words, A, B, C and so on, of which the answer is to choose one.
        strict: Whether the answer may rest on nothing but the evidence; otherwise a model may add what it knows, marked
            as such. On by default.
        pubmed: Whether PubMed is searched for publications; by default as it is set, and it is off where nothing is.
        language: Language of the answer, ``en`` or ``zh``; that of the question by default.
        fallback: Whether rules and the template stand in where no plan of a model, or not its answer, can be used. On
            by default.
        limits: When to stop: actions, time, and calls, tokens and cost of the model.
    """

    options: Mapping[str, str] | None
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
    unknown = how.keys() - Asking.__annotations__.keys()
    if unknown:
        raise UsageError(f"no setting {min(unknown)!r}", hint=f"one of {', '.join(sorted(Asking.__annotations__))}")
    question = checked(question)
    limits = within(how.get("limits"))
    rounds = how.get("rounds", 1)
    if not 1 <= rounds <= MAX_ROUNDS:
        raise UsageError(f"rounds is {rounds}", hint=f"ask for 1 to {MAX_ROUNDS}")
    if (pubmed := how.get("pubmed")) is None:
        from kgdx.literature import pubmed_access

        access = pubmed_access(graph.settings)
        pubmed = access is not None and access.ask
    settings: dict[str, Any] = {
        "strict": how.get("strict", True),
        "pubmed": pubmed,
        "language": how.get("language"),
        **{name: how[name] for name in ("rounds", "fallback") if name in how},
    }
    chooser = suited(graph, policy, "chooses" if how.get("options") else "answers", model, **settings)
    options = offered(question, how.get("options"), chooser)
    world = replace(world_of(graph, chooser, model, limits), on_text=how.get("on_text"))
    patient = Case("question") if case is None else case.identified()
    fingerprint, sources = provenance(graph)
    start = begin(
        patient,
        chooser,
        question=question,
        options=options,
        seed=how.get("seed", 0),
        limits=limits,
        fingerprint=fingerprint,
    )
    episode = run(world, start, chooser, how.get("watch"))
    found = replace(answer_of(episode, case, fingerprint=fingerprint), sources=sources)
    nothing = (not found.pack.answers or found.text.insufficient) and not found.candidates
    if nothing and (error := failure(episode)) is not None:
        raise error
    return found


def suited(
    graph: GraphContext,
    policy: Policy | str | None,
    what: Literal["answers", "chooses", "diagnoses"],
    model: object,
    wanted: Mapping[str, Any] | None = None,
    **usual: Any,
) -> Policy:
    """Return a policy of one's own, one by its name, or the usual one, as it suits a graph; it has to be able to."""
    name = default_policy(what, models=model is not None) if policy is None else policy
    made = make_policy(name, wanted, **usual) if isinstance(name, str) else name
    able(made, "diagnoses" if what == "diagnoses" else "answers", model)
    return made.suited(graph)


def able(policy: object, what: Literal["answers", "diagnoses"], model: object = None, patient: object = None) -> None:
    """Check that a policy can do what is wanted of it, with what it is given.

    Example:
        >>> from kgdx.policies import FixedPolicy
        >>> able(FixedPolicy(), "answers")
        Traceback (most recent call last):
        kgdx.errors.UsageError: the policy fixed answers no questions: take one of planner, rules, thought
    """
    if not isinstance(policy, Policy):
        given = policy.__name__ if isinstance(policy, type) else type(policy).__name__
        raise UsageError(f"{given} is no policy", hint="give the name of one, or one with its settings: RerankPolicy()")
    can = policy.capabilities
    if not getattr(can, what):
        others = [name for name, kind in POLICIES.items() if getattr(kind.capabilities, what)]
        cannot = "answers no questions" if what == "answers" else "diagnoses no case"
        raise UsageError(f"the policy {policy.name} {cannot}", hint=f"take one of {', '.join(others)}")
    if model is not None and not can.models:
        others = [name for name, kind in POLICIES.items() if kind.capabilities.models]
        raise UsageError(f"the policy {policy.name} asks no model", hint=f"take one of {', '.join(others)}")
    if can.asks and patient is None:
        raise UsageError(
            f"the policy {policy.name} asks the patient", hint="run `kgdx consult`, or give a patient to Graph.episode"
        )


def offered(question: str, options: Mapping[str, str] | None, policy: Policy) -> Mapping[str, str]:
    """Return the options of a question, checked; none where it has none.

    Example:
        >>> from kgdx.policies import FixedPolicy
        >>> offered("Which gene?", None, FixedPolicy())
        {}
    """
    if not options:
        return {}
    if not policy.capabilities.chooses:
        others = [name for name, kind in POLICIES.items() if kind.capabilities.chooses]
        hint = f"take one of {', '.join(others)}"
        raise UsageError(f"the policy {policy.name} chooses no option", hint=hint)
    from kgdx.answer.option_questions import OptionQuestion

    return dict(OptionQuestion("asked", question, options).options)


def world_of(graph: GraphContext, policy: Policy, model: ChatModel | str | None, limits: Limits) -> World:
    """Return the world of an episode: the graph, and the model where the policy asks one."""
    if not policy.capabilities.models:
        return World(graph)
    asked, prices = connected(graph.settings, model, limits)
    return World(graph, models={asked.name: asked}, prices=prices)


def read_twice(
    graph: GraphContext, policy: Policy | None, world: World, reader: ChatModel | str, limits: Limits, **how: Any
) -> tuple[SecondReader, World]:
    """Have a language model read the case's text beside the rules, before a policy goes on in its world."""
    from kgdx.policies.second_reader import SecondReader

    asked, prices = connected(graph.settings, reader, limits)
    others = dict(zip(("",), world.models.values(), strict=False))
    chooser = SecondReader(then=policy, model=READER, **how)
    return chooser, replace(world, models={**others, READER: asked}, prices=world.prices if others else prices)


def checked(question: str) -> str:
    """Return a question without the space around it.

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


def connected(
    settings: Settings, model: ChatModel | str | None, limits: Limits, *, cached: bool = True
) -> tuple[ChatModel, Prices]:
    """Return a model that can be asked, with its prices; the limits end a call that is under way, too.

    Args:
        model: A model that is ready, the name of one at the endpoint, or ``None`` for the one that is set.
    """
    if model is not None and not isinstance(model, str):
        return model, (0.0, 0.0)
    from kgdx.llm.connect import connect

    access = limited(settings.llm(model), limits)
    cache = settings.cache / "llm" / "answers.sqlite" if cached else None
    return connect(access, cache=cache), (access.price_in, access.price_out)


def limited(access: LlmAccess, limits: Limits) -> LlmAccess:
    """Return how a model is asked within limits: of each, the lesser of what is set and what is given counts.

    Example:
        >>> from kgdx.config import LlmAccess
        >>> limited(LlmAccess("m", "http://127.0.0.1:11434/v1", max_calls=9), Limits(calls=50)).max_calls
        9
    """
    if limits.cost is not None and not (access.price_in or access.price_out):
        raise UsageError(
            "a cost is limited, and no prices are set", hint="set KGDX_LLM_PRICE_IN and KGDX_LLM_PRICE_OUT"
        )
    return replace(
        access,
        max_calls=_least(access.max_calls, limits.calls),
        max_tokens=_least(access.max_tokens, limits.tokens),
        max_cost=_least(access.max_cost, limits.cost),
        max_seconds=_least(access.max_seconds, limits.seconds),
    )


def provenance(graph: GraphContext) -> tuple[str, tuple[Row, ...]]:
    """Return a graph's fingerprint and sources; without what cannot be asked any more, since a result stands alone."""
    fingerprint = ""
    sources: tuple[Row, ...] = ()
    with suppress(StoreError):
        fingerprint = graph.fingerprint
        sources = graph.sources()
    return fingerprint, sources


def _least(one: Number | None, other: Number | None) -> Number | None:
    return min((each for each in (one, other) if each is not None), default=None)


def answer_of(episode: Episode, case: Case | None, *, fingerprint: str) -> Answer:
    """Return what an episode answered.

    Example:
        >>> answer_of(Episode(State(Case("p"), question="q"), "rules", "steps"), None, fingerprint="f").reason
        'steps'
    """
    from kgdx.answer.cited_answer import Answer
    from kgdx.answer.evidence_pack import pack
    from kgdx.results.cited import ChosenOption, CitedText

    state = episode.state
    ranking, chosen = ranking_of(state), state.get(OptionChosen)
    issues = [*(() if case is None else state.case.issues), *(() if ranking is None else ranking.issues)]
    issues += faults(state)
    return Answer(
        question=state.question,
        option=None if chosen is None else ChosenOption(**asdict(chosen)),
        text=given_answer(state) or CitedText(author="none"),
        pack=pack(state),
        case=None if case is None else state.case,
        candidates=candidates_of(state),
        evidence=evidence_of(state),
        trace=state.log,
        issues=tuple(dict.fromkeys(issues)),
        reason=episode.reason,
        policy=episode.policy,
        model=model_of(state),
        fingerprint=fingerprint,
        version=kgdx_version(),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def model_of(state: State) -> str:
    """Return the name of the language model that was asked; empty where there was none."""
    asked = exchanges(state.log)
    return next((each.result.name for each in asked if each.result is not None), "")


def faults(state: State) -> Iterator[Issue]:
    """Yield what failed in an episode, for people: a model that gave no answer, actions, what of a plan was refused.

    Example:
        >>> from kgdx.episode.segment import error_segment
        >>> failed = error_segment("get_test", UsageError("the graph knows no disease called 'x'"))
        >>> [issue.where for issue in faults(State(Case("p"), log=(failed,)))]
        ['get_test']
    """
    refused = 0
    for number, segment in enumerate(state.log):
        for problem in segment.data.get("problems", ()) if segment.kind is Kind.RESULT else ():
            yield Issue("warning", problem["name"], problem["message"], "the answer does without")
        if segment.kind is Kind.RESULT and segment.name == "read_plan":
            refused += len(segment.data["artifact"]["refused"])
        elif segment.kind is Kind.RESULT and segment.name == "fit_passages":
            yield from _unfit(segment.data["summary"])
        elif segment.kind is Kind.WISH and segment.name == "remark":
            code = segment.data["code"]
            yield Issue("warning", code, segment.data["text"], _REMEDIES.get(code, ""))
        elif segment.kind is Kind.ERROR and "kind" in segment.data:
            where = READER if str(segment.data.get("prompt", "")).startswith("second_reader") else "model"
            again = where == READER or any(later.author is Author.MODEL for later in state.log[number:])
            yield Issue("warning" if again else "error", where, message_of(segment), _REMEDIES[where])
        elif segment.kind is Kind.ERROR:
            yield Issue("warning", segment.name, message_of(segment), "the answer does without")
    if refused:
        parts = "1 part" if refused == 1 else f"{refused} parts"
        yield Issue("info", "planner", f"{parts} of the model's plans could not be run", "the rounds say why")


def _unfit(told: Mapping[str, Any]) -> Iterator[Issue]:
    if told["fit"] < told["of"] or told.get("cut"):
        fit = "the best one, cut," if told.get("cut") else f"{told['fit']}"
        message = f"{fit} of {told['of']} passages found fit into {told['budget']:,} tokens"
        yield Issue("info", "search", message, "the others were not shown to the model")


def failure(episode: Episode) -> KgdxError | None:
    """Return why an episode has found nothing: the error that ended it, the graph's last one, or the model's."""
    from kgdx.answer.wants import DANGERS

    if episode.error is not None:
        return episode.error
    failed = [segment for segment in episode.log if segment.kind is Kind.ERROR]
    unread = [segment for segment in failed if segment.data.get("fault") == "graph"]
    if unread:  # that a graph which cannot be read has returned nothing would be taken for its answer
        return error_of(unread[-1])
    failed = [segment for segment in failed if segment.data.get("fault") == "model"]
    last = error_of(failed[-1]) if failed else None
    # one that wrote what cannot be used leaves what rules found, be it nothing; one that cannot be asked is mended
    asked = (each.data["wants"] for each in episode.log if each.name == "draft" and each.kind is Kind.WISH)
    safety = any(map(DANGERS.intersection, asked))  # what rules say of it is never left out
    return None if safety or (isinstance(last, LlmError) and last.kind in UNUSABLE) else last
