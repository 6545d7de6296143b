"""Patients in any form that the case room reads, phenopackets among them; a file or a folder.

Findings that are given by HPO id are phenotypes; those given in words are symptoms of the source, which kgdx maps when
the graph is built. Of two patients with one id the second is refused: their findings must not be put together.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from kgdx.case import Case, Failure, Status, read_cases
from kgdx.case.ddxplus_release import PREFIX as DDXPLUS
from kgdx.errors import CaseError, SourceError
from kgdx.ingest.manifest import Manifest
from kgdx.ingest.records import RecordBuilder, Records, minted
from kgdx.ingest.sources.json_records import MAX_TEXT, phrase, problem_of_phrase
from kgdx.ingest.unpack import read_text

VERSION = "3"

FRAMES = {
    "case": "id label sex age language origin synthetic:bool text dialogue:strings",
    **dict.fromkeys(("observed", "excluded"), "case phenotype onset text"),
    **dict.fromkeys(("symptom_observed", "symptom_excluded"), "case symptom symptom_id"),
    "symptom": "id name language",
    "diagnosed": "case disease",
    "disease": "id name name_zh name_source",
    "reported": "case publication",
    "publication": "publication",
}
_STATUS = {Status.PRESENT: "observed", Status.ABSENT: "excluded"}
_PLACE = re.compile(r"(?P<file>.*?) line (?P<line>\d+)(?:: .*)?", re.DOTALL)
_HPO = re.compile(r"HP:\d{7}")
_HAN = re.compile("[\u4e00-\u9fff]")
MINTED = "case:"
"""How an id begins that was minted from a case's content."""
_SHOWN_TEXT = 200
_DDXPLUS = "ddxplus"
"""Where a case says that it is from, if it is a patient of DDXPlus."""
_DIALOGUES = "dx_dialogues"
"""The source of the DX dataset's symptoms: their ids are minted in its name, so that both sources give one node."""
_LONGEST_LINE = 1 << 17
"""Characters of a line beyond which it is taken for damage."""


def _of_packet(case: Case) -> bool:
    return case.source == "phenopacket" or (case.source == "table" and not case.text and not case.id.startswith(MINTED))


def read(path: Path, manifest: Manifest, form: str = "a case", wanted: Callable[[Case], bool] | None = None) -> Records:
    """Read the cases of a form; others are refused.

    Ids of a form that has no rules for them get the source's name in front, as two tables may well both begin at 1; a
    phenopacket's id, and one minted from the case's content, stay as they are.
    """
    building = RecordBuilder(FRAMES)
    seen: dict[str, tuple[int, str]] = {}
    try:
        for number, case in enumerate(read_cases(path), 1):
            if isinstance(case, Failure):
                file, line = _place(case.where)
                building.refuse(line, case.id, case.message, file=file)
                continue
            reason, record = None, case.id
            if wanted is not None and not wanted(case):
                reason = f"it is not {form}"
            elif case.id in seen and seen[case.id][1] != case.digest:
                reason = f"another case (record '{seen[case.id][0]}') has the id '{case.id}'"
            elif len(case.text) > MAX_TEXT:
                reason, record = f"its text has {len(case.text):,} characters", case.text[:_SHOWN_TEXT]
            if reason is not None:
                building.refuse(number, record, reason, file=str(path))
                continue
            seen.setdefault(case.id, (number, case.digest))
            _CaseRows(number, case, manifest.name, building, str(path)).add()
    except CaseError as error:
        raise SourceError(error.message, hint=error.hint) from error
    if not building.holds("case"):
        reason = building.first_reason or "it holds no case"
        raise SourceError(f"{path} has no usable case ({reason})", hint=f"give {form} in each record")
    return building.records()


read_phenopackets = partial(read, form="a GA4GH phenopacket v2", wanted=_of_packet)
read_ddxplus = partial(read, form="a patient of DDXPlus", wanted=lambda case: case.source == _DDXPLUS)


