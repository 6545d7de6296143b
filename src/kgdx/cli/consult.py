"""The command that asks a person at the terminal, question by question, and goes on from a transcript."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from kgdx.cli import inputs, output
from kgdx.cli.options import BudgetOptions, CaseArgument, Presentation, Reading, Store, TermOptions, flag, option
from kgdx.errors import StoreError, UsageError, refusing

if TYPE_CHECKING:
    from kgdx.api import Graph
    from kgdx.api.consulting import Consultation, Keep
    from kgdx.case import Case
    from kgdx.episode import Segment
    from kgdx.episode.state import Limits
    from kgdx.results.consulted import QuestionDocument


@dataclass(frozen=True)
class ConsultQuestions:
    """Who asks, how, and for how long."""

    policy: str | None = option(None, "NAME", "Who chooses the questions.")
    llm: str | None = option(None, "MODEL", "Model that plays the doctor (--policy doctor).")
    selector: str | None = option(None, "NAME", "How they are chosen: infogain, split:20, medkgi, degree …")
    questions: int | None = option(None, "N", "Most questions; 20 unless said.", "--max-questions", min=0, max=500)
    certain: float | None = option(None, "SHARE", "Share of the best disease at which to end; .6.", min=0.01, max=1.0)
    speaks: str | None = option(None, "LANGUAGE", "Ask in en or zh; as the patient is described.", "--language")
    costs: str | None = option(None, "WAY=PRICE,…", "Prices of ask, look, examine, laboratory, imaging; by effort.")

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that were given, by the policy's names."""
        given = {name: each for name, each in vars(self).items() if each is not None and name not in ("policy", "llm")}
        return given if self.costs is None else {**given, "costs": prices(self.costs)}


def prices(given: str) -> dict[str, float]:
    """Return prices by way of answering, beside those by effort.

    Example:
        >>> prices("imaging=10")["imaging"], prices("imaging=10")["ask"]
        (10.0, 1.0)
    """
    from kgdx.rank.proposing import EFFORT, checked

    found = dict(EFFORT)
    for each in given.split(","):
        way, _, price = each.partition("=")
        try:
            found[way.strip()] = float(price)
        except ValueError:
            raise UsageError(f"no price in {each[:40]!r}", hint="give them as imaging=10,laboratory=3") from None
    return checked(found)


@dataclass(frozen=True)
class ConsultFiles:
    """Where the consultation is kept."""

    transcript: Path | None = option(None, "FILE", "Keep the consultation here; it holds the patient's words.")
    resume: Path | None = option(None, "FILE", "Go on with this transcript, and keep it there.")
    record: Path | None = option(
        None, "FILE", "Write the record: .json, .html to print, or .phenopacket.json for what is known."
    )
    save: bool = flag("Write the case and the run into the graph.")


def consult(
    case: CaseArgument = None,
    *,
    terms: TermOptions,
    asking: ConsultQuestions,
    second: Reading,
    budget: BudgetOptions,
    keep: ConsultFiles,
    trace: bool = flag("Show every step, and who took it."),
    shown: Presentation,
    store: Store = None,
) -> None:
    """Ask about a patient, and rank the diseases.

    Example: kgdx consult "ataxia" --transcript visit.jsonl
    """
    from kgdx.results.consulted import say

    output.check(shown.html, force=shown.force)
    output.check_record(keep.record, force=shown.force)
    if keep.resume is not None and (case or terms.given or asking.settings or asking.policy):
        raise UsageError("a transcript has its own patient and settings", hint="leave them out, or --resume")
    given, limits = inputs.one(case), budget.limits()
    output.announce(store, second.reader, None)
    with inputs.graph(store) as graph:
        known = inputs.with_terms(given, terms, graph) if given or terms.given else None
        consultation = _begun(graph, known and second.again(graph, known, limits), asking, limits, keep)
        _ask(consultation)
        output.write_record(keep.record, consultation, force=shown.force)
        if consultation.waiting:
            path, language = keep.resume or keep.transcript, consultation.language
            place = say("go_on", language, path=path) if path else ""
            return output.remark(say("unfinished", language, place=place))
        _close(consultation)
        found = consultation.diagnosis
        if keep.save:
            output.remark_saved(graph.save(found), graph)
    output.diagnosed(shown, found, store, trace=trace, explain=len(found.evidence))


