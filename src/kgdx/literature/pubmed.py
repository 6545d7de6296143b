"""PubMed behind a shelf of what was fetched before; asked in the background, waited for within a budget."""

from __future__ import annotations

import http.client
import io
import os
import re
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from kgdx.errors import ConfigError, MissingExtraError, refusing
from kgdx.files.locks import take
from kgdx.lazy import lazy_pattern
from kgdx.literature.publications import Found, Publication, PublicationCache, PubMedAccess

MOST_BYTES = 8_000_000
"""Bytes of an answer at most; a hundred publications with abstracts take a tenth of it."""

MOST_PMIDS = 100
"""Publications of one request at most."""

ATTEMPTS = 3
_PAUSE_S = 1.0
_CHUNK = 1 << 16
_TEMPORARY = frozenset({408, 425, 429, 500, 502, 503, 504})
_DATED = lazy_pattern(r"pubmed_\d{6}\.dtd")
_TEXT_CHARS = 4_000


class PubMedError(Exception):
    """A request without a usable answer; the message never holds the key."""


class Eutils:
    def __init__(self, access: PubMedAccess, folder: Path) -> None:
        self.access = access
        self.folder = folder
        self._pace = RateLimiter(folder / f"pace-{'key' if access.api_key else 'free'}", access.interval)
        self._opener = urllib.request.build_opener(_SameHost)

    def search(self, term: str, limit: int, until: float) -> list[str]:
        """Return the numbers of publications, the most relevant first."""
        given = {"db": "pubmed", "term": term, "retmax": str(limit), "sort": "relevance", "retmode": "xml"}
        found = self._parsed("esearch.fcgi", given, until)
        ids = found.get("IdList") if isinstance(found, Mapping) else None
        if ids is None:
            raise PubMedError("an answer that is no search result")
        return [str(id) for id in ids if re.fullmatch(r"[1-9]\d{0,8}", str(id))][:limit]

    def fetch(self, pmids: Sequence[str], until: float) -> list[Publication]:
        """Return publications by number; those that PubMed does not have are left out."""
        given = {"db": "pubmed", "id": ",".join(pmids), "retmode": "xml"}
        found = self._parsed("efetch.fcgi", given, until)
        articles = found.get("PubmedArticle") if isinstance(found, Mapping) else None
        if articles is None:
            raise PubMedError("an answer that is no list of publications")
        wanted = set(pmids)
        return [each for each in _publications(articles) if each.pmid in wanted]

    def _parsed(self, program: str, given: Mapping[str, str], until: float) -> Any:
        return parse(self._answer(program, given, until), self.folder)

    def _answer(self, program: str, given: Mapping[str, str], until: float) -> bytes:
        fields = {**given, "tool": self.access.tool, "email": self.access.email}
        if self.access.api_key:
            fields["api_key"] = self.access.api_key
        body = urlencode(fields).encode()  # in the body: an address ends up in logs
        for attempt in range(ATTEMPTS):
            try:
                if not self._pace.wait(until):
                    raise PubMedError("no turn within the time")
                return self._once(program, body, until)
            except urllib.error.HTTPError as error:
                error.close()
                reason, wait = f"it answers {error.code}", _retry_after(error.headers.get("Retry-After"))
                if error.code not in _TEMPORARY:
                    raise PubMedError(reason) from None
            except (OSError, http.client.HTTPException) as error:
                reason, wait = _reason(error), None
            pause = _PAUSE_S * 2**attempt if wait is None else wait
            if attempt + 1 == ATTEMPTS or time.time() + pause >= until:
                raise PubMedError(reason)
            time.sleep(pause)
        raise AssertionError("unreachable: the last attempt returns or raises")

    def _once(self, program: str, body: bytes, until: float) -> bytes:
        left = until - time.time()
        if left <= 0:
            raise PubMedError("no answer in time")
        request = urllib.request.Request(f"{self.access.base_url}/{program}", data=body)
        read = bytearray()
        with self._opener.open(request, timeout=left) as answer:
            while chunk := answer.read1(_CHUNK):
                read += chunk
                if len(read) > MOST_BYTES:
                    raise PubMedError(f"an answer of more than {MOST_BYTES:,} bytes")
                if time.time() > until:
                    raise PubMedError("no answer in time")
            if answer.length:
                raise http.client.IncompleteRead(bytes(read[:0]), answer.length)
        return bytes(read)


class _SameHost(urllib.request.HTTPRedirectHandler):
    """Follows no redirect to another host: the key and the address of whoever asks stay where they were sent."""

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        if urlsplit(newurl).netloc != urlsplit(req.full_url).netloc:
            return None
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def parse(content: bytes, folder: Path) -> Any:
    """Read an answer of the E-utilities.

    Args:
        folder: Where Biopython may keep files of its own; it would use the user's home otherwise.
    """
    parse_ready(folder)
    if b"<!ENTITY" in content:
        raise PubMedError("an answer that defines entities")
    try:
        return _reader()(validate=False, escape=False, ignore_errors=False).read(io.BytesIO(content))
    except Exception as error:  # whatever a parser that was given anything but NCBI's XML raises
        raise PubMedError(f"an answer that cannot be read ({type(error).__name__})") from None


