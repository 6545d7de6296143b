"""What an episode was worth: the rewards of Deep-DxSearch, one function an equation, read from the log alone.

Each is a pure function of a log and of what is right, and says why. The default is a clean reading: it counts what the
environment did, by ids, and never what a text says of itself. ``letter=True`` reads texts as the paper's equations are
printed, holes and all, to compare with.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from kgdx.episode.conversation import spans
from kgdx.episode.segment import Author, Kind, Segment
from kgdx.episode.tag_protocol import PAPER, ProtocolRules, RolloutReading, RolloutSpan, read
from kgdx.errors import UsageError
from kgdx.learn.recorded_cases import Truth

HIT, COST, MOST_COST = 0.5, 0.1, 0.3
"""Equation 14: what a hit is worth, what a match costs, and what all of them cost at most."""
CHANGED = 2
"""Phenotypes that have to differ from one match to the next."""
ROOT = 3
"""Equation 15: k."""
BASE, SHARE = 0.2, 0.6
"""Equation 16: of any diagnosis, and of a right one."""
STAGES = (0.2, 0.4, 0.6)
"""Where in the training a stage of equation 19 ends."""
_STOP_WORDS = (
    "a an and by due for from in of on or the to type types with without syndrome syndromes disease diseases disorder "
    "disorders familial related associated autosomal dominant recessive linked"
)
"""Words of names that tell no disease from another."""
REFUSED = "refused"
"""Code of the remark that a call was against the rules."""
LENIENT = frozenset({"again", "source"})
"""Violations for which an act is refused, and which leave the format whole."""
_OVERLOOKED = LENIENT | {"forged", "unthought", "nested", "outside", "unopened"}
"""What the paper's check of the format does not see."""
_WORD = re.compile(r"[^\W_]+")


class Weights(NamedTuple):
    """Of equation 17."""

    match: float = 0.3
    search: float = 0.3
    diagnosis: float = 0.4


EVEN = Weights()
"""Those of the last stage, and where no stages are wanted."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a reward: its name, its value, and why."""

    name: str
    value: float
    reason: str


@dataclass(frozen=True, slots=True)
class Reward:
    """A reward with its parts."""

    value: float
    reported: float
    parts: tuple[Part, ...]
    weights: Weights

    def __str__(self) -> str:
        return f"{self.value:.3f}: " + "; ".join(f"{each.name} {each.value:.3f} ({each.reason})" for each in self.parts)


@dataclass(frozen=True, slots=True)
class Scoring:
    """How rewards are computed.

    Attributes:
        rules: Of the format.
        weights: Of the parts.
        letter: Whether as the equations are printed.
        matched_too: Whether equation 16 adds the match reward once more; as printed it does.
        discount: Whether a right disease in place r is worth 1/r.
    """

    rules: ProtocolRules = PAPER
    weights: Weights = EVEN
    letter: bool = False
    matched_too: bool = False
    discount: bool = False


def format_reward(log: Sequence[Segment], rules: ProtocolRules | None = None, *, letter: bool = False) -> Part:
    """Return equation 13: 1 where the rollout keeps to the protocol, otherwise 0; without text, where it diagnoses."""
    text = spans(log)
    if not text:
        return _without_text(log)
    if letter:
        text = [RolloutSpan("".join(each.text for each in text), True)]
    broken = _broken(read(text, rules), _OVERLOOKED if letter else LENIENT)
    if broken:
        return Part("format", 0.0, ", ".join(f"{code} at {place}" for code, place in broken[:3]))
    return Part("format", 1.0, "kept")


def _without_text(log: Sequence[Segment]) -> Part:
    """The format of an episode of listed actions or calls: it diagnoses, and no call was refused."""
    if any(each.author is Author.MODEL for each in log):
        return Part("format", 0.0, "nothing was written")
    refused = next((each for each in log if each.name == "remark" and each.data.get("code") == REFUSED), None)
    if refused is not None:
        return Part("format", 0.0, str(refused.data["text"]))
    done = any(each.kind is Kind.RESULT and each.name == "diagnose" for each in log)
    return Part("format", float(done), "kept" if done else "undiagnosed")


def _broken(reading: RolloutReading, overlooked: frozenset[str]) -> list[tuple[str, int]]:
    return [(each.code, each.place) for each in reading.violations if each.code not in overlooked]


def match_reward(log: Sequence[Segment], truth: Truth, *, letter: bool = False) -> Part:
    """Return equation 14: .5 for a match that found the disease, less .1 for each match, .3 at most.

    A match whose phenotypes are nearly those of the one before removes the bonus, and keeps the price; as printed it
    makes the whole reward 0, which is more than an honest miss is worth.
    """
    found = list(_matches(log))
    if letter:
        return _matched_in(read([RolloutSpan("".join(each.text for each in spans(log)), True)]), truth, found)
    if not found:
        return Part("match", 0.0, "no match")
    price = min(COST * len(found), MOST_COST)
    hit = any(id in truth.ids for each in found for id in each.diseases)
    few = _unchanged(found)
    reason = f"{len(found)} done, {'a hit' if hit else 'no hit'}{', too few phenotypes changed' if few else ''}"
    return Part("match", HIT * (hit and not few) - price, reason)


