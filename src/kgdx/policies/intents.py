"""What a question wants, by its words, in Chinese and English: symptoms, tests, drugs, the disease itself, and so on.

The entities that the question names are taken out of it first, so that no part of a name counts as a word.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Protocol

from kgdx.answer.wants import UNSAID, Want
from kgdx.lazy import lazy_pattern


class TextSpan(Protocol):
    """A part of a text."""

    @property
    def start(self) -> int: ...

    @property
    def end(self) -> int: ...


GAP = "〇"

_WHICH = r"(?:什么|哪些|哪种|哪几种|哪类|哪个|何种|啥|何)(?:样的?|其他|别的)?"
_LEADS = r"(?:引起|引发|导致|造成|诱发|并发|合并|继发|伴发|发展[成为]|演变[成为]|转变?[成为]|变成|恶化[成为])"
"""What one disease does to bring about another."""
_SORT = r"(?:(?!药|治|检|查|症|状|方|手|并发|后|因|项)[^〇\W]){0,4}?"
"""Words that say which sort of diseases is asked for: 哪些慢性病."""
_ON = r"(?:(?!由|是|被|于|因|为)[^〇。！？!?，,；;]){0,30}?"
"""Words of one clause that do not turn it round: 〇是由什么病引起的."""
_KIN = r"(?:fathers?|mothers?|parents?|brothers?|sisters?|siblings?|sons?|daughters?|child\w*|uncles?|aunts?|cousins?)"
_KIN_ZH = r"(?:父亲|母亲|爸爸?|妈妈?|父母|夫妻|双方|哥哥?|弟弟?|姐姐?|妹妹?|兄弟|姐妹|舅舅|儿子|女儿|孩子|后代)"
_ODDS = r"(?:risks?|chances?|odds|likely)"
_ODDS_ZH = r"(?:机会|概率|几率|风险)"
_EN_LEADS = r"(?:cause|lead|result|trigger|produce|progress|develop|bring|turn|provoke|end)"
_EN_DISEASES = r"(?:diseases?|disorders?|conditions?|illness(?:es)?|syndromes?|ailments?|pathologies)"

_WORDS: Mapping[Want, str] = MappingProxyType(
    {
        Want.DISEASE: rf"""
            (?<!并发)(?<!合并)(?<!伴发)(?<!伴随)(?<!引起)(?<!导致)(?<!引发)
            {_WHICH}{_SORT}(?:疾病|疾患|病症|病(?!因|史|历|毒|原|菌)|病?综合征|情况下)
            | (?:疾病|病症|病)(?:都|主要|可能|一般|通常)?(?:有|是|包括|为)?{_WHICH} | 原发(?:疾)?病 | 基础(?:疾)?病
            | {_WHICH}(?:会|可|能)?(?:引起|导致|造成|引发)的?
            | (?:得|患|生)了?{_WHICH}病
            | (?:可能|会|是|考虑|怀疑)(?:是|为)?{_WHICH}(?:疾?病(?![因史历毒原菌])|情况|问题|毛病)
            | (?:可能|考虑|怀疑)(?:是|为)?{_WHICH}(?!检查|检验|化验|药|治|手术|症|并发|方法|方案|因)
            | {_WHICH}(?:原因|病因)(?:引起|导致|造成)? | (?:怎么|咋)回事 | 为(?:什么|何|啥) | (?:怎么|咋)会
            | 鉴别诊断 | (?:怎么|咋)了 | 哪里(?:出|有)了?(?:问题|毛病)
            | (?:可能|初步|首要|首先)(?:的|性)?诊断 | 诊断(?:是|为|有|应|考虑|\W*$) | (?:推断|推测|提示)(?:是|为)?
            | 为(?:并发症|合并症|后遗症) | (?:并发症|合并症|症状|表现|检查|药|疗法|治疗)的(?:疾病|病)
            | 主治 | 适应症 | 适用 | 治(?:疗|好)?{_WHICH}
            | \b(?:which|what)(?:\s+[\w-]+){{0,2}}\s+(?:{_EN_DISEASES}|diagnos[ei]s)\b
            | \b{_EN_DISEASES}\s+(?:with|that|which|whose|where|for|having|causing|leading|complicated|accompanied
              |treated|in\s+which)\b
            | \b(?:likely|possible|probable|differential|suspected|your)\s+diagnos[ei]s\b | \bdifferential\b
            | \bdiagnos[ei]s\s*(?:\W*$|(?:is|are|could|would|might|may|should)\b) | \bdiagnose\W*$
            | \bwhat\s+(?:could|can|might|may|would|will)?\s*(?:it|this|that|be\s+(?:wrong|the\s+matter|going\s+on))\b
            | \bwhat\s+(?:(?:could|can|might|may|would|usually|often|typically)\s+)?
              (?:causes?|explains?|leads?|triggers?|predisposes?)\b
            | \b(?:complications?|secondary|due|consequences?)\s+(?:of|to)(?:\s+(?:which|what)\b|\W*$) | \bsuspect\b
            | \bwhat(?:'s|\s+is)\s+(?:wrong|the\s+matter|going\s+on)\b | \bcauses?\s+of\b | \bwhy\b
            | \bwhat\s+(?:do|have)\s+(?:i|we|they|he|she)\s+(?:have|got)\b
            | \b(?:used|good)\s+for\W*$
        """,
        Want.SYMPTOM: r"""
            症状 | 症候 | 前兆 | 先兆 | 特征 | 特点 | 病征 | 表现 | 表征 | 征象 | 体征 | 征兆 | 不适 | 难受 | 感觉
            | (?:身体|人)会?(?:怎么|怎)样
            | \bsymptoms?\b | \bsigns?\b | \bpresent(?:s|ing|ation)?\b | \bmanifest\w* | \bcomplain\w*
            | \bclinical\s+(?:features?|picture)
            | \bhow\s+(?:do|does|can|would)\b.{0,60}?\b(?:know|tell|feel|recogni[sz]e)\b
            | \bnotice\w* | \bfeatures?\b | \bfindings?\b | \bproblems?\b | \bphenotypes?\b | 表型
            | \b(?:look|feel)s?\s+like\b
        """,
        Want.TEST: r"""
            检查 | 检验 | 化验 | 检测 | 确诊 | 筛查 | 排查 | 诊断(?!为|是|有|应|考虑|\W*$)
            | (?:怎么|如何|怎样)查 | 查什么 | 查些什么 | 查哪些 | 查出 | 拍片 | 鉴定
            | \btest(?:s|ed|ing)?\b | \bdiagnos(?:e|ed(?!\s+(?:with|as))|ing|tics?)\b | \binvestigat\w+
            | \bwork-?\s?up\b
            | \bexam(?:s|ined?|inations?)?\b | \bscreen(?:s|ed|ing)?\b | \bcheck(?:s|ed|ing)?\b
            | \bimaging\b | \bscans?\b | \blab(?:s|oratory)?\b | \bconfirm(?:s|ed|ing)?\b
            | \bdetect\w* | \brule[sd]?\s+out\b
        """,
        Want.DRUG: r"""
            药(?:物|品)? | 服用 | 开点?什么 | 特效药 | 胶囊 | 口服 | 吃点?(?:什么|啥|哪些?)(?!.{0,3}(?:饭|菜|水果|食))
            | \bdrugs?\b | \bmedic(?:ation|ations|ine|ines|ament|aments|ally)\b | \bprescri\w+ | \bpills?\b
            | \bpharmac\w+ | \btablets?\b
            | \b(?:i|we|they|patients?|someone|to|should)\s+take\b | \btake\s+for\b
        """,
        Want.CONTRAINDICATION: r"""
            禁忌 | 禁用 | 忌用 | 慎用 | (?:不能|不可以?|不宜|不要|避免)(?:吃|用|服用|使用|服)
            | \bcontra-?indicat\w+ | \bavoid(?:ed)?\b | \b(?:not|never)\s+(?:be\s+)?(?:take|taken|use|used|give
            |given)\b
            | \bunsafe\b | \bdangerous\b
        """,
        Want.CURE: r"""
            治疗 | 疗法 | 医治 | 诊治 | 救治 | 根治 | 治愈 | 治(?!什么|啥|哪) | (?:怎么|怎样|如何|咋)(?:办|处理|医
            |应对)
            | 手术 | 处置 | 护理 | 调理 | 缓解 | 康复
            | \btreat(?:s|ed|ing|able|ment|ments)?\b | \btherap\w+ | \bcur(?:e[sd]?|ing|able)\b | \bmanag\w+
            | \bsurger\w+ | \bsurgical\w* | \bprocedures?\b | \bremed(?:y|ies|ied)\b | \bhandled?\b
            | \binterventions?\b
            | \b(?:be|is|gets?)\s+done\s+(?:about|for|against|with)\b | \b(?:deal|dealt|cope)\w*\s+with\b
            | \bget\s+rid\s+of\b | \bhelps?\s+(?:with|against)\b | \boptions?\b
        """,
        Want.COMORBIDITY: rf"""
            并发症? | 合并症? | 后遗症 | 继发 | 共患 | 危害 | 后果 | {_LEADS}(?:出|的)?{_WHICH} | 恶化
            | \bcomplicat\w+ | \bsequel\w+ | \bconsequences?\b | \bafter-?effects?\b | \bsecondary\b
            | \brisk\s+(?:of|for|factor)\b
        """,
        Want.TOGETHER: r"""
            一起(?:发生|出现)? | 一同 | 一并 | 共现 | 同时(?:出现|发生|患|有|得|存在) | 共病 | 共存 | 并存
            | 伴发 | 伴随 | 伴有 | 还(?:容易|常|可能|会)?(?:得|患|有)
            | \bco-?morbid\w* | \bco-?occur\w* | \bco-?exist\w* | \baccompan\w+ | \btogether\b | \balongside\b
            | \b(?:comes?|goe?s?)\s+with\b | \bgo(?:es)?\s+(?:along|hand\s+in\s+hand)\b | \b(?:associated|linked
            |related|connected)\b
            | \btend\s+to\s+(?:get|have|develop)\b | \b(?:also|else)\b.{0,60}?\b(?:have|get|develop|suffer)\b
        """,
        Want.GENE: r"""
            (?:致病)?基因 | 突变 | \bgene(?:tic)?\s+(?:defects?|cause|basis|change|background)\b | \bgenes?\b
            | \bmutat\w+
        """,
        Want.RECURRENCE: rf"""
            {_KIN_ZH}(?=[^。！？!?]{{0,24}}(?:{_ODDS_ZH}|会不会|会有|会得|遗传给|(?<!染)传给))
            | 携带者?(?=[^。！？!?]{{0,12}}{_ODDS_ZH})
            | \b(?:my|his|her|our|their|both)\s+{_KIN}\b(?=.{{0,120}}?\b(?:{_ODDS}|have\s+it|get\s+it|inherit))
            | \b{_ODDS}\b(?=.{{0,60}}?\b(?:child\w*|sons?|daughters?|siblings?|carriers?)\b)
            | \bcarriers?\b(?=.{{0,60}}?\b{_ODDS}\b) | \bskips?\s+(?:a\s+)?generations?\b
            | \b(?:pass|transmit)\w*\b(?=.{{0,80}}?\bto\s+(?:\w+\s+)?{_KIN}\b)
            | \b(?:passed\s+on|inherited|comes?|runs?)\s+(?:by|from|through)\s+(?:the\s+)?(?:{_KIN}|carriers?)\b
        """,
        Want.INHERITANCE: r"""
            (?<!什么)(?<!哪些)(?<!哪种)遗传病 | 遗传性?(?!病) | 家族性
            | 传给(?:我的?|自己的?)?(?:孩子|小孩|下一代|后代|子女|宝宝) | 下一代
            | \binherit\w* | \bhereditary\b | \bheredity\b | \bgenetic(?:ally)?\s*\W*$ | \bruns?\s+in\s+(?:the\s+
            |my\s+)?famil\w+
            | \bfamilial\b | \bpass(?:ed|es)?\s+(?:it\s+|this\s+
            |〇\s+)?(?:on\s+)?(?:down\s+)?to\s+(?:\w+\s+)?(?:child\w*|kids?|baby|babies|offspring|sons?|daughters?)
            | \bpassed\s+(?:on|down)\b | \bautosomal\b | \b(?:dominant|recessive)(?:ly)?\b | \bx-linked\b
        """,
        Want.ONSET: r"""
            发病年龄 | 好发年龄 | 起病年龄 | 几岁(?:发病|起病)? | 多发于(?!.{0,4}人)
            | 多大(?:年龄|年纪|岁数)? | (?:什么|哪个|哪些|啥)(?:年龄|年纪|岁数)
            | (?:什么|啥|何)时候?(?:会|开始)?(?:发病|起病|出现|发作|开始) | 年龄段? | (?:小孩|儿童|婴儿|成人|大人
            |老人)(?:才|也|会|能)得
            | \bonset\b | \b(?:what|which)\s+ages?\b | \bhow\s+old\b | \bage\s+(?:group|range|of|at|do|does|is)\b
            | \bwhen\s+(?:do|does|will|is|are|did)\b.{0,60}?\b(?:start|begin|appear|show|develop|occur|manifest
            |first|noticed|diagnosed)\w*
            | \b(?:start|begin|appear|develop)s?\s+in\s+(?:childhood|adult\w*|infan\w+|adolescence)
        """,
        Want.PREVALENCE: rf"""
            发病率 | 患病率 | 流行率 | 常见[吗么不] | 罕见 | 少见 | 多见[吗么不] | 多不多 | 常不常见 | 多少人
            | 几率 | 概率 | 有多常见 | 普遍
            | \bprevalen\w+ | \bincidence\b | \bhow\s+(?:common|rare|frequent\w*|widespread|often)\b
            | \bhow\s+many\b(?!\s+(?:{_EN_DISEASES}|genes?|symptoms?|signs?|forms?|types?|findings?|features?|drugs?
              |tests?)\b)
            | \b(?:what|which)\s+(?:percentage|proportion|fraction|share)\b
            | \b(?:common|rare|uncommon)\s*\W*$ | \b(?:more|less)\s+(?:common|frequent|often|rare)\b
            | \b(?:more|most|fewer)\s+(?:affected\s+)?(?:people|patients|cases|newborns)\b
            | \b(?:people|newborns|babies)\s+have\s+〇
            | \brare\s+(?:disease|disorder|condition)\b | \bfrequency\s+of\s+〇 | \bepidemiology\b
        """,
        Want.RISK: r"""
            危险因素 | (?:哪些|什么|哪类|哪种|啥)(?:样的?)?人(?!参) | 谁(?:容易|会|易|更) | 高危 | 易感 | 人群
            | 好发于
            | \bwho\s+(?:gets?|is|are|develops?|suffers?)\b | \bat\s+risk\b | \brisk\s+factors?\b | \b(?:more
            |most)\s+(?:likely|prone)\b
            | \bsusceptible\b
        """,
        Want.CAUSE: r"""
            病因 | 起因 | 诱因 | (?:什么|啥|何种|哪些)(?:因素|原因) | 原因(?:是|有)? | (?:怎么|咋|如何)(?:会)?(?:得
            |引起|来|造成|产生|形成)(?:上|了)?的?
            | (?:由|因)(?:什么|啥|何)(?:\w{0,4})?(?:引起|导致|造成|产生)? | 由?什么(?:病毒|细菌|病菌|菌|病原体?|东西
            |物质|缺乏)?(?:会|能)?(?:引起|导致|造成
            |感染) | 病原体?(?!体) | 为(?:什么|何|啥) | 怎么回事
            | \bwhat\s+(?:(?:can|could|may|might|would|usually|often|typically)\s+)?(?:causes?|triggers?)\b
            | \bcauses?\s+of\b | \bcaused\b
            | \bwhy\b | \bthe\s+cause\b | \breasons?\b | \ba?etiolog\w+ | \bhow\s+(?:do|does|did
            |can)\s+(?:\w+\s+)?(?:get|develop|catch)\b
            | \b(?:arises?|results?)\s+from\b | \bdue\s+to\s+what\b | \bpathogen(?:esis)?\b | \bwhat\s+leads\s+to\b
        """,
        Want.COURSE: r"""
            预后 | 治得好 | 治不好 | 治好 | 治愈 | 根治 | 痊愈 | 自愈 | 会死 | 死亡 | 致命 | 要命 | 寿命
            | 能?活(?:多久|多长|几年) | 存活 | 生存
            | 多(?:久|长时间)(?:能|会|可以|才)?(?:好|恢复|康复|痊愈)? | 病程 | 严重[吗么不] | 会?好[吗么] | 复发
            | 发展(?:快|慢|成什么样) | 会?恶化
            | \bprogno\w+ | \bmortality\b | \blife\s*(?:expectancy|span) | \bfatal\b | \bdeadly\b | \blethal\b
            | \bcurable\b
            | \bcan\s+(?:\w+\s+)?be\s+cured\b | \bsurviv\w+
            | \bhow\s+long\b | \bgo(?:es)?\s+away\b | \boutlook\b | \brecover\w* | \bserious\b | \bget(?:s
            |ting)?\s+worse\b | \bprogress\w*
            | \b(?:course|outcome)\b | \bdie[sd]?\b | \bdying\b | \bkill\w* | \blife-?threatening\b | \bchronic\b
            | \bpermanent\b | \bdangerous\s*\W*$
        """,
        Want.PREVENTION: r"""
            预防 | 防止 | 防治? | 避免(?:得|患|感染|发生) | \bprevent\w* | \bvaccin\w+ | \b(?:avoid|reduce\s+(?:the
            |my)\s+(?:risk
            |chance)\w*\s+of)\s+(?:getting|catching|developing)\b
            | \bprotect\w*
        """,
        Want.TRANSMISSION: r"""
            (?:怎么|如何|怎样)?传(?:染(?!科)|播) | 传给(?:别人|家人|他人) | 怎么传 | \bcontagious\b | \binfectious\b
            | \bspread\w*
            | \btransmi\w+
            | \bcatch(?:ing)?\b
        """,
        Want.DEPARTMENT: r"""
            (?:挂|看)(?:什么|哪个|哪一个|哪|啥)?(?:科室?|门诊|号)
            | (?:什么|哪个|哪一个|哪|啥)(?:科室?|门诊|部门|医生|大夫) | 科室 | 就诊科 | 挂号 | 去哪(?:里
            |儿)?看 | 找(?:谁|什么医生)看
            | \bdepartments?\b | \b(?:which|what)\s+(?:\w+\s+){0,3}(?:doctor|specialist|physician|specialty
            |speciality|clinic|ward)\b
            | \bspecialists?\b | \bspecialt(?:y|ies)\b | \bwho\s+(?:treats|should\s+i\s+see)\b
            | \bdoctor\b.{0,30}?\bsee\b | \bwho\s+do\s+i\s+see\b
        """,
        Want.DIET: r"""
            忌口 | (?:不能|不可以?|不宜|别|忌|少|多)吃(?!.{0,3}药) | 饮食 | 食物 | 食谱 | 吃(?:什么|啥|哪些
            |点什么)(?:水果|食物|东西|菜|饭) | (?:宜|忌)食
            | \bdiets?\b | \bfoods?\b | \beat(?:ing)?\b | \bnutrition\b
        """,
        Want.SAFETY: r"""
            (?:孕妇|孕期|怀孕|妊娠|备孕|哺乳|喂奶)(?:期|时|中|期间)?(?:能|可以|是否|会|吃|用|服|安全)
            | 开车 | 驾驶 | 安全[吗么嘛]
            | (?:能|可以|可否)(?:不能)?(?:一起|同时)?(?:吃|服|用|打|喝|接种)[^，,。？?]{0,10}(?:吗|嘛|(?<!什)么)
            | 怀孕[^，,。？?]{0,4}(?:能|可以) | (?:能|可以)喝酒
            | \bsafe(?:ly|ty)?\b | \b(?:can|may|should|could)\s+(?:i|we|he|she|they|you|one|someone)\s+(?:still\s+)?
              (?:drive|fly|dive|swim|drink)\b
            | (?:^|[,.;〇])\s*(?:can|may|should|could)\s+(?:i|we|he|she|they|you|one|someone)\s+(?:still\s+)?
              (?:(?:take|give|use|eat)\b | 〇\s+(?:with|while|during)\b)
            | \b(?:ok|okay|alright|allowed)\s+(?:in|during|while|when|for|to|with)\b
            | \b(?:take|taken|use|used|given?|eat|drink)\b.{0,60}?\b(?:pregnan\w+|breast-?\s?feed\w*|nursing)\b
            | \b(?:pregnant|breast-?\s?feed\w*|nursing)\b.{0,40}?\b(?:take|taking|on|use|eat|drink)\b
        """,
        Want.URGENCY: r"""
            (?:要不要|需不需要|用不用|该不该|需要|必须|马上|立即|赶紧).{0,6}(?:去|到|上|送)?(?:医院|急诊|看医生|看病|就医)
            | (?:去|到|上)(?:医院|急诊)(?:吗|么|看看吗) | 急救 | 救护车
            | \b(?:should|do|must|need)\s+(?:i|we|he|she|they)\b.{0,40}?
              \b(?:hospital|emergency|casualty|er|ambulance|doctor|gp|urgent\s+care|a\s?&\s?e)\b
            | \bwhat\s+should\s+(?:i|we)\s+do\b | (?:第一步|现在|马上)?(?:该|应该)(?:怎么办|做什么)
            | \bcall\s+(?:911|999|112|an?\s+ambulance)\b | \bis\s+(?:it|this|that)\s+an\s+emergency\b
        """,
        Want.DOSE: r"""
            剂量 | 用量 | (?:吃|服|用)(?:几|多少)(?:片|粒|毫克|次|颗) | 一[天次](?:吃|服|用)?(?:多少|几次)
            | 几片 | 怎么服用
            | \bdos(?:e|es|age|ing)\b | \bhow\s+(?:much|many\s+(?:mg|pills|tablets))\b | \bmilligrams?\b
        """,
        Want.COST: r"""
            费用 | 多少钱 | 花多少 | 价格 | 医保 | 报销 | \bcosts?\b | \bprices?\b | \bexpensive\b | \binsurance\b
        """,
        Want.SIDE_EFFECT: r"副作用 | 不良反应 | \bside[\s-]effects?\b | \badverse\b",
        Want.USE: r"""
            治什么病? | 主治 | 适应[症证] | 有什么用
            | \b(?:used|good|indicated)\s+(?:for|to\s+treat)\W*$ | \bindications?\b
        """,
        Want.TRIAL: r"临床试验 | 最新研究 | \bclinical\s+trials?\b | \blatest\s+(?:research|studies)\b",
        Want.CODE: r"编码 | 编号 | \bicd\b | \b(?:code|identifier|number)\s+(?:of|for)\b | \bomim\s+(?:id|number)\b",
        Want.HISTORY: r"""
            谁(?:最早|首先|第一个)?(?:发现|命名) | 哪一?年(?:发现|命名) | 命名 | \bdiscovered\b | \bnamed\s+after\b
        """,
        Want.DIFFERENCE: r"""
            区别 | 不同(?!意) | 差别 | 差异 | 区分 | 比较(?!常) | 对比 | 鉴别(?!诊断) | 一样吗 | 不一样
            | 是(?:不是)?(?:一回事|同一)
            | \bdifferen(?:ce|ces|t|tiate\w*)\b(?!ial) | \bdiffers?\b | \bcompar\w+ | \bversus\b | \bvs\b
            | \bdistinguish\w* | \bapart\b | \bsame\s+(?:as|thing)\b | \btell\b[^.!?]*?\bfrom\b
            | \bthat\s+〇\s+(?:doesn['’]t|does\s+not|lacks?)\b
        """,
        Want.SHARED: r"""
            共同 | 共有 | 〇[和与跟、]〇都有(?:什么|哪些)
            | \bin\s+common\b | \bshared\b | \bshare\b(?!\s+〇)
        """,
        Want.DESCRIPTION: r"""
            什么是 | ^\W*〇?(?:到底|究竟)?是(?:什么|啥|怎样的?)(?:病|疾病)?\W*$ | 定义 | 什么意思 | 介绍 | 科普
            | \bwhat(?:'s|\s+is|\s+are)\s+(?=(?:an?\s+|the\s+)?[\w'-]+\W*$) | \bdefin(?:e[sd]?|ing|ition\w*)\b
            | \bdescribe\b | \btell\s+me\s+about\b | \bexplain\b | \bwhat\s+does\b.{0,40}?\bmean\b
        """,
    }
)

_ALWAYS = (Want.DESCRIPTION, Want.DISEASE, Want.TOGETHER, Want.CAUSE)
_INSTEAD: Mapping[Want, tuple[Want, ...]] = MappingProxyType(
    {
        Want.SHARED: (*(want for want in Want if want is not Want.SHARED),),
        Want.DIFFERENCE: (*_ALWAYS, Want.SYMPTOM, Want.COMORBIDITY, Want.RISK),
        Want.RECURRENCE: (
            *_ALWAYS,
            Want.GENE,
            Want.INHERITANCE,
            Want.RISK,
            Want.ONSET,
            Want.PREVALENCE,
            Want.COMORBIDITY,
        ),
        Want.GENE: (Want.TEST, Want.CAUSE),
        Want.USE: (Want.DESCRIPTION, Want.DRUG, Want.CURE, Want.CAUSE, Want.DEPARTMENT),
        **{want: tuple(other for other in Want if other not in (want, *UNSAID)) for want in (Want.COST, *UNSAID)},
        Want.SAFETY: tuple(other for other in Want if other is not Want.SAFETY),
        Want.URGENCY: (Want.DEPARTMENT, Want.CURE, Want.TEST),
        Want.DEPARTMENT: (*_ALWAYS, Want.CURE, Want.TEST, Want.SYMPTOM),
        Want.INHERITANCE: (*_ALWAYS, Want.GENE, Want.RISK, Want.COMORBIDITY),
        Want.ONSET: (*_ALWAYS, Want.SYMPTOM, Want.TEST, Want.RISK, Want.COURSE, Want.COMORBIDITY),
        Want.TRANSMISSION: (*_ALWAYS, Want.COMORBIDITY),
        Want.PREVENTION: (*_ALWAYS, Want.CONTRAINDICATION, Want.CURE, Want.COMORBIDITY),
        Want.DIET: (*_ALWAYS, Want.DRUG, Want.CONTRAINDICATION, Want.CURE),
        Want.PREVALENCE: (*_ALWAYS, Want.COMORBIDITY),
        Want.RISK: (*_ALWAYS, Want.COMORBIDITY),
        Want.COURSE: (*_ALWAYS, Want.CURE, Want.COMORBIDITY),
    }
)
"""What a question wants → what its words would want otherwise: "who treats 〇" is about doctors, not treatments."""

_WHETHER = lazy_pattern(
    r"^\W*(?:is|are|was|does|do|did|can|could|will|would|has|have|may|might|should)\b"
    r"|(?:吗|(?<![什怎多那这要])么|嘛|(?<!不)不)\W*$|是不是|会不会|能不能|有没有|是否|可不可以|要不要|有无",
    re.IGNORECASE,
)
_BESIDE = lazy_pattern(r"\band\b|[,，、;；]|以及|还有|和(?!〇)", re.IGNORECASE)
_ASKED_BESIDE = frozenset({Want.SYMPTOM, Want.TEST, Want.DRUG, Want.CURE, Want.GENE, Want.INHERITANCE, Want.COURSE})
_EITHER = lazy_pattern(r"\bor\b|还是", re.IGNORECASE)
_DISEASES_NAMED = lazy_pattern(
    rf"病(?!因|程|史|情|毒|菌|原)|疾患|综合征|诊断|\b{_EN_DISEASES}\b|\bdiagnos", re.IGNORECASE
)

_ONWARD = lazy_pattern(
    rf"""
    〇{_ON}{_LEADS}(?!于|在)[^〇]{{0,8}}?(?:{_WHICH}|\W*$)
    | 〇{_ON}(?:还|也|更|容易|易)[^〇]{{0,4}}(?:得|患|有|出现|发生)[^〇]{{0,4}}{_WHICH}
    | \b(?:can|does|do|did|could|may|might|will|would)\s+(?:\w+\s+)?〇[^.!?]{{0,80}}?\b{_EN_LEADS}\b
    | 〇[^.!?]{{0,80}}?\b{_EN_LEADS}s?\b(?:\s+(?:to|in|into|up|about|on)){{0,2}}\s+(?:which|what)\b
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""What is asked for is what follows from the entities that are named, and not what they follow from."""

_FROM = lazy_pattern(r"\b(?:in|of|from|after|with|during|among|by)\s+(?:which|what)\b", re.IGNORECASE)

_CAUSES = lazy_pattern(
    rf"{_LEADS}|而来|进展|最[后终]|晚期|警惕|容易得|基础病|基础疾病|原发|\b{_EN_LEADS}(?:s|d|ed|ing)?\b"
    r"|\b(?:risk|underlying|predispos\w+|prone|susceptible)\b",
    re.IGNORECASE,
)

_PATTERNS = MappingProxyType({want: lazy_pattern(words, re.IGNORECASE | re.VERBOSE) for want, words in _WORDS.items()})

_EMERGENCY = lazy_pattern(
    r"""
    \b(?:i|i['’]m|my|we|our|he|she|his|her)\b.{0,40}?(?:
        \bface\s+(?:has\s+|is\s+)?(?:drop|droop|fall)\w*
        | \b(?:can['’]?t|cannot|unable\s+to)\s+(?:breathe|(?:lift|move|feel)\s+(?:his|her|my|the|one|an?)\b)
        | \bslurring | \bfighting\s+for\s+breath | \bunconscious | \bunresponsive
        | \bwon['’]t\s+(?:wake|stop\s+bleeding)
        | \bhaving\s+a\s+(?:fit|seizure)\b(?!\s+when) | \b(?:coughing|vomiting|throwing)\s+(?:up\s+)?blood
        | \bkill\s+(?:my|him|her)self )
    | \bswallowed\s+(?:\d+|too\s+many|a\s+(?:whole\s+)?(?:bottle|pack\w*)|bleach|batter\w+|poison)
    | (?:喘不[上过]气|呼吸困难|昏迷|叫不醒|晕倒|抽搐|嘴歪|抬不起来|大出血|吐血|呕血|咳血|自杀)[^？?]{0,8}
      (?:怎么办|咋办|要紧)
    | (?:误服|吞了|喝了)[^。？?]{0,15}(?:怎么办|咋办|要紧|有事吗|没事吗)
    """,
    re.IGNORECASE | re.VERBOSE,
)

_NEGATED = lazy_pattern(
    r"(?:没有|并无|无|不伴有?|未见|未|否认|\bwithout|\bno|\bnot|\bdenies|\bneither|\bnor)\s*(?:any\s+|the\s+)?$", re.I
)

_FILLER = lazy_pattern(
    r"""(?:请问|请|列出|介绍|了解|讲讲|说说|简介|方法|方式|方案|手段|怀疑|容易|给|首选|就是|不能
    |常见的?|一般|通常|主要|需要|应该|应当|可以|可能
    |有哪些|哪些|什么|
    怎么|怎样|如何|多少|必须|一定|非得|哪个|哪种|哪一个|问题|小孩|宝宝|大人|老人|到底|究竟|啥|咋|么|吗|呢|的|得了
    |患了|患者|病人|孩子|我|你|他|她|做|用|吃|是|会|有|了|啊|呀|吧|想|知道
    |告诉|一下|疾病|常|孕妇|每[天次日]|一次|不|机会|概率|几率|既|又|还|出|大概|发病|引起|开始|来|按|下面|下列|以下|哪一?项|关|有关|[一二三四五六七八九十两半\d]+(?:公斤|岁|天|周|个?月|年|小时)|去|看|要|能|该|得|大家|别人|和|与|及|、)
    | \b(?:what|which|how|who|when|why|is|are|was|were|do|does|did|can|could|should|would|may|might|the|an?|of|for
    |to|in
    |on|with|by|from|and|or|have|has|had|be|been|i|you|we|my|me|there|it|used|use|done|recommended|needed?|please|list
    |show|give|tell|about|explain|overview|causes?|caused|diseases?|patients?|people|someone|suspected|first|line
    |early|late|main|untreated|new|x-|test|tests|affect|affects|diagnosed|organ|system|systems|body|number|occurs?
    |seen|present|found|everything|regarding|more|most|than|frequent|affected|often|share|underl\w+|belongs?|risks?|chances?|odds|likely|info|information|details?|quick|quickly|summary|basics|facts
    |disease|condition|syndrome|at|age
    |ages|start|starts|begin|begins|appear|long|old|get|gets|getting|will|go|goes|away|as|if|into|its|their|am|so
    |not|any|this|that|these|they|he|she|his|her|him|kind|sort|type|doctor|see|should|must|happen|happens|live
    |someone|anyone|person|child|children|kid|kids|baby|my|son|daughter|mother|father|known|between|work|works
    |anything|something|genetic|adults?|(?:wo)?men|(?:fe)?males?|boys?|girls?|\d+\s*(?:weeks?|days?|months?|years?|kg|kilos?|mg)|makes?|comes?|come\s+on|broken|faulty|behind|ever|taking|whether|mode|following|of\s+these|one|ones|name|named|names
    |members?|family|relatives|brothers?|sisters?|parents?|carriers?|carr(?:y|ies)|both|but|no|without|all|also|only|really|actually|exactly|simply|simple|words|always|happens?|involved|responsible|best|common|usual(?:ly)?|typical(?:ly)?)\b""",
    re.IGNORECASE | re.VERBOSE,
)


def masked(question: str, spans: Sequence[TextSpan]) -> str:
    """Return the question with a gap for each entity that it names."""
    parts: list[str] = []
    at = 0
    for span in sorted(spans, key=lambda span: span.start):
        if span.start >= at:
            parts += (question[at : span.start], GAP)
            at = span.end
    return "".join((*parts, question[at:]))


def wants(rest: str) -> tuple[Want, ...]:
    """Return what a question wants, in the order in which it says so."""
    found = {want: match.start() for want, pattern in _PATTERNS.items() if (match := pattern.search(rest))}
    if Want.DISEASE in found and (names_diseases(rest) or rest.count(GAP) > 1):
        found.pop(Want.CAUSE, None)  # the causes that are asked for are diseases
    if Want.GENE in found and not names_diseases(rest):
        found.pop(Want.DISEASE, None)
    for want in [want for want in _INSTEAD if want in found]:
        for other in _INSTEAD[want]:
            if other not in _ASKED_BESIDE or not _BESIDE.search(rest):
                found.pop(other, None)
    if len(found) > 1:
        found.pop(Want.DIFFERENCE, None)  # what else is asked for is told of each
    if Want.CONTRAINDICATION in found and Want.CURE not in found:
        found.pop(Want.DRUG, None)
    if not found.keys() <= {Want.TOGETHER, Want.DISEASE, Want.COMORBIDITY}:
        found.pop(Want.TOGETHER, None)  # "Which genes are associated with 〇?" says what else is meant
    if (Want.DISEASE in found or not found) and (onward := _onward(rest)):
        found.pop(Want.DISEASE, None)
        found.setdefault(Want.COMORBIDITY, onward.start())
    return tuple(sorted(found, key=lambda want: (found[want], want)))


def _onward(rest: str) -> re.Match[str] | None:
    return None if _FROM.search(rest) else _ONWARD.search(rest)


def emergency(question: str) -> bool:
    return _EMERGENCY.search(question) is not None


def asks_whether(rest: str) -> bool:
    """Tell whether a question can be answered with yes or no.

    Example:
        >>> asks_whether("Does 〇 cause 〇?"), asks_whether("〇会遗传吗？"), asks_whether("What does 〇 cause?")
        (True, True, False)
    """
    return _WHETHER.search(rest) is not None and _EITHER.search(rest) is None


def names_diseases(rest: str) -> bool:
    """Tell whether a question asks for diseases in so many words, and not for a cause of any kind.

    Example:
        >>> names_diseases("Which diseases cause 〇?"), names_diseases("What causes 〇?")
        (True, False)
    """
    return _DISEASES_NAMED.search(rest) is not None


def of_causes(rest: str) -> bool:
    return _CAUSES.search(rest) is not None


def negated(question: str, span: TextSpan) -> bool:
    return _NEGATED.search(question[max(0, span.start - 20) : span.start]) is not None


def runs(rest: str) -> list[str]:
    """Return the words of a question that are not accounted for, those together that stand together.

    Example:
        >>> runs("what would I notice if I had Cushing's?"), runs("Can Fabry patients sweat normally?")
        (["Cushing's"], ['Fabry', 'sweat normally'])
    """
    for pattern in (*_PATTERNS.values(), _FILLER):
        rest = pattern.sub("|", rest)
    parts = re.split(r"[^\w\s'’-]+|\s-+\s", rest.replace(GAP, "|"))
    kept = ([word for word in part.split() if _telling(word)] for part in parts)
    return [" ".join(words) for words in kept if words]


def _telling(word: str) -> bool:
    return len(word.strip("'-")) > 1 or word.isdigit() or not word.isascii()


def remainder(rest: str) -> str:
    """Return what is left of a question when all words that are not part of a name are taken out."""
    return " ".join(runs(rest))
