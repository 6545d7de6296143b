"""Names of persons in English text; never within a disease's name.

Whoever is named in full is found again where the surname stands alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kgdx.llm.pii import QUOTE, Place, any_of_words, merged, words
from kgdx.llm.pii.persons_zh import IN_MEDICINE as NAMED_AFTER_ZH

_LETTERS = [chr(at) for at in (*range(0xC0, 0x250), *range(0x1E00, 0x1F00))]
_UP = "A-Z" + "".join(each for each in _LETTERS if each.isupper())
_LOW = "a-z" + "".join(each for each in _LETTERS if each.islower())
_WORD = rf"(?:[OD]['’])?[{_UP}][{_LOW}]+(?:[{_UP}][{_LOW}]+)?(?:['’-][{_UP}][{_LOW}]+){{0,2}}"
_CAPS = rf"[{_UP}]{{2,20}}"
_LINK = r"(?:de|del|della|der|den|di|da|dos|du|van|von|bin|bint|ibn|al|el|la|ap|y)"
_NAMES = (
    rf"(?:{_WORD}|{_CAPS})(?:[ \t]+(?:[{_UP}]\.[ \t]*)?(?:[{_UP}]\.?(?=[\s,;)])|"
    rf"(?:{_LINK}[ \t]+){{0,2}}(?:{_WORD}|{_CAPS}))){{0,3}}"
)
_SURNAME = rf"(?:{_LINK}[ \t]+){{0,2}}{_WORD}"

_TITLED = re.compile(
    rf"(?<![A-Za-z])(?P<title>M(?:rs?|s|x|iss|ister)|Drs?|Prof(?:essor)?|Doctor|Nurse|Sir|Madam|Rev|Judge|Officer|Sgt|"
    rf"Sergeant|Capt(?:ain)?|Lt|Cpl|Pte|Coach|Matron|Sister(?![ ](?:Chromatid|Mary[ ]Joseph))|Fr|"
    rf"Pastor|Imam|Rabbi)\b\.?[ \t]+"
    rf"(?P<name>(?:[{_UP}](?:\.[ \t]*|[ \t]+)|(?:[Aa]l|[Ee]l)-){{0,3}}{_NAMES})"
)
_KIN = (
    "mother|father|mom|mum|mommy|mummy|dad|daddy|parent|brother|sister|son|daughter|husband|wife|partner|spouse|aunt|"
    "uncle|cousin|niece|nephew|grandmother|grandfather|grandma|grandpa|granny"
)
_CUED = re.compile(
    rf"(?:(?i:\b(?:(?:patient|full|first|last|middle|given|family|maiden|preferred|{_KIN}|guardian|contact|"
    r"physician|doctor|provider)(?:['’]?s)?[ _]?name|surname|next of kin|emergency contact|name of (?:the )?patient|"
    rf"(?:{_KIN})(?=[ \t]*[:=])|attending(?: physician)?|referring physician|signed(?: by)?|"
    r"dictated by|electronically signed by)"
    r"" + QUOTE + r"[ \t]*(?:is\b|[:=])[ \t]*" + QUOTE + r")"
    r"|(?i:\b(?:my name is|his name is|her name is|their name is|name['’]s)[ \t]+)"
    rf"|\bI(?:[ \t]am|['’]m)[ \t]+(?={_WORD}[ \t]+{_WORD}(?:,|\.|[ \t]and\b))"
    rf"|(?i:\b(?:{_KIN})(?:['’]s)?[ \t]+name[ \t]+(?:is|was)[ \t]+)|(?i:\bbaby[ \t]+(?:boy|girl)[ \t]+)"
    r"|(?i:\b(?:man|woman|boy|girl|patient|child|son|daughter|baby|infant|husband|wife|brother|sister|mother|father|"
    r"friend|partner|gentleman|lady)[ \t]*,?[ \t]+(?:is[ \t]+|was[ \t]+)?(?:named|called)[ \t]+))"
    rf"(?P<name>{_NAMES})"
)
_KEYED = re.compile(
    r"(?i:[\"'](?:patient|full|first|last|given|family|sur)[ _-]?name\\?[\"'][ \t]*:[ \t]*\\?[\"'])"
    r"(?P<name>[^\"'\n\\]{1,80})"
)
_WORDED = re.compile(
    rf"(?<![\w'’–-])(?P<name>(?P<given>{_WORD})(?:[ \t]+[{_UP}]\.)?[ \t]+(?P<last>{_SURNAME}))(?![\w–-])"
)
_TRAITS = re.compile(
    r"[ \t]*[,(][ \t]*(?:[MF]\b|(?:aged?|age:)[ \t]*\d|\d{1,3}(?:[ \t]?[MFmf]\b|[ \t]?(?:yo|y/o)\b|[-, )]|$)|"
    r"(?i:dob|born|mrn|nhs|date of birth|male\b|female\b|"
    r"an? (?:\d|\w+-year)))|[ \t]+(?:\((?:[MF]\b|\d)|\d{1,3}(?:[MF]|[ ]?y/?o)\b|(?i:dob|mrn)\b)"
)
"""What follows the name of a patient, and no disease's."""
_SHOUTED = re.compile(
    rf"(?<![\w'’-])(?P<name>(?P<last>{_CAPS}),[ \t]+(?P<given>{_CAPS})(?:[ \t]+[{_UP}]\b\.?)?)(?![\w'’-])"
)
_CAPITALS = re.compile(rf"(?<![\w'’-]){_CAPS}(?:[ -]{_CAPS}){{0,2}},[ \t]+{_CAPS}(?:[ -]{_CAPS}){{0,2}}(?![\w'’-])")

