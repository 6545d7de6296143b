"""The frame of the command line: errors in one line, exit codes, streams kept apart."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import typer

import kgdx
from kgdx.cli.commands import COMMANDS, app, application
from kgdx.errors import KgdxError, StoreError, UsageError

Run = subprocess.CompletedProcess[str]


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException], None]:
    """Makes every opening of a graph fail with an error."""

    def fail(error: BaseException) -> None:
        def broken(store: object = None) -> None:
            raise error

        monkeypatch.setattr(kgdx, "open", broken, raising=False)

    return fail


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (StoreError("no graph", hint="build one"), 6, "error: no graph: build one"),
        (UsageError("two\nlines"), 2, "error: two lines"),
        (KgdxError("\x1b[31mred"), 1, "error: \N{REPLACEMENT CHARACTER}[31mred"),
        (
            OSError(errno.ENOSPC, "No space left on device", "/d/f"),
            1,
            "error: /d/f: No space left on device: free some space, or write to another disk",
        ),
        (MemoryError(), 1, "error: out of memory: give fewer cases or sources at once"),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_an_error_is_one_line_and_its_own_exit_code(
    invoke: Callable[..., Run], failing: Callable[..., None], error: BaseException, code: int, line: str
) -> None:
    failing(error)
    done = invoke("status")
    assert done.returncode == code
    assert done.stdout == ""
    assert done.stderr.splitlines() == ([line] if line else [])


def test_a_fault_of_ours_is_said_to_be_one(invoke: Callable[..., Run], failing: Callable[..., None]) -> None:
    failing(ZeroDivisionError("oh"))
    done = invoke("status")
    assert done.returncode == 70
    assert len(done.stderr.splitlines()) == 1
    assert "please report it (ZeroDivisionError: oh)" in done.stderr


def test_debugging_shows_where(
    invoke: Callable[..., Run], failing: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(StoreError("no graph"))
    monkeypatch.setenv("KGDX_DEBUG", "1")
    assert "Traceback" in invoke("status").stderr


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (["nonsense"], "kgdx"),
        (["diagnose", "--nonsense"], "kgdx diagnose"),
        (["diagnose", "x", "--top", "0"], "kgdx diagnose"),
        (["explain", "x"], "kgdx explain"),
        (["learn", "map"], "kgdx learn map"),
    ],
)
def test_wrong_words_are_refused_in_one_line(invoke: Callable[..., Run], words: list[str], command: str) -> None:
    done = invoke(*words)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert f": see `{command} --help`" in done.stderr


def test_the_version_is_the_packages(invoke: Callable[..., Run]) -> None:
    done = invoke("--version")
    assert done.stdout == f"kgdx {kgdx.__version__}\n"
    assert done.returncode == 0


def test_every_command_has_help_with_a_first_line_that_fits(invoke: Callable[..., Run]) -> None:
    shown = invoke("--help").stdout
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    assert set(commands) >= {"build", "diagnose", "batch", "explain", "extract", "run", "status", "neo4j", "evaluate"}
    for name in commands:
        assert invoke(name, "--help").returncode == 0
    groups = [name for name, command in commands.items() if hasattr(command, "commands")]
    shown += "".join(invoke(name, "--help").stdout for name in groups)
    assert not [line for line in shown.splitlines() if line.endswith("...") and "Usage" not in line], (
        "a first line that is cut says too much"
    )


@pytest.mark.parametrize("module", COMMANDS)
def test_a_command_is_found_in_its_module_and_imports_no_other(module: str) -> None:
    for command in COMMANDS[module]:
        found = typer.main.get_command(application(command)).commands  # type: ignore[attr-defined]
        assert set(found) == set(COMMANDS[module])
    code = f"""
        import sys
        from kgdx.cli.commands import COMMANDS, application
        application({COMMANDS[module][0]!r})
        print(*(name for name in COMMANDS if f"kgdx.cli.{{name}}" in sys.modules))
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) <= {module, "output"}, "it has the option --html, too"


def test_every_command_is_in_the_help() -> None:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    assert sorted(commands) == sorted(command for names in COMMANDS.values() for command in names)


def test_a_diagnosis_needs_none_of_the_libraries_for_building_and_analysis(home: Path) -> None:
    """Each of them takes a twentieth of a second or more to import, and some are there only where a user has them."""
    heavy = {"pandas", "polars", "owlready2", "pronto", "neo4j", "torch", "openai", "pyarrow.compute"}
    code = f"""
        import sys
        from kgdx.cli import main
        try:
            main(["diagnose", "seizures and low muscle tone"])
        except SystemExit as ended:
            print(ended.code, sorted({heavy} & set(sys.modules)), file=sys.stderr)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, "KGDX_HOME": str(home)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Most likely of" in done.stdout
    assert done.stderr == "0 []\n"


def test_completion_is_offered_for_the_shell(kgdx_: Callable[..., Run]) -> None:
    detected = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}  # or it looks for a shell among its parents
    done = kgdx_("--show-completion", "bash", **detected)
    assert "_KGDX_COMPLETE" in done.stdout


def test_a_closed_pipe_is_no_error(home: Path) -> None:
    command = f"{sys.executable} -m kgdx schema --json | head -c 20"
    done = subprocess.run(
        ["bash", "-c", command], env={**os.environ, "KGDX_HOME": str(home)}, capture_output=True, text=True, check=False
    )
    assert len(done.stdout) == 20
    assert done.stderr == ""


def test_an_interrupt_ends_quietly_with_130(home: Path) -> None:
    """The command waits for standard input; the interrupt arrives there."""
    process = subprocess.Popen(
        [sys.executable, "-c", "import sys; from kgdx.cli import main; print('up', flush=True); main()", "batch", "-"],
        env={**os.environ, "KGDX_HOME": str(home)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    _, shown = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Traceback" not in shown


@pytest.mark.parametrize("words", [[], ["evaluate"], ["neo4j"]])
def test_a_group_alone_shows_its_help(invoke: Callable[..., Run], words: list[str]) -> None:
    done = invoke(*words)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("Usage: kgdx")
    assert len(done.stderr.splitlines()) > 5


@pytest.mark.parametrize(
    ("closed", "code", "says"),
    [
        ("<&-", 7, "error: standard input: it is empty"),
        (">&-", 1, "error: standard output is closed"),
        (">/dev/full", 1, "error: No space left on device: free some space"),
        ("2>&-", 7, ""),
    ],
)
def test_closed_and_full_streams_are_said_where_there_is_somewhere_to_say_it(
    home: Path, closed: str, code: int, says: str
) -> None:
    given = "diagnose -" if closed in ("<&-", "2>&-") else "diagnose seizures"
    command = f"{sys.executable} -m kgdx {given} {closed}"
    done = subprocess.run(
        ["bash", "-c", command],
        env={**os.environ, "KGDX_HOME": str(home)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code
    assert done.stderr.startswith(says)
    assert len(done.stderr.splitlines()) == (1 if says else 0)
