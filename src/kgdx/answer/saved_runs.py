"""Write a run into the graph, read it back, and bring it from one store to another.

Ids come from the content, so saving the same run again changes nothing. A question that came without a patient is kept
as a case of its own: without findings, and with the question as its text, where texts are kept.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from operator import itemgetter
from typing import Any, Protocol

from kgdx.answer.cited_answer import Answer
from kgdx.answer.consultation_record import record_turns
from kgdx.answer.diagnosis import Diagnosis
from kgdx.case import Case, Finding, Status
from kgdx.case.patient import SEXES
from kgdx.episode.operations import Queries
from kgdx.episode.segment import Author, Kind, Segment
from kgdx.errors import StoreError, UsageError
from kgdx.graph.protocol import Row, Store, Transaction
from kgdx.results.ranked import Contribution

SOURCE = "user"
"""The source that saved cases and runs name."""

_ASKED, _ASKED_SYMPTOM, _ORDERED = "put_asked", "put_asked_symptoms", "put_ordered"

_STATED = ("id", "onset", "span_start", "span_end", "matched", "method", "score", "text")
_PUSH = "copy this one there with `kgdx push --force`"

QUESTION = "question"
"""Label of the case that a question without a patient is kept as."""


class Writable(Protocol):
    """A graph that can be taken over for writing."""

    def writing(self) -> AbstractContextManager[Store]: ...


def case_key(case: Case) -> str:
    """Return the id under which a case is saved: equal content, equal id; its own id becomes the label.

    Example:
        >>> case_key(Case("a", text="fits")) == case_key(Case("b", text="fits"))
        True
    """
    return f"case:{case.digest[:16]}"


def save(result: Diagnosis | Answer, graph: Writable, *, text: bool = False, diagnoses: bool = True) -> str:
    """Write the case, the run and its candidates, all of it or nothing, and return the run's id.

    Args:
        text: Whether the patient's own words are stored too; of an answer also the question, the answer, and what
            models were asked and said.
        diagnoses: Whether the diseases are written that the case states of itself, where it does.
    """

    def put(running: Transaction) -> None:
        case = case_of(result)
        key = _put_case(running, case, text=text, diseases=case.diseases if diagnoses else ())
        _put_run(running, result, key, text=text)

    with graph.writing() as store:
        store.transact(put)
    return result.id


def case_of(result: Diagnosis | Answer) -> Case:
    if isinstance(result, Diagnosis):
        return result.case
    return result.case if result.case is not None else Case(QUESTION, text=result.question)


def saved_trace(run: str, graph: Queries) -> tuple[Segment, ...]:
    rows = graph.run("run_by_id", run_id=run)
    if not rows:
        raise UsageError(f"no saved run {run[:60]!r}", hint="`kgdx run case_runs case_id=CASE` lists a case's runs")
    return tuple(Segment.from_dict(document) for document in json.loads(rows[0]["trace"] or "[]"))


def _put_case(running: Transaction, case: Case, *, text: bool, diseases: Iterable[str]) -> str:
    key = case_key(case)
    running.run(
        "put_case",
        case_id=key,
        source=SOURCE,
        label=case.id,
        sex=case.sex if case.sex in SEXES else "UNKNOWN",  # what a rebuild would refuse is not written
        age=case.age,
        text=(case.text or None) if text else None,
        origin=case.source,
        synthetic=case.synthetic,
    )
    running.run("clear_case", case_id=key)
    for template, status in (("put_observations", Status.PRESENT), ("put_exclusions", Status.ABSENT)):
        rows = [_finding(finding, text=text) for finding in case.findings if finding.status is status]
        _put(running, template, "finding", case_id=key, rows=rows)
    stated = [{"id": disease, "status": "stated"} for disease in diseases]
    if stated:  # a diagnosis that this graph does not know stays in the file it came from
        running.run("put_case_diseases", case_id=key, source=SOURCE, rows=stated)
    publications = [{"id": publication} for publication in case.publications]
    if publications:
        running.run("put_case_publications", case_id=key, source=SOURCE, rows=publications)
    return key


def _put_run(running: Transaction, result: Diagnosis | Answer, key: str, *, text: bool) -> None:
    words = case_of(result).text
    running.run(
        "put_run",
        case_id=key,
        run_id=result.id,
        source=SOURCE,
        created=result.created or datetime.now(UTC).isoformat(timespec="seconds"),
        policy=result.policy,
        kgdx_version=result.version,
        fingerprint=result.fingerprint,
        trace=json.dumps([segment.to_dict(private=text) for segment in _record(result)], ensure_ascii=False),
        text_digest=hashlib.sha256(words.encode(errors="replace")).hexdigest() if words else None,
    )
    running.run("clear_run", run_id=result.id)
    running.run("clear_asked", run_id=result.id)
    for template, rows in _asked(result.trace):
        _put(running, template, "finding", run_id=result.id, rows=rows)
    ranked = [
        {"id": each.id, "rank": each.rank, "score": float(each.score), "contributions": _added(each.contributions)}
        for each in result.candidates
    ]
    _put(running, "put_candidates", "candidate", run_id=result.id, rows=ranked)
    running.run("put_weighed", run_id=result.id, source=SOURCE, rows=_weighed(ranked))


def _added(contributions: Iterable[Contribution]) -> list[str]:
    stated = sorted((each for each in contributions if each.finding), key=lambda each: -each.score)
    return [f"{each.finding} {each.score:+.2f}" for each in stated]


def _weighed(ranked: Sequence[Row]) -> list[Row]:
    found: dict[str, list[str]] = {}
    first: dict[str, float] = {}
    for row in sorted(ranked, key=itemgetter("rank")):
        for finding, added in (each.split() for each in row["contributions"]):
            found.setdefault(finding, []).append(f"{row['id']} {added}")
            if row["rank"] == 1:
                first[finding] = float(added)
    return [{"id": id, "contribution": first.get(id), "contributions": found[id]} for id in sorted(found)]


def _record(result: Diagnosis | Answer) -> Iterator[Segment]:
    if isinstance(result, Diagnosis):
        yield from result.trace
        return
    answer = result.text
    told = {
        "cited": list(answer.cited),
        "author": answer.author,
        "insufficient": answer.insufficient,
        "unsupported": answer.unsupported,
        "disagreeing": answer.disagreeing,
        "removed": len(answer.removed),
    }
    yield from result.trace
    yield Segment(Author.LOOP, Kind.RESULT, "final", told, {"question": result.question, "text": answer.text})


def _asked(trace: Sequence[Segment]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for each in record_turns(trace):
        if each.term is not None and each.kind != "which":
            row = {"id": each.term, "turn": each.number, "answer": each.answer, "gain": each.gain}
            template = _ASKED if each.term.startswith("HP:") else _ORDERED if each.kind == "test" else _ASKED_SYMPTOM
            found.setdefault(template, {})[each.term] = row
    for template, rows in found.items():
        yield template, list(rows.values())


def _put(running: Transaction, template: str, what: str, *, rows: list[Row], hint: str = "", **whose: Any) -> None:
    if not rows:
        return
    rows = sorted(rows, key=itemgetter("id"))  # writers that take locks in one order cannot wait in a circle
    written = {row["id"] for row in running.run(template, source=SOURCE, rows=rows, **whose)}
    if missing := [row["id"] for row in rows if row["id"] not in written]:
        hint = hint or "diagnose the case on this graph again"
        raise StoreError(f"the {what} {missing[0]} is not in this graph", hint=hint)


def _finding(finding: Finding, *, text: bool) -> dict[str, Any]:
    return {
        "id": finding.id,
        "onset": finding.onset,
        "span_start": None if finding.span is None else finding.span.start,
        "span_end": None if finding.span is None else finding.span.end,
        "matched": finding.matched or None,
        "method": finding.method,
        "score": float(finding.score),
        "text": (finding.text or None) if text else None,
    }


def carry_run(run: str, source: Store, target: Store) -> None:
    """Copy a run and its case, all of it or nothing; what is there already stays."""
    rows = source.run("run_by_id", run_id=run)
    if not rows:
        raise UsageError(f"no saved run {run[:60]!r}", hint="save one with `kgdx diagnose … --save`")
    found = rows[0]
    key = found["case_id"]
    kept = ("created", "policy", "kgdx_version", "fingerprint", "trace", "text_digest")
    columns = ("id", "rank", "score", "contributions")
    ranked = [{name: row[name] for name in columns} for row in source.run("run_candidates", run_id=run)]
    trace = [Segment.from_dict(each) for each in json.loads(found["trace"] or "[]")]

    def carry(running: Transaction) -> None:
        _carry_case(key, source, running)
        running.run("put_run", case_id=key, run_id=run, source="user", **{name: found[name] for name in kept})
        _put(running, "put_candidates", "candidate", rows=ranked, hint=_PUSH, run_id=run)
        running.run("put_weighed", run_id=run, source=SOURCE, rows=_weighed(ranked))
        for template, rows in _asked(trace):
            _put(running, template, "finding", rows=rows, hint=_PUSH, run_id=run)

    target.transact(carry)


def _carry_case(key: str, source: Store, running: Transaction) -> None:
    case = source.run("case_by_id", case_id=key)[0]
    running.run("put_case", case_id=key, **{name: value for name, value in case.items() if name != "id"})
    findings = source.run("case_findings", case_id=key)
    for template, relation in (("put_observations", "OBSERVED"), ("put_exclusions", "EXCLUDED")):
        stated = [{name: row[name] for name in _STATED} for row in findings if row["relation"] == relation]
        _put(running, template, "finding", rows=stated, hint=_PUSH, case_id=key)