class _Matched(NamedTuple):
    asked: frozenset[str]
    diseases: tuple[str, ...]


def _matches(log: Sequence[Segment]) -> Iterator[_Matched]:
    """The matches that the environment has done, with the terms that were asked, as it resolved them."""
    for each in log:
        if (each.author, each.kind, each.name) == (Author.GRAPH, Kind.RESULT, "match"):
            told = each.data.get("summary", {})
            yield _Matched(frozenset(told.get("asked", ())), tuple(told.get("diseases", ())))


def _unchanged(found: Sequence[_Matched]) -> bool:
    pairs = pairwise(found)
    return any(len(one.asked ^ other.asked) < CHANGED for one, other in pairs)


def _matched_in(reading: RolloutReading, truth: Truth, found: Sequence[_Matched]) -> Part:
    written = [each for each in reading.blocks if each.tag == "match"]
    names = [" ".join(_words(each)) for each in truth.names]
    told = [" ".join(_words(each.text)) for each in reading.blocks if each.tag == "refer"]
    hit = any(name and name in text for name in names for text in told)
    hit = hit or any(id in truth.ids for each in found for id in each.diseases)
    texts = [frozenset(item.text.lower() for item in each.items) for each in written]
    if any(len(one ^ other) < CHANGED for one, other in pairwise(texts)):
        return Part("match", 0.0, "too few phenotypes changed")
    count = max(len(written), len(found))
    return Part("match", HIT * hit - min(COST * count, MOST_COST), f"{count} done, {'a hit' if hit else 'no hit'}")


def search_reward(log: Sequence[Segment], truth: Truth, *, letter: bool = False) -> Part:
    """Return equation 15: the share of the disease's words that a query has, to the power of 1/3; the best query's.

    Only what the agent asked for counts, and only searches that were done. Words that tell no disease from another
    count nothing, and a query that is an id of the disease counts as all of them; as printed, all words of all queries
    count.
    """
    queries = list(_queries(log))
    if not queries:
        return Part("search", 0.0, "no search")
    if letter:
        asked = {word for query in queries for word in _words(query)}
        value = max((_share(_words(name), asked) for name in truth.names), default=0.0)
        return Part("search", value ** (1 / ROOT), "all queries")
    return _searched(queries, truth)


def _searched(queries: Sequence[str], truth: Truth) -> Part:
    if not queries:
        return Part("search", 0.0, "no search")
    best = 0.0
    for query in queries:
        if query.strip() in truth.ids:
            best = 1.0
        told = _telling(_words(query))
        best = max([best, *(_share(_telling(_words(name)), set(told)) for name in truth.names)])
    return Part("search", best ** (1 / ROOT), f"the best of {len(queries)} has {100 * best:.0f}% of the words")


def _queries(log: Sequence[Segment]) -> Iterator[str]:
    for wish, result in pairwise(log):
        done = result.kind is Kind.RESULT and result.author is Author.GRAPH
        if wish.kind is Kind.WISH and wish.name == "search" and done:
            yield str(wish.words.get("query", wish.data.get("query", "")))


def diagnosis_reward(log: Sequence[Segment], truth: Truth, *, letter: bool = False, discount: bool = False) -> Part:
    """Return equation 16 without the match reward: .2 for a diagnosis, and .6 for how near its nearest disease is.

    A disease is right by its id, however it is spelt; a wrong one is as near as its name has the same words, numbers
    among them, which stays below 1. As printed, the words of all names together count.
    """
    ids, names = declared(log)
    if not ids and not (letter and names):
        return Part("diagnosis", 0.0, "none")
    if letter:
        said = {word for name in names for word in _words(name)}
        near = max((_share(_words(name), said) for name in truth.names), default=0.0) ** (1 / ROOT)
        near = max(near, float(bool(truth.ids.intersection(ids))))
        return Part("diagnosis", BASE + SHARE * near, f"{len(names) or len(ids)} declared")
    return _diagnosed(ids, names, truth, discount=discount)


def _diagnosed(ids: Sequence[str], names: Sequence[str], truth: Truth, *, discount: bool = False) -> Part:
    if not ids:
        return Part("diagnosis", 0.0, "none")
    place = next((place for place, id in enumerate(ids, 1) if id in truth.ids), 0)
    if place:
        near = 1 / place if discount else 1.0
        return Part("diagnosis", BASE + SHARE * near, f"right in place {place} of {len(ids)}")
    near = 0.99 * max((_alike(one, other) for one in names for other in truth.names), default=0.0)
    return Part("diagnosis", BASE + SHARE * near, f"none of {len(ids)} is right")


