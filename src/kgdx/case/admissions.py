"""Hospital stays as cases: a folder of tables in the form of MIMIC-IV, joined by the number of the stay.

Wanted are ``admissions`` and notes (``discharge``, ``noteevents`` or ``notes``); ``patients`` (sex and age),
``diagnoses_icd`` and ``d_icd_diagnoses`` (what the codes are called) say more where they are there. Each is a CSV file,
gzipped or not. The notes are read one by one: they need not fit into memory.
"""

from __future__ import annotations

import csv
import gzip
import io
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

from kgdx.case.case_rows import MAX_CELL, case_from_row, fold_name
from kgdx.case.cleaning import sanitise
from kgdx.case.patient import Case
from kgdx.errors import CaseError

STAYS = "admissions"
NOTES = ("discharge", "noteevents", "notes")
_COLUMNS: Mapping[str, tuple[str, ...]] = {
    STAYS: ("subject_id", "hadm_id"),
    **dict.fromkeys(NOTES, ("hadm_id", "text")),
    "patients": ("subject_id", "gender"),
    "diagnoses_icd": ("hadm_id", "seq_num", "icd_code"),
    "d_icd_diagnoses": ("icd_code", "long_title"),
}
"""Table → the columns that it must have."""
_MOST = 120
"""Years: older patients have an age that hides theirs."""

Row = dict[str, str]


def is_admissions(folder: Path) -> bool:
    return _table(folder, STAYS) is not None


def read_admissions(folder: Path) -> Iterator[Case | tuple[str, CaseError]]:
    """Read a case of every note of a stay; of one that cannot be read its place and what is wrong.

    The label is the stay's first diagnosis, as ``ICD10CM:`` or ``ICD9CM:`` and its code, and no scorer reads it.
    """
    stays = {row["hadm_id"]: row for row in _rows(folder, STAYS)}
    people = {row["subject_id"]: row for row in _rows(folder, "patients", wanted=False)}
    titles = {row["icd_code"].strip(): row["long_title"] for row in _rows(folder, "d_icd_diagnoses", wanted=False)}
    stated: defaultdict[str, list[Row]] = defaultdict(list)
    for row in _rows(folder, "diagnoses_icd", wanted=False):
        stated[row["hadm_id"]].append(row)
    name = next((name for name in NOTES if _table(folder, name) is not None), None)
    if name is None:
        message = f"{folder}: there are admissions, but no notes"
        raise CaseError(message, hint=f"add {' or '.join(f'{each}.csv' for each in NOTES)}")
    for number, note in enumerate(_rows(folder, name), start=2):
        where = f"{folder / name}.csv row {number}"
        stay = stays.get(note["hadm_id"])
        if stay is None:
            error = CaseError(f"{where}: its stay {note['hadm_id'][:20]!r} is not in {STAYS}", hint="add it")
            yield where, error
            continue
        codes = sorted(
            stated[note["hadm_id"]], key=lambda row: int(row["seq_num"]) if row["seq_num"].isdecimal() else 0
        )
        person = people.get(stay["subject_id"], {})
        labels = [_code(row) for row in codes[:1]]
        made = {
            "id": f"{note['hadm_id']}-{note.get('note_id') or number}",
            "text": note["text"],
            "diagnosis": labels,
            "sex": person.get("gender", ""),
            "age": _age(person),
            "diagnosis_titles": [titles.get(row["icd_code"].strip(), "") for row in codes],
        }
        try:
            yield sanitise(case_from_row(made, where))
        except CaseError as error:
            yield where, error


def _code(row: Row) -> str:
    code, ninth = row["icd_code"].strip().replace(".", ""), row.get("icd_version", "10").strip() == "9"
    at = 4 if ninth and code[:1] == "E" else 3
    return f"ICD{'9' if ninth else '10'}CM:{code[:at]}{'.' if len(code) > at else ''}{code[at:]}"


def _age(person: Row) -> str:
    years = person.get("anchor_age", "")
    return f"P{int(years)}Y" if years.isdecimal() and int(years) <= _MOST else ""


def _table(folder: Path, name: str) -> Path | None:
    ends = (".csv", ".csv.gz")
    found = (each for each in sorted(folder.rglob("*.csv*")) if each.name.lower() in {f"{name}{end}" for end in ends})
    return next(found, None)


def _rows(folder: Path, name: str, *, wanted: bool = True) -> Iterator[Row]:
    file = _table(folder, name)
    if file is None:
        if wanted:
            raise CaseError(f"{folder}: there is no {name}.csv", hint="give the folder of all tables")
        return
    csv.field_size_limit(max(csv.field_size_limit(), MAX_CELL))
    try:
        with file.open("rb") as raw:
            packed = file.suffix.lower() == ".gz"
            stream = io.TextIOWrapper(gzip.GzipFile(fileobj=raw) if packed else raw, "utf-8-sig", "replace", newline="")
            reader = csv.reader(stream)
            names = [fold_name(each) for each in next(reader, [])]
            missing = [each for each in _COLUMNS[name] if each not in names]
            if missing:
                message = f"{file}: it has no column {' and no '.join(missing)}"
                raise CaseError(message, hint=f"its header is {', '.join(names)[:200] or 'empty'}")
            for cells in reader:
                if len(cells) == len(names):
                    yield dict(zip(names, cells, strict=True))
    except (OSError, EOFError, csv.Error) as error:
        raise CaseError(f"{file}: it cannot be read ({error})", hint="fetch it again") from error
