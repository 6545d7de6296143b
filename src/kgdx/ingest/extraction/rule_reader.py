"""Reads relations by the phrases that Chinese answers use for them, without a model: few of them wrong, some missed.

A question names the disease and often what is asked of it; a sentence of the answer has a cue ("症状有", "需要做…检查",
"建议服用", "治疗方法有", "并发症有") and after it a list of names. A bare list answers what was asked. What is in a
list has to look like a name of its class, or be in the vocabulary.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from kgdx.ingest.extraction.filters import (
    TYPES,
    NameVocabulary,
    ReadRelations,
    RelationClaim,
    RelationReader,
    cues,
    denied,
    ends,
    fits,
    listed,
    looks_like,
    pattern,
    running,
    sentences,
)

VERSION = "1"
_LONGEST_QUESTION = 300
_LONGEST_ANSWER = 20_000
_LONGEST_SENTENCE = 600
_MOST_CUES = 3
_MOST_ITEMS = 40
_LONGEST_ITEM = 20

_FOLLOWS = frozenset("会要能可有是让需都该吃用买打靠临诊去患人")
"""Characters that a name's end may be seen by."""

_SUBJECT = re.compile(r"^(?:您好[，,]|你好[，,])?(?:诊断|治疗|确诊)?(?P<name>[^，,。：:；;、\s]{2,24})$")
_JOINED = re.compile(r"和|以及|及|与|或者?|还有")
_NUMBER = re.compile(r"[(（]?\d{1,2}[)）.、．]\s*|[①-⑳]")
_LEAST = {"Symptom": 2}
"""Names of a list at least where no cue tells what they are: symptoms are worded like much else."""

_TWICE = re.compile(r"(检查|治疗|症状)\1$")
_CLEAR = frozenset({"以及", "及", "还有"})
_GENERAL = frozenset(
    {"治疗", "检查", "药物", "手术", "疗法", "症状", "疾病", "方法", "化验", "并发症", "药物方面", "综合", "典型"}
)
_NO_NAME = re.compile(r"\d{2,}$|^[A-Za-z]+$")
_STRICT = frozenset({"Test"})
"""Classes of which most names of a list have to look like one: the list's cue stands in many other sentences too."""

_ITEM_END = re.compile(r"(?:等|之类)+$")
_MARKS = " \t\r\n\"'“”‘’《》「」【】。.!！?？:："


