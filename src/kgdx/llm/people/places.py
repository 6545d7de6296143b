"""Addresses and hospitals in English and Chinese text; a country, a state or a kind of hospital stays."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kgdx.llm.people import QUOTE, words

Found = tuple[int, int, str]

_HAN = "\u4e00-\u9fff"
_STREET = (
    r"(?:Street|St|Avenue|Ave|Road|Rd|Boulevard|Blvd|Lane|Ln|Drive|Dr|Court|"
    r"Ct|Way|Place|Pl|Square|Sq|Terrace|Parkway|Pkwy|Highway|Hwy|Circle|Crescent|Close|Row)"
)
_WORD = r"[A-ZÀ-ÖØ-Þ][\w'’-]*"
_STATE = (
    r"(?:A[KLRZ]|C[AOT]|D[CE]|FL|GA|HI|I[ADLN]|K[SY]|LA|M[ADEINOST]|N[CDEHJMVY]|O[HKR]|PA|RI|S[CD]|T[NX]|UT|V[AT]|"
    r"W[AIVY])"
)

_ADDRESS = re.compile(
    rf"\b\d{{1,6}}[A-Za-z]?[ \t]+(?:(?:[NSEW]\.?|North|South|East|West)[ \t]+)?"
    rf"(?:(?:{_WORD}|\d{{1,3}}(?:st|nd|rd|th))[ \t]+){{1,4}}{_STREET}\b\.?"
    rf"(?:,?[ \t]*(?:Apt|Apartment|Suite|Unit|Flat|Room|#)\.?[ \t]*#?\w{{1,6}})?"
    rf"(?:,[ \t]*{_WORD}(?:[ \t]+{_WORD}){{0,2}})?(?:,?[ \t]+{_STATE}\b)?(?:[ \t]+\d{{5}}(?:-\d{{4}})?)?"
    rf"|\b{_WORD}(?:[ \t]+{_WORD}){{0,2}},[ \t]+{_STATE}[ \t]+\d{{5}}(?:-\d{{4}})?\b"
    r"|\bP\.?[ ]?O\.?[ ]?Box[ \t]+\d+"
)
_STATED = re.compile(
    r"(?i:\b(?:home |mailing |street |postal )?address" + QUOTE + r"[ \t]*(?:is\b|[:=])[ \t]*" + QUOTE + r")"
    r"(?P<it>[^\n;\"\\]{4,120}?)(?=[\n;\"\\]|\.\s|\.?$)"
)
_LIVES = re.compile(
    rf"\b(?:[Ll]iv(?:es|ing|ed)|[Rr]esid(?:es|ing|ed|ent))[ \t]+(?:in|at|of|near)[ \t]+"
    rf"(?P<it>{_WORD}(?:[ \t]+{_WORD}){{0,2}})"
)
_PROVINCE = (
    "北京|天津|上海|重庆|河北|山西|辽宁|吉林|黑龙江|江苏|浙江|安徽|福建|江西|山东|河南|湖北|湖南|广东|海南|四川|贵州|云南|"
    "陕西|甘肃|青海|台湾|内蒙古|广西|西藏|宁夏|新疆|香港|澳门"
)
_FURTHER_ZH = (
    rf"(?:[{_HAN}]{{1,10}}?(?:镇|乡|街道|村|路|街|巷|大道))?(?:[{_HAN}]{{0,6}}\d{{1,5}}[号栋幢弄室楼单元\-\d]{{1,12}})?"
)
_ADDRESS_ZH = re.compile(
    r"(?:住址|地址|家庭住址|现住址|户籍地?|家住|现住)(?:在|于)?"
    + QUOTE
    + r"\s*[:：]?\s*"
    + QUOTE
    + rf"(?P<it>[{_HAN}\w\-]{{3,60}})"
    rf"|(?P<that>(?:{_PROVINCE})(?:省|市|(?:壮族|回族|维吾尔)?自治区)?(?:(?![等为和及])[{_HAN}]){{1,5}}?(?:市|县|旗|州|(?<![地林省发山牧])区)"
    rf"(?:[{_HAN}]{{1,5}}?(?:市|(?<![地林省发山牧])区|县|旗))?{_FURTHER_ZH})"
    rf"|(?P<other>(?:[{_HAN}]{{2,4}}市)?[{_HAN}]{{2,6}}(?:路|街|巷|大道|弄|胡同)\d{{1,5}}号"
    rf"(?:[{_HAN}]{{0,8}}\d{{0,5}}(?:号楼|栋|幢|单元|室|楼|层)){{0,4}})"
)

_HOSPITAL = re.compile(
    rf"\b(?P<it>(?:(?:{_WORD}\.?|of|for|the|and|&)[ \t]+){{1,6}}(?:Hospitals?|Infirmary|Clinic|"
    r"Medical[ ]Cent(?:er|re)|Health[ ](?:Cent(?:er|re)|System|Service)|Hospice|Nursing[ ]Home|Sanatorium))\b"
    rf"(?P<more>(?:[ \t]+(?:of|for)[ \t]+(?:(?:the|Sick|{_WORD})[ \t]*){{1,4}})?)"
)
_HOSPITAL_OF = re.compile(
    rf"\b(?:Hospital|Clinic)[ \t]+(?:of|for)[ \t]+{_WORD}(?:[ \t]+(?:of[ \t]+|and[ \t]+)?{_WORD}){{0,3}}"
)

_HOSPITAL_ZH = re.compile(
    rf"(?P<it>[{_HAN}A-Za-z0-9（）()]{{1,20}}?(?:医院|卫生院|卫生服务中心|卫生所|保健院|疗养院|诊所|医学中心|医疗中心))"
)
_CUT_ZH = re.compile(
    r".*(?:就诊|收治|建议|可以|最好|需要|应该|还是|立即|及时|尽快|马上|患者|医生|或者|有无|一般|家长|带孩子|根据|首次|"
    r"今天|昨天|前天|一下|一家|一个|这家|这个|那个|几家|两所|[天周月年日午]前|"
    r"[在于去到往至由从经被了来曾说让我你您他她它该贵的找住送看做查是有请想要就再先不没转带们作为起或据以应，、])"
)
_GENERIC_ZH = re.compile(
    r"^(?:楼下|个别|特别严重|另一|县城|城里|第一|第二|第三|能|常|可|当地|外地|本地|附近|附近的|就近|就近的|正规|正规的|大|小|大型|三甲|三级|二甲|二级|一级|上级|下级|专科|专业|专门|综合|综合性|公立|私立|民营|国内|省级|市级|县级|省|市|县|区|镇|乡|村|社区|人民|中心|中医|西医|"
    r"儿童|儿科|妇幼|妇产|妇产科|男科|皮肤|皮肤科|皮肤病|肿瘤|精神|精神科|精神病|眼科|口腔|胸科|传染病|骨科|肛肠|肛肠科|耳鼻喉|耳鼻喉科|心理|急诊|门诊|教学|附属|医学|基层|外|其他|别的|另|另外|同|好|好的|全|一|二|三|两|任何|相关|部队|私人|民间|男|女|"
    r"三甲综合|专科儿童|省市|省市级|市县|三级甲等|正规大|正规三甲|正规的大|当地大|当地三甲|当地正规|当地人民|省人民|市人民|县人民|市中心|县中|市中|县中医|市中医|省中医|大型综合|大型三甲|大型正规|正规综合|正规专科|正规公立)*$"
)


def places(text: str) -> Iterator[Found]:
    """Yield addresses and hospitals: start, end and kind.

    Example:
        >>> text = "She lives in Springfield, was in Brazil, and at St. Mary's Hospital and a memory clinic."
        >>> [text[start:end] for start, end, kind in places(text)]
        ['Springfield', "St. Mary's Hospital"]
    """
    yield from _addresses(text)
    yield from _hospitals(text)


def _addresses(text: str) -> Iterator[Found]:
    for match in _ADDRESS.finditer(text):
        yield *match.span(), "ADDRESS"
    for match in _STATED.finditer(text):
        if re.search(r"\d|,", match["it"]) and not match["it"].startswith("["):
            yield *match.span("it"), "ADDRESS"
    for match in _LIVES.finditer(text):
        if match["it"].split()[0] not in words("large_places"):
            yield *match.span("it"), "ADDRESS"
    for match in _ADDRESS_ZH.finditer(text):
        group = next(name for name, value in match.groupdict().items() if value)
        yield *match.span(group), "ADDRESS"


def _hospitals(text: str) -> Iterator[Found]:
    for match in _HOSPITAL.finditer(text):
        start, end = match.start("it"), match.end()
        named = list(re.finditer(r"[^\s]+", text[start : match.end("it")]))
        proper = [word for word in named if word[0].lower().rstrip(".") not in words("general_hospitals")]
        if proper:
            first = start + proper[0].start()
            yield first, end if match["more"].strip() else match.end("it"), "HOSPITAL"
    for match in _HOSPITAL_OF.finditer(text):
        yield *match.span(), "HOSPITAL"
    for match in _HOSPITAL_ZH.finditer(text):
        cut = _CUT_ZH.match(text, match.start("it"), match.end("it") - 2)
        start = cut.end() if cut else match.start("it")
        name = re.sub(
            r"(?:医院|卫生院|卫生服务中心|卫生所|保健院|疗养院|诊所|医学中心|医疗中心)$",
            "",
            text[start : match.end("it")],
        )
        if len(name) >= 2 and not _GENERIC_ZH.match(name):
            yield start, match.end("it"), "HOSPITAL"
