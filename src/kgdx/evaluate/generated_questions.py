"""Question sets made from a graph's own relations: every relation of a source is asked for, in several wordings.

A ``get`` question names a disease and has all its relations of one type as gold. An ``infer`` question names up to
three of a disease's symptoms (tests, drugs, treatments, complications), and its gold are all diseases that have every
one of them; names that too many diseases share are not asked about.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from kgdx.episode.operations import Queries
from kgdx.errors import UsageError
from kgdx.evaluate.question_sets import (
    LANGUAGES,
    SPLITS,
    BenchmarkQuestion,
    Gold,
    Language,
    QuestionTemplate,
    Split,
    joined,
    wordings,
)
from kgdx.graph.protocol import Row
from kgdx.terms.names.entity_names import POPULATION

SOURCE = "chinese_kg"
DISEASES = 100
"""Diseases asked about for each action, unless it is said otherwise."""

MOST_NAMED = 3
"""Names in an ``infer`` question at most."""

MOST_GOLD = 10
"""Diseases that an ``infer`` question may have as its answer at most: half of what an action gives if nothing else is
asked for, so that diseases with equivalent symptoms, which are right too, do not push them out."""

_TRIES = 4
_BATCH = 200
_NAME = re.compile(r"[^、，,;；。？?…]{2,20}")
"""A name that can stand in a sentence; some of the source's are cut off or are sentences themselves."""

_ENGLISH = re.compile(r"(?=.*[a-z])[A-Za-z][A-Za-z0-9 '’-]{4,60}")


@dataclass(frozen=True, slots=True)
class RelationTemplates:
    """A kind of relation: the templates that read it in both directions."""

    get: str
    infer: str
    parameter: str


ASKED: Mapping[str, RelationTemplates] = {
    "symptom": RelationTemplates("symptoms_of_diseases", "infer_diseases_by_symptoms", "symptoms"),
    "test": RelationTemplates("tests_of_diseases", "infer_diseases_by_tests", "tests"),
    "drug": RelationTemplates("drugs_of_diseases", "infer_diseases_by_drugs", "drugs"),
    "cure": RelationTemplates("cures_of_diseases", "infer_diseases_by_cures", "cures"),
    "comorbidity": RelationTemplates("comorbidities_of_diseases", "infer_diseases_by_comorbidities", "comorbidities"),
}
"""Last word of the actions' names → what they read."""


@dataclass(frozen=True, slots=True)
class _Disease:
    id: str
    names: Mapping[Language, str]


def generate(
    graph: Queries,
    *,
    source: str = SOURCE,
    diseases: int | None = DISEASES,
    seed: int = 0,
    languages: Sequence[Language] = LANGUAGES,
    splits: Sequence[Split] = SPLITS,
) -> Iterator[BenchmarkQuestion]:
    """Yield questions for all ten actions; the same graph, arguments and seed give the same questions.

    Each is asked once in every language and split, in a wording drawn by the seed. A disease is called by its English
    name in an English question where the source has one; other names stand in the question as the source has them.
    """
    known = _diseases(graph.run("diseases_of_source", source=source))
    ask = _QuestionMaker(graph, seed, tuple(languages), tuple(splits))
    none = True
    for kind in ASKED:
        order = sorted(known, key=lambda disease: _digest(seed, kind, disease.id))
        for disease, entities in islice(ask.related(kind, order), diseases):
            none = False
            yield from ask.get(kind, disease, entities)
        groups = (ask.group(kind, disease, entities) for disease, entities in ask.related(kind, order))
        for group in islice(filter(None, groups), diseases):
            yield from ask.infer(kind, group)
    if none:
        hint = "build the graph with it, or name another source of `kgdx status`"
        raise UsageError(f"no disease of the source {source[:60]!r} has relations to ask for", hint=hint)


@dataclass(frozen=True, slots=True)
class _Group:
    """Names to infer from, and the diseases that have all of them."""

    disease: _Disease
    names: tuple[str, ...]
    gold: tuple[Gold, ...]


