"""Many phrases as one regular expression in which those of one beginning share it, so that it is tried once."""

from __future__ import annotations

import re
from collections.abc import Sequence

_END = "\x01"
"""Marks the end of a phrase that ends in a letter, where no other letter may follow."""


def phrase_tree(phrases: Sequence[str]) -> str:
    """Return phrases as nested alternatives by their first letters; of several that fit the longest is found.

    A blank stands for any white space, and no letter may follow a phrase that ends in one of the Latin alphabet.

    Example:
        >>> re.findall(phrase_tree(["no", "no sign of", "non"]), "no sign of it, no rash, none")
        ['no sign of', 'no']
    """
    by_first: dict[str, list[str]] = {}
    for phrase in phrases:
        by_first.setdefault(phrase[:1], []).append(phrase[1:])
    branches = []
    for first, rests in sorted(by_first.items(), reverse=True):  # where a phrase ends comes last
        if first in ("", _END):
            branches.append(r"\b" if first else "")
            continue
        sign = r"\s+" if first == " " else "['’]" if first == "'" else re.escape(first)
        ending = _END if first.isascii() and first.isalnum() else ""
        branches.append(sign + phrase_tree([rest or ending for rest in rests]))
    return branches[0] if len(branches) == 1 else f"(?:{'|'.join(branches)})"
