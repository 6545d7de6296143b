"""Sources, refused records and extractions in the terminal."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from rich.console import Group as Parts
from rich.console import RenderableType
from rich.text import Text

from kgdx.render.terminal.console import console, plain
from kgdx.results.words import clean, count, seconds

if TYPE_CHECKING:
    from kgdx.ingest.extraction.extract import RelationExtraction
    from kgdx.ingest.manifest import Manifest
    from kgdx.ingest.own_source import Disagreement, TableSample, Trial
    from kgdx.ingest.pipeline.quarantine import RefusalGroup, RetryResult
    from kgdx.ingest.source_choice import Selection

ReadParts = Mapping[tuple[str, ...], Sequence[str]]
"""Methods → what they read of a source."""
NAMED = 5
"""Files of no source that are named, of which more are only counted."""
VALUE = 70
"""Characters of a value that are shown."""


def source_list(manifests: Iterable[Manifest], read: Mapping[str, ReadParts] = MappingProxyType({})) -> RenderableType:
    """Return all sources that can be loaded: name, title, origin, licence, and what of each which methods read."""
    parts: list[RenderableType] = []
    each = list(manifests)
    headings = {
        "By default: kgdx build": [found for found in each if found.standard and found.shipped],
        "On request: kgdx build NAME, NAME=PATH, or --from FOLDER": [
            found for found in each if not found.standard and found.shipped
        ],
        "Your own": [found for found in each if not found.shipped],
    }
    for heading, chosen in headings.items():
        if chosen:
            rows = [(Text(found.name, style="bold"), _source(found, read.get(found.name, {}))) for found in chosen]
            parts += [Text(heading), plain(("", ""), rows), Text()]
    return Parts(*parts[:-1])


def gathered(found: Selection) -> Iterator[str]:
    """Say which files of a folder are of which source, which of none, and which sources have no file."""
    files: dict[str, list[str]] = {}
    for name, path in found.found.files.items():
        if name in found.sources:
            files.setdefault(path.name, []).append(name)
    for file, names in files.items():
        yield f"{clean(file)} is of {', '.join(names)}"
    given = {Path(origin).absolute() for origin in found.sources.values() if origin is not None}
    unknown = [path.name for path in found.found.unknown if path.absolute() not in given]
    if unknown:
        more = f" and {len(unknown) - NAMED} more" if len(unknown) > NAMED else ""
        yield f"of no source: {clean(', '.join(unknown[:NAMED]))}{more}"
    if found.without:
        yield f"left out, since they need a file of yours: {', '.join(found.without)}"


def wrong(manifest: Manifest, problems: Sequence[Disagreement]) -> RenderableType:
    name = manifest.path.name if manifest.path else manifest.name
    head = Text(f"{clean(name)} has {count(len(problems), 'fault')}", style="bold red")
    return Parts(head, plain(("line", ""), [(each.line, each.message) for each in problems], right=("line",)))


def tried(manifest: Manifest, trial: Trial) -> RenderableType:
    """Return the outcome of a trial load: counts, reasons, rows."""
    counts = trial.counts
    verdict = f"{manifest.name}: of {count(counts.read, 'record')}, {counts.loaded:,} would be loaded"
    verdict += f", {counts.merged:,} merged with equal ones, {counts.quarantined:,} refused"
    style = "bold green" if not counts.quarantined else "bold yellow" if counts.loaded else "bold red"
    parts: list[RenderableType] = [Text(verdict, style=style)]
    if trial.against is None:
        note = "There is no graph, so that the nodes that its relations refer to were taken to be there."
    else:
        note = f"Ends of relations were looked for in the graph at {trial.against}."
    parts += [Text(clean(note), style="dim"), *(Text(f"! {clean(each)}", style="yellow") for each in trial.warnings)]
    if trial.reasons:
        rows = [(each.count, _why(trial, each.reason, each.example)) for each in trial.reasons[:NAMED]]
        parts += [Text(), plain(("refused", "why, and the first of them"), rows, right=("refused",))]
        if len(trial.reasons) > NAMED:
            parts.append(Text(f"… and {count(len(trial.reasons) - NAMED, 'more reason')}", style="dim"))
    for sample in trial.samples:
        parts += [Text(), *_rows(sample)]
    return Parts(*parts)


def _why(trial: Trial, reason: str, example: str) -> Text:
    rows = trial.quarantine.filter(trial.quarantine["reason"] == example)
    line, record = rows.select("line", "record").row(0) if rows.height else (None, "")
    text = Text(clean(example))
    where = "" if line is None else f"line {line:,}: "
    return text.append(f"\n{where}{clean(' '.join(record.split())[:200])}", style="dim")


def _rows(sample: TableSample) -> Iterator[RenderableType]:
    yield Text(f"{clean(sample.title)}  {sample.rows:,}", style="bold")
    for row in sample.first:
        shown = {name: value for name, value in row.items() if name != "source" and value not in ([], "")}
        facts = [f"{name}: {_value(value)}" for name, value in shown.items()]
        yield Text(f"  {clean(' · '.join(facts))}")


def _value(value: object) -> str:
    text = ", ".join(str(each) for each in value) if isinstance(value, list) else str(value)
    text = " ".join(text.split())
    return f"{text[:VALUE]}…" if len(text) > VALUE else text


def _source(found: Manifest, parts: ReadParts) -> Text:
    file = _short(found.default) if found.default else f"your {found.files[0] if found.files else 'file'}"
    terms = f"{found.licence}{', to be accepted' if found.accept else ''}"
    told = "".join(f"\n{', '.join(methods)}: {', '.join(read)}" for methods, read in parts.items())
    return Text(clean(found.title)).append(f"\n{clean(file)} · {clean(_short(terms))}{told}", style="dim")


def _short(place: str) -> str:
    scheme, _, rest = place.partition("://")
    if " " in place or scheme not in ("http", "https"):
        return place
    host, _, path = rest.rstrip("/").partition("/")
    return f"{host}/…/{path.rpartition('/')[2]}" if "/" in path else f"{host}/{path}".rstrip("/")


SHOWN = 100
"""Characters of a record that are shown."""
AGAIN = 10
"""Records that were refused again, of which more are only counted."""


def overview(groups: Sequence[RefusalGroup], limit: int) -> RenderableType:
    """Return why records were refused: source, count, reason, and the place of the first."""
    if not groups:
        return Text("No record is refused.")
    total = sum(group.count for group in groups)
    sources = len({group.source for group in groups})
    parts: list[RenderableType] = [Text(f"{count(total, 'record')} refused, of {count(sources, 'source')}"), Text()]
    rows = [(group.source, group.count, _reason(group)) for group in groups[:limit]]
    parts.append(plain(("Source", "records", "why, and the first of them"), rows, right=("records",)))
    if len(groups) > limit:
        left = sum(group.count for group in groups[limit:])
        more = f"… and {count(len(groups) - limit, 'more reason')} ({count(left, 'record')}): --rows {len(groups)}"
        parts.append(Text(more, style="dim"))
    parts += [Text(), Text("To mend them: kgdx quarantine export FILE.csv, then kgdx quarantine retry FILE.csv")]
    return Parts(*parts)


def retried(done: RetryResult) -> RenderableType:
    """Return the outcome of refused records that were tried again."""
    mended = sum(done.mended.values())
    if mended:
        again = len(done.refused)
        head = f"{count(mended, 'record')} mended: {mended - again:,} taken, {again:,} refused again"
    else:
        head = "The refused records were checked again"
    parts: list[RenderableType] = [
        Text(head, style="bold"),
        Text(f"refused before {done.before:,}, now {done.after:,}"),
    ]
    if done.refused:
        rows = [(row["source"], row["line"], row["reason"]) for row in done.refused[:AGAIN]]
        parts += [Text(), plain(("Source", "line", "why"), rows, right=("line",))]
        if len(done.refused) > AGAIN:
            parts.append(Text(f"… and {len(done.refused) - AGAIN:,} more", style="dim"))
    return Parts(*parts)


def _reason(group: RefusalGroup) -> Text:
    place = f"line {group.line:,}" if group.line is not None else "a record"
    where = place if group.file is None else f"{group.file.rpartition('/')[2]}, {place}"
    record = " ".join(_facts(group.record).split())
    shown = f"{record[:SHOWN]}{'…' if len(record) > SHOWN else ''}"
    return Text(clean(group.example)).append(f"\n{clean(where)}: {clean(shown)}", style="dim")


def _facts(record: str) -> str:
    try:
        found = json.loads(record)
    except ValueError:
        return record
    if not isinstance(found, dict):
        return record
    facts = [
        f"{name}: {value if isinstance(value, str | int | float) else json.dumps(value, ensure_ascii=False)}"
        for name, value in found.items()
        if value not in (None, "", [])
    ]
    return " · ".join(facts)


EVERY_S = 10.0
"""Seconds between two lines where there is no terminal."""


@contextmanager
def extraction_progress(total: int | None, priced: bool) -> Iterator[Callable[[RelationExtraction], None]]:
    """Show on standard error how far an extraction is, with rate, cost and time left.

    Yields:
        The function that the extraction calls after each page.
    """
    if not sys.stderr.isatty():
        yield _lines(total, priced)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("pages"),
        BarColumn(24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=console(sys.stderr), transient=True) as bar:
        task = bar.add_task("", total=total)

        def tell(now: RelationExtraction) -> None:
            bar.update(task, completed=now.pages + len(now.failed), description=far(now, total, priced))

        yield tell


def _lines(total: int | None, priced: bool) -> Callable[[RelationExtraction], None]:
    last = time.monotonic()

    def tell(now: RelationExtraction) -> None:
        nonlocal last
        if time.monotonic() - last >= EVERY_S:
            last = time.monotonic()
            of = f" of {total:,}" if total else ""
            print(f"page {now.pages + len(now.failed):,}{of}: {far(now, total, priced)}", file=sys.stderr)

    return tell


def far(now: RelationExtraction, total: int | None, priced: bool) -> str:
    """Return how far it is, in words: relations, records a second, cost, pages that failed, time left."""
    parts = [count(now.relations, "relation")]
    done = now.pages - now.kept
    if now.seconds > 0 and done:
        parts.append(f"{now.read_now / now.seconds:,.0f} records/s")
    if now.spent.calls or now.spent.cached:
        parts.append(_cost(now, priced))
    if now.failed:
        parts.append(f"{count(len(now.failed), 'page')} failed")
    if total and done and (left := total - now.pages - len(now.failed)) > 0:
        parts.append(f"{seconds(left * now.seconds / done)} left")
    return ", ".join(parts)


def _cost(now: RelationExtraction, priced: bool) -> str:
    spent = now.spent
    tokens = f"{spent.prompt_tokens + spent.completion_tokens:,} tokens"
    return f"{tokens}, cost {spent.cost:,.4f}" if priced else tokens


def extraction(done: RelationExtraction, priced: bool) -> RenderableType:
    """Return a finished extraction: relations by type, what was left out and why, and the cost."""
    head = f"{count(done.relations, 'relation')} from {count(done.records, 'record')} by {clean(done.model)}"
    types = [(name, f"{number:,}") for name, number in done.by_type.most_common()]
    parts: list[RenderableType] = [
        Text(head, style="bold"),
        Text(),
        plain(("Relation", "stated"), types, right=("stated",)),
    ]
    for title, reasons in (("Records refused", done.reasons), ("Statements left out", done.left_out)):
        if reasons:
            parts += [Text(), Text(title, style="yellow"), _reasons(reasons)]
    facts = [
        ("pages", f"{done.pages:,}" + (f", {done.kept:,} of them finished before" if done.kept else "")),
        (
            "time",
            f"{seconds(done.seconds)}, {done.read_now / max(done.seconds, 1e-9):,.0f} records/s"
            if done.read_now
            else "",
        ),
        ("model", _asked(done, priced)),
        ("folder", done.folder),
        ("next", f"kgdx update huatuo={done.folder}, which adds them to the graph"),
    ]
    parts += [Text(), plain(("", ""), [(Text(name, style="dim"), clean(fact)) for name, fact in facts if fact])]
    return Parts(*parts)


def _asked(done: RelationExtraction, priced: bool) -> str:
    spent = done.spent
    if not (spent.calls or spent.cached or spent.failed):
        return ""
    words = (
        f"{count(spent.calls, 'answer')}, {spent.cached:,} from the cache, {count(spent.retries, 'retry', 'retries')}"
    )
    if spent.uncounted:
        words += f", {spent.uncounted:,} without a count of tokens"
    return f"{words}, {_cost(done, priced)}"


def _reasons(reasons: Mapping[str, int]) -> RenderableType:
    rows = [(f"{number:,}", clean(reason)) for reason, number in sorted(reasons.items(), key=lambda item: -item[1])]
    return plain(("", ""), rows)
