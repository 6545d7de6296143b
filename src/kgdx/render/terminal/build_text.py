"""A build while it runs and when it is done, and what two graphs differ in."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.text import Text

from kgdx.ingest.pipeline.build_report import by_table
from kgdx.lazy import lazy_pattern
from kgdx.render.terminal.console import console, plain
from kgdx.results.words import clean, count, seconds

if TYPE_CHECKING:
    from kgdx.ingest.pipeline.build_report import BuildProgress, BuildReport, Change, SourceReport
    from kgdx.ingest.pipeline.freshness import Freshness
    from kgdx.ingest.pipeline.graph_diff import Comparison

REASONS = 6
"""Reasons of refusal that are shown; `kgdx quarantine show` has them all."""
CHANGES = 12
"""Tables of which it is shown how they changed."""
_HOOKS = {"compile_if_annotated": "rank model", "build_dictionary": "dictionary"}
"""How what is compiled beside a build is called."""
_VERBS = {"build": "Built", "update": "Updated", "remove": "Removed"}


def report(built: BuildReport) -> RenderableType:
    """Return the summary of a finished build, its refusals and changes, the next command, and then the tables."""
    parts: list[RenderableType] = [*_verdict(built), Text()]
    if built.reasons:
        parts += [Text("Refused", style="yellow"), _reasons(built), Text()]
    if built.changes:
        parts += [Text("Changed"), _changes(built), Text()]
    parts += [sources_read(built.sources), Text()]
    if built.mappings and built.kind == "build":
        parts += [_shares("What is the same, by method", built.mappings), Text()]
    if built.near and built.kind == "build":
        parts += [_shares("What is broader, narrower or close, and not the same", built.near), Text()]
    whole = (("Nodes", built.nodes), ("Relations", built.relations)) if built.kind == "build" else ()
    for heading, counts in whole:  # after an update they are what they were, but for what is shown as changed
        shares = {name: built.content.get(name, {}) for name, _ in _filled(counts) if name != "Source"}
        parts += [_shares(heading, shares, counts), Text()]
    found, made = (sum(getattr(stage, kind) for stage in built.stages) for kind in ("found", "made"))
    facts = [
        ("stages", _times(built.seconds, hooks=False)),
        ("beside them", _times(built.seconds, hooks=True)),
        ("kept", f"{found:,} of {count(found + made, 'result')} from earlier builds" if found else ""),
        ("memory", f"{built.peak_memory / 1e9:.1f} GB" if built.peak_memory else ""),
        ("fingerprint", built.fingerprint[:16]),
        ("graph", Path(built.path).parent.parent),
    ]
    parts.append(plain(("", ""), [(Text(name, style="dim"), fact) for name, fact in facts if fact]))
    return Group(*parts)


def _verdict(built: BuildReport) -> Iterator[Text]:
    done = f"{_VERBS.get(built.kind, 'Built')} in {seconds(built.seconds.get('total', 0.0))}"
    files = sum(bool(source.origin) for source in built.sources.values())
    nodes, relations = sum(built.nodes.values()), sum(built.relations.values())
    fine = not built.quarantined and not built.warnings
    holds = f"{count(nodes, 'node')} and {count(relations, 'relation')} of {count(files, 'source')}"
    yield Text(f"{done}: the graph is ready, {holds}.", style="bold green" if fine else "bold")
    read = sum(source.read for source in built.sources.values() if source.origin)
    refused = built.quarantined
    if refused:
        was = "was" if refused == 1 else "were"
        yield Text(f"{refused:,} of {count(read, 'record')} {was} refused, the rest is in it.", style="yellow")
    else:
        yield Text(f"None of {count(read, 'record')} was refused.")
    if built.changes is not None:
        yield Text(f"Different from before: {totals(built.changes) if built.changes else 'nothing'}.")
    for warning in built.warnings:
        yield Text(f"! {clean(warning)}", style="yellow")
    yield Text("Next: kgdx quarantine show" if refused else 'Next: kgdx diagnose "…"', style="dim")


def _reasons(built: BuildReport) -> RenderableType:
    rows = [(each.source, each.count, each.example) for each in built.reasons[:REASONS]]
    table = plain(("Source", "records", "such as"), rows, right=("records",))
    left = len(built.reasons) - len(rows)
    return Group(table, Text(f"… and {count(left, 'more reason')}", style="dim")) if left > 0 else table


def _changes(built: BuildReport) -> RenderableType:
    tables = sorted(by_table(built.changes or ()).items(), key=lambda item: -sum(item[1]))
    columns = ("what", "added", "removed", "changed")
    table = plain(columns, [(name, *numbers) for name, numbers in tables[:CHANGES]], right=columns[1:])
    left = len(tables) - CHANGES
    return Group(table, Text(f"… and {left} more", style="dim")) if left > 0 else table


def sources_read(sources: Mapping[str, SourceReport]) -> RenderableType:
    """Return the counts of each source's records."""
    each = sources.values()
    return _sources([(one.name, one.version, one.read, one.loaded, one.merged, one.quarantined) for one in each])


