"""Cases as rows of delimited tables or flat JSON objects; a bad row is named and set apart.

Column names are those that such tables have, in English and Chinese; see :data:`COLUMNS`.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kgdx.case.patient import Case, Finding, Issue, Status, usable, valid
from kgdx.case.person import (
    SEX_WORDS,
    CandidateGene,
    Family,
    GeneEvidence,
    checked_mode,
    checked_onset,
    gene_evidence,
    iso_age,
    merged,
)
from kgdx.errors import CaseError
from kgdx.lazy import lazy_pattern

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "id": ("id", "case_id", "patient_id", "case", "patient", "index", "编号", "病例号"),
    "text": (
        *("text", "raw_text", "description", "note", "narrative", "complaint", "chief_complaint", "history"),
        *("self_report", "主诉", "现病史", "病情描述", "描述", "文本"),
    ),
    "observed": (
        *("observed", "hpo", "hpo_id", "hpo_ids", "hpo_terms", "phenotype", "phenotypes", "present", "findings"),
        *("symptom", "symptoms", "表型", "症状", "阳性症状"),
    ),
    "excluded": ("excluded", "excluded_hpo", "absent", "negated", "negative", "阴性症状", "排除"),
    "diagnosis": (
        *("diagnosis", "diagnoses", "disease", "diseases", "disease_id", "disease_ids", "disease_name"),
        *("诊断", "疾病", "疾病名称"),
    ),
    "age": ("age", "年龄"),
    "sex": ("sex", "gender", "性别"),
    "language": ("language", "lang", "语言"),
    "publications": ("publications", "publication", "pmid", "pmids"),
    "genes": ("genes", "gene", "candidate_genes", "gene_evidence", "基因", "候选基因"),
    "causal_genes": ("causal_genes", "causal_gene", "致病基因"),
    "onset": ("onset", "age_at_onset", "age_of_onset", "起病年龄", "发病年龄"),
    "inheritance": ("inheritance", "mode_of_inheritance", "遗传方式"),
    "consanguineous": ("consanguineous", "consanguinity", "近亲", "近亲婚配"),
    "synthetic": ("synthetic",),
}
"""What a row can say → the columns that may say it, the first one given counting."""

CONTENT = tuple(name for part in ("text", "observed", "excluded") for name in COLUMNS[part])
"""Columns of which a table of cases has at least one."""

_CURIE = lazy_pattern(r"[A-Za-z][A-Za-z0-9_.]*:[A-Za-z0-9_.-]+")
_HPO = lazy_pattern(r"HP[:_](\d{7})(?!\d)", re.IGNORECASE)
_SEPARATORS = lazy_pattern(r"[;|\n；、]+")
_LIST_OF_IDS = lazy_pattern(r"\s*[A-Za-z][A-Za-z0-9_.]*:[^\s,，]+(?:[\s,，]+[A-Za-z][A-Za-z0-9_.]*:[^\s,，]+)+\s*")
_HAN = lazy_pattern("[\u4e00-\u9fff]")
TRUTH = {"true": True, "yes": True, "1": True, "是": True, "false": False, "no": False, "0": False, "否": False}


def is_row(keys: Iterable[str]) -> bool:
    """Say whether an object's keys are those of a row."""
    return bool({fold_name(key) for key in keys} & set(CONTENT))


