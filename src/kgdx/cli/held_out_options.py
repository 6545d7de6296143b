"""Options of evaluations: which cases are held out, and where finished work is kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from kgdx.case import Case, Failure
    from kgdx.evaluate.journal import Journal

OnSplit = Annotated[
    Path | None,
    typer.Option("--split", metavar="FILE", help="Only the cases that this file of `kgdx split` holds out."),
]


def held_out_of(split: Path | None, cases: Iterator[Case | Failure]) -> Iterator[Case | Failure]:
    """Return the cases that a split holds out; all of them where there is none.

    Raises:
        CaseError: The file is no split, or not of these cases.
    """
    if split is None:
        return cases
    from kgdx.case.splits import Split

    return iter(Split.read(split).only(cases))


@contextmanager
def working(folder: Path | None, cases: Sequence[Case | Failure], about: Mapping[str, Any]) -> Iterator[Journal | None]:
    """Hold the journal of an evaluation, if there is to be one.

    Args:
        folder: That of ``--out``; ``None`` for no journal.
        cases: What is evaluated on.
        about: What else has to be the same when the evaluation goes on.

    Raises:
        UsageError: The folder holds another evaluation.
    """
    if folder is None:
        yield None
        return
    from kgdx.evaluate.journal import Journal, digest_of

    with Journal(folder).working({**about, "cases": digest_of(cases)}) as journal:
        yield journal
