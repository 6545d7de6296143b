"""Sentences of an answer, the marks of evidence in them, and the check that takes out what nothing carries."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from kgdx.answer.agreement import Agreement
from kgdx.answer.evidence_pack import EvidencePack, language_of
from kgdx.lazy import lazy_pattern
from kgdx.results.cited import CitedText, Sentence

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
"""Most ids that one mark such as ``[E1-E9]`` stands for."""

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
