"""The application: the routes of the API, the page, answers in pieces; prints the OpenAPI description when run.

``python -m kgdx.serve.app`` prints the API's OpenAPI description, as the documentation keeps it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, FastAPI
from fastapi import Path as InPath
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, StreamingResponse
from starlette.staticfiles import StaticFiles

from kgdx.results.cited import AnswerDocument
from kgdx.results.document import NOTICE
from kgdx.results.ranked import DiagnosisDocument
from kgdx.results.reference import documented
from kgdx.serve import http_models
from kgdx.serve.problems import MEDIA_TYPE, Problem, RequestRefused, busy
from kgdx.serve.request_guard import PAGE_VALUES, VALUES, Guard, response_of, values
from kgdx.serve.server_options import Options
from kgdx.serve.worker_pool import WorkerPool

API = "/api/v1"
WEB = Path(__file__).parent / "web"

KEEP_ALIVE_S = 15.0
"""After so long without an event a comment is sent, so that nothing between takes the stream for dead."""

LOOK_S = 2.0
"""How often it is looked whether the graph is there, and which."""

Asked = Callable[[str, Any], Awaitable[Response]]
"""Has a worker do an operation on what was sent."""


_PROBLEMS: dict[int | str, dict[str, Any]] = {}
for _status, _words in {
    400: "The request cannot be read, or is not as it is described here.",
    401: "A valid token is needed.",
    403: "A page of another site asks.",
    409: "The server has no such part: it is not installed, or not configured. Or the graph has changed since.",
    408: "The request did not arrive in time.",
    413: "The request is too large.",
    415: "The request is not JSON.",
    421: "The server does not answer by that name.",
    431: "The headers are too large.",
    422: "The request is as it should be, but nothing can be made of what it says: no finding, an unknown term.",
    429: "Too many requests.",
    500: "A fault of the server.",
    502: "The language model failed.",
    503: "Busy, too slow, or without a graph; Retry-After says when to try again.",
    507: "Not enough memory.",
}.items():
    _PROBLEMS[_status] = {
        "description": _words,
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
_ABSENT: dict[str, Any] = {**_PROBLEMS[400], "description": "There is no such disease."}
_EVENT = {
    "type": "object",
    "properties": {
        "event": {"type": "string", "enum": ["step", "text", "answer", "problem"]},
        "data": {"type": "string", "description": "JSON."},
    },
    "required": ["event", "data"],
}
_EVENTS = {"description": "Server-sent events.", "content": {"text/event-stream": {"schema": _EVENT}}}


_TOKEN = {"type": "http", "scheme": "bearer", "description": "Needed where the server was started with a token."}


class JsonRoute(APIRoute):
    """A route whose body is JSON and says so: a form of another site cannot send that unasked."""

    def get_route_handler(self) -> Callable[[Request], Any]:
        """Return what answers a request."""
        inner = super().get_route_handler()

        async def handle(request: Request) -> Response:
            if self.body_field is not None:
                media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
                if media != "application/json":
                    hint = "send JSON with the header Content-Type: application/json"
                    raise RequestRefused(Problem(415, "media-type", "the request is not JSON", hint))
                most = PAGE_VALUES if self.body_field.field_info.annotation is http_models.Page else VALUES
                if values(await request.body()) > most:
                    detail = f"the request has more than {most:,} values"
                    raise RequestRefused(Problem(413, "members", detail, "send less at once"))
            answer: Response = await inner(request)
            return answer

        return handle


class App(FastAPI):
    """The application; its description has problem documents where FastAPI would put its own form of errors."""

    def openapi(self) -> dict[str, Any]:
        """Return the description of the API."""
        if self.openapi_schema is not None:
            return self.openapi_schema
        document = super().openapi()
        parts = document["components"]
        for name in ("HTTPValidationError", "ValidationError"):
            parts["schemas"].pop(name, None)
        parts["schemas"]["Problem"] = http_models.ProblemDetails.model_json_schema()
        documented(parts["schemas"])
        parts["securitySchemes"] = {"token": _TOKEN}
        document["security"] = [{}, {"token": []}]
        return document


def create_app(
    options: Options,
    workers: WorkerPool,
    askers: WorkerPool,
    *,
    model: str | None = None,
    literature: bool = False,
    log: Any = None,
) -> FastAPI:
    """Make the application."""
    app = App(
        title="kgdx",
        version=version("kgdx"),
        summary="Graph-grounded diagnosis.",
        description=f"{NOTICE} What is sent is neither kept nor logged.",
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        openapi_url=f"{API}/openapi.json",
        docs_url=None,
        redoc_url=None,
        generate_unique_id_function=lambda route: route.name,
        lifespan=_lifespan(workers, askers),
    )
    api = _api(options, workers, askers, literature)
    _state(api, options, workers, model)
    app.include_router(api)
    for path, make in _pages().items():
        app.add_api_route(path, make, include_in_schema=False)
    app.mount("/static", StaticFiles(directory=WEB / "static"), name="static")
    app.add_exception_handler(RequestRefused, _refused)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_middleware(Guard, options=options, log=log)
    return app


def _lifespan(workers: WorkerPool, askers: WorkerPool) -> Callable[[FastAPI], Any]:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        workers.start()
        watching = asyncio.create_task(_watch(workers))
        try:
            yield
        finally:
            watching.cancel()
            await asyncio.gather(workers.close(), askers.close())

    return lifespan


async def _watch(workers: WorkerPool) -> None:
    while True:
        await asyncio.sleep(LOOK_S)
        await workers.look(LOOK_S * 2)


def _api(options: Options, workers: WorkerPool, askers: WorkerPool, literature: bool) -> APIRouter:
    api = APIRouter(prefix=API, route_class=JsonRoute, responses=_PROBLEMS)

    def sent(operation: str, request: Any) -> tuple[WorkerPool, dict[str, Any], float]:
        """Return who does it: what asks nobody outside need not wait behind what does."""
        given = request.model_dump() if isinstance(request, http_models.RequestBody) else request
        outside = operation in ("rerank", "thought") or (literature and operation == "ask")
        outside |= getattr(request, "reader", False) or getattr(request, "asks_model", False)
        pool, seconds = (askers, options.ask_seconds) if outside else (workers, options.seconds)
        return pool, {**given, "seconds": seconds}, seconds

    async def ask(operation: str, request: Any) -> Response:
        pool, given, seconds = sent(operation, request)
        return _json(await pool.ask(operation, given, seconds=seconds))

    _diagnosis(api, ask)
    _lookups(api, ask)
    _questions(api, ask, lambda request: events("ask", *sent("ask", request)))
    return api


def _diagnosis(api: APIRouter, ask: Asked) -> None:
    @api.post("/diagnose", response_model=DiagnosisDocument, tags=["diagnosis"])
    async def diagnose(request: http_models.DiagnoseRequest) -> Response:
        """Rank the diseases that fit a patient, with what each finding contributes.

        Where a language model puts them in order, each has the number that it was retrieved with, and why it moved up;
        the scores stay as they are, and so does the order where the model gives none. Where it thinks first, those
        that it names come alone, with what it cites; the ranking stands in where it names none.
        """
        return await ask("rerank" if request.rerank else "thought" if request.thought else "diagnose", request)

    @api.post("/consult", response_model=http_models.ConsultationState, tags=["consultation"])
    async def consult(request: http_models.Consult) -> Response:
        """Begin a consultation: the question that tells most about which disease it is."""
        return await ask("consult", request)

    @api.post("/consult/answer", response_model=http_models.ConsultationState, tags=["consultation"])
    async def consult_answer(request: http_models.ConsultationReply) -> Response:
        """Answer a question, and get the next one, or the ranked diseases.

        The server keeps nothing: the transcript comes with each question, and goes back with the answer. One that was
        changed is refused; where the graph has changed since, the answer is 409.
        """
        return await ask("consult_answer", request)

    @api.post("/explain", response_model=DiagnosisDocument, tags=["diagnosis"])
    async def explain(request: http_models.ExplainRequest) -> Response:
        """Show all that speaks for and against one disease, with the paths in the graph, wherever it stands."""
        return await ask("explain", request)

    @api.post("/questions", response_model=http_models.Proposals, tags=["diagnosis"])
    async def questions(request: http_models.QuestionsRequest) -> Response:
        """Name the findings whose presence or absence would separate the leading diseases most."""
        return await ask("questions", request)


def _lookups(api: APIRouter, ask: Asked) -> None:
    @api.post("/extract", response_model=http_models.TextReading, tags=["words"])
    async def extract(request: http_models.ExtractRequest) -> Response:
        """Read a text, or a case in another form: findings and their places, who it is, and what was not read."""
        return await ask("extract", request)

    @api.post("/names", response_model=http_models.NamesRequest, tags=["words"])
    async def names(request: http_models.Ids) -> Response:
        """Name phenotypes in English and Chinese."""
        return await ask("names", request)

    @api.post("/terms", response_model=http_models.Completions, tags=["words"])
    async def terms(request: http_models.Complete) -> Response:
        """Complete the beginning of a name, English or Chinese."""
        return await ask("terms", request)

    @api.get("/diseases/{disease}", response_model=http_models.Disease, tags=["graph"], responses={404: _ABSENT})
    async def disease(disease: Annotated[http_models.Id, InPath(examples=["OMIM:208900"])]) -> Response:
        """Show what the graph knows of a disease."""
        return await ask("disease", {"disease": disease})

    @api.get("/sources", response_model=http_models.Sources, tags=["graph"])
    async def sources() -> Response:
        """Show what the graph holds and was made of, with versions, licences and citations, and what it lacks."""
        return await ask("sources", {})

    @api.post("/page", response_model=http_models.Html, tags=["diagnosis"])
    async def page(request: http_models.Page) -> Response:
        """Make one self-contained page of a result, to look at, keep or print."""
        return await ask("page", request)


def _questions(api: APIRouter, ask: Asked, told: Callable[[Any], StreamingResponse]) -> None:
    @api.post("/ask", response_model=AnswerDocument, tags=["questions"])
    async def question(request: http_models.Ask) -> Response:
        """Answer a question from the graph, each claim with its evidence."""
        return await ask("ask", request)

    @api.post("/ask/events", tags=["questions"], response_class=Response, responses={200: _EVENTS})
    async def question_events(request: http_models.Ask) -> Response:
        """Answer a question, and tell each step while it happens, as server-sent events.

        The events are ``step`` (an entry of the record), ``text`` (a piece of the answer), and last ``answer`` or
        ``problem``.
        """
        return told(request)


def _state(api: APIRouter, options: Options, workers: WorkerPool, model: str | None) -> None:
    @api.get("/about", response_model=http_models.ServerDescription, tags=["server"])
    async def about() -> dict[str, Any]:
        """Say what this server is and can do."""
        graph = workers.graph
        return {
            "version": version("kgdx"),
            "notice": NOTICE,
            "token": options.token is not None,
            "model": model,
            "fingerprint": graph.get("fingerprint"),
            "created": graph.get("created"),
        }

    @api.get("/health", response_model=http_models.Health, tags=["server"])
    async def health() -> dict[str, str]:
        """Say that the server runs."""
        return {"status": "ok"}

    @api.get("/ready", response_model=http_models.Ready, tags=["server"])
    async def ready() -> dict[str, Any]:
        """Say whether requests can be answered: workers run, and the graph and its store are there."""
        if workers.trouble is not None:
            raise RequestRefused(busy("the graph is not available", after=2))
        if not workers.alive:
            raise RequestRefused(busy("no worker runs", after=2))
        return {"status": "ready", "workers": workers.alive, "fingerprint": workers.graph.get("fingerprint", "")}


def _json(content: bytes) -> Response:
    return Response(content, media_type="application/json")


def _pages() -> dict[str, Callable[[], Response]]:
    from kgdx.render.pages.page import script, stylesheet

    own, fresh = WEB / "static", {"Cache-Control": "no-cache"}
    bench = [(own / name).read_text(encoding="utf-8") for name in ("app.css", "bench.css")]
    return {
        "/": lambda: FileResponse(WEB / "index.html", headers=fresh),
        "/consult": lambda: FileResponse(WEB / "consult.html", headers=fresh),
        "/static/report.css": lambda: Response(stylesheet(), headers=fresh, media_type="text/css"),
        "/static/report.js": lambda: Response(script(), headers=fresh, media_type="text/javascript"),
        "/static/workbench.css": lambda: Response("\n".join((stylesheet(), *bench)), 200, fresh, "text/css"),
    }


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestRefused)
    return response_of(error.problem)


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    details = {404: "there is nothing here", 405: "this address does not take that method"}
    detail = details.get(error.status_code, "the request cannot be read")
    hint = f"see {API}/openapi.json"
    return response_of(Problem(error.status_code, "http", detail, hint, headers=error.headers or {}))


async def _invalid(request: Request, error: Exception) -> Response:
    """Say which members are at fault, and never what they hold."""
    assert isinstance(error, RequestValidationError)
    found = [
        {"where": ".".join(str(part)[:60] for part in each["loc"]), "message": str(each["msg"])[:200]}
        for each in error.errors()[:20]
    ]
    where = f"{found[0]['where']}: {found[0]['message']}" if found else "it does not fit"
    return response_of(Problem(400, "request", where, f"see {API}/openapi.json", more={"errors": found}))


def events(operation: str, workers: WorkerPool, given: Mapping[str, Any], seconds: float) -> StreamingResponse:
    """Return a response that tells what a worker does while it does it.

    A client that goes ends the work at its next step, so that no model is paid for what nobody reads.
    """
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(_told(workers, operation, given, seconds), media_type="text/event-stream", headers=headers)


def event(name: str, data: bytes) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + data + b"\n\n"


async def _told(workers: WorkerPool, operation: str, given: Mapping[str, Any], seconds: float) -> AsyncIterator[bytes]:
    told: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
    work = asyncio.create_task(workers.ask(operation, given, seconds=seconds, event=told.put_nowait))
    work.add_done_callback(lambda _: told.put_nowait(None))
    try:
        yield b": started\n\n"
        while True:
            try:
                async with asyncio.timeout(KEEP_ALIVE_S):
                    piece = await told.get()
            except TimeoutError:
                yield b": still at it\n\n"
                continue
            if piece is None:
                break
            yield event(piece["event"], orjson.dumps(piece["data"]))
        try:
            yield event("answer", work.result())
        except RequestRefused as refused:
            yield event("problem", orjson.dumps(refused.problem.to_dict()))
    finally:
        work.cancel()


def description() -> dict[str, Any]:
    """Return the description of the API, which is the same whatever the server's options are."""
    pool = WorkerPool({}, 1, 1, print)
    return create_app(Options(), pool, pool).openapi()


if __name__ == "__main__":
    print(json.dumps(description(), indent=1, ensure_ascii=False))
