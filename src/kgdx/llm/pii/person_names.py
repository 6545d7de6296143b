"""Names of persons in English and Chinese text; never within a disease's name.

Whoever is named in full is found again where the surname stands alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from kgdx.llm.pii import QUOTE, merged, words

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
_HEADED = re.compile(
    rf"(?:^|\n|\\n|[;|,][ \t]|[\"“'])[ \t]*Name[ \t]*:[ \t]*(?P<name>{_NAMES})"
    r"(?=[^\n]{0,80}(?:\n[^\n]{0,80}){0,2}\b(?i:dob|date of birth|birth ?date|mrn|sex|gender|age|address|phone|id)\b)"
)
_OF_PATIENT = re.compile(rf"\b[Pp]atient[:,]?[ \t]+(?P<name>{_WORD}[ \t]+(?:[{_UP}]\.[ \t]*)?{_SURNAME})")
_BESIDE = re.compile(
    rf"(?P<name>\b{_WORD}[ \t]+{_SURNAME})(?=[ \t]*\((?i:{_KIN}|guardian|carer|next of kin)\))"
    rf"|(?:^|\n|[\"“])(?P<head>{_WORD},[ \t]+{_WORD}(?:[ \t]+{_WORD})?)"
    rf"(?=[ \t]*[-–;,(][ \t]*(?i:dob|born|mrn|date of birth)\b)"
)
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
    rf"(?:['’]s?)?(?:[ \t\-–/]+(?:and|of|the|de|von|van|unna|[IVX]+|\d+|[a-z]+(?:al|ic|ary|ar|ous|id|ive)|"
    rf"[{_UP}][\w'’]*))"
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
    for match in _BESIDE.finditer(text):
        yield match.span("name" if match["name"] else "head")
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


# Names of persons in Chinese text: after a cue, or a surname before a form of address.


_SURNAMES = (
    "王李张刘陈杨黄赵吴周徐孙马朱胡郭何林高罗郑梁谢宋唐许韩邓冯曹彭曾肖田董潘袁蔡蒋余于杜叶程魏苏吕丁任卢"
    "姚沈钟姜崔谭陆范汪廖石金韦贾夏付方邹熊白孟秦邱侯江尹薛闫阎段雷龙黎史陶贺毛郝顾龚邵万覃武钱戴严莫孔向"
    "常汤康易乔赖文洪施牛樊葛邢安齐伍庞颜倪庄聂章鲁岳翟殷詹申欧耿关兰焦俞左柳甘祝包宁尚符舒阮柯纪梅童凌毕"
    "单季裴霍涂成苗谷盛曲翁冉骆蓝路游辛靳管柴蒙鲍华喻祁蒲房滕屈饶解牟艾尤时穆农司卓古吉缪简车项连芦麦褚娄"
    "窦戚岑景党宫费卜冷晏席卫米柏宗瞿桂全佟应臧闵苟邬边姬师和仇栾隋商刁沙荣巫寇桑郎甄丛仲虞敖巩明佘池查麻"
    "苑迟邝"
)
_COMPOUND = "欧阳|司马|上官|诸葛|东方|皇甫|尉迟|公孙|慕容|令狐|司徒|夏侯|端木|百里|南宫|独孤"
_SURNAME_CHINESE = f"(?:{_COMPOUND}|[{_SURNAMES}])"
_HAN = "\u4e00-\u9fff"

_KIN_ZH = (
    "(?:其|之|我|患者|患儿|病人|他|她)(?:父亲?|母亲?|夫|妻子?|丈夫|儿子|女儿|子|女|兄|弟弟?|姐姐?|妹妹?|哥哥?|爸爸?|妈妈?|"
    "祖父|祖母|爷爷|奶奶|外公|外婆)"
)
_NOT_LITTLE = "[便腿脑肠儿学孩时结声心肝手腹指趾头脸腺剂量于得叶眼朋]"
_NOT_TWICE = "慢慢|渐渐|常常|时时|天天|频频|微微|稍稍|刚刚|仅仅|偏偏|隐隐|阵阵|往往|多多|样样|每每|处处|久久"

_CUED_CHINESE = re.compile(
    r"(?:姓名|名字|联系人|监护人|医师|医生|大夫|护士|签名|签字)"
    r""
    + QUOTE
    + r"\s*[:：=]\s*"
    + QUOTE
    + rf"(?P<name>[{_HAN}·]{{2,8}}?)(?=[^{_HAN}·]|$|性别|年龄|男|女|电话|住院|科室|先生|女士)"
)
_SAID = re.compile(
    rf"(?:我叫|名叫|叫做|我是|本人|我姓|患者姓|(?:患者|患儿|病人|孩子|儿子|女儿|父亲|母亲|丈夫|妻子|家属)(?:名字)?叫|"
    rf"(?:主治|主管|责任|管床|经治|审核|报告|送检)(?:医师|医生))(?P<name>{_SURNAME_CHINESE}[{_HAN}]{{0,2}}?)(?=[，,。.、；;！!？?\s（(）)]|$|今年|男|女|的)"
)
_PATIENT = re.compile(
    rf"(?:患者|患儿|病人|病患|产妇|孕妇|家属|患方|医生|医师|大夫|护士|{_KIN_ZH})[:：]?"
    rf"(?P<name>{_SURNAME_CHINESE}[{_HAN}]{{1,2}}?)(?=\s*[，,、（(]?\s*(?:男|女|性别|[0-9０-９一二三四五六七八九十]{{1,3}}\s*(?:岁|个月|月龄|周岁)))"
)
_FOLLOWED = re.compile(
    rf"(?:(?:患者|患儿|病人|病患|产妇|{_KIN_ZH}|姓名|医师|医生)[:：]?)"
    rf"(?P<name>{_SURNAME_CHINESE}[{_HAN}]{{1,2}}?)"
    rf"(?=\s*(?:[，,。；;、（(）)]|$)|有|患有|因|体健|陪同|诊断|确诊|查房|会诊|接诊|考虑|既往|自述|主诉|入院|于\d|在\d)"
)
_LITTLE = re.compile(
    rf"(?:(?:患儿|小名|乳名|昵称)(?:叫|是)?[:：]?)(?P<name>(?:小|阿)(?!{_NOT_LITTLE})[{_HAN}]|(?!{_NOT_TWICE})(?P<twice>[{_HAN}])(?P=twice))"
    rf"(?=\s*(?:[，,。；;、（(）)]|$))"
)
_POINTED = re.compile(
    rf"(?<![{_HAN}·])(?:患者|患儿|病人|我叫|我是)?(?P<name>[{_HAN}]{{2,6}}·[{_HAN}]{{2,8}}?)"
    rf"(?=\s*(?:[，,。；;、（(）)]|$|男|女|先生|女士))(?<!病)(?<!征)(?<!症)(?<!综合征)(?<!反应)(?<!试验)(?<!疹)(?<!结晶)(?<!小体)(?<!现象)"
)
_MASKED = re.compile(
    rf"(?P<name>{_SURNAME_CHINESE}(?:某{{1,2}}|(?:[xX]{{2}}|[×*＊]{{1,2}})))(?![些种个一处人地时日项类])"
)
_ADDRESSED = re.compile(
    rf"(?P<name>{_SURNAME_CHINESE}(?:[{_HAN}]{{1,2}})?)(?=先生|女士|小姐|太太|教授|大夫|护士长|主任|院长|阿姨|大爷|大妈|奶奶|爷爷)"
    rf"|(?P<short>{_SURNAME_CHINESE})(?=医生|医师|老师|护士|同学|叔叔|师傅)"
)
_NOT_BEFORE = re.compile(
    r"[谢感地对药处各双提由关位等至基在终过最很更太越较增升偏血体几多成千上亿一二两三每用可需该有无不没现当随按及时同此其你我他她您这那本主]$"
)
_NOT_NAMES = re.compile(
    r"高(?:血|热|烧|龄|危|度|级|位|原|脂|糖|尿)|黄(?:疸|色|体|斑|痰|连)|白(?:细|色|带|癜|血|内|天|蛋|痰)|水|石(?:头|膏)|"
    r"马(?:上|来|凡)|方(?:便|法|案|面|式)|何(?:时|种|处|等|况)|常(?:见|规|用|常|有|伴|感|出|因)|向(?:上|下|您|前)|应(?:该|当|用|诊)|"
    r"时(?:间|候|常)|全(?:身|科|部|面|国)|成(?:人|年|功|立)|单(?:纯|侧|独|位|个)|和(?:医|您|你)|明(?:显|天|确|白)|"
    r"解(?:决|释|除)|关(?:节|于|键|注)|和|成某|安(?:全|静|排|徽)|江(?:苏|西|浙)|路|连(?:续|接)|包(?:括|皮|块)|管(?:理|床|道)|"
    r"查(?:房|体|看|出)|师|边|房(?:间|颤|室)|于|任(?:何|务)|主|曾(?:经|因|在|有|用)|谢(?:谢)|程(?:度)|文(?:化|献)|"
    r"严(?:重|格)|盛|古|农|车|项|米|席|冷|费|景|麻|荣|商|司|游|连|尚|左(?:侧|右|肺|眼)|易|莫(?:名)|万(?:一)|金(?:黄|属)|付|"
    r"熊(?:猫)|龙|雷|毛(?:病|发)|丁|叶(?:酸)|牛(?:奶|皮)|康(?:复)|夏(?:天|季)|林(?:霉)|贺|温|梅(?:毒)|兰|蓝|童|华|"
    r"宫(?:颈|腔|内|外)|卫(?:生)|党|肖|艾(?:滋|灸)|尤(?:其)"
)


def chinese_names(text: str) -> list[Place]:
    """Return where persons are named.

    Example:
        >>> text = "患者张伟，男，45岁，高热三天。张伟说王医生让他来的，家属李女士陪同。"
        >>> [text[start:end] for start, end in chinese_names(text)]
        ['张伟', '张伟', '王', '李']
    """
    found = set(_stated_chinese(text))
    whole = {text[start:end] for start, end in found}
    again = sorted((name for name in whole if len(name) > 1), key=len, reverse=True)
    if again:
        found |= {match.span() for match in re.finditer("|".join(map(re.escape, again)), text)}
    return [(start, end) for start, end, _ in merged((*place, "NAME") for place in found)]


def _stated_chinese(text: str) -> Iterator[Place]:
    for pattern in (_LITTLE, _POINTED):
        yield from (match.span("name") for match in pattern.finditer(text))
    yield from (match.span("name") for match in _tibetan().finditer(text))
    for pattern in (_CUED_CHINESE, _SAID, _PATIENT, _FOLLOWED, _MASKED, _ADDRESSED):
        for match in pattern.finditer(text):
            group = next(name for name, value in match.groupdict().items() if value)
            start, end = match.span(group)
            if pattern is _CUED_CHINESE or not _common(text, start, end, short=pattern in (_ADDRESSED, _MASKED)):
                yield start, end


@cache
def _tibetan() -> re.Pattern[str]:
    """Names of two elements that Tibetan names are made of."""
    element = "|".join(sorted(words("tibetan_names"), key=len, reverse=True))
    return re.compile(rf"(?P<name>(?:{element}){{2}})")


def _common(text: str, start: int, end: int, *, short: bool) -> bool:
    """Whether these are other words that begin with a surname's character."""
    if re.match(rf"(?:{_COMPOUND})|[{_HAN}]某", text[start:end]):
        return False
    if _NOT_NAMES.match(text, start, end if end - start > 1 else end + 1):
        return True
    return short and _NOT_BEFORE.search(text, max(0, start - 2), start) is not None
