"""The page of preference pairs: why questions gave none, and some pairs of either kind side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kgdx.render.pages.page import rendered

SHOWN = 20
"""Pairs of a kind that the page shows at most, at even distances."""
LONGEST = 4_000
"""Characters of a text that it shows at most."""


def pairs_page(about: Mapping[str, Any], pairs: Sequence[Mapping[str, Any]]) -> str:
    """Return the page of what ``kgdx learn pairs`` made; whatever a model wrote is text in it, never markup.

    Example:
        >>> told = {"pairs": 1, "questions": {"pairs": 1}, "samples": {"chosen": 1, "rejected": 1}}
        >>> about = {"model": "m", "statistics": {"questions": 1, "thought": told, "answer": told}}
        >>> turn = {"role": "user", "content": "Which gene?"}
        >>> pair = {"id": "q", "kind": "thought", "prompt": [turn], "chosen": "<b>FBN1</b>", "rejected": "TP53"}
        >>> page = pairs_page(about, [pair])
        >>> "&lt;b&gt;FBN1" in page, "<b>FBN1" in page
        (True, False)
    """
    kinds = [
        {
            "name": kind,
            "told": about["statistics"][kind],
            "shown": [_shown(each) for each in _spread([pair for pair in pairs if pair["kind"] == kind])],
        }
        for kind in ("thought", "answer")
    ]
    return rendered("pairs.html", {"title": "Pairs of thoughts and answers", "zh": False, "doc": about, "kinds": kinds})


def _spread(pairs: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    step = max(1, -(-len(pairs) // SHOWN))
    return list(pairs[::step])


def _shown(pair: Mapping[str, Any]) -> dict[str, Any]:
    asked = "\n\n".join(str(turn["content"]) for turn in pair["prompt"] if turn["role"] == "user")
    texts = {"asked": asked, "chosen": str(pair["chosen"]), "rejected": str(pair["rejected"])}
    return {"id": pair["id"], **{name: _cut(text) for name, text in texts.items()}}


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} … ({len(text):,} characters)"
