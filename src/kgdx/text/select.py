"""Chooses among the names found in a text: the longest, and for each the term that it most likely means."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kgdx.text.dictionary import Entries
from kgdx.text.matcher import Match
from kgdx.text.stems import inflection, word_class
from kgdx.text.tokens import SOFT, Words, words


@dataclass(frozen=True, slots=True)
class Choice:
    """A name in a text and the term it was taken for.

    Attributes:
        start: First character.
        end: One past the last character.
        term: Row of the ``phenotype`` table.
        label: The name or synonym that matched.
        exact: The text has the label's own words in their order.
        rank: The entry's rank; see :class:`kgdx.text.dictionary.Entries`.
    """

    start: int
    end: int
    term: int
    label: str
    exact: bool
    rank: int


def choose(
    found: Words, whole: list[Match], split: list[Match], entries: Entries, label: Callable[[int], str]
) -> list[Choice]:
    """Return the choices in the order of the text.

    Args:
        found: The text's words.
        whole: Matches of neighbouring words; the longest win, shorter ones inside or across them are dropped.
        split: Matches of coordinated phrases; they add to the others.
        entries: The dictionary.
        label: Gives the label of an entry.
    """
    taken = [False] * len(found)
    choices = []
    for match in sorted(whole, key=lambda m: (-len(m), m.start)):
        if not any(taken[match.start : match.end]) and (choice := _read(found, match, entries, label)):
            taken[match.start : match.end] = [True] * len(match)
            choices.append(choice)
    for match in split:
        if choice := _read(found, match, entries, label):
            choices.append(choice)
    return sorted(set(choices), key=lambda c: (c.start, c.end, c.term))


def _read(found: Words, match: Match, entries: Entries, label: Callable[[int], str]) -> Choice | None:
    start, end = int(found.starts[match.start]), int(found.ends[match.end - 1])
    kept = [i for i in range(match.start, match.end) if not match.gap[0] <= i < match.gap[1]]
    said = [found.folded[i] for i in kept]
    crossing = match.gap == (0, 0) and any(found.parting[i] >= SOFT for i in kept[1:])
    best: tuple[float, Choice] | None = None
    for position in entries.at(match.entry):
        name = label(position)
        if not _fits(found.text[start:end], said, name, crossing):
            continue
        exact = [word for word in words(name).folded] == said
        rank = int(entries.ranks[position])
        value = rank - (0.5 if exact else 0.0)
        if best is None or value < best[0]:
            best = value, Choice(start, end, int(entries.terms[position]), name, exact, rank)
    return best[1] if best else None


def _fits(text: str, said: list[str], name: str, crossing: bool) -> bool:
    """Whether a name whose word classes agree may really be meant by these words."""
    parts = words(name).folded
    if len(said) == 1:
        if len(name) <= 5 and name.isupper():  # an acronym
            return len(name) > 2 and text == name
        return inflection(said[0]) == inflection(parts[0])
    if crossing:
        return [word_class(word) for word in said] == [word_class(word) for word in parts]
    return True
