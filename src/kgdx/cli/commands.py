"""Put the commands together, and turn errors into one line and an exit code."""

from __future__ import annotations

import errno
import io
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Annotated

import typer

from kgdx.cli.options import add
from kgdx.cli.output import writes_all
from kgdx.errors import KgdxError
from kgdx.files.private import private_umask

INTERRUPTED = 130
INTERNAL = 70

COMMANDS: Mapping[str, tuple[str, ...]] = {
    "diagnose": ("diagnose", "explain", "extract", "replay", "cases"),
    "batch": ("batch",),
    "ask": ("ask",),
    "output": ("report",),
    "consult": ("consult",),
    "graphs": ("build", "update", "remove", "diff", "status", "verify", "search", "export"),
    "source_commands": ("sources", "quarantine", "extract-relations", "index"),
    "mapping_commands": ("mappings",),
    "template_commands": ("run", "templates", "schema"),
    "measure": ("evaluate",),
    "learn": ("learn", "train", "predict", "nearest", "llm"),
    "leaderboard_command": ("split", "leaderboard"),
    "databases": ("neo4j", "push", "pull", "browse"),
    "server_commands": ("mcp", "serve"),
}
"""Module of this room → its commands."""


def application(command: str | None = None) -> typer.Typer:
    """Return the command line.

    Args:
        command: The command that will be run: only its module is imported. All of them where it is none of theirs.
    """
    made = typer.Typer(
        name="kgdx",
        help="Diagnosis on a knowledge graph: from a patient's words to ranked diseases with the evidence for each.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    made.callback()(_root)
    for module in [name for name, commands in COMMANDS.items() if command in commands] or COMMANDS:
        found = import_module(f"kgdx.cli.{module}")
        if hasattr(found, "register"):  # it has groups of commands
            found.register(made)
        else:
            add(made, *(getattr(found, name) for name in COMMANDS[module]))
    return made


def __getattr__(name: str) -> typer.Typer:
    if name == "app":  # all commands, as the documentation and `python -m typer` read them
        return application()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), "app"])


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"kgdx {version('kgdx')}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit: 0 when all went well, otherwise the error's own code.

    Args:
        arguments: What follows ``kgdx`` on the command line; the process's own by default.
    """
    with private_umask():  # results, transcripts and state are of patients
        code = _run(arguments)
    sys.exit(code)


def _run(arguments: Sequence[str] | None) -> int:
    if _open_closed_streams():
        return _say("standard output is closed: send it to a file, or to /dev/null", 1)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and not writes_all(stream):
            stream.reconfigure(errors="replace")  # a question mark for a letter that it lacks, rather than no answer
    try:
        words = sys.argv[1:] if arguments is None else arguments
        code = application(words[0] if words else None)(args=arguments, prog_name="kgdx", standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:
        _close_output()
        return 1
    except (KeyboardInterrupt, typer.Abort):
        return _say("interrupted", INTERRUPTED)
    except Exception as error:
        if os.environ.get("KGDX_DEBUG"):
            traceback.print_exc()
        try:
            sys.stdout.flush()
        except OSError:
            _close_output()  # what it still holds would be written, and fail, once more as the process ends
        return _fail(error)
    return code if isinstance(code, int) else 0


def _fail(error: Exception) -> int:
    """Say what went wrong in one line; the kinds of error that can happen to anyone, then those that are our fault."""
    if isinstance(error, KgdxError):
        return _say(str(error), error.exit_code)
    if type(error).__name__ == "NoArgsIsHelpError":  # its message is the whole help
        print(error, file=sys.stderr)
        return 2
    if hasattr(error, "format_message"):  # the argument parser's own errors, whichever parser this typer carries
        asked = getattr(getattr(error, "ctx", None), "command_path", None) or "kgdx"
        return _say(f"{error.format_message().rstrip('.')}: see `{asked} --help`", 2)
    if isinstance(error, OSError):
        place = f"{str(error.filename)[:200]}: " if error.filename else ""
        hint = ": free some space, or write to another disk" if error.errno in (errno.ENOSPC, errno.EDQUOT) else ""
        return _say(f"{place}{error.strerror or error}{hint}", 1)
    if isinstance(error, MemoryError):
        return _say("out of memory: give fewer cases or sources at once", 1)
    kind = f"{type(error).__name__}: {error}"
    return _say(f"unexpected error, please report it ({kind}): KGDX_DEBUG=1 shows where", INTERNAL)


def _say(message: str, code: int) -> int:
    from kgdx.results.words import clean

    line = " ".join(clean(message).split())
    colour = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
    print(f"\x1b[1;31merror:\x1b[0m {line}" if colour else f"error: {line}", file=sys.stderr)
    return code


def _open_closed_streams() -> bool:
    """Give closed streams to /dev/null, or the next file is taken for one; return whether output was closed."""
    closed = [name for name in ("stdin", "stdout", "stderr") if getattr(sys, name) is None]
    for name in closed:
        setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w", encoding="utf-8"))  # noqa: SIM115
    return "stdout" in closed


def _close_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
