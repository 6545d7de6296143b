"""How people ask for what the ten graph actions give, in Chinese and English: the wordings of generated questions.

Those of this file are ``tuned``: whoever writes a policy may look at them. The held-out ones have a file of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

Language = Literal["zh", "en"]
Split = Literal["tuned", "held_out"]

SPLITS: tuple[Split, ...] = ("tuned", "held_out")
LANGUAGES: tuple[Language, ...] = ("zh", "en")

Phrases = Mapping[str, Mapping[Language, tuple[str, ...]]]

TUNED: Phrases = {
    "get_symptom": {
        "zh": (
            "{x}有哪些症状？",
            "{x}的症状是什么",
            "请列出{x}的常见症状。",
        ),
        "en": (
            "What are the symptoms of {x}?",
            "Which symptoms does {x} cause?",
        ),
    },
    "get_test": {
        "zh": (
            "{x}需要做哪些检查？",
            "诊断{x}要做什么检查",
            "{x}的检查项目有哪些？",
        ),
        "en": (
            "Which tests are recommended for {x}?",
            "What tests are done for {x}?",
        ),
    },
    "get_drug": {
        "zh": (
            "{x}可以用哪些药？",
            "治疗{x}的药物有哪些？",
            "{x}吃什么药",
        ),
        "en": (
            "Which drugs are used for {x}?",
            "What medication treats {x}?",
        ),
    },
    "get_cure": {
        "zh": (
            "{x}怎么治疗？",
            "{x}的治疗方法有哪些？",
            "如何治疗{x}",
        ),
        "en": (
            "How is {x} treated?",
            "Which treatments are there for {x}?",
        ),
    },
    "get_comorbidity": {
        "zh": (
            "{x}有哪些并发症？",
            "{x}会并发什么疾病",
            "{x}常见的合并症是什么？",
        ),
        "en": (
            "What are the complications of {x}?",
            "Which comorbidities does {x} have?",
        ),
    },
    "infer_by_symptom": {
        "zh": (
            "有{x}这些症状，可能是什么病？",
            "出现{x}是什么疾病引起的？",
            "哪些疾病会有{x}的症状？",
        ),
        "en": (
            "Which diseases have the symptoms {x}?",
            "What disease causes {x}?",
        ),
    },
    "infer_by_test": {
        "zh": (
            "哪些疾病需要做{x}检查？",
            "做{x}检查是为了诊断什么病？",
            "{x}用于检查哪些疾病？",
        ),
        "en": (
            "Which diseases need the tests {x}?",
            "For which diseases are {x} recommended tests?",
        ),
    },
    "infer_by_drug": {
        "zh": (
            "{x}可以治疗哪些疾病？",
            "哪些疾病用{x}这些药？",
            "{x}是治什么病的药？",
        ),
        "en": (
            "Which diseases are treated with the drugs {x}?",
            "What diseases are the drugs {x} for?",
        ),
    },
    "infer_by_cure": {
        "zh": (
            "哪些疾病用{x}治疗？",
            "{x}这些治疗方法适用于哪些疾病？",
            "什么病可以用{x}的方法治疗？",
        ),
        "en": (
            "Which diseases are treated by {x}?",
            "For which diseases is the treatment {x}?",
        ),
    },
    "infer_by_comorbidity": {
        "zh": (
            "哪些疾病的并发症有{x}？",
            "{x}是哪些疾病的并发症？",
            "什么病会并发{x}？",
        ),
        "en": (
            "Which diseases have the complications {x}?",
            "Which diseases are comorbid with {x}?",
        ),
    },
}
"""Action → language → wordings; ``{x}`` stands for what is asked about."""


@dataclass(frozen=True, slots=True)
class Wording:
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


def wordings(action: str, language: Language, split: Split | None = None) -> Iterator[Wording]:
    """Yield the wordings of an action, in their order; those of one split, or all."""
    from kgdx.evaluate.held_out import HELD_OUT

    phrases = {"tuned": TUNED, "held_out": HELD_OUT}
    for each in SPLITS if split is None else (split,):
        for number, text in enumerate(phrases[each][action][language], 1):
            yield Wording(f"{action}/{language}/{each}/{number}", action, language, each, text)


def joined(names: tuple[str, ...], language: Language) -> str:
    """Return names as a list in a sentence.

    Example:
        >>> joined(("fever", "cough", "rash"), "en"), joined(("发热", "咳嗽"), "zh")
        ('fever, cough and rash', '发热、咳嗽')
    """
    if language == "zh" or len(names) < 2:
        return "、".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"
