"""What is asked of a literature database and what comes back, how PubMed is reached, and the cache on disk."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from kgdx.config import Settings
from kgdx.config.values import seconds, switch
from kgdx.errors import ConfigError, StoreError
from kgdx.files.locks import open_shared
from kgdx.lazy import lazy_pattern


@dataclass(frozen=True, slots=True)
class Publication:
    """A publication as PubMed describes it."""

    pmid: str
    title: str = ""
    authors: tuple[str, ...] = ()
    journal: str = ""
    year: str = ""
    doi: str = ""
    abstract: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """What was found within the time that there was.

    Attributes:
        by_disease: Id of a disease → publications that were searched for by its names, the most relevant first.
    """

    by_disease: Mapping[str, tuple[Publication, ...]] = field(default_factory=dict)
    publications: tuple[Publication, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """How many different publications there are."""
        searched = {each.pmid for found in self.by_disease.values() for each in found}
        return len(searched | {each.pmid for each in self.publications})


class Literature(Protocol):
    """Finds publications; does its best within its time, and says what failed rather than raise."""

    def find(self, names: Mapping[str, Sequence[str]], pmids: Sequence[str], limit: int) -> Found:
        """Search for diseases, and look publications up."""
        ...


BASE_URL = "https://eutils.ncbi.nlm.nih.gov/entrez/eutils"
"""NCBI's E-utilities."""

SECONDS = 5.0
"""How long an answer waits for PubMed, unless said otherwise."""

_EMAIL = lazy_pattern(r"[^\s@]+@[^\s@]+\.[^\s@]+")


@dataclass(frozen=True, slots=True)
class PubMedAccess:
    """What it takes to ask PubMed; the key never shows in the representation."""

    email: str
    api_key: str | None = field(default=None, repr=False)
    tool: str = "kgdx"
    base_url: str = BASE_URL
    seconds: float = SECONDS
    ask: bool = False

    @property
    def interval(self) -> float:
        return 0.11 if self.api_key else 0.36


def pubmed_access(settings: Settings) -> PubMedAccess | None:
    """Return how to ask PubMed; ``None`` where no e-mail address is set."""
    given = settings.pubmed_settings
    ask = switch("KGDX_PUBMED", given.get("ask", "false"))
    email = given.get("email")
    if email is None:
        if ask:
            raise ConfigError("KGDX_PUBMED is on, and NCBI wants an e-mail address", hint="set KGDX_PUBMED_EMAIL")
        return None
    if not _EMAIL.fullmatch(email):
        raise ConfigError("KGDX_PUBMED_EMAIL is no e-mail address", hint="for example ada@example.org")
    return PubMedAccess(
        email,
        given.get("api_key"),
        tool=given.get("tool", "kgdx"),
        base_url=_address(given.get("base_url", BASE_URL)),
        seconds=seconds("KGDX_PUBMED_SECONDS", given.get("seconds"), SECONDS, 600),
        ask=ask,
    )


def _address(url: str) -> str:
    try:
        parts = urlsplit(url)
        plain = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        plain = False
    if not plain or "@" in parts.netloc or parts.query or parts.fragment:
        raise ConfigError("KGDX_PUBMED_BASE_URL is no plain http address", hint=f"leave it out for {BASE_URL}")
    return url.rstrip("/")


SEARCH_S = 30 * 86_400.0
"""How long a search stands: new publications appear."""

MISSING_S = 7 * 86_400.0
"""How long it stands that there is no publication of a number."""

_WAIT_S = 10.0
_LAYOUT = """
CREATE TABLE IF NOT EXISTS search (key TEXT PRIMARY KEY, pmids TEXT NOT NULL, at REAL NOT NULL);
CREATE TABLE IF NOT EXISTS publication (pmid TEXT PRIMARY KEY, document TEXT, at REAL NOT NULL);
"""


class PublicationCache:
    """A file of searches and publications; one in memory where the file cannot be used.

    Of a search only the digest is kept, not its words. Its methods raise :class:`~kgdx.errors.StoreError` where the
    file fails after it was opened.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self._lock = threading.Lock()
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(file, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
            self._database = self._open(str(file))
        except (OSError, sqlite3.Error):
            self._database = self._open(":memory:")

    def search(self, base_url: str, term: str) -> tuple[str, ...] | None:
        """Return the numbers that a search found; ``None`` where it was not made, or long ago."""
        select = "SELECT pmids FROM search WHERE key = ? AND at > ?"
        with self._used():
            row = self._database.execute(select, (_key(base_url, term), time.time() - SEARCH_S)).fetchone()
        return None if row is None else tuple(row[0].split())

    def publications(self, pmids: Iterable[str]) -> dict[str, Publication | None]:
        """Return the publications that are there; ``None`` for a number that PubMed does not have."""
        select = "SELECT document, at FROM publication WHERE pmid = ?"
        found: dict[str, Publication | None] = {}
        with self._used():
            rows = [(pmid, self._database.execute(select, (pmid,)).fetchone()) for pmid in pmids]
        for pmid, row in rows:
            if row is not None and (row[0] is not None or row[1] > time.time() - MISSING_S):
                found[pmid] = None if row[0] is None else _read(row[0])
        return found

    def all(self) -> list[Publication]:
        """Return all publications that are there, by their numbers."""
        with self._used():
            rows = self._database.execute("SELECT document FROM publication WHERE document IS NOT NULL ORDER BY pmid")
            return [_read(document) for (document,) in rows.fetchall()]

    def put_search(self, base_url: str, term: str, pmids: Sequence[str]) -> None:
        """Keep what a search found."""
        row = (_key(base_url, term), " ".join(pmids), time.time())
        with self._used():
            self._database.execute("INSERT OR REPLACE INTO search VALUES (?, ?, ?)", row)

    def put_publications(self, asked: Iterable[str], found: Iterable[Publication]) -> None:
        """Keep publications, and that there are none of the other numbers that were asked for."""
        now = time.time()
        rows: dict[str, tuple[str, str | None, float]] = {pmid: (pmid, None, now) for pmid in asked}
        rows |= {each.pmid: (each.pmid, json.dumps(asdict(each), ensure_ascii=False), now) for each in found}
        with self._used():
            self._database.executemany("INSERT OR REPLACE INTO publication VALUES (?, ?, ?)", rows.values())

    def close(self) -> None:
        with self._lock:
            self._database.close()

    @contextmanager
    def _used(self) -> Iterator[None]:
        with self._lock:
            try:
                yield
            except sqlite3.Error as error:
                hint = "delete it, and try again"
                raise StoreError(f"the publications in {self.file} cannot be used ({error})", hint=hint) from error

    @staticmethod
    def _open(name: str) -> sqlite3.Connection:
        database = open_shared(name, _WAIT_S)
        try:
            database.executescript(_LAYOUT)
        except sqlite3.Error:
            database.close()
            raise
        return database


def _key(base_url: str, term: str) -> str:
    return hashlib.sha256(f"{base_url}\0{term}".encode()).hexdigest()


def _read(document: str) -> Publication:
    fields = json.loads(document)
    return Publication(**{**fields, "authors": tuple(fields["authors"])})
