"""The command that lets doctors consult simulated patients of OSCE cases, and measures them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgdx.cli import inputs, options
from kgdx.cli.evaluation_options import Out, Seed, asked_model, listed, show
from kgdx.cli.options import Json, Store, grouped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kgdx.evaluate.consultations import Cast
    from kgdx.evaluate.osce_agents import Osce
    from kgdx.llm.chat import ChatModel, Prices

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