def declared(log: Sequence[Segment]) -> tuple[list[str], list[str]]:
    """The diseases that were declared, best first, five at most: ids, and names where the agent wrote them."""
    ids: list[str] = []
    names: list[str] = []
    ranked: list[str] = []
    for wish, result in pairwise(log):
        done = result.kind is Kind.RESULT and result.author is Author.GRAPH and wish.kind is Kind.WISH
        if not done:
            continue
        if wish.name == "rank":
            ranked = list(result.data.get("summary", {}).get("ranked", ()))
        elif wish.name == "read_tags" and result.data["artifact"]["act"] == "diagnose":
            names = [text for text, _ in result.words.get("items", ())]
        elif wish.name == "diagnose":
            ids = list(wish.data["diseases"]) or ranked
    most = ProtocolRules().declared
    return list(dict.fromkeys(ids))[:most], names[:most] if ids else []


def reward(log: Sequence[Segment], truth: Truth, scoring: Scoring | None = None) -> Reward:
    """Return equation 17: the weighted sum of the parts, for a rollout that keeps to the protocol."""
    how = scoring or Scoring()
    whole = format_reward(log, how.rules, letter=how.letter)
    matched = match_reward(log, truth, letter=how.letter)
    searched = search_reward(log, truth, letter=how.letter)
    diagnosed = diagnosis_reward(log, truth, letter=how.letter, discount=how.discount)
    if (how.letter or how.matched_too) and diagnosed.value:
        diagnosed = Part(diagnosed.name, diagnosed.value + matched.value, f"{diagnosed.reason}, with the match")
    parts = (whole, matched, searched, diagnosed)
    total = sum(weight * each.value for weight, each in zip(how.weights, parts[1:], strict=True))
    reported = min(max(whole.value * total, 0.0), 1.0)
    if how.letter:
        return Reward(reported, reported, parts, how.weights)
    return Reward(total if whole.value else least(how.weights), reported, parts, how.weights)


def score(text: str, truth: Truth | Mapping[str, Sequence[str]] | str, weights: Weights = EVEN) -> Reward:
    r"""Return what a finished transcript is worth, from its text alone: for trainers that know no graph and no log.

    Who wrote what is not known, so a hit is what the text says was found, and a disease is right by its name or id as
    written. :func:`reward` reads the log instead, where nothing that a model claims counts: better, where there is one.

    Args:
        text: What the model wrote, with the graph's answers in it, in tags or calls.
        truth: What is right: ``ids`` and ``names``, as an object or as JSON (``ground_truth`` of verl's rows).
        weights: Of match, search and diagnosis.
    """
    if not isinstance(truth, Truth):
        given = json.loads(truth) if isinstance(truth, str) else truth
        truth = Truth(frozenset(given["ids"]), tuple(given["names"]))
    reading = read([RolloutSpan(text, True)])
    broken = _broken(reading, _OVERLOOKED)
    kept = Part("format", float(not broken), ", ".join(f"{code} at {at}" for code, at in broken[:3]) or "kept")
    queries = [item.text for each in reading.blocks if each.tag == "search" for item in each.items]
    said = [item.text for each in reading.blocks if each.tag == "diagnose" for item in each.items][
        : ProtocolRules().declared
    ]
    right = {id.casefold() for id in truth.ids} | {" ".join(_words(name)) for name in truth.names}
    ids = [next(iter(truth.ids), "") if right & {name.casefold(), " ".join(_words(name))} else "" for name in said]
    parts = (
        kept,
        _matched_in(reading, truth, []),
        _searched(queries, truth),
        _diagnosed(ids, said, truth),
    )
    total = sum(weight * each.value for weight, each in zip(weights, parts[1:], strict=True))
    reported = min(max(kept.value * total, 0.0), 1.0)
    return Reward(total if kept.value else least(weights), reported, parts, weights)


def least(weights: Weights) -> float:
    """Return the least reward that there is: three matches in vain, and nothing else."""
    return -MOST_COST * weights.match


def greatest(weights: Weights) -> float:
    """Return the greatest reward that there is without the match reward in equation 16."""
    return (HIT - COST) * weights.match + weights.search + (BASE + SHARE) * weights.diagnosis


def weights(progress: float) -> Weights:
    """Return equation 19: the weights at a share of the training; first for search, then match, then diagnosis."""
    if not 0 <= progress <= 1:
        raise UsageError(f"the progress is {progress}", hint="give a share from 0 to 1")
    stages = (Weights(0.05, 0.9, 0.05), Weights(0.9, 0.05, 0.05), Weights(0.05, 0.05, 0.9))
    return next((each for end, each in zip(STAGES, stages, strict=True) if progress < end), Weights())


def _words(text: str) -> list[str]:
    return [word.removesuffix("s") if len(word) > 3 else word for word in _WORD.findall(text.casefold())]


_DROPPED = frozenset(_words(_STOP_WORDS))


def _telling(words: Iterable[str]) -> list[str]:
    return [word for word in words if word not in _DROPPED and not word.isdigit()]


def _share(words: Sequence[str], among: set[str]) -> float:
    return sum(word in among for word in words) / len(words) if words else 0.0


def _alike(one: str, other: str) -> float:
    first, second = ({word for word in _words(each) if word not in _DROPPED} for each in (one, other))
    return len(first & second) / len(first | second) if first and second else 0.0
