"""PubMed behind a shelf of what was fetched before; asked in the background, waited for within a budget."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from kgdx.errors import ConfigError
from kgdx.literature.eutils import MOST_PMIDS, Eutils, PubMedError, parse_ready
from kgdx.literature.publications import Found, Publication, PublicationCache, PubMedAccess

BACKGROUND_S = 60.0
"""How long a search may go on behind an answer that did not wait for it; what it finds is there the next time."""

REST_S = 30.0
"""How long PubMed is left alone after it failed."""

MOST_THREADS = 4
"""Searches in the background at a time; beyond, PubMed is too slow for one more."""

_NAMES = 3
_NAME_CHARS = 150


class PubMed:
    """A :class:`~kgdx.literature.Literature`: never raises for what PubMed does, never waits longer than its budget.

    What is sent are the names that it is given: those of entities of the graph.
    """

    def __init__(self, access: PubMedAccess, folder: Path) -> None:
        self.access = access
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            hint = "set KGDX_CACHE to a folder that can be written"
            raise ConfigError(f"the folder {folder} cannot be made ({error.strerror or error})", hint=hint) from error
        parse_ready(folder)
        self._eutils = Eutils(access, folder)
        self._shelf = PublicationCache(folder / "pubmed.sqlite")
        self._turns = threading.BoundedSemaphore(MOST_THREADS)
        self._resting_until = 0.0

    def find(self, names: Mapping[str, Sequence[str]], pmids: Sequence[str], limit: int) -> Found:
        """Search for diseases, and look publications up; see :meth:`kgdx.literature.Literature.find`."""
        terms = {disease: term for disease, given in names.items() if (term := search_term(given))}
        problem = self._ask(terms, pmids, limit) if self._missing(terms, pmids, limit) else ""
        return self._known(terms, pmids, limit, (problem,) if problem else ())

    def close(self) -> None:
        self._shelf.close()

    def _ask(self, terms: Mapping[str, str], pmids: Sequence[str], limit: int) -> str:
        if time.monotonic() < self._resting_until:
            return "it failed just now and is left alone for a moment"
        if not self._turns.acquire(blocking=False):
            return "it is too slow for the searches that wait already"
        problems: list[str] = []
        work = threading.Thread(
            target=self._work, args=(terms, pmids, limit, problems), name="kgdx-pubmed", daemon=True
        )
        try:
            work.start()
        except RuntimeError:  # no thread can be started: the answer does without
            self._turns.release()
            return "there is no thread left to ask it with"
        work.join(self.access.seconds)
        if work.is_alive():
            return f"no answer within {self.access.seconds:g} s; what comes later is kept for the next time"
        return problems[0] if problems else ""

    def _work(self, terms: Mapping[str, str], pmids: Sequence[str], limit: int, problems: list[str]) -> None:
        until = time.time() + BACKGROUND_S
        try:
            for term in terms.values():
                if self._found(term, limit) is None:
                    found = self._eutils.search(term, limit, until)
                    self._shelf.put_search(self.access.base_url, _sized(term, limit), found)
            wanted = self._wanted(terms, pmids, limit)
            known = self._shelf.publications(wanted)
            for part in _parts([pmid for pmid in wanted if pmid not in known]):
                self._shelf.put_publications(part, self._eutils.fetch(part, until))
        except PubMedError as error:
            problems.append(str(error))
            self._resting_until = time.monotonic() + REST_S
        except Exception as error:  # a thread of its own: nobody above could tell
            problems.append(f"its answers cannot be kept ({type(error).__name__})")
        finally:
            self._turns.release()

    def _missing(self, terms: Mapping[str, str], pmids: Sequence[str], limit: int) -> bool:
        if any(self._found(term, limit) is None for term in terms.values()):
            return True
        wanted = self._wanted(terms, pmids, limit)
        return len(self._shelf.publications(wanted)) < len(wanted)

    def _wanted(self, terms: Mapping[str, str], pmids: Iterable[str], limit: int) -> list[str]:
        searched = (pmid for term in terms.values() for pmid in self._found(term, limit) or ())
        return list(dict.fromkeys((*searched, *pmids)))

    def _known(self, terms: Mapping[str, str], pmids: Sequence[str], limit: int, problems: tuple[str, ...]) -> Found:
        shelf = self._shelf.publications(self._wanted(terms, pmids, limit))

        def those(numbers: Iterable[str]) -> tuple[Publication, ...]:
            return tuple(found for number in numbers if (found := shelf.get(number)) is not None)

        by_disease = {disease: those(self._found(term, limit) or ()) for disease, term in terms.items()}
        return Found(by_disease, those(pmids), problems)

    def _found(self, term: str, limit: int) -> tuple[str, ...] | None:
        return self._shelf.search(self.access.base_url, _sized(term, limit))


def search_term(names: Sequence[str]) -> str:
    """Return what PubMed is asked for a disease; empty where it has no name that PubMed could know."""
    cleaned = (" ".join(re.sub(r"[^\w\s',.+-]", " ", name).split())[:_NAME_CHARS] for name in names if name.isascii())
    phrases = [name for name in dict.fromkeys(cleaned) if any(each.isalpha() for each in name)]
    return " OR ".join(f'"{name}"[Title/Abstract]' for name in phrases[:_NAMES])


def _sized(term: str, limit: int) -> str:
    return f"{limit}:{term}"


def _parts(pmids: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(pmids), MOST_PMIDS):
        yield pmids[start : start + MOST_PMIDS]
