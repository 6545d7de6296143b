"""Relatives in a text: where a clause begins to tell of one, and where a finding is said to be one's.

A relative who only speaks of the patient, or brings him, has none of the findings that follow.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from kgdx.lazy import lazy_pattern
from kgdx.terms.normalise import has_chinese

KIN = (
    r"(?:great[- ])?(?:grand|step|god)?(?:mothers?|fathers?|parents?|ma|pa|mom|mum|dad|sons?|daughters?)"
    r"|grandchild(?:ren)?"
    r"|gran(?:ny|d?ma|d?pa|d?dad)?|nan(?:na)?|momm?y|mumm?y|mam|mama|daddy|papa"
    r"|(?:co-?)?twin(?:[ -](?:brother|sister))?"
    r"|(?:half|step)?[- ]?(?:brother|sister)s?|sibs?|siblings?|aunt(?:ie)?s?|uncles?|cousins?|nieces?|nephews?"
    r"|(?:blood |close )?relatives?|(?:other |several |many )?family members?|husband|wife|spouse|MG[MF]|PG[MF]"
)
"""English words for relatives."""
PLAIN_KIN = rf"(?!(?:ma|pa|child|children|sons?|daughters?)\b)(?:{KIN})"
"""Those that say by themselves that they are somebody else than the patient."""
OWNER = (
    r"(?:his|her|their|its|the|a|an|one|two|three|both|patient's|pt's|proband's|child's|baby's|boy's|girl's|maternal"
    r"|paternal|older|younger|elder|eldest|youngest|affected|full|only|identical|late|first|second|deceased|another|big|little)"
)
_MINE = r"(?:my|our)"
_SPEECH = (
    r"(?:report|say|said|state|note|notice|describe|den(?:y|ie)|bring|brought|think|thought|feel|felt|complain|recall"
    r"|find|found|see|saw|observe|witness|tell|told(?! of)|give|gave|mention|claim|worr(?:y|ie)|concern|believe|want"
    r"|ask|call|confirm|(?:is|was) (?:worried|concerned)|carr(?:y|ie)d|held|took|take|attend|refuse|decline)"
    r"(?:s|d|ed|ing)?\b"
)
_SPEAKS = rf"(?!(?:['’]s)?(?:\s+(?:also|has|have|had|now|first|both|is|are|was|were|anxiously))*\s+{_SPEECH})"
_WELL = (
    r"(?!\s*(?:[,:]|(?:and|&)\s+\w+)?\s*(?:(?:is|are|was|were|both|all)\s+)*(?:fit and )?(?:well|healthy"
    r"|unaffected|normal|alive"
    r"|asymptomatic|(?:non-?|un)?(?:consanguineous|related)|of \w+ (?:origin|descent)|first cousins)\b)"
)
_AGENT = lazy_pattern(
    r"(?:\b(?:with|by|from|to|per|for|about|tells?|told|asked|sees?|saw|visit(?:s|ed)?|according to)|\bborn (?:to|of))"
    rf"\s+(?:(?:{OWNER}|{_MINE}|[\w-]+)\s+)?(?:{OWNER}\s+)*$",
    re.IGNORECASE,
)
"""Before a relative who brought the patient, lives with him or tells of him."""
_TOGETHER = lazy_pattern(r"\b(?:s?he|patient|proband|pt)\s+(?:and|&)\s+$", re.IGNORECASE)
"""Before a relative who shares with the patient what follows: "both she and her brother have scoliosis"."""
_VERB = (
    r"(?:also\s+|both\s+|all\s+|each\s+|too\s+|probably\s+)*(?:has|had|have|having|got|gets?|with|w/|was|were|is|are|'s"
    r"|suffer(?:s|ed)?|died|dies|diagnosed|known|developed|ha[sd]n't|haven't|wears?|needs?|uses?|showed|shows)\b"
)
_ASIDE = r"(?:\s*\([^()\n]{0,30}\)|\s*,?\s*(?:aged?\s+)?\d{1,3}(?:\s*(?:y|yrs?|years?|yo|months?)(?:[- ]old)?)?,?)?"
_OWNED = lazy_pattern(
    rf"\b(?:{OWNER}\s+)+(?:{KIN})\b(?!['’]s pregnancy){_SPEAKS}{_WELL}(?!\s*,?\s+(?:and|&)\s+(?:son|daughter|child)\b)",
    re.IGNORECASE,
)
_BORN = r"(?:older|elder|eldest|younger|youngest|first|second)"
_CHILD = r"(?:son|daughter|child|boy|girl|kid|one|baby)"
_TELLING = lazy_pattern(
    rf"\b(?:(?:{OWNER}|{_MINE})\s+)*(?<!\bmy )(?<!\bour )(?:{PLAIN_KIN})\b{_SPEAKS}{_WELL}{_ASIDE}"
    rf"(?:\s*(?:['’]s\b|:|[-–]\s|\()|\s+(?={_VERB}))"
    rf"|\b{_MINE}\s+(?:{OWNER}\s+)*(?:{PLAIN_KIN})\b{_SPEAKS}{_WELL}"
    rf"|\b{_MINE}\s+other\s+{_CHILD}\b{_SPEAKS}{_WELL}"
    rf"|\b{_MINE}\s+{_BORN}\s+{_CHILD}\s+(?=also\b|had\b|has the same\b)"
    r"|\b(?:nobody|no[- ]?one|none)\b[^.,;]{0,10}\b(?:in|of)\s+(?:the|his|her|their|my|our)\s+family\b",
    re.IGNORECASE,
)
_STARTING = lazy_pattern(rf"^\W*(?:{OWNER}\s+)*(?:{PLAIN_KIN})\b{_SPEAKS}{_WELL}(?=\s+[\w\x00])", re.IGNORECASE)
"""A relative whom a sentence of notes begins with: "Brother epilepsy"."""
_OTHER = (
    r"(?:neighbou?rs?|colleagues?|co-?workers?|workmates?|(?:flat|room|house|class|school|team)-?mates?|friends?|boss"
    r"|teachers?|(?:girl|boy)friend|fianc[eé]e?|landlord|lodger|in-law|(?:mother|father|brother|sister)-in-law|dog|cat)"
)
"""People near the patient who are no relatives."""
_HAS = (
    r"(?:has|had|have|got|gets|(?:is|are|was|were) off|with|caught|came down|went down|suffers|died|diagnosed"
    r"|is being treated)\b"
)
_ACQUAINTED = lazy_pattern(
    rf"\b(?:(?:{OWNER}|{_MINE}|some)\s+){{1,2}}(?:{_OTHER})(?:\s+(?:at|from|next)\s+\w+)?"
    rf"(?=,?\s+(?:who\s+)?(?:(?:also|all|both)\s+)?{_HAS})|\bunlike\s+(?:{OWNER}|{_MINE})\s+\w+"
    r"|(?:同事|邻居|同学|室友|舍友|朋友|对象|[男女]友|[男女]朋友|领导|老板|同桌|工友|闺蜜|我[妈爸爹娘姥奶爷哥姐弟妹])"
    r"[也都们前最近刚是]*(?=有|得了?|患|确诊|感染|出现|发烧|查出|因)",
    re.IGNORECASE,
)
"""Where a clause begins to tell of one of them, or of somebody whom the patient is unlike."""
_BEHIND = lazy_pattern(
    rf"\b(?:in|on|affecting)\s+(?:(?:{OWNER}|{_MINE})\s+)*(?:{PLAIN_KIN}|mother|father)\b(?:['’]s (?:side|family))?"
    rf"|\b(?:{OWNER}\s+)*(?:{PLAIN_KIN}|mother|father)['’]s side\b"
    r"|\bin\s+(?:the|his|her|their|my|our)\s+(?:\w+\s+)?family\b"
    r"|\b(?:in|on)\s+(?:(?:his|her|their|my|our|the)\s+)?(?:maternal|paternal|extended)\s+(?:side|family|line)\b",
    re.IGNORECASE,
)
_BRACKETED = lazy_pattern(
    rf"[(（]\s*(?:(?:{OWNER}|{_MINE})\s+)*(?:{PLAIN_KIN})\s*(?:,[^()]{{0,20}})?[)）]|\s[-–]\s?(?:{OWNER}\s+)*(?:{PLAIN_KIN})\b"
    r"|[（(](?:其|患儿|患者)?(?:父母?|母|父亲|母亲|哥哥|姐姐|弟弟|妹妹|祖父|祖母|外祖父|外祖母)[)）]",
    re.IGNORECASE,
)
_KIN_ZH = (
    r"(?:外?曾?祖[父母]|外[公婆]|爷爷|奶奶|姥[姥爷]|父母(?:亲|双方)?|双亲|父亲|母亲|妈妈|爸爸|老[妈爸]|哥哥?|姐姐|弟弟|妹妹"
    r"|[大二三小][哥姐弟妹伯叔姑姨舅爷]|[侄甥][子女儿]|外甥女?|兄长|兄弟(?:姐妹)?|姐妹|舅[舅父妈]?|叔叔|伯[父母伯]|姑[姑妈父]|姨[妈母]?|阿姨|[堂表][兄弟姐妹哥]"
    r"|同胞(?:兄弟?|姐妹?|弟|妹|哥|姐)?|亲属|亲戚|家属中|家族(?:中|里|内|成员)|家里人?|丈夫|妻子|老公|老婆|老伴|爱人|配偶|双胎(?:之一|中))"
)
_SAYS_ZH = (
    r"(?!(?:亲|们)?(?:均|都|也|曾|就|自|一直)?(?:诉|代诉|述|代述|称|说|讲|发现|注意|观察|反映|告知|认为|觉得|感觉|担心|怀疑|带|抱|陪|送"
    r"|携|看|见|孕|妊娠|怀孕|分娩|体健|健康|身体健康|体质|近亲|系近亲|为近亲|非近亲|否认))"
)
_CHINESE = lazy_pattern(
    rf"(?:(?:患儿|患者|其|他|她|我|孩子)的?)?{_KIN_ZH}{_SAYS_ZH}"
    rf"|(?:^|(?<=[，,。；;：:、\s]))[父母兄姐](?![亲婚乳体系质子女兄弟姐妹父母辈代诉述称\s，,。；;：:、]){_SAYS_ZH}"
    rf"|(?<![保师家云老])[父母兄姐弟妹爸妈](?=(?:也|亦|均|曾|幼时|年轻时|自幼|有|患|因|死于|确诊|诊断|[:：])){_SAYS_ZH}"
    rf"|(?:其|患儿|患者)[父母兄姐弟妹子女]{_SAYS_ZH}"
    rf"|(?:他|她|孩子|宝宝)(?:爸|妈|哥|姐|弟|妹|舅|姨|姑|叔|伯|爷|奶|姥)(?![\u4e00-\u9fff]?(?:诉|说|带|抱)){_SAYS_ZH}"
)
_HISTORY_ZH = lazy_pattern(r"(?:的)?家族(?:病|遗传)?史")


_NAMED = lazy_pattern(
    rf"\b(?:{PLAIN_KIN}|sons?|daughters?|maternal|paternal|family|{_MINE} (?:other|{_BORN}) {_CHILD})\b"
    rf"|\bunlike\b|\b{_OTHER}\b|{_KIN_ZH}|[父母兄姐弟妹爸妈]|家族|同|邻居|友|对象|领导|老板|闺蜜",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Kin:
    """A relative in a text.

    Attributes:
        start: First character.
        kind: ``forward``: what follows is the relative's; ``backward``: what stands before in the clause;
            ``behind``: what stands directly before.
    """

    start: int
    end: int
    kind: str


def named(text: str) -> bool:
    return bool(_NAMED.search(text))


def relatives(text: str, whose: str = "") -> Iterator[Kin]:
    """Yield the relatives of a sentence of whom it tells something."""
    if not named(text):
        return
    patterns = (_ACQUAINTED, _STARTING, _TELLING, _OWNED)
    for match in {match.start(): match for pattern in patterns for match in pattern.finditer(text)}.values():
        before = text[max(0, match.start() - 40) : match.start()]
        agent = _AGENT.search(before) and not re.match(r",?\s*who\b|\s*(?:has|had|:)", text[match.end() :])
        if not (agent or _TOGETHER.search(before) or (whose and whose in match.group().lower())):
            yield Kin(*match.span(), "forward")
    yield from (Kin(*match.span(), "backward") for match in _BEHIND.finditer(text))
    yield from (Kin(*match.span(), "behind") for match in _BRACKETED.finditer(text))
    if has_chinese(text):
        for match in _CHINESE.finditer(text):
            if not (whose and whose in match.group()):
                yield Kin(*match.span(), "forward")
        yield from (Kin(*match.span(), "behind") for match in _HISTORY_ZH.finditer(text))
