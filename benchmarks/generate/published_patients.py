"""Make the table of published patients from phenopackets; `python -m benchmarks.generate.published_patients CASES OUT`.

CASES are the phenopackets of Phenopacket Store (JSON lines, gzipped or not); OUT is
data/published-patients/published-patients.tsv.gz. The same packets give the same bytes.
"""

from __future__ import annotations

import gzip
import io
import sys
from collections.abc import Sequence
from pathlib import Path

from kgdx.case import Case, read_cases

COLUMNS = ("id", "sex", "age", "observed", "excluded", "disease", "disease_label", "causal_gene", "publication")


def row(case: Case) -> str:
    """Return a patient's line: ids alone, and the disease's label, which names one that no other source does."""
    labels = case.extra.get("disease_labels", {})
    cells = (
        case.id,
        "" if case.sex == "UNKNOWN" else case.sex,
        case.age or "",
        ";".join(case.observed),
        ";".join(case.excluded),
        ";".join(case.diseases),
        next((labels[each] for each in case.diseases if each in labels), ""),
        ";".join(case.genes),
        ";".join(case.publications),
    )
    return "\t".join(" ".join(cell.split()) for cell in cells) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    cases, out = map(Path, sys.argv[1:] if arguments is None else arguments)
    rows = sorted(row(case) for case in read_cases(cases) if isinstance(case, Case))
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as stream:
        stream.write(("\t".join(COLUMNS) + "\n" + "".join(rows)).encode())
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_bytes(packed.getvalue())
    print(f"{len(rows):,} patients, {out.stat().st_size:,} bytes in {out}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
