"""Maps symptoms to the terms of HPO that their names say where no term is called like them: 反复呕血 is a hematemesis.

Stages, the surest first: of several terms of one name the one above the others; a name that a term has as related only;
equal meanings (:mod:`kgdx.terms.names.morphemes`); and the reader of findings on the name, as on a patient's text. What
it reads counts where the symptom is that finding: by its whole name, as one of several that a conjunction joins, or as
the head of a compound whose other words say where, when or how ("severe pain in the chest", 劳累后心悸).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import polars as pl

from kgdx.case.patient import Finding, Span, Status
from kgdx.terms.everyday import everyday_wordings
from kgdx.terms.extractor import Extractor
from kgdx.terms.names.cascade import CANDIDATES
from kgdx.terms.names.entity_names import RELATED_NAME, Side
from kgdx.terms.names.morphemes import ends_in_word, meaning, names_disorder
from kgdx.terms.normalise import form, has_chinese, word_list

VERSION = 1
GENERAL, RELATED, MEANING = "general term", "related name", "same meaning"
WHOLE, JOINED, HEAD = "reader", "reader: one of several", "reader: head"
STAGES = {GENERAL: 0.97, WHOLE: 0.92, MEANING: 0.9, JOINED: 0.88, HEAD: 0.86, RELATED: 0.84}
"""The stages, and the score of what each states."""
_SIGNS = " \t,.;:!?，。；：、（）()-的“”\"'"
_EITHER = re.compile(r"\bor\b|/|或")


@dataclass(frozen=True, slots=True)
class _Reading:
    term: str
    method: str
    matched: str
    relation: str


def said_terms(symptoms: Iterable[tuple[str, str]], findings: Side, reader: Extractor) -> pl.DataFrame:
    """Return what names of symptoms that no term is called say of the terms (``findings``), as a decided alignment."""
    names, meanings = _by_key(findings, reader), _by_meaning(findings, reader)
    rows = []
    for id, name in symptoms:
        for each in _readings(name, names, meanings, reader):
            values = (id, each.term, each.method, STAGES[each.method], name, each.matched, each.relation)
            rows.append(dict(zip(CANDIDATES, values, strict=True)))
    return pl.DataFrame(rows, schema=CANDIDATES).with_columns(outcome=pl.lit("stated"))


def _readings(
    name: str, names: Mapping[str, _Reading | None], meanings: Mapping[tuple[str, bool], _Reading], reader: Extractor
) -> Sequence[_Reading]:
    if (lay := everyday_wordings("zh").get(name)) and not lay.absent and reader.terms.row(lay.id) is not None:
        return [_Reading(lay.id, WHOLE, name, "exact")]  # chosen by hand, it outweighs translations
    if (key := form(name, diseases=False).key) in names:
        return [known] if (known := names[key]) else []
    read = list(_read(name, reader))
    if any(each.method == WHOLE for each in read):
        return read
    if not has_chinese(name) and " " not in name:
        return read  # an English word by itself means more than the term: bulging
    said, wrong = meaning(name), names_disorder(name)
    meant = meanings.get((said, wrong)) or (meanings.get((said, False)) if wrong else None)
    return [meant] if meant else read


def _by_key(findings: Side, reader: Extractor) -> dict[str, _Reading | None]:
    names = findings.names.filter(pl.col("weight") >= RELATED_NAME)
    groups: dict[str, dict[float, dict[str, tuple[str, str]]]] = defaultdict(lambda: defaultdict(dict))
    for key, weight, term, text, relation in names.select("key", "weight", "entity", "text", "relation").iter_rows():
        groups[key][weight].setdefault(term, (text, relation))
    found: dict[str, _Reading | None] = {}
    for key, group in groups.items():
        weight = max(group)
        found[key] = None
        if top := _above(group[weight], reader):
            text, relation = group[weight][top]
            related = weight == RELATED_NAME
            found[key] = _Reading(top, *((RELATED, text, "close") if related else (GENERAL, text, relation)))
    return found


def _by_meaning(findings: Side, reader: Extractor) -> dict[tuple[str, bool], _Reading]:
    usable = (pl.col("weight") > RELATED_NAME) & (pl.col("relation") == "exact")
    groups: dict[tuple[str, bool], dict[float, dict[str, str]]] = defaultdict(lambda: defaultdict(dict))
    for text, weight, term in findings.names.filter(usable).select("text", "weight", "entity").iter_rows():
        if "#" in (said := meaning(text)):
            groups[said, names_disorder(text)][min(weight, 0.995)].setdefault(term, text)
    found: dict[tuple[str, bool], _Reading] = {}
    for key, group in groups.items():
        terms = group[max(group)]
        if top := _above(terms, reader):
            found[key] = _Reading(top, MEANING, terms[top], "exact")
    return found


def _above(terms: Iterable[str], reader: Extractor) -> str | None:
    rows = {term: row for term in terms if (row := reader.terms.row(term)) is not None}
    for term, row in rows.items():
        if all(other == row or reader.terms.above(row, other) for other in rows.values()):
            return term
    return None


def _read(name: str, reader: Extractor) -> Iterator[_Reading]:
    every = reader.named(name) or reader.extract(name).findings
    every = [each for each in every if each.span and each.status is Status.PRESENT]
    spans = [each.span for each in every if each.span]
    heads = _heads_zh if has_chinese(name) else _heads
    kept: dict[str, tuple[Finding, Span]] = {}
    for each, span in zip(every, spans, strict=True):
        before = name[max((other.end for other in spans if other.end <= span.start), default=0) : span.start]
        adjoining = any(other.start == span.end for other in spans)
        if reader.terms.row(each.id) is not None and heads(before, each.text, name[span.end :], adjoining):
            kept.setdefault(each.id, (each, span))
    rows = {term: reader.terms.row(term) or 0 for term in kept}
    general = {a for a in rows for b in rows if a != b and reader.terms.above(rows[a], rows[b])}
    joined = any(_pattern(f"conjunction_{language}").search(name) for language in ("en", "zh"))
    several = joined or len(rows) - len(general) > 1
    for term, (each, span) in kept.items():
        if term in general:
            continue
        whole = not (name[: span.start] + name[span.end :]).strip(_SIGNS)
        if several:
            yield _Reading(term, JOINED, each.matched, "broader" if _EITHER.search(name) else "narrower")
        elif whole:
            yield _Reading(term, WHOLE, each.matched, "exact" if each.method == "exact" else "close")
        else:
            yield _Reading(term, HEAD, each.matched, "narrower")


def _heads(before: str, said: str, after: str, adjoining: bool) -> bool:
    """Return whether an English name is of what it says between other words; ``adjoining``: another finding follows."""
    before = _pattern("conjunction_en").split(before.lower())[-1].strip(_SIGNS)
    led = _pattern("led_by").sub("", before)
    if _pattern("contrary_en").search(before) or _pattern("tail_en").search(led):
        return False
    after = after.lower().strip(" \t")
    return not after.strip(_SIGNS) or after[0] in ",;/&(:" or bool(_pattern("tail_en", "conjunction_en").match(after))


def _heads_zh(before: str, said: str, after: str, adjoining: bool) -> bool:
    before = _pattern("conjunction_zh").split(before)[-1].strip(_SIGNS)
    if _pattern("contrary_zh").search(before) or not (not before or ends_in_word(before)):
        return False
    if before and said in word_list("elsewhere_zh") and not _pattern("cause_zh").search(before):
        return False
    rest = after.strip(_SIGNS)
    while rest and (tail := _pattern("tail_zh").match(rest)):
        rest = rest[tail.end() :].strip(_SIGNS)
    return not rest or adjoining or after[0] in "(（" or bool(_pattern("conjunction_zh").match(after))


@cache
def _pattern(*lists: str) -> re.Pattern[str]:
    words = "|".join(
        sorted(map(re.escape, (word for name in lists for word in word_list(name))), key=len, reverse=True)
    )
    if lists[0].endswith("zh"):
        return re.compile(f"(?:{words})$" if lists[0] == "cause_zh" else words)
    return re.compile(rf"^(?:(?:{words})\b\W*)+of\b" if lists[0] == "led_by" else rf"\b(?:{words})\b|[,;/&(]")
