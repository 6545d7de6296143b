"""Names of persons and other passages that identify one, told from what medicine needs."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def words(name: str) -> frozenset[str]:
    """Return the words of a list that ships beside this file.

    Example:
        >>> "Jane" in words("given_names")
        True
    """
    text = files("kgdx.llm.people").joinpath(f"{name}.txt").read_text("utf-8")
    return frozenset(word for line in text.splitlines() if not line.startswith("#") for word in line.split())
