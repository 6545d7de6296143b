"""Mappings as SSSOM/TSV, and tables that people have had open in a spreadsheet.

https://mapping-commons.github.io/sssom/spec-formats-tsv/

Tables may have been open in a spreadsheet: tabs, semicolons or commas, a byte-order mark, UTF-16.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from graphlib import CycleError, TopologicalSorter
from importlib.metadata import version
from pathlib import Path
from typing import Any

from kgdx.errors import UsageError
from kgdx.terms.names.same_diseases import Components

MANUAL = "semapv:ManualMappingCuration"
JUSTIFICATIONS = {
    "given": "semapv:DatabaseCrossReference",
    "exact": "semapv:LexicalMatching",
    "normalised": "semapv:LexicalMatching",
    "edit": "semapv:LexicalSimilarityThresholdMatching",
    "encoder": "semapv:SemanticSimilarityThresholdMatching",
}
"""How SSSOM calls the stages of alignment (:data:`kgdx.terms.names.cascade.STAGES`)."""
OTHER = "semapv:CompositeMatching"

BASES: Mapping[str, str] = {
    "DECIPHER": "https://www.deciphergenomics.org/syndrome/",
    "HP": "http://purl.obolibrary.org/obo/HP_",
    "KGDX": "urn:kgdx:node:",
    "MESH": "http://id.nlm.nih.gov/mesh/",
    "MONDO": "http://purl.obolibrary.org/obo/MONDO_",
    "MONDO_GROUPED": "urn:kgdx:mondo-grouped:",
    "OMIM": "https://omim.org/entry/",
    "ORPHA": "http://www.orpha.net/ORDO/Orphanet_",
}
"""Expansions of the prefixes of kgdx's ids."""
PREFIXES = {"orphanet": "ORPHA", "ordo": "ORPHA", "orphanet.ordo": "ORPHA", "msh": "MESH", "hpo": "HP", "mim": "OMIM"}
"""Other ways to write the prefixes, in lower case."""
_VOCABULARIES = {"semapv": "https://w3id.org/semapv/vocab/", "skos": "http://www.w3.org/2004/02/skos/core#"}

PREDICATES = {
    "exact": "skos:exactMatch",
    "narrower": "skos:broadMatch",
    "broader": "skos:narrowMatch",
    "close": "skos:closeMatch",
}
"""kgdx says how the subject relates to the object, SKOS what the object is to the subject."""
_RELATIONS = {predicate.lower(): relation for relation, predicate in PREDICATES.items()} | {
    "owl:equivalentclass": "exact",
    "owl:sameas": "exact",
    "rdfs:subclassof": "narrower",
}
LICENCE = "https://creativecommons.org/publicdomain/zero/1.0/"
_REQUIRED = ("subject_id", "predicate_id", "object_id", "mapping_justification")
# fmt: off
_COLUMNS = (
    "subject_id", "subject_label", "predicate_modifier", "predicate_id", "object_id", "object_label",
    "mapping_justification", "confidence", "match_string", "mapping_tool", "comment",
)
# fmt: on


LARGEST = 512_000_000
"""Bytes of the largest file that is read."""
_MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))


@dataclass(frozen=True, slots=True)
class MappingStatement:
    """One mapping: the subject is the same as the object, or narrower or broader; or it is denied."""

    subject: str
    relation: str
    object: str
    denied: bool = False
    subject_name: str = ""
    object_name: str = ""
    justification: str = MANUAL
    confidence: float | None = None
    matched: str = ""
    comment: str = ""

    @property
    def pair(self) -> frozenset[str]:
        return frozenset((self.subject, self.object))

    def turned(self) -> MappingStatement:
        """Return the same statement, said of the object.

        Example:
            >>> MappingStatement("HP:1", "narrower", "MESH:D1").turned().relation
            'broader'
        """
        relation = {"narrower": "broader", "broader": "narrower"}.get(self.relation, self.relation)
        return replace(
            self,
            subject=self.object,
            object=self.subject,
            relation=relation,
            subject_name=self.object_name,
            object_name=self.subject_name,
        )


@dataclass(frozen=True, slots=True)
class MappingSet:
    """Content of an SSSOM file."""

    metadata: Mapping[str, Any]
    statements: Sequence[MappingStatement]
    lines: Sequence[int] = ()
    skipped: Sequence[tuple[int, str]] = field(default=())


