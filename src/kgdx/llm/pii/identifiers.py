"""Dates, numbers, addresses and hospitals that identify a person, in English and Chinese.

What medicine needs stays: ages, durations, laboratory values, doses, and identifiers of terms, genes, variants and
publications.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kgdx.llm.pii import QUOTE, any_of_words, covered, words

Found = tuple[int, int, str]

_HAN = "\u4e00-\u9fff"
_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?|"
    r"Nov(?:ember)?|Dec(?:ember)?)"
)
_LONG_MONTH = r"(?:january|february|april|june|july|august|september|october|november|december)"
"""Months that are no other words in small letters."""
_WEEKDAY = r"(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs?)?|Fri|Sat(?:ur)?|Sun)(?:day)?"
_DAY = r"(?:0?[1-9]|[12]\d|3[01])"
_YEAR = r"(?:19|20)\d{2}"
_DIGIT = "oh|zero|nought|one|two|three|four|five|six|seven|eight|nine"
_TENS = r"oh|ten|eleven|twelve|(?:thir|four|fif|six|seven|eigh|nine)teen|(?:twen|thir|for|fif|six|seven|eigh|nine)ty"
_ORDINAL = (
    "first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth|thirteenth|fourteenth|fifteenth|"
    "sixteenth|seventeenth|eighteenth|nineteenth|twentieth|thirtieth"
)
_OVER = r"(?:9\d|1[01]\d)"
"""Ages that so few reach that they identify."""
_NUMERAL = "〇零○Ｏ一二三四五六七八九十0-9０-９"

_PROTECTED = re.compile(
    r"\b(?:HP|OMIM|MIM|ORPHA|Orphanet|MONDO|DOID|MESH|UMLS|SNOMED(?:CT)?|ICD(?:-?1[01])?|NCBIGene|HGNC|"
    r"ENSEMBL|PMID|PMC(?:ID)?|DOI|KGDX|LOINC|RxNorm|ATC|DrugBank|"
    r"CHEBI|GO|NCIT|EFO|CLINVAR|rs|NCT)[:_ #]?[ ]?[A-Z]?\d[\w.\-/]*"
    r"|\b10\.\d{4,9}/[^\s\"'<>,;]+"
    r"|\b(?:ENS[A-Z]*\d{6,}|[NX][MPRCG]_\d{4,}(?:\.\d+)?|LRG_\d+)"
    r"|\b[cgmnpr]\.\(?(?:[A-Z][a-z]{2}|[*?\-_])?\d[\w*?>_+\-=()]*"
    r"|\bchr(?:\d{1,2}|[XYM])[:\-]\d[\d,\-]*"
    r"|\[[A-Z]{1,3}\d{1,4}\]"
    r"|(?<![A-Za-z\d])(?:\d{1,2}|[XY])[pqPQ]\d[\d.pqterPQ\-]*"
    r"|(?<![A-Za-z\d])\w{0,80}?[NX][MPRCG]_\d{4,}\w{0,8}"
)

_OCTET = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
_PLATES_ZH = "京津沪渝冀豫云辽黑湘皖鲁新苏浙赣鄂桂甘晋蒙陕吉闽贵粤青藏川宁琼"

_PUBLIC = any_of_words("public_sites")
_ACCOUNTS = (
    r"ig|insta(?:gram)?|twitter|tiktok|snap(?:chat)?|facebook|fb|wechat|telegram|discord|skype|signal|handle|user ?name"
)
_NETWORKS = (
    r"facebook|instagram|twitter|x|linkedin|tiktok|youtube|weibo|vk|t|pinterest|snapchat|reddit|douyin|xiaohongshu"
)

_NO = r"(?:[ _]?(?:number|no\.?|id|#))"
_OF_RECORD = (
    rf"mrn|m\.r\.n\.|(?:visit|encounter|sample|specimen|subject|participant|study|report|order|referral){_NO}|"
    rf"iban|medical[ _]record{_NO}?|hospital{_NO}|patient{_NO}|patient[ _]identifier|chart{_NO}|record{_NO}|"
    rf"accession{_NO}|account{_NO}|case[ _]no\.?|(?:health[ _])?insurance{_NO}|policy{_NO}|member[ _]id|passport{_NO}?|"
    rf"driver['’]?s?[ _]licen[cs]e{_NO}?|licen[cs]e[ _]plate|nhs{_NO}?|ssn|social[ _]security{_NO}?|medicare{_NO}?|"
    rf"national[ _]id|identity[ _]card{_NO}?|id[ _](?:band|card){_NO}?|aadhaa?r{_NO}?|\bnin|\bcpf|\bdni|"
    rf"\bnie|\bpesel|\bcurp|"
    rf"(?:lab|our|your|hospital|clinic|file|case)[ _]?ref(?:erence)?{_NO}?|group{_NO}?(?=[ :#]*\d{{4}})|"
    rf"subscriber{_NO}|hosp\.?{_NO}|acc(?:(?:oun)?t)?{_NO}?(?=[ .:#]*\d)|(?:student|staff|employee|medicaid|"
    rf"member(?:ship)?|crime|incident|police|"
    rf"permit|card|ticket|customer|client|voucher|badge|payroll|pension|prisoner|service|"
    rf"army){_NO}?(?:[ _]?ref(?:erence)?{_NO}?)?(?=[ .:#]*[A-Z\d/-]*\d{{3}})|"
    rf"(?:gmc|nmc|npi|dea|hcpc){_NO}?(?=[ .:#]*[A-Z]?\d)|nino|n\.?i\.?{_NO}|(?:claim|"
    rf"ref(?:erence)?){_NO}?(?=[ .:#]*[A-Z]{{0,4}}[-/ ]?\d{{2,}}[/-])|driv(?:ing|er)[ _]licen[cs]e|"
    rf"(?:accession|mrn|chart|unit|reg(?:istration)?|serial|claim|invoice|booking|ticket|badge|device|kit|"
    rf"tube|barcode){_NO}?"
    rf"(?=[ \t:#\"'=]*[A-Za-z\-/_]{{0,6}}\d{{4}})|(?:dna|blood|tissue|plasma)?[ _]?(?:sample|"
    rf"specimen)(?=[ :#]+[A-Z]{{0,5}}[-_/]?\d)"
)
_OF_RECORD_ZH = any_of_words("records_zh")

_PATTERNS = {
    "EMAIL": (
        r"(?<![\w.+-])[\w.+-]{1,64}@(?:[\w-]{1,63}\.)+[A-Za-z]{2,24}",
        r"(?i:[\w.+-]{2,40}[ ]?[\[(]at[\])][ ]?[\w-]{2,40}(?:[ ]?(?:[\[(]dot[\])]|\.)[ ]?\w{2,12}){1,3})",
    ),
    "DATE": (
        (
            rf"(?<![A-Za-z\d_./-]){_YEAR}[-/.](?:0?[1-9]|"
            rf"1[0-2])[-/.]{_DAY}(?:T\d{{2}}:\d{{2}}(?::\d{{2}}(?:\.\d+)?)?(?:Z|"
            rf"[+-]\d{{2}}:?\d{{2}})?)?(?![A-Za-z\d_/-]|\.\d)"
            rf"|(?<![A-Za-z\d_./-]){_DAY}([-/.])(?:0?[1-9]|[12]\d|3[01])\1(?:{_YEAR}|\d{{2}})(?![\w/-]|\.\d)"
            rf"|\b(?:(?:the[ \t]+)?{_DAY}(?:st|nd|rd|th)?[ \t]+(?:of[ \t]+)?{_MONTH}\b\.?,?(?:[ \t]+{_YEAR})?)(?!\w)"
            rf"|\b{_MONTH}\.?[ \t]+{_DAY}(?:st|nd|rd|th)?\b(?:,?[ \t]+{_YEAR}\b)?(?![ \t]*(?:mg|ml|years?|mm|%))"
            rf"|\b{_MONTH}\.?,?[ \t]+(?:of[ \t]+)?{_YEAR}\b"
            rf"|(?<![A-Za-z\d_./-]){_DAY}(?P<dash>[-/.])(?i:{_MONTH})(?P=dash)(?:{_YEAR}|\d{{2}})(?![A-Za-z\d_-])"
            rf"|(?<![A-Za-z\d_./-]){_DAY}(?i:[ ]?{_MONTH})[ ,]{{0,2}}{_YEAR}(?![A-Za-z\d_-])"
            rf"|\b{_WEEKDAY}\.?,?[ \t]+(?:the[ \t]+)?(?:\d{{1,2}}[/.]\d{{1,2}}(?![/.\d])"
            rf"|{_DAY}(?:st|nd|rd|th)?(?:[ \t]+(?:of[ \t]+)?{_MONTH}\b\.?)?(?:,?[ \t]+{_YEAR})?(?![\d:]))"
            rf"|(?i:\b(?:on|dated?|since|until|dob|born)[ \t:]+)\d{{1,2}}/\d{{1,2}}\b(?![/\d])"
            rf"|{_YEAR}\s*年\s*[01]?\d\s*月份?(?:\s*[0-3]?\d\s*[日号])?"
            rf"|(?<![\d.])(?:[去今前]年)?(?:[1-9]|0[1-9]|1[0-2])\s*月\s*(?:[1-9]|0[1-9]|[12]\d|3[01])\s*[日号]"
            rf"|(?:[12][{_NUMERAL}]{{3}}|"
            rf"[一二][九〇零○][{_NUMERAL}]{{2}})年[{_NUMERAL}]{{1,3}}月(?:[{_NUMERAL}]{{1,3}}[日号])?"
            rf"|(?<![{_NUMERAL}])[一二三四五六七八九十]{{1,2}}月[一二三四五六七八九十]{{1,3}}[日号]"
            rf"|[上本下这当](?:个)?月(?:[1-9]|[12]\d|3[01])[日号]|(?<![\w./-]){_DAY}-{_MONTH}(?![\w-])"
            rf"|(?:{_YEAR}年)?(?:农历)?[正冬腊一二三四五六七八九十]{{1,2}}月(?:初[一二三四五六七八九十]|十[一二三四五六七八九]?|"
            r"廿[一二三四五六七八九]?|二十[一二三四五六七八九]?|三十)(?![天日月年个余多])"
            rf"|(?i:\b(?:the[ ])?(?:(?:twenty|thirty)[- ])?(?:{_ORDINAL})[ ](?:of[ ])?{_MONTH}\b"
            rf"(?:,?[ ](?:nineteen|twenty|two thousand(?: and)?)(?:[ -](?:{_TENS})){{0,2}}(?:[ -](?:{_DIGIT}))?)?)"
            rf"|\b(?:{any_of_words('holidays')})\b"
        ),
        (
            rf"\b(?i:{_WEEKDAY})\b\.?,?[ \t]+(?:(?i:{_MONTH})\b\.?[ \t]+{_DAY}(?:st|nd|rd|th)?|"
            rf"{_DAY}(?:st|nd|rd|th)?[ \t]+(?:of[ \t]+)?(?i:{_MONTH})\b)(?!\w)"
            rf"|(?i:\b(?:in|since|until|last|this|next|early|late|mid|end of|week of)[ -])(?P<it>{_MONTH})(?![\w'’])"
            rf"|(?i:\bborn[ ](?:in[ ])?)(?P<that>{_YEAR})\b"
            r"|(?i:\b(?:admi(?:tted|ssion)|discharged?|seen|clinic|app(?:oin)?tm?(?:ent)?|visit|surgery|reviewed|due|"
            r"operated|transferred|typed|dictated|signed|collected|received|adm|d/?c)(?:[ ](?:on|for|at|date))?[ :]+)"
            r"(?P<day>(?:0?[1-9]|1[0-2])/(?:0?[1-9]|[12]\d|3[01]))(?![\w/%]|\.\d)"
            rf"|(?<![\d./-])(?:0?[1-9]|1[0-2])(?:[/-]|\.(?={_DAY}[日号]?[入出住]院)){_DAY}[日号]?"
            r"(?=(?:入院|出院|住院|起病|发病|就诊|复查|复诊|手术|术后|[行转来因查收予晨]|开始|[上下]午))"
            rf"|(?:{any_of_words('holidays_zh')})(?:前[后夕]?|后|期间|假期|当[天晚日])?(?![子花])"
            r"|[甲乙丙丁戊己庚辛壬癸][子丑寅卯辰巳午未申酉戌亥]年(?:[正冬腊一二三四五六七八九十]{1,2}月)?"
        ),
        (
            rf"(?<![\w./-]){_DAY}(?:st|nd|rd|th)?[ \t]+(?:of[ \t]+)?(?i:{_MONTH})\b\.?,?[ \t]+{_YEAR}(?![\w/-])"
            rf"|(?<![\w./-])(?i:{_MONTH})\b\.?[ \t]+{_DAY}(?:st|nd|rd|th)?(?:,|,?[ \t]+)[ \t]*{_YEAR}(?![\w/-])"
            rf"|(?<![\w./-])(?i:{_LONG_MONTH})[ \t]+{_YEAR}(?![\w/-])"
            rf"|(?<![\w./-]){_DAY}(?:st|nd|rd|th)?[ \t]+(?:of[ \t]+)?(?i:{_LONG_MONTH})\b(?![ \t]+(?:syndrome|disease))"
            rf"|(?i:\b(?:on|since|until|till|from|by|dated?|born|dob|seen|in|and)[ \t:]+)"
            rf"(?P<it>(?:0[1-9]|[12]\d|3[01])/(?:0[1-9]|1[0-2])(?![/.\d])(?![ \t]*(?:%|mm|kg|pain))|{_DAY}(?:st|nd"
            rf"|rd|th)?[ \t]+(?:of[ \t]+)?(?i:{_MONTH})\b"
            rf"(?:,?[ \t]+{_YEAR}\b)?|(?i:{_MONTH})\b\.?[ \t]+{_DAY}(?:st|nd|rd|th)?)"
            r"(?![\w%/-]|[ \t]*(?:mg|ml|kg|weeks|days))"
        ),
    ),
    "OVER 89": (
        (
            rf"(?<![\w./-])(?:{_OVER}|ninety(?:[- ](?:{_DIGIT}))?)"
            r"(?:[ -]years?(?:[ -]old|[ ]of[ ]age)?|[ ]?(?:yo|y/?o|yrs?)|"
            r"M|F(?=[ ](?:with|c/o|presents|s/p|PMH)))(?![\w/])"
            rf"|(?i:\b(?:aged?|turn(?:ed|s|ing)|died[\w ]{{0,30}}at)\b[\"' :=]{{1,4}}(?:the age of[ ])?)"
            rf"(?P<it>{_OVER})(?![\w%/]|\.\d)|[a-z],[ ](?P<that>{_OVER})(?=[,)]|\.(?!\d))"
            rf"|(?<![\d.])(?:{_OVER}|九十[一二三四五六七八九]?|一百零?[一二三四五六七八九]?)[ ]?[多余来]?周?岁"
        ),
    ),
    "ID": (
        (
            r"(?i:(?<![a-z0-9])(?:" + _OF_RECORD + r")"
            r"" + QUOTE + r"[ \t]*(?:is\b|[.:#=])?[ \t]*#?[ \t]*" + QUOTE + r")"
            r"(?P<it>(?=[\w \-/]{0,24}\d)[A-Za-z]{0,6}[\-/_ ]?\d[\w\-/]*(?:[ ]\d{2,6}){0,5}(?:[ ][A-D]\b)?)"
        ),
        (
            r"(?:" + _OF_RECORD_ZH + r")" + QUOTE + r"\s*(?:[:：为是=])?\s*" + QUOTE + r""
            r"(?P<it>(?=[A-Za-z\d_-]{0,24}\d)[A-Za-z]{0,4}[\-_]?\d[A-Za-z\d_-]{1,30}|[a-zA-Z][A-Za-z\d_-]{5,19})"
        ),
        (
            r"(?i:\b(?:insurance|policy|licen[cs]e|medicare|medicaid|lab(?:oratory)?|incident|voucher|hosp|"
            r"scheme|visa|permit"
            r"|file|donor|batch|lot|passport|certificate|docket|warrant|requisition|barcode|our|your)\b\.?"
            r"(?:[ ](?:no|number|ref|policy|id|claim|card)\b)?\.?[ :#]*)"
            r"(?P<it>(?=(?:[A-Z/ -]{0,8}\d){3})(?=[\w/ -]*\d[\w/-]*(?:[/-]|\d{2}))(?:[A-Z]{1,6}[ /-]?)?\d[\dA-Z]*"
            r"(?:[/-][\dA-Z]+|[ ][\dA-Z]*\d[\dA-Z]*){0,4})(?![\w/%]|[.,]\d)"
            r"(?![ ]?(?:mg|mmol|g/|umol|U/|IU|L\b|m[lL]|years|weeks|days))"
            r"|\b(?P<that>CAD[ ]\d{4,})\b"
        ),
        r"(?:证|证书|文书|批准)[号件]?[:：为是]?\s*(?P<it>[\u4e00-\u9fff]{1,2}字第?\d{4,12}号?)",
        rf"(?:(?<=IP)|(?<=ip)|(?<![A-Za-z\d_.]))(?:{_OCTET}\.){{3}}{_OCTET}(?![A-Za-z\d_]|\.\d)",
        r"(?<![A-Za-z\d_.+@/-])@(?=[A-Za-z_\u4e00-\u9fff])[\w.]{1,30}\w",
        r"(?<![\w/.])(?:u|user|r/u)/(?=\w*[A-Za-z])\w[\w-]{2,30}(?![\w/])",
        rf"(?i:https?://|(?<![\w./@])www\.)(?![\w.]{{0,40}}(?:{_PUBLIC})\b)[^\s\"'<>,;，。；）)\]\\]{{3,300}}",
        rf"(?<![\w./@])(?i:{_NETWORKS})\.com/[\w./@-]{{2,60}}\w",
        r"(?<![\w:.])(?=[\da-fA-F:]{6,39}(?![\w:]))(?=[^:]*:[^:]*:)(?:[\da-fA-F]{1,4}:){2,7}(?::?[\da-fA-F]{1,4}){1,6}(?![\w:])",
        (
            rf"(?i:(?<![a-z])(?:{_ACCOUNTS}|user ?id|login|nickname|screen ?name|user|kik|steam|psn|xbox|zoom|"
            r"reddit|linkedin|home ?page|website|blog)(?![a-z\d_])(?:[ ]?(?:id|name|handle|is|[:=-]))*[ ]*)"
            + QUOTE
            + r""
            r"(?P<it>https?://[^\s\"'<>,;]+[\w/]|@?(?=[\w.-]*[\d_.]\w)[A-Za-z][\w.-]{2,30}\w)"
            rf"|(?i:(?<![a-z])(?:{_ACCOUNTS})(?:[ ](?:id|name|handle))?[ ]?[:=][ ]*)"
            r"(?P<that>@?[A-Za-z][\w.-]{3,30}\w)"
        ),
        (
            r"(?:用户名|昵称|网名|账号|帐号|微博|抖音号?|小红书号?|知乎|快手号?|公众号|B站)"
            + QUOTE
            + r"\s*[:：为是叫]?\s*"
            + QUOTE
            + r"(?P<it>[@\w.\-]{2,24})"
        ),
        (
            r"(?i:\b(?:(?:car|vehicle|van|truck|motorbike)[ ]?(?:reg(?:istration)?|plate|no)|(?:(?:licen[cs]e|number|"
            r"registration)[ ])?plates?)\b\.?(?:[ ]?(?:number|no\.?|is|"
            r"[:#])){0,2}[ ]*)(?P<it>(?=[A-Z\d -]{0,10}\d)[A-Z\d]{1,4}(?:[- ]?[A-Z\d]{1,4}){1,2})\b"
        ),
        (
            r"(?<![A-Za-z\d_.,:/+-])(?=[A-Za-z\d_-]{7,30}(?![A-Za-z\d_/-]|"
            r"[.,]\d))(?=[a-z\d_-]*[A-Z])(?![\w-]{0,30}[a-z]{3})(?=(?:[A-Za-z_-]*\d){5})[A-Za-z\d]+(?:[-_][A-Za-z\d]+){1,5}(?![A-Za-z\d_/-])"
        ),
        r"(?<![A-Za-z\d_.,:/+-])(?!QQ)(?=(?:[A-Z]*\d){6})(?=\d*[A-Z])[A-Z\d]{8,20}(?![A-Za-z\d_/-]|\.\d)",
        (
            r"(?<![\w.,:/+-])(?:\d{4}[ -]\d{4}[ -]\d{4}(?:[ -]\d{4})?(?:[ -]\d{1,4}(?!\d))?|\d{3} \d{3} \d{4})"
            r"(?![A-Za-z\d_/%-]|[.,]\d)"
        ),
        rf"[{_PLATES_ZH}][A-Z][·•・]?(?=[A-Z]{{0,5}}\d)[A-Z\d]{{5,6}}(?![A-Za-z\d])",
        (
            r"(?<![A-Za-z])(?:S/?N|URN?|UHID|UHN|CHI|HCN|PID|CRN|IHI|MBI|PHN|NHI|VIN|IMEI|ABHA|HKID|NRIC|PPSN?|BSN|ID)"
            r"[ .:#=-]{0,3}(?P<it>(?=(?:[A-Z/-]{0,4}\d){5})[A-Z\d][A-Z\d/-]{4,24})(?![A-Za-z\d])"
        ),
        r"(?<![\w.])[-−]?\d{1,3}\.\d{4,8}°?[ ]?[NSns]?,[ ]?[-−]?\d{1,3}\.\d{4,8}(?!\d)|///\w+\.\w+\.\w+",
        r"\b[A-Z]{2}\d{2}(?:[ ]?[A-Z\d]{4}){3,7}(?:[ ]?[A-Z\d]{1,3})?\b",
        r"(?<![A-Za-z\d_.])\d{3}-\d{2}-\d{4}(?![A-Za-z\d_-]|\.\d)",
        (
            r"(?<![\w.-])(?:[A-Z]{2}[ ]?\d{2}[ ]?\d{2}[ ]?\d{2}[ ]?[A-D]|[A-Z]{2}\d{2}[ ][A-Z]{3}|"
            r"\d{2}-\d{2}-\d{2}[ ,]+\d{8}|[A-Z]{5}\d{6}[A-Z\d]{5,7})"
            r"(?![\w-])"
        ),
        (
            r"[\u4e00-\u9fff]{1,3}(?<![分型亚基定信型])[号證证]码?[:：为是 ]{0,2}"
            r"(?P<it>[A-Za-z]{0,6}[-_]?(?=[A-Za-z\d-]{0,8}\d{3})\d[A-Za-z\d-]{2,24})(?![a-zA-Z/%])"
        ),
        r"(?:[初高大小][一二三四五六]|[一二三四五六七八九]年级)[(（]?[\d一二三四五六七八九十]{1,3}[)）]?班",
        (
            r"(?<![A-Za-z\d_.])[1-9]\d{5}(?:19|20)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|"
            r"3[01])\d{3}[\dXx](?![A-Za-z\d_])"
        ),
        (
            r"(?:乘坐?|航班|车次|动车|高铁|列车|火车|班机)[号次为是:： ]{0,2}(?P<it>[A-Z\d]{2,8})(?![A-Za-z\d])"
            r"|(?i:\b(?:fl(?:ew|ight|ying)|train|bus|coach|vessel|ship)\b"
            r"(?:[ ](?:back|in|out|home|on|no\.?|number)){0,2}[ ]+)"
            r"(?P<that>[A-Z]{1,3}[ ]?\d{2,4})(?!\w)|(?:尾号|[后末][四六]位)[:：为是]?\s*(?P<day>\d{3,5}[\dXx])"
        ),
        (
            r"(?<![\w.,:/^*-])(?!(?:19|20)\d\d-)\d{3,6}-\d{5,8}"
            r"(?![\w:/%^*-]|[.,]\d|[ \t]*(?:/|"
            r"[a-zμµ]*mol|[km]?[bB]p?\b|base|cells|copies|reads|个|例|IU|U\b|units?|[mµμkn]?[gl]\b|人))"
        ),
        r"(?<![A-Za-z\d.,:/_-])\d{10,24}(?![\w:/]|[.,]\d|[ \t]*(?:/|cells|copies|个|IU|U/))",
    ),
    "PHONE": (
        (
            r"(?i:(?<![a-z0-9])(?:tel(?:ephone)?|phone|mobile|cell(?:phone)?|landline|fax|pager|call|"
            r"contact|ring|text|reach|"
            r"whatsapp|sms|viber|signal)(?:[ \t]+(?:number|no\.?|at|me|us|him|her|on|is|from)){0,3}"
            + QUOTE
            + r"[ \t]*[.:=]?[ \t]*"
            + QUOTE
            + r")"
            r"(?P<it>\+?\(?\d[\d() .\-]{5,18}\d)"
            r"|(?:电话|手机|联系方式|传真|座机|热线|专线|来电|致电|拨打|热线)(?:号码?)?"
            + QUOTE
            + r"\s*[:：是为=]?\s*"
            + QUOTE
            + r""
            r"(?P<that>\+?\(?\d[\d()（） \-]{5,18}\d)"
        ),
        (
            r"(?<![A-Za-z\d_.+])(?:\+?1[ .\-])?(?:\(\d{3}\)[ ]?|\d{3}[ .\-])\d{3}[.\-]\d{4}(?![A-Za-z\d_-]|\.\d)"
            r"|(?<![A-Za-z\d_.])(?:\+\d{1,3}|00[1-9]\d{0,2}(?=(?:[ \-.()]?\d){8}))"
            r"[ \-.]?(?:\(?\d{1,5}\)?[ \-.]?){2,5}\d{2,4}(?![A-Za-z\d_-])"
            r"|(?<![A-Za-z\d_.+\-])(?:\+?86[ \-]?)?1[3-9]\d[ \-]?\d{4}[ \-]?\d{4}(?![A-Za-z\d_-]|\.\d)"
            r"|(?<![A-Za-z\d_.\-])[(（]?0\d{2,3}[)）]?[ -]?\d{7,8}(?:[-转]\d{1,5})?(?![A-Za-z\d_-])"
            r"|(?<![A-Za-z\d_.\-])[(（]?0\d{2,4}[)）]?[ -]?\d{3,4}[ -]\d{3,4}(?![A-Za-z\d_-])"
            r"|(?<![A-Za-z\d_.\-/])0(?=(?:[ -]?\d){9,10}(?!\d))\d{2,5}[ -]\d{3,8}(?:[ -]\d{3,4})?(?![A-Za-z\d_/-])"
            r"|(?i:\b(?:page|ext(?:ension)?|bleep|pager|extn)\b\.?)[ :]*(?P<it>x?\d{3,5})\b|"
            r"(?<![\w.])(?P<that>x\d{4,5})\b"
            r"|(?:分机|转)\s*\d{3,5}(?!\d)"
        ),
        rf"(?i:\b(?:(?:double|triple|treble|{_DIGIT})[ ,-]+){{6,24}}(?:{_DIGIT})\b)",
    ),
}
_RULES = tuple((kind, re.compile(pattern)) for kind, patterns in _PATTERNS.items() for pattern in patterns)


_ANOTHER = re.compile(
    r"[ \t]*(?:,|;|/|、|，|；|\bor\b|\band\b|或者?|和|及)[ \t]*(?P<it>\+?\(?\d[\d() .\-]{4,18}\d)"
    r"(?![\w/%]|[ \t]*(?:mg|ml|g|岁))"
)
"""A further telephone number beside one."""


def numbers(text: str) -> Iterator[Found]:
    """Yield dates, addresses of e-mail, telephone numbers and numbers of records: start, end and kind."""
    kept = covered(text, _PROTECTED)
    for kind, pattern in _RULES:
        for match in pattern.finditer(text):
            group = next((name for name in ("it", "that", "day") if match.groupdict().get(name)), 0)
            start, end = match.span(group)
            if 1 in kept[start:end]:
                continue
            yield start, end, kind
            while kind == "PHONE" and (another := _ANOTHER.match(text, end)):
                end = another.end()
                yield *another.span("it"), kind


# Addresses and hospitals in English and Chinese text; a country, a state or a kind of hospital stays.

_STREET = (
    r"(?:Street|St|Avenue|Ave|Road|Marg|Nagar|Mews|Grove|Gardens|Hill|Walk|Park|Quay|Broadway|Trail|Loop|"
    r"Green|Rise|View|Rd|Boulevard|Blvd|Lane|Ln|Drive|Dr|Court|"
    r"Ct|Way|Place|Pl|Square|Sq|Terrace|Parkway|Pkwy|Highway|Hwy|Circle|Crescent|Close|Row)"
)
_WORD = r"[A-ZÀ-ÖØ-Þ][\w'’-]{0,40}"
_NO_DIGIT = r"[A-ZÀ-ÖØ-Þ](?![A-Z]?\d)[\w'’-]{0,40}"
_STATE = (
    r"(?:A[KLRZ]|C[AOT]|D[CE]|FL|GA|HI|I[ADLN]|K[SY]|LA|M[ADEINOST]|N[CDEHJMVY]|O[HKR]|PA|RI|S[CD]|T[NX]|UT|V[AT]|"
    r"W[AIVY])"
)

_ADDRESS = re.compile(
    rf"\b\d{{1,6}}[A-Za-z]?[ \t]+(?:(?:[NSEW]\.?|North|South|East|West)[ \t]+)?"
    rf"(?:(?:{_WORD}|\d{{1,3}}(?:st|nd|rd|th))[ \t]+){{1,4}}{_STREET}\b\.?"
    rf"(?:,?[ \t]*(?:Apt|Apartment|Suite|Unit|Flat|Room|#)\.?[ \t]*#?\w{{1,6}})?"
    rf"(?:,[ \t]*(?!{_WORD}[ \t]+[a-z](?!ith\b|ince\b|nd\b|as\b|ho\b|"
    rf"s\b)|[A-Z]{{2,4}}\b){_NO_DIGIT}(?:[ \t]+{_NO_DIGIT}){{0,2}})?(?:,?[ \t]+{_STATE}\b)?"
    r"(?:[ \t]+\d{5}(?:-\d{4})?)?"
    r"(?:,?[ \t]+(?:[A-Z]{1,2}\d[A-Z\d]?[ ]\d[A-Z]{2}|[A-Z]\d[A-Z][ ]\d[A-Z]\d|\d{4,6})\b)?"
    rf"|\b\d{{1,4}}[A-Za-z]?,?[ \t]+(?:{_WORD}|[a-z]{{1,3}})(?:[ \t]+(?:{_WORD}|[a-z]{{1,3}})){{0,4}},[ \t]*"
    rf"(?:{_WORD}[ ,\t]+){{0,3}}[A-Z]{{1,2}}\d[A-Z\d]?[ ]?\d[A-Z]{{2}}\b"
    rf"|\b{_WORD}(?:[ \t]+{_WORD}){{0,2}},[ \t]+{_STATE}[ \t]+\d{{5}}(?:-\d{{4}})?\b"
    rf"|\b\d{{1,4}},?[ \t]+(?i:rue|avenue|boulevard|place|chemin|via|calle|avenida|rua|plaza)[ \t]+"
    rf"(?:(?:de|del|della|des|du|la|le|les|di|da|do|{_WORD})[ \t]*){{1,5}}"
    rf"(?:,[ \t]*\d{{4,6}}[ \t]+{_WORD}(?:[ \t-]{_WORD}){{0,2}})?"
    rf"|\b{_WORD}(?:stra(?:ß|ss)e|weg|platz|gasse|allee|straat|laan)[ \t]+\d{{1,4}}\w?"
    rf"(?:,[ \t]*\d{{4,5}}[ \t]+{_WORD})?"
    rf"|\b(?:Route|Highway|Interstate|Hwy)[ ]\d{{1,3}}\b"
    rf"|\bP\.?[ ]?O\.?[ ]?Box[ \t]+\d+(?:,[ \t]+{_WORD}(?:[ \t]+{_WORD})?)?"
    rf"|\b(?:{_NO_DIGIT}[ \t]+){{1,3}}(?:Road|Rd|Street|Lane|Avenue|Ave|Crescent|Terrace|Boulevard)\b\.?"
    rf"|\b(?i:flat|apt|apartment|unit)[ ]\d{{1,4}}[A-Za-z]?,?[ ](?:{_WORD}[ ]){{1,2}}(?:House|Court|Tower|"
    rf"Mansions?|Heights|Point|Lodge)\b"
    rf"|(?:(?<=\bto )|(?<=\bat )|(?<=\bfrom ))(?:{_WORD}[ ]){{0,2}}{_WORD},[ ](?:\d{{1,4}}[ ](?:(?:{_WORD}|y|de|la|du|"
    rf"da)[ ,]?){{1,4}}"
    rf"|{_WORD}(?:[ ]{_WORD}){{0,2}}[ ]\d{{1,4}})\b(?![ ]?(?:[mµukKn]?mol|[mµukn]?g\b|[mk]?Pa|IU|U/|%))"
    rf"|(?:(?<=\bfrom )|(?<=\bat )|(?<=\bin ))(?:{_NO_DIGIT}[ ]){{1,3}}(?:House|Lodge|Manor|Grange|Cottages?|Hall|"
    rf"Villas?|Towers?|Farm|Barracks|[AR]?FC)\b"
    rf"|\b{_WORD}(?:(?:,?[ ]{_WORD}){{0,2}}[ ](?:&|and)[ ]{_WORD}(?=[ ](?:[Ss]olicitors|LLP|[Pp]artners|[Ll]awyers))"
    rf"|(?:[ ]{_WORD}){{0,2}}[ ](?:Ltd|LLP|GmbH|PLC|plc)\b)"
    rf"|\b(?:Bed|Bay|Chair|Cubicle)[ ]\d{{1,3}}[A-Z]?,?[ ](?:Bay|Ward|Room)[ ][A-Z\d]{{1,3}}\b"
    rf"|\b(?:Ro?o?m|Bed|Bay)[ \t]+\d{{1,3}},?[ \t]+(?:{_NO_DIGIT}[ \t]+){{1,2}}Ward\b"
    rf"|(?:\b{_WORD},?[ \t]+){{0,3}}\b(?:[A-Z]{{1,2}}\d[A-Z\d]?[ ]\d[A-Z]{{2}}|[A-Z]\d[A-Z][ ]\d[A-Z]\d)\b"
    rf"|\b(?:Flat|Apt|Apartment|Unit|Suite|Room|House|Block|Plot|"
    rf"Door)\.?(?:[ ]No\.?)?[ ]?#?\d{{1,5}}[A-Za-z]?,[ \t]*(?=\d|[A-Z])"
)
_STATED = re.compile(
    r"(?i:\b(?:home |mailing |street |postal )?address" + QUOTE + r"[ \t]*(?:is\b|[:=])[ \t]*" + QUOTE + r")"
    r"(?P<it>[^\n;\"\\]{4,120}?)(?=[\n;\"\\]|\.\s|\.?$)"
)
_LIVES = re.compile(
    rf"(?:\b(?:[Ll]iv(?:es|ing|e|ed)|[Rr]esid(?:es|ing|ed|ent)|[Bb]orn|[Mm]oved|[Cc]omes|[Ww]ork(?:s|ed|ing)?|"
    rf"[Ee]mployed|[Tt]ransferred|[Dd]ischarged|[Tt]aken|"
    rf"[Rr]aised|[Gg]rew up|[Nn]ative|[Dd]riv(?:es?|ing|er)|[Pp]lay(?:s|ed|ing|er)|[Rr]etired|[Jj]ob|[Ee]xposure|"
    rf"[Aa]pprenticed?|[Ff]armer|[Tt]eacher|[Ee]ngineer|[Ww]elder|[Nn]urse|[Cc]ashier)[ \t]+"
    rf"(?:(?:in|at)[ \t]+an?[ \t]+\w+[ \t]+)?(?:in|at|of|near|to|from|on|outside|by|"
    rf"for)[ \t]+|\b[Ww]ard[ \t]+(?=[A-Z][a-z])"
    rf"|\b(?i:village|town|city|district|"
    rf"hometown|birthplace|residence|"
    rf"place of birth|suburb|county|parish|tehsil|taluk|barangay|municipality)[ \t]*:[ \t]*)"
    rf"(?P<it>(?:\d{{1,5}}[ \t])?{_WORD}(?:(?:[ \t]+|,[ \t]+(?!{_WORD}[ \t]+[a-z\d]))(?:(?:de|la|del|el|"
    rf"of)[ \t]+)?{_WORD}(?:(?<=\bSt)\.|(?<=\bMt)\.)?){{0,4}})"
)
_SMALL_STREET = re.compile(
    r"(?<![\w./-])\d{1,5}[a-z]?,?[ \t]+(?P<road>[a-z][a-z'’-]{2,20}(?:[ \t]+[a-z][a-z'’-]{2,20})?)[ \t]+"
    r"(?:street|road|avenue|ave|lane|drive|close|crescent|terrace|boulevard|blvd|gardens|grove|square)\b"
    r"(?![ \t]+(?:up|of|to|by))"
    r"(?:,[ \t]*[A-Za-z][\w'’-]{2,20}(?:[ \t]+[A-Z]{1,2}\d[\w ]{0,6})?)?"
    r"|(?i:\b(?:liv(?:es|ing|e)|resid(?:es|ing|ent)|stay(?:s|ing)|address)[ \t:]+(?:at|on|in)?[ \t]*)"
    r"(?P<it>(?:\d{1,5}[a-z]?,?[ \t]+)?[a-z][a-z'’-]{2,20}(?:[ \t]+[a-z][a-z'’-]{2,20})?[ \t]+"
    r"(?:street|st|road|rd|avenue|ave|lane|drive|close|crescent|terrace|boulevard|gardens|grove|square)\b)"
)
"""Streets in small letters."""
_AT_THE = re.compile(rf"\b[Aa]t[ \t]+(?P<it>the[ \t]+{_NO_DIGIT}(?:[ \t]+{_NO_DIGIT}){{0,2}})(?![\w&'’-])")

_SMALL_PLACE = re.compile(
    r"\b(?P<cue>(?i:liv(?:es|ing|ed|e)|resid(?:es|ing|ent)|born|raised|grew[ ]up|moved|based|from|work(?:s|ed|ing)?"
    r"|employed|shifts?|nights|job|welder|driver|cashier|teach(?:es|er)|nurse|student|stud(?:ies|ying)|goes|pupil)"
    r"(?:[ ]+(?!in|at|for|from|near|to|outside)[\w’']+){0,4}?)[ ]+(?P<link>in|at|for|from|near|to|outside)[ ]+"
    r"(?P<it>[a-z][a-z'’-]{2,20}(?:[ ](?:(?:on|upon|under|and|&|le|by)[ ])?[a-z][a-z'’-]{2,20}){0,2})(?![\w'’-])"
    r"|\bi['’]?m[ ]+[a-z]+[ ]+from[ ]+(?P<home>[a-z][a-z'’-]{2,20})"
)
"""Towns and employers in small letters; of the words those count that are no usual ones."""
_THEN = re.compile(r"[ ]+(?:in|near|and|&|,)[ ]+(?P<it>[a-z][a-z'’-]{2,20})(?![\w'’-])")
_LINKS = frozenset({"on", "upon", "under", "and", "&", "le", "by"})
_SCHOOL = re.compile(
    rf"\b(?P<it>(?:(?:St\.?[ \t]+)?{_WORD}[ \t]+){{1,4}}?(?:(?:Primary|Secondary|Elementary|Middle|High|Grammar|Junior|"
    r"Senior|Infant|Nursery|Preparatory|Prep|Public|International|Catholic|Community|Boarding)[ \t]+){0,2}"
    r"(?:School|Academy|Elementary|Kindergarten|Nursery|Preschool|Montessori|College|University|Gymnasium|"
    r"Lycée|Grundschule))\b"
    rf"|\b(?P<church>(?:St\.?[ \t]+)?{_WORD}(?:[ \t]+{_WORD}){{0,2}}[ \t]+(?:Church[ \t]+of[ \t]+England|RC|"
    rf"C[ ]?of[ ]?E)[ \t]+(?:(?:Primary|Junior|"
    r"Infant|Secondary)[ \t]+)?School)\b"
    rf"|\b(?P<short>(?:St\.?[ \t]+)?{_NO_DIGIT}(?:[ \t]+{_NO_DIGIT})?[ \t]+"
    r"(?:Primary|Infants|Juniors|Grammar|Comprehensive))"
    r"(?=[;,.)]|$|[ ](?:and|with|since|where|but|in|after|rang|called|phoned|says|sent|staff|teacher|nurse|head)\b)"
    rf"|\b(?P<institute>(?:Institute|Ministry|Academy|Faculty)[ \t]+of[ \t]+{_WORD}(?:[ \t]+{_WORD}){{0,2}})"
    rf"|\b(?P<that>University[ \t]+of[ \t]+{_WORD}(?:[ \t]+{_WORD})?)"
)
_PLACE_ZH = re.compile(
    rf"在(?P<works>[{_HAN}A-Za-z]{{2,12}}?(?:厂|公司|集团|工地|超市|酒店|饭店|餐馆|煤矿|银行|车间|"
    rf"工厂))(?=上班|工作|打工|当|做|干)"
    rf"|(?P<plant>(?:{any_of_words('large_places_zh')})市?(?![{_HAN}]?[省市]?医)[{_HAN}]{{1,8}}?(?:厂|公司|集团|矿|铁路局|银行)"
    rf"|(?<![{_HAN}])(?!从事|在|做|送|发|搞|一家|某)[{_HAN}]{{2,4}}(?:物流|速运|快递|集团))(?=[，,。；;、]|职工|员工|工人|退休|司机|保安)"
    rf"|在(?P<firm>(?!家|工地|外地|外面|外|单位|公司|工厂|学校|医院|农村|城里|办公室|电脑前|[南北]方|本地|厂里|"
    rf"室[内外]|这|那|某)"
    rf"[{_HAN}A-Za-z]{{2,8}}?)(?=上班|打工|任职|做工|干活|供职)"
    rf"|(?:[在到去往住于自回是]|来自|老家|住)(?P<village>(?!我们|农|本|同|全|外|其他|"
    rf"城中)(?:[{_HAN}]{{2,4}}(?:镇|乡|街道))?[{_HAN}]{{2,4}}(?:村|镇|"
    rf"乡|屯|寨|社区)(?:[一二三四五六七八九十\d]{{1,3}}[组队社])?)(?![{_HAN}]{{0,2}}[医卫])"
    rf"|(?:^|[，,。；; 区在到去住])(?P<group>[{_HAN}]{{2,4}}村"
    r"(?:[一二三四五六七八九十\d]{1,3}[组队社])(?:\d{1,4}号)?)"
    rf"|(?:(?<![{_HAN}])|[在到去往住于])(?P<estate>(?!我们|本|这个|那个)[{_HAN}]{{2,6}}(?:小区|花园|公寓|家园|"
    rf"新村|大厦|苑)"
    r"(?:[\dA-Z一二三四五六七八九十]{1,5}(?:栋|幢|座|号楼|号|单元|室|楼|层|-)?){0,5})"
)
"""Where somebody works or lives, by the name of a house or village."""
_SCHOOLS_ZH = "小学|中学|附小|附中|幼儿园|托儿所|职业学校|技校|高级中学|学校|大学|学院"
_SCHOOL_ZH = re.compile(
    rf"(?P<it>[{_HAN}]{{2,14}}?(?:{_SCHOOLS_ZH}))"
    r"(?![生文毕时期教里]|学历|阶段|以上|及以上|附属|[^，。,；;]{0,6}医院)"
)
_CUT_SCHOOL_ZH = re.compile(
    r".*(?:[在于去到往至由从经被了来曾是有读念的，、。送]|上(?!海)|就读|患者|患儿|孩子|毕业|老师|工作|任教)"
)
_GENERIC_SCHOOL_ZH = re.compile(rf"^(?:{any_of_words('general_schools_zh')})*$")
_PROVINCE = any_of_words("provinces_zh")
_FURTHER_ZH = (
    rf"(?:[{_HAN}]{{1,10}}?(?:镇|乡|街道|村|路|街|巷|大道))?(?:[{_HAN}]{{0,6}}\d{{1,5}}[号栋幢弄室楼单元\-\d]{{1,12}})?"
)
_ADDRESS_ZH = re.compile(
    r"(?:住址|地址|家庭住址|现住址|户籍地?|籍贯|祖籍|居住地|家住|现住|"
    r"[生常暂居]住(?!院)|(?<=[，,。；;、 ])住(?![院进了过在]))"
    r"(?:址|地)?(?:在|于)?"
    + QUOTE
    + r"\s*[:：]?\s*"
    + QUOTE
    + rf"(?P<it>[{_HAN}\w\-]{{3,60}})|(?:邮编|邮政编码)[:：为是]?\s*(?P<code>\d{{6}})(?!\d)"
    r"|(?i:\b(?:zip|post(?:al)?)[ ]?(?:code)?\b[ :]*(?:is[ ])?)(?P<zip>\d{4,6})(?!\d)"
    rf"|(?P<that>(?:{_PROVINCE})(?:省|市|(?:壮族|回族|维吾尔)?自治区)?(?:(?![等为和及])[{_HAN}]){{1,5}}?(?:市|"
    rf"县|旗|州|(?<![地林省发山牧])区)"
    rf"(?:[{_HAN}]{{1,5}}?(?:市|(?<![地林省发山牧])区|县|旗))?{_FURTHER_ZH})"
    r"|(?P<flat>(?<![A-Za-z\d.])[\dA-Z]{1,4}(?:号楼|栋|"
    r"幢)(?:[\dA-Z一二三四五六]{1,3}单元)?(?:\d{1,2}层)?(?:\d{2,4}室?)?)"
    rf"|(?P<other>(?:[{_HAN}]{{2,4}}市)?[{_HAN}]{{2,6}}(?:路|街|巷|大道|弄|胡同)[甲乙丙丁]?\d{{1,5}}号院?"
    rf"(?:[{_HAN}]{{0,8}}\d{{0,5}}(?:号楼|栋|幢|单元|室|楼|层)){{0,4}}(?:\d{{2,4}}(?!\d))?)"
)

_HOSPITAL = re.compile(
    rf"\b(?P<it>(?:(?:{_WORD}\.?|of|for|the|and|&)[ \t]+){{1,6}}(?:Hospitals?|Infirmary|Clinic|"
    r"Medical[ ]Cent(?:er|re)|Health[ ](?:Cent(?:er|re)|System|Service)|Hospice|Nursing[ ]Home|Sanatorium|Surgery|"
    r"(?:Medical|Family|General)[ ]Practice|Polyclinic|Klinikum|Klinik|Universitätsklinikum|Ziekenhuis|"
    r"Sjukhus|Szpital|Maternity|"
    r"Medical[ ]College|Institute[ ]of[ ](?:Medical[ ]Sciences|Child[ ]Health|Neurology)|Cancer[ ]Institute))\b"
    rf"(?P<more>(?:[ \t]+(?:of|for)[ \t]+(?:(?:the|Sick|{_WORD})[ \t]*){{1,4}})?)"
)
_HOSPITAL_OF = re.compile(
    rf"\b(?:Hospital|Clinic)[ \t]+(?:of|for)[ \t]+{_WORD}(?:[ \t]+(?:of[ \t]+|and[ \t]+)?{_WORD}){{0,3}}"
    rf"|\b(?:Hospital|Clínica|Clinica|Hôpital|Hopital|Ospedale|Policlinico|Klinikum|Klinik|CHU|CHRU|AIIMS|"
    rf"Szpital|Centro M[eé]dico)[ \t]+"
    rf"(?:(?:de|del|della|di|da|do|la|le|las|los|du|des|der|Saint|{_WORD})[ \t]+){{0,4}}{_WORD}"
    rf"|(?:(?<=at )|(?<=to )|(?<=from ))(?:(?:Mount|Mt\.?|St\.?|Saint)[ ]{_WORD}(?:['’]s)?"
    rf"|(?:(?!Acute|Attorney|The){_WORD}[ ]){{1,2}}(?:General|Memorial|Regional|Royal|Infirmary|A&E|ED|ER|ICU)\b)"
)

_HOSPITALS_ZH = "医院|卫生院|卫生服务中心|卫生所|保健院|疗养院|诊所|医学中心|医疗中心"
_HOSPITAL_ZH = re.compile(rf"(?P<it>[{_HAN}A-Za-z0-9（）()]{{1,20}}?(?:{_HOSPITALS_ZH}))")
_CUT_ZH = re.compile(
    r".*(?:就诊|收治|建议|可以|最好|需要|应该|还是|立即|及时|尽快|马上|患者|医生|或者|有无|一般|家长|带孩子|根据|首次|"
    r"今天|昨天|前天|一下|一家|一个|这家|这个|那个|几家|两所|[天周月年日午]前|"
    r"[在于去到往至由从经被了来曾说让我你您他她它该贵的找住送看做查是有请想要就再先不没转带们作为起或据以应，、])"
)
_GENERIC_ZH = re.compile(rf"^(?:{any_of_words('general_hospitals_zh')})*$")


def places(text: str) -> Iterator[Found]:
    """Yield addresses and hospitals: start, end and kind; what two patterns see may overlap."""
    yield from _addresses(text)
    for match in _HOSPITAL.finditer(text):
        start, end = match.start("it"), match.end()
        named = list(re.finditer(r"[^\s]+", text[start : match.end("it")]))
        proper = [word for word in named if word[0].lower().rstrip(".") not in words("general_hospitals")]
        if proper:
            first = start + proper[0].start()
            yield first, end if match["more"].strip() else match.end("it"), "HOSPITAL"
    for match in _HOSPITAL_OF.finditer(text):
        yield *match.span(), "HOSPITAL"
    for start, end in _houses_zh(text, _HOSPITAL_ZH, _CUT_ZH, _HOSPITALS_ZH, _GENERIC_ZH):
        yield start, end, "HOSPITAL"


def _addresses(text: str) -> Iterator[Found]:
    for pattern in (_ADDRESS, _PLACE_ZH, _ADDRESS_ZH):
        for match in pattern.finditer(text):
            yield *match.span(match.lastgroup or 0), "ADDRESS"
    for match in _STATED.finditer(text):
        if re.search(r"\d|,", match["it"]) and not match["it"].startswith("["):
            yield *match.span("it"), "ADDRESS"
    for match in _LIVES.finditer(text):
        first = re.findall(r"\w+", match["it"])[0]
        if first not in words("large_places") | words("no_names") | words("medical_words") and (
            first.lower() not in words("plain_words") or " " in match["it"]
        ):
            yield *match.span("it"), "ADDRESS"
    for match in _SMALL_STREET.finditer(text):
        if match["it"] or not set(match["road"].split()) <= words("plain_words"):
            yield *match.span("it" if match["it"] else 0), "ADDRESS"
    for match in _AT_THE.finditer(text):
        named = [each.lower() for each in re.findall(r"[^\s]+", match["it"])[1:]]
        strange = len(named) > 1 or named[0] not in words("plain_words")
        if (
            strange
            and words("no_houses").isdisjoint(named)
            and not words("medical_words") & {each.title() for each in named}
        ):
            yield *match.span("it"), "ADDRESS"
    for match in _SMALL_PLACE.finditer(text):
        group = "home" if match["home"] else "it"
        named = match[group].split()
        while named and (named[-1] in words("plain_words") or named[-1] in words("medical_words")):
            named.pop()
        common = words("plain_words") | words("medical_words")
        if named and not any(each in common for each in named if each not in _LINKS):
            end = match.start(group) + len(" ".join(named))
            yield match.start(group), end, "ADDRESS"
            if (town := _THEN.match(text, end)) and town["it"] not in common:
                yield *town.span("it"), "ADDRESS"
    for match in _SCHOOL.finditer(text):
        start, end = match.span(match.lastgroup or 0)
        named = [each for each in re.finditer(r"[^\s]+", text[start:end])]
        proper = [each for each in named[:-1] if each[0].lower().rstrip(".") not in words("no_schools")]
        if match["short"] and not re.search(r"['’]s\b|^St\b", match["short"]):
            known = words("plain_words") | {each.lower() for each in words("medical_words")}
            if known.isdisjoint(named[-2][0].lower().split("-")):
                yield start + named[0 if named[0][0].lower() not in known else 1].start(), end, "ADDRESS"
        elif not match["it"]:
            yield start, end, "ADDRESS"
        elif proper:
            yield start + proper[0].start(), end, "ADDRESS"
    for start, end in _houses_zh(text, _SCHOOL_ZH, _CUT_SCHOOL_ZH, _SCHOOLS_ZH, _GENERIC_SCHOOL_ZH):
        yield start, end, "ADDRESS"


def _houses_zh(
    text: str, whole: re.Pattern[str], cut: re.Pattern[str], kinds: str, general: re.Pattern[str]
) -> Iterator[tuple[int, int]]:
    """Yield houses of some kinds that have a name, without the words before it."""
    for match in whole.finditer(text):
        before = cut.match(text, match.start(), match.end() - 2)
        start = before.end() if before else match.start()
        name = re.sub(rf"(?:{kinds})$", "", text[start : match.end()])
        if len(name) >= 2 and not general.match(name):
            yield start, match.end()
