"""Commands about patients: diagnose, batch, explain, extract, replay; and cases that are made up."""

from __future__ import annotations

import json
import os
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgdx.cli import inputs, page_files
from kgdx.cli import options as output
from kgdx.cli.options import (
    CaseArgument,
    CaseBank,
    Encoder,
    Force,
    Html,
    Json,
    OnStore,
    Policy,
    Store,
    Terms,
    Top,
    announce,
    grouped,
)
from kgdx.cli.person_options import Person
from kgdx.files.private import private_file

if TYPE_CHECKING:
    from concurrent.futures import Future

    from kgdx.actions import Diagnosis
    from kgdx.api import Graph
    from kgdx.case import Case, Failure


FAILED_CASES = 7


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    for command in (diagnose, batch, explain, extract, replay):
        app.command()(command)
    group = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Make up cases to try things out with.")
    group.callback()(lambda: None)
    group.command("synthesize")(synthesize)
    app.add_typer(group, name="cases")


@dataclass(frozen=True)
class Ranking:
    """How diseases are ranked, and for how many it is said why."""

    top: Top = 10
    explain: Annotated[int, typer.Option(metavar="N", min=0, max=100, help="For how many of them to say why.")] = 3
    policy: Policy = None
    llm: Annotated[
        str | None,
        typer.Option("--llm", metavar="MODEL", help="Have this model at KGDX_LLM_BASE_URL plan the steps."),
    ] = None
    case_bank: CaseBank = False


@dataclass(frozen=True)
class Output:
    """What is done with the result."""

    members: Annotated[
        bool, typer.Option("--members", help="List the other diseases of each family in the ranking.")
    ] = False
    save: Annotated[bool, typer.Option("--save", help="Write case and result into the graph.")] = False
    html: Html = None
    force: Force = False
    as_json: Json = False


@grouped
def diagnose(
    case: CaseArgument = None,
    *,
    terms: Terms,
    person: Person,
    ranking: Ranking,
    result: Output,
    encoder: Encoder = False,
    on_store: OnStore = False,
    store: Store = None,
) -> None:
    """Rank the diseases that fit a patient, and say why.

    Example: kgdx diagnose "ataxia and telangiectasia, no seizures"
    """
    import kgdx

    page_files.check(result.html, force=result.force)
    given = inputs.one(case)
    inputs.check_given(given, terms)
    about = person.about()
    top = ranking.top
    paths = min(max(ranking.explain, page_files.EXPLAINED if result.html or result.as_json else 0), top)
    how: dict[str, Any] = {"policy": ranking.policy, "case_bank": ranking.case_bank, "model": ranking.llm}
    announce(store, ranking.llm, ranking.policy)
    with inputs.graph(store, encoder=encoder, on_store=on_store) as graph:
        found = graph.diagnose(inputs.with_terms(given, terms, graph), top=top, explain=paths, **how, **about)
    if result.as_json:
        output.write_json(found.to_dict(words=True))
    else:
        from kgdx.render.terminal.diagnosis_text import diagnosis

        output.show(diagnosis(found, explain=ranking.explain, members=result.members))
    page_files.write_result(result.html, found, store=store, force=result.force)
    finished(found)
    if result.save:
        output.remark(f"saved as {kgdx.save(found, store=store)}")


def batch(
    cases: Annotated[
        str, typer.Argument(metavar="FILE|FOLDER|-", help="Cases: JSON lines, phenopackets, a folder, or -.")
    ],
    top: Top = 10,
    explain: Annotated[
        int, typer.Option(metavar="N", min=0, max=100, help="For how many diseases to add evidence.")
    ] = 0,
    policy: Policy = None,
    case_bank: CaseBank = False,
    encoder: Encoder = False,
    to: Annotated[
        Path | None,
        typer.Option("--out", "--output", "-o", metavar="FILE", help="File to write; standard output by default."),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(metavar="N", min=1, max=64, help="Processes; one for each core where cases are many.")
    ] = None,
    store: Store = None,
) -> None:
    """Diagnose many cases, a JSON line for each.

    A case that fails gives a line that says why, and the exit code 7. Example: kgdx batch cases.jsonl > results.jsonl
    """
    import sys

    source, total = inputs.many(cases), inputs.lines(cases)
    opening: dict[str, Any] = {"store": store, "encoder": encoder}
    options = {"top": top, "explain": explain, "policy": policy, "case_bank": case_bank}
    done = failed = 0
    with inputs.graph(**opening) as graph, output.progress_bar("cases", total) as advance:
        if case_bank:
            graph.bank.size  # noqa: B018 - without patients the whole batch fails, not each of its cases
        target = sys.stdout if to is None else private_file(to).open("w", encoding="utf-8")
        try:
            for line, wrong in results(graph, source, jobs or jobs_for(total), opening, options):
                print(line, file=target)
                done, failed = done + 1, failed + wrong
                advance()
        finally:
            if to is not None:
                target.close()
    from kgdx.results.words import count

    output.remark(count(done, "case") + (f", {failed} failed" if failed else ""))
    if failed:
        raise typer.Exit(FAILED_CASES)


