"""Chooses among the names found in a text: the longest, and for each the term that it most likely means."""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass, replace

from kgdx.text.dictionary import SHORTENED, Entries
from kgdx.text.matcher import Match
from kgdx.text.stems import inflection, word_class, word_rows
from kgdx.text.tokens import LINKED, NONE, SOFT, Words, words

(_ADJECTIVE,) = word_rows("adjective")

_CHROMOSOMAL = (["short", "arm"], ["long", "arm"])
"""Parts of a chromosome; people who have short or long arms have two."""


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
        mended: A misspelt word was put right.
        nested: It stands inside a longer name of a more specific term.
    """

    start: int
    end: int
    term: int
    label: str
    exact: bool
    rank: int
    mended: bool = False
    nested: bool = False


@dataclass(frozen=True, slots=True)
class Lexis:
    """What the choice rests on.

    Attributes:
        entries: The dictionary.
        label: Gives the label of an entry.
        above: Whether one term (a row) is an ancestor of another.
        mended: Words of the text that were misspelt.
    """

    entries: Entries
    label: Callable[[int], str]
    above: Callable[[int, int], bool]
    mended: Set[int] = frozenset()


def choose(found: Words, whole: list[Match], split: list[Match], lexis: Lexis) -> list[Choice]:
    """Return the choices in the order of the text.

    Of matches that overlap the longest wins. A shorter one inside it is kept too where it names a more general term
    ("brachydactyly" in "brachydactyly type C"): it is said as well; any other is a part of the longer name.

    Args:
        found: The text's words.
        whole: Matches of neighbouring words.
        split: Matches of coordinated phrases; they add to the others.
        lexis: Dictionary and ontology.
    """
    complete = {(match.start, match.end) for match in whole}
    owner = [-1] * len(found)
    choices: list[Choice] = []
    for match in sorted(whole, key=lambda m: (-len(m), m.start)):
        owners = set(owner[match.start : match.end])
        if owners != {-1} and (len(owners) > 1 or -1 in owners):
            continue
        choice = None if _denied(found, match, complete) else _read(found, match, lexis)
        if choice is None:
            continue
        if owners == {-1}:
            owner[match.start : match.end] = [len(choices)] * len(match)
            choices.append(choice)
        elif lexis.above(choice.term, choices[owners.pop()].term):
            choices.append(replace(choice, nested=True))
    choices.extend(choice for match in split if (choice := _read(found, match, lexis)))
    return sorted(set(choices), key=lambda c: (c.start, c.end, c.term))


def _denied(found: Words, match: Match, complete: set[tuple[int, int]]) -> bool:
    """Whether a match is a whole finding and the word that says it is not there: "seizures were absent"."""
    last = match.end - 1
    said_absent = found.parting[last] == LINKED and word_class(found.folded[last]) == word_class("absent")
    return bool(said_absent) and (match.start, last) in complete


def _read(found: Words, match: Match, lexis: Lexis) -> Choice | None:
    entries = lexis.entries
    start, end = int(found.starts[match.start]), int(found.ends[match.end - 1])
    kept = [i for i in range(match.start, match.end) if not match.gap[0] <= i < match.gap[1]]
    said = [found.folded[i] for i in kept]
    crossing = match.gap == (0, 0) and any(found.parting[i] >= SOFT for i in kept[1:])
    mended = not lexis.mended.isdisjoint(kept)
    best: tuple[float, Choice] | None = None
    for position in entries.at(match.entry):
        name = lexis.label(position)
        if not _fits(found.text[start:end], said, name, crossing):
            continue
        parts = words(name).folded
        exact = parts == said
        rank = int(entries.ranks[position])
        if rank >= SHORTENED and match.gap != (0, 0):
            continue
        if not exact and _runs_on(found, match, parts):
            continue
        value = rank - (0.5 if exact else 0.4 * _literal(said, parts))
        if best is None or value < best[0]:
            best = value, Choice(start, end, int(entries.terms[position]), name, exact, rank, mended)
    return best[1] if best else None


def _fits(text: str, said: list[str], name: str, crossing: bool) -> bool:
    """Whether a name whose word classes agree may really be meant by these words."""
    parts = words(name).folded
    if said in _CHROMOSOMAL:
        return False
    if len(said) == 1 and len(name) <= 5 and name.isupper():  # an acronym
        return len(name) > 2 and text == name
    if crossing:
        return [word_class(word) for word in said] == [word_class(word) for word in parts]
    return True


def _literal(said: list[str], parts: list[str]) -> float:
    """Share of the words said that the name has too, inflected or not."""
    own = {inflection(part) for part in parts}
    return sum(inflection(word) in own for word in said) / len(said)


def _runs_on(found: Words, match: Match, parts: list[str]) -> bool:
    """Whether the last word is an adjective of a noun that follows: "absence of retinal" before "hamartomas"."""
    after = match.end
    if len(match) < 2 or after >= len(found) or found.parting[after] != NONE:
        return False
    last = found.folded[after - 1]
    return last != parts[-1] and last.endswith(_ADJECTIVE)
