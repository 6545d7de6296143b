"""XML sources, record by record: memory stays flat, no entity is expanded, nothing is fetched.

XML is all or nothing: a file that ends early or holds bytes that XML has no place for is refused as a whole, since what
follows the damage cannot be known. What is wrong within a record is that record's own matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lxml import etree

from kgdx.errors import SourceError
from kgdx.ingest.unpack import unpacked

_OPTIONS: Mapping[str, Any] = {
    "resolve_entities": False,
    "no_network": True,
    "load_dtd": False,
    "dtd_validation": False,
    "huge_tree": False,
    "remove_comments": True,
    "remove_pis": True,
}
_QUOTED = re.compile(r"\{[^}]*\}")


class XmlFile:
    """One XML file, whose records are elements directly below the root, or below a list in it."""

    def __init__(self, path: Path, root: str, title: str) -> None:
        self.path = path
        self.root = root
        self.title = title
        self.attributes: Mapping[str, str] = {}
        self.doctype = ""

    def records(self, *tags: str, nested: bool = False) -> Iterator[Any]:
        """Yield each element with one of the tags and forget it afterwards."""
        found = False
        with unpacked(self.path) as stream:
            events = ("start", "end") if nested else ("end",)
            context = etree.iterparse(stream, events=events, tag=tags, **_OPTIONS)
            depth = 0
            try:
                for event, element in context:
                    depth += (event == "start") - (event == "end") if nested else 0
                    if event == "start" or depth:
                        continue
                    if not found:
                        self._open(element.getroottree())
                        found = True
                    yield element
                    _forget(element)
            except etree.XMLSyntaxError as error:
                raise self._malformed(error) from error
            if not found:
                self._open(context.root.getroottree())
                raise SourceError(f"{self.path} has no {_plain(tags[0])}", hint=f"it should be {self.title}")

    def _open(self, tree: Any) -> None:
        root = tree.getroot()
        if root.tag != self.root:
            message = f"{self.path} begins with {_plain(str(root.tag))}, not {_plain(self.root)}"
            raise SourceError(message, hint=f"it should be {self.title}")
        declared = tree.docinfo.internalDTD
        if declared is not None and (entity := next(iter(declared.iterentities()), None)) is not None:
            message = f"{self.path} declares the entity {entity.name!r}, which is not expanded"
            raise SourceError(message, hint=f"{self.title} declares none: check where the file comes from")
        self.attributes = dict(root.attrib)
        self.doctype = tree.docinfo.system_url or ""

    def _malformed(self, error: Any) -> SourceError:
        if not self.path.stat().st_size:
            return SourceError(f"{self.path} is empty", hint="fetch it again")
        what = " ".join(str(error.msg or "it ends before its root element").split())
        message = f"{self.path} is not well-formed XML (line {error.lineno}: {what})"
        return SourceError(message, hint=f"it should be {self.title}; fetch it again")


def text(element: Any, path: str) -> str | None:
    found = element.findtext(path)
    return (found.strip() or None) if found else None


def texts(element: Any, path: str) -> list[str]:
    return [found for each in element.iterfind(path) if (found := (each.text or "").strip())]


def unexpanded(element: Any) -> str | None:
    entity = next(element.iter(etree.Entity), None)
    return None if entity is None else str(entity.text)


def shown(element: Any) -> str:
    return " ".join(etree.tostring(element, encoding="unicode", with_tail=False).split())


def _forget(element: Any) -> None:
    element.clear()
    parent = element.getparent()
    if parent is not None:
        while element.getprevious() is not None:  # iterparse keeps the parent's finished children otherwise
            del parent[0]


def _plain(tag: str) -> str:
    return f"<{_QUOTED.sub('', tag)}>"
