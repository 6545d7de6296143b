"""An index of texts on the disk, made in shards and segments: what was finished before an interruption is kept.

Records are read in order. A shard holds those of some twenty thousand pieces and says where reading goes on after it;
fifty shards become a segment (:mod:`kgdx.terms.text_segment`), so that memory is bounded by a segment's words, and all
segments answer as one index (:mod:`kgdx.terms.text_ranking`).
"""

from __future__ import annotations

import errno
import json
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from kgdx.errors import StaleSnapshotError, StoreError, UsageError
from kgdx.files import known
from kgdx.files.locks import take
from kgdx.files.private import private_file, private_folder
from kgdx.terms.text_ranking import Parameters
from kgdx.terms.text_segment import TextPiece, TextSegment, digests_of, merge, write
from kgdx.terms.word_index import VERSION

SCHEMA = "kgdx.texts/2"
CARD = "card.json"
SHARD = 20_000
"""Pieces of a shard."""
SEGMENT = 50
"""Shards of a segment."""
NAMED = 20
"""Records that were refused are named up to so many."""

Tell = Callable[[str], None]
Place = tuple[int, int]
"""Number of a file, and of a record in it."""


@dataclass(frozen=True, slots=True)
class TextRecord:
    """What was read at a place: a line of a file or a whole document; one without pieces was refused for a reason."""

    at: Place
    pieces: tuple[TextPiece, ...] = ()
    reason: str = ""
    where: str = ""


Records = Callable[[Place], Iterator[TextRecord]]
"""Reads all records from a place on, in an order that never changes."""


def plain(pieces: Callable[[], Iterator[TextPiece]]) -> Records:
    """Return a reader of pieces that are quickly made again, each a record of its own."""

    def records(start: Place) -> Iterator[TextRecord]:
        return (TextRecord((0, row), (piece,)) for row, piece in enumerate(pieces()) if row >= start[1])

    return records


@dataclass(slots=True)
class Tally:
    """What became of the records: how many were read and kept, why how many others are not, and the first of those."""

    records: int = 0
    kept: int = 0
    refused: dict[str, int] = field(default_factory=dict)
    named: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        self.records += other.records
        self.kept += other.kept
        self.refused = dict(Counter(self.refused) + Counter(other.refused))
        self.named = (self.named + other.named)[:NAMED]


@dataclass(frozen=True, slots=True)
class Sizes:
    """How an index is divided: pieces of a shard, shards of a segment."""

    shard: int = SHARD
    segment: int = SEGMENT


def build(
    folder: Path,
    fingerprint: str,
    records: Records,
    tell: Tell | None = None,
    parameters: Parameters | None = None,
    sizes: Sizes = Sizes(),
) -> Path:
    """Make an index where there is none of the fingerprint yet; of two processes the second waits for the first."""
    if parameters is not None and not (0 <= parameters.k1 <= 1000 and 0 <= parameters.b <= 1):
        raise UsageError(f"k1 {parameters.k1:g} and b {parameters.b:g} cannot be used", hint="k1 ≥ 0 and 0 ≤ b ≤ 1")
    try:
        private_folder(folder.parent)
        with private_file(folder.with_name(f"{folder.name}.lock")).open("rb") as lock:
            take(lock.fileno())
            if stale(folder, fingerprint) is None:
                _weigh(folder, parameters)
                return folder
            work = private_folder(folder.with_name(f"{folder.name}.partial"))
            _make(work, fingerprint, records, tell or (lambda _: None), sizes)
            _finish(work, fingerprint, parameters or Parameters())
            shutil.rmtree(folder, ignore_errors=True)
            known.place(work / "whole", folder)
            shutil.rmtree(work)
    except (OSError, ValueError, pa.ArrowException) as error:
        full = isinstance(error, OSError) and error.errno in (None, errno.ENOSPC, errno.EDQUOT)  # numpy tells no number
        hint = "free some disk space, and start it again: it goes on where it was" if full else "look at the folder"
        raise StoreError(f"the texts' index {folder} cannot be written ({error})", hint=hint) from error
    return folder


def stale(folder: Path, fingerprint: str | None = None) -> str | None:
    """Return what is wrong with an index, or ``None`` where it can be used."""
    try:
        card = json.loads((folder / CARD).read_bytes())
        if card["schema"] != SCHEMA or card["words"] != VERSION:
            return "it was made by another version"
        files = known.from_document(card["files"])
        if fingerprint is not None and card["fingerprint"] != fingerprint:
            return "it was made from other texts"
    except FileNotFoundError:
        return "there is none"
    except (OSError, ValueError, KeyError, TypeError) as error:
        return f"its card is damaged ({error})"
    wrong = known.faults(folder, files)
    return f"it is damaged: {wrong[0]}" if wrong else None


def _weigh(folder: Path, parameters: Parameters | None) -> None:
    card = json.loads((folder / CARD).read_bytes())
    if parameters is not None and Parameters(card["k1"], card["b"]) != parameters:
        known.write_whole(folder / CARD, json.dumps(card | parameters._asdict(), indent=1))


