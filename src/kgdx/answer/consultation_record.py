"""The record of a consultation by rules: a fold of its log, as MedKGI's OSCE record, without a model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from kgdx.episode.segment import Author, Kind, Segment
from kgdx.episode.turns import Leader, Turn, leaders_of, turns
from kgdx.episode.wish import AskPatient, Reply
from kgdx.results.consulted import (
    Answered,
    ConsultationRecord,
    ContradictionDocument,
    ExaminationDocument,
    FindingDocument,
    Lead,
    TurnDocument,
)

TEST = "test"
READING = frozenset({"extract", "read_record", "read_answer"})
"""Actions that read findings in words: by rules, or as a model wrote them down."""
_OPPOSITE = {"present": "absent", "absent": "present"}
Source = Literal["given", "read", "asked"]


def record_of(log: Sequence[Segment]) -> ConsultationRecord:
    """Return the record of a consultation; of a log without its words the record has none either."""
    start = log[0]
    case: Mapping[str, Any] = start.words.get("case", {})
    asked = turns(log)
    known = _Known()
    for finding in case.get("findings", ()):
        known.state(finding["id"], finding.get("label", ""), finding.get("status", "present"), "given", None)
    for segment in log:
        known.hear(segment)
    given = ", ".join(each.label or each.id for each in known.findings.values() if each.source == "given")
    settings = start.data.get("settings", {})
    written = _written(log)
    complaint = "" if written is None else str(written.words["record"].get("complaint", ""))
    told: dict[str, Any] = {
        "author": "rules" if written is None else _author(log, written),
        "complaint": case.get("text") or given or complaint or _first(asked),
        "sex": case.get("sex", "UNKNOWN"),
        "age": case.get("age"),
        "findings": tuple(known.findings.values()),
        "examinations": tuple(examined(each, at) for at, each in _numbered(asked) if is_examination(each.asked)),
        "turns": tuple(record_turns(log)),
        "differential": _leads(next((found for each in reversed(log) if (found := leaders_of(each))), ())),
        "contradictions": tuple(known.contradictions),
        "remarks": tuple(each.data["text"] for each in log if each.kind is Kind.WISH and each.name == "remark"),
        "reason": log[-1].name if log[-1].kind is Kind.END else "",
        "policy": str(start.data.get("policy", "")),
        "selector": str(settings.get("selector") or ""),
        "language": settings.get("speaks"),
        "fingerprint": str(start.data.get("fingerprint", "")),
        "kgdx_version": str(start.data.get("kgdx", "")),
    }
    return ConsultationRecord(**told)


def _written(log: Sequence[Segment]) -> Segment | None:
    found = (each for each in reversed(log) if each.name == "read_record" and "record" in each.words)
    return next(found, None)


def _first(asked: Sequence[Turn]) -> str:
    first = asked[0] if asked else None
    return first.reply.text if first is not None and first.reply is not None and first.asked.term is None else ""


def _author(log: Sequence[Segment], written: Segment) -> str:
    before = log[: log.index(written)]
    return next((each.name for each in reversed(before) if each.author is Author.MODEL), "")


def record_turns(log: Sequence[Segment]) -> list[TurnDocument]:
    """Return the questions of a log with their answers; a log without its words will do."""
    return [_turn(each, number) for number, each in _numbered(turns(log))]


def number_of(asked: Iterable[Turn]) -> int:
    return sum(not each.asked.which for each in asked)


def kind_of(asked: AskPatient) -> Literal["open", "finding", "which", "test"]:
    """Return what sort of question it is.

    Example:
        >>> kind_of(AskPatient()), kind_of(AskPatient(term="HP:0001250"))
        ('open', 'finding')
    """
    if asked.order:
        return "test"
    if asked.term is None:
        return "open"
    if asked.which:
        return "which"
    return "test" if asked.kind == TEST else "finding"


def is_examination(asked: AskPatient) -> bool:
    """Return whether something is ordered rather than asked: a test of the graph, or what a doctor orders in words."""
    return bool(asked.order) or asked.kind == TEST


def answer_of(reply: Reply | None) -> Answered | None:
    """Return a reply in one word.

    Example:
        >>> answer_of(Reply(status="absent")), answer_of(Reply(text="since Monday"))
        ('absent', 'words')
    """
    if reply is None:
        return None
    if reply.skipped:
        return "skipped"
    if reply.status is None:
        return "words"
    statuses: dict[str, Answered] = {"present": "present", "absent": "absent"}
    return statuses.get(str(reply.status), "unknown")


def examined(turn: Turn, number: int) -> ExaminationDocument:
    words = turn.reply.text if turn.reply is not None else ""
    id, name = turn.asked.term or "", turn.asked.label or turn.asked.spoken
    return ExaminationDocument(id=id, name=name, turn=number, result=answer_of(turn.reply), words=words)


class _Known:
    def __init__(self) -> None:
        self.findings: dict[str, FindingDocument] = {}
        self.contradictions: list[ContradictionDocument] = []
        self._asked: AskPatient | None = None
        self._number = 0

    def hear(self, segment: Segment) -> None:
        if segment.kind is Kind.WISH and segment.name == AskPatient.name:
            self._asked = AskPatient.model_validate({**segment.data, **segment.words})
            self._number += not self._asked.which
        elif segment.author is Author.PATIENT and self._asked is not None:
            self._answer(self._asked, Reply.model_validate({**segment.data, **segment.words}))
        elif segment.kind is Kind.RESULT and segment.name in READING:
            told = segment.data.get("summary", {})
            for id, label, status in told.get("findings", ()):
                self.state(id, label, status, "read" if self._asked else "given", self._number or None)
            for where, message, remedy in told.get("doubts", ()):
                self._contradict(where, message, remedy)

    def _answer(self, asked: AskPatient, reply: Reply) -> None:
        if reply.status is None or asked.term is None or is_examination(asked) or (asked.which and not reply.term):
            return
        if asked.which:
            self.findings.pop(asked.term, None)
        first = (reply.term or asked.term, reply.label if reply.term else asked.label)
        for id, label in (first, *reply.more):
            self.state(id, label, str(reply.status), "asked", self._number, reply.text)

    def state(self, id: str, label: str, status: str, source: Source, turn: int | None, words: str = "") -> None:
        before = self.findings.get(id)
        if before is not None and before.status == _OPPOSITE.get(status):
            asked = source == "asked"
            remedy = "the later answer counts" if asked else "it counts as present"
            message = f"{label or id} was first said to be {before.status}, then {status}"
            self._contradict(id, message, remedy)
            status = status if asked else "present"
        found = FindingDocument(id=id, label=label, status=status, source=source, turn=turn, words=words)
        self.findings[id] = found

    def _contradict(self, where: str, message: str, remedy: str) -> None:
        if all(each.where != where for each in self.contradictions):
            self.contradictions.append(ContradictionDocument(where=where, message=message, remedy=remedy))


def _numbered(asked: Iterable[Turn]) -> Iterable[tuple[int, Turn]]:
    number = 0
    for each in asked:
        number += not each.asked.which
        yield number, each


def _turn(turn: Turn, number: int) -> TurnDocument:
    reply, asked = turn.reply, turn.asked
    named = () if reply is None or not reply.term else (reply.term, *(id for id, _ in reply.more))
    return TurnDocument(
        number=number,
        kind=kind_of(asked),
        term=asked.term,
        label=asked.label,
        text=asked.spoken,
        gain=asked.gain,
        answer=answer_of(reply),
        named=named,
        words="" if reply is None else reply.text,
        differential=_leads(turn.after) if reply is not None else (),
    )


def _leads(leaders: Iterable[Leader]) -> tuple[Lead, ...]:
    return tuple(Lead(id=each.id, name=each.name, share=each.share) for each in leaders)
