"""How clinical Chinese words things: the shapes of names by class, what denies, and where sentences end."""

from __future__ import annotations

import re

CLASSES = frozenset({"Disease", "Symptom", "Test", "Drug", "Cure"})

_SENTENCE = re.compile(r"[^。！？!?\n\r]+[。！？!?]?")

DRUG = re.compile(
    r"(?:片|胶囊|胶丸|颗粒|冲剂|丸|散|丹|膏|霜|糖浆|口服液|口服溶液|注射液|滴眼液|滴耳液|滴鼻液|滴剂|眼膏|凝胶|喷雾剂|"
    r"气雾剂|吸入剂|栓|栓剂|贴|贴剂|贴膏|[洗搽擦雾滴合针粉涂]剂|溶液|混悬液|酊|粉针|酒|露|油|水剂|煎剂|疫苗|血清|"
    r"霉素|西林|沙星|地平|普利|沙坦|洛尔|他汀|拉唑|替丁|康唑|硝唑|洛韦|韦林|昔布|布洛芬|松|龙|胍|啶|嗪|碱|酮|素|酯|"
    r"单抗|球蛋白|干扰素|胰岛素|汤|钠|钙|钾)(?:[(（][^()（）]{1,12}[)）])?$|^注射用|^复方|^盐酸|^硫酸"
)
CURE = re.compile(
    r"治疗|疗法|手术|[放化理食]疗|切除|移植|康复|训练|护理|按摩|推拿|针灸|消融|引流|透析|置换|矫正|矫治|固定|复位|"
    r"吸氧|输血|灌洗|缝合|栓塞|介入|支持性|修补|术$|疗$|中医中药"
)
TEST = re.compile(
    r"检查|检测|检验|试验|测定|测验|化验|培养|造影|镜检|涂片|活检|穿刺|平片|透视|常规|[XB]线|B超|彩超|超声|CT|MRI|核磁|"
    r"心电图|脑电图|肌电图|抗体|抗原|染色|分析|计数|定量|筛查|扫描|显像|听诊|触诊|叩诊|[胃肠膀支气]镜|内镜"
)
DISEASE = re.compile(
    r"(?:病|炎|症|征|癌|瘤|疹|感染|中毒|[损创烧烫冻扭挫刺裂咬外挤]伤|出血|骨折|痛|结核|疮|疝|障碍|病变|热|破裂|坏死|斑|不良|"
    r"痹|萎缩|衰竭|狭窄|梗[塞阻死]|栓塞|瘘|危害|过速|过缓|溃疡|阻滞|肿|畸形|不全|异位|脱位|错位|移位|硬化|钙化|纤维化|"
    r"疣|痔|癣|结石|息肉|囊肿|脓肿|血肿|白血病|贫血|休克|昏迷|积液|积水|积血|水肿|腹水|黄疸|高血压|低血压|糖尿病|肥大|增生|"
    r"缺乏|缺损|缺失|缺如|闭锁|闭塞|闭经|不孕|不育|流产|早产|难产|脱垂|下垂|麻痹|瘫痪|癫痫|惊厥|痴呆|失眠|抑郁|"
    r"哮喘|感冒|肺气肿|气胸|脱水|肥胖|早搏|房颤|颤动|扑动|猝死|便秘|腹泻|呕吐|流感|霍乱|伤寒|痢疾|疟疾|麻疹|水痘|"
    r"天花|鼠疫|梅毒|淋病|麻风|疟|痨|痰|咳|喘|厥|淋|疸|疽|痈|疔|疖|疳|瘰疬|瘿|癔|眩晕|中风|近视|远视|散光|弱视|斜视|"
    r"内障|青光眼|失明|耳聋|耳鸣|龋|牙|过敏|综合征|综合症|囊|[ⅠⅡⅢⅣ0-9A-Za-z]型|损害|受损|痉挛|扩张|紊乱|失调|失常|失禁|潴留|"
    r"减少|增多|升高|降低|亢进|减退|低下|异常|发育|反流|梗阻|嵌顿|扭转|套叠|穿孔|粘连|积聚|沉着|脱落|秃|脱发|痤|皮|疤|"
    r"湿肺|淹溺|危象|憩室|结肠|挛缩|变性|无力|疏松|突出|苔藓|病足|扁平足|紫[瘢癜]|鸡胸|漏斗胸|皲裂|断裂|折断|震荡|血栓形成|"
    r"曲张|隐睾|前突|斜颈|强直|侧凸|劳损|[电冷]伤|冻僵|功血|多胎|早破|甲[亢减]|早产儿|混浊|不正|沙眼|远视眼|震颤|内陷|胬肉|"
    r"酒渣鼻|性聋|白喉|毛舌|龋齿|白癜风|丹毒|鹅掌风|痱子|迟滞|早熟|早衰|巨大儿|疙瘩|灰指甲|腋臭|高压|缺血|不合|滑脱|僵硬|"
    r"卒中|隐斜|参差|松解|[血脓]胸|弱智|转移|积乳|内瘤变|尘肺|乳糜[腹胸]|夹层|"
    r"异物|痛风|衰弱|多囊[肾肝]|未闭|膨出|[高低]血[脂糖钾钙钠压]|[单双三]心[房室]|脂肪肝|心脏病|螫伤|失[用认语聪明]|瘙痒|疱|糜烂|淤血|充血|结节|包块|增厚|弯曲|侧弯|偏曲|松[弛动]|[脱剥]离|[前后]凸|[内外]翻|残根|"
    r"遗[尿精]|早泄|阳痿|尿[频急血]|血尿|蛋白尿|便血|[咯吐呕]血|衄血|崩漏|带下|痛经|滑胎|恶阻|子痫|羊水过[多少]|前置胎盘|"
    r"胎盘早剥|宫外孕|葡萄胎|妊娠|臀位|横位|中暑|晕[车厥动]|虚脱|溺水|窒息|咬伤|蜇伤|[盲障翳]|鼻塞|打鼾|呼吸暂停|口[臭干吃]|"
    r"[腭唇]裂|缺失|错颌|呃逆|反酸|厌食|积食|积滞|虚|亏虚|不调|不足|过多|过少|过长|过短|过大|残余|破损|瘘管|阻塞|堵塞|栓|"
    r"瘢痕|痣|鸡眼|胼胝|多汗|狐臭|湿疹|荨麻|带状疱疹|虫|蛔|蛲|血吸虫|寄生)$"
)
"""Endings of names of diseases."""

