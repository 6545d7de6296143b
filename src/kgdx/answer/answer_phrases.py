"""The words of templated answers, in English and Chinese."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from kgdx.answer.evidence_pack import clean
from kgdx.results.cited import Resolved
from kgdx.schema import wording
from kgdx.terms.normalise import has_chinese


@dataclass(frozen=True, slots=True)
class SentencePatterns:
    """Patterns of sentences by what they say; what stands in braces is filled in.

    Of two, the first is of one thing and the second of several; ``inference`` has two for all that was given, and two
    for a part of it. ``statements`` names what is no relation of the ontology: modes of inheritance, courses, what is
    observed in the same cases. ``quoted`` is a source in the language of the answer, and in another one.
    """

    language: str
    gap: str
    comma: tuple[str, str]
    either: str
    more: str
    statements: Mapping[str, tuple[str, str]]
    relation: tuple[str, str]
    inference: tuple[str, str, str, str]
    candidates: str
    paths: Mapping[str, str]
    description: str
    heading: str
    publication: tuple[str, str]
    titled: str
    others: str
    row: str
    missing: str
    nothing: str
    unasked: str
    unread: str
    single: str
    unnamed: str
    unknown: tuple[str, str]
    elsewhere: str
    taken: str
    yes: str
    no: str
    unstated: str
    lacking: str
    lacking_several: str
    quoted: tuple[str, str]
    listed: str
    kinds: Mapping[str, str]
    worth: str
    weighed: tuple[str, str]
    caution: str
    shared: tuple[str, str]
    unshared: str
    same: str
    different: str
    alone: str
    all_recorded: str
    count: str
    forms: str
    about: str
    dose: str
    safety: str
    urgency: str
    unused: str
    without: str
    foreign: str
    unsure: str

    def list(self, names: Sequence[str], most: int) -> str:
        """Return names as a list within a sentence; of more than ``most``, how many are left is said.

        Example:
            >>> ENGLISH.list(["fever", "cough", "chills"], 3), ENGLISH.list(["fever", "cough", "chills"], 1)
            ('fever, cough and chills', 'fever and 2 more')
            >>> CHINESE.list(["发热", "咳嗽", "寒战"], 2)
            '发热、咳嗽等3项'
        """
        shown = names[:most]
        if len(names) > most:
            return self.comma[0].join(shown) + self.more.format(left=len(names) - most, all=len(names))
        return self.comma[0].join(shown[:-1]) + (self.comma[1] if len(shown) > 1 else "") + "".join(shown[-1:])

    def statement(self, relation: str, *, several: bool) -> str:
        """Return what the objects of a relation are to the disease.

        Example:
            >>> ENGLISH.statement("HAS_SYMPTOM", several=True), CHINESE.statement("INHERITANCE", several=False)
            ('symptoms recorded for', '遗传方式')
        """
        forms = self.statements.get(relation) or wording(relation, self.language).statement
        return forms[several] or relation

    def noun(self, relation: str, *, several: bool) -> str:
        """Return what is asked for by a relation; nothing where there is no word for it.

        Example:
            >>> ENGLISH.noun("RECOMMEND_TEST", several=True)
            'tests'
        """
        return wording(relation, self.language).noun[several]

    def alternatives(self, things: Sequence[str]) -> str:
        """Return things of which there is none.

        Example:
            >>> ENGLISH.alternatives(["tests", "drugs", "genes"])
            'tests, drugs or genes'
        """
        return self.comma[0].join(things[:-1]) + (self.either if len(things) > 1 else "") + "".join(things[-1:])


ENGLISH = SentencePatterns(
    language="en",
    gap=" ",
    comma=(", ", " and "),
    either=" or ",
    more=" and {left} more",
    statements=MappingProxyType(
        {
            "INHERITANCE": ("mode of inheritance recorded for", "modes of inheritance recorded for"),
            "COURSE": ("statement on the course of", "statements on the course of"),
            "ONSET": ("age of onset recorded for", "ages of onset recorded for"),
            "RISK_FACTOR": ("risk factor recorded for", "risk factors recorded for"),
            "SAME_CASES": ("feature observed in the same cases as", "features observed in the same cases as"),
        }
    ),
    relation=("The {what} {subject} is {list}.", "The {what} {subject} are {list}."),
    inference=(
        "The disease recorded with {objects} is {list}.",
        "The diseases recorded with {objects} are {list}.",
        "With {objects}, {matched} of the {asked} {things} given, the disease is {list}.",
        "With {objects}, {matched} of the {asked} {things} given, the diseases are {list}.",
    ),
    candidates="The diseases that fit the case best are, in this order, {list}.",
    paths=MappingProxyType(
        {
            "supports": "In favour of {subject} the case has {list}.",
            "against": "Against {subject} speaks {list}.",
            "typical_unmentioned": "Typical of {subject}, but not mentioned in the case, is {list}.",
        }
    ),
    description="{text} {mark}.",
    heading="The MeSH heading of {subject} is {heading} ({id}; {places}) {mark}.",
    publication=("A publication on {subject} is {list}.", "Publications on {subject} are {list}."),
    titled="“{title}” ({told})",
    others=" et al.",
    row="The graph returned {text} {mark}.",
    missing="The graph has no {things} for {names}.",
    nothing="Not enough evidence: the graph returned nothing for this question.",
    unasked="Not enough evidence: nothing was asked of the graph for this question.",
    unread="Not enough evidence: “{words}” is not understood, so nothing is said of {subject}; ask for its symptoms, "
    "tests or genes.",
    single="Not enough evidence: only {subject} is found to compare; name the other as the graph does (kgdx search).",
    unnamed="Not enough evidence: the question names no disease, finding, test, drug or gene; name what is meant.",
    unknown=("Not enough evidence: the graph has no entry called {given}", "; near it are {list}."),
    elsewhere="; Chinese names come with sources that have them: kgdx sources.",
    taken="“{given}” is taken for {name}.",
    yes="Yes: ",
    no="No: {list} is recorded as absent in {subject}.",
    unstated="Not recorded: no source of this graph states {other} of {subject}, which does not exclude it.",
    lacking="Not in this graph: no source of it states the {noun} of {subject}; {source} would bring it.",
    lacking_several="Not in this graph: no source of it states the {nouns} of {subject}.",
    quoted=("“{text}” ({source}) {mark}.", "{source} says in Chinese: “{text}” {mark}."),
    listed="{subject}: {noun}: {list}.",
    kinds=MappingProxyType({"diet": "foods that are good", "avoided": "foods to avoid"}),
    worth="{name} ({worth})",
    weighed=(
        "This is stated by 1 source, {sources} {mark}.",
        "This is stated by {n} sources, {sources} {mark}.",
    ),
    caution="Whether a treatment suits a patient, and its dose, is for a clinician to decide.",
    shared=("Both {names}: {list}.", "Recorded for {names} alike: {list}."),
    unshared="No finding is recorded for {names} alike.",
    same="Yes: in this graph {names} are one entry.",
    different="No: in this graph {names} are different entries.",
    all_recorded="None of these: all are recorded.",
    count="On record are {n}: ",
    alone="Only {subject}: {list}.",
    forms="{name} ({n} forms)",
    about=" ({names})",
    dose="Not in this graph: doses{about}; a doctor, a pharmacist or the leaflet of the drug states them.",
    safety="Not in this graph: what is safe in pregnancy, while nursing, with other drugs or for driving{about}; "
    "ask a doctor or a pharmacist.",
    urgency="How urgent it is cannot be told from a graph. Call the emergency number now if it is severe or came "
    "suddenly, or with trouble breathing, chest pain, fainting, confusion, weakness of one side, heavy bleeding, or "
    "after poison or an overdose.",
    unused="Nothing was made of “{words}”.",
    without="Diseases recorded with {list} were left out; what is not recorded is not excluded.",
    foreign="Some names are in Chinese: this graph has no English ones for them.",
    unsure="No source states that it is always so. Recorded is: ",
)

CHINESE = SentencePatterns(
    language="zh",
    gap="",
    comma=("、", "、"),
    either="、",
    more="等{all}项",
    statements=MappingProxyType(
        {
            "INHERITANCE": ("遗传方式", "遗传方式"),
            "COURSE": ("病程特点", "病程特点"),
            "ONSET": ("发病年龄", "发病年龄"),
            "RISK_FACTOR": ("危险因素", "危险因素"),
            "SAME_CASES": ("同见于病例的表型", "同见于病例的表型"),
        }
    ),
    relation=("{subject}的{what}有{list}。", "{subject}的{what}有{list}。"),
    inference=(
        "与{objects}相符的疾病有{list}。",
        "与{objects}相符的疾病有{list}。",
        "与{objects}（所给{asked}项{things}中的{matched}项）相符的疾病有{list}。",
        "与{objects}（所给{asked}项{things}中的{matched}项）相符的疾病有{list}。",
    ),
    candidates="最符合该病例的疾病依次为{list}。",
    paths=MappingProxyType(
        {
            "supports": "支持{subject}的表现有{list}。",
            "against": "不支持{subject}的表现有{list}。",
            "typical_unmentioned": "{subject}的典型表现中，病例未提及{list}。",
        }
    ),
    description="{text}{mark}。",
    heading="{subject}在MeSH中对应的主题词为{heading}（{id}；{places}）{mark}。",
    publication=("关于{subject}的文献有{list}。", "关于{subject}的文献有{list}。"),
    titled="“{title}”（{told}）",
    others="等",
    row="图谱返回：{text}{mark}。",
    missing="图谱中没有{names}的{things}记录。",
    nothing="证据不足：图谱没有返回与该问题有关的内容。",
    unasked="证据不足：没有就该问题查询图谱。",
    unread="证据不足：未能理解“{words}”，因此不对{subject}作判断；可询问其症状、检查、治疗、基因等。",
    single="证据不足：只认出{subject}，无从比较；请写出另一种疾病在图谱中的名称（kgdx search）。",
    unnamed="证据不足：问题中没有可识别的疾病、症状、检查、药物或基因，请写出其名称。",
    unknown=("证据不足：图谱中没有名为“{given}”的条目", "，相近的有{list}。"),
    elsewhere="；中文名称来自含有它们的来源：kgdx sources。",
    taken="“{given}”按{name}理解。",
    yes="是：",
    no="否：{subject}记录为没有{list}。",
    unstated="未见记录：图谱中没有来源说明{subject}与{other}的关系，但不能据此排除。",
    lacking="图谱中没有{subject}的{noun}：现有来源均未记载；可补充的来源：{source}。",
    lacking_several="图谱中没有{subject}的{nouns}：现有来源均未记载。",
    quoted=("“{text}”（{source}）{mark}。", "{source}（英文原文）：“{text}”{mark}。"),
    listed="{subject}的{noun}：{list}。",
    kinds=MappingProxyType({"diet": "宜食", "avoided": "忌食"}),
    worth="{name}（{worth}）",
    weighed=("以上出自1个来源：{sources}{mark}。", "以上出自{n}个来源：{sources}{mark}。"),
    caution="是否适用及剂量须由医生判断。",
    shared=("{names}共有：{list}。", "{names}共有：{list}。"),
    unshared="{names}没有共同记载的表现。",
    same="是：在图谱中{names}是同一条目。",
    different="否：在图谱中{names}是不同的条目。",
    all_recorded="没有：各项均有记载。",
    count="记载有{n}项：",
    alone="仅{subject}有：{list}。",
    forms="{name}（{n}型）",
    about="（{names}）",
    dose="图谱中没有剂量{about}；请查阅药品说明书，或咨询医生、药师。",
    safety="图谱不记载孕期、哺乳期、合并用药或驾驶时是否安全{about}，请咨询医生或药师。",
    urgency="是否紧急不能由图谱判断。如症状严重或突然出现，或有呼吸困难、胸痛、晕厥、意识不清、一侧无力、大出血，或误服、过量服药，请立即拨打急救电话。",
    unused="未使用“{words}”。",
    without="已略去记载有{list}的疾病；未见记载不等于没有。",
    foreign="部分名称为英文：图谱中没有其中文名。",
    unsure="没有来源说明一定如此；所记载的是：",
)


def unknown_name(name: Resolved, words: SentencePatterns) -> str:
    """Say that the graph has nothing of a name, and what comes near, or where such names come from."""
    text, near = words.unknown
    listed = words.list([clean(each) for each in name.candidates], 5)
    end = near.format(list=listed) if listed else words.elsewhere if has_chinese(name.given) else near[-1]
    return text.format(given=clean(name.given)) + end
