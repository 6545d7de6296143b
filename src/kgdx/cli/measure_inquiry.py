"""The command that measures how fast questions lead to the disease."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgdx.cli import inputs, options
from kgdx.cli.evaluation_options import OnSplit, Out, Sample, Seed, asked_model, held_out_of, listed, show, through
from kgdx.cli.options import Force, Html, Json, Store, grouped
from kgdx.cli.share_options import Sharing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kgdx.case import Case
    from kgdx.case.case_files import Failure
    from kgdx.evaluate.consultations import Cast
    from kgdx.evaluate.inquiries import Answers, Setting
    from kgdx.evaluate.osce_agents import Osce
    from kgdx.llm.chat import ChatModel, Prices


@dataclass(frozen=True, slots=True)
class InquiryOptions:
    """Who asks, and how it is answered."""

    selectors: Annotated[
        str, typer.Option(metavar="NAMES", help="Who chooses questions; several with commas, settings behind a colon.")
    ] = "infogain,degree"
    answers: Annotated[
        str, typer.Option(metavar="bare,named", help="Whether a yes says which recorded finding it is; one or both.")
    ] = "named"
    questions: Annotated[int, typer.Option(metavar="N", min=1, max=500, help="Questions to each patient.")] = 20
    ablate: Annotated[
        str, typer.Option(metavar="WHAT", help="Also without: graph, record, selector; several with commas.")
    ] = ""
    kinds: Annotated[str, typer.Option(metavar="KINDS", help="Asked about: phenotype, evidence, symptom, test.")] = (
        "phenotype,evidence"
    )


@dataclass(frozen=True, slots=True)
class PatientOptions:
    """Which patients, and how they answer."""

    start: Annotated[int, typer.Option(metavar="N", min=1, max=100, help="Findings known at first.")] = 2
    forgets: Annotated[float, typer.Option(metavar="SHARE", min=0, max=1, help="Of the findings, not known.")] = 0.0
    contradicts: Annotated[
        float, typer.Option(metavar="SHARE", min=0, max=1, help="Of the yes and no, turned round.")
    ] = 0.0
    unsure: Annotated[
        float, typer.Option(metavar="SHARE", min=0, max=1, help="Of the questions, answered with don't know.")
    ] = 0.0
    sample: Sample = None
    seed: Seed = 0


@dataclass(frozen=True, slots=True)
class InquiryFiles:
    """What is written besides."""

    out: Out = None
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Accuracy by question as a picture, PNG; needs kgdx[plot].")
    ] = None
    html: Html = None
    force: Force = False


@grouped
def inquiry(
    cases: Annotated[str, typer.Argument(metavar="FILE|FOLDER|-", help="Cases that state their diagnosis; or .gz.")],
    asking: InquiryOptions,
    patients: PatientOptions,
    written: InquiryFiles,
    sharing: Sharing,
    split: OnSplit = None,
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Measure how fast questions lead to the diagnosis.

    Each case plays a patient that answers from what it records. Example: kgdx evaluate inquiry cases.jsonl --selectors
    infogain,degree --answers bare,named
    """
    from kgdx.cli import page_files
    from kgdx.evaluate.inquiries import checked_selectors, evaluate_inquiry, inquiries_on, sampled
    from kgdx.evaluate.runner import Runner, finish, kept
    from kgdx.render.terminal.accuracy_text import inquiry_figures

    page_files.check(written.html, force=written.force)
    selectors, answers, setting = _wanted(asking, patients)
    given: list[Case | Failure] = list(held_out_of(split, inputs.many(cases)))
    if patients.sample is not None:
        given = sampled(given, patients.sample, patients.seed)
    with inputs.graph(store) as graph, options.progress_bar("patients", len(given)) as advance:
        task = partial(inquiries_on, setting=setting)
        about = {"graph": graph.fingerprint, "selectors": selectors, "answers": answers, "setting": asdict(setting)}
        checked_selectors(selectors)
        with kept(written.out, about, given) as journal:
            runner = Runner(journal, progress=advance, through=through(sharing, task, graph, share=2))
            result = evaluate_inquiry(task(graph), given, selectors, answers, runner)
            finish(written.out, runner.records, result)
    show(result, as_json, inquiry_figures)
    _draw(written, result)