@dataclass(frozen=True, slots=True)
class RuleReader(RelationReader):
    vocabulary: NameVocabulary = field(default_factory=NameVocabulary)

    @property
    def model(self) -> str:
        return f"kgdx rules {VERSION}"

    @property
    def prompt(self) -> str | None:
        return None

    @property
    def signature(self) -> str:
        return f"rules {VERSION} {self.vocabulary.digest}"

    def read(self, question: str, answer: str) -> ReadRelations:
        question, answer = question[:_LONGEST_QUESTION], answer[:_LONGEST_ANSWER]
        topic, asked = self._topic(question)
        parts = [part[:_LONGEST_SENTENCE] for part in sentences(answer)]
        found: list[RelationClaim] = []
        for part in parts:
            found += self._sentence(part, topic, asked)
        if not any(statement.type == asked for statement in found) and asked and topic:
            found += self._bare(parts, topic, asked) or self._loose(parts, topic, asked)
        return ReadRelations(tuple(found))

    def _topic(self, question: str) -> tuple[str | None, str | None]:
        asked = next((type_ for type_ in listed("asked") if pattern("asked", type_).search(question)), None)
        clauses = [part for part in re.split(r"[，,。？?！!；;：:\n]", question) if len(part.strip()) > 1]
        for clause in (each.strip() for each in reversed(clauses)):
            before = pattern("before_disease").match(clause)
            for start in (before.end(), 0) if before and before.end() else (0,):
                name = self._disease(clause[start:])
                if name is not None:
                    return name, asked
        return None, asked

    def _disease(self, words: str) -> str | None:
        names = [words[: behind.start()].strip(_MARKS) for behind in pattern("behind_disease").finditer(words)]
        known = [name for name in names if self.vocabulary.holds(name, "Disease")]
        if known:
            return max(known, key=len)
        for name in names:
            if 2 <= len(name) <= _LONGEST_ITEM + 4 and looks_like(name, "Disease") and not running(name):
                return name
        for size in range(min(_LONGEST_ITEM, len(words)), 2, -1):
            name = words[:size]
            follows = words[size : size + 1] in _FOLLOWS
            if follows and looks_like(name, "Disease") and not running(name) and not pattern("link").search(name):
                return name
        return None

    def _sentence(self, sentence: str, topic: str | None, asked: str | None) -> Iterator[RelationClaim]:
        for type_ in TYPES:
            if not pattern("hints", type_).search(sentence):
                continue
            patterns = cues(type_)
            if type_ == "HAS_COMORBIDITY" and (type_ == asked or pattern("worse").search(sentence)):
                patterns = (*patterns, pattern("consequence"))
            for place, text in _cued(patterns, sentence):
                subject = _SUBJECT.match(sentence[:place].strip())
                head = (self._disease(subject["name"]) if subject else None) or topic
                items = self._items(text, ends()[type_][1], strict=type_ != asked)
                if head is not None and items:
                    yield from _stated(type_, head, items, sentence)
                    break

    def _bare(self, parts: list[str], topic: str, asked: str) -> list[RelationClaim]:
        for part in parts:
            text = part.strip(_MARKS)
            items = self._items(text, ends()[asked][1], strict=False)
            if items and sum(map(len, items)) >= 0.75 * len(_NUMBER.sub("", text)) - len(items):
                return list(_stated(asked, topic, items, part))
        return []

    def _loose(self, parts: list[str], topic: str, asked: str) -> list[RelationClaim]:
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
        led = pattern("leading").search(piece) if first else None
        if first and led is None and class_ == "Symptom":
            return None
        name = self._name(pattern("following").sub("", piece[led.end() :] if led else piece), class_)
        return name if name is None or class_ == "Symptom" or self._sure(name, class_) else None

    def _items(self, text: str, class_: str, *, strict: bool) -> list[str]:
        end = pattern("tail").search(text)
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
        if strict and class_ in _STRICT and 2 * sum(self._sure(item, class_) for item in items) < len(items):
            return []
        return items

    def _name(self, piece: str, class_: str) -> str | None:
        piece = re.split("[:：]", piece.strip(_MARKS))[-1]
        if class_ == "Cure" and (end := pattern("cure_end").search(piece)):
            piece = piece[: end.start()]
        if self.vocabulary.holds(piece, class_):
            return piece
        piece = _ITEM_END.sub("", pattern("item_start").sub("", piece))
        piece = _TWICE.sub(r"\1", piece)
        return piece if self._plausible(piece, class_) else None

    def _parted(self, piece: str, class_: str) -> list[str]:
        if self.vocabulary.holds(piece, class_):
            return [piece]
        if len(piece) > 2 * _LONGEST_ITEM:
            return []
        for joint in _JOINED.finditer(piece):
            names = [self._name(piece[: joint.start()], class_), self._name(piece[joint.end() :], class_)]
            if names[0] is not None and (names[1] is not None or joint.group() in _CLEAR):
                return [each for each in names if each is not None]
        return []

    def _sure(self, name: str, class_: str) -> bool:
        return self.vocabulary.holds(name, class_) or looks_like(name, class_)

    def _plausible(self, name: str, class_: str) -> bool:
        if self.vocabulary.holds(name, class_):
            return True
        if not 2 <= len(name) <= _LONGEST_ITEM or name in _GENERAL or running(name) or not fits(name, class_):
            return False
        if class_ in ("Drug", "Cure"):
            return looks_like(name, class_) and not (class_ == "Drug" and name[0] == "药")
        return class_ == "Test" or _NO_NAME.search(name) is None


def _cued(patterns: Sequence[re.Pattern[str]], sentence: str) -> Iterator[tuple[int, str]]:
    for cue in patterns:
        at = 0
        for _ in range(_MOST_CUES):
            match = cue.search(sentence, at)
            if match is None:
                break
            yield match.start(), match["list"]
            at = match.start("list")


def _stated(type_: str, head: str, items: list[str], sentence: str) -> Iterator[RelationClaim]:
    start, end = ends()[type_]
    for item in items:
        if item != head and not denied(sentence, item, type_):
            yield RelationClaim(type_, head, item, start, end, sentence)
