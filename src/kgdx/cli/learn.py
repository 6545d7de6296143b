"""Commands about models: those that learn, a map of what was learned, what it predicts, and trying a language model."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from kgdx.cli import inputs, options, output
from kgdx.cli.options import OUT, BudgetOptions, Json, Learned, Store, add_typer, argument, flag, option
from kgdx.cli.output import announce
from kgdx.errors import UsageError
from kgdx.files.private import private_file


def register(app: typer.Typer) -> None:
    group = add_typer(app, "learn", "Train on the graph.", prompt, map=embedding_map)
    options.add_commands(group, "learn", ("embeddings", "pairs", "transcripts"))
    options.add_commands(add_typer(app, "train", "Train language models."), "train", ("grpo", "dpo"))
    options.add(app, predict, nearest)
    add_typer(app, "llm", "Try a language model.", check)


def embedding_map(
    out: Path = option(..., "FILE", "Page to write.", *OUT),
    kind: str = option("disease", "KIND", "Which nodes: disease, symptom, phenotype …"),
    by: str = option("links", "links|source", "What makes the groups."),
    phrases: str = option("", "WORDS", "A patient's symptoms with ; between them, to be shown in it."),
    embeddings: Learned = None,
    force: bool = flag("Replace a file that is no such page."),
    store: Store = None,
) -> None:
    """Draw a map of learned embeddings as a page.

    It has groups, a search, nearest nodes, and a patient's place. It needs no extra, but for --phrases the one that
    encodes words. Example: kgdx learn map --out map.html --phrases "fever; dry cough"
    """
    from kgdx.api.predicting import embedding_map
    from kgdx.render.pages.figure_pages import map_page

    output.check(out, force=force)
    said = tuple(part.strip() for part in phrases.split(";") if part.strip())
    if phrases and not said:
        raise UsageError("--phrases holds no words", hint='give symptoms with ; between them: "fever; dry cough"')
    with inputs.graph(store) as graph:
        found = embedding_map(graph, kind=kind, by=by, embeddings=embeddings, phrases=said)
    output.write(out, lambda: map_page(found), force=force)


def prompt(
    cases: str = argument(..., "FILE|FOLDER|-", "Development patients that state their diagnosis."),
    out: Path = option(..., "FILE", "Where the chosen one is kept.", *OUT),
    llm: str = option(..., "MODEL", "The model that writes them and re-ranks.", "--llm"),
    *,
    budget: BudgetOptions,
    variants: int = option(4, "N", "How many it writes.", min=0, max=20),
    top: int = option(50, "K", "How many candidates are ordered.", min=2, max=500),
    seed: int = option(0, "N", "Of the halves of the patients.", min=0),
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Choose an instruction for --rerank-prompt.

    The model writes some beside those that come with kgdx. Half of the patients choose; the figures are of the other
    half. Example: kgdx learn prompt dev.jsonl --llm qwen3:8b --max-calls 2000 --out own.md
    """
    from kgdx.api.reranking import Reranker
    from kgdx.case import Failure
    from kgdx.evaluate import prompt_search as search
    from kgdx.evaluate.labels import Labels
    from kgdx.evaluate.rank_accuracy import words_reader
    from kgdx.policies.rerank import RerankPolicy, instruction, names, written

    announce(store, llm, None)
    given = [each for each in inputs.many(cases) if not isinstance(each, Failure)]
    with inputs.graph(store) as graph:
        budget.require(graph.settings)
        at_once = graph.settings.llm(llm).concurrency
        policy = RerankPolicy(candidates=top, explain=0)
        work = Reranker(graph, llm, policy, budget=budget.limits(), concurrency=at_once, seed=seed)
        labels = Labels.of_graph(graph)
        patients = search.judged(work, given, words_reader(graph), labels)
        search.halves(patients, seed)  # before anything is paid for
        tried = len(names()) + variants
        one_each = work.estimate([each.case for each in patients], len(patients))
        output.remark(f"{tried} instructions; each of them: {one_each}")
        found = search.choose(work, patients, [*map(instruction, names()), *search.variants(work, variants)])
    with private_file(out).open("w", encoding="utf-8") as file:
        file.write(written(found.instruction, {"model": llm, "candidates": top, "seed": seed, **found.to_dict()}))
    told = {"instruction": found.instruction.name, "digest": found.instruction.digest, **found.to_dict()}
    from kgdx.render.terminal.accuracy_text import instructions

    output.present(told, as_json, instructions)
    output.remark(f"{found.instruction.name} is kept in {out}: `--rerank-prompt {out}`")


