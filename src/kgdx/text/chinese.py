"""Chinese text in the form in which names are compared: compatibility forms, simplified characters, no spaces."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
import numpy.typing as npt

from kgdx.text.tokens import CJK

_HAN = re.compile(f"[{CJK}]")


@dataclass(frozen=True, slots=True)
class Folded:
    """A folded text; ``places[i]`` is where its i-th character stands in the original."""

    text: str
    places: list[int]


_WORDINGS = (
    ("受损", "障碍", "损伤", "减退", "下降"),
    ("升高", "增高", "增加"),
    ("降低", "减低", "减少", "低下", "减退"),
    ("缺失", "缺如"),
    ("延迟", "迟缓", "落后", "滞后"),
    ("肿大", "增大"),
    ("疼痛", "痛"),
    ("综合征", "综合症"),
    ("智力", "智能"),
    ("身材矮小", "矮小"),
    ("肝脏", "肝"),
    ("肾脏", "肾"),
    ("心脏", "心"),
    ("脾脏", "脾"),
    ("黏", "粘"),
)
"""Words that clinical Chinese uses for one another in the names of findings."""

_DISORDER = re.compile("(?<!综合)(?<!并发)(?<=...)症$")
"""A last word that clinicians leave out: 血小板减少症 is written 血小板减少."""

_SHORTEST = 2


@cache
def _data(name: str) -> tuple[str, ...]:
    lines = files("kgdx.text").joinpath(name).read_text(encoding="utf-8").splitlines()
    return tuple(line for line in lines if line and not line.startswith("#"))


@cache
def simplified_characters() -> dict[str, str]:
    """Return the simplified character of each traditional one.

    Example:
        >>> simplified_characters()["熱"]
        '热'
    """
    traditional, simplified = _data("traditional.tsv")
    return dict(zip(traditional, simplified, strict=True))


def simplify(text: str) -> str:
    """Return a text of the same length with simplified characters.

    Example:
        >>> simplify("從未發熱")
        '从未发热'
    """
    return text if text.isascii() else text.translate(_table())


@cache
def _table() -> dict[int, str]:
    return {ord(char): simple for char, simple in simplified_characters().items()}


def lay_wordings() -> Iterator[tuple[str, str]]:
    """Yield wordings of everyday and clinical Chinese that translations lack, and the HPO id that each means.

    Example:
        >>> dict(lay_wordings())["拉肚子"]
        'HP:0002014'
    """
    for line in _data("lay_zh.tsv")[1:]:
        phrase, curie, _ = line.split("\t")
        yield phrase, curie


def wordings(name: str) -> set[str]:
    """Return a folded name's other wordings.

    Example:
        >>> sorted(wordings("肝脏肿大"))
        ['肝增大', '肝肿大', '肝脏增大']
        >>> "血小板减少" in wordings("血小板减少症")
        True
    """
    found = {name, _DISORDER.sub("", name)}
    for group in _WORDINGS:
        said = re.compile("|".join(sorted(group, key=len, reverse=True)))
        found |= {said.sub(word, other, count=1) for other in tuple(found) if said.search(other) for word in group}
    return {other for other in found if len(other) >= _SHORTEST} - {name}


def has_chinese(text: str) -> bool:
    """Return whether a text holds Han characters.

    Example:
        >>> has_chinese("发热"), has_chinese("fever")
        (True, False)
    """
    return _HAN.search(text) is not None


def fold_chinese(text: str) -> Folded:
    """Fold a text character by character: full-width forms to ASCII, traditional to simplified, no spaces.

    Example:
        >>> fold_chinese("Ⅱ型 發熱（Ａ）").text
        'ii型发热(a)'
    """
    simplified = simplified_characters()
    chars: list[str] = []
    places: list[int] = []
    for place, char in enumerate(text):
        if char.isspace():
            continue
        for part in unicodedata.normalize("NFKC", char).lower():
            chars.append(simplified.get(part, part))
            places.append(place)
    return Folded("".join(chars), places)


def substring_keys(text: str, size: int) -> npt.NDArray[np.int64]:
    """Return the key of every substring of a length: a polynomial hash of its code points, modulo 2**64.

    Example:
        >>> keys = substring_keys("发热发热", 2)
        >>> bool(keys[0] == keys[2]), bool(keys[0] == keys[1])
        (True, False)
    """
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.uint64)
    mixed = (points + np.uint64(0x9E3779B97F4A7C15)) * np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(31)
    total = np.zeros(len(text) - size + 1, np.uint64)
    for place in range(size):
        total = total * np.uint64(0x94D049BB133111EB) + mixed[place : place + len(total)]
    return total.view(np.int64)
