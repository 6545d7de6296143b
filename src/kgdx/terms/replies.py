"""Answers to a question in a person's words, in English or Chinese: yes, no, don't know, or what to do instead.

The words are in ``replies.tsv``.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from kgdx.lazy import lazy_pattern
from kgdx.terms.normalise import CJK, read_table

STATUSES = ("present", "absent", "unknown")
COMMANDS = ("skip", "back", "why", "finish")
"""What is no answer; it has to be said alone."""

_BREAK = lazy_pattern(r"\s*(?:[,.;:!，。；：！、–—-]+|(?=\bbut\b)|(?=但))\s*")
_HAN = lazy_pattern(f"[{CJK}]")


class ReplyMeaning(NamedTuple):
    """What an answer says."""

    meaning: str
    rest: str = ""
    dated: bool = False


def read_reply(text: str) -> ReplyMeaning:
    """Read how an answer begins."""
    words = text.strip()
    folded = words.casefold().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'").rstrip(".。!！ ")
    if not folded:
        return ReplyMeaning("" if words else "unknown", words)
    for phrase, meaning, alone in _openings():
        if folded == phrase:
            return ReplyMeaning(meaning)
        if meaning in COMMANDS or not folded.startswith(phrase):
            continue
        behind = words[len(phrase) :]
        mark = _BREAK.match(behind)
        if mark is not None:
            return ReplyMeaning(meaning, behind[mark.end() :], dated(behind))
        if not alone and (behind[:1].isspace() or _HAN.match(phrase)):
            return ReplyMeaning(meaning, behind.strip(), dated(behind))
    return ReplyMeaning("", words, dated(words))


def dated(words: str) -> bool:
    """Return whether words say since when, or for how long.

    Example:
        >>> dated("since Monday"), dated("on Monday")
        (True, False)
    """
    return _since().search(words.casefold()) is not None


@cache
def _openings() -> tuple[tuple[str, str, bool], ...]:
    rows = ((words, meaning, alone == "yes") for meaning, alone, words in _rows() if meaning != "since")
    found = [(phrase, meaning, alone) for words, meaning, alone in rows for phrase in words.split("|")]
    return tuple(sorted(found, key=lambda each: (-len(each[0]), each[0])))


@cache
def _since() -> re.Pattern[str]:
    phrases = "|".join(words for meaning, _, words in _rows() if meaning == "since").split("|")
    return re.compile("|".join(phrase if _HAN.search(phrase) else rf"\b{phrase}\b" for phrase in phrases))


@cache
def _rows() -> list[list[str]]:
    return read_table(Path(__file__).with_name("replies.tsv"))
