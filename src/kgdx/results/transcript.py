"""How a result came about, as rows for a reader: rounds of look-ups, the log, and what language models were asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from kgdx.results.document import LogEntry
from kgdx.results.ranked import Reranking
from kgdx.results.words import clean, count

if TYPE_CHECKING:
    from kgdx.results.cited import LookupRound


def round_title(of: LookupRound) -> str:
    """Return what a round is called, and what became of it where it has no steps.

    Example:
        >>> from kgdx.results.cited import LookupRound
        >>> round_title(LookupRound(2, ended=True)), round_title(LookupRound(0))
        ('Round 2: nothing more to look up', 'Steps')
    """
    if of.by == "rules":
        return "By the words of the question"
    name = f"Round {of.round}" if of.round else "Steps"
    return name + (": nothing more to look up" if of.ended else ": no plan, see the notes" if of.failed else "")


def log_rows(trace: Iterable[LogEntry]) -> Iterator[LogEntry]:
    """Yield the rows of a log: each entry, and after it what it ran on the graph, as an entry.

    Example:
        >>> ran = {"kind": "query", "name": "tests", "rows": 3}
        >>> entry = LogEntry(author="graph", kind="result", name="get_test", operations=(ran,))
        >>> [(row.kind, row.name, row.rows) for row in log_rows([entry])]
        [('result', 'get_test', None), ('query', 'tests', 3)]
    """
    for each in trace:
        yield each
        yield from (LogEntry.model_validate({"author": each.author, **ran}) for ran in each.operations)


def exchanges(trace: Iterable[LogEntry]) -> Iterator[tuple[str, LogEntry]]:
    """Yield what language models were asked and said, each with the name of the model.

    Example:
        >>> wish = LogEntry(author="policy", kind="wish", name="ask_model", words={"messages": [{"content": "Why?"}]})
        >>> said = LogEntry(author="model", kind="result", name="qwen3", words={"text": "So."})
        >>> [(name, row.kind, row.said) for name, row in exchanges([wish, said])]
        [('qwen3', 'wish', 'Why?'), ('qwen3', 'result', 'So.')]
    """
    entries = [each for each in trace if each.author == "model" or (each.kind, each.name) == ("wish", "ask_model")]
    for number, each in enumerate(entries):
        answered = entries[number + 1] if each.kind == "wish" and number + 1 < len(entries) else each
        yield answered.name, each


def tokens(usage: Mapping[str, int | float]) -> tuple[int, int]:
    """Return prompt and completion tokens."""
    return int(usage.get("prompt_tokens", 0)), int(usage.get("completion_tokens", 0))


def reranking_words(told: Reranking) -> str:
    """Return what became of a model's order, in a line.

    Example:
        >>> reranking_words(Reranking("m", "cot", "ca11", 50, 1, moved=9, unknown=2))
        're-ordered by m (cot ca11): 50 candidates, 9 moved; of its ids 2 unknown were refused'
    """
    if told.stands:
        return f"the order of retrieval stands: {clean(told.model) or 'the model'} gave none ({clean(told.fault)})"
    by = f"re-ordered by {clean(told.model)} ({clean(told.prompt)} {told.digest})"
    parts = [f"{by}: {count(told.candidates, 'candidate')}, {told.moved:,} moved"]
    if told.weight < 1:
        parts.append(f"its order weighs {told.weight:g}, the score {1 - told.weight:g}")
    refused = [f"{each:,} {what}" for what, each in (("unknown", told.unknown), ("repeated", told.repeated)) if each]
    if refused:
        parts.append(f"of its ids {' and '.join(refused)} were refused")
    if told.omitted:
        parts.append(f"{told.omitted:,} left out follow as retrieved")
    if told.failed:
        parts.append(f"{told.failed:,} of {told.asked:,} requests gave no order")
    if told.unexplained:
        parts.append(f"{told.unexplained:,} moved up without a reason that the evidence carries")
    if told.agreement is not None:
        bias = "" if told.bias is None else f", with the order shown {told.bias:.2f}"
        parts.append(f"{told.runs} runs agree by {told.agreement:.2f}{bias} (Kendall), {count(told.ties, 'tie')}")
    return "; ".join(parts)