@dataclass(frozen=True, slots=True)
class _QuestionMaker:
    graph: Queries
    seed: int
    languages: tuple[Language, ...]
    splits: tuple[Split, ...]

    def related(self, kind: str, order: Sequence[_Disease]) -> Iterator[tuple[_Disease, tuple[Gold, ...]]]:
        for begin in range(0, len(order), _BATCH):
            batch = order[begin : begin + _BATCH]
            found: dict[str, dict[str, Gold]] = {}
            for row in self.graph.run(ASKED[kind].get, diseases=[disease.id for disease in batch]):
                found.setdefault(row["disease"], {})[row["id"]] = Gold(id=row["id"], name=row["name"])
            for disease in batch:
                if disease.id in found:
                    yield disease, tuple(found[disease.id].values())

    def get(self, kind: str, disease: _Disease, entities: tuple[Gold, ...]) -> Iterator[BenchmarkQuestion]:
        for wording in self._wordings(f"get_{kind}", disease.id):
            name = disease.names[wording.language]
            yield self._question(wording, disease, (name,), entities, (disease.id,))

    def group(self, kind: str, disease: _Disease, entities: tuple[Gold, ...]) -> _Group | None:
        """Some of a disease's entities that few diseases have together; ``None`` where there are none."""
        named = [each for each in entities if _NAME.fullmatch(each.name)]
        chance = random.Random(_digest(self.seed, kind, disease.id))
        for _ in range(_TRIES):
            drawn = chance.sample(named, min(len(named), MOST_NAMED))
            if not drawn:
                return None
            rows = self.graph.run(
                ASKED[kind].infer,
                min_match_count=len({each.name for each in drawn}),
                limit=MOST_GOLD + 1,
                **{ASKED[kind].parameter: [{"given": each.name, "id": each.id} for each in drawn]},
            )
            if 0 < len(rows) <= MOST_GOLD:
                gold = tuple(Gold(id=row["id"], name=row["name"]) for row in rows)
                return _Group(disease, tuple(each.name for each in drawn), gold)
        return None

    def infer(self, kind: str, group: _Group) -> Iterator[BenchmarkQuestion]:
        for wording in self._wordings(f"infer_by_{kind}", group.disease.id):
            yield self._question(wording, group.disease, group.names, group.gold, ())

    def _wordings(self, action: str, key: str) -> Iterator[QuestionTemplate]:
        for language in self.languages:
            for split in self.splits:
                ways = tuple(wordings(action, language, split))
                yield ways[int(_digest(self.seed, action, language, split, key), 16) % len(ways)]

    def _question(
        self,
        wording: QuestionTemplate,
        disease: _Disease,
        names: tuple[str, ...],
        gold: tuple[Gold, ...],
        subjects: tuple[str, ...],
    ) -> BenchmarkQuestion:
        return BenchmarkQuestion(
            id=f"{wording.action}/{wording.language}/{wording.split}/{disease.id}",
            question=wording.asking(names),
            language=wording.language,
            action=wording.action,
            entities=names,
            subjects=subjects,
            gold=gold,
            reference=joined(tuple(each.name for each in gold), wording.language),
            wording=wording.id,
            split=wording.split,
        )


def _diseases(rows: Sequence[Row]) -> list[_Disease]:
    """The diseases with what they are called in a question.

    An English name is used where it means that one disease: sources give the name of the disease in all patients to
    that of some (小儿肺栓塞, "pulmonary embolism"), and one name to several.
    """
    called = Counter(name.casefold() for row in rows for name in {row["name"], *row["synonyms"]})
    return [_disease(row, called) for row in rows]


def _disease(row: Row, called: Mapping[str, int]) -> _Disease:
    name = row["name_zh"] or row["name"]
    usable = () if re.search(POPULATION, name) else row["synonyms"]
    english = (each for each in usable if _ENGLISH.fullmatch(each) and called[each.casefold()] == 1)
    return _Disease(row["id"], {"zh": name, "en": next(english, row["name"])})


def _digest(*parts: object) -> str:
    return hashlib.sha256("/".join(map(str, parts)).encode()).hexdigest()
