"""A build when it is done, and the state of a graph: first what a person wants to know, then the tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.text import Text

from kgdx.ingest.pipeline.build_report import by_table
from kgdx.results.words import clean, count, seconds
from kgdx.show.changes import totals
from kgdx.show.console import plain
from kgdx.show.progress import build_progress

if TYPE_CHECKING:
    from kgdx.ingest.pipeline.build_report import BuildReport, SourceReport

__all__ = ["build_progress", "graph_path", "report", "sources_read", "state"]

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
    whole = (("Nodes", built.nodes), ("Relations", built.relations)) if built.kind == "build" else ()
    for heading, counts in whole:  # after an update they are what they were, but for what is shown as changed
        shares = {name: built.content.get(name, {}) for name, _ in _filled(counts) if name != "Source"}
        parts += [_shares(heading, shares, counts), Text()]
    facts = [
        ("stages", _times(built.seconds, hooks=False)),
        ("beside them", _times(built.seconds, hooks=True)),
        ("kept", _found(built)),
        ("memory", f"{built.peak_memory / 1e9:.1f} GB" if built.peak_memory else ""),
        ("fingerprint", built.fingerprint[:16]),
        ("graph", graph_path(built)),
    ]
    parts.append(plain(("", ""), [(Text(name, style="dim"), fact) for name, fact in facts if fact]))
    return Group(*parts)


def _verdict(built: BuildReport) -> Iterator[Text]:
    """Yield the summary lines: what the graph holds, what was refused and changed, and the next command."""
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


def _found(built: BuildReport) -> str:
    """Return how many results were taken from earlier builds."""
    found, made = sum(stage.found for stage in built.stages), sum(stage.made for stage in built.stages)
    return f"{found:,} of {count(found + made, 'result')} from earlier builds" if found else ""


def _reasons(built: BuildReport) -> RenderableType:
    rows = [(each.source, each.count, each.example) for each in built.reasons[:REASONS]]
    table = plain(("Source", "records", "such as"), rows, right=("records",))
    left = len(built.reasons) - len(rows)
    return Group(table, Text(f"… and {count(left, 'more reason')}", style="dim")) if left > 0 else table


def _changes(built: BuildReport) -> RenderableType:
    """Return the tables that differ from the build before, most first."""
    tables = sorted(by_table(built.changes or ()).items(), key=lambda item: -sum(item[1]))
    columns = ("what", "added", "removed", "changed")
    table = plain(columns, [(name, *numbers) for name, numbers in tables[:CHANGES]], right=columns[1:])
    left = len(tables) - CHANGES
    return Group(table, Text(f"… and {left} more", style="dim")) if left > 0 else table


def sources_read(sources: Mapping[str, SourceReport]) -> RenderableType:
    """Return the counts of each source's records."""
    columns = ("Source", "version", "read", "loaded", "merged", "refused")
    rows = [
        (each.name, each.version, each.read, each.loaded, each.merged, each.quarantined) for each in sources.values()
    ]
    return plain(columns, rows, right=columns[2:])


def _shares(
    heading: str, found: Mapping[str, Mapping[str, int]], totals: Mapping[str, int] | None = None
) -> RenderableType:
    """Return the count of each, and its shares by source or method."""
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
    columns = ("Source", "version", "read", "loaded", "merged", "refused")
    sources = [
        (row["id"], row["version"], row["read"], row["loaded"], row["merged"], row["quarantined"])
        for row in found["sources"]
    ]
    return Group(
        plain(("", ""), [fact for fact in head if fact[1] != ""]),
        Text(),
        plain(columns, sources, right=columns[2:]),
        Text(),
        plain(("Nodes", "count"), _filled(nodes), right=("count",)),
        Text(),
        plain(("Relations", "count"), _filled(relations), right=("count",)),
    )


def graph_path(built: BuildReport) -> Path:
    """Return the graph folder that a build is in."""
    return Path(built.path).parent.parent


def _filled(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(((name, number) for name, number in counts.items() if number), key=lambda item: -item[1])


def _times(spent: Mapping[str, float], *, hooks: bool) -> str:
    """Return the seconds of the stages, or of what a second process compiled (named ``module:function``)."""
    chosen = {name: value for name, value in spent.items() if name != "total" and (":" in name) is hooks}
    words = {name: _HOOKS.get(name.split(":")[-1], name.split(":")[-1].replace("_", " ")) for name in chosen}
    return ", ".join(f"{words[name]} {seconds(value)}" for name, value in chosen.items())
