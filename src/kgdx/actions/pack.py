"""The evidence pack: everything an episode found, each fact with an id that an answer can cite.

It is a pure function of the state, so the same episode has the same pack wherever it is looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from kgdx.actions.artifacts import (
    Retrieved,
    citations_of,
    described_of,
    evidence_of,
    ranking_of,
    resolved_of,
)
from kgdx.actions.facts import Fact, facts
from kgdx.actions.items import PROMPT_CHARS, EvidencePack, Kind, clean, language_of
from kgdx.episode.state import State
from kgdx.graph.protocol import digest
from kgdx.results.cited import Citation, Description, EvidenceItem, Nothing
from kgdx.results.ranked import PathNode

__all__ = ["PROMPT_CHARS", "EvidenceItem", "EvidencePack", "Kind", "Nothing", "clean", "language_of", "pack"]

MAX_ITEMS = 1_000
"""Most items of a pack."""

MAX_EACH = 300
"""Most items from one retrieval."""

MAX_CANDIDATES = 10
"""Most candidates of a ranking that become items."""

MAX_PATHS = 5
"""Most evidence paths of a candidate that become items."""

_TEXT_CHARS = 800


def pack(state: State) -> EvidencePack:
    """Gather what an episode found so far.

    Rows that state the same fact are one item with all their sources. Ids are given in the order of retrieval, then
    to candidates, descriptions, MeSH headings and publications.

    Example:
        >>> from kgdx.case import Case
        >>> pack(State(Case("p"))).items
        ()
    """
    retrieved, resolved, citations = state.all(Retrieved), resolved_of(state), citations_of(state)
    names, given = _names(state), {id: each.given for each in reversed(resolved) for id in each.ids}
    items: dict[tuple[object, ...], EvidenceItem] = {}
    left: dict[str, int] = {}
    for found in retrieved:
        _add(items, left, found, facts(found, names, given))
    for key, item in _further(state, names):
        if key in items:
            items[key] = _joined(items[key], item)
        elif len(items) < MAX_ITEMS:
            items[key] = item
        else:
            left[item.action] = left.get(item.action, 0) + 1
    return EvidencePack(
        question=state.question,
        items=tuple(replace(item, id=f"E{number}") for number, item in enumerate(items.values(), 1)),
        diseases=described_of(state),
        citations=citations,
        resolved=resolved,
        nothing=tuple(_empty(found, {**given, **names}) for found in retrieved if not found.rows),
        left_out=left,
    )


def _names(state: State) -> dict[str, str]:
    """Names of diseases by id, from whatever says them."""
    names: dict[str, str] = {}
    for found in state.all(Retrieved):
        for row in found.rows:
            if isinstance(row.get("disease"), str) and isinstance(row.get("disease_name"), str):
                names.setdefault(row["disease"], row["disease_name"])
    for resolved in resolved_of(state):
        for id, name in zip(resolved.ids, resolved.names, strict=False):
            names.setdefault(id, name)
    for described in described_of(state):
        if described.names:
            names.setdefault(described.id, described.names[0])
    ranking = ranking_of(state)
    for candidate in () if ranking is None else ranking.candidates:
        for id in (candidate.id, *candidate.members):
            names.setdefault(id, candidate.name)
    return names


def _add(
    items: dict[tuple[object, ...], EvidenceItem], left: dict[str, int], found: Retrieved, stated: Iterable[Fact]
) -> None:
    """Add what one retrieval found."""
    action = found.action or found.template
    rows = found.rows_digest or digest(found.rows)
    added = 0
    for fact in stated:
        if fact.key in items:
            items[fact.key] = _joined(items[fact.key], _item(fact, action, found.template, rows))
        elif added < MAX_EACH and len(items) < MAX_ITEMS:
            items[fact.key] = _item(fact, action, found.template, rows)
            added += 1
        else:
            left[action] = left.get(action, 0) + 1
    totals = {(row.get("disease"), row.get("relation")): row.get("total") for row in found.rows if row.get("total")}
    beyond = sum(total for total in totals.values() if total is not None) - len(found.rows)
    if totals and beyond > 0:
        left[action] = left.get(action, 0) + beyond


def _item(fact: Fact, action: str, template: str, rows: str) -> EvidenceItem:
    text = clean(str(fact), _TEXT_CHARS)
    details = {key: value for key, value in fact.details.items() if fact.kind != "row"}
    if fact.kind == "inference":
        details |= {"matched": fact.matched, "asked": fact.asked}
    kind: Kind = fact.kind
    sources = (fact.source,) if fact.source else ()
    return EvidenceItem(
        id="",
        kind=kind,
        text=text,
        language=language_of(text),
        subject=fact.subject,
        relation=fact.relation,
        objects=fact.objects,
        sources=sources,
        references=fact.references,
        details=details,
        action=action,
        template=template,
        digest=rows,
    )


def _joined(one: EvidenceItem, other: EvidenceItem) -> EvidenceItem:
    """Return one item that both sources state."""
    return replace(
        one,
        sources=tuple(dict.fromkeys((*one.sources, *other.sources))),
        references=tuple(dict.fromkeys((*one.references, *other.references))),
        details={**other.details, **one.details},
    )


def _further(state: State, names: Mapping[str, str]) -> Iterator[tuple[tuple[object, ...], EvidenceItem]]:
    """Yield what did not come from rows: candidates and their paths, descriptions, headings, publications."""
    for key, item in (
        *_candidates(state),
        *_descriptions(described_of(state)),
        *_publications(citations_of(state), names),
    ):
        text = clean(item.text, _TEXT_CHARS)
        yield key, replace(item, text=text, language=language_of(text))


def _candidates(state: State) -> Iterator[tuple[tuple[object, ...], EvidenceItem]]:
    ranking, evidence = ranking_of(state), evidence_of(state)
    for candidate in () if ranking is None else ranking.candidates[:MAX_CANDIDATES]:
        subject = PathNode(candidate.id, "Disease", candidate.name)
        details = {"rank": candidate.rank, "score": round(candidate.score, 3), "members": list(candidate.members)}
        text = (
            f"{candidate.name} ({candidate.id}) is candidate {candidate.rank} of the case, score {candidate.score:.2f}"
        )
        yield (
            ("candidate", candidate.id),
            EvidenceItem("", "candidate", text, subject=subject, details=details, action="rank"),
        )
        for path in evidence.get(candidate.id, ())[:MAX_PATHS]:
            found = path.nodes[0] if path.nodes[0].label != "PatientCase" else path.nodes[1]
            relation = path.relations[-1]
            source = relation.properties.get("source")
            yield (
                ("path", candidate.id, path.kind, path.finding),
                EvidenceItem(
                    "",
                    "relation",
                    f"{path.kind.replace('_', ' ')}: {path}",
                    subject=path.nodes[-1],
                    relation=relation.type,
                    objects=(found,),
                    sources=(str(source),) if source else (),
                    references=path.references,
                    details={"evidence": path.kind, **({"frequency": path.frequency} if path.frequency else {})},
                    action="explain",
                ),
            )


def _descriptions(described: Iterable[Description]) -> Iterator[tuple[tuple[object, ...], EvidenceItem]]:
    told = tuple(described)
    for each in told:
        if each.text:
            subject = PathNode(each.id, "Disease", each.names[0] if each.names else "")
            begins = any(each.text.lower().startswith(name.lower()) for name in each.names)
            text = each.text if begins else f"{subject.name or each.id}: {each.text}"
            sources = (each.source,) if each.source else ()
            item = EvidenceItem("", "description", text, subject=subject, sources=sources, action="describe")
            yield ("description", each.id), item
    for each in told:
        if each.mesh is not None and each.mesh.id:
            subject = PathNode(each.id, "Disease", each.names[0] if each.names else "")
            heading = PathNode(each.mesh.id, "MeshDescriptor", each.mesh.heading)
            places = ", ".join(each.mesh.tree_numbers)
            text = f"{subject.name or each.id} in MeSH: {heading.name} ({heading.id}; {places}). {each.mesh.scope_note}"
            details = {"tree_numbers": list(each.mesh.tree_numbers), "method": each.mesh.method}
            yield (
                ("mesh", each.id, heading.id),
                EvidenceItem(
                    "",
                    "mesh",
                    text,
                    subject=subject,
                    relation="MAPPED_TO",
                    objects=(heading,),
                    sources=("mesh",),
                    details=details,
                    action="describe",
                ),
            )


def _publications(
    citations: Iterable[Citation], names: Mapping[str, str]
) -> Iterator[tuple[tuple[object, ...], EvidenceItem]]:
    for each in citations:
        subject = PathNode(each.about[0], "Disease", names.get(each.about[0], "")) if each.about else None
        details: dict[str, Any] = {"about": list(each.about)}
        if each.abstract:
            details["abstract"] = clean(each.abstract, _TEXT_CHARS)
        yield (
            ("publication", each.id),
            EvidenceItem(
                "",
                "publication",
                str(each),
                subject=subject,
                sources=(each.origin,),
                references=(each.id,),
                details=details,
                action="cite",
            ),
        )


def _empty(found: Retrieved, names: Mapping[str, str]) -> Nothing:
    given: list[str] = []
    for value in found.parameters.values():
        for each in value if isinstance(value, list | tuple) else [value]:
            id = each.get("id") if isinstance(each, Mapping) else each  # beside the number of what was given
            if isinstance(id, str):
                given.append(names.get(id, id))
    return Nothing(found.action or found.template, found.template, tuple(dict.fromkeys(given)))