Rows = Annotated[int, typer.Option("--top", "-n", metavar="N", min=1, max=1000, help="How many to list.")]


def predict(
    save: bool = flag("Keep them in the graph, as relations PREDICTED, which are no facts."),
    drop: str | None = option(None, "MODEL", "Take a model's kept predictions out of the graph."),
    node: str | None = argument(None, "NODE", "A name or an id; disease:, symptom: … may stand before."),
    relation: str | None = argument(None, "RELATION", "Name of the ontology, such as has_symptom."),
    top: Rows = 10,
    known: bool = flag("List also what the graph states."),
    embeddings: Learned = None,
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Predict links that the graph does not state.

    They are no facts, and nothing in kgdx takes them for such. `kgdx run predictions limit=20` lists those that were
    kept. Examples: kgdx predict disease:influenza has_symptom; kgdx predict symptom:fever has_symptom --top 5; kgdx
    predict --drop vgae
    """
    if drop is not None:
        if node is not None:
            raise UsageError("--drop goes without a node", hint="first drop, then predict")
        with inputs.graph(store) as graph:
            gone = graph.drop_predictions(drop)
        output.write_json({"model": drop, "dropped": gone}) if as_json else print(f"dropped {gone:,}")
        return
    if node is None or relation is None:
        raise UsageError(
            "a node and a relation are needed", hint="such as `kgdx predict disease:influenza has_symptom`"
        )
    with inputs.graph(store) as graph:
        found = graph.predict(node, relation, top=top, embeddings=embeddings, known=known)
        kept = graph.keep_predictions(found) if save else None
    if kept is not None:
        output.remark(f"kept {kept:,} predictions of {found.model}, apart from the facts")
    from kgdx.render.terminal.graph_text import predictions

    output.present(found, as_json, predictions)


def nearest(
    node: str = argument(..., "NODE", "As for `kgdx predict`."),
    top: Rows = 10,
    embeddings: Learned = None,
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Find the nodes that are nearest to one.

    Example: kgdx nearest disease:asthma
    """
    with inputs.graph(store) as graph:
        found = graph.nearest(node, top=top, embeddings=embeddings)
    from kgdx.render.terminal.graph_text import neighbours

    output.present(found, as_json, neighbours)


def check(
    model: str | None = argument(None, "MODEL", "As for --llm; the one that KGDX_LLM_MODEL names when left out."),
    json: Json = False,
) -> None:
    """Ask an endpoint a few short questions, and say what it can do.

    Nothing of a patient or of the graph is sent. What is told: whether it answers, its context window, how strictly it
    can be held to JSON, whether it counts tokens and streams, and how fast it is.
    """
    from kgdx.config import Settings
    from kgdx.llm.connect import checked, connect, described

    access = Settings.load().llm(model)
    output.remark(f"asking {described(access)}")
    found: dict[str, Any] = {"model": access.model, "at": access.base_url}
    began = time.monotonic()
    found |= checked(connect(access, progress=output.remark))
    found["seconds"] = round(time.monotonic() - began, 1)
    if json:
        output.write_json(found)
        return
    for name, value in found.items():
        print(f"{name + ':':18} {value if value not in (None, '') else 'not told'}")
