"""Searches the texts of a graph and of a user's folders: what they are made from, and one question to all of them."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kgdx.errors import MissingExtraError, UsageError
from kgdx.graph.snapshot import DERIVED
from kgdx.literature.publications import PublicationCache
from kgdx.terms.corpora import FETCHED, Corpus, pieces_of
from kgdx.terms.documents import clean
from kgdx.terms.encoder import CachedEncoder
from kgdx.terms.text_index import CARD, Tell, TextIndex, build, plain, stale
from kgdx.terms.text_ranking import Parameters, SegmentRanking
from kgdx.terms.text_segment import TextPiece

if TYPE_CHECKING:
    from kgdx.graph.protocol import Exports
    from kgdx.graph.snapshot import Snapshot
    from kgdx.terms.encoder import Encoder

Found = tuple[str, str, str, str, float]
"""Id, title, text, source and score of a piece."""

DISEASE_TEXTS = (
    "definition",
    "orphanet_definition",
    "orphanet_clinical_description",
    "umls_description",
    "cause",
    "mayo_symptoms",
    "mayo_causes",
    "mayo_risk_factors",
    "mayo_complications",
)
"""Properties of a disease that say something of it in words."""
RERANKED = 64
"""Pieces found by words that a search by meaning compares."""
REMEMBERED = 4_096
"""Searches that are remembered."""
KEPT = 4
"""Choices of indexes that stay ready."""
FOLDER = "texts"
"""Where they lie, beside a snapshot and in a user's home."""
DEFINITIONS = "hp"
"""Source of the definitions of findings, which say what a word means and nothing of a disease."""
VECTOR_BYTES = 2**28
"""Bytes of vectors of pieces that are kept at most: of MiniLM about 150,000."""


TEXTS = {
    "Document": ("title", "source", "text"),
    "Publication": ("title", "source"),
    "Phenotype": ("name", "source", "definition"),
    "Disease": ("name", "source", *DISEASE_TEXTS),
}
"""Class → its name, its source and what says something in words."""


def graph_pieces(store: Exports, labels: Iterable[str] = TEXTS) -> Iterator[TextPiece]:
    """Return the texts of a graph: documents, titles of publications, what sources say of diseases and findings."""
    for label in labels:
        columns = TEXTS[label]
        for row in store.export_nodes(label, list(columns)).to_pylist():
            title = clean(row[columns[0]] or "")
            told = [clean(text) for name in columns[2:] for text in _listed(row[name])]
            if told or label in ("Document", "Publication"):
                text = "\n".join(dict.fromkeys(told))
                yield from pieces_of(row["id"], title, text, row["source"] or label.lower())


def _listed(value: object) -> list[str]:
    return [str(each) for each in (value if isinstance(value, list) else [value]) if each]


def graph_texts(
    snapshot: Snapshot, store: Callable[[], Exports], tell: Tell | None = None, parameters: Parameters | None = None
) -> TextIndex:
    """Open the index of a graph's texts, which is made when it is first asked for."""
    folder = snapshot.path / DERIVED / FOLDER
    records = plain(lambda: graph_pieces(store()))
    return TextIndex(build(folder, snapshot.fingerprint, records, tell, parameters), snapshot.fingerprint)


def index_useful(snapshot: Snapshot, store: Callable[[], Exports], tell: Tell | None = None) -> None:
    """Make the index of a graph's texts while the graph is built, where they say more than what findings are called."""
    if any(piece.text for piece in graph_pieces(store(), ("Document", "Disease"))):
        graph_texts(snapshot, store, tell)


def index_corpus(
    home: Path, corpus: Corpus, tell: Tell | None = None, parameters: Parameters | None = None
) -> TextIndex:
    """Make the index of a folder of texts, or return the one that there is of its files as they are."""
    fingerprint, folder = corpus.fingerprint, home / corpus.tag
    index = TextIndex(build(folder, fingerprint, corpus.records, tell, parameters), fingerprint)
    if not len(index):
        named = (index.tally.named or ["no line in it"])[0]
        shutil.rmtree(folder)
        raise UsageError(f"nothing in {corpus.folder} can be read: {named}", hint="mend the files, or leave them out")
    return index


