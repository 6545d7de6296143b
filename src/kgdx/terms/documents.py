"""The text of a user's documents: PDF page by page, HTML without what surrounds its text, plain text.

PDF is read by PDFium (extra ``documents``), which browsers have hardened; HTML by lxml, which is there for XML. What
cannot be read raises :class:`Unreadable`, so that a folder goes on without it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from kgdx.errors import MissingExtraError
from kgdx.lazy import lazy_pattern

MAX_BYTES = 200 * 2**20
"""Bytes of a document at most."""
MAX_PAGES = 5_000
"""Pages of a PDF at most."""

_AROUND = "script style noscript template svg math nav header footer aside form button iframe object".split()  # noqa: SIM905
_BLOCK = (
    "address article blockquote br dd div dl dt figcaption h1 h2 h3 h4 h5 h6 "
    "hr li main ol p pre section table td th tr ul"
)
_BLANK = lazy_pattern(r"[^\S\n]+")
_SURROGATE = lazy_pattern(r"[\ud800-\udfff]")


class Unreadable(Exception):
    """A document that holds no text that can be read; its words fit others too."""


def clean(text: str) -> str:
    r"""Return a text that every file can hold: no NUL, no half of a character."""
    return _SURROGATE.sub("\ufffd", text.replace("\0", " "))


def parts_of(file: Path) -> list[tuple[str, str]]:
    """Return the parts of a document: what its name gets (``#page=N`` of a PDF, else nothing), and the text."""
    if file.stat().st_size > MAX_BYTES:
        raise Unreadable(f"longer than {MAX_BYTES >> 20} MiB")
    parts = [(name, clean(text)) for name, text in READERS[file.suffix.lower()](file)]
    if not any(text.strip() for _, text in parts):
        scanned = file.suffix.lower() == ".pdf"
        raise Unreadable("only pictures of pages, as of a scan" if scanned else "no text")
    return parts


def _plain(file: Path) -> Iterator[tuple[str, str]]:
    content = file.read_bytes()
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        yield "", content.decode("utf-16", errors="replace")
    elif b"\0" in content:
        raise Unreadable("NUL bytes: no text in UTF-8")
    else:
        yield "", content.decode("utf-8-sig", errors="replace")


def _html(file: Path) -> Iterator[tuple[str, str]]:
    from lxml import etree, html

    content = file.read_bytes()
    if not content.strip():
        return
    encoding = None if re.search(rb"charset|encoding=", content[:2048], re.IGNORECASE) else "utf-8"
    try:
        tree = html.document_fromstring(content, parser=html.HTMLParser(encoding=encoding, remove_comments=True))
    except (etree.LxmlError, ValueError) as error:
        raise Unreadable("no HTML") from error
    etree.strip_elements(tree, *_AROUND, with_tail=False)
    for element in tree.iter(*_BLOCK.split()):
        element.tail = f"\n{element.tail or ''}"
        element.text = f"\n{element.text or ''}"
    body = tree.find("body")
    yield "", _BLANK.sub(" ", "".join((tree if body is None else body).itertext()))


def _pdf(file: Path) -> Iterator[tuple[str, str]]:
    try:
        import pypdfium2
    except ImportError:
        raise MissingExtraError(f"reading {file.name}", "documents") from None
    try:
        document = pypdfium2.PdfDocument(file)
    except pypdfium2.PdfiumError as error:
        raise Unreadable("a password" if "password" in str(error).lower() else "a damaged PDF") from error
    try:
        if len(document) > MAX_PAGES:
            raise Unreadable(f"more than {MAX_PAGES:,} pages")
        for number in range(len(document)):
            try:
                page = document[number]
                words = page.get_textpage()
                text = words.get_text_bounded()
                words.close()
                page.close()
            except pypdfium2.PdfiumError:
                continue  # the other pages can be read
            yield f"#page={number + 1}", text.replace("\r\n", "\n").replace("\ufffe", "")
    finally:
        document.close()


READERS: dict[str, Callable[[Path], Iterator[tuple[str, str]]]] = {
    ".txt": _plain,
    ".md": _plain,
    ".html": _html,
    ".htm": _html,
    ".xhtml": _html,
    ".pdf": _pdf,
}
"""Endings of documents that are read."""
