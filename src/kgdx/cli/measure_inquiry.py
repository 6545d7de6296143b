"""The command that measures how fast questions lead to the disease."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgdx.cli import inputs, output
from kgdx.cli.option_groups import Cases, OnSplit, Out, Sample, Seed, Sharing, asked_model, held_out_of, listed, through
from kgdx.cli.options import Force, Html, Json, Store, argument, option

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

    selectors: str = option(
        "infogain,degree", "NAMES", "Who chooses questions; several with commas, settings behind a colon."
    )
    answers: str = option("named", "bare,named", "Whether a yes says which recorded finding it is; one or both.")
    questions: int = option(20, "N", "Questions to each patient.", min=1, max=500)
    ablate: str = option("", "WHAT", "Also without: graph, record, selector; several with commas.")
    kinds: str = option("phenotype,evidence", "KINDS", "Asked about: phenotype, evidence, symptom, test.")


@dataclass(frozen=True, slots=True)
class PatientOptions:
    """Which patients, and how they answer."""

    start: int = option(2, "N", "Findings known at first.", min=1, max=100)
    forgets: float = option(0.0, "SHARE", "Of the findings, not known.", min=0, max=1)
    contradicts: float = option(0.0, "SHARE", "Of the yes and no, turned round.", min=0, max=1)
    unsure: float = option(0.0, "SHARE", "Of the questions, answered with don't know.", min=0, max=1)
    sample: Sample = None
    seed: Seed = 0


@dataclass(frozen=True, slots=True)
class InquiryFiles:
    """What is written besides."""

    out: Out = None
    plot: Path | None = option(None, "FILE", "Accuracy by question as a picture, PNG; needs kgdx[plot].")
    html: Html = None
    force: Force = False


def inquiry(
    cases: Cases,
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
    from kgdx.evaluate.inquiries import checked_selectors, evaluate_inquiry, inquiries_on, sampled
    from kgdx.evaluate.runner import Runner, finish, kept
    from kgdx.render.terminal.accuracy_text import inquiry_figures

    output.check(written.html, force=written.force)
    selectors, answers, setting = _wanted(asking, patients)
    given: list[Case | Failure] = list(held_out_of(split, inputs.many(cases)))
    if patients.sample is not None:
        given = sampled(given, patients.sample, patients.seed)
    with inputs.graph(store) as graph, output.progress_bar("patients", len(given)) as advance:
        task = partial(inquiries_on, setting=setting)
        about = {"graph": graph.fingerprint, "selectors": selectors, "answers": answers, "setting": asdict(setting)}
        checked_selectors(selectors)
        with kept(written.out, about, given) as journal:
            runner = Runner(journal, progress=advance, through=through(sharing, task, graph, share=2))
            result = evaluate_inquiry(task(graph), given, selectors, answers, runner)
            finish(written.out, runner.records, result)
    output.present(result, as_json, inquiry_figures)
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
    if written.plot is not None:
        from kgdx.render.plots import inquiry_plot

        inquiry_plot(result, written.plot)
        output.remark(f"picture written to {written.plot}")
    if written.html is not None:
        from kgdx.render.pages.figure_pages import inquiry_page

        output.write(written.html, lambda: inquiry_page(result), force=written.force)


SCRIPTED = "scripted:right, scripted:prose, scripted:malformed, scripted:adversarial"


@dataclass(frozen=True, slots=True)
class PlayerOptions:
    """Who plays what."""

    doctor: str = option("medkgi", "NAMES", "medkgi, house, agentclinic, thought; several with commas.")
    ablate: str = option("", "WHAT", "Also without: graph, record, selector; several with commas.")
    llm: str | None = option(None, "MODEL", f"Who plays the doctor: a model, or {SCRIPTED}; else rules.")
    patient: str = option("rules", "MODEL", "Who plays patient and measurement; rules by default.")
    judge: str = option("none", "MODEL", "Who judges what the graph does not know; none by default.")


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How it runs."""

    questions: int = option(20, "N", "Most turns of a consultation.", min=1, max=500)
    sample: int | None = option(None, "N", "Only the first N cases.", min=1)
    jobs: int = option(8, "N", "Consultations at the same time.", min=1, max=256)
    seed: Seed = 0
    out: Out = None


def consult(
    cases: str = argument(..., "FILE|FOLDER|-", "OSCE cases in AgentClinic's form; or .gz."),
    *,
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
    with inputs.graph(store) as graph, output.progress_bar("patients", len(given)) as advance:
        result = ConsultEvaluation(graph, doctors, cast, run.seed, run.jobs, advance).run(given, run.out)
    output.present(result, as_json, consult_figures)


def _cast(players: PlayerOptions, known: Sequence[Osce], cache: Path | None) -> Cast:
    """Who plays what, as the options name it."""
    from kgdx.evaluate.consultations import Cast
    from kgdx.evaluate.judges import DiseaseJudge

    doctor, prices = (None, (0.0, 0.0)) if players.llm is None else _model(players.llm, known, cache)
    patient = None if players.patient == "rules" else _model(players.patient, known, cache)[0]
    judge = None if players.judge == "none" else DiseaseJudge(_model(players.judge, known, cache)[0])
    return Cast(doctor, patient, judge, prices)


def _model(name: str, known: Sequence[Osce], cache: Path | None) -> tuple[ChatModel, Prices]:
    from kgdx.evaluate.scripted_agents import scripted_agent

    model, access = asked_model(name, lambda kind: scripted_agent(kind, known), cache)
    return model, (0.0, 0.0) if access is None else (access.price_in, access.price_out)
