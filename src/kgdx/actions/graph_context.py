"""A graph as the actions see it: its store, its snapshot and the tools compiled from it, each opened when first used.

Opening costs nothing but a lock: a diagnosis that asks for no path never opens the store, a template run never reads
the snapshot.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeVar

from kgdx.actions.graph_source import MAPPED, FolderSource, GraphSource, MappedSource, NothingCompiled, ServerSource
from kgdx.case import Case, Extraction, Finding, Measurement, Resolution
from kgdx.episode.world import Memo
from kgdx.errors import StoreError
from kgdx.graph.protocol import USER, Closing

if TYPE_CHECKING:
    from kgdx.case import GeneNames
    from kgdx.config import Settings
    from kgdx.graph.compiled_templates import CompiledQueries
    from kgdx.graph.protocol import Row, Store
    from kgdx.graph.snapshot import Snapshot
    from kgdx.literature import PubMed
    from kgdx.rank import Ranker
    from kgdx.rank.belief import BeliefTracker
    from kgdx.rank.case_bank import CaseBank
    from kgdx.rank.near_findings import NearFindings
    from kgdx.terms.encoder import Encoder
    from kgdx.terms.extractor import Extractor
    from kgdx.terms.names.mesh_index import Headings, MeshIndex
    from kgdx.terms.names.name_index import NameIndex
    from kgdx.terms.names.suggestions import DiseaseWords
    from kgdx.terms.phenotypes import Hierarchy, Terms
    from kgdx.terms.text_search import SearchableTexts


T = TypeVar("T")


def _once(make: Callable[[GraphContext], T]) -> Callable[[GraphContext], T]:
    def opened(graph: GraphContext) -> T:
        return graph._opened_once(make.__name__, lambda: make(graph))

    opened.__doc__ = make.__doc__
    return opened


class GraphContext(Closing):
    """One open graph; use it as a context manager, or call :meth:`close`.

    It is read-only. :meth:`writing` takes it over for the length of one block.
    """

    def __init__(
        self,
        settings: Settings,
        encoder: Encoder | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> None:
        self._encoder, self._progress = encoder, progress
        self.settings = settings
        self._languages = settings.align_languages
        self._foreign = _foreign(settings)
        own = ServerSource if settings.is_neo4j else FolderSource
        self._source: GraphSource = self._foreign or own(settings)
        self._opened: dict[str, Any] = {}
        self._lock = threading.RLock()
        self._source.hold()

    @property
    def url(self) -> str:
        return self._source.url

    @property
    def bookmarks(self) -> tuple[str, ...]:
        """What another process sets as ``KGDX_NEO4J_BOOKMARKS`` to read what was saved here, on any cluster member."""
        return self._source.bookmarks

    @property
    @_once
    def store(self) -> Store:
        """The store, read-only."""
        return self._source.store()

    @property
    @_once
    def snapshot(self) -> Snapshot:
        """The compiled snapshot; for a Neo4j graph it is compiled when this machine has none yet."""
        return self._source.snapshot(lambda: self.store, self._tell)

    @property
    @_once
    def fingerprint(self) -> str:
        """Fingerprint of the build; of a database that others built, of the mapping and how much it holds."""
        return self.snapshot.fingerprint if self._foreign is None else self.store.fingerprint()

    def replaced(self) -> bool:
        """Whether another build is in the graph's place since this one was opened: open it again to see it."""
        return self._source.replaced(lambda: self.store, lambda: self.fingerprint)

    @property
    @_once
    def reader(self) -> Extractor:
        """Reads words into findings."""
        from kgdx.terms.extractor import Extractor

        return Extractor.open(self.snapshot, self._encoder, self._progress)

    @property
    @_once
    def ranker(self) -> Ranker:
        """Ranks diseases, by the retrieval method and the weights that the settings name."""
        from kgdx.rank.retrieval import METHODS

        return METHODS.get(self.settings.rank_retrieval).open(self.snapshot, None, self.settings.rank_weights).ranker

    @property
    def in_words(self) -> bool:
        return self.snapshot.rows("has_symptom") > 0

    @property
    def in_texts(self) -> bool:
        return self.snapshot.rows("document") > 0

    @property
    @_once
    def bank(self) -> CaseBank:
        """The patients of the graph whose diagnosis is known, to match other cases with."""
        from kgdx.rank.case_bank import CaseBank

        return CaseBank(self.ranker, self.snapshot)

    @property
    @_once
    def bank_if_any(self) -> CaseBank | None:
        with suppress(StoreError):
            return self.bank
        return None

    def __deepcopy__(self, memo: object) -> Self:
        """Return the same one: an open graph is shared, as when Gymnasium copies what an environment is made of."""
        return self

    @property
    @_once
    def belief_tracker(self) -> BeliefTracker:
        """Says which diseases are how likely for a patient, with the graph's other patients where it has some."""
        from kgdx.rank.belief import BeliefTracker

        return BeliefTracker(self.ranker, self.bank_if_any)

    @property
    @_once
    def nearness(self) -> NearFindings | None:
        """Knows which findings are similar; ``None`` for a database that others built."""
        if self._foreign is not None:
            return None
        from kgdx.rank.near_findings import NearFindings

        return NearFindings(self.ranker, self.reader.meaning if self._encoder is not None else None)

    @property
    @_once
    def disease_words(self) -> DiseaseWords:
        """Finds diseases by the words of their names."""
        from kgdx.terms.names.suggestions import DiseaseWords

        return DiseaseWords(self.snapshot)

    @property
    @_once
    def texts(self) -> SearchableTexts:
        """Searches the graph's texts and the folders that the user has indexed."""
        from kgdx.graph.snapshot import DERIVED
        from kgdx.terms.text_search import FOLDER, SearchableTexts, graph_texts

        def tell(done: str) -> None:
            self._tell(f"indexing the texts of the graph, once: {done}")

        graph = partial(graph_texts, self.snapshot, lambda: self.store, tell)
        home, vectors = self.settings.home / "texts", self.settings.cache / "vectors" / "pieces"
        if self._foreign:
            return SearchableTexts(None, home, self._encoder, vectors)
        return SearchableTexts(graph, home, self._encoder, vectors, self.snapshot.path / DERIVED / FOLDER)

    @property
    @_once
    def genes(self) -> GeneNames:
        """The graph's genes, to look up those of a patient."""
        from kgdx.case import GeneNames

        columns = (self.snapshot.values("gene", name).values() for name in ("id", "name", "xrefs"))
        return GeneNames(zip(*columns, strict=True))

    @property
    @_once
    def ancestry(self) -> Hierarchy:
        """The is-a hierarchy of phenotypes."""
        from kgdx.terms.phenotypes import Hierarchy

        return Hierarchy.of(self.snapshot)

    @property
    @_once
    def memo(self) -> Memo:
        """What actions of consultations found, so that none is done again to go on or back."""
        return Memo()

    @property
    @_once
    def terms(self) -> Terms:
        """Names of the phenotypes."""
        from kgdx.terms.phenotypes import Terms

        return Terms(self.snapshot)

    @property
    @_once
    def names(self) -> NameIndex:
        """Looks up names of diseases, findings, tests, medicines and genes; made when it is first asked for."""
        if self._foreign is not None:
            return self._foreign.names(self.store, self._tell)
        from kgdx.terms.names.name_index import open_index

        chinese = "zh" in self._languages
        return open_index(self.snapshot, lambda: self.store, self._encoder, chinese=chinese, progress=self._progress)

    @property
    @_once
    def literature(self) -> PubMed | None:
        """PubMed, where an e-mail address for it is set; nothing is asked before an action asks it."""
        from kgdx.literature import PubMed, pubmed_access

        access = pubmed_access(self.settings)
        return None if access is None else PubMed(access, self.settings.cache / "pubmed")

    @property
    @_once
    def headings(self) -> Headings:
        """Decides which MeSH heading a disease has, by its names; each once."""
        from kgdx.terms.names.mesh_index import Headings

        return Headings(self.mesh)

    def mesh(self) -> MeshIndex:
        """Open the index of the graph's MeSH descriptors, which says what descriptor a name means; close it after use.

        It is made when it is first asked for, and kept beside the snapshot.
        """
        from kgdx.terms.names.mesh_index import open_index

        return open_index(self.snapshot, lambda: self.store)

    @property
    @_once
    def compiled(self) -> CompiledQueries | NothingCompiled:
        """The compiled form of templates: their rows, from the snapshot.

        A database that others built has none, and none is used where all templates are to run on the store.
        """
        if self._foreign is not None or self.settings.on_store:
            return NothingCompiled()
        from kgdx.graph.compiled_templates import CompiledQueries

        return CompiledQueries(self.snapshot, self._saved_cases)

    def _saved_cases(self) -> list[Row]:
        """Return the cases that users saved: once while the folder is held, each time from a server."""
        read = partial(self.run, "saved_cases", source=USER)
        return read() if self.settings.is_neo4j else self._opened_once("saved_cases", read)

    def run(self, template: str, /, **parameters: Any) -> list[Row]:
        return self.store.run(template, **parameters)

    def sources(self) -> tuple[Row, ...]:
        """Say what the graph was made from: sources with version, licence, citation and counts; read once."""
        return self._rows_of_build("sources")

    def build(self) -> Row | None:
        """Say which build it is, and when it was made; read once."""
        return next(iter(self._rows_of_build("build")), None)

    def _rows_of_build(self, name: str) -> tuple[Row, ...]:
        def read() -> tuple[Row, ...]:
            if not self.settings.is_neo4j:
                from kgdx.graph.snapshot_links import kept_rows

                with suppress(StoreError):  # a folder that cannot be written into has them in its store alone
                    return kept_rows(self.snapshot, name, lambda: self.store)
            return tuple(self.run(name))

        return self._opened_once(name, read)

    def extract(self, text: str, language: str | None = None, patient: Case | None = None) -> Extraction:
        """Read all findings of a free text; the patient's age and sex decide which values are usual."""
        return self.reader.extract(text, language, patient)

    def judge(self, measurements: Iterable[Measurement], patient: Case) -> Extraction:
        return self.reader.judge(measurements, patient)

    def resolve(self, term: str) -> Resolution:
        """Find the finding that an HPO id, a name, or the id of a symptom of the graph stands for."""
        found = self.reader.resolve(term)
        if found.finding is None and ":" in term and (row := self.ranker.names.symptom(term.strip())) >= 0:
            name = str(self.snapshot.column("symptom", "name")[row])
            return Resolution(Finding(term.strip(), label=name, text=term, method="id"))
        return found

    @contextmanager
    def writing(self) -> Iterator[Store]:
        """Give the store for writing, alone; afterwards it is read-only again.

        Where another process has put a new build in the place of this one meanwhile, the block writes into the new one,
        and what was compiled from the old one is opened anew.
        """
        with self._lock:
            before = self._source.build
            self._opened.pop("saved_cases", None)
            self._close_store()
            self._source.release()
            try:
                with self._source.writing() as store:
                    yield store
            finally:
                self._source.hold()
                if self._source.build != before:
                    self._opened.clear()

    def close(self) -> None:
        """Close what was opened and let other processes write."""
        with self._lock:
            for name in reversed(list(self._opened)):
                close = getattr(self._opened.pop(name), "close", None)
                if close is not None:
                    close()
            self._source.release()

    def _opened_once(self, name: str, make: Callable[[], T]) -> T:
        with self._lock:
            if name not in self._opened:
                self._opened[name] = make()
            found: T = self._opened[name]
            return found

    def _tell(self, what: str) -> None:
        if self._progress is not None:
            self._progress(what)

    def _close_store(self) -> None:
        store = self._opened.pop("store", None)
        if store is not None:
            store.close()


def _foreign(settings: Settings) -> MappedSource | None:
    return MAPPED.get("mapping")(settings) if settings.is_neo4j and settings.neo4j_mapping is not None else None
