"""Readers for tests of pages: they do as a test says, without reading anything."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from kgdx.errors import LlmError
from kgdx.ingest.extraction.filters import ReadRelations, RelationClaim, RelationReader
from kgdx.ingest.extraction.rule_reader import RuleReader

TEXTS = ("感冒", "发热")


def symptom(head: str = "感冒", tail: str = "发热", **other: str) -> RelationClaim:
    values = {"type": "HAS_SYMPTOM", "head_class": "Disease", "tail_class": "Symptom", "evidence": ""} | other
    return RelationClaim(head=head, tail=tail, **values)


@dataclass
class Scripted(RelationReader):
    """Reads what ``says`` returns for a question, and counts."""

    says: Callable[[str], ReadRelations | LlmError] = lambda question: ReadRelations((symptom(),))
    model: str = "scripted"
    prompt: str | None = "p@1"
    signature: str = "scripted 1"
    asked: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def read(self, question: str, answer: str) -> ReadRelations:
        with self.lock:
            self.asked.append(question)
        found = self.says(question)
        if isinstance(found, LlmError):
            raise found
        return found


class Dying(RuleReader):
    """Rules in a process that is killed when it comes to a question."""

    def read(self, question: str, answer: str) -> ReadRelations:
        if "死" in question:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().read(question, answer)


def down(kind: str = "unreachable") -> LlmError:
    return LlmError("the endpoint is down", hint="start it", kind=kind)  # type: ignore[arg-type]
