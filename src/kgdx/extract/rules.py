"""Reads relations by the phrases that Chinese answers use for them, without a model: few of them wrong, some missed.

A question names the disease and often what is asked of it; a sentence of the answer has a cue ("症状有", "需要做…检查",
"建议服用", "治疗方法有", "并发症有") and after it a list of names. A bare list answers what was asked. What is in a
list has to look like a name of its class, or be in the vocabulary.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kgdx.extract.model import TYPES, Found, Statement, ends
from kgdx.extract.vocabulary import Vocabulary
from kgdx.extract.wording import CURE, DISEASE, DRUG, TEST, denied, fits, running, sentences

VERSION = "1"
_LONGEST_QUESTION = 300
_LONGEST_ANSWER = 20_000
_LONGEST_SENTENCE = 600
_MOST_CUES = 3
_MOST_ITEMS = 40
_LONGEST_ITEM = 20

_L = r"[:：]?\s*(?P<list>.+)"
_IS = r"(?:主要|常见的?|一般|大多|通常)?(?:包括|表现为|如下|有|是|为|[:：])"
_MANY = r"(?:患者|病人|多数|大多|一般|主要|往往|还|同时|常常?|多|可以?|可能|也|会|易|容易|能)*"
_CUES: Mapping[str, tuple[str, ...]] = {
    "HAS_SYMPTOM": (
        rf"(?:症状|表现|征兆|体征|征象){_IS}{_L}",
        rf"表现[为出]{_L}",
        r"以(?P<list>.+?)为(?:主要|首发|典型|突出)(?:症状|表现|特征)",
        rf"(?:患者|病人|{_MANY})(?:会出现|可出现|出现|可见|伴有|会有|常有)(?!.*等(?:疾病|病|并发)){_L}",
        r"(?:多数|大部分|部分)(?:病人|患者)有(?P<list>.+)",
        rf"发作(?:的)?(?:时候?|期)?(?:主要|一般)?(?:是|有|会){_L}",
    ),
    "RECOMMEND_TEST": (
        r"(?:需要?|应该?|要|可以?|建议.{0,8}?|必须)(?:到?医院)?(?:先|再)?(?:进行|完善|做|行|查)(?:一下|个)?(?P<list>.+)",
        rf"检[查验测](?:项目|方法|手段)?(?:主要|常见的?)?(?:包括|如下|有|是|为|[:：]){_L}",
        r"(?:通过|依靠|依据|靠)(?P<list>.+?)(?:来|就能|可以?|能|进行)?(?:确诊|诊断|明确诊断|判断)",
        r"诊断.{0,20}?依靠(?P<list>.+)",
        rf"安排(?:做|行)?{_L}",
    ),
    "RECOMMEND_DRUG": (
        rf"(?:用?药物?|药品|药)(?:主要|常见的?|一般)?(?:包括|有|是|为|如|[:：]){_L}",
        rf"(?:口服|服用|内服|外用|涂抹|注射(?![用液剂])|使用|选用|选择|应用|给予|给以|予以|首选|加用|改用|[可会能要应]用|服){_L}",
        rf"(?:推荐|建议)(?:吃|用)?(?:药物)?{_L}",
    ),
    "RECOMMEND_CURE": (
        rf"(?:治疗|疗法|治法)(?:的)?(?:方法|方式|手段|原则|方案|措施)?(?:主要|一般|常见的?)?(?:包括|如下|有|是|为|[:：]){_L}",
        r"以(?P<list>.+?)为主",
        rf"(?:采用|采取|进行|实施|施行|给予|首先考虑|考虑|需行|可行){_L}",
        r"通过(?P<list>.+)(?:来|等方法|等方式|等手段)(?:进行)?(?:治疗|缓解|改善|控制)",
    ),
    "HAS_COMORBIDITY": (
        rf"(?:并发症|合并症|伴随疾病){_IS}{_L}",
        rf"(?:^|[可会易能常时重]|患者|病人|往往|同时|严重者)(?:并发|合并|伴发|继发|诱发|引发){_L}",
        r"(?:伴有|出现|发生)(?P<list>.+?)等(?:疾病|其[他它]病|病症|病变|并发症)",
    ),
}
_CONSEQUENCE = re.compile(rf"(?:引起|导致|造成|发展为|伴有|伴随){_L}")
"""Of a complication where complications are asked for, or after :data:`_WORSE`: much else causes something."""

_WORSE = re.compile("不及时|不治疗|严重者|病情[加发]|延误|恶化")

_PATTERNS = {type_: tuple(re.compile(cue) for cue in cues) for type_, cues in _CUES.items()}
_HINTS = {
    "HAS_SYMPTOM": re.compile("症|表现|征|出现|可见|伴有|有|发作"),
    "RECOMMEND_TEST": re.compile("[查验测做行]|诊断|确诊|安排"),
    "RECOMMEND_DRUG": re.compile("[药服用射]|首选|选择|给予|予以|推荐|建议|涂抹"),
    "RECOMMEND_CURE": re.compile("[疗术]|康复|训练|移植|切除"),
    "HAS_COMORBIDITY": re.compile("等疾病|并发|合并|伴发|继发|诱发|引发|引起|导致|造成|发展为|伴有|伴随"),
}
_ASKED = (
    ("HAS_COMORBIDITY", re.compile("并发|合并|后果|危害|伴随|引发|引起什么|继发|其[他它]病|别的病|哪些病|会怎样|不管")),
    ("RECOMMEND_DRUG", re.compile("药")),
    (
        "HAS_SYMPTOM",
        re.compile(
            "症状|表现|征兆|不舒服|不适|反应|体征|迹象|怎么判断|是不是|感觉|样子|变化|难受|好受|特征|信号|怎么样"
        ),
    ),
    ("RECOMMEND_TEST", re.compile("检查|化验|确诊|诊断|查什么|查哪|怎么查|查出|检测|手段")),
    ("RECOMMEND_CURE", re.compile("治|疗|怎么办|手术|措施")),
)

_BEFORE = re.compile(
    r"^(?:(?:请问|你好|您好|医生|大夫|想?了解一?下?|想问一?下|想咨询一?下|问一?下|那|如果|要是|假如|请|关于)[，,、：:\s]*)*"
    r"(?:(?:我|咱)?(?:家|的)?(?:爸爸?|妈妈?|父亲|母亲|爷爷|奶奶|外公|外婆|孩子|宝宝|小孩|儿子|女儿|老公|老婆|丈夫|妻子|朋友|"
    r"家人|男朋友|女朋友|姐姐?|妹妹?|哥哥?|弟弟?)?(?:最近|刚刚?|被|今年)?)?"
    r"(?:.{0,6}?(?:得了|患了|患有|患上|查出了?|怀疑是?|可能是|说说|讲讲|谈谈|[求请]?推荐|治好了|得(?!了)|诊断[为是出]|确诊[为是了]?|是不是|介绍一?下|判断自己是不是))?"
    r"(?:(?:怎么|如何|怎样)(?:检查|诊断|确诊|治疗|预防|判断|治))?(?:治疗?|检查|查)?"
)
_BEHIND = re.compile(
    r"的|都有|合并症|并发症|后遗症|买|有没有|[吃开来][点些]|初期|挂号|手术|拖|最怕|常[和会见]|现在|后期|[有会要能应可](?:什么|哪|出现|有|引|做|用|不|该|以|怎|如|吃|查|伴|并|治)|需要?|应该|怎[么样]|如何|吃[什点哪啥]|用[什哪啥点]|"
    r"做[什哪]|早期|最好|首选|推荐|是[什怎不]|发作|去医院|什么|哪些|药物|容易|不治|严重|患者|病人|一般|通常|这个?病|好[几多些了]|"
    r"还会|好不好|[多常往]|该|可[以能]|主要|治疗|检查|诊断|[,，。？?！!:：;；、\s]|$"
)
_LINK = re.compile(r"[的了着过吗呢吧啊让叫把被得说问看想很太和与跟在]|这|那|哪|什么|怎|以后|之后|如果|因为")
"""What stands between words, and not within the name of a disease."""

_FOLLOWS = frozenset("会要能可有是让需都该吃用买打靠临诊去患人")
"""Characters that a name's end may be seen by."""

