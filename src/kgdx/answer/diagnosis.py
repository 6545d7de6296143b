"""The result of an episode: ranked candidates, evidence paths, what was doubtful, and the record of it all."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from kgdx.case import Case, Issue
from kgdx.episode.conversation import spans
from kgdx.episode.segment import Segment, spent
from kgdx.episode.wish import AskPatient
from kgdx.errors import MissingExtraError, TemplateError, UsageError
from kgdx.llm.budget import Spent
from kgdx.results.document import NOTICE, SourceVersion
from kgdx.results.evidence_paths import EvidencePath
from kgdx.results.ranked import (
    Candidate,
    CaseSummary,
    DangerousDisease,
    DiagnosisDocument,
    Judgement,
    ReadFinding,
    Reranking,
    RolloutPart,
    named_support,
    unread_texts,
)
from kgdx.results.view import supporting

if TYPE_CHECKING:
    import pandas
    import polars
    from matplotlib.axes import Axes
    from neo4j_viz import VisualizationGraph

    from kgdx.case import Finding
    from kgdx.graph.neo4j.browser_links import Place
    from kgdx.results.cited import LookupRound
    from kgdx.results.view import ListedCandidate

TABLE = ("rank", "id", "name", "score", "members", "best_supported_by", "findings_for", "findings_against")
"""Columns of a diagnosis as a table."""


@dataclass(frozen=True, slots=True, repr=False)
class Diagnosis:
    """What an episode found: its candidates in their order, with what belongs to them.

    ``len(diagnosis)``, ``diagnosis[0]`` and ``for candidate in diagnosis`` speak of the candidates.

    Attributes:
        case: The case as it was understood.
        evidence: Candidate id → its paths, for the candidates that were explained.
        issues: What was doubtful in the input or while ranking.
        reason: Why the episode ended (:func:`kgdx.episode.loop.Episode`).
        n_candidates: How many diseases were ranked in all.
        created: When, in ISO 8601; no part of comparisons.
        sources: What the graph was made from (rows of the template ``sources``), where evidence was read from it.
        reranking: What became of a language model's order, where one was asked for.
        judgement: How far the list can be relied on as a whole, or why there is none.

    Example:
        >>> Diagnosis(Case("p")).to_dict()["schema"]
        'kgdx.diagnosis/3'
    """

    case: Case
    candidates: tuple[Candidate, ...] = ()
    evidence: Mapping[str, tuple[EvidencePath, ...]] = field(default_factory=dict, hash=False)
    trace: tuple[Segment, ...] = ()
    issues: tuple[Issue, ...] = ()
    reason: str = "diagnosed"
    policy: str = "fixed"
    fingerprint: str = ""
    version: str = ""
    n_candidates: int = 0
    created: str = field(default="", compare=False)
    sources: tuple[Mapping[str, Any], ...] = field(default=(), compare=False)
    reranking: Reranking | None = None
    judgement: Judgement | None = None

    def __len__(self) -> int:
        return len(self.candidates)

    def __iter__(self) -> Iterator[Candidate]:
        return iter(self.candidates)

    def __getitem__(self, place: int) -> Candidate:
        return self.candidates[place]

    def __bool__(self) -> bool:
        """Say that there is a diagnosis, be it without candidates."""
        return True

    def __repr__(self) -> str:
        """Return the case's id, how many candidates there are, and the first three.

        Example:
            >>> Diagnosis(Case("p"), (Candidate(1, "OMIM:1", "Fever", ("OMIM:1",), 4.0),), n_candidates=9)
            <Diagnosis of p: 1 of 9 candidates, first OMIM:1 Fever 4.0>
        """
        first = "; ".join(f"{each.id} {each.name[:40]} {each.score:.1f}" for each in self.candidates[:3])
        told = f", first {first}" if first else ""
        return f"<Diagnosis of {self.case.id}: {len(self)} of {self.n_candidates:,} candidates{told}>"

    @property
    def id(self) -> str:
        """Identity of the run: equal case, graph, policy and result give an equal id, whenever it ran.

        Example:
            >>> Diagnosis(Case("p"), created="2025-01-01").id == Diagnosis(Case("p"), created="2026-01-01").id
            True
        """
        ranked = [(candidate.id, f"{candidate.score:.9g}") for candidate in self.candidates]
        content = [self.case.id, self.case.digest, self.policy, self.fingerprint, self.version, ranked]
        return f"run:{hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]}"

    @property
    def dangerous(self) -> tuple[DangerousDisease, ...]:
        """Dangerous diseases that the findings do not exclude, at most five, each with what settles it now."""
        return () if self.judgement is None else self.judgement.dangerous

    @property
    def rounds(self) -> tuple[LookupRound, ...]:
        """What was looked up, round by round."""
        from kgdx.episode.lookup_rounds import rounds_of

        return rounds_of(self.trace)

    @property
    def rollout(self) -> tuple[RolloutPart, ...]:
        """What a model wrote that uses the graph as it writes, and what the graph put into it; else nothing."""
        if not any(each.name == "read_tags" for each in self.trace):
            return ()
        return tuple(RolloutPart("model" if each.own else "graph", each.text.strip()) for each in spans(self.trace))

    @property
    def usage(self) -> Spent:
        """What language models were asked."""
        return spent(self.trace)

    def candidate(self, id: str) -> Candidate:
        """Return a candidate by its id, or by that of an entry that is merged into it or ranked under it."""
        for candidate in self.candidates:
            if id == candidate.id or id in candidate.members or id in candidate.nested:
                return candidate
        raise UsageError(f"{id[:40]} is not among the {len(self.candidates)} candidates", hint="raise `top`")

    def paths(self, id: str) -> tuple[EvidencePath, ...]:
        """Return the evidence paths of a candidate."""
        if id in self.evidence:
            return self.evidence[id]
        candidate = self.candidate(id)
        if candidate.id not in self.evidence:
            raise UsageError(f"{id} was not explained", hint="ask for it with `graph.explain(diagnosis, id)`")
        return self.evidence[candidate.id]

    def table(self) -> polars.DataFrame:
        """Return the candidates as a polars data frame, one row each, best first; ``.write_csv(file)`` writes it.

        Members and findings are in one column each, parted by ``|``.

        Example:
            >>> Diagnosis(Case("p")).table().columns
            ['rank', 'id', 'name', 'score', 'members', 'best_supported_by', 'findings_for', 'findings_against']
        """
        import polars

        from kgdx.results.view import listed

        schema = dict.fromkeys(TABLE, polars.String) | {"rank": polars.Int64, "score": polars.Float64}
        rows = [_row(row, each) for row, each in zip(listed(self.document()), self.candidates, strict=True)]
        return polars.DataFrame(rows, schema=schema, orient="row")

    def plot(self, top: int = 10, ax: Axes | None = None) -> Axes:
        """Draw what raises and lowers the first candidates, with matplotlib.

        Args:
            ax: Where to draw; axes of a new figure when ``None``.
        """
        from kgdx.render.plots import ranking_plot

        return ranking_plot(self.document(), top, ax)

    def to_pandas(self) -> pandas.DataFrame:
        """Return :meth:`table` as a pandas data frame."""
        try:
            import pandas
        except ImportError as error:
            raise MissingExtraError("Diagnosis.to_pandas()", "pandas") from error
        return pandas.DataFrame(self.table().to_dicts(), columns=self.table().columns)

    def document(
        self, neo4j: Place | None = None, *, private: bool = False, words: bool = False, trace: bool = True
    ) -> DiagnosisDocument:
        """Return the diagnosis in its JSON form, from which files, pages and tables are made.

        Args:
            neo4j: Where Neo4j Browser is, and a database with the graph: explained candidates get links to it.
            private: Whether the log's words are included that may repeat a patient's.
            words: Whether the patient's words are included in which nothing was read.
            trace: Whether the record of the episode is included.
        """
        return DiagnosisDocument.of(
            (segment.to_dict(private=private) for segment in (self.trace if trace else ())),
            id=self.id,
            kgdx_version=self.version,
            fingerprint=self.fingerprint,
            policy=self.policy,
            reason=self.reason,
            created=self.created,
            case=CaseSummary.of(self.case),
            findings=tuple(map(ReadFinding.of, self.case.findings)),
            unread=tuple(unread_texts(self.case, words=words)),
            n_candidates=self.n_candidates,
            candidates=self._written(words=words),
            evidence=self.evidence,
            issues=self.issues,
            sources=tuple(SourceVersion(**row) for row in self.sources),
            links=self._links(neo4j),
            rollout=self.rollout,
            reranking=self.reranking,
            judgement=self.judgement,
        )

    def _written(self, *, words: bool) -> tuple[Candidate, ...]:
        name = supporting(self.case.findings)
        return tuple(
            (each if words else _without_unread(each))
            if each.id in self.evidence
            else replace(each, contributions=(), support=named_support(each, name) or each.support)
            for each in self.candidates
        )

    def to_dict(self, *, trace: bool = True, words: bool = False) -> dict[str, Any]:
        """Return the diagnosis as plain JSON values: the fields of the form ``kgdx.diagnosis/3``.

        The patient's text is no part of it; the words that each finding was read from are, and in contributions the
        clauses that were compared with words of the disease. The fields stand in the
        documentation under "Results", and in :class:`kgdx.results.ranked.DiagnosisDocument`.

        Args:
            trace: Whether to include the record of the episode.
            words: Whether to include the patient's words in which nothing was read; their places always are.
        """
        return self.document(words=words, trace=trace).to_dict("created", "links")

    def to_json(self, *, indent: int | None = None, trace: bool = True, words: bool = False) -> str:
        return self.document(words=words, trace=trace).to_json("created", "links", indent=indent)

    def to_html(self, neo4j: Place | None = None) -> str:
        """Return the diagnosis as one self-contained HTML page, which fetches nothing from elsewhere.

        Args:
            neo4j: Where Neo4j Browser is, and a database with the graph: each explained candidate gets a link that
                draws its evidence there. :func:`kgdx.browser_place` finds it.

        Example:
            >>> Diagnosis(Case("p")).to_html().splitlines()[0]
            '<!doctype html>'
        """
        from kgdx.render.pages import page

        return page(self.document(neo4j))

    def _links(self, neo4j: Place | None) -> dict[str, str]:
        links: dict[str, str] = {}
        if neo4j is None:
            return links
        for id in filter(self.evidence.get, self.evidence):
            with suppress(TemplateError):
                links[id] = neo4j.link(disease_query(id, self.case.findings))
        return links

    def browser_url(self, *ids: str, top: int = 1, neo4j: str | None = None, browser: str | None = None) -> str:
        """Return a link that draws the evidence in Neo4j Browser, once the run is saved in that Neo4j.

        :func:`kgdx.browse` sees to that and returns the same link.

        Args:
            ids: Candidates whose evidence is drawn; the first ``top`` when none is named.
            neo4j: Bolt address; the local server when ``None``.
            browser: Address of Browser's server, where it is not that of the Neo4j.
        """
        from kgdx.config import Settings
        from kgdx.graph.neo4j.browser_links import place

        return place(Settings.load(), neo4j, browser).link(diagnosis_query(self, ids, top))

    def to_neo4j_viz(self, *ids: str) -> VisualizationGraph:
        """Return the evidence paths as a graph that neo4j-viz draws in a notebook: ``.render()``.

        Args:
            ids: Candidates whose paths are meant; the best explained one when none is named.
        """
        from kgdx.render.pages.drawing import neo4j_graph

        chosen = [path for id in ids for path in self.paths(id)]
        if not ids:
            explained = (self.evidence[each.id] for each in self.candidates if each.id in self.evidence)
            chosen = list(next(explained, ()))
        return neo4j_graph(chosen)

    def _repr_html_(self) -> str:
        """Show the candidates in a notebook; every name is escaped."""
        import html

        from kgdx.results.view import listed

        head = "".join(f"<th>{title}</th>" for title in ("", "disease", "id", "fit", "best supported by"))
        rows = "".join(
            "<tr>" + "".join(f"<td>{html.escape(value)}</td>" for value in cells) + "</tr>"
            for cells in (
                (str(row.rank), row.name, row.id, f"{row.score:.2f}", ", ".join(row.support))
                for row in listed(self.document())
            )
        )
        title = f"{len(self)} of {self.n_candidates:,} candidates for {self.case.id}"
        return (
            f"<table><caption>{html.escape(title)}</caption><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
            f"<p><small>{html.escape(NOTICE)}</small></p>"
        )


def _without_unread(candidate: Candidate) -> Candidate:
    parts = candidate.contributions
    if not any(part.rule == "phrase" and part.text and not part.words for part in parts):
        return candidate
    kept = (replace(part, text="") if part.rule == "phrase" and not part.words else part for part in parts)
    return replace(candidate, contributions=tuple(kept))


def _row(row: ListedCandidate, candidate: Candidate) -> dict[str, Any]:
    return {
        "rank": row.rank,
        "id": row.id,
        "name": row.name,
        "score": row.score,
        "members": "|".join(candidate.members),
        "best_supported_by": "|".join(row.support),
        "findings_for": "|".join(_findings(candidate, positive=True)),
        "findings_against": "|".join(_findings(candidate, positive=False)),
    }


def _findings(candidate: Candidate, *, positive: bool) -> list[str]:
    sums: dict[str, float] = {}
    for part in (part for part in candidate.contributions if part.finding):
        sums[part.finding] = sums.get(part.finding, 0.0) + part.score
    weighty = [(total, id) for id, total in sums.items() if (total > 0 if positive else total < 0)]
    return [id for _, id in sorted(weighty, key=lambda item: (-abs(item[0]), item[1]))]


def diagnosis_query(diagnosis: Diagnosis, ids: Sequence[str] = (), top: int = 1) -> str:
    """Return the query for Neo4j Browser of a saved diagnosis: the evidence of some candidates, or of the first."""
    ranks = [diagnosis.candidate(id).rank for id in ids] or [each.rank for each in diagnosis.candidates[:top]]
    asked = not ids and any(each.name == AskPatient.name for each in diagnosis.trace)
    return run_query(diagnosis.id, ranks, asked=asked)


def run_query(run: str, ranks: Iterable[int], *, asked: bool = False) -> str:
    """Return the query for a run and the candidates at some ranks, or for what its consultation asked and ordered."""
    wanted = sorted(set(ranks))
    if not wanted:
        raise UsageError(f"{run} has no candidates", hint="say more of the patient, and diagnose again")
    from kgdx.graph.neo4j.browser_links import statement

    return statement("consultation_of_run" if asked else "evidence_of_run", run=run, ranks=wanted)


def disease_query(disease: str, findings: Iterable[Finding]) -> str:
    """Return the query for a disease and the findings of a patient who need not be in the graph.

    Example:
        >>> from kgdx.case import Finding
        >>> "f.id IN ['HP:0001250'] + []" in disease_query("OMIM:1", [Finding("HP:0001250")])
        True
    """
    by_status: dict[str, list[str]] = {"present": [], "absent": []}
    for each in findings:
        if each.status in by_status:
            by_status[each.status].append(each.id)
    from kgdx.graph.neo4j.browser_links import statement

    return statement("evidence_of_disease", disease=disease, **by_status)
