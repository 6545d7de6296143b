"""The check of an answer's citations: a mark, a PMID or a DOI that no evidence carries is taken out and counted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from kgdx.actions.items import EvidencePack, language_of
from kgdx.actions.sentences import Piece, marks, split
from kgdx.results.cited import CitedText, Sentence

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
_LACKS = re.compile(r"[\s>*_\-]*(?:not enough evidence|insufficient evidence|证据不足|证据不够)", re.IGNORECASE)
_PMIDS = re.compile(
    r"(?:(?:https?://)?(?:www\.)?(?:pubmed\.ncbi\.nlm\.nih\.gov|ncbi\.nlm\.nih\.gov/pubmed)/|PMIDs?\s?[:：#]?\s?)"
    r"(\d{1,9}(?:\s?[,，;；、]\s?(?:PMID\s?[:：]?\s?)?\d{4,9}){0,50})/?",
    re.IGNORECASE,
)
_DOI = re.compile(
    r"(?:https?://(?:dx\.)?doi\.org/|doi\s?[:：]?\s?)?\b(10\.\d{4,9}/[^\s\"'<>\[\]【】，。；（）]+)", re.IGNORECASE
)
_LEFT = re.compile(r" +( |[.,;:!?。，；：！？])")
_EMPTY = re.compile(r"\s?[(（\[【]\s?(?:[,;，；、]\s?)*[)）\]】]")


def check(
    text: str, pack: EvidencePack, *, strict: bool = True, language: str = "", author: str = "template"
) -> CitedText:
    """Hold an answer against its evidence.

    Args:
        text: The answer, with marks such as ``[E1]``.
        pack: The evidence.
        strict: Whether it may rest on nothing else.
        language: Of the answer; found out when not given.
        author: Who wrote it.

    Example:
        >>> made = check("Ptosis is typical [E9]. See PMID: 123.", EvidencePack())
        >>> made.removed, made.unsupported, made.insufficient
        (('PMID:123', 'E9'), 2, True)
    """
    language = language or language_of(text)
    removed: list[str] = []
    text = _without_inventions(_printable(text[:MAX_CHARS]), pack, removed)
    pieces = split(text)
    known = pack.ids
    sentences = list(_led([_marked(piece, known, removed) for piece in pieces], pieces))
    lacks = any(_LACKS.match(each.text) for each in sentences)
    if strict and not lacks and not any(each.cites for each in sentences):
        lacks = True
        following = [replace(each, gap=each.gap if number else "\n") for number, each in enumerate(sentences)]
        sentences = [Sentence(NOTHING_CITED[language], gap=""), *following]
    unsupported = sum(not each.supported for each in sentences)
    return CitedText(tuple(sentences), tuple(removed), unsupported, lacks, author, strict, language)


def _printable(text: str) -> str:
    return "".join(each if each.isprintable() or each == "\n" else " " for each in text)


def _without_inventions(text: str, pack: EvidencePack, removed: list[str]) -> str:
    """Take out PMIDs and DOIs that no evidence carries."""
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


def _marked(piece: Piece, known: frozenset[str], removed: list[str]) -> Sentence:
    """The sentence with its marks in one form, those of evidence that does not exist taken out."""
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
    supported = bool(cites) or _claims_nothing(text)
    return Sentence(text, tuple(dict.fromkeys(cites)), supported, piece.gap)


def _claims_nothing(text: str) -> bool:
    """Whether a sentence says what the evidence lacks, or has no words."""
    return bool(_LACKS.match(text)) or not any(each.isalnum() for each in text)


def _led(sentences: Sequence[Sentence], pieces: Sequence[Piece]) -> Iterator[Sentence]:
    """The sentences; a heading, or a short line that leads to a list, is supported when all that it leads to is."""
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
