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
            "得了{x}会有什么表现？",
            "{x}患者会出现哪些不适？",
            "{x}的临床表现是什么？",
            "怎么判断自己是不是得了{x}？",
            "{x}发作时身体会怎么样？",
            "{x}的病人一般怎么个难受法？",
            "{x}早期会出现哪些不对劲的地方",
            "身体出现什么信号要想到{x}？",
        ),
        "en": (
            "What are the symptoms of {x}?",
            "Which symptoms does {x} cause?",
            "How does {x} present clinically?",
            "What would a patient with {x} complain of?",
            "What are the warning signs of {x}?",
            "How do I know if I have {x}?",
            "Tell me what {x} looks like in a patient.",
            "Signs that someone might be suffering from {x}?",
        ),
    },
    "get_test": {
        "zh": (
            "{x}需要做哪些检查？",
            "诊断{x}要做什么检查",
            "{x}的检查项目有哪些？",
            "怀疑是{x}，去医院要查什么？",
            "怎样才能确诊{x}？",
            "{x}要做哪些化验？",
            "{x}怎么查出来？",
            "确定是不是{x}要拍片子吗，还要查哪些项目？",
            "要排除{x}，医生通常会开什么化验单？",
            "拍片还是抽血才能看出{x}？",
            "{x}门诊上靠什么来判断",
        ),
        "en": (
            "Which tests are recommended for {x}?",
            "What tests are done for {x}?",
            "How is {x} diagnosed?",
            "What examinations confirm {x}?",
            "How do doctors test for {x}?",
            "What work-up does {x} need?",
            "Which lab work or imaging would confirm {x}?",
            "Work-up for {x}?",
        ),
    },
    "get_drug": {
        "zh": (
            "{x}可以用哪些药？",
            "治疗{x}的药物有哪些？",
            "{x}吃什么药",
            "得了{x}，医生会开什么药？",
            "{x}的常用药有哪些？",
            "{x}用药推荐",
            "有什么药能缓解{x}？",
            "{x}患者可以服用什么？",
            "得了{x}，药店里买点啥合适？",
            "{x}的常用方剂或西药推荐一下",
            "医院给{x}病人配的都是哪些药",
        ),
        "en": (
            "Which drugs are used for {x}?",
            "What medication treats {x}?",
            "What should someone with {x} take?",
            "What can be prescribed for {x}?",
            "Is there a medicine for {x}?",
            "List the medications for {x}.",
            "Name the pharmacotherapy for {x}.",
            "My aunt has {x}; what will be on her prescription?",
        ),
    },
    "get_cure": {
        "zh": (
            "{x}怎么治疗？",
            "{x}的治疗方法有哪些？",
            "如何治疗{x}",
            "得了{x}怎么办？",
            "{x}该怎么治？",
            "{x}有什么疗法？",
            "{x}如何医治？",
            "{x}的治疗手段有哪些",
            "对{x}应采取什么治疗方案？",
            "{x}还有救吗，医院一般怎么个治法？",
            "想把{x}根除，可以走哪些路子",
            "{x}的处理原则",
        ),
        "en": (
            "How is {x} treated?",
            "Which treatments are there for {x}?",
            "What is the therapy for {x}?",
            "How can {x} be managed?",
            "What can be done about {x}?",
            "What are the treatment options in {x}?",
            "What is the management of {x}?",
            "What options beside drugs exist for {x}?",
        ),
    },
    "get_comorbidity": {
        "zh": (
            "{x}有哪些并发症？",
            "{x}会并发什么疾病",
            "{x}常见的合并症是什么？",
            "{x}会引起什么病？",
            "{x}容易导致哪些疾病？",
            "{x}不治疗会引发什么病？",
            "{x}患者还容易得哪些病？",
            "{x}常伴随哪些疾病一起出现？",
            "{x}会发展成什么病？",
            "得了{x}之后可能继发哪些疾病？",
            "{x}的后遗症有哪些？",
            "{x}拖久了会引起别的什么病？",
            "得{x}的人往往还有哪些病",
            "{x}严重了会变成什么",
        ),
        "en": (
            "What are the complications of {x}?",
            "Which comorbidities does {x} have?",
            "What other diseases occur together with {x}?",
            "Which diseases can {x} cause?",
            "What conditions often accompany {x}?",
            "What else do people with {x} tend to get?",
            "Which disorders are associated with {x}?",
            "What else do people with {x} tend to suffer from?",
            "What can {x} lead to?",
        ),
    },
    "infer_by_symptom": {
        "zh": (
            "有{x}这些症状，可能是什么病？",
            "出现{x}是什么疾病引起的？",
            "哪些疾病会有{x}的症状？",
            "{x}可能是什么问题？",
            "最近总是{x}，我这是得了什么病？",
            "{x}，考虑什么疾病？",
            "{x}是怎么回事？",
            "病人表现为{x}，诊断是什么？",
            "{x}见于哪些疾病？",
            "为什么会{x}？",
            "最近{x}，我这是怎么了？",
            "病人主诉{x}，请给出鉴别诊断",
            "{x}，该往哪方面考虑？",
        ),
        "en": (
            "Which diseases have the symptoms {x}?",
            "What disease causes {x}?",
            "I have {x}. What could it be?",
            "A patient presents with {x}. What is the diagnosis?",
            "What might be wrong if someone has {x}?",
            "What illness should I suspect with {x}?",
            "What are the possible causes of {x}?",
            "In which disorders do {x} occur?",
            "I have been having {x}. What could it be?",
            "Differential diagnosis for {x}, please.",
        ),
    },
    "infer_by_test": {
        "zh": (
            "哪些疾病需要做{x}检查？",
            "做{x}检查是为了诊断什么病？",
            "{x}用于检查哪些疾病？",
            "{x}能查出什么病？",
            "医生让我做{x}，是怀疑什么病？",
            "{x}可以诊断哪些疾病？",
            "什么情况下要做{x}？",
            "医生让我做{x}，他怀疑我得了什么？",
            "{x}一起开，多半是排查什么",
            "什么情况下要查{x}？",
        ),
        "en": (
            "Which diseases need the tests {x}?",
            "For which diseases are {x} recommended tests?",
            "What can {x} diagnose?",
            "Which conditions are diagnosed with {x}?",
            "What disease is suspected when {x} are ordered?",
            "What illnesses do {x} detect?",
            "My doctor ordered {x}. What is she looking for?",
            "When does one order {x}?",
        ),
    },
    "infer_by_drug": {
        "zh": (
            "{x}可以治疗哪些疾病？",
            "哪些疾病用{x}这些药？",
            "{x}是治什么病的药？",
            "{x}主治什么？",
            "{x}适用于哪些病？",
            "{x}有什么用？",
            "吃{x}能治什么病？",
            "{x}的适应症有哪些？",
            "家里老人一直吃{x}，他得的是什么病？",
            "{x}主治什么",
            "处方上写着{x}，是什么毛病？",
        ),
        "en": (
            "Which diseases are treated with the drugs {x}?",
            "What diseases are the drugs {x} for?",
            "What is {x} used for?",
            "What conditions is {x} prescribed for?",
            "What are the indications of {x}?",
            "Someone takes {x}. Which disease do they have?",
            "A patient takes {x}. What condition does that suggest?",
            "What is {x} prescribed for?",
        ),
    },
    "infer_by_cure": {
        "zh": (
            "哪些疾病用{x}治疗？",
            "{x}这些治疗方法适用于哪些疾病？",
            "什么病可以用{x}的方法治疗？",
            "{x}能治什么病？",
            "哪些病需要{x}？",
            "采用{x}的疾病有哪些？",
            "什么病人会接受{x}？",
            "安排了{x}，一般是得了什么病？",
            "{x}对哪些毛病有用",
            "需要{x}的都是些什么病人？",
        ),
        "en": (
            "Which diseases are treated by {x}?",
            "For which diseases is the treatment {x}?",
            "What conditions require {x}?",
            "Which illnesses are managed with {x}?",
            "When is {x} the treatment of choice: in which diseases?",
            "Which disorders respond to {x}?",
            "Who gets {x}?",
            "The plan is {x}. Which conditions are managed like that?",
        ),
    },
    "infer_by_comorbidity": {
        "zh": (
            "哪些疾病的并发症有{x}？",
            "{x}是哪些疾病的并发症？",
            "什么病会并发{x}？",
            "哪些病会引起{x}？",
            "什么疾病容易合并{x}？",
            "{x}可由哪些疾病导致？",
            "{x}是由什么病引发的？",
            "哪些疾病常伴有{x}？",
            "什么病会发展成{x}？",
            "{x}常继发于哪些疾病？",
            "什么病的患者容易得{x}？",
            "以{x}为并发症的疾病有哪些？",
            "同时有{x}，背后可能是什么病？",
            "{x}往往跟着什么病一起来",
            "查出{x}，要警惕哪种原发病？",
        ),
        "en": (
            "Which diseases have the complications {x}?",
            "Which diseases are comorbid with {x}?",
            "Which diseases can lead to {x}?",
            "{x}: a complication of which diseases?",
            "What conditions are complicated by {x}?",
            "Which diseases often occur together with {x}?",
            "Which underlying diseases cause {x}?",
            "What disorders put a patient at risk of {x}?",
            "What underlying disease goes along with {x}?",
            "{x} - secondary to what?",
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


# Wordings that are for measuring alone. Whoever writes a policy does not read on.
#
# A policy that is changed to do better on these makes its figures worthless; wordings that were looked at are
# replaced.


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
"""Action → language → wordings, as :data:`kgdx.evaluate.question_wordings.TUNED`."""
