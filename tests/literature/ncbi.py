"""A small HTTP server that speaks NCBI's E-utilities, and fails as a test says: down, slow, too many, garbage, huge."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs
from xml.sax.saxutils import escape

Fields = Mapping[str, str]

HEAD = '<?xml version="1.0" encoding="UTF-8" ?>\n'
SEARCH = '<!DOCTYPE eSearchResult PUBLIC "-//NLM//DTD esearch 20060628//EN" "{}/20060628/esearch.dtd">\n'.format(
    "https://eutils.ncbi.nlm.nih.gov/eutils/dtd"
)
FETCH = (
    '<!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD PubMedArticle, 1st January {year}//EN" '
    '"https://dtd.nlm.nih.gov/ncbi/pubmed/out/pubmed_{dated}.dtd">\n'
)


@dataclass(frozen=True)
class Reply:
    """What the server does: a status, headers, a body; seconds before it, and between its pieces; where it is cut."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    stall: float = 0.0
    drip: float = 0.0
    cut: int | None = None


Script = Callable[[str, Fields, int], Reply]


def article(pmid: str, title: str = "", doi: str = "10.1000/x{}", year: str = "2021") -> str:
    """One publication as efetch gives it."""
    title = escape(title or f"Report {pmid}") + "."
    return f"""<PubmedArticle><MedlineCitation Status="MEDLINE" Owner="NLM"><PMID Version="1">{pmid}</PMID>
<Article PubModel="Print"><Journal><ISSN IssnType="Print">0000-0000</ISSN><JournalIssue CitedMedium="Internet">
<Volume>1</Volume><PubDate><Year>{year}</Year><Month>Jan</Month></PubDate></JournalIssue><Title>Journal of tests</Title>
<ISOAbbreviation>J Tests</ISOAbbreviation></Journal><ArticleTitle>{title}</ArticleTitle>
<ELocationID EIdType="doi" ValidYN="Y">{doi.format(pmid)}</ELocationID>
<Abstract><AbstractText Label="BACKGROUND">It is <i>rare</i>.</AbstractText><AbstractText>We saw it.</AbstractText>
</Abstract><AuthorList CompleteYN="Y"><Author ValidYN="Y"><LastName>Doe</LastName><ForeName>Jane</ForeName>
<Initials>J</Initials></Author><Author ValidYN="Y"><CollectiveName>The Test Group</CollectiveName></Author></AuthorList>
<Language>eng</Language><PublicationTypeList><PublicationType UI="D016428">Journal Article</PublicationType>
</PublicationTypeList></Article><MedlineJournalInfo><Country>England</Country><MedlineTA>J Test</MedlineTA>
<NlmUniqueID>1</NlmUniqueID></MedlineJournalInfo></MedlineCitation><PubmedData>
<PublicationStatus>ppublish</PublicationStatus><ArticleIdList><ArticleId IdType="pubmed">{pmid}</ArticleId>
<ArticleId IdType="doi">{doi.format(pmid)}</ArticleId></ArticleIdList></PubmedData></PubmedArticle>"""


def articles(*pmids: str, dated: str = "250101") -> bytes:
    """An answer of efetch."""
    head = HEAD + FETCH.format(year=f"20{dated[:2]}", dated=dated)
    return f"{head}<PubmedArticleSet>{''.join(map(article, pmids))}</PubmedArticleSet>".encode()


def found(*pmids: str) -> bytes:
    """An answer of esearch."""
    ids = "".join(f"<Id>{pmid}</Id>" for pmid in pmids)
    counts = f"<Count>{len(pmids)}</Count><RetMax>{len(pmids)}</RetMax><RetStart>0</RetStart>"
    return f"{HEAD}{SEARCH}<eSearchResult>{counts}<IdList>{ids}</IdList><TranslationSet/></eSearchResult>".encode()


def well(program: str, fields: Fields, number: int) -> Reply:
    """Answer as NCBI does: three publications for whatever is searched, any publication by number below 900."""
    if program == "esearch.fcgi":
        return Reply(found("101", "102", "103"))
    return Reply(articles(*(pmid for pmid in fields["id"].split(",") if int(pmid) < 900)))


class Server(ThreadingHTTPServer):
    """Answers by its script; keeps what was asked, and when."""

    daemon_threads = True

    def __init__(self, script: Script) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script = script
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.times: list[float] = []
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/entrez/eutils"

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of a client that went away."""


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def log_message(self, format: str, *args: object) -> None:
        """Write nothing."""

    def do_GET(self) -> None:
        self._answer({})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self._answer({name: values[0] for name, values in parse_qs(body).items()})

    def _answer(self, fields: dict[str, str]) -> None:
        program = self.path.rpartition("/")[2]
        with self.server.lock:
            number = len(self.server.requests)
            self.server.requests.append((program, fields))
            self.server.times.append(time.time())
        reply = self.server.script(program, fields, number)
        time.sleep(reply.stall)
        self.send_response(reply.status)
        self.send_header("Content-Type", "text/xml; charset=UTF-8")
        self.send_header("Content-Length", str(len(reply.body)))
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.end_headers()
        body = reply.body if reply.cut is None else reply.body[: reply.cut]
        for start in range(0, len(body), 64) if reply.drip else ():
            self.wfile.write(body[start : start + 64])
            self.wfile.flush()
            time.sleep(reply.drip)
        if not reply.drip:
            self.wfile.write(body)
        if reply.cut is not None:
            self.close_connection = True


@contextmanager
def serving(script: Script = well) -> Iterator[Server]:
    """Run a server for the time of a block."""
    server = Server(script)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
