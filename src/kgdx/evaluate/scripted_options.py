"""Language models that answer option questions by a script: one that knows, one that half knows, one that does not.

They read the real prompts. What evidence says is believed: the option that stands in it together with most words of the
question. What it does not say is answered by heart, or guessed. They know the questions, so their figures show what the
pipeline does, and say nothing of any real model or of medicine.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from kgdx.answer.option_questions import OptionQuestion, folded
from kgdx.evaluate.scripted_models import ScriptedModel, kind_of
from kgdx.llm.chat import Request
from kgdx.policies.thought_reading import with_options

KNOWN: Mapping[str, float] = MappingProxyType({"knows": 1.0, "half-knows": 0.5, "guesses": 0.0})
"""Kind → share of the questions whose answer it knows by heart, when it thinks and when it answers."""

UNSURE = "unsure"
"""A kind that names two options."""

_ASKED = re.compile(r"(?:^|\n)Question:\n\n(?P<asked>(?:> .*(?:\n|\Z)|>\n)+)")
_OPTION = re.compile(r"^> ([A-Z])\. (.*)$", re.MULTILINE)
_EVIDENCE = re.compile(r"\n==========\n(.*?)\n==========", re.DOTALL)
_WORDS = re.compile(r"[a-z0-9][a-z0-9-]{3,}|[\u4e00-\u9fff]{2}")


@dataclass(frozen=True)
class ScriptedOptions(ScriptedModel):
    """A model of one of :data:`KNOWN`, or :data:`UNSURE`, which knows questions with their options by their words."""

    known: Mapping[str, OptionQuestion] = field(repr=False)

    def answer(self, request: Request) -> str:
        words = request.messages[-1].content
        sample = f"{request.seed}/{request.number}" if request.temperature else ""
        found = _ASKED.search(words)
        asked = found["asked"].rstrip("\n") if found else ""
        question, options = self.known.get(asked), dict(_OPTION.findall(asked))
        if not options:
            return "I do not know."
        sure = question is not None and _share(self.kind, asked, sample) < KNOWN.get(self.kind, 0.0)
        gold = question.gold if question is not None and sure else None
        if "Identify the relevant" in words:
            topic = asked.split("\n", 1)[0].removeprefix("> ")
            about = f" In particular {options[gold]} may be involved." if gold else ""
            return f"To answer this, facts on the following are needed: {topic}{about}"
        letters = [*options]
        if self.kind == UNSURE:
            return f"It may be either.\nAnswer: {letters[0]} or {letters[1]}"
        evidence = _EVIDENCE.search(words)
        read = _read(asked, options, evidence[1]) if evidence else None
        guess = letters[int(_share("guess", asked, sample) * len(letters))]
        letter, why = next((each, why) for each, why in ((read, "read"), (gold, "known"), (guess, "guessed")) if each)
        return f"{options[letter]} is what was {why}.\nAnswer: {letter}"


def scripted_options(name: str, questions: Iterable[OptionQuestion]) -> ScriptedOptions:
    """Return a scripted model of a kind, with or without ``scripted:``."""
    kind = kind_of(name, (*KNOWN, UNSURE))
    return ScriptedOptions(kind, {with_options(each.question, each.options): each for each in questions})


def _read(asked: str, options: Mapping[str, str], evidence: str) -> str | None:
    """The option that stands in the evidence beside most words of the question; ``None`` where two do as well."""
    question = _OPTION.sub("", asked)
    telling = {*_WORDS.findall(folded(question))}
    best: dict[str, int] = {}
    for item in _items(evidence):
        plain = folded(item)
        shared = len(telling & {*_WORDS.findall(plain)})
        for letter, words in options.items():
            if shared and folded(words) in plain:
                best[letter] = max(best.get(letter, 0), shared)
    top = [letter for letter, shared in best.items() if shared == max(best.values())]
    return top[0] if len(top) == 1 else None


def _items(evidence: str) -> Iterable[str]:
    for line in evidence.split("\n"):
        try:
            group = json.loads(line)
            said = group.pop("evidence")
            about = json.dumps(group, ensure_ascii=False)
            yield from (f"{about} {text}" for text in said.values())
        except (ValueError, TypeError, KeyError, AttributeError):
            continue


def _share(*parts: str) -> float:
    return int(hashlib.sha256("/".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:8], 16) / 16**8
