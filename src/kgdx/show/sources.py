"""Sources in the terminal: which there are, which file is of which, and one of one's own tried out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from kgdx.results.words import clean, count
from kgdx.show.console import plain

if TYPE_CHECKING:
    from kgdx.ingest.manifest import Manifest
    from kgdx.ingest.source_choice import Selection
    from kgdx.ingest.trial import Disagreement, Sample, Trial

NAMED = 5
"""Files of no source that are named, of which more are only counted."""
VALUE = 70
"""Characters of a value that are shown."""


def source_list(manifests: Iterable[Manifest]) -> RenderableType:
    """Return all sources that can be loaded: name, title, origin, licence."""
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
            rows = [(Text(found.name, style="bold"), _source(found)) for found in chosen]
            parts += [Text(heading), plain(("", ""), rows), Text()]
    return Group(*parts[:-1])


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
    """Return the faults of a manifest, by lines."""
    name = manifest.path.name if manifest.path else manifest.name
    head = Text(f"{clean(name)} has {count(len(problems), 'fault')}", style="bold red")
    return Group(head, plain(("line", ""), [(each.line, each.message) for each in problems], right=("line",)))


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
    return Group(*parts)


def _why(trial: Trial, reason: str, example: str) -> Text:
    rows = trial.quarantine.filter(trial.quarantine["reason"] == example)
    line, record = rows.select("line", "record").row(0) if rows.height else (None, "")
    text = Text(clean(example))
    where = "" if line is None else f"line {line:,}: "
    return text.append(f"\n{where}{clean(' '.join(record.split())[:200])}", style="dim")


def _rows(sample: Sample) -> Iterator[RenderableType]:
    """Yield a table's first rows, each property on a line."""
    yield Text(f"{clean(sample.title)}  {sample.rows:,}", style="bold")
    for row in sample.first:
        shown = {name: value for name, value in row.items() if name != "source" and value not in ([], "")}
        facts = [f"{name}: {_value(value)}" for name, value in shown.items()]
        yield Text(f"  {clean(' · '.join(facts))}")


def _value(value: object) -> str:
    text = ", ".join(str(each) for each in value) if isinstance(value, list) else str(value)
    text = " ".join(text.split())
    return f"{text[:VALUE]}…" if len(text) > VALUE else text


def _source(found: Manifest) -> Text:
    """Return a source's title; below it, its file and licence."""
    file = _short(found.default) if found.default else f"your {found.files[0] if found.files else 'file'}"
    terms = f"{found.licence}{', to be accepted' if found.accept else ''}"
    return Text(clean(found.title)).append(f"\n{clean(file)} · {clean(_short(terms))}", style="dim")


def _short(place: str) -> str:
    """Return an address as its host and file; other text as it is."""
    scheme, _, rest = place.partition("://")
    if " " in place or scheme not in ("http", "https"):
        return place
    host, _, path = rest.rstrip("/").partition("/")
    return f"{host}/…/{path.rpartition('/')[2]}" if "/" in path else f"{host}/{path}".rstrip("/")