def index_fetched(cache: Path, home: Path, tell: Tell | None = None, parameters: Parameters | None = None) -> int:
    """Make the index of the abstracts that were fetched from PubMed so far; return how many there are."""
    if not cache.is_file():
        return 0
    shelf = PublicationCache(cache)
    try:
        fetched = [each for each in shelf.all() if each.abstract]
    finally:
        shelf.close()
    digest = hashlib.sha256()
    for each in fetched:
        digest.update(f"{each.pmid}\0{each.title}\0{each.abstract}\0".encode(errors="replace"))

    def pieces() -> Iterator[TextPiece]:
        for each in fetched:
            yield from pieces_of(f"PMID:{each.pmid}", clean(each.title), clean(each.abstract), FETCHED)

    if fetched:
        build(home / FETCHED, digest.hexdigest(), plain(pieces), tell, parameters)
    return len(fetched)


class SearchableTexts:
    """All texts that can be searched."""

    def __init__(
        self,
        graph: Callable[[], TextIndex] | None,
        home: Path,
        encoder: Encoder | None = None,
        vectors: Path | None = None,
        made: Path | None = None,
    ) -> None:
        self._graph, self._home, self._encoder, self._made = graph, home, encoder, made
        self._pieces = None if encoder is None else CachedEncoder(encoder, vectors, most=VECTOR_BYTES)
        self._opened: list[TextIndex] | None = None
        self._rankings = lru_cache(maxsize=KEPT)(
            lambda chosen: SegmentRanking([segment for at in chosen for segment in self._indexes()[at].segments])
        )
        self._remembered = lru_cache(maxsize=REMEMBERED)(self._search)

    @property
    def sources(self) -> list[str]:
        return sorted({source for index in self._indexes() for source in index.sources})

    @property
    def useful(self) -> bool:
        """Whether something is indexed that says more than what findings are called; no index is made to know it."""
        if any(self._home.glob(f"*/{CARD}")):
            return True
        made = self._made is not None and stale(self._made) is None
        return made and any(source != DEFINITIONS for source in self.sources)

    def search(self, query: str, sources: Sequence[str] = (), limit: int = 5, *, dense: bool = False) -> list[Found]:
        return list(self._remembered(query.strip(), tuple(sources), limit, dense))

    def unlike(self, query: str, sources: Sequence[str], count: int, seed: int) -> list[Found]:
        """Return pieces that share no word with a query, drawn by a seed."""
        found = self.ranking(sources).unlike(query, sources, count, np.random.default_rng(seed))
        return [(*piece, 0.0) for piece in found]

    def _search(self, query: str, sources: tuple[str, ...], limit: int, dense: bool) -> tuple[Found, ...]:
        if not query:
            raise UsageError("the query is empty", hint="say what to search for")
        most = max(limit, RERANKED) if dense else limit
        found = self.ranking(sources).search(query, sources, most)
        if dense and found:
            if self._encoder is None or self._pieces is None:
                raise MissingExtraError("searching by meaning", "encoder")
            vectors = self._pieces.encode([f"{piece.title} {piece.text}" for piece, _ in found[:most]])
            cosines = (vectors @ self._encoder.encode([query])[0]).tolist()
            near = zip((piece for piece, _ in found), cosines, strict=False)
            found = sorted(near, key=lambda each: -each[1])
        return tuple((*piece, round(score, 4)) for piece, score in found[:limit])

    def ranking(self, sources: Sequence[str] = ()) -> SegmentRanking:
        """Return the ranking over the indexes that hold sources, which answer as one."""
        indexes = self._indexes()
        unknown = [each for each in sources if not any(each in index.sources for index in indexes)]
        if unknown:
            known = ", ".join(self.sources) or "none: index a folder with `kgdx index`"
            raise UsageError(f"no source of texts is called {unknown[0][:60]!r}", hint=f"one of {known}")
        return self._rankings(
            tuple(at for at, each in enumerate(indexes) if not sources or {*sources} & {*each.sources})
        )

    def _indexes(self) -> list[TextIndex]:
        if self._opened is None:
            folders = sorted(each.parent for each in self._home.glob(f"*/{CARD}"))
            own = [] if self._graph is None else [self._graph()]
            self._opened = [*own, *(TextIndex(each) for each in folders)]
        return self._opened
