"""Names of persons in Chinese text: Han, Tibetan, Uyghur and Mongolian ones, and how children are called.

Whoever is named is found again where the name stands alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from kgdx.llm.pii import QUOTE, Place, any_of_words, merged, words

_SURNAMES = "".join(sorted(words("surnames_zh")))
_COMPOUND = any_of_words("compound_surnames")
_PLAIN_SURNAMES = "".join(sorted(words("certain_surnames")))
"""Surnames that begin few other words."""
_SURNAME_CHINESE = f"(?:{_COMPOUND}|[{_SURNAMES}])"
_HAN = "\u4e00-\u9fff"

_KIN_ZH = (
    "(?:其|之|我|患者|患儿|病人|他|她)(?:父亲?|母亲?|夫|妻子?|丈夫|儿子|女儿|子|女|兄|弟弟?|姐姐?|妹妹?|哥哥?|"
    "爸爸?|妈妈?|"
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
    rf"(?:主治|主管|责任|管床|经治|审核|报告|送检)(?:医师|"
    rf"医生))(?P<name>{_SURNAME_CHINESE}[{_HAN}]{{0,2}}?)(?=[，,。.、；;！!？?\s（(）)]|$|今年|男|女|的)"
)
_PATIENT = re.compile(
    rf"(?:患者|患儿|病人|病患|产妇|孕妇|家属|患方|医生|医师|大夫|护士|{_KIN_ZH})[:：]?"
    rf"(?P<name>{_SURNAME_CHINESE}[{_HAN}]{{1,2}}?)(?=\s*[，,、（(]?\s*(?:男|女|性别|"
    rf"[0-9０-９一二三四五六七八九十]{{1,3}}\s*(?:岁|个月|月龄|周岁)))"
)
_FOLLOWED = re.compile(
    rf"(?:(?:患者|患儿|病人|病患|产妇|{_KIN_ZH}|姓名|医师|医生)[:：]?)"
    rf"(?P<name>{_SURNAME_CHINESE}[{_HAN}]{{1,2}}?)"
    rf"(?=\s*(?:[，,。；;、（(）)]|$)|有|患有|因|体健|陪同|诊断|确诊|查房|会诊|接诊|考虑|既往|自述|主诉|入院|于\d|在\d)"
)
_LITTLE = re.compile(
    rf"(?:(?:患儿|小名|乳名|昵称)(?:叫|是)?[:：]?)(?P<name>(?:小|阿)(?!{_NOT_LITTLE})[{_HAN}]|"
    rf"(?!{_NOT_TWICE})(?P<twice>[{_HAN}])(?P=twice))"
    rf"(?=\s*(?:[，,。；;、（(）)]|$))"
)
_POINTED = re.compile(
    rf"(?<![{_HAN}·])(?:患者|患儿|病人|我叫|我是)?(?P<name>[{_HAN}]{{2,6}}·[{_HAN}]{{2,8}}?)"
    rf"(?=\s*(?:[，,。；;、（(）)]|$|男|女|先生|"
    rf"女士)|\s)(?<!病)(?<!征)(?<!症)(?<!综合征)(?<!反应)(?<!试验)(?<!疹)(?<!结晶)(?<!小体)(?<!现象)"
)
_MASKED = re.compile(
    rf"(?P<name>{_SURNAME_CHINESE}(?:某{{1,2}}|(?:[xX]{{2}}|[×*＊]{{1,2}})))(?![些种个一处人地时日项类])"
)
_ADDRESSED = re.compile(
    rf"(?P<name>{_SURNAME_CHINESE}(?:[{_HAN}]{{1,2}}?)?(?:先生|女士|小姐|太太|教授|大夫|护士长|主任|院长|阿姨|"
    rf"大爷|大妈|奶奶|爷爷))"
    rf"|(?:(?<![{_HAN}])|[壁居里头个位是叫和跟])(?P<kin>[{_SURNAMES}][一二三四五六七八九大老小]?(?:嫂子?|婶子?|"
    rf"叔|伯|婆|爹|姨|舅|姐|哥|奶奶)(?=[，,。；;、 也说的是和有]|$))"
    rf"|(?P<short>{_SURNAME_CHINESE}(?:医生|医师|老师|护士|同学|叔叔|师傅|博士|大娘|大叔|大伯|大姐|大哥|老板|"
    rf"经理|队长|所长|校长))"
)

_FULL = re.compile(
    rf"(?:(?<![{_HAN}])|[由被经请找向与和跟让是])(?P<name>{_SURNAME_CHINESE}[{_HAN}]{{1,2}}(?:医生|医师|老师|"
    rf"护士|技师|教练|律师))"
    rf"|(?:^|[，,。；;\n ])(?P<kin>(?![患病])[{_SURNAMES}](?![其该的病患])[{_HAN}]{{1,2}})(?=家属|家长|本人|爱人|老伴)"
    rf"|\d{{1,3}}\s*床[，,、:： ]*(?P<bed>[{_SURNAMES}][{_HAN}]{{1,2}})(?=[，,、 。])"
)
"""A name before what its bearer is, and behind the number of a bed."""
_FIRST = re.compile(
    rf"(?:^|[\n\r。；;“\"|｜:：][ 　]*)(?P<name>{_SURNAME_CHINESE}[{_HAN}]{{1,2}})"
    r"(?=[ 　]*[，,、（(\s/|｜][ 　]*(?:男|女|性别|\d{1,3}[ ]?(?:岁|周岁|个?月|天|日龄)))"
)
"""A name with which a record begins, before sex or age."""
_ALONE = re.compile(
    rf"(?:^|[\n\r])[ 　]*(?P<name>[{_SURNAMES}])(?=[，, ][ ]?(?:男|女)[，, 性])"
    r"|(?<=[叫名])[:：为是]?[ “\"]?(?P<latin>[A-Z][A-Za-z]{1,15}(?:[ ·][A-Z][A-Za-z]{1,15})?)(?![A-Za-z\d])"
    rf"|(?:^|[，,。；;\n])(?P<little>阿(?!{_NOT_LITTLE})[{_HAN}])(?=[说讲今因，,的有])"
)
_LABELLED = re.compile(
    "(?:收件人|寄件人|收货人|姓名|患者|患儿|病人|家属|联系人|监护人|父亲?|母亲?|丈夫|妻子?|配偶|儿子|女儿|长子|"
    "次子|长女|次女|兄|弟|姐|妹|"
    "爷爷|奶奶|外公|外婆|祖父|祖母|陪同人?|陪护人?|签名|签字|医师|医生|护士|术者|主刀|助手|麻醉师?|记录者?|"
    "审核者?|报告者?|申请者?|采样人|"
    "送检人|班主任|校长|司机|车主|户主|投保人|被保险人|房东|同桌|室友)[ 　]?(?:[:：]|[ 　]+)[ 　]?"
    rf"(?P<name>(?:{_COMPOUND}|[{_SURNAMES}农覃闭零银甫元湛禹贝计伏强危支裘郁杭诸钮嵇滑荀羊封羿储汲糜松井富乌巴牧隗山秋伊暴厉戎祖束幸韶薄印"
    rf"怀鄂索籍屠阴能双莘贡劳扶堵宰雍璩寿通扈冀浦别充慕习宦鱼容慎戈庾终暨居衡步都满弘匡广禄东沃利蔚越隆晁勾融空毋养须丰巢蒯相红权益])"
    rf"[{_HAN}]{{1,2}})(?=[，,。；;、\s（(/|｜]|$|[男女]|\d)"
    rf"|姓(?P<family>{_COMPOUND}|[{_HAN}])[，, ]?名(?P<given>[{_HAN}]{{1,2}}?)(?=[^{_HAN}]|$)"
)
"""A label and whom it names."""
_NO_VALUE = re.compile(r"[体健康亡故无详常查诊治病痛热咳术药岁年月日今前后已因曾平稳安好]")
_ETHNIC = any_of_words("peoples_zh")
_GIVEN_CHARACTERS = (
    "伟芳娜敏静丽强磊军洋勇艳杰娟涛明超秀霞平刚桂英华玉兰玲梅鹏飞宇浩轩晨雪婷慧莹倩琳丹萍燕鑫斌波辉健俊峰林龙文博志建国海洁颖琴莲珍凤荣庆利"
    "欣怡涵子佳嘉琪瑞雨晓彤睿豪泽凯毅亮圆旭阳春香菊莉晶蕾薇露瑶媛佩蓉妍思雅诗梦翔鸿宏立成宁安康果乐萌岚珊茜芸茹德义仁礼智信忠诚福贵祥"
)
"""Characters of which many given names are made."""
_OPENING = re.compile(
    rf"(?:^|[\n\r。][ 　]*)(?P<name>(?:{_COMPOUND}|"
    rf"[{_SURNAMES}])[{_GIVEN_CHARACTERS}]{{1,2}})(?=[ 　]*[，,、（(][ 　]*|的)"
    rf"|(?:^|[\n\r。][ 　]*)(?!患者|患儿|病人|病患|先证者|产妇|孕妇|婴儿|老人|学生|农民|工人|儿童|胎儿|"
    rf"{_ETHNIC})(?P<any>[{_HAN}]{{2,3}})"
    r"(?=[，,][ 　]?(?:男|女)[，,。、])"
    rf"|姓(?P<family>{_COMPOUND}|[{_SURNAMES}])(?![{_HAN}])"
    rf"|姓(?P<of>[{_HAN}])[，,、 ]+(?P<whole>(?P=of)[{_HAN}]{{1,2}})(?![{_HAN}])"
)
"""A name with which a record begins, whatever follows."""
_FAMILIAR = re.compile(
    rf"(?:(?<![{_HAN}])|"
    rf"[叫他她友事居和跟是员工师机安姆床属婆士房由给问找位个生])(?P<name>[老小](?:[高何马王李张刘陈杨赵吴周徐孙朱胡郭林罗郑梁谢宋唐许韩邓冯曹彭肖董袁潘蒋杜魏苏吕丁姚沈姜崔谭陆]))"
    r"(?=[，,。；;、\s今昨说的是在有也，陪夜诉反被和叫又喊要总还来去戒咳发吃喝睡摔晕痛疼头脚手腰嫌讲问]|$|\d)"
    rf"|[叫喊][他她它做作]?[“\"'‘「](?P<called>[{_HAN}]{{2,4}})[”\"'’」]"
)
_CHILD = re.compile(
    rf"(?P<name>(?:{_COMPOUND}|[{_SURNAMES}])(?!孩|儿|女|子|朋)[{_HAN}]{{1,2}})(?=[的之](?:妻|夫|子|女|母|父|"
    rf"妈妈|爸爸|奶奶|爷爷|姥姥|外婆|家长|母亲|父亲|哥哥|姐姐|弟弟|妹妹))"
)
_NO_FIRST = re.compile(r"[热痛咳血病症炎癌瘤压糖喘吐泻晕痒肿疹伤喉疸便尿疼麻腹胸头腰眼耳鼻]")
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
    strong = rf"(?:(?!{none})[{_HAN}]{{2,4}}(?=[，,、。(（\s]{{1,2}}(?:男|女|\d{{1,3}}\s*(?:岁|个月)|{_ETHNIC})))"
    return (
        re.compile(rf"{_PERSON}{_LINKED}(?!{none})(?P<name>{pointed}|{many}|{strong}|{han}|{plain})"),
        re.compile(
            rf"(?<![{_HAN}·A-Za-z])(?P<name>{many}|(?:{_COMPOUND})(?!{_TITLE})[{_HAN}]{{1,2}}{follow}|"
            rf"[{_PLAIN_SURNAMES}](?!{_TITLE})[{_HAN}](?:{follow}|[{_HAN}]{follow}))"
        ),
        re.compile(
            rf"(?:(?<![{_HAN}])|[我他她]|{_PERSON})(?:叫(?!救护|[我你他她它人车不醒喊]|医生|护士|外卖)|名叫|"
            rf"乳名|小名|学名|昵称)(?:做|是|"
            rf"为)?(?!{none})(?P<name>[{_HAN}]{{2,4}}){_STOP}"
        ),
        re.compile(
            rf"(?P<name>(?!{none})(?:[小阿][{_HAN}]|(?P<twice>[{_HAN}])(?P=twice)))(?=的?(?:妈妈|爸爸|奶奶|"
            rf"爷爷|姥姥|外婆|家长|母亲|父亲))"
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
_CALM = re.compile(r"安静|平静|平安|安康|康宁|明亮|文明|安宁的|金属|高峰的|华丽|温和|成立|常青|易安")
_NAMED_AFTER = re.compile(
    rf"[金氏斯尔特奇]?(?:{_MEDICINE.pattern}|淋巴瘤)|[片丸散膏]|胶囊|颗粒|冲剂|口服液|注射液|合剂|糖浆"
)
"""What follows a name within that of a disease or remedy."""
_NOT_NAMES = re.compile(rf"{_ORDINARY.pattern}|[于盛项席冷费景荣商司游尚易付龙雷丁贺温兰蓝童华党肖]|成某")


def chinese_names(text: str) -> list[Place]:
    """Return where persons are named."""
    if not re.search(f"[{_HAN}]", text):
        return []
    found = set(_stated_chinese(text))
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
        calls = pattern is _cued()[2]
        for match in pattern.finditer(text):
            start, end = match.span("name")
            before = text[max(0, start - 2) : start]
            if (
                not (before.endswith("子") and (text[start] == "宫" or before[0] in "鼻嗓脑个肚脖腿身膀疹样"))
                and not _NO_PERSON.search(text, start, end)
                and not _MEDICINE.match(text, end)
                and (calls or not _ORDINARY.match(text, start, end))
            ):
                yield start, end
    for pattern in (_LITTLE, _POINTED):
        yield from (match.span("name") for match in pattern.finditer(text))
    yield from (match.span("name") for match in _tibetan().finditer(text))
    for match in _FIRST.finditer(text):
        if not _NO_FIRST.search(match["name"]) and not _ORDINARY.match(text, *match.span("name")):
            yield match.span("name")
    for pattern in (_OPENING, _FAMILIAR, _CHILD, _FULL):
        for match in pattern.finditer(text):
            kind = match.lastgroup or "name"
            name = match[kind]
            if not (_NO_FIRST.search(name) or _ORDINARY.match(name) or _CALM.match(name) or _NO_PERSON.search(name)):
                yield match.span(kind)
    for match in _LABELLED.finditer(text):
        groups = ("name",) if match["name"] else ("family", "given")
        if not any(_NO_VALUE.search(match[group]) or _NO_FIRST.search(match[group]) for group in groups):
            yield from (match.span(group) for group in groups)
    for match in _ALONE.finditer(text):
        yield match.span(next(name for name, value in match.groupdict().items() if value))
    for match in _ALIAS.finditer(text):
        start, end = match.span("name" if match["name"] else "other")
        named = re.search(rf"{_SURNAME_CHINESE}[{_HAN}]{{1,2}}$|[小阿大老][{_HAN}]$", text[start:end])
        yield (start + named.start(), end) if named and match["name"] else (start, end)
    for pattern in (_CUED_CHINESE, _SAID, _PATIENT, _FOLLOWED, _MASKED, _ADDRESSED):
        for match in pattern.finditer(text):
            group = next(name for name, value in match.groupdict().items() if value)
            start, end = match.span(group)
            if pattern is _CUED_CHINESE or not _common(text, start, end, short=pattern in (_ADDRESSED, _MASKED)):
                yield start, end


@cache
def _tibetan() -> re.Pattern[str]:
    element = any_of_words("tibetan_names")
    return re.compile(rf"(?P<name>(?:{element}){{2}})")


def _common(text: str, start: int, end: int, *, short: bool) -> bool:
    if re.match(rf"(?:{_COMPOUND})|[{_HAN}]某", text[start:end]):
        return False
    if _NOT_NAMES.match(text, start, end if end - start > 1 else end + 1):
        return True
    return short and _NOT_BEFORE.search(text, max(0, start - 2), start) is not None
