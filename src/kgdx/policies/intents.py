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

_WORDS: Mapping[Want, str] = MappingProxyType(
    {
        Want.DISEASE: r"""
            (?<!并发)(?<!合并)(?<!伴发)(?<!伴随)(?<!引起)(?<!导致)(?<!引发)
            (?:什么|哪些|哪种|哪几种|哪个|何种|啥)(?:样的?)?(?:疾病|病症|病(?!因|史|人|历|毒|原|菌)|病?综合征)
            | (?:得|患|生)了?(?:什么|啥)病 | (?:可能|会|是|考虑)(?:是|为)?(?:什么|哪种|啥)(?:疾?病|情况|问题)
            | (?:什么|哪些)(?:原因|病因)(?:引起|导致|造成) | (?:怎么|咋)回事 | 鉴别诊断
            | (?:可能的|最可能的)?诊断(?:是|为)
            | (?:which|what) (?:\s+[\w-]+){0,2}
              \s+ (?:diseases?|disorders?|conditions?|illness(?:es)?|syndromes?|diagnos[ei]s)\b
            | (?:diseases?|disorders?|conditions?) \s+ (?:with|that|which|for|causing|treated)\b
            | \bwhat \s+ (?:could|can|might|may|would)? \s* (?:it|this|that|cause[sd]?)\b | \bdifferential\b
            | \bwhat (?:'s|\s+is) \s+ wrong\b | \bcauses? \s+ of\b
        """,
        Want.SYMPTOM: r"""
            症状 | 表现 | 征象 | 体征 | 征兆 | 不适
            | \bsymptoms?\b | \bsigns?\b | \bpresent(?:s|ation)?\b | \bmanifest\w*
            | \bclinical \s+ (?:features?|picture)
            | \bfeatures?\b | \bphenotypes?\b | 表型
        """,
        Want.TEST: r"""
            检查 | 检验 | 化验 | 检测 | 确诊 | 筛查 | 诊断(?!为|是) | 怎么查 | 查什么 | 查些什么
            | \btests?\b | \btested\b | \bdiagnos(?:e|ed|ing)\b | \binvestigat\w+ | \bwork-?\s?up\b | \bexaminations?\b
            | \bscreen(?:ed|ing)?\b | \bcheck(?:ed)?\b | \bimaging\b | \blab(?:oratory)?\b
        """,
        Want.DRUG: r"""
            药(?:物|品)? | 服用 | 开点?什么 | 特效药
            | \bdrugs?\b | \bmedic(?:ation|ations|ine|ines)\b | \bprescri\w+ | \bpills?\b | \bpharmac\w+
            | \b(?:i|we|they|patients?|to)\s+take\b
        """,
        Want.CONTRAINDICATION: r"""
            禁忌 | 禁用 | 忌用 | 慎用 | (?:不能|不可以?|不宜|不要|避免)(?:吃|用|服用|使用|服)
            | \bcontra-?indicat\w+ | \bavoid(?:ed)?\b | \b(?:not|never)\s+(?:be\s+)?(?:take|taken|use|used|give|given)\b
            | \bunsafe\b | \bdangerous\b
        """,
        Want.CURE: r"""
            治疗 | 疗法 | 医治 | (?:怎么|怎样|如何|咋)(?:治|办|处理) | 手术 | 治得?好
            | \btreat(?:s|ed|ing|ment|ments)?\b | \btherap\w+ | \bcure[sd]?\b | \bmanage(?:d|ment)?\b | \bsurger\w+
            | \bprocedures?\b
        """,
        Want.COMORBIDITY: r"""
            并发 | 合并症 | (?:引起|导致|引发)(?:什么|哪些|何种) | 合并 | 共病 | 伴发 | 伴随 | 同时患
            | \bcomplicat\w+ | \bco-?morbid\w* | \bco-?occur\w* | \baccompan\w+
            | \bassociated \s+ (?:with|diseases?|conditions?)
        """,
        Want.GENE: r"基因 | 突变 | \bgenes?\b | \bmutat\w+ | \bgenetic\w*",
        Want.DESCRIPTION: r"""
            什么是 | ^\W*〇?(?:到底|究竟)?是(?:什么|啥)(?:病|疾病)?\W*$ | 介绍 | 定义 | 简介 | 了解 | 讲讲 | 说说
            | \bwhat(?:'s|\s+is|\s+are)\s+(?=(?:an?\s+|the\s+)?[\w'-]+\W*$) | \bdefin\w+
            | \btell \s+ me \s+ about\b | \bdescribe\b
            | \bexplain\b | \boverview\b | \babout\s+〇
        """,
    }
)

_PATTERNS = MappingProxyType({want: re.compile(words, re.IGNORECASE | re.VERBOSE) for want, words in _WORDS.items()})

_NEGATED = re.compile(
    r"(?:没有|并无|无|不伴有?|未见|未|否认|\bwithout|\bno|\bnot|\bdenies|\bneither|\bnor)\s*(?:any\s+|the\s+)?$", re.I
)

_FILLER = re.compile(
    r"""(?:请问|请|列出|常见的?|一般|通常|主要|需要|应该|应当|可以|可能|有哪些|哪些|什么|怎么|怎样|如何|多少|吗|呢|的|
    得了|患了|患者|病人|孩子|我|你|他|她|做|用|吃|是|会|有|和|与|及|、)
    | \b(?:what|which|how|who|when|why|is|are|was|were|do|does|did|can|could|should|would|may|might|the|an?|of|for|to|in
    |on|with|by|from|and|or|have|has|had|be|been|i|you|we|my|me|there|it|used|use|done|recommended|needed?|please|list
    |show|give|tell|about|patients?|people|someone|suspected|first|line|best|common|usual(?:ly)?|typical(?:ly)?)\b""",
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
    return tuple(sorted(found, key=lambda want: (found[want], want)))


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