_SUBJECT = re.compile(r"^(?:您好[，,]|你好[，,])?(?:诊断|治疗|确诊)?(?P<name>[^，,。：:；;、\s]{2,24})$")
_JOINED = re.compile(r"和|以及|及|与|或者?|还有")
_NUMBER = re.compile(r"[(（]?\d{1,2}[)）.、．]\s*|[①-⑳]")
_TAIL_WORDS = re.compile(
    r"等+(?=$|[，,。；;等]|检查|检验|症状?|药物?|方法|方式|疾病|病症|情况|表现|手段|治疗|多种|各种|一系列|现象|并发症|疗法)"
    r"|(?:以|来|就能|可以?)(?:明确|确定|确诊|帮助|进行|判断|治疗)|进行治疗|为(?:主要|主)|即可|就可以"
)
_ITEM_START = re.compile(r"^(?:是|有|为|了|以|如|即|或|和|及|与|主要|常见的?|明显的?|会|可|个|一下|[:：\-])+(?=.{2,})")
_LEADING = re.compile(
    r".*(?:[是为有做]|服用?|吃|给.?开|试试?|采[取用]|选[择用取]|感[觉到]到?|接受|要看|(?<!检)查(?=.{2,})|[使应多可常]用|造成|变成|发展成|"
    r"患上|给予|需要|出现|引起|靠|借助|属于|想到)(?=.{2,})"
)
_FOLLOWING = re.compile(
    r"(?<=..)(?:这[些类几两]|即可|就[可能行好]|对.+|的结果|的人|看看|来.+|是.+|之后|以后|都.+|比较|按.+|等.*|之类.*|为.+|可以.*|能.{2,})$"
)
_LEAST = {"Symptom": 2}
"""Names of a list at least where no cue tells what they are: symptoms are worded like much else."""

