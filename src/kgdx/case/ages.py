"""The patient's age and sex in free text, as people write them in English and Chinese.

Each statement has a rank; of statements of one kind only those of the best rank count, so that "now 4 months" outweighs
"ex 32-week preterm".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from kgdx.case.person import OLDEST
from kgdx.lazy import lazy_pattern

_ONES = (
    *("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen"),
    *("fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_NUMBERS = {word: number for number, word in enumerate(_ONES, start=1)}
_WORD_NUMBER = rf"(?:(?:{'|'.join(_TENS)})(?:[ -](?:{'|'.join(_ONES[:9])}))?|{'|'.join(reversed(_ONES))})"
NUMBER = rf"(?:\d{{1,3}}(?:\.\d{{1,2}}|\s?½|\s1/2)?|{_WORD_NUMBER})"
_YEARS, _MONTHS, _WEEKS, _DAYS = r"y(?:ea)?rs?|y", r"months?|mths?|mos?|m", r"weeks?|wks?|wk|w", r"days?|d"
UNIT = rf"(?:{_YEARS}|{_MONTHS}|{_WEEKS}|{_DAYS}|h(?:ou)?rs?)"
_AGE = (
    rf"(?P<number>{NUMBER})\s*-?\s*(?P<unit>{UNIT})\b\.?(?:\s*,?\s*(?:and\s+)?(?P<more>\d{{1,2}})\s*-?\s*"
    rf"(?P<moreunit>{_MONTHS}|{_WEEKS}|{_DAYS})\b)?"
)
_TWELFTHS = r"(?P<part>\d{1,2})/(?P<whole>12|52|7)\b"
FEMALE = r"female|woman|girl|lady|gal|schoolgirl|housewife|actress|waitress|daughter"
"""English nouns for a female patient."""
MALE = r"male|man|boy|gentleman|guy|lad|schoolboy|son"
"""English nouns for a male patient."""
_SEX = rf"(?:{FEMALE}|{MALE})"
_LETTER = r"(?-i:[MFmf])(?![\w/'’-])"
_KIN = (
    r"mother|father|mum|mom|dad|parents?|brothers?|sisters?|siblings?|aunts?|uncles?|cousins?|grand\w+|twin|wife"
    r"|husband|nephew|niece|partner|granny|nan"
)
KIN = rf"{_KIN}|sons?|daughters?"
"""English nouns for relatives."""
_OLD = lazy_pattern(
    rf"(?<![\w./-])(?:{_AGE}[\s-]*(?:old|of age|aged)\b|{_TWELFTHS}\s*old\b|(?P<yo>{NUMBER})[\s-]*"
    r"(?:y\W?/?\W?o\b\.?|yo(?=[MFmf\W])))"
    rf"(?P<after>[\s,(-]*(?:[\w-]+\s+){{0,4}}?(?:(?P<sex>{_SEX}\b|{_LETTER})|(?P<kin>(?:{_KIN})\b)))?",
    re.IGNORECASE,
)
_BESIDE = lazy_pattern(
    rf"(?<![\w./-])(?:{_AGE}|{_TWELFTHS})[\s,(/-]*(?:(?:[\w-]+\s+){{0,3}}?(?P<sex>{_SEX}\b)|(?P<letter>{_LETTER}))",
    re.IGNORECASE,
)
_JOINED = lazy_pattern(
    rf"(?<![\w./-])(?P<number>\d{{1,3}})\s?(?P<unit>{_YEARS}|{_MONTHS}|{_WEEKS}|{_DAYS})?\s?o?(?P<letter>[MF])(?![\w/'’-])"
)
_SHORT = lazy_pattern(
    r"(?:^|[;:(\n,]|\.(?=\s)|\b(?:a|an|the|patient|pt|this|is))[\s#*-]*(?P<number>\d{1,3})\s?/?\s?(?P<letter>[MFmf])(?![\w/'’-])"
)
_SLASH = lazy_pattern(
    r"(?<![\w/])(?P<letter>[MFmf])(?:\s?[/,]\s?|(?<=^.)\s)(?P<number>\d{1,3})(?:\s*(?P<unit>y(?:rs?|ears?)?|m(?:o|onths?)?|d(?:ays?)?|w(?:ks?)?))?(?![\w/.%])"
)
_AFTER = lazy_pattern(
    rf"(?:^|[.;(\n]\s*|\b(?:an?|the|this|my|our|old|little|baby|newborn|neonate|infant|elderly|young|patient|pt|child)[\s,:]+)"
    rf"(?P<sex>{_SEX})[\s,:(]+(?:(?:who\s+)?(?:is|was|now|aged?)\s+|(?:age:?|at|of)\s+){{0,2}}(?:{_AGE}|{_TWELFTHS}|(?P<bare>\d{{1,3}}))"
    r"(?P<end>\s*(?:[,.;)]|$|old|of age|with\b|and\b|has\b|who\b|presents\b|presenting\b|c/o|I\b))",
    re.IGNORECASE,
)
_PERSON = lazy_pattern(
    rf"\b(?:(?:s?he|I|patient|pt|child|baby|infant"
    r"|(?:my|our)\s+(?:[\w-]+\s+){0,2}?(?:daughter|son|child|baby|girl|boy|kid|toddler|\w+ one))"
    rf"(?:\s+(?:just\s+)?(?:is|am|was|turned)|['’](?:s|m))|(?:Mr|Mrs|Ms|Miss)\.?\s+[A-Z]\w*(?:\s+is)?,?|(?:patient|pt|child|baby|infant)\s*[,:(]"
    rf"|(?:my|our)\s+(?:[\w-]+\s+){{0,2}}?(?:daughter|son|child|baby|girl|boy|kid|toddler)\s*[,(])"
    rf"\s*(?:now|just|only|about|almost|nearly|currently|aged?|an?)?\s*(?:{_AGE}|{_TWELFTHS}|(?P<bare>\d{{1,3}}|{_WORD_NUMBER}))"
    rf"(?=\s*(?:[,.;)]|$|old\b|of age\b|and\b|with\b|has\b|who\b|gets\b|but\b|male\b|female\b"
    r"|(?:in|last|this)\s+[A-Z]\w+|last\b|this\b))"
    rf"(?:[\s,]+(?:and\s+)?(?P<sex>{_SEX})\b)?",
    re.IGNORECASE,
)
_AGED = lazy_pattern(
    rf"\b(?:(?:aged|age(?:\s*\(?(?:yrs?|years?)\)?)?\s*[:=]?|age/sex\s*[:=]?)\s*(?:is\s+)?|pt\s+)(?:{_AGE}|{_TWELFTHS}|(?P<bare>{NUMBER}))\b(?!\s*[-–/%.]\s*\d)"
    rf"(?:[\s,/]*(?P<letter>{_LETTER})|[\s,]*(?P<sex>{_SEX})\b)?",
    re.IGNORECASE,
)
_NOW = lazy_pattern(
    rf"\b(?:now|currently|today|presently)\s+(?:aged?\s+|at\s+)?(?:an?\s+)?(?:{_AGE}|(?P<bare>\d{{1,3}})(?=\s*[,.;]|$))",
    re.IGNORECASE,
)
_LIFE = lazy_pattern(
    r"\b(?:day\s+(?:of\s+life\s+)?(?P<number>\d{1,2})(?:\s+of\s+life)?|DOL\s*#?(?P<dol>\d{1,2}))\b(?!\s*(?:of|/|post|after))",
    re.IGNORECASE,
)
_THEN = lazy_pattern(
    r"\b(?:when|at|until|till|since|from|after|before|by|onset|for|last(?:ed|ing)?|over|past|every|within|in|gestation)\b"
    r"[^.;,\d]{0,30}$|\b(?:his|her|their)\s+$",
    re.IGNORECASE,
)
_ARTICLE = lazy_pattern(r"\b(?:an?|this|is|our|my)\s+(?:[\w-]+\s+)?$", re.IGNORECASE)
_OF_KIN = lazy_pattern(
    rf"(?<!\bmy )(?<!\bour )\b(?:(?:{_KIN})|(?:his|her|their|one)\s+(?:son|daughter|child))\b[^.;]{{0,25}}$",
    re.IGNORECASE,
)
_HEAT = lazy_pattern(r"(?:temp\w*|fever|\bT)\W*(?:of|is|was|to)?\W*$", re.IGNORECASE)
_STAYS = lazy_pattern(
    r"\s*(?:history|hx|of\s+(?!age)|ago|later|post|gestation|duration|after|apart|before|prior|course|follow)",
    re.IGNORECASE,
)

_RELATIVE_AGE = lazy_pattern(
    rf"\s*+(?:,|\(|is|who is|aged?)?\s*+(?:aged?\s+)?(?P<number>{NUMBER})(?=\s*(?:[,.;)]|y|and\b|has\b|who\b|with\b))",
    re.IGNORECASE,
)
_SELF = lazy_pattern(
    r"(?:^|[.!?\n,]\s*|\b(?:and|but|so|because)\s+)I(?:['’]m|['’]ve)?\s+"
    r"(?!(?:noticed?|think|thought|worr|found|saw|see|know|believe|am worried|have noticed))\w",
    re.IGNORECASE,
)
_OWN = lazy_pattern(
    rf"\bmy\s+(?!(?:[\w-]+\s+)?(?:{KIN}|child|baby|concern|worry|question|guess|fear)\b)(?:[\w-]+\s+){{1,2}}"
    r"(?:is|are|hurts?|aches?|feels?|keeps?|went|got|gets?|has been|have been|look(?:s|ed)?)\b",
    re.IGNORECASE,
)
"""The writer's own body."""
_HISTORY = lazy_pattern(
    "[^，。,]{0,3}(?:有|得过?|患有?|确诊)(?![^。]*(?:最近|今天|昨[天晚]|现在|突然|这几天|近来|刚才|岁|吗|怎么|什么|[？?]))"
    r"|\s+(?:died|passed away|had\s+(?:[\w-]+\s+){0,3}?(?:cancer|disease|diabetes|stroke|leuk\w+|lymphoma|dementia))\b"
    r"(?![^.!]*\b(?:today|yesterday|now|this|last (?:night|week)|ago|since)\b)[^.!?]*[.!]?\s*$",
    re.IGNORECASE,
)
"""What a relative has or had, of whom nothing new and no question is told."""
_SELF_ZH = lazy_pattern("我(?:也|自己|本人|现在|最近|有|今年)|[，。；,]我(?:头|腰|腿|胸|手|肚|没|一直|经常|总|老是|还)")
_ABOUT = lazy_pattern(
    rf"^\W*+(?:(?:hi|hello|dear)\b[^.,\n]{{0,30}}[.,\n]\s*+)?(?:my|our)\s+(?:[\w-]+\s+){{0,2}}?(?P<kin>{_KIN})\b"
    r"|^\W*+(?:你好|您好|医生)?[，,。！!\s]*+(?:医生)?[，,。！!\s]*+我(?:的|家)?"
    r"(?P<zh>妈妈?|爸爸?|母亲|父亲|老公|老婆|丈夫|妻子|哥哥|姐姐|弟弟|妹妹|奶奶|爷爷|外婆|外公)",
    re.IGNORECASE,
)
_FEMALE_KIN = lazy_pattern(
    "mother|mum|mom|sister|aunt|grandm|granddau|granny|nan|wife|niece|妈|母|婆|妻|姐|妹|奶", re.IGNORECASE
)
_HAN = lazy_pattern("[\u4e00-\u9fff]")
_HAN_DIGITS = {char: value for value, char in enumerate("零一二三四五六七八九")} | {"两": 2, "〇": 0}
_HAN_NUMBER = r"(?:\d{1,3}(?:\.\d)?|[一二三四五六七八九两]?十[一二三四五六七八九]?|[一二三四五六七八九两])"
_YEARS_ZH = lazy_pattern(
    rf"(?<![\d.半])(?P<number>{_HAN_NUMBER})\s*(?:多|余)?\s*周?岁(?:零|又|龄)?(?:(?P<half>半)|(?P<more>{_HAN_NUMBER})\s*个?月|(?P<bare>\d{{1,2}})\s*月)?"
    r"(?!\s*(?:时|起|开始|发病|起病|后|前|以|余|左右?起|会|才|能|始|被|确诊|诊断|半?时))"
)
_MONTHS_ZH = lazy_pattern(
    rf"(?<![\d.岁年])(?P<number>{_HAN_NUMBER})\s*(?P<unit>个半月|个月|月|周|天|日|小时)(?P<sure>龄|大|婴儿)?(?:(?P<more>\d{{1,2}})\s*天)?(?!\s*(?:时|起|开始|发病|起病|后|前|以|余|来|内|份|初|底))"
)
_FIELD_ZH = lazy_pattern(
    rf"年龄\s*[:：]?\s*(?P<number>{_HAN_NUMBER})\s*(?P<unit>岁|个月|月|天|周|y|Y)?(?:(?P<more>\d{{1,2}})\s*个?月)?"
)
_THIS_YEAR_ZH = lazy_pattern(rf"今年\s*(?P<number>{_HAN_NUMBER})(?=[,，。、\s])")
_BARE_ZH = lazy_pattern(
    r"(?P<sex>[男女])性?\s*[,，/、 ]?\s*(?P<number>\d{1,3})\s*(?P<unit>[yYmMdD](?:rs?|o)?)?(?=\s*(?:[,，.。;；、\s]|$))"
)
_SEX_ZH = lazy_pattern(
    r"(?:(?<![\u4e00-\u9fff])|(?<=患者)|(?<=患儿)|(?<=病人)|(?<=[岁月龄天周大半])|(?<=[老中青]年)|(?<=性别)|(?<=性别[:：])|(?<=本人)|(?<=我是)|(?<=名)|(?<=[的个]))"
    r"(?P<sex>[男女])(?=性|婴|童|孩|患|宝|生|士|子|的|学|司机|工|农|教师|职|[，,。；;、/\s\d]|[一二三四五六七八九十两]|$)|(?:我(?:家|的)?|^\s*|宝贝)(?P<kin>儿子|女儿|闺女|孙子|孙女|外孙女?|小子|丫头)"
)


