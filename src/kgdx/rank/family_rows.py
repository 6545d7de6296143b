"""A ranking with one row for each family: its best member, the others inside, and the finding that separates them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kgdx.arrays.sparse import Floats, Ints
from kgdx.rank.families import Families
from kgdx.rank.fusion import leading
from kgdx.rank.term_scorers import dense
from kgdx.results.ranked import FamilyMember, Separation

if TYPE_CHECKING:
    from kgdx.rank.ranking import CandidateNames
    from kgdx.rank.ranking_model import RankModel

SHOWN = 20
"""How many other members of a family a row holds, the best ones."""


@dataclass(frozen=True, slots=True)
class ListRow:
    """One row of a list.

    Attributes:
        candidate: Which candidate it shows.
        rank: The rank of its family among families.
        others: The other members of the family, best first; shape (members - 1,).
    """

    candidate: int
    rank: int
    others: Ints


def rows(total: Floats, families: Families, top: int, also: Iterable[int] = ()) -> list[ListRow]:
    """Return the best families, each by its best member; equal scores are in the order of the candidates."""
    members = families.members
    best = np.maximum.reduceat(total[members.index], members.start[:-1])
    found = []
    for place, family in enumerate(leading(best, top).tolist(), start=1):
        ordered = _ordered(total, members.columns(family))
        found.append(ListRow(int(ordered[0]), place, ordered[1:]))
    shown = {row.candidate for row in found}
    for number in dict.fromkeys(also):
        if number not in shown:
            family = int(families.of[number])
            ahead = np.count_nonzero(best > best[family]) + np.count_nonzero(best[:family] == best[family])
            ordered = _ordered(total, members.columns(family))
            found.append(ListRow(number, int(ahead) + 1, ordered[ordered != number]))
    return sorted(found, key=lambda row: row.rank)


def ranks_of(total: Floats, shown: Iterable[ListRow]) -> dict[int, int]:
    """Return the rank by disease of each candidate that rows show; equal scores are in the order of the candidates."""
    numbers = np.concatenate([[row.candidate, *row.others[:SHOWN]] for row in shown]).astype(np.int64)
    ordered, value = np.sort(total), total[numbers]
    upper = np.searchsorted(ordered, value, side="right")
    ranks = len(total) - upper + 1
    for at in np.flatnonzero(upper - np.searchsorted(ordered, value) > 1).tolist():
        ranks[at] += np.count_nonzero(total[: numbers[at]] == value[at])
    return dict(zip(numbers.tolist(), ranks.tolist(), strict=True))


def family_fields(
    row: ListRow, total: Floats, ranks: Mapping[int, int], model: RankModel, names: CandidateNames
) -> dict[str, Any]:
    """Return what a candidate that stands for a row says of its family."""
    if not len(row.others):
        return {"family_rank": row.rank}
    members = []
    for number in row.others[:SHOWN].tolist():
        told = names.candidate(number)
        score, genes = float(total[number]), names.genes(number)
        members.append(FamilyMember(ranks[number], told.id, told.name, score, told.name_zh, genes))
    return {
        "family_rank": row.rank,
        "family_size": len(row.others) + 1,
        "in_family": tuple(members),
        "separated_by": _separation(row.candidate, int(row.others[0]), model, names),
    }


def _ordered(total: Floats, members: Ints) -> Ints:
    ordered: Ints = members[np.argsort(-total[members], kind="stable")]
    return ordered


def _separation(one: int, other: int, model: RankModel, names: CandidateNames) -> Separation | None:
    shares = [dense(*model.propagated.row(number), len(model.basis.ic)) for number in (one, other)]
    apart = np.abs(shares[0] - shares[1]) * model.basis.ic
    at = int(apart.argmax())
    if apart[at] <= 0:
        return None
    id, (here, there) = names.term(at), (round(float(share[at]), 2) for share in shares)
    return Separation(id, names.label(id), names.candidate(other).id, here, there)
