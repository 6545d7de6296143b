"""The heterogeneous graph that embeddings are learned on, from the snapshot: typed nodes with vectors, typed links.

GPT-RagAD's graph has diseases and symptoms with three relations: ds (the snapshot's ``has_symptom``), sym (symptoms
whose similarity is at least τ) and dd (diseases whose symptoms have a Jaccard index of at least γ). Here any relation
of the snapshot between nodes that have names takes part, and the two derived ones.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kgdx.arrays.sparse import Floats, Ints
from kgdx.errors import AbsentError, MissingExtraError, StoreError, UsageError
from kgdx.graph.snapshot import ENDS, Snapshot
from kgdx.terms.normalise import has_chinese

if TYPE_CHECKING:
    from scipy.sparse import csr_array
    from torch_geometric.data import HeteroData

    from kgdx.terms.encoder import Encoder

SIMILAR_SYMPTOMS = "similar_symptoms"
SIMILAR_DISEASES = "similar_diseases"
DERIVED: Mapping[str, tuple[str, str]] = {
    SIMILAR_SYMPTOMS: ("symptom", "symptom"),
    SIMILAR_DISEASES: ("disease", "disease"),
}
"""Relations that are computed, with the kinds of their ends."""
_KINDS = ("disease", "symptom", "phenotype", "gene", "drug", "test", "cure")
STATED: Mapping[str, tuple[str, str]] = {
    name: (kinds[0], kinds[1])
    for name, ends in ENDS.items()
    if len(kinds := tuple(ends.values())) == 2 and set(kinds) <= set(_KINDS) and name != "lacks_phenotype"
}
"""Relations of the snapshot that can take part, with the kinds of their ends."""
PAPER = ("has_symptom", SIMILAR_SYMPTOMS, SIMILAR_DISEASES)
"""The relations of GPT-RagAD: ds, sym, dd."""
_DESCRIBES = ("has_symptom", "has_phenotype")
_BLOCK = 1024


@dataclass(frozen=True, slots=True)
class GraphChoice:
    """What of the graph is learned on.

    Attributes:
        relations: Of :data:`STATED` and :data:`DERIVED`; drugs, genes and tests come in with relations that name them.
        sources: Sources whose statements count; all when empty.
        languages: Languages of the names: ``en``, ``zh``.
        tau: Least cosine of two symptoms that are similar, in [0, 1].
        gamma: Least Jaccard index of two diseases that are similar, in (0, 1].
        cooccurrence: Symptoms that so many diseases share are similar as well; 0 switches it off.
        comorbidity: Whether diseases that the graph states together are similar as well.
    """

    relations: tuple[str, ...] = PAPER
    sources: tuple[str, ...] = ()
    languages: tuple[str, ...] = ("en",)
    tau: float = 0.8
    gamma: float = 0.2
    cooccurrence: int = 0
    comorbidity: bool = False

    def __post_init__(self) -> None:
        known = {**STATED, **DERIVED}
        if wrong := [name for name in self.relations if name not in known]:
            raise UsageError(f"no relation {str(wrong[0])[:40]!r} to learn on", hint=f"one of {', '.join(known)}")
        if not set(self.relations) & set(STATED):
            raise UsageError("no relation of the graph is chosen", hint=f"add one of {', '.join(STATED)}")
        if self.cooccurrence < 0:
            raise UsageError(f"cooccurrence is {self.cooccurrence}", hint="give a number of diseases, or 0")
        if not 0 <= self.tau <= 1:
            raise UsageError(f"the similarity τ is {self.tau:g}", hint="give a number from 0 to 1")
        if not 0 < self.gamma <= 1:
            raise UsageError(f"the Jaccard index γ is {self.gamma:g}", hint="give a number above 0, up to 1")
        if not self.languages or set(self.languages) - {"en", "zh"}:
            given = ", ".join(self.languages) or "none"
            raise UsageError(f"the languages of names are {given[:40]}", hint="choose en, zh, or both")


@dataclass(frozen=True, slots=True)
class HeteroGraph:
    """Typed nodes and links as arrays.

    Attributes:
        rows: Kind → rows of its snapshot table, ascending; shape (nodes of the kind,).
        texts: Kind → the names of its nodes.
        inputs: Kind → their vectors; shape (nodes of the kind, width).
        edges: Relation → positions of head and tail among the nodes of their kinds, each link once; shape (2, links).
    """

    rows: Mapping[str, Ints]
    texts: Mapping[str, Sequence[str]]
    inputs: Mapping[str, Floats]
    edges: Mapping[str, Ints]

    @property
    def width(self) -> int:
        return next(int(vectors.shape[1]) for vectors in self.inputs.values())

    def statistics(self) -> dict[str, Any]:
        """Return how many nodes and links there are, and how many nodes have no link, of a relation and of any."""
        linked = {kind: np.zeros(len(rows), bool) for kind, rows in self.rows.items()}
        relations = {}
        for name, edges in self.edges.items():
            own = {kind: np.zeros(len(self.rows[kind]), bool) for kind in ends_of(name)}
            for kind, positions in zip(ends_of(name), edges, strict=True):
                own[kind][positions] = True
                linked[kind][positions] = True
            relations[name] = {"links": edges.shape[1], "isolated": {kind: _absent(has) for kind, has in own.items()}}
        return {
            "nodes": {kind: len(rows) for kind, rows in self.rows.items()},
            "relations": relations,
            "isolated": {kind: _absent(has) for kind, has in linked.items()},
        }


def ends_of(relation: str) -> tuple[str, str]:
    """Return the kinds of a relation's ends.

    Example:
        >>> ends_of("has_symptom"), ends_of("similar_diseases")
        (('disease', 'symptom'), ('disease', 'disease'))
    """
    return DERIVED[relation] if relation in DERIVED else STATED[relation]


def hetero_graph(snapshot: Snapshot, encoder: Encoder, choice: GraphChoice | None = None) -> HeteroGraph:
    """Return the heterogeneous graph of a snapshot: by default diseases and symptoms as in GPT-RagAD, in English.

    The encoder makes the nodes' vectors from their names, and says which symptoms are similar.
    """
    choice = choice or GraphChoice()
    names = {kind: _names(snapshot, kind, choice.languages) for kind in _kinds(choice.relations)}
    stated = {name: _links(snapshot, name, choice, names) for name in choice.relations if name in STATED}
    rows = {kind: _used(kind, stated) for kind in names}
    if not any(edges.shape[1] for edges in stated.values()):
        wanted = ", ".join(stated)
        hint = "build the graph with a source that has them, or choose other relations, sources or languages"
        raise AbsentError(f"the graph has no links to learn on ({wanted})", hint=hint)
    rows = {kind: own for kind, own in rows.items() if len(own)}
    texts = {kind: [names[kind][row] for row in own.tolist()] for kind, own in rows.items()}
    inputs = {kind: _vectors(encoder, own) for kind, own in texts.items()}
    edges = {name: _placed(links, name, rows) for name, links in stated.items() if links.shape[1]}
    graph = HeteroGraph(rows, texts, inputs, edges)
    derived = {name: _derived(snapshot, graph, choice, name) for name in choice.relations if name in DERIVED}
    found = edges | {name: links for name, links in derived.items() if links.shape[1]}
    return HeteroGraph(rows, texts, inputs, {name: found[name] for name in choice.relations if name in found})


def hetero_data(graph: HeteroGraph) -> HeteroData:
    """Return the graph as PyTorch Geometric's ``HeteroData``, for any model of that library.

    Node types are the kinds, with ``x`` (their vectors, float32), ``row`` (rows of the snapshot's table) and ``name``;
    edge types are (head, relation, tail), each link once and from head to tail:
    ``torch_geometric.transforms.ToUndirected`` adds the way back.

    Example:
        >>> graph = HeteroGraph({"disease": np.arange(1), "symptom": np.arange(2)},
        ...                     {"disease": ["flu"], "symptom": ["fever", "cough"]},
        ...                     {"disease": np.zeros((1, 4), np.float32), "symptom": np.ones((2, 4), np.float32)},
        ...                     {"has_symptom": np.array([[0, 0], [0, 1]])})
        >>> data = hetero_data(graph)
        >>> data["disease", "has_symptom", "symptom"].edge_index.tolist()
        [[0, 0], [0, 1]]
    """
    geometric("PyTorch Geometric's HeteroData")
    import torch
    from torch_geometric.data import HeteroData

    data = HeteroData()
    for kind, rows in graph.rows.items():
        data[kind].x = torch.from_numpy(np.array(graph.inputs[kind], np.float32))
        data[kind].row = torch.from_numpy(rows.astype(np.int64))
        data[kind].name = list(graph.texts[kind])
    for name, edges in graph.edges.items():
        head, tail = ends_of(name)
        data[head, name, tail].edge_index = torch.from_numpy(edges.astype(np.int64))
    return data


def geometric(feature: str) -> None:
    """Import torch and PyTorch Geometric, without the latter's warning that ``torch.jit.script`` is deprecated."""
    with warnings.catch_warnings():
        for kind in (FutureWarning, DeprecationWarning):
            warnings.filterwarnings("ignore", message=r".*torch\.jit", category=kind)
        try:
            import torch  # noqa: F401
            import torch_geometric.data
            import torch_geometric.nn  # noqa: F401
        except ImportError as error:
            raise MissingExtraError(feature, "learn") from error


def _absent(has: Ints) -> int:
    return int(np.count_nonzero(~has))


def _kinds(relations: Iterable[str]) -> list[str]:
    wanted = {kind for name in relations for kind in ends_of(name)}
    return [kind for kind in _KINDS if kind in wanted]


def _names(snapshot: Snapshot, kind: str, languages: Sequence[str]) -> list[str]:
    """The name of each row in one of the languages; empty where it has none."""
    table = snapshot.table(kind)
    columns = [table.column(name).to_pylist() for name in ("name", "name_zh") if name in table.column_names]

    def first(names: Iterable[str | None]) -> str:
        spoken = (name for name in names if name and ("zh" if has_chinese(name) else "en") in languages)
        return next(spoken, "")

    return [first(names) for names in zip(*columns, strict=True)]


def _links(snapshot: Snapshot, name: str, choice: GraphChoice, names: Mapping[str, Sequence[str]]) -> Ints:
    """Rows of head and tail of each link that takes part, once; shape (2, links)."""
    columns = list(ENDS[name])
    links = np.stack([snapshot.column(name, column).astype(np.int64) for column in columns])
    kept = links[0] != links[1] if len(set(ends_of(name))) == 1 else np.ones(links.shape[1], bool)
    table = snapshot.table(name)
    if choice.sources and "source" in table.column_names:
        kept &= np.isin(np.array(table.column("source").to_pylist(), object), list(choice.sources))
    if "aspect" in table.column_names:  # inheritance and course are no findings
        kept &= np.array([aspect in (None, "P") for aspect in table.column("aspect").to_pylist()], bool)
    for kind, rows in zip(ends_of(name), links, strict=True):
        kept &= np.array([bool(text) for text in names[kind]], bool)[rows] if links.shape[1] else True
    return np.unique(links[:, kept], axis=1)


def _used(kind: str, links: Mapping[str, Ints]) -> Ints:
    own = [part for name, both in links.items() for end, part in zip(ends_of(name), both, strict=True) if end == kind]
    return np.unique(np.concatenate(own)) if own else np.zeros(0, np.int64)


def _placed(links: Ints, name: str, rows: Mapping[str, Ints]) -> Ints:
    return np.stack([np.searchsorted(rows[kind], part) for kind, part in zip(ends_of(name), links, strict=True)])


def _vectors(encoder: Encoder, texts: Sequence[str]) -> Floats:
    vectors = np.ascontiguousarray(encoder.encode(texts), np.float32)
    wrong = ~np.isfinite(vectors).all(axis=1)
    if wrong.any():
        text = texts[int(np.flatnonzero(wrong)[0])]
        raise StoreError(f"the encoder {encoder.name} gives no numbers for {text[:60]!r}", hint="use another encoder")
    return vectors


def _derived(snapshot: Snapshot, graph: HeteroGraph, choice: GraphChoice, name: str) -> Ints:
    kind = ends_of(name)[0]
    if kind not in graph.rows:
        return np.zeros((2, 0), np.int64)
    if name == SIMILAR_SYMPTOMS:
        return _unique([*similar(graph.inputs[kind], choice.tau), *_cooccurring(graph, choice.cooccurrence)])
    parts = [jaccard(_described(graph), choice.gamma)]
    if choice.comorbidity:
        rows = graph.rows[kind]
        both = np.stack([snapshot.column("has_comorbidity", end).astype(np.int64) for end in ("start", "end")])
        inside = np.isin(both, rows).all(axis=0) & (both[0] != both[1])
        parts.append(np.sort(np.searchsorted(rows, both[:, inside]), axis=0))
    return _unique(parts)


def _unique(parts: Sequence[Ints]) -> Ints:
    return np.unique(np.concatenate(parts, axis=1), axis=1) if parts else np.zeros((2, 0), np.int64)


def similar(vectors: Floats, tau: float) -> Iterator[Ints]:
    """Yield the pairs of rows whose cosine is at least ``tau``, the smaller first; parts of shape (2, pairs)."""
    for start in range(0, len(vectors), _BLOCK):
        cosines = vectors[start : start + _BLOCK] @ vectors[start:].T
        one, other = np.nonzero(np.triu(cosines >= tau, 1))
        yield np.stack([one + start, other + start])


def jaccard(has: csr_array, gamma: float) -> Ints:
    """Return the pairs of rows that share at least ``gamma`` of what either has; shape (2, pairs).

    Example:
        >>> from scipy.sparse import csr_array
        >>> jaccard(csr_array(np.array([[1, 1, 0], [0, 1, 1], [1, 1, 1]])), 0.5).tolist()
        [[0, 1], [2, 2]]
    """
    count = np.asarray(has.sum(axis=1)).ravel()
    parts = [np.zeros((2, 0), np.int64)]
    for start in range(0, has.shape[0], _BLOCK):
        shared = (has[start : start + _BLOCK] @ has.T).tocoo()
        one, other = shared.row + start, shared.col
        near = (one < other) & (shared.data >= gamma * (count[one] + count[other] - shared.data) - 1e-9)
        parts.append(np.stack([one[near], other[near]]).astype(np.int64))
    return np.concatenate(parts, axis=1)


def _described(graph: HeteroGraph) -> csr_array:
    """What each disease has: its symptoms and its phenotypes."""
    from scipy.sparse import csr_array, hstack

    size = len(graph.rows["disease"])
    parts = [
        csr_array((np.ones(edges.shape[1], np.int32), tuple(edges)), shape=(size, len(graph.rows[ends_of(name)[1]])))
        for name, edges in graph.edges.items()
        if name in _DESCRIBES
    ]
    return csr_array(hstack(parts)) if parts else csr_array((size, 0), dtype=np.int32)


def _cooccurring(graph: HeteroGraph, least: int) -> list[Ints]:
    from scipy.sparse import csr_array, triu

    if not least or "has_symptom" not in graph.edges:
        return []
    disease, symptom = graph.edges["has_symptom"]
    shape = len(graph.rows["symptom"]), len(graph.rows["disease"])
    of = csr_array((np.ones(len(disease), np.int32), (symptom, disease)), shape=shape)
    shared = triu(of @ of.T, 1).tocoo()
    kept = shared.data >= least
    return [np.stack([shared.row[kept], shared.col[kept]]).astype(np.int64)]
