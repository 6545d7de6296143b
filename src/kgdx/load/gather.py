"""The first stages of a build: each source is fetched and parsed, unless it would be read as it was before."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from kgdx.errors import SourceError
from kgdx.load import corrections
from kgdx.load.choice import Wanted
from kgdx.load.clock import Clock
from kgdx.load.fetch import Fetched, fetch
from kgdx.load.order import Choice, Work
from kgdx.load.parse import Parsed, mapping_digest, parse, recipe
from kgdx.load.sources import FOLDERS
from kgdx.load.tables import BuiltSource


def gather(work: Work, choice: Choice) -> tuple[list[Parsed], dict[str, BuiltSource]]:
    """Fetch and parse all sources.

    Returns:
        The parsed sources in the order of the choice, and for an update what was read of each, and where.

    Raises:
        SourceError: A source is missing, or not what it should be.
    """
    fetched, kept = _fetch(work, choice)
    parsed = _parse(work, choice, fetched, kept)
    sources = {
        each.source: choice.kept[each.source]
        if each.source in kept
        else _source(each, choice.wanted[each.source], fetched[each.source], work)
        for each in parsed
    }
    return parsed, sources


def _fetch(work: Work, choice: Choice) -> tuple[dict[str, Fetched], dict[str, Parsed]]:
    """The files of the sources, and those sources that need not be looked at."""
    clock, order = work.clock, work.order
    fetched: dict[str, Fetched] = {}
    kept: dict[str, Parsed] = {}
    with clock.stage("fetch", "looking for the sources"):
        started = clock.elapsed
        for name, wanted in choice.wanted.items():
            title = wanted.manifest.title
            clock.tell("fetch", title)
            if (found := _as_before(work, name, choice)) is not None:
                kept[name] = found
                continue
            arrived = partial(_arrived, clock, title)
            held = wanted.manifest.checksum if wanted.origin == wanted.manifest.default else None
            try:
                folder = wanted.manifest.format in (*FOLDERS, *order.readers)
                file = fetch(
                    wanted.origin, order.cache, expected=held, progress=arrived, digests=work.digests, folder=folder
                )
            except SourceError as error:
                raise _without_download(error, name, choice) from error
            fetched[name] = file
            work.remarks += [file.note] if file.note else []
        work.note("fetch", "files", len(fetched), len(kept), clock.elapsed - started)
    return fetched, kept


def _parse(work: Work, choice: Choice, fetched: Mapping[str, Fetched], kept: Mapping[str, Parsed]) -> list[Parsed]:
    """Parse two sources at a time."""
    clock, order = work.clock, work.order
    mended = corrections.read(order.folder.path)
    with clock.stage("parse", "reading the sources"), ThreadPoolExecutor(2) as pool:
        jobs = {
            name: pool.submit(
                parse,
                choice.wanted[name],
                where,
                work.stages,
                work.digests,
                work.schema,
                readers=order.readers,
                mended=mended.get(name),
            )
            for name, where in fetched.items()
        }
        parsed = []
        try:
            for number, (name, wanted) in enumerate(choice.wanted.items()):
                each = kept[name] if name in kept else jobs[name].result()
                parsed.append(each)
                work.note("parse", name, int(each.stage.made), int(not each.stage.made), each.seconds)
                clock.tell("parse", wanted.manifest.title, (number + 1) / len(choice.wanted))
        finally:
            pool.shutdown(cancel_futures=True)  # of a source that cannot be read one hears at once
    return parsed


def _as_before(work: Work, name: str, choice: Choice) -> Parsed | None:
    """A source as it was read before, if it need not be looked at: it would be read alike, and the stage is there."""
    if name not in choice.kept:
        return None
    before, wanted = choice.kept[name], choice.wanted[name]
    now = recipe(wanted, Path(before.path), work.order.readers, work.schema), mapping_digest(wanted)
    if (before.recipe, before.mapping) != now:
        return None
    stage = work.stages.find(before.parsed)
    return None if stage is None else Parsed(name, stage)


def _source(parsed: Parsed, wanted: Wanted, fetched: Fetched, work: Work) -> BuiltSource:
    return BuiltSource(
        fetched.origin,
        str(fetched.path),
        fetched.checksum,
        parsed.stage.name,
        recipe(wanted, fetched.path, work.order.readers, work.schema),
        mapping_digest(wanted),
        parsed.stated,
    )


def _without_download(error: SourceError, name: str, choice: Choice) -> SourceError:
    """Say which sources are downloaded, and how to do without them, where one could not be."""
    remote = [each for each, wanted in choice.wanted.items() if wanted.origin.startswith(("http://", "https://"))]
    if name not in remote:
        return error
    others = f"; to build without {', '.join(remote)}, name the sources that you have, or give `--from FOLDER` alone"
    return SourceError(f"{name}: {error.message}", hint=f"{error.hint or ''}{others}")


def _arrived(clock: Clock, title: str, arrived: int, total: int) -> None:
    clock.tell("fetch", f"{title}: {arrived / 1e6:.1f} MB", bytes=arrived, total=total)
