"""Whether a sentence says what the evidence says that it cites: the same entities, in the same relation.

A mark proves that its evidence exists, and not that a sentence repeats it. So the words before each mark are compared
with the evidence behind it. Only what can be compared is: an English name in a Chinese sentence proves nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product
from pathlib import Path

from kgdx.answer.evidence_pack import EvidencePack
from kgdx.lazy import lazy_pattern
from kgdx.results.cited import EvidenceItem
from kgdx.terms.normalise import fold, read_table, simplify, word_key

STATED = ("relation", "inference")
"""Kinds of evidence that state a relation between entities; others are compared by their words."""

_LATIN = lazy_pattern(r"[a-z0-9]+(?:[.'’-][a-z0-9]+)*")
_HAN = lazy_pattern("[一-鿿]+")
_MARKS = lazy_pattern(r"((?:\[E\d+\]\s*)+)")
_ID = lazy_pattern(r"E\d+")
_PLACE = lazy_pattern(r"https?://\S+|\bdoi:\S+|\bpmid:?\s?\d+|\b10\.\d{4,9}/\S+", re.IGNORECASE)
"""Addresses and numbers of publications, which are checked by themselves."""
_LISTED = lazy_pattern(r"[,;、，；]|\b(?:and|or)\b|[和及与或]")
_STEM = 4
"""Letters from which on a word with an ending is still the word."""
_MOST_LISTED = 5
"""Words of an element of a list at most; what is longer is a clause."""


@dataclass(frozen=True, slots=True)
class _Cues:
    relations: frozenset[str]
    latin: re.Pattern[str]
    han: tuple[str, ...]

    def said(self, text: str) -> bool:
        return bool(self.latin.search(text)) or any(word in text for word in self.han)


class Agreement:
    """Compares sentences with the evidence of a pack.

    Example:
        >>> from kgdx.results.evidence_paths import PathNode
        >>> flu, fever = PathNode("D:1", "Disease", "flu"), PathNode("S:1", "Symptom", "fever")
        >>> item = EvidenceItem("E1", "relation", "", subject=flu, relation="HAS_SYMPTOM", objects=(fever,))
        >>> agreement = Agreement(EvidencePack(items=(item,)))
        >>> agreement.holds("A symptom of flu is fever [E1]."), agreement.holds("It is cured by bleach [E1].")
        (True, False)
    """

    def __init__(self, pack: EvidencePack) -> None:
        self._pack = pack
        self._items = {item.id: item for item in pack.items}
        self._given: dict[str, list[str]] = {}
        for each in pack.resolved:
            for id, name in zip(each.ids, each.names, strict=False):
                self._given.setdefault(id, []).extend((each.given, name, each.matched))
        for told in pack.diseases:
            self._given.setdefault(told.id, []).extend(told.names)
        self._called: dict[str, list[str]] = {}
        for item in pack.items:
            for node in (item.subject, *item.objects):
                if node is not None:
                    self._called.setdefault(node.id, []).append(node.name)

    def holds(self, sentence: str) -> bool:
        """Whether the evidence that a sentence cites says what it says, as far as words tell."""
        cited = [self._items[id] for id in _ID.findall("".join(_MARKS.findall(sentence))) if id in self._items]
        if not cited:
            return True
        sentence = _PLACE.sub(" ", sentence)
        plain = _MARKS.sub(" ", sentence)
        return (
            self._relation_holds(plain, cited)
            and self._subject_holds(plain, cited)
            and all(self._entities_hold(claim, plain, items) for claim, items in self._claims(sentence))
        )

    def _claims(self, sentence: str) -> list[tuple[str, list[EvidenceItem]]]:
        parts = _MARKS.split(sentence)
        texts, groups = parts[0::2], parts[1::2]
        leading = not _words(texts[0]) and not _HAN.search(texts[0])
        claimed = texts[1:] if leading else texts[:-1]
        return [
            (text, [self._items[id] for id in _ID.findall(group) if id in self._items])
            for text, group in zip(claimed, groups, strict=True)
        ]

    def _relation_holds(self, plain: str, cited: Sequence[EvidenceItem]) -> bool:
        text = self._without_names(plain)
        said = [cues for cues in _relations() if cues.said(text)]
        stated = {item.relation for item in cited if item.kind in STATED}
        rest = _folded(" ".join(_wording(item) for item in cited if item.kind not in STATED))
        for cues in said:
            if not stated & cues.relations and not cues.said(rest):
                return False
        denied = "LACKS_PHENOTYPE" in stated or any(item.details.get("evidence") == "against" for item in cited)
        known = [cues for cues in said if stated & cues.relations]
        return denied or not any(_denies(text, cues) for cues in known)

    def _subject_holds(self, plain: str, cited: Sequence[EvidenceItem]) -> bool:
        text = _Text(plain)
        own = [item for item in cited if item.kind == "relation" and item.subject is not None]
        named = {id for item in own for id in (item.subject.id if item.subject else "", *(o.id for o in item.objects))}
        allowed = [name for id in named for name in self._names_of(id)]
        if not own or len(own) < len(cited) or any(text.names(name) for name in self._subjects(own)):
            return True
        if not any(text.comparable(name) for name in self._subjects(own)):
            return True
        others = {item.subject.id for item in self._pack.items if item.kind == "relation" and item.subject is not None}
        foreign = {name for id in others - named for name in self._names_of(id)}
        covered = {_folded(name) for name in allowed}
        return not any(text.names(name) for name in foreign if name and _folded(name) not in covered)

    def _subjects(self, items: Iterable[EvidenceItem]) -> list[str]:
        found = [item.subject for item in items if item.subject is not None]
        return [name for each in found for name in (each.name, each.id, *self._given.get(each.id, ())) if name]

    def _names_of(self, id: str) -> list[str]:
        return [*self._given.get(id, ()), *self._called.get(id, ())]

    def _entities_hold(self, claim: str, plain: str, items: Sequence[EvidenceItem]) -> bool:
        text = _Text(claim)
        if not text.words - _plain() and not text.han:
            text = _Text(plain)
        if not text.words - _plain() and not text.han:
            return True
        comparable = [item for item in items if any(text.comparable(each) for each in self._said(item))]
        if not comparable or len(comparable) < len(items):
            return True
        if not any(text.shares(each) for item in comparable for each in self._said(item)):
            return False
        return all(item.kind not in STATED for item in items) or self._list_holds(text, items)

    def _list_holds(self, text: _Text, items: Sequence[EvidenceItem]) -> bool:
        known: set[str] = set()
        for each in (self._pack.question, *(name for item in self._pack.items for name in self._said(item))):
            known |= _words(each)
        for item in self._pack.items:
            known |= _words(" ".join(self._subjects([item])))
        elements = [_words(each) for each in _LISTED.split(text.folded)[1:]]
        everyday = (_cue("plain"), *_relations())
        for element in elements:
            telling = {word for word in element if not word.isdigit() and len(word) > 2}
            telling = {word for word in telling if not any(cues.latin.fullmatch(word) for cues in everyday)}
            if telling and len(element) <= _MOST_LISTED and not any(_alike(*pair) for pair in product(telling, known)):
                return False
        return True

    def _said(self, item: EvidenceItem) -> list[str]:
        if item.kind == "relation":
            nodes = [*item.objects]
        elif item.kind == "inference":
            nodes = [each for each in (item.subject, *item.objects) if each is not None]
        else:
            bare = item.kind == "publication" and not _words(_PLACE.sub("", item.text))
            return [] if bare else [_wording(item)]
        names = [name for each in nodes for name in (each.name, each.id, *self._given.get(each.id, ())) if name]
        return [*names, *map(str, item.details.get("given", ()))]

    def _without_names(self, text: str) -> str:
        found = _folded(text)
        for name in self._all_names:
            if name in found:
                found = found.replace(name, " □ ")
        return found

    @cached_property
    def _all_names(self) -> list[str]:
        names = {name for item in self._pack.items for name in (*self._said(item), *self._subjects([item]))}
        return sorted({_folded(name) for name in names if 1 < len(name) < 200}, key=len, reverse=True)


class _Text:
    """A text as it is compared with names."""

    def __init__(self, text: str) -> None:
        self.folded = _folded(text)
        self.words = _words(self.folded)
        self.han = "".join(_HAN.findall(self.folded))
        self._line = f" {' '.join(_LATIN.findall(self.folded))} "

    def comparable(self, name: str) -> bool:
        han = bool(_HAN.search(name))
        return bool(self.han) if han else bool(self.words) and (not self.han or bool(self.words - _plain()))

    def names(self, name: str) -> bool:
        if _HAN.search(name):
            return _folded(name).replace(" ", "") in self.folded.replace(" ", "")
        words = _LATIN.findall(_folded(name))
        return bool(words) and f" {' '.join(words)} " in self._line

    def shares(self, name: str) -> bool:
        if self.names(name) or any(_alike(mine, said) for said in _words(name) - _plain() for mine in self.words):
            return True
        han = "".join(_HAN.findall(_folded(name)))
        return any(han[at : at + 2] in self.han for at in range(len(han) - 1)) or (len(han) == 1 and han in self.han)


def _wording(item: EvidenceItem) -> str:
    subject = "" if item.subject is None else f"{item.subject.name} {item.subject.id}"
    return f"{item.text} {subject} {item.details.get('abstract', '')} {item.relation.replace('_', ' ')}"


def _folded(text: str) -> str:
    return simplify(fold(text))


def _words(text: str) -> set[str]:
    return {key for word in _LATIN.findall(_folded(text)) for part in word.split("-") for key in word_key(part)}


def _alike(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return one == other or (len(short) >= _STEM and long.startswith(short))


def _denies(text: str, cues: _Cues) -> bool:
    negation = _cue("negation")
    latin = re.compile(rf"(?:{negation.latin.pattern})(?:\s+\w+){{0,2}}\s+(?:{cues.latin.pattern})")
    han = "|".join(negation.han)
    return bool(latin.search(text)) or any(re.search(f"(?:{han})[^，。；,;]{{0,4}}{word}", text) for word in cues.han)


@cache
def _cue(name: str) -> _Cues:
    for relations, latin, han in read_table(Path(__file__).with_name("cues.tsv")):
        if relations == name:
            forms = "|".join(re.escape(word).replace(r"\*", r"\w*") for word in latin.split())
            return _Cues(frozenset(relations.split()), re.compile(rf"\b(?:{forms})\b"), tuple(han.split()))
    raise KeyError(name)


@cache
def _relations() -> tuple[_Cues, ...]:
    rows = read_table(Path(__file__).with_name("cues.tsv"))
    return tuple(_cue(row[0]) for row in rows if row[0].isupper())


@cache
def _plain() -> frozenset[str]:
    words = next(row[1] for row in read_table(Path(__file__).with_name("cues.tsv")) if row[0] == "plain")
    return frozenset(key for word in words.split() for key in (word.rstrip("*"), *word_key(word.rstrip("*"))))
