"""How clinical Chinese words things, and names that are known to be of a class."""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from kgdx.errors import SourceError
from kgdx.ingest.unpack import read_text

CLASSES = frozenset({"Disease", "Symptom", "Test", "Drug", "Cure"})

_SENTENCE = re.compile(r"[^。！？!?\n\r]+[。！？!?]?")

_TURN = re.compile(r"[，,；;]|但|而")


@cache
def _patterns() -> Mapping[str, Any]:
    content: Mapping[str, Any] = yaml.safe_load(
        files("kgdx.ingest.extraction").joinpath("chinese.yaml").read_text("utf-8")
    )
    return content


def _compiled(text: str) -> re.Pattern[str]:
    for name in ("LIST", "IS", "MANY"):
        text = text.replace(f"{{{name}}}", _patterns()[name])
    return re.compile("".join(text.split()))


def listed(name: str) -> Iterable[str]:
    return _patterns()[name]  # type: ignore[no-any-return]


@cache
def pattern(name: str, key: str = "") -> re.Pattern[str]:
    return _compiled(_patterns()[name][key] if key else _patterns()[name])


def looks_like(name: str, class_: str) -> bool:
    return pattern("shapes", class_).search(name) is not None


@cache
def cues(type_: str) -> tuple[re.Pattern[str], ...]:
    return tuple(map(_compiled, _patterns()["cues"][type_]))


def sentences(text: str) -> list[str]:
    return [part.strip() for part in _SENTENCE.findall(text) if part.strip()]


def fits(name: str, class_: str) -> bool:
    """Return whether a name may be of a class by its wording: what ends like a drug is no symptom."""
    if class_ == "Drug":
        return not (looks_like(name, "Cure") or (looks_like(name, "Test") and not looks_like(name, "Drug")))
    if class_ == "Cure":
        return not re.search(r"检查$|检测$|化验$|片$|胶囊$|颗粒$|注射液$|口服液$", name)
    if class_ == "Test":
        return not re.search(r"治疗$|疗法$|胶囊$|颗粒$|口服液$|注射液$|综合征$", name)
    return not pattern("no_finding").search(name)


def running(text: str) -> bool:
    return pattern("running").search(text) is not None


def denied(sentence: str, name: str, type_: str) -> bool:
    """Return whether a sentence denies of a name what a relation says.

    Example:
        >>> denied("孕妇禁用阿司匹林。", "阿司匹林", "RECOMMEND_DRUG")
        True
        >>> denied("不建议自行停药，可服用阿司匹林。", "阿司匹林", "RECOMMEND_DRUG")
        False
    """
    if pattern("apart").search(sentence):
        return True
    at = sentence.find(name)
    clause = _TURN.split(sentence[:at])[-1]
    if pattern("denials", type_).search(clause):
        return True
    return pattern("denied_after").match(sentence[at + len(name) :]) is not None


FIELDS: Mapping[str, str] = {
    "name": "Disease",
    "acompany": "Disease",
    "symptom": "Symptom",
    "check": "Test",
    "common_drug": "Drug",
    "recommand_drug": "Drug",
    "cure_way": "Cure",
}
"""Fields of such a line and the classes of their names."""

_LONGEST = 20


@dataclass(frozen=True, slots=True)
class NameVocabulary:
    names: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        content = json.dumps({key: sorted(value) for key, value in sorted(self.names.items())}, ensure_ascii=False)
        return hashlib.sha256(content.encode()).hexdigest()

    def holds(self, name: str, class_: str) -> bool:
        return name in self.names.get(class_, frozenset())


def read_vocabulary(path: Path) -> NameVocabulary:
    """Read the names of a file of JSON lines with the fields of :data:`FIELDS`, compressed or not.

    A line that is no JSON object is passed over.
    """
    names: dict[str, set[str]] = {class_: set() for class_ in CLASSES}
    for line in io.BytesIO(read_text(path)):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        for key, class_ in FIELDS.items() if isinstance(row, dict) else ():
            values = row.get(key)
            for value in values if isinstance(values, list) else [values]:
                if isinstance(value, str) and 2 <= len(value.strip()) <= _LONGEST:
                    names[class_].add(value.strip())
    if not any(names.values()):
        raise SourceError(f"{path} has no names", hint=f"its lines should have {', '.join(FIELDS)}")
    return NameVocabulary({class_: frozenset(known) for class_, known in names.items()})
