"""Auto-CoT: a model writes instructions for re-ranking, and development patients choose among them.

Half of the patients choose; the figures that are reported of the chosen one are of the other half. The file that is
kept knows which patients chose it, so that it is never measured on them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import BaseModel, Field

from kgdx.api.reranking import Reranker
from kgdx.case import Case
from kgdx.errors import CaseError, LlmError, UsageError
from kgdx.evaluate.labels import Labels
from kgdx.evaluate.metrics import MISS, gains, hits
from kgdx.llm.chat import Request, prompt
from kgdx.llm.structured import structured
from kgdx.policies.reordering import SPENT
from kgdx.policies.rerank import LONGEST, Instruction, instruction, names, patient_digest
from kgdx.rank import Ranking

MEASURE = "ndcg10"
"""By what an instruction is chosen."""

FEWEST = 10
"""Patients of each half at least: fewer choose by chance."""


class _Variant(BaseModel):
    text: Annotated[str, Field(min_length=20, max_length=LONGEST)]
    thought: bool = False


class _Variants(BaseModel):
    variants: list[_Variant]


@dataclass(frozen=True, slots=True)
class LabelledPatient:
    """A patient whose words are read, what was retrieved, and the ids of the candidates that the diagnosis means."""

    case: Case
    ranking: Ranking
    right: frozenset[str]


@dataclass(frozen=True, slots=True)
class ChosenInstruction:
    """An instruction, with the digests of the development patients who chose it."""

    instruction: Instruction
    figures: Mapping[str, Mapping[str, float]] = field(hash=False)
    """Instruction → its figures over the patients who chose."""
    measured: Mapping[str, Mapping[str, float]] = field(hash=False)
    """The figures of the chosen one, of ``vanilla`` and of the retrieval alone over the other half."""

    def to_dict(self) -> dict[str, Any]:
        return {"chosen_by": MEASURE, "chosen": dict(self.figures), "measured": dict(self.measured)}


def judged(
    work: Reranker, cases: Iterable[Case], read: Callable[[Case], Case], labels: Labels
) -> list[LabelledPatient]:
    """Return the patients whose diagnosis is a candidate, each with what is retrieved; those without are left out."""
    found = []
    ranker = work.graph.ranker
    for case in cases:
        right = labels.of(case).right
        if not right:
            continue
        try:
            spoken = read(case).identified()
            ranking = ranker.rank(spoken, top=work.policy.candidates)
        except CaseError:
            continue
        found.append(LabelledPatient(spoken, ranking, frozenset(ranker.names.candidate(each).id for each in right)))
    return found


def halves(patients: Sequence[LabelledPatient], seed: int) -> tuple[list[LabelledPatient], list[LabelledPatient]]:
    """Return those who choose and those on whom the choice is measured, by a digest of seed and id."""
    order = sorted(patients, key=lambda each: hashlib.sha256(f"{seed}:{each.case.id}".encode()).digest())
    half = len(order) // 2
    if half < FEWEST:
        hint = f"give {2 * FEWEST} patients or more whose diagnosis the graph describes"
        raise UsageError(f"only {len(order)} patients can choose", hint=hint)
    return order[:half], order[half:]


def variants(work: Reranker, count: int) -> list[Instruction]:
    """Have the model write instructions beside those that come with kgdx."""
    template = prompt("rerank_variants")
    known = "\n\n".join(f"- {instruction(name).text}" for name in names())
    request = Request(template.messages(known=known, count=str(count)))
    (model,) = work.world.models.values()
    told = structured(model, request, _Variants).value.variants[:count]
    texts = {" ".join(each.text.split()): each.thought for each in told}
    return [Instruction(name=f"auto-{n}", text=text, thought=own) for n, (text, own) in enumerate(texts.items(), 1)]


def choose(work: Reranker, patients: Sequence[LabelledPatient], tried: Sequence[Instruction]) -> ChosenInstruction:
    """Let one half of the patients choose among instructions, of equals the first, and measure it on the other half."""
    choosing, others = halves(patients, work.seed)
    found = {each.name: figures(choosing, _ordered(work, each, choosing)) for each in tried}
    best = max(tried, key=lambda each: found[each.name][MEASURE])
    plain = instruction("vanilla")
    rows: dict[str, list[Sequence[str]]] = {
        "retrieval": [[one.id for one in each.ranking.candidates] for each in others]
    }
    rows |= {each.name: _ordered(work, each, others) for each in (plain, best)}
    measured = {name: figures(others, orders) for name, orders in rows.items()}
    digests = tuple(sorted(patient_digest(each.case) for each in choosing))
    return ChosenInstruction(best.model_copy(update={"chosen_on": digests}), found, measured)


def _ordered(work: Reranker, by: Instruction, patients: Sequence[LabelledPatient]) -> list[Sequence[str]]:
    made = work.instructed(by).order([(each.case, each.ranking) for each in patients])
    if any(each.told.fault == SPENT for each in made):
        hint = "raise the limit, and run it again: what was answered is kept"
        raise LlmError("the budget ended before all instructions were tried", hint=hint, kind="budget")
    return [each.order for each in made]


def figures(patients: Sequence[LabelledPatient], orders: Sequence[Sequence[str]]) -> dict[str, float]:
    """Return Hit@1, Hit@10 and NDCG@10 of orders of candidates, one item being relevant."""
    ranks = [
        next((float(place) for place, id in enumerate(order, 1) if id in each.right), MISS)
        for each, order in zip(patients, orders, strict=True)
    ]
    first, tenth = hits(ranks, (1, 10)).mean(axis=0).tolist()
    gain = float(gains(ranks, (10,)).mean())
    return {"n": len(ranks), "hit1": round(first, 4), "hit10": round(tenth, 4), "ndcg10": round(gain, 4)}
