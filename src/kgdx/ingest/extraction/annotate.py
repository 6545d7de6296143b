"""What texts and phrases name, as relations to phenotypes: read once per build, by the matcher that reads patients.

A document that is about one disease gives HAS_SYMPTOM from the disease to each phenotype that it says to be present. It
goes to the phenotype itself, not to a symptom of its own: the matcher has already decided which term the words stand
for, and says how (method, score, the matched name, the place and the passage), so that the evidence can be checked
and, being kgdx's own inference, dropped and made again. The curated HAS_PHENOTYPE stays apart from it.

A patient's text gives OBSERVED and EXCLUDED with their places; so do the symptoms that a source states in words.
What the source itself states by id is not said a second time.
"""

from __future__ import annotations

import re
import tempfile
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from kgdx.case import Case, Extraction, Finding, FindingReader, Status, read_text
from kgdx.case.ddxplus_release import PREFIX as DDXPLUS
from kgdx.errors import CaseError
from kgdx.graph.protocol import GraphTable, RelationTable
from kgdx.graph.snapshot_compile import compile_snapshot
from kgdx.ingest.pipeline.derive import Derive
from kgdx.terms.dictionary import version as dictionary_version
from kgdx.terms.extractor import Extractor
from kgdx.terms.names.entity_names import edges, node_frame
from kgdx.terms.normalise import read_table


def _headings(kind: str) -> str:
    names = [heading for of, heading in read_table(Path(__file__).with_name("headings.tsv")) if of == kind]
    english = "|".join(name for name in names if name.isascii())
    chinese = "|".join(name for name in names if not name.isascii())
    return rf"(?:{english})(?=[ \t]*(?:$|\n|:|[ \t][A-Z0-9]))|(?:{chinese})(?=[ \t]*(?:$|\n|[:：]))"


_HEADING = re.compile(
    rf"(?:^|(?<=[.!?。\n]))[ \t]*(?:(?P<about>{_headings('about')})|(?P<other>{_headings('other')}))", re.MULTILINE
)
_LITERATURE = re.compile(r"https?://|\bdoi:|\bAccessed [A-Z][a-z]+\.? \d")


@dataclass(frozen=True, slots=True)
class SymptomParts:
    """Where the text changes between what patients have and what not: from ``starts[i]`` on it is ``kept[i]``."""

    starts: tuple[int, ...]
    kept: tuple[bool, ...]

    def covers(self, place: int) -> bool:
        at = bisect_right(self.starts, place) - 1
        return at < 0 or self.kept[at]


def about_symptoms(text: str) -> SymptomParts:
    r"""Return which parts of a text are about what patients have: all of it, where there are no headings."""
    starts, kept = [], []
    for found in _HEADING.finditer(text):
        starts.append(found.start())
        kept.append(found["about"] is not None)
    literature = _LITERATURE.search(text)
    if literature:
        line = text.rfind("\n", 0, literature.start()) + 1
        cut = bisect_right(starts, line)
        starts[cut:], kept[cut:] = [line], [False]
    return SymptomParts(tuple(starts), tuple(kept))


SOURCE = "kgdx:text"
VERSION = "1"
READS = ("Phenotype", "IS_A", "Disease", "Document", "MENTIONS", "PatientCase", "Symptom", "OBSERVED", "EXCLUDED")

_RELATION = {Status.PRESENT: "OBSERVED", Status.ABSENT: "EXCLUDED"}
_PASSAGE = 300
"""Most characters of a passage that is kept as evidence."""
_ENDS = re.compile(r"[.!?。！？；](?=\s|[^\x00-\x7f]|$)|\n")
_WORD = re.compile(r"[^\W_]+")

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Article:
    id: str
    title: str
    text: str
    disease: str


class DocumentReader(Protocol):
    """Reads the findings of documents; the matcher does, and a language model may."""

    @property
    def name(self) -> str: ...

    def read_all(self, articles: Sequence[Article], matcher: FindingReader) -> Iterator[tuple[str, Extraction]]: ...


@dataclass(frozen=True, slots=True)
class MatcherReader:
    name: str = f"matcher {dictionary_version()}"

    def read_all(self, articles: Sequence[Article], matcher: FindingReader) -> Iterator[tuple[str, Extraction]]:
        for article in articles:
            yield self.name, matcher.extract(article.text)


def step(reader: DocumentReader | None = None) -> Derive:
    """Return the step that reads the texts of a build: documents by a reader, patients' texts always by the matcher."""
    reads = reader or MatcherReader()
    version = f"{VERSION}, dictionary {dictionary_version()}, {reads.name}"
    return Derive(SOURCE, version, READS, lambda tables: annotate(tables, reads), "reading texts")


