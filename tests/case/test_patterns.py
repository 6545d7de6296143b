"""Patterns over hostile texts: none takes the cube of a run's length, and those that read patients take its length."""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import cache, partial

import pytest

import kgdx
from kgdx.case.demographics import mentions
from kgdx.case.reading_limits import limited, masked_runs
from kgdx.errors import CaseError
from kgdx.lazy import _Pattern
from kgdx.policies.question_reading import _pattern, _words
from kgdx.terms.measured import statements
from kgdx.terms.measured.measured_reader import values_said

SIGNS = "\n \t,.;:-/()[]'\"=%+*|#<>_&，。；：、（）！1aAmIé我一岁\0"
READS = ("kgdx.case.", "kgdx.terms.", "kgdx.policies.question_words")
TABLES = {"kgdx.terms.measured.analytes._ALSO"}
"""Patterns of these rooms that read kgdx's own tables, whole cells at a time."""
MEASURED_S = 0.01
"""Processor time below which the growth of a pattern's time is not told."""


def patterns() -> dict[str, re.Pattern[str]]:
    """Every compiled pattern that a module of kgdx holds, by where it is."""
    found: dict[str, re.Pattern[str]] = {"kgdx.terms.measured.statements._directions": statements._directions()[1]}
    found |= {f"kgdx.policies.question_words.{name}": _pattern(name) for name in _words()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for module in pkgutil.walk_packages(kgdx.__path__, "kgdx."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    for module_name, content in list(sys.modules.items()):
        if module_name.startswith("kgdx."):
            for name, value in list(vars(content).items()):
                found |= {f"{module_name}.{name}{at}": each for at, each in _within(value)}
    unique = {(each.pattern, each.flags): where for where, each in sorted(found.items(), reverse=True)}
    return {where: found[where] for where in sorted(unique.values())}


def _within(value: object, depth: int = 3) -> Iterator[tuple[str, re.Pattern[str]]]:
    if isinstance(value, _Pattern):
        yield "", re.compile(value.pattern, value.flags)
    elif isinstance(value, re.Pattern):
        if isinstance(value.pattern, str):
            yield "", value
    elif depth and isinstance(value, dict | list | tuple | set | frozenset):
        parts = [*value.keys(), *value.values()] if isinstance(value, dict) else value
        for number, part in enumerate(parts):
            yield from ((f"[{number}]{at}", each) for at, each in _within(part, depth - 1))


def grows(
    work: Callable[[str], object],
    text: Callable[[int], str],
    *,
    most: float,
    lengths: tuple[int, ...] = (125, 250, 500, 1000),
) -> bool:
    """Whether four times the length takes more than ``most`` times the processor time, from a length that shows it."""
    for length in lengths:
        if _time(work, text(4 * length)) < MEASURED_S:
            continue
        long = min(_time(work, text(4 * length)) for _ in range(3))
        short = min(_time(work, text(length)) for _ in range(3))
        return long > MEASURED_S and long > most * short
    return False


def _time(work: Callable[[str], object], text: str) -> float:
    started = time.thread_time()
    work(text)
    return time.thread_time() - started


def ways(pattern: re.Pattern[str]) -> tuple[Callable[[str], object], ...]:
    return (lambda text: sum(1 for _ in pattern.finditer(text)), pattern.match, pattern.fullmatch)


@cache
def run_of(sign: str, length: int, *, masked: bool = False) -> str:
    text = sign * length + "x."
    return masked_runs(text) if masked else text


@pytest.mark.heavy
def test_no_pattern_takes_the_cube_of_a_run() -> None:
    found = {
        f"{where} on runs of {sign!r}"
        for where, pattern in patterns().items()
        for sign in SIGNS
        for work in ways(pattern)
        if grows(work, partial(run_of, sign), most=32.0, lengths=(200,))
    }
    assert not found


@pytest.mark.heavy
def test_patterns_that_read_patients_take_the_length_of_a_masked_run() -> None:
    assert sum(where.startswith(READS) for where in patterns()) > 150, "however they are kept, they are found"
    found = {
        f"{where} on runs of {sign!r}"
        for where, pattern in patterns().items()
        if where.startswith(READS) and where not in TABLES
        for sign in SIGNS
        for work in ways(pattern)
        if grows(work, partial(run_of, sign, masked=True), most=10.0)
    }
    assert not found


@pytest.mark.parametrize("sign", SIGNS)
def test_reading_a_note_behind_a_run_takes_its_length(sign: str) -> None:
    def read(text: str) -> object:
        return mentions(text), values_said(masked_runs(text))

    assert not grows(read, lambda length: f"{sign * length} Na {sign * length}128, a 45-year-old man", most=10.0)


def test_a_run_is_masked_in_its_place() -> None:
    text = "Seizures." + 5_000 * " " + "She is 4 years old."
    masked = masked_runs(text)
    assert len(masked) == len(text) and "\0" in masked
    assert masked.split("\0")[0].rstrip() == "Seizures." and masked.endswith("She is 4 years old.")
    usual = "a note of --------- usual signs, 1,000.50\n\n\n" * 9
    assert masked_runs(usual) == usual


def test_a_text_that_takes_too_long_is_refused_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGDX_READ_LIMIT", "0.05")
    with pytest.raises(CaseError, match=r"more than 0\.05 s of processor time: split it"), limited():
        re.match(r"(a|a)*b", "a" * 40)
    with limited():
        assert re.match("a", "a")