_NOUN = any_of_words("medical_nouns")
_MEDICAL = re.compile(
    rf"(?:['’]s?)?(?:(?:[ \t]+|[\-–/])(?:and|of|the|de|von|van|unna|[IVX]+|\d+|[a-z]+(?:al|ic|ary|ar|ous|id|ive)|"
    rf"[{_UP}][\w'’]*))"
    rf"{{0,3}}(?:[ \t]+|[\-–/])(?i:{_NOUN})\b"
    rf"|(?:,[ \t]+[{_UP}][\w'’-]*){{0,3}},?[ \t]+(?:and|or)[ \t]+[{_UP}][\w'’-]*[ \t]+(?i:{_NOUN})\b"
)

_TOKEN = (
    rf"(?:(?:(?:[Ee]l|[Aa]l|[Bb]in|[Ii]bn|[Bb]en)-)?{_WORD}"
    rf"(?:-(?!(?:de|du|la|le|van|von)\b)[{_LOW}]{{2,6}})?|[{_UP}]\.)"
)
_RUN = re.compile(
    rf"(?<![{_UP}{_LOW}\d_'’–/.@:-]){_TOKEN}(?:(?:[ \t]+{_LINK}){{0,2}},?[ \t]+{_TOKEN}){{0,5}}"
    rf"(?![{_UP}{_LOW}\d_–/-]|\.\w)"
)
"""Words with capitals in a row, also "surname, given name"."""
_PERSON = rf"(?:{_KIN}|{any_of_words('persons_before_names')})"
_KIN_BEFORE = (
    "wife|husband|partner|daughter|son|sister|brother|mother|mum|father|dad|carer|friend|aunt|uncle|niece|"
    "nephew|cousin|"
    "grand(?:son|daughter|mother|father|ma|pa|dad)|nan|neighbou?r|boyfriend|girlfriend|fianc[eé]e?"
)
_ANNOUNCED = re.compile(
    rf"(?i:\b{_PERSON}(?:[’']s)?(?:[ ]name)?(?:[ ](?:is|was))?[ \t]*[:,(=]?[ \t]*"
    r"|\b(?:dear|hi|hello|hey|re:|i[’']m|i am|this is|called|named|nam(?:e|ed) is|names? are|says|from:|to:|cc:|attn:?|"
    r"regards,?|sincerely,?|signed,?|yours,?|love,?|thanks,?)[ \t]*"
    r"|\b(?:on examination|today|examined|saw|met|with|wrote|told|asked|thank)[ \t]+"
    r"|\b(?:I{1,3}|IV|V)-\d{1,2}[ \t:]*)$"
)
"""What stands before a person who may be named by one word."""
_DOES = re.compile(
    rf"[’']s[ \t]+(?:{_PERSON}|case|gait|parents|family|school|smear|rash|bloods?|chest|cough|scans?|results?|"
    rf"pain|ECG|knee|"
    r"ankle|wound|temp(?:erature)?|fever|breathing|heart|sugars?|skin|notes|file|record|letter|appointment|"
    r"inhaler|meds|"
    r"tablets|dose|operation|wife|weight|growth|feeds?|nappy|ears?|eyes?|throat|tummy|back|headaches?|"
    r"seizures?)\b|[ \t]*\((?:{_PERSON}|mum|dad|aged?|\d{{1,3}}|[MF]\b)"
    rf"|,?[ \t]+(?:my|his|her|our|their|the)[ \t]+(?:\w+[ \t]+)?{_PERSON}\b|"
    rf",[ \t]*(?:aged?[ \t]+)?\d{{1,3}}(?:[ \t,.)]|yo|y/o)"
    r"|[ \t]+(?:here|(?:is|was|has|had|can|could|can[’']t|cannot|did|does|doesn[’']t|didn[’']t|will)\b(?![ \t]+"
    r"(?:considered|excluded|suspected|tested|given|stopped|started|prescribed|positive|negative|detected|"
    r"found|identified|"
    r"present|absent|elevated|normal|associated|caused|characteri[sz]ed|inherited|titrated|increased|reduced|added))"
    r"|says?|said|reports?|reported|complain\w*|denie[sd]|wrote|walk\w*|lives?|works?|worked|died|"
    r"developed|stopped|became|"
    r"went|goes|came|gets|got|feels?|felt|needs?|takes|took|remembers|told|asked|attends|attended|"
    r"presented|presents|and I)\b"
)
"""What stands after a person who may be named by one word."""
_NO_PERSON = re.compile(
    r"(?:mab|nib|azole|statin|pril|sartan|olol|cillin|mycin|vir|ide|ase|coccus|ella|virus|bacter|bacteria|os[ie]s|itis|"
    r"emia|oma|osis|opathy|opia|otia|idae|aceae|myces|ium|plasma|asone|olone|amine|gliptin|gliflozin|tide|"
    r"xaban|gatran|racetam|gabalin|lukast|triptan|dipine|zepam|uria|penia|algia|p?noea|rrho?ea|[aei]an|ese|ish|[a-z]\d)$"
)
_FILED = re.compile(
    rf"(?<![\w'’-])(?P<name>(?P<last>(?:[OM]['’c])?[{_UP}]{{2,20}}(?:['’ -][{_UP}]{{2,20}})?),[ \t]*"
    rf"(?P<given>{_WORD})(?:[ \t]+(?:{_WORD}|[{_UP}]\.?(?=[\s,;.)]))){{0,2}})(?![\w'’-])"
)
"""Surname in capitals, and given names after a comma."""
_SMALL = re.compile(
    r"(?i:\b(?:patient|pt|name|named|called|mrs?|ms|miss|dr)\b)[:,.]?[ \t]+"
    r"(?:name[ \t]*[:=]?[ \t]*|is[ \t]+|named[ \t]+)?"
    rf"(?P<name>(?P<given>[{_LOW}]{{2,15}})(?:[ \t]+[{_LOW}][{_LOW}'’-]{{1,15}})?)(?![\w'’-])"
)
"""Words in small letters where a person is named."""
_TITLE = re.compile(r"(?i:mrs?|ms|miss|dr)\b")
_SMALL_PAIR = re.compile(
    rf"(?<![\w@./'’-])(?P<name>(?P<given>[{_LOW}]{{3,15}})[ \t]+(?P<last>[{_LOW}][{_LOW}'’-]{{2,15}}))(?![\w@'’-])"
)
_SMALL_GIVEN = re.compile(rf"(?<![\w@./'’-])[{_LOW}]{{5,15}}(?![\w@/-]|\.\w)")
_INITIALS = re.compile(
    rf"(?<![\w.])(?P<name>(?:[{_UP}]\.[ ]?){{2,3}})(?=,?[ \t]*(?:(?:is"
    rf"|was)[ \t]+an?[ \t]+)?(?:\(?\d{{1,3}}[ -]?(?:yo|y/o|year|[MFmf]\b)))"
    rf"|\((?P<initials>(?:[{_UP}]\.){{2,3}})(?=[,)])"
    rf"|(?i:\b(?:typed|dictated|entered|scribed|countersigned|initialled)[ ]by[ ])(?P<typist>[{_UP}]{{2,3}})\b"
    rf"|(?i:\b(?:kids?|child|children|sons?|daughters?|siblings?|twins)\b)[ ]?[:(][ ]?(?P<child>{_WORD})(?=[ ]\d)"
    rf"|(?:^|\n)(?P<filed>(?!(?i:bed|ward|left|right|acute|query|plan|"
    rf"note)\b)[{_UP}]{{4,20}},?[ ][{_UP}]\.)(?=[ ][a-z(,])"
    rf"|\b(?i:spel(?:t|led)|spelling)[ :,]+(?P<spelt>(?:[{_UP}][-. ]){{2,14}}[{_UP}])\b"
    rf"|\b(?i:mrs?|ms|miss|dr)\.?[ \t]+(?P<after>[a-z]\.[ \t]*[{_LOW}]{{3,20}})\b"
)
_TOLD = re.compile(
    r"[ \t]*(?:,|\()[ \t]*(?:aged?[ \t]*)?\d{1,3}\b|[ \t]+(?:seen|attended|attends|says|c/o|presented|rang|"
    r"phoned|admitted)\b"
    r"|(?:[ \t]*,)?[ \t]+(?:dob|mrn|born|yo|y/o|\d{1,3}[ \t]?(?:yo|y/o|yrs?|years?|[mf]\b))"
)
_FAMILIAR = re.compile(
    rf"\b(?P<name>M(?:r|rs|s|iss|x)\.?[ \t]*(?:&|and)[ \t]+M(?:r|rs|s|iss|x)\.?[ \t]+{_NAMES})"
    rf"|\b(?P<alias>(?i:a\.?k\.?a\.?|alias|n[ée]e|nicknamed)[ \t:]+[\"'“‘]?{_NAMES}[\"'”’]?(?:[ \t]+{_NAMES})?)"
    rf"|\b(?P<called>(?:Baby|Little|Old|Auntie|Aunty|Uncle|Granny|Grandad|Nana|Big)[ \t]+(?P<it>{_WORD}))"
    rf"|(?<![\w'’-])(?P<turned>(?P<last>{_WORD}),[ \t]+(?:[{_UP}]\.[ ]?){{1,3}})(?![\w(])"
    rf"|(?:^|\n)[ \t]*(?P<first>(?P<family>{_WORD}),[ \t]+(?P<given>{_WORD}))(?=[ \t]*(?:[-–—(:;]|\n))"
    rf"|\b(?P<kin>{_KIN_BEFORE})(?:[ \t]+|[ \t]?[,(][ \t]?)(?P<own>{_WORD})"
    r"(?=[ \t]+(?:says|said|reports|reported|thinks|noticed|has|had|is|was|tells|told|called|rang|found|brought)\b"
    r"|[ \t]+and I\b|[ \t]*[(,;)]|\.?$)"
)
"""Couples, other names, children, and surnames before initials."""
_FIELD = re.compile(
    rf"(?<![\w-])(?i:(?P<house>{any_of_words('fields_of_houses')})|{any_of_words('fields')})[ \t]*[:=][ \t]*"
    rf"(?P<it>[{_UP}][^,;:|()\n\"\\]{{1,40}}?)"
    rf"(?=[ \t]*(?:[,;|()\n\"\\]|$|\.(?:[ ]|$)|[ ](?:[{_LOW}]|[{_UP}][\w ]{{0,20}}:)))(?P<rest>,[ ][{_UP}]\b\.?)?"
)
"""A field of a form that holds a person, firm or house, by whatever name."""
_BYNAME = re.compile(
    rf"(?:\b[Gg]oes by|\b[Aa]nswers to|(?i:\b(?:call|calls|called|calling)[ ](?:me|her|him|them|herself|himself))|"
    rf"\b(?:to be|is|was|be) called|\b[Kk]nown (?:as|to \w+ as))[ ](?:just[ ])?{QUOTE}(?P<it>{_WORD})(?:[ ]{_WORD})?"
)
"""What somebody wants to be called, though it is a word."""
_JOINED = re.compile(
    rf"(?<![\w./@-])(?=[\w.-]{{0,30}}\d)[{_UP}{_LOW}\d]{{1,20}}(?:[-_][{_UP}{_LOW}\d]{{1,20}}){{1,4}}(?![\w-])"
)
"""Words and numbers that are joined to the name of a sample or account."""
_LOGGED = re.compile(
    r"(?i:\b(?:signed|scribed|typed|entered|dictated|verified|reviewed|reported|written|transcribed|logged|charted|"
    rf"contact|author|user)(?:[ ]by)?[ :]+)(?P<it>[{_LOW}][{_LOW}\d]{{3,20}})(?![\w@'’-])"
    rf"|(?<![\w./@-])(?P<account>[{_LOW}]{{5,20}}(?:_[{_LOW}\d]{{1,20}}){{1,3}})(?![\w./@-])"
)
"""Who wrote, by the name of an account."""
_SMALL_KIN = re.compile(
    rf"\b(?i:{_KIN}|{_KIN_BEFORE}|colleague|interpreter|keyworker|doctor|nurse|midwife)[ \t]+\(?"
    rf"(?P<it>[{_LOW}]{{3,15}})(?![\w@'’-])"
    rf"|\b(?P<titled>(?i:dr|prof|sr|mr|mrs|ms|miss)\.?[ \t]+(?P<last>[{_LOW}]{{4,15}}))(?![\w@'’-])"
    rf"|\b(?i:bed|bay|cubicle)[ ]?\d{{1,3}}[ \t]*[:–-][ \t]*(?P<bedded>[{_LOW}]{{4,15}})(?![\w@'’-])"
    rf"|\b(?:from|near|outside|to|via|at)[ \t]+(?P<place>[{_LOW}]{{4,15}})(?![\w@'’/-])"
)
"""A relative, a title or a way, and a word in small letters that is no usual one."""
_TRAILING = re.compile(rf"[ \t]+(?:and|&)[ \t]+(?P<it>{_WORD})(?![\w’'-])")