_TWICE = re.compile(r"(检查|治疗|症状)\1$")
_CURE_END = re.compile(r"(?<=治疗)(?:后|均|都|相|为|即|就|可|再|等|并|，).*$")
_CLEAR = frozenset({"以及", "及", "还有"})
_GENERAL = frozenset(
    {"治疗", "检查", "药物", "手术", "疗法", "症状", "疾病", "方法", "化验", "并发症", "药物方面", "综合", "典型"}
)
_NO_NAME = re.compile(r"\d{2,}$|^[A-Za-z]+$")
_SHAPES = {"Test": TEST}
"""What most names of a list have to look like where the list's cue stands in many other sentences too."""

_ITEM_END = re.compile(r"(?:等|之类)+$")
_MARKS = " \t\r\n\"'“”‘’《》「」【】。.!！?？:："


@dataclass(frozen=True, slots=True)
class RuleReader:
    """Reads relations by rules; a :class:`~kgdx.extract.model.RelationReader`.

    Attributes:
        vocabulary: Names that are known to be of a class; the rules do without.
    """

    vocabulary: Vocabulary = field(default_factory=Vocabulary)

    @property
    def model(self) -> str:
        """The rules and their version."""
        return f"kgdx rules {VERSION}"

    @property
    def prompt(self) -> str | None:
        """Rules have no prompt."""
        return None

    @property
    def signature(self) -> str:
        """The rules' version and the vocabulary."""
        return f"rules {VERSION} {self.vocabulary.digest}"

    def read(self, question: str, answer: str) -> Found:
        """Read the relations.

        Example:
            >>> found = RuleReader().read("肺炎有什么症状？", "肺炎的症状主要有发热、咳嗽等。应与肺结核相鉴别。")
            >>> [(s.type, s.head, s.tail) for s in found.statements]
            [('HAS_SYMPTOM', '肺炎', '发热'), ('HAS_SYMPTOM', '肺炎', '咳嗽')]
        """
        question, answer = question[:_LONGEST_QUESTION], answer[:_LONGEST_ANSWER]
        topic, asked = self._topic(question)
        parts = [part[:_LONGEST_SENTENCE] for part in sentences(answer)]
        found: list[Statement] = []
        for part in parts:
            found += self._sentence(part, topic, asked)
        if not any(statement.type == asked for statement in found) and asked and topic:
            found += self._bare(parts, topic, asked) or self._loose(parts, topic, asked)
        return Found(tuple(found))

    def _topic(self, question: str) -> tuple[str | None, str | None]:
        """The disease that is asked about, and what is asked of it."""
        asked = next((type_ for type_, pattern in _ASKED if pattern.search(question)), None)
        clauses = [part for part in re.split(r"[，,。？?！!；;：:\n]", question) if len(part.strip()) > 1]
        for clause in reversed(clauses):
            for start in sorted({_begin(clause.strip()), 0}, reverse=True):
                name = self._disease(clause.strip()[start:])
                if name is not None:
                    return name, asked
        return None, asked

    def _disease(self, words: str) -> str | None:
        """The disease that words begin with: the longest one in the vocabulary, else the first that is worded so."""
        names = [words[: behind.start()].strip(_MARKS) for behind in _BEHIND.finditer(words)]
        known = [name for name in names if self.vocabulary.holds(name, "Disease")]
        if known:
            return max(known, key=len)
        for name in names:
            if 2 <= len(name) <= _LONGEST_ITEM + 4 and DISEASE.search(name) and not running(name):
                return name
        for size in range(min(_LONGEST_ITEM, len(words)), 2, -1):
            name = words[:size]
            follows = words[size : size + 1] in _FOLLOWS
            if follows and DISEASE.search(name) and not running(name) and not _LINK.search(name):
                return name
        return None

    def _sentence(self, sentence: str, topic: str | None, asked: str | None) -> Iterator[Statement]:
        for type_ in TYPES:
            if not _HINTS[type_].search(sentence):
                continue
            patterns = _PATTERNS[type_]
            if type_ == "HAS_COMORBIDITY" and (type_ == asked or _WORSE.search(sentence)):
                patterns = (*patterns, _CONSEQUENCE)
            for place, listed in _cued(patterns, sentence):
                head = self._subject(sentence[:place]) or topic
                items = self._items(listed, ends()[type_][1], strict=type_ != asked)
                if head is not None and items:
                    yield from _stated(type_, head, items, sentence)
                    break

    def _subject(self, before: str) -> str | None:
        """The disease that a sentence begins with, before its cue."""
        match = _SUBJECT.match(before.strip())
        return self._disease(match["name"]) if match else None

    def _bare(self, parts: list[str], topic: str, asked: str) -> list[Statement]:
        """An answer, or a sentence of it, that is nothing but a list."""
        for part in parts:
            text = part.strip(_MARKS)
            items = self._items(text, ends()[asked][1], strict=False)
            if items and sum(map(len, items)) >= 0.75 * len(_NUMBER.sub("", text)) - len(items):
                return list(_stated(asked, topic, items, part))
        return []

    def _loose(self, parts: list[str], topic: str, asked: str) -> list[Statement]:
        """The first list of names that are worded like what was asked for, whatever stands around it."""
        class_ = ends()[asked][1]
        for part in parts:
            pieces = [piece for piece in re.split(r"[、，,；;\s]+", _NUMBER.sub("、", part)) if piece]
            run: list[str] = []
            for piece in pieces[:_MOST_ITEMS]:
                name = self._loose_name(piece, class_, first=not run)
                if name is not None:
                    run.append(name)
                elif run:
                    run += self._parted(piece, class_)[:2]
                    break
            if run:
                run[-1:] = self._parted(run[-1], class_) or run[-1:]
            if len(run) >= _LEAST.get(class_, 1):
                return list(_stated(asked, topic, run, part))
        return []

    def _loose_name(self, piece: str, class_: str, *, first: bool) -> str | None:
        """A piece without what leads to it or follows, if it is surely a name of the class."""
        led = _LEADING.search(piece) if first else None
        if first and led is None and class_ == "Symptom":
            return None
        name = self._name(_FOLLOWING.sub("", piece[led.end() :] if led else piece), class_)
        shape = {"Test": TEST, "Drug": DRUG, "Cure": CURE, "Disease": DISEASE}.get(class_)
        return name if name is None or shape is None or self._sure(name, class_, shape) else None

    def _items(self, text: str, class_: str, *, strict: bool) -> list[str]:
        """The names of a list, up to where the sentence goes on without them."""
        end = _TAIL_WORDS.search(text)
        text = text[: end.start()] if end else text
        text = _NUMBER.sub("、", text).strip(_MARKS + "、，,；;")
        comma = re.search("[，,；;]", text)
        if comma and "、" in text[: comma.start()]:
            text = text[: comma.start()]
        pieces = [piece for piece in re.split(r"[、，,；;\s/]+", text) if piece]
        items: list[str] = []
        for piece in pieces[:_MOST_ITEMS]:
            named = self._name(piece, class_)
            if named is None:
                items += self._parted(piece, class_)[:1]
                break
            items.append(named)
        if items:
            items[-1:] = self._parted(items[-1], class_) or items[-1:]
        shape = _SHAPES.get(class_) if strict else None
        if shape is not None and 2 * sum(1 for item in items if self._sure(item, class_, shape)) < len(items):
            return []
        return items

    def _name(self, piece: str, class_: str) -> str | None:
        """The name that a piece of a list is, if it is one."""
        piece = re.split("[:：]", piece.strip(_MARKS))[-1]
        if class_ == "Cure" and (end := _CURE_END.search(piece)):
            piece = piece[: end.start()]
        if self.vocabulary.holds(piece, class_):
            return piece
        piece = _ITEM_END.sub("", _ITEM_START.sub("", piece))
        piece = _TWICE.sub(r"\1", piece)
        return piece if self._plausible(piece, class_) else None

    def _parted(self, piece: str, class_: str) -> list[str]:
        """The two names that a list's last piece joins; of a name and something else, the name."""
        if self.vocabulary.holds(piece, class_):
            return [piece]
        if len(piece) > 2 * _LONGEST_ITEM:
            return []
        for joint in _JOINED.finditer(piece):
            names = [self._name(piece[: joint.start()], class_), self._name(piece[joint.end() :], class_)]
            if names[0] is not None and (names[1] is not None or joint.group() in _CLEAR):
                return [each for each in names if each is not None]
        return []

    def _sure(self, name: str, class_: str, shape: re.Pattern[str]) -> bool:
        return self.vocabulary.holds(name, class_) or shape.search(name) is not None

    def _plausible(self, name: str, class_: str) -> bool:
        if self.vocabulary.holds(name, class_):
            return True
        if not 2 <= len(name) <= _LONGEST_ITEM or name in _GENERAL or running(name) or not fits(name, class_):
            return False
        if class_ == "Drug":
            return DRUG.search(name) is not None and not name.startswith("药")
        if class_ == "Cure":
            return CURE.search(name) is not None
        return class_ == "Test" or _NO_NAME.search(name) is None


def _cued(patterns: Sequence[re.Pattern[str]], sentence: str) -> Iterator[tuple[int, str]]:
    """Where a cue stands in a sentence, and what follows it."""
    for pattern in patterns:
        at = 0
        for _ in range(_MOST_CUES):
            match = pattern.search(sentence, at)
            if match is None:
                break
            yield match.start(), match["list"]
            at = match.start("list")


def _begin(clause: str) -> int:
    match = _BEFORE.match(clause)
    return match.end() if match else 0


def _stated(type_: str, head: str, items: list[str], sentence: str) -> Iterator[Statement]:
    start, end = ends()[type_]
    for item in items:
        if item != head and not denied(sentence, item, type_):
            yield Statement(type_, head, item, start, end, sentence)
