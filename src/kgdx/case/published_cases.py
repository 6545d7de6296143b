"""Patients of published collections in their forms: PMC-Patients, RareArena, RareBench, MedDialog, CMB-Clin, MIMIC-IV.

Each is told by its keys and becomes a row, which is read like any other (:mod:`kgdx.case.case_rows`), or an OSCE case.

Of MIMIC-IV a folder of tables is read that are joined by the number of the stay: wanted are ``admissions`` and notes
(``discharge``, ``noteevents`` or ``notes``); ``patients`` (sex and age), ``diagnoses_icd`` and ``d_icd_diagnoses``
(what the codes are called) say more where they are there. Each is a CSV file, gzipped or not; notes may be huge.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kgdx.case.case_rows import MAX_CELL, case_from_row, fold_name
from kgdx.case.cleaning import sanitise
from kgdx.case.patient import Case, valid
from kgdx.errors import CaseError
from kgdx.lazy import lazy_pattern

FORMS: Mapping[str, tuple[frozenset[str], tuple[str, ...]]] = {
    "PMC-Patients": (frozenset({"patient_uid"}), ("patient",)),
    "RareArena": (frozenset({"orpha_id"}), ("_id", "case_report")),
    "RareBench": (frozenset({"raredisease"}), ("phenotype",)),
    "MedDialog": (frozenset({"utterances"}), ()),
    "MedDialog's raw form": (frozenset({"dialogue_turns"}), ()),
}
"""Form → the keys by which it is known, and those that it must have besides; as :func:`fold_key` gives them."""

_PATIENT = lazy_pattern(r"\s*(?:patient|病人|患者)\s*[:：]\s*", re.IGNORECASE)
_DOCTOR = lazy_pattern(r"\s*(?:doctor|医生)\s*[:：]", re.IGNORECASE)
_PART = lazy_pattern(r"([\d.]+)['\"]?\s*,\s*['\"]?\s*(year|month|week|day|hour)", re.IGNORECASE)
_HPO = lazy_pattern(r"HP[:_]\d{7}")
_UID = lazy_pattern(r"(\d+)-\d+")
_DAYS = {"week": 7.0, "day": 1.0, "hour": 0.0}


def fold_key(name: str) -> str:
    """Return a key as keys are compared.

    Example:
        >>> fold_key("Orpha_id"), fold_key("_id")
        ('orpha_id', '_id')
    """
    return name.strip().lower()


def form_of(keys: Iterable[str]) -> str | None:
    """Return the collection that an object, or a table with such columns, is of.

    Example:
        >>> form_of({"Phenotype", "RareDisease"}), form_of({"id", "text"})
        ('RareBench', None)
    """
    folded = {fold_key(key) for key in keys}
    return next((form for form, (told, _) in FORMS.items() if told <= folded), None)


def check_columns(keys: Iterable[str], where: str) -> None:
    """Refuse an object or a table of a known collection that lacks what it must have."""
    folded = {fold_key(key) for key in keys}
    form = form_of(folded)
    missing = [each for each in FORMS[form][1] if each not in folded] if form else []
    if missing:
        message = f"{where}: it looks like {form} but has no {' and no '.join(missing)}"
        raise CaseError(message, hint="give the file as it was published")


def row_of(document: Mapping[str, Any], where: str = "case") -> dict[str, Any]:
    """Return a patient of a known collection as a row for :func:`kgdx.case.case_rows.case_from_row`."""
    form = form_of(document)
    check_columns(document, where)
    given = {fold_key(key): value for key, value in document.items()}
    if form == "PMC-Patients":
        pmid = given.get("pmid") or given["patient_uid"]
        row = _person(given) | {"id": given["patient_uid"], "text": given["patient"], "pmid": _pmid(pmid)}
    elif form == "RareArena":
        orpha = re.sub(r"\D", "", str(given["orpha_id"]))
        texts = [given["case_report"], given.get("test_results")]
        row = _person(given) | {
            "id": given["_id"],
            "text": "\n".join(_words(each, where) for each in texts if each),
            "diagnosis": f"ORPHA:{orpha}" if orpha else given.get("orpha_name") or given.get("diagnosis"),
            "pmid": _pmid(given["_id"]),
        }
    elif form == "RareBench":
        row = {"id": given.get("id"), "observed": given["phenotype"], "diagnosis": given["raredisease"]}
    else:
        row = {"id": given.get("dialogue_id"), "text": _said(given, where)}
    return {name: row[name] for name in _ORDER if row.get(name) is not None}


_ORDER = ("id", "text", "observed", "diagnosis", "age", "sex", "pmid")


_HEADING = lazy_pattern(
    r"^[ \t]*+(?:（\d++）|\(\d++\)|\d++[.、])?[ \t]*+(?P<name>[^\s（）()。，,：:]{2,12})[ \t]*+[：:]?[ \t]*+$",
    re.MULTILINE,
)
_STATED = lazy_pattern(r"诊断(?:为|是)?[ \t]*+[：:]?\s*+(?:[①1][.、]?\s*+)?(?P<name>[^\s。；;，,①②（(依]+)")
_OF_ACTOR = {"病史摘要": "History", "现病史": "History", "主诉": "Chief_Complaint", "既往史": "Past_Medical_History"}
_EXAMINED, _TESTED = "体格检查", "辅助检查"
_OF_TEST = {"实验室": "laboratory", "超声": "ultrasound", "X线": "X-ray", "心电图": "electrocardiogram"}


def osce_of_clinical(document: Mapping[str, Any], where: str = "case") -> dict[str, Any] | None:
    """Return a case of CMB-Clin in AgentClinic's form: its headings part the story, the examination and the tests.

    Returns:
        ``None`` where it is none of CMB-Clin's.
    """
    asked = document.get("QA_pairs")
    if "description" not in document or not isinstance(asked, list):
        return None
    parts = _HEADING.split(_words(document["description"], where))
    actor, examined, tests, chapter = {"History": parts[0].strip()}, list[str](), dict[str, str](), ""
    for name, text in zip(parts[1::2], (each.strip() for each in parts[2::2]), strict=True):
        chapter = name if name in (_EXAMINED, _TESTED) or not chapter or name in _OF_ACTOR else chapter
        if not text:
            continue
        if chapter == _EXAMINED:
            examined.append(text if name == _EXAMINED else f"{name}：{text}")
        elif chapter == _TESTED:
            tests[" ".join((*(english for chinese, english in _OF_TEST.items() if chinese in name), name))] = text
        else:
            actor[_OF_ACTOR.get(name, name)] = text
    answers = (each.get("answer") for each in asked if isinstance(each, Mapping))
    stated = next(filter(None, map(_STATED.search, (valid(each) for each in answers if isinstance(each, str)))), None)
    symptoms = {"Primary_Symptom": actor.pop("Chief_Complaint", "")}
    told = {name: text for name, text in actor.items() if text}
    return {
        "OSCE_Examination": {
            "Patient_Actor": {"Demographics": " ".join(told.values())[:40], **told, "Symptoms": symptoms},
            "Physical_Examination_Findings": {_EXAMINED: "\n".join(examined)},
            "Test_Results": tests,
            "Correct_Diagnosis": stated["name"] if stated else None,
        }
    }


def row_of_list(document: Sequence[Any], where: str = "case") -> dict[str, Any] | None:
    """Return a patient that is a list: findings and diagnoses (RareBench), or a dialogue (MedDialog in Chinese).

    Returns:
        The row, or ``None`` where it is neither.
    """
    if len(document) >= 2 and all(isinstance(each, list) for each in document[:2]):
        findings, diagnoses = document[:2]
        if findings and all(isinstance(each, str) and _HPO.match(each) for each in findings):
            return {"observed": findings, "diagnosis": diagnoses}
    spoken = [each for each in document if isinstance(each, str)]
    if spoken and len(spoken) == len(document) and any(_PATIENT.match(each) for each in spoken):
        return {"text": _said({"utterances": spoken}, where)}
    return None


def _person(given: Mapping[str, Any]) -> dict[str, Any]:
    return {"age": _age(given.get("age")), "sex": given.get("gender")}


def _age(value: Any) -> str | None:
    if value is None or value == "":
        return None
    parts = [(float(number), unit.lower()) for number, unit in _PART.findall(str(value)) if number.count(".") < 2]
    if not parts:
        return None if isinstance(value, list) else str(value)
    years, months = (int(sum(n for n, unit in parts if unit == wanted)) for wanted in ("year", "month"))
    days = int(sum(number * _DAYS.get(unit, 0.0) for number, unit in parts))
    found = "".join(f"{number}{letter}" for number, letter in ((years, "Y"), (months, "M"), (days, "D")) if number)
    return f"P{found or '0D'}"


def _pmid(value: Any) -> str | None:
    text = str(value).strip()
    found = _UID.fullmatch(text)
    number = found[1] if found else text.removesuffix(".0")
    return f"PMID:{number}" if number.isdecimal() else None


def _words(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise CaseError(f"{where}: a text is no text", hint="give the file as it was published")
    return valid(value).strip()


def _said(given: Mapping[str, Any], where: str) -> str:
    turns: Any = given.get("utterances")
    if turns is None and isinstance(raw := given.get("dialogue_turns"), Mapping):
        speakers, words = raw.get("speaker"), raw.get("utterance")
        if not isinstance(speakers, list) or not isinstance(words, list) or len(speakers) != len(words):
            raise CaseError(f"{where}: dialogue_turns has no speaker and utterance of one length", hint="mend it")
        patient = {0, "0", "patient", "病人", "患者"}
        pairs = zip(speakers, words, strict=True)
        turns = [f"patient: {said}" for who, said in pairs if (who.lower() if isinstance(who, str) else who) in patient]
    if not isinstance(turns, list):
        raise CaseError(f"{where}: the dialogue is no list of utterances", hint="give the file as it was published")
    texts = [_words(each, where) for each in turns]
    spoken = [_PATIENT.sub("", each, count=1) for each in texts if not _DOCTOR.match(each)]
    described = given.get("description")
    first = [_words(described, where)] if described else []
    return "\n".join(dict.fromkeys(each for each in (*first, *spoken) if each))


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
            "age": _age_at_stay(person),
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


def _age_at_stay(person: Row) -> str:
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