def _make(work: Path, fingerprint: str, records: Records, say: Tell, sizes: Sizes) -> None:
    started = json.dumps([SCHEMA, VERSION, fingerprint, sizes.shard, sizes.segment])
    if (work / CARD).exists() and (work / CARD).read_text() != started:
        shutil.rmtree(work)
        private_folder(work)
    known.write_whole(work / CARD, started)
    for name in ("whole", "shards"):
        private_folder(work / name)
    shutil.rmtree(work / "whole" / "unfinished", ignore_errors=True)
    segments = [TextSegment(each) for each in sorted((work / "whole").glob("0*"))]
    merged = segments[-1].about["shards"] if segments else 0
    shards = []
    for each in sorted((work / "shards").glob("0*")):
        if int(each.name) < merged:  # its segment was finished, and the removal not
            shutil.rmtree(each)
        else:
            shards.append(TextSegment(each))
    last = shards[-1] if shards else segments[-1] if segments else None
    start: Place = tuple(last.about["after"]) if last else (0, 0)
    begin, read = time.monotonic(), 0
    for batch in _batches(records(start), sizes.shard):
        number = merged + len(shards)
        new, about = _unlike_before(batch, [*segments, *shards])
        digests = digests_of(record.pieces[0].id for record in new)
        write(work / "shards" / f"{number:06d}", [piece for record in new for piece in record.pieces], digests, about)
        shards.append(TextSegment(work / "shards" / f"{number:06d}"))
        read += len(batch)
        done, rate = sum(map(len, [*segments, *shards])), read / (time.monotonic() - begin)
        say(f"{done:,} pieces, {rate:,.0f} records a second")
        if len(shards) == sizes.segment:
            merged += len(shards)
            segments.append(_merge(work, len(segments), shards, merged))
            shards = []
    if shards:
        _merge(work, len(segments), shards, merged + len(shards))


def _merge(work: Path, number: int, shards: Sequence[TextSegment], last: int) -> TextSegment:
    tally = Tally()
    for shard in shards:
        tally.add(Tally(**shard.about["tally"]))
    about = {"after": shards[-1].about["after"], "tally": asdict(tally), "shards": last}
    merge(work / "whole" / f"{number:06d}", shards, about)
    shutil.rmtree(work / "shards")
    private_folder(work / "shards")
    return TextSegment(work / "whole" / f"{number:06d}")


def _batches(records: Iterator[TextRecord], size: int) -> Iterator[list[TextRecord]]:
    held: list[TextRecord] = []
    pieces = 0
    for record in records:
        held.append(record)
        pieces += len(record.pieces)
        if pieces >= size or len(held) >= 2 * size:
            yield held
            held, pieces = [], 0
    if held:
        yield held


def _unlike_before(
    batch: Sequence[TextRecord], before: Sequence[TextSegment]
) -> tuple[list[TextRecord], dict[str, object]]:
    given = [record for record in batch if record.pieces]
    digests = digests_of(record.pieces[0].id for record in given)
    _, first = np.unique(digests, return_index=True)
    new = np.zeros(len(given), bool)
    new[first] = True
    for segment in before:
        if len(segment.ids):
            at = np.minimum(np.searchsorted(segment.ids, digests), len(segment.ids) - 1)
            new &= segment.ids[at] != digests
    kept = [record for record, is_new in zip(given, new.tolist(), strict=True) if is_new]
    twice = {id(record) for record, is_new in zip(given, new.tolist(), strict=True) if not is_new}
    tally = Tally(len(batch), len(kept))
    for record in batch:
        if id(record) in twice or not record.pieces:
            reason = "an id that was there before" if record.pieces else record.reason
            where = f"{record.where}: {reason}, {record.pieces[0].id[:60]!r}" if record.pieces else record.where
            tally.add(Tally(refused={reason: 1}, named=[where]))
    file, row = batch[-1].at
    return kept, {"after": [file, row + 1], "tally": asdict(tally)}


def _finish(work: Path, fingerprint: str, parameters: Parameters) -> None:
    folder = work / "whole"
    tally, pieces = Tally(), 0
    names = sorted(each.name for each in folder.glob("0*"))
    for name in names:
        segment = TextSegment(folder / name)
        tally.add(Tally(**segment.about["tally"]))
        pieces += len(segment)
    files = known.known(folder, [each for each in known.listed(folder) if each != CARD])
    card = {"schema": SCHEMA, "words": VERSION, "fingerprint": fingerprint, "pieces": pieces, "segments": names}
    card |= {**parameters._asdict(), "tally": asdict(tally)}
    known.write_whole(folder / CARD, json.dumps({**card, "files": known.as_document(files)}, indent=1))


class TextIndex:
    """An index of pieces of texts, opened for reading; nothing is read before it is asked for."""

    def __init__(self, folder: Path, fingerprint: str | None = None) -> None:
        if (wrong := stale(folder, fingerprint)) is not None:
            hint = "make it again with `kgdx index`"
            raise StaleSnapshotError(f"the texts' index {folder} cannot be used: {wrong}", hint=hint)
        self.card: dict[str, Any] = json.loads((folder / CARD).read_bytes())
        try:
            parameters = Parameters(self.card["k1"], self.card["b"])
            self.segments = [(TextSegment(folder / name), parameters) for name in self.card["segments"]]
        except (OSError, ValueError, KeyError, pa.ArrowException) as error:
            message = f"the texts' index {folder} is damaged ({error})"
            raise StaleSnapshotError(message, hint="make it again with `kgdx index`") from error
        self.sources = list(dict.fromkeys(name for segment, _ in self.segments for name in segment.sources))

    def __len__(self) -> int:
        return sum(len(segment) for segment, _ in self.segments)

    @property
    def tally(self) -> Tally:
        return Tally(**self.card["tally"])