class _CaseRows:
    def __init__(self, number: int, case: Case, source: str, building: RecordBuilder, path: str) -> None:
        self.number, self.case, self.source, self.building, self.path = number, case, source, building, path
        own = source == "phenopackets" or case.source == "phenopacket" or case.id.startswith((f"{source}:", MINTED))
        self.id = case.id if own else f"{source}:{case.id}"

    def put(self, frame: str, *values: Any) -> None:
        self.building.add(frame, self.number, *values)

    def refuse(self, reason: str, record: str | None = None) -> None:
        self.building.refuse(self.number, self.case.id if record is None else record, reason, file=self.path)

    def add(self) -> None:
        case = self.case
        for issue in case.issues:
            if issue.level != "info":
                file, line = _place(issue.where)
                self.building.refuse(line, case.id, f"{issue.message}: {issue.remedy}", file=file)
        dialogue = [turn for turn in case.extra.get("dialogue", []) if turn] if case.source == "dialogue" else None
        text = case.text.replace("\0", "\ufffd") or None
        self.put(
            "case", self.id, case.id, case.sex, case.age, case.language, case.source, case.synthetic, text, dialogue
        )
        for finding in case.findings:
            if finding.status not in _STATUS:
                self.refuse(f"whether the patient has '{finding.id[:40]}' is {finding.status}")
            elif _HPO.fullmatch(finding.id):
                words = None if self.source == "phenopackets" and finding.text == finding.id else finding.text or None
                self.put(_STATUS[finding.status], self.id, finding.id, finding.onset, words)
            elif finding.id.startswith(DDXPLUS):
                self._symptom(_STATUS[finding.status], finding.id, finding.label, "en")
            elif reason := problem_of_phrase(words := phrase(finding.id)):
                self.refuse(f"'{words[:40]}' names nothing: {reason}")
            else:
                language = "zh" if _HAN.search(words) else case.language or ("en" if words.isascii() else None)
                self._symptom(_STATUS[finding.status], minted(self.source, "Symptom", words), words, language)
        labels = case.extra.get("disease_labels", {})
        if label := case.extra.get("disease_label"):  # of a table with one diagnosis a row
            labels = dict.fromkeys(case.diseases, str(label))
        for disease in case.diseases:
            label = phrase(labels.get(disease, ""))
            stated = label and not problem_of_phrase(label)
            self._disease(disease, label if stated else disease, None, self.source if stated else "id")
        if case.source != _DDXPLUS:  # its names are those of the condition that it states by id
            self._named_diseases()
        for publication in case.publications:
            self.put("reported", self.id, publication)
            self.put("publication", publication)

    def _symptom(self, status: str, identifier: str, words: str, language: str | None) -> None:
        self.put(f"symptom_{status}", self.id, words, identifier)
        self.put("symptom", identifier, words, language)

    def _named_diseases(self) -> None:
        stated = self.case.extra.get("diagnosis", [])
        for name in stated if isinstance(stated, list) else [stated]:
            words = phrase(name) if isinstance(name, str) else ""
            if reason := problem_of_phrase(words):
                self.refuse(f"the diagnosis names nothing: {reason}", str(name)[:_SHOWN_TEXT])
            else:
                chinese = words if _HAN.search(words) else None
                self._disease(minted(self.source, "Disease", words.lower()), words, chinese, None)

    def _disease(self, identifier: str, name: str, name_zh: str | None, origin: str | None) -> None:
        self.put("diagnosed", self.id, identifier)
        self.put("disease", identifier, name, name_zh, origin)


def _place(where: str) -> tuple[str, int | None]:
    found = _PLACE.fullmatch(where)
    return (found["file"], int(found["line"])) if found else (where, None)


def read_symptoms(path: Path, manifest: Manifest) -> Records:
    """Read the DX dataset's normalised symptoms, ``symptom<TAB>wording/wording/…``, as the frame ``symptom``.

    A wording that is the symptom itself, or stands twice, is left out.
    """
    building = RecordBuilder({"symptom": "id name synonyms:strings"})
    for line, raw in enumerate(read_text(path).split(b"\n"), 1):
        if not raw.strip():
            continue
        text = raw.decode("utf-8", "replace")
        if len(text) > _LONGEST_LINE:
            building.refuse(line, text, f"the line has {len(text):,} characters")
            continue
        name, tab, wordings = text.partition("\t")
        name = phrase(name)
        damaged = "it is not UTF-8 text" if "\ufffd" in text or "\0" in text else None
        reason = damaged or ("it has no tab after the symptom" if not tab else problem_of_phrase(name))
        if reason:
            building.refuse(line, text, reason)
            continue
        said = dict.fromkeys(phrase(each) for each in wordings.split("/"))
        synonyms = [each for each in said if each != name and not problem_of_phrase(each)]
        building.add("symptom", line, minted(_DIALOGUES, "Symptom", name), name, synonyms)
    if not building.holds("symptom"):
        reason = building.first_reason or "it is empty"
        raise SourceError(f"{path} has no symptom ({reason})", hint="give lines of symptom<TAB>wording/wording")
    return building.records()
