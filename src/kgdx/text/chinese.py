"""Chinese text in the form in which names are compared: compatibility forms, simplified characters, no spaces."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kgdx.text.tokens import CJK

_HAN = re.compile(f"[{CJK}]")


@dataclass(frozen=True, slots=True)
class Folded:
    """A folded text; ``places[i]`` is where its i-th character stands in the original."""

    text: str
    places: list[int]


def has_chinese(text: str) -> bool:
    """Return whether a text holds Han characters.

    Example:
        >>> has_chinese("发热"), has_chinese("fever")
        (True, False)
    """
    return _HAN.search(text) is not None


def fold_chinese(text: str) -> Folded:
    """Fold a text character by character: full-width forms to ASCII, lower case, white space left out.

    Example:
        >>> fold_chinese("Ⅱ型 发热（Ａ）").text
        'ii型发热(a)'
    """
    chars: list[str] = []
    places: list[int] = []
    for place, char in enumerate(text):
        if char.isspace():
            continue
        for part in unicodedata.normalize("NFKC", char).lower():
            chars.append(part)
            places.append(place)
    return Folded("".join(chars), places)


def substring_keys(text: str, size: int) -> npt.NDArray[np.int64]:
    """Return the key of every substring of a length: a polynomial hash of its code points, modulo 2**64.

    Example:
        >>> keys = substring_keys("发热发热", 2)
        >>> keys[0] == keys[2], keys[0] == keys[1]
        (True, False)
    """
    points = np.frombuffer(text.encode("utf-32-le"), np.uint32).astype(np.uint64)
    mixed = (points + np.uint64(0x9E3779B97F4A7C15)) * np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(31)
    total = np.zeros(len(text) - size + 1, np.uint64)
    for place in range(size):
        total = total * np.uint64(0x94D049BB133111EB) + mixed[place : place + len(total)]
    return total.view(np.int64)
