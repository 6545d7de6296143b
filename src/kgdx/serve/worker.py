"""A worker process: opens the graph once and answers one request at a time, until its server goes.

The arrays of the snapshot are memory-mapped, so the workers of a machine share them. Server and worker exchange frames
of JSON over pipes, so that nothing that arrives can run as code: four bytes of length, one byte that says what it is,
and the JSON text.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import queue
import struct
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import orjson

from kgdx.errors import CaseError, KgdxError
from kgdx.serve.http_models import Extraction
from kgdx.serve.problems import Problem, Refused, problem_of

if TYPE_CHECKING:
    from kgdx.api import Graph
    from kgdx.api.consulting import Consultation
    from kgdx.case import About, Case

HEADER = struct.Struct(">IB")

REQUEST, RESULT, PROBLEM, EVENT, READY, CANCEL = range(6)
"""Kinds of frames: what is asked; the last word of an answer, good or bad; a word before it; a worker is up; nobody
waits any more for the answer to the last request."""

MAX_FRAME = 256 << 20
"""No answer is longer than this; a length beyond it means that the stream is broken."""


def frame(kind: int, content: bytes) -> bytes:
    r"""Return a frame.

    Example:
        >>> frame(RESULT, b"{}")
        b'\x00\x00\x00\x02\x01{}'
    """
    return HEADER.pack(len(content), kind) + content


def read(stream: BinaryIO) -> tuple[int, bytes] | None:
    """Read a frame; ``None`` where the other side has gone.

    Example:
        >>> import io
        >>> read(io.BytesIO(frame(EVENT, b"[]"))), read(io.BytesIO(b""))
        ((3, b'[]'), None)
    """
    head = stream.read(HEADER.size)
    if len(head) < HEADER.size:
        return None
    length, kind = HEADER.unpack(head)
    content = stream.read(length)
    return None if len(content) < length else (kind, content)


def main() -> None:
    """Answer the requests that come on standard input; the answers go to what was standard output.

    Whatever a library prints goes to standard error, where it cannot break a frame.
    """
    source = sys.stdin.buffer
    target = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    logging.getLogger("neo4j").setLevel(logging.ERROR)  # each try to reach a server that is away would be a warning
    with contextlib.suppress(BrokenPipeError):
        run(source, target)


def run(source: BinaryIO, target: BinaryIO) -> None:
    """Open the graph that the first frame names, say so, and answer what follows.

    Args:
        source: Frames of requests.
        target: Takes the frames of answers.
    """
    first = read(source)
    if first is None:
        return
    given = orjson.loads(first[1])
    serving = Serving(given["store"], encoder=given["encoder"])
    try:
        try:
            target.write(frame(READY, orjson.dumps(serving.warm(given["task"]))))
        except KgdxError as error:
            target.write(_problem(problem_of(error)))
            return
        inbox = Inbox(source)
        while (asked := inbox.get()) is not None:
            target.write(answer(serving, asked, target.write, inbox.cancelled))
    finally:
        serving.close()


class Abandoned(BaseException):
    """Ends work that nobody waits for; whoever handles errors of the work lets it pass."""


class Inbox:
    """What a server sends while its worker works: the next requests, and that one is not wanted any more.

    Args:
        source: Frames.
    """

    def __init__(self, source: BinaryIO) -> None:
        self._requests: queue.SimpleQueue[tuple[bytes, threading.Event] | None] = queue.SimpleQueue()
        self.cancelled = threading.Event()
        threading.Thread(target=self._read, args=(source,), daemon=True).start()

    def get(self) -> bytes | None:
        """Return the next request; ``None`` where the server has gone."""
        found = self._requests.get()
        if found is None:
            return None
        self.cancelled = found[1]
        return found[0]

    def _read(self, source: BinaryIO) -> None:
        last = self.cancelled
        while (found := read(source)) is not None:
            if found[0] == CANCEL:
                last.set()
            else:
                last = threading.Event()
                self._requests.put((found[1], last))
        last.set()
        self._requests.put(None)


def answer(
    serving: Serving, content: bytes, write: Callable[[bytes], Any], cancelled: threading.Event | None = None
) -> bytes:
    """Return the last frame of the answer to a request; events are written as they happen.

    Args:
        serving: The graph.
        content: JSON of the request.
        write: Takes the frames of events.
        cancelled: Is set when nobody waits any more: the work ends at its next event.
    """
    asked = orjson.loads(content)

    def event(document: dict[str, Any]) -> None:
        if cancelled is not None and cancelled.is_set():
            raise Abandoned
        write(frame(EVENT, orjson.dumps(document)))

    try:
        result = OPERATIONS[asked["operation"]](serving, asked["given"], event)
        return frame(RESULT, orjson.dumps(result, option=orjson.OPT_NON_STR_KEYS, default=str))
    except Abandoned:
        return _problem(Problem(503, "abandoned", "nobody waits for the answer"))
    except Refused as refused:
        return _problem(refused.problem)
    except KgdxError as error:
        return _problem(problem_of(error))
    except MemoryError:
        return _problem(Problem(507, "memory", "the request needs more memory than there is", "ask for less at once"))
    except BrokenPipeError:
        raise
    except Exception as error:
        # The message may hold a patient's words; its kind and place do not.
        place = error.__traceback__
        while place is not None and place.tb_next is not None:
            place = place.tb_next
        where = f"{place.tb_frame.f_code.co_filename}:{place.tb_lineno}" if place is not None else "?"
        print(
            f"kgdx serve: {asked['operation']} failed: {type(error).__name__} at {where}", file=sys.stderr, flush=True
        )
        return _problem(
            Problem(500, "failed", "the request could not be answered", "report it; the server's log says where")
        )


def _problem(problem: Problem) -> bytes:
    content = {
        "status": problem.status,
        "kind": problem.kind,
        "detail": problem.detail,
        "hint": problem.hint,
        "more": problem.more,
        "headers": problem.headers,
    }
    return frame(PROBLEM, orjson.dumps(content))


# What a worker does with the graph: one function for each kind of request, from plain values to plain values.


Event = Callable[[dict[str, Any]], None]
Given = Mapping[str, Any]

LOOK_S = 1.0
"""How often at most a worker looks whether the graph was replaced."""

DETAILS = 500
"""Most annotations of a disease that its page lists."""


class Serving:
    """The graph of a worker, opened anew when a build, an update or a push has put another one in its place.

    Args:
        store: Folder or Bolt address.
        encoder: Whether to read by meaning what no name matches.
    """

    def __init__(self, store: str | None, *, encoder: bool = False) -> None:
        self._store, self._encoder = store, encoder
        self._graph: Graph | None = None
        self._looked = 0.0

    @property
    def graph(self) -> Graph:
        """The graph as it is now.

        Raises:
            StoreError: There is none, or it cannot be opened.
        """
        if self._graph is None:
            self._graph = self._open()
        elif "://" not in self._graph.url and time.monotonic() - self._looked > LOOK_S:
            self._renew(self._graph)
        return self._graph

    def current(self) -> Graph:
        """Return the graph after looking whether it was replaced; a server is asked for that, so not every time.

        Raises:
            StoreError: There is none any more, or its server cannot be asked.
        """
        if self._graph is not None:
            self._renew(self._graph)
        return self.graph

    def _renew(self, graph: Graph) -> None:
        self._looked = time.monotonic()
        if graph.replaced():
            self._graph = self._open()
            graph.close()
            gc.unfreeze()

    def warm(self, task: str) -> dict[str, Any]:
        """Open what the requests of a task will need, so that the first one does not wait for it.

        Args:
            task: ``diagnose``, or any other for the graph alone.
        """
        if task == "diagnose":
            diagnose(self, {"observed": ["HP:0000118"], "top": 1}, _silent)
            self.graph.reader  # noqa: B018 - opens it
        told = ready(self, {}, _silent)
        gc.collect()
        gc.freeze()  # names and terms stay as long as the graph: to look through them anew takes a request 50 ms
        return told

    def close(self) -> None:
        """Close the graph."""
        if self._graph is not None:
            self._graph.close()
            self._graph = None

    def _open(self) -> Graph:
        import kgdx

        self._looked = time.monotonic()
        return kgdx.open(self._store, encoder=self._encoder)


def ready(serving: Serving, given: Given, event: Event) -> dict[str, Any]:
    """Say which build of the graph is served, having asked its store."""
    graph = serving.current()
    built = graph.run("build")
    return {"fingerprint": graph.fingerprint, "created": built[0]["created"] if built else None}


def diagnose(serving: Serving, given: Given, event: Event) -> dict[str, Any]:
    """Rank the diseases that fit a patient."""
    graph = serving.graph
    case = case_of(given, graph)
    top = given.get("top", 10)
    return graph.diagnose(case, top=top, explain=min(given.get("explain", 0), top)).to_dict(trace=False)


def consult(serving: Serving, given: Given, event: Event) -> dict[str, Any]:
    """Begin a consultation."""
    graph = serving.graph
    known = any(given.get(name) for name in ("text", "observed", "excluded", "phenopacket"))
    case = case_of(given, graph) if known else None
    wanted = {name: given[name] for name in ("questions", "certain", "selector", "speaks") if given[name] is not None}
    return _stands(graph.consult(case, explain=0, **wanted))


def consult_answer(serving: Serving, given: Given, event: Event) -> dict[str, Any]:
    """Go on with a consultation that the client kept."""
    graph = serving.graph
    begun = given["transcript"][0].get("data")
    if isinstance(begun, dict) and begun.get("fingerprint") not in (None, graph.fingerprint):
        hint = "begin the consultation again; what was said is in its record"
        raise Refused(Problem(409, "graph-changed", "the graph has changed since the consultation began", hint))
    consultation = graph.consult(resume={"transcript": given["transcript"]}, trusted=False)
    consultation.speaks = given["speaks"]
    what, number = given["what"], given["number"]
    if what == "back":
        consultation.back()
    elif what == "skip":
        consultation.skip()
    elif what == "finish":
        consultation.finish()
    elif what == "answer":
        consultation.answer(consultation.reply(given["status"], given["named"], given["text"]), number=number)
    return _stands(consultation)


def _stands(consultation: Consultation) -> dict[str, Any]:
    """Return a consultation as it stands, with the ranked diseases once it has ended."""
    document = consultation.to_dict()
    ended = not consultation.waiting and consultation.known
    return {**document, "diagnosis": consultation.diagnosis.to_dict(trace=False) if ended else None}


def explain(serving: Serving, given: Given, event: Event) -> dict[str, Any]:
    """Return all that speaks for and against one disease, and where it stands."""
    graph, disease = serving.graph, given["disease"]
    result = graph.explain(case_of(given, graph), disease, top=1)
    candidate = result.candidate(disease)
    document = result.to_dict(trace=False)
    document["candidates"] = [each for each in document["candidates"] if each["id"] == candidate.id]
    return document


def extract(serving: Serving, given: Given, event: Event) -> dict[str, Any]:
    """Read the findings of a text."""
    text = given["text"]
    if not text.strip():
        raise CaseError("the text is empty", hint="describe the patient in words")
    found = serving.graph.extract(text, given.get("language"))
    return Extraction(findings=found.findings, issues=found.issues).model_dump(mode="json")


def terms(serving: Serving, given: Given, event: Event) -> dict[str, Any]:
    """Complete the beginning of a name."""
    found = serving.graph.names.complete(given["prefix"], tuple(given["kinds"]), given["limit"])
    return {"terms": [asdict(each) for each in found]}


def disease(serving: Serving, given: Given, event: Event) -> dict[str, Any]:
    """Return what the graph knows of a disease: its names, other entries, phenotypes, genes."""
    graph, id = serving.graph, given["disease"]
    rows = graph.run("disease_by_id", disease=id)
    if not rows:
        hint = "complete a name with /api/v1/terms to find its id"
        raise Refused(Problem(404, "not-found", f"there is no disease {id[:60]}", hint))
    phenotypes = graph.run("phenotypes_of_diseases", diseases=[id])
    return {
        **rows[0],
        "same_as": graph.run("same_as_of_diseases", diseases=[id]),
        "phenotypes": phenotypes[:DETAILS],
        "phenotypes_left_out": max(0, len(phenotypes) - DETAILS),
        "genes": graph.run("genes_of_diseases", diseases=[id], limit=DETAILS),
        "relations": graph.run("relations_of_disease", disease=id),
    }


def sources(serving: Serving, given: Given, event: Event) -> dict[str, Any]:
    """Return what the graph was made of."""
    graph = serving.graph
    built = graph.run("build")
    return {"build": built[0] if built else None, "sources": graph.run("sources")}


def page(serving: Serving, given: Given, event: Event) -> dict[str, Any]:
    """Make the page of a result."""
    from kgdx.render.pages.page import fragment
    from kgdx.render.pages.page import page as whole

    return {"html": (fragment if given["part"] else whole)(given["document"])}


def ask(serving: Serving, given: Given, event: Event) -> dict[str, Any]:
    """Answer a question; each entry of the record, and each piece of the answer, is an event."""
    graph = serving.graph
    patient = any(given.get(key) for key in ("text", "observed", "excluded", "phenopacket"))
    answer = graph.ask(
        given["question"],
        case=case_of(given, graph) if patient else None,
        policy=given["policy"],
        strict=given["strict"],
        rounds=given["rounds"],
        on_text=lambda piece: event({"event": "text", "data": piece}),
        watch=lambda segment: event({"event": "step", "data": segment.to_dict()}),
    )
    return answer.to_dict()


def case_of(given: Given, graph: Graph) -> Case:
    """Make the case of a request: a phenopacket; or words, given terms, or both.

    Raises:
        CaseError: There is nothing in it, or a term is unknown.

    Example:
        >>> case_of({"text": "She has seizures.", "sex": "FEMALE"}, None).sex
        'FEMALE'
    """
    from kgdx.case import Case, with_person

    packet, text = given.get("phenopacket"), given.get("text") or ""
    observed, excluded = given.get("observed") or (), given.get("excluded") or ()
    if packet is not None:
        if text or observed or excluded:
            hint = "send the phenopacket, or text and terms"
            raise CaseError("a phenopacket comes with other findings beside it", hint=hint)
        return with_person(Case.from_phenopacket(packet), _about(given))
    if not (text.strip() or observed or excluded):
        raise CaseError("the case is empty", hint="give text, observed terms or a phenopacket")
    case = Case.from_text(text) if text.strip() else Case("")
    if observed or excluded:
        found = Case.from_terms(observed, graph, excluded)
        case = replace(case, findings=found.findings).with_issues(found.issues)
    case = replace(case, id="", language=given.get("language"))
    return with_person(case, _about(given)).identified()


def _about(given: Given) -> About:
    """Return what a request states of the patient beside the findings."""
    from kgdx.case.about import About

    said = {name: given.get(name) for name in About.__annotations__}
    return cast("About", {name: value for name, value in said.items() if value not in (None, [], "", "UNKNOWN")})


def _silent(document: dict[str, Any]) -> None:
    """Take an event that nobody waits for."""


OPERATIONS: Mapping[str, Callable[[Serving, Given, Event], dict[str, Any]]] = MappingProxyType(
    {
        each.__name__: each
        for each in (ready, diagnose, consult, consult_answer, explain, extract, terms, disease, sources, page, ask)
    }
)
"""Name → what a worker does."""


if __name__ == "__main__":
    main()
