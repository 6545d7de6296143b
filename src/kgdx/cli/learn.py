"""The commands that learn, and the one that draws a map of what was learned."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer

from kgdx.cli import inputs, options
from kgdx.cli.learn_prompt import prompt
from kgdx.cli.options import Json, Learned, Store, grouped
from kgdx.errors import UsageError


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    group = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Train on the graph; needs kgdx[learn].")
    for command in (embeddings, prompt):
        group.command()(command)
    group.command(hidden=True, context_settings={"ignore_unknown_options": True, "allow_extra_args": True})(policy)
    group.command("map")(embedding_map)
    options.add_commands(group, "learn", ("pairs", "transcripts"))
    app.add_typer(group, name="learn")
    training = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Train language models.")
    options.add_commands(training, "train", ("grpo", "dpo"))
    app.add_typer(training, name="train")


def policy() -> None:
    """Say what replaces the command."""
    hint = "docs/how-to/learned-policy.md trains one with Stable-Baselines3; `--policy rounds` does better"
    raise UsageError("kgdx trains no policy of its own any more", hint=hint)


@dataclass(frozen=True, slots=True)
class What:
    """What of the graph is learned on."""

    relations: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Relations; several with commas. GPT-RagAD's by default.")
    ] = None
    sources: Annotated[
        str, typer.Option(metavar="NAMES", help="Only what these sources state; several with commas.")
    ] = ""
    languages: Annotated[str, typer.Option(metavar="en,zh", help="Languages of the names.")] = "en"
    tau: Annotated[float, typer.Option(metavar="COSINE", help="Symptoms at least as near as this are similar.")] = 0.8
    gamma: Annotated[
        float, typer.Option(metavar="SHARE", help="Diseases that share at least so much (Jaccard) are similar.")
    ] = 0.2
    cooccurrence: Annotated[
        int, typer.Option(metavar="N", min=0, help="Symptoms of N diseases in common are similar, too; 0: not.")
    ] = 0
    comorbidity: Annotated[bool, typer.Option("--comorbidity", help="Diseases stated together are similar, too.")] = (
        False
    )


@dataclass(frozen=True, slots=True)
class How:
    """How it is trained."""

    encoder: Annotated[str, typer.Option(metavar="NAME", help="The network: vgae, rgcn.")] = "vgae"
    vectors: Annotated[
        str, typer.Option(metavar="NAME", help="What encodes names: minilm, or sentence-transformers:MODEL.")
    ] = "minilm"
    epochs: Annotated[int, typer.Option(metavar="N", help="Epochs at most.")] = 200
    rate: Annotated[float, typer.Option(metavar="RATE", help="Step size of Adam.")] = 0.01
    held_out: Annotated[float, typer.Option(metavar="SHARE", help="Of the links, held out to stop and measure.")] = 0.1
    patience: Annotated[int, typer.Option(metavar="N", help="Stop after N epochs that bring nothing; 0: never.")] = 100
    device: Annotated[str, typer.Option(metavar="NAME", help="cpu, cuda, or auto.")] = "auto"
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Of all random choices.")] = 0


@grouped
def embeddings(
    what: What,
    how: How,
    name: Annotated[str, typer.Option(metavar="NAME", help="What the embeddings are called.")] = "vgae",
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Learn vectors of diseases and other nodes from links.

    Interrupted, it goes on where it stopped when run again. Example: kgdx learn embeddings --sources
    encyclopedia,encyclopedia_symptoms
    """
    from kgdx.config import Settings
    from kgdx.learn.embed import learn_embeddings
    from kgdx.learn.hetero_graph import PAPER, GraphChoice
    from kgdx.learn.link_training import Training
    from kgdx.render.terminal.learned_text import learned
    from kgdx.terms.encoder import CachedEncoder, encoder

    settings = Settings.load(store)
    relations = _listed(what.relations) if what.relations is not None else PAPER
    chosen = {**asdict(what), "sources": _listed(what.sources), "languages": _listed(what.languages)}
    choice = GraphChoice(**{**chosen, "relations": relations})
    trained = asdict(how)
    trained.pop("vectors")
    training = Training(**trained)
    cached = CachedEncoder(encoder(how.vectors), settings.cache / "vectors", options.remark)
    with inputs.graph(store) as graph:
        made = learn_embeddings(graph.snapshot, settings.graph_folder, name, cached, choice, training, _tell)
    if as_json:
        options.write_json(dict(made.card))
    else:
        options.show(learned(made.card))


def _tell(done: int, most: int, loss: float, auc: float | None) -> None:
    from kgdx.render.terminal.learned_text import progress_line

    options.remark(progress_line(done, most, loss, auc))


def _listed(given: str) -> tuple[str, ...]:
    return tuple(each.strip() for each in given.split(",") if each.strip())


def embedding_map(
    out: Annotated[Path, typer.Option("--out", "--output", "-o", metavar="FILE", help="Page to write.")],
    kind: Annotated[str, typer.Option(metavar="KIND", help="Which nodes: disease, symptom, phenotype …")] = "disease",
    by: Annotated[str, typer.Option(metavar="links|source", help="What makes the groups.")] = "links",
    phrases: Annotated[
        str, typer.Option(metavar="WORDS", help="A patient's symptoms with ; between them, to be shown in it.")
    ] = "",
    embeddings: Learned = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is no such page.")] = False,
    store: Store = None,
) -> None:
    """Draw a map of learned embeddings as a page.

    It has groups, a search, nearest nodes, and a patient's place. It needs no extra, but for --phrases the one that
    encodes words. Example: kgdx learn map --out map.html --phrases "fever; dry cough"
    """
    from kgdx.api.embedding_map import embedding_map
    from kgdx.cli import page_files
    from kgdx.render.pages.map_page import map_page

    page_files.check(out, force=force)
    said = tuple(part.strip() for part in phrases.split(";") if part.strip())
    if phrases and not said:
        raise UsageError("--phrases holds no words", hint='give symptoms with ; between them: "fever; dry cough"')
    with inputs.graph(store) as graph:
        found = embedding_map(graph, kind=kind, by=by, embeddings=embeddings, phrases=said)
    page_files.write(out, lambda: map_page(found), force=force)
