"""Names that are known to be of a class, from the lines of a Chinese medical knowledge graph (``medical.json``)."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kgdx.errors import SourceError
from kgdx.extract.wording import CLASSES
from kgdx.load.fetch import read_text

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
class Vocabulary:
    """Known names by class.

    Attributes:
        names: Class → names.
    """

    names: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """SHA-256 of the names."""
        content = json.dumps({key: sorted(value) for key, value in sorted(self.names.items())}, ensure_ascii=False)
        return hashlib.sha256(content.encode()).hexdigest()

    def holds(self, name: str, class_: str) -> bool:
        """Return whether a name is known to be of a class.

        Example:
            >>> Vocabulary({"Drug": frozenset({"阿司匹林"})}).holds("阿司匹林", "Drug")
            True
        """
        return name in self.names.get(class_, frozenset())


def read_vocabulary(path: Path) -> Vocabulary:
    """Read the names of a file of JSON lines with the fields of :data:`FIELDS`, compressed or not.

    A line that is no JSON object is passed over.

    Raises:
        SourceError: The file cannot be read, or no line has any of the fields.
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
    return Vocabulary({class_: frozenset(known) for class_, known in names.items()})
