"""Fills the pages that are made from the project itself: templates, sources, commands and exit codes.

A page asks for one with a line ``<!-- generated: NAME -->``; an unknown name stops the build.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from typing import Any

from mkdocs.exceptions import PluginError

_MARK = re.compile(r"^<!-- generated: (\w+) -->$", re.MULTILINE)


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Replace each mark by what it names (an event of mkdocs)."""

    def fill(match: re.Match[str]) -> str:
        if match[1] not in MADE:
            raise PluginError(f"{page.file.src_path} asks for {match[1]!r}; known: {', '.join(MADE)}")
        return MADE[match[1]]()

    return _MARK.sub(fill, markdown)


def _table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [list(header), *map(list, rows)]
    lines.insert(1, ["---"] * len(lines[0]))
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def templates() -> str:
    """One table for each kind of template."""
    from kgdx.graph.templates import templates as read

    parts = []
    for kind in ("read", "write"):
        rows = [
            (
                f"`{t.name}`",
                t.purpose,
                ", ".join(f"`{name}`: {type_}" for name, type_ in t.parameters.items()),
                ", ".join(f"`{c}`" for c in t.columns),
            )
            for t in read().values()
            if t.kind == kind
        ]
        parts.append(f"## Templates that {kind}\n\n{_table(('template', 'purpose', 'parameters', 'columns'), rows)}")
    return "\n\n".join(parts)


def sources() -> str:
    """A section for each manifest."""
    import yaml

    from kgdx.resources import resource

    parts = []
    for path in sorted(resource("loaders").glob("*.yaml")):
        manifest = yaml.safe_load(path.read_text(encoding="utf-8"))
        opening = [line[2:] for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("# ")]
        facts = [("format", f"`{manifest['format']}`"), ("default", f"`{manifest.get('default') or 'none'}`")]
        facts += [(key, str(manifest[key])) for key in ("homepage", "licence", "citation") if manifest.get(key)]
        parts.append(f"## {manifest['name']}: {manifest['title']}\n\n{opening[0]}\n\n{_table(('', ''), facts)}")
    return "\n\n".join(parts)


def exit_codes() -> str:
    """A table of the errors, their exit codes and meanings."""
    from kgdx import errors

    family = [e for e in vars(errors).values() if isinstance(e, type) and issubclass(e, errors.KgdxError)]
    rows = [(str(e.exit_code), f"`{e.__name__}`", (e.__doc__ or "").strip().splitlines()[0]) for e in family]
    return _table(("exit code", "error", "meaning"), sorted(rows, key=lambda row: int(row[0])))


def commands() -> str:
    """The help of every command, as typer writes it."""
    command = [sys.executable, "-m", "typer", "kgdx.cli.commands", "utils", "docs", "--name", "kgdx"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return re.sub(r"\A\s*#[^\n]*\n", "", text)


MADE: dict[str, Callable[[], str]] = {
    "templates": templates,
    "sources": sources,
    "exit_codes": exit_codes,
    "commands": commands,
}
