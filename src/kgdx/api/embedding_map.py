"""A two-dimensional map of a graph's embeddings: what is near there is near here, by groups that have names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kgdx.api.predicting import CLASSES, Learned
from kgdx.arrays.sparse import Floats, Ints
from kgdx.errors import AbsentError, UsageError
from kgdx.rank.link_prediction import stated_ends

if TYPE_CHECKING:
    from kgdx.actions.graph_context import GraphContext
    from kgdx.terms.encoder import Encoder

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
_BLOCK = 1024


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
    vectors = normalised(learned.embeddings.nodes(kind))
    near, _ = neighbours_of(vectors, vectors, LINKED + 1)
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


def normalised(vectors: Floats) -> Floats:
    """Return the rows with length 1; rows of zeros stay."""
    scaled: Floats = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    return scaled


def neighbours_of(vectors: Floats, among: Floats, count: int) -> tuple[Ints, Floats]:
    """Return the nearest rows of each row by cosine, and the cosines; both of shape (n, up to count).

    Args:
        vectors: Of length 1; shape (n, d).
        among: Of length 1; shape (m, d).
    """
    count = min(count, len(among))
    places, cosines = [], []
    for start in range(0, len(vectors), _BLOCK):
        product = vectors[start : start + _BLOCK] @ among.T
        best = np.argpartition(-product, count - 1, axis=1)[:, :count]
        order = np.argsort(-np.take_along_axis(product, best, 1), axis=1, kind="stable")
        places.append(np.take_along_axis(best, order, 1))
        cosines.append(np.take_along_axis(product, places[-1], 1))
    return np.concatenate(places), np.concatenate(cosines)


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
    from kgdx.terms.encoder import encoder as made

    chosen = encoder or made("minilm")
    if chosen.name != learned.embeddings.card["sentence_encoder"]:
        wanted = learned.embeddings.card["sentence_encoder"]
        raise UsageError(f"phrases are to be encoded by {wanted}, not {chosen.name}", hint="give that encoder")
    latent = learned.embeddings.patient(np.asarray(chosen.encode(list(phrases)), np.float32))
    if latent is None:
        raise AbsentError("the phrases stand for no symptom of the embeddings", hint="say them in other words")
    near, cosines = neighbours_of(normalised(latent[None]), vectors, NEIGHBOURS)
    weights = np.maximum(cosines[0], 1e-6)
    at = (place[near[0]] * weights[:, None]).sum(axis=0) / weights.sum()
    return {"phrases": list(phrases), "place": np.rint(at).astype(int).tolist(), "near": near[0].tolist()}
