"""Read what a command is given: the graph, a file, standard input, or the patient's own words."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgdx.errors import CaseError, SourceError, UsageError
from kgdx.files.private import possible

if TYPE_CHECKING:
    from kgdx.api import Graph
    from kgdx.case import Case, Failure, FindingReader
    from kgdx.case.ddxplus_patients import Known
    from kgdx.cli.options import TermOptions
    from kgdx.ingest.pipeline.build_report import BuildProgress


def one(argument: str | None) -> Case | None:
    """Read the one case that an argument stands for; ``None`` when there is no argument."""
    from kgdx.case import Failure, case_from_text, one_case

    if argument is None:
        return None
    if argument == "-":
        given = standard_input()
        first = next(given)
        if isinstance(first, Failure):
            raise CaseError(first.message)
        if next(given, None) is not None:
            raise CaseError("standard input holds several cases", hint="use `kgdx batch -`")
        return first
    path = existing(argument)
    if path is None:
        return case_from_text(argument)
    if path.is_dir():
        raise CaseError(f"{path} is a folder", hint="diagnose its cases with `kgdx batch`")
    return one_case(path)


def existing(argument: str) -> Path | None:
    """Return the file that the argument names, or ``None`` when it is text.

    Example:
        >>> existing("fever and seizures since 3/2024") is None
        True
        >>> existing("patient.json")
        Traceback (most recent call last):
            ...
        kgdx.errors.CaseError: no such file: patient.json: check the path, or describe the patient in words
    """
    from kgdx.case import names_file

    words = argument.strip()
    if words and "\n" not in words and "\0" not in words and len(words) < 4096:
        try:
            path = Path(words).expanduser()
            if path.exists():
                return path
        except (OSError, RuntimeError):
            return None
        if names_file(words):
            raise CaseError(f"no such file: {words}", hint="check the path, or describe the patient in words")
    return None


def many(argument: str, known: Known = "all") -> Iterator[Case | Failure]:
    """Read all cases of a file or folder, or of standard input (``-``).

    Args:
        known: What is taken of a patient of DDXPlus: ``all`` evidences, or the ``first`` complaint alone.
    """
    from kgdx.case import read_cases

    return standard_input(known) if argument == "-" else read_cases(argument, known=known)


def standard_input(known: Known = "all") -> Iterator[Case | Failure]:
    """Read all cases of standard input, as :func:`many` does."""
    from kgdx.case import parse_cases

    if sys.stdin.isatty():
        raise UsageError(
            "nothing comes from standard input", hint="pipe the case in, as in `kgdx diagnose - < note.txt`"
        )
    return parse_cases(sys.stdin.buffer, known=known)


def graph(store: str | None, **how: Any) -> Graph:
    """Open the graph that a command works on; where none is named, the default one is built at its first use.

    Args:
        store: Value of ``--store``, which ``KGDX_STORE`` gives as well; a graph that is named is never built.
    """
    from kgdx.api.opening import open as open_graph
    from kgdx.cli.output import remark

    build_default(store)
    return open_graph(store, progress=remark, **how)


def build_default(store: str | None) -> None:
    """Build the default graph where no graph is named and there is none yet, with its progress on standard error."""
    if store is not None:
        return
    from kgdx.api.opening import ensure_default_graph
    from kgdx.cli.output import remark

    with ExitStack() as shown:
        show: Callable[[BuildProgress], None] | None = None

        def tell(event: BuildProgress) -> None:
            nonlocal show
            if show is None:
                from kgdx.render.terminal.build_text import build_progress

                remark("There is no graph yet: building the default one, once.")
                show = shown.enter_context(build_progress())
            show(event)

        built = ensure_default_graph(tell)
    if built is not None:
        remark("The default graph is built; `kgdx status` shows what it holds.")


def check_given(case: Case | None, terms: TermOptions) -> None:
    """Refuse a command line that gives no patient, before anything is opened or built."""
    if case is None and split(terms.withdrawn):
        raise UsageError("--not takes back what was read of a patient", hint="give the patient, too")
    if case is None and not split(terms.hpo) and not split(terms.exclude_hpo):
        raise UsageError("no patient is given", hint='as in `kgdx diagnose "fever, seizures"` or `--hpo HP:0001250`')


def with_terms(case: Case | None, terms: TermOptions, reader: FindingReader) -> Case:
    """Add the terms of ``--hpo``, ``--exclude-hpo`` and ``--not`` to a case."""
    from kgdx.case import case_from_terms
    from kgdx.case import with_terms as corrected

    check_given(case, terms)
    observed, excluded = split(terms.hpo), split(terms.exclude_hpo)
    if case is None:
        return case_from_terms(observed, reader, excluded)
    return corrected(case, reader, observed, excluded, split(terms.withdrawn))


def split(values: list[str] | None) -> list[str]:
    """Return repeated and comma-separated values as one list; a label's own comma stays, as in no HPO id.

    Example:
        >>> split(["HP:0001250,HP:0002133", "Seizure"])
        ['HP:0001250', 'HP:0002133', 'Seizure']
    """
    out: list[str] = []
    for value in values or []:
        parts = value.split(",") if "HP:" in value.upper() else [value]
        out += [part.strip() for part in parts if part.strip()]
    return out


def listed(given: str) -> list[str]:
    """Return what an option names, several with commas; a comma between the settings of one parts nothing.

    Example:
        >>> listed("split:leaders=3,widest=9, infogain")
        ['split:leaders=3,widest=9', 'infogain']
    """
    names: list[str] = []
    for each in filter(None, map(str.strip, given.split(","))):
        if names and ":" in names[-1] and "=" in each and ":" not in each:
            names[-1] += f",{each}"
        else:
            names.append(each)
    return names


def lines(argument: str) -> int | None:
    """Count the lines of a file with a case in each, for a progress bar; ``None`` for anything else."""
    if argument == "-":
        return None
    path = possible(argument)
    name = path.name.removesuffix(".gz")
    table = name.endswith((".csv", ".tsv"))
    if not path.is_file() or not (table or name.endswith((".jsonl", ".ndjson"))):
        return None
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
            return sum(1 for line in stream if line.strip()) - table
    except (OSError, EOFError):
        return None


def json_lines(argument: str) -> Iterator[dict[str, Any]]:
    """Read the objects of a JSON-lines file, compressed or not, or of standard input (``-``)."""
    from kgdx.evaluate.question_sets import object_of
    from kgdx.ingest.unpack import read_bytes

    try:
        content = sys.stdin.buffer.read() if argument == "-" else read_bytes(Path(argument))
    except SourceError as error:  # for a user these are cases like any other
        raise CaseError(error.message, hint=error.hint) from error
    for number, line in enumerate(content.splitlines(), 1):
        if line.strip():
            found = object_of(line)
            if isinstance(found, str):
                raise CaseError(f"{argument} line {number}: {found}", hint="give one JSON object a line")
            yield found