_REMEDY = re.compile(
    r"(?i:\b(?:on|given?|gave|start(?:ed|s|ing)?|tak(?:es?|en|ing)|took|stop(?:ped|s|ping)?|prescribed?|"
    r"dose of|doses of|tablets?|iv|po|oral|im|"
    r"switched to|changed to|continue[ds]?|add(?:ed)?|allerg(?:y|ic) to|received?|using|used?|"
    r"(?:positive|negative|test(?:ed|s)?) for|\d[ ]?(?:m[gl]|mcg|g|units|puffs)(?: of)?))[ \t:]+$"
)
"""What stands before a remedy."""
_USUAL = re.compile(
    r"(?:ing|ed|ions?|ive|ness|ity|ly|ous|[ai]l|ics?|[ae]nce|[ai]ble|ments?|ies|isms?|pagus|ines?|graphy|logy|teen|"
    r"ty|ty-\w+|ate|ist|ure|ers?|um|us|[tl]y|ess)$"
)
"""How words end that begin a sentence."""
_TESTED = re.compile(
    r"[ \t]*+[:=]?[ \t]*+(?:(?:at )?\d|[+-]ve|(?i:was |were |is )?(?i:positive|negative|absent|present|done|inserted|"
    r"in situ|mg|bd|od|tds|prn|tablets?|inhaler|infusion|drops|cream|stopped|given|"
    r"started(?![ ](?:at|school|nursery|to|with|in)\b)|normal|abnormal)\b)|[®™]"
)
"""What stands behind a test or remedy."""


