"""Questions with options to choose from, and the option that an answer chooses."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from kgdx.errors import UsageError
from kgdx.lazy import lazy_pattern

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

_STATED = lazy_pattern(
    r"(?:\b(?:answer|option|choice)(?: choice)?\b[\"'*_`]*\s*(?:(?:(?:would|should|must|will) be|is|are|was|:|=)+|\n)"
    r"|\\boxed|\b(?:choose|select|pick)\b(?:\s+(?:option|answer))?"
    r"|(?:答案|选项)(?:应该|应)?(?:选择|选|是|为|[:=])+|选择?)"
    r"\s*(?P<not>not\b|不)?",
    re.IGNORECASE,
)

_OPEN = r"[#\s\"'“‘*_`({\[<【:$]*(?:(?:\\text\{|option\b|choice\b|answer\b|选项|答案)[\s({\[]*)?"
_CLOSE = r"[\"'”’*_`)}\]>】$]*"
_LETTER = r"(?P<letter>[A-Za-z])(?![A-Za-z0-9'’-])"
_LABEL = lazy_pattern(rf"{_OPEN}{_LETTER}{_CLOSE}", re.IGNORECASE)
_NEXT = lazy_pattern(
    rf"\s*(?:[,/&+、]|and\b|or\b|和|或|及|与)(?:\s*(?:and|or)\b)?{_OPEN}(?P<letter>[A-Z])(?![A-Za-z0-9'’-])"
    r"(?!\s*(?:is|are|was|would|does|has|can|不|是|为))"
)
_ALONE = lazy_pattern(rf"^{_OPEN}{_LETTER}{_CLOSE}(?:[.:,、。)\-]|\s*$)", re.MULTILINE | re.IGNORECASE)
_PRAISED = lazy_pattern(
    rf"(?:^|(?<![A-Za-z0-9'’-])){_LETTER}[)\]*]*\s*(?:is|是)\s*(?:(?:most likely|clearly|thus|therefore|the|最)\s*)*"
    r"(?:correct|right|best|正确|对的)",
    re.MULTILINE,
)
_THINKING = lazy_pattern(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class OptionQuestion:
    """A question of which one option is right.

    Attributes:
        options: Letter → words, in the order of the letters.
        needed: Ids of the documents that hold the answer, where they are known.
        subject: What it is about, such as a disease's id; questions of one subject are drawn and held back together.
        rests_on: What holds the answer: ``documents``, ``graph``, ``neither``; empty where it is not known.

    Example:
        >>> asked = OptionQuestion("q1", "Which gene causes cystic fibrosis?", {"A": "CFTR", "B": "FBN1"}, "A")
        >>> asked.options[asked.gold]
        'CFTR'
    """

    id: str
    question: str = field(repr=False)
    options: Mapping[str, str] = field(repr=False, hash=False)
    gold: str | None = None
    needed: tuple[str, ...] = ()
    source: str = ""
    language: str = ""
    subject: str = ""
    rests_on: str = ""

    def __post_init__(self) -> None:
        if not self.question.strip():
            raise UsageError("the question is empty", hint="give its words")
        if len(self.options) < 2:
            raise UsageError(f"it has {len(self.options)} options", hint="give two or more")
        if tuple(self.options) != tuple(LETTERS[: len(self.options)]):
            said = ", ".join(str(letter)[:10] for letter in list(self.options)[:6])
            raise UsageError(f"its options are called {said}", hint="call them A, B, C … in order")
        seen: dict[str, str] = {}
        for letter, words in self.options.items():
            if not (plain := folded(words)):
                raise UsageError(f"its option {letter} is empty", hint="give its words")
            if plain in seen:
                raise UsageError(f"its options {seen[plain]} and {letter} are equal", hint="one of them has to go")
            seen[plain] = letter
        if self.gold is not None and self.gold not in self.options:
            said = f"it has {', '.join(self.options)}"
            raise UsageError(f"its right option {self.gold[:20]!r} is none of its options", hint=said)
        object.__setattr__(self, "options", MappingProxyType(dict(self.options)))

    def __reduce__(self) -> tuple[object, ...]:
        """Copy it and send it to other processes: a mapping proxy cannot go."""
        rest = (self.gold, self.needed, self.source, self.language, self.subject, self.rests_on)
        return type(self), (self.id, self.question, dict(self.options), *rest)


def listed(options: Mapping[str, str]) -> str:
    return "\n".join(f"{letter}. {' '.join(words.split())}" for letter, words in options.items())


def folded(words: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", words).casefold().split()).rstrip(".。 ")


def read_option(text: str, options: Mapping[str, str]) -> str | None:
    """Return the letter of the option that an answer chooses.

    The last statement of a choice counts ("the answer is B", "B is correct", "答案：B"), so that an answer is read
    which reasons through the options and ends with one; else the one letter that an answer is or begins with; else the
    one option whose words it has. What stands between ``<think>`` marks is left out.

    Returns:
        ``None`` where it chooses none of them, or more than one.

    Example:
        >>> read_option("It is not A. So the answer is (B).", {"A": "CFTR", "B": "FBN1"})
        'B'
        >>> read_option("A or B", {"A": "CFTR", "B": "FBN1"}) is None
        True
    """
    said = unicodedata.normalize("NFKC", _THINKING.sub(" ", text)).strip()
    for stated in sorted([*_STATED.finditer(said), *_PRAISED.finditer(said)], key=lambda each: -each.end()):
        if "letter" in stated.re.groupindex:
            return stated["letter"] if stated["letter"] in options else None
        tail = said[stated.end() :]
        chosen = () if stated["not"] else _label(tail, options) or _worded(tail.strip().split("\n", 1)[0], options)
        if chosen:
            return chosen[0] if len(chosen) == 1 else None
    begins = {found["letter"].upper() for found in _ALONE.finditer(said)}
    chosen = _label(said, options) if len(begins) == 1 and _ALONE.match(said) else ()
    chosen = chosen or _worded(said, options)
    return chosen[0] if len(chosen) == 1 else None


def _label(text: str, options: Mapping[str, str]) -> tuple[str, ...]:
    found = _LABEL.match(text)
    if found is None or (found["letter"].islower() and not re.match(r"\s*(?:[.,;:)\]。]|$)", text[found.end() :])):
        return ()
    letters = [found["letter"].upper()]
    at = found.end()
    while (following := _NEXT.match(text, at)) is not None:
        letters.append(following["letter"])
        at = following.end()
    unique = tuple(dict.fromkeys(letters))
    return unique if all(letter in options for letter in unique) else (*unique, "?")


def _worded(text: str, options: Mapping[str, str]) -> tuple[str, ...]:
    left, found = folded(text), []
    for letter, words in sorted(options.items(), key=lambda each: -len(folded(each[1]))):
        pattern = rf"(?<![a-z0-9]){re.escape(folded(words))}(?![a-z0-9])"
        if re.search(pattern, left):
            found.append(letter)
            left = re.sub(pattern, " | ", left)
    return tuple(sorted(found))
