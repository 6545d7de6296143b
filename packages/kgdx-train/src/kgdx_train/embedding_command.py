"""The command that learns embeddings of the graph."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from kgdx.cli import inputs, output
from kgdx.cli.options import Json, Store, flag, option


@dataclass(frozen=True, slots=True)
class What:
    """What of the graph is learned on."""

    relations: str | None = option(None, "NAMES", "Relations; several with commas. GPT-RagAD's by default.")
    sources: str = option("", "NAMES", "Only what these sources state; several with commas.")
    languages: str = option("en", "en,zh", "Languages of the names.")
    tau: float = option(0.8, "COSINE", "Symptoms at least as near as this are similar.")
    gamma: float = option(0.2, "SHARE", "Diseases that share at least so much (Jaccard) are similar.")
    cooccurrence: int = option(0, "N", "Symptoms of N diseases in common are similar, too; 0: not.", min=0)
    comorbidity: bool = flag("Diseases stated together are similar, too.")


@dataclass(frozen=True, slots=True)
class How:
    """How it is trained."""

    encoder: str = option("vgae", "NAME", "The network: vgae, rgcn.")
    vectors: str = option("minilm", "NAME", "What encodes names: minilm, or sentence-transformers:MODEL.")
    epochs: int = option(200, "N", "Epochs at most.")
    rate: float = option(0.01, "RATE", "Step size of Adam.")
    held_out: float = option(0.1, "SHARE", "Of the links, held out to stop and measure.")
    patience: int = option(100, "N", "Stop after N epochs that bring nothing; 0: never.")
    device: str = option("auto", "NAME", "cpu, cuda, or auto.")
    seed: int = option(0, "N", "Of all random choices.", min=0)


def embeddings(
    what: What,
    how: How,
    name: str = option("vgae", "NAME", "What the embeddings are called."),
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Learn vectors of diseases and other nodes from links.

    Interrupted, it goes on where it stopped when run again. Example: kgdx learn embeddings --sources
    encyclopedia,encyclopedia_symptoms
    """
    from kgdx.config import Settings
    from kgdx.learn.hetero_graph import PAPER, GraphChoice
    from kgdx.render.terminal.graph_text import learned
    from kgdx.terms.encoder import CachedEncoder, encoder
    from kgdx_train.embed import learn_embeddings
    from kgdx_train.link_training import Training

    settings = Settings.load(store)
    relations = _listed(what.relations) if what.relations is not None else PAPER
    chosen = {**asdict(what), "sources": _listed(what.sources), "languages": _listed(what.languages)}
    choice = GraphChoice(**{**chosen, "relations": relations})
    trained = asdict(how)
    trained.pop("vectors")
    training = Training(**trained)
    cached = CachedEncoder(encoder(how.vectors), settings.cache / "vectors", output.remark)
    with inputs.graph(store) as graph:
        made = learn_embeddings(graph.snapshot, settings.graph_folder, name, cached, choice, training, _tell)
    output.present(made.card, as_json, learned)


def _tell(done: int, most: int, loss: float, auc: float | None) -> None:
    from kgdx.render.terminal.graph_text import progress_line

    output.remark(progress_line(done, most, loss, auc))


def _listed(given: str) -> tuple[str, ...]:
    return tuple(each.strip() for each in given.split(",") if each.strip())
