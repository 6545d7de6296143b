"""Commands about patients: diagnose, explain, extract, replay; and cases that are made up."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

import kgdx
from kgdx.cli import inputs, output
from kgdx.cli.options import (
    OUT,
    BudgetOptions,
    CaseArgument,
    CaseBank,
    Encoder,
    Json,
    OnStore,
    Policy,
    Presentation,
    Reading,
    Rerank,
    Store,
    TermOptions,
    Top,
    add,
    add_typer,
    argument,
    flag,
    option,
)
from kgdx.cli.output import announce, finished
from kgdx.errors import CaseError, UsageError

if TYPE_CHECKING:
    from kgdx.case import About


def register(app: typer.Typer) -> None:
    add(app, diagnose, explain, extract, replay)
    add_typer(app, "cases", "Make up cases to try things out with.", synthesize).callback()(lambda: None)


@dataclass(frozen=True)
class PersonOptions:
    age: str | None = option(None, "AGE", "Now, such as 7, 3 months or P7Y3M.")
    sex: str | None = option(None, "SEX", "female or male.")
    onset: str | None = option(None, "WHEN", "Begin of the disease: an age, congenital, infantile, adult …")
    inheritance: str | None = option(None, "MODE", "The mode that is suspected: AD, AR, XLR, XLD, XL, MT.")
    consanguineous: bool | None = option(
        None, "", "Whether the parents are related.", "--consanguineous/--not-consanguineous", show_default=False
    )
    gene: list[str] | None = option(None, "SYMBOL", "A gene with a candidate variant; can be repeated.")
    genes: Path | None = option(None, "FILE", "File of such genes: a list, an annotated VCF, Exomiser's or VEP's TSV.")

    setting: str | None = option(None, "WHERE", "Where the patient is seen: emergency, general, or referral.")

    def about(self) -> About:
        """Return what was given, checked before any graph is opened."""
        from kgdx.case import Case, with_person

        if self.gene and self.genes:
            raise UsageError("both --gene and --genes are given", hint="put all genes into the file")
        given: About = {
            "age": self.age,
            "sex": self.sex,
            "onset": self.onset,
            "inheritance": self.inheritance,
            "consanguineous": self.consanguineous,
            "setting": self.setting,
            "genes": self.genes or [part for each in self.gene or () for part in each.split(",")],
        }
        with_person(Case(""), given)
        return given


@dataclass(frozen=True)
class RankingOptions(BudgetOptions):
    """How diseases are ranked, for how many it is said why, and what a model may cost."""

    top: Top = 10
    explain: int = option(3, "N", "For how many of them to say why.", min=0, max=100)
    policy: Policy = None
    llm: str | None = option(None, "MODEL", "Have this model at KGDX_LLM_BASE_URL plan the steps.")
    case_bank: CaseBank = None
    gates: bool = option(True, "", "Leave out diseases that sex or age rules out.")


def diagnose(
    case: CaseArgument = None,
    *,
    terms: TermOptions,
    person: PersonOptions,
    ranking: RankingOptions,
    rerank: Rerank,
    second: Reading,
    members: bool = flag("List the other diseases of each family in the ranking."),
    trace: bool = flag("Show every step, and who took it."),
    save: bool = flag("Write case and result into the graph."),
    shown: Presentation,
    encoder: Encoder = False,
    on_store: OnStore = False,
    store: Store = None,
) -> None:
    """Rank the diseases that fit a patient, and say why.

    Example: kgdx diagnose "ataxia and telangiectasia, no seizures"
    """
    output.check(shown.html, force=shown.force)
    top = ranking.top
    paths = min(max(ranking.explain, output.EXPLAINED if shown.html or shown.as_json else 0), top)
    how: dict[str, Any] = {"policy": ranking.policy, "case_bank": ranking.case_bank, "model": ranking.llm}
    how |= {} if ranking.gates else {"gates": False}
    others = (ranking.llm, ranking.policy)
    if (chosen := rerank.policy(top=top, explain=paths, case_bank=ranking.case_bank, others=others)) is not None:
        how = {"policy": chosen, "model": rerank.rerank}
    given = inputs.one(case)
    inputs.check_given(given, terms)
    about = person.about()
    how |= {} if ranking.limits() == BudgetOptions().limits() else {"limits": ranking.limits()}
    how |= vars(second)
    announce(store, how["model"], ranking.policy)
    announce(store, second.reader, None)
    with inputs.graph(store, encoder=encoder, on_store=on_store) as graph:
        found = graph.diagnose(inputs.with_terms(given, terms, graph), top=top, explain=paths, **how, **about)
    output.diagnosed(shown, found, store, trace=trace, words=True, explain=ranking.explain, members=members)
    finished(found)
    if save:
        with kgdx.open(store) as graph:
            output.remark_saved(graph.save(found), graph)


def explain(
    case: str = argument(..., "TEXT|FILE|-", "The patient, as for diagnose."),
    disease: str = argument(..., "DISEASE", "A disease of the graph: its id or name."),
    *,
    terms: TermOptions,
    person: PersonOptions,
    policy: Policy = None,
    case_bank: CaseBank = None,
    second: Reading,
    budget: BudgetOptions,
    encoder: Encoder = False,
    shown: Presentation,
    store: Store = None,
) -> None:
    """Show all that speaks for and against one disease.

    Example: kgdx explain patient.json OMIM:190350
    """
    output.check(shown.html, force=shown.force)
    given, about = inputs.one(case), person.about()
    announce(store, second.reader, None)
    with inputs.graph(store, encoder=encoder) as graph:
        patient = second.again(graph, inputs.with_terms(given, terms, graph), budget.limits())
        wanted = graph.ranked_disease(disease)
        result = graph.explain(patient, wanted, policy=policy, case_bank=case_bank, **about)
    finished(result)
    candidate = result.candidate(wanted)
    if shown.as_json:
        document = result.to_dict(trace=False)
        document["candidates"] = [each for each in document["candidates"] if each["id"] == candidate.id]
        output.write_json(document)
    else:
        from kgdx.render.terminal.diagnosis_text import explanation

        output.show(explanation(result, candidate), facts=shown.plain)
    output.write_result(shown, result, store)


def extract(
    text: str = argument(..., "TEXT|FILE|-", "Free text, or a file of it."),
    language: str | None = option(None, "CODE", "en or zh; found out when not given."),
    *,
    second: Reading,
    budget: BudgetOptions,
    encoder: Encoder = False,
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Show which findings are read from a text.

    Example: kgdx extract "No seizures. Her mother has migraine."
    """
    from kgdx.case.demographics import mentions

    case = inputs.one(text)
    if case is None or not case.text:
        raise CaseError("the case holds no text", hint="give free text, or use `kgdx diagnose`")
    announce(store, second.reader, None)
    with inputs.graph(store, encoder=encoder) as graph:
        found = graph.extract(case.text, language, limits=budget.limits(), **vars(second))
    person = mentions(case.text)
    if as_json:
        output.write_json({**output.plain(found), "person": output.plain(person)})
    else:
        from kgdx.render.terminal.case_text import extraction

        output.show(extraction(case.text, found, person, brackets=not sys.stdout.isatty()))


