"""The result of a question: an answer whose marks point at evidence, the evidence, and the record of its finding."""

from __future__ import annotations

import hashlib
import html
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kgdx.answer.evidence_pack import EvidencePack
from kgdx.case import Case, Issue
from kgdx.episode.lookup_rounds import rounds_of
from kgdx.episode.segment import Segment, spent
from kgdx.errors import TemplateError, UsageError
from kgdx.llm.budget import Spent
from kgdx.results.cited import AnswerDocument, ChosenOption, CitedText, LookupRound
from kgdx.results.document import NOTICE
from kgdx.results.evidence_paths import EvidencePath
from kgdx.results.ranked import Candidate, CaseSummary

if TYPE_CHECKING:
    import polars

    from kgdx.graph.neo4j.browser_links import Place

THINGS = 60
"""How many nodes of an answer's evidence are drawn in Neo4j Browser, the cited ones first."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What an episode answered.

    Attributes:
        question: What was asked; may hold a patient's words.
        pack: The evidence.
        candidates: Diseases ranked for the patient, best first.
        evidence: Candidate id → its paths, for the candidates that were explained.
        issues: What was doubtful or failed.
        reason: Why the episode ended (:func:`kgdx.episode.loop.Episode`).
        model: The language model that planned and wrote; empty where there was none.
        created: When, in ISO 8601; no part of comparisons.
        sources: What the graph was made from (rows of the template ``sources``).
        option: The option that it chooses, where the question came with some.

    Example:
        >>> Answer("What is ptosis?").to_dict()["schema"]
        'kgdx.answer/3'
    """

    question: str = field(repr=False)
    text: CitedText = field(default_factory=CitedText)
    pack: EvidencePack = field(default_factory=EvidencePack, repr=False)
    case: Case | None = None
    candidates: tuple[Candidate, ...] = ()
    evidence: Mapping[str, tuple[EvidencePath, ...]] = field(default_factory=dict, hash=False)
    trace: tuple[Segment, ...] = field(default=(), repr=False)
    issues: tuple[Issue, ...] = ()
    reason: str = "answered"
    policy: str = "rules"
    model: str = ""
    fingerprint: str = ""
    version: str = ""
    created: str = field(default="", compare=False)
    sources: tuple[Mapping[str, Any], ...] = field(default=(), repr=False, compare=False)
    option: ChosenOption | None = None

    @property
    def id(self) -> str:
        """Identity of the run: equal question, case, graph, policy and answer give an equal id, whenever it ran.

        Example:
            >>> Answer("q", created="2025-01-01").id == Answer("q", created="2026-01-01").id
            True
        """
        patient = "" if self.case is None else self.case.digest
        asked = [self.question, patient, self.policy, self.model, self.fingerprint, self.version]
        content = [*asked, self.text.text, [item.digest for item in self.pack.items]]
        return f"run:{hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]}"

    @property
    def rounds(self) -> tuple[LookupRound, ...]:
        """What was looked up, round by round."""
        return rounds_of(self.trace)

    @property
    def usage(self) -> Spent:
        """What language models were asked."""
        return spent(self.trace)

    def table(self) -> polars.DataFrame:
        """Return the evidence as a polars data frame, one row for each item.

        Example:
            >>> Answer("q").table().columns
            ['id', 'cited', 'kind', 'text', 'sources', 'references', 'action']
        """
        import polars

        strings = polars.List(polars.String)
        schema: dict[str, Any] = {
            "id": polars.String,
            "cited": polars.Boolean,
            "kind": polars.String,
            "text": polars.String,
            "sources": strings,
            "references": strings,
            "action": polars.String,
        }
        cited = frozenset(self.text.cited)
        rows = [
            (item.id, item.id in cited, item.kind, item.text, list(item.sources), list(item.references), item.action)
            for item in self.pack.items
        ]
        return polars.DataFrame(rows, schema=schema, orient="row")

    def document(self, neo4j: Place | None = None, *, private: bool = False) -> AnswerDocument:
        """Return the answer in its JSON form, from which files, pages and the terminal's text are made.

        Args:
            neo4j: Where Neo4j Browser is, and a database with the graph: the evidence gets a link to it.
            private: Whether what models were asked and said is included; it may repeat a patient's words.
        """
        found = {
            "id": self.id,
            "kgdx_version": self.version,
            "fingerprint": self.fingerprint,
            "policy": self.policy,
            "model": self.model,
            "reason": self.reason,
            "created": self.created,
            "question": self.question,
            "answer": self.text,
            "option": self.option,
            "pack": self.pack,
            "rounds": rounds_of(self.trace, private=private),
            "case": None if self.case is None else CaseSummary.of(self.case),
            "candidates": self.candidates,
            "evidence": self.evidence,
            "sources": self.sources,
            "usage": self.usage.to_dict(),
            "issues": self.issues,
            "trace": [segment.to_dict(private=private) for segment in self.trace],
            "links": self._links(neo4j),
        }
        return AnswerDocument.model_validate(found)

    def _links(self, neo4j: Place | None) -> dict[str, str]:
        """Return the link to Neo4j Browser, where there is one and its evidence can be drawn."""
        if neo4j:
            with suppress(TemplateError, UsageError):  # an id cannot stand in a link, or there is nothing to draw
                return {"": neo4j.link(answer_query(self))}
        return {}

    def to_dict(self, *, trace: bool = True, private: bool = False) -> dict[str, Any]:
        """Return the answer as plain JSON values: the fields of the form ``kgdx.answer/3``.

        The question is part of it; a patient's text is not. The fields stand in the documentation under "Results",
        and in :class:`kgdx.results.cited.AnswerDocument`.

        Args:
            trace: Whether to include the record of the episode.
            private: Whether what models were asked and said is included; it may repeat a patient's words.
        """
        hidden = ("links",) if trace else ("links", "trace")
        return self.document(private=private).to_dict(*hidden)

    def to_json(self, *, indent: int | None = None, trace: bool = True, private: bool = False) -> str:
        hidden = ("links",) if trace else ("links", "trace")
        return self.document(private=private).to_json(*hidden, indent=indent)

    def to_html(self, neo4j: Place | None = None) -> str:
        """Return the answer as one self-contained HTML page, which fetches nothing from elsewhere.

        Args:
            neo4j: Where Neo4j Browser is, and a database with the graph: the page links to the evidence there.
        """
        from kgdx.render.pages import page

        return page(self.document(neo4j, private=True))

    def browser_url(self, *, neo4j: str | None = None, browser: str | None = None) -> str:
        """Return a link that draws in Neo4j Browser how the diseases and other things of the evidence are related.

        The graph has to be in that Neo4j; :func:`kgdx.browse` sees to that and returns the same link.

        Args:
            neo4j: Bolt address; the local server when ``None``.
            browser: Address of Browser's server, where it is not that of the Neo4j.
        """
        from kgdx.config import Settings
        from kgdx.graph.neo4j.browser_links import place

        return place(Settings.load(), neo4j, browser).link(answer_query(self))

    def __str__(self) -> str:
        return self.text.text

    def _repr_html_(self) -> str:
        """Show question, answer and the evidence that it cites in a notebook; everything is escaped."""
        cited = frozenset(self.text.cited)
        shown = ((item.id, item.text, ", ".join(item.sources)) for item in self.pack.items if item.id in cited)
        rows = "".join(f"<tr>{''.join(f'<td>{html.escape(part)}</td>' for part in row)}</tr>" for row in shown)
        words = "".join(f"<p>{html.escape(line)}</p>" for line in self.text.text.splitlines() if line.strip())
        return (
            f"<h4>{html.escape(self.question)}</h4>{words}"
            f"<table><thead><tr><th></th><th>evidence</th><th>sources</th></tr></thead><tbody>{rows}</tbody></table>"
            f"<p><small>{html.escape(NOTICE)}</small></p>"
        )


def answer_query(answer: Answer) -> str:
    """Return the query for an answer: the relations between the diseases and the other nodes of its evidence."""
    cited = frozenset(answer.text.cited)
    diseases: dict[str, None] = {}
    things: dict[str, None] = {}
    for item in sorted(answer.pack.items, key=lambda item: item.id not in cited):
        for node in filter(None, (item.subject, *item.objects)):
            if len(things) < THINGS or node.id in things:
                things[node.id] = None
                if node.label == "Disease":
                    diseases[node.id] = None
    if not diseases:
        raise UsageError("the answer's evidence names no disease of the graph", hint="ask of one by its name")
    from kgdx.graph.neo4j.browser_links import statement

    return statement("evidence_of_answer", diseases=list(diseases), things=list(things))
