"""Encyclopedia entries about diseases, and what patients say for normalised symptoms.

A record names a disease and has its text, or a list of symptoms. Scraped pages bring their buttons with them and say
the same several times (captions, pop-up windows); both are taken out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from kgdx.ingest.manifest import Manifest
from kgdx.ingest.records import RecordBuilder, Records, minted
from kgdx.ingest.sources.json_records import MAX_TEXT, documents, phrase, problem_of_phrase, prose

VERSION = "1"
FRAMES = {
    "document": "id title text url language disease",
    "disease": "id name name_zh",
    "symptom": "disease id name language",
}

ENCYCLOPEDIA = "encyclopedia"
"""The source in whose name ids of diseases are minted, whichever file of it says them."""

_NAMES = ("disease", "disease_name", "name", "title", "疾病", "名称")
_TEXTS = ("text", "content", "article", "description", "symptoms", "desc", "内容")
_PHRASES = ("symptoms", "symptom", "症状")
_BUTTON = "Open pop-up dialog box"
_CLOSE = "Close"
_HAN = re.compile("[\u4e00-\u9fff]")
_SLUG = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)+")
_CAPTION = 12
"""Characters from which a sentence that stands again is left out; shorter ones may be meant."""


def read(path: Path, manifest: Manifest) -> Records:
    """Read entries as the frames ``document`` (with a text), ``symptom`` (with a list of phrases) and ``disease``."""
    building = RecordBuilder(FRAMES)
    for line, given in documents(path, building, _NAMES):
        row = {key.strip().lower(): value for key, value in given.items()}
        name = _first(row, _NAMES, str)
        title = disease_name(name) if name is not None else ""
        if reason := "it names no disease" if name is None else problem_of_phrase(title):
            building.refuse(line, given, reason)
            continue
        disease = minted(ENCYCLOPEDIA, "Disease", title.lower())
        phrases = _first(row, _PHRASES, list)
        text = _first(row, _TEXTS, str)
        if phrases is None and text is None:
            building.refuse(line, given, "it has neither a text nor a list of symptoms")
            continue
        building.add("disease", line, disease, title, title if _HAN.search(title) else None)
        if text is not None:
            _document(line, title, disease, text, row, building)
        for each in phrases or ():
            _symptom(line, title, disease, each, building)
    return building.records()


def _document(line: int, title: str, disease: str, given: str, row: dict[str, Any], building: RecordBuilder) -> None:
    if len(given) > MAX_TEXT:
        building.refuse(line, {"disease": title, "text": given[:200]}, f"its text has {len(given):,} characters")
        return
    text = article(given)
    if not text:
        building.refuse(line, {"disease": title}, "its text has no word", "frame:document")
        return
    url = row.get("url") if isinstance(row.get("url"), str) else None
    language = row.get("language") or ("zh" if _HAN.search(text) else "en")
    identifier = minted(ENCYCLOPEDIA, "Document", f"{title.lower()}\x1f{text}")
    building.add("document", line, identifier, title, text, url, str(language), disease)


def _symptom(line: int, title: str, disease: str, given: Any, building: RecordBuilder) -> None:
    words = phrase(given).rstrip(".。;；,， ") if isinstance(given, str) else ""
    reason = problem_of_phrase(words) if isinstance(given, str) else "it is no text"
    if reason:
        building.refuse(line, {"disease": title, "name": given}, f"a symptom names nothing: {reason}", "frame:symptom")
        return
    language = "zh" if _HAN.search(words) else "en"
    identifier = minted(ENCYCLOPEDIA, "Symptom", words.lower())
    building.add("symptom", line, disease, identifier, words, language)


def disease_name(given: str) -> str:
    """Return the name of a disease, of which a page's address may be all that is given."""
    name = phrase(given)
    return name.replace("-", " ") if _SLUG.fullmatch(name) else name


def article(given: str) -> str:
    r"""Return an article's text without buttons and without lines and sentences that stood before."""
    seen: dict[str, int] = {}
    sizes: set[int] = set()
    kept: dict[str, None] = {}
    for line in prose(given).splitlines():
        bare = _uncaptioned(" ".join(line.replace(_BUTTON, " ").split()), seen, sizes)
        sentences = [each for each in re.split(r"(?<=[.!?。！？])\s+", bare) if each and bare != _CLOSE]
        new = " ".join(each for each in sentences if len(each) < _CAPTION or each not in seen)
        for each in sentences:
            if len(each) >= _CAPTION:
                seen.setdefault(each, len(seen))
                sizes.add(len(each))
        if new:
            kept.setdefault(new)
    return "\n".join(kept)


def _uncaptioned(line: str, seen: Mapping[str, int], sizes: Iterable[int]) -> str:
    place = -1
    while True:
        captions = [
            (2 * seen[caption] + (not lead), len(lead) + size + 1)
            for lead in (f"{_CLOSE} ", "")
            if line.startswith(lead)
            for size in sizes
            if line[len(lead) + size : len(lead) + size + 1] == " "
            and (caption := line[len(lead) : len(lead) + size]) in seen
        ]
        later = [each for each in captions if each[0] > place]
        if not later:
            return line
        place, end = min(later)
        line = line[end:]


def _first(row: dict[str, Any], names: tuple[str, ...], kind: type) -> Any:
    return next((row[name] for name in names if isinstance(row.get(name), kind) and row[name]), None)
