"""Option questions made from a graph: a relation is the right option, and what resembles it are the others.

The other options share an ancestor with the right one (findings, headings), belong to diseases that resemble the
subject (genes, diagnoses), or belong to diseases that have the right one, too (symptoms, tests, drugs); none of them is
true of the subject, as far as the graph knows. Each question says what holds its answer: documents, which it names, the
graph alone, or neither of what is shown to whoever answers.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from kgdx.answer.option_questions import LETTERS, OptionQuestion, folded
from kgdx.arrays.sparse import Sparse, ancestors
from kgdx.case import Case, Finding, read_text
from kgdx.errors import CaseError, UsageError
from kgdx.evaluate.labels import Labels
from kgdx.evaluate.osce_agents import Osce
from kgdx.evaluate.question_sets import LANGUAGES, SPLITS, Split
from kgdx.evaluate.simulated_patients import ROOT
from kgdx.terms.text_search import graph_pieces

if TYPE_CHECKING:
    from kgdx.api import Graph
    from kgdx.terms.text_segment import TextPiece

NEAR = 60
"""Diseases that are compared with one at most."""

FINDINGS = 25
"""Findings by which diseases are compared at most."""

NAME = {"en": re.compile(r"(?=.*[A-Za-z])[\x20-\x7e’é–]{3,60}"), "zh": re.compile(r"(?=.*[\u4e00-\u9fff]).{2,40}")}
"""Names by language that can stand in a question; some of the sources' are sentences."""

_SYMBOL = re.compile(r"[A-Za-z0-9-]{2,20}")
_ID = re.compile(r"[A-Z]+:\S+")