@dataclass(frozen=True, slots=True)
class PersonStatement:
    """A statement: ``age`` or ``sex``, its value, its place, and its rank (0 the surest)."""

    kind: str
    value: str
    start: int
    end: int
    rank: int


def duration(number: float, unit: str) -> str | None:
    """Return an age as an ISO 8601 duration; a fraction of a year is given in months."""
    kind = unit.strip()[:1].upper() or "Y"
    if kind == "H":
        return "P0D" if number < 24 else f"P{int(number // 24)}D"
    if kind == "Y" and number > OLDEST:
        return None
    whole, rest = int(number), number - int(number)
    if kind == "Y":
        months = round(12 * rest)
        return f"P{whole}Y{months}M" if whole and months else f"P{months}M" if months else f"P{whole}Y"
    return f"P{whole}{kind}"


def number_of(word: str) -> float:
    """Return the number that digits or English words give.

    Example:
        >>> number_of("2 1/2"), number_of("thirty-four"), number_of("7")
        (2.5, 34.0, 7.0)
    """
    word = word.lower().strip()
    if word[0].isdigit():
        half = word.endswith(("½", "1/2"))
        return float(re.match(r"\d+(?:\.\d+)?", word)[0]) + 0.5 * half  # type: ignore[index]
    parts = re.split("[ -]", word)
    return float(sum(10 * (_TENS.index(part) + 2) if part in _TENS else _NUMBERS[part] for part in parts))