_HOUSE = re.compile(
    rf"(?:[ \t]+(?:&[ \t]+|and[ \t]+(?=(?:Sons?|Daughters|Co)\b))?(?:{any_of_words('houses')})\b){{1,3}}"
)
"""The kind of house, firm or landscape behind its name."""


_PART = re.compile(r"\b(?:Lower|Upper|Great|Little|Nether|Mount|Fort|Port|Lake|New|Old)[ ]$")
"""What stands before the name of a place and belongs to it."""

_CHINESE = re.compile("[\u4e00-\u9fff]")


def english_names(text: str) -> list[Place]:
    """Return where persons are named; names between Chinese characters are, too."""
    chinese = text
    text = _CHINESE.sub("。", text)
    found = [*_stated(text), *_by_given(text), *_unknown(text), *_in_capitals(text), *_filed(text), *_in_small(text)]
    found += [*_as_known(text), *_in_fields(text)]
    found += [
        match.span("it") for _, end in found if (match := _TRAILING.match(text, end)) and _is_strange(match["it"])
    ]
    parts = {word for start, end in found for word in re.findall(_WORD, text[start:end])}
    found += _again(text, parts - words("no_names") - words("common_surnames") - words("given_words"))
    return [
        (start, end)
        for start, end, _ in merged((*place, "NAME") for place in found)
        if not NAMED_AFTER_ZH.match(chinese, end)
    ]


