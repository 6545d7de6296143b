"""The command that asks a person at the terminal, question by question, and goes on from a transcript."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgdx.cli import inputs, options
from kgdx.cli.options import CaseArgument, Force, Html, Json, Store, Terms, grouped

if TYPE_CHECKING:
    from kgdx.api import Graph
    from kgdx.case import Case
    from kgdx.episode import Episode, Segment, State
    from kgdx.episode.wish import AskPatient, Reply

HELP = "y yes · n no · ? don't know · b back · w why · f finish · or say it in words"

WORDS = {
    "present": frozenset({"y", "yes", "是", "有"}),
    "absent": frozenset({"n", "no", "否", "没有", "无"}),
    "unknown": frozenset({"", "?", "unknown", "don't know", "不知道", "不清楚"}),
}
"""Words that answer a question with its finding's status."""


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(consult)


@dataclass(frozen=True)
class Asking:
    """Who asks, and for how long."""

    policy: Annotated[str | None, typer.Option("--policy", metavar="NAME", help="Who chooses the questions.")] = None
    max_questions: Annotated[int, typer.Option(metavar="N", min=0, max=500, help="Most questions.")] = 20
    certain: Annotated[
        float, typer.Option(metavar="SHARE", min=0.01, max=1.0, help="Share of the best disease at which to end.")
    ] = 0.7


@dataclass(frozen=True)
class Kept:
    """Where the consultation is kept."""

    transcript: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keep the consultation here; it holds the patient's words.")
    ] = None
    resume: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Go on with this transcript, and keep it there.")
    ] = None


@dataclass(frozen=True)
class Output:
    """What is done with the result."""

    html: Html = None
    force: Force = False
    as_json: Json = False


@grouped
def consult(
    case: CaseArgument = None,
    *,
    terms: Terms,
    asking: Asking,
    keep: Kept,
    result: Output,
    store: Store = None,
) -> None:
    """Ask about a patient, and rank the diseases.

    Example: kgdx consult "ataxia" --transcript visit.jsonl
    """
    from kgdx.cli import page_files
    from kgdx.errors import UsageError

    page_files.check(result.html, force=result.force)
    if keep.resume is not None and (case or terms.given):
        raise UsageError("a transcript has its own patient", hint="leave the patient out, or --resume")
    given = inputs.one(case)
    with inputs.graph(store) as graph:
        policy, episode = _begun(graph, given, terms, asking, keep)
        transcript = _Transcript(keep.resume or keep.transcript)
        transcript.write(episode.log)
        episode = _asked(graph, policy, episode, transcript)
        if episode.waiting:
            place = f": go on with `kgdx consult --resume {transcript.path}`" if transcript.path else ""
            options.remark(f"the consultation is not finished{place}")
            return
        found = graph.diagnosis(episode)
    if result.as_json:
        options.write_json(found.to_dict())
    else:
        from kgdx.render.terminal.diagnosis_text import diagnosis

        options.show(diagnosis(found, explain=len(found.evidence)))
    page_files.write_result(result.html, found, store=store, force=result.force)


def _begun(graph: Graph, given: Case | None, terms: Terms, asking: Asking, keep: Kept) -> tuple[Any, Episode]:
    """Return the policy, and the episode until it first waits: a new one, or that of a transcript."""
    from kgdx.episode import Limits, load, policy_of

    if keep.resume is not None:
        log = load(_read(keep.resume))
        policy: Any = policy_of(log)
        return policy, graph.episode(log=log, policy=policy)
    policy = _policy(asking.policy, asking.max_questions, asking.certain)
    known = inputs.with_terms(given, terms, graph) if given or terms.given else None
    limits = Limits(steps=100_000, stagnation=1_000, errors=1_000)
    return policy, graph.episode(known, policy=policy, limits=limits)


