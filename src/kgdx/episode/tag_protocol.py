"""The protocol of an agent that writes tags: which blocks a rollout has, who wrote each, and what breaks the rules.

The grammar is that of Deep-DxSearch (Zheng et al., arXiv:2508.15746): ``<lookup>`` is answered by ``<guide>``,
``<match>`` by ``<refer>``, ``<search>`` by ``<result>``; ``<think>`` (or ``<reason>``) stands between two of them, and
``<diagnose>`` ends it. Text is read with its author, so that an answer that an agent writes to itself is no answer, and
a tag within retrieved text is no act. Calls in JSON, ``<tool_call>{"name": …, "arguments": …}</tool_call>``, are a
second notation of the same acts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from kgdx.lazy import lazy_pattern

ANSWERS: Mapping[str, str] = MappingProxyType({"lookup": "guide", "match": "refer", "search": "result"})
"""Act → the block that answers it."""
CALL, RESPONSE = "tool_call", "tool_response"
"""A call in JSON, and what answers it."""
ACTS = (*ANSWERS, "diagnose")
THOUGHTS = ("think", "reason")
GIVEN = frozenset({*ANSWERS.values(), RESPONSE})
"""Blocks that the environment alone can write."""
CLOSING = tuple(f"</{each}>" for each in (*ACTS, CALL))
"""Where an agent is stopped: the act is done before it goes on."""
LONGEST = 200
"""Characters of a name or query at most; the rest is cut."""

_TAG = lazy_pattern(rf"<(/?)({'|'.join((*THOUGHTS, *ACTS, *sorted(GIVEN), CALL))})>")
_BOLD = lazy_pattern(r"\\textbf\{([^{}]*)\}")
_SOURCE = lazy_pattern(r"\|\s*([A-Za-z][\w-]{0,30})\s*\|")
_FIELDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "lookup": ("diseases", "names"),
        "match": ("phenotypes", "symptoms"),
        "search": ("queries", "query"),
        "diagnose": ("diseases", "names"),
    }
)


@dataclass(frozen=True, slots=True)
class RolloutSpan:
    """A stretch of a rollout, and whether the agent wrote it; the environment wrote all else."""

    text: str = field(repr=False)
    own: bool


@dataclass(frozen=True, slots=True)
class ProtocolRules:
    """What an agent may do; the defaults are the paper's.

    A thought has to stand between two acts; a search may name any source where none is given.
    """

    lookups: int = 1
    matches: int = 3
    searches: int = 2
    names: int = 10
    queries: int = 3
    declared: int = 5
    thought: bool = True
    sources: tuple[str, ...] = ()

    def most(self, act: str) -> int:
        return {"lookup": self.lookups, "match": self.matches, "search": self.searches}.get(act, 1)

    def width(self, act: str) -> int:
        return {"lookup": self.names, "search": self.queries, "diagnose": self.declared}.get(act, 0)


PAPER = ProtocolRules()
"""Those of the paper."""


@dataclass(frozen=True, slots=True)
class Item:
    """A disease, a phenotype or a query of an act; ``source`` is the tag before a query."""

    text: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class Block:
    """A block of a rollout: its tag, of a call in JSON the name of the act, and why an act is not done."""

    tag: str
    text: str = field(repr=False)
    own: bool
    place: int
    end: int
    items: tuple[Item, ...] = ()
    call: bool = False
    refused: str = ""


@dataclass(frozen=True, slots=True)
class Violation:
    """What breaks the rules, and where: in characters of the rollout.

    Its code is ``forged``, ``unopened``, ``unclosed``, ``nested``, ``outside``, ``unthought``, ``too often``,
    ``too many``, ``again``, ``empty``, ``source``, ``malformed``, ``after the end``, or ``undiagnosed``.
    """

    code: str
    place: int
    message: str


@dataclass(frozen=True, slots=True)
class RolloutReading:
    """A rollout as the protocol reads it."""

    blocks: tuple[Block, ...] = ()
    violations: tuple[Violation, ...] = ()

    @property
    def acts(self) -> tuple[Block, ...]:
        return tuple(each for each in self.blocks if each.own and each.tag in ACTS)


def read(spans: Iterable[RolloutSpan], rules: ProtocolRules | None = None, *, ended: bool = True) -> RolloutReading:
    """Read a rollout; any text can be read. A tag does not reach over the end of a span of another author.

    Where something may follow yet, a missing end is no violation.

    Example:
        >>> asked, told = "<think>?</think><match>ataxia</match>", "<refer>…</refer>"
        >>> found = read([RolloutSpan(asked, True), RolloutSpan(told, False)])
        >>> [each.tag for each in found.blocks], [each.code for each in found.violations]
        (['think', 'match', 'refer'], ['undiagnosed'])
    """
    reader = _Reader(rules or PAPER)
    for span in joined(spans):
        reader.add(span)
    return reader.done(ended)


def joined(spans: Iterable[RolloutSpan]) -> list[RolloutSpan]:
    """Return the spans with neighbours of one author made one."""
    found: list[RolloutSpan] = []
    for span in spans:
        if span.text and found and found[-1].own == span.own:
            found[-1] = RolloutSpan(found[-1].text + span.text, span.own)
        elif span.text:
            found.append(span)
    return found


def left_open(text: str) -> str:
    """Return the closing tag of the act that a text ends in; empty where it ends in none."""
    *_, (ends, tag) = [("/", ""), *((found[1], found[2]) for found in _TAG.finditer(text))]
    return f"</{tag}>" if not ends and f"</{tag}>" in CLOSING else ""


def inert(text: str) -> str:
    return _TAG.sub(lambda found: f"‹{found[0][1:-1]}›", text)


class _Reader:
    """Reads spans one after the other."""

    def __init__(self, rules: ProtocolRules) -> None:
        self.rules = rules
        self.blocks: list[Block] = []
        self.violations: list[Violation] = []
        self._at = 0
        self._thought = True
        self._done: dict[str, list[tuple[Item, ...]]] = {}
        self._diagnosed = False

    def add(self, span: RolloutSpan) -> None:
        if span.own:
            self._own(span.text)
        else:
            self._given(span.text)
        self._at += len(span.text)

    def done(self, ended: bool) -> RolloutReading:
        if ended and not self._diagnosed:
            self._violated("undiagnosed", self._at, "there is no diagnosis")
        return RolloutReading(tuple(self.blocks), tuple(sorted(self.violations, key=lambda each: each.place)))

    def _violated(self, code: str, place: int, message: str) -> None:
        self.violations.append(Violation(code, place, message))

    def _given(self, text: str) -> None:
        found = _TAG.search(text)
        if found is not None and not found[1] and found[2] in GIVEN:
            inner = text[found.end() :].rstrip().removesuffix(f"</{found[2]}>")
            self.blocks.append(Block(found[2], inner, False, self._at + found.start(), self._at + len(text)))

    def _own(self, text: str) -> None:
        at = 0
        while (opened := _TAG.search(text, at)) is not None:
            self._outside(text[at : opened.start()], at)
            place, tag = self._at + opened.start(), opened[2]
            if opened[1]:
                self._violated("unopened", place, f"</{tag}> closes nothing")
                at = opened.end()
                continue
            end = text.find(f"</{tag}>", opened.end())
            if end < 0:
                self._violated("unclosed", place, f"<{tag}> is not closed")
                return
            self._block(tag, text[opened.end() : end], place, self._at + end + len(tag) + 3)
            at = end + len(tag) + 3
        self._outside(text[at:], at)

    def _outside(self, text: str, at: int) -> None:
        if text.strip():
            self._violated("outside", self._at + at, "text stands outside of any block")

    def _block(self, tag: str, inner: str, place: int, end: int) -> None:
        if tag in GIVEN:
            self._violated("forged", place, f"<{tag}> is for the environment to write")
            self.blocks.append(Block(tag, inner, True, place, end))
            return
        if self._diagnosed:
            self._violated("after the end", place, f"<{tag}> follows the diagnosis")
        nested = _TAG.search(inner)
        if nested is not None:
            self._violated("nested", place, f"{nested[0]} stands within <{tag}>, where nothing is done")
        if tag in THOUGHTS:
            self._thought = True
            self.blocks.append(Block(tag, inner, True, place, end))
            return
        self._act(tag, inner, place, end, nested is not None)

    def _act(self, tag: str, inner: str, place: int, end: int, nested: bool) -> None:
        before = len(self.violations)
        call = tag == CALL
        name, items, wrong = _call(inner) if call else (tag, items_of(tag, inner), "")
        refused = wrong or ("it holds another block" if nested else "")
        if wrong:
            self._violated("malformed", place, wrong)
        else:
            refused = refused or self._judged(name, items, place)
        if self._diagnosed:
            refused = "the diagnosis is given"
        if self.rules.thought and not self._thought:
            self._violated("unthought", place, f"no thought stands before <{name}>")
        self._thought = False
        if not refused:
            self._done.setdefault(name, []).append(items)
            self._diagnosed = self._diagnosed or name == "diagnose"
        assert len(self.violations) > before or not wrong
        self.blocks.append(Block(name, inner, True, place, end, items, call, refused))

    def _judged(self, act: str, items: tuple[Item, ...], place: int) -> str:
        rules, earlier = self.rules, self._done.get(act, [])
        if not items and act != "match":
            self._violated("empty", place, f"<{act}> names nothing")
            return "it names nothing"
        if len(earlier) >= rules.most(act):
            most = f"{act} can be done {rules.most(act)} times" if rules.most(act) else f"there is no {act} here"
            self._violated("too often", place, most)
            return most
        if (width := rules.width(act)) and len(items) > width:
            self._violated("too many", place, f"<{act}> names {len(items)}, {width} at most")
            return "" if act == "diagnose" else f"it names {len(items)}, {width} at most"
        known = {each.casefold() for each in rules.sources}
        unknown = sorted(each.source for each in items if known and each.source and each.source.casefold() not in known)
        if act == "search" and unknown:
            self._violated("source", place, f"no source {unknown[0][:40]!r}: one of {', '.join(rules.sources)}")
            return f"there is no source {unknown[0][:40]!r}: one of {', '.join(rules.sources)}"
        if set(items) in [set(each) for each in earlier]:
            self._violated("again", place, f"the same {act} was done before")
            return f"the same {act} was done before"
        return ""


def items_of(act: str, text: str) -> tuple[Item, ...]:
    r"""Return what an act's text names: names between commas (or semicolons, lines), queries with their source.

    Example:
        >>> items_of("lookup", " Marfan syndrome, gout ")
        (Item(text='Marfan syndrome', source=''), Item(text='gout', source=''))
        >>> items_of("search", "|PMC| ectopia lentis. |WIKI| tall stature")
        (Item(text='ectopia lentis', source='PMC'), Item(text='tall stature', source='WIKI'))
        >>> items_of("diagnose", r"It is \textbf{Marfan syndrome}.")
        (Item(text='Marfan syndrome', source=''),)
    """
    if act == "diagnose":
        return _items(_BOLD.findall(text))
    if act == "search":
        return _queries(text)
    separator = r"[;\n；]" if re.search(r"[;\n；]", text.strip()) else "[,，、]"
    return _items(re.split(separator, text))


def _items(names: Iterable[str], source: str = "") -> tuple[Item, ...]:
    cleaned = (" ".join(name.split()).strip(" .-*") for name in names)
    return tuple(dict.fromkeys(Item(name[:LONGEST], source) for name in cleaned if name))


def _queries(text: str) -> tuple[Item, ...]:
    first, *parts = _SOURCE.split(text)
    found = list(_items(re.split(r"[;\n；]", first)))
    for source, said in zip(parts[::2], parts[1::2], strict=True):
        found += _items(re.split(r"[;\n；]", said), source)
    return tuple(dict.fromkeys(found))


def _call(text: str) -> tuple[str, tuple[Item, ...], str]:
    try:
        found = json.loads(text) if len(text) < 20_000 else None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        return CALL, (), "the call is no JSON object"
    name, given = found.get("name"), found.get("arguments", {})
    if name not in ACTS:
        return CALL, (), f"there is no act {str(name)[:40]!r}: one of {', '.join(ACTS)}"
    if not isinstance(given, dict):
        return name, (), "the arguments of a call are an object"
    return name, items_of_call(name, given), ""


def items_of_call(act: str, given: Mapping[str, Any]) -> tuple[Item, ...]:
    """Return what the arguments of a call name; what is no name is left out."""
    listed: Any = next((given[each] for each in _FIELDS[act] if each in given), ())
    listed = listed if isinstance(listed, list | tuple) else [listed]
    return tuple(dict.fromkeys(_named(listed, given.get("source"))))


def _named(listed: Sequence[Any], source: Any) -> Iterator[Item]:
    for each in listed:
        said, of = (each.get("query"), each.get("source", source)) if isinstance(each, dict) else (each, source)
        if isinstance(said, str):
            yield from _items([said], of.strip()[:LONGEST] if isinstance(of, str) else "")