def _stated(text: str) -> Iterator[Place]:
    for pattern in (_TITLED, _CUED):
        for match in pattern.finditer(text):
            start, end = _trimmed(text, *match.span("name"))
            if pattern is _TITLED and end > start:
                start = match.start()
            if end > start and (pattern is _TITLED or not _MEDICAL.match(text, end)):
                yield start, end
    for match in _KEYED.finditer(text):
        if not match["name"].startswith("["):
            yield match.span("name")


def _by_given(text: str) -> Iterator[Place]:
    for match in _SHOUTED.finditer(text):
        if match["given"].title() in words("given_names") and match["last"].title() not in words("no_names"):
            yield match.span("name")
    for match in _WORDED.finditer(text):
        given = match["given"] in words("given_words") or match["given"] in words("given_names")
        follows = _TRAITS.match(text, match.end()) or (
            (_DOES.match(text, match.end()) and not _NO_PERSON.search(match["last"]))
            or _ANNOUNCED.search(text, max(0, match.start() - 40), match.start())
        )
        known = (match["last"] in words("no_names") and match["last"].lower() != "man") or _MEDICAL.match(
            text, match.start("last") - 1
        )
        if given and follows and not known:
            yield match.span("name")


def _unknown(text: str) -> Iterator[Place]:
    for match in _RUN.finditer(text):
        for tokens in _people([*re.finditer(_TOKEN, match[0])], match[0]):
            start, end = match.start() + tokens[0].start(), match.start() + tokens[-1].end()
            if _medical(text, start, end):
                continue
            announced = _ANNOUNCED.search(text, max(0, start - 40), start) is not None
            if any(_is_strange(token[0]) for token in tokens):
                house = _HOUSE.match(text, end)
                alone = not (announced or house) and (len(tokens) == 1 or "," in text[start:end])
                if not (alone and _in_medicine(text, start, end)):
                    part = _PART.search(text, max(0, start - 8), start)
                    yield part.start() if part else start, house.end() if house else end
            elif len(tokens) > 1 and announced and not all(_is_known(token[0]) for token in tokens):
                yield start, end


