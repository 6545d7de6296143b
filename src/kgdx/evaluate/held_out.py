"""Wordings that are for measuring alone. Whoever writes a policy does not read on.

A policy that is changed to do better on these makes its figures worthless; wordings that were looked at are replaced.
"""

from __future__ import annotations

from kgdx.evaluate.wordings import Phrases

HELD_OUT: Phrases = {
    "get_symptom": {
        "zh": (
            "{x}的病人一般怎么个难受法？",
            "{x}早期会出现哪些不对劲的地方",
            "身体出现什么信号要想到{x}？",
        ),
        "en": (
            "Tell me what {x} looks like in a patient.",
            "Signs that someone might be suffering from {x}?",
        ),
    },
    "get_test": {
        "zh": (
            "要排除{x}，医生通常会开什么化验单？",
            "拍片还是抽血才能看出{x}？",
            "{x}门诊上靠什么来判断",
        ),
        "en": (
            "Which lab work or imaging would confirm {x}?",
            "Work-up for {x}?",
        ),
    },
    "get_drug": {
        "zh": (
            "得了{x}，药店里买点啥合适？",
            "{x}的常用方剂或西药推荐一下",
            "医院给{x}病人配的都是哪些药",
        ),
        "en": (
            "Name the pharmacotherapy for {x}.",
            "My aunt has {x}; what will be on her prescription?",
        ),
    },
    "get_cure": {
        "zh": (
            "{x}还有救吗，医院一般怎么个治法？",
            "想把{x}根除，可以走哪些路子",
            "{x}的处理原则",
        ),
        "en": (
            "What is the management of {x}?",
            "What options beside drugs exist for {x}?",
        ),
    },
    "get_comorbidity": {
        "zh": (
            "{x}拖久了会引起别的什么病？",
            "得{x}的人往往还有哪些病",
            "{x}严重了会变成什么",
        ),
        "en": (
            "What else do people with {x} tend to suffer from?",
            "What can {x} lead to?",
        ),
    },
    "infer_by_symptom": {
        "zh": (
            "最近{x}，我这是怎么了？",
            "病人主诉{x}，请给出鉴别诊断",
            "{x}，该往哪方面考虑？",
        ),
        "en": (
            "I have been having {x}. What could it be?",
            "Differential diagnosis for {x}, please.",
        ),
    },
    "infer_by_test": {
        "zh": (
            "医生让我做{x}，他怀疑我得了什么？",
            "{x}一起开，多半是排查什么",
            "什么情况下要查{x}？",
        ),
        "en": (
            "My doctor ordered {x}. What is she looking for?",
            "When does one order {x}?",
        ),
    },
    "infer_by_drug": {
        "zh": (
            "家里老人一直吃{x}，他得的是什么病？",
            "{x}主治什么",
            "处方上写着{x}，是什么毛病？",
        ),
        "en": (
            "A patient takes {x}. What condition does that suggest?",
            "What is {x} prescribed for?",
        ),
    },
    "infer_by_cure": {
        "zh": (
            "安排了{x}，一般是得了什么病？",
            "{x}对哪些毛病有用",
            "需要{x}的都是些什么病人？",
        ),
        "en": (
            "Who gets {x}?",
            "The plan is {x}. Which conditions are managed like that?",
        ),
    },
    "infer_by_comorbidity": {
        "zh": (
            "同时有{x}，背后可能是什么病？",
            "{x}往往跟着什么病一起来",
            "查出{x}，要警惕哪种原发病？",
        ),
        "en": (
            "What underlying disease goes along with {x}?",
            "{x} - secondary to what?",
        ),
    },
}
"""Action → language → wordings, as :data:`kgdx.evaluate.wordings.TUNED`."""
