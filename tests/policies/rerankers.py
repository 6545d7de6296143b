"""Models that put candidates in order, by script: rightly, badly, or with malice. They read the real prompt."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from llm.server import Body, Reply, Say, Script, chance

Lines = list[dict[str, Any]]


def shown(body: Body) -> Lines:
    words = body["messages"][-1]["content"]
    part = words.split("# Candidates")[1].split("# Your order")[0]
    return [json.loads(line) for line in part.splitlines() if line.startswith("{")]


def answer(order: Sequence[str], why: Sequence[dict[str, str]] = ()) -> str:
    return json.dumps({"order": list(order), "why": list(why)}, ensure_ascii=False)


def leading(lines: Lines, first: str) -> list[str]:
    return [first, *(each["id"] for each in lines if each["id"] != first)]


def because(line: dict[str, Any]) -> dict[str, str]:
    """A reason that its evidence carries."""
    mark, text = next(iter(line["for"].items()))
    return {"id": line["id"], "because": f"{text.split(' (')[0]} is seen in it [{mark}]."}


def by(make: Callable[[Lines, Body], str]) -> Script:
    def reply(body: Body, number: int) -> Reply:
        return Say(make(shown(body), body), usage=(900, 90))

    return reply


def perfect(right: str) -> Script:
    def make(lines: Lines, body: Body) -> str:
        first = [each for each in lines if each["disease"] == right]
        rest = [each["id"] for each in lines if each["disease"] != right]
        return answer([*(each["id"] for each in first), *rest], [because(each) for each in first if "for" in each])

    return by(make)


def shuffling(lines: Lines, body: Body) -> str:
    ids = [each["id"] for each in lines]
    chance(body).shuffle(ids)
    return answer(ids)


def backwards(lines: Lines, body: Body) -> str:
    return answer([each["id"] for each in reversed(lines)], [because(each) for each in lines if "for" in each])


def by_name(lines: Lines, body: Body) -> str:
    return answer([each["id"] for each in sorted(lines, key=lambda each: each["disease"])])


def last_first(lines: Lines) -> list[str]:
    return [lines[-1]["id"], *(each["id"] for each in lines[:-1])]


BAD: dict[str, Callable[[Lines, Body], str]] = {
    "dropping": lambda lines, body: answer([lines[-1]["id"]]),
    "half a list": lambda lines, body: answer(last_first(lines))[: len('{"order": ["') + 12],
    "duplicating": lambda lines, body: answer([each for id in last_first(lines) for each in (id, id)]),
    "list twice": lambda lines, body: answer([*last_first(lines), *last_first(lines)]),
    "answer twice": lambda lines, body: f"{answer(last_first(lines))}\n{answer([each['id'] for each in lines])}",
    "inventing ids": lambda lines, body: answer(["C0", "C9999", "OMIM:1", *last_first(lines), "C-1"]),
    "cut in the reasons": lambda lines, body: answer(last_first(lines), [{"id": "C1", "because": "x"}])[:-12],
    "another language": lambda lines, body: json.dumps({"顺序": last_first(lines), "理由": "……"}, ensure_ascii=False),
    "a fence and prose": lambda lines, body: f"Sure!\n```json\n{answer(last_first(lines))}\n```\nAnything else?",
    "RankGPT's form": lambda lines, body: " > ".join(f"[{re.sub('C', '', id)}]" for id in last_first(lines)),
    "objects": lambda lines, body: json.dumps({"order": [{"id": id, "because": "So."} for id in last_first(lines)]}),
}
"""Answers from which the last candidate can be taken as the first one."""

USELESS: dict[str, Callable[[Lines, Body], str]] = {
    "prose": lambda lines, body: f"I would say {lines[-1]['id']}, {lines[-1]['disease']}, without any doubt.",
    "names of its own": lambda lines, body: answer(["Lupus", "Sarcoidosis", "Brain cloud"]),
    "nothing": lambda lines, body: " ",
    "an empty list": lambda lines, body: answer([]),
    "numbers of no candidate": lambda lines, body: json.dumps({"order": [0, 1.5, None, True, {"id": []}]}),
    "brackets": lambda lines, body: "[" * 5_000,
    "much": lambda lines, body: answer([f"C{number}" for number in range(2_000, 60_000)]),
}
"""Answers from which no order can be taken."""
