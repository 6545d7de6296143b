"""Which diseases sex, age or exposure rules out: of organs that the patient lacks, pregnancy, newborns, far countries.

A text that tells of no sex, and no infancy, is not of a patient whose disease needs one.

A disease that begins early and lasts is none of these: one with a gene or a mode of inheritance is never taken for a
disease of newborns.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kgdx.arrays.sparse import Floats, Ints, mapped
from kgdx.case.patient import Case, Status
from kgdx.case.person import years_of
from kgdx.errors import StoreError
from kgdx.rank.clauses import told_by
from kgdx.rank.commonness import since_childhood
from kgdx.rank.inheritance import Sex
from kgdx.terms.qualifiers import days_of

if TYPE_CHECKING:
    from kgdx.graph.snapshot import Snapshot
    from kgdx.rank.ranking_model import RankModel
    from kgdx.rank.scorers import Scorer

PREGNANCY = r"(?i)\bpregnan|\beclampsia|preeclampsia|\bplacenta"
WOMEN = rf"{PREGNANCY}|\bovar(y|ian)\b|\buter(us|ine)\b|\bvagina|\bendometri"
MEN = r"(?i)\bprostat|\btesticular\b|\bpenile\b"
NEWBORNS = (
    r"(?i)\bneonatal\b|\bnewborn|\bprematurity\b|\binfant(ile)? botulism|necroti[sz]ing enterocolitis|\bmeconium\b"
)
FEVERS = r"(?i)h(a?e)morrhagic fever|\bdengue\b|\bebola\b|\bmarburg (?:virus )?disease|\blassa\b"
INFANTS = r"(?i)\b(?:neonatal|infantile)\b|\bcongenital syphilis|\bof prematurity\b"
PATTERNS = (PREGNANCY, WOMEN, MEN, NEWBORNS, FEVERS, INFANTS)
FEVER, LONG = "HP:0001945", 30.0
"""Without an exposure that the text tells, who has no fever or is ill for longer has no viral haemorrhagic fever."""
STATED = ("female", "male")
"""What the table of common conditions says of conditions that only one sex has."""
FERTILE = 10.0, 60.0
"""Ages in years between which a woman may be pregnant."""
EARLIER, LATER = 0.6, 1.5
"""Parts of the age at which a condition begins, and of that up to which it is seen, that rule it out."""
AT_LEAST = 5.0
"""Years beyond the oldest patients that rule a condition out at least."""
NO_NEWBORN, NO_INFANT = 2.0, 4.0
"""Ages in years from which nobody has a disease of newborns, or one of infants where no text tells of infancy."""
UNTOLD = "of one sex, which is not told, unless it fits best", "caught abroad or from animals, unless it fits best"
"""What only lacks a word of the text: left out of the list behind the first, but not of what must not be missed."""


class Gates:
    """What rules diseases out, by candidate."""

    def __init__(self, snapshot: Snapshot, model: RankModel, scorers: Mapping[str, Scorer]) -> None:
        self._snapshot, self._model = snapshot, model
        self._found = cache(self._find)
        sex = scorers.get("sex")
        self._sex = sex if isinstance(sex, Sex) else None

    def out(self, case: Case | None) -> dict[str, Ints]:
        """Return what is ruled out, in words that follow a number of diseases, with its candidates."""
        if case is None:
            return {}
        age, found, sex = None if case.age is None else years_of(case.age), dict[str, Ints](), sex_told(case)
        text = case.text if case.gene_evidence is None else ""  # a gene is found in whoever was tested
        if sex == "MALE":
            found["of women or pregnancy"] = self._found(WOMEN, "female") | self._of_sex(1)
        elif sex == "FEMALE":
            found["of men"] = self._found(MEN, "male") | self._of_sex(0)
        elif text and not told_by("male", "female").search(text):
            found[UNTOLD[0]] = self._found(WOMEN, MEN, *STATED)
        if age is not None and sex != "MALE" and not FERTILE[0] <= age <= FERTILE[1]:
            found["of pregnancy"] = self._found(PREGNANCY)
        early = bool(told_by("infancy").search(text))
        if (age is not None and age >= NO_NEWBORN) or (age is None and text and not early):
            found["of newborns"] = self._newborns
        if text and not early and (age is None or age >= NO_INFANT):
            found["that begin in infancy"] = self._found(INFANTS)
        if age is not None:
            youngest, oldest = self._ages
            found["of other ages"] = (age < youngest) | (age > oldest)
        if text and not told_by("abroad").search(text):
            found[UNTOLD[1] if _feverish(case) else "caught abroad or from animals"] = self._found(FEVERS)
        return {what: mask for what, mask in sorted(found.items(), key=lambda item: item[0] in UNTOLD) if mask.any()}

    @cached_property
    def _ages(self) -> tuple[Floats, Floats]:
        size, of = self._model.columns.size, self._model.candidates.of
        young, old = np.zeros(size), np.full(size, np.inf)
        for ages, column in ((young, "youngest"), (old, "oldest")):
            stated = self._snapshot.column("disease", column)
            use = (of >= 0) & ~np.isnan(stated)
            ages[of[use]] = stated[use]
        return EARLIER * young, np.maximum(old + AT_LEAST, LATER * old)

    def _of_sex(self, sex: int) -> Ints:
        if self._sex is None:
            return np.zeros(self._model.columns.size, bool)
        mask: Ints = np.asarray(self._sex.arrays["one"][:, sex])
        return mask

    def _find(self, *marks: str) -> Ints:
        rows = diseases_found(self._snapshot)[[(*PATTERNS, *STATED).index(each) for each in marks]].any(axis=0)
        return self._candidates(np.flatnonzero(rows))

    def _candidates(self, rows: Ints) -> Ints:
        mask = np.zeros(self._model.columns.size, bool)
        numbers = self._model.candidates.of[rows]
        mask[numbers[numbers >= 0]] = True
        return mask

    @cached_property
    def _newborns(self) -> Ints:
        hereditary = self._candidates(self._snapshot.column("associated_gene", "disease"))
        if self._sex is not None:
            hereditary |= np.asarray(self._sex.arrays["modes"]).any(axis=1)
        return self._found(NEWBORNS) & ~hereditary


def sex_told(case: Case) -> str:
    """Return a patient's sex as stated, else as organs, periods or a pregnancy that the text speaks of tell it."""
    if case.sex != "UNKNOWN" or not case.text:
        return case.sex
    told = [sex for sex in ("MALE", "FEMALE") if told_by(sex.lower()).search(case.text)]
    return told[0] if len(told) == 1 else case.sex


def _feverish(case: Case) -> bool:
    lasted = max((days_of(each.since) or 0.0 for each in case.findings if each.status is Status.PRESENT), default=0.0)
    return FEVER in case.observed and lasted <= LONG and not since_childhood(case.text)


def diseases_found(snapshot: Snapshot) -> Ints:
    """Return which diseases each pattern finds by name, and which are stated for one sex; looked for once a graph."""

    def compute(folder: Path) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        names = pa.array(snapshot.stated_names(), pa.string())
        masks = [pc.fill_null(pc.match_substring_regex(names, each), False).to_pylist() for each in PATTERNS]
        sexes = snapshot.column("disease", "patient_sex")
        np.save(folder / "found.npy", np.array([*masks, *(sexes == each for each in STATED)], bool))

    digest = hashlib.sha256("\n".join((*PATTERNS, *STATED)).encode()).hexdigest()[:8]
    folder = snapshot.derived("gates", digest, compute)
    try:
        return mapped(folder / "found.npy")
    except (OSError, EOFError, ValueError) as error:
        hint = "build the graph again with `kgdx build`"
        raise StoreError(f"what was compiled in {folder} cannot be read ({error})", hint=hint) from error
