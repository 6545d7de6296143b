"""How well findings are read from text: document-level micro precision, recall and F1 against annotated mentions.

A document counts as the set of terms that it mentions, whatever is said of them: corpora such as GSC+ annotate "no
seizures" as a mention of seizures, so every status counts, and so do names inside longer ones. Alternative and replaced
ids stand for their current term; a gold id that the ontology has dropped without replacement stays, and is missed.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from kgdx.errors import SourceError

if TYPE_CHECKING:
    from kgdx.terms.extractor import Extractor


def evaluate_text(extractor: Extractor, docs: Iterable[Mapping[str, Any]]) -> dict[str, float | int]:
    """Read every document and compare with its ``mentions``, ``[start, end, text, HPO id]`` each."""
    right = found = wanted = 0
    times = []
    for number, doc in enumerate(docs, 1):
        current = ((curie, extractor.terms.current(curie)[0]) for curie in _gold(doc, number))
        gold = {finding.id if finding else curie for curie, finding in current}
        begin = time.perf_counter()
        said = {finding.id for finding in extractor.mentions(doc["text"])}
        times.append(1000 * (time.perf_counter() - begin))
        right += len(gold & said)
        found += len(said)
        wanted += len(gold)
    if not times:
        raise SourceError("there is no document to evaluate on", hint='give JSON lines {"id", "text", "mentions"}')
    return {
        "precision": right / found if found else 0.0,
        "recall": right / wanted if wanted else 0.0,
        "f1": 2 * right / (found + wanted) if found + wanted else 0.0,
        "ms_median": statistics.median(times),
        "n": len(times),
    }


def _gold(doc: Mapping[str, Any], number: int) -> list[str]:
    try:
        mentions = [str(mention[3]) for mention in doc["mentions"]]
        if not isinstance(doc["text"], str):
            raise TypeError("text is no string")
    except (KeyError, IndexError, TypeError) as error:
        message = f"document {number} has no usable text and mentions ({error})"
        raise SourceError(
            message, hint='each needs {"id", "text", "mentions": [[start, end, text, HPO id], …]}'
        ) from None
    return mentions
