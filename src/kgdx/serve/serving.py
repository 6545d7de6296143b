"""What a worker does with the graph: one function for each kind of request, from plain values to plain values."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

import kgdx
from kgdx.case.patient import CORRECTED, Case, Extraction, Finding, Resolution, Span, Status
from kgdx.episode.policy import configure
from kgdx.episode.state import Limits
from kgdx.errors import CaseError, UsageError
from kgdx.serve.http_models import TextReading
from kgdx.serve.problems import Problem, RequestRefused

if TYPE_CHECKING:
    from kgdx.api import Graph
    from kgdx.api.consulting import Consultation
    from kgdx.episode.policy import Policy
    from kgdx.rank import Ranker
    from kgdx.rank.proposing import Question

Event = Callable[[dict[str, Any]], None]
Given = Mapping[str, Any]

LOOK_S = 1.0
"""How often at most a worker looks whether the graph was replaced."""

GARBAGE = 100_000
"""How many objects more than before there are when cycles among them are looked for; an answer is made of thousands,
which end without that, and at Python's own threshold the search takes an eighth of a request's time."""

DETAILS = 500
"""Most annotations of a disease that its page lists."""

RELATED = 8
"""For each finding that is proposed so many are looked at, since many are kinds of one another."""

CONSULTED = ("questions", "certain", "selector", "speaks")
"""What a client may set of a consultation."""

SPLITS = "split"
"""How findings are chosen that tell some diseases apart: those that some of them show often and others hardly ever."""

REMOVED = "removed"
"""Status of a finding that was read where there is none: its words count for nothing."""


class Serving:
    """The graph of a worker, opened anew when a build, an update or a push has put another one in its place."""

    def __init__(self, store: str | None, *, encoder: bool = False) -> None:
        self._store, self._encoder = store, encoder
        self._graph: Graph | None = None
        self._looked = 0.0

    @property
    def graph(self) -> Graph:
        """The graph as it is now."""
        if self._graph is None:
            self._graph = self._open()
        elif "://" not in self._graph.url and time.monotonic() - self._looked > LOOK_S:
            self._renew(self._graph)
        return self._graph

    def current(self) -> Graph:
        """Return the graph after looking whether it was replaced; a server is asked for that, so not every time."""
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
        gc.set_threshold(GARBAGE)
        return told

    def close(self) -> None:
        if self._graph is not None:
            self._graph.close()
            self._graph = None

    def _open(self) -> Graph:
        self._looked = time.monotonic()
        return kgdx.open(self._store, encoder=self._encoder)


def ready(serving: Serving, given: Given, event: Event) -> dict[str, Any]:
    """Say which build of the graph is served, having looked whether it was replaced."""
    graph = serving.current()
    built = graph.build()
    return {"fingerprint": graph.fingerprint, "created": built["created"] if built else None}


def diagnose(serving: Serving, given: Given, event: Event) -> str:
    """Rank the diseases that fit a patient."""
    graph = serving.graph
    case = case_of(given, graph)
    top = given.get("top", 10)
    how = {"explain": min(given.get("explain", 0), top), "case_bank": given.get("case_bank")}
    return graph.diagnose(case, top=top, **how).to_json(trace=False)


def rerank(serving: Serving, given: Given, event: Event) -> str:
    """Rank the diseases that fit a patient, and have the language model that is set put the best in order."""
    from kgdx.policies.rerank import RerankPolicy, instruction

    how = {"candidates": given["rerank_top"], "prompt": instruction(given["rerank_prompt"])}
    return _by_model(serving, given, event, RerankPolicy, how)


def thought(serving: Serving, given: Given, event: Event) -> str:
    """Have the language model that is set think, search by that, and name the diseases that fit a patient."""
    from kgdx.policies.thought import ThoughtPolicy

    return _by_model(serving, given, event, ThoughtPolicy, {})


def _by_model(serving: Serving, given: Given, event: Event, kind: type[Policy], how: Mapping[str, Any]) -> str:
    graph, top = serving.graph, given.get("top", 10)
    policy = configure(kind, {"top": top, "explain": min(given.get("explain", 0), top), **how})
    told = graph.diagnose(
        case_of(given, graph), policy=policy, watch=lambda segment: event({"event": "step", "data": segment.name})
    )
    return told.to_json(trace=False)


def consult(serving: Serving, given: Given, event: Event) -> dict[str, Any]:
    """Begin a consultation."""
    graph = serving.graph
    known = any(given.get(name) for name in ("text", "observed", "excluded", "phenopacket"))
    wanted = {name: given[name] for name in CONSULTED if given[name] is not None}
    return _stands(graph.consult(case_of(given, graph) if known else None, explain=0, **wanted))


def consult_answer(serving: Serving, given: Given, event: Event) -> dict[str, Any]:
    """Return a consultation after one more answer."""
    graph, start = serving.graph, given["transcript"][0].get("data")
    if isinstance(start, dict) and start.get("fingerprint") != graph.fingerprint:
        hint = "begin the consultation again; what was said is in its record"
        raise RequestRefused(Problem(409, "graph-changed", "the graph has changed since the consultation began", hint))
    consultation = graph.consult(resume={"transcript": given["transcript"]}, trusted=False)
    consultation.speaks = given["speaks"]
    what = given["what"]
    if what == "back":
        consultation.back()
    elif what == "skip":
        consultation.skip()
    elif what == "finish":
        consultation.finish()
    elif what == "answer":
        said = consultation.reply(given["status"], given["named"], given["text"])
        consultation.answer(said, number=given["number"])
    return _stands(consultation)


def _stands(consultation: Consultation) -> dict[str, Any]:
    ended = not consultation.waiting and consultation.known
    found = consultation.diagnosis.to_dict(trace=False) if ended else None
    if found and consultation.language == "zh":
        named = {each.id: each.name for each in consultation.record.findings}
        for finding in found["case"]["findings"]:
            finding["label"] = named.get(finding["id"]) or finding["label"]
    return {**consultation.to_dict(), "diagnosis": found}


def explain(serving: Serving, given: Given, event: Event) -> dict[str, Any]:
    """Return all that speaks for and against one disease, and where it stands."""
    graph = serving.graph
    disease = graph.ranked_disease(given["disease"])
    result = graph.explain(case_of(given, graph), disease, top=1, case_bank=given.get("case_bank"))
    candidate = result.candidate(disease)
    document = result.to_dict(trace=False)
    document["candidates"] = [each for each in document["candidates"] if each["id"] == candidate.id]
    return document


def extract(serving: Serving, given: Given, event: Event) -> dict[str, Any]:
    """Read a text, or a case in one of the kept forms: its findings with their places, who it is, what was not read."""
    from kgdx.case import case_from_document, case_from_text, read_text
    from kgdx.results.ranked import CaseSummary, unread_texts

    graph, document, text = serving.graph, given.get("document"), given.get("text") or ""
    if document is not None and text:
        raise CaseError("a text comes with a document beside it", hint="send one of them")
    if document is None and not text.strip():
        raise CaseError("the text is empty", hint="describe the patient in words")
    case = case_from_text(text) if document is None else case_from_document(document)
    reader = RememberingReader(graph, **_reading(given))
    # what nothing was read from is shown, not refused: a person may mend it
    read = read_text(case, reader, graph.ancestry, language=given.get("language"), words=True)
    return TextReading(
        case=CaseSummary.of(read),
        text=case.text,
        findings=reader.found.findings,
        unread=unread_texts(read),
        issues=read.issues,
    ).model_dump(mode="json")


class RememberingReader:
    """A reader that keeps what it read last: each mention, where a case has each finding once."""

    def __init__(self, graph: Graph, **how: Any) -> None:
        self._graph, self._how, self.found = graph, how, Extraction()

    def extract(self, text: str, language: str | None = None, patient: Case | None = None) -> Extraction:
        """Read all findings of a free text."""
        self.found = self._graph.extract(text, language, patient, **self._how)
        return self.found

    def resolve(self, term: str) -> Resolution:
        return self._graph.resolve(term)


def _reading(given: Given) -> dict[str, Any]:
    """Return how the model that is set reads a text after the rules, in half of the time for the answer at most."""
    if not given.get("reader"):
        return {}
    return {"reader": "", "heed_doubts": given["heed_doubts"], "limits": Limits(seconds=given["seconds"] / 2)}


def names(serving: Serving, given: Given, event: Event) -> dict[str, Any]:
    ids, graph = list(dict.fromkeys(given["ids"])), serving.graph
    called = {key: graph.snapshot.column("symptom", key) for key in ("name", "name_zh")}
    rows = [(id, row) for id in ids if (row := graph.ranker.names.symptom(id)) >= 0]
    symptoms = [{"id": id, **{key: str(of[row] or "") for key, of in called.items()}} for id, row in rows]
    return {"names": [*graph.run("phenotypes_by_ids", phenotypes=ids), *symptoms]}


def questions(serving: Serving, given: Given, event: Event) -> dict[str, Any]:
    """Return the findings that best separate the leading diseases, or those named, and how often each has them."""
    graph = serving.graph
    ranker = graph.ranker
    case = read_case(case_of(given, graph), graph)
    beliefs = ranker.beliefs(case)
    numbers, shares = beliefs.numbers[: given["leaders"]].tolist(), beliefs.shares[: given["leaders"]].tolist()
    if given["between"]:
        numbers = [_number(ranker, disease) for disease in dict.fromkeys(given["between"])]
        shares = [1.0] * len(numbers)
    asked = _separating(graph, case, numbers, given["count"], evenly=bool(given["between"]))
    told = zip(map(ranker.names.candidate, numbers), shares, strict=True)
    return {
        "leaders": [{"id": one.id, "name": one.name, "name_zh": one.name_zh, "share": share} for one, share in told],
        "questions": [
            {"id": each.id, "name": each.label, "bits": each.gain, "often": often}
            for each, often in zip(asked, _often(ranker, [each.id for each in asked], numbers), strict=True)
        ],
    }


def _number(ranker: Ranker, disease: str) -> int:
    number = ranker.number_of(disease)
    if number < 0:
        raise UsageError(f"{disease[:40]} is not among the ranked diseases", hint="name diseases of the ranking")
    return number


def _separating(graph: Graph, case: Case, numbers: list[int], count: int, *, evenly: bool) -> list[Question]:
    """Return the findings that split some diseases best; none is above another."""
    found: list[Question] = []
    among = [graph.ranker.ids[number] for number in numbers]
    propose = partial(graph.ranker.proposer.propose, named=False, narrow=0)  # yes or no: nothing is chosen after a yes
    diseases = {graph.ranker.names.candidate(number).name.casefold() for number in numbers}
    for each in propose(case, SPLITS, count * RELATED, among=among, evenly=evenly):
        if each.label.casefold() in diseases:  # that the patient has pneumonia tells pneumonia from nothing
            continue
        near = graph.ancestry.ancestors(each.id)
        if not any(one.id in near or each.id in graph.ancestry.ancestors(one.id) for one in found):
            found.append(each)
    return found[:count]


def _often(ranker: Ranker, terms: list[str], numbers: list[int]) -> list[list[float]]:
    """Return how often each disease shows each term, as its annotations say; shape (terms, diseases)."""
    rows = [ranker.names.terms[term] for term in terms]
    columns = []
    for number in numbers:
        index, values = ranker.model.propagated.row(number)
        stated = dict(zip(index.tolist(), values.tolist(), strict=True))
        columns.append([round(stated.get(row, 0.0), 3) for row in rows])
    return [list(each) for each in zip(*columns, strict=True)]


def terms(serving: Serving, given: Given, event: Event) -> dict[str, Any]:
    found = serving.graph.names.complete(given["prefix"], tuple(given["kinds"]), given["limit"])
    return {"terms": [asdict(each) for each in found]}


def disease(serving: Serving, given: Given, event: Event) -> dict[str, Any]:
    """Return what the graph knows of a disease: its names, other entries, phenotypes, genes."""
    graph, id = serving.graph, given["disease"]
    rows = graph.run("disease_by_id", disease=id)
    if not rows:
        hint = "complete a name with /api/v1/terms to find its id"
        raise RequestRefused(Problem(404, "not-found", f"there is no disease {id[:60]}", hint))
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
    """Return what the graph holds and was made of, and which sources it would gain by."""
    from kgdx.api import freshness
    from kgdx.config import is_neo4j

    found = serving.graph.status()
    absent = () if is_neo4j(found["store"]) else freshness(found["store"]).absent
    return {
        "build": found["build"],
        "sources": found["sources"],
        "nodes": found["nodes"],
        "relations": found["relations"],
        "absent": [asdict(each) for each in absent],
    }


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
        options=given["options"],
        strict=given["strict"],
        rounds=given["rounds"],
        on_text=lambda piece: event({"event": "text", "data": piece}),
        watch=lambda segment: event({"event": "step", "data": segment.to_dict()}),
    )
    return answer.to_dict()


def case_of(given: Given, graph: Graph) -> Case:
    """Make the case of a request: a phenopacket; words, given terms or both; or findings as somebody corrected them."""
    from kgdx.case import About, with_person, with_terms

    packet, text = given.get("phenopacket"), given.get("text") or ""
    observed, excluded = given.get("observed") or (), given.get("excluded") or ()
    if packet is not None:
        if text or observed or excluded or given.get("findings") is not None:
            hint = "send the phenopacket, or text and terms"
            raise CaseError("a phenopacket comes with other findings beside it", hint=hint)
        case = Case.from_phenopacket(packet)
    elif given.get("findings") is not None:
        case = _corrected(given["findings"], text, graph)
    else:
        case = Case.from_text(text) if text.strip() else Case("")
    if observed or excluded:
        case = with_terms(case, graph, observed, excluded)
    elif packet is None and not (text.strip() or case.findings):
        raise CaseError("the case is empty", hint="give text, observed terms or a phenopacket")
    if packet is None:
        case = replace(case, id="", language=given.get("language") or case.language)
    said = {
        name: value for name in About.__annotations__ if (value := given.get(name)) not in (None, [], "", "UNKNOWN")
    }
    case = with_person(replace(case, id=given.get("title") or case.id), cast("About", said)).identified()
    return graph.read_again(case, **_reading(given))


def _corrected(findings: Sequence[Mapping[str, Any]], text: str, graph: Graph) -> Case:
    """Make a case of findings as somebody left them: the text is not read again; what was taken back is no phrase."""
    from kgdx.case.cleaning import unknown
    from kgdx.rank.clauses import with_phrases
    from kgdx.terms.normalise import has_chinese

    found: list[Finding] = []
    for each in findings:
        resolution = graph.resolve(each["id"])
        if resolution.finding is None:
            raise unknown(each["id"], resolution)
        start, end = each.get("start"), each.get("end")
        span = None if start is None or end is None else Span(start, end)
        kept = ("text", "value", "unit", "severity", "since", "doubt")
        said = {name: each[name] for name in kept if each.get(name)} | {"modifiers": tuple(each.get("modifiers", ()))}
        status = Status.UNKNOWN if each["status"] == REMOVED else Status(each["status"])
        found.append(replace(resolution.finding, status=status, span=span, method=CORRECTED, **said))
    spoken = with_phrases(Case("", tuple(found), text=text)).phrases if graph.in_words else ()
    stated = zip(found, findings, strict=True)
    left = tuple(replace(one, method="id") for one, each in stated if each["status"] != REMOVED)
    language = "zh" if has_chinese(text) else None
    return Case("", left, text=text, language=language, phrases=spoken, source=CORRECTED)


def read_case(case: Case, graph: Graph) -> Case:
    """Return a case with what its text says; one that nothing is left to be read of as it is."""
    from kgdx.case import read_text

    return read_text(case, graph.reader, graph.ancestry, language=case.language, words=graph.in_words)


def _silent(document: dict[str, Any]) -> None:
    """Take an event that nobody waits for."""


_ABOUT_PATIENTS = (diagnose, rerank, thought, consult, consult_answer, explain, extract, questions)
_ABOUT_GRAPH = (ready, names, terms, disease, sources, page, ask)

OPERATIONS: Mapping[str, Callable[[Serving, Given, Event], dict[str, Any] | str]] = MappingProxyType(
    {each.__name__: each for each in (*_ABOUT_PATIENTS, *_ABOUT_GRAPH)}
)
"""Name → what a worker does; it returns plain values, or JSON text."""