def write_sssom(statements: Iterable[MappingStatement], *, title: str, set_id: str = "urn:kgdx:mappings") -> str:
    r"""Return mappings as SSSOM/TSV."""
    import yaml

    rows = list(statements)
    used = {id.partition(":")[0] for each in rows for id in (each.subject, each.object)}
    header = {
        "mapping_set_id": set_id,
        "mapping_set_title": title,
        "license": LICENCE,
        "curie_map": _VOCABULARIES | {prefix: base for prefix, base in BASES.items() if prefix in used},
    }
    text = "".join(f"#{line}\n" for line in yaml.safe_dump(header, sort_keys=False, width=1000).splitlines())
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter="\t", lineterminator="\n")
    writer.writerow(_COLUMNS)
    tool = f"kgdx {version('kgdx')}"
    writer.writerows(
        (
            each.subject,
            each.subject_name,
            "Not" if each.denied else "",
            PREDICATES[each.relation],
            each.object,
            each.object_name,
            each.justification,
            "" if each.confidence is None else f"{each.confidence:g}",
            each.matched,
            "" if each.justification == MANUAL else tool,
            each.comment,
        )
        for each in rows
    )
    return text + stream.getvalue()


def read_sssom(file: Path) -> MappingSet:
    """Read SSSOM/TSV; rows with a predicate or an id that kgdx has no place for are skipped and told."""
    table = read_rows(file, _REQUIRED, what="SSSOM")
    metadata = _metadata(file, table.comment)
    bases = _bases(file, metadata)
    statements: dict[tuple[str, str], tuple[int, MappingStatement]] = {}
    skipped: list[tuple[int, str]] = []
    for row in table.rows:
        found = _statement(file, row, bases)
        if isinstance(found, str):
            skipped.append((row.line, found))
            continue
        key = found.subject, found.object
        before = statements.get(key, (0, found))[1]
        if (before.relation, before.denied) != (found.relation, found.denied):
            message = f"{file}, lines {statements[key][0]} and {row.line}: {key[0]} and {key[1]} are mapped differently"
            raise UsageError(message, hint="keep one of them")
        statements.setdefault(key, (row.line, found))
    return MappingSet(
        metadata, [each for _, each in statements.values()], [line for line, _ in statements.values()], skipped
    )


def refuse_circles(file: Path, rows: Iterable[tuple[int, MappingStatement]]) -> None:
    """Refuse mappings by which something, or what is exactly the same, would be narrower than itself.

    What sources state, as a graph's own export does, is not refused: Orphanet's table has such circles.
    """
    same, above = Components(), dict[str, dict[str, int]]()
    stated = [(line, each) for line, each in rows if not each.denied and each.justification != OTHER]
    for each in (each for _, each in stated if each.relation == "exact"):
        same.join(each.subject, each.object)
    for line, each in (pair for pair in stated if pair[1].relation in ("narrower", "broader")):
        low = each if each.relation == "narrower" else each.turned()
        above.setdefault(same.find(low.subject), {})[same.find(low.object)] = line
    try:
        TopologicalSorter(above).prepare()
    except CycleError as error:
        way = error.args[1][::-1]
        message = (
            f"{file}, line {above[way[0]][way[1]]}: each is narrower than the next, in a circle: {' → '.join(way)}"
        )
        raise UsageError(message, hint="take one of them out; nothing was taken") from error


def _metadata(file: Path, comment: str) -> dict[str, Any]:
    import yaml

    try:
        found = yaml.safe_load(comment) if comment.strip() else None
    except yaml.YAMLError as error:
        place = getattr(error, "problem_mark", None)
        line = f", line {place.line + 1}" if place is not None else ""
        raise UsageError(f"{file}{line}: the header is no YAML", hint="see the SSSOM/TSV specification") from error
    if not isinstance(found, dict):
        hint = "an SSSOM file begins with lines such as '#mapping_set_id: …' and '#license: …'"
        raise UsageError(f"{file} has no header", hint=hint)
    for slot in ("mapping_set_id", "license"):
        if not found.get(slot):
            raise UsageError(f"{file}: the header lacks {slot}", hint=f"add a line '#{slot}: …'")
    if not str(version := found.get("sssom_version") or "1").strip().startswith("1"):
        raise UsageError(f"{file} is SSSOM {version}", hint="write it as version 1, which is what is read")
    return found


def _bases(file: Path, metadata: Mapping[str, Any]) -> dict[str, str]:
    given = metadata.get("curie_map") or {}
    if not isinstance(given, dict):
        raise UsageError(f"{file}: curie_map is no mapping", hint="write '#curie_map:' and '#  HP: http://…' below it")
    return {str(prefix): str(base) for prefix, base in given.items()}


def curie(id: str, bases: Mapping[str, str]) -> str | None:
    """Return an id of another file as kgdx writes it, or ``None`` when it is of no vocabulary that kgdx knows."""
    prefix, colon, local = id.strip().partition(":")
    if not colon or not local:
        return None
    expanded = bases.get(prefix, "") + local
    for ours, base in BASES.items():
        if prefix in bases and expanded.startswith(base):
            return f"{ours}:{expanded.removeprefix(base)}"
    ours = PREFIXES.get(prefix.lower(), prefix.upper())
    return f"{ours}:{local.removeprefix(ours + ':')}" if ours in BASES else None