def case_from_row(row: Mapping[str, Any], where: str = "case") -> Case:
    """Read one row.

    A cell holds one term or several (separated by ``;``, ``|`` or line breaks; ids also by commas); in JSON it may be a
    list. A term is an HPO id, also with its label beside it, or a phrase. A diagnosis that is no id but a name is kept
    in ``extra["diagnosis"]``, unread by any scorer.
    """
    given = {fold_name(key): value for key, value in row.items() if value is not None and value != ""}
    known = {part: _first(given, names) for part, names in COLUMNS.items()}
    issues: list[Issue] = []
    text = _text(known["text"], "text", where)
    observed, excluded = (_terms(known[part], part, where) for part in ("observed", "excluded"))
    if not (text.strip() or observed or excluded):
        raise CaseError(f"{where}: the case has no finding and no text", hint="give a column text, hpo or symptoms")
    findings = [Finding(term, Status.PRESENT, text=said) for term, said in observed]
    findings += [Finding(term, Status.ABSENT, text=said) for term, said in excluded]
    stated = [each for each, _ in _terms(known["diagnosis"], "diagnosis", where, hpo=False)]
    names = [each for each in stated if not _CURIE.fullmatch(each)]
    read = {name for part in COLUMNS.values() for name in part}
    extra: dict[str, Any] = {key: value for key, value in row.items() if fold_name(key) not in read}
    if names:
        extra["diagnosis"] = names[0] if len(names) == 1 else names
    words = " ".join((text, *(said for _, said in (*observed, *excluded))))
    remedy = "taken as synthetic, to be safe"
    made_up = _truth(known["synthetic"] or False, "synthetic", where, issues, remedy) is not False
    return Case(
        id=_text(known["id"], "id", where).strip(),
        findings=tuple(findings),
        text=text,
        sex=_sex(known["sex"], where, issues),
        age=_age(known["age"], where, issues),
        diseases=tuple(dict.fromkeys(each for each in stated if _CURIE.fullmatch(each))),
        publications=tuple(_publications(known["publications"], where)),
        genes=tuple(each for each, _ in _terms(known["causal_genes"], "causal_genes", where, hpo=False)),
        onset=usable(checked_onset, _text(known["onset"], "onset", where).strip(), "onset", where, issues),
        family=_family(known, where, issues),
        gene_evidence=_genes(known["genes"], where),
        source="table",
        language=_text(known["language"], "language", where).strip() or ("zh" if _HAN.search(words) else None),
        synthetic=made_up,
        issues=tuple(issues),
        extra=extra,
    ).identified()


