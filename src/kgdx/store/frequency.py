"""How often a phenotype is in a disease, as a snapshot's annotations state it: a count, a percentage, or a class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kgdx.schema.frequency import FREQUENCIES
from kgdx.store.closure import Floats

if TYPE_CHECKING:
    from kgdx.store.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Stated:
    """What each row of an annotation table says; each of shape (rows,).

    Attributes:
        share: Of a frequency class (the middle of its range) or a percentage, 0 to 1; NaN where there is neither.
        positive: Patients with the phenotype; NaN where there is no count.
        patients: Patients looked at; NaN where there is no count.
    """

    share: Floats
    positive: Floats
    patients: Floats

    @property
    def frequency(self) -> Floats:
        """The count's share where there is a count, else the class or percentage; NaN where nothing is stated."""
        with np.errstate(invalid="ignore", divide="ignore"):
            counted = np.minimum(self.positive / self.patients, 1.0)
        return np.where(self.patients > 0, counted, self.share)


def stated(snapshot: Snapshot, table: str) -> Stated:
    """Return what the rows of ``has_phenotype`` or ``lacks_phenotype`` state."""
    import pyarrow as pa
    import pyarrow.compute as pc

    share = np.full(snapshot.rows(table), np.nan)
    classes = snapshot.table(table).column("frequency_class")
    found = pc.index_in(classes, value_set=pa.array(list(FREQUENCIES))).to_numpy(zero_copy_only=False)
    known = ~np.isnan(found) if found.dtype.kind == "f" else np.ones(len(found), bool)
    share[known] = np.array([each.share for each in FREQUENCIES.values()])[found[known].astype(int)]
    percentage = snapshot.column(table, "percentage").astype(float)
    share = np.where(np.isnan(share), percentage / 100, share)
    positive, patients = (snapshot.column(table, name).astype(float) for name in ("numerator", "denominator"))
    return Stated(share, positive, patients)
