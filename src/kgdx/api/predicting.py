"""What a graph's embeddings expect beyond its facts: links of a node, its nearest nodes, and keeping them apart."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from kgdx.arrays.sparse import Floats, Ints
from kgdx.errors import AbsentError, StoreError, UsageError
from kgdx.files.known import digest_of
from kgdx.graph.protocol import USER
from kgdx.graph.snapshot_compile import EDGES, NODES
from kgdx.rank.embeddings import CARD, FOLDER, Embeddings
from kgdx.rank.latents import unit
from kgdx.rank.link_prediction import Expected, LinkPredictor, Neighbour, affinity, nearest, shared, stated_ends
from kgdx.results.predicted import Neighbours, Node, Prediction, Predictions
from kgdx.schema import load_schema
from kgdx.schema.model import PREDICTED
from kgdx.terms.encoder import encoder as named_encoder
from kgdx.terms.encoder import nearest_names

if TYPE_CHECKING:
    from kgdx.actions.graph_context import GraphContext
    from kgdx.graph.protocol import Transaction
    from kgdx.graph.snapshot import Snapshot
    from kgdx.terms.encoder import Encoder

CLASSES: Mapping[str, str] = {kind: label for label, kind in NODES.items()}
"""Kind of node, as tables of the snapshot are called → class of the ontology."""

_NO_LINKS = ("lacks_phenotype", "same_as")
"""Relations that state an absence, or what is one and the same."""
USUAL = "vgae"
"""Name of the embeddings that are used where several are there and none is named."""
MOST = 1000
"""Most rows of a prediction."""
WHY = 5
"""Most shared links that are named for a nearest node."""


class Learned:
    """A graph's embeddings with the names of its nodes.

    Args:
        name: Name of the embeddings; those that there are when ``None``, if there is one set alone.
    """

    def __init__(self, graph: GraphContext, name: str | None = None) -> None:
        self.graph = graph
        self.snapshot: Snapshot = graph.snapshot
        home = graph.settings.graph_folder / FOLDER
        self.model = name if name is not None else _only(home)
        if not isinstance(self.model, str) or not re.fullmatch(r"\w[\w.-]*", self.model):
            raise UsageError(f"no embeddings are called {str(self.model)[:40]!r}", hint=f"name a folder of {home}")
        self.embeddings = Embeddings.open(home / self.model, self.snapshot)
        self.digest = digest_of(dict(self.embeddings.card))[:16]
        self._ids = lru_cache(maxsize=None)(lambda kind: self.snapshot.values(kind, "id").values())

    def node(self, kind: str, near: Neighbour | int) -> Node:
        """Return the node at a position among those of its kind."""
        at, cosine = (near.at, near.cosine) if isinstance(near, Neighbour) else (near, None)
        row = int(self.embeddings.rows(kind)[at])
        names = self.snapshot.table(kind).column("name")
        return Node(self._ids(kind)[row], CLASSES[kind], names[row].as_py() or self._ids(kind)[row], cosine)

    def find(self, text: str, kinds: Sequence[str]) -> tuple[str, int]:
        """Return the kind and the position of the node that an id or a name stands for.

        Args:
            text: Such as ``OMIM:154700``, ``influenza`` or ``disease:influenza``.
        """
        first, colon, rest = text.partition(":")
        if colon and first.lower() in CLASSES and first.islower():
            if first not in kinds:
                raise UsageError(f"a {first} has no such relation here", hint=f"give one of {', '.join(kinds)}")
            kinds, text = (first,), rest
        if not text.strip():
            raise UsageError("no node is named", hint="give a name or an id, such as disease:influenza")
        meant = list(self._meant(text, kinds))
        learned = [(kind, at) for kind, row in meant if (at := self._position(kind, row)) is not None]
        if len({kind for kind, _ in learned}) == 1:  # of one kind, what bears the very name
            called = [one for one in learned if self.node(*one).name.casefold() == text.strip().casefold()]
            learned = called if len(called) == 1 else learned
        if len(learned) == 1:
            return learned[0]
        if learned:
            meant_by = [self.node(*one) for one in learned[:5]]
            listed = ", ".join(f"{each.name} ({each.kind.lower()}, {each.id})" for each in meant_by)
            raise UsageError(f"{text[:60]!r} may mean several nodes", hint=f"give the id or the kind of one: {listed}")
        if meant:
            made = ", ".join(self.embeddings.relations)
            hint = f"learn on others with `kgdx learn embeddings --relations`, now {made}"
            raise AbsentError(f"{text[:60]!r} has none of the links that {self.model} was learned on", hint=hint)
        named = ", ".join(CLASSES[kind].lower() for kind in kinds)
        raise UsageError(
            f"{text[:60]!r} is no {named} of the graph", hint="find its name or id with `kgdx search NAME`"
        )

    def _meant(self, text: str, kinds: Sequence[str]) -> Iterator[tuple[str, int]]:
        exact = [(kind, self._ids(kind).index(text)) for kind in kinds if text in self._ids(kind)]
        if exact:
            yield from exact
            return
        for entry in self.graph.names.resolve(text, tuple(CLASSES[kind] for kind in kinds)).entries:
            kind = NODES[entry.kind]
            if entry.id in self._ids(kind):
                yield kind, self._ids(kind).index(entry.id)

    def _position(self, kind: str, row: int) -> int | None:
        if kind not in self.embeddings.kinds:
            return None
        rows = self.embeddings.rows(kind)
        at = int(np.searchsorted(rows, row))
        return at if at < len(rows) and rows[at] == row else None


def _only(home: Path) -> str:
    names = sorted(each.parent.name for each in home.glob(f"[!.]*/{CARD}"))
    if USUAL in names or len(names) == 1:
        return USUAL if USUAL in names else names[0]
    if names:
        raise UsageError("the graph has several embeddings", hint=f"choose: --embeddings {' or '.join(names)}")
    raise AbsentError(f"no embeddings in {home}", hint="train them with `kgdx learn embeddings`")


class Predicting(TypedDict, total=False):
    """How links are predicted: ``top`` rows (10), by which ``embeddings``, and whether ``known`` links are listed."""

    top: int
    embeddings: str | None
    known: bool


def predict(
    graph: GraphContext, node: str, relation: str, top: int = 10, embeddings: str | None = None, known: bool = False
) -> Predictions:
    """Return what :meth:`kgdx.api.Graph.predict` does."""
    _within(top)
    table = _relation(relation)
    learned = Learned(graph, embeddings)
    predictor = LinkPredictor(learned.embeddings, table)
    kinds = predictor.kinds
    kind, at = learned.find(node, tuple(dict.fromkeys(kinds)))
    side = kinds.index(kind)
    own, other = kinds[side], kinds[1 - side]

    def row(found: Expected) -> Prediction:
        similar = tuple(learned.node(other, near) for near in found.similar)
        having = tuple(learned.node(own, near) for near in found.shared)
        end = learned.node(other, found.at)
        return Prediction(end, found.score, found.probability, found.by_degree, found.known, similar, having)

    rows = tuple(row(found) for found in predictor.expect(at, side, top=top, known=known))
    has, candidates = len(predictor.known(at, side)), len(learned.embeddings.rows(other))
    named = (learned.node(kind, at), EDGES[table].type, learned.model, learned.digest)
    fitted = predictor.calibration
    return Predictions(*named, rows, has, candidates, *((None,) if fitted is None else (fitted.error, fitted.bins)))


def neighbours(graph: GraphContext, node: str, top: int = 10, embeddings: str | None = None) -> Neighbours:
    """Return what :meth:`kgdx.api.Graph.nearest` does."""
    _within(top)
    learned = Learned(graph, embeddings)
    kind, at = learned.find(node, learned.embeddings.kinds)
    rows = []
    named = learned.embeddings.inputs(kind)
    alike = (named @ named[at]) / np.maximum(np.linalg.norm(named, axis=1), 1e-12)
    besides = (affinity(learned.embeddings, kind, at), alike)
    for near in nearest(learned.embeddings.nodes(kind), at, top=top, besides=besides):
        both = [learned.node(*one) for one in shared(learned.embeddings, kind, at, near.at)]
        rows.append((learned.node(kind, near), tuple(both[:WHY]), len(both)))
    return Neighbours(learned.node(kind, at), learned.model, learned.digest, tuple(rows))


def keep(graph: GraphContext, found: Predictions) -> int:
    """Write predictions into the graph, as relations of their own kind; what the graph states is left out.

    Returns:
        How many were written.
    """
    if found.calibration_error is None:
        hint = "train with --held-out above 0, by which probabilities are told"
        raise UsageError("predictions without a probability are not kept", hint=hint)
    new = [row for row in found.rows if not row.known]
    ends = ((found.node, row.node) if found.node.kind == "Disease" else (row.node, found.node) for row in new)
    pairs = sorted(
        ((one.id, other.id), row.score, row.probability) for (one, other), row in zip(ends, new, strict=True)
    )
    told = {"relation": found.relation, "model": found.model, "embeddings": found.embeddings, "source": USER}

    def put(running: Transaction) -> None:
        for disease, group in groupby(pairs, key=lambda pair: pair[0][0]):
            rows = [{"id": ends[1], "score": score, "probability": share} for ends, score, share in group]
            written = {row["id"] for row in running.run("put_predictions", disease=disease, rows=rows, **told)}
            if missing := [row["id"] for row in rows if row["id"] not in written]:
                raise StoreError(f"{missing[0]} is not in this graph", hint="predict on this graph again")

    if pairs:
        with graph.writing() as store:
            store.transact(put)
    return len(pairs)


def drop(graph: GraphContext, model: str | None = None) -> int:
    """Take the predictions of a model out of the graph, or those of all models; return how many there were."""
    with graph.writing() as store:
        rows = store.write("drop_predictions", model=model)
    return int(rows[0]["n"]) if rows else 0


def _relation(name: str) -> str:
    wanted = str(name).strip().upper().replace("-", "_")
    tables = {EDGES[table].type: table for table in EDGES if table not in _NO_LINKS and _of_diseases(table)}
    if wanted not in tables:
        known = ", ".join(sorted(map(str.lower, tables)))
        raise UsageError(f"no relation {str(name)[:40]!r} to predict", hint=f"one of {known}")
    return tables[wanted]


def _of_diseases(table: str) -> bool:
    ends = [CLASSES.get(kind, "") for kind in stated_ends(table)]
    possible = load_schema().relations[PREDICTED].ends
    return len(ends) == 2 and (tuple(ends) in possible or tuple(ends[::-1]) in possible)


def _within(top: int) -> None:
    if not isinstance(top, int) or not 1 <= top <= MOST:
        raise UsageError(f"top is {str(top)[:40]}", hint=f"ask for 1 to {MOST:,} rows")


SIDE = 10_000
"""Positions go from 0 to here, both ways."""
GROUPS = 8
"""Groups that are told apart by colour and shape."""
NEIGHBOURS = 5
"""Nearest nodes that are named of each."""
LINKED = 10
"""Nearest nodes that pull at each."""
ROUNDS = 60
"""Rounds in which near nodes pull, and nodes drawn by chance push."""


def embedding_map(
    graph: GraphContext,
    *,
    kind: str = "disease",
    by: str = "links",
    embeddings: str | None = None,
    phrases: Sequence[str] = (),
    encoder: Encoder | None = None,
) -> dict[str, Any]:
    """Return a map of the nodes of one kind, as :func:`kgdx.render.pages.figure_pages.map_page` shows it.

    Args:
        by: What makes the groups: ``links``, nodes that are near to each other, named by what they are linked to; or
            ``source``.
        encoder: What encodes phrases; the one that the embeddings were made with.

    Returns:
        Names, ids, positions, groups and nearest nodes, by node; and the patient's position and nearest nodes.
    """
    if kind not in CLASSES:
        raise UsageError(f"no kind of node {kind[:40]!r}", hint=f"one of {', '.join(CLASSES)}")
    if by not in ("links", "source"):
        raise UsageError(f"no groups by {by[:40]!r}", hint="links or source")
    learned = Learned(graph, embeddings)
    vectors = unit(learned.embeddings.nodes(kind))
    near, _ = nearest_names(vectors, vectors, LINKED + 1)
    near = np.array([[each for each in row if each != at][:LINKED] for at, row in enumerate(near.tolist())], np.int64)
    place = laid_out(vectors, near)
    names, groups = _by_source(learned, kind) if by == "source" else _by_links(learned, kind, vectors)
    nodes = [learned.node(kind, at) for at in range(len(vectors))]
    found: dict[str, Any] = {
        "model": learned.model,
        "embeddings": learned.digest,
        "kind": CLASSES[kind],
        "by": by,
        "groups": names,
        "names": [node.name for node in nodes],
        "ids": [node.id for node in nodes],
        "place": place.tolist(),
        "group": groups.tolist(),
        "near": near[:, :NEIGHBOURS].tolist(),
        "patient": None,
    }
    if phrases:
        found["patient"] = _patient(learned, vectors, place, phrases, encoder)
    return found


def laid_out(vectors: Floats, near: Ints, seed: int = 0) -> Ints:
    """Return a position of each row in the square of :data:`SIDE`; shape (n, 2).

    It begins with the two principal components. Then, in rounds, each row is pulled to its nearest ones and pushed from
    rows drawn by chance, by the gradients of UMAP (McInnes et al., 2018) with a = b = 1.

    Args:
        vectors: Shape (n, d).
        near: Nearest rows of each; shape (n, k).
    """
    centred = vectors - vectors.mean(axis=0)
    _, _, axes = np.linalg.svd(centred.T @ centred)
    place = (centred @ axes[:2].T).astype(np.float64)
    if place.shape[1] < 2:
        place = np.pad(place, ((0, 0), (0, 2 - place.shape[1])))
    place *= 10 / max(float(np.abs(place).max()), 1e-12)
    draws = np.random.default_rng(seed)
    one = np.repeat(np.arange(len(near)), near.shape[1])
    other = near.ravel()
    for number in range(ROUNDS if len(other) else 0):
        rate = 1 - number / ROUNDS
        gap = place[one] - place[other]
        pull = gap * (-2 / (1 + (gap**2).sum(axis=1, keepdims=True)))
        step = _summed(pull, one, len(place)) - _summed(pull, other, len(place))
        for _ in range(NEIGHBOURS):
            away = place[one] - place[draws.integers(len(place), size=len(one))]
            far = (away**2).sum(axis=1, keepdims=True)
            step += _summed(away * (2 / ((0.001 + far) * (1 + far))), one, len(place))
        place += rate * np.clip(step / near.shape[1], -4, 4)
    low, high = place.min(axis=0), place.max(axis=0)
    scaled: Ints = np.rint((place - low) / np.maximum(high - low, 1e-12) * SIDE).astype(np.int64)
    return scaled


def _summed(values: Floats, rows: Ints, size: int) -> Floats:
    sums: Floats = np.stack([np.bincount(rows, values[:, axis], size) for axis in (0, 1)], axis=1)
    return sums


def _by_source(learned: Learned, kind: str) -> tuple[list[str], Ints]:
    table = learned.snapshot.table(kind)
    if "source" not in table.column_names:
        raise UsageError(f"the snapshot keeps no source of a {kind}", hint="choose groups by links")
    stated = [source or "unknown" for source in table.column("source").take(learned.embeddings.rows(kind)).to_pylist()]
    common = [name for name, _ in Counter(stated).most_common()]
    named = common if len(common) <= GROUPS else [*common[: GROUPS - 1], "other sources"]
    place = {name: min(at, len(named) - 1) for at, name in enumerate(common)}
    return named, np.array([place[name] for name in stated])


def _by_links(learned: Learned, kind: str, vectors: Floats) -> tuple[list[str], Ints]:
    from scipy.cluster.vq import kmeans2

    count = min(GROUPS, len(vectors))
    _, group = kmeans2(vectors.astype(np.float64), count, minit="++", rng=np.random.default_rng(0), missing="warn")
    used, group = np.unique(group, return_inverse=True)
    order = np.argsort(-np.bincount(group), kind="stable")
    group = np.argsort(order)[group]
    return list(_telling(learned, kind, group, len(used))), group


def _telling(learned: Learned, kind: str, group: Ints, count: int) -> Iterator[str]:
    for relation in learned.embeddings.relations:
        kinds = stated_ends(relation)
        if kind in kinds and kinds[0] != kinds[1]:
            break
    else:
        yield from (f"group {number + 1}" for number in range(count))
        return
    side = kinds.index(kind)
    links = learned.embeddings.links(relation)
    own, other = links[side], links[1 - side]
    size = len(learned.embeddings.rows(kinds[1 - side]))
    every = np.bincount(other, minlength=size)
    for number in range(count):
        inside = np.bincount(other[group[own] == number], minlength=size)
        telling = inside * np.log((inside + 0.1) / (every - inside + 1))
        best = np.argsort(-telling, kind="stable")[:3]
        names = [learned.node(kinds[1 - side], at).name for at in best.tolist() if inside[at]]
        yield ", ".join(names) or f"group {number + 1}"


def _patient(
    learned: Learned, vectors: Floats, place: Ints, phrases: Sequence[str], encoder: Encoder | None
) -> dict[str, Any]:
    chosen = encoder or named_encoder("minilm")
    if chosen.name != learned.embeddings.card["sentence_encoder"]:
        wanted = learned.embeddings.card["sentence_encoder"]
        raise UsageError(f"phrases are to be encoded by {wanted}, not {chosen.name}", hint="give that encoder")
    latent = learned.embeddings.patient(np.asarray(chosen.encode(list(phrases)), np.float32))
    if latent is None:
        raise AbsentError("the phrases stand for no symptom of the embeddings", hint="say them in other words")
    near, cosines = nearest_names(unit(latent[None]), vectors, NEIGHBOURS)
    weights = np.maximum(cosines[0], 1e-6)
    at = (place[near[0]] * weights[:, None]).sum(axis=0) / weights.sum()
    return {"phrases": list(phrases), "place": np.rint(at).astype(int).tolist(), "near": near[0].tolist()}