def _statement(file: Path, row: MappingRow, bases: Mapping[str, str]) -> MappingStatement | str:
    for column in _REQUIRED:
        if not row.get(column):
            raise UsageError(f"{file}, line {row.line}: {column} is empty", hint="fill it in, or delete the line")
    relation = _RELATIONS.get(row.get("predicate_id").lower())
    if relation is None:
        return f"the predicate {row.get('predicate_id')}"
    ends = [curie(row.get(name), bases) for name in ("subject_id", "object_id")]
    if None in ends:
        id = row.get("subject_id") if ends[0] is None else row.get("object_id")
        return f"the vocabulary {id.partition(':')[0]}"
    modifier = row.get("predicate_modifier")
    if modifier.lower() not in ("", "not"):
        hint = "leave it empty, or write Not"
        raise UsageError(f"{file}, line {row.line}: predicate_modifier is {modifier!r}", hint=hint)
    return MappingStatement(
        str(ends[0]),
        relation,
        str(ends[1]),
        denied=bool(modifier),
        subject_name=row.get("subject_label"),
        object_name=row.get("object_label"),
        justification=row.get("mapping_justification"),
        confidence=_confidence(file, row),
        matched=row.get("match_string"),
        comment=row.get("comment"),
    )


def _confidence(file: Path, row: MappingRow) -> float | None:
    text = row.get("confidence")
    if not text:
        return None
    try:
        value = float(text.replace(",", "."))
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise UsageError(f"{file}, line {row.line}: confidence is {text!r}", hint="give a number from 0 to 1")
    return value


@dataclass(frozen=True, slots=True)
class MappingRow:
    """One row: its line in the file, and its cells by column."""

    line: int
    cells: Mapping[str, str]

    def get(self, column: str) -> str:
        return self.cells.get(column, "").strip()


@dataclass(frozen=True, slots=True)
class Table:
    """The lines before the table that begin with ``#``, without it; and the rows that are not empty."""

    comment: str
    rows: Sequence[MappingRow]


def read_rows(file: Path, required: Sequence[str], *, what: str) -> Table:
    """Read a table with a line of column names."""
    text = _text(file, what)
    lines = text.splitlines(keepends=True)
    skipped = next((n for n, line in enumerate(lines) if not line.startswith("#")), len(lines))
    comment = "".join(line[1:] for line in lines[:skipped])
    if skipped == len(lines) or not lines[skipped].strip():
        raise UsageError(f"{file} has no table", hint=f"its first line names the columns: {', '.join(required)}")
    separator = max("\t;,", key=lambda sign: lines[skipped].count(sign))
    reader = csv.reader(io.StringIO("".join(lines[skipped:]), newline=""), delimiter=separator)
    rows: list[MappingRow] = []
    try:
        columns = [name.strip() for name in next(reader)]
        _check_columns(file, columns, required, what)
        before = reader.line_num
        for cells in reader:
            line, before = skipped + before + 1, reader.line_num
            if any(cell.strip() for cell in cells[len(columns) :]):
                hint = "put a cell that holds the separator into quotes"
                raise UsageError(f"{file}, line {line}: more cells than the {len(columns)} columns", hint=hint)
            if any(cell.strip() for cell in cells):
                rows.append(MappingRow(line, dict(zip(columns, cells, strict=False))))
    except csv.Error as error:
        raise UsageError(f"{file}, line {skipped + reader.line_num}: {error}", hint="mend the quotes") from error
    return Table(comment, rows)


def _text(file: Path, what: str) -> str:
    try:
        if file.exists() and not file.is_file():
            raise UsageError(f"{file} is no regular file", hint="save its content to a file first")
        if file.stat().st_size > LARGEST:
            raise UsageError(f"{file} is larger than {LARGEST // 10**6} MB", hint=f"is it {what}?")
        raw = file.read_bytes()
    except OSError as error:
        raise UsageError(f"{file} cannot be read ({error.strerror})", hint="check the path") from error
    encoding = next((name for mark, name in _MARKS if raw.startswith(mark)), "utf-8")
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        hint = "save it as UTF-8 (in a spreadsheet: CSV UTF-8)"
        raise UsageError(f"{file}, line {line}: no {encoding} text", hint=hint) from error
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise UsageError(f"{file}, line {line}: a NUL byte", hint=f"is it {what}?")
    return text


def _check_columns(file: Path, columns: Sequence[str], required: Sequence[str], what: str) -> None:
    twice = sorted({name for name in columns if name and columns.count(name) > 1})
    if twice:
        raise UsageError(f"{file}: the column {twice[0]!r} is there twice", hint="delete one of them")
    missing = [name for name in required if name not in columns]
    if missing:
        shown = ", ".join(filter(None, columns[:12]))
        hint = f"it has {shown}; {what} needs {', '.join(required)}"
        raise UsageError(f"{file} lacks the column {missing[0]!r}", hint=hint)