def annotate(tables: Iterable[GraphTable], reader: DocumentReader | None = None) -> list[GraphTable]:
    """Return HAS_SYMPTOM, OBSERVED and EXCLUDED of texts and phrases of documents and patients, where there are any."""
    given = [table for table in tables if table.rows.num_rows]
    documents, said = _documents(given), _said(given)
    patients = [row for row in node_frame(given, "PatientCase", ("id", "text")).iter_rows() if row[1]]
    known = [
        table
        for table in given
        if table.name == "Phenotype" or (table.name == "IS_A" and table.ends == ("Phenotype", "Phenotype"))
    ]
    if not (documents or patients or said) or all(table.ends for table in known):
        return []
    with tempfile.TemporaryDirectory(prefix="kgdx-text-") as folder:
        matcher = Extractor.open(compile_snapshot(known, Path(folder) / "snapshot", SOURCE))
        symptoms = list(_of_documents(documents, reader or MatcherReader(), matcher))
        stated = {pair for type in _RELATION.values() for pair in edges(given, type, end="Phenotype")}
        findings = [*_of_patients(patients, stated, matcher), *_of_phrases(said, stated, matcher)]
    found = [("HAS_SYMPTOM", "Disease", symptoms)]
    for type in _RELATION.values():
        found.append((type, "PatientCase", [row for relation, row in findings if relation == type]))
    return [RelationTable(type, of, "Phenotype", pa.Table.from_pylist(rows)) for type, of, rows in found if rows]


def _documents(tables: Sequence[GraphTable]) -> list[Article]:
    about: dict[str, set[str]] = {}
    for document, disease in edges(tables, "MENTIONS", end="Disease"):
        about.setdefault(document, set()).add(disease)
    return [
        Article(id, title or "", text, next(iter(about[id])))
        for id, title, text in node_frame(tables, "Document", ("id", "title", "text")).iter_rows()
        if text and len(about.get(id, ())) == 1
    ]


def _said(tables: Sequence[GraphTable]) -> list[tuple[str, str, str]]:
    named = node_frame(tables, "Symptom", ("id", "name")).iter_rows()
    names = {id: name for id, name in named if not id.startswith(DDXPLUS)}  # a checked table says what these are
    return [
        (type, case, names[symptom])
        for type in _RELATION.values()
        for case, symptom in edges(tables, type, end="Symptom")
        if symptom in names
    ]


def _of_documents(articles: Sequence[Article], reader: DocumentReader, matcher: FindingReader) -> Iterator[Row]:
    for article, (name, read) in zip(articles, reader.read_all(articles, matcher), strict=True):
        own = frozenset(_words(article.title))
        part = about_symptoms(article.text)
        best: dict[str, Finding] = {}
        for finding in read.findings:
            if finding.status is not Status.PRESENT or finding.span is None:
                continue
            if not part.covers(finding.span.start) or set(_words(finding.text)) <= own:
                continue
            if finding.id not in best or finding.score > best[finding.id].score:
                best[finding.id] = finding
        for finding in best.values():
            assert finding.span is not None
            yield {
                **_row(article.disease, finding),
                "references": [article.id],
                "span": _passage(article.text, finding.span.start, finding.span.end),
                "model": name,
            }


def _of_patients(
    patients: Iterable[tuple[str, str]], stated: set[tuple[str, str]], matcher: FindingReader
) -> Iterator[tuple[str, Row]]:
    for id, text in patients:
        try:
            case = read_text(Case(id, text=text), matcher)
        except CaseError:  # nothing that is present or absent: the case keeps its text
            continue
        for finding in case.findings:
            if finding.status in _RELATION and (id, finding.id) not in stated:
                yield _RELATION[finding.status], {**_row(id, finding), "text": finding.text}


def _of_phrases(
    said: Sequence[tuple[str, str, str]], stated: set[tuple[str, str]], matcher: FindingReader
) -> Iterator[tuple[str, Row]]:
    reading: Mapping[str, tuple[Finding, ...]] = {
        words: matcher.extract(words).findings for words in dict.fromkeys(words for _, _, words in said)
    }
    wanted: dict[tuple[str, str], tuple[str, Row]] = {}
    for relation, case, words in said:
        for finding in reading[words]:
            absent = relation == "EXCLUDED" or finding.status is Status.ABSENT
            double = relation == "EXCLUDED" and finding.status is not Status.PRESENT
            if finding.status not in _RELATION or double or (absent and not _whole(finding, words)):
                continue
            row = {**_row(case, finding), "text": words, "span_start": None, "span_end": None}
            key = (case, finding.id)
            if key not in stated and (key not in wanted or (not absent and wanted[key][0] == "EXCLUDED")):
                wanted[key] = ("EXCLUDED" if absent else "OBSERVED", row)
    yield from wanted.values()


def _row(start: str, finding: Finding) -> Row:
    span = finding.span
    return {
        "start": start,
        "end": finding.id,
        "source": SOURCE,
        "span_start": span.start if span else None,
        "span_end": span.end if span else None,
        "matched": finding.matched or None,
        "method": finding.method,
        "score": finding.score,
    }


def _whole(finding: Finding, words: str) -> bool:
    rest = words[: finding.span.start] + words[finding.span.end :] if finding.span else words
    return all(word in _NEGATIONS for word in _words(rest))


_NEGATIONS = frozenset({"no", "not", "without", "denies", "absent", "无", "没有", "未见", "否认", "不"})


def _words(text: str) -> list[str]:
    return [word.removesuffix("s") if word.isascii() else word for word in _WORD.findall(text.lower())]


def _passage(text: str, start: int, end: int) -> str:
    before = [found.end() for found in _ENDS.finditer(text, max(0, start - _PASSAGE), start)]
    after = _ENDS.search(text, end, min(len(text), end + _PASSAGE))
    first = before[-1] if before else max(0, start - _PASSAGE)
    return text[first : after.end() if after else min(len(text), end + _PASSAGE)].strip()[: 2 * _PASSAGE]
