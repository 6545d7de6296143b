"""The frame of the command line: errors in one line, exit codes, hostile terminals, and what is imported."""

from __future__ import annotations

import errno
import json
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


STEERING = "\x1b[2J\x1b]0;owned\x07Which genes\u202e belong to Aicardi syndrome?\u2028\U000e0041"


def test_a_question_cannot_steer_the_terminal(invoke: Callable[..., Run]) -> None:
    done = invoke("ask", STEERING)
    assert done.returncode == 0
    assert "Which genes" in done.stdout
    assert not set("\x1b\x07\u202e\u2028\U000e0041") & set(done.stdout + done.stderr)


def test_a_terminal_without_chinese_letters_gets_the_answer_all_the_same(
    kgdx_: Callable[..., Run], tmp_path: Path
) -> None:
    old = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    shown = kgdx_("ask", "癫痫有哪些症状?", **old)
    assert (shown.returncode, "Traceback" in shown.stderr) == (0, False)
    written = kgdx_("ask", "癫痫有哪些症状?", "--json", **old)
    assert json.loads(written.stdout)["question"] == "癫痫有哪些症状?"


def test_a_question_from_standard_input_need_not_be_text(home: Path) -> None:
    for given, code in (
        (b"\xff\xfe which genes \x00 of Aicardi syndrome?", 0),
        (b"\xff\xfe\x00", 2),
        (b"x" * 2_000_000, 2),
    ):
        environment = {**os.environ, "KGDX_HOME": str(home), "PYTHONIOENCODING": "utf-8:strict"}
        command = [sys.executable, "-m", "kgdx", "ask", "-"]
        done = subprocess.run(command, input=given, env=environment, capture_output=True, timeout=120, check=False)
        assert (done.returncode, b"Traceback" in done.stderr) == (code, False), done.stderr


def test_the_policy_of_diagnoses_answers_no_questions(invoke: Callable[..., Run]) -> None:
    done = invoke("ask", "What is ptosis?", "--policy", "fixed")
    assert done.returncode == 2
    assert done.stderr == "error: the policy fixed answers no questions: take one of planner, rules, thought\n"


def test_a_result_that_an_editor_gave_a_byte_order_mark_is_a_page(invoke: Callable[..., Run], tmp_path: Path) -> None:
    result = json.dumps({"schema": "kgdx.diagnosis/3", "case": {"id": "p"}})
    (tmp_path / "r.json").write_text(result, encoding="utf-8-sig")
    assert invoke("report", str(tmp_path / "r.json")).returncode == 0
    assert (tmp_path / "r.html").exists()


CODE = """
import atexit, sys
atexit.register(lambda: print("|".join(sorted(sys.modules)), file=sys.stderr))
from kgdx.cli import main
main(sys.argv[1:])
"""

ARGUMENTS = {"annotated_doc", "kgdx", "shellingham", "typer"}

MODELS = {"annotated_types", "platformdirs", "pydantic", "pydantic_core", "typing_extensions", "typing_inspection"}

READING = ARGUMENTS | MODELS | {"numpy", "portalocker", "rapidfuzz", "rich"}

RANKING = (READING - {"rapidfuzz"}) | {"yaml"}

STORE = {"arcadedb", "cloudpickle", "owlready2", "owlready2_optimized", "polars", "pyarrow"}

NOT_OURS = {"_distutils_hack", "dateutil", "pandas", "pytz", "six", "sitecustomize"}
"""What polars and Arrow import where it is installed, and what an environment brings."""

MODULES = Path(__file__).with_name("imported.txt")
"""A module of ours on each line, and the commands that may import it."""

PATIENT = {"id": "p", "observed": ["HP:0001250", "HP:0001252"], "excluded": ["HP:0004322"]}


@pytest.mark.parametrize(
    ("name", "arguments", "allowed"),
    [
        ("help", ("--help",), ARGUMENTS | {"kgdx_foreign", "kgdx_train"}),
        ("diagnose", ("diagnose", "FILE"), RANKING),
        ("diagnose-json", ("diagnose", "FILE", "--json"), RANKING),
        ("extract", ("extract", "No seizures. She has ptosis."), READING),
        ("ask", ("ask", "Which phenotypes does Marfan syndrome have?"), RANKING | {"rapidfuzz"} | STORE),
    ],
)
def test_a_command_imports_only_what_it_needs(
    home: Path, tmp_path: Path, request: pytest.FixtureRequest, name: str, arguments: tuple[str, ...], allowed: set[str]
) -> None:
    file = tmp_path / "patient.json"
    file.write_text(json.dumps(PATIENT))
    kept = {key: value for key, value in os.environ.items() if not key.startswith("KGDX_")}
    told = [sys.executable, "-c", CODE, *(str(file) if each == "FILE" else each for each in arguments)]
    for _ in range(2):  # the first run of a graph may compile what the next ones read
        done = subprocess.run(told, env={**kept, "KGDX_HOME": str(home)}, capture_output=True, text=True, check=False)
    modules = done.stderr.splitlines()[-1].split("|")
    assert "kgdx" in modules and done.returncode == 0, done.stderr
    found = {module.partition(".")[0] for module in modules} - set(sys.stdlib_module_names) - {"__main__"}
    found = {name for name in found if not name.startswith(("_cy", "_sysconfig", "cython_", "_polars_runtime"))}
    assert found - NOT_OURS <= allowed, sorted(found - NOT_OURS - allowed)
    ours = {module for module in modules if module.partition(".")[0] == "kgdx"}
    known = {line.partition(" ")[0]: set(line.split()[1:]) for line in MODULES.read_text("utf-8").splitlines()}
    if request.config.getoption("--update-goldens"):
        for module in {*known, *ours}:
            known[module] = known.get(module, set()) - {name} | ({name} if module in ours else set())
        lines = [" ".join([module, *sorted(users)]) + "\n" for module, users in sorted(known.items()) if users]
        MODULES.write_text("".join(lines), "utf-8")
    more = sorted(module for module in ours if name not in known.get(module, ()))
    assert not more, f"{name} imports {', '.join(more)} besides (-n 0 --update-goldens keeps what it imports now)"