def _begun(
    graph: Graph, known: Case | None, asking: ConsultQuestions, limits: Limits, keep: ConsultFiles
) -> Consultation:
    """Return the consultation until it first waits: a new one, or that of a transcript."""
    kept = _keeper(keep.resume or keep.transcript)
    if keep.resume is not None:
        return graph.consult(resume=keep.resume, model=asking.llm, limits=limits, keep=kept)
    policy = asking.policy or ("doctor" if asking.llm else None)
    return graph.consult(known, policy=policy, model=asking.llm, limits=limits, keep=kept, **asking.settings)


def _keeper(path: Path | None) -> Keep | None:
    """Return what writes the log into a file after every answer, that its owner alone may read."""

    def write(log: tuple[Segment, ...]) -> None:
        from kgdx.episode import dump
        from kgdx.files.known import write_whole

        with refusing(StoreError, f"the transcript {path} cannot be written", "choose another"):
            write_whole(cast(Path, path), dump(log))

    return None if path is None else write


def _ask(consultation: Consultation) -> None:
    from kgdx.results.consulted import say
    from kgdx.terms.replies import read_reply

    lines, language = _lines(), consultation.language
    if consultation.waiting and sys.stdin.isatty():
        output.remark(say("help", language))
    while (question := consultation.question) is not None:
        output.remark(_shown(question, consultation))
        line = next(lines, None)
        if line is None:
            return
        if read_reply(line).meaning == "why":
            output.remark(question.why)
            continue
        try:
            consultation.answer(line)
        except UsageError as error:
            output.remark(error.message)
            continue
        _say_heard(consultation, question)


def _lines() -> Iterator[str]:
    try:
        yield from (line.rstrip("\n") for line in sys.stdin)
    except KeyboardInterrupt:
        return


def _shown(question: QuestionDocument, consultation: Consultation) -> str:
    from kgdx.results.consulted import percent, say

    official = (
        f" ({question.label})" if question.label and question.label.casefold() != question.name.casefold() else ""
    )
    best = "".join(f"   [{each.name} {percent(each.share)}]" for each in consultation.differential[:1])
    lines = [f"{question.number}. {question.text}{official}{best}"]
    if question.kind == "which":
        lines += [f"   {number} {each.name}" for number, each in enumerate(question.options, 1)]
        lines.append(f"   {say('which_hint', consultation.language)}")
    return "\n".join(lines)


def _say_heard(consultation: Consultation, question: QuestionDocument) -> None:
    from kgdx.results.consulted import say

    language = consultation.language
    read = [each for each in consultation.heard if each.id != question.term and question.kind != "which"]
    if read:
        named = (
            each.label if each.status == "present" else say("negated", language, name=each.label or each.id)
            for each in read
        )
        output.remark("   " + say("read", language, findings=", ".join(named)))
    if consultation.unread:
        output.remark("   " + say("noted", language))
    for each in consultation.contradictions:
        output.remark(f"   ! {each}")


def _close(consultation: Consultation) -> None:
    from kgdx.results.consulted import say

    closing, language = consultation.closing, consultation.language
    if closing is None:
        return
    output.remark(closing.text)
    if closing.not_to_miss:
        names = "; ".join(f"{each.name} ({each.settled_by})" for each in closing.not_to_miss)
        output.remark(say("not_to_miss", language, names=names))
    if closing.to_examine:
        output.remark(say("to_examine", language, names=", ".join(each.name for each in closing.to_examine)))