def _sources(rows: Sequence[Sequence[object]]) -> RenderableType:
    columns = ("Source", "version", "read", "loaded", "merged", "refused")
    return plain(columns, rows, right=columns[2:])


def _shares(
    heading: str, found: Mapping[str, Mapping[str, int]], totals: Mapping[str, int] | None = None
) -> RenderableType:
    rows = []
    for name, shares in found.items():
        total = sum(shares.values()) if totals is None else totals[name]
        ordered = _filled(shares)
        of_it = ordered[0][0] if len(ordered) == 1 else ", ".join(f"{each} {number:,}" for each, number in ordered)
        rows.append((name, total, Text(clean(of_it), style="dim")))
    return plain((heading, "count", "of"), rows, right=("count",))


def state(found: Mapping[str, Any]) -> RenderableType:
    """Return what a graph holds: place, age, content, sources."""
    built = found["build"] or {}
    nodes, relations = found["nodes"], found["relations"]
    refused = sum(row["quarantined"] or 0 for row in found["sources"])
    head = [
        ("graph", found["store"]),
        ("built", f"{built.get('created', 'unknown')} by kgdx {built.get('kgdx_version', '?')}"),
        ("holds", f"{count(sum(nodes.values()), 'node')}, {count(sum(relations.values()), 'relation')}"),
        ("refused", f"{count(refused, 'record')}, see kgdx quarantine show" if refused else ""),
        ("ontology", built.get("schema_version")),
        ("fingerprint", (built.get("fingerprint") or "unknown")[:16]),
    ]
    keys = ("id", "version", "read", "loaded", "merged", "quarantined")
    described = [(name, alone, shared) for name, (alone, shared) in found.get("candidates", {}).items()]
    ranked = ("Candidates of ranking, described by", "it alone", "others, too")
    told: list[RenderableType] = [Text(), plain(ranked, described, right=ranked[1:])] if described else []
    return Group(
        plain(("", ""), [fact for fact in head if fact[1] != ""]),
        Text(),
        _sources([[row[key] for key in keys] for row in found["sources"]]),
        *told,
        Text(),
        plain(("Nodes", "count"), _filled(nodes), right=("count",)),
        Text(),
        plain(("Relations", "count"), _filled(relations), right=("count",)),
    )


def _filled(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(((name, number) for name, number in counts.items() if number), key=lambda item: -item[1])


def _times(spent: Mapping[str, float], *, hooks: bool) -> str:
    chosen = {name: value for name, value in spent.items() if name != "total" and (":" in name) is hooks}
    words = {name: _HOOKS.get(name.split(":")[-1], name.split(":")[-1].replace("_", " ")) for name in chosen}
    return ", ".join(f"{words[name]} {seconds(value)}" for name, value in chosen.items())


SURE = 0.05
"""Part of the whole before which nothing is said of the time that is left."""


@dataclass(slots=True)
class Pace:
    """How fast a stage goes: reset when another begins, or when its counts start again."""

    stage: str = ""
    begun: float = 0.0
    first: int = 0
    last: int = 0

    def rate(self, event: BuildProgress) -> str:
        """Say how many rows or bytes are done in a second; nothing where that cannot be said yet.

        Example:
            >>> from kgdx.ingest.pipeline.build_report import BuildProgress
            >>> pace = Pace()
            >>> pace.rate(BuildProgress("load", "", 0.5, 10.0, rows=0))
            ''
            >>> pace.rate(BuildProgress("load", "", 0.6, 12.0, rows=500_000))
            '250,000 rows/s'
        """
        now = event.bytes or event.rows
        if event.stage != self.stage or now < self.last:
            self.stage, self.begun, self.first = event.stage, event.seconds, now
        self.last = now
        spent, done = event.seconds - self.begun, now - self.first
        if spent <= 0 or done <= 0:
            return ""
        return f"{done / spent / 1e6:.1f} MB/s" if event.bytes else f"{done / spent:,.0f} rows/s"

    def left(self, event: BuildProgress) -> str:
        """Say how much time is left, by what is done of the whole, or of the file that arrives.

        Example:
            >>> from kgdx.ingest.pipeline.build_report import BuildProgress
            >>> Pace().left(BuildProgress("load", "", 0.5, 10.0)), Pace().left(BuildProgress("load", "", 0.01, 10.0))
            ('0:10 left', '')
        """
        if event.stage == "fetch":
            spent, arrived = event.seconds - self.begun, event.bytes - self.first
            seconds = spent * (event.total - event.bytes) / arrived if event.total and arrived > 0 else None
        else:
            seconds = event.seconds * (1 - event.done) / event.done if SURE <= event.done < 1 else None
        return "" if seconds is None else f"{int(seconds // 60)}:{int(seconds % 60):02} left"


@contextmanager
def build_progress() -> Iterator[Callable[[BuildProgress], None]]:
    """Show how far a build is on standard error.

    Yields:
        The function that a build calls as it goes on.
    """
    if not sys.stderr.isatty():
        yield _stages()
        return
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.fields[stage]:<7}"),
        BarColumn(bar_width=12),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[pace]}"),
        TextColumn("{task.description}"),
    )
    screen, pace = console(sys.stderr), Pace()
    with Bar(*columns, console=screen, transient=True) as bar:
        task = bar.add_task("", total=1.0, stage="start", pace="")

        def tell(event: BuildProgress) -> None:
            said = "  ".join(words for words in (pace.rate(event), pace.left(event)) if words)
            room = max(8, screen.width - 42 - len(said))
            detail = clean(event.detail)
            shown = f"{detail[: room - 1]}…" if len(detail) > room else detail
            bar.update(task, completed=event.done, description=shown, stage=event.stage, pace=said)

        yield tell


