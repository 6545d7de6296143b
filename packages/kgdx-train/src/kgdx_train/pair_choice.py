"""Which samples become pairs, and why questions give none: thoughts and answers by whether what follows them is right.

As in RAR², a thought is chosen where the answer right behind it and the answer with the documents that it finds are
both right, and rejected where the answer with documents is wrong. One whose documents alone lead to the right answer is
mixed, and belongs to neither side. An answer is chosen where it is right, and rejected where it is wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Literal

from kgdx.answer.evidence_pack import language_of
from kgdx.answer.option_questions import OptionQuestion, read_option
from kgdx.llm.chat import Message
from kgdx_train.preference_pairs import Kind, Pair
from kgdx_train.sample_journal import Sample

WHY = ("pairs", "no gold", "all right", "all wrong", "mixed alone", "no answer readable", "no text usable")
"""What can become of a question, for each kind; the counts add up to the questions."""
USABLE = ("chosen", "rejected", "mixed")


@dataclass(frozen=True, slots=True)
class Filters:
    """Which texts may be in a pair.

    Attributes:
        shortest: Characters at least.
        longest: Characters at most.
        language: Whether a text has to be in the language of its question.
        mixed: Whether mixed thoughts are dropped, or rejected.
        most: Pairs of a kind that a question gives at most.
    """

    shortest: int = 1
    longest: int = 8_000
    language: bool = True
    mixed: Literal["drop", "reject"] = "drop"
    most: int = 2


@dataclass(frozen=True, slots=True)
class Tried:
    """A text that was sampled, and what followed."""

    sample: Sample
    seed: int
    direct: Sample | None = None
    retrieved: Sample | None = None


@dataclass(frozen=True)
class Asked:
    """A question with all that was sampled for it; the answers are to one prompt."""

    question: OptionQuestion = field(repr=False)
    digest: str
    thoughts: Sequence[Tried] = ()
    answers: Sequence[Tried] = ()
    prompts: Mapping[Kind, tuple[Message, ...]] = field(default_factory=dict, repr=False)


def pairs_of(asked: Asked, filters: Filters, seed: int) -> tuple[list[Pair], dict[Kind, tuple[str, Counter[str]]]]:
    """Return the pairs of a question, and for each kind what became of it and of its samples."""
    pairs: list[Pair] = []
    why: dict[Kind, tuple[str, Counter[str]]] = {}
    tried: tuple[tuple[Kind, Sequence[Tried]], ...] = (("thought", asked.thoughts), ("answer", asked.answers))
    for kind, samples in tried:
        labels = list(_labels(kind, samples, asked.question, filters))
        sides = {side: [each for each, label in zip(samples, labels, strict=True) if label == side] for side in USABLE}
        if filters.mixed == "reject":
            sides["rejected"] += sides.pop("mixed")
        chance = Random(f"{seed} {asked.digest} {kind}")
        count = min(filters.most, len(sides["chosen"]), len(sides["rejected"]))
        good, bad = (chance.sample(sides[side], count) for side in ("chosen", "rejected"))
        prompt = tuple({"role": each.role, "content": each.content} for each in asked.prompts.get(kind, ()))
        for one, other in zip(good, bad, strict=True):
            texts = (one.sample.text, other.sample.text)
            pairs.append(Pair(asked.question.id, kind, prompt, *texts, (one.seed, other.seed), asked.digest))
        why[kind] = (_why(asked.question, labels, count), Counter(labels))
    return pairs, why


def _labels(kind: Kind, samples: Sequence[Tried], question: OptionQuestion, filters: Filters) -> Iterable[str]:
    """Yield what each sample is: chosen, rejected, mixed, or why it is none of them."""
    seen: set[str] = set()
    language = question.language or language_of(question.question)
    for each in samples:
        text = " ".join(each.sample.text.split())
        if (fault := each.sample.fault or _fault(text, seen, language, filters)) != "":
            yield fault
        else:
            seen.add(text)
            yield _judged(kind, each, question)


def _fault(text: str, seen: set[str], language: str, filters: Filters) -> str:
    if not filters.shortest <= len(text) <= filters.longest:
        return "length"
    if text in seen:
        return "duplicate"
    other = filters.language and language_of(text) != language
    return "language" if other and any(each.isalpha() for each in text) else ""


def _judged(kind: Kind, tried: Tried, question: OptionQuestion) -> str:
    retrieved = right(tried.sample if kind == "answer" else tried.retrieved, question)
    if retrieved is None:
        return "unreadable"
    if not retrieved:
        return "rejected"
    return "chosen" if kind == "answer" or right(tried.direct, question) else "mixed"


def right(answer: Sample | None, question: OptionQuestion) -> bool | None:
    """Tell whether an answer chooses the right option; ``None`` where it chooses none, or cannot be used."""
    if answer is None or answer.fault or question.gold is None:
        return None
    chosen = read_option(answer.text, question.options)
    return None if chosen is None else chosen == question.gold


def _why(question: OptionQuestion, labels: Sequence[str], count: int) -> str:
    if question.gold is None:
        return "no gold"
    if count:
        return "pairs"
    found = set(labels)
    if "chosen" in found:
        return "all right"
    if "rejected" in found:
        return "all wrong"
    if "mixed" in found:
        return "mixed alone"
    return "no answer readable" if "unreadable" in found else "no text usable"


class Statistics:
    """What became of questions and of samples, by kind."""

    def __init__(self) -> None:
        self.questions: dict[str, Counter[str]] = {"thought": Counter(), "answer": Counter()}
        self.samples: dict[str, Counter[str]] = {"thought": Counter(), "answer": Counter()}
        self.pairs: Counter[str] = Counter({"thought": 0, "answer": 0})

    def add(self, pairs: Sequence[Pair], why: Mapping[Kind, tuple[str, Counter[str]]]) -> None:
        """Count a question."""
        self.pairs.update(each.kind for each in pairs)
        for kind, (reason, labels) in why.items():
            self.questions[kind][reason] += 1
            self.samples[kind].update(labels)

    def to_dict(self) -> dict[str, Any]:
        """Return the counts; those of a kind add up to all questions, and to all samples."""
        return {"questions": sum(self.questions["thought"].values())} | {
            kind: {
                "pairs": self.pairs[kind],
                "questions": {why: self.questions[kind][why] for why in WHY if self.questions[kind][why]},
                "samples": dict(sorted(self.samples[kind].items())),
            }
            for kind in ("thought", "answer")
        }