def _in_medicine(text: str, start: int, end: int) -> bool:
    """Tell whether one unusual word stands where a remedy, a test or a people is named."""
    word = text[start:end].split(",")[0]
    gene = re.match(r"[A-Z][a-z]{1,2}-", word)  # Rh-null, Gh-secreting
    return (
        word in words("large_places")
        or gene is not None
        or word in words("given_words")
        or (_opens(text, start) and word not in words("given_names") and _USUAL.search(word) is not None)
        or (word not in words("given_names") and _NO_PERSON.search(word) is not None)
        or _TESTED.match(text, end) is not None
        or _REMEDY.search(text, max(0, start - 40), start) is not None
    )


def _opens(text: str, start: int) -> bool:
    return re.search(r"(?:^|[.!?:;\n•*-])[\s(\"'“]*$", text[max(0, start - 6) : start]) is not None


def _people(tokens: list[re.Match[str]], run: str) -> Iterator[list[re.Match[str]]]:
    part: list[re.Match[str]] = []
    for token in tokens:
        parted = part and "," in run[part[-1].end() : token.start()]
        if parted and (_is_plain(token[0]) or not (_is_strange(token[0]) and _is_strange(part[-1][0]))):
            yield from [part] if part else []
            part = []
        if _is_plain(token[0]):
            yield from [part] if part else []
            part = []
        else:
            part.append(token)
    yield from [part] if part else []


