"""What could be done next for a patient, as a list with what a learned policy observes of each entry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from pydantic import Field

from kgdx.actions.believing import SHOWN
from kgdx.case import Status
from kgdx.episode.operations import Operations
from kgdx.episode.state import Artifact, Reads, State, digest_of
from kgdx.episode.wish import Action
from kgdx.rank.choices import Progress, begun, listing
from kgdx.rank.ranking import leaving_out
from kgdx.rank.ranking_model import ROOT
from kgdx.rank.standing import Asked, Standings

Count = Annotated[int, Field(ge=0)]


class Considerable(NamedTuple):
    """Something that can be done next.

    Attributes:
        kind: One of :data:`kgdx.rank.choices.KINDS`.
        findings: What is asked for, matched with, or searched for.
        disease: Id of the disease that is looked up.
        name: Its name.
        weight: How much patients that match count.
        features: What a policy observes of it, as :data:`kgdx.rank.choices.FEATURES` names it.
        place: Its place in the list, which other choices of its kind may have in other states.
        query: What is searched for.
    """

    kind: str
    findings: tuple[Asked, ...] = ()
    disease: str = ""
    name: str = ""
    weight: float = 0.0
    features: tuple[float, ...] = ()
    place: int = 0
    query: str = ""


@dataclass(frozen=True, slots=True)
class Considered(Artifact):
    """What can be done next, or what of a round of questions is still to be asked.

    Attributes:
        listed: The choices; none while something is still to be asked.
        asking: What is still to be asked.
        leaders: Leading diseases, best first: id, name, share.
        ontology: Id of the term that all findings lie below.
    """

    depends: ClassVar[tuple[Reads, ...]] = ("case",)

    listed: tuple[Considerable, ...] = ()
    asking: tuple[Asked, ...] = ()
    leaders: tuple[tuple[str, str, float], ...] = ()
    ontology: str = ROOT

    def digest(self) -> str:
        """Return a digest of what is listed, and of the leaders."""
        features = np.round([each.features for each in self.listed], 4).tolist()
        listed = "\n".join(
            f"{each.kind} {[one.id for one in each.findings]} {each.disease} {each.weight} {told}"
            for each, told in zip(self.listed, features, strict=True)
        )
        return digest_of(f"{listed}\n{[each.id for each in self.asking]}\n{[each[0] for each in self.leaders]}")

    def summary(self) -> dict[str, Any]:
        """Return how many choices there are, and the first leaders."""
        leaders = [[id, name, round(share, 6)] for id, name, share in self.leaders[:SHOWN]]
        return {"listed": len(self.listed), "asking": len(self.asking), "leaders": leaders}


class Consider(Action):
    """List what could be done next: questions, look-ups, a search, matches, a diagnosis; with what tells of their use.

    Example:
        >>> Consider(asks=2).parameters()["asks"]
        2
    """

    name: ClassVar[str] = "consider"
    makes: ClassVar[type[Artifact]] = Considered
    planned: ClassVar[bool] = False

    asks: Count = 0
    """Single questions that were asked."""
    looked: tuple[str, ...] = ()
    """Ids of diseases that were looked up, once for each time; empty for a round of questions."""
    matches: Count = 0
    """Matches that were made."""
    matched: tuple[str, ...] = ()
    """Ids of the findings that were matched with since the case changed last; none where it was not."""
    weight: Annotated[float, Field(ge=0, le=10)] = 0.0
    """How much that match counts."""
    searches: Count = 0
    """Searches that were made."""
    searched: tuple[str, ...] = ()
    """Ids of the findings that were searched for since the case changed last; none where nothing was."""
    found: Count = 0
    """Findings that the last questions found."""
    asking: tuple[str, ...] = ()
    """Ids of what is still to be asked of a round: where some of it is open, nothing else is listed."""

    def run(self, graph: Operations, view: State) -> Considered:
        """Return the list.

        Raises:
            CaseError: The case has no finding that the ranker knows.
        """
        given = {"observed": list(view.case.observed), "excluded": list(view.case.excluded), **self.parameters()}
        found: Considered = graph.tool(
            "choices", given, lambda: self._considered(graph.graph.standings, view), lambda found: len(found.listed)
        )
        return found

    def _considered(self, standings: Standings, view: State) -> Considered:
        at = self.progress(standings, view)
        names = standings.ranker.names
        still = [row for each in self.asking if (row := names.terms.get(each, -1)) >= 0 and not at.settled[row]]
        leaders = standings.led(at.seen)
        if still:
            return Considered((), standings.asked(tuple(still)), leaders)
        offered = listing(standings, [at])
        listed = []
        for place in np.flatnonzero(offered.listed[0]).tolist():
            choice = offered.choice(0, place)
            findings = standings.asked(choice.terms)
            if choice.kind in ("match", "search"):
                findings = tuple(each._replace(below=()) for each in findings)
            disease, name = ("", "") if choice.disease < 0 else names.candidate(choice.disease)[:2]
            features = tuple(offered.features[0, place].tolist())
            query = standings.words(choice.terms) if choice.kind == "search" else ""
            listed.append(Considerable(choice.kind, findings, disease, name, choice.weight, features, place, query))
        return Considered(tuple(listed), (), leaders)

    def progress(self, standings: Standings, view: State) -> Progress:
        """Return how far the episode is."""
        ranker, rows = standings.ranker, standings.ranker.names.terms
        unknown = [each.id for each in view.case.findings if each.status is Status.UNKNOWN]
        at = begun(standings, ranker.query(view.case.evidence)[0], [rows[each] for each in unknown if each in rows])
        at.unknown, at.asks = len(unknown), self.asks
        at.looked = [ranker.number_of(each) if each else -1 for each in self.looked]
        if self.matched and standings.bank is not None:
            findings = [rows[each] for each in self.matched if each in rows]
            at.match(standings, findings, self.weight, leaving_out(view.case))
        if self.searched and standings.texts is not None:
            at.search(standings, [rows[each] for each in self.searched if each in rows])
        at.matches, at.searches, at.found = self.matches, self.searches, self.found
        return at
