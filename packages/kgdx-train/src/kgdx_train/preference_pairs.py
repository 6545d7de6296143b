"""Pairs of texts of which one is preferred, thoughts and answers: the file that ``kgdx learn pairs`` writes.

JSON lines: first what the pairs were made from and how many there are, then a pair a line.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from random import Random
from typing import Any, Literal, get_args

from kgdx.errors import StoreError, UsageError
from kgdx.files.known import write_whole
from kgdx.llm.chat import Message

FORMAT = 1
Kind = Literal["thought", "answer"]
KINDS: tuple[Kind, ...] = get_args(Kind)
HINT = "make it with `kgdx learn pairs`, which asks nothing twice"


@dataclass(frozen=True, slots=True)
class Pair:
    """Two texts behind one prompt; texts are left out of the representation.

    Attributes:
        id: Of the question.
        kind: What they are: thoughts, or answers to the question with its documents.
        prompt: The conversation before them, as mappings with ``role`` and ``content``.
        chosen: The one that is preferred.
        rejected: The other one.
        seeds: With which the two were sampled.
        digest: Of the question's text and options: pairs of one question are never split.
    """

    id: str
    kind: Kind
    prompt: tuple[Mapping[str, str], ...] = field(repr=False)
    chosen: str = field(repr=False)
    rejected: str = field(repr=False)
    seeds: tuple[int, int]
    digest: str

    @property
    def messages(self) -> tuple[Message, ...]:
        """The prompt, as a model is asked."""
        return tuple(Message(each["role"], each["content"]) for each in self.prompt)  # type: ignore[arg-type]

    @classmethod
    def of(cls, line: Any) -> Pair:
        """Return the pair that a JSON object states."""
        names = {each.name for each in fields(cls)}
        if not isinstance(line, dict) or set(line) != names:
            raise ValueError("no pair")
        texts = [line[name] for name in ("id", "chosen", "rejected", "digest")]
        turns, seeds = line["prompt"], line["seeds"]
        if not all(isinstance(each, str) for each in texts) or line["kind"] not in KINDS:
            raise ValueError("no pair")
        if not (isinstance(turns, list) and turns and all(map(_is_turn, turns))):
            raise ValueError("no prompt")
        if not (isinstance(seeds, list) and len(seeds) == 2 and all(isinstance(each, int) for each in seeds)):
            raise ValueError("no seeds")
        return cls(**{**line, "prompt": tuple(turns), "seeds": tuple(seeds)})


def _is_turn(given: Any) -> bool:
    return isinstance(given, dict) and set(given) == {"role", "content"} and all(map(_is_text, given.values()))


def _is_text(given: Any) -> bool:
    return isinstance(given, str)


def write_pairs(path: Path, pairs: Sequence[Pair], about: Mapping[str, Any]) -> None:
    """Write pairs into a file, whole or not at all."""
    rows = [{"format": FORMAT, "pairs": len(pairs), **about}, *map(asdict, pairs)]
    content = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    try:
        write_whole(path, content.encode("utf-8", "replace"))
    except OSError as error:
        hint = "make room, and run it again: nothing is asked twice"
        raise StoreError(f"{path} cannot be written ({error.strerror})", hint=hint) from error


def read_pairs(path: Path) -> tuple[list[Pair], dict[str, Any]]:
    """Return the pairs of a file, and what they were made from."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
        about = json.loads(lines[0])
        count = about["pairs"]
        known = about["format"] == FORMAT and isinstance(count, int)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{path} cannot be read as pairs ({type(error).__name__})", hint=HINT) from error
    if not known:
        raise UsageError(f"{path} holds no pairs of format {FORMAT}", hint=HINT)
    pairs: list[Pair] = []
    for number, line in enumerate(lines[1:], 2):
        if not line:
            continue
        try:
            pairs.append(Pair.of(json.loads(line)))
        except ValueError as error:
            raise UsageError(f"{path} is cut off or damaged (line {number})", hint=HINT) from error
    if len(pairs) != count:
        raise UsageError(f"{path} is cut off: it says {count:,} pairs, and has {len(pairs):,}", hint=HINT)
    return pairs, about


def split_pairs(pairs: Sequence[Pair], held_out: float, seed: int) -> tuple[list[Pair], list[Pair]]:
    """Return the pairs to train on, and those of questions that are held out: at least one on either side."""
    questions = sorted({each.digest for each in pairs})
    if len(questions) < 2:
        what = f"the pairs are of {len(questions)} question{'s' * (len(questions) != 1)}, and none can be held out"
        raise UsageError(what, hint="make pairs from more questions")
    Random(f"{seed} held out").shuffle(questions)
    count = min(len(questions) - 1, max(1, round(held_out * len(questions))))
    away = set(questions[:count])
    return [each for each in pairs if each.digest not in away], [each for each in pairs if each.digest in away]
