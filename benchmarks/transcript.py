"""One run of a planner over HTTP as a Markdown document: prompts, answers, actions, evidence, the cited answer.

Used by ``benchmarks/planner.py --transcript``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import kgdx
from kgdx.answer.cited_answer import Answer
from kgdx.episode import Author, Kind, Segment
from kgdx.episode.lookup_rounds import message_of

WIDE = 160
"""Letters of a cell of a table at most."""


def transcript(answer: Answer, question: str, requests: Sequence[Mapping[str, Any]], url: str) -> str:
    """Return the document.

    Args:
        answer: What came of it.
        question: What was asked.
        requests: The bodies that the endpoint was sent.
        url: The endpoint's address.
    """
    usage = answer.usage
    facts = [
        f"- kgdx {kgdx.__version__}, policy `{answer.policy}`, model `{answer.model}` at `{url}`",
        f"- {len(requests)} requests over HTTP, {usage.prompt_tokens:,} tokens read,"
        f" {usage.completion_tokens:,} written",
        f"- {sum(each.number > 0 for each in answer.rounds)} rounds; ended: {answer.reason}",
    ]
    parts = [f"# {question}", "\n".join(facts), *_first_request(requests), *_steps(answer.trace)]
    return "\n\n".join([*parts, *_evidence(answer), *_text(answer)]) + "\n"


def _first_request(requests: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not requests:
        return
    body = dict(requests[0])
    body["messages"] = [{**each, "content": f"({len(each['content']):,} characters)"} for each in body["messages"]]
    if "response_format" in body:
        schema = json.dumps(body["response_format"])
        body["response_format"] = f"(a JSON schema of the actions, {len(schema):,} characters)"
    yield "The first request, its long parts left out:"
    yield _fenced(json.dumps(body, ensure_ascii=False, indent=2), "json")


def _steps(trace: Sequence[Segment]) -> Iterator[str]:
    """The log in order: what the model was shown and said, what of it was refused, and what was run."""
    shown: set[str] = set()
    table: list[Sequence[object]] = []
    asked = 0
    for segment in trace:
        data = segment.data
        if segment.kind is Kind.RESULT and segment.author is Author.GRAPH and segment.name != "read_plan":
            table += _run(segment)
            continue
        if table and segment.name != "read_plan" and (segment.name == "ask_model" or segment.kind is Kind.ERROR):
            yield _table(("by", "what", "with", "rows", "ms"), table)
            table = []
        if segment.kind is Kind.WISH and segment.name == "ask_model":
            asked += 1
            yield f"## Request {asked}"
            yield f"kgdx asks with the prompt `{data['prompt']}`:"
            yield from _prompt(
                "\n".join(f"[{each['role']}]\n{each['content']}" for each in segment.words["messages"]), shown
            )
        elif segment.author is Author.MODEL:
            took = f"{segment.milliseconds:.0f} ms, {data['prompt_tokens']:,} tokens read"
            yield f"The model answers ({took}, {data['completion_tokens']:,} written):"
            yield _fenced(str(segment.words["text"]))
        elif segment.kind is Kind.RESULT and segment.name == "read_plan":
            plan = data["artifact"]
            names = ", ".join(f"`{each['action']}`" for each in plan["actions"]) or "nothing"
            yield f"kgdx takes from it: {names}" + ("; the search ends." if plan["ended"] else ".")
            for refused in plan["refused"]:
                yield f"**Refused**: {_cell(refused)}"
        elif segment.kind is Kind.ERROR:
            yield f"**Failed** ({segment.name}): {_cell(message_of(segment))}"
    if table:
        yield _table(("by", "what", "with", "rows", "ms"), table)


def _run(segment: Segment) -> Iterator[Sequence[object]]:
    for ran in segment.operations:
        fields = {key: value for key, value in ran.parameters.items() if value not in (None, [], "")}
        told = _cell(json.dumps(fields, ensure_ascii=False)) if fields else ""
        yield segment.name, f"{ran.kind} `{ran.name}`", told, f"{ran.rows:,}", f"{ran.milliseconds:.1f}"


def _prompt(content: str, shown: set[str]) -> Iterator[str]:
    """A prompt; sections that were shown before are named only."""
    parts = _sections(content)
    fresh = [part for part in parts if part not in shown]
    before = [part.splitlines()[0].lstrip("# ") for part in parts if part in shown and part not in ("[user]",)]
    shown.update(parts)
    if before:
        fresh.insert(0, f"(as before: {', '.join(before)})")
    yield _fenced("\n\n".join(fresh))


def _sections(content: str) -> list[str]:
    """A prompt's messages and, in them, what stands under each heading."""
    parts: list[str] = []
    for line in content.splitlines():
        if line.startswith("# ") or line in ("[system]", "[user]") or not parts:
            parts.append(line)
        else:
            parts[-1] += f"\n{line}"
    return [part.strip() for part in parts if part.strip()]


def _evidence(answer: Answer) -> Iterator[str]:
    yield f"## Evidence: {len(answer.pack.items)} items"
    cited = {id for sentence in answer.text.sentences for id in sentence.cites}
    rows = [
        (item.id, "yes" if item.id in cited else "", item.kind, _cell(item.text), ", ".join(item.sources))
        for item in answer.pack.items
    ]
    yield _table(("id", "cited", "kind", "what the graph says", "source"), rows)


def _text(answer: Answer) -> Iterator[str]:
    text = answer.text
    cites = sum(len(sentence.cites) for sentence in text.sentences)
    yield f"## The answer, checked: {cites} citations hold, {len(text.removed)} were taken out"
    yield "\n".join(f"> {line}" for line in str(text).splitlines())
    if text.removed:
        yield "Taken out, since no such evidence exists: " + ", ".join(f"`{each}`" for each in text.removed)
    for issue in answer.issues:
        yield f"- note: {_cell(issue.message)}"


def _table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def _cell(text: str) -> str:
    """A text in a cell: in one line, without what would end the cell."""
    plain = " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
    return plain if len(plain) <= WIDE else f"{plain[: WIDE - 1]}…"


def _fenced(text: str, language: str = "text") -> str:
    fence = "~~~"
    while fence in text:
        fence += "~"
    return f"{fence}{language}\n{text}\n{fence}"
