"""A build while it runs and when it is done, and the sources and state of a graph."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.text import Text

from kgdx.show.console import console
from kgdx.show.tables import plain
from kgdx.show.words import clean, count, seconds

if TYPE_CHECKING:
    from kgdx.load.clock import Progress
    from kgdx.load.report import BuildReport, SourceReport


@contextmanager
def build_progress() -> Iterator[Callable[[Progress], None]]:
    """Show how far a build is on standard error: a bar in a terminal, a line for each stage otherwise.

    Yields:
        The function that a build calls as it goes on.
    """
    if not sys.stderr.isatty():
        yield _stages()
        return
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.fields[stage]:<8}"),
        BarColumn(bar_width=24),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    with Bar(*columns, console=console(sys.stderr), transient=True) as bar:
        task = bar.add_task("", total=1.0, stage="")

        def tell(event: Progress) -> None:
            bar.update(task, completed=event.done, description=clean(event.detail), stage=event.stage)

        yield tell


def report(built: BuildReport) -> RenderableType:
    """A finished build: what the graph holds, what was refused, then sources, times and place."""
    total = built.seconds.get("total", 0.0)
    holds = [
        count(built.nodes.get("Disease", 0), "disease"),
        count(built.nodes.get("Phenotype", 0), "phenotype"),
        count(sum(built.relations.get(name, 0) for name in ("HAS_PHENOTYPE", "LACKS_PHENOTYPE")), "annotation"),
    ]
    parts: list[RenderableType] = [Text(f"Built in {seconds(total)}: {', '.join(holds)}", style="bold"), Text()]
    parts += [sources_read(built.sources), Text()]
    if built.reasons:
        parts += [Text("Refused records", style="yellow"), _reasons(built), Text()]
    parts += [Text(f"! {clean(warning)}", style="yellow") for warning in built.warnings]
    facts = [
        ("stages", _times(built.seconds, hooks=False)),
        ("beside them", _times(built.seconds, hooks=True)),
        ("fingerprint", built.fingerprint[:16]),
        ("graph", graph_path(built)),
    ]
    parts.append(plain(("", ""), [(Text(name, style="dim"), fact) for name, fact in facts if fact]))
    return Group(*parts)


def sources_read(sources: Mapping[str, SourceReport]) -> RenderableType:
    """What became of each source's records."""
    columns = ("Source", "version", "read", "loaded", "merged", "refused")
    rows = [
        (each.name, each.version, each.read, each.loaded, each.merged, each.quarantined) for each in sources.values()
    ]
    return plain(columns, rows, right=columns[2:])


def state(found: Mapping[str, Any]) -> RenderableType:
    """What a graph holds: place, age, content, sources."""
    built = found["build"] or {}
    nodes, relations = found["nodes"], found["relations"]
    head = [
        ("graph", found["store"]),
        ("built", f"{built.get('created', 'unknown')} by kgdx {built.get('kgdx_version', '?')}"),
        ("holds", f"{count(sum(nodes.values()), 'node')}, {count(sum(relations.values()), 'relation')}"),
        ("ontology", built.get("schema_version")),
        ("fingerprint", (built.get("fingerprint") or "unknown")[:16]),
    ]
    columns = ("Source", "version", "read", "loaded", "merged", "refused")
    sources = [
        (row["id"], row["version"], row["read"], row["loaded"], row["merged"], row["quarantined"])
        for row in found["sources"]
    ]
    return Group(
        plain(("", ""), head),
        Text(),
        plain(columns, sources, right=columns[2:]),
        Text(),
        plain(("Nodes", "count"), _filled(nodes), right=("count",)),
        Text(),
        plain(("Relations", "count"), _filled(relations), right=("count",)),
    )


def graph_path(built: BuildReport) -> Path:
    """The graph folder that a build is in."""
    return Path(built.path).parent.parent


def _filled(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(((name, number) for name, number in counts.items() if number), key=lambda item: -item[1])


def _times(spent: Mapping[str, float], *, hooks: bool) -> str:
    """Seconds of the stages, or of what was compiled in a second process (named ``module:function``)."""
    chosen = {name: value for name, value in spent.items() if name != "total" and (":" in name) is hooks}
    return ", ".join(f"{name.split(':')[-1].replace('_', ' ')} {seconds(value)}" for name, value in chosen.items())


def _reasons(built: BuildReport) -> RenderableType:
    rows = [(each.source, each.count, each.example) for each in built.reasons[:8]]
    table = plain(("Source", "records", "such as"), rows, right=("records",))
    left = len(built.reasons) - len(rows)
    return Group(table, Text(f"… and {left} more reasons", style="dim")) if left > 0 else table


def _stages() -> Callable[[Progress], None]:
    """A line on standard error whenever a stage begins."""
    seen: set[str] = set()

    def tell(event: Progress) -> None:
        if event.stage not in seen:
            seen.add(event.stage)
            print(f"{event.seconds:6.1f} s  {clean(event.stage):<8} {clean(event.detail)}", file=sys.stderr)

    return tell