def _stages() -> Callable[[BuildProgress], None]:
    seen: set[str] = set()

    def tell(event: BuildProgress) -> None:
        if event.stage not in seen:
            seen.add(event.stage)
            print(f"{event.seconds:6.1f} s  {clean(event.stage):<8} {clean(event.detail)}", file=sys.stderr)

    return tell


SHOWN = 3
"""How many examples of each table are shown."""
_STYLES = {"+": "green", "-": "red", "~": "yellow"}
_MINTED = lazy_pattern(r"KGDX:\w+\.[0-9a-f]{16}")


def comparison(found: Comparison, examples: int = SHOWN) -> RenderableType:
    """Return the difference between two graphs by table and source, with examples."""
    if not found.changes:
        return Text(f"{clean(found.new)} holds the same as {clean(found.old)}.")
    head = Text(f"From {clean(found.old)} to {clean(found.new)}: {totals(found.changes)}", style="bold")
    parts: list[RenderableType] = [head]
    width = max(len(f"  {each.source}") for each in found.changes)
    for table, changes in groupby(found.changes, key=lambda change: change.table):
        each = list(changes)
        parts += [Text(), Text(clean(table), style="bold")]
        for change in each:
            numbers = ((change.added, "added"), (change.removed, "removed"), (change.changed, "changed"))
            said = ", ".join(f"{number:,} {word}" for number, word in numbers if number)
            parts.append(Text(f"  {clean(change.source)}".ljust(width)).append(f"  {said}", style="dim"))
        chosen = _some([one for change in each for one in change.examples], examples)
        if chosen:
            rows = [("   ", Text(one[0], style=_STYLES[one[0]]), _called(one[2:], found.names)) for one in chosen]
            parts.append(plain(("", "", ""), rows))
    return Group(*parts)


def _called(row: str, names: Mapping[str, str]) -> str:
    words = [row] if row in names or row.count(" ") != 1 else row.split(" ")
    return " → ".join(_name(word, names.get(word, "")) for word in words)


def _name(id: str, name: str) -> str:
    if not name or name == id:
        return id
    return name if _MINTED.fullmatch(id) else f"{name} ({id})"


def totals(changes: Sequence[Change]) -> str:
    added, removed, changed = (sum(getattr(each, kind) for each in changes) for kind in ("added", "removed", "changed"))
    return f"{count(added, 'row')} added, {count(removed, 'row')} removed, {count(changed, 'node')} changed"


def freshness(found: Freshness) -> RenderableType:
    """Return how the graph was last built, and which sources are stale."""
    stale = [each for each in found.sources if each.stale]
    facts = [
        ("last", f"{found.kind} at {found.created}, {seconds(found.seconds)}"),
        ("stages", f"{count(found.kept, 'result')} kept, {found.kept_bytes / 1e6:,.0f} MB"),
    ]
    parts: list[RenderableType] = [plain(("", ""), facts)]
    for each in stale:
        parts.append(Text(f"! {clean(each.name)}: {each.stale} ({clean(each.origin)})", style="yellow"))
    if stale:
        parts.append(Text(f"  bring it up to date with `kgdx update {' '.join(each.name for each in stale)}`", "dim"))
    if found.absent:
        rows = [(each.name, Text(clean(each.worth)).append(f"\n{clean(each.command)}", "dim")) for each in found.absent]
        parts += [Text(), plain(("not loaded", "what the graph lacks without it"), rows)]
    return Group(*parts)


def _some(examples: Sequence[str], limit: int) -> list[str]:
    first = [next(one for one in examples if one[0] == sign) for sign in dict.fromkeys(one[0] for one in examples)]
    return [*first, *(one for one in examples if one not in first)][:limit]
