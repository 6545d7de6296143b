"""What a question wants, by its words, in Chinese and English: symptoms, tests, drugs, the disease itself, and so on.

The entities that the question names are taken out of it first, so that no part of a name counts as a word.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import Protocol


class Want(StrEnum):
    """Something that a question may want."""

    DISEASE = "disease"
    SYMPTOM = "symptom"
    TEST = "test"
    DRUG = "drug"
    CONTRAINDICATION = "contraindication"
    CURE = "cure"
    COMORBIDITY = "comorbidity"
    TOGETHER = "together"
    """Diseases that occur with another one, whichever of them comes first."""
    GENE = "gene"
    DESCRIPTION = "description"


class Span(Protocol):
    """A part of a text."""

    @property
    def start(self) -> int:
        """Where it begins."""
        ...

    @property
    def end(self) -> int:
        """Where it ends."""
        ...


GAP = "〇"
"""Stands for an entity in the rest of a question."""

_WHICH = r"(?:什么|哪些|哪种|哪几种|哪类|哪个|何种|啥|何)(?:样的?|其他|别的)?"
_LEADS = r"(?:引起|引发|导致|造成|诱发|并发|合并|继发|伴发|发展[成为]|演变[成为]|转变?[成为]|变成|恶化[成为])"
"""What one disease does to bring about another."""
_SORT = r"(?:(?!药|治|检|查|症|状|方|手|并发|后|因|项)[^〇\W]){0,4}?"
"""Words that say which sort of diseases is asked for: 哪些慢性病."""
_ON = r"(?:(?!由|是|被|于|因|为)[^〇。！？!?，,；;]){0,30}?"
"""Words of one clause that do not turn it round: 〇是由什么病引起的."""
_EN_LEADS = r"(?:cause|lead|result|trigger|produce|progress|develop|bring|turn|provoke|end)"
_EN_DISEASES = r"(?:diseases?|disorders?|conditions?|illness(?:es)?|syndromes?|ailments?|pathologies)"

_WORDS: Mapping[Want, str] = MappingProxyType(
    {
        Want.DISEASE: rf"""
            (?<!并发)(?<!合并)(?<!伴发)(?<!伴随)(?<!引起)(?<!导致)(?<!引发)
            {_WHICH}{_SORT}(?:疾病|疾患|病症|病(?!因|史|历|毒|原|菌)|病?综合征|情况下)
            | (?:疾病|病症|病)(?:都|主要|可能|一般|通常)?(?:有|是|包括|为)?{_WHICH} | 原发(?:疾)?病 | 基础(?:疾)?病
            | {_WHICH}(?:会|可|能)?(?:引起|导致|造成|引发)的?
            | (?:得|患|生)了?{_WHICH}病 | (?:可能|会|是|考虑|怀疑)(?:是|为)?{_WHICH}(?:疾?病|情况|问题|毛病)
            | (?:可能|考虑|怀疑)(?:是|为)?{_WHICH}(?!检查|检验|化验|药|治|手术|症|并发|方法|方案|因)
            | {_WHICH}(?:原因|病因)(?:引起|导致|造成)? | (?:怎么|咋)回事 | 为(?:什么|何|啥) | (?:怎么|咋)会
            | 鉴别诊断 | (?:怎么|咋)了 | 哪里(?:出|有)了?(?:问题|毛病)
            | (?:可能|初步|首要|首先)(?:的|性)?诊断 | 诊断(?:是|为|有|应|考虑|\W*$) | (?:推断|推测|提示)(?:是|为)?
            | 为(?:并发症|合并症|后遗症) | (?:并发症|合并症|症状|表现|检查|药|疗法|治疗)的(?:疾病|病)
            | 主治 | 适应症 | 适用 | 治(?:疗|好)?{_WHICH}
            | \b(?:which|what)(?:\s+[\w-]+){{0,2}}\s+(?:{_EN_DISEASES}|diagnos[ei]s)\b
            | \b{_EN_DISEASES}\s+(?:with|that|which|whose|where|for|having|causing|leading|complicated|accompanied
              |treated|in\s+which)\b
            | \b(?:likely|possible|probable|differential|suspected|your)\s+diagnos[ei]s\b | \bdifferential\b
            | \bdiagnos[ei]s\s*(?:\W*$|(?:is|are|could|would|might|may|should)\b) | \bdiagnose\W*$
            | \bwhat\s+(?:could|can|might|may|would|will)?\s*(?:it|this|that|be\s+(?:wrong|the\s+matter|going\s+on))\b
            | \bwhat\s+(?:(?:could|can|might|may|would|usually|often|typically)\s+)?
              (?:causes?|explains?|leads?|triggers?|predisposes?)\b
            | \b(?:complications?|secondary|due|consequences?)\s+(?:of|to)(?:\s+(?:which|what)\b|\W*$) | \bsuspect\b
            | \bwhat(?:'s|\s+is)\s+(?:wrong|the\s+matter|going\s+on)\b | \bcauses?\s+of\b | \bwhy\b
            | \bwhat\s+(?:do|have)\s+(?:i|we|they|he|she)\s+(?:have|got)\b
            | \bindications?\b | \b(?:used|good)\s+for\W*$
        """,
        Want.SYMPTOM: r"""
            症状 | 症候 | 病征 | 表现 | 表征 | 征象 | 体征 | 征兆 | 不适 | 难受 | 感觉 | (?:身体|人)会?(?:怎么|怎)样
            | \bsymptoms?\b | \bsigns?\b | \bpresent(?:s|ing|ation)?\b | \bmanifest\w* | \bcomplain\w*
            | \bclinical\s+(?:features?|picture)
            | \bhow\s+(?:do|does|can|would)\b.{0,60}?\b(?:know|tell|feel|recogni[sz]e)\b
            | \bfeatures?\b | \bphenotypes?\b | 表型 | \b(?:look|feel)s?\s+like\b
        """,
        Want.TEST: r"""
            检查 | 检验 | 化验 | 检测 | 确诊 | 筛查 | 排查 | 诊断(?!为|是|有|应|考虑|\W*$)
            | (?:怎么|如何|怎样)查 | 查什么 | 查些什么 | 查哪些 | 查出 | 拍片 | 鉴定
            | \btest(?:s|ed|ing)?\b | \bdiagnos(?:e|ed|ing|tics?)\b | \binvestigat\w+ | \bwork-?\s?up\b
            | \bexam(?:s|ined?|inations?)?\b | \bscreen(?:s|ed|ing)?\b | \bcheck(?:s|ed|ing)?\b
            | \bimaging\b | \bscans?\b | \blab(?:s|oratory)?\b | \bconfirm(?:s|ed|ing)?\b
            | \bdetect\w* | \brule[sd]?\s+out\b
        """,
        Want.DRUG: r"""
            药(?:物|品)? | 服用 | 开点?什么 | 特效药 | 胶囊 | 口服 | 吃点?(?:什么|啥|哪)(?!.{0,3}(?:饭|菜|水果|食))
            | \bdrugs?\b | \bmedic(?:ation|ations|ine|ines|ament|aments|ally)\b | \bprescri\w+ | \bpills?\b
            | \bpharmac\w+ | \btablets?\b
            | \b(?:i|we|they|patients?|someone|to|should)\s+take\b | \btake\s+for\b
        """,
        Want.CONTRAINDICATION: r"""
            禁忌 | 禁用 | 忌用 | 慎用 | (?:不能|不可以?|不宜|不要|避免)(?:吃|用|服用|使用|服)
            | \bcontra-?indicat\w+ | \bavoid(?:ed)?\b | \b(?:not|never)\s+(?:be\s+)?(?:take|taken|use|used|give|given)\b
            | \bunsafe\b | \bdangerous\b
        """,
        Want.CURE: r"""
            治疗 | 疗法 | 医治 | 诊治 | 救治 | 根治 | 治愈 | 治(?!什么|啥|哪) | (?:怎么|怎样|如何|咋)(?:办|处理|医|应对)
            | 手术 | 处置 | 缓解 | 康复
            | \btreat(?:s|ed|ing|able|ment|ments)?\b | \btherap\w+ | \bcur(?:e[sd]?|ing|able)\b | \bmanag\w+
            | \bsurger\w+ | \bsurgical\w* | \bprocedures?\b | \bremed(?:y|ies|ied)\b | \bhandled?\b | \binterventions?\b
            | \b(?:be|is|gets?)\s+done\s+(?:about|for|against|with)\b | \b(?:deal|dealt|cope)\w*\s+with\b
            | \bget\s+rid\s+of\b | \bhelps?\s+(?:with|against)\b | \boptions?\b
        """,
        Want.COMORBIDITY: rf"""
            并发 | 合并 | 后遗症 | 继发 | 共患 | 危害 | 后果 | {_LEADS}(?:出|的)?{_WHICH} | 恶化
            | \bcomplicat\w+ | \bsequel\w+ | \bconsequences?\b | \bafter-?effects?\b | \bsecondary\b
            | \brisk\s+(?:of|for|factor)\b
        """,
        Want.TOGETHER: r"""
            一起(?:发生|出现)? | 一同 | 一并 | 共现 | 同时(?:出现|发生|患|有|得|存在) | 共病 | 共存 | 并存
            | 伴发 | 伴随 | 伴有 | 还(?:容易|常|可能|会)?(?:得|患|有)
            | \bco-?morbid\w* | \bco-?occur\w* | \bco-?exist\w* | \baccompan\w+ | \btogether\b | \balongside\b
            | \bgo(?:es)?\s+(?:along|hand\s+in\s+hand)\b | \b(?:associated|linked|related|connected)\b
            | \btend\s+to\s+(?:get|have|develop)\b | \b(?:also|else)\b.{0,60}?\b(?:have|get|develop|suffer)\b
        """,
        Want.GENE: r"基因 | 突变 | \bgenes?\b | \bmutat\w+ | \bgenetic\w*",
        Want.DESCRIPTION: r"""
            什么是 | ^\W*〇?(?:到底|究竟)?是(?:什么|啥)(?:病|疾病)?\W*$ | 定义
            | \bwhat(?:'s|\s+is|\s+are)\s+(?=(?:an?\s+|the\s+)?[\w'-]+\W*$) | \bdefin(?:e[sd]?|ing|ition\w*)\b
            | \bdescribe\b
        """,
    }
)

_ONWARD = re.compile(
    rf"""
    〇{_ON}{_LEADS}(?!于|在)[^〇]{{0,8}}?(?:{_WHICH}|\W*$)
    | 〇{_ON}(?:还|也|更|容易|易)[^〇]{{0,4}}(?:得|患|有|出现|发生)[^〇]{{0,4}}{_WHICH}
    | \b(?:can|does|do|did|could|may|might|will|would)\s+(?:\w+\s+)?〇[^.!?]{{0,80}}?\b{_EN_LEADS}\b
    | 〇[^.!?]{{0,80}}?\b{_EN_LEADS}s?\b(?:\s+(?:to|in|into|up|about|on)){{0,2}}\s+(?:which|what)\b
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""What is asked for is what follows from the entities that are named, and not what they follow from."""

_FROM = re.compile(r"\b(?:in|of|from|after|with|during|among|by)\s+(?:which|what)\b", re.IGNORECASE)

_CAUSES = re.compile(
    rf"{_LEADS}|而来|进展|最[后终]|晚期|警惕|容易得|基础病|基础疾病|原发|\b{_EN_LEADS}(?:s|d|ed|ing)?\b"
    r"|\b(?:risk|underlying|predispos\w+|prone|susceptible)\b",
    re.IGNORECASE,
)

_PATTERNS = MappingProxyType({want: re.compile(words, re.IGNORECASE | re.VERBOSE) for want, words in _WORDS.items()})

_NEGATED = re.compile(
    r"(?:没有|并无|无|不伴有?|未见|未|否认|\bwithout|\bno|\bnot|\bdenies|\bneither|\bnor)\s*(?:any\s+|the\s+)?$", re.I
)

_FILLER = re.compile(
    r"""(?:请问|请|列出|介绍|了解|讲讲|说说|简介|方法|方案|手段|常见的?|一般|通常|主要|需要|应该|应当|可以|可能|有哪些|哪些|什么|
    怎么|怎样|如何|多少|吗|呢|的|得了|患了|患者|病人|孩子|我|你|他|她|做|用|吃|是|会|有|和|与|及|、)
    | \b(?:what|which|how|who|when|why|is|are|was|were|do|does|did|can|could|should|would|may|might|the|an?|of|for|to|in
    |on|with|by|from|and|or|have|has|had|be|been|i|you|we|my|me|there|it|used|use|done|recommended|needed?|please|list
    |show|give|tell|about|explain|overview|causes?|caused|diseases?|patients?|people|someone|suspected|first|line|best|common|usual(?:ly)?|typical(?:ly)?)\b""",
    re.IGNORECASE | re.VERBOSE,
)


def masked(question: str, spans: Sequence[Span]) -> str:
    """Return the question with a gap for each entity that it names.

    Example:
        >>> from kgdx.case import Span
        >>> masked("百日咳吃什么药", [Span(0, 3)])
        '〇吃什么药'
    """
    parts: list[str] = []
    at = 0
    for span in sorted(spans, key=lambda span: span.start):
        if span.start >= at:
            parts += (question[at : span.start], GAP)
            at = span.end
    return "".join((*parts, question[at:]))


def wants(rest: str) -> tuple[Want, ...]:
    """Return what a question wants, in the order in which it says so.

    Args:
        rest: The question without its entities, as :func:`masked` gives it.

    Example:
        >>> [str(want) for want in wants("〇吃什么药，要做什么检查？")]
        ['drug', 'test']
    """
    found = {want: match.start() for want, pattern in _PATTERNS.items() if (match := pattern.search(rest))}
    if Want.CONTRAINDICATION in found and Want.CURE not in found:
        found.pop(Want.DRUG, None)
    if not found.keys() <= {Want.TOGETHER, Want.DISEASE, Want.COMORBIDITY}:
        found.pop(Want.TOGETHER, None)  # "Which genes are associated with 〇?" says what else is meant
    if (Want.DISEASE in found or not found) and (onward := _onward(rest)):
        found.pop(Want.DISEASE, None)
        found.setdefault(Want.COMORBIDITY, onward.start())
    return tuple(sorted(found, key=lambda want: (found[want], want)))


def _onward(rest: str) -> re.Match[str] | None:
    return None if _FROM.search(rest) else _ONWARD.search(rest)


def of_causes(rest: str) -> bool:
    """Tell whether a question is about what brings something about, whatever it is a sign or a complication of.

    Example:
        >>> of_causes("哪些疾病会引起〇？"), of_causes("Which diseases have the symptoms 〇?")
        (True, False)
    """
    return _CAUSES.search(rest) is not None


def negated(question: str, span: Span) -> bool:
    """Tell whether a question says of an entity that it is not there.

    Example:
        >>> from kgdx.case import Span
        >>> negated("cough without fever", Span(14, 19))
        True
    """
    return _NEGATED.search(question[max(0, span.start - 20) : span.start]) is not None


def remainder(rest: str) -> str:
    """Return what is left of a question when all words that are not part of a name are taken out.

    Example:
        >>> remainder("Which tests are recommended for pertusis?")
        'pertusis'
    """
    for pattern in _PATTERNS.values():
        rest = pattern.sub(" ", rest)
    return " ".join(re.sub(r"[^\w\s'-]", " ", _FILLER.sub(" ", rest.replace(GAP, " "))).split())