def han_number(word: str) -> float:
    """Return the number that digits or Chinese numerals give.

    Example:
        >>> han_number("四十五"), han_number("十"), han_number("两"), han_number("3")
        (45.0, 10.0, 2.0, 3.0)
    """
    if word[0].isdigit():
        return float(word)
    if "十" not in word:
        return float(_HAN_DIGITS[word])
    tens, _, ones = word.partition("十")
    return float(10 * _HAN_DIGITS.get(tens, 1) + _HAN_DIGITS.get(ones, 0))


def sex_of(word: str) -> str:
    """Return the sex that a word says.

    Example:
        >>> sex_of("girl"), sex_of("M")
        ('FEMALE', 'MALE')
    """
    return "FEMALE" if re.fullmatch(rf"{FEMALE}|f|she|mrs|ms|miss", word.lower()) else "MALE"


def has_han(text: str) -> bool:
    """Return whether a text holds Chinese characters."""
    return not text.isascii() and _HAN.search(text) is not None


def subject(text: str) -> re.Match[str] | None:
    """Return where a lay text names the relative whom it is about ("My mum has fits"), group ``kin`` or ``zh``.

    A text that begins with a relative and in which the writer tells nothing of himself is about that relative.
    """
    found = _ABOUT.match(text)
    if not found or any(own.search(text) for own in (_SELF, _SELF_ZH, _OWN)):
        return None
    return None if _HISTORY.match(text, found.end()) else found


