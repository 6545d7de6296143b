"""Question–answer text with known relations: a Chinese disease knowledge graph put into words by varied templates.

The text is templated, not written by people. The diseases are split into two halves by a digest of their names, one
to tune on and one held out. Three sets of templates were written one after the other, each before the rules knew it,
and tuned on; a fourth was written when the rules were finished, and is used to measure only.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FIELDS = {
    "HAS_SYMPTOM": "symptom",
    "RECOMMEND_TEST": "check",
    "RECOMMEND_DRUG": "common_drug",
    "RECOMMEND_CURE": "cure_way",
    "HAS_COMORBIDITY": "acompany",
}

QUESTIONS: Mapping[str, Sequence[str]] = {
    "HAS_SYMPTOM": (
        "{d}的症状有哪些？",
        "{d}有什么症状?",
        "得了{d}会有什么表现",
        "请问{d}的临床表现是什么？",
        "{d}早期有哪些征兆？",
        "医生您好，我最近总是不舒服，怀疑是{d}，想问一下{d}一般会出现什么症状？",
        "怎么判断自己是不是{d}",
        "{d}的典型症状",
        "我妈妈被诊断为{d}，这个病会有哪些不舒服？",
        "{d}发作时有哪些反应呢",
    ),
    "RECOMMEND_TEST": (
        "{d}需要做什么检查？",
        "{d}要做哪些检查项目",
        "怎么检查{d}？",
        "如何确诊{d}？",
        "怀疑{d}应该查什么",
        "你好，{d}去医院要做什么检查呢？",
        "{d}的检查方法有哪些",
        "{d}做哪些化验能查出来？",
        "{d}的诊断依据是什么检查？",
    ),
    "RECOMMEND_DRUG": (
        "{d}吃什么药？",
        "{d}用什么药好得快",
        "治疗{d}的常用药有哪些？",
        "请问得了{d}可以吃哪些药？",
        "{d}的首选药物",
        "宝宝得了{d}，能用什么药呢？",
        "{d}推荐用药",
        "{d}药物有什么",
        "我爸爸{d}好几年了，吃点什么药比较好？",
    ),
    "RECOMMEND_CURE": (
        "{d}怎么治疗？",
        "{d}如何治疗",
        "{d}的治疗方法有哪些？",
        "得了{d}怎么办",
        "{d}有什么好的治疗方式？",
        "医生，{d}应该怎么治？",
        "{d}最好的疗法是什么",
        "{d}能治好吗？怎么治？",
    ),
    "HAS_COMORBIDITY": (
        "{d}的并发症有哪些？",
        "{d}会引起什么并发症?",
        "{d}可能并发哪些疾病？",
        "{d}不治疗会有什么后果",
        "{d}有什么危害？",
        "{d}会伴随哪些疾病",
        "{d}容易合并什么病？",
        "得了{d}还会引发其他病吗？",
    ),
}

ANSWERS: Mapping[str, Sequence[str]] = {
    "HAS_SYMPTOM": (
        "{d}的症状主要有{i}等。",
        "{i}",
        "患者常表现为{i}。",
        "临床表现：{i}。",
        "本病的主要症状包括{i}，建议及时就医。",
        "您好，{d}患者可出现{i}等症状，病情严重时应尽早到医院就诊。",
        "典型的症状是{i}。",
        "早期可能没有明显不适，随着病情发展会出现{i}等情况。",
        "{d}一般以{i}为主要表现。",
        "常见症状：1.{n}",
        "这个病发作的时候主要是{i}，要注意休息。",
        "多数病人有{i}，少数病人症状不明显。",
    ),
    "RECOMMEND_TEST": (
        "需要做{i}等检查。",
        "{i}",
        "建议您到医院做{i}以明确诊断。",
        "检查项目包括：{i}。",
        "常用的检查有{i}。",
        "{d}可以通过{i}来确诊。",
        "一般要查{i}，结果出来后再给医生看看。",
        "诊断{d}主要依靠{i}。",
        "可行{i}检查，必要时住院观察。",
        "医生通常会安排{i}，请提前预约。",
        "辅助检查：1.{n}",
    ),
    "RECOMMEND_DRUG": (
        "建议服用{i}。",
        "{i}",
        "常用药物有{i}等。",
        "可以口服{i}进行治疗，具体用量请遵医嘱。",
        "药物方面可选用{i}。",
        "治疗{d}的药物包括{i}。",
        "您好，根据您的描述，可以使用{i}，同时注意休息。",
        "可在医生指导下使用{i}等药物治疗。",
        "推荐药物：{i}。",
        "一般给予{i}，疗程两周左右。",
        "首选{i}，效果不错。",
    ),
    "RECOMMEND_CURE": (
        "治疗方法有{i}。",
        "{i}",
        "{d}的治疗以{i}为主。",
        "主要采用{i}等方法。",
        "可以通过{i}来治疗，预后一般较好。",
        "治疗方式包括{i}，要根据病情选择。",
        "临床上常采取{i}。",
        "您好，{d}一般需要进行{i}。",
        "治疗原则：{i}。",
        "目前主要的疗法是{i}。",
        "首先考虑{i}，效果不佳时再调整方案。",
    ),
    "HAS_COMORBIDITY": (
        "常见的并发症有{i}。",
        "{i}",
        "{d}可并发{i}等。",
        "如果不及时治疗，可能引起{i}。",
        "容易合并{i}，需要引起重视。",
        "本病可伴发{i}。",
        "并发症：{i}。",
        "严重者可导致{i}，甚至危及生命。",
        "{d}患者往往同时伴有{i}等疾病。",
        "病情加重可继发{i}。",
    ),
}

DISTRACTORS: Sequence[tuple[str, str]] = (
    ("本病应与{x}相鉴别。", "acompany"),
    ("注意和{x}区分开来。", "acompany"),
    ("患者一般不会出现{x}。", "symptom"),
    ("没有{x}的话不必过于担心。", "symptom"),
    ("不建议自行服用{x}。", "common_drug"),
    ("孕妇禁用{x}。", "common_drug"),
    ("目前没有证据表明{x}对此有效。", "common_drug"),
    ("通常不需要做{x}。", "check"),
    ("既往有{x}病史的人要告诉医生。", "acompany"),
    ("平时要注意饮食清淡，多喝水，保持心情愉快。", ""),
    ("祝您早日康复！", ""),
    ("发病原因目前还不清楚，可能与遗传、环境等因素有关。", ""),
    ("好发于中老年人，男性多于女性。", ""),
    ("家里人得过{x}，所以我比较担心。", "acompany"),
)

FRESH_QUESTIONS: Mapping[str, Sequence[str]] = {
    "HAS_SYMPTOM": (
        "大夫，{d}都有啥感觉呀",
        "{d}初期身体会有哪些变化？",
        "想了解{d}的主要表现",
        "孩子可能是{d}，一般什么样子",
    ),
    "RECOMMEND_TEST": (
        "{d}挂号后要拍片子吗，做啥检查",
        "查{d}用什么手段",
        "{d}确诊前需要哪些化验单",
        "{d}怎么查出来的",
    ),
    "RECOMMEND_DRUG": ("{d}有没有特效药", "老人{d}开点什么药合适", "{d}能吃哪种消炎药", "治{d}买什么药"),
    "RECOMMEND_CURE": ("{d}该采取什么措施", "{d}手术好还是保守好", "{d}现在有什么新疗法吗", "{d}要怎么才能治好"),
    "HAS_COMORBIDITY": ("{d}拖久了会怎样", "{d}会不会变成别的病", "{d}常和哪些病一起出现", "{d}最怕出现什么并发情况"),
}

FRESH_ANSWERS: Mapping[str, Sequence[str]] = {
    "HAS_SYMPTOM": (
        "得了{d}的人往往感觉到{i}。",
        "主要是{i}这些不舒服。",
        "起病时先有{i}，之后逐渐加重。",
        "{d}最突出的特点就是{i}。",
        "临床上可见{i}，也有人毫无感觉。",
    ),
    "RECOMMEND_TEST": (
        "先抽血拍片，再做{i}看看。",
        "确诊{d}要看{i}的结果。",
        "{i}对诊断有很大帮助。",
        "去医院查{i}就可以知道了。",
        "首选的检查手段为{i}。",
    ),
    "RECOMMEND_DRUG": (
        "我给您开{i}，按说明书吃。",
        "{i}对{d}有一定疗效。",
        "临床上多用{i}来控制病情。",
        "不妨试试{i}。",
        "药店可以买到{i}，饭后服。",
    ),
    "RECOMMEND_CURE": (
        "目前{i}是{d}的主要手段。",
        "建议尽早接受{i}。",
        "根据分期选择{i}。",
        "医生会先给予{i}，再评估。",
        "{d}常规做{i}即可。",
    ),
    "HAS_COMORBIDITY": (
        "拖延下去会发展成{i}。",
        "{i}是{d}最常见的并发症。",
        "部分病人会同时患上{i}。",
        "长期不控制会造成{i}。",
        "{d}后期可出现{i}等并发症。",
    ),
}
"""Written after the rules knew the wordings above; then they were tuned on these too, on the tuning half."""

THIRD_QUESTIONS: Mapping[str, Sequence[str]] = {
    "HAS_SYMPTOM": ("{d}会让人哪里不好受", "说说{d}的临床特征", "得{d}以后人会怎么样", "{d}有哪些信号要当心？"),
    "RECOMMEND_TEST": (
        "{d}去医院挂什么号，查些什么项目",
        "{d}靠哪些检验来判定",
        "{d}要不要做CT之类的检查",
        "{d}诊断标准",
    ),
    "RECOMMEND_DRUG": ("{d}患者日常服药指南", "{d}打什么针吃什么药见效", "{d}临床用药有哪些选择", "求推荐{d}的药"),
    "RECOMMEND_CURE": ("{d}临床上怎么处理", "{d}的治法", "{d}需要开刀吗还是怎么治", "有谁治好了{d}，用的啥办法"),
    "HAS_COMORBIDITY": ("{d}的危害性大不大", "{d}会牵连其他器官生病吗，会并发什么", "{d}合并症", "{d}后遗症和并发症"),
}

THIRD_ANSWERS: Mapping[str, Sequence[str]] = {
    "HAS_SYMPTOM": (
        "{d}病人大多伴随{i}。",
        "{i}是本病的典型表现。",
        "该病特征为{i}。",
        "轻的只有{i}，重的会昏倒。",
        "我当时就是{i}，后来确诊的。",
    ),
    "RECOMMEND_TEST": (
        "医生让我查了{i}。",
        "需结合{i}综合判断。",
        "{i}有助于诊断。",
        "必查项目：{i}。",
        "入院后完善{i}等相关检查。",
    ),
    "RECOMMEND_DRUG": (
        "我吃的是{i}，感觉还行。",
        "{i}等药物可供选择。",
        "处方：{i}。",
        "一线用药为{i}。",
        "医生处方了{i}，一天三次。",
    ),
    "RECOMMEND_CURE": (
        "以{i}为主，辅以生活调理。",
        "{i}均可考虑。",
        "处理原则是{i}。",
        "多数人经{i}后痊愈。",
        "主张{i}相结合。",
    ),
    "HAS_COMORBIDITY": (
        "可累及全身，引发{i}。",
        "{i}等并发症较为多见。",
        "晚期容易诱发{i}。",
        "需警惕{i}的发生。",
        "常合并有{i}。",
    ),
}
"""Written after the rules knew those, and then tuned on as well."""

UNSEEN_QUESTIONS: Mapping[str, Sequence[str]] = {
    "HAS_SYMPTOM": ("{d}的病人身体有何异常", "请教{d}的特征性症状", "怀疑{d}，症状对不对得上？"),
    "RECOMMEND_TEST": ("{d}入院检查单上都有什么", "要排除{d}得做哪项检查", "{d}复查项目"),
    "RECOMMEND_DRUG": ("{d}家里常备哪些药", "{d}急性期药物怎么选", "{d}老吃药不好，到底该吃哪个药"),
    "RECOMMEND_CURE": ("{d}的标准治疗是什么", "{d}不吃药能治吗", "{d}中西医怎么治"),
    "HAS_COMORBIDITY": ("{d}并发症多吗", "{d}耽误了会引起什么", "{d}的危害具体指什么"),
}

UNSEEN_ANSWERS: Mapping[str, Sequence[str]] = {
    "HAS_SYMPTOM": (
        "病人可有{i}等不适。",
        "患病后身体会有{i}。",
        "以{i}最为多见。",
        "{d}发病时{i}很明显。",
        "其症状特点为{i}。",
    ),
    "RECOMMEND_TEST": (
        "辅助检查可选{i}。",
        "我们科常规做{i}。",
        "需进一步行{i}。",
        "{i}可明确病变部位。",
        "诊断前须完成{i}。",
    ),
    "RECOMMEND_DRUG": (
        "药物以{i}为宜。",
        "医嘱：{i}，饭后服用。",
        "可考虑{i}治疗。",
        "目前证据支持{i}。",
        "长期服用{i}可以缓解。",
    ),
    "RECOMMEND_CURE": ("首选{i}。", "常用的办法是{i}。", "综合运用{i}。", "一般采取{i}的方式。", "早期{i}效果好。"),
    "HAS_COMORBIDITY": (
        "可同时出现{i}。",
        "并发症包括但不限于{i}。",
        "部分患者合并{i}。",
        "如控制不佳，会继发{i}。",
        "要防止{i}。",
    ),
}
"""Written after the rules were finished, and never tuned on: how they fare with wordings that nobody foresaw."""

JOINERS = ("、", "、", "、", "，", "；", ",", " ")
_CLEAN = re.compile(r"[一-鿿A-Za-z0-9αβγκⅠ-Ⅻ\-/()（）]{2,20}")


@dataclass(frozen=True)
class Known:
    """A record and the relations that were put into it: (type, disease, other end)."""

    line: dict[str, Any]
    relations: frozenset[tuple[str, str, str]]


def _all(*sets: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    return {type_: [template for templates in sets for template in templates[type_]] for type_ in FIELDS}


def diseases(path: Path) -> list[dict[str, Any]]:
    """The knowledge graph, without names that are no phrases (cut off, sentences, lists in one)."""
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        rows = [json.loads(line) for line in stream]
    for row in rows:
        for field in FIELDS.values():
            row[field] = [x for x in dict.fromkeys(row[field]) if _CLEAN.fullmatch(x) and x != row["name"]]
    return [row for row in rows if _CLEAN.fullmatch(row["name"])]


def held_out(name: str) -> bool:
    """Whether a disease is in the half that is not tuned on."""
    return hashlib.sha256(name.encode()).digest()[0] % 2 == 1


def unseen(rows: Sequence[dict[str, Any]], seed: int = 2) -> Iterator[Known]:
    """Each disease in a record for each of its relations, in words that the rules were not made for."""
    chance = random.Random(seed)
    for row in rows:
        for type_, field in FIELDS.items():
            if row[field]:
                answer, kept = _said(chance, type_, row["name"], row[field][:8], THIRD_ANSWERS[type_])
                question = chance.choice(THIRD_QUESTIONS[type_]).format(d=row["name"])
                yield Known(_line(chance, question, answer), frozenset((type_, row["name"], x) for x in kept))


def records(rows: Sequence[dict[str, Any]], seed: int = 1) -> Iterator[Known]:
    """Each disease in a record for each of its relations, and in one of several; distractors in half of them."""
    chance = random.Random(seed)
    pools = {field: sorted({x for row in rows for x in row[field]}) for field in FIELDS.values()}
    for row in rows:
        given = [(type_, row[field][:8]) for type_, field in FIELDS.items() if row[field]]
        for type_, items in given:
            answer, kept = _said(chance, type_, row["name"], items)
            answer = _distracted(chance, answer, row, pools)
            question = chance.choice(_all(QUESTIONS, FRESH_QUESTIONS, THIRD_QUESTIONS)[type_]).format(d=row["name"])
            yield Known(_line(chance, question, answer), frozenset((type_, row["name"], x) for x in kept))
        if len(given) > 2:
            yield _mixed(chance, row, given, pools)


def _mixed(chance: random.Random, row: Mapping[str, Any], given: Sequence[tuple[str, Any]], pools: Any) -> Known:
    parts, relations = [], []
    for type_, items in chance.sample(given, 3):
        plain = [t for t in ANSWERS[type_] if t != "{i}"]  # a bare list needs its question
        text, kept = _said(chance, type_, row["name"], items[:4], plain)
        parts.append(_distracted(chance, text, row, pools))
        relations += [(type_, row["name"], x) for x in kept]
    question = chance.choice(("{d}是什么病？", "请介绍一下{d}", "{d}", "{d}严重吗？应该注意什么？")).format(
        d=row["name"]
    )
    return Known(_line(chance, question, "".join(parts)), frozenset(relations))


def _said(
    chance: random.Random, type_: str, name: str, items: Sequence[str], templates: Sequence[str] = ()
) -> tuple[str, list[str]]:
    joiner = chance.choice(JOINERS)
    listed = joiner.join(items)
    if len(items) > 1 and chance.random() < 0.4 and joiner != " ":
        listed = f"{joiner.join(items[:-1])}{chance.choice(('和', '以及', '及', '或'))}{items[-1]}"
    numbered = " ".join(f"{n}.{x}" for n, x in enumerate(items, 1)).removeprefix("1.")
    template = chance.choice(templates or _all(ANSWERS, FRESH_ANSWERS, THIRD_ANSWERS)[type_])
    return template.format(d=name, i=listed, n=numbered), list(items)


def _distracted(chance: random.Random, answer: str, row: Mapping[str, Any], pools: Mapping[str, list[str]]) -> str:
    if chance.random() < 0.5:
        template, field = chance.choice(DISTRACTORS)
        other = chance.choice(pools[field]) if field else ""
        if not field or other not in row[field]:
            said = template.format(x=other)
            closed = answer if answer[-1] in "。！" else f"{answer}。"
            return closed + said if chance.random() < 0.7 else said + closed
    return answer


def _line(chance: random.Random, question: str, answer: str) -> dict[str, Any]:
    return chance.choice(
        (
            {"questions": [[question]], "answers": [answer]},
            {"questions": [question], "answers": [answer]},
            {"questions": question, "answers": answer},
            {"input": question, "output": answer},
            {"question": question, "answer": answer},
        )
    )