@grouped
def explain(
    case: Annotated[str, typer.Argument(metavar="TEXT|FILE|-", help="The patient, as for diagnose.")],
    disease: Annotated[str, typer.Argument(metavar="DISEASE", help="A disease of the graph: its id or name.")],
    *,
    terms: Terms,
    person: Person,
    policy: Policy = None,
    case_bank: CaseBank = False,
    encoder: Encoder = False,
    html: Html = None,
    force: Force = False,
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Show all that speaks for and against one disease.

    Example: kgdx explain patient.json OMIM:190350
    """
    page_files.check(html, force=force)
    given, about = inputs.one(case), person.about()
    with inputs.graph(store, encoder=encoder) as graph:
        patient = inputs.with_terms(given, terms, graph)
        wanted = graph.ranked_disease(disease)
        result = graph.explain(patient, wanted, policy=policy, case_bank=case_bank, **about)
    finished(result)
    candidate = result.candidate(wanted)
    if as_json:
        document = result.to_dict(trace=False)
        document["candidates"] = [each for each in document["candidates"] if each["id"] == candidate.id]
        output.write_json(document)
    else:
        from kgdx.render.terminal.diagnosis_text import explanation

        output.show(explanation(result, candidate))
    page_files.write_result(html, result, store=store, force=force)


def extract(
    text: Annotated[str, typer.Argument(metavar="TEXT|FILE|-", help="Free text, or a file of it.")],
    language: Annotated[str | None, typer.Option(metavar="CODE", help="en or zh; found out when not given.")] = None,
    encoder: Encoder = False,
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Show which findings are read from a text.

    Example: kgdx extract "No seizures. Her mother has migraine."
    """
    import sys

    from kgdx.case.demographics import mentions
    from kgdx.errors import CaseError

    case = inputs.one(text)
    if case is None or not case.text:
        raise CaseError("the case holds no text", hint="give free text, or use `kgdx diagnose`")
    with inputs.graph(store, encoder=encoder) as graph:
        found = graph.extract(case.text, language)
    person = mentions(case.text)
    if as_json:
        from dataclasses import asdict

        output.write_json({**asdict(found), "person": [asdict(each) for each in person]})
    else:
        from kgdx.render.terminal.case_text import extraction

        output.show(extraction(case.text, found, person, brackets=not sys.stdout.isatty()))


def replay(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Id of a saved run, such as run:0123456789abcdef.")],
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Run the queries of a saved diagnosis again.

    Says whether the graph still answers the same; the exit code is 1 where it does not.
    """
    import kgdx

    with kgdx.open(store) as graph:
        replayed = graph.replay(run)
    if as_json:
        from dataclasses import asdict

        output.write_json([{**asdict(each), "parameters": dict(each.parameters)} for each in replayed])
    else:
        from kgdx.render.terminal.graph_text import replayed as table

        output.show(table(replayed))
    if not all(each.same for each in replayed):
        raise typer.Exit(1)


def synthesize(
    n: Annotated[int, typer.Option("--n", "-n", metavar="N", min=1, help="How many cases.")] = 100,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Of the random choices.")] = 0,
    imprecision: Annotated[
        float, typer.Option(metavar="SHARE", min=0.0, max=1.0, help="Of the terms that give way to an ancestor.")
    ] = 0.2,
    noise: Annotated[
        float, typer.Option(metavar="SHARE", min=0.0, max=1.0, help="Unrelated terms, for each that is observed.")
    ] = 0.2,
    omission: Annotated[
        float, typer.Option(metavar="SHARE", min=0.0, max=1.0, help="Of the terms that are left out.")
    ] = 0.2,
    exclusion: Annotated[
        float, typer.Option(metavar="SHARE", min=0.0, max=1.0, help="Of the absent terms that are stated.")
    ] = 0.1,
    to: Annotated[
        Path | None,
        typer.Option("--out", "--output", "-o", metavar="FILE", help="File to write; standard output by default."),
    ] = None,
    store: Store = None,
) -> None:
    """Make up patients from the annotations of the graph's diseases, as phenopackets marked as synthetic.

    The same graph and seed give the same cases. Example: kgdx cases synthesize --n 1000 --seed 1 --out made-up.jsonl
    """
    from kgdx.case import case_to_phenopacket
    from kgdx.evaluate.simulated_patients import Perturbation, Synthesis

    how = Perturbation(imprecision, noise, omission, exclusion)
    with inputs.graph(store) as graph:
        build = graph.status()["build"] or {}
        cases = Synthesis(graph.snapshot).cases(n, seed, how)
        made_of = f"made up from graph {graph.fingerprint[:16]}, seed {seed}, {how}"
        target = nullcontext(sys.stdout) if to is None else private_file(to).open("w", encoding="utf-8")
        with target as stream, output.progress_bar("cases", n) as advance:
            for case in output.each(cases, advance):
                packet = case_to_phenopacket(case, build.get("created"), made_of)
                print(json.dumps(packet, ensure_ascii=False), file=stream)
    if to is not None:
        from kgdx.results.words import count

        output.remark(f"{count(n, 'synthetic case')} in {to}")


# Diagnoses many cases, in this process or in several that read the graph at the same time; in their order.


CHUNK = 16
"""Cases that a worker gets at once."""

MANY = 200
"""Fewer cases are done before other processes would have started."""

Result = tuple[str, bool]
"""A line of JSON, and whether it says what went wrong."""

_opened: Graph | None = None


def results(
    graph: Graph, cases: Iterable[Case | Failure], jobs: int, opening: dict[str, Any], options: dict[str, Any]
) -> Iterator[Result]:
    """Diagnose cases, in their order.

    Args:
        graph: The open graph.
        cases: The cases.
        jobs: How many processes; with one, nothing is started.
        opening: For :func:`kgdx.open` in the processes that open the graph for themselves.
        options: For :meth:`kgdx.api.Graph.diagnose`.
    """
    if jobs == 1:
        return (result(graph, case, options) for case in cases)
    return _shared_out(iter(cases), jobs, opening, options)


def jobs_for(count: int | None) -> int:
    """Return how many processes suit so many cases, when nobody says.

    Example:
        >>> jobs_for(3), jobs_for(None)
        (1, 1)
    """
    if (count or 0) < MANY:
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def result(graph: Graph, case: Case | Failure, options: dict[str, Any]) -> Result:
    """Return the diagnosis of one case without its trace, or what went wrong."""
    from kgdx.case import Failure
    from kgdx.errors import KgdxError

    if isinstance(case, Failure):
        line: dict[str, Any] = {"id": case.id, "where": case.where, "error": case.message}
    else:
        try:
            found = graph.diagnose(case, **options)
            finished(found)
            line = {**found.to_dict(trace=False), "id": case.id, "run": found.id}
            if case.file:
                line["file"] = case.file
            del line["sources"]  # the same in every line; `kgdx info` lists them
        except KgdxError as error:
            line = {"id": case.id, "error": str(error), **({"file": case.file} if case.file else {})}
    return json.dumps(line, ensure_ascii=False), "error" in line


def finished(result: Diagnosis) -> None:
    """Fail where an action did: what was found before it may be shown, but is not the whole answer.

    Raises:
        KgdxError: What the action failed with.
    """
    from kgdx.errors import KgdxError

    failed = [issue.message for issue in result.issues if (issue.level, issue.where) == ("error", "episode")]
    if failed:
        raise KgdxError(failed[0])


def _shared_out(
    cases: Iterator[Case | Failure], jobs: int, opening: dict[str, Any], options: dict[str, Any]
) -> Iterator[Result]:
    """Hand out chunks to workers, a few ahead of those whose results are awaited."""
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    executor = ProcessPoolExecutor(jobs, get_context("spawn"), _start, (opening,))
    try:
        waiting: deque[Future[list[Result]]] = deque()
        while chunk := list(islice(cases, CHUNK)):
            waiting.append(executor.submit(_work, chunk, options))
            if len(waiting) > 2 * jobs:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()
    finally:
        executor.shutdown(cancel_futures=True)


def _start(opening: dict[str, Any]) -> None:
    """Open the graph in a worker; the process that started it answers to interruptions."""
    import signal

    import kgdx

    global _opened
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _opened = kgdx.open(**opening)


def _work(cases: list[Case | Failure], options: dict[str, Any]) -> list[Result]:
    assert _opened is not None
    return [result(_opened, case, options) for case in cases]
