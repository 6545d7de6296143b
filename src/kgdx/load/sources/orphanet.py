"""Orphanet's XML products (https://www.orphadata.com, a file for each): what their records have in common."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from kgdx.errors import SourceError
from kgdx.load.records import Records, join_rejects
from kgdx.load.sources.columns import Refused
from kgdx.load.sources.xml import XmlFile, shown, text, unexpanded

_PMID = re.compile(r"(\d+)\s*\[PMID\]")


@dataclass(frozen=True, slots=True)
class Disorder:
    """A disorder of a product: its element, id (CURIE) and name, and the whole record that it stands in."""

    element: Any
    id: str
    name: str
    record: Any


class Product:
    """One product's file.

    Args:
        path: The file.
        title: Its name as published, for messages.

    Attributes:
        refused: Records that were refused so far.
    """

    def __init__(self, path: Path, title: str) -> None:
        self.path = path
        self.title = f"{title} from https://www.orphadata.com"
        self.refused = Refused()
        self._file = XmlFile(path, "JDBOR", self.title)

    def disorders(self, tag: str = "Disorder") -> Iterator[Disorder]:
        """Yield the disorders of all records with a tag; one without code or name, or that comes again, is refused.

        Raises:
            SourceError: The file is unreadable or is none of Orphanet's.
        """
        known: set[str] = set()
        for record in self._file.records(tag, nested=True):
            element = record if tag == "Disorder" else record.find("Disorder")
            code = None if element is None else text(element, "OrphaCode")
            name = None if element is None else text(element, "Name")
            fault = _fault(record, code, name, known)
            if fault is not None or code is None or name is None:
                self.refused.add(record.sourceline, shown(record), fault or "")
                continue
            known.add(code)
            yield Disorder(element, f"ORPHA:{code}", name, record)

    def records(self, frames: dict[str, pl.DataFrame], found: int, what: str) -> Records:
        """Return the frames, if there is any of what the product is about.

        Args:
            frames: The frames.
            found: How many rows say what the product is about.
            what: The word for them.

        Raises:
            SourceError: There is none: the file is another product.
        """
        if not found:
            raise SourceError(f"{self.path} has no {what}", hint=f"it should be {self.title}")
        return Records(frames, join_rejects([self.refused.frame()]), self._file.attributes.get("date"))


def _fault(record: Any, code: str | None, name: str | None, known: set[str]) -> str | None:
    if code is None or not (code.isascii() and code.isdigit()):
        return f"its OrphaCode is '{(code or '')[:60]}', not a number"
    if code in known:
        return f"ORPHA:{code} stands here a second time"
    if entity := unexpanded(record):
        return f"it holds the entity {entity}, which is not expanded"
    return None if name is not None else f"ORPHA:{code} has no name"


def name_of(element: Any, path: str) -> str | None:
    """Return the name of what an element refers to at a path, such as ``DisorderType``."""
    return text(element, f"{path}/Name")


def publications(source: str | None) -> list[str]:
    """Return the PMIDs in Orphanet's note of sources.

    Example:
        >>> publications("11389160[PMID]_ORPHANET_9689990[PMID]")
        ['PMID:11389160', 'PMID:9689990']
    """
    return list(dict.fromkeys(f"PMID:{found}" for found in _PMID.findall(source or "")))