def _first(given: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((given[name] for name in names if name in given), None)


def _text(value: Any, key: str, where: str) -> str:
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise CaseError(f"{where}: {key} is no text", hint="see the documented forms of a case")
    return valid(str(value))


def _terms(value: Any, key: str, where: str, *, hpo: bool = True) -> list[tuple[str, str]]:
    if value is None:
        return []
    items = value if isinstance(value, list) else _split(_text(value, key, where))
    found = []
    for item in items:
        if not isinstance(item, str):
            raise CaseError(f"{where}: a member of {key} is no text", hint=f'write "{key}": ["…", "…"]')
        said = " ".join(valid(item).split()).rstrip(".。")
        if said:
            ids = _HPO.findall(said) if hpo else []
            found.append((f"HP:{ids[0]}" if len(ids) == 1 else said, said))
    return list({term: (term, said) for term, said in reversed(found)}.values())[::-1]


def _split(text: str) -> list[str]:
    if _LIST_OF_IDS.fullmatch(text):
        return re.split(r"[\s,，]+", text.strip())
    if len(_HPO.findall(text)) > 1 and not _SEPARATORS.search(text):
        return re.split(r"[,，]", text)
    return _SEPARATORS.split(text)


def _publications(value: Any, where: str) -> Iterator[str]:
    for said, _ in _terms(str(value) if isinstance(value, int) else value, "publications", where, hpo=False):
        yield f"PMID:{said}" if said.isdecimal() else said


def _sex(value: Any, where: str, issues: list[Issue]) -> str:
    said = _text(value, "sex", where).strip().lower()
    if said not in SEX_WORDS:
        issues.append(Issue("warning", f"{where}: sex", f"{said[:40]!r} is no sex that is known", "read as unknown"))
    return SEX_WORDS.get(said, "UNKNOWN")


def _age(value: Any, where: str, issues: list[Issue]) -> str | None:
    said = _text(value, "age", where).strip()
    if not said:
        return None
    if found := iso_age(said):
        return found
    issues.append(Issue("warning", f"{where}: age", f"{said[:40]!r} is no age such as P7Y3M or 7", "ignored"))
    return None


def _family(known: Mapping[str, Any], where: str, issues: list[Issue]) -> Family:
    modes = [each for each, _ in _terms(known["inheritance"], "inheritance", where, hpo=False)]
    read = (usable(checked_mode, each, "inheritance", where, issues) for each in modes)
    related = _truth(known["consanguineous"], "consanguineous", where, issues, "ignored")
    return Family(related, (), tuple(dict.fromkeys(filter(None, read))))


def _genes(value: Any, where: str) -> GeneEvidence | None:
    if isinstance(value, list | Mapping):
        return gene_evidence(value, f"{where}: genes")
    named = re.split(r"[\s,;|，、；]+", _text(value, "genes", where).strip())
    return merged(CandidateGene(each) for each in named if each)


def _truth(value: Any, key: str, where: str, issues: list[Issue], remedy: str) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    said = str(value).strip().lower()
    if said not in TRUTH:
        issues.append(Issue("warning", f"{where}: {key}", f"{said[:40]!r} is neither true nor false", remedy))
    return TRUTH.get(said)


MAX_CELL = 10_000_000
"""Most characters of one row."""
MAX_LINES = 200
"""Most lines that a quoted cell goes over."""

_DELIMITERS = "\t,;"
_SHOWN = 500
_DAMAGED = lazy_pattern("[\udc80-\udcff\x00]")
"""Bytes that are no UTF-8 (as ``surrogateescape`` reads them), and NUL."""


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that cannot be read: its line, its beginning, and why."""

    line: int
    text: str
    reason: str


def header(line: str) -> tuple[list[str], str]:
    r"""Return a header line's column names, folded, and its delimiter.

    Example:
        >>> header("Case ID\tPhenotypes\n")
        (['case_id', 'phenotypes'], '\t')
    """
    delimiter = max(_DELIMITERS, key=line.count)
    plain = line.removeprefix("\ufeff").strip("\r\n")
    try:
        names = next(csv.reader([plain], delimiter=delimiter), [])
    except csv.Error:  # a cell without end: a note in one line, not a header
        names = [plain]
    return [fold_name(name) for name in names], delimiter


def fold_name(name: str) -> str:
    """Return a column's name as names are compared.

    Example:
        >>> fold_name(" Case-ID ")
        'case_id'
    """
    return re.sub(r"[\s_-]+", "_", name.strip().lower())


def table_rows(lines: Sequence[str], columns: Sequence[str] = ()) -> Iterator[tuple[int, dict[str, str]] | BadRow]:
    r"""Split a table; yield each row with the line it begins on, cells by their folded column names.

    A quote that is not closed spoils its own line alone.
    """
    first = next((at for at, text in enumerate(lines) if text.strip("\ufeff \t\r\n")), None)
    if first is None:
        raise CaseError("there is no table", hint="begin it with a line of column names")
    names, delimiter = header(lines[first])
    if len(set(names)) != len(names):
        raise CaseError("the header line has a column twice", hint="give each column a name of its own")
    if columns and not set(names) & set(columns):
        message = f"the header line has none of the columns {', '.join(columns)}"
        raise CaseError(message, hint="name the columns in the first line")
    csv.field_size_limit(max(csv.field_size_limit(), MAX_CELL))
    at = first + 1
    while at < len(lines):
        size, closed = _block(lines, at)
        yield from _rows(lines[at : at + size], at + 1, names, delimiter, closed)
        at += size


def _block(lines: Sequence[str], at: int) -> tuple[int, bool]:
    quotes = 0
    for size, line in enumerate(lines[at : at + MAX_LINES], 1):
        quotes += line.count('"')
        if quotes % 2 == 0:
            return size, True
    return 1, False


def _rows(
    block: Sequence[str], line: int, names: Sequence[str], delimiter: str, closed: bool
) -> Iterator[tuple[int, dict[str, str]] | BadRow]:
    text = "".join(block)
    if not text.strip():
        return
    if len(text) > MAX_CELL:
        yield BadRow(line, text[:_SHOWN], f"it has {len(text):,} characters")
    elif _DAMAGED.search(text):
        yield BadRow(line, _DAMAGED.sub("\ufffd", text[:_SHOWN]), "it holds bytes that are no text in UTF-8")
    elif not closed and re.search(rf'(?:^|{delimiter})\s*"', text):
        yield BadRow(line, text[:_SHOWN], "a quote is not closed")
    else:
        begin = line
        reader = csv.reader(block, delimiter=delimiter)
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield _row(begin, cells, names, delimiter)
            begin = line + reader.line_num


def _row(line: int, cells: list[str], names: Sequence[str], delimiter: str) -> tuple[int, dict[str, str]] | BadRow:
    if len(cells) != len(names):
        return BadRow(line, delimiter.join(cells)[:_SHOWN], f"it has {len(cells)} cells, the header has {len(names)}")
    return line, {name: cell.strip() for name, cell in zip(names, cells, strict=True) if cell.strip()}
