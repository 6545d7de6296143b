"""The pages of what was measured and learned: questions, the leaderboard, options, a map of embeddings, pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kgdx.render.pages.page import rendered
from kgdx.render.terminal.accuracy_text import MEASURES, facts, facts_of, group_of, ordered, pair_of, row_of
from kgdx.results.words import count

WIDTH, HEIGHT = 640, 300
_LEFT, _BOTTOM = 44, 28
_STROKES = ("", "6 3", "2 3", "9 3 2 3", "12 4", "1 4")
"""Dashes by selector: lines are told apart without colour."""


def inquiry_page(figures: Mapping[str, Any]) -> str:
    """Return the page of what ``kgdx evaluate inquiry`` measured.

    Example:
        >>> row = {"q": 0, "n": 1, "top1": 1.0, "top3": 1.0, "top10": 1.0, "mrr": 1.0, "share": 0.5}
        >>> told = {"by_question": [row], "hits": None, "ms_median": None, "questions_to": {}}
        >>> "<svg" in inquiry_page({"n": 1, "answers": {"named": {"selectors": {"infogain": told}}}, "failed": []})
        True
    """
    plots = [
        {"answers": how, "top": top, "lines": _lines(told["selectors"], f"top{top}")}
        for how, told in figures["answers"].items()
        for top in (1, 10)
    ]
    values = {"title": "Questions to the diagnosis", "zh": False, "doc": figures, "plots": plots}
    frame = {"width": WIDTH, "height": HEIGHT, "left": _LEFT, "bottom": _BOTTOM}
    ticks = [(share, _y(share / 100)) for share in range(0, 101, 20)]
    return rendered("inquiry.html", {**values, "frame": frame, "zh": False, "ticks": ticks})


def _lines(selectors: Mapping[str, Any], top: str) -> list[dict[str, Any]]:
    most = max(len(each["by_question"]) for each in selectors.values()) - 1
    lines = []
    for number, (name, told) in enumerate(selectors.items()):
        step = (WIDTH - _LEFT - 150) / max(most, 1)
        points = [(_LEFT + step * row["q"], _y(row[top])) for row in told["by_question"]]
        shown = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        lines.append({"name": name, "points": shown, "dash": _STROKES[number % len(_STROKES)], "end": points[-1]})
    return lines


def _y(share: float) -> float:
    return (HEIGHT - _BOTTOM) - (HEIGHT - _BOTTOM - 12) * share


_NAMES, _ROW = 220, 20
"""Where the picture of the leaderboard begins beside the names, and how high a row is."""


def leaderboard_page(figures: Mapping[str, Any]) -> str:
    """Return the page of what ``kgdx leaderboard`` measured: each method with its interval, best first."""
    rows = [
        {
            "name": name,
            "told": told,
            "y": 14 + _ROW * place,
            "marks": [(key, _share(told[key]), *map(_share, told["ci95"][key])) for key, _ in MEASURES[:2]],
        }
        for place, (name, told) in enumerate(ordered(figures))
    ]
    frame = {"width": WIDTH, "height": _ROW * len(rows) + 34, "left": _NAMES}
    ticks = [(share, _share(share / 100)) for share in range(0, 101, 20)]
    base, remarks = next(iter(figures["methods"])), tuple(facts({**figures, "left_out": 0}))
    values = {"title": "Leaderboard", "zh": False, "doc": figures, "rows": rows, "group": group_of(figures)}
    values |= {"base": base, "remarks": remarks}
    return rendered("leaderboard.html", {**values, "frame": frame, "ticks": ticks, "measures": MEASURES})


def options_page(figures: Mapping[str, Any]) -> str:
    """Return the page of what ``kgdx evaluate options`` measured: each arm with its interval, in the order given."""
    rows = [
        {
            "name": name,
            "cells": row_of(told),
            "y": 14 + _ROW * place,
            "mark": [_share(told["accuracy"][key]) for key in ("share", "low", "high")],
        }
        for place, (name, told) in enumerate((name, told) for name, told in figures["arms"].items() if told)
    ]
    frame = {"width": WIDTH, "height": _ROW * len(rows) + 34, "left": _NAMES}
    ticks = [(share, _share(share / 100)) for share in range(0, 101, 20)]
    pairs = [pair_of(each) for each in figures["differences"]]
    values = {"title": "Option questions", "zh": False, "doc": figures, "rows": rows, "pairs": pairs}
    return rendered("options.html", {**values, "facts": [*facts_of(figures)], "frame": frame, "ticks": ticks})


def _share(share: float) -> float:
    return _NAMES + (WIDTH - _NAMES - 20) * share


_KEYS = ("kind", "names", "ids", "place", "group", "groups", "near", "patient")


def map_page(found: Mapping[str, Any]) -> str:
    """Return the page of what :func:`kgdx.api.predicting.embedding_map` returned.

    Example:
        >>> told = {"model": "m", "embeddings": "e", "kind": "Disease", "by": "links", "names": ["flu"],
        ...         "groups": ["</script>"], "ids": ["KGDX:1"], "place": [[0, 0]], "group": [0], "near": [[]],
        ...         "patient": None}
        >>> map_page(told).count("</script>")  # the two of the page itself
        2
    """
    sizes = [found["group"].count(number) for number in range(len(found["groups"]))]
    values = {
        "title": f"Map of {count(len(found['names']), found['kind'].lower())}",
        "zh": False,
        "doc": found,
        "groups": list(zip(found["groups"], sizes, strict=True)),
        "data": {name: found[name] for name in _KEYS},
    }
    return rendered("map.html", values, own="map")


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