def _in_capitals(text: str) -> Iterator[Place]:
    for match in _CAPITALS.finditer(text):
        named = re.findall(r"\w+", match[0])
        if max(map(len, named)) > 4 and not any(_is_known(word.title()) or word in words("no_names") for word in named):
            yield match.span()


def _filed(text: str) -> Iterator[Place]:
    for match in _FILED.finditer(text):
        last = [each.title() for each in re.findall(r"\w+", match["last"])]
        given = match["given"] in words("given_names")
        other = _is_plain if given else _is_known  # eponyms are surnames
        if any(other(each) or each.upper() in words("no_names") for each in last) or _is_plain(match["given"]):
            continue
        if given or (_is_strange(match["given"]) and max(map(len, last)) > 3):
            yield match.span("name")


def _in_small(text: str) -> Iterator[Place]:
    for match in _SMALL.finditer(text):
        named = match["name"].split()
        known = [_is_plain(each) or each in words("medical_words") for each in named]
        if named[0].title() in words("given_names") and not _is_plain(named[0]):
            whole = len(named) > 1 and not known[-1] and not _MEDICAL.match(text, match.end())
            start = match.start() if _TITLE.match(match[0]) else match.start("name")
            yield start, match.end("name") if whole else match.end("given")
        elif not any(known) and all(_is_strange(each) for each in named) and _TOLD.match(text, match.end()):
            yield match.span("name")

    for match in _SMALL_PAIR.finditer(text):
        given, last = match["given"], match["last"]
        named = given.title() in words("given_names") and not (_is_plain(given) or given in words("medical_words"))
        strange = _is_strange(last) and last not in words("medical_words")
        if named and strange and not _MEDICAL.match(text, match.end()):
            yield match.span("name")
    for match in _SMALL_GIVEN.finditer(text):
        given = match[0]
        if given.title() in words("given_names") and not _is_plain(given) and given not in words("medical_words"):
            yield match.span()
    for pattern in (_SMALL_KIN, _LOGGED):
        for match in pattern.finditer(text):
            group = match.lastgroup or 0
            named = re.findall(rf"[{_LOW}]+", match[group])[-1 if group == "titled" else 0]
            long = len(named) > 3 or named.title() in words("given_names")
            if long and _is_new(named, of_person=pattern is _SMALL_KIN and group != "place"):
                yield match.span(group)
    for match in _INITIALS.finditer(text):
        yield match.span(match.lastgroup or 0)


