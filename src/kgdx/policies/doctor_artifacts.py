"""What is found of what a model wrote as a doctor: records, differentials, turns, hearings; the log keeps them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

from kgdx.episode.state import Artifact, Reads
from kgdx.policies.doctor_forms import Doing, WrittenRecord


class NamedDisease(NamedTuple):
    """A disease as a model named it, with what it is in the graph; without ids where the graph lacks it."""

    name: str
    ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Kept(Artifact):
    """What a model wrote, as it was read; the log keeps it."""

    depends: ClassVar[tuple[Reads, ...]] = ()
    kept: ClassVar[bool] = True
    many: ClassVar[bool] = True

    turn: int
    failed: str = ""


@dataclass(frozen=True, slots=True)
class Recorded(_Kept):
    """The record as a model has written it."""

    unknown: int = 0
    contrary: int = 0
    findings: tuple[tuple[str, str, str], ...] = ()
    record: WrittenRecord | None = None

    def summary(self) -> dict[str, Any]:
        return {"findings": [list(each) for each in self.findings]} if self.findings else {}

    def to_data(self) -> dict[str, Any]:
        counts = {"turn": self.turn, "failed": self.failed, "unknown": self.unknown, "contrary": self.contrary}
        return {**counts, "findings": [list(each) for each in self.findings]}

    def to_words(self) -> dict[str, Any]:
        return {} if self.record is None else {"record": self.record.model_dump(mode="json")}

    @classmethod
    def from_log(cls, data: Mapping[str, Any], words: Mapping[str, Any]) -> Recorded:
        record = WrittenRecord.model_validate(words["record"]) if "record" in words else None
        findings = tuple((id, label, status) for id, label, status in data["findings"])
        return cls(**{**data, "findings": findings}, record=record)

    def digest(self) -> str:
        return Artifact.digest(replace(self, record=None))


@dataclass(frozen=True, slots=True)
class Differential(_Kept):
    """The diseases that a model thinks of, the likeliest first."""

    named: tuple[NamedDisease, ...] = ()

    def to_data(self) -> dict[str, Any]:
        return {"turn": self.turn, "failed": self.failed, "ids": [list(each.ids) for each in self.named]}

    def to_words(self) -> dict[str, Any]:
        return {"names": [each.name for each in self.named]}

    @classmethod
    def from_log(cls, data: Mapping[str, Any], words: Mapping[str, Any]) -> Differential:
        return cls(data["turn"], data["failed"], _named(data["ids"], words["names"]))


@dataclass(frozen=True, slots=True)
class Chosen(_Kept):
    """What a model does in a turn, as a doctor."""

    doing: Doing = "question"
    asks: str = ""
    said: str = ""
    named: tuple[NamedDisease, ...] = ()

    def to_data(self) -> dict[str, Any]:
        ids = [list(each.ids) for each in self.named]
        return {"turn": self.turn, "failed": self.failed, "doing": self.doing, "asks": self.asks, "ids": ids}

    def to_words(self) -> dict[str, Any]:
        return {"said": self.said, "names": [each.name for each in self.named]}

    @classmethod
    def from_log(cls, data: Mapping[str, Any], words: Mapping[str, Any]) -> Chosen:
        named = _named(data["ids"], words["names"])
        return cls(data["turn"], data["failed"], data["doing"], data["asks"], words["said"], named)


@dataclass(frozen=True, slots=True)
class Heard(_Kept):
    """What a model understood of an answer in words; without a status where it understood nothing."""

    status: str = ""
    findings: tuple[tuple[str, str, str], ...] = ()

    def summary(self) -> dict[str, Any]:
        return {"findings": [list(each) for each in self.findings]} if self.findings else {}

    def to_data(self) -> dict[str, Any]:
        found = [list(each) for each in self.findings]
        return {"turn": self.turn, "failed": self.failed, "status": self.status, "findings": found}


@dataclass(frozen=True, slots=True)
class Forgotten(_Kept):
    """What was said more than three turns ago is forgotten."""

    def to_data(self) -> dict[str, Any]:
        return {"turn": self.turn, "failed": self.failed}


def _named(ids: Sequence[Sequence[str]], names: Sequence[str]) -> tuple[NamedDisease, ...]:
    return tuple(NamedDisease(name, tuple(each)) for each, name in zip(ids, names, strict=True))