def _policy(name: str | None, questions: int, certain: float) -> Any:
    """Return the policy of a name, or the first that asks patients, with the settings that it has.

    Raises:
        UsageError: It asks no patient.
    """
    from kgdx.episode import POLICIES, make_policy
    from kgdx.errors import UsageError

    asking = [each for each, kind in POLICIES.items() if kind.capabilities.asks]
    if name is not None and name not in asking:
        POLICIES.get(name)
        raise UsageError(f"the policy {name} asks no patient", hint=f"take one of {', '.join(asking)}")
    return make_policy(name or asking[0], questions=questions, certain=certain)


def _read(path: Path) -> str:
    from kgdx.errors import CaseError

    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CaseError(f"the transcript {path} cannot be read ({error})", hint="give one that kgdx wrote") from error


class _Transcript:
    """A file that has the log after every answer, so that nothing is lost; only its owner may read it.

    Args:
        path: The file; nothing is kept where ``None``.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path

    def write(self, log: tuple[Segment, ...]) -> None:
        """Put the log in the place of what the file had, whole or not at all.

        Raises:
            StoreError: It cannot be written.
        """
        if self.path is None:
            return
        from kgdx.episode import dump
        from kgdx.errors import StoreError

        new = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        try:
            with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
                file.write(dump(log))
            os.replace(new, self.path)
        except OSError as error:
            raise StoreError(
                f"the transcript {self.path} cannot be written ({error})", hint="choose another"
            ) from error


def _asked(graph: Graph, policy: Any, episode: Episode, kept: _Transcript) -> Episode:
    """Ask until the episode ends or nobody answers any more."""
    from kgdx.episode import answered, run
    from kgdx.episode.wish import AskPatient

    world = graph.world(policy)
    if episode.waiting and sys.stdin.isatty():
        options.remark(HELP)
    lines = _lines()
    while isinstance(asked := episode.state.pending, AskPatient):
        options.remark(_question(episode.state, asked))
        line = next(lines, None)
        if line is None:
            return episode
        state = _after(graph, episode, line.strip(), world)
        if state is None:
            reply = _reply(line.strip(), asked)
            state = answered(episode.state, reply)
        episode = run(world, state, policy)
        kept.write(episode.log)
    return episode


def _lines() -> Iterator[str]:
    try:
        yield from sys.stdin
    except KeyboardInterrupt:
        return


def _after(graph: Graph, episode: Episode, word: str, world: Any) -> State | None:
    """Do what is no answer: go back, say why, finish; ``None`` where the word is an answer."""
    from kgdx.actions.believing import Questions
    from kgdx.episode import Author, Kind, Segment, resume

    state = episode.state
    if word in ("f", "finish", "结束"):
        return state.add(Segment(Author.USER, Kind.LIMIT, "finished"))
    if word in ("b", "back", "返回"):
        asked = [n for n, each in enumerate(state.log) if each.kind is Kind.WISH and each.name == "ask_patient"]
        if len(asked) < 2:
            options.remark("this is the first question")
            return state
        return resume(world, state.log[: asked[-2] + 1])
    if word in ("w", "why", "为什么"):
        proposed = state.get(Questions)
        term = getattr(state.pending, "term", None)
        gain = next((each.gain for each in proposed.questions if each.term == term), None) if proposed else None
        options.remark(
            "it is an open question: nothing is known yet"
            if gain is None
            else f"its answer is expected to tell {gain:.2f} bits about which disease it is, more than any other"
        )
        return state
    return None


def _question(state: State, asked: AskPatient) -> str:
    from kgdx.actions.believing import Shares

    shares = state.get(Shares)
    best = f"   [{shares.shares[0].name} {shares.shares[0].share:.0%}]" if shares and shares.shares else ""
    number = state.counts.questions
    if asked.term is None:
        return f"{number}. What are the signs and symptoms?{best}"
    return f"{number}. {asked.label or asked.term}?{best}"


def _reply(word: str, asked: AskPatient) -> Reply:
    from kgdx.case import Status
    from kgdx.episode.wish import Reply

    status = next((Status(name) for name, words in WORDS.items() if word.lower() in words), None)
    if status is None or asked.term is None:
        return Reply(text=word[:100_000]) if word else Reply(status=Status.UNKNOWN)
    return Reply(status=status)  # type: ignore[arg-type]
