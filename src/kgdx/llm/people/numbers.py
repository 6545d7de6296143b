"""Dates and numbers that identify a person, in English and Chinese text.

What medicine needs stays: ages, durations, laboratory values, doses, and identifiers of terms, genes, variants and
publications.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kgdx.llm.people import QUOTE, covered

Found = tuple[int, int, str]

_HAN = "\u4e00-\u9fff"
_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?|"
    r"Nov(?:ember)?|Dec(?:ember)?)"
)
_DAY = r"(?:0?[1-9]|[12]\d|3[01])"
_YEAR = r"(?:19|20)\d{2}"
_NUMERAL = "〇零○Ｏ一二三四五六七八九十0-9０-９"

_PROTECTED = re.compile(
    r"\b(?:HP|OMIM|MIM|ORPHA|Orphanet|MONDO|DOID|MESH|UMLS|SNOMED(?:CT)?|ICD(?:-?1[01])?|NCBIGene|HGNC|ENSEMBL|PMID|PMC(?:ID)?|DOI|KGDX|LOINC|RxNorm|ATC|DrugBank|"
    r"CHEBI|GO|NCIT|EFO|CLINVAR|rs|NCT)[:_ #]?[ ]?[A-Z]?\d[\w.\-/]*"
    r"|\b10\.\d{4,9}/[^\s\"'<>,;]+"
    r"|\b(?:ENS[A-Z]*\d{6,}|[NX][MPRCG]_\d{4,}(?:\.\d+)?|LRG_\d+)"
    r"|\b[cgmnpr]\.\(?(?:[A-Z][a-z]{2}|[*?\-_])?\d[\w*?>_+\-=()]*"
    r"|\bchr(?:\d{1,2}|[XYM])[:\-]\d[\d,\-]*"
    r"|\[[A-Z]{1,3}\d{1,4}\]"
)

_NO = r"(?:[ _]?(?:number|no\.?|id|#))"
_OF_RECORD = (
    rf"mrn|m\.r\.n\.|medical[ _]record{_NO}?|hospital{_NO}|patient{_NO}|patient[ _]identifier|chart{_NO}|record{_NO}|"
    rf"accession{_NO}|account{_NO}|case[ _]no\.?|(?:health[ _])?insurance{_NO}|policy{_NO}|member[ _]id|passport{_NO}?|"
    rf"driver['’]?s?[ _]licen[cs]e{_NO}?|licen[cs]e[ _]plate|nhs{_NO}?|ssn|social[ _]security{_NO}?|medicare{_NO}?|"
    r"national[ _]id"
)
_OF_RECORD_ZH = (
    r"住院号|门诊号|病历号|病案号|病例号|就诊号|就诊卡号?|登记号|档案号|检查号|影像号|病理号|标本号|条码号?|身份证(?:号码?)?|证件号码?|"
    r"医保(?:卡)?号?|社保(?:卡)?号?|护照(?:号码?)?|银行卡号?|卡号|账号|床号|(?<![A-Za-z])(?:微信|QQ|qq)(?:(?:号码?)?(?=\s*[:：是为])|号码?)"
)

_RULES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("EMAIL", re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@(?:[\w-]{1,63}\.)+[A-Za-z]{2,24}")),
    (
        "DATE",
        re.compile(
            rf"(?<![\w./-]){_YEAR}[-/.](?:0?[1-9]|1[0-2])[-/.]{_DAY}(?:T\d{{2}}:\d{{2}}(?::\d{{2}}(?:\.\d+)?)?(?:Z|[+-]\d{{2}}:?\d{{2}})?)?(?![\w/-]|\.\d)"
            rf"|(?<![\w./-]){_DAY}([-/.])(?:0?[1-9]|[12]\d|3[01])\1(?:{_YEAR}|\d{{2}})(?![\w/-]|\.\d)"
            rf"|\b(?:{_DAY}(?:st|nd|rd|th)?[ \t]+(?:of[ \t]+)?{_MONTH}\b\.?,?(?:[ \t]+{_YEAR})?)(?!\w)"
            rf"|\b{_MONTH}\.?[ \t]+{_DAY}(?:st|nd|rd|th)?\b(?:,?[ \t]+{_YEAR}\b)?(?![ \t]*(?:mg|ml|years?|mm|%))"
            rf"|\b{_MONTH}\.?,?[ \t]+(?:of[ \t]+)?{_YEAR}\b"
            rf"|(?i:\b(?:on|dated?|since|until|dob|born)[ \t:]+)\d{{1,2}}/\d{{1,2}}\b(?![/\d])"
            rf"|{_YEAR}\s*年\s*[01]?\d\s*月份?(?:\s*[0-3]?\d\s*[日号])?"
            rf"|(?<![\d.])(?:[1-9]|0[1-9]|1[0-2])\s*月\s*(?:[1-9]|0[1-9]|[12]\d|3[01])\s*[日号]"
            rf"|(?:[12][{_NUMERAL}]{{3}}|[一二][九〇零○][{_NUMERAL}]{{2}})年[{_NUMERAL}]{{1,3}}月(?:[{_NUMERAL}]{{1,3}}[日号])?"
            rf"|(?<![{_NUMERAL}])[一二三四五六七八九十]{{1,2}}月[一二三四五六七八九十]{{1,3}}[日号]"
        ),
    ),
    (
        "ID",
        re.compile(
            r"(?i:(?<![a-z0-9])(?:" + _OF_RECORD + r")"
            r"" + QUOTE + r"[ \t]*(?:is\b|[:#=])?[ \t]*#?[ \t]*" + QUOTE + r")"
            r"(?P<it>(?=[\w \-/]{0,24}\d)[A-Za-z]{0,4}[\-/]?\d[\w\-/]*(?:[ ]\d{2,6}){0,4})"
        ),
    ),
    (
        "ID",
        re.compile(
            r"(?:" + _OF_RECORD_ZH + r")" + QUOTE + r"\s*(?:[:：为是=])?\s*" + QUOTE + r""
            r"(?P<it>(?=[\w\-]{0,24}\d)[A-Za-z]{0,4}[\-_]?\d[\w\-]{1,30}|[a-zA-Z][\w\-]{5,19})"
        ),
    ),
    ("ID", re.compile(r"(?<![\w.])\d{3}-\d{2}-\d{4}(?![\w-]|\.\d)")),
    ("ID", re.compile(r"(?<![\w.])[1-9]\d{5}(?:19|20)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\d{3}[\dXx](?!\w)")),
    (
        "PHONE",
        re.compile(
            r"(?i:(?<![a-z0-9])(?:tel(?:ephone)?|phone|mobile|cell(?:phone)?|fax|pager|call|contact|"
            r"whatsapp)(?:[ \t]+(?:number|no\.?|at|me|us|him|her|on|is)){0,3}"
            + QUOTE
            + r"[ \t]*[.:=]?[ \t]*"
            + QUOTE
            + r")"
            r"(?P<it>\+?\(?\d[\d() .\-]{5,18}\d)"
            r"|(?:电话|手机|联系方式|传真|座机)(?:号码?)?" + QUOTE + r"\s*[:：是为=]?\s*" + QUOTE + r""
            r"(?P<that>\+?\(?\d[\d()（） \-]{5,18}\d)"
        ),
    ),
    (
        "PHONE",
        re.compile(
            r"(?<![\w.+])(?:\+?1[ .\-])?(?:\(\d{3}\)[ ]?|\d{3}[ .\-])\d{3}[.\-]\d{4}(?![\w-]|\.\d)"
            r"|(?<![\w.])(?:\+\d{1,3}|00[1-9]\d{0,2}(?=(?:[ \-.()]?\d){8}))"
            r"[ \-.]?(?:\(?\d{1,5}\)?[ \-.]?){2,5}\d{2,4}(?![\w-])"
            r"|(?<![\w.+\-])(?:\+?86[ \-]?)?1[3-9]\d[ \-]?\d{4}[ \-]?\d{4}(?![\w-]|\.\d)"
            r"|(?<![\w.\-])0\d{2,3}-\d{7,8}(?:-\d{1,5})?(?![\w-])"
        ),
    ),
    ("ID", re.compile(r"(?<![\w.,:/_-])\d{10,24}(?![\w:/]|[.,]\d|[ \t]*(?:/|cells|copies|个|IU|U/))")),
)


def numbers(text: str) -> Iterator[Found]:
    """Yield dates, addresses of e-mail, telephone numbers and numbers of records: start, end and kind.

    Example:
        >>> text = "Seen on 3 May 2021, aged 61, HP:0001250, MRN 0045-11, call 555-010-7788, Hb 7.2 g/dl for 3 months."
        >>> [text[start:end] for start, end, kind in sorted({*numbers(text)})]
        ['3 May 2021', '0045-11', '555-010-7788']
    """
    kept = covered(text, _PROTECTED)
    for kind, pattern in _RULES:
        for match in pattern.finditer(text):
            group = next((name for name, value in match.groupdict().items() if value), 0)
            start, end = match.span(group)
            if 1 not in kept[start:end]:
                yield start, end, kind
