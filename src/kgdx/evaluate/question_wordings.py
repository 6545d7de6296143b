"""How people ask for what the ten graph actions give, in Chinese and English: the wordings of generated questions.

They stand in ``data/question-wordings.yaml``. Those that are ``tuned`` may be looked at by whoever writes a policy; the
held-out ones are for measuring alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from kgdx.resources import resource

Language = Literal["zh", "en"]
Split = Literal["tuned", "held_out"]

SPLITS: tuple[Split, ...] = ("tuned", "held_out")
LANGUAGES: tuple[Language, ...] = ("zh", "en")


@cache
def phrases() -> Mapping[str, Any]:
    """Return split → action → language → wordings; ``{x}`` stands for what is asked about."""
    import yaml

    read: Mapping[str, Any] = yaml.safe_load(resource("data", "question-wordings.yaml").read_text("utf-8"))
    return read


@dataclass(frozen=True, slots=True)
class QuestionTemplate:
    """One way to ask.

    Attributes:
        id: Such as ``get_symptom/zh/held_out/1``.
        text: Its words, with ``{x}``.
    """

    id: str
    action: str
    language: Language
    split: Split
    text: str

    def asking(self, names: tuple[str, ...]) -> str:
        """Return the question about these names.

        Example:
            >>> next(wordings("get_symptom", "en")).asking(("pertussis",))
            'What are the symptoms of pertussis?'
        """
        return self.text.replace("{x}", joined(names, self.language))


def wordings(action: str, language: Language, split: Split | None = None) -> Iterator[QuestionTemplate]:
    """Yield the wordings of an action, in their order; those of one split, or all."""
    for each in SPLITS if split is None else (split,):
        for number, text in enumerate(phrases()[each][action][language], 1):
            yield QuestionTemplate(f"{action}/{language}/{each}/{number}", action, language, each, text)


def joined(names: tuple[str, ...], language: Language) -> str:
    """Return names as a list in a sentence.

    Example:
        >>> joined(("fever", "cough", "rash"), "en"), joined(("发热", "咳嗽"), "zh")
        ('fever, cough and rash', '发热、咳嗽')
    """
    if language == "zh" or len(names) < 2:
        return "、".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"