def _wanted(asking: InquiryOptions, patients: PatientOptions) -> tuple[list[str], list[Answers], Setting]:
    from kgdx.episode.recorded_patient import Noise
    from kgdx.errors import UsageError
    from kgdx.evaluate.inquiries import ABLATIONS, ANSWERS, Setting

    ablate, answers, kinds = (listed(each) for each in (asking.ablate, asking.answers, asking.kinds))
    for given, known in ((ablate, tuple(ABLATIONS)), (answers, ANSWERS)):
        if wrong := [each for each in given if each not in known]:
            raise UsageError(f"there is no {wrong[0][:40]!r} here", hint=f"one of {', '.join(known)}")
    names = [*listed(asking.selectors), *(name for each in ablate for name in ABLATIONS[each])]
    noise = Noise(patients.forgets, patients.contradicts, patients.unsure)
    setting = Setting(asking.questions, patients.start, patients.seed, noise, tuple(kinds))
    return list(dict.fromkeys(names)), [each for each in ANSWERS if each in answers], setting


def _draw(written: InquiryFiles, result: dict[str, Any]) -> None:
    from kgdx.cli import page_files

    if written.plot is not None:
        from kgdx.render.plots import inquiry_plot

        inquiry_plot(result, written.plot)
        options.remark(f"picture written to {written.plot}")
    if written.html is not None:
        from kgdx.render.pages.figure_pages import inquiry_page

        page_files.write(written.html, lambda: inquiry_page(result), force=written.force)


SCRIPTED = "scripted:right, scripted:prose, scripted:malformed, scripted:adversarial"


@dataclass(frozen=True, slots=True)
class PlayerOptions:
    """Who plays what."""

    doctor: Annotated[
        str,
        typer.Option(metavar="NAMES", help="medkgi, house, agentclinic, thought; several with commas."),
    ] = "medkgi"
    ablate: Annotated[
        str, typer.Option(metavar="WHAT", help="Also without: graph, record, selector; several with commas.")
    ] = ""
    llm: Annotated[
        str | None,
        typer.Option("--llm", metavar="MODEL", help=f"Who plays the doctor: a model, or {SCRIPTED}; else rules."),
    ] = None
    patient: Annotated[
        str, typer.Option(metavar="MODEL", help="Who plays patient and measurement; rules by default.")
    ] = "rules"
    judge: Annotated[
        str, typer.Option(metavar="MODEL", help="Who judges what the graph does not know; none by default.")
    ] = "none"


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How it runs."""

    questions: Annotated[int, typer.Option(metavar="N", min=1, max=500, help="Most turns of a consultation.")] = 20
    sample: Annotated[int | None, typer.Option(metavar="N", min=1, help="Only the first N cases.")] = None
    jobs: Annotated[int, typer.Option(metavar="N", min=1, max=256, help="Consultations at the same time.")] = 8
    seed: Seed = 0
    out: Out = None


@grouped
def consult(
    cases: Annotated[str, typer.Argument(metavar="FILE|FOLDER|-", help="OSCE cases in AgentClinic's form; or .gz.")],
    players: PlayerOptions,
    run: RunOptions,
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Measure doctors who consult simulated patients.

    Accuracy by exact match and by a judge, turns, coverage, what models got wrong. Example: kgdx evaluate consult
    cases.jsonl --doctor medkgi --ablate graph,record,selector
    """
    from itertools import islice

    from kgdx.evaluate.consultations import ConsultEvaluation, doctor, expanded, osce_cases
    from kgdx.evaluate.runner import CACHE
    from kgdx.render.terminal.accuracy_text import consult_figures

    names = list(dict.fromkeys(expanded(listed(players.doctor), listed(players.ablate))))
    doctors = [doctor(name, model=players.llm is not None, questions=run.questions) for name in names]
    given = list(islice(inputs.many(cases), run.sample))
    cast = _cast(players, osce_cases(given)[0], None if run.out is None else run.out / CACHE)
    with inputs.graph(store) as graph, options.progress_bar("patients", len(given)) as advance:
        result = ConsultEvaluation(graph, doctors, cast, run.seed, run.jobs, advance).run(given, run.out)
    show(result, as_json, consult_figures)


def _cast(players: PlayerOptions, known: Sequence[Osce], cache: Path | None) -> Cast:
    """Who plays what, as the options name it."""
    from kgdx.evaluate.consultations import Cast
    from kgdx.evaluate.diagnosis_judges import DiseaseJudge

    doctor, prices = (None, (0.0, 0.0)) if players.llm is None else _model(players.llm, known, cache)
    patient = None if players.patient == "rules" else _model(players.patient, known, cache)[0]
    judge = None if players.judge == "none" else DiseaseJudge(_model(players.judge, known, cache)[0])
    return Cast(doctor, patient, judge, prices)


def _model(name: str, known: Sequence[Osce], cache: Path | None) -> tuple[ChatModel, Prices]:
    from kgdx.evaluate.scripted_agents import scripted_agent

    model, access = asked_model(name, lambda kind: scripted_agent(kind, known), cache)
    return model, (0.0, 0.0) if access is None else (access.price_in, access.price_out)
