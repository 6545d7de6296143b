"""How people ask for what the ten graph actions give, in Chinese and English: the wordings of generated questions.

A wording is either ``tuned``, which whoever writes a policy may look at, or ``held_out``: those are for measuring
alone. A policy that is changed to do better on a held-out wording makes its figures worthless.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

Language = Literal["zh", "en"]
Split = Literal["tuned", "held_out"]

SPLITS: tuple[Split, ...] = ("tuned", "held_out")
LANGUAGES: tuple[Language, ...] = ("zh", "en")

_Phrases = Mapping[Language, Mapping[Split, tuple[str, ...]]]

WORDINGS: Mapping[str, _Phrases] = MappingProxyType(
    {
        "get_symptom": {
            "zh": {
                "tuned": ("{x}有哪些症状？", "{x}的症状是什么", "请列出{x}的常见症状。"),
                "held_out": ("得了{x}会有什么表现？", "我家孩子可能是{x}，一般会哪里不舒服？", "{x}发作起来是什么样子"),
            },
            "en": {
                "tuned": ("What are the symptoms of {x}?", "Which symptoms does {x} cause?"),
                "held_out": ("How does {x} usually present?", "What would I notice if I had {x}?"),
            },
        },
        "get_test": {
            "zh": {
                "tuned": ("{x}需要做哪些检查？", "诊断{x}要做什么检查", "{x}的检查项目有哪些？"),
                "held_out": ("怀疑是{x}，去医院得查些什么？", "怎么确诊{x}？", "{x}一般要化验什么"),
            },
            "en": {
                "tuned": ("Which tests are recommended for {x}?", "What tests are done for {x}?"),
                "held_out": ("How is {x} diagnosed?", "What should be checked when {x} is suspected?"),
            },
        },
        "get_drug": {
            "zh": {
                "tuned": ("{x}可以用哪些药？", "治疗{x}的药物有哪些？", "{x}吃什么药"),
                "held_out": ("{x}开点什么药比较好？", "{x}患者平时服用什么", "有没有针对{x}的特效药"),
            },
            "en": {
                "tuned": ("Which drugs are used for {x}?", "What medication treats {x}?"),
                "held_out": ("What can a doctor prescribe for {x}?", "What do patients with {x} take?"),
            },
        },
        "get_cure": {
            "zh": {
                "tuned": ("{x}怎么治疗？", "{x}的治疗方法有哪些？", "如何治疗{x}"),
                "held_out": ("{x}该怎么办才能好？", "对付{x}有哪些手段", "{x}除了吃药还能怎样处理？"),
            },
            "en": {
                "tuned": ("How is {x} treated?", "Which treatments are there for {x}?"),
                "held_out": ("What is the management of {x}?", "What options beside drugs exist for {x}?"),
            },
        },
        "get_comorbidity": {
            "zh": {
                "tuned": ("{x}有哪些并发症？", "{x}会并发什么疾病", "{x}常见的合并症是什么？"),
                "held_out": ("{x}拖久了会引起别的什么病？", "得{x}的人往往还有哪些病", "{x}严重了会变成什么"),
            },
            "en": {
                "tuned": ("What are the complications of {x}?", "Which comorbidities does {x} have?"),
                "held_out": ("What else do people with {x} tend to suffer from?", "What can {x} lead to?"),
            },
        },
        "infer_by_symptom": {
            "zh": {
                "tuned": ("有{x}这些症状，可能是什么病？", "出现{x}是什么疾病引起的？", "哪些疾病会有{x}的症状？"),
                "held_out": ("最近{x}，我这是怎么了？", "病人主诉{x}，请给出鉴别诊断", "{x}，该往哪方面考虑？"),
            },
            "en": {
                "tuned": ("Which diseases have the symptoms {x}?", "What disease causes {x}?"),
                "held_out": ("I have been having {x}. What could it be?", "Differential diagnosis for {x}, please."),
            },
        },
        "infer_by_test": {
            "zh": {
                "tuned": ("哪些疾病需要做{x}检查？", "做{x}检查是为了诊断什么病？", "{x}用于检查哪些疾病？"),
                "held_out": ("医生让我做{x}，他怀疑我得了什么？", "{x}一起开，多半是排查什么", "什么情况下要查{x}？"),
            },
            "en": {
                "tuned": ("Which diseases need the tests {x}?", "For which diseases are {x} recommended tests?"),
                "held_out": ("My doctor ordered {x}. What is she looking for?", "When does one order {x}?"),
            },
        },
        "infer_by_drug": {
            "zh": {
                "tuned": ("{x}可以治疗哪些疾病？", "哪些疾病用{x}这些药？", "{x}是治什么病的药？"),
                "held_out": ("家里老人一直吃{x}，他得的是什么病？", "{x}主治什么", "处方上写着{x}，是什么毛病？"),
            },
            "en": {
                "tuned": ("Which diseases are treated with the drugs {x}?", "What diseases are the drugs {x} for?"),
                "held_out": ("A patient takes {x}. What condition does that suggest?", "What is {x} prescribed for?"),
            },
        },
        "infer_by_cure": {
            "zh": {
                "tuned": ("哪些疾病用{x}治疗？", "{x}这些治疗方法适用于哪些疾病？", "什么病可以用{x}的方法治疗？"),
                "held_out": ("安排了{x}，一般是得了什么病？", "{x}对哪些毛病有用", "需要{x}的都是些什么病人？"),
            },
            "en": {
                "tuned": ("Which diseases are treated by {x}?", "For which diseases is the treatment {x}?"),
                "held_out": ("Who gets {x}?", "The plan is {x}. Which conditions are managed like that?"),
            },
        },
        "infer_by_comorbidity": {
            "zh": {
                "tuned": ("哪些疾病的并发症有{x}？", "{x}是哪些疾病的并发症？", "什么病会并发{x}？"),
                "held_out": ("同时有{x}，背后可能是什么病？", "{x}往往跟着什么病一起来", "查出{x}，要警惕哪种原发病？"),
            },
            "en": {
                "tuned": ("Which diseases have the complications {x}?", "Which diseases are comorbid with {x}?"),
                "held_out": ("What underlying disease goes along with {x}?", "{x} - secondary to what?"),
            },
        },
    }
)
"""Action → language → split → wordings; ``{x}`` stands for what is asked about."""


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
    for each in SPLITS if split is None else (split,):
        for number, text in enumerate(WORDINGS[action][language][each], 1):
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
