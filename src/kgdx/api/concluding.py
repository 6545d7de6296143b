"""What an episode has come to, as the diagnosis that its users hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime

from kgdx.actions.explaining import MAX_EXPLAINED
from kgdx.answer.artifacts import Declared, DiseasesNamed, Reranked, candidates_of, evidence_of, ranking_of
from kgdx.answer.diagnosis import Diagnosis
from kgdx.api.questions import faults
from kgdx.case import Issue
from kgdx.episode.loop import Episode, kgdx_version
from kgdx.results.ranked import Candidate, MoveReason, Reranking


def diagnosis_of(episode: Episode, *, fingerprint: str) -> Diagnosis:
    """Return what an episode found.

    Example:
        >>> from kgdx.case import Case
        >>> from kgdx.episode.state import State
        >>> diagnosis_of(Episode(State(Case("p")), "fixed", "steps"), fingerprint="f").reason
        'steps'
    """
    state = episode.state
    ranking, declared = ranking_of(state), state.last(Declared)
    issues = list(state.case.issues)
    if ranking is not None:
        about_graph = [issue for issue in ranking.issues if issue.where == "graph"]
        issues = [*about_graph, *issues, *(issue for issue in ranking.issues if issue.where != "graph")]
    if episode.error is not None:
        issues.append(Issue("error", "episode", str(episode.error), "the result holds what was found before"))
    reranked = state.last(Reranked)
    spoke = ("planner",) if reranked is not None else ("model", "planner", "thought", "search")
    issues += [issue for issue in faults(state) if issue.where in spoke]
    issues += () if reranked is None else order_issues(reranked.told)
    candidates = candidates_of(state)
    if declared is not None and declared.diseases:
        order = {id: place for place, id in enumerate(declared.diseases)}
        known = [each for each in candidates if each.id in order]
        named = state.last(DiseasesNamed)
        reasons = named.reasons if named is not None else {} if reranked is None else reranked.reasons
        candidates = replaced_in(sorted(known, key=lambda each: order[each.id]), reasons)
        for id in declared.diseases[:MAX_EXPLAINED]:
            if all(each.id != id for each in candidates):
                issues.append(Issue("warning", id, "it was declared and is not among the candidates", "left out"))
    return Diagnosis(
        case=state.case,
        candidates=candidates,
        evidence=evidence_of(state),
        trace=state.log,
        issues=tuple(dict.fromkeys(issues)),
        reason=episode.reason,
        policy=episode.policy,
        fingerprint=fingerprint,
        version=kgdx_version(),
        n_candidates=0 if ranking is None else ranking.n_candidates,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        reranking=None if reranked is None else reranked.told,
        judgement=None if ranking is None else ranking.judgement,
    )


def replaced_in(order: Iterable[Candidate], reasons: Mapping[str, MoveReason]) -> tuple[Candidate, ...]:
    """Return candidates numbered in a declared order, each with the number that it was retrieved with."""
    return tuple(
        replace(
            each,
            rank=place,
            family_rank=None if each.family_rank is None else place,
            retrieved_rank=each.place,
            reason=reasons.get(each.id),
        )
        for place, each in enumerate(order, 1)
    )


def order_issues(told: Reranking) -> Iterator[Issue]:
    """Yield what a reader has to know of a model's order: one line at most.

    Example:
        >>> [each.message for each in order_issues(Reranking("m", asked=1, failed=1, fault="it holds no order"))]
        ['the model m gave no order of the candidates: it holds no order']
    """
    who, remedy = f"the model {told.model}".strip(), "the order of retrieval stands"
    if told.stands:
        yield Issue("warning", "rerank", f"{who} gave no order of the candidates: {told.fault}", remedy)
    elif told.failed:
        failed = f"{who} gave no order in {told.failed} of {told.asked} requests: {told.fault}"
        yield Issue("warning", "rerank", failed, f"{remedy} there")
