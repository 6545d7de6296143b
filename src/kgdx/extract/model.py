"""Statements read from text, and the five relations they may be; the ends come from the ontology."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Protocol

from kgdx.schema import load_schema

TYPES = ("HAS_SYMPTOM", "RECOMMEND_TEST", "RECOMMEND_DRUG", "RECOMMEND_CURE", "HAS_COMORBIDITY")
"""The relations that are read from text."""


@cache
def ends() -> Mapping[str, tuple[str, str]]:
    """Return each relation's class of start and end, by the ontology: of several pairs, the one that joins words.

    Example:
        >>> ends()["RECOMMEND_CURE"]
        ('Disease', 'Cure')
    """
    schema = load_schema()
    pairs = {name: schema.relation(name).ends for name in TYPES}
    return {name: next(pair for pair in found if pair[1] != "Phenotype") for name, found in pairs.items()}


@dataclass(frozen=True, slots=True)
class Statement:
    """A relation that somebody reads in a text, not yet believed.

    Attributes:
        type: The relation.
        head: The start, in the text's words.
        tail: The end, in the text's words.
        head_class: What the start is said to be.
        tail_class: What the end is said to be.
        evidence: The passage.
    """

    type: str
    head: str
    tail: str
    head_class: str
    tail_class: str
    evidence: str


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation that passed the filter; ``span`` is the passage, verbatim."""

    type: str
    head: str
    tail: str
    span: str


@dataclass(frozen=True, slots=True)
class Found:
    """Statements and entities read from one text.

    Attributes:
        statements: Relations.
        entities: Everything that was named, by (text, class).
        set_aside: What was set aside before the filter, by reason.
    """

    statements: tuple[Statement, ...] = ()
    entities: tuple[tuple[str, str], ...] = ()
    set_aside: Mapping[str, int] | None = None


class RelationReader(Protocol):
    """Reads relations from question and answer; may be called from several threads."""

    @property
    def model(self) -> str:
        """Who reads: as it stands on each relation."""
        ...

    @property
    def prompt(self) -> str | None:
        """Name and version of the prompt, for a language model."""
        ...

    @property
    def signature(self) -> str:
        """All that its results depend on besides the text: equal signatures give equal results."""
        ...

    def read(self, question: str, answer: str) -> Found:
        """Read the relations.

        Raises:
            LlmError: A language model cannot be asked, or gives no usable answer.
        """
        ...
