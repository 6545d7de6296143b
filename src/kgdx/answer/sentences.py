"""Sentences of an answer, the marks of evidence in them, and the check that takes out what nothing carries."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import product
from pathlib import Path

from kgdx.answer.evidence_pack import EvidencePack, language_of
from kgdx.lazy import lazy_pattern
from kgdx.results.cited import CitedText, EvidenceItem, Sentence
from kgdx.terms.normalise import fold, read_table, simplify, word_key

STATED = ("relation", "inference")
"""Kinds of evidence that state a relation between entities; others are compared by their words."""

_LATIN = lazy_pattern(r"[a-z0-9]+(?:[.'’-][a-z0-9]+)*")
_CHINESE = lazy_pattern("[一-鿿]+")
_MARKS = lazy_pattern(r"((?:\[E\d+\]\s*)+)")
_CITED = lazy_pattern(r"E\d+")
_PLACE = lazy_pattern(r"https?://\S+|\bdoi:\S+|\bpmid:?\s?\d+|\b10\.\d{4,9}/\S+", re.IGNORECASE)
"""Addresses and numbers of publications, which are checked by themselves."""
_LISTED = lazy_pattern(r"[,;、，；]|\b(?:and|or)\b|[和及与或]")
_STEM = 4
_MOST_LISTED = 5


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
        for id, called in pack.called.items():
            self._given.setdefault(id, []).extend(called.values())
        self._called: dict[str, list[str]] = {}
        for item in pack.items:
            for node in (item.subject, *item.objects):
                if node is not None:
                    self._called.setdefault(node.id, []).append(node.name)

    def holds(self, sentence: str) -> bool:
        """Whether the evidence that a sentence cites says what it says, as far as words tell."""
        cited = [self._items[id] for id in _CITED.findall("".join(_MARKS.findall(sentence))) if id in self._items]
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
        leading = not _words_of(texts[0]) and not _CHINESE.search(texts[0])
        claimed = texts[1:] if leading else texts[:-1]
        return [
            (text, [self._items[id] for id in _CITED.findall(group) if id in self._items])
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
        own = [item for item in items if item.kind == "relation"]
        subjects = frozenset(word for name in self._subjects(own) for word in _words_of(name))
        text = _Text(claim, subjects)
        if not text.telling and not text.han:
            text = _Text(plain, subjects)
        if not text.telling and not text.han:
            return True
        comparable = [item for item in items if any(text.comparable(each) for each in self._said(item))]
        if not comparable or len(comparable) < len(items):
            return True
        if len(items) <= _MOST_LISTED and not any(
            text.shares(each) for item in comparable for each in self._said(item)
        ):
            return False  # of more it may tell the number, or what they have in common
        return all(item.kind not in STATED for item in items) or self._list_holds(text, items)

    def _list_holds(self, text: _Text, items: Sequence[EvidenceItem]) -> bool:
        known: set[str] = set()
        for each in (self._pack.question, *(name for item in self._pack.items for name in self._said(item))):
            known |= _words_of(each)
        for item in self._pack.items:
            known |= _words_of(" ".join(self._subjects([item])))
        elements = [_words_of(each) for each in _LISTED.split(text.folded)[1:]]
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
            bare = item.kind == "publication" and not _words_of(_PLACE.sub("", item.text))
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

    def __init__(self, text: str, subjects: frozenset[str] = frozenset()) -> None:
        self.folded = _folded(text)
        self.words = _words_of(self.folded)
        spoken = {word for word in self.words if len(word) > 2 and not word.isdigit()}
        self.telling = spoken - _plain() - subjects
        """Words that name something beside the subject: no numbers, no grammar."""
        self.han = "".join(_CHINESE.findall(self.folded))
        self._line = f" {' '.join(_LATIN.findall(self.folded))} "

    def comparable(self, name: str) -> bool:
        han = bool(_CHINESE.search(name))
        return bool(self.han) if han else bool(self.words) and (not self.han or bool(self.telling))

    def names(self, name: str) -> bool:
        if _CHINESE.search(name):
            return _folded(name).replace(" ", "") in self.folded.replace(" ", "")
        words = _LATIN.findall(_folded(name))
        return bool(words) and f" {' '.join(words)} " in self._line

    def shares(self, name: str) -> bool:
        if self.names(name) or any(_alike(mine, said) for said in _words_of(name) - _plain() for mine in self.words):
            return True
        han = "".join(_CHINESE.findall(_folded(name)))
        return any(han[at : at + 2] in self.han for at in range(len(han) - 1)) or (len(han) == 1 and han in self.han)


def _wording(item: EvidenceItem) -> str:
    subject = "" if item.subject is None else f"{item.subject.name} {item.subject.id}"
    return f"{item.text} {subject} {item.details.get('abstract', '')} {item.relation.replace('_', ' ')}"


def _folded(text: str) -> str:
    return simplify(fold(text))


def _words_of(text: str) -> set[str]:
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


_words = str.split
_HAN = "一-鿿"
_BULLET = lazy_pattern(r"\s{0,8}(?:[-*•·]\s+|\d{1,3}[.)](?=\s)|\d{1,3}、|[（(]\d{1,3}[）)]|#{1,6}\s+)\s*")
_END = lazy_pattern(rf"[。！？]+|[!?]+(?=[\s\"'”’)\]\[【［(（]|$|[{_HAN}])|\.+(?=[\s\"'”’)\[【［(（]|$|[{_HAN}])")
_CLOSING = lazy_pattern(r"[\"'”’』」）)\*_]*")
_BRACKETS = lazy_pattern(r"[\[【［(（]([^\[\]【】［］()（）]{1,200})[\]】］)）](?:\((?:https?:|#)[^()\s]{0,500}\))?")
_ID = lazy_pattern(r"[E](\d{1,6})")
_SPAN = lazy_pattern(r"E(\d{1,6})\s?(?:-|–|—|~|至|到|to)\s?E?(\d{1,6})")
_LABEL = lazy_pattern(r"^(?:evidence|sources?|refs?\.?|证据|依据|来源|参见|见|see|cf\.)?\s?[:#^]?\s?", re.IGNORECASE)
_BETWEEN = lazy_pattern(r"[\s,;、/|&^]|and|和|及|与|以及", re.IGNORECASE)
_NUMBERS = lazy_pattern(r"\^?\d{1,3}(?:\s?[,\-–]\s?\d{1,3}){0,20}")
_WIDE = str.maketrans("ＥｅeE０１２３４５６７８９，；：～", "EEEE0123456789,;:~")
"""Full-width forms, which models write in Chinese text, and small letters."""

_TITLES = frozenset(_words("dr mr mrs ms prof st vs e.g i.e cf ca approx resp incl esp viz al"))
"""Abbreviations that do not end a sentence, whatever follows."""

_NUMBERED = frozenset(_words("no fig nos figs vol p pp ch sec tab eq"))
"""Abbreviations that do not end a sentence before a number."""

_LETTERED = frozenset(_words("hepatitis vitamin influenza type grade stage group factor class protein"))
"""Words that a single letter goes with: it is no initial then, and the full stop after it ends a sentence."""

_WIDEST_SPAN = 200

MAX_CHARS = 20_000
"""Characters of an answer at most; what is longer is cut there."""

INSUFFICIENT = {"en": "Not enough evidence", "zh": "证据不足"}
"""How a sentence begins that says what the evidence lacks; it needs no mark."""

NOTHING_CITED = {
    "en": "Not enough evidence: nothing below rests on what the graph returned.",
    "zh": "证据不足：以下内容均没有图谱返回的证据支持。",
}
"""Stands before a strict answer that cites nothing at all."""

_LONGEST_TITLE = 80
_LACKS = lazy_pattern(r"[\s>*_\-]*(?:not enough evidence|insufficient evidence|证据不足|证据不够)", re.IGNORECASE)
_PMIDS = lazy_pattern(
    r"(?:(?:https?://)?(?:www\.)?(?:pubmed\.ncbi\.nlm\.nih\.gov|ncbi\.nlm\.nih\.gov/pubmed)/|PMIDs?\s?[:：#]?\s?)"
    r"(\d{1,9}(?:\s?[,，;；、]\s?(?:PMID\s?[:：]?\s?)?\d{4,9}){0,50})/?",
    re.IGNORECASE,
)
_DOI = lazy_pattern(
    r"(?:https?://(?:dx\.)?doi\.org/|doi\s?[:：]?\s?)?\b(10\.\d{4,9}/[^\s\"'<>\[\]【】，。；（）]+)", re.IGNORECASE
)
_LEFT = lazy_pattern(r" +( |[.,;:!?。，；：！？])")
_EMPTY = lazy_pattern(r"\s?[(（\[【]\s?(?:[,;，；、]\s?)*[)）\]】]")


@dataclass(frozen=True, slots=True)
class SentencePiece:
    """A sentence as it was written."""

    text: str
    gap: str = ""
    item: bool = False
    title: bool = False


@dataclass(frozen=True, slots=True)
class Mark:
    """A mark of evidence: where it stands, and the ids that it names; a plain number such as ``[1]`` names ``1``."""

    start: int
    end: int
    ids: tuple[str, ...]


def split(text: str) -> list[SentencePiece]:
    """Split an answer into its sentences; marks that stand behind a sentence's end belong to it.

    Example:
        >>> [piece.text for piece in split("Fever is typical, e.g. at 39.5 °C. [E1] Cough is, too [E2].")]
        ['Fever is typical, e.g. at 39.5 °C. [E1]', 'Cough is, too [E2].']
        >>> [piece.text for piece in split("常见发热【E1】。咳嗽也常见。［E2］")]
        ['常见发热【E1】。', '咳嗽也常见。［E2］']
    """
    found: list[SentencePiece] = []
    gap = ""
    for line in text.split("\n"):
        if not line.strip():
            gap += "\n"
            continue
        bullet = _BULLET.match(line)
        start, indent = bullet.end() if bullet else 0, len(line) - len(line.lstrip())
        pieces = [piece for piece in _of_line(line.strip(), max(0, start - indent)) if piece.text]
        for number, piece in enumerate(pieces):
            first = number == 0
            title = (bool(bullet) and line.lstrip().startswith("#")) or piece.text.rstrip("*_ ").endswith((":", "："))
            item = first and bullet is not None and not line.lstrip().startswith("#")
            found.append(replace(piece, gap=gap if first else piece.gap, item=item, title=title))
        gap = "\n"
    if found:
        found[0] = replace(found[0], gap="")
    return found


def marks(text: str) -> Iterator[Mark]:
    """Yield the marks of a text: ``[E1]``, ``[E1, E3]``, ``[E1-E3]``, ``(E1)``, ``【Ｅ１】``, ``[1]``.

    Example:
        >>> [mark.ids for mark in marks("a [E1, E3], b 【证据：Ｅ２】, c (E4-6), d [1], e (see below)")]
        [('E1', 'E3'), ('E2',), ('E4', 'E5', 'E6'), ('1',)]
    """
    for found in _BRACKETS.finditer(text):
        ids = _ids(found[1].translate(_WIDE).strip(), square=found[0][0] not in "(（")
        if ids:
            yield Mark(found.start(), found.end(), ids)


def _ids(content: str, *, square: bool) -> tuple[str, ...]:
    if square and _NUMBERS.fullmatch(content):
        return tuple(re.findall(r"\d+", content))
    content = _LABEL.sub("", content, count=1)
    ids: list[str] = []

    def spread(span: re.Match[str]) -> str:
        first, last = int(span[1]), int(span[2])
        ids.extend(f"E{number}" for number in range(first, min(last, first + _WIDEST_SPAN) + 1))
        return " "

    rest = _SPAN.sub(spread, content)
    ids.extend(f"E{int(number)}" for number in _ID.findall(rest))
    return tuple(dict.fromkeys(ids)) if not _BETWEEN.sub("", _ID.sub("", rest)) else ()


def _of_line(line: str, start: int) -> Iterator[SentencePiece]:
    found = {mark.start: mark for mark in marks(line)}
    inside = {place for mark in found.values() for place in range(mark.start, mark.end)}
    leading = start in found  # marks stand before what they belong to, all through the line
    begin, gap = 0, ""
    for end in _END.finditer(line, start):
        if end.start() < begin or end.start() in inside:
            continue
        if end[0].startswith(".") and not _ends(line, end.start(), end.end()):
            continue
        after = _CLOSING.match(line, end.end())
        stop = after.end() if after else end.end()
        while not leading and (mark := found.get(_past(line, stop))):
            stop = mark.end
        if stop < len(line) and line[stop] in "。.!?！？" and stop > end.end():
            stop += 1
        yield SentencePiece(line[begin:stop].strip(), gap)
        begin = _past(line, stop)
        gap = " " if begin > stop else ""
    yield SentencePiece(line[begin:].strip(), gap)


def _ends(line: str, at: int, past: int) -> bool:
    before = line[:at].rpartition(" ")[2].lstrip("([\"'（").lower()
    rest = line[past:].lstrip("\"'”’)")
    following = rest.lstrip()
    if not following:
        return True
    if before in _TITLES or (before in _NUMBERED and following[0].isdigit()):
        return False
    if len(before) == 1 and before.isascii() and before.isalpha():
        word = line[:at].split()[-2:-1]
        return bool(word) and word[0].lower() in _LETTERED and not following[0].islower()
    return not following[0].islower()


def _past(line: str, at: int) -> int:
    while at < len(line) and line[at].isspace():
        at += 1
    return at


def check(
    text: str, pack: EvidencePack, *, strict: bool = True, language: str = "", author: str = "template"
) -> CitedText:
    """Hold an answer, with marks such as ``[E1]``, against its evidence; if ``strict`` it may rest on nothing else.

    Example:
        >>> made = check("Ptosis is typical [E9]. See PMID: 123.", EvidencePack())
        >>> made.removed, made.unsupported, made.insufficient
        (('PMID:123', 'E9'), 2, True)
    """
    language = language or language_of(text)
    removed: list[str] = []
    printable = "".join(each if each.isprintable() or each == "\n" else " " for each in text[:MAX_CHARS])
    text = _without_inventions(printable, pack, removed)
    pieces = split(text)
    known = pack.ids
    agreement = Agreement(pack)
    sentences = [
        replace(each, agrees=agreement.holds(each.text))
        for each in _led([_marked(piece, known, removed) for piece in pieces], pieces)
    ]
    lacks = any(_LACKS.match(each.text) for each in sentences)
    if strict and not lacks and not any(each.cites for each in sentences):
        lacks = True
        following = [replace(each, gap=each.gap if number else "\n") for number, each in enumerate(sentences)]
        sentences = [Sentence(NOTHING_CITED[language], gap=""), *following]
    unsupported = sum(not each.supported for each in sentences)
    wrong = sum(not each.agrees for each in sentences)
    return CitedText(tuple(sentences), tuple(removed), unsupported, lacks, author, strict, language, wrong)


def _without_inventions(text: str, pack: EvidencePack, removed: list[str]) -> str:
    known = {each.upper() for each in pack.publications}
    known |= {f"DOI:{each.doi}".upper() for each in pack.citations if each.doi}

    def pmids(found: re.Match[str]) -> str:
        ids = [f"PMID:{int(number)}" for number in re.findall(r"\d+", found[1])]
        kept = [id for id in ids if id in known]
        removed.extend(id for id in ids if id not in known)
        return found[0] if len(kept) == len(ids) else ", ".join(kept)

    def doi(found: re.Match[str]) -> str:
        name = found[1].rstrip(".,;:)。）")
        if f"DOI:{name}".upper() in known:
            return found[0]
        removed.append(f"doi:{name}")
        return found[1][len(name) :]

    cleaned = _DOI.sub(doi, _PMIDS.sub(pmids, text))
    return text if cleaned == text else _LEFT.sub(r"\1", _EMPTY.sub("", cleaned))


def _marked(piece: SentencePiece, known: frozenset[str], removed: list[str]) -> Sentence:
    parts: list[str] = []
    cites: list[str] = []
    at = 0
    for mark in marks(piece.text):
        kept = [id for id in mark.ids if id in known]
        removed.extend(id if id.startswith("E") else f"[{id}]" for id in mark.ids if id not in known)
        cites += kept
        before = piece.text[at : mark.start]
        parts.append(before if kept else before.rstrip())
        parts.append("".join(f"[{id}]" for id in kept))
        at = mark.end
    text = "".join([*parts, piece.text[at:]]).strip()
    supported = bool(cites or _LACKS.match(text)) or not any(each.isalnum() for each in text)
    return Sentence(text, tuple(dict.fromkeys(cites)), supported, piece.gap)


def _led(sentences: Sequence[Sentence], pieces: Sequence[SentencePiece]) -> Iterator[Sentence]:
    for number, (sentence, piece) in enumerate(zip(sentences, pieces, strict=True)):
        if sentence.supported or not piece.title or len(sentence.text) > _LONGEST_TITLE:
            yield sentence
            continue
        led: list[Sentence] = []
        for follower, how in zip(sentences[number + 1 :], pieces[number + 1 :], strict=True):
            if how.title or (led and not how.item and "\n" in how.gap and pieces[number + 1].item):
                break
            led.append(follower)
        yield replace(sentence, supported=bool(led) and all(each.supported for each in led))
