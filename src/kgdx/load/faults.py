"""Words for what is wrong with a manifest: the line on which it stands, and what may have been meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Any

import yaml


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a suggestion to put behind a message, if a known word is like the given one.

    Example:
        >>> did_you_mean("Phenotyp", ["Disease", "Phenotype"])
        ' (did you mean Phenotype?)'
    """
    like = difflib.get_close_matches(word, list(known), 1)
    return f" (did you mean {like[0]}?)" if like else ""


def line_of(text: str, place: Sequence[str | int]) -> int:
    r"""Return the line of a YAML text on which something stands, or would have to.

    Args:
        text: The YAML.
        place: Keys and indices that lead to it.

    Example:
        >>> line_of("name: mine\nnodes:\n  - class: Gene\n", ("nodes", 0, "class"))
        3
    """
    node: Any = yaml.compose(text, yaml.SafeLoader)
    line = 0
    for part in place:
        if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
            line = node.start_mark.line
        elif isinstance(node, yaml.MappingNode):
            entry = next((pair for pair in node.value if pair[0].value == part), None)
            if entry is None:
                break
            line, node = entry[0].start_mark.line, entry[1]
    return line + 1