def about_relative(text: str) -> Iterator[PersonStatement]:
    """Yield the sex, and the age beside it, of the relative whom a lay text is about."""
    found = subject(text)
    if found is None:
        return
    group = "kin" if found["kin"] else "zh"
    start, end = found.span(group)
    yield PersonStatement("sex", "FEMALE" if _FEMALE_KIN.match(found[group]) else "MALE", start, end, 0)
    pattern = _RELATIVE_AGE if group == "kin" else _YEARS_ZH
    if age := pattern.match(text, end) if group == "kin" else pattern.search(text, end, end + 8):
        number = number_of(age["number"]) if group == "kin" else han_number(age["number"])
        if value := duration(number, "y"):
            yield PersonStatement("age", value, age.start("number"), age.end("number"), 0)


def ages(text: str) -> Iterator[PersonStatement]:
    """Yield the ages that an English text states of the patient, and the sexes beside them."""
    kinds = ((_NOW, 0), (_OLD, 1), (_BESIDE, 1), (_JOINED, 1), (_AFTER, 1), (_PERSON, 1), (_SHORT, 2), (_SLASH, 1))
    for pattern, rank in (*kinds, (_AGED, 2), (_LIFE, 2)):
        for match in pattern.finditer(text):
            yield from _stated(text, match, rank, pattern)