_STOP = re.compile(
    r"[请您你我]|应[该当及尽由以避]|医生|医师|医院|就诊|就医|建议|注意|及时|尽早|尽快|必要|病情|效果|预后|疗程|甚至|少数|多数|一般(?!性状|检查|治疗)|通常|"
    r"可以|可能|需要|因此|所以|但是|如果|由于|因为|同时|根据|具体|结果|方案|用量|遵|避免|预防|饮食|休息|保持|心情|多喝|"
    r"不同|这|那|什么|哪些|怎么|以上|其他|情况|导致|引起|出现|表现|症状(?!$)|进行(?!性)|方法|明确|确诊|(?<!超声)诊断|适当|严重时|发作时|"
    r"随着|首先|其次|最后|另外|还有|比如|例如|其中|左右|个月|小时|每[日天次]|一[日天次]|^[是有为在和与及或将被把而]|[了的着吗呢吧]$|"
    r"与.{0,8}有关|区分|鉴别|安排|预约|加重$|要$|^要|患者|病人|本病|不?明显$|临床上|采[取用]|原则|^常用|"
    r"会(?!阴|厌)|就[是要会能可]|得了|往往|最(?!大|小|高|低)|也[有会可]|再[做查看]|先[抽做查有]|不妨|试试|看看|发展成|拖延|造成|变成|"
    r"特点|主要|常见|并发症$|毫无|这些|那些|给.?开|给予|长期不|开始|主张|提倡|推荐|相?结合$|需[要警结]|均可|综合判断|警惕|的发生|有助|伴随|处方|只有|^[轻重]的|引发|累及|后遗症$|合并症$"
)
_DENIED = {
    "RECOMMEND_DRUG": r"[禁慎忌停]用|避免|不[宜要能可应该建推].{0,6}|不得|过敏|无效|没有证据|没有效|副作用|不良反应",
    "RECOMMEND_TEST": r"不[需必用宜要].{0,4}|无[需须]|不建议|没有必要|禁忌",
    "RECOMMEND_CURE": r"不[需必宜要能建推].{0,4}|无[需须]|禁忌|避免|无效|没有必要",
    "HAS_SYMPTOM": r"不[会伴].{0,3}|没有|无(?!力|痛|尿|汗|名|法|菌)|未见|未出现|并非|排除|鉴别|区[分别]|不同于",
    "HAS_COMORBIDITY": r"不会.{0,3}|没有|未见|并非|排除|鉴别|区[分别]|不同于|病史|家[里族]",
}
_DENIALS = {type_: re.compile(pattern) for type_, pattern in _DENIED.items()}
_AFTER = re.compile(r"^.{0,6}?(?:相?鉴别|区分|区别|病史|无效|对此有效|的话)")
_APART = re.compile(r"鉴别|区分开|区别开|相混淆")
_TURN = re.compile(r"[，,；;]|但|而")