def parse_ready(folder: Path) -> None:
    """See to it that answers can be read."""
    try:
        from Bio import Entrez
    except ImportError:
        raise MissingExtraError("asking PubMed", "pubmed") from None
    if Entrez.local_cache is None:
        Entrez.local_cache = str(folder / "biopython")  # type: ignore[assignment]


@cache
def _reader() -> Any:
    from Bio.Entrez.Parser import DataHandler

    class Offline(DataHandler):
        """Knows the document types that come with Biopython, and loads none."""

        def open_dtd_file(self, filename: str) -> Any:
            shipped = Path(DataHandler.global_dtd_dir)
            known = shipped / Path(filename).name
            if not known.is_file() and _DATED.fullmatch(filename):  # each year has a new one, much like the last
                known = max(shipped.glob("pubmed_[0-9][0-9][0-9][0-9][0-9][0-9].dtd"), key=lambda path: path.name)
            if not known.is_file():
                raise ValueError("an unknown document type")
            return known.open("rb")

        def open_xsd_file(self, filename: str) -> Any:
            raise ValueError("an unknown schema")

    return Offline


def _publications(articles: Any) -> Iterator[Publication]:
    for each in articles:
        try:
            yield _publication(each["MedlineCitation"], each.get("PubmedData") or {})
        except (KeyError, TypeError, AttributeError, IndexError):
            continue  # a record without what every publication has


def _publication(citation: Any, more: Any) -> Publication:
    article = citation["Article"]
    journal = article.get("Journal") or {}
    date = (journal.get("JournalIssue") or {}).get("PubDate") or {}
    year = str(date.get("Year") or str(date.get("MedlineDate") or "")[:4])
    info = citation.get("MedlineJournalInfo") or {}
    ids = [*(article.get("ELocationID") or ()), *(more.get("ArticleIdList") or ())]
    kinds = [(getattr(id, "attributes", {}), _text(id)) for id in ids]
    doi = next((text for given, text in kinds if "doi" in (given.get("EIdType"), given.get("IdType"))), "")
    abstract = " ".join(_text(part) for part in (article.get("Abstract") or {}).get("AbstractText") or ())
    return Publication(
        pmid=str(citation["PMID"]),
        title=_text(article["ArticleTitle"]).rstrip(".").removeprefix("[").removesuffix("]"),
        authors=tuple(filter(None, map(_author, article.get("AuthorList") or ()))),
        journal=_text(info.get("MedlineTA") or journal.get("ISOAbbreviation") or journal.get("Title") or ""),
        year=year if re.fullmatch(r"\d{4}", year) else "",
        doi=doi,
        abstract=abstract[:_TEXT_CHARS],
    )


def _author(author: Any) -> str:
    if author.get("CollectiveName"):
        return _text(author["CollectiveName"])
    return f"{_text(author.get('LastName') or '')} {_text(author.get('Initials') or '')}".strip()


def _text(value: Any) -> str:
    return " ".join(re.sub(r"</?[a-zA-Z][^<>]{0,100}>", "", str(value)).split())[:_TEXT_CHARS]


def _retry_after(text: str | None) -> float | None:
    try:
        return max(0.0, float(text)) if text else None
    except ValueError:
        return None


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError) or isinstance(getattr(error, "reason", None), TimeoutError):
        return "no answer in time"
    if isinstance(error, http.client.HTTPException | ConnectionResetError):
        return "the connection was cut"
    return "it cannot be reached"


LONGEST_S = 60.0
"""A turn further away than this was written before the clock was set back: it does not count."""


class RateLimiter:
    """Gives turns that are an interval apart, by a file that holds when the next one is.

    Args:
        file: Shared by all who have to keep the pace together; made when it is not there.
    """

    def __init__(self, file: Path, interval: float) -> None:
        self.file = file
        self.interval = interval
        self._lock = threading.Lock()

    def wait(self, until: float) -> bool:
        """Wait for the next turn, unless it comes after ``until``, a time of :func:`time.time`; say whether it came."""
        turn = self._take(until)
        if turn is None:
            return False
        time.sleep(max(0.0, turn - time.time()))
        return True

    def _take(self, until: float) -> float | None:
        with self._lock, open(os.open(self.file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), "r+") as handle:
            take(handle.fileno())  # given back when the file is closed
            now = time.time()
            turn = max(now, _read(handle.read(64), now))
            if turn > until:
                return None
            handle.seek(0)
            handle.write(f"{turn + self.interval:.6f}\n")
            handle.truncate()
            return turn


def _read(text: str, now: float) -> float:
    try:
        turn = float(text)
    except ValueError:
        return now
    return turn if turn - now <= LONGEST_S else now


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
        hint = "set KGDX_CACHE to a folder that can be written"
        with refusing(ConfigError, f"the folder {folder} cannot be made", hint):
            folder.mkdir(parents=True, exist_ok=True)
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