def _in_fields(text: str) -> Iterator[Place]:
    for match in _FIELD.finditer(text):
        named = [each for each in re.findall(r"[^\s/&]+", match["it"]) if each not in words("no_names")]
        medical = words("medical_words") | words("large_places")
        known = [each for each in named if not (_is_strange(each.title()) or each in words("given_words"))]
        whole = match["house"] and len(named) > 1 and not medical & {each.title() for each in named}
        if len(known) < len(named) or whole:
            yield match.start("it"), match.end()
    for match in _BYNAME.finditer(text):
        if match["it"] not in words("medical_words") and not _medical(text, *match.span("it")):
            yield match.start("it"), match.end()
    for match in _JOINED.finditer(text):
        parts = re.findall(rf"(?<![{_UP}{_LOW}])[{_UP}][{_LOW}]{{3,}}(?![{_UP}{_LOW}])", match[0])
        if any(_is_new(each) and not each.endswith(("in", "gen")) for each in parts):
            yield match.span()


def _as_known(text: str) -> Iterator[Place]:
    for match in _FAMILIAR.finditer(text):
        group = next(each for each in ("name", "alias", "called", "turned", "first", "own") if match[each])
        words_of = {"called": ("it",), "turned": ("last",), "first": ("family", "given")}.get(group, ())
        known = any(
            match[each].lower() in words("plain_words") or match[each] in words("no_names") for each in words_of
        )
        if group == "own":
            known = match["own"] not in words("given_words") | words("given_names")
        if not known and not _medical(text, *match.span(group)):
            yield match.span(group)


def _is_plain(word: str) -> bool:
    low, plain = word.lower(), words("plain_words")
    if word in words("no_names") or low in plain:
        return True
    stem = re.sub(r"(?:e?s|e?d|ing|ly)$", "", low)
    return len(stem) > 2 and low != stem and (stem in plain or f"{stem}e" in plain) and word not in words("given_names")


def _is_known(word: str) -> bool:
    parts = re.split(r"[-'’]", word)
    medical = words("medical_words")
    return _is_plain(word) or word in medical or any(part in medical for part in parts) or all(map(_is_plain, parts))


def _is_strange(word: str) -> bool:
    return (len(word) > 2 and not _is_known(word)) or word in words("given_names")


def _is_new(word: str, *, of_person: bool = False) -> bool:
    """Tell whether a word, small or not, is none of language or medicine, nor ends like one where no person is told."""
    ends = not of_person and (_NO_PERSON.search(word) or _USUAL.search(word))
    return _is_strange(word) and word.title() not in words("medical_words") and not ends


def _again(text: str, parts: set[str]) -> Iterator[Place]:
    long = sorted((word for word in parts if len(word) > 2), key=len, reverse=True)
    if not long:
        return
    for match in re.finditer(rf"(?<![\w'’–-])(?:{'|'.join(map(re.escape, long))})(?![\w–-])", text):
        if not _medical(text, *match.span()):
            yield match.span()


def _medical(text: str, start: int, end: int) -> bool:
    before = text[max(0, start - 4) : start]
    return _MEDICAL.match(text, end) is not None or before.endswith(("St. ", "St ", "int ", "bus "))


def _trimmed(text: str, start: int, end: int) -> Place:
    last = start
    for match in re.finditer(r"[^\s]+", text[start:end]):
        ends = match[0].rstrip(".") in words("no_names") and not re.fullmatch(r"[A-Z]\.", match[0])
        if ends or re.fullmatch(_NOUN, match[0].lower()):
            break
        last = start + match.end()
    return start, last
