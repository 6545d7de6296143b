"""Names of persons in English text: after a title or a cue, or by a frequent given name; never within a disease's name.

Whoever is named in full is found again where the surname stands alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kgdx.llm.people import QUOTE, merged, words

Place = tuple[int, int]

_UP = r"A-ZÀ-ÖØ-Þ"
_LOW = r"a-zß-öø-ÿ"
_WORD = rf"(?:[OD]['’])?[{_UP}][{_LOW}]+(?:[{_UP}][{_LOW}]+)?(?:['’-][{_UP}][{_LOW}]+){{0,2}}"
_CAPS = rf"[{_UP}]{{2,20}}"
_LINK = r"(?:de|del|della|der|van|von|bin|al|el|la)"
_NAMES = (
    rf"(?:{_WORD}|{_CAPS})(?:[ \t]+(?:[{_UP}]\.[ \t]*)?(?:[{_UP}]\.?(?=[\s,;)])|"
    rf"(?:{_LINK}[ \t]+){{0,2}}(?:{_WORD}|{_CAPS}))){{0,3}}"
)
_SURNAME = rf"(?:{_LINK}[ \t]+){{0,2}}{_WORD}"

_TITLED = re.compile(
    rf"\b(?:M(?:rs?|s|x|iss|ister)|Drs?|Prof(?:essor)?|Doctor|Nurse|Sir|Madam|Rev|Judge|Officer)\b\.?[ \t]+"
    rf"(?P<name>{_NAMES})"
)
_CUED = re.compile(
    r"(?:(?i:\b(?:(?:patient|full|first|last|middle|given|family|maiden|preferred|mother|father|guardian|contact|"
    r"physician|doctor|provider)(?:['’]?s)?[ _]?name|surname|next of kin|emergency contact|name of (?:the )?patient|"
    r"attending(?: physician)?|referring physician|signed(?: by)?|dictated by|electronically signed by)"
    r"" + QUOTE + r"[ \t]*(?:is\b|[:=])[ \t]*" + QUOTE + r")"
    r"|(?i:\b(?:my name is|his name is|her name is|their name is|name['’]s)[ \t]+)"
    r"|(?i:\b(?:man|woman|boy|girl|patient|child|son|daughter|baby|infant|husband|wife|brother|sister|mother|father|"
    r"friend|partner|gentleman|lady)[ \t]*,?[ \t]+(?:is[ \t]+|was[ \t]+)?(?:named|called)[ \t]+))"
    rf"(?P<name>{_NAMES})"
)
_KEYED = re.compile(
    r"(?i:[\"'](?:patient|full|first|last|given|family|sur)[ _-]?name\\?[\"'][ \t]*:[ \t]*\\?[\"'])"
    r"(?P<name>[^\"'\n\\]{1,80})"
)
_HEADED = re.compile(
    rf"(?:^|\n|\\n|[;|,][ \t]|[\"“'])[ \t]*Name[ \t]*:[ \t]*(?P<name>{_NAMES})"
    r"(?=[^\n]{0,80}(?:\n[^\n]{0,80}){0,2}\b(?i:dob|date of birth|birth ?date|mrn|sex|gender|age|address|phone|id)\b)"
)
_OF_PATIENT = re.compile(rf"\b[Pp]atient:?[ \t]+(?P<name>{_WORD}[ \t]+(?:[{_UP}]\.[ \t]*)?{_SURNAME})")
_TURNED = re.compile(rf"(?P<name>\b{_WORD},[ \t]+(?P<given>{_WORD})(?:[ \t]+[{_UP}]\.?)?)(?![\w'’-])")
_SHOUTED = re.compile(
    rf"(?<![\w'’-])(?P<name>(?P<last>{_CAPS}),[ \t]+(?P<given>{_CAPS})(?:[ \t]+[{_UP}]\b\.?)?)(?![\w'’-])"
)
_GIVEN = re.compile(
    rf"(?<![\w'’–-])(?P<name>(?P<given>{_WORD})(?:[ \t]+(?:[{_UP}]\.[ \t]*)?{_SURNAME}){{0,2}})(?![\w–-])"
)

_NOUN = (
    r"syndromes?|diseases?|disorders?|signs?|tests?|palsy|dystroph\w+|ataxia|anomal\w+|chorea|sequence|association|"
    r"tetralogy|triad|phenomen\w+|contracture|reflex\w*|reaction|classification|criteria|scores?|scale|index|staging|"
    r"nodules?|bod(?:y|ies)|lines?|nodes?|rings?|cells?|glands?|tubes?|ducts?|fractures?|hernia|position|man(?:o)?euv\w+|"
    r"laws?|procedure|operation|repair|stain|agar|fever|spots?|patch(?:es)?|murmur|pulse|respirations?|breathing|"
    r"(?:o)?esophagus|diverticul\w+|malformations?|deformity|paralysis|paraplegia|cysts?|mutations?|genes?|proteins?|virus|"
    r"factors?|antigens?|antibod\w+|deficiency|type|variants?|island|lymphoma|carcinoma|phobia|method|technique|catheter|"
    r"tub(?:e|ule)s?|loop|canal|apple|valve|ligament|muscle|complex|formula|equation|study|trial|regimen|diet|exercises?|"
    r"\w+(?:itis|opathy|oma|omas|osis|oses|emia|aemia|plasia|trophy|plegia|uria|algia|penia|ectasia|dystonia)"
)
_MEDICAL = re.compile(
    rf"(?:['’]s?)?(?:[ \t\-–/]+(?:and|of|the|de|von|van|[IVX]+|\d+|[a-z]+(?:al|ic|ary|ar|ous|id|ive)|[{_UP}][\w'’]*))"
    rf"{{0,3}}[ \t\-–/]+(?i:{_NOUN})\b"
)


def english_names(text: str) -> list[Place]:
    """Return where persons are named.

    Example:
        >>> text = "Jane Roe has Parkinson disease, as Dr. Parkinson said. Roe is 61."
        >>> [text[start:end] for start, end in english_names(text)]
        ['Jane Roe', 'Parkinson', 'Roe']
    """
    found = [*_stated(text), *_by_given(text)]
    parts = {word for start, end in found for word in re.findall(_WORD, text[start:end])}
    found += _again(text, parts - words("no_names") - words("common_surnames"))
    return [(start, end) for start, end, _ in merged((*place, "NAME") for place in found)]


def _stated(text: str) -> Iterator[Place]:
    """Names that a title or a cue announces."""
    for pattern in (_TITLED, _CUED, _HEADED, _OF_PATIENT):
        for match in pattern.finditer(text):
            start, end = _trimmed(text, *match.span("name"))
            if end > start and (pattern is _TITLED or not _MEDICAL.match(text, end)):
                if pattern is _OF_PATIENT and not re.search(r"\s", text[start:end]):
                    continue
                yield start, end
    for match in _KEYED.finditer(text):
        if not match["name"].startswith("["):
            yield match.span("name")


def _by_given(text: str) -> Iterator[Place]:
    for match in _TURNED.finditer(text):
        if match["given"] in words("given_names") and not _medical(text, *match.span("name")):
            start, end = match.span("name")
            if match["name"].split(",")[0] not in words("no_names") | words("given_names"):
                yield start, end
    for match in _SHOUTED.finditer(text):
        if match["given"].title() in words("given_names") and match["last"].title() not in words("no_names"):
            yield match.span("name")
    for match in _GIVEN.finditer(text):
        if match["given"].partition("-")[0] in words("given_names"):
            start, end = _trimmed(text, *match.span("name"))
            if end > start and not _medical(text, start, end):
                yield start, end


def _again(text: str, parts: set[str]) -> Iterator[Place]:
    """Names that were found, where they stand alone."""
    long = sorted((word for word in parts if len(word) > 2), key=len, reverse=True)
    if not long:
        return
    for match in re.finditer(rf"(?<![\w'’–-])(?:{'|'.join(map(re.escape, long))})(?![\w–-])", text):
        if not _medical(text, *match.span()):
            yield match.span()


def _medical(text: str, start: int, end: int) -> bool:
    """Whether the words are part of a name of a disease, sign or test, or of a saint's house."""
    before = text[max(0, start - 4) : start]
    return _MEDICAL.match(text, end) is not None or before.endswith(("St. ", "St ", "int "))


def _trimmed(text: str, start: int, end: int) -> Place:
    """The words up to the first that is none of a name."""
    last = start
    for match in re.finditer(r"[^\s]+", text[start:end]):
        ends = match[0].rstrip(".") in words("no_names") and not re.fullmatch(r"[A-Z]\.", match[0])
        if ends or re.fullmatch(_NOUN, match[0].lower()):
            break
        last = start + match.end()
    return start, last