_OTHER = re.compile(
    r"(?:检查|检测|化验|治疗|疗法|手术|胶囊|颗粒剂?|口服液|注射液|糖浆|滴眼液|软膏|乳膏|[酸素星林]片|肠溶片|缓释片|分散片)$"
)
"""Endings that no disease or symptom has."""


def sentences(text: str) -> list[str]:
    """Return the sentences of a text, without the blanks around them.

    Example:
        >>> sentences("会发热。多喝水！")
        ['会发热。', '多喝水！']
    """
    return [part.strip() for part in _SENTENCE.findall(text) if part.strip()]


def fits(name: str, class_: str) -> bool:
    """Return whether a name may be of a class by its wording: what ends like a drug is no symptom.

    Example:
        >>> fits("阿莫西林胶囊", "Drug"), fits("胸部CT检查", "Symptom"), fits("手术治疗", "Drug")
        (True, False, False)
    """
    if class_ == "Drug":
        return not (CURE.search(name) or (TEST.search(name) and not DRUG.search(name)))
    if class_ == "Cure":
        return not re.search(r"检查$|检测$|化验$|片$|胶囊$|颗粒$|注射液$|口服液$", name)
    if class_ == "Test":
        return not re.search(r"治疗$|疗法$|胶囊$|颗粒$|口服液$|注射液$|综合征$", name)
    return not _OTHER.search(name)


def running(text: str) -> bool:
    """Return whether words belong to a running sentence and are no name.

    Example:
        >>> running("建议及时就医"), running("阵发性咳嗽")
        (True, False)
    """
    return _STOP.search(text) is not None


def denied(sentence: str, name: str, type_: str) -> bool:
    """Return whether a sentence denies of a name what a relation says.

    Example:
        >>> denied("孕妇禁用阿司匹林。", "阿司匹林", "RECOMMEND_DRUG")
        True
        >>> denied("不建议自行停药，可服用阿司匹林。", "阿司匹林", "RECOMMEND_DRUG")
        False
    """
    if _APART.search(sentence):
        return True
    at = sentence.find(name)
    clause = _TURN.split(sentence[:at])[-1]
    if _DENIALS[type_].search(clause):
        return True
    return _AFTER.match(sentence[at + len(name) :]) is not None