def replay(
    run: str = argument(..., "RUN", "Id of a saved run, such as run:0123456789abcdef."),
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Run the queries of a saved diagnosis again.

    Says whether the graph still answers the same; the exit code is 1 where it does not.
    """
    from kgdx.render.terminal.graph_text import replayed as table

    with kgdx.open(store) as graph:
        replayed = graph.replay(run)
    output.present(replayed, as_json, table)
    if not all(each.same for each in replayed):
        raise typer.Exit(1)


def synthesize(
    n: int = option(100, "N", "How many cases.", "--n", "-n", min=1),
    seed: int = option(0, "N", "Of the random choices.", min=0),
    imprecision: float = option(0.2, "SHARE", "Of the terms that give way to an ancestor.", min=0.0, max=1.0),
    noise: float = option(0.2, "SHARE", "Unrelated terms, for each that is observed.", min=0.0, max=1.0),
    omission: float = option(0.2, "SHARE", "Of the terms that are left out.", min=0.0, max=1.0),
    exclusion: float = option(0.1, "SHARE", "Of the absent terms that are stated.", min=0.0, max=1.0),
    to: Path | None = option(None, "FILE", "File to write; standard output by default.", *OUT),
    store: Store = None,
) -> None:
    """Make up patients from the annotations of diseases.

    They are written as phenopackets marked as synthetic. The same graph and seed give the same cases. Example: kgdx
    cases synthesize --n 1000 --seed 1 --out made-up.jsonl
    """
    from kgdx.case import case_to_phenopacket
    from kgdx.evaluate.simulated_patients import Perturbation, Synthesis

    how = Perturbation(imprecision, noise, omission, exclusion)
    with inputs.graph(store) as graph:
        build = graph.status()["build"] or {}
        cases = Synthesis(graph.snapshot).cases(n, seed, how)
        made_of = f"made up from graph {graph.fingerprint[:16]}, seed {seed}, {how}"
        with output.written(to) as stream, output.progress_bar("cases", n) as advance:
            for case in output.each(cases, advance):
                packet = case_to_phenopacket(case, build.get("created"), made_of)
                print(json.dumps(packet, ensure_ascii=False), file=stream)
    if to is not None:
        from kgdx.results.words import count

        output.remark(f"{count(n, 'synthetic case')} in {to}")
