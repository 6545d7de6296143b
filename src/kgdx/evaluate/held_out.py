"""Wordings that are for measuring alone. Whoever writes a policy does not read on.

A policy that is changed to do better on these makes its figures worthless; wordings that were looked at are replaced.
"""

from __future__ import annotations

from kgdx.evaluate.wordings import Phrases

HELD_OUT: Phrases = {
    "get_symptom": {
        "zh": (
            "{x}犯起来人会怎么样？",
            "怎么看出一个人是不是{x}，身上有啥迹象",
            "{x}患者通常因为哪里不舒服来就诊？",
        ),
        "en": (
            "How would a patient with {x} present in clinic?",
            "What should I watch out for if I think my son has {x}?",
        ),
    },
    "get_test": {
        "zh": (
            "{x}去医院要查哪几项？",
            "怀疑自己有{x}，该挂号做什么项目确认？",
            "{x}的确诊依据要哪些化验",
        ),
        "en": (
            "How do doctors find out whether somebody has {x}?",
            "What would you order to rule {x} in or out?",
        ),
    },
    "get_drug": {
        "zh": (
            "{x}用什么消？平时备点什么药",
            "有没有对{x}见效的药片或者中成药？",
            "大夫，{x}开点什么给我吃",
        ),
        "en": (
            "Which pills help against {x}?",
            "What is usually given by mouth or injection in {x}?",
        ),
    },
    "get_cure": {
        "zh": (
            "{x}要开刀还是保守？都有哪些办法",
            "碰上{x}该咋办才能好",
            "{x}目前主流的治疗手段",
        ),
        "en": (
            "How can {x} be dealt with?",
            "Which procedures are used on patients with {x}?",
        ),
    },
    "get_comorbidity": {
        "zh": (
            "{x}不管它，后面会惹出什么病来",
            "{x}容易合并什么",
            "有{x}的人还得提防哪些病？",
        ),
        "en": (
            "Does {x} bring other illnesses with it, and which?",
            "What are typical complications of {x}?",
        ),
    },
    "infer_by_symptom": {
        "zh": (
            "我爸这两天{x}，会不会是什么病？",
            "{x}一块儿出现，最像哪种病",
            "一个人有{x}，帮我判断一下病因",
        ),
        "en": (
            "My daughter complains of {x}; what is wrong with her?",
            "{x} together: what do you think it is?",
        ),
    },
    "infer_by_test": {
        "zh": (
            "单子上开了{x}，是要看什么病？",
            "{x}一般是给哪类病人做的",
            "做{x}能查出啥毛病来？",
        ),
        "en": (
            "What illnesses can {x} reveal?",
            "Someone was sent for {x}. For which suspected conditions?",
        ),
    },
    "infer_by_drug": {
        "zh": (
            "{x}是管什么的？",
            "有人长期服{x}，估计是什么病史",
            "看到药盒是{x}，能猜出患的什么病吗",
        ),
        "en": (
            "Which illnesses are treated with {x}?",
            "I found {x} in my grandfather's cabinet: what does he suffer from?",
        ),
    },
    "infer_by_cure": {
        "zh": (
            "哪些病人会用到{x}这种办法？",
            "{x}适合治啥病",
            "大夫建议{x}，说明我可能是什么病？",
        ),
        "en": (
            "For what is {x} done?",
            "A patient was advised {x}. What disease could that be about?",
        ),
    },
    "infer_by_comorbidity": {
        "zh": (
            "{x}常常是哪种病带出来的？",
            "什么病的人容易另外再得{x}",
            "{x}可能是由什么病发展来的？",
        ),
        "en": (
            "Which diseases have {x} as a complication?",
            "Patients with {x} often have which main disease?",
        ),
    },
}
"""Action → language → wordings, as :data:`kgdx.evaluate.wordings.TUNED`."""
