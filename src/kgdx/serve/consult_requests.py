"""What a worker does with consultations, of which it keeps nothing: all that was said comes with each request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kgdx.serve.problems import Problem, RequestRefused

if TYPE_CHECKING:
    from kgdx.api import Graph
    from kgdx.api.consulting import Consultation
    from kgdx.case import Case

SETTINGS = ("questions", "certain", "selector", "speaks")
"""What a client may set."""


def begun(graph: Graph, case: Case | None, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a consultation that begins.

    Args:
        graph: The graph.
        case: What is known of the patient.
        given: The request.
    """
    wanted = {name: given[name] for name in SETTINGS if given[name] is not None}
    return _stands(graph.consult(case, explain=0, **wanted))


def answered(graph: Graph, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a consultation after one more answer."""
    start = given["transcript"][0].get("data")
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
    return {**consultation.to_dict(), "diagnosis": found}