def _stated(text: str, match: re.Match[str], rank: int, pattern: re.Pattern[str]) -> Iterator[PersonStatement]:
    groups = match.groupdict()
    group = next(name for name in ("number", "part", "yo", "bare", "dol") if groups.get(name))
    start = match.start(group)
    before = text[max(0, start - 60) : start]
    if groups.get("kin") or _OF_KIN.search(before) or _STAYS.match(text, match.end()):
        return
    if pattern is not _NOW and _THEN.search(before) and not _ARTICLE.search(before):
        return
    letter = groups.get("letter")
    if letter and not groups.get("unit") and _HEAT.search(before):
        return
    if groups.get("part"):
        value = duration(number_of(groups["part"]), {"12": "m", "52": "w", "7": "d"}[groups["whole"]])
    else:
        unit = "d" if pattern is _LIFE else groups.get("unit") or "y"
        value = duration(number_of(groups[group]), unit)
        if value and groups.get("more") and value[-1] != groups["moreunit"][0].upper():
            value += duration(number_of(groups["more"]), groups["moreunit"])[1:]  # type: ignore[index]
    if value is None:
        return
    end = match.start("after") if groups.get("after") else match.end("end") if groups.get("end") else match.end()
    stop = match.start("end") if groups.get("end") else end
    said = groups.get("sex") or letter
    if said and pattern is not _OLD:
        at = match.start("sex") if groups.get("sex") else match.start("letter")
        stop = min(stop, at) if at > start else stop
    yield PersonStatement("age", value, start, start + len(text[start:stop].rstrip(" ,(/-")), rank)
    if said:
        name = "sex" if groups.get("sex") else "letter"
        yield PersonStatement("sex", sex_of(said), *match.span(name), rank)


def chinese(text: str) -> Iterator[PersonStatement]:
    """Yield the ages and sexes that a Chinese text states of the patient; after a relative they may be that one's."""
    kin = re.search("[父母兄弟姐妹哥]", text)
    head = text[: kin.start() if kin else None]
    for match in _SEX_ZH.finditer(head):
        word = match["sex"] or match["kin"]
        group = "sex" if match["sex"] else "kin"
        yield PersonStatement("sex", "FEMALE" if "女" in word or word == "丫头" else "MALE", *match.span(group), 0)
    for rank, pattern in enumerate((_FIELD_ZH, _YEARS_ZH, _THIS_YEAR_ZH, _BARE_ZH, _MONTHS_ZH)):
        for match in pattern.finditer(head):
            value = _han_age(head, match)
            if value:
                yield PersonStatement("age", value, match.start("number"), match.end(), rank)
                return


def _han_age(text: str, match: re.Match[str]) -> str | None:
    groups = match.groupdict()
    unit = groups.get("unit") or "岁"
    number = han_number(match["number"])
    if match.re.pattern == _MONTHS_ZH.pattern and not (groups["sure"] or _beside(text, match)):
        return None
    if "小时" in unit:
        return "P0D"
    kind = next(
        (kind for word, kind in {"岁": "y", "月": "m", "周": "w", "天": "d", "日": "d"}.items() if word in unit), unit
    )
    value = duration(number + 0.5 * bool(groups.get("half")), kind)
    more = groups.get("more") or groups.get("bare")
    if value and more and kind == "y":
        months = int(han_number(more))
        value = f"{value}{months}M" if number else f"P{months}M"
    return value


def _beside(text: str, age: re.Match[str]) -> bool:
    return bool(
        re.match(r"的?[，,\s]*[男女]", text[age.end() :])
        or re.search(
            r"(?:[男女](?:性|婴|童|孩|宝)?|患儿|宝宝|孩子|娃)[，,、/\s]*(?:现|今|才|刚|生后|出生后?|年龄)?[:：\s]*$",
            text[: age.start()],
        )
        or (
            re.search(r"(?:^|[，,。\s])(?:生后|出生后?)$", text[: age.start()])
            and re.match(r"的?[男女]", text[age.end() :])
        )
    )