class Resemblance:
    """Finds what resembles a finding or a disease; rows are those of the snapshot's tables."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self.diseases: list[str] = graph.snapshot.table("disease").column("id").to_pylist()
        self.terms: list[str] = graph.snapshot.table("phenotype").column("id").to_pylist()

    def relations(self, table: str, end: str) -> dict[int, list[int]]:
        """Return what each disease is related to, in the order of a table, each once.

        Of phenotypes only those that are findings count: no modes of inheritance, and nothing beside the root.
        """
        columns = self._graph.snapshot.table(table).to_pydict()
        aspects = columns.get("aspect", [None] * len(columns["disease"]))
        found: dict[int, dict[int, None]] = defaultdict(dict)
        for disease, row, aspect in zip(columns["disease"], columns[end], aspects, strict=True):
            if end != "phenotype" or (aspect in (None, "P") and row in self.abnormal):
                found[disease][row] = None
        return {disease: list(rows) for disease, rows in found.items()}

    @cached_property
    def findings(self) -> dict[int, list[int]]:
        return self.relations("has_phenotype", "phenotype")

    @cached_property
    def parents(self) -> list[list[int]]:
        """Of each finding, the terms directly above it."""
        table = self._graph.snapshot.table("is_a").to_pydict()
        found: list[list[int]] = [[] for _ in self.terms]
        for child, parent in zip(table["child"], table["parent"], strict=True):
            found[child].append(parent)
        return found

    @cached_property
    def children(self) -> list[list[int]]:
        """Of each finding, the terms directly below it."""
        found: list[list[int]] = [[] for _ in self.terms]
        for child, parents in enumerate(self.parents):
            for parent in parents:
                found[parent].append(child)
        return found

    @cached_property
    def abnormal(self) -> frozenset[int]:
        """The findings below phenotypic abnormality, without it."""
        return frozenset(np.flatnonzero(np.diff(self._up.start) > 1).tolist())

    def above(self, row: int) -> set[int]:
        """Return a finding and the terms above it, up to phenotypic abnormality."""
        return {*self._up.columns(row).tolist()}

    @cached_property
    def _up(self) -> Sparse:
        root = self.terms.index(ROOT) if ROOT in self.terms else -1
        child, parent = (self._graph.snapshot.column("is_a", end) for end in ("child", "parent"))
        return ancestors(child, parent, len(self.terms), root)

    def kin(self, row: int, seed: str) -> Iterator[int]:
        """Yield findings that share a parent with one, then those that share a grandparent; by chance within these."""
        seen = self.above(row)
        parents = [each for each in self.parents[row] if each in self.abnormal]
        siblings = {child for parent in parents for child in self.children[parent]}
        uncles = {child for parent in parents for each in self.parents[parent] for child in self.children[each]}
        for near in (siblings, {child for each in uncles & self.abnormal for child in self.children[each]}):
            fresh = sorted(near - seen, key=lambda each: digest(seed, each))
            seen |= near
            yield from fresh

    def members(self, disease: int) -> list[int]:
        """Return the rows of a disease's equivalent entries, its own first."""
        number = int(self._graph.ranker.model.candidates.of[disease])
        return [disease, *(each for each in self._merged.get(number, ()) if each != disease)]

    @cached_property
    def _merged(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = defaultdict(list)
        for row, number in enumerate(self._graph.ranker.model.candidates.of.tolist()):
            if number >= 0:
                found[number].append(row)
        return found

    def subject(self, disease: int) -> str:
        return min(self.diseases[row] for row in self.members(disease))

    def near(self, disease: int) -> list[int]:
        """Return the diseases whose findings resemble those of one, without its equivalents and its family."""
        findings = [row for each in self.members(disease) for row in self.findings.get(each, [])]
        if not findings:
            return []
        case = Case("near", tuple(Finding(self.terms[row]) for row in dict.fromkeys(findings[:FINDINGS])))
        return self.like(case, disease)

    def like(self, case: Case, disease: int | None = None) -> list[int]:
        """Return the diseases that fit a patient best, without one, its equivalents and its family."""
        ranker = self._graph.ranker
        total = ranker.score(case).total
        rows: list[int] = ranker.model.candidates.disease[np.argsort(-total, kind="stable")[:NEAR]].tolist()
        if disease is None:
            return rows
        own, family = {*self.members(disease)}, ranker.family_of(self.diseases[disease])
        return [row for row in rows if row not in own and ranker.family_of(self.diseases[row]) != family]


class NodeNames:
    """Ids of a node table's rows, and those of their names that can stand as an option or in a sentence."""

    def __init__(self, graph: Graph, table: str) -> None:
        columns = graph.snapshot.table(table).to_pydict()
        self.ids: list[str] = columns["id"]
        self._plain: list[str | None] = columns["name"]
        self._chinese: list[str | None] = columns.get("name_zh", [None] * len(self.ids))
        self._symbols = table == "gene"

    def name(self, row: int, language: str) -> str | None:
        plain = self._plain[row] or ""
        if self._symbols:
            return plain if _SYMBOL.fullmatch(plain) else None
        words = self._chinese[row] or plain if language == "zh" else plain
        return words if NAME[language].fullmatch(words) and not _ID.fullmatch(words) else None

    def both(self, row: int) -> dict[str, str]:
        return {language: name for language in LANGUAGES if (name := self.name(row, language)) is not None}


def digest(*parts: object) -> str:
    return hashlib.sha256("/".join(map(str, parts)).encode("utf-8", "surrogatepass")).hexdigest()


OPTIONS = 4
"""Options of a question."""

HELD_OUT = 5
"""One of so many subjects is held back."""

WORDINGS: Mapping[tuple[str, str], str] = {
    ("finding", "en"): "Which of these findings has been described in patients with {}?",
    ("finding", "zh"): "{}的患者可出现下列哪种表现？",
    ("gene", "en"): "Variants of which of these genes are associated with {}?",
    ("gene", "zh"): "{}与下列哪个基因的变异有关？",
    ("symptom", "zh"): "下列哪一项是{}的症状？",
    ("test", "zh"): "怀疑{}时，通常做下列哪项检查？",
    ("drug", "zh"): "{}的治疗可用下列哪种药物？",
    ("heading", "en"): "In the Human Phenotype Ontology, {} stands directly below which of these terms?",
    ("heading", "zh"): "在人类表型本体中，“{}”直接位于下列哪个术语之下？",
    ("diagnosis", "en"): "{}\n\nWhich of these is the most likely diagnosis?",
    ("diagnosis", "zh"): "{}\n\n下列哪一项是最可能的诊断？",
}
"""Kind and language → wording."""

TABLES: Mapping[str, tuple[str, str]] = {
    "finding": ("has_phenotype", "phenotype"),
    "gene": ("associated_gene", "gene"),
    "symptom": ("has_symptom", "symptom"),
    "test": ("recommend_test", "test"),
    "drug": ("recommend_drug", "drug"),
}
"""Kind → table of relations, and table of what they lead to."""

KINDS = (*TABLES, "heading")

_LONG = re.compile(r"[a-z]{5,}")
_HAN = re.compile(r"[\u4e00-\u9fff]")
_DULL = 20
"""Subjects by question wanted that are looked at in a row before no more is hoped for."""
_RINGS = 3
"""How far options that share no ancestor may stand from the right one, in diseases between them."""
_COMMON = 400
"""What so many diseases have tells nothing of one of them."""


def split_of(subject: str) -> Split:
    """Return the part that the questions on a subject belong to, whatever the seed."""
    return "held_out" if int(digest(subject)[:8], 16) % HELD_OUT == 0 else "tuned"


@dataclass(frozen=True, slots=True)
class OptionSettings:
    """What is made.

    Attributes:
        each: Questions of each kind, language and holder of the answer at most.
        splits: ``tuned`` or ``held_out``: a disease and its equivalents are in one of them.
    """

    each: int = 50
    seed: int = 0
    languages: Sequence[str] = LANGUAGES
    splits: Sequence[Split] = SPLITS
    kinds: Sequence[str] = KINDS

    def __post_init__(self) -> None:
        if unknown := [kind for kind in self.kinds if kind not in KINDS]:
            raise UsageError(f"no kind of question {unknown[0][:40]!r}", hint=f"one of {', '.join(KINDS)}")


def generate_options(graph: Graph, wanted: OptionSettings) -> Iterator[OptionQuestion]:
    """Yield option questions; the same graph and settings give the same questions."""
    maker, none = OptionMaker(graph, wanted), True
    for kind in wanted.kinds:
        for language in wanted.languages:
            for question in maker.of_kind(kind, language):
                none = False
                yield question
    if none:
        raise UsageError("the graph has nothing to ask for", hint="build it with hpoa, genes or chinese_kg")


def case_questions(graph: Graph, cases: Iterable[Case], wanted: OptionSettings) -> Iterator[OptionQuestion | CaseError]:
    """Yield a question for the diagnosis of each case, or why there is none; those of other splits are left out."""
    maker = OptionMaker(graph, wanted)
    for case in cases:
        try:
            made = maker.of_case(case)
        except CaseError as error:
            yield error
        else:
            if split_of(made.subject) in wanted.splits and made.language in wanted.languages:
                yield made


@dataclass(frozen=True, slots=True)
class _Subject:
    """A subject, what is true of it, what resembles that and is not, and the subject's own texts."""

    kind: str
    subject: str
    names: Mapping[str, str]
    right: Sequence[int]
    others: Callable[[int], Iterable[int]]
    entities: NodeNames
    texts: Sequence[TextPiece] = ()


class OptionMaker:
    def __init__(self, graph: Graph, wanted: OptionSettings) -> None:
        self._graph, self._wanted = graph, wanted
        self._like = Resemblance(graph)
        self._labels, self._diseases = Labels.of_graph(graph), NodeNames(graph, "disease")
        self._said: dict[str, frozenset[str]] = {}
        self._owners: dict[str, Mapping[int, Sequence[int]]] = {}

    def of_kind(self, kind: str, language: str) -> Iterator[OptionQuestion]:
        """Yield the questions of a kind in a language: as many as wanted for each holder of the answer."""
        left = dict.fromkeys(("neither",) if kind == "heading" else ("documents", "graph"), self._wanted.each)
        dull = 0
        for asked in self._headings() if kind == "heading" else self._subjects(kind):
            if (kind, language) not in WORDINGS or not any(left.values()) or dull > _DULL * self._wanted.each:
                return
            question = self._question(asked, language, {rest for rest, number in left.items() if number})
            dull += 1
            if question is not None:
                left[question.rests_on] -= 1
                dull = 0
                yield question

    def of_case(self, case: Case) -> OptionQuestion:
        """Return the question for a case's diagnosis.

        The others are diseases whose findings resemble its or, where the graph has none of them, the patient's; none
        that shares a telling word with it, which might be another name for it. Texts about the diagnosis are needed.
        """
        words, right = _words(case), self._labels.of(case).right
        row = int(self._graph.ranker.model.candidates.disease[right[0]]) if right else None
        language = "zh" if NAME["zh"].match(words) else "en"
        stated = case.extra.get("diagnosis")
        gold = stated if isinstance(stated, str) else None if row is None else self._diseases.name(row, language)
        if not words or not gold:
            raise CaseError(f"the case {case.id[:60]} has no words, or states no diagnosis")
        near = (row is not None and self._like.near(row)) or self._like.like(self._read(case, words), row)
        names = (name for each in near if (name := self._diseases.name(each, language)) is not None)
        others = [name for name in names if not _telling(name) & _telling(gold)]
        if len({folded(each) for each in others}) < OPTIONS - 1:
            raise CaseError(f"the graph has too few diseases that resemble that of the case {case.id[:60]}")
        options, letter = self._placed(case.id, gold, others)
        asked, members = WORDINGS["diagnosis", language].format(words), [] if row is None else self._like.members(row)
        texts = [piece for member in members for piece in self._texts.get(self._diseases.ids[member], ())]
        needed = tuple(each.id for each in texts if bool(NAME["zh"].search(each.text)) is (language == "zh"))
        subject = folded(gold) if row is None else self._like.subject(row)
        rests = "documents" if needed else "neither"
        return OptionQuestion(case.id, asked, options, letter, needed, "cases", language, subject, rests)

    def _read(self, case: Case, words: str) -> Case:
        return read_text(replace(case, text=words), self._graph.reader, self._graph.ancestry, words=True)

    def _question(self, asked: _Subject, language: str, rests: Iterable[str]) -> OptionQuestion | None:
        name, entities = asked.names.get(language), asked.entities
        if name is None:
            return None
        of = f"{asked.kind}/{asked.subject}"
        order = sorted(asked.right, key=lambda row: digest(self._wanted.seed, of, entities.ids[row]))
        named = {row: words for row in order if (words := entities.name(row, language)) is not None}
        said = {
            row: [each for each in asked.texts if self._says(each, gold, entities.ids[row])]
            for row, gold in named.items()
        }
        for row, gold in sorted(named.items(), key=lambda each: not said[each[0]]):
            if folded(gold) in folded(name) or folded(name) in folded(gold):
                continue
            spoken = [each for each in said[row] if bool(NAME["zh"].search(each.text)) is (language == "zh")]
            if said[row] and not spoken:
                continue  # said in the other language alone
            held = "documents" if spoken else "neither" if asked.kind == "heading" else "graph"
            others = self._others(asked, row, {*named.values()}, language) if held in rests else []
            if len(others) < OPTIONS - 1:
                continue
            id = f"{asked.kind}-{language}-{digest(asked.subject, gold)[:12]}"
            options, letter = self._placed(id, gold, others)
            words, needed = WORDINGS[asked.kind, language].format(name), tuple(each.id for each in spoken)
            return OptionQuestion(id, words, options, letter, needed, "graph", language, asked.subject, held)
        return None

    def _others(self, asked: _Subject, row: int, true: set[str], language: str) -> list[str]:
        found: dict[str, str] = {}
        plain = {folded(each) for each in true}
        for other in asked.others(row):
            name = asked.entities.name(other, language)
            if name is None or folded(name) in plain or any(self._says(piece, name) for piece in asked.texts):
                continue
            found.setdefault(folded(name), name)
            if len(found) == OPTIONS - 1:
                break
        return [*found.values()]

    def _placed(self, id: str, gold: str, others: Sequence[str]) -> tuple[dict[str, str], str]:
        plain = {folded(gold): gold}
        for each in others:
            if len(plain) < OPTIONS:
                plain.setdefault(folded(each), each)
        order = sorted(plain.values(), key=lambda words: digest(self._wanted.seed, id, words))
        return dict(zip(LETTERS, order, strict=False)), LETTERS[order.index(gold)]

    def _says(self, piece: TextPiece, name: str, id: str = "") -> bool:
        """Whether a piece of text names something: by its words or, by id, in other words that the graph knows."""
        if folded(name) in folded(f"{piece.title} {piece.text}"):
            return True
        if not id:
            return False
        if piece.id not in self._said:
            found = self._graph.names.mentions(f"{piece.title}. {piece.text}")
            self._said[piece.id] = frozenset(each for mention in found for each in mention.ids)
        return id in self._said[piece.id]

    @cached_property
    def _texts(self) -> dict[str, list[TextPiece]]:
        mentions = self._graph.snapshot.table("mentions").to_pydict()
        documents = self._graph.snapshot.table("document").column("id").to_pylist()
        pairs = zip(mentions["document"], mentions["disease"], strict=True)
        about = {documents[document]: self._diseases.ids[disease] for document, disease in pairs}
        found: dict[str, list[TextPiece]] = defaultdict(list)
        for piece in graph_pieces(self._graph.store):
            base = piece.id.partition("#")[0]
            found[about.get(base, base)].append(piece)
        return found

    def _subjects(self, kind: str) -> Iterator[_Subject]:
        """The diseases that have relations of a kind; those with texts and those without take turns."""
        table, end = TABLES[kind]
        relations, entities = self._like.relations(table, end), NodeNames(self._graph, end)
        common = Counter(row for rows in relations.values() for row in rows)
        for disease in self._by_turns(kind, relations):
            members = self._like.members(disease)
            known = {row for member in members for row in relations.get(member, ())}
            others = self._beside(kind, disease, known, relations)
            yield _Subject(
                kind,
                self._like.subject(disease),
                self._diseases.both(disease),
                [row for row in relations[disease] if kind == "finding" or common[row] <= _COMMON],
                others,
                entities,
                [piece for member in members for piece in self._texts.get(self._diseases.ids[member], ())],
            )

    def _by_turns(self, kind: str, relations: Mapping[int, Sequence[int]]) -> Iterator[int]:
        ids = self._diseases.ids
        order = sorted(relations, key=lambda row: digest(self._wanted.seed, kind, ids[row]))
        order = [row for row in order if split_of(self._like.subject(row)) in self._wanted.splits]
        told = [row for row in order if ids[row] in self._texts]
        plain = [row for row in order if ids[row] not in self._texts]
        for place in range(max(len(told), len(plain))):
            yield from (*told[place : place + 1], *plain[place : place + 1])

    def _beside(
        self, kind: str, disease: int, known: set[int], relations: Mapping[int, Sequence[int]]
    ) -> Callable[[int], Iterable[int]]:
        seed, like = f"{self._wanted.seed}/{kind}/{self._diseases.ids[disease]}", self._like
        if kind == "finding":
            true = {row for each in known for row in like.above(each)}
            return lambda row: (
                each for each in like.kin(row, seed) if each not in true and not known & like.above(each)
            )
        if kind == "gene":
            return lambda row: (
                each for near in like.near(disease) for each in relations.get(near, ()) if each not in known
            )
        having = self._having(kind, relations)

        def beside(row: int) -> Iterator[int]:
            ring, seen = [row], {row, *known}
            for _ in range(_RINGS):
                owners = sorted({each for one in ring for each in having[one]}, key=lambda each: digest(seed, each))
                fresh = dict.fromkeys(each for owner in owners for each in relations[owner] if each not in seen)
                ring = [each for each in fresh if len(having[each]) <= _COMMON]
                seen.update(fresh)
                yield from ring

        return beside

    def _having(self, kind: str, relations: Mapping[int, Sequence[int]]) -> Mapping[int, Sequence[int]]:
        if kind not in self._owners:
            found: dict[int, list[int]] = defaultdict(list)
            for disease, rows in relations.items():
                for row in rows:
                    found[row].append(disease)
            self._owners[kind] = found
        return self._owners[kind]

    def _headings(self) -> Iterator[_Subject]:
        like, terms = self._like, NodeNames(self._graph, "phenotype")
        for row in sorted(like.abnormal, key=lambda row: digest(self._wanted.seed, "heading", terms.ids[row])):
            id, above = terms.ids[row], like.parents[row]
            if len(above) == 1 and above[0] in like.abnormal and split_of(id) in self._wanted.splits:
                yield _Subject("heading", id, terms.both(row), above, self._headed(row), terms, self._texts.get(id, ()))

    def _headed(self, row: int) -> Callable[[int], Iterable[int]]:
        """What gives the headings beside that of a finding: none that the finding is below."""
        true, seed = self._like.above(row), f"{self._wanted.seed}/heading/{row}"
        return lambda heading: (
            each for each in self._like.kin(heading, seed) if each not in true and row not in self._like.above(each)
        )


def _telling(name: str) -> set[str]:
    plain = folded(name)
    return {*_LONG.findall(plain), *(plain[at : at + 2] for at in range(len(plain) - 1) if _HAN.match(plain[at]))}


def _words(case: Case) -> str:
    """What is told of a patient: an OSCE case's story, examination and tests, or the case's text."""
    try:
        osce = Osce.of(case)
    except CaseError:
        return case.text.strip()
    actor = case.extra["actor"].get("Demographics")
    facts = [f"{each.topic}: {each.text}" for each in (*osce.story, *osce.results)]
    return "\n".join([*([str(actor)] if actor else []), *facts])
